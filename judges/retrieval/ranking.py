"""A ranking: the documents retrieved for one query, best first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import cast

from judges.errors import InputError
from judges.printable import printable
from judges.retrieval.qrels import DOCUMENT, QUERY, Line, Row, columns_of, id_of, value_of

__all__ = ["Ranking", "ranking_of", "read_rankings", "read_trec_rankings"]

_SCORE = ("score", "similarity", "sim")


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents of one query, each once. `by_score` and `in_order` make it."""

    documents: tuple[str, ...] = ()
    """Ids, best first."""
    scores: tuple[float, ...] | None = None
    """The score of each; None where only the order is known, which then has no ties."""

    @classmethod
    def by_score(cls, scored: Iterable[tuple[str, float]], *, keep_first: bool = False) -> "Ranking":
        """By score, the highest first, and where scores are equal by id as text, the last first, as trec_eval does.

        Args:
            scored: Ids with scores in any order.
            keep_first: Of several copies of a document keep the first in the ranking.

        Raises:
            InputError: A document occurs twice and `keep_first` isn't set, or a score isn't finite.
        """
        best: dict[str, float] = {}
        for document, score in scored:
            if not isfinite(score):
                raise InputError(f"the score of {_shown(document)} is {score}; give a finite number")
            if document in best:
                if not keep_first:
                    raise InputError(_twice(document))
                score = max(score, best[document])
            best[document] = score
        return _ordered(best)

    @classmethod
    def in_order(cls, documents: Iterable[str], *, keep_first: bool = False) -> "Ranking":
        """In the order given, best first.

        Raises:
            InputError: A document occurs twice and `keep_first` isn't set.
        """
        found: dict[str, None] = {}
        for document in documents:
            if document in found and not keep_first:
                raise InputError(_twice(document))
            found[document] = None
        return cls(tuple(found))


def read_trec_rankings(lines: Iterable[Line], *, keep_first: bool = False) -> dict[str, Ranking]:
    """The ranking of each query from TREC's format: query, Q0, document, rank, score and name of the system.

    The rank is ignored, as in trec_eval: the score decides.

    Raises:
        InputError: A line is something else, or a query has a document twice and `keep_first` isn't set.
    """
    pool = _Pool(keep_first)
    for where, line in lines:
        if words := columns_of(line, where):
            if len(words) != 6:
                raise InputError(
                    f"{where}: has {len(words)} columns; a line of a ranking is `query Q0 document rank score name`"
                )
            pool.add(words[0], words[2], _score(words[4], where), where)
    return pool.rankings()


def read_rankings(records: Iterable[Row], *, keep_first: bool = False) -> dict[str, Ranking]:
    """The ranking of each query from records with `query`, `document` and `score`.

    Raises:
        InputError: A record lacks one of them, or a query has a document twice and `keep_first` isn't set.
    """
    pool = _Pool(keep_first)
    for where, record in records:
        query = id_of(value_of(record, QUERY, where), where, QUERY[0])
        document = id_of(value_of(record, DOCUMENT, where), where, DOCUMENT[0])
        pool.add(query, document, _score(value_of(record, _SCORE, where), where), where)
    return pool.rankings()


def ranking_of(retrieved: object, where: str, *, keep_first: bool = False) -> Ranking:
    """One query's ranking as a case carries it: ids in order, id to score, or objects with `id` and maybe `score`.

    Raises:
        InputError: `retrieved` is none of these, only some objects have a score, or a document is there twice.
    """
    if isinstance(retrieved, Mapping):
        pairs = list(cast("Mapping[object, object]", retrieved).items())
    elif isinstance(retrieved, Sequence) and not isinstance(retrieved, str | bytes):
        pairs = [_pair(item) for item in cast("Sequence[object]", retrieved)]
    else:
        raise InputError(
            f"{where}: `retrieved` is no list of ids and no object of id and score; give [] where none was"
        )
    ids = [id_of(document, where, "retrieved") for document, _ in pairs]
    scored = [score is not None for _, score in pairs]
    if any(scored) and not all(scored):
        raise InputError(f"{where}: `retrieved` has a score for some documents only; give one to all, or to none")
    scores = [_score(score, where) for _, score in pairs if score is not None]
    try:
        if not scores:
            return Ranking.in_order(ids, keep_first=keep_first)
        return Ranking.by_score(zip(ids, scores, strict=True), keep_first=keep_first)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _pair(item: object) -> tuple[object, object]:
    if isinstance(item, Mapping):
        fields = cast("Mapping[str, object]", item)
        return fields.get("id"), fields.get("score")
    return item, None


class _Pool:
    """Collects scored documents by query."""

    def __init__(self, keep_first: bool) -> None:
        self._keep_first = keep_first
        self._scores: dict[str, dict[str, float]] = {}

    def add(self, query: str, document: str, score: float, where: str) -> None:
        scores = self._scores.setdefault(query, {})
        if document in scores:
            if not self._keep_first:
                raise InputError(f"{where}: query {_shown(query)}: {_twice(document)}")
            score = max(score, scores[document])
        scores[document] = score

    def rankings(self) -> dict[str, Ranking]:
        return {query: _ordered(scores) for query, scores in self._scores.items()}


def _ordered(scores: Mapping[str, float]) -> Ranking:
    order = sorted(zip(scores.values(), scores, strict=True), reverse=True)
    return Ranking(tuple(document for _, document in order), tuple(score for score, _ in order))


def _score(value: object, where: str) -> float:
    if (isinstance(value, str) and "_" not in value) or (
        isinstance(value, int | float) and not isinstance(value, bool)
    ):
        try:
            score = float(value)
        except (ValueError, OverflowError):
            score = nan
        if isfinite(score):
            return score
    raise InputError(f"{where}: {_shown(value)} is no score; give a finite number")


def _twice(document: str) -> str:
    return f"document {_shown(document)} is retrieved twice; mend the ranking, or keep the first copy with --keep-first"


def _shown(value: object) -> str:
    return f'"{printable(str(value), 60)}"'
