"""Where to cut scores so that kappa is highest, and what such a cut reaches on cases it was not chosen on.

Kappa and not Youden's J: J weighs the two classes alike, so where most answers are good its cut fails many of them,
and agreement with people falls.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.mapping import assign_folds
from calibration.statistics.resampling import Resamples, resample_table
from calibration.statistics.threshold import MinimumCost, Rule, TargetPrecision, Youden
from judges.figures import Figure
from judges.intervals import Clusters, cluster_codes

__all__ = ["FOLDS", "Cut", "CutRule", "best_cut", "cut_interval", "decide_out_of_fold", "folds_of", "kappa_by_cut"]

FOLDS = 5
CutRule: TypeAlias = Literal["kappa"] | Rule
"""What a threshold is chosen by."""

_CANDIDATES = 256
_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of scores: pass from it on, or up to it."""

    at: float | None
    """None: nothing passes."""
    kappa: float
    """On the items it was chosen on: optimistic."""
    rising: bool = True
    """High scores pass; else low ones do."""

    def passes(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which scores pass."""
        if self.at is None:
            return np.zeros(scores.size, dtype=np.bool_)
        return scores >= self.at if self.rising else scores <= self.at


def kappa_by_cut(
    scores: NDArray[np.float64], good: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every distinct score, rising, and the kappa of passing what reaches it.

    Args:
        scores: One per item.
        good: Whether people pass it.
    """
    cuts, group = np.unique(scores, return_inverse=True)
    counts = np.stack([np.bincount(group[each], minlength=cuts.size) for each in (~good, good)], axis=1)
    return cuts, _kappas(counts[None].astype(np.float64))[0]


def _kappas(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The kappa of each cut, from counts of shape (any, cuts, 2): people's fails and passes at each score."""
    passed = _passed(counts)
    n, yes = passed[:, :1].sum(axis=2), passed[:, :1, 1]
    judged = passed.sum(axis=2)
    seen = passed[:, :, 0] + yes - passed[:, :, 1]  # disagreements
    expected = (yes * (n - judged) + (n - yes) * judged) / np.maximum(n, 1)
    return np.asarray(1 - np.where(expected > 0, seen / np.where(expected > 0, expected, 1.0), 1.0), dtype=np.float64)


def _passed(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """People's fails and passes among what each cut passes."""
    return np.asarray(np.cumsum(counts[:, ::-1], axis=1)[:, ::-1], dtype=np.float64)


def _values(counts: NDArray[np.float64], rule: CutRule) -> NDArray[np.float64]:
    """What a rule is about, larger being better, at each cut; NaN where it has no value."""
    passed = _passed(counts)
    fp, tp = passed[:, :, 0], passed[:, :, 1]
    no, yes = fp[:, :1], tp[:, :1]
    with np.errstate(invalid="ignore", divide="ignore"):
        match rule:
            case Youden():
                return np.asarray(tp / yes - fp / no, dtype=np.float64)
            case MinimumCost(false_positive=false_pass, false_negative=false_fail):
                return np.asarray(-(false_pass * fp + false_fail * (yes - tp)), dtype=np.float64)
            case TargetPrecision(target=target):
                return np.where(tp / (tp + fp) >= target, tp, np.nan)
            case _:
                kappas = _kappas(counts)
                return np.where(kappas > 0, kappas, np.nan)


def best_cut(scores: NDArray[np.float64], good: NDArray[np.bool_], *, either_way: bool = False) -> Cut:
    """The cut with the highest kappa, the highest of those that tie. None is better than passing nothing: kappa 0.

    Args:
        scores: One per item.
        good: Whether people pass it.
        either_way: Whether low scores may be the good ones.
    """
    found = Cut(None, 0.0)
    for rising in (True, False) if either_way else (True,):
        cuts, kappas = kappa_by_cut(scores if rising else -scores, good)
        if cuts.size and float(kappas.max()) > found.kappa:
            place = int(np.flatnonzero(kappas >= kappas.max())[-1])
            at = float(cuts[place])
            found = Cut(at if rising else -at, float(kappas[place]), rising)
    return found


def folds_of(n: int, clusters: Clusters | None, *, seed: int = 0) -> NDArray[np.intp] | None:
    """A fold for each of n items, clusters kept together; None if there are too few of them to hold any out."""
    groups = n if clusters is None else cluster_codes(clusters, n)[1]
    if groups < 2 * FOLDS:
        return None
    return assign_folds(n, clusters=clusters, folds=FOLDS, seed=seed)


def decide_out_of_fold(
    scores: NDArray[np.float64], good: NDArray[np.bool_], folds: NDArray[np.intp], *, either_way: bool = False
) -> NDArray[np.bool_]:
    """Pass or fail of each item, by the cut that is best on the other folds."""
    decided = np.zeros(scores.size, dtype=np.bool_)
    for fold in np.unique(folds):
        out = folds == fold
        decided[out] = best_cut(scores[~out], good[~out], either_way=either_way).passes(scores[out])
    return decided


def cut_interval(
    scores: NDArray[np.float64],
    good: NDArray[np.bool_],
    cut: float,
    clusters: Clusters | None = None,
    *,
    rule: CutRule = "kappa",
    level: float = 0.95,
    seed: int = 0,
) -> Figure:
    """The best cut with its percentile interval: how far it moves when items (clusters) are drawn anew.

    With more than 256 distinct scores as many of their quantiles are tried in the resamples.

    Args:
        scores: One per item.
        good: Whether people pass it.
        cut: The best cut on all items.
        clusters: One id per item, or None when items are independent.
        rule: What is best.
        level: Of the interval.
        seed: Of the bootstrap.
    """
    cuts = np.unique(scores)
    if cuts.size > _CANDIDATES:
        cuts = np.unique(np.quantile(scores, np.linspace(0, 1, _CANDIDATES), method="lower"))
    cells = 2 * (np.searchsorted(cuts, scores, side="right") - 1) + good
    size = 2 * cuts.size
    n_clusters = None
    if clusters is None:
        drawn = resample_table(np.bincount(cells, minlength=size), resamples=_RESAMPLES, seed=seed)
    else:
        codes, n_clusters = cluster_codes(clusters, scores.size)
        drawn = _by_cluster(cells, size, codes, n_clusters, seed)

    def best(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = np.array_split(totals, max(1, len(totals) // 100))
        values = np.concatenate([_values(part.reshape(-1, cuts.size, 2), rule) for part in parts])
        known = np.where(np.isnan(values), -np.inf, values)
        last = cuts.size - 1 - np.argmax(known[:, ::-1], axis=1)
        return np.asarray(np.where(np.isnan(values).all(axis=1), np.nan, cuts[last]), dtype=np.float64)

    figure = Figure(cut, level=level, n=scores.size, n_clusters=n_clusters)
    if np.isnan(best(drawn.observed[None])[0]):
        return figure
    return drawn.interval(best, method="percentile", level=level).onto(figure)


def _by_cluster(cells: NDArray[np.intp], size: int, codes: NDArray[np.intp], groups: int, seed: int) -> Resamples:
    """Totals by cell of whole clusters drawn anew: an item counts as often as its cluster was drawn."""
    generator = np.random.default_rng(seed)
    drawn = np.empty((_RESAMPLES, size))
    for at in range(_RESAMPLES):
        weights = np.bincount(generator.integers(groups, size=groups), minlength=groups)[codes]
        drawn[at] = np.bincount(cells, weights=weights, minlength=size)
    observed = np.bincount(cells, minlength=size).astype(np.float64)
    return Resamples(observed, drawn, observed[None][:0], np.ones(groups, dtype=np.int64), seed)
