"""A pass rate corrected by the judge's error rates, measured on items of known class.

Sources:
    Rogan & Gladen 1978, American Journal of Epidemiology 107:71; Lang & Reiczigel 2014, Preventive Veterinary Medicine
    113:13 (their interval).
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from calibration.statistics.arrays import Numbers, as_numbers, as_truths
from calibration.statistics.two_phase import Design, both_clusters, clustered_design, ids_of
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, mover, normal_quantile, proportion, proportion_of_counts, sample_flags

__all__ = ["RoganGladen", "rogan_gladen", "rogan_gladen_of_counts"]


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A pass rate corrected by the judge's error rates."""

    estimate: Figure
    """Clipped to 0 to 1, with the interval of Lang and Reiczigel. Where the judge may be no better than chance the
    interval is all of [0, 1] (judge_uninformative); so it is where it lies outside [0, 1], as these error rates don't
    belong to this stream (not_identified)."""
    raw: float | None
    """Not clipped."""
    apparent: Figure
    """The judge-only rate."""
    sensitivity: Figure
    specificity: Figure
    youden: Figure
    """Sensitivity + specificity - 1, by MOVER."""
    delta_se: float | None
    """Standard error by the delta method, without adjustment."""
    adjusted: float | None = None
    """Lang and Reiczigel's: from counts with additions."""
    shift: float | None = None
    adjusted_se: float | None = None

    def to_record(self) -> dict[str, object]:
        """The estimate as JSON-ready values."""
        return to_record(self)


def rogan_gladen_of_counts(
    judge_positive: int,
    judge_total: int,
    tp: int,
    gold_positive: int,
    tn: int,
    gold_negative: int,
    *,
    level: float = 0.95,
) -> RoganGladen:
    """The pass rate of a stream, corrected by error rates measured on other, independent items.

    Args:
        judge_positive: Items of the stream that the judge passes.
        judge_total: Items of the stream.
        tp: Labelled items both pass.
        gold_positive: Labelled items the humans pass.
        tn: Labelled items both fail.
        gold_negative: Labelled items the humans fail.
        level: Of the two-sided interval.

    Raises:
        ValueError: The counts don't fit each other.

    Source:
        theta = (q + TNR - 1)/(TPR + TNR - 1); interval: Lang & Reiczigel 2014.
    """
    apparent = proportion_of_counts(judge_positive, judge_total, level=level)
    tpr = proportion_of_counts(tp, gold_positive, level=level, reason="no_positive_gold")
    tnr = proportion_of_counts(tn, gold_negative, level=level, reason="no_negative_gold")
    return _rogan_gladen(apparent, tpr, tnr, (judge_positive, tp, tn), level, None)


def rogan_gladen(
    human: Numbers,
    judge: Numbers,
    judge_stream: Numbers,
    *,
    clusters: Clusters | None = None,
    clusters_stream: Clusters | None = None,
    level: float = 0.95,
) -> RoganGladen:
    """As `rogan_gladen_of_counts`, from truth values; with clusters the interval is stretched as in `post_stratified`.

    Args:
        human: One truth value per labelled item.
        judge: The judge's, of the same items.
        judge_stream: The judge's, of the items of the stream; the labelled ones are not among them.
        clusters: One id per labelled item; then also one per item of the stream.
        clusters_stream: One id per item of the stream.
        level: Of the two-sided interval.
    """
    y = as_truths(human, "human label")
    f, stream = as_truths(judge, "verdict", y.size), as_truths(judge_stream, "verdict")
    ids = both_clusters(clusters, clusters_stream, y.size, stream.size)
    if ids is None:
        found = (int(np.count_nonzero(each)) for each in (stream, f & y, y, ~f & ~y, ~y))
        passed, tp, positive, tn, negative = found
        return rogan_gladen_of_counts(passed, stream.size, tp, positive, tn, negative, level=level)
    apparent = proportion(stream, ids[1], level=level)
    tpr = proportion(f[y], ids_of(ids[0], y), level=level, reason="no_positive_gold")
    tnr = proportion(~f[~y], ids_of(ids[0], ~y), level=level, reason="no_negative_gold")
    counts = int(np.count_nonzero(stream)), int(np.count_nonzero(f & y)), int(np.count_nonzero(~f & ~y))
    if apparent.value is None or tpr.value is None or tnr.value is None or tpr.value + tnr.value <= 1:
        return _rogan_gladen(apparent, tpr, tnr, counts, level, None)
    j = tpr.value + tnr.value - 1
    theta = min(max((apparent.value + tnr.value - 1) / j, 0.0), 1.0)
    labelled = np.where(y, -theta * (f - tpr.value) / tpr.n, (1 - theta) * (~f - tnr.value) / tnr.n) / j
    design = clustered_design(
        labelled, (as_numbers(stream, "verdict") - apparent.value) / (stream.size * j), ids, level
    )
    return _rogan_gladen(apparent, tpr, tnr, counts, level, design)


def _rogan_gladen(
    apparent: Figure, tpr: Figure, tnr: Figure, counts: tuple[int, int, int], level: float, design: Design | None
) -> RoganGladen:
    n = tpr.n + tnr.n
    youden = _youden(tpr, tnr, level)
    if apparent.value is None or tpr.value is None or tnr.value is None or tpr.value + tnr.value <= 1:
        reasons = [each.reason for each in (apparent, tpr, tnr) if each.value is None]
        nothing = undefined(reasons[0] or "no_data" if reasons else "judge_uninformative", n=n, level=level)
        nothing = replace(nothing, ci_low=0.0, ci_high=1.0, method="lang_reiczigel")
        return RoganGladen(nothing, None, apparent, tpr, tnr, youden, None)
    q, j, total = apparent.value, tpr.value + tnr.value - 1, apparent.n
    raw = (q + tnr.value - 1) / j
    value = min(max(raw, 0.0), 1.0)
    delta = _delta(raw, (q, total), (tpr.value, tpr.n), (tnr.value, tnr.n)) / j
    z = normal_quantile(level)
    passed, tp, tn = counts
    widened = (passed + z * z / 2) / (total + z * z), total + z * z
    first, second = ((tp + 1) / (tpr.n + 2), tpr.n + 2), ((tn + 1) / (tnr.n + 2), tnr.n + 2)
    shrunk = first[0] + second[0] - 1
    rare = ["rare_class"] if min(tpr.n, tnr.n) < 10 else []
    groups = None if design is None else design.n_clusters
    figure = Figure(value, 0.0, 1.0, level, "lang_reiczigel", n, groups, flags=sample_flags(n, groups, 0, *rare))
    figure = replace(figure, se=delta) if design is None else replace(figure, se=design.se, deff=design.deff)
    if shrunk <= 0 or youden.ci_low is None or youden.ci_low <= 0:
        reason = "too_few_clusters" if youden.ci_low is None else "judge_uninformative"
        return RoganGladen(replace(figure, reason=reason), raw, apparent, tpr, tnr, youden, delta)
    adjusted = (widened[0] + second[0] - 1) / shrunk
    shift = 2 * z * z * (adjusted * _variance(first) - (1 - adjusted) * _variance(second))
    se = _delta(adjusted, widened, first, second) / shrunk
    if design is not None and design.stretch is None:
        figure = replace(figure, reason="too_few_clusters")
    else:
        half = z * se * (1.0 if design is None or design.stretch is None else design.stretch)
        low, high = adjusted + shift - half, adjusted + shift + half
        if low >= 1 or high <= 0:
            figure = replace(figure, reason="not_identified")
        else:
            figure = replace(figure, ci_low=min(max(low, 0.0), value), ci_high=max(min(high, 1.0), value))
    return RoganGladen(figure, raw, apparent, tpr, tnr, youden, delta, adjusted, shift, se)


def _variance(rate: tuple[float, float]) -> float:
    return rate[0] * (1 - rate[0]) / rate[1]


def _delta(theta: float, q: tuple[float, float], tpr: tuple[float, float], tnr: tuple[float, float]) -> float:
    """J times the standard error."""
    return sqrt(_variance(q) + theta**2 * _variance(tpr) + (1 - theta) ** 2 * _variance(tnr))


def _youden(tpr: Figure, tnr: Figure, level: float) -> Figure:
    n = tpr.n + tnr.n
    if tpr.value is None or tnr.value is None:
        return undefined(tpr.reason or tnr.reason or "no_data", n=n, level=level)
    figure = Figure(tpr.value + tnr.value - 1, level=level, n=n)
    if tpr.ci_low is None or tpr.ci_high is None or tnr.ci_low is None or tnr.ci_high is None:
        return replace(figure, reason="too_few_clusters")
    low, high = mover([(1.0, tpr.value, tpr.ci_low, tpr.ci_high), (1.0, tnr.value, tnr.ci_low, tnr.ci_high)])
    return replace(figure, ci_low=max(low - 1, -1.0), ci_high=min(high - 1, 1.0), method="mover")
