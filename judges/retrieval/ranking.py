"""A ranking: the documents retrieved for one query, best first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import cast

from judges.errors import InputError
from judges.fingerprint import Json
from judges.remedies import by_option
from judges.retrieval.fields import (
    ITEM,
    QUERY,
    Line,
    Row,
    columns_of,
    id_of,
    listed,
    score_of,
    shown,
    value_of,
    whole_of,
)
from judges.retrieval.passages import Passage, passage_id, passage_of

__all__ = [
    "Entry",
    "Ranking",
    "entry_of",
    "known_passages",
    "ranking_of",
    "ranking_of_contexts",
    "read_rankings",
    "read_trec_rankings",
    "twice",
]

_SCORE = ("score", "similarity", "sim")
_NAMED = ("id", "doc_id")
"""What the door of cases takes for the id of a passage."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents of one query, each once. `by_score` and `in_order` make it."""

    documents: tuple[str, ...] = ()
    """Ids, best first."""
    scores: tuple[float, ...] | None = None
    """The score of each; None where only the order is known, which then has no ties."""
    passages: Mapping[str, Passage] = field(default_factory=dict[str, Passage])
    """What is known of documents beside their ids, where anything is."""

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
                raise InputError(f"the score of {shown(document)} is {score}; give a finite number")
            if document in best:
                if not keep_first:
                    raise InputError(twice(document))
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
                raise InputError(twice(document))
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
        if (entry := entry_of(line, where)) is not None:
            pool.add(entry.query, entry.document, entry.score, where)
    return pool.rankings()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ranking in TREC's format."""

    query: str
    document: str
    score: float


def entry_of(line: bytes, where: str) -> Entry | None:
    """What a line of a ranking says; None if it is blank.

    Raises:
        InputError: It is something else.
    """
    words = columns_of(line, where)
    if not words:
        return None
    if len(words) != 6:
        raise InputError(
            f"{where}: has {len(words)} columns; a line of a ranking is `query Q0 document rank score name`"
        )
    return Entry(words[0], words[2], score_of(words[4], where))


def read_rankings(records: Iterable[Row], *, keep_first: bool = False) -> dict[str, Ranking]:
    """The ranking of each query from records with `query`, `document` and `score`.

    A record may tell more of its passage: `text` or `text_hash`, and `doc`, `start`, `end`. Then `document` may be
    absent: the span is the id.

    Raises:
        InputError: A record lacks one of them, or a query has a document twice and `keep_first` isn't set.
    """
    pool = _Pool(keep_first)
    for where, record in records:
        query = id_of(value_of(record, QUERY, where), where, QUERY[0])
        score = score_of(value_of(record, _SCORE, where), where)
        pool.add(query, passage_id(record, where), score, where, passage_of(record, where))
    return pool.rankings()


def ranking_of(retrieved: object, where: str, *, keep_first: bool = False) -> Ranking:
    """One query's ranking as a case carries it.

    Args:
        retrieved: Ids in order, id to score, or objects with `id` and maybe `score`, and what `read_rankings` knows of
            a passage.
        where: Of the case, for messages.
        keep_first: Of several copies of a document keep the first in the ranking.

    Raises:
        InputError: `retrieved` is none of these, only some objects have a score, or a document is there twice.
    """
    retrieved = listed(retrieved)
    if isinstance(retrieved, Mapping):
        scored = cast("Mapping[object, object]", retrieved)
        items = [_Item(id_of(name, where, "retrieved"), score) for name, score in scored.items()]
    elif isinstance(retrieved, Sequence) and not isinstance(retrieved, str | bytes):
        items = [_item(each, where) for each in cast("Sequence[object]", retrieved)]
    else:
        raise InputError(
            f"{where}: `retrieved` is no list of ids and no object of id and score; give [] where none was"
        )
    scores = [score_of(item.score, where) for item in items if item.score is not None]
    if scores and len(scores) < len(items):
        raise InputError(f"{where}: `retrieved` has a score for some documents only; give one to all, or to none")
    names = [item.document for item in items]
    try:
        ranking = (
            Ranking.by_score(zip(names, scores, strict=True), keep_first=keep_first)
            if scores
            else Ranking.in_order(names, keep_first=keep_first)
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    known = {item.document: item.passage for item in reversed(items) if item.passage is not None}
    return replace(ranking, passages=known) if known else ranking


def ranking_of_contexts(contexts: object, where: str, *, keep_first: bool = False) -> Ranking:
    """One query's ranking from the passages that were read: by their `rank`, else as they stand. Scores don't count.

    Args:
        contexts: Objects with `id` and maybe `rank`, and what `read_rankings` knows of a passage.
        where: Of the case, for messages.
        keep_first: Of several copies of a passage keep the first.

    Raises:
        InputError: `contexts` is no list, a passage has no id, or one is there twice.
    """
    contexts = listed(contexts)
    if not isinstance(contexts, Sequence) or isinstance(contexts, str | bytes):
        raise InputError(f"{where}: `contexts` is no list of passages; give [] where none was retrieved")
    placed: list[tuple[int, str, Passage | None]] = []
    for place, item in enumerate(cast("Sequence[object]", contexts), 1):
        fields: Mapping[str, Json] = cast("Mapping[str, Json]", item) if isinstance(item, Mapping) else {}
        if not any(fields.get(name) is not None for name in (*_NAMED, "start")):
            raise InputError(
                f"{where}: passage {place} of `contexts` has no `id`, so nothing tells whether it is relevant; "
                "give each passage one, or the case `retrieved`"
            )
        rank = place if fields.get("rank") is None else whole_of(fields["rank"], where, "rank")
        placed.append((rank, passage_id(fields, where, _NAMED), passage_of(fields, where)))
    placed.sort(key=lambda each: each[0])
    try:
        ranking = Ranking.in_order((name for _, name, _ in placed), keep_first=keep_first)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return replace(ranking, passages={name: known for _, name, known in reversed(placed) if known is not None})


def known_passages(rankings: Iterable[Ranking]) -> dict[str, Passage]:
    """What these rankings know of their documents, together.

    Raises:
        InputError: One id has two texts, or two spans.
    """
    known: dict[str, Passage] = {}
    for ranking in rankings:
        for name, passage in ranking.passages.items():
            if known.setdefault(name, passage) != passage:
                raise InputError(
                    f"document {shown(name)} was retrieved with two texts or spans; give each version an id of its own"
                )
    return known


@dataclass(frozen=True, slots=True)
class _Item:
    """One retrieved document as a case has it."""

    document: str
    score: object = None
    passage: Passage | None = None


def _item(item: object, where: str) -> _Item:
    if not isinstance(item, Mapping):
        return _Item(id_of(item, where, "retrieved"))
    fields = cast("Mapping[str, Json]", item)
    return _Item(passage_id(fields, where, ITEM), fields.get("score"), passage_of(fields, where))


class _Pool:
    """Collects scored documents by query."""

    def __init__(self, keep_first: bool) -> None:
        self._keep_first = keep_first
        self._scores: dict[str, dict[str, float]] = {}
        self._passages: dict[str, dict[str, Passage]] = {}

    def add(self, query: str, document: str, score: float, where: str, passage: Passage | None = None) -> None:
        scores = self._scores.setdefault(query, {})
        if document in scores:
            if not self._keep_first:
                raise InputError(f"{where}: query {shown(query)}: {twice(document)}")
            score = max(score, scores[document])
        scores[document] = score
        if passage is not None:
            self._passages.setdefault(query, {}).setdefault(document, passage)

    def rankings(self) -> dict[str, Ranking]:
        return {
            query: replace(_ordered(scores), passages=self._passages.get(query, {}))
            for query, scores in self._scores.items()
        }


def _ordered(scores: Mapping[str, float]) -> Ranking:
    order = sorted(zip(scores.values(), scores, strict=True), reverse=True)
    return Ranking(tuple(document for _, document in order), tuple(score for score, _ in order))


def twice(document: str) -> str:
    """The complaint about a document that a ranking has twice."""
    or_keep = by_option("--keep-first", ", or keep the first copy with --keep-first")
    return f"document {shown(document)} is retrieved twice; mend the ranking{or_keep}"
