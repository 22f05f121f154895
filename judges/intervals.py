"""Intervals for proportions, means, ratios and differences, with clusters where one case yields several items.

Every statistic here is a `Figure`. Cluster ids may be any hashable values; without them each item stands for itself.

Sources:
    Wilson 1927, JASA 22:209 (proportion); Clopper & Pearson 1934, Biometrika 26:404; Brown, Cai & DasGupta 2001,
    Statistical Science 16:101 (Jeffreys, Agresti-Coull); Korn & Graubard 1998, Survey Methodology 24:193 (effective
    number of items); Zou & Donner 2008, Statistics in Medicine 27:1693 (MOVER);
    Bonett & Price 2012, JEBS 37:479 (paired difference).
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from judges.figures import Figure, to_record, undefined

__all__ = [
    "Clusters",
    "Interval",
    "ProportionMethod",
    "Significance",
    "StandardError",
    "bonett_price",
    "check_level",
    "cluster_codes",
    "influence_se",
    "mean",
    "mover",
    "normal_quantile",
    "proportion",
    "proportion_interval",
    "proportion_of_counts",
    "ratio",
    "sample_flags",
    "signed_share",
    "signed_share_of_counts",
    "t_quantile",
    "two_sided",
]

Interval: TypeAlias = tuple[float, float]
Clusters: TypeAlias = Sequence[Hashable] | NDArray[np.generic]
"""One id per item; items of one case share it."""
Numbers: TypeAlias = Sequence[float] | NDArray[np.float64] | NDArray[np.integer] | NDArray[np.bool_]
ProportionMethod: TypeAlias = Literal["wilson", "clopper_pearson", "jeffreys", "agresti_coull"]

SMALL_N = 30
FEW_CLUSTERS = 30
RARE = 10
"""Items of a class below which a rate over them is flagged."""
HIGH_DROP = 0.05
NOTHING = 1e-12
"""A standard error, on a scale of order 1, that is rounding and not data."""


# Quantiles


def check_level(level: float) -> None:
    """Raise ValueError unless `level` lies between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: give a number between 0 and 1, such as 0.95")


def normal_quantile(level: float) -> float:
    """The z of a two-sided interval: 1.96 at 0.95."""
    from scipy.special import ndtri

    check_level(level)
    return float(ndtri(0.5 + level / 2))


def t_quantile(level: float, df: float) -> float:
    """The t of a two-sided interval with `df` degrees of freedom."""
    from scipy.special import stdtrit

    check_level(level)
    return float(stdtrit(df, 0.5 + level / 2))


@dataclass(frozen=True, slots=True)
class Significance:
    """The result of a test."""

    statistic: float | None
    p_value: float | None
    """Two-sided."""
    method: str
    df: int | None = None
    """Degrees of freedom of t; None for the normal."""
    se: float | None = None
    reason: str | None = None
    """Why there is no statistic."""

    def to_record(self) -> dict[str, object]:
        """The test as JSON-ready values."""
        return to_record(self)


def two_sided(value: float, se: float, df: int | None = None) -> Significance:
    """Test `value` against 0: by z, or by t where there are degrees of freedom. `se` is above 0."""
    from scipy.special import ndtr, stdtr

    statistic = value / se
    tail = float(ndtr(-abs(statistic))) if df is None else float(stdtr(df, -abs(statistic)))
    return Significance(statistic, 2 * tail, "z" if df is None else "t", df, se)


# Flags


def sample_flags(n: int, n_clusters: int | None = None, n_dropped: int = 0, *also: str) -> tuple[str, ...]:
    """The flags that follow from the sample's size (SPEC R2), together with `also`; sorted."""
    flags = set(also)
    if n < SMALL_N:
        flags.add("small_n")
    if n_clusters is not None and n_clusters < FEW_CLUSTERS:
        flags.add("few_clusters")
    if n_dropped > HIGH_DROP * (n + n_dropped):
        flags.add("high_drop")
    return tuple(sorted(flags))


# Standard errors by influence values


def cluster_codes(clusters: Clusters, n: int) -> tuple[NDArray[np.intp], int]:
    """Cluster ids as numbers from 0, and how many clusters there are.

    Raises:
        ValueError: Not one id per item, or an id is missing (None or NaN).
    """
    if len(clusters) != n:
        raise ValueError(f"{len(clusters)} cluster ids for {n} items: give one id per item")
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind in "iu":
        if clusters.ndim != 1:
            raise ValueError("cluster ids are not a flat list: give one id per item")
        names, inverse = np.unique(clusters, return_inverse=True)
        return inverse.astype(np.intp, copy=False), int(names.size)
    ids = cast("list[Hashable]", clusters.tolist()) if isinstance(clusters, np.ndarray) else clusters
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter((numbers.setdefault(each, len(numbers)) for each in ids), dtype=np.intp, count=n)
    if any(each is None or each != each for each in numbers):  # NaN differs from itself
        raise ValueError("a cluster id is missing: give every item one, an item on its own a unique one")
    return codes, len(numbers)


@dataclass(frozen=True, slots=True)
class StandardError:
    """A standard error, and what it would be if items were independent."""

    se: float
    independent: float
    n_clusters: int | None = None

    @property
    def deff(self) -> float | None:
        """Design effect: the variance with clusters over the variance without. None where that is 0/0."""
        return None if self.n_clusters is None or self.independent == 0 else (self.se / self.independent) ** 2


def influence_se(
    influence: NDArray[np.float64], codes: NDArray[np.intp] | None = None, n_clusters: int = 0, *, scale: float = 1.0
) -> StandardError:
    """The standard error of a statistic from its influence value per item (SPEC 0.1).

    Args:
        influence: Shape (items,), at least one; they sum to 0.
        codes: Cluster of each item, from `cluster_codes`; None when items are independent.
        n_clusters: At least 2 where there are codes.
        scale: What is large for the statistic. A standard error of 1e-12 of it or less is 0.

    Source:
        SE^2 = sum IF^2 / n^2, with clusters G/(G-1) sum_g (sum_g IF)^2 / n^2. Yang & Zhou 2014, Statistics in
        Medicine 33:2612.
    """
    n = influence.size
    independent = _zeroed(sqrt(float(np.sum(influence**2))) / n, scale)
    if codes is None:
        return StandardError(independent, independent)
    sums = np.bincount(codes, weights=influence, minlength=n_clusters)
    correction = n_clusters / (n_clusters - 1)
    return StandardError(
        _zeroed(sqrt(correction * float(np.sum(sums**2))) / n, scale), independent, n_clusters=n_clusters
    )


def _zeroed(se: float, scale: float) -> float:
    return 0.0 if se <= NOTHING * scale else se


# Proportions


def proportion_interval(
    successes: float, n: float, *, level: float = 0.95, method: ProportionMethod = "wilson"
) -> Interval:
    """The interval of a proportion. `n` is above 0; both may be fractional, for an effective number of items."""
    if not (n > 0 and 0 <= successes <= n):
        raise ValueError(f"{successes} successes of {n}: the counts must satisfy 0 <= successes <= n and n > 0")
    p, z, tail = successes / n, normal_quantile(level), (1 - level) / 2
    match method:
        case "wilson":
            centre = (p + z * z / (2 * n)) / (1 + z * z / n)
            half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
            low = 0.0 if successes == 0 else min(max(centre - half, 0.0), p)
            high = 1.0 if successes == n else max(min(centre + half, 1.0), p)
        case "clopper_pearson":
            low = 0.0 if successes == 0 else min(_beta_quantile(successes, n - successes + 1, tail), p)
            high = 1.0 if successes == n else max(_beta_quantile(successes + 1, n - successes, 1 - tail), p)
        case "jeffreys":
            low = _beta_quantile(successes + 0.5, n - successes + 0.5, tail)
            high = _beta_quantile(successes + 0.5, n - successes + 0.5, 1 - tail)
        case _:
            centre = (successes + z * z / 2) / (n + z * z)
            half = z * sqrt(centre * (1 - centre) / (n + z * z))
            low, high = max(centre - half, 0.0), min(centre + half, 1.0)
    return low, high


def _beta_quantile(a: float, b: float, probability: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))


def proportion_of_counts(
    successes: int,
    n: int,
    *,
    level: float = 0.95,
    method: ProportionMethod = "wilson",
    n_dropped: int = 0,
    reason: str = "no_data",
) -> Figure:
    """The proportion of independent items.

    Args:
        successes: How many of `n`.
        n: Items; with none the value is undefined for `reason`, its interval all of [0, 1].
        level: Of the two-sided interval.
        method: Of the interval.
        n_dropped: Items left out before counting; it is passed on.
        reason: The code to give when there is no item.
    """
    check_level(level)
    if not 0 <= successes <= n or n_dropped < 0:
        raise ValueError(
            f"{successes} successes of {n}, {n_dropped} dropped: counts are not negative and fit each other"
        )
    if n == 0:
        return replace(undefined(reason, n_dropped=n_dropped, level=level), ci_low=0.0, ci_high=1.0, method=method)
    low, high = proportion_interval(successes, n, level=level, method=method)
    return Figure(
        successes / n, low, high, level, method, n, n_dropped=n_dropped, flags=sample_flags(n, None, n_dropped)
    )


def proportion(
    successes: Sequence[bool] | NDArray[np.bool_] | NDArray[np.integer],
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    method: ProportionMethod = "wilson",
    n_dropped: int = 0,
    reason: str = "no_data",
) -> Figure:
    """The proportion of items that succeeded; with clusters, an interval that knows them.

    Args:
        successes: One truth value per item.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided interval.
        method: Of the interval.
        n_dropped: Items left out before counting; it is passed on.
        reason: The code to give when there is no item.

    Returns:
        With clusters, the interval is that of an effective number of items: n_eff = p(1-p)/SE^2 (z/t)^2, at most n;
        the number of clusters if p is 0 or 1. Fewer than two clusters: no interval (too_few_clusters).

    Source:
        Korn & Graubard 1998; SPEC 0.2.
    """
    hits = _truths(successes)
    n, total = hits.size, int(np.count_nonzero(hits))
    if clusters is None or n == 0:
        return proportion_of_counts(total, n, level=level, method=method, n_dropped=n_dropped, reason=reason)
    check_level(level)
    codes, groups = cluster_codes(clusters, n)
    p = total / n
    if groups < 2:
        return _too_few_clusters(p, n, groups, n_dropped, level)
    error = influence_se(hits.astype(np.float64) - p, codes, groups)
    also: list[str] = []
    if total in {0, n}:
        effective = float(groups)
    elif error.se == 0:
        effective, also = float(n), ["zero_residual_variance"]
    else:
        shrink = normal_quantile(level) / t_quantile(level, groups - 1)
        effective = min(p * (1 - p) * (shrink / error.se) ** 2, float(n))
    low, high = proportion_interval(effective if total == n else p * effective, effective, level=level, method=method)
    flags = sample_flags(n, groups, n_dropped, *also)
    return Figure(p, min(low, p), max(high, p), level, method, n, groups, n_dropped, None, flags, error.se, error.deff)


def _truths(values: Sequence[bool] | NDArray[np.bool_] | NDArray[np.integer]) -> NDArray[np.bool_]:
    array: NDArray[np.generic] = np.asarray(values) if len(values) else np.zeros(0, dtype=np.bool_)
    if array.ndim != 1:
        raise ValueError("give one truth value per item, as a flat list")
    if array.dtype.kind == "b":
        return array.astype(np.bool_, copy=False)
    if array.dtype.kind not in "iuf" or not bool(np.all(np.isin(array, (0, 1)))):
        raise ValueError("give one truth value per item, True or False; leave items without one out and count them")
    return array.astype(np.bool_)


def _too_few_clusters(value: float, n: int, groups: int, n_dropped: int, level: float) -> Figure:
    return Figure(
        value,
        level=level,
        n=n,
        n_clusters=groups,
        n_dropped=n_dropped,
        reason="too_few_clusters",
        flags=sample_flags(n, groups, n_dropped),
    )


# Means and ratios


def mean(values: Numbers, clusters: Clusters | None = None, *, level: float = 0.95, n_dropped: int = 0) -> Figure:
    """The mean of scores from 0 to 1, with a t interval clipped to that range.

    Without clusters each item is one, so SE is sd/sqrt(n) with n-1 degrees of freedom. Scores that don't vary have
    SE 0; they get Wilson's bounds for as many items as there are clusters, and the flag `zero_residual_variance` (no
    score from 0 to 1 with mean p varies more than a proportion p).

    Args:
        values: One score per item.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided interval.
        n_dropped: Items left out before; it is passed on.

    Raises:
        ValueError: A score is missing, or outside 0 to 1.

    Source:
        SPEC 0.1; Miller 2024, arXiv:2411.00640, with the factor G/(G-1) it leaves out.
    """
    scores = _numbers(values, "score")
    if scores.size and not (scores.min() >= 0 and scores.max() <= 1):
        raise ValueError("a score lies outside 0 to 1: rescale the scores first")
    return _ratio(scores, np.ones(scores.size), clusters, level, n_dropped)


def ratio(
    numerators: Numbers,
    denominators: Numbers,
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    n_dropped: int = 0,
) -> Figure:
    """The ratio of two sums over the same items, such as supported claims over claims, with a t interval.

    Where every numerator lies between 0 and its denominator the ratio is a share: its interval is clipped to 0 to 1,
    and a standard error of 0 is treated as in `mean`. Any other ratio with standard error 0 has no interval (singular).

    Args:
        numerators: One number per item.
        denominators: One number per item, not negative. All 0: undefined (no_data).
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided interval.
        n_dropped: Items left out before; it is passed on.

    Source:
        Influence (a - R b)/mean(b); SPEC 0.1.
    """
    above, below = _numbers(numerators, "numerator"), _numbers(denominators, "denominator")
    if above.size != below.size:
        raise ValueError(f"{above.size} numerators and {below.size} denominators: give one of each per item")
    if bool(np.any(below < 0)):
        raise ValueError("a denominator is negative: a ratio of sums needs denominators of 0 or more")
    return _ratio(above, below, clusters, level, n_dropped)


def _ratio(
    above: NDArray[np.float64], below: NDArray[np.float64], clusters: Clusters | None, level: float, n_dropped: int
) -> Figure:
    check_level(level)
    n, total = above.size, float(below.sum())
    if n == 0 or total == 0:
        return undefined("no_data", n=n, n_dropped=n_dropped, level=level)
    codes, groups = (None, n) if clusters is None else cluster_codes(clusters, n)
    n_clusters = None if clusters is None else groups
    value = float(above.sum()) / total
    is_share = bool(np.all((above >= 0) & (above <= below)))
    if is_share:
        value = min(max(value, 0.0), 1.0)
    if clusters is not None and groups < 2:
        return _too_few_clusters(value, n, groups, n_dropped, level)
    residuals = (above - value * below) / (total / n)
    scale = max(abs(value), 1.0) if is_share else max(float(np.abs(above).max()) * n / total, abs(value))
    error = influence_se(residuals, codes, groups, scale=scale)
    se = error.se if codes is not None or n < 2 else error.se * sqrt(n / (n - 1))
    if se > 0:
        half = t_quantile(level, groups - 1) * se
        low, high = value - half, value + half
        if is_share:
            low, high = max(low, 0.0), min(high, 1.0)
        flags = sample_flags(n, n_clusters, n_dropped)
        return Figure(value, low, high, level, "t", n, n_clusters, n_dropped, None, flags, se, error.deff)
    flags = sample_flags(n, n_clusters, n_dropped, "zero_residual_variance")
    if not is_share:
        return Figure(value, None, None, level, None, n, n_clusters, n_dropped, "singular", flags, 0.0)
    low, high = proportion_interval(min(value * groups, groups), groups, level=level)
    low, high = min(low, value), max(high, value)
    return Figure(value, low, high, level, "wilson", n, n_clusters, n_dropped, None, flags, 0.0, error.deff)


def _numbers(values: Numbers, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"give one {name} per item, as a flat list")
    if not bool(np.all(np.isfinite(array))):
        raise ValueError(f"a {name} is missing or not finite: leave such items out and count them as dropped")
    return array


# Differences


def bonett_price(b: float, c: float, n: float, *, level: float = 0.95) -> Interval:
    """The interval of (b - c)/n, where b and c count two exclusive outcomes of the same n items.

    Source:
        Bonett & Price 2012: add one to each count and two to n, then use the normal interval.
    """
    first, second, z = (b + 1) / (n + 2), (c + 1) / (n + 2), normal_quantile(level)
    half = z * sqrt((first + second - (first - second) ** 2) / (n + 2))
    value = (b - c) / n
    return max(min(first - second - half, value), -1.0), min(max(first - second + half, value), 1.0)


def signed_share_of_counts(b: int, c: int, n: int, *, level: float = 0.95, n_dropped: int = 0) -> Figure:
    """(b - c)/n with the Bonett-Price interval; b items count +1, c items -1, the rest of the n items 0."""
    check_level(level)
    if b < 0 or c < 0 or b + c > n or n_dropped < 0:
        raise ValueError(f"{b} and {c} of {n}, {n_dropped} dropped: counts are not negative and fit each other")
    if n == 0:
        return replace(undefined("no_data", n_dropped=n_dropped, level=level), ci_low=-1.0, ci_high=1.0)
    low, high = bonett_price(b, c, n, level=level)
    flags = sample_flags(n, None, n_dropped, *([] if b + c else ["zero_variance_differences"]))
    return Figure((b - c) / n, low, high, level, "bonett_price", n, n_dropped=n_dropped, flags=flags)


def signed_share(
    values: Sequence[int] | NDArray[np.integer],
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    n_dropped: int = 0,
) -> Figure:
    """The mean of values -1, 0 and 1, such as a paired difference of right answers.

    Without clusters the interval is Bonett and Price's; with clusters a t interval, or theirs for as many items as
    there are clusters when the standard error is 0 (flag `zero_variance_differences`).
    """
    array = _numbers(cast("Numbers", values), "value")
    if not bool(np.all(np.isin(array, (-1.0, 0.0, 1.0)))):
        raise ValueError("a value is not -1, 0 or 1")
    n, b, c = array.size, int(np.count_nonzero(array > 0)), int(np.count_nonzero(array < 0))
    if clusters is None or n == 0:
        return signed_share_of_counts(b, c, n, level=level, n_dropped=n_dropped)
    check_level(level)
    codes, groups = cluster_codes(clusters, n)
    value = (b - c) / n
    if groups < 2:
        return _too_few_clusters(value, n, groups, n_dropped, level)
    error = influence_se(array - value, codes, groups)
    if error.se > 0:
        half = t_quantile(level, groups - 1) * error.se
        low, high, method = max(value - half, -1.0), min(value + half, 1.0), "t"
        flags = sample_flags(n, groups, n_dropped)
    else:
        share = groups / n
        low, high = bonett_price(b * share, c * share, groups, level=level)
        low, high, method = min(low, value), max(high, value), "bonett_price"
        flags = sample_flags(n, groups, n_dropped, "zero_variance_differences")
    return Figure(value, low, high, level, method, n, groups, n_dropped, None, flags, error.se, error.deff)


def mover(terms: Iterable[tuple[float, float, float, float]], *, correlation: float = 0.0) -> Interval:
    """The interval of a sum of estimates from the intervals of its terms.

    With coefficients 1 and -1 and two Wilson intervals this is Newcombe's interval for a difference of proportions.

    Args:
        terms: Coefficient, estimate, lower and upper limit of each.
        correlation: Between any two terms as they stand in the sum, coefficients included.

    Source:
        Zou & Donner 2008, "method of variance estimates recovery"; with correlation Zou 2007, Psychological Methods
        12:399.
    """
    value, below, above = 0.0, list[float](), list[float]()
    for coefficient, estimate, low, high in terms:
        value += coefficient * estimate
        down, up = coefficient * (estimate - low), coefficient * (high - estimate)
        below.append(down if coefficient >= 0 else -up)
        above.append(up if coefficient >= 0 else -down)
    return value - _joined(below, correlation), value + _joined(above, correlation)


def _joined(distances: list[float], correlation: float) -> float:
    squares, total = sum(each * each for each in distances), sum(distances)
    return sqrt(max(squares + correlation * (total * total - squares), 0.0))
