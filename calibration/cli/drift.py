"""`judges calibrate --anchors`: has the judge changed since it judged these cases?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from calibration.cli.audit import judge_batches, may_spend, price_of
from calibration.words import figure_in_words as shown
from judges.cli.output import Column, Exit, counted, data, note, prose, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.drift import Anchor, Drift
    from calibration.pairs import Question
    from calibration.probing import Batch, Judgements
    from judges.engine.plan import Assignment
    from judges.engine.run import Manifest, Run

__all__ = ["check_drift"]

_ASKED = 2
"""How often each case is judged now, so that the noise of today is known."""
_INDENT = "  "
_NAMED = 8


@dataclass(frozen=True, slots=True)
class _Checked:
    """One judge and criterion."""

    then: "Assignment"
    now: "Assignment"
    drift: "Drift"

    @property
    def same_question(self) -> bool:
        """Whether it was asked in the same way, as far as we know: prompt, parameters, model's name, our rules."""
        return self.then.judge_fingerprint == self.now.judge_fingerprint

    def to_record(self) -> dict[str, object]:
        """The check as JSON-ready values."""
        return {
            "criterion": self.then.criterion.name,
            "judge": self.then.judge,
            "fingerprint_then": self.then.judge_fingerprint,
            "fingerprint_now": self.now.judge_fingerprint,
            "threshold": self.then.threshold,
            **self.drift.to_record(),
        }


def check_drift(
    folder: Path,
    questions: "Sequence[Question]",
    assignments: "Sequence[Assignment]",
    *,
    max_cost: float | None,
    yes: bool,
    json: bool,
) -> None:
    """Judge the labelled cases of a run again, past the cache, and say whether the judge has changed.

    Raises:
        InputError: A judge can't be made any more, no case is labelled, or nobody agreed to the price.
        typer.Exit: With 1 where a change is shown.
    """
    from calibration.drift import drift_of
    from calibration.probing import Batch, Judgements, check_askable
    from judges.config import Connections
    from judges.engine.plan import assign
    from judges.engine.run import Run
    from judges.settings import read_settings

    check_askable(assignments)
    home = Run(folder)
    manifest = home.manifest()
    connections = Connections(read_settings(None), mode="refresh", max_cost=max_cost)
    cases = {case.id: case for case in home.cases()}
    batches: list[Batch] = []
    for then, question in zip(assignments, questions, strict=True):
        judge = connections.judge(then.judge)
        [now] = assign([then.criterion], [judge])
        labelled = tuple(case for name, case in cases.items() if name in question.labels.by_case)
        if not labelled:
            raise InputError(f"{folder}: none of its {len(cases):,} cases has a label; do the ids match?")
        batches.append(Batch(labelled, replace(now, threshold=_cut(then, question)), judge, _ASKED))
    made = Judgements()
    try:
        price = price_of(batches, made, connections)
        note(str(price))
        may_spend(price, yes=yes, max_cost=max_cost)
        judge_batches(batches, made)
    finally:
        connections.close()
    checked = [
        _Checked(
            replace(then, threshold=_cut(then, question)),
            batch.assignment,
            drift_of(_anchors(home, manifest, then, batch, question, made), _cut(then, question)),
        )
        for then, batch, question in zip(assignments, batches, questions, strict=True)
    ]
    if json:
        write_json({"run": str(folder), "asked": price.to_record(), "drift": [each.to_record() for each in checked]})
    else:
        for place, each in enumerate(checked):
            if place:
                data()
            _show(each)
    if any(each.drift.found == "changed" for each in checked):
        raise typer.Exit(Exit.GATE_FAILED)


def _cut(then: "Assignment", question: "Question") -> float:
    return then.threshold if question.threshold is None else question.threshold


def _anchors(
    home: "Run", manifest: "Manifest", then: "Assignment", batch: "Batch", question: "Question", made: "Judgements"
) -> "list[Anchor]":
    from calibration.drift import Anchor
    from judges.engine.plan import key_of
    from judges.summary import cluster_of

    ids = {case.id for case in batch.cases}
    meaning, labels = question.meaning, question.labels
    anchors: list[Anchor] = []
    for row in home.rows(manifest):
        case = row.case
        if case.id not in ids:
            continue
        before = [
            None if judgement is None else judgement.score
            for work, judgement in row.judgements
            if work.assignment == then
        ]
        verdicts = [made.verdict(key_of(case, batch.assignment, number)) for number in range(_ASKED)]
        group = None
        if question.cluster is not None:
            group = labels.clusters.get(case.id) or "=".join(cluster_of(case, question.cluster))
        gold = meaning.gold(labels.by_case[case.id]).label if meaning.binary else None
        after = [None if each is None else each.score for each in verdicts]
        anchors.append(Anchor(case.id, group, gold, before, after))
    return anchors


def _show(checked: _Checked) -> None:
    then, drift = checked.then, checked.drift
    data(printable(f"{then.criterion.name} by {then.judge}, then and now: {counted(drift.turned.of, 'labelled case')}"))
    prose(f"{_verdict(checked)}", _INDENT, head=_INDENT)
    data()
    rows = [
        ["chance that the verdicts of then and now differ", shown(drift.between), ""],
        ["chance that two verdicts of one day differ (noise)", shown(drift.noise), ""],
        ["beyond noise", shown(drift.beyond.difference), _p(drift.p_beyond)],
        ["mean score, now less then", shown(drift.shift.difference), _p(drift.p_shift)],
    ]
    if drift.kappa is not None:
        rows += [
            ["kappa with people, then", shown(drift.kappa.kappa_b), ""],
            ["kappa with people, now", shown(drift.kappa.kappa_a), ""],
            ["now less then", shown(drift.kappa.difference), ""],
        ]
    table([Column(""), Column("", "right"), Column("p (Holm)", "right")], rows)
    data()
    turned = drift.turned
    data(f"{_INDENT}of {counted(turned.of, 'verdict')} {turned.to_pass:,} turned to pass, {turned.to_fail:,} to fail")
    if drift.changed:
        named = ", ".join(printable(each, 40) for each in drift.changed[:_NAMED])
        more = len(drift.changed) - _NAMED
        prose(f"they are {named}{f' and {more:,} more' if more > 0 else ''}", _INDENT, head=_INDENT)
    if drift.left_out:
        data(f"{_INDENT}left out, without a verdict then or now: {counted(drift.left_out, 'case')}")


def _verdict(checked: _Checked) -> str:
    from calibration.statistics.probes import Effect

    drift = checked.drift
    asked = (
        ""
        if checked.same_question
        else "; it is asked in another way than then: its prompt, its parameters, its endpoint or our rules changed"
    )
    match drift.found:
        case "changed":
            why = asked or "; it is asked in the same way, so the model behind the name has changed"
            return f"CHANGED: the judge isn't the one it was{why}"
        case "not_shown":
            ends = [drift.beyond.difference.ci_high, Effect(drift.shift.difference, None, None).bound]
            room = [
                f"{words} of at most {end:.2f}"
                for words, end in zip(("a share of other verdicts", "a shift of the mean score"), ends, strict=True)
                if end is not None
            ]
            but = f"; these cases leave room for {' and '.join(room)}" if room else ""
            return f"no change is shown beyond its noise{but}{asked}"
        case "undefined":
            return f"can't be told: too few cases with a verdict then and now{asked}"


def _p(value: float | None) -> str:
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"
