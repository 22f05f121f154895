"""Two judges held against people's labels of the same answers, of whatever kind the labels are.

    pass and fail, or labels without an order   kappa, agreement, and who is right where the other is wrong
    levels in order                             kappa with credit for near misses too, and all that numbers have
    numbers                                     correlations, and the distance from people's number

Which judge is the better is decided by one figure, chosen by the kind of the labels and not by what it shows: kappa;
with quadratic weights where both judges name levels in order; else the rank correlation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.answers import Answer, gives_scores
from calibration.differences import Found, People, RatePair, adjusted_p, cases_of, clusters_of, detectable, found, parts
from calibration.matching import Both, Matched, Matching
from calibration.meaning import FAIL, PASS, Gold, Meaning
from calibration.statistics.agreement import KappaDifference, kappa_difference
from calibration.statistics.confusion import mcnemar_of_items
from calibration.statistics.contrasts import PairedDifference, mean_difference, sign_test
from calibration.statistics.correlations import CorrelationDifference, correlation_difference
from calibration.statistics.scores import mean_absolute_error, pair_scores
from calibration.statistics.tables import INVALID, Invalid
from judges.errors import InputError
from judges.figures import Figure, undefined
from judges.intervals import proportion

__all__ = ["Decider", "ErrorDifference", "JudgesOnGold", "compare_judges"]

Decider: TypeAlias = Literal["kappa", "kappa_quadratic", "spearman"]
Weights: TypeAlias = Literal["linear", "quadratic"]
_WEIGHTS: tuple[Weights, ...] = ("linear", "quadratic")
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class ErrorDifference:
    """How far two judges are from people's numbers, in units of their scale: less is better."""

    mae_a: Figure
    """Mean absolute error."""
    mae_b: Figure
    difference: PairedDifference
    """Mean absolute error of A less that of B, paired by case."""
    sign_p: float
    """Of the exact test of signs: is one of them closer more often? By group where there are groups."""
    closer_a: int
    """Cases where A is closer to people."""
    closer_b: int
    same: int

    def to_record(self) -> dict[str, Any]:
        """The errors as JSON-ready values."""
        return {
            "mae_a": self.mae_a.to_record(),
            "mae_b": self.mae_b.to_record(),
            "difference": self.difference.to_record(),
            "sign_p": self.sign_p,
            "closer_a": self.closer_a,
            "closer_b": self.closer_b,
            "same": self.same,
        }


@dataclass(frozen=True, slots=True)
class JudgesOnGold:
    """Judge A less judge B, by people's labels of the same cases. What doesn't apply is None or empty."""

    criterion: str
    judge_a: str
    judge_b: str
    slice: str | None
    threshold_a: float | None
    """None where labels are not pass and fail."""
    threshold_b: float | None
    labels: tuple[str, ...]
    """As people use them, in order if they have one; empty where they are numbers only."""
    n: int
    """Labelled cases that both have judged."""
    decided_by: Decider
    agreement: RatePair | None
    kappa: KappaDifference | None
    weighted: Mapping[Weights, KappaDifference]
    """Kappa with credit for near misses."""
    fails_found: RatePair | None
    """Of the cases that people fail."""
    passes_found: RatePair | None
    """Of the cases that people pass."""
    correlations: tuple[CorrelationDifference, ...]
    """Of ranks and of the numbers themselves, with people's numbers."""
    errors: ErrorDifference | None
    """None unless both judges use people's scale."""
    detectable: float | None
    """Smallest difference of what decides that these cases show with 80% power."""
    p_holm: float | None
    """Of what decides, adjusted for the criteria and slices compared together."""
    p_holm_agreement: float | None
    """McNemar's, adjusted likewise."""
    unlabelled: int
    """Cases of both runs without a label."""
    abstained: int
    """Labelled cases from which one of the judges abstained: left out for both."""
    pending: int
    """Labelled cases that one of them has not judged yet."""
    failed_a: int
    """Labelled cases on which A failed: no label of people's agrees with that; as a number they are left out."""
    failed_b: int
    only_a_right: tuple[str, ...]
    """Ids of the cases; of numbers those where A is closer, the largest gap first."""
    only_b_right: tuple[str, ...]

    @property
    def difference(self) -> Figure:
        """Of what decides."""
        made = self._decisive
        return undefined("no_data") if made is None else made[0]

    @property
    def p_value(self) -> float | None:
        """Of what decides."""
        made = self._decisive
        return None if made is None else made[1]

    @property
    def _decisive(self) -> tuple[Figure, float | None] | None:
        match self.decided_by:
            case "spearman":
                ranks = next((each for each in self.correlations if each.kind == "spearman"), None)
                return None if ranks is None else (ranks.difference, ranks.p_value)
            case "kappa_quadratic":
                made = self.weighted["quadratic"]
            case "kappa" if self.kappa is None:
                return None
            case _:
                made = self.kappa
        assert made is not None, "the two cases above"  # noqa: S101
        return made.difference, made.test.p_value

    @property
    def found(self) -> Found:
        """Which judge agrees better with people, by what decides."""
        if self.decided_by == "spearman":
            differ = self.p_value is None or self.difference.se != 0
        else:
            differ = bool(self.only_a_right or self.only_b_right)
            differ = differ or (self.decided_by == "kappa_quadratic" and bool(self.difference.se))
        return found(self.difference, self.p_value, self.p_holm, differ=differ)

    def to_record(self) -> dict[str, Any]:
        """The comparison as JSON-ready values."""
        named: dict[str, RatePair | KappaDifference | ErrorDifference | None] = {
            "agreement": self.agreement,
            "kappa": self.kappa,
            "fails_found": self.fails_found,
            "passes_found": self.passes_found,
            "errors": self.errors,
        }
        return {
            "criterion": self.criterion,
            "judge_a": self.judge_a,
            "judge_b": self.judge_b,
            "slice": self.slice,
            "threshold_a": self.threshold_a,
            "threshold_b": self.threshold_b,
            "labels": list(self.labels),
            "n": self.n,
            "found": self.found,
            "decided_by": self.decided_by,
            **{name: None if each is None else each.to_record() for name, each in named.items()},
            "weighted_kappa": {name: each.to_record() for name, each in self.weighted.items()},
            "correlations": {each.kind: each.to_record() for each in self.correlations},
            "minimum_detectable_effect": self.detectable,
            "p_holm": self.p_holm,
            "p_holm_agreement": self.p_holm_agreement,
            "unlabelled": self.unlabelled,
            "abstained": self.abstained,
            "pending": self.pending,
            "failed_a": self.failed_a,
            "failed_b": self.failed_b,
            "only_a_right": list(self.only_a_right),
            "only_b_right": list(self.only_b_right),
        }


def compare_judges(matching: Matching, gold: Mapping[str, People], *, seed: int = 0) -> list[JudgesOnGold]:
    """Compare two judges by people's labels of the same answers.

    A failed judgement, or an answer that is no label, counts as wrong, whatever people say (specification, rule R4); it
    is no number, so where labels are numbers the case is left out. So it is, for both judges, where one abstains: both
    are held against the same cases.

    Args:
        matching: Of mode `judges` or `same_judge`.
        gold: By criterion, what people say. Criteria without any are left out.
        seed: Of the bootstrap of correlations.

    Raises:
        InputError: No case of the runs has a label, or labels are pass and fail and nothing says where a judge's scores
            pass.
    """
    made = [
        _on_gold(matched, name, gold[matched.a.criterion.name], seed)
        for matched, name in parts(matching)
        if matched.a.criterion.name in gold
    ]
    if all(each.n + each.abstained + each.pending == 0 for each in made):
        raise InputError("none of the cases in both runs has a label; do the ids match?")
    by_decider = adjusted_p([each.p_value for each in made])
    by_agreement = adjusted_p([None if each.agreement is None else each.agreement.test.p_value for each in made])
    return [
        replace(each, p_holm=first, p_holm_agreement=second)
        for each, first, second in zip(made, by_decider, by_agreement, strict=True)
    ]


def _on_gold(matched: Matched, name: str | None, people: People, seed: int) -> JudgesOnGold:
    meaning = people.meaning
    if meaning.binary:
        matched.check_cut()
    there = [each for each in matched.cases if each.case_id in people.by_case]
    cases, pending, abstained = list[Both](), 0, 0
    for each in there:
        if each.a is None or each.b is None:
            pending += 1
        elif "abstained" in (each.a.kind, each.b.kind):
            abstained += 1
        else:
            cases.append(each)
    gold = [people.by_case[each.case_id] for each in cases]
    sides = _Side.of(matched, cases, meaning)
    by_label = _by_label(matched, cases, gold, sides, meaning)
    by_number = _by_number(matched, cases, gold, sides, seed) if meaning.numeric and not meaning.binary else _ByNumber()
    decided_by: Decider = "kappa"
    if by_label.weighted:
        decided_by = "kappa_quadratic"
    elif by_label.kappa is None:
        decided_by = "spearman"
    a, b = (by_number.closer_a, by_number.closer_b) if by_label.kappa is None else (by_label.only_a, by_label.only_b)
    made = JudgesOnGold(
        criterion=matched.a.criterion.name,
        judge_a=matched.a.judge,
        judge_b=matched.b.judge,
        slice=name,
        threshold_a=matched.threshold_a if meaning.binary else None,
        threshold_b=matched.threshold_b if meaning.binary else None,
        labels=meaning.labels,
        n=len(cases),
        decided_by=decided_by,
        agreement=by_label.agreement,
        kappa=by_label.kappa,
        weighted=by_label.weighted,
        fails_found=by_label.fails_found,
        passes_found=by_label.passes_found,
        correlations=by_number.correlations,
        errors=by_number.errors,
        detectable=None,
        p_holm=None,
        p_holm_agreement=None,
        unlabelled=len(matched.cases) - len(there),
        abstained=abstained,
        pending=pending,
        failed_a=sides[0].failed(by_label=by_label.kappa is not None),
        failed_b=sides[1].failed(by_label=by_label.kappa is not None),
        only_a_right=a,
        only_b_right=b,
    )
    return replace(made, detectable=detectable(made.difference))


# What a judge says, as labels and as numbers


@dataclass(frozen=True, slots=True)
class _Side:
    """What one judge says of the cases, read as people's labels are."""

    labels: tuple[str | Invalid, ...]
    names_labels: bool
    """Whether any of it is a label of people's; else it gives numbers only."""
    numbers: tuple[float | None, ...]
    on_scale: tuple[float | None, ...] | None
    """The numbers in units of people's scale; None where nothing says how."""

    @classmethod
    def of(cls, matched: Matched, cases: Sequence[Both], meaning: Meaning) -> "tuple[_Side, _Side]":
        """Both judges."""
        a, b = [each.a for each in cases], [each.b for each in cases]
        return (
            cls._of(a, meaning, matched.threshold_a, stored=matched.stored_a),
            cls._of(b, meaning, matched.threshold_b, stored=matched.stored_b),
        )

    @classmethod
    def _of(cls, answers: Sequence[Answer | None], meaning: Meaning, threshold: float, *, stored: bool) -> "_Side":
        scores = stored and gives_scores(answers, meaning)
        labels = tuple(
            INVALID if scores and each is not None and each.score is not None else _label(each, meaning, threshold)
            for each in answers
        )
        numbers = tuple(_number(each, meaning) for each in answers)
        return cls(
            labels,
            any(each != INVALID for each in labels),
            numbers,
            _on_scale(answers, numbers, meaning, stored=stored),
        )

    def failed(self, *, by_label: bool) -> int:
        """Cases without a label, or without a number where labels don't count."""
        return sum(each == INVALID for each in self.labels) if by_label else sum(each is None for each in self.numbers)


def _label(answer: Answer | None, meaning: Meaning, threshold: float) -> str | Invalid:
    if answer is None or answer.kind != "verdict":
        return INVALID
    if meaning.binary:
        return INVALID if answer.score is None else PASS if answer.score >= threshold else FAIL
    said = "" if answer.label is None else meaning.label_said(answer.label)
    return said if said in meaning.labels else INVALID


def _number(answer: Answer | None, meaning: Meaning) -> float | None:
    """Its score; a level that it named counts by its place."""
    if answer is None or answer.kind != "verdict":
        return None
    if answer.score is not None or answer.label is None or answer.label not in meaning.labels:
        return answer.score
    return meaning.number(answer.label)


def _on_scale(
    answers: Sequence[Answer | None], numbers: Sequence[float | None], meaning: Meaning, *, stored: bool
) -> tuple[float | None, ...] | None:
    """Stored numbers as they are where people's lie; those from 0 to 1 laid on the range that was declared; else by the
    place of the level that was named.
    """
    scale = meaning.scale
    given = [each for each in numbers if each is not None]
    if not given:
        return None
    lowest, highest = min(given), max(given)
    declared = None if scale is None or scale.low is None or scale.high is None else (scale.low, scale.high)
    if stored and (meaning.within(lowest, highest) or (declared and declared[0] <= lowest and highest <= declared[1])):
        return tuple(numbers)
    if declared is not None and lowest >= 0 and highest <= 1:
        low, width = declared[0], declared[1] - declared[0]
        return tuple(None if each is None else low + width * each for each in numbers)
    named = tuple(
        meaning.number(each.label) if each is not None and each.label in meaning.labels and each.label else None
        for each in answers
    )
    return named if meaning.ordered and any(each is not None for each in named) else None


# By label


@dataclass(frozen=True, slots=True)
class _ByLabel:
    kappa: KappaDifference | None = None
    weighted: Mapping[Weights, KappaDifference] = field(default_factory=dict[Weights, KappaDifference])
    agreement: RatePair | None = None
    fails_found: RatePair | None = None
    passes_found: RatePair | None = None
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()


def _by_label(
    matched: Matched, cases: Sequence[Both], gold: Sequence[Gold], sides: tuple[_Side, _Side], meaning: Meaning
) -> _ByLabel:
    if not meaning.labels or (cases and not meaning.binary and not all(each.names_labels for each in sides)):
        return _ByLabel()
    kept = [at for at, each in enumerate(gold) if each.label is not None]
    people = [gold[at].label for at in kept]
    said_a, said_b = ([side.labels[at] for at in kept] for side in sides)
    labelled = [cases[at] for at in kept]
    right_a, right_b = (
        _truths([one == two for one, two in zip(people, said, strict=True)]) for said in (said_a, said_b)
    )
    ids = clusters_of(labelled, matched)
    names = None if ids is None else np.array(ids)

    def rates(chosen: NDArray[np.bool_], reason: str) -> RatePair:
        own = None if names is None else names[chosen]
        one, two = (proportion(right[chosen], own, reason=reason) for right in (right_a, right_b))
        return RatePair(one, two, mcnemar_of_items(right_a[chosen], right_b[chosen], own))

    good = _truths([each == PASS for each in people])
    return _ByLabel(
        kappa_difference(people, said_a, said_b, labels=meaning.labels, clusters=names),
        {
            each: kappa_difference(people, said_a, said_b, labels=meaning.labels, weights=each, clusters=names)
            for each in (_WEIGHTS if meaning.ordered and len(meaning.labels) > 2 else ())
        },
        rates(np.ones(len(labelled), dtype=np.bool_), "no_data"),
        rates(~good, "no_negative_gold") if meaning.binary else None,
        rates(good, "no_positive_gold") if meaning.binary else None,
        cases_of(labelled, right_a & ~right_b),
        cases_of(labelled, right_b & ~right_a),
    )


# By number


@dataclass(frozen=True, slots=True)
class _ByNumber:
    correlations: tuple[CorrelationDifference, ...] = ()
    errors: ErrorDifference | None = None
    closer_a: tuple[str, ...] = ()
    closer_b: tuple[str, ...] = ()


def _by_number(
    matched: Matched, cases: Sequence[Both], gold: Sequence[Gold], sides: tuple[_Side, _Side], seed: int
) -> _ByNumber:
    people = [each.number for each in gold]
    kept, (human, a, b) = _complete(people, sides[0].numbers, sides[1].numbers)
    ids = clusters_of([cases[at] for at in kept], matched)
    correlations = (
        correlation_difference(human, a, b, "spearman", clusters=ids, seed=seed),
        correlation_difference(human, a, b, "pearson", clusters=ids, seed=seed),
    )
    if sides[0].on_scale is None or sides[1].on_scale is None:
        return _ByNumber(correlations)
    kept, (human, a, b) = _complete(people, sides[0].on_scale, sides[1].on_scale)
    there = [cases[at] for at in kept]
    ids = clusters_of(there, matched)
    gap = np.abs(a - human) - np.abs(b - human)
    gap = np.where(np.abs(gap) <= _NOTHING * np.maximum(1.0, np.abs(human)), 0.0, gap)
    order = np.argsort(-np.abs(gap), kind="stable")
    first: list[str] = [there[int(at)].case_id for at in order if gap[at] < 0]
    second: list[str] = [there[int(at)].case_id for at in order if gap[at] > 0]
    errors = ErrorDifference(
        mean_absolute_error(pair_scores(human, a, clusters=ids)),
        mean_absolute_error(pair_scores(human, b, clusters=ids)),
        mean_difference(gap, ids),
        sign_test(gap, ids),
        len(first),
        len(second),
        len(there) - len(first) - len(second),
    )
    return _ByNumber(correlations, errors, tuple(first), tuple(second))


def _complete(*columns: Sequence[float | None]) -> tuple[list[int], list[NDArray[np.float64]]]:
    """The places where every column has a number, and the columns there."""
    kept = [at for at, row in enumerate(zip(*columns, strict=True)) if None not in row]
    return kept, [np.array([column[at] for at in kept], dtype=np.float64) for column in columns]


def _truths(values: Sequence[bool]) -> NDArray[np.bool_]:
    return np.array(values, dtype=np.bool_)
