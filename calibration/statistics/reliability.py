"""Whether a judge's scores mean what they say: probabilities from 0 to 1 that a human's answer is yes.

The figures describe scores as they are. Whether a map of `mapping` has made them better is judged on
cross-fitted scores only.

Sources:
    Naeini, Cooper & Hauskrecht 2015, AAAI; Guo et al. 2017, ICML (ECE). Brier 1950, Monthly Weather Review 78:1;
    Murphy 1973, J Appl Meteorol 12:595 (parts). Spiegelhalter 1986, Statistics in Medicine 5:421. Cox 1958, Biometrika
    45:562, and Van Calster et al. 2016, J Clin Epidemiol 74:167 (slope, intercept). DeLong, DeLong & Clarke-Pearson
    1988, Biometrics 44:837 (AUC); Obuchowski 1997, Biometrics 53:567 (clusters).
"""

from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import MaybeNumbers, MaybeTruths, complete
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    RARE,
    Clusters,
    Significance,
    StandardError,
    check_level,
    cluster_codes,
    influence_se,
    mean,
    normal_quantile,
    proportion,
    sample_flags,
    t_quantile,
    two_sided,
)

__all__ = [
    "Bin",
    "BrierParts",
    "CalibrationLine",
    "ReliabilityTable",
    "ScoredLabels",
    "area_under_curve",
    "brier",
    "calibration_line",
    "pair_scored",
    "reliability_table",
    "spiegelhalter",
]

NOTHING = 1e-12
STEPS = 100
"""Newton's method needs about ten; where it needs more than this there is no maximum."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredLabels:
    """The judge's scores and the humans' yes or no of the same items."""

    scores: NDArray[np.float64]
    labels: NDArray[np.float64]
    """1 is yes, the positive class; 0 is no."""
    codes: NDArray[np.intp] | None
    """Cluster of each item, from 0; None if items are independent."""
    n_clusters: int | None
    n_dropped: int
    """Items left out: score or label is missing."""

    @property
    def n(self) -> int:
        """Items."""
        return self.scores.size

    @property
    def missing_class(self) -> str | None:
        """Why nothing that needs both classes is defined, if it is not."""
        if self.n == 0:
            return "no_data"
        return {0: "no_positive_gold", self.n: "no_negative_gold"}.get(int(self.labels.sum()))

    def figure(self, value: float, level: float) -> Figure:
        """A figure of these items, without an interval so far."""
        positives = int(self.labels.sum())
        rare = ["rare_class"] if min(positives, self.n - positives) < RARE else []
        flags = sample_flags(self.n, self.n_clusters, self.n_dropped, *rare)
        return Figure(value, None, None, level, None, self.n, self.n_clusters, self.n_dropped, None, flags)

    def undefined(self, reason: str, level: float) -> Figure:
        """A figure of these items without a value."""
        return replace(undefined(reason, n=self.n, n_dropped=self.n_dropped, level=level), n_clusters=self.n_clusters)


def pair_scored(
    scores: MaybeNumbers,
    labels: MaybeTruths,
    *,
    clusters: Clusters | None = None,
) -> ScoredLabels:
    """Pair scores with the humans' yes or no.

    Args:
        scores: One number per item, None where it is missing. For the area under the curve any numbers will do, for
            all else they are probabilities.
        labels: 1 or True for yes, 0 or False for no, None where it is missing.
        clusters: One id per item where one case yields several items.

    Raises:
        ValueError: The lengths differ, a score is not a finite number, or a label is not 0 or 1.
    """
    numbers, truths, kept = complete(scores, labels)
    codes, groups = None, None
    if clusters is not None:
        codes, groups = cluster_codes(cluster_codes(clusters, len(scores))[0][kept], len(kept))
    return ScoredLabels(numbers, truths.astype(np.float64), codes, groups, len(scores) - len(kept))


def _probabilities(items: ScoredLabels) -> NDArray[np.float64]:
    if items.n and not (items.scores.min() >= 0 and items.scores.max() <= 1):
        raise ValueError(
            "a score lies outside 0 to 1 and is no probability: map the scores first (calibration.statistics.mapping)"
        )
    return items.scores


# Bins


@dataclass(frozen=True, slots=True)
class Bin:
    """The items whose scores lie in one part of the scale."""

    index: int
    low: float
    high: float
    """Not part of the bin, except of the last."""
    n: int
    mean_score: float
    rate: Figure
    """Share of yes among the humans' answers, with Wilson's interval."""

    def to_record(self) -> dict[str, object]:
        """The bin as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class ReliabilityTable:
    """Scores against what became of them, bin by bin."""

    bins: tuple[Bin, ...]
    """Those that hold an item, from low scores to high."""
    bin_count: int
    n: int
    ece: Figure
    """Expected calibration error: mean distance of score and rate over bins, weighted by items. It depends on the
    number of bins and is above 0 even for perfect scores, the more so the fewer items; so it has no interval."""
    mce: Figure
    """The largest distance of a bin. No interval either."""
    excess: Figure
    """Mean score less rate: above 0 the judge is too confident of yes. An interval comes with `calibration_line`."""

    def to_record(self) -> dict[str, object]:
        """The table as JSON-ready values."""
        return to_record(self)


def reliability_table(items: ScoredLabels, *, bins: int = 10, level: float = 0.95) -> ReliabilityTable:
    """The reliability table with bins of equal width, [j/B, (j+1)/B), the last one closed.

    A score that equals an edge, but for rounding, is in the upper bin. Empty bins are left out.

    Raises:
        ValueError: A score lies outside 0 to 1, or there is no bin.
    """
    check_level(level)
    if bins < 1:
        raise ValueError(f"{bins} bins: use at least one")
    scores = _probabilities(items)
    if items.n == 0:
        nothing = items.undefined("no_data", level)
        return ReliabilityTable((), bins, 0, nothing, nothing, nothing)
    places = np.searchsorted(np.arange(1, bins) / bins - NOTHING, scores, side="right")
    found: list[Bin] = []
    for index in np.unique(places).tolist():
        inside = places == index
        codes = None if items.codes is None else items.codes[inside]
        rate = proportion(items.labels[inside] == 1, codes, level=level)
        found.append(Bin(index, index / bins, (index + 1) / bins, rate.n, float(scores[inside].mean()), rate))
    gaps = np.array([abs(each.mean_score - (each.rate.value or 0.0)) for each in found])
    shares = np.array([each.n for each in found]) / items.n
    return ReliabilityTable(
        tuple(found),
        bins,
        items.n,
        items.figure(float(shares @ gaps), level),
        items.figure(float(gaps.max()), level),
        items.figure(float((scores - items.labels).mean()), level),
    )


# The Brier score


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Mean squared distance of score and answer, and its parts: reliability - resolution + uncertainty."""

    score: Figure
    """From 0, the best, to 1; with a t interval."""
    reliability: float | None
    """How far the scores lie from the rates that go with them; None without items. Grouped by distinct score."""
    resolution: float | None
    """How far those rates lie from the overall rate."""
    uncertainty: float | None
    """Variance of the answers: the score of whoever always says the overall rate."""
    skill: Figure
    """1 - score/uncertainty: 0 is no better than always saying the overall rate. Undefined with one class only."""

    def to_record(self) -> dict[str, object]:
        """The parts as JSON-ready values."""
        return to_record(self)


def brier(items: ScoredLabels, *, level: float = 0.95) -> BrierParts:
    """The Brier score, its parts by Murphy, and its skill with an interval by influence values.

    Raises:
        ValueError: A score lies outside 0 to 1.
    """
    check_level(level)
    scores, labels = _probabilities(items), items.labels
    squares = (scores - labels) ** 2
    score = mean(squares, items.codes, level=level, n_dropped=items.n_dropped)
    if items.n == 0:
        return BrierParts(score, None, None, None, items.undefined("no_data", level))
    distinct, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rates, shares, rate = np.bincount(group, weights=labels) / counts, counts / items.n, float(labels.mean())
    reliability, resolution = float(shares @ (distinct - rates) ** 2), float(shares @ (rates - rate) ** 2)
    uncertainty = rate * (1 - rate)
    reason = items.missing_class
    if reason is not None:
        return BrierParts(score, reliability, resolution, uncertainty, items.undefined(reason, level))
    loss = float(squares.mean())
    influence = loss / uncertainty**2 * (1 - 2 * rate) * (labels - rate) - (squares - loss) / uncertainty
    skill = _by_influence(items, items.figure(1 - loss / uncertainty, level), influence, bounds=(-inf, 1.0))
    return BrierParts(score, reliability, resolution, uncertainty, skill)


def spiegelhalter(items: ScoredLabels) -> Significance:
    """Test whether the scores are calibrated: z of the Brier score under the hypothesis that they are.

    With clusters the variance is that of the items' terms by cluster, and t has G-1 degrees of freedom. There is no
    statistic if every score is 0, 1/2 or 1, as then the Brier score can't vary (singular).

    Source:
        Spiegelhalter 1986: sum (y - s)(1 - 2s) / sqrt(sum (1 - 2s)^2 s (1 - s)).
    """
    scores = _probabilities(items)
    method = "z" if items.n_clusters is None else "t"
    if items.n == 0:
        return Significance(None, None, method, reason="no_data")
    terms = (items.labels - scores) * (1 - 2 * scores)
    se = sqrt(float(np.sum((1 - 2 * scores) ** 2 * scores * (1 - scores)))) / items.n
    if items.codes is not None and items.n_clusters is not None:
        if items.n_clusters < 2:
            return Significance(None, None, method, reason="too_few_clusters")
        se = influence_se(terms - terms.mean(), items.codes, items.n_clusters).se
    if se <= NOTHING:
        return Significance(None, None, method, se=0.0, reason="singular")
    return two_sided(float(terms.mean()), se, None if items.n_clusters is None else items.n_clusters - 1)


# The calibration line


@dataclass(frozen=True, slots=True)
class CalibrationLine:
    """The logistic line of the answers on the logit of the scores. Perfect scores: intercept 0 and slope 1."""

    intercept: Figure
    slope: Figure
    """Below 1 the scores are too extreme, above 1 too timid."""
    in_the_large: Figure
    """The intercept with the slope fixed at 1: below 0 the scores are too high on the whole."""

    def to_record(self) -> dict[str, object]:
        """The line as JSON-ready values."""
        return to_record(self)


def calibration_line(items: ScoredLabels, *, level: float = 0.95) -> CalibrationLine:
    """Calibration intercept and slope by maximum likelihood, with Wald intervals; by cluster where there are clusters.

    Returns:
        All are undefined if there is one class only, or a score of exactly 0 or 1, whose logit is infinite
        (singular). The line is undefined if the scores are constant (constant_input) or tell the classes apart without
        overlap, so that its slope is infinite (singular).

    Raises:
        ValueError: A score lies outside 0 to 1.
    """
    from scipy.special import logit

    check_level(level)
    scores = _probabilities(items)
    reason = items.missing_class
    if reason is None and (scores.min() == 0 or scores.max() == 1):
        reason = "singular"
    if reason is not None:
        nothing = items.undefined(reason, level)
        return CalibrationLine(nothing, nothing, nothing)
    x: NDArray[np.float64] = np.asarray(logit(scores), dtype=np.float64)
    ones = np.ones((items.n, 1))
    large = _coefficients(items, ones, x, level)
    yes, no = x[items.labels == 1], x[items.labels == 0]
    if np.ptp(x) <= NOTHING * max(float(np.abs(x).max()), 1.0):
        reason = "constant_input"
    elif yes.min() >= no.max() or yes.max() <= no.min():
        reason = "singular"
    line = None if reason else _coefficients(items, np.column_stack([ones, x]), np.zeros(items.n), level)
    nothing = items.undefined(reason or "singular", level)
    intercept, slope = line or (nothing, nothing)
    return CalibrationLine(intercept, slope, large[0] if large else items.undefined("singular", level))


def _coefficients(
    items: ScoredLabels, design: NDArray[np.float64], offset: NDArray[np.float64], level: float
) -> list[Figure] | None:
    """Logistic regression with an offset, by Newton's method; None if there is no maximum in reach."""
    from scipy.special import expit, log1p

    labels, n = items.labels, items.n
    signs = 1 - 2 * labels

    def loss(at: NDArray[np.float64]) -> float:
        exponent = signs * (design @ at + offset)
        return float(np.sum(np.maximum(exponent, 0) + log1p(np.exp(-np.abs(exponent)))))

    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance: NDArray[np.float64] = np.asarray(expit(design @ found + offset), dtype=np.float64)
        gradient = design.T @ (labels - chance)
        hessian = (design * (chance * (1 - chance))[:, None]).T @ design
        if float(hessian[0, 0]) <= NOTHING or not float(np.linalg.cond(hessian)) < 1 / NOTHING:  # all but certain
            return None
        step, now, share = np.linalg.solve(hessian, gradient), loss(found), 1.0
        if float(np.abs(step).max()) <= NOTHING * max(float(np.abs(found).max()), 1.0):
            break
        while share > NOTHING and loss(found + share * step) > now * (1 + NOTHING):
            share /= 2
        found = found + share * step
    else:
        return None
    inverse = np.linalg.inv(hessian)
    influence = n * (design * (labels - chance)[:, None]) @ inverse
    figures: list[Figure] = []
    for at, value in enumerate(found.tolist()):
        se = sqrt(float(inverse[at, at]))
        error = StandardError(se, se)
        if items.codes is not None and items.n_clusters is not None and items.n_clusters > 1:
            scale = max(float(np.abs(influence[:, at]).max()), 1.0)
            error = influence_se(influence[:, at], items.codes, items.n_clusters, scale=scale)
        figures.append(_with_error(items, items.figure(value, level), error, "wald", (-inf, inf)))
    return figures


# The area under the curve


def area_under_curve(items: ScoredLabels, *, level: float = 0.95) -> Figure:
    """How often an item of the positive class has the higher score than one of the negative class; ties count half.

    Any finite scores will do, they need not be probabilities. Takes n log n steps.

    Returns:
        The area with DeLong's interval, clipped to 0 to 1. Undefined without one of the classes. No interval if a
        class has one item only (too_few) or nothing varies, as for perfect separation (singular).

    Source:
        DeLong et al. 1988, by midranks (Sun & Xu 2014, IEEE Signal Processing Letters 21:1389); by cluster the sums
        of the same parts (Obuchowski 1997).
    """
    check_level(level)
    reason = items.missing_class
    if reason is not None:
        return items.undefined(reason, level)
    yes = items.labels == 1
    ones, zeros = int(np.count_nonzero(yes)), int(np.count_nonzero(~yes))
    ranks, parts = _mid_ranks(items.scores), np.empty(items.n)
    parts[yes] = (ranks[yes] - _mid_ranks(items.scores[yes])) / zeros
    parts[~yes] = 1 - (ranks[~yes] - _mid_ranks(items.scores[~yes])) / ones
    value = min(max(float(parts[yes].mean()), 0.0), 1.0)
    figure = items.figure(value, level)
    means: NDArray[np.float64] = np.where(yes, float(parts[yes].mean()), float(parts[~yes].mean()))
    deviations = parts - means
    if items.codes is not None:
        sizes: NDArray[np.int64] = np.where(yes, ones, zeros)
        influence = deviations * items.n / sizes
        return _by_influence(items, figure, influence, bounds=(0.0, 1.0), method="delong_clustered")
    if min(ones, zeros) < 2:
        return replace(figure, reason="too_few")
    squares = deviations**2
    variance = float(squares[yes].sum()) / (ones * (ones - 1)) + float(squares[~yes].sum()) / (zeros * (zeros - 1))
    se = sqrt(variance)
    return _with_error(items, figure, StandardError(se, se), "delong", (0.0, 1.0))


def _mid_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], dtype=np.float64)


# Intervals


def _by_influence(
    items: ScoredLabels,
    figure: Figure,
    influence: NDArray[np.float64],
    *,
    bounds: tuple[float, float],
    method: str = "influence",
) -> Figure:
    if items.n_clusters is not None and items.n_clusters < 2:
        return replace(figure, reason="too_few_clusters")
    scale = max(float(np.abs(influence).max()), 1.0)
    error = influence_se(influence, items.codes, items.n_clusters or 0, scale=scale)
    return _with_error(items, figure, error, method, bounds)


def _with_error(
    items: ScoredLabels, figure: Figure, error: StandardError, method: str, bounds: tuple[float, float]
) -> Figure:
    """The figure with an interval of z, or of t with clusters, standard errors to each side."""
    value, groups = figure.value or 0.0, items.n_clusters
    if groups is not None and groups < 2:
        return replace(figure, reason="too_few_clusters")
    if error.se <= NOTHING:
        return replace(figure, se=0.0, reason="singular")
    half = error.se * (normal_quantile(figure.level) if groups is None else t_quantile(figure.level, groups - 1))
    low, high = min(max(value - half, bounds[0]), value), max(min(value + half, bounds[1]), value)
    return replace(figure, ci_low=low, ci_high=high, method=method, se=error.se, deff=error.deff)
