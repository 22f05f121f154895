"""Logistic regression by maximum likelihood, for a few columns; None where there is no maximum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judges.intervals import NOTHING

__all__ = ["LogitFit", "fit_logit"]

STEPS = 60
CONVERGED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LogitFit:
    """Coefficients and their covariance."""

    design: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def marginal_effect(self, column: int) -> tuple[float, NDArray[np.float64]]:
        """The mean change of the probability per unit of a column, and its gradient by the coefficients."""
        p = _probabilities(self.design @ self.coefficients)
        slopes, b = p * (1 - p), float(self.coefficients[column])
        gradient = b * np.mean((slopes * (1 - 2 * p))[:, None] * self.design, axis=0)
        gradient[column] += slopes.mean()
        return b * float(slopes.mean()), gradient


def fit_logit(
    design: NDArray[np.float64], outcome: NDArray[np.bool_], codes: NDArray[np.intp] | None = None, groups: int = 0
) -> LogitFit | None:
    """Fit P(outcome) = 1/(1 + exp(-design b)).

    Args:
        design: Shape (items, columns), intercept included.
        outcome: Shape (items,).
        codes: Cluster of each item, for a covariance that knows them (CR1).
        groups: How many clusters there are.

    Returns:
        None if a column is all 0, if columns depend on each other, or if they separate the outcomes (then a coefficient
        grows for ever).

    Source:
        Newton's steps; Albert & Anderson 1984, Biometrika 71:1 (separation).
    """
    n, k = design.shape
    scale = np.abs(design).max(axis=0, initial=0.0)
    if n <= k or bool(np.any(scale <= NOTHING)) or np.linalg.matrix_rank(design / scale) < k:
        return None
    x, y, b = design / scale, outcome.astype(np.float64), np.zeros(k)
    best = _log_likelihood(x @ b, y)
    for _ in range(STEPS):
        p = _probabilities(x @ b)
        information = (x * (p * (1 - p))[:, None]).T @ x
        if np.linalg.cond(information) > 1e12:
            return None
        step = np.asarray(np.linalg.solve(information, x.T @ (y - p)), dtype=np.float64)
        while (found := _log_likelihood(x @ (b + step), y)) < best - 1e-12 * abs(best):
            step = step / 2
        b, best = b + step, found
        if float(np.abs(step).max()) < CONVERGED:
            covariance = _covariance(x, y, b, codes, groups)
            return LogitFit(design, b / scale, covariance / scale[:, None] / scale)
    return None


def _covariance(
    x: NDArray[np.float64], y: NDArray[np.float64], b: NDArray[np.float64], codes: NDArray[np.intp] | None, groups: int
) -> NDArray[np.float64]:
    p = _probabilities(x @ b)
    inverse = np.asarray(np.linalg.inv((x * (p * (1 - p))[:, None]).T @ x), dtype=np.float64)
    if codes is None or groups < 2:
        return inverse
    n, k = x.shape
    scores = np.zeros((groups, k))
    np.add.at(scores, codes, x * (y - p)[:, None])
    factor = groups / (groups - 1) * (n - 1) / (n - k)
    return np.asarray(factor * inverse @ (scores.T @ scores) @ inverse, dtype=np.float64)


def _probabilities(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))), dtype=np.float64)


def _log_likelihood(log_odds: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return -float(np.sum(np.logaddexp(0, np.where(y == 1, -log_odds, log_odds))))
