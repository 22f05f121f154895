"""Two judges' correlations with the same people's numbers, compared on the same items.

Sources:
    Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 13 (percentile interval); Davison & Hinkley 1997,
    Bootstrap Methods and their Application, chapter 4 (the 1 that is added to drawn values).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from calibration.statistics.resampling import Resamples
from calibration.statistics.scores import pair_scores, pearson, spearman
from judges.figures import Figure, to_record
from judges.intervals import Clusters, check_level

__all__ = ["Correlation", "CorrelationDifference", "correlation_difference"]

Correlation: TypeAlias = Literal["spearman", "pearson"]

RESAMPLES = 2_000
LEAST = 5
"""Items that an interval needs."""
NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class CorrelationDifference:
    """Two judges held against the same people's numbers of the same items."""

    kind: Correlation
    correlation_a: Figure
    correlation_b: Figure
    difference: Figure
    """Correlation of A less that of B; its standard error is that of the resamples."""
    p_value: float | None
    """Two-sided; None where the difference has no interval. 1 where it is 0 whatever is drawn."""

    def to_record(self) -> dict[str, object]:
        """The comparison as JSON-ready values."""
        return to_record(self)


def correlation_difference(
    human: Numbers,
    judge_a: Numbers,
    judge_b: Numbers,
    kind: Correlation = "spearman",
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> CorrelationDifference:
    """The difference of two judges' correlations with people, by a paired bootstrap.

    Both correlations are computed from the same drawn items, so that what makes an item hard for both cancels out.

    Args:
        human: One number per item.
        judge_a: A's score of the same items, on any scale.
        judge_b: B's, on any scale.
        kind: Of ranks, or of the numbers themselves.
        clusters: One id per item, or None when items are independent: whole clusters are drawn.
        level: Of the two-sided interval.
        resamples: 2,000 or more.
        seed: Of `numpy.random.default_rng`.

    Returns:
        The percentile interval. p is twice the share of resamples on the rarer side of 0, that is, one less the level
        at which the interval just touches 0. Undefined where a side is constant (constant_input); below five items
        there is no interval (too_few).

    Raises:
        ValueError: The lengths differ, or a score is not a finite number.
    """
    check_level(level)
    people = as_numbers(human, "human score")
    a, b = (as_numbers(each, "judge score", people.size) for each in (judge_a, judge_b))
    first, second = (pair_scores(people, each, clusters=clusters) for each in (a, b))
    of = spearman if kind == "spearman" else pearson
    one, two = (of(each, level=level, resamples=resamples, seed=seed) for each in (first, second))
    if one.value is None or two.value is None:
        nothing = first.undefined(one.reason or two.reason or "no_data", level)
        return CorrelationDifference(kind, one, two, nothing, None)
    figure = first.figure(one.value - two.value, level)
    groups = first.n if first.n_clusters is None else first.n_clusters
    if first.n_clusters is not None and groups < 2:
        return CorrelationDifference(kind, one, two, replace(figure, reason="too_few_clusters"), None)
    if first.n < LEAST:
        return CorrelationDifference(kind, one, two, replace(figure, reason="too_few"), None)
    codes = np.arange(first.n) if first.codes is None else first.codes
    columns = [_column(each, kind) for each in (people, a, b)]
    generator, values = np.random.default_rng(seed), np.empty((resamples, 1))
    for at in range(resamples):
        drawn = np.bincount(generator.integers(groups, size=groups), minlength=groups)[codes]
        values[at] = _difference([column(drawn) for column in columns], drawn)
    made = Resamples(np.array([figure.value]), values, values[:0], np.ones(groups, dtype=np.int64), seed)
    figure = made.interval(lambda each: each[:, 0], method="percentile", level=level).onto(figure)
    defined = values[np.isfinite(values)]
    if figure.reason == "singular":
        same = bool(np.all(np.abs(defined) <= NOTHING))
        return CorrelationDifference(kind, one, two, replace(figure, se=0.0), 1.0 if same else None)
    if figure.reason is not None:
        return CorrelationDifference(kind, one, two, figure, None)
    rarer = min(int(np.count_nonzero(defined <= 0)), int(np.count_nonzero(defined >= 0)))
    p_value = min(1.0, 2 * (1 + rarer) / (1 + defined.size))
    return CorrelationDifference(kind, one, two, replace(figure, se=float(defined.std(ddof=1))), p_value)


_Column: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""From how often each item counts to the numbers that are correlated."""


def _column(values: NDArray[np.float64], kind: Correlation) -> _Column:
    if kind == "pearson":
        return lambda _: values
    codes = np.unique(values, return_inverse=True)[1].astype(np.intp, copy=False)

    def mid_ranks(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        sizes = np.bincount(codes, weights=counts)
        return np.asarray((np.cumsum(sizes) - (sizes - 1) / 2)[codes], dtype=np.float64)

    return mid_ranks


def _difference(columns: list[NDArray[np.float64]], counts: NDArray[np.int64]) -> float:
    """NaN where a side of the resample is constant; it stays in here."""
    there = counts > 0
    weights = counts[there].astype(np.float64)
    human, a, b = (_centred(each[there], weights) for each in columns)
    spreads = [float((weights * each) @ each) for each in (human, a, b)]
    if min(spreads) <= 0:
        return float("nan")
    products = [float((weights * human) @ each) for each in (a, b)]
    return float(products[0] / np.sqrt(spreads[0] * spreads[1]) - products[1] / np.sqrt(spreads[0] * spreads[2]))


def _centred(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations from the mean, on a scale of about 1; all 0 where the values don't vary."""
    width = float(np.ptp(values))
    if width == 0:
        return np.zeros(values.size)
    scaled = (values - values[0]) / width
    return np.asarray(scaled - np.average(scaled, weights=weights), dtype=np.float64)
