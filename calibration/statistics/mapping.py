"""Maps from a judge's scores to probabilities. A map is data: saved, read back, applied without the labels.

Both kinds keep the order of scores. Whether a map helps is judged by cross-fitting only: `cross_fit` gives every item
the probability of a map that never saw its case.

Sources:
    Platt 1999, Advances in Large Margin Classifiers; Lin, Lin & Weng 2007, Machine Learning 68:267. Zadrozny & Elkan
    2002, KDD (isotonic); Ayer et al. 1955, Ann Math Statist 26:641 (pool adjacent violators).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import MaybeNumbers, MaybeTruths, complete
from judges.figures import to_record
from judges.intervals import Clusters, cluster_codes

__all__ = [
    "CrossFitted",
    "IsotonicMap",
    "MapKind",
    "PlattMap",
    "ScoreMap",
    "assign_folds",
    "cross_fit",
    "fit_isotonic",
    "fit_platt",
    "map_from_record",
]

MapKind: TypeAlias = Literal["platt", "isotonic"]

STEPS = 200
ENOUGH = 1e-12
TINY = 1e-150
"""Squares of smaller numbers vanish."""


@dataclass(frozen=True, slots=True)
class PlattMap:
    """P(yes) = 1/(1 + exp(a s + b)) at score s. A judge that is right has a below 0."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (isfinite(self.a) and isfinite(self.b)):
            raise ValueError(f"a Platt map with a = {self.a} and b = {self.b}: both are finite numbers")

    def apply(self, scores: Sequence[float] | NDArray[np.float64] | NDArray[np.integer]) -> NDArray[np.float64]:
        """The probabilities that go with these scores.

        Raises:
            ValueError: A score is missing or not finite.
        """
        from scipy.special import expit

        with np.errstate(over="ignore"):  # an exponent beyond all numbers means 0 or 1
            return np.asarray(expit(-(self.a * _finite(scores) + self.b)), dtype=np.float64)

    def to_record(self) -> dict[str, object]:
        """The map as JSON-ready values, for `map_from_record`."""
        return {"kind": "platt", "a": self.a, "b": self.b}


@dataclass(frozen=True, slots=True)
class IsotonicMap:
    """Straight lines between knots; a score beyond the outer knots gets the probability of the nearest."""

    knots: tuple[float, ...]
    """Scores, rising."""
    fitted: tuple[float, ...]
    """The probability at each, never falling."""

    def __post_init__(self) -> None:
        knots, fitted = np.array(self.knots, dtype=np.float64), np.array(self.fitted, dtype=np.float64)
        if knots.ndim != 1 or knots.size == 0 or knots.shape != fitted.shape:
            raise ValueError(
                f"an isotonic map with {knots.size} knots and {fitted.size} values: give one value per knot"
            )
        if not bool(np.all(np.isfinite(knots))) or bool(np.any(np.diff(knots) <= 0)):
            raise ValueError("the knots of an isotonic map are finite numbers that rise")
        if not bool(np.all((fitted >= 0) & (fitted <= 1))) or bool(np.any(np.diff(fitted) < 0)):
            raise ValueError("the values of an isotonic map are probabilities that never fall")

    def apply(self, scores: Sequence[float] | NDArray[np.float64] | NDArray[np.integer]) -> NDArray[np.float64]:
        """The probabilities that go with these scores.

        Raises:
            ValueError: A score is missing or not finite.
        """
        return np.asarray(np.interp(_finite(scores), self.knots, self.fitted), dtype=np.float64)

    def to_record(self) -> dict[str, object]:
        """The map as JSON-ready values, for `map_from_record`."""
        return {"kind": "isotonic", "knots": list(self.knots), "fitted": list(self.fitted)}


ScoreMap: TypeAlias = PlattMap | IsotonicMap


def map_from_record(record: Mapping[str, object]) -> ScoreMap:
    """The map that `to_record` wrote.

    Raises:
        ValueError: It is no map.
    """
    match record:
        case {"kind": "platt", "a": int() | float() as a, "b": int() | float() as b}:
            return PlattMap(float(a), float(b))
        case {"kind": "isotonic"}:
            return IsotonicMap(_floats(record.get("knots")), _floats(record.get("fitted")))
        case _:
            raise ValueError("no saved map: it has kind platt with numbers a and b, or isotonic with knots and fitted")


def _floats(values: object) -> tuple[float, ...]:
    numbers = cast("list[object]", values) if isinstance(values, list) else [None]
    if not all(isinstance(each, int | float) for each in numbers):
        raise ValueError("a saved isotonic map has knots and fitted, two lists of numbers")
    return tuple(float(cast("float", each)) for each in numbers)


def _finite(scores: Sequence[float] | NDArray[np.float64] | NDArray[np.integer]) -> NDArray[np.float64]:
    numbers = np.asarray(scores, dtype=np.float64)
    if not bool(np.all(np.isfinite(numbers))):
        raise ValueError("a score is missing or not a finite number: leave such items out before applying a map")
    return numbers


# Fitting


def _labelled(scores: MaybeNumbers, labels: MaybeTruths) -> tuple[NDArray[np.float64], NDArray[np.float64], list[int]]:
    numbers, truths, kept = complete(scores, labels)
    if not kept:
        raise ValueError("no item has both a score and a label: there is nothing to fit a map to")
    return numbers, truths.astype(np.float64), kept


def fit_platt(scores: MaybeNumbers, labels: MaybeTruths) -> PlattMap:
    """Fit Platt's sigmoid by maximum likelihood.

    The targets are (n1+1)/(n1+2) for yes and 1/(n0+2) for no, not 1 and 0: so the map is finite even if the scores
    tell the classes apart, or there is one class only. Constant scores give a constant map, a = 0.

    Args:
        scores: One finite number per item, on any scale; None where it is missing.
        labels: 1 or True for yes, 0 or False for no, None where it is missing. Items with a gap are left out.

    Raises:
        ValueError: The lengths differ, a value is not what it should be, or no item has both score and label.
    """
    numbers, truths, _ = _labelled(scores, labels)
    return _platt(numbers, truths)


def _platt(scores: NDArray[np.float64], truths: NDArray[np.float64]) -> PlattMap:
    """Newton's method with halved steps on standardised scores."""
    from scipy.special import expit

    yes = float(truths.sum())
    targets = np.where(truths == 1, (yes + 1) / (yes + 2), 1 / (truths.size - yes + 2))
    centre, spread = float(scores.mean()), float(scores.std())
    if np.ptp(scores) <= max(ENOUGH * float(np.abs(scores).max()), TINY):
        share = float(targets.mean())
        return PlattMap(0.0, log((1 - share) / share))
    design = np.column_stack([(scores - centre) / spread, np.ones(scores.size)])

    def loss(at: NDArray[np.float64]) -> float:
        exponent = design @ at  # -log P = log(1 + e^x), -log(1 - P) = log(1 + e^x) - x
        return float(np.sum(np.logaddexp(0.0, exponent) - (1 - targets) * exponent))

    found = np.zeros(2)
    for _ in range(STEPS):
        chance = np.asarray(expit(-(design @ found)), dtype=np.float64)
        weight = np.maximum(chance * (1 - chance), ENOUGH)
        step = np.linalg.solve((design * weight[:, None]).T @ design, design.T @ (chance - targets))
        now, share = loss(found), 1.0
        while share > ENOUGH and loss(found + share * step) > now * (1 + ENOUGH):
            share /= 2
        found = found + share * step
        if float(np.abs(step).max()) <= ENOUGH * max(float(np.abs(found).max()), 1.0):
            break
    a = float(found[0]) / spread
    return PlattMap(a, float(found[1]) - a * centre)


def fit_isotonic(scores: MaybeNumbers, labels: MaybeTruths) -> IsotonicMap:
    """Fit the rising map that comes closest to the labels: average tied scores, then pool adjacent violators.

    Arguments and errors are those of `fit_platt`. It bends more than Platt's and so wants more labels.
    """
    numbers, truths, _ = _labelled(scores, labels)
    return _isotonic(numbers, truths)


def _isotonic(scores: NDArray[np.float64], truths: NDArray[np.float64]) -> IsotonicMap:
    from scipy.optimize import isotonic_regression

    knots, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rates = np.bincount(group, weights=truths) / counts
    pooled = np.asarray(isotonic_regression(rates, weights=counts).x, dtype=np.float64)
    fitted = np.clip(np.maximum.accumulate(pooled), 0.0, 1.0)
    return IsotonicMap(tuple(knots.tolist()), tuple(fitted.tolist()))


FITS: Mapping[MapKind, Callable[[NDArray[np.float64], NDArray[np.float64]], ScoreMap]] = {
    "platt": _platt,
    "isotonic": _isotonic,
}


# Cross-fitting


def assign_folds(n: int, *, clusters: Clusters | None = None, folds: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """A fold from 0 for each of n items, at random and evenly; items of one cluster share theirs.

    Raises:
        ValueError: Fewer than two folds, or fewer items (clusters) than folds.
    """
    codes, groups = (np.arange(n), n) if clusters is None else cluster_codes(clusters, n)
    if not 2 <= folds <= groups:
        raise ValueError(f"{folds} folds for {groups} items or clusters: use at least two, and no more than there are")
    return np.asarray(np.random.default_rng(seed).permutation(groups)[codes] % folds, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """A map, and probabilities to judge it by."""

    map: ScoreMap
    """Fitted to all items: the one to use."""
    probabilities: tuple[float | None, ...]
    """Of each item, in order, by a map fitted to the other folds; None where score or label is missing."""
    n: int
    n_dropped: int

    def to_record(self) -> dict[str, object]:
        """The result as JSON-ready values."""
        return {**to_record(self), "map": self.map.to_record()}


def cross_fit(
    scores: MaybeNumbers,
    labels: MaybeTruths,
    *,
    kind: MapKind,
    folds: Sequence[Hashable] | NDArray[np.generic],
    clusters: Clusters | None = None,
) -> CrossFitted:
    """Fit a map, and for each fold one to the other folds, to see how well such maps do on items they never saw.

    Args:
        scores: As for `fit_platt`.
        labels: As for `fit_platt`.
        kind: Of the map.
        folds: One per item, from `assign_folds` or of one's own.
        clusters: One id per item where one case yields several items; no cluster may lie in two folds.

    Raises:
        ValueError: As for `fit_platt`; or all items lie in one fold, or a cluster in several.
    """
    numbers, truths, kept = _labelled(scores, labels)
    codes = cluster_codes(folds, len(scores))[0]
    if clusters is not None:
        groups, count = cluster_codes(clusters, len(scores))
        if np.unique(np.column_stack([groups, codes]), axis=0).shape[0] != count:
            raise ValueError("a cluster lies in several folds: split by cluster (assign_folds)")
    places = codes[kept]
    if np.unique(places).size < 2:
        raise ValueError("all items lie in one fold: use at least two")
    if kind not in FITS:
        raise ValueError(f"a map of kind {kind!r}: choose one of {sorted(FITS)}")
    fit = FITS[kind]
    found: list[float | None] = [None] * len(scores)
    for fold in np.unique(places):
        out = places == fold
        mapped = fit(numbers[~out], truths[~out]).apply(numbers[out])
        for at, probability in zip(np.flatnonzero(out).tolist(), mapped.tolist(), strict=True):
            found[kept[at]] = probability
    return CrossFitted(fit(numbers, truths), tuple(found), len(kept), len(scores) - len(kept))
