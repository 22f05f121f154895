"""`judges calibrate`: hold a judge against people's labels. Mounted into the `judges` command."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Exit, data, note, write_json
from judges.errors import InputError

if TYPE_CHECKING:
    from calibration.answers import Answers, Subject
    from calibration.audit import Audit
    from calibration.meaning import Scale
    from calibration.pairs import Question
    from judges.engine.run import Manifest

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
        typer.Option(help="How the labelled cases were chosen: random, by-verdict, by-gold, by-hand, tuning, unknown."),
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
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold a judge against human labels: may it be relied on, where does it fail, what is the true pass rate?"""
    from calibration.audit import audit
    from calibration.cli.page import show_audit, show_overview
    from calibration.meaning import Scale
    from calibration.pairs import join
    from calibration.probabilities import parse_rule
    from calibration.rates import CHOSEN
    from judges.gate import Requirement

    if chosen not in CHOSEN:
        raise InputError(f"--chosen {chosen}: choose one of {', '.join(CHOSEN)}")
    requirements = [Requirement.parse(each) for each in require or []]
    cut_rule = parse_rule(rule)
    declared = None if scale is None else Scale.parse(scale)
    asked = _Asked(label, positive or [], declared, criterion, threshold, cluster, tuple(by or _BY))
    if judge is not None and judge.startswith(_STORED):
        questions, answers = _of_file(run, gold or run, judge.removeprefix(_STORED), asked)
    else:
        if gold is None:
            raise InputError("--gold is missing: name the file of human labels")
        questions, answers = _of_run(run, gold, judge, asked)
    joined = join(answers, questions, source=str(run))
    audits = [
        audit(each, requirements=requirements, rule=cut_rule, chosen=CHOSEN[CHOSEN.index(chosen)], epsilon=epsilon)
        for each in joined
    ]
    if cluster is not None and all(p.cluster == p.case_id for a in audits for p in a.pairs.pairs):
        note(f"`{cluster}` groups no cases: each is a group of its own")
    if json:
        write_json(
            {
                "run": str(run),
                "gold": str(gold or run),
                "label": label,
                "cluster": cluster,
                "chosen": chosen,
                "audits": [one.to_record() for one in audits],
            }
        )
    else:
        if len(audits) > 1:
            show_overview(audits)
        for place, one in enumerate(audits):
            if place or len(audits) > 1:
                data()
            show_audit(one, worst)
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
    ) -> None:
        self.label = label
        self.criterion = criterion
        self._positive = positive
        self._scale = scale
        self.threshold = threshold
        self._cluster = cluster
        self._by = by

    def question(self, gold: Path, field: str, subject: "Subject") -> "Question":
        """What is asked about one judge and criterion."""
        from calibration.labels import read_labels
        from calibration.meaning import meaning_of
        from calibration.pairs import Question

        labels = read_labels(gold, field, cluster=self._cluster)
        meaning = meaning_of(labels, positive=self._rule(subject.criterion), scale=self._scale)
        return Question(subject, labels, meaning, self.threshold, self._by, self._cluster)

    def _rule(self, criterion: str) -> str | None:
        """The rule for this criterion, or the one for all."""
        own = [each.partition(":")[2] for each in self._positive if each.partition(":")[0] == criterion]
        everyone = [each for each in self._positive if ":" not in each]
        if len(own) > 1 or (not own and len(everyone) > 1):
            raise InputError(f"--positive says it twice for `{criterion}`; name the criterion of each: tone:>=3")
        return next(iter(own or everyone), None)


def _of_run(folder: Path, gold: Path, judge: str | None, asked: _Asked) -> "tuple[list[Question], Answers]":
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
    questions = [asked.question(gold, fields[each.criterion.name], Subject.of(each)) for each in chosen]
    return questions, answers_in_run(home, manifest, chosen)


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


def _misses(audits: "Sequence[Audit]", *, strict: bool) -> bool:
    bad = {"FAIL", "UNDECIDED"} if strict else {"FAIL"}
    return any(each.decision.status in bad for each in audits)
