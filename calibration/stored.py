"""A judge whose verdicts somebody else has stored in a file of cases: one side of a comparison, as a run is."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calibration.answers import Answer, Answers, Subject, answers_in_file, stored_subjects
from calibration.meaning import Positive
from judges.backends.stored import BAD_WORDS, GOOD_WORDS, STORED
from judges.criteria import CRITERIA
from judges.criterion import Criterion
from judges.engine.plan import Assignment
from judges.errors import InputError
from judges.fingerprint import fingerprint

__all__ = ["STORED", "StoredJudge", "stored_judge"]

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class StoredJudge:
    """What is known of it: its answers, and nothing of how it was asked."""

    path: Path
    assignments: tuple[Assignment, ...]
    no_cut: str
    """Why nobody knows which of its answers are passes; empty where it is known."""
    _subjects: Mapping[str, Subject]
    """By the assignment's fingerprint."""
    _words: "_Words"

    def answers(self, asked: Sequence[Assignment]) -> Answers:
        """Its answers; a label that is good or bad has a score, 1 or 0, and any other none."""
        for case, given in answers_in_file(self.path, [self._subjects[each.fingerprint] for each in asked]):
            yield case, [each if each is None else self._words.scored(each) for each in given]


def stored_judge(
    path: Path,
    judge: str | None,
    criteria: Sequence[str] | None,
    *,
    positive: str | None = None,
    vocabulary: Collection[str] | None = None,
    like: Sequence[Criterion] = (),
) -> StoredJudge:
    """The judge that a file holds verdicts of.

    Its numbers pass from 0.5 on if all lie between 0 and 1; else from the bound of `positive`, as in `>=4`, where that
    compares. Labels pass by `positive`, or by the usual words.

    Args:
        path: File of cases.
        judge: `stored:judges.gpt-4.correctness`, or `stored:judges.gpt-4` for all it was asked.
        criteria: Only these. One name here, of one verdict: what it was asked, whatever its field is called.
        positive: Which labels are good.
        vocabulary: People's labels: by `positive` a label beyond them, such as `invalid`, is none. Without: it is bad.
        like: Criteria of a run it is compared with: those of the same name are taken for what it was asked.

    Raises:
        InputError: It isn't named, or the file doesn't hold it.
    """
    if judge is None or not judge.startswith(STORED):
        raise InputError(
            f"{path}: is a file, not a run; say which of the judges stored in it is meant: --judge-a or --judge-b "
            "stored:judges.NAME.CRITERION"
        )
    name = judge.removeprefix(STORED)
    subjects = stored_subjects(path, name, None)
    if criteria is not None and len(subjects) == 1 and criteria[1:] == [] and subjects[0].criterion != criteria[0]:
        subjects = [replace(subjects[0], criterion=criteria[0], judge=name.removeprefix("judges."))]
    named = [each for each in subjects if criteria is None or each.criterion in criteria]
    if not named:
        there = ", ".join(each.criterion for each in subjects)
        raise InputError(f"{path}: `{name}` wasn't asked {', '.join(criteria or ())}; it was asked: {there}")
    words = _Words(None if positive is None else Positive(positive), vocabulary)
    known = {**CRITERIA, **{each.name: each for each in like}}
    numbers: list[float] = []
    labels: set[str] = set()
    for _, given in answers_in_file(path, named):
        for each in given:
            if each is None:
                continue
            if each.score is not None:
                numbers.append(each.score)
            elif words.scored(each).score is not None:
                labels.add(each.label or "")
    cut, why = _cut(name, numbers, labels, words.rule)
    made: dict[str, Subject] = {}
    assignments: list[Assignment] = []
    for subject in named:
        criterion = known.get(subject.criterion) or Criterion(subject.criterion, subject.hypothesis, subject.premise)
        assignment = Assignment(criterion, subject.judge, fingerprint([STORED, subject.field]), cut)
        assignments.append(assignment)
        made[assignment.fingerprint] = subject
    return StoredJudge(path, tuple(assignments), why, made, words)


def _cut(name: str, numbers: Sequence[float], labels: set[str], rule: Positive | None) -> tuple[float, str]:
    if not numbers or (min(numbers) >= 0 and max(numbers) <= 1):
        if not numbers and not labels:
            return _HALF, f"`{name}` names labels, and nothing says which are good: say it with --positive"
        return _HALF, ""
    if rule is not None and rule.bound is not None and rule.rule.startswith(">="):
        return rule.bound, ""
    return _HALF, (
        f"`{name}` has scores from {min(numbers):g} to {max(numbers):g}: say from where on they pass, as people's "
        "labels do, with --positive '>=4'; or compare by numbers: give --gold without --positive"
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """Which labels are good and bad."""

    rule: Positive | None
    vocabulary: Collection[str] | None

    def scored(self, answer: Answer) -> Answer:
        """With a score of 1 or 0 where its label is good or bad."""
        label = answer.label
        if answer.score is not None or label is None:
            return answer
        if self.rule is None or self.rule.bound is not None:
            score = 1.0 if label.lower() in GOOD_WORDS else 0.0 if label.lower() in BAD_WORDS else None
        elif self.rule(label):
            score = 1.0
        else:
            score = 0.0 if self.vocabulary is None or label in self.vocabulary else None
        return replace(answer, score=score)
