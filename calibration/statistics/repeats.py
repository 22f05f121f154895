"""One judge asked several times: how often it changes its mind, and how many repeats are worth their cost.

Sources:
    Fleiss 1971, Psychological Bulletin 76:378 (agreement of the repeats). Miller 2024, arXiv:2411.00640, section 3
    (variance components). Cochran 1977, Sampling Techniques, chapter 10 (best number of repeats).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, sqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import jackknife_se
from calibration.statistics.tables import encode_labels
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    check_level,
    cluster_codes,
    influence_se,
    mean,
    proportion,
    proportion_interval,
    sample_flags,
    t_quantile,
)

__all__ = [
    "REPEATS_WARNING",
    "BestRepeats",
    "BinaryRepeats",
    "RepeatStability",
    "best_repeats",
    "repeat_stability",
]

Answers: TypeAlias = Sequence[Sequence[Hashable]] | NDArray[np.generic]

REPEATS_WARNING: Final = "Repeats remove noise, never bias: a judge that is asked again is still the same judge"
NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class BinaryRepeats:
    """Where the variance of a judge's pass rate comes from, for two labels."""

    within: Figure
    """Variance of one answer within an item."""
    between: Figure
    """Variance between items, without that noise; an estimate below 0 is left as it is."""
    se_now: Figure
    """Standard error of the pass rate with these repeats."""
    se_one: Figure
    """With one answer per item."""
    se_infinite: Figure
    """With so many that no noise is left; undefined (singular) where the estimate is below 0."""
    reliability_one: Figure
    """Share of the variance of one answer that is between items."""
    reliability_mean: Figure
    """The same of the mean of the repeats."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class RepeatStability:
    """How far a judge agrees with itself."""

    repeats: int
    flip_rate: Figure
    """Chance that two answers to the same item differ."""
    items_flipped: Figure
    """Share of the items whose answers are not all the same. It grows with the number of repeats."""
    minority_share: Figure
    """Share of answers that differ from their item's commonest one."""
    kappa: Figure
    """Fleiss' kappa of the repeats."""
    binary: BinaryRepeats | None
    """None unless two labels are declared."""
    warning: str = REPEATS_WARNING

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def repeat_stability(
    answers: Answers, *, labels: Sequence[Hashable], clusters: Clusters | None = None, level: float = 0.95
) -> RepeatStability:
    """Test-retest of one judge.

    Args:
        answers: Shape (items, repeats), two repeats or more. Items with a missing answer (None) are dropped and
            counted; `INVALID` is an answer that differs from every label.
        labels: The declared labels; of two, the second is the positive one.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided intervals.

    Raises:
        ValueError: Fewer than two repeats, rows of different length, or a label is not declared.
    """
    check_level(level)
    m = len(answers[0]) if len(answers) else 2
    if m < 2 or any(len(row) != m for row in answers):
        raise ValueError("give every item as many answers as there are repeats, two or more, None where one is missing")
    codes = np.array([encode_labels(row, labels, may_be_invalid=True) for row in answers], dtype=np.intp).reshape(-1, m)
    complete = (codes >= 0).all(axis=1)
    n, dropped = int(np.count_nonzero(complete)), int(np.count_nonzero(~complete))
    ids, groups = None, None
    if clusters is not None:
        ids, groups = cluster_codes(cluster_codes(clusters, len(codes))[0][complete], n)
    codes = codes[complete]
    counts = np.array([(codes == code).sum(axis=1) for code in range(len(labels) + 1)]).T.reshape(n, len(labels) + 1)
    flips = 1 - np.sum(counts * (counts - 1), axis=1) / (m * (m - 1))
    commonest = counts.max(axis=1) if n else np.zeros(0, dtype=np.int64)
    return RepeatStability(
        m,
        mean(flips, ids, level=level, n_dropped=dropped),
        proportion(commonest < m, ids, level=level, n_dropped=dropped),
        mean(1 - commonest / m, ids, level=level, n_dropped=dropped),
        _kappa(flips, counts / m, ids, groups, dropped, level),
        _binary(counts[:, 1] / m, m, ids, groups, dropped, level) if len(labels) == 2 else None,
    )


def _kappa(
    flips: NDArray[np.float64],
    shares: NDArray[np.float64],
    ids: NDArray[np.intp] | None,
    groups: int | None,
    dropped: int,
    level: float,
) -> Figure:
    """1 - flip rate / flip rate by chance, with a t interval by the jackknife of items or clusters."""
    n, units = len(flips), len(flips) if groups is None else groups
    parts = np.column_stack([np.ones(n), flips, shares])
    codes = np.arange(n) if ids is None else ids

    def value(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        size = totals[:, 0]
        chance = 1 - np.sum((totals[:, 2:] / size[:, None]) ** 2, axis=1)
        return np.where(chance > NOTHING, 1 - totals[:, 1] / size / np.where(chance > NOTHING, chance, 1.0), np.nan)

    found = float(value(parts.sum(axis=0)[None])[0]) if n else np.nan
    if np.isnan(found):
        reason = "single_category" if n else "no_data"
        return replace(undefined(reason, n=n, n_dropped=dropped, level=level), n_clusters=groups)
    flags = sample_flags(n, groups, dropped, *(["perfect_agreement"] if found == 1 else []))
    figure = Figure(found, level=level, n=n, n_clusters=groups, n_dropped=dropped, flags=flags)
    if units < 2:
        return replace(figure, reason="too_few" if groups is None else "too_few_clusters")
    if found == 1:
        share = parts[:, 2:].mean(axis=0)
        bound = proportion_interval(0, units, level=level, method="clopper_pearson")[1]
        low = max(1 - bound / (1 - float(share @ share)), -1.0)
        return replace(figure, ci_low=low, ci_high=1.0, method="exact_bound")
    sums = np.zeros((units, parts.shape[1]))
    np.add.at(sums, codes, parts)
    se = jackknife_se(sums, value)
    if se is None or se <= NOTHING:
        return replace(figure, reason="singular")
    half = t_quantile(level, units - 1) * se
    low, high = max(found - half, -1.0), min(found + half, 1.0)
    return replace(figure, ci_low=min(low, found), ci_high=max(high, found), method="t_jackknife", se=se)


def _binary(
    p: NDArray[np.float64], m: int, ids: NDArray[np.intp] | None, groups: int | None, dropped: int, level: float
) -> BinaryRepeats:
    n, units = p.size, p.size if groups is None else groups
    if units < 2:
        reason = "no_data" if n == 0 else "too_few" if n < 2 or groups is None else "too_few_clusters"
        nothing = replace(undefined(reason, n=n, n_dropped=dropped, level=level), n_clusters=groups)
        return BinaryRepeats(*(nothing,) * 7)
    flags = sample_flags(n, groups, dropped)

    def figure(value: float | None, reason: str = "singular") -> Figure:
        if value is None:
            return replace(undefined(reason, n=n, n_dropped=dropped, level=level), n_clusters=groups)
        return Figure(value, level=level, n=n, n_clusters=groups, n_dropped=dropped, flags=flags)

    within = float(np.mean(m / (m - 1) * p * (1 - p)))
    total = float(np.var(p, ddof=1))
    between = total - within / m
    now = influence_se(p - p.mean(), np.arange(n) if ids is None else ids, units).se ** 2
    rest = now - within / (m * n)  # clusters stretch what is between items, not the noise within
    one = between + within
    return BinaryRepeats(
        figure(within),
        figure(between),
        figure(sqrt(now)),
        figure(sqrt(max(rest + within / n, 0.0))),
        figure(None if rest < -NOTHING else sqrt(max(rest, 0.0))),
        figure(between / one if one > NOTHING else None, "constant_input"),
        figure(between / total if total > NOTHING else None, "constant_input"),
    )


@dataclass(frozen=True, slots=True)
class BestRepeats:
    """How often to ask about each item, for the smallest standard error a budget can buy."""

    unrounded: Figure
    repeats: int | None
    """The better of its two neighbours, at least 1. None if there is no such number."""

    def to_record(self) -> dict[str, object]:
        """The plan as JSON-ready values."""
        return to_record(self)


def best_repeats(within: float, between: float, *, cost_item: float, cost_call: float) -> BestRepeats:
    """The number of repeats that minimises (between + within/m)(cost_item + m cost_call).

    Args:
        within: Variance of one answer within an item, 0 or more.
        between: Variance between items. Not above 0: undefined (not_identified), as ever more repeats look better.
        cost_item: Of a new item, beside its calls; 0 or more.
        cost_call: Of one call, above 0, in the same unit.

    Source:
        Cochran 1977, chapter 10: m* = sqrt(within/between cost_item/cost_call).
    """
    if not (within >= 0 and cost_item >= 0 and cost_call > 0):
        raise ValueError("the variance within and the cost of an item are 0 or more, the cost of a call is above 0")
    if between <= 0:
        return BestRepeats(undefined("not_identified"), None)
    best = sqrt(within / between * cost_item / cost_call)

    def price(m: int) -> float:
        return (between + within / m) * (cost_item + m * cost_call)

    return BestRepeats(Figure(best), min((max(floor(best), 1), max(ceil(best), 1)), key=price))
