"""Two systems, one judge: their difference on the same items, and whether the judge ranks systems as people do.

Sources:
    Miller 2024, arXiv:2411.00640 (paired differences, clusters); Fisher 1935, The Design of Experiments, section 21
    (sign flips); Phipson & Smyth 2010, SAGMB 9:39 (the 1 that is added to drawn flips); Boyeau et al. 2024,
    arXiv:2403.07008 (paired PPI++); Kocmi et al. 2021, arXiv:2107.10821 (pairwise accuracy of systems).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atanh, sqrt, tanh
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from calibration.statistics.contrasts import RateGap, exact_sign_p, mean_difference, rate_gap, unit_sums
from calibration.statistics.ppi import PpiMean, ppi_mean
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    Significance,
    check_level,
    cluster_codes,
    normal_quantile,
    ratio,
    sample_flags,
    signed_share_of_counts,
    t_quantile,
)

__all__ = [
    "Discordant",
    "MillerErrors",
    "PairedComparison",
    "PairedPpi",
    "SignFlips",
    "SystemAgreement",
    "average_repeats",
    "compare_systems",
    "paired_ppi_difference",
    "sign_flip_test",
    "system_agreement",
]

EXACT_FLIPS = 16
DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class SignFlips:
    """Test of a mean difference by flipping signs, which supposes no distribution."""

    p_value: float
    """Two-sided."""
    method: Literal["exact", "drawn"]
    units: int
    """Items, or clusters, whose difference is not 0."""
    draws: int | None = None
    seed: int | None = None

    def to_record(self) -> dict[str, object]:
        """The test as JSON-ready values."""
        return to_record(self)


def sign_flip_test(
    differences: Numbers, clusters: Clusters | None = None, *, draws: int = DRAWS, seed: int = 0
) -> SignFlips:
    """How often a sum as large comes about when each item, or cluster, could as well have the other sign.

    Args:
        differences: One number per item.
        clusters: One id per item: a cluster is flipped as a whole.
        draws: If more than 16 units differ: how many flips are drawn. Otherwise all of them are counted.
        seed: Of `numpy.random.default_rng`.

    Returns:
        p is 1 where nothing differs. Drawn: (1 + count)/(1 + draws).
    """
    if draws < 1:
        raise ValueError(f"{draws} draws: give at least one")
    sums = unit_sums(as_numbers(differences, "difference"), clusters)
    sums = np.sort(sums[sums != 0])  # the order of items decides nothing
    units, observed = sums.size, abs(float(sums.sum()))
    floor = observed - 1e-9 * float(np.abs(sums).sum())
    if units <= EXACT_FLIPS:
        flipped = np.zeros(1)
        for each in sums.tolist():
            flipped = np.concatenate([flipped + each, flipped - each])
        return SignFlips(int(np.count_nonzero(np.abs(flipped) >= floor)) / flipped.size, "exact", units)
    generator, count, left = np.random.default_rng(seed), 0, draws
    while left > 0:
        size = min(left, max(1, 4_000_000 // units))
        signs = 1 - 2 * generator.integers(0, 2, size=(size, units), dtype=np.int8)
        count += int(np.count_nonzero(np.abs(signs @ sums) >= floor))
        left -= size
    return SignFlips((1 + count) / (1 + draws), "drawn", units, draws, seed)


# Two systems


@dataclass(frozen=True, slots=True)
class Discordant:
    """Items that one system gets right and the other wrong."""

    only_a: int
    only_b: int
    difference: Figure
    """(only_a - only_b)/n with the Bonett-Price interval."""
    p_mid: float
    p_exact: float
    """McNemar's exact test."""

    def to_record(self) -> dict[str, object]:
        """The counts as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class MillerErrors:
    """Clustered standard errors as Miller 2024 writes them, without G/(G-1): too small with few clusters."""

    difference: float
    mean_a: float
    mean_b: float

    def to_record(self) -> dict[str, object]:
        """The standard errors as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """System A less system B on the same items."""

    mean_a: Figure
    mean_b: Figure
    difference: Figure
    """With a t interval; by cluster where there are clusters."""
    test: Significance
    flips: SignFlips | None
    """None without data."""
    discordant: Discordant | None
    """For scores that are all 0 or 1, of independent items. With clusters read `test` and `flips`."""
    paired_se: float | None
    """Of the difference, as if items were independent."""
    unpaired_se: float | None
    """What it would be on different items for each system."""
    correlation: float | None
    """Of the two systems' scores over items; None where one doesn't vary."""
    miller: MillerErrors | None
    """Where there are clusters."""

    def to_record(self) -> dict[str, object]:
        """The comparison as JSON-ready values."""
        return to_record(self)


def average_repeats(scores: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The mean of each item's repeats, which needn't be equally many: an item counts once.

    Raises:
        ValueError: An item has no score.
    """
    for item, repeats in enumerate(scores):
        if len(repeats) == 0:
            raise ValueError(f"item {item} has no score: leave it out and count it as dropped")
    return np.array([float(as_numbers(repeats, "score").mean()) for repeats in scores], dtype=np.float64)


def compare_systems(
    score_a: Numbers,
    score_b: Numbers,
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    n_dropped: int = 0,
) -> PairedComparison:
    """Is A better than B, by one judge on the same items?

    Args:
        score_a: One score per item; average repeats first.
        score_b: Of the same items.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided intervals.
        draws: Of the sign flips, where they are too many to count.
        seed: Of these draws.
        n_dropped: Items left out before; it is passed on.

    Source:
        SE = sd/sqrt(n); with clusters sqrt(G/(G-1) sum_g (sum_g (d - mean))^2)/n, t with G-1 degrees of freedom.
    """
    a = as_numbers(score_a, "score")
    b, ones = as_numbers(score_b, "score", a.size), np.ones(a.size)
    d, n = a - b, a.size
    d[np.abs(d) <= 1e-12 * np.maximum(np.abs(a), np.abs(b))] = 0.0
    paired = mean_difference(d, clusters, level=level, n_dropped=n_dropped)
    mean_a = ratio(a, ones, clusters, level=level, n_dropped=n_dropped)
    mean_b = ratio(b, ones, clusters, level=level, n_dropped=n_dropped)
    flips = sign_flip_test(d, clusters, draws=draws, seed=seed) if n else None
    binary = clusters is None and n > 0 and bool(np.all(np.isin(a, (0.0, 1.0)) & np.isin(b, (0.0, 1.0))))
    unpaired = sqrt((float(a.var(ddof=1)) + float(b.var(ddof=1))) / n) if n > 1 else None
    miller = None
    if clusters is not None and n > 0:
        codes, groups = cluster_codes(clusters, n)
        errors = (sqrt(_squares(values, codes, groups)) / n for values in (d, a, b))
        miller = MillerErrors(*errors)
    return PairedComparison(
        mean_a,
        mean_b,
        paired.difference,
        paired.test,
        flips,
        _discordant(d, level, n_dropped) if binary else None,
        paired.independent_se,
        unpaired,
        _correlation(a, b),
        miller,
    )


def _squares(values: NDArray[np.float64], codes: NDArray[np.intp], groups: int) -> float:
    sums = np.bincount(codes, weights=values - values.mean(), minlength=groups)
    return float(sums @ sums)


def _discordant(d: NDArray[np.float64], level: float, n_dropped: int) -> Discordant:
    from scipy.special import bdtr

    b, c = int(np.count_nonzero(d > 0)), int(np.count_nonzero(d < 0))
    exact, least, total = exact_sign_p(b, c), min(b, c), b + c
    at = float(bdtr(least, total, 0.5)) - (float(bdtr(least - 1, total, 0.5)) if least else 0.0)
    mid = 1 - at if b == c else 2 * float(bdtr(least, total, 0.5)) - at
    difference = signed_share_of_counts(b, c, d.size, level=level, n_dropped=n_dropped)
    return Discordant(b, c, difference, mid if total else 1.0, exact)


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    x, y = a - np.mean(a) if a.size else a, b - np.mean(b) if b.size else b
    lengths = [sqrt(float(each @ each)) for each in (x, y)]
    sizes = [float(np.abs(each).max(initial=0.0)) for each in (a, b)]
    if any(length <= 1e-12 * size * a.size for length, size in zip(lengths, sizes, strict=True)):
        return None
    return min(max(float(x @ y) / lengths[0] / lengths[1], -1.0), 1.0)


def _fisher(r: float, n: int, variance: float | None, level: float) -> Figure:
    """Fisher's interval; none below 5 systems or at 1 (SPEC 3)."""
    figure = Figure(r, level=level, n=n, flags=sample_flags(n))
    if n < 5 or variance is None or abs(r) >= 1 - 1e-12:
        return replace(figure, reason="too_few" if n < 5 else "singular")
    half = normal_quantile(level) * sqrt(variance)
    return replace(figure, ci_low=tanh(atanh(r) - half), ci_high=tanh(atanh(r) + half), method="fisher_z")


# With human labels on some items


@dataclass(frozen=True, slots=True)
class PairedPpi:
    """The difference that humans would find between two systems."""

    estimate: PpiMean
    tpr: RateGap | None
    """P(judge passes | human passes) of A less that of B, on the labelled items; None unless labels are 0 or 1."""
    fpr: RateGap | None
    """P(judge passes | human fails) of A less that of B."""
    rates_differ: bool
    """Whether one of the two intervals leaves out 0: the judge-only difference may then have the wrong sign."""

    def to_record(self) -> dict[str, object]:
        """The estimate as JSON-ready values."""
        return to_record(self)


def paired_ppi_difference(
    human_a: Numbers,
    human_b: Numbers,
    judge_a: Numbers,
    judge_b: Numbers,
    judge_difference_unlabelled: Numbers,
    *,
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    level: float = 0.95,
) -> PairedPpi:
    """PPI++ on the differences within items.

    Args:
        human_a: Human score of A per labelled item. These items are a random sample of all.
        human_b: Of B.
        judge_a: The judge's score of A on the same items.
        judge_b: Of B.
        judge_difference_unlabelled: The judge's score of A less that of B, on the other items.
        clusters: One id per labelled item; then also one per unlabelled item.
        clusters_unlabelled: One id per unlabelled item.
        level: Of the two-sided intervals.
    """
    y_a = as_numbers(human_a, "human score")
    n = y_a.size
    y_b, f_a, f_b = (
        as_numbers(human_b, "human score", n),
        as_numbers(judge_a, "score", n),
        as_numbers(judge_b, "score", n),
    )
    others = as_numbers(judge_difference_unlabelled, "difference")
    estimate = ppi_mean(
        y_a - y_b,
        f_a - f_b,
        others,
        lam="tuned",
        clusters=clusters,
        clusters_unlabelled=clusters_unlabelled,
        level=level,
    )
    if not all(bool(np.all(np.isin(each, (0.0, 1.0)))) for each in (y_a, y_b, f_a, f_b)):
        return PairedPpi(estimate, None, None, rates_differ=False)
    # an item's two answers belong together
    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)[0]
    gaps: list[RateGap] = []
    for said, reason in ((1.0, "no_positive_gold"), (0.0, "no_negative_gold")):
        one, two = y_a == said, y_b == said
        gaps.append(rate_gap(f_a[one] == 1, f_b[two] == 1, (codes[one], codes[two]), level=level, reason=reason))
    return PairedPpi(estimate, gaps[0], gaps[1], rates_differ=any(_leaves_out_0(each.gap) for each in gaps))


def _leaves_out_0(gap: Figure) -> bool:
    return gap.ci_low is not None and gap.ci_high is not None and (gap.ci_low > 0 or gap.ci_high < 0)


# Rankings of systems


@dataclass(frozen=True, slots=True)
class SystemAgreement:
    """Whether the judge orders systems as people do."""

    pairwise_accuracy: Figure
    """Share of pairs of systems in the same order; jackknife over systems. Pairs that people tie are left out, a tie of
    the judge counts half."""
    kendall_tau_b: Figure
    spearman: Figure
    same_winner: bool | None
    """None if people or judge have two best systems."""
    reason: str | None
    """Why `same_winner` is None."""

    def to_record(self) -> dict[str, object]:
        """The agreement as JSON-ready values."""
        return to_record(self)


def system_agreement(human_means: Numbers, judge_means: Numbers, *, level: float = 0.95) -> SystemAgreement:
    """Compare two scores of the same systems, one mean per system each.

    Args:
        human_means: Mean human score per system.
        judge_means: Mean judge score, of the same systems.
        level: Of the two-sided intervals.
    """
    check_level(level)
    h = as_numbers(human_means, "human mean")
    j = as_numbers(judge_means, "judge mean", h.size)
    signs_h, signs_j = (np.sign(values[:, None] - values[None, :]) for values in (h, j))
    together = float(np.sum(signs_h * signs_j))
    untied = float(np.sum(np.abs(signs_h))) * float(np.sum(np.abs(signs_j)))
    rho = _correlation(_ranks(h), _ranks(j))
    if h.size < 2 or untied == 0 or rho is None:
        reason = "no_data" if h.size == 0 else "too_few" if h.size == 1 else "constant_input"
        tau = spearman = undefined(reason, n=h.size, level=level)
    else:
        n = h.size
        tau = _fisher(min(max(together / sqrt(untied), -1.0), 1.0), n, 0.437 / (n - 4) if n > 4 else None, level)
        spearman = _fisher(rho, n, (1 + rho**2 / 2) / (n - 3) if n > 3 else None, level)
    winner: bool | None = None
    no_winner: str | None = "tie" if h.size else "no_data"
    if h.size and np.count_nonzero(h == h.max()) == 1 and np.count_nonzero(j == j.max()) == 1:
        winner, no_winner = int(np.argmax(h)) == int(np.argmax(j)), None
    return SystemAgreement(_pairwise(signs_h, signs_j, level), tau, spearman, winner, no_winner)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, the mean of them where values tie."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def _pairwise(signs_h: NDArray[np.float64], signs_j: NDArray[np.float64], level: float) -> Figure:
    k = len(signs_h)
    counted = np.abs(signs_h)
    right = counted * (1 + signs_h * signs_j) / 2
    pairs, hits = float(counted.sum()), float(right.sum())
    if pairs == 0:
        return undefined("no_pairable", n=k, level=level)
    value = hits / pairs
    figure = Figure(value, level=level, n=k, flags=sample_flags(k))
    left = pairs - 2 * counted.sum(axis=1)
    if k < 5 or bool(np.any(left == 0)):
        return replace(figure, reason="too_few")
    without = (hits - 2 * right.sum(axis=1)) / left
    se = sqrt((k - 1) / k * float(np.sum((without - without.mean()) ** 2)))
    if se <= 1e-12:
        return replace(figure, reason="singular", se=0.0)
    half = t_quantile(level, k - 1) * se
    return replace(figure, ci_low=max(value - half, 0.0), ci_high=min(value + half, 1.0), method="jackknife_t", se=se)
