"""Which of a judge's verdicts to accept: a confidence threshold with a promise, and cascades of judges with costs.

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
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import MaybeNumbers, MaybeTruths, complete
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, cluster_codes, proportion_of_counts

__all__ = [
    "CascadeCost",
    "CascadeStep",
    "Certificate",
    "Human",
    "Order",
    "Stage",
    "StageItems",
    "Tested",
    "cascade_cost",
    "certify_cascade",
    "certify_threshold",
    "error_upper_bound",
    "zero_error_size",
]

Order: TypeAlias = Literal["fixed", "free"]
"""Walk the grid from the strictest threshold and stop at the first failure; or test all, each at delta/K."""
Human: TypeAlias = Literal["one_person", "majority"]
"""Whom the judge agrees with."""


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
class Tested:
    """One threshold of the grid."""

    threshold: float
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
class Certificate:
    """A threshold that keeps the promise, or the reason why there is none."""

    threshold: float | None
    """Accept verdicts of this confidence or more; None: accept none."""
    alpha: float
    delta: float
    """What was spent here: in a cascade, a stage's part."""
    min_n: int
    order: Order
    human: Human
    rows: tuple[Tested, ...]
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
) -> Certificate:
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
    needed = zero_error_size(alpha=alpha, delta=delta) if min_n is None else min_n
    thresholds = sorted({float(each) for each in grid}, reverse=True)
    if not thresholds or not all(isfinite(each) for each in thresholds):
        raise ValueError("the grid is empty or has an entry that is not a finite number: give thresholds to try")
    if needed < 1:
        raise ValueError(f"min_n is {needed}: use at least 1")
    if order not in {"fixed", "free"} or human not in {"one_person", "majority"}:
        raise ValueError(f"order {order!r}, human {human!r}: choose fixed or free, and one_person or majority")
    numbers, right, kept = complete(confidence, agrees, score="confidence", truth="agreement")
    n_items, drawn = len(kept), clusters is not None
    if clusters is not None:
        chosen = _one_of_each(cluster_codes(clusters, len(confidence))[0][kept], seed)
        numbers, right = numbers[chosen], right[chosen]
    bound_delta = delta / len(thresholds) if order == "free" else delta
    rows = _walk(_counts(numbers, right, thresholds), alpha, bound_delta, needed, stop=order == "fixed")
    passed = [row for row in rows if row.passed]
    n, dropped = numbers.size, len(confidence) - n_items
    if passed:
        last, reason = passed[-1], None
        coverage = proportion_of_counts(last.n, n, level=level, method="clopper_pearson", n_dropped=dropped)
        agreement = proportion_of_counts(
            last.n - last.errors, last.n, level=level, method="clopper_pearson", n_dropped=dropped
        )
        threshold = last.threshold
    else:
        threshold, reason = None, "no_threshold" if n else "no_data"
        coverage = undefined(reason, n_dropped=dropped, level=level)
        agreement = coverage
        if n:
            coverage = Figure(0.0, level=level, n=n, n_dropped=dropped, reason=reason)
    spent = seed if drawn else None
    return Certificate(
        threshold, alpha, delta, needed, order, human, rows, coverage, agreement, n, n_items, dropped, spent, reason
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


def _walk(
    counts: Sequence[tuple[float, int, int]], alpha: float, delta: float, min_n: int, *, stop: bool
) -> tuple[Tested, ...]:
    from scipy.special import bdtr

    rows, failed = list[Tested](), False
    for threshold, n, errors in counts:
        bound = error_upper_bound(errors, n, delta=delta)
        tested = n >= min_n and not failed
        passed = tested and bound <= alpha
        failed = failed or (stop and tested and not passed)
        p_value = float(bdtr(errors, n, alpha)) if n else 1.0
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
) -> tuple[Certificate, ...]:
    """Certify a threshold for each judge of a cascade, with delta/m for each of m.

    If every stage keeps its promise, so does the cascade: with confidence 1 - delta at most alpha of all it accepts
    disagrees. A stage without a threshold accepts nothing and passes everything on. The other arguments are those of
    `certify_threshold`.

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


@dataclass(frozen=True, slots=True)
class Stage:
    """One judge of a cascade, in shares of the items that reach it."""

    cost: float
    """Of one call."""
    accept: float
    """Share of verdicts accepted."""
    error: float | None
    """Share of the accepted that disagree with the human; None if nothing is accepted."""


@dataclass(frozen=True, slots=True)
class CascadeStep:
    """What one stage does, in shares of all items."""

    reached: float
    accepted: float


@dataclass(frozen=True, slots=True)
class CascadeCost:
    """What a cascade costs per item, and how good it is. Follows from the shares it is given; no interval."""

    per_stage: tuple[CascadeStep, ...]
    to_human: float
    """Share that no stage accepts."""
    expected_cost: float
    """sum of reached x cost, the human included."""
    agreement_on_accepted: Figure
    """Undefined (no_data) if nothing is accepted."""
    overall_agreement: float
    """Where the human counts as the truth."""
    saving: Figure
    """Share of the cost of giving all to humans; undefined (no_data) if humans cost next to nothing."""

    def to_record(self) -> dict[str, object]:
        """The costs as JSON-ready values."""
        return to_record(self)


def cascade_cost(stages: Sequence[Stage], *, human_cost: float) -> CascadeCost:
    """The expected cost of an item that goes from judge to judge and at last to a human.

    Raises:
        ValueError: A share lies outside 0 to 1, a cost is negative or not finite, or a stage that accepts has no error
            rate.
    """
    reach, cost, wrong, steps = 1.0, 0.0, 0.0, list[CascadeStep]()
    for at, stage in enumerate(stages):
        error = 0.0 if stage.error is None and stage.accept == 0 else stage.error
        if error is None or not (0 <= stage.accept <= 1 and 0 <= error <= 1):
            raise ValueError(f"stage {at}: accept {stage.accept} and error {stage.error} are to be shares from 0 to 1")
        if not (isfinite(stage.cost) and stage.cost >= 0):
            raise ValueError(f"stage {at}: cost {stage.cost} is to be a finite number, 0 or more")
        accepted = reach * stage.accept
        steps.append(CascadeStep(reach, accepted))
        cost, wrong, reach = cost + reach * stage.cost, wrong + accepted * error, reach - accepted
    if not (isfinite(human_cost) and human_cost >= 0):
        raise ValueError(f"human cost {human_cost} is to be a finite number, 0 or more")
    cost += reach * human_cost
    taken = sum(step.accepted for step in steps)
    agreement = Figure(1 - wrong / taken) if taken > 0 else undefined("no_data")
    saving = Figure(1 - cost / human_cost) if human_cost > NOTHING * cost else undefined("no_data")
    return CascadeCost(tuple(steps), reach, cost, agreement, 1 - wrong, saving)
