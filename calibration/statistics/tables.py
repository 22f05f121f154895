"""Human and judge labels of the same items, paired and tabulated: what agreement and confusion are computed from."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Final, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import Resamples, resample, resample_table
from judges.figures import Figure, undefined
from judges.intervals import HIGH_DROP, Clusters, cluster_codes, proportion, proportion_of_counts, sample_flags

__all__ = [
    "INVALID",
    "Invalid",
    "InvalidRule",
    "LabelPairs",
    "Weights",
    "disagreement_costs",
    "encode_labels",
    "pair_labels",
    "pairs_of_codes",
    "pairs_of_table",
]


class Invalid:
    """The type of `INVALID`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "INVALID"


INVALID: Final = Invalid()
"""A judge answered, but not with a label. None is another thing: no answer at all."""

InvalidRule: TypeAlias = Literal["disagree", "drop"]

_UNKNOWN = -2

Weights: TypeAlias = Literal["none", "linear", "quadratic"] | Sequence[Sequence[float]] | NDArray[np.float64]
"""Credit for a near miss: none; falling with the distance in levels or its square; or a (k, k) matrix of what each
disagreement costs (human rows, judge columns), which need not be symmetric. Raters without a role, as in `raters`,
meet in either order: each two labels then cost the mean of both."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelPairs:
    """Human and judge labels of the same items, tabulated over the declared labels."""

    labels: tuple[Hashable, ...]
    """As declared, in order."""
    table: NDArray[np.int64]
    """Rows are human, columns judge. Square; with invalid answers one category more, which no human uses."""
    cells: NDArray[np.intp] | None
    """Where each item lies in the flattened table; None if only the table is known."""
    codes: NDArray[np.intp] | None
    """Cluster of each item, from 0; None if items are independent."""
    n_clusters: int | None
    n_dropped: int
    """Pairs left out: a label is missing, or the judge's answer is invalid and to be dropped."""
    n_invalid: int
    """Invalid answers, dropped or not."""
    invalid_rate: Figure
    """Their share of the pairs in which nothing is missing."""

    @property
    def n(self) -> int:
        """Pairs in the table."""
        return int(self.table.sum())

    @property
    def k(self) -> int:
        """Declared labels."""
        return len(self.labels)

    @property
    def gold(self) -> NDArray[np.int64]:
        """How often the humans used each label."""
        return np.asarray(self.table.sum(axis=1), dtype=np.int64)

    @property
    def judge(self) -> NDArray[np.int64]:
        """How often the judge used each label."""
        return np.asarray(self.table.sum(axis=0), dtype=np.int64)

    def flags(self, *also: str) -> tuple[str, ...]:
        """What follows from the sample's size, and from what is missing or invalid; sorted."""
        flags = set(sample_flags(self.n, self.n_clusters, self.n_dropped, *also))
        kept_invalid = self.n_invalid if self.table.shape[0] > self.k else 0
        if self.n_dropped + kept_invalid > HIGH_DROP * (self.n + self.n_dropped):
            flags.add("high_drop")
        return tuple(sorted(flags))

    def undefined(self, reason: str, level: float) -> Figure:
        """A figure of these pairs without a value."""
        return replace(undefined(reason, n=self.n, n_dropped=self.n_dropped, level=level), n_clusters=self.n_clusters)

    def resamples(self, *, resamples: int = 10_000, seed: int = 0) -> Resamples:
        """Bootstrap of the flattened table: by cluster where there are clusters, else by item."""
        size = self.table.size
        if self.cells is None or self.codes is None or self.n_clusters is None:
            return resample_table(self.table.ravel(), resamples=resamples, seed=seed)
        by_cluster = np.bincount(self.codes * size + self.cells, minlength=self.n_clusters * size)
        units, counts = np.unique(by_cluster.reshape(self.n_clusters, size), axis=0, return_counts=True)
        return resample(units, counts, resamples=resamples, seed=seed)


def pair_labels(
    gold: Sequence[Hashable] | NDArray[np.generic],
    judge: Sequence[Hashable] | NDArray[np.generic],
    *,
    labels: Sequence[Hashable],
    clusters: Clusters | None = None,
    invalid: InvalidRule = "disagree",
    level: float = 0.95,
) -> LabelPairs:
    """Pair human and judge labels of the same items.

    Args:
        gold: One human label per item, None where it is missing.
        judge: One judge label per item, None where it is missing, `INVALID` where the answer was no label.
        labels: The declared labels, in order. They are never inferred from the data.
        clusters: One id per item, or None when items are independent.
        invalid: `disagree` keeps invalid answers as a category of their own, which only the judge uses; `drop`
            leaves them out.
        level: Of the interval of the rate of invalid answers.

    Raises:
        ValueError: The lengths differ, a label is not declared, or the human label is INVALID.
    """
    declared = _declared(labels)
    if len(gold) != len(judge):
        raise ValueError(f"{len(gold)} human labels and {len(judge)} judge labels: give one of each per item")
    rows, columns = encode_labels(gold, declared), encode_labels(judge, declared, may_be_invalid=True)
    return pairs_of_codes(rows, columns, labels=declared, clusters=clusters, invalid=invalid, level=level)


def pairs_of_codes(
    gold: NDArray[np.intp],
    judge: NDArray[np.intp],
    *,
    labels: Sequence[Hashable],
    clusters: Clusters | None = None,
    invalid: InvalidRule = "disagree",
    level: float = 0.95,
) -> LabelPairs:
    """As `pair_labels`, from positions in `labels`: -1 is missing, `len(labels)` an invalid answer of the judge."""
    k, present = len(labels), (gold >= 0) & (judge >= 0)
    if bool(np.any(gold >= k)) or bool(np.any(judge > k)):
        raise ValueError(f"a code lies outside the {k} declared labels")
    is_invalid = judge[present] == k
    kept = present & (judge != k) if invalid == "drop" else present
    ids = None if clusters is None else cluster_codes(clusters, len(gold))[0]
    rate = proportion(is_invalid, None if ids is None else ids[present], level=level)
    size = k + 1 if bool(np.any(is_invalid)) and invalid == "disagree" else k
    cells = gold[kept] * size + judge[kept]
    codes, n_clusters = (None, None) if ids is None else cluster_codes(ids[kept], int(np.count_nonzero(kept)))
    table = np.bincount(cells, minlength=size * size).reshape(size, size).astype(np.int64)
    n_dropped = len(gold) - int(np.count_nonzero(kept))
    n_invalid = int(np.count_nonzero(is_invalid))
    return LabelPairs(tuple(labels), table, cells, codes, n_clusters, n_dropped, n_invalid, rate)


def pairs_of_table(
    table: Sequence[Sequence[int]] | NDArray[np.integer] | NDArray[np.float64],
    *,
    labels: Sequence[Hashable] | None = None,
    n_dropped: int = 0,
    level: float = 0.95,
) -> LabelPairs:
    """Pairs of independent items from their table: human rows, judge columns.

    Args:
        table: Shape (k, k); or (k, k + 1), the last column being the judge's invalid answers.
        labels: The k declared labels; 0 to k-1 if None.
        n_dropped: Pairs left out before; it is passed on.
        level: Of the interval of the rate of invalid answers.

    Raises:
        ValueError: The shape is another, or a count is negative or not whole.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] == 0 or counts.shape[1] - counts.shape[0] not in {0, 1}:
        raise ValueError(
            f"a table of shape {counts.shape}: give as many rows as columns, or one column more for invalid"
        )
    if not bool(np.all(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)))):
        raise ValueError("a count of the table is negative or not a whole number")
    if n_dropped < 0:
        raise ValueError(f"{n_dropped} dropped pairs: a count can't be negative")
    k = counts.shape[0]
    declared = _declared(range(k) if labels is None else labels)
    if len(declared) != k:
        raise ValueError(f"{len(declared)} labels for a table with {k} rows: declare one per row")
    n_invalid = int(counts[:, k:].sum())
    size = k + 1 if n_invalid else k
    square = np.zeros((size, size), dtype=np.int64)
    square[:k] = counts[:, :size].astype(np.int64)
    rate = proportion_of_counts(n_invalid, int(counts.sum()), level=level)
    return LabelPairs(declared, square, None, None, None, n_dropped, n_invalid, rate)


def _declared(labels: Sequence[Hashable]) -> tuple[Hashable, ...]:
    declared = tuple(labels)
    if not declared or len(set(declared)) != len(declared):
        raise ValueError(f"labels {declared!r}: declare at least one, each once")
    if any(label is None or isinstance(label, Invalid) for label in declared):
        raise ValueError("None and INVALID can't be declared as labels: they stand for a missing and an invalid answer")
    return declared


def encode_labels(
    values: Sequence[Hashable] | NDArray[np.generic], labels: Sequence[Hashable], *, may_be_invalid: bool = False
) -> NDArray[np.intp]:
    """Labels as positions in the declared `labels`; -1 for a missing one, `len(labels)` for `INVALID`.

    Raises:
        ValueError: A label is not declared, or it is `INVALID` where only a human's labels are expected.
    """
    index = {label: code for code, label in enumerate(_declared(labels))}
    items = cast("list[Hashable]", values.tolist()) if isinstance(values, np.ndarray) else values
    known: dict[Hashable, int] = {**index, None: -1}
    if may_be_invalid:
        known[INVALID] = len(index)
    codes = np.fromiter(map(known.get, items, repeat(_UNKNOWN)), dtype=np.intp, count=len(items))
    for position in np.flatnonzero(codes == _UNKNOWN).tolist():
        label = items[position]
        if may_be_invalid and isinstance(label, Invalid):  # a copy of it, as another process sends
            codes[position] = len(index)
        else:
            remedy = "a human label can't be invalid, use None" if isinstance(label, Invalid) else "declare it"
            raise ValueError(f"item {position}: label {label!r} is not one of {list(index)}; {remedy}")
    return codes


def disagreement_costs(weights: Weights, k: int, size: int | None = None) -> NDArray[np.float64]:
    """What each disagreement costs, from 0 to 1: one minus the weight.

    Args:
        weights: As they were asked for.
        k: Declared labels.
        size: k, or k + 1 with the category of invalid answers, which disagrees with every label at full cost.

    Raises:
        ValueError: A matrix of costs has another shape, a negative or infinite entry, a cost for agreeing, or no cost
            at all.
    """
    costs = np.ones((k if size is None else size,) * 2)
    np.fill_diagonal(costs, 0.0)
    if isinstance(weights, str):
        steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / max(k - 1, 1)
        if weights == "linear":
            costs[:k, :k] = steps
        elif weights == "quadratic":
            costs[:k, :k] = steps**2
        elif weights != "none":
            raise ValueError(f"weights {weights!r}: choose none, linear, quadratic, or give a matrix of costs")
        return costs
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (k, k):
        raise ValueError(f"a cost matrix of shape {given.shape} for {k} labels: give ({k}, {k}), human rows")
    if not bool(np.all(np.isfinite(given) & (given >= 0))) or bool(np.any(np.diagonal(given) != 0)):
        raise ValueError("costs of disagreement are finite, not negative, and 0 on the diagonal")
    if k > 1:
        if not bool(given.any()):
            raise ValueError("every disagreement costs 0: there is nothing to measure")
        costs[:k, :k] = given / given.max()
    return costs
