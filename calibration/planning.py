"""How many labels an interval of the wanted width takes, for the cases of one run."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Literal, TypeAlias

from calibration.sampling import Frame, How
from calibration.statistics.power import gold_fails, plan_kappa_halfwidth, plan_proportion
from judges.errors import InputError
from judges.intervals import normal_quantile, proportion, proportion_interval

__all__ = ["Expected", "Goal", "Need", "expect", "fails_among", "half_width", "need"]

Goal: TypeAlias = Literal["kappa", "pass_rate", "pass_rate_with_judge"]
"""What the interval is of. `pass_rate` uses the labels alone; `pass_rate_with_judge` joins them to the judge's verdicts
on all the other cases (post-stratified)."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan takes for granted about a run before anybody has labelled it."""

    pass_rate: float
    """Share of the cases that people will pass."""
    kappa: float
    """Agreement of judge and people."""
    judge_pass_rate: float
    population: int
    deff: float
    """Design effect of the groups if every case were labelled: that of the judge's verdicts, at least 1."""

    def to_record(self) -> dict[str, float]:
        """What is expected, as JSON-ready values."""
        return {
            "pass_rate": self.pass_rate,
            "kappa": self.kappa,
            "judge_pass_rate": self.judge_pass_rate,
            "deff": self.deff,
        }

    def deff_of(self, n: int) -> float:
        """Design effect of `n` of the cases, drawn one by one: the fewer, the fewer of one group meet in the sample."""
        return 1.0 if self.population < 2 else 1 + (self.deff - 1) * (n - 1) / (self.population - 1)

    def people_pass(self, judge_passes: bool) -> float:
        """P(people pass | the judge's verdict), from the two pass rates and kappa."""
        q, theta = self.judge_pass_rate, self.pass_rate
        covariance = self.kappa * (q * (1 - theta) + theta * (1 - q)) / 2
        shift = covariance / q if judge_passes else -covariance / (1 - q)
        return min(max(theta + shift, 0.0), 1.0)


def expect(frame: Frame, *, pass_rate: float | None = None, kappa: float = 0.6) -> Expected:
    """What is expected of a run.

    Args:
        frame: The cases that can be chosen.
        pass_rate: Share that people will pass; by default that of the judge.
        kappa: Agreement of judge and people.

    Raises:
        InputError: The judge passes all cases or none, or a number is out of its range.
    """
    passes = {
        case: answer.score >= frame.threshold
        for case, answer in frame.said.items()
        if answer is not None and answer.score is not None
    }
    groups = [frame.groups[case] for case in passes] if frame.groups else None
    rate = proportion(list(passes.values()), groups)
    if rate.value is None or not 0 < rate.value < 1:
        share = "no case" if not rate.value else "every case"
        raise InputError(f"the judge passes {share}, which leaves nothing to plan with; set another --threshold")
    theta = rate.value if pass_rate is None else pass_rate
    if not 0 < theta < 1:
        raise InputError(f"--pass-rate {theta}: give a number between 0 and 1")
    if not 0 <= kappa < 1:
        raise InputError(f"--kappa {kappa}: give a number from 0 to below 1")
    return Expected(theta, kappa, rate.value, len(frame.said), max(rate.deff or 1.0, 1.0))


@dataclass(frozen=True, slots=True)
class Need:
    """How many labels one goal takes."""

    goal: Goal
    half_width: float
    """Wanted."""
    n: int
    """Labels; more than the run has cases where it is too small."""
    enough_cases: bool
    reached: float
    """Half width if every case of the run were labelled."""
    deff: float
    """Design effect counted in."""
    human_fails: float
    """How many of the labels will be fails."""

    def to_record(self) -> dict[str, Any]:
        """The need as JSON-ready values."""
        return {
            "goal": self.goal,
            "half_width": self.half_width,
            "n": self.n,
            "enough_cases": self.enough_cases,
            "half_width_with_all_cases": self.reached,
            "deff": self.deff,
            "human_fails": self.human_fails,
        }


def need(goal: Goal, wanted: float, expected: Expected, how: How) -> Need | None:
    """The fewest labels that make the interval as narrow as plus or minus `wanted`, at 95%.

    Returns:
        None if more labels of this run can't do it and other cases are no remedy we can count: the judge's verdicts
        on the run's cases are too few.

    Raises:
        InputError: `wanted` is not between 0 and 0.5.
    """
    if not 0 < wanted < 0.5:
        raise InputError(f"a half width of {wanted:g}: give a number between 0 and 0.5, such as 0.1")
    total = expected.population
    counts = range(1, total + 1)
    at = bisect_left(counts, -wanted, key=lambda n: -half_width(goal, n, expected, how))
    reached = half_width(goal, total, expected, how)
    if at < total:
        n = counts[at]
        return Need(goal, wanted, n, True, reached, expected.deff_of(n), fails_among(n, expected, how))
    alone: Mapping[Goal, Callable[[], int]] = {
        "kappa": lambda: plan_kappa_halfwidth(expected.kappa, expected.pass_rate, wanted, deff=expected.deff).n,
        "pass_rate": lambda: plan_proportion(expected.pass_rate, wanted, deff=expected.deff).wilson.n,
    }
    if goal not in alone:
        return None
    n = max(alone[goal](), total + 1)
    return Need(goal, wanted, n, False, reached, expected.deff, gold_fails(n, expected.pass_rate))


def half_width(goal: Goal, n: int, expected: Expected, how: How) -> float:
    """What to expect of the 95% interval from `n` labels.

    Source:
        Kappa: Fleiss, Cohen & Everitt 1969 (`plan_kappa_halfwidth`). Pass rate: Wilson 1927; with the judge
        Tenenbein 1970, JASA 65:1350: the variance of each verdict's rate, and of the judge's share of passes.
    """
    deff, z = expected.deff_of(n), normal_quantile(0.95)
    match goal:
        case "kappa":
            return sqrt(plan_kappa_halfwidth(expected.kappa, expected.pass_rate, 1.0).n_exact * deff / n)
        case "pass_rate":
            low, high = proportion_interval(expected.pass_rate * n / deff, n / deff)
            return (high - low) / 2
        case "pass_rate_with_judge":
            q, total = expected.judge_pass_rate, expected.population
            passed, failed = expected.people_pass(True), expected.people_pass(False)
            parts = sum(
                weight**2 * rate * (1 - rate) / max(labels, 1e-9)
                for weight, rate, labels in zip((q, 1 - q), (passed, failed), _split(n, expected, how), strict=True)
            )
            judged = (passed - failed) ** 2 * q * (1 - q) * expected.deff / total
            return z * sqrt(parts * deff + judged)


def _split(n: int, expected: Expected, how: How) -> tuple[float, float]:
    """Labels of the judge's passes, and of its fails."""
    q, total = expected.judge_pass_rate, expected.population
    if how != "by_verdict":
        return n * q, n * (1 - q)
    passes = round(q * total)
    half = min(passes, max(ceil(n / 2), n - (total - passes)))  # equal parts, as long as there are cases
    return float(half), float(n - half)


def fails_among(n: int, expected: Expected, how: How) -> float:
    """How many of `n` labels are likely to be fails: every rate over failed cases rests on these few."""
    first, second = _split(n, expected, how)
    if how != "by_verdict":
        return gold_fails(n, expected.pass_rate)
    return first * (1 - expected.people_pass(True)) + second * (1 - expected.people_pass(False))
