"""What would agree with people without judging anything: one label for all, words in common, the answer's length.

A judge is worth its price if its kappa is above theirs, by the interval of the difference on the same cases.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.cuts import decide_out_of_fold, folds_of
from calibration.items import Items
from calibration.meaning import FAIL, PASS
from calibration.statistics.agreement import kappa, kappa_difference, percent_agreement
from calibration.statistics.confusion import binary_metrics_of_pairs
from calibration.statistics.tables import pair_labels
from judges.figures import Figure, to_record, undefined

__all__ = ["Baseline", "BaselineName", "baselines"]

BaselineName: TypeAlias = Literal["same_label", "overlap", "length"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A judge that isn't one, on the cases the judge was held against people on."""

    name: BaselineName
    how: str
    """What it does, in words."""
    agreement: Figure
    kappa: Figure
    fails_found: Figure | None
    """Of the cases that people fail; None where labels are other than pass and fail."""
    advantage: Figure
    """Kappa of the judge less this one's, on the same cases."""

    @property
    def beaten(self) -> bool:
        """Whether all of the interval of the advantage lies above 0."""
        return self.advantage.ci_low is not None and self.advantage.ci_low > 0

    def to_record(self) -> dict[str, object]:
        """The baseline as JSON-ready values."""
        return {**to_record(self), "beaten": self.beaten}


def baselines(items: Items, *, paired_answers: bool) -> tuple[Baseline, ...]:
    """The three baselines; without those that have nothing to go by, since their measure is the same of every case: the
    records hold labels and no texts, say.

    Args:
        items: What the judge is held against people on.
        paired_answers: Whether a case is two answers, A and B, and a label says which is better.
    """
    overlap, length = (np.array([getattr(each, name) for each in items.pairs]) for name in ("overlap", "length"))
    found: list[Baseline] = []
    if paired_answers and {"a", "b"} <= set(items.labels):
        found.append(_most_frequent(items))
        if _varies(overlap):
            how = "prefers the answer with more words of the text it answers to"
            found.append(_baseline("overlap", how, _signs(items, overlap), items))
        if _varies(length):
            found.append(_baseline("length", "prefers the longer answer", _signs(items, length), items))
    elif set(items.labels) != {FAIL, PASS}:
        found.append(_most_frequent(items))
    else:
        cut = "cut where kappa is highest on other cases"
        found.append(_baseline("same_label", "passes everything", [PASS] * len(items.pairs), items))
        if _varies(overlap):
            found.append(_baseline("overlap", f"share of words in common, {cut}", _cut(items, overlap), items))
        if _varies(length):
            said = _cut(items, length, either_way=True)
            found.append(_baseline("length", f"length of what is judged, {cut}", said, items))
    return tuple(found)


def _varies(values: NDArray[np.float64]) -> bool:
    return np.unique(values).size > 1


def _most_frequent(items: Items) -> Baseline:
    """People's most frequent label for all; the first of those that tie."""
    gold = items.gold
    label = max(items.labels, key=gold.count) if gold else items.labels[0]
    return _baseline("same_label", f"says {label} of everything", [label] * len(gold), items)


def _signs(items: Items, difference: NDArray[np.float64]) -> list[str | None]:
    """Whether A has more, or B; neither is a tie where ties are declared, else A."""
    even = "tie" if "tie" in items.labels else "a"
    return ["a" if each > 0 else "b" if each < 0 else even for each in difference.tolist()]


def _cut(items: Items, values: NDArray[np.float64], *, either_way: bool = False) -> list[str | None] | None:
    folds = folds_of(len(items.pairs), items.clusters)
    if folds is None:
        return None
    decided = decide_out_of_fold(values, items.good, folds, either_way=either_way)
    return [PASS if each else FAIL for each in decided.tolist()]


def _baseline(name: BaselineName, how: str, said: list[str] | list[str | None] | None, items: Items) -> Baseline:
    if said is None:
        nothing = undefined("too_few", n=len(items.pairs))
        return Baseline(name, how, nothing, nothing, nothing, nothing)
    own = pair_labels(items.gold, said, labels=items.labels, clusters=items.clusters)
    compared = kappa_difference(items.gold, items.said, said, labels=items.labels, clusters=items.clusters)
    advantage = compared.difference
    if advantage.reason == "no_discordant":  # the very same verdicts: the difference is 0 and no interval is needed
        advantage = replace(advantage, ci_low=0.0, ci_high=0.0)
    elif advantage.reason == "singular" and len(set(said)) == 1:  # whose kappa is 0 on any cases: all is the judge's
        advantage = compared.kappa_a
    fails = binary_metrics_of_pairs(own, positive=PASS).specificity if PASS in items.labels else None
    return Baseline(name, how, percent_agreement(own), kappa(own), fails, advantage)
