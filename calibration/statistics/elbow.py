"""The elbow of a curve: where it bends most. A help for the eye next to a picture, never a rule to decide by."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from judges.figures import to_record

__all__ = ["Elbow", "Shape", "elbow"]

Shape: TypeAlias = Literal["convex-decreasing", "convex-increasing", "concave-decreasing", "concave-increasing"]

NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Elbow:
    """Where a curve bends most."""

    x: float | None
    """In the unit of the curve's x; of several places the first."""
    difference_curve: tuple[float, ...]
    """How far each point lies off the straight line from end to end, both axes scaled to 0 to 1."""
    reason: str | None = None
    """no_elbow: the curve is straight, flat, or bends the other way. no_data: fewer than three points."""

    @property
    def max_difference(self) -> float | None:
        """At the elbow."""
        return max(self.difference_curve) if self.reason is None else None

    def to_record(self) -> dict[str, object]:
        """The elbow as JSON-ready values."""
        return {**to_record(self), "max_difference": self.max_difference}


def elbow(x: Numbers, y: Numbers, shape: Shape) -> Elbow:
    """The point of a curve that lies farthest off the straight line between its ends.

    Args:
        x: Rising, one per point.
        y: One per point.
        shape: How the curve bends, which way it goes.

    Raises:
        ValueError: The lengths differ, x doesn't rise, or a number isn't finite.

    Source:
        Satopää et al. 2011, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops: the maximum of the normalised
        difference curve.
    """
    across = as_numbers(x, "x")
    up = as_numbers(y, "y", across.size)
    if bool(np.any(np.diff(across) <= 0)):
        raise ValueError("x doesn't rise from point to point: sort the points, one y for each x")
    if across.size < 3:
        return Elbow(None, (0.0,) * across.size, "no_data")
    if float(np.ptp(up)) == 0:
        return Elbow(None, (0.0,) * across.size, "no_elbow")
    places, heights = _scaled(across), _scaled(up)
    straight = 1 - places if shape.endswith("decreasing") else places
    difference = straight - heights if shape.startswith("convex") else heights - straight
    curve = tuple(float(each) for each in difference)
    if float(difference.max()) <= NOTHING:
        return Elbow(None, curve, "no_elbow")
    return Elbow(float(across[int(difference.argmax())]), curve)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 0 to 1."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low)
