"""Judge and people as numbers on a scale: how they go together, and how far apart they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.meaning import Scale
from calibration.pairs import Pair, Pairs
from calibration.statistics.scores import (
    BlandAltman,
    ScorePairs,
    bland_altman,
    bootstrap_weighted,
    concordance,
    kendall,
    mean_absolute_error,
    pair_scores,
    pairwise_accuracy,
    pearson,
    root_mean_squared_error,
    spearman,
    weighted_spearman,
)
from judges.figures import Figure, to_record

__all__ = ["Beyond", "Differences", "Rank", "Scores", "scores_of"]


@dataclass(frozen=True, slots=True)
class Beyond:
    """Numbers outside the declared range. They stay as they are."""

    whose: str
    count: int
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Differences:
    """How far apart judge and people are, in units of the scale; where both use the same one."""

    bland_altman: BlandAltman
    concordance: Figure
    """Lin's: 1 if both are the same number."""
    mae: Figure
    rmse: Figure


@dataclass(frozen=True, slots=True)
class Rank:
    """A plain measure in the judge's place."""

    name: str
    spearman: Figure
    advantage: Figure
    """Spearman's correlation of the judge less the size of this one's, on the same cases."""

    @property
    def beaten(self) -> bool:
        """Whether all of the interval of the advantage lies above 0."""
        return self.advantage.ci_low is not None and self.advantage.ci_low > 0

    def to_record(self) -> dict[str, object]:
        """The measure as JSON-ready values."""
        return {**to_record(self), "beaten": self.beaten}


@dataclass(frozen=True, slots=True)
class Scores:
    """Judge's scores and people's numbers."""

    pearson: Figure
    spearman: Figure
    kendall: Figure
    """Tau-b."""
    ordered_alike: Figure
    """Share of pairs of cases that both order alike; a tie on both sides is alike."""
    baselines: tuple[Rank, ...]
    differences: Differences | None
    """None where judge and people use different scales."""
    stretched: bool
    """The judge's 0 to 1 was laid on the declared range, for the differences."""
    beyond: tuple[Beyond, ...]
    constant: bool
    """The judge gives every case the same score, although people's numbers differ."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return {**to_record(self), "baselines": [each.to_record() for each in self.baselines]}


def scores_of(pairs: Pairs) -> Scores | None:
    """Hold scores against people's numbers; None where one side has none.

    Differences are looked at where both use one scale: the judge's numbers are stored and lie where the people's do or
    a range is declared; or the judge's go from 0 to 1 and the range is declared, on which they are then laid.
    """
    meaning, scale = pairs.question.meaning, pairs.question.meaning.scale
    kept = [each for each in pairs.pairs if each.number is not None and _number(each, pairs) is not None]
    if not meaning.numeric or not kept:
        return None
    human = np.array([each.number for each in kept], dtype=np.float64)
    judge = np.array([_number(each, pairs) for each in kept], dtype=np.float64)
    clusters = [each.cluster for each in kept] if pairs.clustered else None
    paired = pair_scores(human, judge, clusters=clusters)
    stored = pairs.question.subject.field is not None
    lowest, highest = float(judge.min()), float(judge.max())
    inside = meaning.within(lowest, highest) or (_beyond("judge", judge, scale) is None and _is_range(scale))
    laid = None if stored and (inside or lowest < 0 or highest > 1) else _laid(judge, scale)
    same = stored and laid is None and (inside or (scale is not None and scale.ordered))
    differences = None
    if laid is not None or same:
        compared = paired if laid is None else pair_scores(human, laid, clusters=clusters)
        differences = Differences(
            bland_altman(compared),
            concordance(compared),
            mean_absolute_error(compared),
            root_mean_squared_error(compared),
        )
    beyond = [_beyond("people", human, scale), _beyond("judge", judge, scale) if stored and laid is None else None]
    return Scores(
        pearson(paired),
        spearman(paired),
        kendall(paired),
        pairwise_accuracy(paired),
        _ranks(kept, paired, clusters),
        differences,
        laid is not None,
        tuple(each for each in beyond if each is not None),
        bool(np.ptp(judge) == 0 < np.ptp(human)),
    )


def _number(pair: Pair, pairs: Pairs) -> float | None:
    """The judge's number; a level it named counts by its place."""
    if pair.score is not None or pair.said not in pairs.question.meaning.labels:
        return pair.score
    return None if pairs.question.meaning.binary else pairs.question.meaning.number(pair.said)


def _is_range(scale: Scale | None) -> bool:
    return scale is not None and scale.low is not None


def _laid(judge: NDArray[np.float64], scale: Scale | None) -> NDArray[np.float64] | None:
    if scale is None or scale.low is None or scale.high is None:
        return None
    return np.asarray(scale.low + judge * (scale.high - scale.low), dtype=np.float64)


def _beyond(whose: str, numbers: NDArray[np.float64], scale: Scale | None) -> Beyond | None:
    if scale is None or scale.low is None or scale.high is None:
        return None
    outside = int(np.count_nonzero((numbers < scale.low) | (numbers > scale.high)))
    return Beyond(whose, outside, float(numbers.min()), float(numbers.max())) if outside else None


def _ranks(kept: Sequence[Pair], judged: ScorePairs, clusters: Sequence[str] | None) -> tuple[Rank, ...]:
    found: list[Rank] = []
    for name in ("overlap", "length"):
        values = np.array([getattr(each, name) for each in kept], dtype=np.float64)
        if np.unique(values).size < 2:
            continue  # nothing to go by: the records hold labels and no texts, say
        plain = pair_scores(judged.human, values, clusters=clusters)
        own = spearman(plain)
        found.append(Rank(name, own, _advantage(judged, plain, own)))
    return tuple(found)


def _advantage(judged: ScorePairs, plain: ScorePairs, own: Figure) -> Figure:
    """Percentile bootstrap of cases or clusters, for both on the same ones."""
    of_judge, of_plain = weighted_spearman(judged), weighted_spearman(plain)

    def statistic(weights: NDArray[np.int64]) -> float | None:
        first, second = of_judge(weights), of_plain(weights)
        return None if first is None or second is None else first - abs(second)

    value = statistic(np.ones(judged.n, dtype=np.int64))
    if value is None:
        return own if own.value is None else judged.undefined("constant_input", 0.95)
    figure = Figure(value, n=judged.n, n_clusters=judged.n_clusters)
    if judged.n_clusters is not None and judged.n_clusters < 2:
        return replace(figure, reason="too_few")
    return bootstrap_weighted(judged, figure, statistic)
