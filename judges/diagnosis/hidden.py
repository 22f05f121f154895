"""Parts of the data that a mean hides: slices far below the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judges.figures import Figure
from judges.intervals import mean, mover

__all__ = ["Hidden", "hidden_slices"]

_FAR = 0.1
"""How far below the rest a slice has to lie to be called out, beside what chance allows."""
_MISTAKEN = 0.05


@dataclass(frozen=True, slots=True)
class Hidden:
    """A slice whose mean is far below that of all other cases."""

    measure: str
    field: str
    value: str
    """Of the field: the slice."""
    overall: float
    """The mean that hides it."""
    inside: Figure
    elsewhere: Figure
    gap: Figure
    """Inside less elsewhere. Its interval, and those of both means, allow for all slices and measures looked at."""

    def to_record(self) -> dict[str, Any]:
        """The slice as JSON-ready values."""
        return {
            "measure": self.measure,
            "field": self.field,
            "value": self.value,
            "overall": self.overall,
            "inside": self.inside.to_record(),
            "elsewhere": self.elsewhere.to_record(),
            "gap": self.gap.to_record(),
        }


def hidden_slices(
    measures: Mapping[str, Mapping[str, float]],
    slices: Mapping[str, Mapping[str, Sequence[str]]],
    clusters: Mapping[str, int] | None = None,
) -> tuple[list[Hidden], int]:
    """The slices that lie far below the rest, lowest first; and how many comparisons were made.

    Args:
        measures: By name the value of each case, from 0 to 1.
        slices: By field the slices of each case.
        clusters: The group of each case, or None when cases are independent.

    Source:
        The interval of the gap is Zou & Donner's (2008) from those of both means; its level Bonferroni's.
    """
    compared: list[tuple[str, str, str, list[str], list[str]]] = []
    for measure, values in measures.items():
        for field, of_case in slices.items():
            for value in dict.fromkeys(each for case in values for each in of_case[case]):
                inside = [case for case in values if value in of_case[case]]
                elsewhere = [case for case in values if value not in of_case[case]]
                if elsewhere:
                    compared.append((measure, field, value, inside, elsewhere))
    level = 1 - _MISTAKEN / max(len(compared), 1)
    found: list[Hidden] = []
    for measure, field, value, inside, elsewhere in compared:
        values = measures[measure]
        one, other = (_mean(values, cases, clusters, level) for cases in (inside, elsewhere))
        gap = _gap(one, other)
        if gap.value is not None and gap.ci_high is not None and gap.value <= -_FAR and gap.ci_high < 0:
            found.append(Hidden(measure, field, value, float(np.mean(list(values.values()))), one, other, gap))
    return sorted(found, key=lambda each: each.gap.value or 0.0), len(compared)


def _mean(
    values: Mapping[str, float], cases: Sequence[str], clusters: Mapping[str, int] | None, level: float
) -> Figure:
    numbers: NDArray[np.float64] = np.array([values[case] for case in cases])
    ids = None if clusters is None else np.array([clusters[case] for case in cases], dtype=np.int64)
    if len(cases) == 1:  # one number says nothing of how much they vary
        return Figure(float(numbers[0]), level=level, n=1, reason="too_few")
    return mean(numbers, ids, level=level)


def _gap(one: Figure, other: Figure) -> Figure:
    if one.value is None or other.value is None:
        return replace(one, value=None)
    value, n = one.value - other.value, one.n + other.n
    if one.ci_low is None or one.ci_high is None or other.ci_low is None or other.ci_high is None:
        return Figure(value, level=one.level, n=n, reason=one.reason or other.reason)
    low, high = mover([(1, one.value, one.ci_low, one.ci_high), (-1, other.value, other.ci_low, other.ci_high)])
    return Figure(value, max(low, -1.0), min(high, 1.0), one.level, "mover", n)
