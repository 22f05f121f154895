"""Is the judge harsher than people, and does it use the scale as they do?

Sources:
    Stuart 1955, Biometrika 42:412; Maxwell 1970, British Journal of Psychiatry 116:651; Bhapkar 1966, JASA 61:228
    (equal marginal distributions). With clusters their sums take the place of items.
"""

from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.contrasts import PairedDifference, mean_difference
from calibration.statistics.resampling import jackknife_se
from calibration.statistics.tables import LabelPairs
from judges.figures import Figure, to_record, undefined
from judges.intervals import NOTHING, Significance, cluster_codes, sample_flags, t_quantile

__all__ = ["ScaleUse", "Severity", "severity"]


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """How labels spread over the levels of a scale."""

    entropy: float | None
    """Over ln k: 0 is one level only, 1 is all alike. None where the scale has one level."""
    modal_share: float
    """Share of the level used most."""
    levels_used: int
    sd: float
    """Population standard deviation, in levels."""

    def to_record(self) -> dict[str, object]:
        """The use of the scale as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class Severity:
    """The judge's labels against people's, on an ordered scale. One level counts 1."""

    shift: PairedDifference
    """Mean of judge less human; below 0 the judge is harsher."""
    stuart_maxwell: Significance
    """Test of equal distributions over the levels; chi-square, `df` is that of chi-square."""
    bhapkar: Significance
    """The same by Wald's statistic, which is the larger."""
    human: ScaleUse | None
    judge: ScaleUse | None
    sd_ratio: Figure
    """Judge over human; below 1 the judge stays in the middle. Jackknife of its logarithm, by cluster where there are
    clusters."""
    wasserstein: float | None
    """How far, in levels, labels would have to move on average for the distributions to be the same."""
    total_variation: float | None
    """Share of labels that would have to move."""

    def to_record(self) -> dict[str, object]:
        """The comparison as JSON-ready values."""
        return to_record(self)


def severity(pairs: LabelPairs, *, level: float = 0.95) -> Severity:
    """Compare how human and judge use an ordered scale.

    Args:
        pairs: Labels declared from the lowest level to the highest. Invalid answers of the judge have no place on the
            scale: they are left out and counted as dropped.
        level: Of the two-sided interval.
    """
    k = pairs.k
    table = pairs.table[:k, :k]
    n = int(table.sum())
    dropped = pairs.n_dropped + pairs.n - n
    rows, columns, clusters = _items(pairs)
    shift = mean_difference(columns - rows, clusters, level=level, n_dropped=dropped)
    if n == 0:
        none, test = undefined("no_data", n_dropped=dropped, level=level), shift.test
        tests = replace(test, method="stuart_maxwell"), replace(test, method="bhapkar")
        return Severity(shift, *tests, None, None, none, None, None)
    first, second = table.sum(axis=1) / n, table.sum(axis=0) / n
    human, judge = _use(first), _use(second)
    ratio = _sd_ratio(human.sd, judge.sd, rows, columns, clusters, level, dropped)
    stuart, bhapkar = _homogeneity(rows, columns, clusters, k)
    wasserstein = float(np.abs(np.cumsum(first - second))[:-1].sum())
    variation = float(np.abs(first - second).sum()) / 2
    return Severity(shift, stuart, bhapkar, human, judge, ratio, wasserstein, variation)


def _items(pairs: LabelPairs) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp] | None]:
    """Human and judge level of each item on the scale, and its cluster."""
    size = pairs.table.shape[0]
    cells = pairs.cells
    if cells is None:
        cells = np.repeat(np.arange(size * size, dtype=np.intp), pairs.table.ravel())
    rows, columns = np.divmod(cells, size)
    kept = columns < pairs.k
    if pairs.codes is None:
        return rows[kept], columns[kept], None
    # a cluster of which nothing is left is none
    return rows[kept], columns[kept], cluster_codes(pairs.codes[kept], int(np.count_nonzero(kept)))[0]


def _use(shares: NDArray[np.float64]) -> ScaleUse:
    used, k, levels = shares[shares > 0], shares.size, np.arange(shares.size)
    entropy = max(-float(np.sum(used * np.log(used))), 0.0) / log(k) if k > 1 else None
    middle = float(shares @ levels)
    sd = sqrt(float(shares @ (levels - middle) ** 2)) if used.size > 1 else 0.0
    return ScaleUse(entropy, float(shares.max()), int(used.size), sd)


def _sd_ratio(
    human: float,
    judge: float,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    clusters: NDArray[np.intp] | None,
    level: float,
    dropped: int,
) -> Figure:
    n = rows.size
    codes, groups = (np.arange(n), n) if clusters is None else cluster_codes(clusters, n)
    n_clusters = None if clusters is None else groups
    if human == 0:
        return replace(undefined("constant_rater", n=n, n_dropped=dropped, level=level), n_clusters=n_clusters)
    value, flags = judge / human, sample_flags(n, n_clusters, dropped)
    figure = Figure(value, None, None, level, None, n, n_clusters, dropped, None, flags)
    if judge == 0 or groups < 2:
        return replace(figure, reason="constant_judge" if judge == 0 else "too_few_clusters")
    units = np.zeros((groups, 5))
    np.add.at(units, codes, np.column_stack([np.ones(n), rows, rows**2, columns, columns**2]))
    se = jackknife_se(units, _log_sd_ratio)
    if se is None or se <= NOTHING:
        return replace(figure, reason="singular")
    stretch = exp(min(t_quantile(level, groups - 1) * se, 700.0))
    return replace(figure, ci_low=value / stretch, ci_high=value * stretch, method="jackknife_t")


def _log_sd_ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """From totals of 1, human, human^2, judge, judge^2; NaN where one doesn't vary."""
    n = np.where(totals[:, 0] > 0, totals[:, 0], 1.0)
    human, judge = (totals[:, k + 1] / n - (totals[:, k] / n) ** 2 for k in (1, 3))
    varies = (human > NOTHING) & (judge > NOTHING)
    return np.where(varies, np.log(np.where(varies, judge, 1.0) / np.where(varies, human, 1.0)) / 2, np.nan)


def _homogeneity(
    rows: NDArray[np.intp], columns: NDArray[np.intp], clusters: NDArray[np.intp] | None, k: int
) -> tuple[Significance, Significance]:
    """Stuart-Maxwell is d' S^-1 d with S the sum of squares of what units add to d; Bhapkar's S is about their mean."""
    groups = rows.size
    if clusters is None:
        moved = np.bincount(rows * k + columns, minlength=k * k).reshape(k, k).astype(np.float64)
        np.fill_diagonal(moved, 0.0)
        squares = np.diag(moved.sum(axis=0) + moved.sum(axis=1)) - moved - moved.T
        d = moved.sum(axis=1) - moved.sum(axis=0)
    else:
        groups = int(clusters.max()) + 1
        units = np.zeros((groups, k))
        np.add.at(units, (clusters, rows), 1.0)
        np.add.at(units, (clusters, columns), -1.0)
        squares, d = units.T @ units, units.sum(axis=0)
    names = ("stuart_maxwell", "bhapkar")
    if not bool(np.any(squares)):
        first, second = (Significance(None, 1.0, name, reason="no_discordant") for name in names)
        return first, second
    df = int(np.linalg.matrix_rank(squares, hermitian=True))
    if clusters is not None and groups <= df:
        first, second = (Significance(None, None, name, df, reason="too_few_clusters") for name in names)
        return first, second
    statistic = float(d @ np.linalg.pinv(squares, hermitian=True) @ d)
    stuart = _chi_square(statistic, df, names[0])
    left = 1 - statistic / groups
    if left <= 1e-9:  # every unit moves alike: no spread about the mean
        return stuart, Significance(None, None, names[1], df, reason="singular")
    return stuart, _chi_square(statistic / left, df, names[1])


def _chi_square(statistic: float, df: int, name: str) -> Significance:
    from scipy.special import chdtrc

    statistic = 0.0 if statistic < 1e-12 else statistic
    return Significance(statistic, float(chdtrc(df, statistic)), name, df)
