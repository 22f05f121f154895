"""Qrels: which documents are relevant to a query, and how much."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from judges.errors import InputError
from judges.retrieval.fields import Line, columns_of, grade_of, shown

__all__ = ["Grades", "Group", "Qrels", "read_trec_qrels"]

Grades = Mapping[str, int]
"""The grade of each judged document of one query. From 1 on it is relevant; a negative one is judged and gains 0."""


@dataclass(frozen=True, slots=True)
class Group:
    """Relevant documents of which any one suffices: what is looked for is found with the first of them."""

    documents: frozenset[str]
    """Empty where nothing there is would do."""
    grade: int = 1
    """From 1 on."""


@dataclass(frozen=True, slots=True)
class Qrels:
    """The judged documents of each query."""

    grades: Mapping[str, Grades]
    groups: Mapping[str, Sequence[Group]] = field(default_factory=dict[str, Sequence[Group]])
    """Of the queries that have some. The documents of a group have a grade of 1 or more, too."""


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
            query, _, document, grade = words
            judged = grades.setdefault(query, {})
            if document in judged:
                raise InputError(
                    f"{where}: document {shown(document)} of query {shown(query)} is judged a second time;"
                    " keep one line"
                )
            judged[document] = grade_of(grade, where)
    return Qrels(grades)
