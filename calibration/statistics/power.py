"""How many labels are enough, before they are paid for.

Sources:
    Wilson 1927, JASA 22:209 (proportion); Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72:323, at the table of
    Bloch & Kraemer 1989, Biometrics 45:269 (width of kappa); Donner & Eliasziw 1992, Statistics in Medicine 11:1511
    (test of kappa); Broska, Howes & van Loon 2024 (prediction-powered); Lee et al. 2025, arXiv:2511.21140 (gold
    classes); Miller 2024, arXiv:2411.00640 (two systems); Connor 1987, Biometrics 43:207 (McNemar).
"""

from dataclasses import dataclass
from math import ceil, log, sqrt

from judges.figures import to_record
from judges.intervals import check_level, normal_quantile

__all__ = [
    "GoldClasses",
    "KappaTestPlan",
    "PpiPlan",
    "ProportionPlan",
    "SamplePlan",
    "allocate_gold_classes",
    "gold_fails",
    "minimum_detectable_effect",
    "plan_difference",
    "plan_kappa_halfwidth",
    "plan_kappa_test",
    "plan_mcnemar",
    "plan_ppi",
    "plan_proportion",
    "plan_zero_errors",
]


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How many items to label."""

    n_exact: float
    """With independent items, not rounded."""
    n: int
    """Rounded up, after clusters."""
    deff: float = 1.0
    """Design effect: what clusters multiply the number by."""
    gold_fails: float | None = None
    """How many items that humans fail the plan is likely to hold; None where the plan doesn't say how many pass."""

    def to_record(self) -> dict[str, object]:
        """The plan as JSON-ready values."""
        return to_record(self)


def gold_fails(n: float, pass_rate: float) -> float:
    """How many of `n` items humans are likely to fail. Every rate over failed items rests on these few."""
    return n * (1 - _share(pass_rate, "pass rate"))


def _plan(n_exact: float, deff: float, pass_rate: float | None = None) -> SamplePlan:
    if deff <= 0:
        raise ValueError(f"a design effect of {deff}: give a number above 0, 1 for independent items")
    n = ceil(n_exact * deff)
    return SamplePlan(n_exact, n, deff, None if pass_rate is None else gold_fails(n, pass_rate))


def _share(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value}: give a number from 0 to 1")
    return value


def _inside(value: float, name: str) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}: give a number between 0 and 1")
    return value


def _above_0(value: float, name: str) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} is {value}: give a number above 0")
    return value


# One judge


@dataclass(frozen=True, slots=True)
class ProportionPlan:
    """How many items a proportion needs."""

    wilson: SamplePlan
    wald_n: int
    """What the normal interval would ask for; too few near 0 and 1."""
    half_width: float
    """Of the Wilson interval at that number of independent items."""

    def to_record(self) -> dict[str, object]:
        """The plan as JSON-ready values."""
        return to_record(self)


def plan_proportion(
    proportion: float, half_width: float, *, level: float = 0.95, deff: float = 1.0, pass_rate: float | None = None
) -> ProportionPlan:
    """The smallest number of items whose Wilson interval is no wider than plus or minus `half_width`.

    Args:
        proportion: What is expected; 0.5 is the worst case.
        half_width: Wanted; above 0 and below 0.5.
        level: Of the two-sided interval.
        deff: Design effect of clusters.
        pass_rate: Share of the items that humans pass, to say how many fails the plan holds.
    """
    p, h, z = _share(proportion, "proportion"), _above_0(half_width, "half width"), normal_quantile(level)
    if h >= 0.5:
        raise ValueError(f"half width is {h}: below 0.5, as no interval is wider")
    # h^2 (n + z^2)^2 = z^2 (p(1-p) n + z^2/4), the larger root; then the next whole numbers
    half_b = z * z * (1 - p * (1 - p) / (2 * h * h))
    root = -half_b + sqrt(max(half_b * half_b - z**4 * (1 - 1 / (4 * h * h)), 0.0))
    n = max(ceil(root) - 1, 1)
    while _wilson_half(p, n, level) > h:
        n += 1
    wilson = _plan(n, deff, pass_rate)
    return ProportionPlan(wilson, max(ceil(z * z * p * (1 - p) / (h * h)), 1), _wilson_half(p, n, level))


def _wilson_half(p: float, n: int, level: float) -> float:
    z = normal_quantile(level)
    return z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))


def plan_kappa_halfwidth(
    kappa: float, prevalence: float, half_width: float, *, level: float = 0.95, deff: float = 1.0
) -> SamplePlan:
    """How many items make the interval of kappa, two categories, as narrow as plus or minus `half_width`.

    Args:
        kappa: What is expected; below 1.
        prevalence: Share of items that both human and judge pass in the long run.
        half_width: Wanted.
        level: Of the two-sided interval.
        deff: Design effect of clusters.

    Source:
        n = (z/h)^2 (1-k)[(1-k)(1-2k) + k(2-k)/(2 pi(1-pi))].
    """
    k, pi, h = _kappa(kappa), _inside(prevalence, "prevalence"), _above_0(half_width, "half width")
    return _plan((normal_quantile(level) / h) ** 2 * kappa_variance(k, pi), deff, pi)


def kappa_variance(kappa: float, prevalence: float) -> float:
    """n times the variance of kappa at the table with a common correlation."""
    pi = prevalence
    return (1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + kappa * (2 - kappa) / (2 * pi * (1 - pi)))


def _kappa(value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"kappa is {value}: plan with a value from 0 to below 1")
    return value


@dataclass(frozen=True, slots=True)
class KappaTestPlan:
    """How many items a test of kappa needs."""

    sample: SamplePlan
    noncentrality: float
    """Of chi-square with one degree of freedom that has the wanted power."""
    effect: float
    """What one item adds to it."""

    def to_record(self) -> dict[str, object]:
        """The plan as JSON-ready values."""
        return to_record(self)


def plan_kappa_test(
    kappa_null: float,
    kappa_true: float,
    prevalence: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    deff: float = 1.0,
) -> KappaTestPlan:
    """How many items tell `kappa_true` from `kappa_null`, two categories, two-sided.

    Source:
        Donner & Eliasziw 1992: goodness of fit on the shares of pairs with no, one and two passes.
    """
    null, true, pi = _kappa(kappa_null), _kappa(kappa_true), _inside(prevalence, "prevalence")
    if null == true:
        raise ValueError("kappa_null and kappa_true are the same: no number of items tells them apart")
    expected, found = _common_correlation(null, pi), _common_correlation(true, pi)
    effect = sum((b - a) ** 2 / a for a, b in zip(expected, found, strict=True))
    noncentrality = _noncentrality(alpha, power)
    return KappaTestPlan(_plan(noncentrality / effect, deff, pi), noncentrality, effect)


def _common_correlation(kappa: float, pi: float) -> tuple[float, float, float]:
    both = kappa * pi * (1 - pi)
    return (1 - pi) ** 2 + both, 2 * pi * (1 - pi) * (1 - kappa), pi**2 + both


def _noncentrality(alpha: float, power: float) -> float:
    """The lambda with P(chi-square(1, lambda) > critical) = power."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    z = normal_quantile(1 - alpha)
    if not alpha < power < 1:
        raise ValueError(f"power is {power}: give a number between alpha and 1")

    def short(root: float) -> float:
        return float(ndtr(root - z) + ndtr(-root - z)) - power

    return float(brentq(short, 0.0, z + 40.0, xtol=1e-14, rtol=1e-14)) ** 2


def plan_zero_errors(
    max_error: float, delta: float, *, deff: float = 1.0, pass_rate: float | None = None
) -> SamplePlan:
    """How many items without a single error show that errors are rarer than `max_error`, with confidence 1 - delta.

    Args:
        max_error: Share of errors to rule out.
        delta: The chance of being wrong about it.
        deff: Design effect of clusters.
        pass_rate: Share of the items that humans pass, to say how many fails the plan holds.

    Source:
        Smallest n with (1 - alpha)^n <= delta.
    """
    exact = log(_inside(delta, "delta")) / log(1 - _inside(max_error, "max_error"))
    whole = round(exact)  # a whole number that came out a hair above itself
    n = float(whole) if whole and (1 - max_error) ** whole <= delta and whole <= exact + 1e-9 else exact
    return _plan(n, deff, pass_rate)


# Corrected pass rates


@dataclass(frozen=True, slots=True)
class PpiPlan:
    """What a judge of given quality saves in human labels."""

    correlation: float
    """Of judge and human over items; 0 if the judge always says the same."""
    human_only_se: float
    ppi_se: float
    """Of PPI++ with the numbers asked about."""
    rogan_gladen_se: float | None
    """Of Rogan and Gladen's estimate with the same labels; None if the judge is no better than chance."""
    effective_labels: float
    """Human labels that would do as well without a judge."""
    max_saving: float
    """Factor that no number of judged items exceeds."""
    optimal_human_exact: float
    optimal_judge_only_exact: float
    optimal_human: int
    optimal_judge_only: int
    """Items to judge beyond the labelled ones, which are judged too."""
    half_width: float
    """Of the interval at the best split of the budget."""
    gold_fails: float
    """Items that humans fail among the labels of that split."""

    def to_record(self) -> dict[str, object]:
        """The plan as JSON-ready values."""
        return to_record(self)


def plan_ppi(
    true_rate: float,
    sensitivity: float,
    specificity: float,
    *,
    n_human: int,
    n_judge_only: int,
    cost_human: float,
    cost_judge: float,
    budget: float,
    level: float = 0.95,
    deff: float = 1.0,
) -> PpiPlan:
    """What PPI++ gains over human labels alone, and the best way to spend a budget.

    Args:
        true_rate: Expected pass rate by humans.
        sensitivity: P(judge passes | human passes).
        specificity: P(judge fails | human fails).
        n_human: Labelled items, which the judge judges too.
        n_judge_only: Items only the judge judges.
        cost_human: Of one human label.
        cost_judge: Of one judge call.
        budget: To spend.
        level: Of the two-sided interval.
        deff: Design effect of clusters, on labels and verdicts alike: errors and half width grow by its root, the split
            stays.

    Raises:
        ValueError: A rate is outside its range; the judge makes no error, so that no label would be needed; or a cost,
            the budget or a number of labels is not above 0.

    Source:
        Effective labels n/(1 - rho^2 N/(n+N)); n0 = B/(c_y(1 - rho^2 + g rho^2 + 2 sqrt(g rho^2(1-rho^2)))),
        n = n0(1 - rho^2 + sqrt(g rho^2(1-rho^2))), N = n(n0-n)/(n-(1-rho^2)n0), with g = c_f/c_y. Where the whole
        budget in labels does as well (n0 <= B/c_y) the judge gets nothing: n = B/c_y, N = 0.
    """
    theta = _inside(true_rate, "true_rate")
    tpr, tnr = _share(sensitivity, "sensitivity"), _share(specificity, "specificity")
    if tpr == tnr == 1:
        raise ValueError(
            "a judge without errors needs no human labels: plan with the error rates you would still allow"
        )
    g = _above_0(cost_judge, "cost_judge") / _above_0(cost_human, "cost_human")
    n, others = _above_0(n_human, "n_human"), n_judge_only
    if others < 0:
        raise ValueError("n_judge_only is negative")
    q, j = theta * tpr + (1 - theta) * (1 - tnr), tpr + tnr - 1
    rho = j * sqrt(theta * (1 - theta) / (q * (1 - q))) if 0 < q < 1 else 0.0
    squared = max(rho, 0.0) ** 2
    variance = theta * (1 - theta)
    mixed = sqrt(g * squared * (1 - squared))
    equivalent = _above_0(budget, "budget") / (cost_human * (1 - squared + g * squared + 2 * mixed))
    best, rest = budget / cost_human, 0.0
    if equivalent > best:
        best = equivalent * (1 - squared + mixed)
        rest = best * (equivalent - best) / (best - (1 - squared) * equivalent)
    stretch = sqrt(_above_0(deff, "a design effect"))
    half = normal_quantile(level) * stretch * sqrt(variance / best * (1 - squared * rest / (best + rest)))
    own = _rogan_gladen_se(theta, tpr, tnr, n, others)
    return PpiPlan(
        rho,
        stretch * sqrt(variance / n),
        stretch * sqrt(variance / n * (1 - squared * others / (n + others))),
        None if own is None else stretch * own,
        n / (1 - squared * others / (n + others)),
        1 / (1 - squared),
        best,
        rest,
        round(best),
        round(rest),
        half,
        gold_fails(best, theta),
    )


def _rogan_gladen_se(theta: float, tpr: float, tnr: float, n: float, others: int) -> float | None:
    q, j = theta * tpr + (1 - theta) * (1 - tnr), tpr + tnr - 1
    if j <= 0 or others == 0:
        return None
    rates = theta**2 * tpr * (1 - tpr) / (n * theta) + (1 - theta) ** 2 * tnr * (1 - tnr) / (n * (1 - theta))
    return sqrt(q * (1 - q) / others + rates) / j


@dataclass(frozen=True, slots=True)
class GoldClasses:
    """How to split labels between items that humans pass and items that they fail."""

    theta: float
    """The pass rate that the judge's rate implies."""
    gold_positive_exact: float
    gold_negative_exact: float
    gold_positive: int
    gold_negative: int

    def to_record(self) -> dict[str, object]:
        """The plan as JSON-ready values."""
        return to_record(self)


def allocate_gold_classes(
    judge_positive_rate: float, sensitivity: float, specificity: float, labels: int
) -> GoldClasses:
    """The split of labels by gold class that makes Rogan and Gladen's estimate most exact.

    Raises:
        ValueError: The judge is no better than chance, or makes no error in either class.

    Source:
        m1 : m0 = theta sqrt(TPR(1-TPR)) : (1-theta) sqrt(TNR(1-TNR)).
    """
    q = _share(judge_positive_rate, "judge_positive_rate")
    tpr, tnr = _share(sensitivity, "sensitivity"), _share(specificity, "specificity")
    if tpr + tnr <= 1:
        raise ValueError("sensitivity + specificity is 1 or less: such a judge tells nothing, no labels help")
    if labels < 0:
        raise ValueError("labels is negative")
    theta = min(max((q + tnr - 1) / (tpr + tnr - 1), 0.0), 1.0)
    first, second = theta * sqrt(tpr * (1 - tpr)), (1 - theta) * sqrt(tnr * (1 - tnr))
    if first + second == 0:
        raise ValueError("no error that matters in either class: any split will do; plan with rates below 1")
    positive = labels * first / (first + second)
    return GoldClasses(theta, positive, labels - positive, round(positive), labels - round(positive))


# Two systems


def minimum_detectable_effect(
    n: int,
    omega2: float,
    sigma2_a: float = 0.0,
    sigma2_b: float = 0.0,
    repeats_a: int = 1,
    repeats_b: int = 1,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """The smallest difference of two systems that `n` items show with the wanted power.

    Args:
        n: Items, answered by both.
        omega2: Variance of the difference of the items' expected scores.
        sigma2_a: Variance of system A's score of one item over repeats.
        sigma2_b: Of system B's.
        repeats_a: Answers of A per item, averaged.
        repeats_b: Of B.
        alpha: Of the two-sided test.
        power: Wanted.

    Source:
        Miller 2024: (z_{1-a/2} + z_power) sqrt((omega^2 + sA^2/KA + sB^2/KB)/n).
    """
    spread = _per_item(omega2, sigma2_a, sigma2_b, repeats_a, repeats_b)
    return _quantiles(alpha, power) * sqrt(spread / _above_0(n, "n"))


def plan_difference(
    delta: float,
    omega2: float,
    sigma2_a: float = 0.0,
    sigma2_b: float = 0.0,
    repeats_a: int = 1,
    repeats_b: int = 1,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    deff: float = 1.0,
) -> SamplePlan:
    """How many items show a difference of `delta`; the rest as in `minimum_detectable_effect`."""
    spread = _per_item(omega2, sigma2_a, sigma2_b, repeats_a, repeats_b)
    return _plan((_quantiles(alpha, power) / _above_0(abs(delta), "delta")) ** 2 * spread, deff)


def _per_item(omega2: float, sigma2_a: float, sigma2_b: float, repeats_a: int, repeats_b: int) -> float:
    if min(omega2, sigma2_a, sigma2_b) < 0 or min(repeats_a, repeats_b) < 1:
        raise ValueError("variances can't be negative, and there is at least one answer per item")
    return omega2 + sigma2_a / repeats_a + sigma2_b / repeats_b


def _quantiles(alpha: float, power: float) -> float:
    first, second = _z_pair(alpha, power)
    return first + second


def _z_pair(alpha: float, power: float) -> tuple[float, float]:
    from scipy.special import ndtri

    check_level(power)
    return normal_quantile(1 - alpha), float(ndtri(power))


def plan_mcnemar(
    p_only_a_right: float, p_only_b_right: float, *, alpha: float = 0.05, power: float = 0.8, deff: float = 1.0
) -> SamplePlan:
    """How many items, answered by both systems, show their difference in accuracy by McNemar's test.

    Args:
        p_only_a_right: Share of items that only A gets right.
        p_only_b_right: Share that only B gets right.
        alpha: Of the two-sided test.
        power: Wanted.
        deff: Design effect of clusters.

    Source:
        Connor 1987: (z_a sqrt(p) + z_b sqrt(p - d^2))^2/d^2, p = p01 + p10, d = |p10 - p01|.
    """
    p = _share(_share(p_only_a_right, "p_only_a_right") + _share(p_only_b_right, "p_only_b_right"), "their sum")
    d = _above_0(abs(p_only_a_right - p_only_b_right), "the difference of the two shares")
    first, second = _z_pair(alpha, power)
    return _plan((first * sqrt(p) + second * sqrt(max(p - d * d, 0.0))) ** 2 / (d * d), deff)
