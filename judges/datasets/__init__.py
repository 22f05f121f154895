"""Reads case files of several formats; checks each record once, at this door.

`read_cases` is the way in. The libraries it needs load with its first call.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from judges.case import Case, Part
from judges.datasets.source import Invalid, Row, format_of, opened, readable, refuse
from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable
from judges.remedies import by_option

if TYPE_CHECKING:
    from judges.datasets.records import Door

__all__ = ["Invalid", "load", "read_cases", "read_records"]


def read_cases(
    source: str | Path | BinaryIO,
    *,
    fields: Mapping[str, str] | None = None,
    required: Collection[Part] = (),
    format: str | None = None,  # noqa: A002 - the option's name on the command line
    on_invalid: Callable[[Invalid], None] | None = None,
) -> Iterator[Case]:
    """The cases of a dataset, one after the other: what was read before is not kept.

    A record has `id`, and any of `question`, `answer` (or a pair: `answers.a` and `answers.b`), `contexts`, `reference`
    or `references`, `history` and `lang`. All its other fields stay with the case as `extra`.

    Args:
        source: A file by its path, "-" for standard input, or an open binary stream, which stays open.
        fields: Where to find what the dataset calls otherwise: `{"question": "query", "reference": "golds.0"}`. The id
            `@line` numbers the cases by their lines.
        required: Parts that each record must have, `null` or not.
        format: `jsonl`, `json`, `csv`, `tsv` or `parquet`. Else the suffix says it, before a `.gz`; what has no suffix
            is JSONL, or JSON if it begins with `[`.
        on_invalid: Told of each record that can't be a case, which is then left out. Without it the first ends the
            reading.

    Raises:
        InputError: With the first `next`: the file can't be read or holds no records, or a record is invalid and nobody
            wants to be told. After the last case: a field of `fields` was in no record. At once: an argument is wrong.
    """
    from judges.datasets.records import Door

    return _read(source, format_of(source, format), Door(fields or {}, required), on_invalid or refuse)


def load(source: str | Path | BinaryIO, *, fields: Mapping[str, str] | None = None) -> list[Case]:
    """The cases of a dataset, all at once. `read_cases` says which and how.

    Raises:
        InputError: As with `read_cases`; the first invalid record ends the reading.
    """
    return list(read_cases(source, fields=fields))


def read_records(source: str | Path, *, format: str | None = None) -> Iterator[tuple[str, dict[str, Json]]]:  # noqa: A002
    """The records of a file as they are, each with where it stands (`labels.jsonl:17`), for messages.

    Raises:
        InputError: The file can't be read, or a record is no object.
    """
    with opened(source) as (stream, name):
        rows = _rows(stream, name, format_of(source, format), lambda _: False)
        for row in readable(rows, name):
            if isinstance(row, Invalid):
                refuse(row)
            yield row.where, row.values


def _read(
    source: str | Path | BinaryIO, kind: str | None, door: "Door", on_invalid: Callable[[Invalid], None]
) -> Iterator[Case]:
    first_seen: dict[str, int] = {}
    empty = True
    with opened(source) as (stream, name):
        for row in readable(_rows(stream, name, kind, door.is_nested), name):
            empty = False
            if isinstance(row, Invalid):
                on_invalid(row)
                continue
            case = door.admit(row)
            if isinstance(case, Invalid):
                on_invalid(case)
            elif (line := first_seen.setdefault(case.id, row.line)) != row.line:
                remedy = by_option(
                    "--map",
                    "map another field with --map id=FIELD, or number the cases with --map id=@line",
                    "give each record its own",
                )
                message = f'`id` "{printable(case.id, 40)}" is already that of {row.unit} {line}; {remedy}'
                on_invalid(row.invalid(message, "id"))
            else:
                yield case
    if empty:
        raise InputError(f"{name}: is empty: it holds no records")
    if (complaint := door.unmet()) is not None:
        raise InputError(f"{name}: {complaint}")


def _rows(stream: BinaryIO, name: str, kind: str | None, nested: Callable[[str], bool]) -> Iterator[Row]:
    from judges.datasets import jsonl, table

    match kind:
        case "csv":
            return table.read_delimited(stream, name, nested=nested)
        case "tsv":
            return table.read_delimited(stream, name, delimiter="\t", nested=nested)
        case "parquet":
            return table.read_parquet(stream, name)
        case "json":
            return jsonl.read_document(stream, name)
        case "jsonl":
            return jsonl.read_lines(stream, name)
        case _:
            return jsonl.read_either(stream, name)
