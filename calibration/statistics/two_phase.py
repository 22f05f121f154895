"""What a few labelled and many unlabelled items contribute to one estimate, and what clusters do to its interval."""

from collections.abc import Hashable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers
from judges.intervals import NOTHING, Clusters, StandardError, cluster_codes, normal_quantile, t_quantile

__all__ = ["Design", "as_weights", "both_clusters", "clustered_design", "ids_of", "two_part_se"]


def both_clusters(
    clusters: Clusters | None, clusters_unlabelled: Clusters | None, n: int, others: int
) -> tuple[Clusters, Clusters] | None:
    """The cluster ids of both parts; None where items are independent. Ids of one part only are a ValueError."""
    if clusters is None and clusters_unlabelled is None:
        return None
    if clusters is None or clusters_unlabelled is None:
        raise ValueError("cluster ids of one part only: give those of labelled and of unlabelled items, or none")
    for ids, size in ((clusters, n), (clusters_unlabelled, others)):
        if len(ids) != size:
            raise ValueError(f"{len(ids)} cluster ids for {size} items: give one id per item")
    return clusters, clusters_unlabelled


def two_part_se(
    labelled: NDArray[np.float64],
    unlabelled: NDArray[np.float64],
    clusters: tuple[Clusters, Clusters] | None,
    *,
    scale: float = 1.0,
) -> StandardError:
    """The standard error of a sum of what labelled and unlabelled items contribute.

    Args:
        labelled: Contribution of each labelled item; together they sum to 0, as do those of a part alone.
        unlabelled: Contribution of each unlabelled item.
        clusters: Ids of both, or None. Clusters in both parts are summed over both.
        scale: What is large for the estimate. A standard error of 1e-12 of it or less is 0.

    Returns:
        `n_clusters` is the number of labelled clusters.

    Source:
        SPEC 5: each part has its own G/(G-1); where the parts share clusters, one for all.
    """
    alone = _root(float(labelled @ labelled) + float(unlabelled @ unlabelled), scale)
    if clusters is None:
        return StandardError(alone, alone)
    codes, groups = cluster_codes([*clusters[0], *clusters[1]], labelled.size + unlabelled.size)
    parts = [(labelled, codes[: labelled.size]), (unlabelled, codes[labelled.size :])]
    if np.intersect1d(parts[0][1], parts[1][1]).size:
        parts = [(np.concatenate([labelled, unlabelled]), codes)]
    total = 0.0
    for values, ids in parts:
        sums, g = np.bincount(ids, weights=values, minlength=groups), np.unique(ids).size
        total += g / max(g - 1, 1) * float(sums @ sums)
    return StandardError(_root(total, scale), alone, int(np.unique(codes[: labelled.size]).size))


def _root(square: float, scale: float) -> float:
    root = sqrt(square)
    return 0.0 if root <= NOTHING * scale else root


def as_weights(inclusion: Numbers, n: int) -> NDArray[np.float64]:
    """What labels chosen with such probabilities count: the inverse. Horvitz & Thompson 1952, JASA 47:663.

    Raises:
        ValueError: Not one per label, or one is not above 0 and at most 1.
    """
    probabilities = as_numbers(inclusion, "inclusion probability", n)
    if bool(np.any((probabilities <= 0) | (probabilities > 1))):
        raise ValueError("an inclusion probability is not above 0 and at most 1: give that of each labelled item")
    return 1 / probabilities


def ids_of(ids: Clusters, kept: NDArray[np.bool_]) -> list[Hashable]:
    """The ids of the items that are kept."""
    return [each for each, keep in zip(ids, kept.tolist(), strict=True) if keep]


@dataclass(frozen=True, slots=True)
class Design:
    """What clusters do to an interval."""

    n_clusters: int
    se: float
    deff: float | None
    stretch: float | None
    """Factor of the interval's half width; None with fewer than 2 clusters."""


def clustered_design(
    labelled: NDArray[np.float64], unlabelled: NDArray[np.float64], ids: tuple[Clusters, Clusters], level: float
) -> Design:
    """sqrt(deff) t/z. Where nothing varies each cluster counts as one item."""
    error = two_part_se(labelled, unlabelled, ids)
    groups = error.n_clusters or 0
    if groups < 2:
        return Design(groups, error.se, error.deff, None)
    deff = labelled.size / groups if error.deff is None else error.deff or 1.0
    stretch = sqrt(deff) * t_quantile(level, groups - 1) / normal_quantile(level)
    return Design(groups, error.se, error.deff, stretch)
