"""Two conditions compared: differences of pairs, their signs, and gaps between rates of two groups.

What the probes of a judge's bias and the comparison of two systems are made of.

Sources:
    Miller 2024, arXiv:2411.00640, with the factor G/(G-1) it leaves out (paired differences, clusters); Newcombe 1998,
    Statistics in Medicine 17:873, method 10 (gap of two rates); Cohen 1988, chapter 6 (h).
"""

from dataclasses import dataclass, replace
from math import asin, sqrt

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    Significance,
    StandardError,
    check_level,
    cluster_codes,
    influence_se,
    mover,
    proportion,
    sample_flags,
    signed_share,
    t_quantile,
    two_sided,
)

__all__ = [
    "PairedDifference",
    "RateGap",
    "exact_sign_p",
    "mean_difference",
    "rate_gap",
    "sign_test",
    "unit_sums",
]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of differences within pairs."""

    difference: Figure
    """With a t interval; by cluster where there are clusters."""
    test: Significance
    standardised: float | None
    """d_z: the mean over the standard deviation of the differences; None where they don't vary."""
    independent_se: float | None
    """The standard error as if items were independent; None for a single item."""

    def to_record(self) -> dict[str, object]:
        """The comparison as JSON-ready values."""
        return to_record(self)


def mean_difference(
    differences: Numbers, clusters: Clusters | None = None, *, level: float = 0.95, n_dropped: int = 0
) -> PairedDifference:
    """The mean of differences within pairs, its t interval and test.

    Args:
        differences: One number per item, on any scale.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided interval.
        n_dropped: Items left out before; it is passed on.

    Returns:
        Differences that don't vary have SE 0 and the flag `zero_variance_differences`: if all of them are -1, 0 or 1
        the interval is Bonett and Price's, otherwise there is none (singular). All 0: p is 1. Else without SE there is
        no t test: read the test of signs. A single item has no interval (too_few).

    Source:
        SE = sd/sqrt(n); with clusters sqrt(G/(G-1) sum_g (sum_g (d - mean))^2)/n, t with G-1 degrees of freedom.
    """
    check_level(level)
    d = as_numbers(differences, "difference")
    n = d.size
    if n == 0:
        nothing = undefined("no_data", n_dropped=n_dropped, level=level)
        return PairedDifference(nothing, Significance(None, None, "t", reason="no_data"), None, None)
    codes, groups = (None, n) if clusters is None else cluster_codes(clusters, n)
    n_clusters, value = None if clusters is None else groups, float(d.mean())
    flags = sample_flags(n, n_clusters, n_dropped)
    if groups < 2:
        reason = "too_few" if clusters is None else "too_few_clusters"
        figure = Figure(value, None, None, level, None, n, n_clusters, n_dropped, reason, flags)
        return PairedDifference(figure, Significance(None, None, "t", reason=reason), None, None)
    scale = max(1.0, float(np.abs(d).max()))
    error, spread = influence_se(d - value, codes, groups, scale=scale), sqrt(n / (n - 1))
    apart = error.independent * spread
    standardised = value / (apart * sqrt(n)) if apart > 0 else None
    se = apart if codes is None else error.se
    deff = None if codes is None or apart == 0 else (se / apart) ** 2
    if se > 0:
        half = t_quantile(level, groups - 1) * se
        figure = Figure(value, value - half, value + half, level, "t", n, n_clusters, n_dropped, None, flags, se, deff)
        return PairedDifference(figure, two_sided(value, se, groups - 1), standardised, apart)
    flags = sample_flags(n, n_clusters, n_dropped, "zero_variance_differences")
    figure = Figure(value, None, None, level, None, n, n_clusters, n_dropped, "singular", flags, 0.0, deff)
    if bool(np.all(np.isin(d, (-1.0, 0.0, 1.0)))):
        share = signed_share(d.astype(np.int64), clusters, level=level)
        figure = replace(figure, ci_low=share.ci_low, ci_high=share.ci_high, method=share.method, reason=None)
    p_value = None if bool(np.any(d)) else 1.0
    return PairedDifference(figure, Significance(None, p_value, "t", groups - 1, 0.0, "singular"), standardised, apart)


# Signs


def exact_sign_p(up: int, down: int) -> float:
    """Two-sided p of `up` rises and `down` falls if both are as likely; 1 if there is neither."""
    from scipy.special import bdtr

    if up < 0 or down < 0:
        raise ValueError(f"{up} up and {down} down: counts are not negative")
    return 1.0 if up == down else min(1.0, 2 * float(bdtr(min(up, down), up + down, 0.5)))


def unit_sums(values: NDArray[np.float64], clusters: Clusters | None = None) -> NDArray[np.float64]:
    """What each independent unit adds up to: a cluster where there are clusters, else an item. Rounding becomes 0."""
    if clusters is None or values.size == 0:
        return values
    codes, groups = cluster_codes(clusters, values.size)
    sums = np.bincount(codes, weights=values, minlength=groups)
    sizes = np.bincount(codes, weights=np.abs(values), minlength=groups)
    return np.where(np.abs(sums) <= 1e-12 * sizes, 0.0, sums)


def sign_test(differences: Numbers, clusters: Clusters | None = None) -> float:
    """Two-sided p of the exact test of signs; each cluster has the sign of its sum. Differences of 0 are left out."""
    sums = unit_sums(as_numbers(differences, "difference"), clusters)
    return exact_sign_p(int(np.count_nonzero(sums > 0)), int(np.count_nonzero(sums < 0)))


# Rates of two groups


@dataclass(frozen=True, slots=True)
class RateGap:
    """A rate in two groups of items, and the first less the second."""

    first: Figure
    second: Figure
    gap: Figure
    test: Significance
    standardised: float | None
    """Cohen's h: the difference of 2 asin(sqrt(rate))."""

    def to_record(self) -> dict[str, object]:
        """The gap as JSON-ready values."""
        return to_record(self)


def rate_gap(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    clusters: tuple[Clusters, Clusters] | None = None,
    *,
    level: float = 0.95,
    reason: str = "no_data",
) -> RateGap:
    """The rate among the items of one group less the rate among those of another.

    Args:
        first: One truth value per item of the first group.
        second: Of the second.
        clusters: The ids of both, or None when items are independent. A cluster may have items in both groups.
        level: Of the two-sided interval.
        reason: The code to give when a group has no item.

    Returns:
        Newcombe's interval of the two Wilson intervals. With clusters these know them, and a correlation that clusters
        in both groups bring is taken into account. The test is the score test, with clusters that of the influence
        values by cluster.
    """
    ids = (None, None) if clusters is None else clusters
    one = proportion(first, ids[0], level=level, reason=reason)
    two = proportion(second, ids[1], level=level, reason=reason)
    if one.value is None or two.value is None:
        gap = undefined(reason, n=one.n + two.n, level=level)
        return RateGap(one, two, gap, Significance(None, None, "z", reason=reason), None)
    value, n = one.value - two.value, one.n + two.n
    rates = np.concatenate([(first - one.value) / one.n, -(second - two.value) / two.n]) * n
    codes, groups = None, 0
    if clusters is not None:
        codes, groups = cluster_codes([*clusters[0], *clusters[1]], n)
    flags, n_clusters = sample_flags(n, groups if clusters is not None else None), groups or None
    h = 2 * asin(sqrt(one.value)) - 2 * asin(sqrt(two.value))
    ends = (one.ci_low, one.ci_high, two.ci_low, two.ci_high)
    if groups == 1 or any(each is None for each in ends):
        gap = Figure(value, None, None, level, None, n, n_clusters, 0, "too_few_clusters", flags)
        return RateGap(one, two, gap, Significance(None, None, "t", reason="too_few_clusters"), h)
    low_one, high_one, low_two, high_two = (each for each in ends if each is not None)
    error = influence_se(rates, codes, groups)
    low, high = mover(
        [(1.0, one.value, low_one, high_one), (-1.0, two.value, low_two, high_two)],
        correlation=0.0 if codes is None else _shared(rates, codes, groups, one.n),
    )
    low, high = max(min(low, value), -1.0), min(max(high, value), 1.0)
    gap = Figure(value, low, high, level, "newcombe", n, n_clusters, 0, None, flags, error.se, error.deff)
    return RateGap(one, two, gap, _gap_test(value, one, two, error, groups), h)


def _shared(rates: NDArray[np.float64], codes: NDArray[np.intp], groups: int, n_first: int) -> float:
    """Correlation of the two terms of the gap over the clusters."""
    one = np.bincount(codes[:n_first], weights=rates[:n_first], minlength=groups)
    two = np.bincount(codes[n_first:], weights=rates[n_first:], minlength=groups)
    length = sqrt(float(one @ one) * float(two @ two))
    return float(one @ two) / length if length > 1e-12 else 0.0


def _gap_test(value: float, one: Figure, two: Figure, error: StandardError, groups: int) -> Significance:
    if groups:
        if error.se > 0:
            return two_sided(value, error.se, groups - 1)
        return Significance(None, None if value else 1.0, "t", groups - 1, 0.0, "singular")
    pooled = ((one.value or 0.0) * one.n + (two.value or 0.0) * two.n) / (one.n + two.n)
    se = sqrt(pooled * (1 - pooled) * (1 / one.n + 1 / two.n))
    return two_sided(value, se) if se > 0 else Significance(None, 1.0, "z", None, 0.0, "singular")
