"""Everything about one judge and one criterion, held against people's labels, as one value."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from calibration.pairs import Judged, Pair, Pairs
from calibration.statistics.agreement import kappa
from calibration.statistics.confusion import BinaryMetrics, binary_metrics_of_pairs
from calibration.statistics.reliability import area_under_curve, pair_scored
from calibration.statistics.tables import INVALID, Invalid, pair_labels
from judges.figures import Figure

__all__ = ["Audit", "View", "audit"]

LABELS = ("fail", "pass")


@dataclass(frozen=True, slots=True)
class View:
    """The figures under one reading of abstentions."""

    abstentions: Literal["left out", "count as fail"]
    kappa: Figure
    """Cohen's kappa: agreement beyond that of chance."""
    metrics: BinaryMetrics
    """With `pass` as the positive label: accuracy is the agreement, specificity the share of people's fails that the
    judge finds, and `always_pass` the baseline that passes everything: its kappa is 0 and it finds no fail."""

    def to_record(self) -> dict[str, Any]:
        """The view as JSON-ready values."""
        return {
            "abstentions": self.abstentions,
            "kappa": self.kappa.to_record(),
            "agreement": self.metrics.accuracy.to_record(),
            "fails_found": self.metrics.specificity.to_record(),
            "passes_found": self.metrics.recall.to_record(),
            "metrics": self.metrics.to_record(),
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """One judge on one criterion against people's labels."""

    pairs: Pairs
    matrix: dict[Literal["pass", "fail"], dict[Judged, int]]
    """Cases by people's label, then by what the judge said."""
    views: tuple[View, ...]
    """Abstentions left out; and, if there are any, abstentions counted as fails."""
    area_under_curve: Figure
    """The chance that a case people pass scores higher than one they fail; of cases with a verdict."""

    def to_record(self) -> dict[str, Any]:
        """The audit as JSON-ready values."""
        assignment = self.pairs.assignment
        return {
            "criterion": assignment.criterion.name,
            "judge": assignment.judge,
            "judge_fingerprint": assignment.judge_fingerprint,
            "threshold": self.pairs.threshold,
            "labelled": len(self.pairs.pairs),
            "unlabelled": self.pairs.unlabelled,
            "labels_not_in_run": self.pairs.not_in_run,
            "pending": self.pairs.pending,
            "abstained": dict(self.pairs.abstained),
            "failed": dict(self.pairs.failed),
            "matrix": self.matrix,
            "views": [view.to_record() for view in self.views],
            "area_under_curve": self.area_under_curve.to_record(),
        }


def audit(pairs: Pairs, *, clustered: bool) -> Audit:
    """Hold the judge against the labels.

    A judgement that failed is no label: it disagrees with people, whatever they say (specification, rule R4).

    Args:
        pairs: One criterion and judge, joined with labels.
        clustered: Whether the pairs' clusters group cases; then every interval allows for it.
    """
    cells = Counter((pair.good, pair.judged) for pair in pairs.pairs)
    columns: tuple[Judged, ...] = ("pass", "fail", "abstained", "failed")
    views = [_view(pairs.pairs, "left out", clustered=clustered)]
    if pairs.abstained:
        views.append(_view(pairs.pairs, "count as fail", clustered=clustered))
    return Audit(
        pairs=pairs,
        matrix={
            "pass": {judged: cells[True, judged] for judged in columns},
            "fail": {judged: cells[False, judged] for judged in columns},
        },
        views=tuple(views),
        area_under_curve=area_under_curve(
            pair_scored(
                [pair.score for pair in pairs.pairs],
                [pair.good for pair in pairs.pairs],
                clusters=[pair.cluster for pair in pairs.pairs] if clustered else None,
            )
        ),
    )


def _view(pairs: Sequence[Pair], abstentions: Literal["left out", "count as fail"], *, clustered: bool) -> View:
    said: dict[Judged, str | Invalid | None] = {
        "pass": "pass",
        "fail": "fail",
        "abstained": "fail" if abstentions == "count as fail" else None,
        "failed": INVALID,
    }
    paired = pair_labels(
        ["pass" if pair.good else "fail" for pair in pairs],
        [said[pair.judged] for pair in pairs],
        labels=LABELS,
        clusters=[pair.cluster for pair in pairs] if clustered else None,
    )
    return View(abstentions, kappa(paired), binary_metrics_of_pairs(paired, positive="pass"))
