"""The one join: what judges said, by case, against people's labels, and what was left out and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calibration.answers import Answer, Answers, Subject, gives_scores
from calibration.labels import Labels, group_of
from calibration.meaning import FAIL, PASS, Gold, Meaning
from calibration.plain import length_of, overlap_of
from judges.case import Case
from judges.errors import InputError
from judges.printable import printable
from judges.remedies import by_option
from judges.summary import slices_of

__all__ = ["ABSTAINED", "FAILED", "NUMBER", "Pair", "Pairs", "Question", "join"]

ABSTAINED, FAILED, NUMBER = "abstained", "failed", "number"


@dataclass(frozen=True, slots=True)
class Pair:
    """One case that people have labelled and the judge was asked about."""

    case_id: str
    cluster: str
    """The group the case belongs to: its own id, where no field was named."""
    gold: str | None
    """The label that counts, by its meaning; None with a tie, or where labels are numbers only."""
    number: float | None
    """The people's number, where labels are numbers."""
    people: Mapping[str, str]
    """Each annotator's label, as it was given."""
    said: str
    """A declared label, `abstained`, `failed`; or `number`, which is no label but compares with the people's number."""
    score: float | None
    why: str
    overlap: float
    """Words in common, what the simplest judge would go by; of a pair of answers A's less B's."""
    length: float
    """Characters of the answer, or of A less those of B."""
    slices: tuple[tuple[str, ...], ...]
    """By field asked for, the values of the case."""


@dataclass(frozen=True, slots=True)
class Question:
    """One judge, one criterion, and people's labels about it."""

    subject: Subject
    labels: Labels
    meaning: Meaning
    threshold: float | None = None
    """A score at or above it is a pass; None for the judge's own."""
    by: tuple[str, ...] = ()
    """Fields whose values are slices."""
    cluster: str | None = None
    """Field that groups cases."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of one question, in order of the cases."""

    question: Question
    threshold: float | None
    """A score at or above it is a pass; None where the judge's own labels say it, or labels are numbers only."""
    pairs: tuple[Pair, ...]
    cases: int
    """Of the run or file."""
    unlabelled: int
    """Cases without a label."""
    unlabelled_passed: tuple[bool, ...]
    """The judge's verdicts on those of them that it judged; of passes and fails only."""
    unlabelled_scores: tuple[float | None, ...]
    """The scores of the same."""
    unlabelled_clusters: tuple[str, ...]
    not_in_run: int
    """Labels of cases that the run or file doesn't have."""
    pending: int
    """Labelled cases that the judge has not judged."""
    ties: tuple[str, ...]
    """Cases whose annotators tie: no label counts there."""
    abstained: Mapping[str, int]
    """Abstentions among the pairs, by reason."""
    failed: Mapping[str, int]
    """Failures among the pairs, by kind of error; an answer that is no label is `not a label`, with the answer if few
    others are."""

    @property
    def clustered(self) -> bool:
        """Whether cases are grouped, so that every interval allows for it."""
        return self.question.cluster is not None


_NOT_A_LABEL = "not a label"


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A labelled case and what was said of it, before the threshold is known."""

    case_id: str
    cluster: str
    gold: Gold
    people: Mapping[str, str]
    answer: Answer
    overlap: float
    length: float
    slices: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class _Joined:
    """What is gathered of one question."""

    question: Question
    labelled: list[_Labelled] = field(default_factory=list[_Labelled])
    others: list[tuple[Answer, str]] = field(default_factory=list[tuple[Answer, str]])
    cases: int = 0
    unlabelled: int = 0
    pending: int = 0

    def add(self, case: Case, answer: Answer | None) -> None:
        asked = self.question
        self.cases += 1
        labels = asked.labels.by_case.get(case.id)
        if labels is None:
            self.unlabelled += 1
            if answer is not None and asked.meaning.binary:
                self.others.append((answer, self._cluster(case)))
        elif answer is None:
            self.pending += 1
        else:
            self.labelled.append(
                _Labelled(
                    case.id,
                    self._cluster(case),
                    asked.meaning.gold(labels),
                    labels.by_annotator,
                    answer,
                    overlap_of(case, asked.subject.hypothesis, asked.subject.premise),
                    length_of(case, asked.subject.hypothesis),
                    tuple(tuple(slices_of(case, each)) for each in asked.by),
                )
            )

    def _cluster(self, case: Case) -> str:
        asked = self.question
        named = asked.labels.clusters.get(case.id)
        if named is None and asked.cluster is not None:
            named = group_of(case, asked.cluster)
        return case.id if named is None else named

    def result(self, source: str) -> Pairs:
        if not self.labelled and not self.pending:
            raise InputError(f"{source}: none of its {self.cases:,} cases has a label; do the ids match?")
        asked = self.question
        answers = [each.answer for each in self.labelled]
        threshold = _threshold(asked, answers)
        scores = asked.subject.field is not None and gives_scores(answers, asked.meaning)
        abstained, failed, pairs = Counter[str](), Counter[str](), list[Pair]()
        strange: list[Answer] = []
        for one in self.labelled:
            said = NUMBER if scores and one.answer.score is not None else _said(asked.meaning, one.answer, threshold)
            if said == ABSTAINED:
                abstained[one.answer.why] += 1
            elif said == FAILED and one.answer.kind == "failed":
                failed[one.answer.why] += 1
            elif said == FAILED:
                strange.append(one.answer)
            pairs.append(
                Pair(
                    one.case_id,
                    one.cluster,
                    one.gold.label,
                    one.gold.number,
                    one.people,
                    said,
                    one.answer.score,
                    one.answer.why,
                    one.overlap,
                    one.length,
                    one.slices,
                )
            )
        if asked.subject.field is not None and len(strange) == len(pairs) > 0:
            raise _strange(asked, strange)
        failed += _no_labels(strange)
        others = [(_said(asked.meaning, answer, threshold), answer.score, cluster) for answer, cluster in self.others]
        verdicts = [(said == PASS, score, cluster) for said, score, cluster in others if said in asked.meaning.labels]
        return Pairs(
            question=asked,
            threshold=threshold,
            pairs=tuple(pairs),
            cases=self.cases,
            unlabelled=self.unlabelled,
            unlabelled_passed=tuple(passed for passed, _, _ in verdicts),
            unlabelled_scores=tuple(score for _, score, _ in verdicts),
            unlabelled_clusters=tuple(cluster for _, _, cluster in verdicts),
            not_in_run=len(asked.labels.by_case) - len(self.labelled) - self.pending,
            pending=self.pending,
            ties=tuple(each.case_id for each in self.labelled if each.gold.tied),
            abstained=dict(sorted(abstained.items())),
            failed=dict(sorted(failed.items())),
        )


def join(answers: Answers, questions: Sequence[Question], *, source: str) -> list[Pairs]:
    """Join what judges said with people's labels, in one pass over the cases.

    Args:
        answers: From `calibration.answers`, with one answer for each question, in the same order.
        questions: What is asked about each.
        source: The name of the run or file, for messages.

    Raises:
        InputError: No labelled case is there, or nothing says which of a judge's scores are passes.
        LedgerError: A file of the run can't be read.
    """
    joined = [_Joined(question) for question in questions]
    for case, given in answers:
        for each, answer in zip(joined, given, strict=True):
            each.add(case, answer)
    return [each.result(source) for each in joined]


def _threshold(asked: Question, answers: Sequence[Answer]) -> float | None:
    """Where passes begin: as was said, as the judge has it, or as the stored scores leave no doubt."""
    meaning, subject = asked.meaning, asked.subject
    if not meaning.binary:
        return None
    if asked.threshold is not None or subject.field is None:
        return subject.threshold if asked.threshold is None else asked.threshold
    said = [each for each in answers if each.kind == "verdict"]
    if all(each.label in meaning.vocabulary for each in said) or any(
        each.score is None and each.label in meaning.vocabulary for each in said
    ):
        return None
    scores = [each.score for each in said if each.score is not None]
    comparing = meaning.positive is not None and meaning.positive.bound is not None
    if not scores or (comparing and meaning.within(min(scores), max(scores))):
        return None
    if min(scores) >= 0 and max(scores) <= 1:
        return _HALF
    raise InputError(
        f"the scores stored in `{subject.field}` go from {min(scores):g} to {max(scores):g}; "
        "say with --threshold where a pass begins"
    )


_HALF = 0.5


def _no_labels(answers: Sequence[Answer]) -> Counter[str]:
    """Answers that are no label, each by itself if there are few kinds of them."""
    words = Counter(each.label or "none" for each in answers)
    if len(words) > _FEW_KINDS:
        return Counter({_NOT_A_LABEL: len(answers)})
    return Counter({f"{_NOT_A_LABEL} ({printable(word, _LABEL_LENGTH)})": count for word, count in words.items()})


def _strange(asked: Question, answers: Sequence[Answer]) -> InputError:
    """Not one of the answers is a label: people and judge use other words, or the field is another."""
    found = Counter(each.label or "none" for each in answers).most_common(_SHOWN)
    named = ", ".join(f"{printable(label, _LABEL_LENGTH)} ({count:,})" for label, count in found)
    return InputError(
        f"no answer of `{asked.subject.judge}` is a label of `{asked.labels.field}`: the judge says {named}; people's "
        f"labels are {asked.labels.found().removeprefix('found: ')}; name the good ones of both with "
        f"--positive correct,right{by_option('--scale', ', and all with --scale correct,right,wrong,untrue')}"
    )


_SHOWN, _LABEL_LENGTH, _FEW_KINDS = 5, 40, 3


def _said(meaning: Meaning, answer: Answer, threshold: float | None) -> str:
    """The judge's label by its meaning. An answer that is no label is a failure."""
    if answer.kind != "verdict":
        return answer.kind
    if threshold is not None:
        return FAILED if answer.score is None else PASS if answer.score >= threshold else FAIL
    label = None if answer.label is None else meaning.label_said(answer.label)
    if label is not None:
        return label
    return NUMBER if meaning.numeric and answer.score is not None and not meaning.binary else FAILED
