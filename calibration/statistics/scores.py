"""How far a judge's scores and the humans' go together: correlation, ordered pairs, differences. Ordinal or numeric.

Scores stay as they are, also outside the scale that was asked for: nothing is clipped or rescaled. An answer that is no
number has no place on a scale; give None for it, it is left out and counted.

Sources:
    Fisher 1921, Metron 1:3 (z of Pearson); Bonett & Wright 2000, Psychometrika 65:23 (Spearman); Fieller, Hartley &
    Pearson 1957, Biometrika 44:470 (Kendall). Kendall 1945, Biometrika 33:239 (tau-b). Deutsch, Foster & Freitag 2023,
    arXiv:2305.14324 (pairwise accuracy with ties). Bland & Altman 1986, Lancet i:307; 1999, Stat Methods Med Res 8:135.
    Lin 1989, Biometrics 45:255 (concordance).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import atanh, inf, sqrt, tanh
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import MaybeNumbers
from calibration.statistics.resampling import Resamples
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    Significance,
    check_level,
    cluster_codes,
    influence_se,
    normal_quantile,
    sample_flags,
    t_quantile,
    two_sided,
)

__all__ = [
    "BlandAltman",
    "PairCounts",
    "ScorePairs",
    "Weighted",
    "bland_altman",
    "bootstrap_weighted",
    "concordance",
    "kendall",
    "mean_absolute_error",
    "pair_counts",
    "pair_scores",
    "pairwise_accuracy",
    "pearson",
    "root_mean_squared_error",
    "spearman",
    "weighted_spearman",
]

LEAST = 5
"""Items an analytic interval of a correlation needs."""
NOTHING = 1e-12
UNBOUNDED = (-inf, inf)
LIMITS = 1.96
"""Standard deviations from the bias to the limits of agreement: theirs, whatever the level of the intervals."""


@dataclass(frozen=True, slots=True, eq=False)
class ScorePairs:
    """Human and judge scores of the same items."""

    human: NDArray[np.float64]
    judge: NDArray[np.float64]
    codes: NDArray[np.intp] | None
    """Cluster of each item, from 0; None if items are independent."""
    n_clusters: int | None
    n_dropped: int
    """Pairs left out: a score is missing."""

    @property
    def n(self) -> int:
        """Pairs."""
        return self.human.size

    def figure(self, value: float, level: float, *flags: str) -> Figure:
        """A figure of these pairs, without an interval so far."""
        also = sample_flags(self.n, self.n_clusters, self.n_dropped, *flags)
        return Figure(value, None, None, level, None, self.n, self.n_clusters, self.n_dropped, None, also)

    def undefined(self, reason: str, level: float) -> Figure:
        """A figure of these pairs without a value."""
        return replace(undefined(reason, n=self.n, n_dropped=self.n_dropped, level=level), n_clusters=self.n_clusters)


def pair_scores(human: MaybeNumbers, judge: MaybeNumbers, *, clusters: Clusters | None = None) -> ScorePairs:
    """Pair human and judge scores of the same items.

    Args:
        human: One number per item, None where it is missing; means of several humans are fine.
        judge: Likewise.
        clusters: One id per item where one case yields several items.

    Raises:
        ValueError: The lengths differ, or a score is not a finite number.
    """
    if len(human) != len(judge):
        raise ValueError(f"{len(human)} human scores and {len(judge)} judge scores: give one of each per item")
    (first, here), (second, there) = _numbers(human, "human"), _numbers(judge, "judge")
    kept = here & there
    n = int(np.count_nonzero(kept))
    codes, groups = (None, None) if clusters is None else cluster_codes(cluster_codes(clusters, kept.size)[0][kept], n)
    return ScorePairs(first[kept], second[kept], codes, groups, kept.size - n)


def _numbers(scores: MaybeNumbers, whose: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The scores, 0 in place of a missing one, and which of them are there."""
    present = np.array([each is not None for each in scores], dtype=np.bool_)
    try:
        numbers = np.array([0.0 if each is None else each for each in scores], dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"a {whose} score is not a number: give None where there is none") from error
    if numbers.ndim != 1 or not bool(np.all(np.isfinite(numbers))):
        raise ValueError(f"a {whose} score is not a finite number: give one per item, None where it is missing")
    return numbers, present


# Correlation

Weighted: TypeAlias = Callable[[NDArray[np.int64]], float | None]
"""From how often each item counts to the statistic. A resample draws some items several times and others never."""


def pearson(pairs: ScorePairs, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0) -> Figure:
    """Pearson's correlation of human and judge scores, with Fisher's z interval.

    Args:
        pairs: From `pair_scores`.
        level: Of the two-sided interval.
        resamples: With clusters the interval is a percentile bootstrap of whole clusters.
        seed: Of the bootstrap.

    Returns:
        From -1 to 1. Undefined if either side is constant (constant_input). There is no analytic interval below five
        items (too_few), and none of either kind where the correlation is exactly 1 or -1 (singular).
    """

    def statistic(weights: NDArray[np.int64]) -> float | None:
        return _product_moment(pairs.human, pairs.judge, weights)

    return _correlation(pairs, statistic, (1.0, 0.0, 3), "fisher_z", level, resamples, seed)


def spearman(pairs: ScorePairs, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0) -> Figure:
    """Spearman's correlation of the ranks, tied scores sharing their mean rank; interval of Bonett and Wright.

    Otherwise as `pearson`.
    """
    return _correlation(pairs, weighted_spearman(pairs), (1.0, 0.5, 3), "bonett_wright", level, resamples, seed)


def weighted_spearman(pairs: ScorePairs) -> Weighted:
    """Spearman's correlation by how often each item counts; the scores are sorted once and not in each resample."""
    human, judge = _codes(pairs.human), _codes(pairs.judge)

    def statistic(weights: NDArray[np.int64]) -> float | None:
        return _product_moment(_mid_ranks(human, weights), _mid_ranks(judge, weights), weights)

    return statistic


def kendall(pairs: ScorePairs, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0) -> Figure:
    """Kendall's tau-b: concordant less discordant pairs, corrected for ties; interval of Fieller.

    Otherwise as `pearson`. Takes n log n steps.
    """
    ordered = _Dominance(_codes(pairs.human), _codes(pairs.judge))

    def statistic(weights: NDArray[np.int64]) -> float | None:
        counts = ordered.pairs(weights)
        untied = counts.concordant + counts.discordant
        spread = sqrt(untied + counts.tied_judge_only) * sqrt(untied + counts.tied_human_only)
        return (counts.concordant - counts.discordant) / spread if spread else None

    return _correlation(pairs, statistic, (0.437, 0.0, 4), "fieller", level, resamples, seed)


def _correlation(
    pairs: ScorePairs,
    statistic: Weighted,
    error: tuple[float, float, int],
    method: str,
    level: float,
    resamples: int,
    seed: int,
) -> Figure:
    """What the three have in common; `error` (a, b, c) is a variance of a (1 + b r^2)/(n - c) on Fisher's z scale."""
    check_level(level)
    if pairs.n < 2:
        return pairs.undefined("too_few" if pairs.n else "no_data", level)
    value = statistic(np.ones(pairs.n, dtype=np.int64))
    if value is None:
        return pairs.undefined("constant_input", level)
    value = _within(value)
    figure = pairs.figure(value, level)
    if pairs.n_clusters is not None and pairs.n_clusters < 2:
        return replace(figure, reason="too_few_clusters")
    if abs(value) == 1:
        return replace(figure, reason="singular")
    if pairs.codes is not None:
        return bootstrap_weighted(pairs, figure, statistic, resamples=resamples, seed=seed)
    if pairs.n < LEAST:
        return replace(figure, reason="too_few")
    scale, curve, lost = error
    half = normal_quantile(level) * sqrt(scale * (1 + curve * value * value) / (pairs.n - lost))
    centre = atanh(value)
    low, high = tanh(centre - half), tanh(centre + half)
    return replace(figure, ci_low=min(low, value), ci_high=max(high, value), method=method)


def bootstrap_weighted(
    pairs: ScorePairs, figure: Figure, statistic: Weighted, *, resamples: int = 2_000, seed: int = 0
) -> Figure:
    """The figure with its percentile interval from items, or whole clusters, that are drawn anew.

    Args:
        pairs: From `pair_scores`.
        figure: The statistic of all items, each counted once.
        statistic: From how often each item counts: as often as its cluster was drawn.
        resamples: At least 2,000.
        seed: Of `numpy.random.default_rng`.
    """
    groups = pairs.n if pairs.n_clusters is None else pairs.n_clusters
    generator = np.random.default_rng(seed)
    values = np.empty((resamples, 1))
    for at in range(resamples):
        drawn = np.bincount(generator.integers(groups, size=groups), minlength=groups)
        value = statistic(drawn if pairs.codes is None else drawn[pairs.codes])
        values[at] = np.nan if value is None else value
    resampled = Resamples(np.array([figure.value]), values, values[:0], np.ones(groups, dtype=np.int64), seed)
    made = resampled.interval(lambda each: each[:, 0], method="percentile", level=figure.level)
    return made.onto(figure)


def _within(value: float) -> float:
    """A correlation without the rounding that keeps it just off 1 or carries it beyond."""
    return (1.0 if value > 0 else -1.0) if abs(value) >= 1 - NOTHING else value


def _product_moment(x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.int64]) -> float | None:
    """The weighted correlation. Sums and no `@`: at this length BLAS starts threads, which cost more than the sum."""
    there = np.flatnonzero(weights)
    x, y, drawn = x[there], y[there], weights[there].astype(np.float64)
    if there.size == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = (_centred(each, drawn) for each in (x, y))
    square_x, square_y, product = (float(np.sum(drawn * a * b)) for a, b in ((x, x), (y, y), (x, y)))
    return product / (sqrt(square_x) * sqrt(square_y))


def _centred(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations from the mean, on a scale where the largest is near 1: squares neither vanish nor overflow."""
    values = (values - values[0]) / np.ptp(values)
    return np.asarray(values - np.sum(weights * values) / np.sum(weights), dtype=np.float64)


def _codes(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Each value as its place among the distinct ones, from 0."""
    return np.unique(values, return_inverse=True)[1].astype(np.intp, copy=False)


def _mid_ranks(codes: NDArray[np.intp], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    counts = np.bincount(codes, weights=weights)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], dtype=np.float64)


# Pairs of items


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How human and judge order each pair of items."""

    concordant: int
    discordant: int
    tied_human_only: int
    tied_judge_only: int
    tied_both: int

    @property
    def total(self) -> int:
        """All pairs, n(n-1)/2."""
        return self.concordant + self.discordant + self.tied_human_only + self.tied_judge_only + self.tied_both

    def to_record(self) -> dict[str, object]:
        """The counts as JSON-ready values."""
        return to_record(self)


def pair_counts(pairs: ScorePairs) -> PairCounts:
    """Count the pairs of items by how human and judge order them. Takes n log n steps."""
    return _Dominance(_codes(pairs.human), _codes(pairs.judge)).pairs(np.ones(pairs.n, dtype=np.int64))


def pairwise_accuracy(pairs: ScorePairs, *, level: float = 0.95) -> Figure:
    """The share of pairs of items that human and judge order alike; a tie on both sides is alike.

    Returns:
        From 0 to 1; undefined without a pair (too_few, no_data). The interval is by influence values, those of a
        mean over pairs: twice an item's own share of right pairs, less the whole. None below five items (too_few), or
        where all items have the same share (singular).

    Source:
        Deutsch, Foster & Freitag 2023; Hoeffding 1948, Ann Math Statist 19:293 (influence).
    """
    check_level(level)
    if pairs.n < 2:
        return pairs.undefined("too_few" if pairs.n else "no_data", level)
    human, judge, once = _codes(pairs.human), _codes(pairs.judge), np.ones(pairs.n, dtype=np.int64)
    ordered, turned = _Dominance(human, judge), _Dominance(human.max() - human, judge.max() - judge)
    cells = ordered.cells(once)
    below, above = ordered.below(cells)[ordered.cell], turned.below(turned.cells(once))[turned.cell]
    shares = (below + above + cells[ordered.cell] - 1) / (pairs.n - 1)
    value = float(shares.mean())
    figure = pairs.figure(value, level, *(["perfect_agreement"] if value == 1 else []))
    return _by_influence(pairs, figure, 2 * (shares - value), bounds=(0.0, 1.0), least=LEAST)


class _Dominance:
    """For each item, the items that lie below it on both sides; ordered once, counted for any weights.

    Items with the same two scores are one cell. Two codes first differ at one bit, and there the smaller has 0. So for
    each bit of the human code, cells that agree in all higher bits form a block; within it, in order of the judge's
    code, running totals of the cells with bit 0 say how much lies below each cell with bit 1.
    """

    def __init__(self, human: NDArray[np.intp], judge: NDArray[np.intp]) -> None:
        both = human * (judge.max(initial=0) + 1) + judge
        _, first, self.cell = np.unique(both, return_index=True, return_inverse=True)
        self.human, self.judge = human[first], judge[first]
        self.steps: list[tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.intp], NDArray[np.intp]]] = []
        by_judge = np.argsort(self.judge, kind="stable")
        for bit in range(int(human.max(initial=0)).bit_length()):
            order = by_judge[np.argsort(self.human[by_judge] >> (bit + 1), kind="stable")]
            block, level = self.human[order] >> (bit + 1), self.judge[order]
            new_block = np.diff(block, prepend=-1) != 0
            new_run = new_block | (np.diff(level, prepend=-1) != 0)
            at, upper = np.arange(order.size), ((self.human[order] >> bit) & 1).astype(np.bool_)
            block_start, run_start = (np.maximum.accumulate(np.where(each, at, 0)) for each in (new_block, new_run))
            self.steps.append((order, upper, block_start[upper], run_start[upper]))

    def cells(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """What each cell weighs."""
        return np.bincount(self.cell, weights=weights, minlength=self.human.size).astype(np.int64)

    def below(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """What lies below each cell on both sides."""
        found = np.zeros_like(cells)
        for order, upper, block_start, run_start in self.steps:
            lower = np.where(upper, 0, cells[order])
            before = np.cumsum(lower) - lower
            found[order[upper]] += before[run_start] - before[block_start]
        return found

    def pairs(self, weights: NDArray[np.int64]) -> PairCounts:
        """All pairs by kind. An item that counts twice makes a pair with itself, tied on both sides."""
        cells = self.cells(weights)
        both, total, concordant = _tied(cells), int(cells.sum()), int(cells @ self.below(cells))
        human, judge = (_tied(np.bincount(codes, weights=cells)) for codes in (self.human, self.judge))
        untied = total * (total - 1) // 2 - human - judge + both
        return PairCounts(concordant, untied - concordant, human - both, judge - both, both)


def _tied(counts: NDArray[np.int64] | NDArray[np.float64]) -> int:
    whole = counts.astype(np.int64)
    return int(np.sum(whole * (whole - 1) // 2))


def _by_influence(
    pairs: ScorePairs,
    figure: Figure,
    influence: NDArray[np.float64],
    *,
    bounds: tuple[float, float] = UNBOUNDED,
    least: int = 2,
    fisher: bool = False,
) -> Figure:
    """The figure with an interval from influence values (z, or t with clusters), on Fisher's z scale if asked for."""
    groups = pairs.n_clusters
    if groups is not None and groups < 2:
        return replace(figure, reason="too_few_clusters")
    if pairs.n < least:
        return replace(figure, reason="too_few")
    scale = max(float(np.abs(influence).max()), abs(figure.value or 0.0))
    error = influence_se(influence, pairs.codes, groups or 0, scale=scale)
    reach = normal_quantile(figure.level) if groups is None else t_quantile(figure.level, groups - 1)
    found = _reaching(replace(figure, deff=error.deff), error.se, reach, bounds=bounds, fisher=fisher)
    return replace(found, method=None if found.reason else "fisher_z" if fisher else "influence")


def _by_t(figure: Figure, se: float, df: int, *, bounds: tuple[float, float] = UNBOUNDED) -> Figure:
    """The figure with a t interval, for independent items."""
    if df < 1:
        return replace(figure, reason="too_few")
    found = _reaching(figure, se, t_quantile(figure.level, df), bounds=bounds)
    return replace(found, method=None if found.reason else "t")


def _reaching(figure: Figure, se: float, reach: float, *, bounds: tuple[float, float], fisher: bool = False) -> Figure:
    """From `reach` standard errors below the value to as many above."""
    value = figure.value or 0.0
    if se <= NOTHING * abs(value):
        return replace(figure, reason="singular", se=0.0)
    half = reach * se / (1 - value * value) if fisher else reach * se
    low, high = value - half, value + half
    if fisher:
        low, high = tanh(atanh(value) - half), tanh(atanh(value) + half)
    low, high = min(max(low, bounds[0]), value), max(min(high, bounds[1]), value)
    return replace(figure, ci_low=low, ci_high=high, se=se)


# Differences


def mean_absolute_error(pairs: ScorePairs, *, level: float = 0.95) -> Figure:
    """The mean distance between judge and human, in units of the scale, with a t interval.

    There is none where all distances are equal (singular, flag zero_variance_differences).
    """
    check_level(level)
    return _mean(pairs, np.abs(pairs.judge - pairs.human), level, bounds=(0.0, inf))


def root_mean_squared_error(pairs: ScorePairs, *, level: float = 0.95) -> Figure:
    """The root of the mean squared distance; its interval is the root of that of the mean. As `mean_absolute_error`."""
    check_level(level)
    figure = _mean(pairs, (pairs.judge - pairs.human) ** 2, level, bounds=(0.0, inf))
    value, low, high = (None if each is None else sqrt(each) for each in (figure.value, figure.ci_low, figure.ci_high))
    return replace(figure, value=value, ci_low=low, ci_high=high, se=None)


def _mean(
    pairs: ScorePairs, values: NDArray[np.float64], level: float, *, bounds: tuple[float, float] = UNBOUNDED
) -> Figure:
    n = pairs.n
    if n == 0:
        return pairs.undefined("no_data", level)
    constant = float(np.ptp(values)) <= NOTHING * float(np.abs(values).max())
    value = float(values[0] if constant else values.mean())
    figure = pairs.figure(value, level, *(["zero_variance_differences"] if constant and n > 1 else []))
    deviations = np.zeros(n) if constant else values - value
    if pairs.codes is None:
        se = sqrt(float(deviations @ deviations) / max(n - 1, 1) / n)
        return _by_t(figure, se, n - 1, bounds=bounds)
    return _by_influence(pairs, figure, deviations, bounds=bounds)


@dataclass(frozen=True, slots=True)
class BlandAltman:
    """Differences, judge less human, in units of the scale."""

    bias: Figure
    """Their mean, with a t interval."""
    sd: float | None
    """Their standard deviation; None below two items."""
    lower_limit: Figure
    """bias - 1.96 SD: between the limits lie about 95% of differences, if they are normal."""
    upper_limit: Figure
    test: Significance
    """Of no bias."""
    slope: Figure
    """Of the difference on the mean of the two: away from 0 the bias depends on the level."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def bland_altman(pairs: ScorePairs, *, level: float = 0.95) -> BlandAltman:
    """Bias of the judge and limits of agreement.

    With clusters all standard errors come from influence values by cluster. If the differences don't vary (flag
    zero_variance_differences) bias and limits are one number and so is their interval; the test has no statistic then.

    Source:
        Bland & Altman 1986, 1999: SE of a limit = SD sqrt(1/n + 1.96^2/(2(n-1))).
    """
    check_level(level)
    n, differences = pairs.n, pairs.judge - pairs.human
    bias, slope = _mean(pairs, differences, level), _slope(pairs, differences, level)
    mean = bias.value
    if mean is None or n < 2:
        reason = bias.reason or "too_few"
        nothing = pairs.undefined(reason, level)
        return BlandAltman(bias, None, nothing, nothing, Significance(None, None, "t", reason=reason), slope)
    if bias.reason == "singular" and "zero_variance_differences" in bias.flags:
        bias = replace(bias, ci_low=mean, ci_high=mean, method="t", reason=None)
        return BlandAltman(bias, 0.0, bias, bias, Significance(None, None, "t", se=0.0, reason="singular"), slope)
    centred = differences - mean
    sd = sqrt(float(centred @ centred) / (n - 1))
    spread = LIMITS * (centred**2 - float(np.mean(centred**2))) / (2 * sd) if sd else centred
    limits: list[Figure] = []
    for sign in (-1, 1):
        limit = pairs.figure(mean + sign * LIMITS * sd, level, *bias.flags)
        if pairs.codes is None:
            limits.append(_by_t(limit, sd * sqrt(1 / n + LIMITS**2 / (2 * (n - 1))), n - 1))
        else:
            limits.append(_by_influence(pairs, limit, centred + sign * spread))
    df = (n if pairs.n_clusters is None else pairs.n_clusters) - 1
    test = two_sided(mean, bias.se, df) if bias.se else Significance(None, None, "t", reason=bias.reason)
    return BlandAltman(bias, sd, limits[0], limits[1], test, slope)


def _slope(pairs: ScorePairs, differences: NDArray[np.float64], level: float) -> Figure:
    """Least squares; t with n-2 degrees of freedom, or G-1 with clusters."""
    means, n = (pairs.human + pairs.judge) / 2, pairs.n
    if n < 2:
        return pairs.undefined("too_few" if n else "no_data", level)
    if float(np.ptp(means)) <= NOTHING * float(np.abs(means).max()):
        return pairs.undefined("constant_input", level)
    scale = float(np.abs(means).max())  # the slope has no unit, so it may be found in any
    x, y = ((each - float(each.mean())) / scale for each in (means, differences))
    square = float(x @ x)
    value = float(x @ y) / square
    figure, residuals = pairs.figure(value, level), y - value * x
    residuals[np.abs(residuals) <= NOTHING] = 0.0
    if pairs.codes is None:
        return _by_t(figure, sqrt(float(residuals @ residuals) / max(n - 2, 1) / square), n - 2)
    return _by_influence(pairs, figure, x * residuals * n / square, least=3)


def concordance(pairs: ScorePairs, *, level: float = 0.95) -> Figure:
    """Lin's concordance correlation: 1 if judge and human are the same number, lower for noise and for bias.

    Returns:
        2 s_xy/(s_x^2 + s_y^2 + (mean x - mean y)^2) with moments over n; interval by influence values on Fisher's z
        scale. Undefined if both are one and the same constant (constant_input); no interval below five items
        (too_few), nor at 1 and -1 (singular).
    """
    check_level(level)
    if pairs.n < 2:
        return pairs.undefined("too_few" if pairs.n else "no_data", level)
    differences = pairs.human - pairs.judge
    scale = max(float(np.ptp(pairs.human)), float(np.ptp(pairs.judge)), float(np.abs(differences).max()))
    if scale == 0:
        return pairs.undefined("constant_input", level)
    gaps = differences / scale
    x, y = ((each - float(each.mean())) / scale for each in (pairs.human, pairs.judge))
    shared, apart = 2 * float(np.mean(x * y)), float(np.mean(gaps**2))
    value = _within(shared / (apart + shared))
    constant = bool(np.ptp(pairs.human) == 0 or np.ptp(pairs.judge) == 0)
    perfect = apart == 0
    if constant:
        value = 0.0
    flags = [name for name, holds in (("constant_rater", constant), ("perfect_agreement", perfect)) if holds]
    figure = pairs.figure(value, level, *flags)
    if abs(value) == 1:
        return replace(figure, reason="singular")
    up = 2 * x * y - shared
    influence = (up - value * (gaps**2 - apart + up)) / (apart + shared)
    return _by_influence(pairs, figure, influence, least=LEAST, fisher=True)
