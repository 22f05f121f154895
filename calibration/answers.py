"""What judges said of each case: judged in a run, or stored in the records of a file by somebody else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from calibration.labels import label_text
from calibration.meaning import Meaning, number_of
from judges.backends.stored import fields_of, unstored
from judges.case import Case, Part
from judges.criteria import CRITERIA
from judges.criterion import Criterion
from judges.datasets import read_cases
from judges.engine.plan import Assignment
from judges.engine.run import Manifest, Row, Run
from judges.errors import InputError
from judges.fields import MISSING, find_longest
from judges.verdict import Abstained, Failed, Verdict

__all__ = ["Answer", "Answers", "Subject", "answers_in_file", "answers_in_run", "gives_scores", "stored_subjects"]

_WHY = 300
_MOST_NAMES = 200  # of fields, to find the one that was meant


@dataclass(frozen=True, slots=True)
class Subject:
    """A judge and what it was asked: what is held against people."""

    criterion: str
    judge: str
    fingerprint: str | None
    """None of a stored judge: nobody knows what it was."""
    threshold: float | None
    """Where it cuts its scores itself; None if that isn't known."""
    hypothesis: Part
    premise: Part | None
    field: str | None = None
    """Where its answers are stored."""

    @classmethod
    def of(cls, assignment: Assignment) -> "Subject":
        """The judge of a run."""
        asked = assignment.criterion
        return cls(
            asked.name,
            assignment.judge,
            assignment.judge_fingerprint,
            assignment.threshold,
            asked.hypothesis,
            asked.premise,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a judge said of one case."""

    kind: Literal["verdict", "abstained", "failed"]
    score: float | None = None
    """Of a run from 0 to 1, the mean over claims and replicates; a stored one as it is."""
    label: str | None = None
    """The level the judge named, or the label that is stored."""
    why: str = ""
    """Its rationale; of an abstention the reason, of a failure the kind of error."""


Answers: TypeAlias = Iterator[tuple[Case, Sequence[Answer | None]]]
"""Each case with the answer of each subject; None where there is none."""


def answers_in_run(run: Run, manifest: Manifest, assignments: Sequence[Assignment]) -> Answers:
    """What the judges of a run said, in order of the cases.

    Raises:
        LedgerError: A file of the run can't be read.
    """
    for row in run.rows(manifest):
        yield row.case, [_of_row(row, assignment) for assignment in assignments]


def _of_row(row: Row, assignment: Assignment) -> Answer | None:
    scores: list[float] = []
    label, why = None, ""
    other: Answer | None = None
    for work, judgement in row.judgements:
        if work.assignment != assignment or judgement is None:
            continue
        match judgement.outcome:
            case Verdict() as verdict:
                if not scores:
                    label, why = verdict.label, verdict.rationale[:_WHY]
                scores.append(verdict.score)
            case Abstained(reason=reason):
                other = other or Answer("abstained", why=reason)
            case Failed(error=error):
                other = other or Answer("failed", why=error)
    return Answer("verdict", sum(scores) / len(scores), label, why) if scores else other


def stored_subjects(path: Path, judge: str, criteria: Sequence[str] | None) -> list[Subject]:
    """The judges whose answers a file holds under a field.

    Args:
        path: Records of cases.
        judge: `judges.gpt-4.correctness`, or `judges.gpt-4` for all it was asked.
        criteria: Only these; None for all. One name, of a field that holds one verdict: what it is about, whatever the
            field is called.

    Raises:
        InputError: No record has a verdict there.
    """
    there: dict[str, None] = {}
    named: dict[str, Case] = {}
    for case in read_cases(path):
        value = find_longest(case.extra, judge)
        if isinstance(value, dict):
            for name, label in cast("dict[str, object]", value).items():
                if label is not None and label != "":
                    named.setdefault(name, case)
        elif value is not MISSING and value is not None and value != "":
            owner, _, name = judge.rpartition(".")
            if criteria is None or name in criteria:
                return [_stored(owner, name, judge, case)]
            if len(criteria) > 1:
                raise InputError(f"{path}: `{judge}` holds one verdict; which of {', '.join(criteria)} is it about?")
            return [_stored(judge, criteria[0], judge, case)]
        if len(there) < _MOST_NAMES:
            there.update(dict.fromkeys(fields_of(case)))
    wanted = [name for name in named if criteria is None or name in criteria]
    if not wanted:
        raise InputError(f"{path}: {unstored('.'.join([judge, *(criteria or ())][:2]) if named else judge, there)}")
    return [_stored(judge, name, f"{judge}.{name}", named[name]) for name in wanted]


def _stored(owner: str, name: str, field: str, case: Case) -> Subject:
    known: Criterion | None = CRITERIA.get(name)
    hypothesis, premise = Part.ANSWER, _premise(case)
    if known is not None:
        hypothesis, premise = known.hypothesis, known.premise
    return Subject(name, owner.removeprefix("judges."), None, None, hypothesis, premise, field)


def _premise(case: Case) -> Part | None:
    """What an answer can be held against, where no criterion of ours says it."""
    if case.contexts and case.rival is None:
        return Part.CONTEXTS
    return Part.REFERENCES if case.references else Part.QUESTION if case.question else None


def answers_in_file(path: Path, subjects: Sequence[Subject]) -> Answers:
    """What stored judges said. A label that is no number is a label; a number is a score, and a label too.

    Raises:
        InputError: The file can't be read.
    """
    for case in read_cases(path):
        yield case, [_of_field(case, subject.field or "") for subject in subjects]


def _of_field(case: Case, field: str) -> Answer | None:
    try:
        text = label_text(find_longest(case.extra, field))
    except TypeError:
        raise InputError(f"case `{case.id}`: `{field}` holds several values; name one of them: {field}.…") from None
    return None if text is None else Answer("verdict", number_of(text), text)


def gives_scores(answers: Iterable[Answer | None], meaning: Meaning) -> bool:
    """Whether a stored judge's numbers are scores, since not all of them are labels: among 0.6 and 0.8 a 1 is no `1`.

    Where labels are pass and fail a threshold tells, so this is false.
    """
    if meaning.binary or not meaning.labels:
        return False
    numbers = {each.label for each in answers if each is not None and each.kind == "verdict" and each.score is not None}
    return any(label is not None and meaning.label_said(label) not in meaning.labels for label in numbers)
