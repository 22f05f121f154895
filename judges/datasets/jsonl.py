"""Records from JSON: one object a line (JSONL), or one document that holds a list of objects."""

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, cast

import orjson

from judges.datasets.source import REPAIR, Invalid, Record, Row, called, numbered_lines, without_bom
from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable

__all__ = ["NotJson", "kind_of", "parse", "read_document", "read_either", "read_lines"]

_DEEPEST = 100
"""Writers of JSON give up on deeper nesting (orjson at 254), so what comes in here must also get out."""

_PARTS = ("contexts", "references", "history")


class NotJson(ValueError):
    """The text isn't JSON that can be used; the message says why, and where in the text."""


def read_lines(stream: BinaryIO, name: str) -> Iterator[Row]:
    """The record of each line; blank lines are passed over.

    Raises:
        InputError: The text is UTF-16 or UTF-32.
    """
    return _read_lines(numbered_lines(stream, name), name)


def read_document(stream: BinaryIO, name: str) -> Iterator[Row]:
    """The records of one JSON document, which is read whole.

    Raises:
        InputError: It is not JSON, or holds no list of objects.
    """
    return _read_document(without_bom(stream.read(), name), name)


def read_either(stream: BinaryIO, name: str) -> Iterator[Row]:
    """The records of one JSON document if the text begins with `[`, else of its lines.

    Raises:
        InputError: As `read_lines` and `read_document`.
    """
    lines = numbered_lines(stream, name)
    for number, line in lines:
        if line.isspace() or not line:
            continue
        if line.lstrip().startswith(b"["):
            return _read_document(line + stream.read(), name)
        return _read_lines(chain([(number, line)], lines), name)
    return iter(())


def parse(text: bytes | str) -> Json:
    """The value of a JSON text.

    Raises:
        NotJson: It has none: not JSON, not UTF-8, a number that is not finite, or nested too deeply.
    """
    try:
        value = cast("Json", orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise NotJson(_reason(error, text)) from error
    # Brackets are fast to count and depth is not; few brackets can't be deep.
    brackets = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if brackets > _DEEPEST and _depth(value) > _DEEPEST:
        raise NotJson(f"nested more than {_DEEPEST} levels deep")
    return value


def kind_of(value: object) -> str:
    """What a JSON value is, in words for a message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"a number ({printable(repr(value), 30)})"
        case str():
            return f'text ("{printable(value, 40)}")'
        case list():
            return "a list"
        case _:
            return "an object"


def _read_lines(lines: Iterator[tuple[int, bytes]], name: str) -> Iterator[Row]:
    for number, line in lines:
        if line.isspace() or not line:
            continue
        try:
            value = parse(line)
        except NotJson as error:
            hint = f"if it is a document of many lines, {called('json')}; else " if line.strip() in {b"[", b"{"} else ""
            yield Invalid(name, number, None, f"is not JSON: {error}; {hint}{REPAIR}")
            continue
        if isinstance(value, dict):
            yield Record(name, number, value)
        else:
            yield Invalid(name, number, None, f"is {kind_of(value)}, not an object with fields; {REPAIR}")


def _read_document(text: bytes, name: str) -> Iterator[Row]:
    if text.isspace() or not text:
        return
    try:
        value = parse(text)
    except NotJson as error:
        raise InputError(
            f"{name}: is not one JSON document: {error}; if it has one object a line, {called('jsonl')}"
        ) from error
    for number, record in enumerate(_records(value, name), 1):
        if isinstance(record, dict):
            yield Record(name, number, record, "record")
        else:
            message = f"is {kind_of(record)}, not an object with fields; {REPAIR}"
            yield Invalid(name, number, None, message, "record")


def _records(value: Json, name: str) -> list[Json]:
    """The list in a document: the document itself, or the one list field of an object."""
    if isinstance(value, list):
        return value
    lists: list[list[Json]] = []
    if isinstance(value, dict):
        lists = [item for key, item in value.items() if isinstance(item, list) and key not in _PARTS]
    if len(lists) != 1:
        raise InputError(
            f"{name}: holds {kind_of(value)}, where a list of cases is wanted: [{{...}}, ...],"
            ' or an object with one list of them: {"cases": [{...}, ...]}'
        )
    return lists[0]


def _reason(error: orjson.JSONDecodeError, text: bytes | str) -> str:
    if isinstance(text, bytes):
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as undecodable:
            return f"not UTF-8 (byte {undecodable.start + 1})"
    if error.doc.startswith(("NaN", "Infinity"), error.pos) or error.doc.startswith("-Infinity", error.pos - 1):
        reason = "NaN and Infinity are not JSON; write null"
    else:
        reason = error.msg.partition(": line ")[0]
    where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    return printable(f"{reason} ({where})", 160)


def _depth(value: Json) -> int:
    """How many lists and objects lie in one another. It goes level by level: depth costs no stack."""
    depth = 0
    level = _inner([value])
    while level:
        depth += 1
        level = [inner for outer in level for inner in _inner(outer)]
    return depth


def _inner(value: Json) -> list[Json]:
    """The lists and objects right inside a list or an object."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict | list)]
