"""Which of a judge's verdicts to accept: a confidence threshold with a promise, for one judge or a cascade of them.

The promise: with confidence 1 - delta over the draw of the calibration items, at least 1 - alpha of the accepted
verdicts agree with the human. It holds for independent items from the stream that the judge will see. What is below
the threshold goes on: to the next judge, at last to a human.

Sources:
    Jung, Brahman & Choi 2024, arXiv:2407.18370 (selective judging, cascades). Bauer 1991, Statistics in Medicine
    10:871 (fixed sequence). Angelopoulos et al. 2021, arXiv:2110.01052 (Learn then Test). Clopper & Pearson 1934,
    Biometrika 26:404.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import MaybeNumbers, MaybeTruths, complete
from calibration.statistics.cascade import Stage
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, cluster_codes, proportion_of_counts

__all__ = [
    "Certificate",
    "Human",
    "Order",
    "StageItems",
    "Tested",
    "Vector",
    "cascade_stages",
    "certify_cascade",
    "certify_threshold",
    "certify_vectors",
    "error_upper_bound",
    "zero_error_size",
]

Order: TypeAlias = Literal["fixed", "free"]
"""Walk the grid from the strictest threshold and stop at the first failure; or test all, each at delta/K."""
Human: TypeAlias = Literal["one_person", "majority"]
"""Whom the judge agrees with."""
Vector: TypeAlias = tuple[float | None, ...]
"""The threshold of each judge of a cascade; None where it is to accept nothing."""
Threshold = TypeVar("Threshold", float, Vector)

NOTHING = 1e-12


def error_upper_bound(errors: int, n: int, *, delta: float) -> float:
    """The largest error rate that `errors` of `n` leave open: the one-sided Clopper-Pearson bound at 1 - delta.

    It is 1 if all of them are errors, or there are none.
    """
    from scipy.special import betaincinv

    _check_share(delta, "delta")
    if not 0 <= errors <= n:
        raise ValueError(f"{errors} errors of {n}: the counts must satisfy 0 <= errors <= n")
    return 1.0 if errors == n else float(betaincinv(errors + 1, n - errors, 1 - delta))


def zero_error_size(*, alpha: float, delta: float) -> int:
    """How many items without an error it takes to certify an error rate of at most alpha: (1 - alpha)^n <= delta."""
    _check_share(alpha, "alpha")
    _check_share(delta, "delta")
    return max(ceil(log(delta) / log(1 - alpha) - NOTHING), 1)


def _check_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}: give a number between 0 and 1, such as 0.1")


@dataclass(frozen=True, slots=True)
class Tested(Generic[Threshold]):
    """One threshold of the grid."""

    threshold: Threshold
    n: int
    """Calibration items it accepts."""
    errors: int
    """Those of them on which judge and human differ."""
    upper_bound: float
    """Of the error rate."""
    p_value: float
    """Of an error rate above alpha: P(X <= errors), X binomial(n, alpha)."""
    tested: bool
    """False if it accepts fewer than min_n items, or comes after a failure: then the rest is for information only."""
    passed: bool

    def to_record(self) -> dict[str, object]:
        """The row as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class Certificate(Generic[Threshold]):
    """A threshold that keeps the promise, or the reason why there is none."""

    threshold: Threshold | None
    """Accept verdicts of this confidence or more; None: accept none."""
    alpha: float
    delta: float
    """What was spent here: in a cascade, a stage's part."""
    min_n: int
    order: Order
    human: Human
    rows: tuple[Tested[Threshold], ...]
    """The grid, strictest first."""
    coverage: Figure
    """Share of verdicts accepted; 0 if there is no threshold. Clopper-Pearson interval."""
    agreement: Figure
    """Observed on the accepted calibration items; read the promise, not this: the threshold was chosen on them."""
    n: int
    """Calibration items used: with clusters, one of each."""
    n_items: int
    n_dropped: int
    """Items left out as confidence or agreement is missing."""
    seed: int | None
    """Of the draw of one item per cluster."""
    reason: str | None = None

    @property
    def certified_agreement(self) -> float | None:
        """The promise, 1 - alpha, if there is one."""
        return None if self.threshold is None else 1 - self.alpha

    @property
    def share_to_humans(self) -> float | None:
        """What is not accepted."""
        return None if self.coverage.value is None else 1 - self.coverage.value

    def to_record(self) -> dict[str, object]:
        """The certificate as JSON-ready values."""
        shares = {"certified_agreement": self.certified_agreement, "share_to_humans": self.share_to_humans}
        return {**to_record(self), **shares}


def certify_threshold(
    confidence: MaybeNumbers,
    agrees: MaybeTruths,
    *,
    grid: Sequence[float],
    alpha: float,
    delta: float,
    human: Human,
    min_n: int | None = None,
    clusters: Clusters | None = None,
    order: Order = "fixed",
    level: float = 0.95,
    seed: int = 0,
) -> Certificate[float]:
    """Certify the lowest confidence threshold that keeps the promise.

    Args:
        confidence: The judge's confidence per item, on any scale; None where it is missing.
        agrees: Whether judge and human agree on the item; None where it is not known.
        grid: Thresholds, fixed before looking at the data; in any order.
        alpha: The share of accepted verdicts that may disagree.
        delta: The chance that the promise is broken.
        human: Whom the judge agrees with: it is part of the promise.
        min_n: Thresholds that accept fewer items are skipped; they don't end the walk. If None, as many as would be
            certified without an error.
        clusters: One id per item where one case yields several: one item of each is drawn at random, as the promise
            needs independent ones.
        order: Fixed sequence, or any order at the price of delta/K for K thresholds.
        level: Of the intervals of coverage and agreement.
        seed: Of the draw.

    Raises:
        ValueError: The lengths differ, the grid is empty, or a value is not what it should be.
    """
    promise = _promised(alpha, delta, human, min_n, order, level)
    thresholds = sorted({float(each) for each in grid}, reverse=True)
    if not thresholds or not all(isfinite(each) for each in thresholds):
        raise ValueError("the grid is empty or has an entry that is not a finite number: give thresholds to try")
    numbers, right, kept = complete(confidence, agrees, score="confidence", truth="agreement")
    n_items, drawn = len(kept), clusters is not None
    if clusters is not None:
        chosen = _one_of_each(cluster_codes(clusters, len(confidence))[0][kept], seed)
        numbers, right = numbers[chosen], right[chosen]
    counts = _counts(numbers, right, thresholds)
    return _certificate(counts, promise, (numbers.size, n_items, len(confidence)), seed if drawn else None)


@dataclass(frozen=True, slots=True)
class _Promise:
    alpha: float
    delta: float
    human: Human
    min_n: int
    order: Order
    level: float


def _promised(alpha: float, delta: float, human: Human, min_n: int | None, order: Order, level: float) -> _Promise:
    needed = zero_error_size(alpha=alpha, delta=delta) if min_n is None else min_n
    if needed < 1:
        raise ValueError(f"min_n is {needed}: use at least 1")
    if order not in {"fixed", "free"} or human not in {"one_person", "majority"}:
        raise ValueError(f"order {order!r}, human {human!r}: choose fixed or free, and one_person or majority")
    return _Promise(alpha, delta, human, needed, order, level)


def _certificate(
    counts: Sequence[tuple[Threshold, int, int]], promise: _Promise, sizes: tuple[int, int, int], seed: int | None
) -> Certificate[Threshold]:
    """Walk the thresholds; of each is known how many items it accepts, and errors among them.

    `sizes`: items used, those that are complete, all.
    """
    n, n_items, dropped = sizes[0], sizes[1], sizes[2] - sizes[1]
    rows = _walk(counts, promise)
    passed = [row for row in rows if row.passed]
    why = "no_threshold" if n else "no_data"
    coverage = agreement = undefined(why, n_dropped=dropped, level=promise.level)
    if n:
        coverage = Figure(0.0, level=promise.level, n=n, n_dropped=dropped, reason=why)
    if passed:
        last = passed[-1]
        coverage, agreement = (
            proportion_of_counts(count, total, level=promise.level, method="clopper_pearson", n_dropped=dropped)
            for count, total in ((last.n, n), (last.n - last.errors, last.n))
        )
    return Certificate(
        passed[-1].threshold if passed else None,
        promise.alpha,
        promise.delta,
        promise.min_n,
        promise.order,
        promise.human,
        rows,
        coverage,
        agreement,
        n,
        n_items,
        dropped,
        seed,
        None if passed else why,
    )


def _counts(
    numbers: NDArray[np.float64], right: NDArray[np.bool_], thresholds: Sequence[float]
) -> list[tuple[float, int, int]]:
    """Each threshold with the items it accepts and the errors among them."""
    order = np.argsort(numbers, kind="stable")
    errors = np.append(np.cumsum(~right[order][::-1])[::-1], 0)
    starts = np.searchsorted(numbers[order], thresholds, side="left")
    counted = zip(thresholds, (numbers.size - starts).tolist(), errors[starts].tolist(), strict=True)
    return [(threshold, int(n), int(wrong)) for threshold, n, wrong in counted]


def _walk(counts: Sequence[tuple[Threshold, int, int]], promise: _Promise) -> tuple[Tested[Threshold], ...]:
    from scipy.special import bdtr

    rows, failed = list[Tested[Threshold]](), False
    fixed = promise.order == "fixed"
    delta = promise.delta if fixed else promise.delta / len(counts)
    for threshold, n, errors in counts:
        bound = error_upper_bound(errors, n, delta=delta)
        tested = n >= promise.min_n and not failed
        passed = tested and bound <= promise.alpha
        failed = failed or (fixed and tested and not passed)
        p_value = float(bdtr(errors, n, promise.alpha)) if n else 1.0
        rows.append(Tested(threshold, n, errors, bound, p_value, tested, passed))
    return tuple(rows)


def _one_of_each(codes: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """The place of one random item per cluster."""
    shuffled = np.random.default_rng(seed).permutation(codes.size)
    return np.asarray(shuffled[np.unique(codes[shuffled], return_index=True)[1]], dtype=np.intp)


# Cascades


@dataclass(frozen=True, slots=True)
class StageItems:
    """Calibration items of one judge of a cascade: such as reach it, that is, which the judges before don't accept."""

    confidence: MaybeNumbers
    agrees: MaybeTruths
    grid: Sequence[float]
    clusters: Clusters
    """One id per item, those of cases: no case may serve two stages."""


def certify_cascade(
    stages: Sequence[StageItems],
    *,
    alpha: float,
    delta: float,
    human: Human,
    min_n: int | None = None,
    order: Order = "fixed",
    seed: int = 0,
) -> tuple[Certificate[float], ...]:
    """Certify a threshold for each judge of a cascade, with delta/m for each of m.

    If every stage keeps its promise, so does the cascade: with confidence 1 - delta at most alpha of all it accepts
    disagrees. A stage without a threshold accepts nothing and passes everything on. The other arguments are those of
    `certify_threshold`. Where all judges were asked about the same items, `certify_vectors` spends delta once.

    Raises:
        ValueError: As there; or there is no stage, or a case serves two.
    """
    if not stages:
        raise ValueError("a cascade without a stage: give the calibration items of at least one judge")
    used: set[object] = set()
    for stage in stages:
        cases = set(stage.clusters)
        if used & cases:
            raise ValueError("a case serves two stages: use disjoint calibration items for each")
        used |= cases
    return tuple(
        certify_threshold(
            stage.confidence,
            stage.agrees,
            grid=stage.grid,
            alpha=alpha,
            delta=delta / len(stages),
            human=human,
            min_n=min_n,
            clusters=stage.clusters,
            order=order,
            seed=seed,
        )
        for stage in stages
    )


def certify_vectors(
    confidence: Sequence[MaybeNumbers],
    agrees: Sequence[MaybeTruths],
    *,
    vectors: Sequence[Vector],
    alpha: float,
    delta: float,
    human: Human,
    min_n: int | None = None,
    clusters: Clusters | None = None,
    order: Order = "fixed",
    level: float = 0.95,
    seed: int = 0,
) -> Certificate[Vector]:
    """Certify the thresholds of all judges of a cascade together, by one fixed sequence of vectors.

    Each vector is tried as the whole cascade would use it: an item is accepted by the first judge whose confidence
    reaches its threshold. The promise is about all that the cascade accepts; delta is not divided.

    Args:
        confidence: By judge, in order of the cascade: its confidence per item, the items being the same for all. None
            where it gave none: it then accepts nothing.
        agrees: By judge: whether it and the human agree on the item. An item with a confidence and no agreement is left
            out and counted as dropped.
        vectors: In the order they are tried, strictest first, fixed before looking at the data.
        alpha: The share of accepted verdicts that may disagree.
        delta: The chance that the promise is broken.
        human: Whom the judges agree with.
        min_n: As in `certify_threshold`.
        clusters: One id per item, as there.
        order: As there; `free` for vectors in no order.
        level: Of the intervals of coverage and agreement.
        seed: Of the draw of one item per cluster.

    Raises:
        ValueError: There is no judge or no vector, one has not a threshold for each judge, lengths differ, or a value
            is not what it should be.
    """
    promise = _promised(alpha, delta, human, min_n, order, level)
    asked = _cascade(confidence, agrees)
    if not vectors:
        raise ValueError("no vector: give thresholds of all judges to try, strictest first")
    kept = np.flatnonzero(asked.known)
    n_items, drawn, size = kept.size, clusters is not None, asked.known.size
    if clusters is not None:
        kept = kept[_one_of_each(cluster_codes(clusters, size)[0][kept], seed)]
    counts = [
        (tuple(vector), sum(step.accepted for step in steps), sum(step.errors for step in steps))
        for vector, steps in ((each, _steps(asked, each, kept)) for each in vectors)
    ]
    return _certificate(counts, promise, (kept.size, n_items, size), seed if drawn else None)


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Shape (judges, items): confidence, -inf where there is none, and agreement; and of which items it is known."""

    confidence: NDArray[np.float64]
    agrees: NDArray[np.bool_]
    known: NDArray[np.bool_]


def _cascade(confidence: Sequence[MaybeNumbers], agrees: Sequence[MaybeTruths]) -> _Asked:
    if not confidence or len(confidence) != len(agrees):
        raise ValueError(f"{len(confidence)} judges' confidences, {len(agrees)} agreements: give both of one or more")
    n = len(confidence[0])
    if any(len(each) != n for each in confidence):
        raise ValueError("the judges of a cascade are asked about the same items: give one confidence each, or None")
    levels, right = np.full((len(confidence), n), -np.inf), np.zeros((len(confidence), n), dtype=np.bool_)
    known = np.ones(n, dtype=np.bool_)
    for at, (given, truths) in enumerate(zip(confidence, agrees, strict=True)):
        numbers, true, kept = complete(given, truths, score="confidence", truth="agreement")
        levels[at, kept], right[at, kept] = numbers, true
        has = np.array([each is not None for each in given], dtype=np.bool_)
        has[kept] = False
        known &= ~has
    return _Asked(levels, right, known)


@dataclass(frozen=True, slots=True)
class _Step:
    reached: int
    accepted: int
    errors: int


def _steps(asked: _Asked, vector: Vector, items: NDArray[np.intp]) -> list[_Step]:
    """How many items reach each judge, how many it accepts, and errors among these."""
    if len(vector) != len(asked.confidence):
        raise ValueError(f"{len(vector)} thresholds for {len(asked.confidence)} judges: give one each, None for never")
    if not all(each is None or isfinite(each) for each in vector):
        raise ValueError("a threshold is not a finite number: give None where a judge is to accept nothing")
    steps, rest = list[_Step](), items
    for levels, right, threshold in zip(asked.confidence, asked.agrees, vector, strict=True):
        taken = levels[rest] >= (np.inf if threshold is None else threshold)
        wrong = int(np.count_nonzero(~right[rest[taken]]))
        steps.append(_Step(rest.size, int(np.count_nonzero(taken)), wrong))
        rest = rest[~taken]
    return steps


def cascade_stages(
    confidence: Sequence[MaybeNumbers], agrees: Sequence[MaybeTruths], *, thresholds: Vector, costs: Sequence[float]
) -> tuple[Stage, ...]:
    """What each judge of a cascade does on items that all were asked about, for `cascade_cost`.

    Args:
        confidence: As in `certify_vectors`.
        agrees: As there.
        thresholds: Of each judge.
        costs: Of one call of each judge.

    Raises:
        ValueError: As there; or costs are not as many as judges.
    """
    asked = _cascade(confidence, agrees)
    if len(costs) != len(confidence):
        raise ValueError(f"{len(costs)} costs for {len(confidence)} judges: give one each")
    steps = _steps(asked, thresholds, np.flatnonzero(asked.known))
    return tuple(
        Stage(
            cost,
            step.accepted / step.reached if step.reached else 0.0,
            step.errors / step.accepted if step.accepted else None,
        )
        for cost, step in zip(costs, steps, strict=True)
    )
