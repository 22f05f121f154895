"""What a probe of a judge has found: an effect with its interval, and how many verdicts it turns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.probes import Effect, Perturbation, holm_family
from calibration.statistics.repeats import repeat_stability
from judges.case import Part
from judges.engine.plan import Assignment
from judges.figures import Figure
from judges.intervals import proportion

__all__ = [
    "ALPHA",
    "Finding",
    "Found",
    "Measure",
    "Skipped",
    "Turned",
    "adjusted",
    "effect_of_change",
    "is_askable",
    "repeat_noise",
    "turned",
]

ALPHA = 0.05
_LABELS = ("fail", "pass")

Measure: TypeAlias = Literal["change", "gap", "rate", "description"]
"""What an effect is: a change of the score or a gap between groups, both 0 for a judge without the bias; a share of
cases that would be 0 for a perfect judge; or something that is neither good nor bad."""

Found: TypeAlias = Literal["shown", "not_shown", "description", "undefined"]


@dataclass(frozen=True, slots=True)
class Turned:
    """Verdicts on the same cases, before and after."""

    of: int
    to_pass: int | None
    """Fails that became passes; None of pairs, which don't pass or fail."""
    to_fail: int | None
    rate: Figure
    """Share that turned either way."""

    def to_record(self) -> dict[str, Any]:
        """The counts as JSON-ready values."""
        return {"of": self.of, "to_pass": self.to_pass, "to_fail": self.to_fail, "rate": self.rate.to_record()}


def is_askable(assignment: Assignment) -> bool:
    """Whether a judge can be asked again: one that reads verdicts stored with the cases says the same of any answer."""
    return Part.EXTRA not in assignment.reads


def turned(before: NDArray[np.bool_], after: NDArray[np.bool_], clusters: Sequence[str] | None) -> Turned:
    """How many verdicts turned.

    Args:
        before: Whether each case passed.
        after: Whether it passes now.
        clusters: One id per case, or None when cases are independent.
    """
    up, down = int(np.count_nonzero(~before & after)), int(np.count_nonzero(before & ~after))
    return Turned(before.size, up, down, proportion(before != after, clusters))


@dataclass(frozen=True, slots=True)
class Finding:
    """One probe."""

    probe: str
    variant: str
    """Which of its kind; empty where there is one."""
    what: str
    """What was compared, in words."""
    measure: Measure
    effect: Effect
    turned: Turned | None = None
    """What it does to decisions."""
    p_holm: float | None = None
    """Adjusted for all probes of this judge and criterion."""
    others: Mapping[str, Figure] = field(default_factory=dict[str, Figure])
    """Further figures, by name."""
    explains: tuple[str, Figure] | None = None
    """Two systems that it touches most unequally, and how much of the difference of their pass rates it may be."""
    caution: str = ""
    """What keeps it from being the judge's fault alone."""

    @property
    def name(self) -> str:
        """Probe and variant."""
        return f"{self.probe} ({self.variant})" if self.variant else self.probe

    @property
    def found(self) -> Found:
        """Whether these cases show it. A rate is shown by a single case; a change, where Holm's p is at most 0.05."""
        figure = self.effect.figure
        if figure.value is None:
            return "undefined"
        if self.measure == "description":
            return "description"
        if self.measure == "rate":
            return "shown" if figure.value > 0 else "not_shown"
        if self.p_holm is not None:
            return "shown" if self.p_holm <= ALPHA and figure.value != 0 else "not_shown"
        return "undefined"

    def to_record(self) -> dict[str, Any]:
        """The finding as JSON-ready values."""
        return {
            "probe": self.probe,
            "variant": self.variant or None,
            "what": self.what,
            "measure": self.measure,
            "found": self.found,
            "effect": self.effect.to_record(),
            "verdicts_turned": None if self.turned is None else self.turned.to_record(),
            "p_holm": self.p_holm,
            "others": {name: figure.to_record() for name, figure in self.others.items()},
            "explains": None if self.explains is None else {"of": self.explains[0], **self.explains[1].to_record()},
            "caution": self.caution or None,
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """A probe that says nothing here."""

    probe: str
    why: str

    def to_record(self) -> dict[str, Any]:
        """The reason as JSON-ready values."""
        return {"probe": self.probe, "why": self.why}


def adjusted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same, with p adjusted for their number."""
    family = tuple(findings)
    return tuple(
        replace(each, p_holm=p) for each, p in zip(family, holm_family([one.effect for one in family]), strict=True)
    )


def effect_of_change(found: Perturbation, n_dropped: int = 0) -> Effect:
    """The effect of a change of cases; where all changes are equal, so that there is no t, with the p of signs."""
    effect = found.effect
    p_value = found.sign_p if effect.p_value is None else effect.p_value
    return replace(effect, figure=replace(effect.figure, n_dropped=n_dropped), p_value=p_value)


def repeat_noise(
    scores: Sequence[Sequence[float | None]], threshold: float, clusters: Sequence[str] | None, what: str
) -> Finding:
    """How often a judge that is asked the same again says another thing.

    Args:
        scores: Shape (cases, repeats), two repeats or more; None where there is no verdict.
        threshold: A score at or above it is a pass.
        clusters: One id per case, or None when cases are independent.
        what: How it was asked, in words.
    """
    said = [[None if score is None else _LABELS[score >= threshold] for score in row] for row in scores]
    stability = repeat_stability(said, labels=_LABELS, clusters=clusters)
    kept = [at for at, row in enumerate(said) if None not in row]
    first, last = (np.array([said[at][end] == "pass" for at in kept], dtype=np.bool_) for end in (0, -1))
    return Finding(
        "repeat",
        "",
        f"{what}: chance that two verdicts differ",
        "rate",
        Effect(stability.flip_rate, None, None),
        turned(first, last, None if clusters is None else [clusters[at] for at in kept]),
        others={"agreement with itself (Fleiss' kappa)": stability.kappa, "cases that flip": stability.items_flipped},
    )
