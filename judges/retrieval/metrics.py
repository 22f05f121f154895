"""Metrics of a ranking against qrels, a value per query: `P@5`, `recall@10`, `hit@3`, `RR`, `AP`, `nDCG@10`.

The conventions are trec_eval's, but for one: a query without a relevant document has no value, instead of 0.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log2
from typing import Literal, TypeAlias, get_args

from judges.errors import InputError
from judges.printable import printable
from judges.retrieval.qrels import Grades, Group, Qrels
from judges.retrieval.ranking import Ranking

__all__ = ["Found", "Gain", "Measured", "Metric", "Name", "Ties", "ceiling", "find", "measure", "measure_all"]

Name: TypeAlias = Literal["P", "recall", "hit", "RR", "AP", "nDCG", "judged", "Rprec"]
Gain: TypeAlias = Literal["linear", "exponential"]
"""What a grade g gains in nDCG: g, or 2^g - 1."""
Ties: TypeAlias = Literal["id", "average"]
"""What nDCG does with equal scores: the order by id, or the mean over all their orders."""

_NAMES: dict[str, Name] = {name.lower(): name for name in get_args(Name)}
_ALSO: dict[str, Name] = {"precision": "P", "mrr": "RR", "map": "AP"}
"""What they are called as well: the mean of RR is the MRR, that of AP the MAP."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and its cut-off. Its text is its name in the field, and `parse` reads it back.

    Where documents form groups of which one suffices, a group counts as one relevant document in all that divides by
    their number, and it is found with the first of its documents. Each document of it is relevant all the same.

    P        share of relevant documents among the first k: always over k; without a cut-off over what was retrieved
    recall   share of the relevant documents that is among the first k
    hit      1 if one of the first k is relevant, else 0
    RR       1 over the rank of the first relevant document, 0 if none is retrieved
    AP       sum of the precision at each relevant document, over the number of relevant documents
    nDCG     gain discounted by log2(rank + 1), over that of the best order of all judged documents
    judged   share of the first k, or of all where fewer were retrieved, that has a grade
    Rprec    P@R, where R is the number of relevant documents
    """

    name: Name
    k: int | None = None
    """Only the first so many documents count; None is all."""

    @classmethod
    def parse(cls, text: str) -> "Metric":
        """The metric of this text: `nDCG@10`. Upper and lower case are one; `MRR`, `MAP`, `precision` are known, too.

        Raises:
            InputError: There is no such metric.
        """
        parts = re.fullmatch(r"([A-Za-z]+)(?:@([1-9][0-9]{0,8}))?", text.strip())
        name = (_NAMES | _ALSO).get(parts[1].lower()) if parts else None
        if parts is None or name is None or (name == "Rprec" and parts[2]):
            names = ", ".join(_NAMES.values())
            raise InputError(
                f'"{printable(text, 40)}" is no metric; choose of {names}; a cut-off is as in nDCG@10 (not of Rprec)'
            )
        return cls(name, int(parts[2]) if parts[2] else None)

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one query."""

    query: str
    values: Mapping[Metric, float | None]
    """From 0 to 1, 1 is best. None is undefined: the query has no relevant document (no_relevant)."""
    relevant: int
    """Relevant documents there are, a group counting as one."""
    retrieved: int
    """Documents of the ranking."""
    grouped: bool = False
    """Whether there are groups."""


def measure_all(
    metrics: Sequence[Metric],
    qrels: Qrels,
    rankings: Mapping[str, Ranking],
    *,
    gain: Gain = "linear",
    ties: Ties = "id",
    strict: bool = False,
) -> Iterator[Measured]:
    """The metrics of each query of the qrels, in their order. One without a ranking counts as one that found nothing.

    Queries that only `rankings` has are left out. `measure` says more.
    """
    nothing = Ranking()
    for query, grades in qrels.grades.items():
        ranking, groups = rankings.get(query, nothing), qrels.groups.get(query, ())
        values = measure(metrics, grades, ranking, groups=groups, gain=gain, ties=ties, strict=strict)
        relevant = len(find(grades, {}, 0, groups).needs)
        yield Measured(query, values, relevant, len(ranking.documents), bool(groups))


def measure(
    metrics: Sequence[Metric],
    grades: Grades,
    ranking: Ranking,
    *,
    groups: Sequence[Group] = (),
    gain: Gain = "linear",
    ties: Ties = "id",
    strict: bool = False,
) -> dict[Metric, float | None]:
    """The metrics of one query, each from 0 to 1.

    Args:
        metrics: What to measure.
        grades: Of the judged documents; a document without a grade gains 0.
        ranking: What was retrieved; nothing gives 0.
        groups: Of relevant documents, where one of several suffices.
        gain: Of a grade, in nDCG.
        ties: What nDCG does with equal scores; all else takes the order of the ranking.
        strict: 0, as trec_eval has it, for what is undefined.

    Returns:
        None, that is undefined (no_relevant), for all but `judged` where no grade is 1 or more.

    Raises:
        ValueError: Ties are to be averaged and there are groups: what that would mean isn't defined.

    Source:
        trec_eval 10.0; nDCG: Järvelin & Kekäläinen 2002, ACM TOIS 20:422, with the discount of Burges et al. 2005;
        ties: McSherry & Najork 2008, ECIR. Groups: recall is subtopic recall, Zhai et al. 2003, SIGIR.
    """
    if groups and ties == "average":
        raise ValueError("the mean over orders of equal scores isn't defined for groups: take the order by id")
    ranks = {name: rank for rank, name in enumerate(ranking.documents, 1) if name in grades}
    found = find(grades, ranks, len(ranking.documents), groups)
    gains = [(rank, _gain(grade, gain)) for rank, grade in found.met]
    if ties == "average" and ranking.scores is not None:
        gains = _averaged(dict(gains), ranking.scores)
    best = [_gain(grade, gain) for grade in found.needs]
    undefined = 0.0 if strict else None
    return {
        metric: _value(metric, found, gains, best) if metric.name == "judged" or best else undefined
        for metric in metrics
    }


def ceiling(metric: Metric, relevant: int) -> float | None:
    """The highest value that a query with so many relevant documents and no groups allows; None where it has none.

    With one relevant document P@4 can't exceed 0.25; with ten recall@4 can't exceed 0.4. All else can reach 1.
    """
    if metric.name == "judged":
        return 1.0
    if relevant < 1:
        return None
    if metric.k is None or metric.name not in ("P", "recall"):
        return 1.0
    return min(relevant, metric.k) / (metric.k if metric.name == "P" else relevant)


@dataclass(frozen=True, slots=True)
class Found:
    """Where in a ranking the judged and relevant documents of a query are: all that its metrics need to know."""

    retrieved: int
    """Documents of the ranking."""
    judged: Sequence[tuple[int, int]]
    """Rank and grade of each judged document."""
    hits: Sequence[int]
    """Ranks of the relevant ones."""
    met: Sequence[tuple[int, int]]
    """Rank and grade of each relevant document, of a group only the rank of its first. One rank may occur twice: a
    document may be in two groups."""
    needs: Sequence[int]
    """Grade of each relevant document or group there is, the highest first."""


def find(grades: Grades, ranks: Mapping[str, int], retrieved: int, groups: Sequence[Group] = ()) -> Found:
    """Find the judged documents of a query.

    Args:
        grades: Of the judged documents.
        ranks: Of those that were retrieved.
        retrieved: How many documents were.
        groups: Of relevant documents, where one of several suffices.
    """
    judged = sorted((ranks[name], grade) for name, grade in grades.items() if name in ranks)
    relevant = [(rank, grade) for rank, grade in judged if grade >= 1]
    hits = [rank for rank, _ in relevant]
    needs = [grade for grade in grades.values() if grade >= 1]
    if groups:
        grouped = {name for group in groups for name in group.documents}
        alone = {name: grade for name, grade in grades.items() if grade >= 1 and name not in grouped}
        needs = [*alone.values(), *(group.grade for group in groups)]
        relevant = [(ranks[name], grade) for name, grade in alone.items() if name in ranks]
        for group in groups:
            if there := [ranks[name] for name in group.documents if name in ranks]:
                relevant.append((min(there), group.grade))
        relevant.sort()
    return Found(retrieved, judged, hits, relevant, sorted(needs, reverse=True))


def _value(metric: Metric, found: Found, gains: Sequence[tuple[int, float]], best: Sequence[float]) -> float:
    """The value of a metric; where `best` is empty, of `judged` only."""
    k = found.retrieved if metric.k is None else metric.k
    hits = bisect_right(found.hits, k)
    match metric.name:
        case "P":
            return hits / k if k else 0.0
        case "recall":
            return sum(rank <= k for rank, _ in found.met) / len(best)
        case "hit":
            return float(hits > 0)
        case "RR":
            return 1 / found.hits[0] if hits else 0.0
        case "AP":
            return sum(bisect_right(found.hits, rank) / rank for rank, _ in found.met if rank <= k) / len(best)
        case "nDCG":
            ideal = _discounted(enumerate(best[: metric.k], 1), None)
            return min(_discounted(gains, metric.k) / ideal, 1.0)
        case "judged":
            shown = min(k, found.retrieved)
            return sum(rank <= k for rank, _ in found.judged) / shown if shown else 0.0
        case "Rprec":
            return bisect_right(found.hits, len(best)) / len(best)


def _gain(grade: int, gain: Gain) -> float:
    return float(grade) if gain == "linear" else 2.0**grade - 1


def _discounted(gains: Iterable[tuple[int, float]], k: int | None) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in gains if k is None or rank <= k)


def _averaged(gains: Mapping[int, float], scores: Sequence[float]) -> list[tuple[int, float]]:
    """Each rank with the mean gain of the documents that share its score."""
    averaged: list[tuple[int, float]] = []
    for _, group in groupby(range(1, len(scores) + 1), key=lambda rank: scores[rank - 1]):
        ranks = list(group)
        if total := sum(gains.get(rank, 0.0) for rank in ranks):
            averaged.extend((rank, total / len(ranks)) for rank in ranks)
    return averaged
