"""Where a judge is right and where it is wrong: rates of the confusion table, with an interval each.

Rows are human, columns judge. Each conditional rate has its own interval and its own reason for not existing. An
invalid answer of the judge counts against it: it is wrong, it misses the human's label, and it is no prediction of any.

Sources:
    Newcombe 1998, Statistics in Medicine 17:857 and Zou & Donner 2008, ibid. 27:1693 (sums of rates); Gorodkin 2004,
    Computational Biology and Chemistry 28:367 (MCC of several classes); Efron 1987, JASA 82:171 (BCa); McNemar 1947,
    Psychometrika 12:153; Fagerland, Lydersen & Laake 2013, BMC Medical Research Methodology 13:91 (mid-p); Bonett &
    Price 2012, JEBS 37:479.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import Resamples
from calibration.statistics.tables import LabelPairs, pairs_of_table
from judges.figures import Figure, to_record
from judges.intervals import (
    RARE,
    Clusters,
    Interval,
    ProportionMethod,
    check_level,
    mover,
    proportion,
    proportion_interval,
    proportion_of_counts,
    signed_share,
    signed_share_of_counts,
    two_sided,
)

__all__ = [
    "AlwaysPass",
    "BinaryMetrics",
    "ClassMetrics",
    "McNemar",
    "MulticlassMetrics",
    "UndefinedPart",
    "binary_metrics",
    "binary_metrics_of_pairs",
    "mcnemar",
    "mcnemar_of_items",
    "multiclass_metrics",
]


@dataclass(frozen=True, slots=True)
class AlwaysPass:
    """What a judge that always gives the positive label would reach on the same items."""

    accuracy: Figure
    """The share of items that humans call positive."""
    f1: Figure
    gain: Figure
    """Accuracy of the judge minus accuracy of always passing, on the same items."""


@dataclass(frozen=True, slots=True)
class BinaryMetrics:
    """Rates of a judge that gives one of two labels."""

    positive: Hashable
    """The label that counts as positive."""
    tp: int
    fp: int
    fn: int
    tn: int
    invalid_positive: int
    """Invalid answers on items that humans call positive."""
    invalid_negative: int
    accuracy: Figure
    precision: Figure
    recall: Figure
    """Sensitivity, true positive rate."""
    specificity: Figure
    """True negative rate."""
    npv: Figure
    """Negative predictive value."""
    f1: Figure
    balanced_accuracy: Figure
    youden_j: Figure
    mcc: Figure
    invalid_rate: Figure
    always_pass: AlwaysPass

    def to_record(self) -> dict[str, object]:
        """The metrics as JSON-ready values."""
        return to_record(self)


def binary_metrics(
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    *,
    level: float = 0.95,
    method: ProportionMethod = "wilson",
    seed: int = 0,
    n_dropped: int = 0,
) -> BinaryMetrics:
    """Rates of independent items from their four counts.

    Args:
        tp: Both human and judge positive.
        fp: Only the judge positive.
        fn: Only the human positive.
        tn: Neither positive.
        level: Of the two-sided intervals.
        method: Of the intervals of single rates. J and balanced accuracy join two of them (MOVER), F1 and MCC are
            resampled (BCa).
        seed: Of the bootstrap.
        n_dropped: Items left out before; it is passed on.

    Raises:
        ValueError: A count is negative.
    """
    pairs = pairs_of_table([[tn, fp], [fn, tp]], labels=("negative", "positive"), n_dropped=n_dropped, level=level)
    return binary_metrics_of_pairs(pairs, positive="positive", level=level, method=method, seed=seed)


def binary_metrics_of_pairs(
    pairs: LabelPairs,
    *,
    positive: Hashable,
    level: float = 0.95,
    method: ProportionMethod = "wilson",
    seed: int = 0,
) -> BinaryMetrics:
    """Rates of a judge with two labels; with clusters where the pairs have them.

    A rate's clusters are those that have an item in its denominator. J and balanced accuracy take into account that
    recall and specificity of the same clusters go together.

    Args:
        pairs: From `calibration.statistics.tables.pair_labels`, with two declared labels.
        positive: The label that counts as positive.
        level: Of the two-sided intervals.
        method: Of the intervals of single rates.
        seed: Of the bootstrap.

    Raises:
        ValueError: There are not two labels, or `positive` is neither.
    """
    check_level(level)
    if pairs.k != 2 or positive not in pairs.labels:
        raise ValueError(
            f"labels {pairs.labels}, positive {positive!r}: binary metrics need two labels, one of them positive"
        )
    plus = pairs.labels.index(positive)
    minus = 1 - plus
    rates = _Rates(pairs, level, method)
    recall = rates.of([plus], None, [plus], "no_positive_gold", rare=True)
    specificity = rates.of([minus], None, [minus], "no_negative_gold", rare=True)
    drawn = _drawn(pairs, seed)
    positives, negatives = (int(pairs.gold[each]) for each in (plus, minus))
    rare = ["rare_class"] if min(positives, negatives) < RARE else []
    counts = _Counts(pairs.table, plus)
    return BinaryMetrics(
        positive=positive,
        tp=counts.tp,
        fp=int(pairs.table[minus, plus]),
        fn=int(pairs.table[plus, minus]),
        tn=int(pairs.table[minus, minus]),
        invalid_positive=int(pairs.table[plus, 2:].sum()),
        invalid_negative=int(pairs.table[minus, 2:].sum()),
        accuracy=rates.accuracy(),
        precision=rates.of(None, [plus], [plus], "no_positive_pred"),
        recall=recall,
        specificity=specificity,
        npv=rates.of(None, [minus], [minus], "no_negative_pred"),
        f1=_f1(pairs, plus, drawn, level),
        balanced_accuracy=_joined(pairs, [plus, minus], [recall, specificity], 0.5, 0.0, rare, level),
        youden_j=_joined(pairs, [plus, minus], [recall, specificity], 1.0, -1.0, rare, level),
        mcc=_mcc(pairs, drawn, level, rare),
        invalid_rate=pairs.invalid_rate,
        always_pass=_always_pass(pairs, plus, rates, level),
    )


@dataclass(frozen=True, slots=True)
class ClassMetrics:
    """One class against the rest."""

    label: Hashable
    gold: int
    """Items that humans give this label."""
    precision: Figure
    recall: Figure
    f1: Figure


@dataclass(frozen=True, slots=True)
class UndefinedPart:
    """A rate of one class that does not exist and is left out of the averages."""

    label: Hashable
    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class MulticlassMetrics:
    """Rates of a judge that gives one of several labels."""

    accuracy: Figure
    balanced_accuracy: Figure
    """Mean recall of the classes that humans use. Undefined if they use only one."""
    macro_f1: Figure
    """Mean F1 of the classes that have one."""
    micro_f1: Figure
    weighted_f1: Figure
    """Mean F1, weighted by how often humans use the class."""
    mcc: Figure
    classes: tuple[ClassMetrics, ...]
    undefined: tuple[UndefinedPart, ...]
    invalid_rate: Figure

    def to_record(self) -> dict[str, object]:
        """The metrics as JSON-ready values."""
        return to_record(self)


def multiclass_metrics(
    pairs: LabelPairs, *, level: float = 0.95, method: ProportionMethod = "wilson", seed: int = 0
) -> MulticlassMetrics:
    """Rates over all declared labels; with clusters where the pairs have them.

    Balanced accuracy joins the intervals of its recalls (MOVER); the F1 averages and MCC are resampled (BCa).
    """
    check_level(level)
    rates, drawn, every = _Rates(pairs, level, method), _drawn(pairs, seed), range(pairs.k)
    classes = tuple(
        ClassMetrics(
            pairs.labels[each],
            int(pairs.gold[each]),
            rates.of(None, [each], [each], "no_positive_pred"),
            rates.of([each], None, [each], "no_positive_gold", rare=True),
            _f1(pairs, each, drawn, level),
        )
        for each in every
    )
    missing = tuple(
        UndefinedPart(each.label, part, figure.reason or "no_data")
        for each in classes
        for part, figure in (("precision", each.precision), ("recall", each.recall), ("f1", each.f1))
        if figure.value is None
    )
    used = [each for each in every if pairs.gold[each] > 0]
    rare = ["rare_class"] if any(pairs.gold[each] < RARE for each in used) else []
    accuracy = rates.accuracy()
    if len(used) >= 2:
        recalls = [classes[each].recall for each in used]
        balanced = _joined(pairs, used, recalls, 1 / len(used), 0.0, rare, level)
    else:
        balanced = pairs.undefined("single_category" if used else "no_data", level)
    averages = {name: _average_f1(name, pairs, classes, drawn, level, rare) for name in ("macro", "weighted")}
    return MulticlassMetrics(
        accuracy=accuracy,
        balanced_accuracy=balanced,
        macro_f1=averages["macro"],
        micro_f1=accuracy
        if pairs.table.shape[0] == pairs.k
        else _average_f1("micro", pairs, classes, drawn, level, rare),
        weighted_f1=averages["weighted"],
        mcc=_mcc(pairs, drawn, level, rare),
        classes=classes,
        undefined=missing,
        invalid_rate=pairs.invalid_rate,
    )


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two judges held against the same human labels: who is right where the other is wrong."""

    b: int
    """Items only A gets right."""
    c: int
    """Items only B gets right."""
    difference: Figure
    """(b - c)/n: accuracy of A minus accuracy of B."""
    p_value: float | None
    """The one to quote: mid-p, or with clusters that of t."""
    method: str
    """`mid_p` or `t`."""
    p_mid: float | None
    """None with clusters, as the other three tests: they take items for independent."""
    p_exact: float | None
    chi2: float | None
    """Without correction."""
    p_chi2: float | None
    chi2_corrected: float | None
    """With Edwards' correction: too cautious, for comparison with other programs."""
    reason: str | None = None
    """Why there is no statistic."""
    margin: float | None = None
    non_inferior: bool | None = None
    """Whether the lower bound of the difference lies above -margin; None without margin, data or bound."""

    def to_record(self) -> dict[str, object]:
        """The test as JSON-ready values."""
        return to_record(self)


def mcnemar(b: int, c: int, n: int, *, level: float = 0.95, margin: float | None = None, n_dropped: int = 0) -> McNemar:
    """Compare two judges on the same independent items.

    Args:
        b: Items only A gets right.
        c: Items only B gets right.
        n: All items.
        level: Of the interval of the difference (Bonett-Price).
        margin: How much worse A may be and still count as not inferior, above 0.
        n_dropped: Items left out before; it is passed on.

    Raises:
        ValueError: The counts don't fit each other, or the margin is not above 0.
    """
    from scipy.special import bdtr, chdtrc

    difference = signed_share_of_counts(b, c, n, level=level, n_dropped=n_dropped)
    verdict = _non_inferior(difference, margin)
    if n == 0:
        return McNemar(b, c, difference, None, "mid_p", None, None, None, None, None, "no_data", margin, verdict)
    total, least = b + c, min(b, c)
    if total == 0:
        return McNemar(b, c, difference, 1.0, "mid_p", 1.0, 1.0, None, None, None, "no_discordant", margin, verdict)
    up_to, below = float(bdtr(least, total, 0.5)), float(bdtr(least - 1, total, 0.5)) if least else 0.0
    exact = min(2 * up_to, 1.0)
    mid = 1 - (up_to - below) if b == c else up_to + below
    chi2 = (b - c) ** 2 / total
    corrected = max(abs(b - c) - 1, 0) ** 2 / total
    tail = float(chdtrc(1, chi2))
    return McNemar(b, c, difference, mid, "mid_p", mid, exact, chi2, tail, corrected, None, margin, verdict)


def mcnemar_of_items(
    right_a: Sequence[bool] | NDArray[np.bool_],
    right_b: Sequence[bool] | NDArray[np.bool_],
    clusters: Clusters | None = None,
    *,
    level: float = 0.95,
    margin: float | None = None,
    n_dropped: int = 0,
) -> McNemar:
    """Compare two judges item by item. With clusters the test is that of t, with the standard error by cluster."""
    a, b = np.asarray(right_a, dtype=np.bool_), np.asarray(right_b, dtype=np.bool_)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"{a.size} and {b.size} answers: give one truth value of each judge per item")
    only_a, only_b = int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))
    if clusters is None or a.size == 0:
        return mcnemar(only_a, only_b, a.size, level=level, margin=margin, n_dropped=n_dropped)
    signs = a.astype(np.int64) - b.astype(np.int64)
    difference = signed_share(signs, clusters, level=level, n_dropped=n_dropped)
    p_value, reason = None, difference.reason
    if reason is None and difference.value is not None and difference.se and difference.n_clusters:
        p_value = two_sided(difference.value, difference.se, difference.n_clusters - 1).p_value
    elif reason is None:
        p_value, reason = (1.0, "no_discordant") if only_a + only_b == 0 else (None, "singular")
        if difference.value == 0:
            p_value = 1.0
    verdict = _non_inferior(difference, margin)
    return McNemar(only_a, only_b, difference, p_value, "t", None, None, None, None, None, reason, margin, verdict)


def _non_inferior(difference: Figure, margin: float | None) -> bool | None:
    if margin is None:
        return None
    if not 0 < margin <= 1:
        raise ValueError(f"margin {margin}: give a number above 0 and at most 1")
    return None if difference.value is None or difference.ci_low is None else difference.ci_low > -margin


@dataclass(frozen=True, slots=True)
class _Rates:
    """Conditional rates of the table: by counts, or by items where there are clusters."""

    pairs: LabelPairs
    level: float
    method: ProportionMethod

    def of(
        self, rows: list[int] | None, columns: list[int] | None, hits: list[int], reason: str, *, rare: bool = False
    ) -> Figure:
        """The share of items on the diagonal at `hits`, among those in the given rows or columns."""
        size = self.pairs.table.shape[0]
        chosen = np.zeros((size, size), dtype=np.bool_)
        chosen[np.ix_(range(size) if rows is None else rows, range(size) if columns is None else columns)] = True
        right = np.zeros_like(chosen)
        right[hits, hits] = True
        return self._share(chosen, right, reason, rare=rare)

    def accuracy(self) -> Figure:
        """The share of items on which judge and human give the same label."""
        return self.of(None, None, list(range(self.pairs.k)), "no_data")

    def gold_share(self, label: int) -> Figure:
        """The share of items to which humans give the label."""
        right = np.zeros(self.pairs.table.shape, dtype=np.bool_)
        right[label] = True
        return self._share(np.ones_like(right), right, "no_data")

    def _share(
        self, chosen_cells: NDArray[np.bool_], right_cells: NDArray[np.bool_], reason: str, *, rare: bool = False
    ) -> Figure:
        pairs, chosen, right = self.pairs, chosen_cells.ravel(), right_cells.ravel()
        reason = reason if pairs.n else "no_data"
        if pairs.cells is None or pairs.codes is None:
            counts = pairs.table.ravel()
            total, hits = int(counts[chosen].sum()), int(counts[chosen & right].sum())
            figure = proportion_of_counts(hits, total, level=self.level, method=self.method, reason=reason)
        else:
            kept = chosen[pairs.cells]
            hit, codes = right[pairs.cells[kept]], pairs.codes[kept]
            figure = proportion(hit, codes, level=self.level, method=self.method, reason=reason)
        figure = replace(figure, n_dropped=pairs.n_dropped)
        if figure.n == 0:
            return figure
        also = ["rare_class"] if rare and figure.n < RARE else []
        return replace(figure, flags=_merged(pairs, figure.flags, also))


@dataclass(frozen=True, slots=True)
class _Counts:
    """One class against the rest."""

    table: NDArray[np.int64]
    label: int

    @property
    def tp(self) -> int:
        return int(self.table[self.label, self.label])

    @property
    def either(self) -> int:
        """Items that human or judge give the label."""
        return int(self.table[self.label].sum() + self.table[:, self.label].sum()) - self.tp


def _merged(pairs: LabelPairs, flags: Sequence[str], also: Sequence[str]) -> tuple[str, ...]:
    """Flags of a rate, whose n is that of its denominator, with what holds for all pairs."""
    shared = {"high_drop"} & set(pairs.flags())
    return tuple(sorted({*flags, *also, *shared}))


def _drawn(pairs: LabelPairs, seed: int) -> Resamples | None:
    """Bootstrap of the table, or None where there can be none."""
    if pairs.n == 0 or (pairs.n_clusters is not None and pairs.n_clusters < 2):
        return None
    return pairs.resamples(seed=seed)


def _resampled_figure(
    value: float,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    exact: Interval | None,
    pairs: LabelPairs,
    drawn: Resamples | None,
    level: float,
    also: Sequence[str],
) -> Figure:
    """A figure with a BCa interval, or with exact limits where resamples can't vary and would give it no width."""
    size = pairs.table.shape[0]
    flags = [*also, "perfect_agreement"] if int(np.trace(pairs.table)) == pairs.n else list(also)
    figure = Figure(
        value, None, None, level, None, pairs.n, pairs.n_clusters, pairs.n_dropped, None, pairs.flags(*flags)
    )
    if drawn is None:
        return replace(figure, reason="too_few_clusters")
    if exact is not None:
        return replace(figure, ci_low=min(exact[0], value), ci_high=max(exact[1], value), method="exact_bound")
    result = drawn.interval(lambda totals: statistic(totals.reshape(-1, size, size)), level=level)
    if result.reason is None and not result.varies:
        figure = replace(figure, flags=pairs.flags(*flags, "zero_residual_variance"))
    return result.onto(figure)


def _class_f1(tables: NDArray[np.float64], label: int) -> NDArray[np.float64]:
    """2 TP/(gold + predicted) of each table; NaN where neither human nor judge gives the label."""
    total = tables[:, label, :].sum(axis=1) + tables[:, :, label].sum(axis=1)
    return np.where(total > 0, 2 * tables[:, label, label] / np.where(total > 0, total, 1.0), np.nan)


def _f1_bounds(pairs: LabelPairs, label: int, level: float) -> Interval:
    """Exact limits of F1, which is 2 s/(1 + s) of the proportion s = TP/(TP+FP+FN); a cluster counts as one item."""
    counts = _Counts(pairs.table, label)
    size = float(counts.either)
    if pairs.n_clusters is not None and pairs.cells is not None and pairs.codes is not None:
        rows, columns = np.divmod(pairs.cells, pairs.table.shape[0])
        size = float(np.unique(pairs.codes[(rows == label) | (columns == label)]).size)
    low, high = proportion_interval(size * counts.tp / counts.either, size, level=level, method="clopper_pearson")
    return 2 * low / (1 + low), 2 * high / (1 + high)


def _f1(pairs: LabelPairs, label: int, drawn: Resamples | None, level: float) -> Figure:
    counts = _Counts(pairs.table, label)
    if counts.either == 0:
        return pairs.undefined("no_positives" if pairs.n else "no_data", level)
    value = 2 * counts.tp / (counts.either + counts.tp)
    rare = ["rare_class"] if pairs.gold[label] < RARE else []
    return _resampled_figure(
        value,
        lambda tables: _class_f1(tables, label),
        _f1_bounds(pairs, label, level) if value in {0, 1} else None,
        pairs,
        drawn,
        level,
        rare,
    )


def _average_f1(
    average: str,
    pairs: LabelPairs,
    classes: tuple[ClassMetrics, ...],
    drawn: Resamples | None,
    level: float,
    rare: Sequence[str],
) -> Figure:
    """Macro, weighted or micro F1. If every class has F1 0 or 1, the limits are the mean of the classes' exact ones."""
    k = pairs.k
    if pairs.n == 0:
        return pairs.undefined("no_data", level)

    def statistic(tables: NDArray[np.float64]) -> NDArray[np.float64]:
        if average == "micro":
            right = np.trace(tables, axis1=1, axis2=2)
            return np.asarray(2 * right / (tables[:, :, :k].sum(axis=(1, 2)) + tables.sum(axis=(1, 2))))
        scores = np.stack([_class_f1(tables, label) for label in range(k)], axis=1)
        weights = tables[:, :k].sum(axis=2) if average == "weighted" else np.ones_like(scores)
        weights = np.where(np.isnan(scores), 0.0, weights)
        total = weights.sum(axis=1)
        summed = np.sum(np.where(np.isnan(scores), 0.0, scores) * weights, axis=1)
        return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)

    value = float(statistic(pairs.table.astype(np.float64)[None])[0])
    if np.isnan(value):
        return pairs.undefined("no_positives", level)
    value = 1.0 if int(np.trace(pairs.table)) == pairs.n else min(value, 1.0)
    scores = [each.f1.value for each in classes]
    exact = None
    if average != "micro" and all(score in {0, 1, None} for score in scores):
        there = [label for label in range(k) if scores[label] is not None]
        shares = np.array([classes[label].gold if average == "weighted" else 1 for label in there], dtype=np.float64)
        limits = [_f1_bounds(pairs, label, level) for label in there]
        low, high = (float(np.average([each[end] for each in limits], weights=shares)) for end in (0, 1))
        exact = low, high
    return _resampled_figure(value, statistic, exact, pairs, drawn, level, rare)


def _correlations(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """MCC of each table, Gorodkin's R_K for several classes; NaN where human or judge is constant."""
    total = tables.sum(axis=(1, 2))
    gold, judge = tables.sum(axis=2), tables.sum(axis=1)
    right = np.trace(tables, axis1=1, axis2=2)
    spread = (total**2 - np.sum(gold**2, axis=1)) * (total**2 - np.sum(judge**2, axis=1))
    covariance = right * total - np.sum(gold * judge, axis=1)
    return np.where(spread > 0, covariance / np.sqrt(np.where(spread > 0, spread, 1.0)), np.nan)


def _mcc(pairs: LabelPairs, drawn: Resamples | None, level: float, rare: Sequence[str]) -> Figure:
    if pairs.n == 0:
        return pairs.undefined("no_data", level)
    if int(np.max(np.diagonal(pairs.table))) == pairs.n:
        return pairs.undefined("single_category", level)
    if 1 in {np.count_nonzero(pairs.gold), np.count_nonzero(pairs.judge)}:
        return pairs.undefined("constant_rater", level)
    value = float(_correlations(pairs.table.astype(np.float64)[None])[0])
    turned = pairs.table[:, ::-1] if pairs.table.shape[0] == 2 else None
    perfect = int(np.trace(pairs.table)) == pairs.n
    opposite = turned is not None and int(np.trace(turned)) == pairs.n
    value = 1.0 if perfect else -1.0 if opposite else min(max(value, -1.0), 1.0)

    exact = None
    if perfect or opposite:  # kappa's exact limit is the wider: |kappa| is at most |MCC|
        n = pairs.n if pairs.n_clusters is None else pairs.n_clusters
        gold = pairs.gold / pairs.n
        low = max(1 - (1 - ((1 - level) / 2) ** (1 / n)) / (1 - float(gold @ gold)), -1.0)
        exact = (low, 1.0) if perfect else (-1.0, -low)
    return _resampled_figure(value, _correlations, exact, pairs, drawn, level, rare)


def _joined(
    pairs: LabelPairs,
    labels: Sequence[int],
    recalls: Sequence[Figure],
    factor: float,
    shift: float,
    rare: Sequence[str],
    level: float,
) -> Figure:
    """factor times the sum of recalls, plus shift; by MOVER, with the correlation that shared clusters bring."""
    values = [each.value for each in recalls]
    if any(value is None for value in values):
        reason = next(each.reason for each in recalls if each.value is None) or "no_data"
        return pairs.undefined(reason, level)
    value = factor * sum(value for value in values if value is not None) + shift
    flags = pairs.flags(*rare, *(["perfect_agreement"] if all(each == 1 for each in values) else []))
    figure = Figure(value, None, None, level, "mover", pairs.n, pairs.n_clusters, pairs.n_dropped, None, flags)
    terms = [
        (factor, each.value, each.ci_low, each.ci_high)
        for each in recalls
        if each.value is not None and each.ci_low is not None and each.ci_high is not None
    ]
    if len(terms) < len(recalls):
        return replace(figure, method=None, reason="too_few_clusters")
    low, high = mover(terms, correlation=_correlation(pairs, labels))
    lowest, highest = shift, factor * len(recalls) + shift
    return replace(figure, ci_low=max(low + shift, lowest), ci_high=min(high + shift, highest))


def _correlation(pairs: LabelPairs, labels: Sequence[int]) -> float:
    """The mean correlation of the recalls of these labels over clusters; 0 without clusters, where items are apart."""
    if pairs.cells is None or pairs.codes is None or pairs.n_clusters is None:
        return 0.0
    rows, columns = np.divmod(pairs.cells, pairs.table.shape[0])
    sums: list[NDArray[np.float64]] = []
    for label in labels:
        there = rows == label
        right = (columns == label)[there]
        influence = right - right.mean()
        summed = np.bincount(pairs.codes[there], weights=influence, minlength=pairs.n_clusters)
        length = sqrt(float(summed @ summed))
        sums.append(summed / length if length > 1e-12 else np.zeros(pairs.n_clusters))
    stacked = np.stack(sums)
    m = len(labels)
    return float((stacked @ stacked.T)[~np.eye(m, dtype=np.bool_)].mean()) if m > 1 else 0.0


def _always_pass(pairs: LabelPairs, plus: int, rates: _Rates, level: float) -> AlwaysPass:
    minus, size = 1 - plus, pairs.table.shape[0]
    accuracy = rates.gold_share(plus)
    if accuracy.value is None:
        return AlwaysPass(accuracy, pairs.undefined("no_data", level), pairs.undefined("no_data", level))
    low, high = accuracy.ci_low, accuracy.ci_high
    f1 = replace(
        accuracy,
        value=_always_pass_f1(accuracy.value),
        ci_low=None if low is None else _always_pass_f1(low),
        ci_high=None if high is None else _always_pass_f1(high),
        se=None,
        deff=None,
    )
    signs = np.zeros((size, size), dtype=np.int64)
    signs[minus, minus] = 1
    signs[plus] = -1
    signs[plus, plus] = 0
    if pairs.cells is None or pairs.codes is None:
        b, c = (int(pairs.table[signs == sign].sum()) for sign in (1, -1))
        gain = signed_share_of_counts(b, c, pairs.n, level=level)
    else:
        gain = signed_share(signs.ravel()[pairs.cells], pairs.codes, level=level)
    gain = replace(gain, n_dropped=pairs.n_dropped, flags=_merged(pairs, gain.flags, []))
    return AlwaysPass(accuracy, f1, gain)


def _always_pass_f1(prevalence: float) -> float:
    """F1 of a judge whose recall is 1 and whose precision is the prevalence."""
    return 2 * prevalence / (1 + prevalence)
