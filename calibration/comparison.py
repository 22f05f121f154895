"""Two runs compared: two systems by one judge, or two judges, by people's labels or with each other.

`calibration.matching` says which of these it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.answers import Answer
from calibration.matching import Both, Matched, Matching
from calibration.statistics.agreement import KappaDifference, kappa, kappa_difference
from calibration.statistics.confusion import McNemar, mcnemar_of_items
from calibration.statistics.multiplicity import holm
from calibration.statistics.power import minimum_detectable_effect
from calibration.statistics.scores import pair_scores, spearman
from calibration.statistics.systems import PairedComparison, PairedPpi, compare_systems, paired_ppi_difference
from calibration.statistics.tables import INVALID, Invalid, pair_labels
from judges.errors import InputError
from judges.figures import Figure
from judges.intervals import normal_quantile, proportion, t_quantile

__all__ = [
    "Differing",
    "Found",
    "Good",
    "JudgesAgreement",
    "JudgesOnGold",
    "RatePair",
    "SystemsComparison",
    "compare_agreement",
    "compare_answers",
    "compare_judges",
]

Found: TypeAlias = Literal["a", "b", "untold", "same", "undefined"]
"""Which is better: A or B; `untold` if these cases can't tell; `same` if the two never differ."""
Good: TypeAlias = Mapping[str, bool]
"""Whether people call a case good, by case id."""

ALPHA = 0.05
POWER = 0.8
_LABELS = ("fail", "pass")


# Two systems, one judge


@dataclass(frozen=True, slots=True)
class SystemsComparison:
    """System A less system B, by one criterion and judge."""

    criterion: str
    judge: str
    slice: str | None
    threshold: float
    scores: PairedComparison
    """Of the mean score."""
    passes: PairedComparison
    """Of the pass rate."""
    better_a: int
    """Cases where A scores higher."""
    better_b: int
    same: int
    only_a_passes: int
    only_b_passes: int
    detectable: float | None
    """Smallest difference of mean scores that these cases show with 80% power; None where nothing varies."""
    p_value: float | None
    """Of the mean score: by t; by sign flips where t has none."""
    p_holm: float | None
    """Adjusted for the criteria and slices compared together."""
    left_out: Mapping[str, int]
    """Cases without a verdict of one side, by side and kind."""
    labelled: int = 0
    """Cases whose two answers people have labelled."""
    people: PairedPpi | None = None
    """The difference of pass rates that people would find, if the labelled cases are a random sample."""

    @property
    def found(self) -> Found:
        """Which is better by the judge's mean score."""
        differ = self.better_a + self.better_b > 0
        return _found(self.scores.difference, self.p_value, self.p_holm, differ=differ)

    def to_record(self) -> dict[str, Any]:
        """The comparison as JSON-ready values."""
        return {
            "criterion": self.criterion,
            "judge": self.judge,
            "slice": self.slice,
            "threshold": self.threshold,
            "found": self.found,
            "scores": self.scores.to_record(),
            "passes": self.passes.to_record(),
            "better_a": self.better_a,
            "better_b": self.better_b,
            "same": self.same,
            "only_a_passes": self.only_a_passes,
            "only_b_passes": self.only_b_passes,
            "minimum_detectable_effect": self.detectable,
            "p_value": self.p_value,
            "p_holm": self.p_holm,
            "left_out": dict(self.left_out),
            "labelled": self.labelled,
            "people": None if self.people is None else self.people.to_record(),
        }


def compare_answers(
    matching: Matching, gold: Mapping[str, tuple[Good, Good]] | None = None, *, seed: int = 0
) -> list[SystemsComparison]:
    """Compare two systems by one judge, criterion by criterion, and slice by slice if there are slices.

    Args:
        matching: Of mode `systems`.
        gold: By criterion, people's labels of A's answers and of B's.
        seed: Of the sign flips.
    """
    made: list[SystemsComparison] = []
    for matched, name in _parts(matching):
        labels = (gold or {}).get(matched.a.criterion.name)
        made.append(_systems(matched.slice(name), name, labels, seed))
    adjusted = _holm([each.p_value for each in made])
    return [replace(each, p_holm=p) for each, p in zip(made, adjusted, strict=True)]


def _systems(matched: Matched, name: str | None, gold: tuple[Good, Good] | None, seed: int) -> SystemsComparison:
    cases, a, b = _columns(matched)
    ids = _clusters(cases, matched)
    dropped = len(matched.cases) - len(cases)
    scores = compare_systems(a, b, clusters=ids, seed=seed, n_dropped=dropped)
    pass_a, pass_b = a >= matched.threshold_a, b >= matched.threshold_b
    passes = compare_systems(pass_a, pass_b, clusters=ids, seed=seed, n_dropped=dropped)
    signs = np.sign(np.where(np.abs(a - b) <= 1e-12, 0.0, a - b))
    p_value = scores.test.p_value
    if p_value is None and scores.test.reason == "singular" and scores.flips is not None:
        p_value = scores.flips.p_value
    labelled, people = (0, None) if gold is None else _people(cases, pass_a, pass_b, ids, gold)
    return SystemsComparison(
        criterion=matched.a.criterion.name,
        judge=matched.a.judge,
        slice=name,
        threshold=matched.threshold_a,
        scores=scores,
        passes=passes,
        better_a=int(np.count_nonzero(signs > 0)),
        better_b=int(np.count_nonzero(signs < 0)),
        same=int(np.count_nonzero(signs == 0)),
        only_a_passes=int(np.count_nonzero(pass_a & ~pass_b)),
        only_b_passes=int(np.count_nonzero(pass_b & ~pass_a)),
        detectable=_detectable(scores.difference),
        p_value=p_value,
        p_holm=None,
        left_out=dict(sorted(matched.left_out.items())),
        labelled=labelled,
        people=people,
    )


def _people(
    cases: Sequence[Both],
    pass_a: NDArray[np.bool_],
    pass_b: NDArray[np.bool_],
    ids: Sequence[str] | None,
    gold: tuple[Good, Good],
) -> tuple[int, PairedPpi | None]:
    """What people would find: their labels where there are two, with the judge's help on all other cases."""
    good_a, good_b = gold
    kept = _truths([each.case_id in good_a and each.case_id in good_b for each in cases])
    count = int(np.count_nonzero(kept))
    if count == 0:
        return 0, None
    there = [each.case_id for each, keep in zip(cases, kept.tolist(), strict=True) if keep]
    names = None if ids is None else np.array(ids)
    differences = pass_a.astype(np.float64) - pass_b.astype(np.float64)
    return count, paired_ppi_difference(
        _truths([good_a[each] for each in there]),
        _truths([good_b[each] for each in there]),
        pass_a[kept],
        pass_b[kept],
        differences[~kept],
        clusters=None if names is None else names[kept],
        clusters_unlabelled=None if names is None else names[~kept],
    )


# Two judges, one gold set


@dataclass(frozen=True, slots=True)
class RatePair:
    """A rate of two judges on the same cases."""

    a: Figure
    b: Figure
    test: McNemar
    """Of A's rate less B's."""

    def to_record(self) -> dict[str, Any]:
        """The rates as JSON-ready values."""
        return {"a": self.a.to_record(), "b": self.b.to_record(), "test": self.test.to_record()}


@dataclass(frozen=True, slots=True)
class JudgesOnGold:
    """Judge A less judge B, by people's labels of the same cases."""

    criterion: str
    judge_a: str
    judge_b: str
    slice: str | None
    threshold_a: float
    threshold_b: float
    agreement: RatePair
    kappa: KappaDifference
    fails_found: RatePair
    """Of the cases that people fail."""
    passes_found: RatePair
    """Of the cases that people pass."""
    detectable: float | None
    """Smallest difference of kappa that these cases show with 80% power."""
    p_holm: float | None
    """Of kappa, adjusted for the criteria and slices compared together."""
    p_holm_agreement: float | None
    """McNemar's, adjusted likewise."""
    unlabelled: int
    """Cases of both runs without a label."""
    abstained: int
    """Labelled cases from which one of the judges abstained: left out for both."""
    pending: int
    """Labelled cases that one of them has not judged yet."""
    failed_a: int
    """Labelled cases on which A failed: they count as wrong, whatever people say."""
    failed_b: int
    only_a_right: tuple[str, ...]
    """Ids of the cases."""
    only_b_right: tuple[str, ...]

    @property
    def found(self) -> Found:
        """Which judge agrees better with people, by kappa."""
        differ = bool(self.only_a_right or self.only_b_right)
        return _found(self.kappa.difference, self.kappa.test.p_value, self.p_holm, differ=differ)

    def to_record(self) -> dict[str, Any]:
        """The comparison as JSON-ready values."""
        return {
            "criterion": self.criterion,
            "judge_a": self.judge_a,
            "judge_b": self.judge_b,
            "slice": self.slice,
            "threshold_a": self.threshold_a,
            "threshold_b": self.threshold_b,
            "found": self.found,
            "agreement": self.agreement.to_record(),
            "kappa": self.kappa.to_record(),
            "fails_found": self.fails_found.to_record(),
            "passes_found": self.passes_found.to_record(),
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


def compare_judges(matching: Matching, gold: Mapping[str, Good]) -> list[JudgesOnGold]:
    """Compare two judges by people's labels of the same answers.

    A failed judgement counts as wrong, whatever people say (specification, rule R4). A case from which one judge
    abstains is left out for both, so that both are held against the same cases.

    Args:
        matching: Of mode `judges` or `same_judge`.
        gold: By criterion, people's labels. Criteria without any are left out.

    Raises:
        InputError: No case of the runs has a label.
    """
    made = [
        _on_gold(matched.slice(name), name, gold[matched.a.criterion.name])
        for matched, name in _parts(matching)
        if matched.a.criterion.name in gold
    ]
    if all(each.kappa.difference.n + each.abstained + each.pending == 0 for each in made):
        raise InputError("none of the cases in both runs has a label; do the ids match?")
    by_kappa = _holm([each.kappa.test.p_value for each in made])
    by_agreement = _holm([each.agreement.test.p_value for each in made])
    return [
        replace(each, p_holm=first, p_holm_agreement=second)
        for each, first, second in zip(made, by_kappa, by_agreement, strict=True)
    ]


def _on_gold(matched: Matched, name: str | None, good: Good) -> JudgesOnGold:
    there = [each for each in matched.cases if each.case_id in good]
    cases, pending, abstained = list[Both](), 0, 0
    for each in there:
        if each.a is None or each.b is None:
            pending += 1
        elif "abstained" in (each.a.kind, each.b.kind):
            abstained += 1
        else:
            cases.append(each)
    people = _truths([good[each.case_id] for each in cases])
    said_a = [_label(each.a, matched.threshold_a) for each in cases]
    said_b = [_label(each.b, matched.threshold_b) for each in cases]
    gold = _labels(people)
    right_a, right_b = (_truths([one == two for one, two in zip(gold, said, strict=True)]) for said in (said_a, said_b))
    names = np.array([each.cluster for each in cases]) if matched.clustered else None

    def rates(kept: NDArray[np.bool_], reason: str) -> RatePair:
        ids = None if names is None else names[kept]
        one, two = (proportion(right[kept], ids, reason=reason) for right in (right_a, right_b))
        return RatePair(one, two, mcnemar_of_items(right_a[kept], right_b[kept], ids))

    compared = kappa_difference(gold, said_a, said_b, labels=_LABELS, clusters=names)
    return JudgesOnGold(
        criterion=matched.a.criterion.name,
        judge_a=matched.a.judge,
        judge_b=matched.b.judge,
        slice=name,
        threshold_a=matched.threshold_a,
        threshold_b=matched.threshold_b,
        agreement=rates(np.ones(len(cases), dtype=np.bool_), "no_data"),
        kappa=compared,
        fails_found=rates(~people, "no_negative_gold"),
        passes_found=rates(people, "no_positive_gold"),
        detectable=_detectable(compared.difference),
        p_holm=None,
        p_holm_agreement=None,
        unlabelled=len(matched.cases) - len(there),
        abstained=abstained,
        pending=pending,
        failed_a=said_a.count(INVALID),
        failed_b=said_b.count(INVALID),
        only_a_right=_where(cases, right_a & ~right_b),
        only_b_right=_where(cases, right_b & ~right_a),
    )


def _label(answer: Answer | None, threshold: float) -> str | Invalid:
    return INVALID if answer is None or answer.score is None else _LABELS[answer.score >= threshold]


def _where(cases: Sequence[Both], kept: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(each.case_id for each, keep in zip(cases, kept.tolist(), strict=True) if keep)


# Two judges, nobody else


@dataclass(frozen=True, slots=True)
class Differing:
    """A case that one judge passes and the other fails."""

    case_id: str
    score_a: float
    score_b: float

    def to_record(self) -> dict[str, Any]:
        """The case as JSON-ready values."""
        return {"case": self.case_id, "score_a": self.score_a, "score_b": self.score_b}


@dataclass(frozen=True, slots=True)
class JudgesAgreement:
    """How far two judges agree with each other. Which of them is right, only people's labels can tell."""

    criterion: str
    judge_a: str
    judge_b: str
    slice: str | None
    threshold_a: float
    threshold_b: float
    both_pass: int
    only_a_passes: int
    only_b_passes: int
    both_fail: int
    agreement: Figure
    kappa: Figure
    pass_rate: RatePair
    """With the difference: which of them is the milder."""
    correlation: Figure
    """Spearman's, of the scores."""
    left_out: Mapping[str, int]
    """Cases without a verdict of one side, by side and kind."""
    differ: tuple[Differing, ...]
    """The cases they differ on, the largest gap of scores first."""

    def to_record(self) -> dict[str, Any]:
        """The agreement as JSON-ready values."""
        return {
            "criterion": self.criterion,
            "judge_a": self.judge_a,
            "judge_b": self.judge_b,
            "slice": self.slice,
            "threshold_a": self.threshold_a,
            "threshold_b": self.threshold_b,
            "both_pass": self.both_pass,
            "only_a_passes": self.only_a_passes,
            "only_b_passes": self.only_b_passes,
            "both_fail": self.both_fail,
            "agreement": self.agreement.to_record(),
            "kappa": self.kappa.to_record(),
            "pass_rate": self.pass_rate.to_record(),
            "correlation": self.correlation.to_record(),
            "left_out": dict(self.left_out),
            "differ": [each.to_record() for each in self.differ],
        }


def compare_agreement(matching: Matching) -> list[JudgesAgreement]:
    """How far two judges agree with each other, and the cases they differ on.

    Args:
        matching: Of mode `judges` or `same_judge`.
    """
    return [_agreement(matched.slice(name), name) for matched, name in _parts(matching)]


def _agreement(matched: Matched, name: str | None) -> JudgesAgreement:
    cases, a, b = _columns(matched)
    ids, dropped = _clusters(cases, matched), len(matched.cases) - len(cases)
    pass_a, pass_b = a >= matched.threshold_a, b >= matched.threshold_b
    pairs = pair_labels(_labels(pass_a), _labels(pass_b), labels=_LABELS, clusters=ids)
    differing = [
        Differing(each.case_id, one, two)
        for each, one, two, differs in zip(cases, a.tolist(), b.tolist(), (pass_a != pass_b).tolist(), strict=True)
        if differs
    ]
    counts = [int(np.count_nonzero(one & two)) for one in (pass_a, ~pass_a) for two in (pass_b, ~pass_b)]
    return JudgesAgreement(
        criterion=matched.a.criterion.name,
        judge_a=matched.a.judge,
        judge_b=matched.b.judge,
        slice=name,
        threshold_a=matched.threshold_a,
        threshold_b=matched.threshold_b,
        both_pass=counts[0],
        only_a_passes=counts[1],
        only_b_passes=counts[2],
        both_fail=counts[3],
        agreement=proportion(pass_a == pass_b, ids, n_dropped=dropped),
        kappa=kappa(pairs),
        pass_rate=RatePair(
            proportion(pass_a, ids), proportion(pass_b, ids), mcnemar_of_items(pass_a, pass_b, ids, n_dropped=dropped)
        ),
        correlation=spearman(pair_scores(a, b, clusters=ids)),
        left_out=dict(sorted(matched.left_out.items())),
        differ=tuple(sorted(differing, key=lambda each: -abs(each.score_a - each.score_b))),
    )


# What all of them need


def _parts(matching: Matching) -> Iterator[tuple[Matched, str | None]]:
    for matched in matching.matched:
        for name in matching.slices or (None,):
            yield matched, name


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted over those that there are."""
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]


def _columns(matched: Matched) -> tuple[list[Both], NDArray[np.float64], NDArray[np.float64]]:
    """The cases with two verdicts, and the scores of both sides."""
    rows = list(_scored(matched))
    a, b = (np.array([row[at] for row in rows], dtype=np.float64) for at in (1, 2))
    return [row[0] for row in rows], a, b


def _labels(passes: NDArray[np.bool_]) -> list[str]:
    return [_LABELS[each] for each in passes.tolist()]


def _clusters(cases: Sequence[Both], matched: Matched) -> list[str] | None:
    return [each.cluster for each in cases] if matched.clustered else None


def _truths(values: Sequence[bool]) -> NDArray[np.bool_]:
    return np.array(values, dtype=np.bool_)


def _scored(matched: Matched) -> Iterator[tuple[Both, float, float]]:
    """The cases with a verdict of both sides, and the two scores."""
    for each in matched.cases:
        if each.a is not None and each.b is not None and each.a.score is not None and each.b.score is not None:
            yield each, each.a.score, each.b.score


def _detectable(figure: Figure) -> float | None:
    """The smallest difference that as many cases show with 80% power, in a two-sided test at 5%.

    With groups it is as much larger as their interval is wider than a normal one.
    """
    if figure.se is None or figure.se == 0 or figure.n == 0:
        return None
    effect = minimum_detectable_effect(figure.n, figure.se**2 * figure.n, alpha=ALPHA, power=POWER)
    if figure.n_clusters is None:
        return effect
    return effect * t_quantile(1 - ALPHA, figure.n_clusters - 1) / normal_quantile(1 - ALPHA)


def _found(difference: Figure, p_value: float | None, p_holm: float | None, *, differ: bool) -> Found:
    if difference.value is None or (p_value is None and differ):
        return "undefined"
    if not differ:
        return "same"
    if p_holm is None or p_holm > ALPHA or difference.value == 0:
        return "untold"
    return "a" if difference.value > 0 else "b"
