"""`judges calibrate`: hold a judge against people's labels. Mounted into the `judges` command."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Exit, counted, data, note, prose, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.answers import Answers, Subject
    from calibration.audit import Audit
    from calibration.labels import Labels
    from calibration.meaning import Scale
    from calibration.pairs import Question
    from calibration.rates import Chosen
    from calibration.sampling import Design, How
    from calibration.saved import Calibration
    from judges.engine.plan import Assignment
    from judges.engine.run import Manifest, Run
    from judges.gate import Requirement

__all__ = ["calibrate"]

_STORED = "stored:"
_BY = ("lang",)


def calibrate(
    run: Annotated[Path, typer.Argument(help="Folder of the run; with --judge stored:... the file of verdicts.")],
    gold: Annotated[
        Path | None, typer.Option(help="File of human labels, by the case's id; else the file of stored verdicts.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Field of the label: gold.faithfulness. Else every criterion that has labels.")
    ] = None,
    positive: Annotated[
        list[str] | None,
        typer.Option(help="Which labels are good: 'correct', 'pass,partly', '>=3'; for one criterion 'tone:>=3'."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="All labels there are: a,b,tie; levels in order: poor<fair<good; a range: 1..4.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option("--criterion", "-c", help="The criterion the labels are about; else the label's name.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", "-j", help="Only this judge; stored:judges.NAME.DIMENSION for a stored one."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Scores from here on pass; by default the judge's own.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the question several systems answered.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(help="What must hold, by its interval: 'kappa>=0.6'. May be repeated.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also where --require is undecided.")] = False,
    chosen: Annotated[
        str,
        typer.Option(
            help="How the labelled cases were chosen, unless `judges plan-labels` did it: random, by-verdict, by-gold, "
            "by-hand, tuning, unknown."
        ),
    ] = "unknown",
    by: Annotated[
        list[str] | None,
        typer.Option(help="Field whose values are looked at apart: meta.domain; else the language. May be repeated."),
    ] = None,
    rule: Annotated[
        str,
        typer.Option(help="What a threshold is chosen by: kappa, youden, cost:FALSE_PASS:FALSE_FAIL, precision:0.9."),
    ] = "kappa",
    epsilon: Annotated[
        float,
        typer.Option(min=0, max=0.99, help="What a person must be better by: 0.2 expert, 0.15 skilled, 0.1 crowd."),
    ] = 0.2,
    worst: Annotated[int, typer.Option(min=0, help="So many of the cases they disagree on most.")] = 5,
    save: Annotated[
        Path | None,
        typer.Option(help="Keep threshold, map and error rates in this file, for `judges run --calibration FILE`."),
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(help="Labels in place of --gold: judge their cases again, and say whether the judge changed."),
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Dollars that judging anchors again may cost.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before anchors are judged again.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures too: one HTML file that needs nothing else.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold a judge against human labels: may it be relied on, where does it fail, what is the true pass rate?"""
    from calibration.audit import audit
    from calibration.cli.page import show_chapter, show_table
    from calibration.meaning import Scale
    from calibration.pairs import join
    from calibration.probabilities import parse_rule
    from calibration.sampling import design_path
    from calibration.sections.audit import chapter_of, overview_of
    from judges.gate import Requirement
    from judges.report.page import check_page, write_page
    from judges.report.sections import Page

    if html is not None:
        if anchors is not None:
            raise InputError("--html: what --anchors finds is shown as text or --json only; leave one of the two out")
        check_page(html)
    requirements = [Requirement.parse(each) for each in require or []]
    cut_rule = parse_rule(rule)
    declared = None if scale is None else Scale.parse(scale)
    stored = judge is not None and judge.startswith(_STORED)
    if stored and save is not None:
        raise InputError("--save: nobody knows what a stored judge was, so nothing can be kept for it; judge the cases")
    design = _design(gold, stored=stored)
    way = _way(chosen, design)
    _check_required(requirements, way)
    asked = _Asked(label, positive or [], declared, criterion, threshold, cluster, tuple(by or _BY), design)
    assignments: list[Assignment] = []
    if anchors is not None:
        from calibration.cli.drift import check_drift

        questions, _, assignments = _of_run(run, anchors, judge, asked)
        check_drift(run, questions, assignments, max_cost=max_cost, yes=yes, json=json)
        return
    if judge is not None and stored:
        questions, answers = _of_file(run, gold or run, judge.removeprefix(_STORED), asked)
    else:
        if gold is None:
            raise InputError("--gold is missing: name the file of human labels")
        questions, answers, assignments = _of_run(run, gold, judge, asked)
    joined = join(answers, questions, source=str(run))
    stratum_of = design.stratum_of if design is not None and way == "by-score" else None
    audits = [
        audit(each, requirements=requirements, rule=cut_rule, chosen=way, stratum_of=stratum_of, epsilon=epsilon)
        for each in joined
    ]
    saved = [] if save is None else _save(save, audits, assignments)
    chapters = [chapter_of(each, worst) for each in audits]
    overview = overview_of(audits) if len(audits) > 1 else None
    if html is not None:
        lead = f"{run}, held against the labels " + ("beside it" if gold in (None, run) else f"of {gold}")
        write_page(html, Page("How far to trust a judge", lead, tuple(chapters), overview))
    if cluster is not None and all(p.cluster == p.case_id for a in audits for p in a.pairs.pairs):
        note(f"`{cluster}` groups no cases: each is a group of its own")
    if json:
        write_json(
            {
                "run": str(run),
                "gold": str(gold or run),
                "label": label,
                "cluster": cluster,
                "chosen": way,
                "design": None if design is None or gold is None else str(design_path(gold)),
                "saved": None if save is None else str(save),
                "audits": [one.to_record() for one in audits],
            }
        )
    else:
        if overview is not None:
            show_table(overview)
        for place, chapter in enumerate(chapters):
            if place or overview is not None:
                data()
            show_chapter(chapter)
        if save is not None:
            _show_saved(save, saved)
    if html is not None:
        note(f"page: {printable(str(html))}")
    if requirements and _misses(audits, strict=strict):
        raise typer.Exit(Exit.GATE_FAILED)


class _Asked:
    """The options that say which labels are about what, and how they are read."""

    def __init__(
        self,
        label: str | None,
        positive: Sequence[str],
        scale: "Scale | None",
        criterion: str | None,
        threshold: float | None,
        cluster: str | None,
        by: tuple[str, ...],
        design: "Design | None",
    ) -> None:
        self.label = label
        self.criterion = criterion
        self._positive = positive
        self._scale = scale
        self.threshold = threshold
        self._cluster = cluster
        self._by = by
        self.design = design

    def question(self, gold: Path, field: str, subject: "Subject") -> "Question":
        """What is asked about one judge and criterion."""
        from calibration.labels import read_labels
        from calibration.meaning import meaning_of
        from calibration.pairs import Question

        labels = read_labels(gold, field, cluster=self._cluster)
        threshold = self.threshold
        if self.design is not None:
            labels = _drawn(labels, self.design)
            if threshold is None and self.design.how in _BY_SCORE:
                threshold = self.design.threshold
        meaning = meaning_of(labels, positive=self._rule(subject.criterion), scale=self._scale)
        return Question(subject, labels, meaning, threshold, self._by, self._cluster)

    def _rule(self, criterion: str) -> str | None:
        """The rule for this criterion, or the one for all."""
        own = [each.partition(":")[2] for each in self._positive if each.partition(":")[0] == criterion]
        everyone = [each for each in self._positive if ":" not in each]
        if len(own) > 1 or (not own and len(everyone) > 1):
            raise InputError(f"--positive says it twice for `{criterion}`; name the criterion of each: tone:>=3")
        return next(iter(own or everyone), None)


def _of_run(
    folder: Path, gold: Path, judge: str | None, asked: _Asked
) -> "tuple[list[Question], Answers, list[Assignment]]":
    from calibration.answers import Subject, answers_in_run
    from calibration.labels import labelled_criteria
    from judges.engine.run import Run

    if asked.threshold is not None and not 0 <= asked.threshold <= 1:
        raise InputError(f"--threshold {asked.threshold:g}: scores of a run go from 0 to 1")
    home = Run(folder)
    manifest = home.manifest()
    names = list(dict.fromkeys(each.criterion.name for each in manifest.assignments))
    if asked.label is not None:
        fields = {asked.criterion or _criterion_of(manifest, asked.label): asked.label}
    else:
        sought = names if asked.criterion is None else [asked.criterion]
        fields = labelled_criteria(gold, sought)
        if not fields:
            wanted = " or ".join(f"gold.{each}" for each in sought)
            raise InputError(f"{gold}: no record has {wanted}; name the field of the labels with --label")
    chosen = [each for each in manifest.assignments if each.criterion.name in fields and judge in (None, each.judge)]
    if not chosen:
        pairs = ", ".join(f"{each.criterion.name} by {each.judge}" for each in manifest.assignments)
        named = ", ".join(fields)
        raise InputError(f"the run has no `{named}`{f' by `{judge}`' if judge else ''}; it has: {pairs}")
    if asked.design is not None:
        _check_design(asked.design, home, manifest, chosen, asked.threshold)
    questions = [asked.question(gold, fields[each.criterion.name], Subject.of(each)) for each in chosen]
    return questions, answers_in_run(home, manifest, chosen), chosen


def _criterion_of(manifest: "Manifest", label: str) -> str:
    """The criterion a label is about, by the last part of its field's name."""
    names = list(dict.fromkeys(each.criterion.name for each in manifest.assignments))
    last = label.rpartition(".")[2]
    if last in names:
        return last
    if len(names) == 1:
        return names[0]
    raise InputError(f"`{label}` names none of the run's criteria; say which with --criterion: {', '.join(names)}")


def _of_file(path: Path, gold: Path, judge: str, asked: _Asked) -> "tuple[list[Question], Answers]":
    from calibration.answers import answers_in_file, stored_subjects
    from calibration.labels import labelled_criteria

    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the file that holds `{judge}` in place of the run")
    subjects = stored_subjects(path, judge, None if asked.criterion is None else [asked.criterion])
    if asked.label is not None:
        if len(subjects) > 1:
            last = asked.label.rpartition(".")[2]
            subjects = [each for each in subjects if each.criterion == last] or subjects
        if len(subjects) > 1:
            names = ", ".join(each.criterion for each in subjects)
            raise InputError(f"`{judge}` was asked several things; name one: stored:{judge}.… ({names})")
        fields = {each.criterion: asked.label for each in subjects}
    else:
        fields = labelled_criteria(gold, [each.criterion for each in subjects])
    subjects = [each for each in subjects if each.criterion in fields]
    if not subjects:
        raise InputError(f"{gold}: has no labels of what `{judge}` was asked; name their field with --label")
    questions = [asked.question(gold, fields[each.criterion], each) for each in subjects]
    return questions, answers_in_file(path, subjects)


# How the labelled cases were chosen


_WAYS: "dict[How, Chosen]" = {
    "random": "random",
    "by_verdict": "by-verdict",
    "unsure": "by-score",
    "hand_picked": "by-hand",
}
_BY_SCORE = ("by_verdict", "unsure")
"""Ways that went by a threshold."""
_RATES = {
    "kappa": "kappa",
    "agreement": "accuracy",
    "passes_found": "recall",
    "fails_found": "specificity",
    "passes_right": "precision",
    "fails_right": "npv",
}
"""Figures that can be required, as the statistics call them."""


def _design(gold: Path | None, *, stored: bool) -> "Design | None":
    """The design beside the labels, where `judges plan-labels` chose the cases."""
    from calibration.sampling import design_path, read_design

    if gold is None or not design_path(gold).exists():
        return None
    if stored:
        note(f"{design_path(gold)} is about a judge of a run, so it is left aside; say --chosen for a stored one")
        return None
    return read_design(gold)


def _way(said: str, design: "Design | None") -> "Chosen":
    from calibration.rates import CHOSEN

    if said not in CHOSEN:
        raise InputError(f"--chosen {said}: choose one of {', '.join(CHOSEN)}")
    chosen = CHOSEN[CHOSEN.index(said)]
    if design is None:
        return chosen
    way = _WAYS[design.how]
    if chosen not in ("unknown", way):
        raise InputError(f"--chosen {said}: the design beside the labels says {way}; leave out --chosen")
    return way


def _check_required(requirements: "Sequence[Requirement]", way: "Chosen") -> None:
    """Refuse to decide by a figure that labels chosen like this can't tell."""
    from calibration.rates import check_value

    for each in requirements:
        if each.name in _RATES:
            try:
                check_value(_RATES[each.name], way)
            except InputError as error:
                raise InputError(f"--require {each}: {error}") from None


def _check_design(
    design: "Design", home: "Run", manifest: "Manifest", chosen: "Sequence[Assignment]", threshold: float | None
) -> None:
    """Refuse a design of another criterion, judge or run, or a threshold that its strata don't fit."""
    from calibration.sampling import frame_of

    for each in chosen:
        design.check_judge(each)
    if design.how == "by_verdict" and threshold not in (None, design.threshold):
        raise InputError(
            f"--threshold {threshold:g}: the labelled cases were chosen by the verdict from {design.threshold:g} on; "
            "leave out --threshold, or label a random sample"
        )
    drawn_for = next((each for each in chosen if each.judge_fingerprint == design.judge_fingerprint), chosen[0])
    design.check_population(frame_of(home, manifest, drawn_for, design.how, threshold=design.threshold).said)


def _drawn(labels: "Labels", design: "Design") -> "Labels":
    """The labels of the cases that were drawn."""
    found = design.coverage(labels.by_case)
    if found.missing:
        note(
            f"{len(found.missing):,} of {counted(len(design.cases), 'case')} drawn have no label: "
            "if these are the hard ones, the others are no such sample any more"
        )
    if found.outside:
        note(f"left out: {counted(len(found.outside), 'labelled case')} that nobody drew")
    return replace(labels, by_case={case: labels.by_case[case] for case in found.labelled})


# What is kept


def _save(path: Path, audits: "Sequence[Audit]", assignments: "Sequence[Assignment]") -> "list[Calibration]":
    from calibration.saved import calibration_of, write_calibrations

    found = [calibration_of(one, assignment) for one, assignment in zip(audits, assignments, strict=True)]
    write_calibrations(path, found)
    return found


def _show_saved(path: Path, saved: "Sequence[Calibration]") -> None:
    data()
    for each in saved:
        cut = each.threshold
        how = "the one in use" if cut.rule is None else f"fitted by {cut.rule}"
        chances = "a map from scores to chances" if each.map is not None else "no map from scores to chances"
        prose(
            f"saved: {each.criterion['name']} by {each.judge}: threshold {cut.at:g} ({how}), {chances}, error rates of "
            f"{counted(each.labelled, 'label')}",
            "  ",
        )
    data(f"file: {printable(str(path))}; use it with judges run ... --calibration {printable(shlex.quote(str(path)))}")


def _misses(audits: "Sequence[Audit]", *, strict: bool) -> bool:
    bad = {"FAIL", "UNDECIDED"} if strict else {"FAIL"}
    return any(each.decision.status in bad for each in audits)
