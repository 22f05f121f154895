"""Whether a judge may be relied on: what is required of its figures, what their intervals say, what would settle it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from calibration.statistics.power import gold_fails, plan_kappa_test
from judges.errors import InputError
from judges.figures import Figure
from judges.gate import GateResult, Requirement, Status
from judges.intervals import normal_quantile

__all__ = ["Check", "Decision", "NeededLabels", "decide", "default_requirements"]

POWER = 0.8
_NOTHING_BY_CONSTRUCTION = ("kappa", "kappa_over_same_label", "spearman")
"""What a judge that says the same of every case has none of."""
OUT_OF_REACH = 1_000_000
"""Labels nobody will make."""


@dataclass(frozen=True, slots=True)
class NeededLabels:
    """How many further labels are likely to settle a requirement, if the figure is what it seems to be.

    With a chance of 80%; more of the same kind, chosen in the same way.
    """

    more: int | None
    """None where it would take more than a million: the figure lies on the bound, or next to it."""
    more_fails: int | None
    """How many of them people are likely to fail; None where labels are other than pass and fail."""


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement and what came of it."""

    result: GateResult
    needed: NeededLabels | None
    """Where it is undecided."""

    def to_record(self) -> dict[str, object]:
        """The check as JSON-ready values."""
        needed = self.needed
        return {
            **self.result.to_record(),
            "needed": None if needed is None else {"more": needed.more, "more_fails": needed.more_fails},
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """All that is required together: PASS if all passes, FAIL if anything fails."""

    status: Status
    declared: bool
    """The user said what is required; else it is agreement beyond chance, and more of it than the baselines have."""
    checks: tuple[Check, ...]

    def to_record(self) -> dict[str, object]:
        """The decision as JSON-ready values."""
        return {
            "status": self.status,
            "declared": self.declared,
            "checks": [each.to_record() for each in self.checks],
        }


def default_requirements(figures: Mapping[str, Figure]) -> tuple[Requirement, ...]:
    """What any judge must show: that it agrees beyond chance, and more than what judges nothing."""
    main = "kappa" if "kappa" in figures else "spearman"
    names = [main, *(name for name in figures if name.startswith(f"{main}_over_"))]
    return tuple(Requirement(name, ">", 0.0) for name in names if name in figures)


def decide(
    figures: Mapping[str, Figure],
    requirements: Sequence[Requirement],
    *,
    labelled: int,
    pass_rate: float | None,
    constant: bool,
) -> Decision:
    """Hold figures against what is required, by their intervals.

    Args:
        figures: By name.
        requirements: Empty for the default ones.
        labelled: Cases with a label.
        pass_rate: Share of them that people pass; None where labels are other than pass and fail.
        constant: Whether the judge says the same of every case although people don't: its kappa is 0 by construction,
            and it orders nothing.

    Raises:
        InputError: There is no figure of that name.
    """
    wanted = tuple(requirements) or default_requirements(figures)
    checks: list[Check] = []
    for each in wanted:
        figure = figures.get(each.name)
        if figure is None:
            raise InputError(f"--require {each}: there is no `{each.name}` here; there is: {', '.join(figures)}")
        result = each.check(figure)
        if constant and each.name in _NOTHING_BY_CONSTRUCTION and not each.holds(0.0):
            result = GateResult(
                each, figure, "FAIL", "interval", "it says the same of every case, which agrees no more than chance"
            )
        needed = None
        if result.status == "UNDECIDED" and figure.value is not None and figure.ci_low is not None:
            needed = _needed(each, figure, labelled, pass_rate)
        checks.append(Check(result, needed))
    found = {each.result.status for each in checks}
    status: Status = "FAIL" if "FAIL" in found else "PASS" if found == {"PASS"} else "UNDECIDED"
    return Decision(status, bool(requirements), tuple(checks))


def _needed(requirement: Requirement, figure: Figure, labelled: int, pass_rate: float | None) -> NeededLabels:
    """By the test of kappa where it is about kappa, else by the standard error that the interval shows."""
    value, bound = figure.value or 0.0, requirement.bound
    if figure.n == 0 or value == bound:
        return NeededLabels(None, None)
    items = 0.0
    binary = pass_rate is not None and 0 < pass_rate < 1
    if requirement.name == "kappa" and binary and 0 <= bound < 1 and 0 <= value < 1:
        items = plan_kappa_test(bound, value, pass_rate or 0.5, power=POWER, deff=figure.deff or 1.0).sample.n
    if items <= figure.n:
        half = ((figure.ci_high or 0.0) - (figure.ci_low or 0.0)) / 2
        z = normal_quantile(figure.level)
        reach = (z + normal_quantile(2 * POWER - 1)) * half / z
        items = figure.n * (reach / (value - bound)) ** 2
    more = (items - figure.n) * labelled / figure.n  # a rate over the failed cases grows with all cases
    if more > OUT_OF_REACH:
        return NeededLabels(None, None)
    whole = max(ceil(more), 1)
    return NeededLabels(whole, None if pass_rate is None else round(gold_fails(whole, pass_rate)))
