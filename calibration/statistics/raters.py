"""How far several annotators agree beyond chance, with nominal, ordinal or numeric labels and missing ratings.

Tables have a row per unit (item) and a column per rater. Coefficients are written with costs, 1 - D_o/D_e: the mean
cost seen over the mean cost expected, so that perfect agreement is exactly 1.

Sources:
    Fleiss 1971, Psychological Bulletin 76:378; Fleiss, Nee & Landis 1979, Psychological Bulletin 86:974 (null test).
    Gwet 2008, BJMSP 61:29, and 2014, Handbook of Inter-Rater Reliability, 4th ed. (missing ratings, standard errors).
    Conger 1980, Psychological Bulletin 88:322. Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability".
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import Statistic, jackknife_se, resample
from calibration.statistics.tables import Weights, disagreement_costs, encode_labels
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    Significance,
    check_level,
    cluster_codes,
    influence_se,
    mean,
    proportion_interval,
    sample_flags,
    t_quantile,
    two_sided,
)

__all__ = [
    "Distance",
    "FleissKappa",
    "UnitRatings",
    "brennan_prediger",
    "conger_kappa",
    "fleiss_generalised",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "pairwise_agreement",
    "unit_ratings",
    "unit_ratings_of_counts",
]

Distance: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
Ratings: TypeAlias = Sequence[Sequence[Hashable]] | NDArray[np.generic]

NOTHING = 1e-12
BCA_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class UnitRatings:
    """What several raters said about the same units."""

    labels: tuple[Hashable, ...]
    """As declared, in order."""
    counts: NDArray[np.int64]
    """Shape (units, labels): how many raters gave each unit each label. Every unit has at least one rating."""
    codes: NDArray[np.intp] | None
    """Shape (units, raters): positions in `labels`, -1 where missing; None if only the counts are known."""
    clusters: NDArray[np.intp] | None
    n_clusters: int | None
    n_dropped: int
    """Units without a rating."""

    @property
    def n(self) -> int:
        """Units with a rating."""
        return len(self.counts)

    def undefined(self, reason: str, level: float) -> Figure:
        """A figure of these ratings without a value."""
        return replace(undefined(reason, n=self.n, n_dropped=self.n_dropped, level=level), n_clusters=self.n_clusters)

    def pairable(self) -> "UnitRatings":
        """Only the units with two ratings or more; the others count as dropped."""
        kept = self.counts.sum(axis=1) > 1
        return _kept(self.labels, self.counts, self.codes, self.clusters, kept, self.n_dropped)


def unit_ratings(ratings: Ratings, *, labels: Sequence[Hashable], clusters: Clusters | None = None) -> UnitRatings:
    """Ratings of the same units by several raters.

    Args:
        ratings: Shape (units, raters), None where a rating is missing.
        labels: The declared labels, in order: it gives ordinal distances and weights.
        clusters: One id per unit, or None when units are independent.

    Raises:
        ValueError: A label is not declared, or rows differ in length.
    """
    width = len(ratings[0]) if len(ratings) else 0
    if any(len(row) != width for row in ratings):
        raise ValueError("give every unit as many ratings as there are raters, None where one is missing")
    codes = np.array([encode_labels(row, labels) for row in ratings], dtype=np.intp).reshape(len(ratings), width)
    counts = np.array([(codes == code).sum(axis=1) for code in range(len(labels))], dtype=np.int64).T
    ids = None if clusters is None else cluster_codes(clusters, len(codes))[0]
    return _kept(tuple(labels), counts, codes, ids, counts.sum(axis=1) > 0, 0)


def unit_ratings_of_counts(
    counts: Sequence[Sequence[int]] | NDArray[np.integer],
    *,
    labels: Sequence[Hashable] | None = None,
    clusters: Clusters | None = None,
) -> UnitRatings:
    """Ratings of which only the counts are known: shape (units, labels); labels are 0 to k-1 if None.

    Raises:
        ValueError: The shape is another, or a count is negative or not whole.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0 or (labels is not None and len(labels) != table.shape[1]):
        raise ValueError(f"counts of shape {table.shape}: give one row per unit and one column per declared label")
    if not bool(np.all(np.isfinite(table) & (table >= 0) & (table == np.floor(table)))):
        raise ValueError("a count is negative or not a whole number")
    declared = tuple(range(table.shape[1]) if labels is None else labels)
    encode_labels([], declared)  # checks them
    ids = None if clusters is None else cluster_codes(clusters, len(table))[0]
    return _kept(declared, table.astype(np.int64), None, ids, table.sum(axis=1) > 0, 0)


def _kept(
    labels: tuple[Hashable, ...],
    counts: NDArray[np.int64],
    codes: NDArray[np.intp] | None,
    ids: NDArray[np.intp] | None,
    kept: NDArray[np.bool_],
    n_dropped: int,
) -> UnitRatings:
    n = int(np.count_nonzero(kept))
    clusters, groups = (None, None) if ids is None else cluster_codes(ids[kept], n)
    dropped = n_dropped + len(kept) - n
    return UnitRatings(labels, counts[kept], None if codes is None else codes[kept], clusters, groups, dropped)


# Coefficients with a chance that is one formula


def pairwise_agreement(ratings: UnitRatings, *, level: float = 0.95) -> Figure:
    """The mean over units of the share of pairs of raters that agree; units with one rating are left out."""
    paired = ratings.pairable()
    if paired.n == 0:
        return paired.undefined("no_pairable" if ratings.n else "no_data", level)
    total = paired.counts.sum(axis=1)
    shares = np.sum(paired.counts * (paired.counts - 1), axis=1) / (total * (total - 1))
    return mean(shares, paired.clusters, level=level, n_dropped=paired.n_dropped)


def gwet_ac(ratings: UnitRatings, *, weights: Weights = "none", level: float = 0.95) -> Figure:
    """Gwet's AC1, or AC2 with weights or costs: a chance that stays small when one label is common.

    Units with one rating count in the chance only. The interval is t by unit (or cluster); where all raters of every
    unit agree it is the exact bound, and where nothing varies otherwise there is none (singular).

    Source:
        Gwet 2008; 2014, chapters 3 and 5 (missing ratings).
    """
    return _coefficient("ac", ratings, weights, level)


def brennan_prediger(ratings: UnitRatings, *, weights: Weights = "none", level: float = 0.95) -> Figure:
    """Brennan-Prediger's coefficient: as `gwet_ac`, with chance 1/k."""
    return _coefficient("brennan_prediger", ratings, weights, level)


def fleiss_generalised(ratings: UnitRatings, *, weights: Weights = "none", level: float = 0.95) -> Figure:
    """Gwet's extension of Fleiss' kappa to missing ratings and weights; equal to it where neither is there.

    Report `krippendorff_alpha` for missing ratings; this is for comparison with programs that give this number.
    """
    return _coefficient("fleiss", ratings, weights, level)


@dataclass(frozen=True, slots=True)
class FleissKappa:
    """Fleiss' kappa, overall and label by label."""

    kappa: Figure
    per_label: tuple[Figure, ...]
    """Of each declared label against all others."""
    null_test: Significance
    """Of kappa = 0. Its standard error holds under that hypothesis only."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def fleiss_kappa(ratings: UnitRatings, *, level: float = 0.95) -> FleissKappa:
    """Agreement beyond chance of raters who may differ from unit to unit, the same number for each.

    Returns:
        Kappa, at most 1; 0 is chance. Undefined (single_category) if every rating is the same. The interval is t with
        the standard error by unit (or cluster).

    Raises:
        ValueError: Units have different numbers of ratings.

    Source:
        Fleiss 1971; standard error from influence values; null test Fleiss, Nee & Landis 1979. With clusters the null
        standard error is stretched by the square root of the design effect.
    """
    totals = np.unique(ratings.counts.sum(axis=1))
    if totals.size > 1:
        raise ValueError(
            f"units have {totals.min()} to {totals.max()} ratings: Fleiss' kappa needs as many for each; "
            "use krippendorff_alpha"
        )
    kappa = _coefficient("fleiss", ratings, "none", level)
    per_label: list[Figure] = []
    for label in range(len(ratings.labels)):
        one = ratings.counts[:, label]
        collapsed = np.column_stack([one, ratings.counts.sum(axis=1) - one])
        per_label.append(_coefficient("fleiss", replace(ratings, counts=collapsed, labels=(0, 1)), "none", level))
    return FleissKappa(kappa, tuple(per_label), _null_test(ratings, kappa))


def _null_test(ratings: UnitRatings, kappa: Figure) -> Significance:
    if kappa.value is None or (ratings.n_clusters is not None and ratings.n_clusters < 2):
        return Significance(None, None, "z", reason=kappa.reason)
    m, share = int(ratings.counts[0].sum()), ratings.counts.sum(axis=0) / ratings.counts.sum()
    spread = float(share @ (1 - share))
    inner = spread**2 - float(np.sum(share * (1 - share) * (1 - 2 * share)))
    se = sqrt(2 * max(inner, 0.0) / (ratings.n * m * (m - 1))) / spread
    if ratings.n_clusters is None:
        return two_sided(kappa.value, se)
    return two_sided(kappa.value, se * sqrt(kappa.deff or ratings.n / ratings.n_clusters), ratings.n_clusters - 1)


def _coefficient(
    kind: Literal["fleiss", "ac", "brennan_prediger"], ratings: UnitRatings, weights: Weights, level: float
) -> Figure:
    check_level(level)
    counts, n, k = ratings.counts, ratings.n, len(ratings.labels)
    cost = disagreement_costs(weights, k)
    cost = (cost + cost.T) / 2  # the raters of a unit have no order
    if n == 0 or k == 1:
        return ratings.undefined("no_data" if n == 0 else "single_category", level)
    total = counts.sum(axis=1)
    paired = total > 1
    if not bool(paired.any()):
        return ratings.undefined("no_pairable", level)
    seen = np.sum(counts * (counts @ cost), axis=1) / np.where(paired, total * (total - 1), 1)
    seen = np.where(paired, seen, 0.0)
    shares = counts / total[:, None]
    share = shares.mean(axis=0)
    match kind:  # what each unit costs by chance; the mean over units is D_e
        case "fleiss":
            by_unit = shares @ cost @ share
        case "ac":
            by_unit = 1 - float((1 - cost).sum()) / (k * (k - 1)) * (shares @ (1 - share))
        case _:
            by_unit = np.full(n, float(cost.sum()) / k**2)
    expected = float(by_unit.mean())
    if expected <= NOTHING:
        return ratings.undefined("single_category", level)
    value = 1 - float(seen[paired].mean()) / expected
    scale = n / int(np.count_nonzero(paired))
    influence = scale * (paired - seen / expected) - value + 2 * (1 - value) * (by_unit / expected - 1)
    # Chance takes credit for near misses whether there are any or not, and may rest on other units than agreement does:
    # then there is no lowest value.
    named = weights if isinstance(weights, str) else None
    bounded = (named is not None and bool(np.ptp(total) == 0)) if kind == "fleiss" else named == "none"
    return _by_unit(value, influence, 1 / expected, ratings, level, -1.0 if bounded else -inf)


def _by_unit(
    value: float,
    influence: NDArray[np.float64],
    worst: float,
    ratings: UnitRatings,
    level: float,
    lowest: float = -1.0,
) -> Figure:
    """A coefficient with its t interval by unit or cluster; if agreement is perfect, with its exact bound.

    The bound: with no disagreement in n units, at most a share 1 - (alpha/2)^(1/n) of all units has any, and such a
    unit lowers the coefficient by `worst` at most.
    """
    n, groups = ratings.n, ratings.n_clusters
    units = n if groups is None else groups
    also = ["perfect_agreement"] if value == 1 else []
    flags = sample_flags(n, groups, ratings.n_dropped, *also)
    figure = Figure(value, level=level, n=n, n_clusters=groups, n_dropped=ratings.n_dropped, flags=flags)
    if units < 2:
        return replace(figure, reason="too_few" if groups is None else "too_few_clusters")
    codes = np.arange(n) if ratings.clusters is None else ratings.clusters
    error = influence_se(influence, codes, units, scale=max(float(np.abs(influence).max()), 1.0))
    figure = replace(figure, se=error.se, deff=None if groups is None else error.deff)
    if value == 1:
        bound = proportion_interval(0, units, level=level, method="clopper_pearson")[1]
        return replace(figure, ci_low=max(1 - bound * worst, lowest), ci_high=1.0, method="exact_bound")
    if error.se == 0:
        flags = sample_flags(n, groups, ratings.n_dropped, *also, "zero_residual_variance")
        return replace(figure, reason="singular", flags=flags)
    half = t_quantile(level, units - 1) * error.se
    low, high = min(max(value - half, lowest), value), min(value + half, 1.0)
    return replace(figure, ci_low=low, ci_high=high, method="t")


# Coefficients with an interval from resamples


def conger_kappa(ratings: UnitRatings, *, level: float = 0.95) -> Figure:
    """Cohen's kappa for several raters: chance is that of these raters with their own margins.

    The t interval is by the jackknife of units (or clusters). Units with one rating count in the margins only.

    Raises:
        ValueError: The raters of the ratings are not known.

    Source:
        Conger 1980; Gwet 2014 for missing ratings.
    """
    if ratings.codes is None:
        raise ValueError("Conger's kappa needs to know who gave which rating: make the ratings with unit_ratings")
    check_level(level)
    k, raters = len(ratings.labels), ratings.codes.shape[1]
    total = ratings.counts.sum(axis=1)
    paired = total > 1
    if ratings.n == 0 or k == 1 or not bool(paired.any()):
        reason = "no_data" if ratings.n == 0 else "single_category" if k == 1 else "no_pairable"
        return ratings.undefined(reason, level)
    agreed = np.sum(ratings.counts * (ratings.counts - 1), axis=1) / np.where(paired, total * (total - 1), 1)
    chosen = (ratings.codes[:, :, None] == np.arange(k)).reshape(ratings.n, -1)
    parts = np.column_stack([paired - agreed, paired, chosen])

    def value(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        uses = totals[:, 2:].reshape(-1, raters, k)
        with np.errstate(all="ignore"):
            margins = uses / uses.sum(axis=2, keepdims=True)
            present = np.sum(~np.isnan(margins[:, :, 0]), axis=1)
            together = np.nansum(margins, axis=1) ** 2 - np.nansum(margins**2, axis=1)
            expected = 1 - together.sum(axis=1) / (present * (present - 1))
            seen = totals[:, 0] / totals[:, 1]
            return np.where(expected > NOTHING, 1 - seen / expected, np.nan)

    found = float(value(parts.sum(axis=0)[None])[0])
    if not isfinite(found):
        return ratings.undefined("single_category", level)
    return _jackknifed(found, parts, value, ratings, level)


def _jackknifed(
    found: float, parts: NDArray[np.float64], value: Statistic, ratings: UnitRatings, level: float
) -> Figure:
    units = parts if ratings.clusters is None else _sums(parts, ratings.clusters)
    perfect = ["perfect_agreement"] if found == 1 else []
    flags = sample_flags(ratings.n, ratings.n_clusters, ratings.n_dropped, *perfect)
    figure = Figure(
        found, level=level, n=ratings.n, n_clusters=ratings.n_clusters, n_dropped=ratings.n_dropped, flags=flags
    )
    if len(units) < 2:
        return replace(figure, reason="too_few" if ratings.clusters is None else "too_few_clusters")
    se = jackknife_se(units, value)
    if se is None or se <= NOTHING:
        return replace(figure, reason="singular")
    half = t_quantile(level, len(units) - 1) * se
    lowest = -inf if ratings.codes is None or bool(np.any(ratings.codes < 0)) else -1.0  # as in `_coefficient`
    low, high = min(max(found - half, lowest), found), max(min(found + half, 1.0), found)
    return replace(figure, ci_low=low, ci_high=high, method="t_jackknife", se=se)


def _sums(parts: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    sums = np.zeros((int(codes.max()) + 1, parts.shape[1]))
    np.add.at(sums, codes, parts)
    return sums


def krippendorff_alpha(
    ratings: UnitRatings, *, distance: Distance = "nominal", level: float = 0.95, seed: int = 0
) -> Figure:
    """Krippendorff's alpha: agreement beyond chance, with any number of raters and missing ratings.

    Args:
        ratings: Units with one rating are left out and counted as dropped.
        distance: `nominal`; `ordinal`, by how many ratings lie between two labels in their declared order; `interval`
            and `ratio`, for labels that are numbers (here the values that occur may be declared).
        level: Of the two-sided interval.
        seed: Of the bootstrap.

    Returns:
        Alpha, at most 1; 0 is chance. Undefined: no_pairable without a unit that has two ratings, single_category if
        all of theirs are the same. The interval is BCa, from resamples of units (or clusters); with perfect agreement
        the exact bound. `se` is the linearised one, given the distances.

    Raises:
        ValueError: Labels are no numbers, or negative for `ratio`.

    Source:
        Krippendorff 2011; for the standard error Gwet 2014, chapter 3.
    """
    check_level(level)
    if ratings.n == 0:
        return ratings.undefined("no_data", level)
    paired = ratings.pairable()
    if paired.n == 0:
        return replace(ratings.undefined("no_pairable", level), n=0, n_dropped=paired.n_dropped)
    counts = paired.counts.astype(np.float64)
    total, k = counts.sum(axis=1), len(ratings.labels)
    size, uses = float(counts.sum()), counts.sum(axis=0)
    if np.count_nonzero(uses) == 1:
        return paired.undefined("single_category", level)
    fixed = None if distance == "ordinal" else _distances(distance, ratings.labels)
    costs = _ordinal(uses[None])[0] if fixed is None else fixed
    seen = np.sum(counts * (counts @ costs), axis=1) / (total - 1)
    expected = float(uses @ costs @ uses)
    value = 1 - (size - 1) * float(seen.sum()) / expected
    plain = size * float(seen.sum()) / expected  # 1 - alpha with n in place of n - 1, as linearised below
    # for the varying number of ratings irrCAC takes the cost with n - 1, hence 1/size: the example asks for its value
    move = total / size * (1 + 1 / size) - 2 * (counts @ (costs @ uses)) / expected
    influence = plain / size - paired.n * (plain * move + size * seen / expected)
    worst = float(costs[:, uses > 0][uses > 0].max()) * size * (size - 1) / expected
    figure = _by_unit(value, influence, worst, paired, level)
    if value == 1 or figure.reason in {"too_few", "too_few_clusters"}:
        return figure
    if fixed is None:  # its distances change with every resample
        off = (1 - np.eye(k)).ravel()
        together = (counts[:, :, None] * counts[:, None, :]).reshape(paired.n, -1) * off / (total - 1)[:, None]
        parts = np.column_stack([together, counts])
    else:
        parts = np.column_stack([seen, counts])

    def statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        used = totals[:, -k:]
        sizes = used.sum(axis=1)
        if fixed is None:
            drawn = _ordinal(used)
            found = np.einsum("tij,tij->t", totals[:, :-k].reshape(-1, k, k), drawn)
            chance = np.einsum("ti,tij,tj->t", used, drawn, used)
        else:
            found, chance = totals[:, 0], np.sum(used * (used @ fixed), axis=1)
        several = np.count_nonzero(used > 0, axis=1) > 1
        return np.where(several, 1 - (sizes - 1) * found / np.where(several, chance, 1.0), np.nan)

    if paired.clusters is not None:
        parts = _sums(parts, paired.clusters)
    kinds, times = np.unique(parts, axis=0, return_counts=True)
    drawn = resample(kinds, times, resamples=BCA_RESAMPLES, seed=seed).interval(statistic, level=level)
    return drawn.onto(replace(figure, ci_low=None, ci_high=None, reason=None))


def _distances(distance: Distance, labels: tuple[Hashable, ...]) -> NDArray[np.float64]:
    if distance == "nominal":
        return 1 - np.eye(len(labels))
    if distance not in {"interval", "ratio"}:
        raise ValueError(f"distance {distance!r}: choose nominal, ordinal, interval or ratio")
    values = np.array([_number(label) for label in labels])
    if not bool(np.all(np.isfinite(values))):
        raise ValueError(f"{distance} distances need labels that are numbers, not {list(labels)}")
    apart = np.subtract.outer(values, values)
    if distance == "interval":
        return np.asarray(apart**2, dtype=np.float64)
    if bool(np.any(values < 0)):
        raise ValueError("ratio distances need labels that are not negative")
    together = np.add.outer(values, values)
    return np.asarray((apart / np.where(together > 0, together, 1.0)) ** 2, dtype=np.float64)


def _number(label: object) -> float:
    return float(label) if isinstance(label, Real) else np.nan


def _ordinal(uses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances of mid-ranks, shape (any, k, k), from how often each label is used, shape (any, k)."""
    ranks = np.cumsum(uses, axis=1) - uses / 2
    return np.asarray((ranks[:, :, None] - ranks[:, None, :]) ** 2, dtype=np.float64)
