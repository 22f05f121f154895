"""Where to cut a judge's scores: yes if the score reaches the threshold. Chosen on labels, judged on other folds.

Candidates are the distinct scores and "never", the threshold None, which says no to everything. Whatever a threshold
reaches on the items it was chosen on is optimistic; `cross_fit_threshold` says by how much. To promise a precision,
certify it (`calibration.statistics.selective`).

Sources:
    Youden 1950, Cancer 3:32. Clopper & Pearson 1934, Biometrika 26:404. MOVER: Zou & Donner 2008, Statistics in
    Medicine 27:1693.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import MaybeNumbers, MaybeTruths, complete
from judges.figures import Figure, to_record, undefined
from judges.intervals import HIGH_DROP, RARE, Clusters, check_level, cluster_codes, mover, proportion, ratio

__all__ = [
    "Candidate",
    "Choice",
    "CrossFittedThreshold",
    "MinimumCost",
    "Rule",
    "TargetPrecision",
    "Youden",
    "choose_threshold",
    "cross_fit_threshold",
    "sweep",
]

NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Youden:
    """The highest recall + specificity - 1."""


@dataclass(frozen=True, slots=True)
class MinimumCost:
    """The lowest mean cost of an item: what false alarms and misses cost."""

    false_positive: float
    false_negative: float

    def __post_init__(self) -> None:
        costs = (self.false_positive, self.false_negative)
        if not all(isfinite(each) and each >= 0 for each in costs):
            raise ValueError(f"costs {costs}: give finite numbers, 0 or more")


@dataclass(frozen=True, slots=True)
class TargetPrecision:
    """The highest recall among thresholds that reach this precision.

    With `level` it is the one-sided Clopper-Pearson lower bound that has to reach it, at that level for each threshold
    on its own. Both are optimistic after a search, and the bound takes items for independent.
    """

    target: float
    level: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.target <= 1:
            raise ValueError(f"target precision {self.target}: give a number above 0, at most 1")
        if self.level is not None:
            check_level(self.level)


Rule: TypeAlias = Youden | MinimumCost | TargetPrecision


@dataclass(frozen=True, slots=True)
class Candidate:
    """A threshold and what it does."""

    threshold: float | None
    """None is "never": no item is positive."""
    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def n(self) -> int:
        """Items."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def youden(self) -> float | None:
        """Recall + specificity - 1; None if a class has no item."""
        yes, no = self.tp + self.fn, self.fp + self.tn
        return (self.tp * no - self.fp * yes) / (yes * no) if yes and no else None

    @property
    def precision(self) -> float | None:
        """Share of the positives that are right; None if there are none."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    def precision_lower(self, *, level: float = 0.95) -> float | None:
        """One-sided Clopper-Pearson lower bound of precision; None if there are no positives."""
        return float(_lower_bounds(np.array([self.tp]), np.array([self.fp]), level)[0]) if self.tp + self.fp else None

    def cost(self, costs: MinimumCost) -> float | None:
        """Mean cost of an item; None without items."""
        return (costs.false_positive * self.fp + costs.false_negative * self.fn) / self.n if self.n else None

    def to_record(self) -> dict[str, object]:
        """The candidate as JSON-ready values, with Youden's J and precision."""
        return {**to_record(self), "youden": self.youden, "precision": self.precision}


@dataclass(frozen=True, slots=True)
class Choice:
    """The threshold that a rule picks."""

    threshold: float | None
    """Yes from this score on. None without a reason is "never": saying no to everything is best."""
    value: float | None
    """What the rule is about, at the threshold: J, mean cost, precision or its lower bound. Optimistic."""
    at: Candidate
    n: int
    n_dropped: int = 0
    reason: str | None = None
    """Why there is no threshold: no_threshold if none reaches the target, or a class has no item."""

    def to_record(self) -> dict[str, object]:
        """The choice as JSON-ready values."""
        return {**to_record(self), "at": self.at.to_record()}


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Counts at each candidate, from the lowest score up to "never"."""

    thresholds: NDArray[np.float64]
    """The distinct scores; "never" comes after the last."""
    tp: NDArray[np.int64]
    fp: NDArray[np.int64]

    def candidate(self, at: int) -> Candidate:
        threshold = float(self.thresholds[at]) if at < self.thresholds.size else None
        tp, fp = int(self.tp[at]), int(self.fp[at])
        return Candidate(threshold, tp, fp, int(self.tp[0]) - tp, int(self.fp[0]) - fp)


def sweep(scores: MaybeNumbers, labels: MaybeTruths) -> tuple[Candidate, ...]:
    """Every candidate: the distinct scores from low to high, then "never".

    Args:
        scores: One finite number per item, on any scale; None where it is missing.
        labels: 1 or True for yes, 0 or False for no, None where it is missing. Items with a gap are left out.

    Raises:
        ValueError: The lengths differ, a score is not a finite number, or a label is not 0 or 1.
    """
    numbers, truths, _ = complete(scores, labels)
    table = _table(numbers, truths)
    return tuple(table.candidate(at) for at in range(table.tp.size))


def choose_threshold(scores: MaybeNumbers, labels: MaybeTruths, rule: Rule) -> Choice:
    """The candidate that is best by the rule; the highest of those that tie.

    Arguments and errors are those of `sweep`. Takes n log n steps.
    """
    numbers, truths, kept = complete(scores, labels)
    return replace(_choose(numbers, truths, rule), n_dropped=len(scores) - len(kept))


def _choose(numbers: NDArray[np.float64], truths: NDArray[np.bool_], rule: Rule) -> Choice:
    table = _table(numbers, truths)
    n, never = truths.size, table.candidate(table.tp.size - 1)
    yes, no = int(table.tp[0]), int(table.fp[0])
    if n == 0:
        return Choice(None, None, never, n, reason="no_data")
    match rule:
        case Youden():
            if not yes or not no:
                return Choice(None, None, never, n, reason="no_negative_gold" if yes else "no_positive_gold")
            at = _highest(table.tp * no - table.fp * yes)
            value = table.candidate(at).youden
        case MinimumCost():
            at = _highest(-(rule.false_positive * table.fp + rule.false_negative * (yes - table.tp)))
            value = table.candidate(at).cost(rule)
        case _:
            values = _precisions(table, rule)
            reached = values >= rule.target
            if not bool(np.any(reached)):
                return Choice(None, None, never, n, reason="no_threshold")
            at = _highest(np.where(reached, table.tp, -1))
            value = float(values[at])
    return Choice(table.candidate(at).threshold, value, table.candidate(at), n)


def _highest(values: NDArray[np.float64] | NDArray[np.int64]) -> int:
    """The last place of the largest value, but for rounding."""
    largest = float(values.max())
    return int(np.flatnonzero(values >= largest - NOTHING * abs(largest))[-1])


def _precisions(table: _Table, rule: TargetPrecision) -> NDArray[np.float64]:
    """Precision or its lower bound at each candidate; -1 for "never", which has none."""
    tp, fp = table.tp[:-1], table.fp[:-1]
    values = tp / (tp + fp) if rule.level is None else _lower_bounds(tp, fp, rule.level)
    return np.append(values, -1.0)


def _lower_bounds(tp: NDArray[np.int64], fp: NDArray[np.int64], level: float) -> NDArray[np.float64]:
    from scipy.special import betaincinv

    check_level(level)
    return np.asarray(np.where(tp > 0, betaincinv(np.maximum(tp, 1), fp + 1, 1 - level), 0.0), dtype=np.float64)


def _table(numbers: NDArray[np.float64], truths: NDArray[np.bool_]) -> _Table:
    distinct, group = np.unique(numbers, return_inverse=True)
    tp, fp = (
        np.append(np.cumsum(np.bincount(group[each], minlength=distinct.size)[::-1])[::-1], 0)
        for each in (truths, ~truths)
    )
    return _Table(distinct, tp, fp)


# Cross-fitting


@dataclass(frozen=True, slots=True)
class CrossFittedThreshold:
    """A threshold, and what thresholds chosen like it do on items they were not chosen on."""

    apparent: Choice
    """Chosen on all items: the one to use."""
    fold_choices: tuple[Choice, ...]
    """Chosen on all folds but one; folds in the order in which they first appear."""
    decisions: tuple[bool | None, ...]
    """Of each item, by the threshold chosen without its fold; None where score or label is missing."""
    value: Figure
    """What the rule is about, from these decisions: J, mean cost or precision."""
    accuracy: Figure
    """Share of these decisions that are right, with Wilson's interval."""
    optimism: float | None
    """How much better the rule's value looks on the items the threshold was chosen on. None if either is undefined."""

    def to_record(self) -> dict[str, object]:
        """The result as JSON-ready values."""
        choices = {
            "apparent": self.apparent.to_record(),
            "fold_choices": [each.to_record() for each in self.fold_choices],
        }
        return {**to_record(self), **choices}


def cross_fit_threshold(
    scores: MaybeNumbers,
    labels: MaybeTruths,
    rule: Rule,
    *,
    folds: Sequence[Hashable] | NDArray[np.generic],
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> CrossFittedThreshold:
    """Choose a threshold, and for each fold one on the other folds; pool the decisions on the items left out.

    Where the other folds give no threshold, the items of the fold are all decided no. For a target on the lower bound
    of precision, optimism is that of precision itself.

    Args:
        scores: As for `sweep`.
        labels: As for `sweep`.
        rule: What is best.
        folds: One per item (`calibration.statistics.mapping.assign_folds`).
        clusters: One id per item where one case yields several items; no cluster may lie in two folds.
        level: Of the two-sided intervals.

    Raises:
        ValueError: As for `sweep`; or all items lie in one fold, or a cluster in several.
    """
    check_level(level)
    numbers, truths, kept = complete(scores, labels)
    apparent = replace(_choose(numbers, truths, rule), n_dropped=len(scores) - len(kept))
    places = cluster_codes(folds, len(scores))[0]
    groups = None
    if clusters is not None:
        groups, count = cluster_codes(clusters, len(scores))
        if np.unique(np.column_stack([groups, places]), axis=0).shape[0] != count:
            raise ValueError("a cluster lies in several folds: split by cluster (assign_folds)")
        groups = groups[kept]
    places = places[kept]
    if kept and np.unique(places).size < 2:
        raise ValueError("all items lie in one fold: use at least two")
    decided, choices = np.zeros(len(kept), dtype=np.bool_), list[Choice]()
    for fold in dict.fromkeys(places.tolist()):
        out = places == fold
        choice = _choose(numbers[~out], truths[~out], rule)
        choices.append(choice)
        decided[out] = False if choice.threshold is None else numbers[out] >= choice.threshold
    decisions: list[bool | None] = [None] * len(scores)
    for at, decision in zip(kept, decided.tolist(), strict=True):
        decisions[at] = decision
    value = replace(_value(decided, truths, groups, rule, level), n_dropped=apparent.n_dropped)
    if value.value is not None and apparent.n_dropped > HIGH_DROP * len(scores):
        value = replace(value, flags=tuple(sorted({*value.flags, "high_drop"})))
    accuracy = proportion(decided == truths, groups, level=level, n_dropped=apparent.n_dropped)
    optimism = None
    looked = apparent.at.precision if isinstance(rule, TargetPrecision) and apparent.reason is None else apparent.value
    if looked is not None and value.value is not None:
        optimism = value.value - looked if isinstance(rule, MinimumCost) else looked - value.value
    return CrossFittedThreshold(apparent, tuple(choices), tuple(decisions), value, accuracy, optimism)


def _value(
    decided: NDArray[np.bool_], truths: NDArray[np.bool_], groups: NDArray[np.intp] | None, rule: Rule, level: float
) -> Figure:
    match rule:
        case Youden():
            return _youden(decided, truths, groups, level)
        case MinimumCost():
            costs = rule.false_positive * (decided & ~truths) + rule.false_negative * (truths & ~decided)
            top = max(rule.false_positive, rule.false_negative)
            figure = ratio(costs / (top or 1.0), np.ones(costs.size), groups, level=level)
            scaled = [None if each is None else each * top for each in (figure.value, figure.ci_low, figure.ci_high)]
            se = None if figure.se is None else figure.se * top
            return replace(figure, value=scaled[0], ci_low=scaled[1], ci_high=scaled[2], se=se)
        case TargetPrecision():
            inside = None if groups is None else groups[decided]
            return proportion(truths[decided], inside, level=level, reason="no_positive_pred")


def _youden(
    decided: NDArray[np.bool_], truths: NDArray[np.bool_], groups: NDArray[np.intp] | None, level: float
) -> Figure:
    """J by MOVER of the intervals of recall and specificity, with the correlation that shared clusters bring."""
    n, n_clusters = truths.size, None if groups is None else int(np.unique(groups).size)
    parts: list[Figure] = []
    sums: list[NDArray[np.float64]] = []
    for there, reason in ((truths, "no_positive_gold"), (~truths, "no_negative_gold")):
        right = (decided == truths)[there]
        part = proportion(right, None if groups is None else groups[there], level=level, reason=reason)
        if part.value is None:
            return replace(undefined(reason if n else "no_data", n=n, level=level), n_clusters=n_clusters)
        parts.append(part)
        if groups is not None:
            influence = right.astype(np.float64) - part.value
            sums.append(
                np.bincount(groups[there], weights=influence, minlength=int(groups.max()) + 1).astype(np.float64)
            )
    recall, specificity = parts
    rare = {"rare_class"} if min(recall.n, specificity.n) < RARE else set[str]()
    flags = tuple(sorted({*recall.flags, *specificity.flags, *rare} - ({"small_n"} if n >= 30 else set())))
    value = (recall.value or 0.0) + (specificity.value or 0.0) - 1
    figure = Figure(value, level=level, n=n, n_clusters=n_clusters, flags=flags)
    correlation = 0.0
    if sums:
        length = sqrt(float(sums[0] @ sums[0])) * sqrt(float(sums[1] @ sums[1]))
        correlation = float(sums[0] @ sums[1]) / length if length > NOTHING else 0.0
    terms = [
        (1.0, each.value, each.ci_low, each.ci_high)
        for each in parts
        if each.value is not None and each.ci_low is not None and each.ci_high is not None
    ]
    if len(terms) < len(parts):
        return replace(figure, reason="too_few_clusters")
    low, high = mover(terms, correlation=correlation)
    return replace(figure, ci_low=max(low - 1, -1.0), ci_high=min(high - 1, 1.0), method="mover")
