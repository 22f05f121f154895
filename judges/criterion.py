"""A criterion: what is asked of a case. It is data, not a class to inherit from: any judge may serve it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from judges.case import Part
from judges.fingerprint import Json, fingerprint

__all__ = ["BINARY", "Criterion", "Example", "Level", "Scale", "Unit"]


class Unit(StrEnum):
    """What one check is about."""

    WHOLE = "whole"
    """The hypothesis as a whole."""
    CLAIM = "claim"
    """Each claim of the hypothesis."""
    CONTEXT = "context"
    """Each passage."""
    PAIR = "pair"
    """Two answers against each other."""


@dataclass(frozen=True, slots=True)
class Level:
    """One step of a scale."""

    label: str
    score: float
    """0 to 1, 1 is best."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """The steps of a scale, worst first."""

    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        scores = [level.score for level in self.levels]
        labels = {level.label for level in self.levels}
        if len(self.levels) < 2 or len(labels) != len(self.levels):
            raise ValueError("a scale needs two levels or more, each with its own label")
        if scores != sorted(scores) or not all(0 <= score <= 1 for score in scores):
            raise ValueError("the scores of a scale's levels go from 0 to 1, worst first")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, worst first."""
        return tuple(level.label for level in self.levels)

    def level(self, label: str) -> Level | None:
        """The level of that label."""
        return next((level for level in self.levels if level.label == label), None)


@dataclass(frozen=True, slots=True)
class Example:
    """A case that shows how the scale is meant, for judges that read examples."""

    parts: Mapping[str, str]
    """Text by part: `answer`, `question`, ..."""
    label: str
    rationale: str = ""


BINARY = Scale((Level("no", 0.0), Level("yes", 1.0)))


@lru_cache(maxsize=256)
def _in_order(*named: Part | None) -> tuple[Part, ...]:
    return tuple(part for part in Part if part in named)


@dataclass(frozen=True, slots=True)
class Criterion:
    """How well does the premise support the hypothesis, on this scale?

    A judge may read the parts named here (`parts`) and no others: they decide which judgements a change affects.
    """

    name: str
    hypothesis: Part
    """The part that is judged."""
    premise: Part | None = None
    """What it is judged against; None when the hypothesis is judged on its own."""
    unit: Unit = Unit.WHOLE
    scale: Scale = BINARY
    description: str = ""
    background: tuple[Part, ...] = ()
    """Further parts a judge may read."""
    template: str = ""
    """The prompt template of judges that have one: a folder of `prompts/`. Empty: the one for any rubric."""
    examples: tuple[Example, ...] = ()
    """For judges that read examples."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "background", tuple(part for part in Part if part in self.background))
        for example in self.examples:
            if self.scale.level(example.label) is None:
                raise ValueError(f"an example of `{self.name}` is labelled `{example.label}`, which its scale hasn't")

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts a judge may read, each once, in a fixed order."""
        return _in_order(self.hypothesis, self.premise, *self.background)

    def to_record(self) -> dict[str, Json]:
        """The criterion as JSON-ready values."""
        return {
            "name": self.name,
            "hypothesis": self.hypothesis.value,
            "premise": None if self.premise is None else self.premise.value,
            "unit": self.unit.value,
            "scale": [[level.label, level.score, level.description] for level in self.scale.levels],
            "description": self.description,
            "background": [part.value for part in self.background],
            "template": self.template,
            "examples": [[dict(each.parts), each.label, each.rationale] for each in self.examples],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Criterion":
        """The criterion that `to_record` wrote."""
        premise = record["premise"]
        return cls(
            name=record["name"],
            hypothesis=Part(record["hypothesis"]),
            premise=None if premise is None else Part(premise),
            unit=Unit(record["unit"]),
            scale=Scale(tuple(Level(*level) for level in record["scale"])),
            description=record["description"],
            background=tuple(Part(part) for part in record["background"]),
            template=record["template"],
            examples=tuple(Example(*example) for example in record["examples"]),
        )

    @property
    def fingerprint(self) -> str:
        """What identifies the criterion: every field counts."""
        return fingerprint(self.to_record())
