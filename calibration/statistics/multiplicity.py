"""Adjusted p values, for when several tests are read together.

Reject where the adjusted value is at most the level wanted for the whole family. All keep the order of the input.

Sources:
    Holm 1979, Scandinavian Journal of Statistics 6:65 (with Bonferroni's bound). Benjamini & Hochberg 1995, JRSS B
    57:289. Benjamini & Yekutieli 2001, Annals of Statistics 29:1165.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["benjamini_hochberg", "benjamini_yekutieli", "bonferroni", "holm"]

PValues = Sequence[float] | NDArray[np.float64]


def bonferroni(p_values: PValues) -> tuple[float, ...]:
    """Adjusted p values that bound the chance of one false rejection or more; Holm's are never larger."""
    p = _checked(p_values)
    return _clipped(p * p.size)


def holm(p_values: PValues) -> tuple[float, ...]:
    """Adjusted p values that bound the chance of one false rejection or more, however the tests depend.

    Raises:
        ValueError: A p value is missing, or outside 0 to 1. So in all functions here.
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    return _clipped(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))[np.argsort(order)])


def benjamini_hochberg(p_values: PValues) -> tuple[float, ...]:
    """Adjusted p values that bound the expected share of false rejections, for independent tests."""
    return _clipped(_step_up(_checked(p_values)))


def benjamini_yekutieli(p_values: PValues) -> tuple[float, ...]:
    """Adjusted p values that bound the expected share of false rejections, however the tests depend."""
    p = _checked(p_values)
    return _clipped(_step_up(p) * float(np.sum(1 / np.arange(1, p.size + 1))))


def _step_up(p: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.argsort(-p, kind="stable")
    smallest = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    return np.asarray(smallest[np.argsort(order)], dtype=np.float64)


def _checked(p_values: PValues) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError("give the p values as a flat list")
    if not bool(np.all((p >= 0) & (p <= 1))):
        raise ValueError("a p value is missing or outside 0 to 1: leave out tests that have none")
    return p


def _clipped(adjusted: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(each) for each in np.minimum(adjusted, 1.0))
