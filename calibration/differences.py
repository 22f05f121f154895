"""What every comparison has: which is better, p adjusted for their number, and the smallest difference to be seen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.labels import Labels
from calibration.matching import Both, Matched, Matching
from calibration.meaning import Gold, Meaning
from calibration.statistics.confusion import McNemar
from calibration.statistics.multiplicity import holm
from calibration.statistics.power import minimum_detectable_effect
from judges.figures import Figure
from judges.intervals import normal_quantile, t_quantile

__all__ = ["Found", "People", "RatePair", "adjusted_p", "cases_of", "clusters_of", "detectable", "found", "parts"]

Found: TypeAlias = Literal["a", "b", "untold", "same", "undefined"]
"""Which is better: A or B; `untold` if these cases can't tell; `same` if the two never differ."""

ALPHA = 0.05
POWER = 0.8


@dataclass(frozen=True, slots=True)
class RatePair:
    """A rate of two judges on the same cases."""

    a: Figure
    b: Figure
    test: McNemar
    """Of A's rate less B's."""

    def to_record(self) -> dict[str, Any]:
        """The rates as JSON-ready values."""
        return {"a": self.a.to_record(), "b": self.b.to_record(), "test": self.test.to_record()}


@dataclass(frozen=True, slots=True)
class People:
    """What people say of each case by one criterion."""

    meaning: Meaning
    by_case: Mapping[str, Gold]

    @classmethod
    def of(cls, labels: Labels, meaning: Meaning) -> "People":
        """Of each case the label and number that count; a case of which nothing counts, a tie, is left out."""
        counted = {case: meaning.gold(each) for case, each in labels.by_case.items()}
        return cls(
            meaning,
            {case: gold for case, gold in counted.items() if gold.label is not None or gold.number is not None},
        )


def parts(matching: Matching) -> Iterator[tuple[Matched, str | None]]:
    """Each criterion and pair of judges; of each its slices, where there are any."""
    for matched in matching.matched:
        for name in matching.slices or (None,):
            yield matched.slice(name), name


def adjusted_p(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's, over those that there are."""
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]


def clusters_of(cases: Sequence[Both], matched: Matched) -> list[str] | None:
    """The group of each case; None where none are grouped."""
    return [each.cluster for each in cases] if matched.clustered else None


def cases_of(cases: Sequence[Both], kept: NDArray[np.bool_]) -> tuple[str, ...]:
    """The ids of those that are kept."""
    return tuple(each.case_id for each, keep in zip(cases, kept.tolist(), strict=True) if keep)


def detectable(figure: Figure) -> float | None:
    """The smallest difference that as many cases show with 80% power, in a two-sided test at 5%.

    With groups it is as much larger as their interval is wider than a normal one. None where nothing varies.
    """
    if figure.se is None or figure.se == 0 or figure.n == 0:
        return None
    effect = minimum_detectable_effect(figure.n, figure.se**2 * figure.n, alpha=ALPHA, power=POWER)
    if figure.n_clusters is None:
        return effect
    return effect * t_quantile(1 - ALPHA, figure.n_clusters - 1) / normal_quantile(1 - ALPHA)


def found(difference: Figure, p_value: float | None, p_holm: float | None, *, differ: bool) -> Found:
    """Which is better, by a difference of which more is better.

    Args:
        difference: A less B.
        p_value: Of no difference.
        p_holm: The same, adjusted.
        differ: Whether any case tells A from B.
    """
    if difference.value is None or (p_value is None and differ):
        return "undefined"
    if not differ:
        return "same"
    if p_holm is None or p_holm > ALPHA or difference.value == 0:
        return "untold"
    return "a" if difference.value > 0 else "b"
