"""Arrays as they come in from a caller, checked."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MaybeNumbers", "MaybeTruths", "Numbers", "as_numbers", "as_truths", "complete"]

Numbers: TypeAlias = Sequence[float] | NDArray[np.float64] | NDArray[np.integer] | NDArray[np.bool_]
MaybeNumbers: TypeAlias = Sequence[float | None] | NDArray[np.float64] | NDArray[np.integer]
"""One per item, None where it is missing."""
MaybeTruths: TypeAlias = Sequence[bool | int | None] | NDArray[np.integer] | NDArray[np.bool_]
"""1 or True, 0 or False, None where it is missing."""


def as_numbers(values: Numbers, name: str, n: int | None = None) -> NDArray[np.float64]:
    """The values as an array of floats.

    Raises:
        ValueError: They are no flat list, one isn't finite, or there are not `n` of them.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"give one {name} per item, as a flat list")
    if n is not None and array.size != n:
        raise ValueError(f"{array.size} of {name} for {n} items: give one per item")
    if not bool(np.all(np.isfinite(array))):
        raise ValueError(f"a {name} is missing or not finite: leave such items out and count them as dropped")
    return array


def as_truths(values: Numbers, name: str, n: int | None = None) -> NDArray[np.bool_]:
    """The values as truth values; each must be 0 or 1."""
    array = as_numbers(values, name, n)
    if not bool(np.all((array == 0) | (array == 1))):
        raise ValueError(f"a {name} is neither 0 nor 1: give one truth value per item")
    return np.equal(array, 1.0)


def complete(
    scores: MaybeNumbers, truths: MaybeTruths, *, score: str = "score", truth: str = "label"
) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[int]]:
    """Scores and truths of the items that have both, and where those stand.

    Raises:
        ValueError: The lengths differ, a score is not a finite number, or a truth is neither 0 nor 1.
    """
    if len(scores) != len(truths):
        raise ValueError(f"{len(scores)} {score}s and {len(truths)} {truth}s: give one of each per item")
    pairs = zip(scores, truths, strict=True)
    kept = [at for at, pair in enumerate(pairs) if pair[0] is not None and pair[1] is not None]
    try:
        numbers = np.array([scores[at] for at in kept], dtype=np.float64)
        ones = np.array([truths[at] for at in kept], dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"some {score} or {truth} is not a number: give None where it is missing") from error
    if not bool(np.all(np.isfinite(numbers))):
        raise ValueError(f"some {score} is not a finite number: give None where it is missing")
    if not bool(np.all(np.isin(ones, (0.0, 1.0)))):
        raise ValueError(f"some {truth} is not 0 or 1: say which class is positive, and give None where it is missing")
    return numbers, ones == 1, kept
