"""Where to say "there is no answer": a query is accepted if its best passage's score reaches the threshold.

Candidates are the distinct best scores and "never", the threshold None, which rejects everything. A query for which
nothing was retrieved is rejected at any threshold. Whatever a threshold reaches on the queries it was chosen on is
optimistic; `cross_fit` says by how much.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_truths
from calibration.statistics.resampling import bootstrap_items
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, check_level, cluster_codes, mean, proportion, sample_flags

__all__ = [
    "Costs",
    "CrossFitted",
    "Operated",
    "Operation",
    "Queries",
    "choose",
    "cross_fit",
    "sweep",
    "threshold_figure",
]

NOTHING = 1e-12
MIN_CLUSTERS = 10
"""Of fewer, a bootstrap interval is too narrow to be shown. Cameron, Gelbach & Miller 2008, Rev Econ Stat 90:414."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a mistake costs, in any unit."""

    false_accept: float = 1.0
    """An unanswerable query is accepted."""
    false_reject: float = 1.0
    """An answerable one is rejected."""
    accepted_wrong: float = 0.0
    """An answerable one is accepted and answered wrongly."""

    def __post_init__(self) -> None:
        if not all(
            isfinite(each) and each >= 0 for each in (self.false_accept, self.false_reject, self.accepted_wrong)
        ):
            raise ValueError(f"{self}: give finite costs, 0 or more")

    @property
    def highest(self) -> float:
        """The most that one query can cost."""
        return max(self.false_accept, self.false_reject, self.accepted_wrong)


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries to choose a threshold on: three arrays of one length. `of` makes them."""

    scores: NDArray[np.float64]
    """Of the best passage of each; minus infinity where nothing was retrieved."""
    answerable: NDArray[np.bool_]
    correct: NDArray[np.bool_]
    """Whether an answer is right, if the query is accepted. Never where the query is unanswerable."""

    @classmethod
    def of(
        cls,
        scores: Sequence[float | None] | NDArray[np.float64],
        answerable: Numbers,
        correct: Numbers | None = None,
    ) -> "Queries":
        """Queries from what a caller has.

        Args:
            scores: One per query, on any scale, higher is nearer; None where nothing was retrieved.
            answerable: 1 or 0 per query.
            correct: 1 or 0 per query: the answer is right. None takes every answer to an answerable query for right.

        Raises:
            ValueError: The lengths differ, a score is not finite, or a truth is not 0 or 1.
        """
        numbers = np.array([-np.inf if each is None else each for each in scores], dtype=np.float64)
        if bool(np.any(np.isnan(numbers) | (numbers == np.inf))):
            raise ValueError("some score is not a finite number: give None where nothing was retrieved")
        truths = as_truths(answerable, "answerable", numbers.size)
        right = truths if correct is None else truths & as_truths(correct, "correct", numbers.size)
        return cls(numbers, truths, right)

    @property
    def n(self) -> int:
        """Queries."""
        return self.scores.size

    @property
    def reason(self) -> str | None:
        """Why no threshold can be chosen: no query, or none of one kind."""
        if not self.n:
            return "no_data"
        yes = int(np.count_nonzero(self.answerable))
        return "no_positive_gold" if not yes else "no_negative_gold" if yes == self.n else None

    def some(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> "Queries":
        """Those chosen."""
        return Queries(self.scores[chosen], self.answerable[chosen], self.correct[chosen])


@dataclass(frozen=True, slots=True)
class Operation:
    """What a threshold does."""

    threshold: float | None
    """None is "never": no query is accepted."""
    false_accept: int
    """Unanswerable and accepted."""
    false_reject: int
    """Answerable and rejected."""
    accepted_wrong: int
    """Answerable, accepted, and answered wrongly."""
    accepted_correct: int
    unanswerable_rejected: int

    @property
    def accepted(self) -> int:
        """Queries accepted."""
        return self.false_accept + self.accepted_wrong + self.accepted_correct

    @property
    def rejected(self) -> int:
        """Queries rejected."""
        return self.false_reject + self.unanswerable_rejected

    @property
    def precision(self) -> float | None:
        """Share of the accepted that are answerable and answered rightly; None if none is accepted."""
        return self.accepted_correct / self.accepted if self.accepted else None

    @property
    def answerable_accepted(self) -> float | None:
        """Share of the answerable queries that are accepted; None if there are none."""
        kept = self.accepted_wrong + self.accepted_correct
        return kept / (kept + self.false_reject) if kept + self.false_reject else None

    @property
    def unanswerable_accepted(self) -> float | None:
        """Share of the unanswerable queries that are accepted; None if there are none."""
        there = self.false_accept + self.unanswerable_rejected
        return self.false_accept / there if there else None

    def cost(self, costs: Costs) -> float | None:
        """Mean cost of a query; None without queries."""
        total = (
            costs.false_accept * self.false_accept
            + costs.false_reject * self.false_reject
            + costs.accepted_wrong * self.accepted_wrong
        )
        n = self.accepted + self.rejected
        return total / n if n else None

    def to_record(self, costs: Costs) -> dict[str, object]:
        """The operation as JSON-ready values, with its shares and cost."""
        return {
            **to_record(self),
            "accepted": self.accepted,
            "rejected": self.rejected,
            "precision_of_accepted": self.precision,
            "answerable_accepted": self.answerable_accepted,
            "unanswerable_accepted": self.unanswerable_accepted,
            "cost": self.cost(costs),
        }


def sweep(queries: Queries) -> tuple[Operation, ...]:
    """What each candidate does, from the lowest score up to "never"."""
    thresholds, counts = _counts(queries)
    answerable, n = int(np.count_nonzero(queries.answerable)), queries.n
    operations: list[Operation] = []
    for threshold, (accepted, kept, right) in zip([*thresholds.tolist(), None], counts.tolist(), strict=True):
        false_accept = accepted - kept
        operations.append(
            Operation(threshold, false_accept, answerable - kept, kept - right, right, n - answerable - false_accept)
        )
    return tuple(operations)


def _counts(queries: Queries) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct scores, and for each and then for "never": accepted, of these answerable, of these right."""
    there = queries.some(np.isfinite(queries.scores))
    thresholds, group = np.unique(there.scores, return_inverse=True)
    kinds = (np.ones(there.n, dtype=np.bool_), there.answerable, there.correct)
    counts = np.zeros((thresholds.size + 1, 3), dtype=np.int64)
    for column, kind in enumerate(kinds):
        counts[:-1, column] = np.cumsum(np.bincount(group[kind], minlength=thresholds.size)[::-1])[::-1]
    return thresholds, counts


def choose(queries: Queries, costs: Costs) -> Operation:
    """The cheapest candidate; the highest of those that cost the same."""
    cheapest = _cheapest(queries, costs)
    return next(each for each in sweep(queries) if each.threshold == cheapest)


def _cheapest(queries: Queries, costs: Costs) -> float | None:
    thresholds, counts = _counts(queries)
    accepted, kept, right = counts.T
    total = costs.false_accept * (accepted - kept) + costs.accepted_wrong * (kept - right) - costs.false_reject * kept
    least = float(total.min())
    at = int(np.flatnonzero(total <= least + NOTHING * max(abs(least), 1.0))[-1])
    return float(thresholds[at]) if at < thresholds.size else None


def threshold_figure(
    queries: Queries,
    costs: Costs,
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Figure:
    """The cheapest threshold, with a percentile bootstrap interval over queries.

    Args:
        queries: To choose it on.
        costs: What mistakes cost.
        clusters: One id per query where several belong together: whole clusters are drawn.
        level: Of the two-sided interval.
        resamples: At least 2,000.
        seed: Of the resampling.

    Returns:
        Undefined where rejecting everything is cheapest (no_threshold), or there are no queries of one kind. Fewer than
        10 clusters: no interval (too_few_clusters).
    """
    check_level(level)
    threshold = None if queries.reason else _cheapest(queries, costs)
    if threshold is None:
        return undefined(queries.reason or "no_threshold", n=queries.n, level=level)
    groups = None if clusters is None else cluster_codes(clusters, queries.n)[1]
    flags = () if groups is None else sample_flags(queries.n, groups)
    figure = Figure(threshold, level=level, n=queries.n, n_clusters=groups, flags=flags)
    if groups is not None and groups < MIN_CLUSTERS:
        return replace(figure, reason="too_few_clusters")
    drawn = bootstrap_items(
        lambda chosen: _cheapest(queries.some(chosen), costs),
        queries.n,
        clusters,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    return drawn.onto(figure)


# Cross-fitting


@dataclass(frozen=True, slots=True)
class Operated:
    """What decisions did, with intervals."""

    unanswerable_rejected: Figure
    answerable_accepted: Figure
    precision: Figure
    """Share of the accepted that are answerable and answered rightly."""
    cost: Figure
    """Mean cost of a query."""

    def to_record(self) -> dict[str, object]:
        """The shares and the cost as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """A threshold chosen on all queries, and what thresholds chosen like it do on queries they were not chosen on."""

    apparent: Operation
    """Chosen on all queries: the one to use. Its own figures are optimistic."""
    fold_thresholds: tuple[float | None, ...]
    """Chosen on all folds but one; folds in the order in which they first appear."""
    held_out: Operated
    """What these did on the folds left out."""
    optimism: float | None
    """How much cheaper the threshold looks on the queries it was chosen on."""


def cross_fit(
    queries: Queries,
    costs: Costs,
    *,
    folds: Sequence[Hashable] | NDArray[np.generic],
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> CrossFitted:
    """Choose a threshold, and for each fold one on the other folds; pool the decisions on the queries left out.

    Args:
        queries: At least two.
        costs: What mistakes cost.
        folds: One per query (`calibration.statistics.mapping.assign_folds`).
        clusters: One id per query where several belong together; no cluster may lie in two folds.
        level: Of the two-sided intervals.

    Raises:
        ValueError: Not one fold per query, all queries lie in one fold, or a cluster lies in two.
    """
    check_level(level)
    places, count = cluster_codes(folds, queries.n)
    if count < 2:
        raise ValueError("all queries lie in one fold: use at least two")
    codes = None if clusters is None else cluster_codes(clusters, queries.n)[0]
    if codes is not None and len(np.unique(np.stack((codes, places)), axis=1).T) > len(np.unique(codes)):
        raise ValueError("some cluster lies in two folds: assign folds by cluster")
    accepted, thresholds = np.zeros(queries.n, dtype=np.bool_), list[float | None]()
    for fold in dict.fromkeys(places.tolist()):
        out = places == fold
        threshold = _cheapest(queries.some(~out), costs)
        thresholds.append(threshold)
        accepted[out] = False if threshold is None else queries.scores[out] >= threshold
    apparent, held_out = choose(queries, costs), _operated(queries, accepted, costs, codes, level)
    looked = apparent.cost(costs)
    optimism = None if looked is None or held_out.cost.value is None else held_out.cost.value - looked
    return CrossFitted(apparent, tuple(thresholds), held_out, optimism)


def _operated(
    queries: Queries, accepted: NDArray[np.bool_], costs: Costs, codes: NDArray[np.intp] | None, level: float
) -> Operated:
    def of(chosen: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        return None if codes is None else codes[chosen]

    answerable = queries.answerable
    paid = (
        costs.false_accept * (accepted & ~answerable)
        + costs.false_reject * (~accepted & answerable)
        + costs.accepted_wrong * (accepted & answerable & ~queries.correct)
    )
    top = costs.highest or 1.0
    share = mean(paid / top, codes, level=level)
    value, low, high, se = (
        None if each is None else each * top for each in (share.value, share.ci_low, share.ci_high, share.se)
    )
    return Operated(
        proportion(~accepted[~answerable], of(~answerable), level=level, reason="no_negative_gold"),
        proportion(accepted[answerable], of(answerable), level=level, reason="no_positive_gold"),
        proportion(queries.correct[accepted], of(accepted), level=level, reason="no_positive_pred"),
        replace(share, value=value, ci_low=low, ci_high=high, se=se),
    )
