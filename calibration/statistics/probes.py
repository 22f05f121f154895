"""Probes of a judge's biases: position, length, its own family, cues that should not matter, and group error rates.

Each probe has an effect with interval and p. Read several together with `holm_family`.

Sources:
    Zheng et al. 2023, arXiv:2306.05685 (position); Dubois et al. 2024, arXiv:2404.04475 (length); Panickssery et al.
    2024, arXiv:2404.13076, and Wataoka et al. 2024, arXiv:2410.21819 (self-preference); Cameron & Miller 2015, Journal
    of Human Resources 50:317 (CR1).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers, as_truths
from calibration.statistics.contrasts import (
    PairedDifference,
    RateGap,
    exact_sign_p,
    mean_difference,
    rate_gap,
    sign_test,
)
from calibration.statistics.logit import fit_logit
from calibration.statistics.multiplicity import holm
from calibration.statistics.tables import Invalid
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    cluster_codes,
    mean,
    normal_quantile,
    proportion,
    sample_flags,
    signed_share,
    t_quantile,
    two_sided,
)

__all__ = [
    "Effect",
    "GroupErrorRates",
    "LengthBias",
    "Perturbation",
    "PositionBias",
    "SelfPreference",
    "decision_impact",
    "effect_of",
    "group_error_rates",
    "holm_family",
    "length_bias",
    "perturbation",
    "position_bias",
    "self_preference",
]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a probe found."""

    figure: Figure
    p_value: float | None
    """Two-sided; None where there is no test."""
    standardised: float | None
    """On a scale without unit; each probe says which."""
    bound: float | None = field(init=False)
    """The largest size of the effect that the interval leaves room for: what a null result shows."""

    def __post_init__(self) -> None:
        low, high = self.figure.ci_low, self.figure.ci_high
        bound = None if low is None or high is None else max(abs(low), abs(high))
        object.__setattr__(self, "bound", bound)

    def to_record(self) -> dict[str, object]:
        """The effect as JSON-ready values."""
        return to_record(self)


def effect_of(comparison: PairedDifference | RateGap) -> Effect:
    """The effect that a comparison shows; a test without statistic but with p keeps its p."""
    figure = comparison.difference if isinstance(comparison, PairedDifference) else comparison.gap
    return Effect(figure, comparison.test.p_value, comparison.standardised)


def holm_family(effects: Sequence[Effect]) -> tuple[float | None, ...]:
    """Holm's adjusted p of each effect, in order of input; effects without p take no part and have none."""
    given = [each.p_value for each in effects if each.p_value is not None]
    adjusted = iter(holm(given))
    return tuple(None if each.p_value is None else next(adjusted) for each in effects)


def decision_impact(effect: Figure, exposure_a: float, exposure_b: float) -> Figure:
    """What a bias does to the difference of two systems: effect times the difference of their exposure to it.

    Args:
        effect: The judge's bias, per unit of exposure.
        exposure_a: Mean exposure of system A, such as the log of its length or the share of its answers with the cue.
        exposure_b: Of system B.

    Returns:
        How much of the judge's A - B may be the bias, with the interval of the effect scaled alike.
    """
    gap = exposure_a - exposure_b
    scaled = [None if each is None else gap * each for each in (effect.value, effect.ci_low, effect.ci_high, effect.se)]
    value, low, high, se = scaled
    if gap < 0:
        low, high, se = high, low, None if se is None else -se
    return replace(effect, value=value, ci_low=low, ci_high=high, se=se)


# Position


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Verdicts of the same pairs in both orders of showing."""

    n: int
    """Pairs with a verdict in both orders."""
    invalid: int
    """Pairs without."""
    consistent: int
    first_both: int
    """Pairs where the output shown first wins in both orders."""
    second_both: int
    inconsistent_other: int
    """Pairs with a tie in one order only."""
    inconsistency: Figure
    first_slot_share: Figure
    """Share of verdicts for the output shown first, a tie counting half; 0.5 is no bias."""
    bias: Effect
    """(first_both - second_both)/n. Standardised: Cohen's g, the share of first_both among both, less 0.5."""

    def to_record(self) -> dict[str, object]:
        """The probe as JSON-ready values."""
        return to_record(self)


def position_bias(
    ab: Sequence[Hashable],
    ba: Sequence[Hashable],
    *,
    a: Hashable = "A",
    b: Hashable = "B",
    tie: Hashable = "tie",
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> PositionBias:
    """Does the judge favour the output it is shown first, or second?

    Args:
        ab: Verdict per pair with `a` shown first. It names the output, not the position; None or INVALID is no verdict.
        ba: Verdict on the same pairs with `b` shown first.
        a: What a verdict for the first output reads.
        b: For the second.
        tie: For neither.
        clusters: One id per pair, or None when pairs are independent.
        level: Of the two-sided intervals.

    Raises:
        ValueError: Lengths differ, or a verdict is none of these.
    """
    if len(ab) != len(ba):
        raise ValueError(f"{len(ab)} and {len(ba)} verdicts: give one per pair and order")
    values = {a: 1, b: -1, tie: 0}
    if len(values) < 3:
        raise ValueError("a, b and tie must read differently")
    first, second = _preferences(ab, values), _preferences(ba, values)
    kept = np.array([x is not None and y is not None for x, y in zip(first, second, strict=True)], dtype=np.bool_)
    one = np.array([x for x, keep in zip(first, kept, strict=True) if keep], dtype=np.int64)
    two = np.array([y for y, keep in zip(second, kept, strict=True) if keep], dtype=np.int64)
    codes = None if clusters is None else cluster_codes(clusters, len(ab))[0][kept]
    n, invalid = one.size, len(ab) - one.size
    direction = np.where((one == 1) & (two == -1), 1, 0) - np.where((one == -1) & (two == 1), 1, 0)
    up, down = int(np.count_nonzero(direction > 0)), int(np.count_nonzero(direction < 0))
    agreed = int(np.count_nonzero(one == two))
    bias = signed_share(direction, codes, level=level, n_dropped=invalid)
    by_cluster = None if codes is None else mean_difference(direction, codes, level=level).test.p_value
    p = exact_sign_p(up, down) if codes is None else by_cluster
    return PositionBias(
        n,
        invalid,
        agreed,
        up,
        down,
        n - agreed - up - down,
        proportion(one != two, codes, level=level, n_dropped=invalid),
        mean((one - two + 2) / 4, codes, level=level, n_dropped=invalid),
        Effect(bias, p if n else None, up / (up + down) - 0.5 if up + down else None),
    )


def _preferences(verdicts: Sequence[Hashable], values: dict[Hashable, int]) -> list[int | None]:
    for position, verdict in enumerate(verdicts):
        if verdict is not None and not isinstance(verdict, Invalid) and verdict not in values:
            raise ValueError(
                f"pair {position}: verdict {verdict!r} is none of {list(values)}; None or INVALID is no verdict"
            )
    return [values.get(verdict) for verdict in verdicts]


# Length


@dataclass(frozen=True, slots=True)
class LengthBias:
    """How the judge's preference follows length, people's preference held equal."""

    effect: Effect
    """Coefficient of the log length ratio on the log odds. Standardised: per standard deviation of that ratio."""
    odds_ratio_per_doubling: Figure
    marginal_effect: Figure
    """Mean change of P(judge prefers A) per unit of the log length ratio."""
    intercept: float | None
    human: float | None
    """Coefficient of people's preference."""
    uncontrolled: float | None
    """Coefficient of length if people's preference is left out."""
    judge_prefers_longer: Figure
    human_prefers_longer: Figure
    excess: Effect
    """Judge less human in preferring the longer, by pair; pairs of equal length are dropped. Standardised: d_z."""

    def to_record(self) -> dict[str, object]:
        """The probe as JSON-ready values."""
        return to_record(self)


def length_bias(
    log_length_ratio: Numbers,
    human_prefers_a: Numbers,
    judge_prefers_a: Numbers,
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> LengthBias:
    """Does the judge prefer the longer answer, beyond what people do?

    Args:
        log_length_ratio: Natural log of A's length over B's, per pair.
        human_prefers_a: One truth value per pair; leave out pairs that people call a tie.
        judge_prefers_a: The judge's.
        clusters: One id per pair, or None when pairs are independent.
        level: Of the two-sided intervals.

    Returns:
        Where lengths and people predict every verdict of the judge, or are the same thing, the coefficients are
        undefined (singular).

    Source:
        logit P(judge prefers A) = b0 + b1 ln(lenA/lenB) + b2 (human - 1/2); errors of the information, with clusters
        CR1 and t with G-1 degrees of freedom.
    """
    x = as_numbers(log_length_ratio, "log length ratio")
    human, judge = as_truths(human_prefers_a, "preference", x.size), as_truths(judge_prefers_a, "preference", x.size)
    codes, groups = (None, 0) if clusters is None else cluster_codes(clusters, x.size)
    differ = x != 0
    longer = x[differ] > 0
    by_judge, by_human = judge[differ] == longer, human[differ] == longer
    ids = None if codes is None else codes[differ]
    dropped = x.size - int(np.count_nonzero(differ))
    change = by_judge.astype(np.int64) - by_human.astype(np.int64)
    excess = signed_share(change, ids, level=level, n_dropped=dropped)
    paired = mean_difference(change, ids, level=level)
    p = paired.test.p_value if ids is not None else sign_test(change) if change.size else None
    shape = undefined("no_data" if x.size == 0 else "singular", n=x.size, level=level)
    shape = replace(shape, n_clusters=groups or None)
    effect, odds_ratio, change_of_p = Effect(shape, None, None), shape, shape
    rest: tuple[float | None, float | None] = (None, None)
    design = np.column_stack([np.ones(x.size), x, human - 0.5]).astype(np.float64)
    fit = fit_logit(design, judge, codes, groups)
    if fit is not None:
        b, covariance = fit.coefficients, fit.covariance
        marginal, gradient = fit.marginal_effect(1)
        df = None if codes is None else groups - 1
        se, marginal_se = (sqrt(max(float(each), 0.0)) for each in (covariance[1, 1], gradient @ covariance @ gradient))
        slope = _normal(float(b[1]), se, df, x.size, groups, level)
        change_of_p = _normal(marginal, marginal_se, df, x.size, groups, level)
        odds_ratio = _odds_ratio(slope)
        test = None if slope.ci_low is None else two_sided(float(b[1]), se, df).p_value
        effect = Effect(slope, test, float(b[1]) * float(x.std()))
        rest = (float(b[0]), float(b[2]))
    alone = fit_logit(design[:, :2], judge, codes, groups)
    return LengthBias(
        effect,
        odds_ratio,
        change_of_p,
        *rest,
        None if alone is None else float(alone.coefficients[1]),
        proportion(by_judge, ids, level=level, n_dropped=dropped),
        proportion(by_human, ids, level=level, n_dropped=dropped),
        Effect(excess, p, paired.standardised),
    )


def _normal(value: float, se: float, df: int | None, n: int, groups: int, level: float) -> Figure:
    """An estimate plus or minus z or t standard errors."""
    figure = Figure(value, level=level, n=n, n_clusters=groups or None, se=se, flags=sample_flags(n, groups or None))
    if df is not None and df < 1:
        return replace(figure, reason="too_few_clusters", se=None)
    if se == 0:
        return replace(figure, reason="singular")
    half = se * (normal_quantile(level) if df is None else t_quantile(level, df))
    return replace(figure, ci_low=value - half, ci_high=value + half, method="wald" if df is None else "t")


def _odds_ratio(slope: Figure) -> Figure:
    def doubled(value: float | None) -> float | None:
        return None if value is None else exp(min(max(value * log(2), -700.0), 700.0))

    ends = doubled(slope.value), doubled(slope.ci_low), doubled(slope.ci_high)
    return replace(slope, value=ends[0], ci_low=ends[1], ci_high=ends[2], se=None)


# Own family


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """Does the judge lift answers of its own family, beyond what people see in them?"""

    effect: Effect
    """(judge - human) on its own family less the same on the other. Standardised: over the standard deviation of
    judge - human within the two."""
    judge_own: float | None
    judge_other: float | None
    human_own: float | None
    human_other: float | None
    hc0_se: float | None
    """Standard error that knows unequal variances, but neither clusters nor the number of items."""

    def to_record(self) -> dict[str, object]:
        """The probe as JSON-ready values."""
        return to_record(self)


def self_preference(
    judge_score: Numbers,
    human_score: Numbers,
    own_family: Numbers,
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> SelfPreference:
    """The difference in differences between own and other answers, judge against human.

    Args:
        judge_score: One score per item.
        human_score: On the same scale.
        own_family: Whether the answer is of the judge's own family.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided interval.

    Source:
        Regression of judge - human on own, CR1: G/(G-1) (n-1)/(n-2), t with G-1 degrees of freedom; without clusters
        each item is one.
    """
    j = as_numbers(judge_score, "judge score")
    h, own = as_numbers(human_score, "human score", j.size), as_truths(own_family, "own_family", j.size)
    d: NDArray[np.float64] = j - h
    n, own_n = j.size, int(np.count_nonzero(own))
    means = [float(values[group].mean()) if bool(np.any(group)) else None for values in (j, h) for group in (own, ~own)]
    codes, groups = (np.arange(n), n) if clusters is None else cluster_codes(clusters, n)
    n_clusters = None if clusters is None else groups
    if own_n in {0, n}:
        nothing = replace(undefined("single_category" if n else "no_data", n=n, level=level), n_clusters=n_clusters)
        return SelfPreference(Effect(nothing, None, None), means[0], means[1], means[2], means[3], None)
    first, second = float(d[own].mean()), float(d[~own].mean())
    value, residuals = first - second, d - second
    residuals[own] = d[own] - first
    influence = residuals / (own_n - n)
    influence[own] = residuals[own] / own_n
    floor = 1e-12 * max(1.0, float(np.abs(d).max()))
    hc0 = sqrt(float(influence @ influence))
    figure = Figure(value, level=level, n=n, n_clusters=n_clusters, flags=sample_flags(n, n_clusters))
    if groups < 2 or n < 3:
        figure = replace(figure, reason="too_few" if clusters is None or groups > 1 else "too_few_clusters")
        return SelfPreference(Effect(figure, None, None), means[0], means[1], means[2], means[3], hc0)
    sums = np.bincount(codes, weights=influence, minlength=groups)
    se = sqrt(groups / (groups - 1) * (n - 1) / (n - 2) * float(sums @ sums))
    spread = sqrt(float(residuals @ residuals) / (n - 2))
    if se <= floor:
        flags = sample_flags(n, n_clusters, 0, "zero_residual_variance")
        figure = replace(figure, se=0.0, reason="singular", flags=flags)
        effect = Effect(figure, None, value / spread if spread > floor else None)
    else:
        half, alone = t_quantile(level, groups - 1) * se, sqrt(n / (n - 2)) * hc0
        deff = None if clusters is None or alone <= floor else (se / alone) ** 2
        figure = replace(figure, ci_low=value - half, ci_high=value + half, method="t", se=se, deff=deff)
        effect = Effect(figure, two_sided(value, se, groups - 1).p_value, value / spread)
    return SelfPreference(effect, means[0], means[1], means[2], means[3], 0.0 if hc0 <= floor else hc0)


@dataclass(frozen=True, slots=True)
class GroupErrorRates:
    """The judge's rates of passing in two groups, by what humans said."""

    tpr: RateGap
    """P(judge passes | human passes)."""
    fpr: RateGap
    """P(judge passes | human fails)."""

    def to_record(self) -> dict[str, object]:
        """The rates as JSON-ready values."""
        return to_record(self)


def group_error_rates(
    human: Numbers,
    judge: Numbers,
    first_group: Numbers,
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> GroupErrorRates:
    """Does the judge err more for one group of items, such as its own family or a language, than for the rest?

    Args:
        human: One truth value per item.
        judge: The judge's.
        first_group: Whether the item belongs to the first group.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided intervals.

    Source:
        Newcombe 1998, method 10.
    """
    y = as_truths(human, "human label")
    f, first = as_truths(judge, "verdict", y.size), as_truths(first_group, "group", y.size)
    codes = None if clusters is None else cluster_codes(clusters, y.size)[0]

    def gap(kept: NDArray[np.bool_], reason: str) -> RateGap:
        one, two = kept & first, kept & ~first
        ids = None if codes is None else (codes[one], codes[two])
        return rate_gap(f[one], f[two], ids, level=level, reason=reason)

    return GroupErrorRates(gap(y, "no_positive_gold"), gap(~y, "no_negative_gold"))


# Cues that should not matter


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Scores of the same answers before and after a change that should not matter."""

    effect: Effect
    """Mean change, with the p of t. Standardised: d_z."""
    share_up: Figure
    share_down: Figure
    flip_rate: Figure
    """Share of items with another score."""
    sign_p: float | None
    """Exact test of signs; by cluster where there are clusters."""

    def to_record(self) -> dict[str, object]:
        """The probe as JSON-ready values."""
        return to_record(self)


def perturbation(
    original: Numbers, perturbed: Numbers, *, clusters: Clusters | None = None, level: float = 0.95
) -> Perturbation:
    """Does a cue of authority, markdown, another language or a paraphrase change the judge's scores?

    Args:
        original: One score per item.
        perturbed: Of the same items, changed.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided intervals.
    """
    before = as_numbers(original, "score")
    change = as_numbers(perturbed, "score", before.size) - before
    paired = mean_difference(change, clusters, level=level)
    return Perturbation(
        effect_of(paired),
        proportion(change > 0, clusters, level=level),
        proportion(change < 0, clusters, level=level),
        proportion(change != 0, clusters, level=level),
        sign_test(change, clusters) if change.size else None,
    )
