"""Intraclass correlation: how far raters agree on numeric scores of the same subjects.

Sources:
    Shrout & Fleiss 1979, Psychological Bulletin 86:420 (the six forms and their F intervals); McGraw & Wong 1996,
    Psychological Methods 1:30.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import Resamples, resample
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, check_level, cluster_codes, sample_flags

__all__ = ["IntraclassCorrelation", "intraclass_correlation"]

NOTHING = 1e-12
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """The six forms: (1) raters differ from subject to subject, (2) raters are a sample, (3) these raters only.

    `icc_2_1` is the one to report; `icc_3_1` beside it shows what raters' different levels cost. The forms ending in
    `k` are for the mean of all k raters. Negative values stay negative.
    """

    icc_1_1: Figure
    icc_2_1: Figure
    icc_3_1: Figure
    icc_1_k: Figure
    icc_2_k: Figure
    icc_3_k: Figure
    ms_between: float | None
    """Mean square between subjects; None, as the others, without data."""
    ms_raters: float | None
    ms_error: float | None
    ms_within: float | None

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def intraclass_correlation(
    scores: Sequence[Sequence[float | None]] | NDArray[np.float64],
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> IntraclassCorrelation:
    """The intraclass correlation of several raters' scores.

    Args:
        scores: Shape (subjects, raters); None or NaN where a score is missing. Subjects with one are left out.
        clusters: One id per subject, or None when subjects are independent.
        level: Of the two-sided interval.
        seed: Of the bootstrap.

    Returns:
        F intervals; with clusters percentile intervals from resampled clusters. Undefined (constant_input) where
        nothing varies that would have to. No interval (singular) where a mean square is 0, so that it has no width.

    Raises:
        ValueError: Fewer than two raters, or a score is infinite.
    """
    check_level(level)
    table = np.array([[np.nan if each is None else each for each in row] for row in scores], dtype=np.float64)
    if table.size and (table.ndim != 2 or table.shape[1] < 2):
        raise ValueError("give one row per subject with the scores of two raters or more")
    if bool(np.any(np.isinf(table))):
        raise ValueError("a score is infinite: leave it out as None")
    complete = ~np.isnan(table).any(axis=1) if table.size else np.zeros(len(table), dtype=np.bool_)
    ids = None if clusters is None else cluster_codes(clusters, len(table))[0][complete]
    table = table[complete] if table.size else np.zeros((0, 2))
    n, dropped = len(table), int(np.count_nonzero(~complete))
    codes, groups = (None, None) if ids is None else cluster_codes(ids, n)
    if n < 2 or bool(np.ptp(table) == 0):
        reason = "no_data" if n == 0 else "too_few" if n < 2 else "constant_input"
        nothing = replace(undefined(reason, n=n, n_dropped=dropped, level=level), n_clusters=groups)
        return IntraclassCorrelation(nothing, nothing, nothing, nothing, nothing, nothing, None, None, None, None)
    k = table.shape[1]
    unit = float(np.ptp(table))
    table = (table - table.mean()) / unit  # no form depends on where scores start or on their unit
    parts = np.column_stack([np.ones(n), table, np.sum(table**2, axis=1), table.sum(axis=1) ** 2])
    squares = _mean_squares(parts.sum(axis=0)[None], k)[0]
    values = _forms(squares[None], n, k)[0]
    intervals = _f_intervals(squares, n, k, level) if codes is None else None
    drawn = None
    if codes is not None and groups is not None and groups > 1:
        sums = np.zeros((groups, parts.shape[1]))
        np.add.at(sums, codes, parts)
        drawn = resample(sums, resamples=RESAMPLES, seed=seed)
    flags = sample_flags(n, groups, dropped, *(["perfect_agreement"] if squares[3] == 0 else []))

    def figure(form: int) -> Figure:
        value = float(values[form])
        if not isfinite(value):
            return replace(undefined("constant_input", n=n, n_dropped=dropped, level=level), n_clusters=groups)
        plain = Figure(value, level=level, n=n, n_clusters=groups, n_dropped=dropped, flags=flags)
        if intervals is not None:
            low, high = intervals[form]
            if isfinite(low) and isfinite(high) and high - low > NOTHING:
                return replace(plain, ci_low=min(low, value), ci_high=max(high, value), method="f")
            return replace(plain, reason="singular")
        return replace(plain, reason="too_few_clusters") if drawn is None else _bootstrapped(plain, drawn, form, k)

    between, raters, error, within = (float(each) * unit**2 for each in squares)
    one_1, two_1, three_1, one_k, two_k, three_k = map(figure, range(6))
    return IntraclassCorrelation(one_1, two_1, three_1, one_k, two_k, three_k, between, raters, error, within)


def _bootstrapped(plain: Figure, drawn: Resamples, form: int, k: int) -> Figure:
    def statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(_forms(_mean_squares(totals, k), totals[:, 0], k)[:, form], dtype=np.float64)

    found = drawn.interval(statistic, method="percentile", level=plain.level)
    return found.onto(plain)


def _mean_squares(totals: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Between subjects, between raters, error, within; shape (any, 4). What is rounding only is 0."""
    n, by_rater, squares, rows = totals[:, 0], totals[:, 1 : k + 1], totals[:, -2], totals[:, -1]
    middle = by_rater.sum(axis=1) ** 2 / (n * k)
    everything = squares - middle
    between, raters = rows / k - middle, np.sum(by_rater**2, axis=1) / n - middle
    sums = np.stack([between, raters, everything - between - raters, everything - between], axis=1)
    sums = np.where(sums <= NOTHING * np.maximum(squares, NOTHING)[:, None], 0.0, sums)
    with np.errstate(all="ignore"):
        return np.asarray(sums / np.stack([n - 1, np.full_like(n, k - 1), (n - 1) * (k - 1), n * (k - 1)], axis=1))


def _forms(squares: NDArray[np.float64], n: NDArray[np.float64] | int, k: int) -> NDArray[np.float64]:
    """The six forms, shape (any, 6), in the order of the class above; NaN where one is 0/0 or beyond all bounds."""
    between, raters, error, within = squares.T
    shift = (raters - error) / n
    tops = np.stack([between - within, between - error, between - error] * 2, axis=1)
    bottoms = np.stack(
        [
            between + (k - 1) * within,
            between + (k - 1) * error + k * shift,
            between + (k - 1) * error,
            between,
            between + shift,
            between,
        ],
        axis=1,
    )
    positive = bottoms > NOTHING * np.maximum(squares.max(axis=1), NOTHING)[:, None]
    return np.where(positive, tops / np.where(positive, bottoms, 1.0), np.nan)


def _f_intervals(squares: NDArray[np.float64], n: int, k: int, level: float) -> list[tuple[float, float]]:
    """Shrout & Fleiss 1979, formulas 7, 9 and following; without a finite answer, NaN."""
    from scipy.special import fdtri

    between, raters, error, within = squares
    upper = (1 + level) / 2
    found: dict[str, tuple[float, float]] = {}
    with np.errstate(all="ignore"):
        for name, noise, df in (("1", within, n * (k - 1)), ("3", error, (n - 1) * (k - 1))):
            f = between / noise
            low, high = f / fdtri(n - 1, df, upper), f * fdtri(df, n - 1, upper)
            found[name + "1"] = (float((low - 1) / (low + k - 1)), float((high - 1) / (high + k - 1)))
            found[name + "k"] = (float(1 - 1 / low), float(1 - 1 / high))
        rho = _forms(squares[None], n, k)[0, 1]
        a, b = k * rho * raters, error * (n * (1 + (k - 1) * rho) - k * rho)
        df = (k - 1) * (n - 1) * (a + b) ** 2 / ((n - 1) * a**2 + b**2)
        f_low, f_high = float(fdtri(n - 1, float(df), upper)), float(fdtri(float(df), n - 1, upper))
        rest = k * raters + (k * n - k - n) * error
        low = n * (between - f_low * error) / (f_low * rest + n * between)
        high = n * (f_high * between - error) / (rest + n * f_high * between)
        found["21"] = (float(low), float(high))
        found["2k"] = (float(low * k / (1 + low * (k - 1))), float(high * k / (1 + high * (k - 1))))
    return [found[name] for name in ("11", "21", "31", "1k", "2k", "3k")]
