"""The bootstrap and the jackknife: intervals of statistics that have no formula for one.

Source:
    Efron 1987, JASA 82:171 (BCa).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judges.figures import Figure, to_record
from judges.intervals import NOTHING, Clusters, check_level, cluster_codes

__all__ = [
    "ResampleMethod",
    "Resampled",
    "Resamples",
    "Statistic",
    "bootstrap_items",
    "jackknife_se",
    "resample",
    "resample_table",
]

ResampleMethod: TypeAlias = Literal["percentile", "bca"]
Statistic: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From totals, shape (any number, parts), to one value each. NaN marks a total without a value; it stays in here."""

MIN_RESAMPLES: Mapping[ResampleMethod, int] = {"percentile": 2_000, "bca": 10_000}
MAX_UNDEFINED = 0.05
CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Resampled:
    """A bootstrap interval, or the reason why there is none."""

    low: float | None
    high: float | None
    method: ResampleMethod
    level: float
    resamples: int
    undefined_share: float
    """How many of the resamples had no value; above 5% there is no interval."""
    varies: bool
    """False if all resamples give one and the same value: such an interval has no width and must not be shown."""
    seed: int
    z0: float | None = None
    """BCa: correction for bias."""
    acceleration: float | None = None
    reason: str | None = None

    def onto(self, figure: Figure) -> Figure:
        """`figure` with this interval, which always holds the figure's value; or with the reason why it has none."""
        figure = replace(figure, method=self.method, seed=self.seed, undefined_share=self.undefined_share)
        if self.reason is not None:
            flags = tuple(sorted({*figure.flags, "many_undefined_resamples"}))
            return replace(figure, reason=self.reason, flags=flags)
        if not self.varies or self.low is None or self.high is None or figure.value is None:
            return replace(figure, reason="singular", method=None)
        return replace(figure, ci_low=min(self.low, figure.value), ci_high=max(self.high, figure.value))

    def to_record(self) -> dict[str, object]:
        """The interval as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """Totals of a sample that was drawn again and again, ready for any statistic of totals."""

    observed: NDArray[np.float64]
    """Shape (parts,): the totals of the sample itself."""
    drawn: NDArray[np.float64]
    """Shape (resamples, parts)."""
    left_out: NDArray[np.float64]
    """Shape (kinds of unit, parts): the totals without one unit of that kind."""
    counts: NDArray[np.int64]
    """Shape (kinds of unit,): how many units of that kind there are."""
    seed: int

    def interval(self, statistic: Statistic, *, method: ResampleMethod = "bca", level: float = 0.95) -> Resampled:
        """The interval of a statistic. It must be defined on the sample itself."""
        estimate = float(statistic(self.observed[None, :])[0])
        left_out = statistic(self.left_out) if method == "bca" and self.counts.sum() > 1 else None
        return _resampled(estimate, statistic(self.drawn), left_out, self.counts, method, level, self.seed)


def resample(
    units: NDArray[np.float64] | NDArray[np.integer],
    counts: NDArray[np.integer] | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Resamples:
    """Draw units with replacement, as many as there are, and add up what they hold.

    A unit is an item or, where one case yields several items, a cluster.

    Args:
        units: Shape (kinds of unit, parts); what one unit adds to the totals.
        counts: Shape (kinds of unit,); how many units of each kind, 1 each if None.
        resamples: At least 2,000 for percentile intervals, 10,000 for BCa.
        seed: Of `numpy.random.default_rng`.
    """
    parts = np.asarray(units, dtype=np.float64)
    kinds = np.ones(len(parts), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
    drawn = np.empty((resamples, parts.shape[1]))
    for at, times in _drawn(kinds, resamples, seed):
        drawn[at] = times.astype(np.float64) @ parts
    observed = kinds.astype(np.float64) @ parts
    return Resamples(observed, drawn, observed - parts, kinds, seed)


def resample_table(counts: NDArray[np.integer], *, resamples: int = 10_000, seed: int = 0) -> Resamples:
    """Draw the items of a table with replacement: each cell is a kind of unit, and what is drawn are its counts.

    Args:
        counts: Shape (cells,); independent items in each.
        resamples: As in `resample`.
        seed: Of `numpy.random.default_rng`.
    """
    used = np.flatnonzero(counts)
    kinds = np.asarray(counts[used], dtype=np.int64)
    drawn = np.zeros((resamples, counts.size))
    for at, times in _drawn(kinds, resamples, seed):
        drawn[at, used] = times
    observed = np.asarray(counts, dtype=np.float64)
    return Resamples(observed, drawn, observed - np.eye(counts.size)[used], kinds, seed)


def _drawn(kinds: NDArray[np.int64], resamples: int, seed: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """How often each kind of unit was drawn, shape (some resamples, kinds), and which resamples they are."""
    total = int(kinds.sum())
    if total == 0:
        raise ValueError("nothing to resample: there is no unit")
    generator = np.random.default_rng(seed)
    step = max(1, CHUNK // len(kinds))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        yield slice(start, start + size), generator.multinomial(total, kinds / total, size=size)


def bootstrap_items(
    statistic: Callable[[NDArray[np.intp]], float | None],
    n: int,
    clusters: Clusters | None = None,
    *,
    method: ResampleMethod = "percentile",
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Resampled:
    """Bootstrap of a statistic that is no function of totals, such as a rank correlation.

    Args:
        statistic: From the positions of the drawn items, repeats included, to a value or None. It must be defined on
            the sample itself.
        n: Items.
        clusters: One id per item: whole clusters are drawn.
        method: Percentile, or BCa.
        level: Of the two-sided interval.
        resamples: At least 2,000 for percentile intervals, 10,000 for BCa.
        seed: Of `numpy.random.default_rng`.
    """
    codes, groups = (np.arange(n), n) if clusters is None else cluster_codes(clusters, n)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=groups))[:-1])
    generator = np.random.default_rng(seed)

    def value(chosen: Iterable[int]) -> float:
        found = statistic(np.concatenate([members[each] for each in chosen]))
        return np.nan if found is None else found

    estimate = value(range(groups))
    drawn = np.array([value(generator.integers(groups, size=groups)) for _ in range(resamples)])
    left_out = None
    if method == "bca" and groups > 1:
        left_out = np.array([value(each for each in range(groups) if each != gone) for gone in range(groups)])
    return _resampled(estimate, drawn, left_out, np.ones(groups, dtype=np.int64), method, level, seed)


def jackknife_se(units: NDArray[np.float64] | NDArray[np.integer], statistic: Statistic) -> float | None:
    """Delete-one standard error, for a statistic of totals without closed form (SPEC 0.1).

    Args:
        units: Shape (clusters, parts), at least two clusters; what each adds to the totals.
        statistic: Of totals.

    Returns:
        None if the statistic has no value when one of the clusters is left out.
    """
    parts = np.asarray(units, dtype=np.float64)
    groups = len(parts)
    if groups < 2:
        raise ValueError("the jackknife needs two clusters or more")
    values = statistic(parts.sum(axis=0) - parts)
    if not bool(np.all(np.isfinite(values))):
        return None
    return sqrt((groups - 1) / groups * float(np.sum((values - values.mean()) ** 2)))


def _resampled(
    estimate: float,
    drawn: NDArray[np.float64],
    left_out: NDArray[np.float64] | None,
    counts: NDArray[np.int64],
    method: ResampleMethod,
    level: float,
    seed: int,
) -> Resampled:
    """Percentile or BCa interval. Efron 1987; ties with the estimate count half."""
    from scipy.special import ndtr, ndtri

    check_level(level)
    if len(drawn) < MIN_RESAMPLES[method]:
        raise ValueError(f"{len(drawn)} resamples: a {method} interval needs {MIN_RESAMPLES[method]} or more")
    if not isfinite(estimate):
        raise ValueError("the statistic has no value on the sample itself: there is nothing to put an interval around")
    defined = drawn[np.isfinite(drawn)]
    missing = 1 - defined.size / len(drawn)
    if missing > MAX_UNDEFINED:
        reason = "many_undefined_resamples"
        return Resampled(None, None, method, level, len(drawn), missing, True, seed, reason=reason)
    varies = bool(np.ptp(defined) > NOTHING)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    z0 = acceleration = None
    if method == "bca":
        tied = np.abs(defined - estimate) <= NOTHING
        share = float(np.mean((defined < estimate) & ~tied) + np.mean(tied) / 2)
        z0 = float(ndtri(min(max(share, 0.5 / defined.size), 1 - 0.5 / defined.size)))
        acceleration = _acceleration(left_out, counts)
        shifted = z0 + ndtri(tails)
        room = 1 - acceleration * shifted
        tails = np.where(room > 0, ndtr(z0 + shifted / np.where(room > 0, room, 1.0)), np.where(shifted > 0, 1.0, 0.0))
    low, high = (float(each) for each in np.quantile(defined, tails))
    low, high = min(low, estimate), max(high, estimate)
    return Resampled(low, high, method, level, len(drawn), missing, varies, seed, z0, acceleration)


def _acceleration(left_out: NDArray[np.float64] | None, counts: NDArray[np.int64]) -> float:
    """Skewness of the jackknife values; those without a value are left aside."""
    if left_out is None:
        return 0.0
    kept = np.isfinite(left_out)
    values, weights = left_out[kept], counts[kept].astype(np.float64)
    if values.size == 0:
        return 0.0
    deviations = np.average(values, weights=weights) - values
    spread = float(np.sum(weights * deviations**2))
    return 0.0 if spread <= NOTHING**2 else float(np.sum(weights * deviations**3)) / (6 * spread**1.5)
