"""A requirement on a figure, `kappa>=0.6`, and whether the figure meets it: PASS, FAIL, or UNDECIDED.

Data are a sample, so a requirement is held against the interval: the whole of it must lie on the right side. What is to
hold on these very cases and no others, such as "none of my regressions is back", is held against the value alone.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import Literal, TypeAlias, cast

from judges.errors import InputError
from judges.figures import Figure
from judges.printable import printable

__all__ = ["Basis", "GateResult", "Operator", "Requirement", "Status", "status_of"]

Operator: TypeAlias = Literal[">=", ">", "<=", "<", "=="]
Status: TypeAlias = Literal["PASS", "FAIL", "UNDECIDED"]
Basis: TypeAlias = Literal["interval", "this set"]
"""What is held against the requirement: the interval of the figure, or its value on the cases at hand."""

_WORD = r"[^\s<>=!]+"
_FORM = re.compile(
    rf"\s*(?P<name>{_WORD}(?:\s+by\s+{_WORD})?)\s*(?P<operator>>=|<=|==|>|<)\s*(?P<bound>\S+)\s*", re.ASCII
)
_OPPOSITE: dict[Operator, Operator] = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a figure must reach."""

    name: str
    """Of the figure: `kappa`, `recall@4`, `faithfulness by overlap`."""
    operator: Operator
    bound: float
    """In the figure's own unit."""

    @classmethod
    def parse(cls, text: str) -> "Requirement":
        """The requirement that a text such as `kappa>=0.6` states; blanks between its parts are fine.

        Raises:
            InputError: It isn't a name, one of >= > <= < ==, and a finite number.
        """
        parts = _FORM.fullmatch(text)
        try:
            bound = float(parts["bound"]) if parts else float("nan")
        except ValueError:
            bound = float("nan")
        if parts is None or not isfinite(bound):
            shown = printable(text, _SHOWN)
            raise InputError(f"`{shown}` is no requirement; write it as in 'kappa>=0.6': name, >= > <= < or ==, number")
        return cls(" ".join(parts["name"].split()), cast("Operator", parts["operator"]), bound)

    def opposite(self) -> "Requirement":
        """What holds exactly where this doesn't: of `failed>0`, which is forbidden, `failed<=0`, which is required.

        Raises:
            InputError: Its operator is ==.
        """
        if self.operator == "==":
            raise InputError(f"`{printable(str(self), _SHOWN)}` can't be forbidden; forbid with >= > <= or <")
        return Requirement(self.name, _OPPOSITE[self.operator], self.bound)

    def __str__(self) -> str:
        return f"{self.name}{self.operator}{self.bound:.12g}"

    def holds(self, value: float) -> bool:
        """Whether this very number meets the requirement."""
        match self.operator:
            case ">=":
                return value >= self.bound
            case ">":
                return value > self.bound
            case "<=":
                return value <= self.bound
            case "<":
                return value < self.bound
            case _:
                return value == self.bound

    def check(self, figure: Figure, *, basis: Basis = "interval") -> "GateResult":
        """Hold a figure against the requirement.

        Args:
            figure: Of the requirement's name.
            basis: `interval`: PASS if every value in the interval meets the requirement, FAIL if none does.
                `this set`: by the value alone, which says nothing of other cases.

        Returns:
            UNDECIDED if the interval lies on both sides of the bound, or what is to be held against it doesn't exist.
        """
        if figure.value is None:
            return GateResult(self, figure, "UNDECIDED", basis, f"{self.name} is undefined ({figure.reason})")
        if basis == "this set":
            status: Status = "PASS" if self.holds(figure.value) else "FAIL"
            return GateResult(self, figure, status, basis, f"{self.name} is {figure.value:.4g} on this set")
        low, high = figure.ci_low, figure.ci_high
        if low is None or high is None:
            return GateResult(self, figure, "UNDECIDED", basis, f"{self.name} has no interval ({figure.reason})")
        span = f"[{low:.4g}, {high:.4g}]"
        if self.holds(low) and self.holds(high):
            return GateResult(self, figure, "PASS", basis, f"all of {span} meets it")
        inside = self.operator == "==" and low <= self.bound <= high
        if self.holds(low) or self.holds(high) or inside:
            return GateResult(self, figure, "UNDECIDED", basis, f"{span} lies on both sides of {self.bound:.12g}")
        return GateResult(self, figure, "FAIL", basis, f"none of {span} meets it")


@dataclass(frozen=True, slots=True)
class GateResult:
    """A requirement, the figure it was held against, and what came of it."""

    requirement: Requirement
    figure: Figure
    status: Status
    basis: Basis
    reason: str
    """Why, in words."""
    withheld: bool = False
    """Whether it would pass, had not too many of the judgements failed."""

    def unless_failed(self, share: float, most: float) -> "GateResult":
        """This result; but nothing passes on what is left when more than `most` of the judgements failed.

        Args:
            share: Of the judgements that the figure rests on: those that failed, or are not made yet.
            most: The share that is allowed.
        """
        if self.status != "PASS" or share <= most:
            return self
        reason = f"{share:.0%} of the judgements failed or are missing, more than {most:.0%}"
        return replace(self, status="UNDECIDED", reason=reason, withheld=True)

    @property
    def more_cases(self) -> int | None:
        """About how many more cases would decide it, if the value stays. None where it is decided, or can't be told.

        An interval narrows with the square root of the number of cases; Wilson's as its formula says, and that of
        differences that are all 0 with the number itself.
        """
        value, bound, figure = self.figure.value, self.requirement.bound, self.figure
        if self.status != "UNDECIDED" or self.withheld or self.basis != "interval" or self.requirement.operator == "==":
            return None
        limit = figure.ci_low if value is not None and value > bound else figure.ci_high
        if value is None or limit is None or value == bound:
            return None
        wider = (value - limit) / (value - bound)
        if figure.method == "wilson" and 0 < limit < 1:
            factor = wider**2 * bound * (1 - bound) / (limit * (1 - limit))
        else:
            factor = wider if "zero_variance_differences" in figure.flags else wider**2
        cases = figure.n if figure.n_clusters is None else figure.n_clusters
        return max(ceil(cases * factor) - cases, 1)

    def to_record(self) -> dict[str, object]:
        """The result as JSON-ready values."""
        return {
            "requirement": str(self.requirement),
            "name": self.requirement.name,
            "operator": self.requirement.operator,
            "bound": self.requirement.bound,
            "status": self.status,
            "basis": self.basis,
            "reason": self.reason,
            "withheld": self.withheld,
            "more_cases": self.more_cases,
            "figure": self.figure.to_record(),
        }


def status_of(results: Iterable[GateResult]) -> Status:
    """What results come to together: FAIL if one fails, else UNDECIDED if one is, else PASS."""
    found = {result.status for result in results}
    return "FAIL" if "FAIL" in found else "UNDECIDED" if "UNDECIDED" in found else "PASS"
