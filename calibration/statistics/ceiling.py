"""The human ceiling: how far humans agree with each other, which is all one can ask of a judge.

Source:
    SPEC section 2, after Calderon, Reichart & Dror 2025, arXiv:2501.10970 (the same references for judge and human).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import jackknife_se
from calibration.statistics.tables import Invalid, InvalidRule, encode_labels
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, check_level, cluster_codes, mean, sample_flags, t_quantile

__all__ = ["Answers", "Closeness", "GoldNoise", "HumanCeiling", "Ratings", "closeness", "gold_noise", "human_ceiling"]

Ratings: TypeAlias = Sequence[Sequence[Hashable]] | NDArray[np.generic]
"""Shape (items, humans); None where a human gave no label."""
Answers: TypeAlias = Sequence[Hashable] | NDArray[np.generic]
"""Shape (items,); None where the judge's answer is missing, `INVALID` where it is no label."""

NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Closeness:
    """How close human and judge are to the same other humans.

    One row per label of a human that has other humans and an answer of the judge beside it.
    """

    item: NDArray[np.intp]
    human: NDArray[np.intp]
    group: NDArray[np.intp]
    """Cluster of the item; the item itself where items are independent."""
    own: NDArray[np.float64]
    """How close the human is to the others; larger is closer."""
    judged: NDArray[np.float64]
    """How close the judge is to the same others."""
    width: int
    """Humans."""
    n_items: int
    n_unused: int
    """Labels of humans without such a row."""

    def of(self, human: int) -> NDArray[np.intp]:
        """The rows of one human."""
        return np.flatnonzero(self.human == human)


def closeness(
    ratings: Ratings,
    judge: Answers,
    labels: Sequence[Hashable] | None,
    clusters: Clusters | None,
    invalid: InvalidRule = "disagree",
) -> Closeness:
    """Hold every human, and the judge in their place, against the other humans of the item.

    Args:
        ratings: Human labels.
        judge: The judge's answers. An invalid one is further from the humans than any label.
        labels: The declared labels: closeness is the share of the others that agree. None: answers are numbers, and
            closeness is minus the root of the mean squared distance to the others.
        clusters: One id per item, or None when items are independent.
        invalid: Whether an invalid answer counts or is left out.

    Raises:
        ValueError: Shapes don't fit, a label is not declared, or without labels an answer is no number.
    """
    width = len(ratings[0]) if len(ratings) else 0
    if len(ratings) != len(judge) or any(len(row) != width for row in ratings):
        raise ValueError("give one row of human labels and one answer of the judge per item, None where one is missing")
    n = len(ratings)
    if labels is None:
        values = np.array([_numbers(row) for row in ratings], dtype=np.float64).reshape(n, width)
        answers = _numbers([None if isinstance(each, Invalid) else each for each in cast("list[Hashable]", judge)])
        answers[[isinstance(each, Invalid) for each in judge]] = np.inf
        given = ~np.isnan(values)
        missing = np.isnan(answers) | (np.isinf(answers) & (invalid == "drop"))
    else:
        values = np.array([encode_labels(row, labels) for row in ratings], dtype=np.float64).reshape(n, width)
        answers = encode_labels(judge, labels, may_be_invalid=True).astype(np.float64)
        given = values >= 0
        missing = (answers < 0) | ((answers == len(labels)) & (invalid == "drop"))
    group = np.arange(n) if clusters is None else cluster_codes(clusters, n)[0]
    usable = given & (given.sum(axis=1) > 1)[:, None] & ~missing[:, None]
    item, human = np.nonzero(usable)
    others = given[item].copy()
    others[np.arange(item.size), human] = False
    seen, size = values[item], others.sum(axis=1)

    def of_answer(answer: NDArray[np.float64]) -> NDArray[np.float64]:
        if labels is not None:
            return np.asarray(np.sum((seen == answer[:, None]) & others, axis=1) / size, dtype=np.float64)
        apart = np.where(others, seen, answer[:, None])
        with np.errstate(invalid="ignore"):
            distance = np.where(others, apart - answer[:, None], 0.0)
        return np.asarray(-np.sqrt(np.sum(distance**2, axis=1) / size), dtype=np.float64)

    own, judged = of_answer(values[item, human]), of_answer(answers[item])
    return Closeness(item, human, group[item], own, judged, width, n, int(np.count_nonzero(given)) - item.size)


def _numbers(values: Sequence[Hashable] | NDArray[np.generic]) -> NDArray[np.float64]:
    found = np.array([np.nan if each is None else each for each in values])
    if found.size and found.dtype.kind not in "iufb":
        raise ValueError("without declared labels answers are numbers: declare the labels")
    numbers = found.astype(np.float64)
    if bool(np.any(np.isinf(numbers))):
        raise ValueError("a number is infinite: leave it out as None")
    return numbers


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """How far humans agree with each other, and the judge with the same humans."""

    humans: Figure
    """Mean over a human's labels of the share of the other humans that agree."""
    judge: Figure
    """The same for the judge, against the same other humans."""
    difference: Figure
    """Judge minus humans, by item or cluster."""
    by_annotator: tuple[Figure, ...]
    judge_by_annotator: tuple[Figure, ...]
    human_kappa: Figure
    """Mean of Cohen's kappa over pairs of humans; pairs without a kappa are left out."""
    judge_kappa: Figure
    """Mean of Cohen's kappa of the judge with each human."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def human_ceiling(
    ratings: Ratings,
    judge: Answers,
    *,
    labels: Sequence[Hashable],
    clusters: Clusters | None = None,
    invalid: InvalidRule = "disagree",
    level: float = 0.95,
) -> HumanCeiling:
    """The agreement one can ask of a judge: that of a human with the others.

    Judge and human are held against the same other humans, never "judge against a majority of m" beside "human against
    a majority of m - 1". Standard errors are by item, or by cluster.

    Args:
        ratings: Shape (items, humans), None where a human gave no label. Labels without another human or an answer of
            the judge beside them are dropped and counted.
        judge: One answer per item, None where it is missing, `INVALID` where it is no label.
        labels: The declared labels.
        clusters: One id per item, or None when items are independent.
        invalid: Whether an invalid answer is a disagreement or left out.
        level: Of the two-sided intervals.

    Source:
        SPEC section 2, after Calderon, Reichart & Dror 2025.
    """
    check_level(level)
    rows = closeness(ratings, judge, labels, clusters, invalid)
    halves = (rows.judged - rows.own + 1) / 2
    shifted = mean(halves, rows.group, level=level, n_dropped=rows.n_unused)
    difference = shifted
    if shifted.value is not None:
        low, high = (None if each is None else 2 * each - 1 for each in (shifted.ci_low, shifted.ci_high))
        value = float(np.mean(rows.judged - rows.own))
        low, high = None if low is None else min(low, value), None if high is None else max(high, value)
        se = None if shifted.se is None else 2 * shifted.se
        difference = replace(shifted, value=value, ci_low=low, ci_high=high, se=se)
    n = len(judge)
    codes = np.array([encode_labels(row, labels) for row in ratings], dtype=np.intp).reshape(n, rows.width)
    answers = encode_labels(judge, labels, may_be_invalid=True)
    if invalid == "drop":
        answers = np.where(answers == len(labels), -1, answers)
    groups = None if clusters is None else cluster_codes(clusters, n)[0]
    among = [(codes[:, a], codes[:, b]) for a, b in combinations(range(rows.width), 2)]
    with_judge = [(codes[:, a], answers) for a in range(rows.width)]
    own = [rows.of(human) for human in range(rows.width)]
    return HumanCeiling(
        mean(rows.own, rows.group, level=level, n_dropped=rows.n_unused),
        mean(rows.judged, rows.group, level=level, n_dropped=rows.n_unused),
        difference,
        tuple(mean(rows.own[each], rows.group[each], level=level) for each in own),
        tuple(mean(rows.judged[each], rows.group[each], level=level) for each in own),
        _mean_kappa(among, len(labels) + 1, groups, level),
        _mean_kappa(with_judge, len(labels) + 1, groups, level),
    )


def _mean_kappa(
    pairs: list[tuple[NDArray[np.intp], NDArray[np.intp]]], k: int, groups: NDArray[np.intp] | None, level: float
) -> Figure:
    """The mean of unweighted kappas over pairs of raters, with a t interval by the jackknife of items or clusters."""
    n = pairs[0][0].size if pairs else 0
    parts = np.zeros((n, len(pairs), k * k))
    for place, (first, second) in enumerate(pairs):
        both = np.flatnonzero((first >= 0) & (second >= 0))
        parts[both, place, first[both] * k + second[both]] = 1.0
    used = np.flatnonzero(parts.any(axis=(1, 2)))
    if used.size == 0:
        return undefined("no_pairable" if n else "no_data", n_dropped=n, level=level)
    codes, n_groups = cluster_codes(used if groups is None else groups[used], used.size)
    units = np.zeros((n_groups, parts[0].size))
    np.add.at(units, codes, parts[used].reshape(used.size, -1))
    n_clusters, dropped = None if groups is None else n_groups, n - used.size

    def value(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        tables = totals.reshape(-1, len(pairs), k, k)
        rows, columns = tables.sum(axis=3), tables.sum(axis=2)
        size = rows.sum(axis=2)
        expected = size**2 - np.sum(rows * columns, axis=2)
        seen = size * (size - np.trace(tables, axis1=2, axis2=3))
        kappas = np.where(expected > 0, 1 - seen / np.where(expected > 0, expected, 1.0), 0.0)
        defined = np.count_nonzero(expected > 0, axis=1)
        return np.where(defined > 0, kappas.sum(axis=1) / np.maximum(defined, 1), np.nan)

    found = float(value(units.sum(axis=0)[None])[0])
    if np.isnan(found):
        return replace(undefined("single_category", n=used.size, n_dropped=dropped, level=level), n_clusters=n_clusters)
    flags = sample_flags(used.size, n_clusters, dropped, *(["perfect_agreement"] if found == 1 else []))
    figure = Figure(found, level=level, n=used.size, n_clusters=n_clusters, n_dropped=dropped, flags=flags)
    if n_groups < 2:
        return replace(figure, reason="too_few" if groups is None else "too_few_clusters")
    se = jackknife_se(units, value)
    if se is None or se <= NOTHING:
        return replace(figure, reason="singular")
    half = t_quantile(level, n_groups - 1) * se
    low, high = max(found - half, -1.0), min(found + half, 1.0)
    return replace(figure, ci_low=low, ci_high=high, method="t_jackknife", se=se)


# What errors of the humans do to the judge's


@dataclass(frozen=True, slots=True)
class GoldNoise:
    """Error rates that the disagreements would imply. A sensitivity figure only: no interval, never a result."""

    human_error: Figure
    judge_error: Figure
    """Can be below 0 or above 1 where the model does not fit; it is not clipped."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def gold_noise(human_human_disagreement: float, judge_human_disagreement: float) -> GoldNoise:
    """How often human and judge would err if their errors on two labels were symmetric and independent.

    They are not: errors on hard items are shared, so this flatters the judge.

    Raises:
        ValueError: A rate is outside 0 to 1.

    Source:
        d_HH = 2 e_h (1 - e_h) and d_JH = e_h + e_j - 2 e_h e_j; SPEC section 2. d_HH of 0.5 or more: not_identified.
    """
    if not (0 <= human_human_disagreement <= 1 and 0 <= judge_human_disagreement <= 1):
        raise ValueError("give both disagreements as shares from 0 to 1")
    if human_human_disagreement >= 0.5:
        return GoldNoise(undefined("not_identified"), undefined("not_identified"))
    human = (1 - sqrt(1 - 2 * human_human_disagreement)) / 2
    return GoldNoise(Figure(human), Figure((judge_human_disagreement - human) / (1 - 2 * human)))
