"""The metrics of many queries at once, by numpy: the values of `judges.retrieval.metrics`, which says what they are.

Of a ranking only the ranks of judged documents matter. `Places` holds them for all queries, in flat arrays; where they
come from is one step (rankings, arrays, a file), what is computed from them another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from judges.retrieval.metrics import Found, Gain, Metric, find
from judges.retrieval.qrels import Qrels
from judges.retrieval.ranking import Ranking

__all__ = [
    "Marks",
    "Measurements",
    "Places",
    "measure_places",
    "pack",
    "place_arrays",
    "place_rankings",
    "rank_by_score",
]

_Numbers: TypeAlias = NDArray[np.int64]
_Ids = TypeVar("_Ids", NDArray[np.int64], NDArray[np.bytes_])


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Ranks with grades, by query and then by rank: three arrays of one length."""

    query: _Numbers
    """Number of the query, from 0."""
    rank: _Numbers
    """From 1."""
    grade: _Numbers

    def up_to(self, k: int | None) -> "Marks":
        """Those of rank k or better; all if None."""
        return self if k is None else self.where(self.rank <= k)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Marks":
        """Those chosen, by truth values or by their places."""
        return Marks(self.query[chosen], self.rank[chosen], self.grade[chosen])

    def count(self, queries: int) -> _Numbers:
        """How many of each query."""
        return np.bincount(self.query, minlength=queries)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where judged and relevant documents stand: what `Found` is for one query."""

    queries: tuple[str, ...]
    retrieved: _Numbers
    """Shape (queries,): documents of each ranking."""
    judged: Marks
    """The judged documents that were retrieved."""
    met: Marks
    """Relevant documents that were retrieved, of a group the first only."""
    needs: Marks
    """Relevant documents and groups there are, in the best order: the highest grade has rank 1."""
    grouped: bool = False
    """Whether there are groups."""


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """What was measured, a value per query."""

    queries: tuple[str, ...]
    values: Mapping[Metric, NDArray[np.float64]]
    """Shape (queries,) each, from 0 to 1. What is undefined is 0 here: see `defined`."""
    relevant: _Numbers
    """Shape (queries,): relevant documents there are, a group counting as one."""
    retrieved: _Numbers
    """Shape (queries,): documents of each ranking."""
    found: _Numbers
    """Shape (queries,): how many of the relevant documents and groups were retrieved."""
    grouped: bool

    def defined(self, metric: Metric) -> NDArray[np.bool_]:
        """Of which queries the metric has a value: those with a relevant document, and for `judged` all."""
        return np.ones(len(self.queries), dtype=np.bool_) if metric.name == "judged" else self.relevant > 0


def measure_places(metrics: Sequence[Metric], places: Places, *, gain: Gain = "linear") -> Measurements:
    """The metrics of each query, as `judges.retrieval.metrics.measure` has them.

    Args:
        metrics: What to measure.
        places: Where the judged documents stand.
        gain: Of a grade, in nDCG.
    """
    hits = places.judged.where(places.judged.grade >= 1)
    size = len(places.queries)
    relevant = places.needs.count(size)
    values = {metric: _measured(metric, places, hits, relevant, gain) for metric in metrics}
    for metric in metrics:
        if metric.name != "judged":
            values[metric][relevant == 0] = 0.0
    return Measurements(places.queries, values, relevant, places.retrieved, places.met.count(size), places.grouped)


def _measured(metric: Metric, places: Places, hits: Marks, relevant: _Numbers, gain: Gain) -> NDArray[np.float64]:
    size, k = relevant.size, metric.k
    depth = places.retrieved if k is None else np.full(size, k)
    match metric.name:
        case "P":
            return _ratio(hits.up_to(k).count(size), depth)
        case "recall":
            return _ratio(places.met.up_to(k).count(size), relevant)
        case "hit":
            return (hits.up_to(k).count(size) > 0).astype(np.float64)
        case "RR":
            reciprocal, shown = np.zeros(size), hits.up_to(k)
            reciprocal[shown.query[::-1]] = 1 / shown.rank[::-1]  # the best rank of a query is written last
            return reciprocal
        case "AP":
            met = places.met.up_to(k)
            return _ratio(_sums(met.query, _precision(hits, met), size), relevant)
        case "nDCG":
            ideal = _discounted(places.needs.up_to(k), gain, size)
            return np.minimum(_ratio(_discounted(places.met.up_to(k), gain, size), ideal), 1.0)
        case "judged":
            return _ratio(places.judged.up_to(k).count(size), np.minimum(depth, places.retrieved))
        case "Rprec":
            return _ratio(hits.where(hits.rank <= relevant[hits.query]).count(size), relevant)


def _sums(query: _Numbers, values: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    return np.bincount(query, weights=values, minlength=queries).astype(np.float64, copy=False)


def _ratio(above: NDArray[np.float64] | _Numbers, below: NDArray[np.float64] | _Numbers) -> NDArray[np.float64]:
    """0 where there is nothing below."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below != 0)


def _precision(hits: Marks, met: Marks) -> NDArray[np.float64]:
    """Precision at each rank of `met`: how many hits of its query are at that rank or above, over the rank."""
    if not met.query.size:
        return np.zeros(0)
    step = int(max(hits.rank.max(), met.rank.max())) + 1
    keys = hits.query * step + hits.rank
    above = np.searchsorted(keys, met.query * step + met.rank, side="right") - np.searchsorted(keys, met.query * step)
    return above / met.rank


def _discounted(marks: Marks, gain: Gain, queries: int) -> NDArray[np.float64]:
    gains = marks.grade.astype(np.float64) if gain == "linear" else np.exp2(marks.grade) - 1
    return _sums(marks.query, gains / np.log2(marks.rank + 1), queries)


# Where the judged documents stand


def place_rankings(qrels: Qrels, rankings: Mapping[str, Ranking]) -> Places:
    """Find the judged documents of each query of the qrels, in their order. One without a ranking found nothing."""
    nothing = Ranking()
    found: list[Found] = []
    for query, grades in qrels.grades.items():
        documents = rankings.get(query, nothing).documents
        ranks = {name: rank for rank, name in enumerate(documents, 1) if name in grades}
        found.append(find(grades, ranks, len(documents), qrels.groups.get(query, ())))
    return pack(tuple(qrels.grades), found, grouped=bool(qrels.groups))


def place_arrays(
    documents: NDArray[np.integer],
    scores: NDArray[np.floating] | None,
    judged: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    *,
    queries: Sequence[str] | None = None,
) -> Places:
    """Find the judged documents in rankings that are arrays already.

    Args:
        documents: Shape (queries, depth): the documents retrieved, as numbers from 0, each once a row. The numbers are
            in the order of the ids as text (the places of `numpy.unique`), since equal scores go by id. Shorter
            rankings are filled up with -1 at the end.
        scores: Shape (queries, depth), finite, in any order; None where documents stand best first.
        judged: Three arrays of one length: query (a row of `documents`), document and grade of each judgement.
        queries: Names of the queries; by default their numbers.

    Raises:
        ValueError: Shapes or numbers don't fit, or a document occurs twice in a row or is judged twice for a query.
    """
    size, depth = documents.shape
    query, document, grade = (np.asarray(each, dtype=np.int64) for each in judged)
    names = tuple(map(str, range(size))) if queries is None else tuple(queries)
    if not query.shape == document.shape == grade.shape == (query.size,):
        raise ValueError("judged: give three flat arrays of one length: query, document, grade")
    if (scores is not None and scores.shape != documents.shape) or len(names) != size:
        raise ValueError(f"{size} rankings of depth {depth}: give scores of that shape and a name for each query")
    if query.size and not (query.min() >= 0 and query.max() < size and document.min() >= 0):
        raise ValueError("judged: a query is no row of `documents`, or a document is no number from 0")
    order = np.lexsort((document, query))
    query, document, grade = query[order], document[order], grade[order]
    if bool(np.any((np.diff(query) == 0) & (np.diff(document) == 0))):
        raise ValueError("a document is judged a second time for a query: keep one judgement")
    retrieved = np.count_nonzero(documents >= 0, axis=1)
    rank = _ranks(documents.astype(np.int64, copy=False), scores, retrieved, query, document)
    return places_of(names, retrieved, Marks(query, rank, grade))


def places_of(queries: Sequence[str], retrieved: _Numbers, judged: Marks) -> Places:
    """The places that follow from the rank of each judged document, in any order, 0 where it wasn't retrieved."""
    there = judged.where(judged.rank > 0)
    order = np.lexsort((there.rank, there.query))
    found = there.where(order)
    needs = judged.where(judged.grade >= 1)
    needs = needs.where(np.lexsort((-needs.grade, needs.query)))
    count = needs.count(len(queries))
    before = np.cumsum(count) - count
    needs = Marks(needs.query, np.arange(needs.query.size) - before[needs.query] + 1, needs.grade)
    return Places(tuple(queries), retrieved, found, found.where(found.grade >= 1), needs)


def _ranks(
    documents: _Numbers,
    scores: NDArray[np.floating] | None,
    retrieved: _Numbers,
    query: _Numbers,
    document: _Numbers,
) -> _Numbers:
    """The rank of each judged document, 0 where it wasn't retrieved."""
    highest = max(int(documents.max(initial=-1)), int(document.max(initial=-1)))
    place = np.zeros(highest + 1, dtype=np.intp)  # where a document stands in the row at hand; else anything
    size, depth = documents.shape
    steps = np.arange(depth, dtype=np.intp)
    bounds: list[int] = np.searchsorted(query, np.arange(size + 1, dtype=np.int64)).tolist()
    ranks = np.zeros(query.size, dtype=np.int64)
    for number, length in enumerate(retrieved.tolist()):
        if not length:
            continue
        row = documents[number, :length]
        place[row] = steps[:length]
        if (length < depth and row.min() < 0) or not (place[row] == steps[:length]).all():
            raise ValueError(f"row {number}: a document occurs twice, or -1 stands before the end")
        wanted = document[bounds[number] : bounds[number + 1]]
        at = place[wanted]
        at[at >= length] = 0
        there = row[at] == wanted
        mine = ranks[bounds[number] : bounds[number + 1]]
        mine[there] = rank_by_score(None if scores is None else scores[number, :length], row, at[there])
    return ranks


def rank_by_score(scores: NDArray[np.floating] | None, documents: _Ids, at: NDArray[np.intp]) -> _Numbers:
    """The ranks of some documents of a ranking: by score, and where scores are equal the last in order first.

    Args:
        scores: Of all documents of the ranking, in any order; None where they stand best first.
        documents: Their ids, or numbers in the order of the ids.
        at: Which are wanted.
    """
    if scores is None or (scores[1:] < scores[:-1]).all():
        return at + 1
    own, ascending = scores[at], np.sort(scores)
    ranks = ascending.size - np.searchsorted(ascending, own, side="right") + 1
    if bool(np.any(ascending[1:] == ascending[:-1])):
        for place, document in enumerate(at.tolist()):
            tied = documents[scores == own[place]]
            ranks[place] += np.count_nonzero(tied > documents[document])
    return ranks


def pack(queries: Sequence[str], found: Iterable[Found], *, grouped: bool = False) -> Places:
    """What was found of each query, in arrays."""
    retrieved: list[int] = []
    judged, met, needs = _Flat(), _Flat(), _Flat()
    for number, each in enumerate(found):
        retrieved.append(each.retrieved)
        judged.add(number, each.judged)
        met.add(number, each.met)
        needs.add(number, list(enumerate(each.needs, 1)))
    return Places(
        tuple(queries), np.array(retrieved, dtype=np.int64), judged.marks(), met.marks(), needs.marks(), grouped
    )


class _Flat:
    """Collects marks."""

    def __init__(self) -> None:
        self._query: list[int] = []
        self._pairs: list[tuple[int, int]] = []

    def add(self, query: int, pairs: Sequence[tuple[int, int]]) -> None:
        self._query += [query] * len(pairs)
        self._pairs += pairs

    def marks(self) -> Marks:
        pairs = np.array(self._pairs, dtype=np.int64).reshape(-1, 2)
        return Marks(np.array(self._query, dtype=np.int64), pairs[:, 0].copy(), pairs[:, 1].copy())
