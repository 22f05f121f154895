"""Means estimated from many judge scores and few human ones: prediction-powered inference.

The judge's mean over the unlabelled items is corrected by what humans and judge differ by on the labelled ones, which
must be a random sample: of everything, of each stratum, or with a known probability for each item. Where items of a
stratum were as likely as each other, the strata say all that their probabilities do, and more exactly; weights are for
probabilities that differ from item to item.

Sources:
    Angelopoulos et al. 2023, Science 382:669 (PPI); Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453 (PPI++);
    Fisch et al. 2024, arXiv:2406.04291 (strata); Zrnic & Candès 2024, arXiv:2403.03208 (known probabilities), with
    Hájek's weighted mean; Kish 1965, Survey Sampling (effective number of labels); Neyman 1934, JRSS 97:558
    (allocation).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from calibration.statistics.two_phase import as_weights, both_clusters, two_part_se
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    NOTHING,
    Clusters,
    StandardError,
    check_level,
    normal_quantile,
    sample_flags,
    t_quantile,
)

__all__ = [
    "Lambda",
    "PpiMean",
    "StratifiedMean",
    "Stratum",
    "allocate_labels",
    "ppi_mean",
    "stratified_ppi",
    "weighted_ppi",
]

Lambda: TypeAlias = float | Literal["tuned"]
"""How far to trust the judge: 1 is PPI, 0 uses humans only, `tuned` is PPI++."""

ENOUGH_FOR_NORMAL = 100


@dataclass(frozen=True, slots=True)
class PpiMean:
    """A mean by prediction-powered inference."""

    normal: Figure
    """With the normal interval."""
    t: Figure | None
    """With fewer than 100 labels: with the t interval, n-1 degrees of freedom; the normal one is then too short. Of
    weighted labels n is the effective number."""
    lam: float
    """How far the judge was trusted."""
    judge_only: float | None
    """The judge's mean over the unlabelled items."""
    human_only: float | None
    """The mean of the human scores."""

    @property
    def figure(self) -> Figure:
        """The interval to trust: t where there is one."""
        return self.normal if self.t is None else self.t

    def to_record(self) -> dict[str, object]:
        """The estimate as JSON-ready values."""
        return to_record(self)


def ppi_mean(
    human: Numbers,
    judge: Numbers,
    judge_unlabelled: Numbers,
    *,
    lam: Lambda = "tuned",
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    level: float = 0.95,
    n_dropped: int = 0,
) -> PpiMean:
    """The mean of what humans would say of all items.

    Args:
        human: One score per labelled item, on any scale.
        judge: The judge's score of the same items.
        judge_unlabelled: The judge's score of the other items.
        lam: How far to trust the judge.
        clusters: One id per labelled item; with it also the other. None when items are independent.
        clusters_unlabelled: One id per unlabelled item.
        level: Of the two-sided interval.
        n_dropped: Items left out before; it is passed on.

    Returns:
        Flag `zero_residual_variance` if the human scores are a linear function of the judge's, or constant, on the
        labelled items: the interval then knows nothing of the errors the labels happened to miss. For truth values use
        the post-stratified estimate: where nearly all are true, this interval's lower limit is too high (it held the
        truth in 86 to 92% of simulations, not 95%). SE 0: no interval (singular). Fewer than 2 labels: no interval
        (too_few).

    Raises:
        ValueError: Lengths differ, a score is missing, only one part has clusters, or `lam` is outside 0 to 1.

    Source:
        theta = lam mean(f_u) + mean(y - lam f); SE^2 = lam^2 var(f_u)/N + var(y - lam f)/n. PPI++:
        lam = cov(y, f)/((1 + n/N) var(all f)), clipped to 0 to 1; 0 for a constant judge.
    """
    check_level(level)
    y, others = as_numbers(human, "human score"), as_numbers(judge_unlabelled, "judge score")
    f = as_numbers(judge, "judge score", y.size)
    ids = both_clusters(clusters, clusters_unlabelled, y.size, others.size)
    trust = _lambda(lam, y, f, others)
    judge_only = float(others.mean()) if others.size else None
    if y.size == 0:
        nothing = undefined("no_data", n_dropped=n_dropped, level=level)
        return PpiMean(nothing, None, trust, judge_only, None)
    if trust > 0 and others.size == 0:
        raise ValueError("no unlabelled items for the judge to help with: use lam=0, the human scores alone")
    value, residuals, predicted = _parts(y, f, others, trust)
    flags = ["zero_residual_variance"] if _determined(y, f) else []
    error = two_part_se(residuals / y.size, predicted / max(others.size, 1), ids, scale=_scale(y, f, others))
    shape = Figure(value, level=level, n=y.size, n_clusters=error.n_clusters, n_dropped=n_dropped, se=error.se)
    shape = replace(shape, deff=error.deff, flags=sample_flags(y.size, error.n_clusters, n_dropped, *flags))
    normal, t = _intervals(shape)
    return PpiMean(normal, t, trust, judge_only, float(y.mean()))


def _parts(
    y: NDArray[np.float64], f: NDArray[np.float64], others: NDArray[np.float64], trust: float
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The estimate, and the centred values of its two parts."""
    residuals = y - trust * f
    middle = float(residuals.mean())
    if others.size == 0:
        return middle, residuals - middle, others
    return trust * float(others.mean()) + middle, residuals - middle, trust * (others - others.mean())


def _scale(*parts: NDArray[np.float64]) -> float:
    """What is large for these scores."""
    largest = 1.0
    for each in parts:
        largest = max(largest, float(np.abs(each).max(initial=0.0)))
    return largest


def _lambda(lam: Lambda, y: NDArray[np.float64], f: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    if lam != "tuned":
        if not 0 <= lam <= 1:
            raise ValueError(f"lam is {lam}: give a number from 0 (humans only) to 1 (PPI), or 'tuned'")
        return float(lam)
    n, everything = y.size, np.concatenate([f, others])
    if n == 0 or others.size == 0 or float(everything.max() - everything.min()) == 0:
        return 0.0
    covariance = float((y - y.mean()) @ (f - f.mean())) / n
    spread = (1 + n / others.size) * float(everything.var(ddof=1))
    return min(max(covariance / spread, 0.0), 1.0) if spread > 0 else 0.0


def _determined(y: NDArray[np.float64], f: NDArray[np.float64]) -> bool:
    """Whether nothing of y is left once a linear function of f is taken away."""
    centred, other = y - y.mean(), f - f.mean()
    total, spread = float(centred @ centred), float(other @ other)
    floor = NOTHING * y.size * _scale(y) ** 2
    if total <= floor:
        return True
    return spread > NOTHING * y.size * _scale(f) ** 2 and total - float(centred @ other) ** 2 / spread <= floor


def _intervals(shape: Figure, effective: float | None = None) -> tuple[Figure, Figure | None]:
    """The normal interval, and that of t where labels are few. `shape` has value, SE, labels and clusters."""
    if shape.value is None or shape.se is None:
        return shape, None
    labels, few = max(effective or shape.n, 2.0), shape.n_clusters is not None and shape.n_clusters < 2
    groups = labels if shape.n_clusters is None else shape.n_clusters
    reason = "too_few" if shape.n < 2 else "too_few_clusters" if few else "singular" if shape.se == 0 else None
    if reason is not None:
        return replace(shape, reason=reason), None
    half = normal_quantile(shape.level) * shape.se
    wide = t_quantile(shape.level, groups - 1) * shape.se
    t = replace(shape, ci_low=shape.value - wide, ci_high=shape.value + wide, method="ppi_t")
    normal = replace(shape, ci_low=shape.value - half, ci_high=shape.value + half, method="ppi_normal")
    return normal, t if groups < ENOUGH_FOR_NORMAL else None


# Known probabilities


def weighted_ppi(
    human: Numbers,
    judge: Numbers,
    judge_unlabelled: Numbers,
    inclusion: Numbers,
    *,
    lam: Lambda = "tuned",
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    level: float = 0.95,
    n_dropped: int = 0,
) -> PpiMean:
    """The mean of what humans would say of all items, from labels each chosen with a known probability of its own.

    Args:
        human: One score per labelled item, on any scale.
        judge: The judge's score of the same items.
        judge_unlabelled: The judge's score of the other items.
        inclusion: The probability with which each labelled item was chosen, above 0 and at most 1. Every item must have
            had one above 0. It may depend on all that the judge says, and on nothing else about the human's score.
        lam: How far to trust the judge; `tuned` makes the standard error as small as it gets.
        clusters: One id per labelled item; with it also the other. None when items are independent.
        clusters_unlabelled: One id per unlabelled item.
        level: Of the two-sided interval.
        n_dropped: Items left out before; it is passed on.

    Returns:
        As `ppi_mean`; `human_only` is the weighted mean of the human scores, `judge_only` the judge's of all items.

    Raises:
        ValueError: As `ppi_mean`; or a probability is missing or out of its range.

    Source:
        theta = lam mean(all f) + sum w (y - lam f) / sum w, w = 1/probability (Zrnic & Candès 2024, with Hájek's
        denominator). SE^2 is the sum of squares of what each item adds: lam (f - mean f)/(n+N), and of a labelled one
        also w (r - weighted mean r)/sum w, r = y - lam f. The best lam follows by least squares.
    """
    check_level(level)
    y, others = as_numbers(human, "human score"), as_numbers(judge_unlabelled, "judge score")
    f, weights = as_numbers(judge, "judge score", y.size), as_weights(inclusion, y.size)
    ids = both_clusters(clusters, clusters_unlabelled, y.size, others.size)
    everything = np.concatenate([f, others])
    judge_only = float(everything.mean()) if everything.size else None
    if judge_only is None or y.size == 0:
        nothing = undefined("no_data", n_dropped=n_dropped, level=level)
        return PpiMean(nothing, None, 0.0 if lam == "tuned" else lam, judge_only, None)
    weights, size = weights / weights.sum(), everything.size
    people, said = float(weights @ y), float(weights @ f)
    apart, moved = weights * (y - people), (f - judge_only) / size - weights * (f - said)
    rest = (others - judge_only) / size
    if lam == "tuned":
        spread = float(moved @ moved) + float(rest @ rest)
        varies = spread > (NOTHING * _scale(f, others)) ** 2
        trust = min(max(-float(apart @ moved) / spread, 0.0), 1.0) if varies else 0.0
    else:
        trust = _lambda(lam, y, f, others)
    flags = ["zero_residual_variance"] if _determined(y, f) else []
    error = two_part_se(apart + trust * moved, trust * rest, ids, scale=_scale(y, f, others))
    value = people + trust * (judge_only - said)
    shape = Figure(value, level=level, n=y.size, n_clusters=error.n_clusters, n_dropped=n_dropped, se=error.se)
    shape = replace(shape, deff=error.deff, flags=sample_flags(y.size, error.n_clusters, n_dropped, *flags))
    normal, t = _intervals(shape, 1 / float(weights @ weights))
    return PpiMean(normal, t, trust, judge_only, people)


# Strata


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """The items of one stratum. Its labels are a random sample of it."""

    human: Numbers
    judge: Numbers
    judge_unlabelled: Numbers
    population: int
    """All items of the stream that belong to it: its weight."""
    lam: Lambda = "tuned"
    clusters: Clusters | None = None
    clusters_unlabelled: Clusters | None = None


@dataclass(frozen=True, slots=True)
class StratifiedMean:
    """A mean put together from strata."""

    normal: Figure
    t: Figure | None
    """With fewer than 100 labels: with the t interval."""
    weights: tuple[float, ...]
    """Of each stratum, in order of input."""
    strata: tuple[PpiMean, ...]

    @property
    def figure(self) -> Figure:
        """The interval to trust: t where there is one."""
        return self.normal if self.t is None else self.t

    def to_record(self) -> dict[str, object]:
        """The estimate as JSON-ready values."""
        return to_record(self)


def stratified_ppi(strata: Sequence[Stratum], *, level: float = 0.95) -> StratifiedMean:
    """The mean over strata whose labels were drawn at rates of their own, such as by verdict or by bins of the score.

    With `lam=0` throughout this is post-stratification over any number of strata. A stratum with items and no label
    leaves the mean undefined (empty_stratum); one with a single label leaves the interval undefined (too_few).

    Don't use it for truth values with the verdict as stratum, but `post_stratified`: labels of a stratum that show no
    error give it no width, and the interval held the truth in as few as 74% of simulations.

    Source:
        theta = sum W_h theta_h, SE^2 = sum W_h^2 SE_h^2; with clusters by the influence values of all strata together.
    """
    check_level(level)
    if any(each.population < 0 for each in strata):
        raise ValueError("a population is negative: it is the number of items of the stratum")
    total = sum(each.population for each in strata)
    found = tuple(_mean_of(each, level) for each in strata)
    if total == 0:
        return StratifiedMean(undefined("no_data", level=level), None, tuple(0.0 for _ in strata), found)
    weights = tuple(each.population / total for each in strata)
    used = [(w, stratum, mean) for w, stratum, mean in zip(weights, strata, found, strict=True) if w > 0]
    n = sum(mean.normal.n for _, _, mean in used)
    if any(mean.normal.value is None for _, _, mean in used):
        return StratifiedMean(undefined("empty_stratum", n=n, level=level), None, weights, found)
    value = sum(w * (mean.normal.value or 0.0) for w, _, mean in used)
    error = _joint_se(used)
    flags = ["zero_residual_variance"] if any("zero_residual_variance" in m.normal.flags for _, _, m in used) else []
    shape = Figure(value, level=level, n=n, n_clusters=error.n_clusters, se=error.se, deff=error.deff)
    shape = replace(shape, flags=sample_flags(n, error.n_clusters, 0, *flags))
    if any(mean.normal.n < 2 for _, _, mean in used):
        return StratifiedMean(replace(shape, reason="too_few"), None, weights, found)
    normal, t = _intervals(shape)
    return StratifiedMean(normal, t, weights, found)


def _mean_of(stratum: Stratum, level: float) -> PpiMean:
    return ppi_mean(
        stratum.human,
        stratum.judge,
        stratum.judge_unlabelled,
        lam=stratum.lam if len(stratum.judge_unlabelled) else 0.0,  # all labelled: nothing left to predict
        clusters=stratum.clusters,
        clusters_unlabelled=stratum.clusters_unlabelled,
        level=level,
    )


def _joint_se(used: Sequence[tuple[float, Stratum, PpiMean]]) -> StandardError:
    labelled: list[NDArray[np.float64]] = []
    unlabelled: list[NDArray[np.float64]] = []
    first: list[Hashable] = []
    second: list[Hashable] = []
    scale = 1.0
    for weight, stratum, mean in used:
        y, f = as_numbers(stratum.human, "human score"), as_numbers(stratum.judge, "judge score")
        others = as_numbers(stratum.judge_unlabelled, "judge score")
        _, residuals, predicted = _parts(y, f, others, mean.lam)
        labelled.append(weight * residuals / y.size)
        unlabelled.append(weight * predicted / max(others.size, 1))
        first.extend([] if stratum.clusters is None else stratum.clusters)
        second.extend([] if stratum.clusters_unlabelled is None else stratum.clusters_unlabelled)
        scale = max(scale, _scale(y, f, others))
    given = [stratum.clusters is not None for _, stratum, _ in used]
    if any(given) and not all(given):
        raise ValueError("cluster ids of some strata only: give those of all strata, or none")
    ids = (first, second) if all(given) else None
    return two_part_se(np.concatenate(labelled), np.concatenate(unlabelled), ids, scale=scale)


def allocate_labels(
    budget: float, weights: Sequence[float], sds: Sequence[float], costs: Sequence[float] | None = None
) -> tuple[float, ...]:
    """How many labels to buy in each stratum, so that the stratified mean is as exact as the budget allows.

    Args:
        budget: To spend; a number of labels where there are no costs.
        weights: Share of all items, per stratum.
        sds: Standard deviation of y - lam f, per stratum; a first guess from a pilot will do.
        costs: Of one label, per stratum; 1 each if None.

    Returns:
        The exact numbers, which together cost the budget. No stratum varies: in proportion to the weights.

    Source:
        Neyman: n_h ~ W_h sd_h / sqrt(cost_h).
    """
    prices = np.ones(len(weights)) if costs is None else as_numbers(costs, "cost", len(weights))
    shares, spreads = as_numbers(weights, "weight"), as_numbers(sds, "standard deviation", len(weights))
    if budget < 0 or bool(np.any(shares < 0)) or bool(np.any(spreads < 0)) or bool(np.any(prices <= 0)):
        raise ValueError("budget, weights and standard deviations can't be negative, and costs are above 0")
    wanted = shares * spreads / np.sqrt(prices)
    if not bool(np.any(wanted > 0)):
        wanted = shares / np.sqrt(prices)
    cost = float(wanted @ prices)
    if cost == 0:
        raise ValueError("no stratum has a weight: give at least one above 0")
    return tuple(float(each) for each in budget * wanted / cost)
