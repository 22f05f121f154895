"""Could the judge stand in for one of the human annotators? Each is held against the same other humans.

Sources:
    Calderon, Reichart & Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge", arXiv:2501.10970. Benjamini &
    Yekutieli 2001, Annals of Statistics 29:1165.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.ceiling import Answers, Closeness, Ratings, closeness
from calibration.statistics.multiplicity import benjamini_yekutieli
from calibration.statistics.tables import InvalidRule
from judges.figures import Figure, to_record, undefined
from judges.intervals import (
    Clusters,
    check_level,
    cluster_codes,
    influence_se,
    mean,
    proportion,
    proportion_interval,
    ratio,
    sample_flags,
    signed_share,
    t_quantile,
)

__all__ = [
    "EPSILON_CROWD",
    "EPSILON_EXPERT",
    "EPSILON_SKILLED",
    "AlternativeAnnotatorTest",
    "AnnotatorComparison",
    "alternative_annotator_test",
]

EPSILON_EXPERT: Final = 0.2
EPSILON_SKILLED: Final = 0.15
EPSILON_CROWD: Final = 0.1
NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """The judge against one human, both held against the other humans of the same items."""

    annotator: Hashable
    n: int
    human_better: int
    """Items on which the human is closer to the others (d = +1)."""
    judge_better: int
    """Items on which the judge is closer (d = -1)."""
    advantage_judge: Figure
    """Share of items on which the judge is at least as close as the human."""
    advantage_human: Figure
    difference: Figure
    """Mean d: advantage of the human minus that of the judge."""
    t: float | None
    """None if d does not vary."""
    p_value: float
    """Of "the human's advantage is epsilon or more", one-sided."""
    adjusted_p: float
    """By Benjamini and Yekutieli, over the humans tested."""
    rejected: bool
    """The judge wins against this human."""
    exact_p: float | None
    """By the binomial distribution of `human_better`; None with clusters."""
    exact_rejected: bool | None


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """The alternative annotator test: may the judge replace the humans?"""

    humans: tuple[AnnotatorComparison, ...]
    skipped: tuple[Hashable, ...]
    """Humans with too few items or, where there are clusters, items of one cluster only."""
    winning_rate: Figure
    """Share of the humans tested against whom the judge wins; no interval."""
    passes: bool | None
    """Whether the winning rate reaches 0.5; None if nobody could be tested."""
    advantage: Figure
    """Average advantage probability: the mean over humans of the judge's advantage. The interval is by item."""
    human_alignment: Figure
    """How close the tested humans are to the others: mean share that agrees, or mean root of the squared distance.
    Bad humans are easy to match."""
    judge_alignment: Figure
    """The same for the judge, against the same others."""
    epsilon: float
    q: float
    n_items: int
    """Items with two humans or more and an answer of the judge."""
    n_dropped: int
    few_humans: bool
    """Fewer than three humans tested."""
    exact_disagrees: bool
    """The exact test decides otherwise for some human: don't rely on t."""

    def to_record(self) -> dict[str, object]:
        """The test as JSON-ready values."""
        return to_record(self)


def alternative_annotator_test(
    ratings: Ratings,
    judge: Answers,
    *,
    epsilon: float,
    labels: Sequence[Hashable] | None = None,
    annotators: Sequence[Hashable] | None = None,
    clusters: Clusters | None = None,
    min_items: int = 30,
    q: float = 0.05,
    invalid: InvalidRule = "disagree",
    level: float = 0.95,
) -> AlternativeAnnotatorTest:
    """Test whether the judge is as close to the humans as they are to each other, less `epsilon` for its price.

    Args:
        ratings: Shape (items, humans), None where a human gave no label.
        judge: One answer per item, None where it is missing; `INVALID` is further from the humans than any label.
        epsilon: What a human must be better by to be worth it: 0.2 for experts, 0.15 skilled, 0.1 crowd.
        labels: The declared labels: closeness is the share of the other humans that agree. None: answers are numbers,
            and closeness is minus the root of the mean squared distance to the others.
        annotators: Names of the humans; 0 to H-1 if None.
        clusters: One id per item: standard errors are by cluster, t has G-1 degrees of freedom, and there is no exact
            test.
        min_items: Humans with fewer are skipped.
        q: False discovery rate over the humans.
        invalid: Whether an invalid answer counts, as above, or is left out.
        level: Of the intervals; not used by the test.

    Raises:
        ValueError: Shapes don't fit, a label is not declared, or epsilon or q is out of range.

    Source:
        Calderon, Reichart & Dror 2025. Where d does not vary: p = (1 - epsilon)^n if d < epsilon, else 1, with the
        number of clusters for n where there are clusters.
    """
    check_level(level)
    if not (0 <= epsilon < 1 and 0 < q < 1 and min_items >= 2):
        raise ValueError("epsilon is from 0 to below 1, q between 0 and 1, and min_items 2 or more")
    rows = closeness(ratings, judge, labels, clusters, invalid)
    names = tuple(range(rows.width) if annotators is None else annotators)
    if len(names) != rows.width:
        raise ValueError(f"{len(names)} names for {rows.width} humans: give one each")
    tested: list[int] = []
    for human in range(rows.width):
        own = rows.of(human)
        enough = own.size >= min_items and (clusters is None or np.unique(rows.group[own]).size > 1)
        tested += [human] if enough else []
    found = [_compare(rows, rows.of(human), epsilon, clusters is not None, level) for human in tested]
    adjusted = benjamini_yekutieli([each.p_value for each in found])
    exact = [each.exact_p for each in found if each.exact_p is not None]
    exactly = benjamini_yekutieli(exact) if clusters is None else [None] * len(found)
    humans = tuple(
        replace(
            each, annotator=names[human], adjusted_p=p, rejected=p <= q, exact_rejected=None if e is None else e <= q
        )
        for human, each, p, e in zip(tested, found, adjusted, exactly, strict=True)
    )
    items, dropped = np.unique(rows.item).size, rows.n_items - np.unique(rows.item).size
    skipped = tuple(name for human, name in enumerate(names) if human not in tested)
    if not humans:
        nothing = undefined("too_few", n=0, level=level)
        none = replace(nothing, n_dropped=dropped)
        return AlternativeAnnotatorTest(
            (), skipped, nothing, None, none, none, none, epsilon, q, items, dropped, True, False
        )
    rate = sum(each.rejected for each in humans) / len(humans)
    kept = np.isin(rows.human, tested)
    alignment = [
        _alignment(each[kept], rows.group[kept], labels is not None, level) for each in (rows.own, rows.judged)
    ]
    return AlternativeAnnotatorTest(
        humans,
        skipped,
        Figure(rate, level=level, n=len(humans)),
        rate >= 0.5,
        _advantage(rows, tested, clusters is not None, dropped, level),
        alignment[0],
        alignment[1],
        epsilon,
        q,
        items,
        dropped,
        len(humans) < 3,
        any(each.exact_rejected not in {None, each.rejected} for each in humans),
    )


def _compare(
    rows: Closeness, own: NDArray[np.intp], epsilon: float, clustered: bool, level: float
) -> AnnotatorComparison:
    from scipy.special import bdtr, stdtr

    gap = rows.own[own] - rows.judged[own]
    near = np.isfinite(gap) & (np.abs(gap) <= NOTHING * np.maximum(np.abs(rows.own[own]), 1.0))
    d = np.where(near, 0, np.sign(gap)).astype(np.int64)
    n, plus, minus = own.size, int(np.count_nonzero(d > 0)), int(np.count_nonzero(d < 0))
    ids = rows.group[own] if clustered else None
    codes, groups = cluster_codes(rows.group[own], n)
    average = (plus - minus) / n
    error = influence_se(d.astype(np.float64) - average, codes, groups)
    if error.se == 0:
        t, p = None, (1 - epsilon) ** groups if average < epsilon else 1.0
    else:
        t = (average - epsilon) / error.se
        p = float(stdtr(groups - 1, t))
    trials, chance = (n, epsilon) if epsilon > 0 else (plus + minus, 0.5)
    exact = None if clustered else float(bdtr(plus, trials, chance))
    return AnnotatorComparison(
        None,
        n,
        plus,
        minus,
        proportion(d <= 0, ids, level=level),
        proportion(d >= 0, ids, level=level),
        signed_share(d, ids, level=level),
        t,
        p,
        p,
        False,
        exact,
        None,
    )


def _advantage(rows: Closeness, tested: list[int], clustered: bool, dropped: int, level: float) -> Figure:
    """The mean over humans of the judge's advantage: t by item or cluster; with no variance Wilson's for as many."""
    influence = np.zeros(rows.item.size)
    kept, shares = np.isin(rows.human, tested), list[float]()
    total = int(np.count_nonzero(kept))
    for human in tested:
        own = rows.of(human)
        won = rows.judged[own] >= rows.own[own] - NOTHING * np.maximum(np.abs(rows.own[own]), 1.0)
        shares.append(float(won.mean()))
        influence[own] = (won - shares[-1]) * total / (len(tested) * own.size)
    value = float(np.mean(shares))
    codes, groups = cluster_codes(rows.group[kept], total)
    error = influence_se(influence[kept], codes, groups)
    items = np.unique(rows.item[kept]).size
    flags = sample_flags(items, groups if clustered else None, dropped)
    figure = Figure(value, None, None, level, "t", items, groups if clustered else None, dropped, None, flags, error.se)
    if error.se == 0:
        low, high = proportion_interval(min(value * groups, groups), groups, level=level)
        return replace(figure, ci_low=min(low, value), ci_high=max(high, value), method="wilson")
    half = t_quantile(level, groups - 1) * error.se
    return replace(figure, ci_low=max(value - half, 0.0), ci_high=min(value + half, 1.0))


def _alignment(near: NDArray[np.float64], group: NDArray[np.intp], is_share: bool, level: float) -> Figure:
    if is_share:
        return mean(near, group, level=level)
    known = np.isfinite(near)
    distances, dropped = -near[known], int(np.count_nonzero(~known))
    return ratio(distances, np.ones(distances.size), group[known], level=level, n_dropped=dropped)
