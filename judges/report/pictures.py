"""Pictures as data: what is drawn over which scale. `drawing` makes them visible."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Axis",
    "Bar",
    "Bars",
    "Diagonal",
    "Dot",
    "Dots",
    "Effect",
    "Forest",
    "Layer",
    "Line",
    "Mark",
    "Panel",
    "Picture",
    "Point",
    "Tone",
]

Point: TypeAlias = tuple[float, float]
Tone: TypeAlias = Literal["first", "second", "third"]
"""What belongs together: a colour, and a dash or a shape too, since not everyone sees colours."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`."""

    title: str
    low: float
    high: float
    whole: bool = False
    """Whether only whole numbers are marked, as for counts."""

    @classmethod
    def over(cls, title: str, values: Iterable[float]) -> "Axis":
        """From 0 to 1 if all values lie there, else from the lowest to the highest with some room."""
        known = list(values)
        low, high = min(known, default=0.0), max(known, default=1.0)
        if low >= 0 and high <= 1:
            return cls(title, 0.0, 1.0)
        room = (high - low) / 20 or 1.0
        return cls(title, low - room, high + room)

    @classmethod
    def around_0(cls, title: str, values: Iterable[float]) -> "Axis":
        """From the lowest to the highest with some room, 0 among them."""
        known = [0.0, *values]
        room = (max(known) - min(known)) / 20 or 0.05
        return cls(title, min(known) - room, max(known) + room)

    @classmethod
    def counting(cls, title: str, counts: Iterable[float]) -> "Axis":
        """Whole numbers from 0 to the highest count."""
        return cls(title, 0.0, max(counts, default=0.0) or 1.0, whole=True)


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined in their order. Two points of one place make a step."""

    name: str
    tone: Tone
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval, and what is said where one points at it."""

    at: Point
    low: float | None
    high: float | None
    says: str


@dataclass(frozen=True, slots=True)
class Dots:
    """Values joined by a line, over the band of their intervals."""

    name: str
    tone: Tone
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A height over a part of the scale, and what is said where one points at it."""

    low: float
    high: float
    height: float
    says: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Heights over parts of the scale. Those of several layers stand side by side."""

    name: str
    tone: Tone
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Diagonal:
    """Where both scales say the same."""

    name: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the horizontal scale, over all panels, with the interval it may lie in."""

    word: str
    says: str
    """Where it is, in numbers."""
    tone: Literal["now", "suggested"]
    at: float
    low: float | None = None
    high: float | None = None


Layer: TypeAlias = Line | Dots | Bars | Diagonal


@dataclass(frozen=True, slots=True)
class Panel:
    """One field of a picture, over the scale that all panels share."""

    axis: Axis
    """The vertical one."""
    layers: tuple[Layer, ...]
    height: int
    """In units of a picture 480 wide."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels one below the other."""

    title: str
    says: str
    """The same in words, for who can't see it."""
    axis: Axis
    """The horizontal one, shared by the panels."""
    panels: tuple[Panel, ...]
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """A named value with its interval, in a row of its own."""

    name: str
    tone: Tone
    value: float
    low: float | None
    high: float | None
    says: str
    """What is said where one points at it."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Effects one below the other over one scale, with a line where there is none."""

    title: str
    says: str
    """The same in words, for who can't see it."""
    axis: Axis
    effects: tuple[Effect, ...]
    tones: tuple[tuple[Tone, str], ...] = ()
    """What each tone means, where there are several."""
