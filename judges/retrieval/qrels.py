"""Qrels: which documents are relevant to a query, and how much."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable

__all__ = [
    "Grades",
    "Line",
    "Qrels",
    "Row",
    "columns_of",
    "grades_of",
    "id_of",
    "read_qrels",
    "read_trec_qrels",
    "value_of",
]

Grades = Mapping[str, int]
"""The grade of each judged document of one query. From 1 on it is relevant; a negative one is judged and gains 0."""
Line = tuple[str, bytes]
"""A line of a text and where it stands: `qrels.txt:17`."""
Row = tuple[str, Mapping[str, Json]]
"""A record and where it stands."""

QUERY = ("query", "query_id", "query-id", "qid")
DOCUMENT = ("document", "doc_id", "docid", "doc", "corpus-id")
_GRADE = ("grade", "relevance", "rel", "score")
_HIGHEST = 1000  # 2**1000 still is a number, and so is a sum of millions of them


@dataclass(frozen=True, slots=True)
class Qrels:
    """The judged documents of each query."""

    grades: Mapping[str, Grades]


def read_trec_qrels(lines: Iterable[Line]) -> Qrels:
    """Qrels in TREC's format: query, iteration, document and grade, separated by blanks. The iteration is ignored.

    Raises:
        InputError: A line is something else, or judges a document a second time.
    """
    grades: dict[str, dict[str, int]] = {}
    for where, line in lines:
        if words := columns_of(line, where):
            if len(words) != 4:
                raise InputError(f"{where}: has {len(words)} columns; a line of qrels is `query 0 document grade`")
            _add(grades, words[0], words[2], _grade(words[3], where), where)
    return Qrels(grades)


def read_qrels(records: Iterable[Row]) -> Qrels:
    """Qrels from records with `query`, `document` and `grade`, or what TREC and BEIR call these.

    Raises:
        InputError: A record lacks one of them, or judges a document a second time.
    """
    grades: dict[str, dict[str, int]] = {}
    for where, record in records:
        query = id_of(value_of(record, QUERY, where), where, QUERY[0])
        document = id_of(value_of(record, DOCUMENT, where), where, DOCUMENT[0])
        _add(grades, query, document, _grade(value_of(record, _GRADE, where), where), where)
    return Qrels(grades)


def grades_of(relevant: object, where: str) -> dict[str, int]:
    """The grades of one query as a case carries them: relevant ids (grade 1 each), or id to grade.

    Raises:
        InputError: `relevant` is neither.
    """
    if isinstance(relevant, Mapping):
        graded = cast("Mapping[object, object]", relevant)
        return {id_of(document, where, "relevant"): _grade(grade, where) for document, grade in graded.items()}
    if isinstance(relevant, Sequence) and not isinstance(relevant, str | bytes):
        return {id_of(document, where, "relevant"): 1 for document in cast("Sequence[object]", relevant)}
    raise InputError(f"{where}: `relevant` is no list of ids and no object of id and grade; give [] where nothing is")


def columns_of(line: bytes, where: str) -> list[str]:
    """The columns of a line of TREC's formats: what ASCII blanks separate.

    Raises:
        InputError: It isn't UTF-8.
    """
    try:
        return list(map(bytes.decode, line.split()))
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
        raise InputError(f"{where}: `{field}` holds {_shown(value)}, which is no id; give a text that isn't empty")
    return value


def _grade(value: object, where: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,9}", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -_HIGHEST <= value <= _HIGHEST:
        raise InputError(f"{where}: {_shown(value)} is no grade; give a whole number of at most {_HIGHEST}")
    return value


def _add(grades: dict[str, dict[str, int]], query: str, document: str, grade: int, where: str) -> None:
    judged = grades.setdefault(query, {})
    if document in judged:
        raise InputError(
            f"{where}: document {_shown(document)} of query {_shown(query)} is judged a second time; keep one line"
        )
    judged[document] = grade


def _shown(value: object) -> str:
    return f'"{printable(str(value), 60)}"'
