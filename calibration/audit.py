"""Everything about one judge and one criterion, held against people's labels, as one value."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from calibration.agreement import kappa, percent_agreement
from calibration.pairs import Judged, Pair, Pairs
from judges.figures import Figure, undefined
from judges.intervals import INVALID, pair_labels, proportion

__all__ = ["Audit", "View", "audit"]

LABELS = ("fail", "pass")
_RARE = 10


@dataclass(frozen=True, slots=True)
class View:
    """The figures under one reading of abstentions."""

    abstentions: Literal["left out", "count as fail"]
    agreement: Figure
    """Share of cases that people and judge label alike."""
    kappa: Figure
    """Cohen's kappa: agreement beyond that of chance."""
    fails_found: Figure
    """Recall on the failing class: of the answers that people fail, the share that the judge fails."""
    passes_found: Figure
    """Of the answers that people pass, the share that the judge passes."""
    fails_right: Figure
    """Of the answers that the judge fails, the share that people fail."""
    always_pass: Figure
    """The agreement of a judge that passes everything. Its kappa is 0 and it finds no fail."""

    def to_record(self) -> dict[str, Any]:
        """The view as JSON-ready values."""
        figures = {name: getattr(self, name).to_record() for name in self.__slots__ if name != "abstentions"}
        return {"abstentions": self.abstentions, **figures}


@dataclass(frozen=True, slots=True)
class Audit:
    """One judge on one criterion against people's labels."""

    pairs: Pairs
    matrix: dict[Literal["pass", "fail"], dict[Judged, int]]
    """Cases by people's label, then by what the judge said."""
    views: tuple[View, ...]
    """Abstentions left out; and, if there are any, abstentions counted as fails."""

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
    )


def _view(pairs: Sequence[Pair], abstentions: Literal["left out", "count as fail"], *, clustered: bool) -> View:
    kept = [pair for pair in pairs if pair.judged != "abstained" or abstentions == "count as fail"]
    dropped = len(pairs) - len(kept)
    said: dict[Judged, object] = {"pass": "pass", "fail": "fail", "abstained": "fail", "failed": INVALID}

    def share(of: Callable[[Pair], bool], which: Callable[[Pair], bool], reason: str) -> Figure:
        items = [pair for pair in kept if which(pair)]
        if not items:
            return undefined(reason)
        figure = proportion([of(pair) for pair in items], [pair.cluster for pair in items] if clustered else None)
        rare = ("rare_class",) if len(items) < _RARE else ()
        return replace(figure, flags=tuple(sorted({*figure.flags, *rare})))

    paired = pair_labels(
        ["pass" if pair.good else "fail" for pair in kept],
        [said[pair.judged] for pair in kept],
        labels=LABELS,
        clusters=[pair.cluster for pair in kept] if clustered else None,
    )
    return View(
        abstentions=abstentions,
        agreement=replace(percent_agreement(paired), n_dropped=dropped),
        kappa=replace(kappa(paired), n_dropped=dropped),
        fails_found=share(lambda pair: said[pair.judged] == "fail", lambda pair: not pair.good, "no_negative_gold"),
        passes_found=share(lambda pair: pair.judged == "pass", lambda pair: pair.good, "no_positive_gold"),
        fails_right=share(lambda pair: not pair.good, lambda pair: said[pair.judged] == "fail", "no_negative_pred"),
        always_pass=share(lambda pair: pair.good, lambda _: True, "no_data"),
    )
