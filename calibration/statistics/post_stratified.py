"""A pass rate put together from what humans said of the judge's passes, and of its fails.

Sources:
    Tenenbein 1970, JASA 65:1350; Zou & Donner 2008, Statistics in Medicine 27:1693 (MOVER); Begg & Greenes 1983,
    Biometrics 39:207 (reweighted rates); Hájek 1971, in Foundations of Statistical Inference (weighted shares); Kish
    1965, Survey Sampling (effective number of weighted labels).
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_truths
from calibration.statistics.two_phase import Design, as_weights, both_clusters, clustered_design, ids_of
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    check_level,
    mover,
    normal_quantile,
    proportion,
    proportion_interval,
    proportion_of_counts,
    sample_flags,
)

__all__ = ["PostStratified", "post_stratified", "post_stratified_of_counts", "post_stratified_weighted"]


@dataclass(frozen=True, slots=True)
class PostStratified:
    """A pass rate put together from what humans said of the judge's passes and of its fails."""

    estimate: Figure
    judge_only: Figure
    """Share of the items that the judge passes: the weight of its passes."""
    ppv: Figure
    """P(human passes | judge passes)."""
    fomr: Figure
    """P(human passes | judge fails)."""
    sensitivity: Figure
    """P(judge passes | human passes) in the stream, reweighted from the labelled items."""
    specificity: Figure
    """P(judge fails | human fails), reweighted."""
    inflation: float | None = None
    """What clusters stretch the interval by."""

    def to_record(self) -> dict[str, object]:
        """The estimate as JSON-ready values."""
        return to_record(self)


def post_stratified_of_counts(
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    unlabelled_positive: int,
    unlabelled_negative: int,
    *,
    labelled_in_stream: bool = True,
    level: float = 0.95,
) -> PostStratified:
    """The pass rate of a stream from labels that are a random sample within each verdict.

    Args:
        tp: Labelled items both pass.
        fp: Labelled items only the judge passes.
        fn: Labelled items only the humans pass.
        tn: Labelled items both fail.
        unlabelled_positive: Other items that the judge passes.
        unlabelled_negative: Other items that the judge fails.
        labelled_in_stream: False if the labels are of other data, whose P(human | verdict) is the same.
        level: Of the two-sided interval.

    Returns:
        A verdict that has items and no label leaves the rate undefined (empty_stratum); the interval then holds
        whatever they may be. A verdict that no item has takes no part in the rate; the interval allows for items that
        the sample happened to miss.

    Source:
        theta = w1 a1 + w0 a0 (Tenenbein 1970), MOVER on Wilson limits (Zou & Donner 2008).
    """
    if min(tp, fp, fn, tn, unlabelled_positive, unlabelled_negative) < 0:
        raise ValueError("a count is negative")
    return _post_stratified(
        (tp, fp, fn, tn), (unlabelled_positive, unlabelled_negative), labelled_in_stream, level, None
    )


def post_stratified(
    human: Numbers,
    judge: Numbers,
    judge_unlabelled: Numbers,
    *,
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    labelled_in_stream: bool = True,
    level: float = 0.95,
) -> PostStratified:
    """As `post_stratified_of_counts`, from truth values; with clusters both distances are stretched by sqrt(deff) t/z.

    Args:
        human: One truth value per labelled item.
        judge: The judge's, of the same items.
        judge_unlabelled: The judge's, of the other items.
        clusters: One id per labelled item; then also one per unlabelled item.
        clusters_unlabelled: One id per unlabelled item.
        labelled_in_stream: As there.
        level: Of the two-sided interval.
    """
    y = as_truths(human, "human label")
    f, others = as_truths(judge, "verdict", y.size), as_truths(judge_unlabelled, "verdict")
    ids = both_clusters(clusters, clusters_unlabelled, y.size, others.size)
    cells = tuple(int(np.count_nonzero(each)) for each in (f & y, f & ~y, ~f & y, ~f & ~y))
    rest = int(np.count_nonzero(others)), int(np.count_nonzero(~others))
    table = cast("tuple[int, int, int, int]", cells)
    result = _post_stratified(table, rest, labelled_in_stream, level, None)
    if ids is None:
        return result
    stream = np.concatenate([f, others]) if labelled_in_stream else others
    shown = (
        proportion(stream, [*ids[0], *ids[1]] if labelled_in_stream else ids[1], level=level),
        proportion(y[f], ids_of(ids[0], f), level=level, reason="no_positive_pred"),
        proportion(y[~f], ids_of(ids[0], ~f), level=level, reason="no_negative_pred"),
    )
    theta, w, size = result.estimate.value, result.judge_only.value or 0.0, result.judge_only.n
    if theta is None:
        return _with_rates(replace(result, estimate=_open(result.estimate, w, shown)), shown)
    a1, a0 = result.ppv.value or 0.0, result.fomr.value or 0.0
    own = np.where(f, w * (y - a1) / max(result.ppv.n, 1), (1 - w) * (y - a0) / max(result.fomr.n, 1))
    share = (np.where(f, a1, a0) - theta) / size
    design = clustered_design(
        own + share if labelled_in_stream else own, (np.where(others, a1, a0) - theta) / size, ids, level
    )
    return _with_rates(_post_stratified(table, rest, labelled_in_stream, level, design), shown)


Rates: TypeAlias = tuple[Figure, Figure, Figure]
"""The share of the judge's passes, and the humans' rate among them and among its fails."""


def _with_rates(result: PostStratified, rates: Rates) -> PostStratified:
    return replace(result, judge_only=rates[0], ppv=rates[1], fomr=rates[2])


def _open(estimate: Figure, w: float, rates: Rates) -> Figure:
    """The interval of a rate that some verdict leaves open, from the limits of the other verdict's rate."""
    _, ppv, fomr = rates
    groups = ppv.n_clusters or fomr.n_clusters or 0
    if estimate.reason != "empty_stratum":
        return estimate
    if any(each.reason == "too_few_clusters" for each in (ppv, fomr)):
        return replace(estimate, ci_low=None, ci_high=None, method=None, n_clusters=groups)
    low, high = _ends(w, ppv, fomr)
    return replace(estimate, ci_low=low, ci_high=high, n_clusters=groups)


def _ends(w: float, ppv: Figure, fomr: Figure) -> tuple[float, float]:
    low = w * (ppv.ci_low or 0.0) + (1 - w) * (fomr.ci_low or 0.0)
    return low, w * _or_one(ppv.ci_high) + (1 - w) * _or_one(fomr.ci_high)


def post_stratified_weighted(
    human: Numbers,
    judge: Numbers,
    judge_unlabelled: Numbers,
    inclusion: Numbers,
    *,
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    level: float = 0.95,
) -> Figure:
    """As `post_stratified`, for labels that were chosen with probabilities of their own, such as by the judge's score.

    Each label counts inversely to its probability; the Wilson limits are those of the effective number of labels. It
    holds where the labels show no error of the judge, and prediction-powered inference has nothing to go by.

    Args:
        human: One truth value per labelled item.
        judge: The judge's, of the same items.
        judge_unlabelled: The judge's, of the other items of the stream.
        inclusion: The probability with which each labelled item was chosen, above 0 and at most 1.
        clusters: One id per labelled item; then also one per unlabelled item.
        clusters_unlabelled: One id per unlabelled item.
        level: Of the two-sided interval.

    Returns:
        Where a verdict has items and no label: the weighted share of the labels alone.

    Source:
        a_v = sum w y / sum w over the labels of a verdict, w = 1/probability (Hájek 1971), in Tenenbein's formula;
        effective number (sum w)^2 / sum w^2 (Kish 1965).
    """
    check_level(level)
    y = as_truths(human, "human label")
    f, others = as_truths(judge, "verdict", y.size), as_truths(judge_unlabelled, "verdict")
    weights = as_weights(inclusion, y.size)
    ids = both_clusters(clusters, clusters_unlabelled, y.size, others.size)
    if y.size == 0:
        return replace(undefined("no_data", level=level), ci_low=0.0, ci_high=1.0)
    passed = int(np.count_nonzero(f)) + int(np.count_nonzero(others))
    share = proportion_of_counts(passed, y.size + others.size, level=level)
    rates = [_weighted_share(y[kept], weights[kept], level) for kept in (f, ~f)]
    w1 = share.value or 0.0
    if any(w > 0 and rate.value is None for w, rate in zip((w1, 1 - w1), rates, strict=True)):
        alone = _weighted_share(y, weights, level)
        theta = alone.value or 0.0
        below, above = theta - (alone.ci_low or 0.0), _or_one(alone.ci_high) - theta
        labelled, rest = weights * (y - theta) / weights.sum(), np.zeros(others.size)
    else:
        a1, a0 = (rate.value or 0.0 for rate in rates)
        theta = min(max(w1 * a1 + (1 - w1) * a0, 0.0), 1.0)
        below, above = _distances(share, *rates)
        sums = [float(weights[kept].sum()) or 1.0 for kept in (f, ~f)]
        own = weights * np.where(f, w1 * (y - a1) / sums[0], (1 - w1) * (y - a0) / sums[1])
        labelled = own + (np.where(f, a1, a0) - theta) / share.n
        rest = (np.where(others, a1, a0) - theta) / share.n
    figure = Figure(theta, level=level, n=y.size, se=sqrt(float(labelled @ labelled) + float(rest @ rest)))
    stretch = 1.0
    if ids is not None:
        design = clustered_design(labelled, rest, ids, level)
        figure = replace(figure, n_clusters=design.n_clusters, se=design.se, deff=design.deff)
        if design.stretch is None:
            return replace(figure, reason="too_few_clusters", flags=sample_flags(y.size, design.n_clusters))
        stretch = design.stretch
    low, high = max(theta - stretch * below, 0.0), min(theta + stretch * above, 1.0)
    flags = sample_flags(y.size, figure.n_clusters)
    return replace(figure, ci_low=low, ci_high=high, method="post_stratified_mover", flags=flags)


def _weighted_share(hits: NDArray[np.bool_], weights: NDArray[np.float64], level: float) -> Figure:
    """The share of the weight that is hit, with the Wilson limits of the effective number of items."""
    if hits.size == 0:
        return replace(undefined("no_data", level=level), ci_low=0.0, ci_high=1.0)
    total = float(weights.sum())
    value = 1.0 if bool(hits.all()) else float(weights[hits].sum()) / total
    low, high = _limits(value, total**2 / float(weights @ weights), level)
    return Figure(value, low, high, level, "wilson", hits.size)


def _limits(value: float, n: float, level: float) -> tuple[float, float]:
    return proportion_interval(n if value == 1 else value * n, n, level=level)


def _post_stratified(
    table: tuple[int, int, int, int], rest: tuple[int, int], in_stream: bool, level: float, design: Design | None
) -> PostStratified:
    check_level(level)
    tp, fp, fn, tn = table
    passed = rest[0] + (tp + fp if in_stream else 0)
    total = rest[0] + rest[1] + (sum(table) if in_stream else 0)
    weight = proportion_of_counts(passed, total, level=level)
    ppv = proportion_of_counts(tp, tp + fp, level=level, reason="no_positive_pred")
    fomr = proportion_of_counts(fn, fn + tn, level=level, reason="no_negative_pred")
    n = sum(table)
    groups = None if design is None else design.n_clusters
    if weight.value is None:
        nothing = undefined("no_data", n=n, level=level)
        return PostStratified(replace(nothing, ci_low=0.0, ci_high=1.0), weight, ppv, fomr, nothing, nothing)
    w1, w0 = weight.value, 1 - weight.value
    if (w1 > 0 and ppv.value is None) or (w0 > 0 and fomr.value is None):
        low, high = _ends(w1, ppv, fomr)
        nothing = undefined("empty_stratum", n=n, level=level)
        figure = replace(nothing, ci_low=low, ci_high=high, method="wilson", n_clusters=groups)
        return PostStratified(figure, weight, ppv, fomr, nothing, nothing)
    # a verdict without items: its rate could be anything, and its weight is 0
    a1, a0 = ppv.value, fomr.value
    theta = min(max(w1 * (a1 or 0.0) + w0 * (a0 or 0.0), 0.0), 1.0)
    below, above = _distances(weight, ppv, fomr)
    se = sqrt(_spread(a1, w1, tp + fp) + _spread(a0, w0, fn + tn) + w1 * w0 * ((a1 or 0.0) - (a0 or 0.0)) ** 2 / total)
    flags = sample_flags(n, groups)
    figure = Figure(theta, None, None, level, "post_stratified_mover", n, groups, 0, None, flags, se)
    stretch = 1.0
    if design is not None:
        figure = replace(figure, se=design.se, deff=design.deff)
        stretch = design.stretch or 0.0
    if design is not None and design.stretch is None:
        figure = replace(figure, method=None, reason="too_few_clusters")
    else:
        low, high = max(theta - stretch * below, 0.0), min(theta + stretch * above, 1.0)
        figure = replace(figure, ci_low=low, ci_high=high)
    rates = _reweighted(table, (w1, total), level, design)
    return PostStratified(figure, weight, ppv, fomr, *rates, None if design is None else design.stretch)


def _or_one(high: float | None) -> float:
    return 1.0 if high is None else high


def _spread(rate: float | None, weight: float, n: int) -> float:
    return 0.0 if rate is None or n == 0 else weight**2 * rate * (1 - rate) / n


def _distances(weight: Figure, ppv: Figure, fomr: Figure) -> tuple[float, float]:
    """How far the limits lie below and above the estimate."""
    w, low, high = weight.value or 0.0, weight.ci_low or 0.0, _or_one(weight.ci_high)

    def limits(a1: float, a0: float) -> tuple[float, float]:
        terms = [(a1 - a0, w, low, high)]
        for share, rate in ((w, ppv), (1 - w, fomr)):
            if rate.value is not None:
                terms.append((share, rate.value, rate.ci_low or 0.0, _or_one(rate.ci_high)))
        centre = sum(coefficient * value for coefficient, value, _, _ in terms)
        bottom, top = mover(terms)
        return centre - bottom, top - centre

    if ppv.value is not None and fomr.value is not None:
        return limits(ppv.value, fomr.value)
    known = ppv.value if ppv.value is not None else fomr.value or 0.0
    ends = [limits(known, each) if ppv.value is not None else limits(each, known) for each in (0.0, 1.0)]
    return max(each[0] for each in ends), max(each[1] for each in ends)


def _reweighted(
    table: tuple[int, int, int, int], weight: tuple[float, int], level: float, design: Design | None
) -> tuple[Figure, Figure]:
    """TPR and TNR of the stream."""
    tp, fp, fn, tn = table
    w1, total = weight
    sensitivity = _share_of((w1, tp, tp + fp), (1 - w1, fn, fn + tn), total, level, "no_positive_gold", design)
    specificity = _share_of((1 - w1, tn, fn + tn), (w1, fp, tp + fp), total, level, "no_negative_gold", design)
    return sensitivity, specificity


def _share_of(
    this: tuple[float, int, int],
    other: tuple[float, int, int],
    total: int,
    level: float,
    reason: str,
    design: Design | None,
) -> Figure:
    """w a / (w a + w' a'), where a = k/n in each; interval on the logit, from counts with 1/2 and 1 added.

    Source:
        Begg & Greenes 1983, equation for the variance of the logit.
    """
    parts = [(w, k / n if n else 0.0) for w, k, n in (this, other)]
    whole, n = sum(w * a for w, a in parts), this[2] + other[2]
    if whole == 0:
        return undefined(reason, n=n, level=level)
    value = min(parts[0][0] * parts[0][1] / whole, 1.0)
    groups = None if design is None else design.n_clusters
    figure = Figure(value, None, None, level, None, n, groups, flags=sample_flags(n, groups))
    if design is not None and design.stretch is None:
        return replace(figure, reason="too_few_clusters")
    w = (this[0] * total + 0.5) / (total + 1)
    a, b = ((k + 0.5) / (n + 1) for _, k, n in (this, other))
    variance = 1 / (total * w * (1 - w)) + (1 - a) / (a * (this[2] + 1)) + (1 - b) / (b * (other[2] + 1))
    stretch = 1.0 if design is None or design.stretch is None else design.stretch
    half = normal_quantile(level) * sqrt(variance) * stretch
    odds = w * a / ((1 - w) * b)
    low, high = (odds * float(np.exp(each)) for each in (-half, half))
    low, high = low / (1 + low), high / (1 + high)
    return replace(figure, ci_low=min(low, value), ci_high=max(high, value), method="begg_greenes")
