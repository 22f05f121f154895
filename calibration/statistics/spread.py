"""Where scores lie, in a form that can be kept; and whether other scores lie elsewhere.

Source:
    Kolmogorov 1933 and Smirnov 1948 (Annals of Mathematical Statistics 19:279): the largest distance between two
    distribution functions, and its distribution for large samples.
"""

from dataclasses import dataclass
from math import sqrt
from typing import cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from judges.figures import to_record

__all__ = ["Shift", "Spread", "shift_of", "spread_of"]

_MOST = 256
"""Places that are kept: with more distinct scores a distance is told to 1/256."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution function at some places: all that were seen, where these are few, else their quantiles."""

    at: tuple[float, ...]
    """Rising."""
    counts: tuple[int, ...]
    """How many scores lie at each place, or below it and above the place before."""
    whole: bool
    """Every score lies at a place."""

    def __post_init__(self) -> None:
        places = np.array(self.at, dtype=np.float64)
        if len(self.at) != len(self.counts) or not self.at:
            raise ValueError("a spread has places, and one count for each")
        if not bool(np.all(np.isfinite(places))) or bool(np.any(np.diff(places) <= 0)):
            raise ValueError("the places of a spread are finite numbers that rise")
        if min(self.counts) < 0 or not any(self.counts):
            raise ValueError("the counts of a spread are not negative, and not all 0")

    @property
    def n(self) -> int:
        """How many scores there are."""
        return sum(self.counts)


def spread_of(scores: Numbers) -> Spread:
    """The spread of scores.

    Args:
        scores: One finite number per item, at least one.

    Raises:
        ValueError: There is no score, or one is not finite.
    """
    numbers = as_numbers(scores, "score")
    if numbers.size == 0:
        raise ValueError("no score: there is nothing to keep")
    at = np.unique(numbers)
    whole = at.size <= _MOST
    if not whole:
        at = np.unique(np.quantile(numbers, np.linspace(0, 1, _MOST), method="inverted_cdf"))
    counts = np.bincount(np.searchsorted(at, numbers), minlength=at.size)
    return Spread(tuple(at.tolist()), tuple(counts.tolist()), whole)


@dataclass(frozen=True, slots=True)
class Shift:
    """How far two distributions lie apart."""

    distance: float
    """The largest difference of the shares of scores up to some place: from 0, alike, to 1, apart."""
    p: float
    """The chance of so large a distance between samples of one distribution. With tied scores it is smaller than this
    says."""

    def to_record(self) -> dict[str, object]:
        """The shift as JSON-ready values."""
        return to_record(self)


def shift_of(then: Spread, scores: Numbers, *, deff: float = 1.0) -> Shift:
    """How far scores lie from where they lay, by Kolmogorov and Smirnov's test of two samples.

    Args:
        then: Where they lay.
        scores: One finite number per item, at least one.
        deff: Design effect of both samples, where cases are grouped: each counts as so many times fewer items.

    Raises:
        ValueError: There is no score, or one is not finite.
    """
    from scipy.special import kolmogorov

    numbers = np.sort(as_numbers(scores, "score"))
    if numbers.size == 0:
        raise ValueError("no score: there is nothing to compare")
    at = np.array(then.at)
    before = np.cumsum(then.counts) / then.n
    distance = max(
        _largest(before, np.searchsorted(numbers, at, side="right") / numbers.size),
        # what lies just below a place is known of the first; of all, where every score lies at one
        int(np.count_nonzero(numbers < at[0])) / numbers.size,
        _largest(before[:-1], np.searchsorted(numbers, at[1:]) / numbers.size) if then.whole else 0.0,
    )
    effective = then.n * numbers.size / (then.n + numbers.size) / max(deff, 1.0)
    return Shift(distance, float(cast("float", kolmogorov(sqrt(effective) * distance))))


def _largest(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.abs(one - other).max()) if one.size else 0.0
