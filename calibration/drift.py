"""Is the judge still the one it was? A frozen set of labelled cases, judged then and judged again now.

A judge that answers at random says another thing each time, unchanged. So what changed between then and now is held
against what changes between two answers of today: only what goes beyond that is a change of the judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.findings import ALPHA, Turned, turned
from calibration.statistics.agreement import KappaDifference, kappa_difference
from calibration.statistics.contrasts import PairedDifference, mean_difference, sign_test
from calibration.statistics.multiplicity import holm
from judges.figures import Figure
from judges.intervals import mean

__all__ = ["Anchor", "Drift", "drift_of"]

Scores: TypeAlias = Sequence[float | None]

_LABELS = ("fail", "pass")


@dataclass(frozen=True, slots=True)
class Anchor:
    """One labelled case."""

    case_id: str
    cluster: str | None
    """The group it belongs to; None where cases are independent."""
    gold: str | None
    """`pass` or `fail`, as people say; None where labels are something else."""
    then: Scores
    """The score of each replicate; None where there was no verdict."""
    now: Scores
    """Two or more."""


@dataclass(frozen=True, slots=True)
class Drift:
    """What changed in a judge between then and now."""

    between: Figure
    """Chance that a verdict of then and one of now differ."""
    noise: Figure
    """Chance that two verdicts of the same day differ."""
    beyond: PairedDifference
    """The first less the second: 0 for a judge that hasn't changed, whatever its noise."""
    shift: PairedDifference
    """Mean score now less then."""
    p_beyond: float | None
    """Of its being above 0, one-sided; adjusted for the two tests (Holm)."""
    p_shift: float | None
    turned: Turned
    """Verdicts by the mean score, then and now."""
    kappa: KappaDifference | None
    """Agreement with people, now (A) and then (B); None where labels are no passes and fails."""
    changed: tuple[str, ...]
    """Cases whose verdict is another."""
    left_out: int
    """Cases without a verdict then or now."""

    @property
    def found(self) -> Literal["changed", "not_shown", "undefined"]:
        """Whether these cases show a change."""
        given = [p for p in (self.p_beyond, self.p_shift) if p is not None]
        if not given:
            return "undefined"
        return "changed" if min(given) <= ALPHA else "not_shown"

    def to_record(self) -> dict[str, Any]:
        """The figures as JSON-ready values."""
        return {
            "found": self.found,
            "between": self.between.to_record(),
            "noise": self.noise.to_record(),
            "beyond": self.beyond.to_record(),
            "shift": self.shift.to_record(),
            "p_holm": {"beyond": self.p_beyond, "shift": self.p_shift},
            "verdicts_turned": self.turned.to_record(),
            "kappa": None if self.kappa is None else self.kappa.to_record(),
            "changed": list(self.changed),
            "left_out": self.left_out,
        }


def drift_of(anchors: Sequence[Anchor], threshold: float) -> Drift:
    """Compare then and now.

    Args:
        anchors: Cases judged both times.
        threshold: A score at or above it is a pass.

    Source:
        For each case the chance that two verdicts differ is estimated between the days and within them; of equal
        distributions both have the same mean, so that their paired difference is tested (Szekely & Rizzo 2013, Journal
        of Statistical Planning and Inference 143:1249, energy distance).
    """
    rows = [
        (each, then, now)
        for each in anchors
        for then, now in [(_given(each.then), _given(each.now))]
        if then and len(now) > 1
    ]
    kept = [each for each, _, _ in rows]
    clusters = [each.cluster or each.case_id for each in kept] if any(each.cluster for each in kept) else None
    between = _numbers([_between(then, now, threshold) for _, then, now in rows])
    within = _numbers([_within(then, now, threshold) for _, then, now in rows])
    then = _numbers([sum(scores) / len(scores) for _, scores, _ in rows])
    now = _numbers([sum(scores) / len(scores) for _, _, scores in rows])
    beyond, shift = mean_difference(between - within, clusters), mean_difference(now - then, clusters)
    ps = [_more(_p(beyond, between - within, clusters), beyond), _p(shift, now - then, clusters)]
    adjusted = iter(holm([p for p in ps if p is not None]))
    p_beyond, p_shift = (None if p is None else next(adjusted) for p in ps)
    passed, passes = then >= threshold, now >= threshold
    gold = [each.gold for each in kept]
    labelled = all(each is None or each in _LABELS for each in gold) and any(gold)
    now_said, then_said = ([_LABELS[int(each)] for each in side] for side in (passes, passed))
    return Drift(
        mean(between, clusters),
        mean(within, clusters),
        beyond,
        shift,
        p_beyond,
        p_shift,
        turned(passed, passes, clusters),
        kappa_difference(gold, now_said, then_said, labels=_LABELS, clusters=clusters) if labelled else None,
        tuple(each.case_id for each, turns in zip(kept, (passed != passes).tolist(), strict=True) if turns),
        len(anchors) - len(rows),
    )


def _given(scores: Scores) -> list[float]:
    return [each for each in scores if each is not None]


def _between(then: Sequence[float], now: Sequence[float], threshold: float) -> float:
    pairs = list(product(then, now))
    return sum((one >= threshold) != (two >= threshold) for one, two in pairs) / len(pairs)


def _within(then: Sequence[float], now: Sequence[float], threshold: float) -> float:
    """The mean of the days of which there are two verdicts or more."""
    days = [list(combinations(each, 2)) for each in (then, now) if len(each) > 1]
    shares = [sum((one >= threshold) != (two >= threshold) for one, two in pairs) / len(pairs) for pairs in days]
    return sum(shares) / len(shares)


def _p(compared: PairedDifference, differences: NDArray[np.float64], clusters: Sequence[str] | None) -> float | None:
    if compared.test.p_value is not None or differences.size < 2:
        return compared.test.p_value
    return sign_test(differences, clusters)  # all differences are equal


def _more(p_value: float | None, beyond: PairedDifference) -> float | None:
    """One-sided: verdicts of two days can't agree better than those of one, but by chance."""
    if p_value is None or beyond.difference.value is None:
        return None
    return p_value / 2 if beyond.difference.value > 0 else 1 - p_value / 2 if beyond.difference.value < 0 else 1.0


def _numbers(values: Sequence[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
