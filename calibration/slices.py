"""Where judge and people disagree: by part of the data, and case by case."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.items import Items
from calibration.meaning import PASS
from calibration.pairs import FAILED, NUMBER, Pairs
from calibration.statistics.agreement import kappa, percent_agreement
from calibration.statistics.confusion import binary_metrics_of_pairs
from calibration.statistics.contrasts import rate_gap
from calibration.statistics.multiplicity import holm
from judges.figures import Figure, to_record

__all__ = ["Disagreement", "Slice", "disagreements_of", "slices_of_items"]

_MOST = 50


@dataclass(frozen=True, slots=True)
class Slice:
    """The cases with one value of a field."""

    field: str
    value: str
    agreement: Figure
    kappa: Figure
    fails_found: Figure | None
    """None where labels are other than pass and fail."""
    gap: Figure
    """Agreement here less agreement on all other cases."""
    adjusted_p: float | None
    """Of no gap, by Holm over all slices; None where there is no test."""

    @property
    def differs(self) -> bool:
        """Whether agreement here is another than elsewhere, whichever slice one looks at."""
        return self.adjusted_p is not None and self.adjusted_p <= 1 - self.gap.level

    def to_record(self) -> dict[str, object]:
        """The slice as JSON-ready values."""
        return {**to_record(self), "differs": self.differs}


def slices_of_items(items: Items, by: Sequence[str]) -> tuple[Slice, ...]:
    """Each value of each field that has several, those with the lowest agreement first.

    Args:
        items: What the judge is held against people on.
        by: The fields, in the order of `Pair.slices`.
    """
    found: list[Slice] = []
    tests: list[float | None] = []
    agreed = np.array([each.gold == each.said for each in items.pairs], dtype=np.bool_)
    clusters = items.clusters
    for place, field in enumerate(by):
        values = dict.fromkeys(value for each in items.pairs for value in each.slices[place])
        for value in values if len(values) > 1 else ():
            inside = np.array([value in each.slices[place] for each in items.pairs], dtype=np.bool_)
            own = items.only(inside)
            ids = None if clusters is None else (clusters[inside], clusters[~inside])
            compared = rate_gap(agreed[inside], agreed[~inside], ids)
            paired = own.tabulated()
            fails = binary_metrics_of_pairs(paired, positive=PASS).specificity if PASS in items.labels else None
            found.append(Slice(field, value, percent_agreement(paired), kappa(paired), fails, compared.gap, None))
            tests.append(compared.test.p_value)
    adjusted = iter(holm([each for each in tests if each is not None]))
    tested = [
        replace(each, adjusted_p=None if p is None else next(adjusted)) for each, p in zip(found, tests, strict=True)
    ]
    return tuple(sorted(tested, key=lambda each: (by.index(each.field), each.agreement.value or 0.0)))


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A case that judge and people see differently."""

    case_id: str
    people: str
    """Their label, or their number."""
    judge: str
    score: float | None
    distance: float
    """How far the judge is from people: from the threshold to its score, or in ranks from 0 to 1; 1 without scores."""
    why: str
    """The judge's rationale, or why it failed."""

    def to_record(self) -> dict[str, object]:
        """The case as JSON-ready values."""
        return to_record(self)


def disagreements_of(pairs: Pairs) -> tuple[Disagreement, ...]:
    """The cases they disagree on most, the furthest first; 50 at most."""
    labels = pairs.question.meaning.labels
    found = [
        Disagreement(
            each.case_id,
            each.gold,
            each.said,
            each.score,
            _margin(each.score, pairs.threshold),
            each.why,
        )
        for each in pairs.pairs
        if each.gold is not None and each.said in {*labels, FAILED} and each.gold != each.said
    ]
    if not labels or any(each.said == NUMBER for each in pairs.pairs):
        found = _by_rank(pairs)
    return tuple(sorted(found, key=lambda each: -each.distance)[:_MOST])


def _margin(score: float | None, threshold: float | None) -> float:
    return 1.0 if score is None or threshold is None else abs(score - threshold)


def _by_rank(pairs: Pairs) -> list[Disagreement]:
    """By how far apart the case lies in the two orders."""
    kept = [each for each in pairs.pairs if each.number is not None and each.score is not None]
    if len(kept) < 2:
        return []
    ranks = [
        _share_below([value for value in column if value is not None])
        for column in ([each.number for each in kept], [each.score for each in kept])
    ]
    return [
        Disagreement(each.case_id, f"{each.number:.3g}", f"{each.score:.3g}", each.score, abs(human - judge), each.why)
        for each, human, judge in zip(kept, *ranks, strict=True)
    ]


def _share_below(values: Sequence[float]) -> list[float]:
    """Where each value stands among all, from 0 to 1; equal ones share a place."""
    _, codes, counts = np.unique(np.array(values), return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - (counts + 1) / 2) / max(len(values) - 1, 1)
    return [float(each) for each in middle[codes]]
