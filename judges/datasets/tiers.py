"""Tiers of a dataset: a few cases for every change, more for every merge, all of them for a release.

A case names its tier in the field `tier`. Tiers nest: who asks for a tier gets the smaller ones with it.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from judges.case import Case
from judges.errors import InputError
from judges.printable import printable

__all__ = ["Tier", "of_tier", "tier_of"]


class Tier(StrEnum):
    """A tier, the smallest first."""

    SMOKE = "smoke"
    REGRESSION = "regression"
    DEEP = "deep"


def tier_of(case: Case) -> Tier | None:
    """The tier that a case names; None where it names none.

    Raises:
        InputError: It names another.
    """
    named = case.extra.get("tier")
    if named is None or named == "":
        return None
    try:
        return Tier(str(named))
    except ValueError:
        there = ", ".join(Tier)
        raise InputError(
            f"case `{printable(case.id, 40)}`: `tier` is `{printable(str(named), 40)}`; choose of {there}"
        ) from None


def of_tier(cases: Iterable[Case], tier: Tier | None) -> Iterator[Case]:
    """The cases of a tier and of the smaller ones. A case that names none is of the largest.

    Args:
        cases: Any.
        tier: None for all cases.

    Raises:
        InputError: A case names a tier that isn't one; or after the last case, none was of the tier.
    """
    order = list(Tier)
    seen = found = False
    for case in cases:
        seen = True
        if tier is None or order.index(tier_of(case) or order[-1]) <= order.index(tier):
            found = True
            yield case
    if seen and not found:
        raise InputError(f"no case is of tier {tier}; mark those that are with the field `tier`: {', '.join(order)}")
