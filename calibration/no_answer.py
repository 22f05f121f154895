"""Can a retriever's scores tell the queries that have no answer, and from which score on should one be given?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.mapping import assign_folds
from calibration.statistics.no_answer import (
    Costs,
    CrossFitted,
    Operation,
    Queries,
    cross_fit,
    sweep,
    threshold_figure,
)
from calibration.statistics.reliability import area_under_curve, pair_scored
from judges.case import Case
from judges.checks import answerable as told
from judges.errors import InputError
from judges.fields import MISSING
from judges.figures import Figure
from judges.intervals import cluster_codes
from judges.printable import printable
from judges.retrieval.labels import Labels
from judges.retrieval.ranking import ranking_of
from judges.summary import Cluster, cluster_of

__all__ = ["NoAnswer", "Query", "by_case", "by_field", "by_labels", "queries_of", "study"]

_TRUE, _FALSE = ("true", "1", "yes", "correct", "pass"), ("false", "0", "no", "incorrect", "fail")

Answerable = Callable[[Case], bool]
"""Whether a case's question has an answer."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query: its best passage's score, and what is known of it."""

    id: str
    question: str | None
    score: float | None
    """None where nothing was retrieved."""
    answerable: bool
    correct: bool | None = None
    """Whether its answer is right; None where nobody said, or it is unanswerable."""
    cluster: Cluster | None = None
    """The group of queries that it belongs to; None where each stands alone."""


@dataclass(frozen=True, slots=True)
class Near:
    """An unanswerable query that scores like answerable ones."""

    query: Query
    above: float
    """The share of the answerable queries that score no higher."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """How well scores tell the queries without an answer, and where to cut."""

    queries: tuple[Query, ...]
    costs: Costs
    sweep: tuple[Operation, ...]
    """What each threshold does, from the lowest up to "never"."""
    threshold: Figure
    """The cheapest. Undefined (no_threshold) where rejecting everything is."""
    fitted: CrossFitted
    folds: int
    groups: int | None
    """Groups of queries that intervals and folds keep together; None where each query stands alone."""
    area: Figure
    """How often an answerable query scores higher than an unanswerable one; 0.5 is chance."""
    separated: bool
    """Whether every answerable query scores higher than every unanswerable one."""
    near: tuple[Near, ...]
    """Unanswerable queries that score no lower than some answerable one, the nearest first."""

    @property
    def helps(self) -> bool:
        """Whether the threshold rejects some queries and accepts others."""
        return self.fitted.apparent.accepted > 0 and self.fitted.apparent.rejected > 0

    def to_record(self) -> dict[str, object]:
        """The result as JSON-ready values."""
        fitted = self.fitted
        return {
            "queries": len(self.queries),
            "answerable": sum(each.answerable for each in self.queries),
            "groups": self.groups,
            "without_results": sum(each.score is None for each in self.queries),
            "costs": {
                "false_accept": self.costs.false_accept,
                "false_reject": self.costs.false_reject,
                "accepted_wrong": self.costs.accepted_wrong,
            },
            "sweep": [each.to_record(self.costs) for each in self.sweep],
            "threshold": self.threshold.to_record(),
            "apparent": fitted.apparent.to_record(self.costs),
            "cross_fitted": {
                **fitted.held_out.to_record(),
                "fold_thresholds": list(fitted.fold_thresholds),
                "optimism": fitted.optimism,
            },
            "area_under_curve": self.area.to_record(),
            "separated": self.separated,
            "near": [
                {"id": each.query.id, "question": each.query.question, "score": each.query.score, "above": each.above}
                for each in self.near
            ],
        }


# From cases to queries


def queries_of(
    cases: Iterable[Case], answerable: Answerable, *, correct: str | None = None, cluster: str | None = None
) -> list[Query]:
    """The queries of cases, whose passages are in `retrieved` or else in `contexts`, with scores.

    Args:
        cases: Of a dataset.
        answerable: Says whether there is an answer: `by_case`, `by_field`, `by_labels`.
        correct: Dotted path of the field that says whether the answer is right, where there is one.
        cluster: Dotted path of the field that groups queries.

    Raises:
        InputError: A case lacks what is asked of it, or one kind of query is missing.
    """
    queries: list[Query] = []
    for case in cases:
        there = answerable(case)
        right = _truth(case, correct) if there and correct is not None else None
        group = None if cluster is None else cluster_of(case, cluster)
        queries.append(Query(case.id, case.question, _best_score(case), there, right, group))
    for kind in (True, False):
        if not any(each.answerable is kind for each in queries):
            known = "nothing to reject" if kind is False else "nothing to accept"
            raise InputError(
                f"no query is {'answerable' if kind else 'unanswerable'}, so there is {known}: a threshold needs both; "
                "is it said right which are unanswerable?"
            )
    if all(each.score is None for each in queries):
        raise InputError("no case retrieved anything, so there is no score to cut at; give `retrieved` or `contexts`")
    return queries


def by_field(field: str, value: str) -> Answerable:
    """Unanswerable is what has this value in a field, or in a list there."""

    def answerable(case: Case) -> bool:
        found = case.find(field)
        if found is MISSING:
            raise InputError(f"{_named(case)} has no `{printable(field, 80)}`, which says what is unanswerable")
        values = cast("Sequence[object]", found) if isinstance(found, list | tuple) else [found]
        return value not in map(_text, values)

    return answerable


def by_labels(labels: Labels) -> Answerable:
    """Unanswerable is what these labels have nothing relevant for."""
    return lambda case: any(label.grade >= 1 for label in labels.get(case.id, ()))


def by_case(case: Case) -> bool:
    """What the case itself says: `answerable`, or else whether something is `relevant`."""
    found = told(case)
    if found is None:
        raise InputError(
            f"{_named(case)} has neither `answerable` nor `relevant`; name what is unanswerable with "
            "--unanswerable FIELD=VALUE, or give --qrels"
        )
    return found


def _best_score(case: Case) -> float | None:
    retrieved = case.extra.get("retrieved")
    if retrieved is None:
        scores: Sequence[float | None] = [context.score for context in case.contexts]
    else:
        ranking = ranking_of(retrieved, _named(case), keep_first=True)
        scores = ranking.scores or [None] * len(ranking.documents)
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        raise InputError(f"{_named(case)} has passages without a score; give each the retriever's score")
    return max(known, default=None)


def _truth(case: Case, field: str) -> bool:
    text = _text(case.find(field)).lower()
    if text not in (*_TRUE, *_FALSE):
        raise InputError(
            f'{_named(case)} has "{printable(text, 40)}" in `{printable(field, 80)}`, which says whether its answer is '
            f"right; give one of {', '.join(_TRUE)} or {', '.join(_FALSE)}"
        )
    return text in _TRUE


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value in (None, MISSING) else str(value)


def _named(case: Case) -> str:
    return f'case "{printable(case.id, 40)}"'


# From queries to a threshold


def study(queries: Sequence[Query], costs: Costs, *, folds: int = 5, seed: int = 0, level: float = 0.95) -> NoAnswer:
    """Sweep the threshold, choose the cheapest, and say what it does on queries it was not chosen on.

    Args:
        queries: With and without an answer.
        costs: What mistakes cost.
        folds: Of the cross-fitting; fewer where there are fewer queries or groups. A group lies in one fold.
        seed: Of folds and resamples.
        level: Of the intervals.

    Raises:
        InputError: All queries are of one group.
    """
    clusters = [each.cluster or ("id", each.id) for each in queries]
    codes, groups = (
        (None, len(queries)) if len(set(clusters)) == len(queries) else cluster_codes(clusters, len(queries))
    )
    if groups < 2:
        raise InputError("all queries are of one group, so no threshold can be tried on others; group by another field")
    answerable = np.array([each.answerable for each in queries])
    correct = np.array([each.answerable and each.correct is not False for each in queries])
    numbers = Queries.of([each.score for each in queries], answerable, correct)
    folds = min(folds, groups)
    places = assign_folds(len(queries), clusters=codes, folds=folds, seed=seed)
    # What retrieved nothing is below all that retrieved something.
    lowest = min((each.score for each in queries if each.score is not None), default=0.0) - 1
    scores = np.where(np.isfinite(numbers.scores), numbers.scores, lowest)
    yes, no = np.sort(scores[answerable]), scores[~answerable]
    return NoAnswer(
        tuple(queries),
        costs,
        sweep(numbers),
        threshold_figure(numbers, costs, clusters=codes, level=level, seed=seed),
        cross_fit(numbers, costs, folds=places, clusters=codes, level=level),
        folds,
        None if codes is None else groups,
        area_under_curve(pair_scored(scores, answerable, clusters=codes), level=level),
        bool(yes.min() > no.max()),
        _near(queries, yes),
    )


def _near(queries: Sequence[Query], answerable: NDArray[np.float64]) -> tuple[Near, ...]:
    near: list[Near] = []
    for each in queries:
        if not each.answerable and each.score is not None:
            below = int(np.searchsorted(answerable, each.score, side="right"))
            if below:
                near.append(Near(each, below / answerable.size))
    return tuple(sorted(near, key=lambda each: (-each.above, -(each.query.score or 0.0), each.query.id)))
