"""The fields of records of relevance and rankings, each checked once. An error says where, what, and the cure."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import TypeAlias

from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable

__all__ = [
    "DOCUMENT",
    "ITEM",
    "QUERY",
    "Line",
    "Row",
    "columns_of",
    "grade_of",
    "id_of",
    "listed",
    "score_of",
    "shown",
    "value_of",
    "whole_of",
]

Line: TypeAlias = tuple[str, bytes]
"""A line of a text and where it stands: `qrels.txt:17`."""
Row: TypeAlias = tuple[str, Mapping[str, Json]]
"""A record and where it stands."""

QUERY = ("query", "query_id", "query-id", "qid")
DOCUMENT = ("document", "doc_id", "docid", "doc", "corpus-id")
ITEM = ("id", *DOCUMENT)
"""Where each record is a passage."""
_HIGHEST = 1000  # 2**1000 still is a number, and so is a sum of millions of them


def columns_of(line: bytes, where: str) -> list[str]:
    """The columns of a line of TREC's formats: what ASCII blanks separate.

    Raises:
        InputError: It isn't UTF-8, or holds a NUL byte.
    """
    if b"\0" in line:
        raise InputError(f"{where}: holds a NUL byte; is the file text?")
    try:
        return [word.decode() for word in line.split()]
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8; save the file as UTF-8") from error


def value_of(record: Mapping[str, Json], names: Sequence[str], where: str) -> Json:
    """The value of the first of these fields that the record has.

    Raises:
        InputError: It has none.
    """
    for name in names:
        if (value := record.get(name)) is not None:
            return value
    raise InputError(f"{where}: has no `{names[0]}`; give it that name, or one of {', '.join(names[1:])}")


def id_of(value: object, where: str, field: str) -> str:
    """The id of a query or document as text; a whole number is one, too.

    Raises:
        InputError: It is neither, or empty.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        found = "nothing" if value is None else shown(value)
        raise InputError(f"{where}: `{field}` holds {found}, which is no id; give a text that isn't empty")
    return value


def listed(value: object) -> object:
    """A list or an object, also from the JSON that a cell of a table holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def grade_of(value: object, where: str) -> int:
    """A grade: a whole number of at most 1000, as a number or as text.

    Raises:
        InputError: It is something else.
    """
    grade = _whole(value)
    if grade is None or not -_HIGHEST <= grade <= _HIGHEST:
        raise InputError(f"{where}: {shown(value)} is no grade; give a whole number of at most {_HIGHEST}")
    return grade


def whole_of(value: object, where: str, field: str) -> int:
    """A whole number from 0, as a number or as text.

    Raises:
        InputError: It is something else.
    """
    number = _whole(value)
    if number is None or number < 0:
        raise InputError(f"{where}: `{field}` holds {shown(value)}; give a whole number from 0")
    return number


def score_of(value: object, where: str) -> float:
    """A score: a finite number, or text that is one.

    Raises:
        InputError: It is something else.
    """
    if (isinstance(value, str) and "_" not in value) or (
        isinstance(value, int | float) and not isinstance(value, bool)
    ):
        try:
            score = float(value)
        except (ValueError, OverflowError):
            score = nan
        if isfinite(score):
            return score
    raise InputError(f"{where}: {shown(value)} is no score; give a finite number")


def shown(value: object) -> str:
    """A value in quotes, for a message."""
    return f'"{printable(str(value), 60)}"'


def _whole(value: object) -> int | None:
    if isinstance(value, str):
        digits = value[1:] if value[:1] in ("+", "-") else value
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
