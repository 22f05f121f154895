"""Two runs compared: two systems by one judge, or two judges with each other.

`calibration.matching` says which of these it is; `calibration.on_gold` holds two judges against people's labels.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibration.answers import Answer
from calibration.differences import Found, People, RatePair, adjusted_p, clusters_of, detectable, found, parts
from calibration.matching import Both, Matched, Matching
from calibration.meaning import ANSWERS_OF_PAIR, PASS, PREFERENCE
from calibration.statistics.agreement import kappa
from calibration.statistics.confusion import mcnemar_of_items
from calibration.statistics.contrasts import PairedDifference, mean_difference
from calibration.statistics.scores import pair_scores, spearman
from calibration.statistics.systems import PairedComparison, PairedPpi, compare_systems, paired_ppi_difference
from calibration.statistics.tables import pair_labels
from judges.criterion import Unit
from judges.figures import Figure, to_record, undefined
from judges.intervals import proportion

__all__ = [
    "Differing",
    "JudgesAgreement",
    "LabelsAgreement",
    "SystemsComparison",
    "compare_agreement",
    "compare_answers",
]

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
    """The difference that people would find, if the labelled cases are a random sample: of pass rates; or of the means
    of numbers."""
    bias: PairedDifference | None = None
    """Of numbers on one scale: judge less people on A, less the same on B, over the labelled cases."""

    @property
    def found(self) -> Found:
        """Which is better by the judge's mean score."""
        differ = self.better_a + self.better_b > 0
        return found(self.scores.difference, self.p_value, self.p_holm, differ=differ)

    @property
    def errs_differently(self) -> bool:
        """Whether the judge is seen to err otherwise on A than on B: its difference may then have the wrong sign."""
        if self.people is None or self.bias is None:
            return self.people is not None and self.people.rates_differ
        low, high = self.bias.difference.ci_low, self.bias.difference.ci_high
        return low is not None and high is not None and (low > 0 or high < 0)

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
            "bias": None if self.bias is None else self.bias.to_record(),
            "errs_differently": self.errs_differently if self.people is not None else None,
        }


def compare_answers(
    matching: Matching, gold: Mapping[str, tuple[People, People]] | None = None, *, seed: int = 0
) -> list[SystemsComparison]:
    """Compare two systems by one judge, criterion by criterion, and slice by slice if there are slices.

    Args:
        matching: Of mode `systems`.
        gold: By criterion, people's labels of A's answers and of B's.
        seed: Of the sign flips.
    """
    made: list[SystemsComparison] = []
    for matched, name in parts(matching):
        labels = (gold or {}).get(matched.a.criterion.name)
        made.append(_systems(matched, name, labels, seed))
    adjusted = adjusted_p([each.p_value for each in made])
    return [replace(each, p_holm=p) for each, p in zip(made, adjusted, strict=True)]


def _systems(matched: Matched, name: str | None, gold: tuple[People, People] | None, seed: int) -> SystemsComparison:
    matched.check_cut()
    cases, a, b = _columns(matched)
    ids = clusters_of(cases, matched)
    dropped = len(matched.cases) - len(cases)
    scores = compare_systems(a, b, clusters=ids, seed=seed, n_dropped=dropped)
    pass_a, pass_b = a >= matched.threshold_a, b >= matched.threshold_b
    passes = compare_systems(pass_a, pass_b, clusters=ids, seed=seed, n_dropped=dropped)
    signs = np.sign(np.where(np.abs(a - b) <= 1e-12, 0.0, a - b))
    p_value = scores.test.p_value
    if p_value is None and scores.test.reason == "singular" and scores.flips is not None:
        p_value = scores.flips.p_value
    labelled, people, bias = (0, None, None) if gold is None else _people(cases, (a, b), (pass_a, pass_b), ids, gold)
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
        detectable=detectable(scores.difference),
        p_value=p_value,
        p_holm=None,
        left_out=dict(sorted(matched.left_out.items())),
        labelled=labelled,
        people=people,
        bias=bias,
    )


def _people(
    cases: Sequence[Both],
    scores: tuple[NDArray[np.float64], NDArray[np.float64]],
    passes: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    ids: Sequence[str] | None,
    gold: tuple[People, People],
) -> tuple[int, PairedPpi | None, PairedDifference | None]:
    """What people would find: their labels where there are two, with the judge's help on all other cases.

    Of numbers the judge's 0 to 1 is laid on the range that was declared; without one it helps as it is, and nothing is
    said of bias.
    """
    meaning = gold[0].meaning
    said = [[_number(people, each.case_id) for each in cases] for people in gold]
    kept = _truths([one is not None and two is not None for one, two in zip(*said, strict=True)])
    count = int(np.count_nonzero(kept))
    if count == 0:
        return 0, None, None
    human_a, human_b = (
        np.array([each for each, keep in zip(column, kept.tolist(), strict=True) if keep], dtype=np.float64)
        for column in said
    )
    judge_a, judge_b = (each.astype(np.float64) for each in (passes if meaning.binary else scores))
    scale = meaning.scale
    laid = not meaning.binary and scale is not None and scale.low is not None and scale.high is not None
    if scale is not None and scale.low is not None and scale.high is not None and laid:
        judge_a, judge_b = (scale.low + each * (scale.high - scale.low) for each in (judge_a, judge_b))
    names = None if ids is None else np.array(ids)
    own = None if names is None else names[kept]
    people = paired_ppi_difference(
        human_a,
        human_b,
        judge_a[kept],
        judge_b[kept],
        (judge_a - judge_b)[~kept],
        clusters=own,
        clusters_unlabelled=None if names is None else names[~kept],
    )
    bias = mean_difference((judge_a[kept] - human_a) - (judge_b[kept] - human_b), own) if laid else None
    return count, people, bias


def _number(people: People, case_id: str) -> float | None:
    """Of pass and fail 1 and 0."""
    gold = people.by_case.get(case_id)
    if gold is None or not people.meaning.binary:
        return None if gold is None else gold.number
    return None if gold.label is None else float(gold.label == PASS)


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
            **to_record(self),
            "pass_rate": self.pass_rate.to_record(),
            "left_out": dict(self.left_out),
            "differ": [each.to_record() for each in self.differ],
        }


@dataclass(frozen=True, slots=True)
class LabelsAgreement:
    """How far two judges agree with each other by labels none of which is good: which of two answers is better, say."""

    criterion: str
    judge_a: str
    judge_b: str
    slice: str | None
    labels: tuple[str, ...]
    """All that either of them says."""
    matrix: Mapping[str, Mapping[str, int]]
    """Cases by A's label, then by B's."""
    agreement: Figure
    kappa: Figure
    left_out: Mapping[str, int]
    """Cases without a label of one side, by side and kind."""
    differ: tuple[tuple[str, str, str], ...]
    """The cases they differ on: id, A's label, B's."""

    def to_record(self) -> dict[str, Any]:
        """The agreement as JSON-ready values."""
        return {
            **to_record(self),
            "matrix": {label: dict(row) for label, row in self.matrix.items()},
            "left_out": dict(self.left_out),
            "differ": [{"case": case, "label_a": one, "label_b": two} for case, one, two in self.differ],
        }


def compare_agreement(matching: Matching) -> list[JudgesAgreement] | list[LabelsAgreement]:
    """How far two judges agree with each other, and the cases they differ on.

    By pass and fail; where no label is good, as with preferences, by labels. All criteria are compared in one way.

    Args:
        matching: Of mode `judges` or `same_judge`.

    Raises:
        InputError: Nobody knows which of a judge's scores are passes.
    """
    if all(matched.by_label for matched in matching.matched):
        return [_by_label(matched, name) for matched, name in parts(matching)]
    return [_agreement(matched, name) for matched, name in parts(matching)]


def _agreement(matched: Matched, name: str | None) -> JudgesAgreement:
    matched.check_cut()
    cases, a, b = _columns(matched)
    ids, dropped = clusters_of(cases, matched), len(matched.cases) - len(cases)
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


def _by_label(matched: Matched, name: str | None) -> LabelsAgreement:
    said = [(each, _label(each.a), _label(each.b)) for each in matched.cases]
    kept = [(each, one, two) for each, one, two in said if one is not None and two is not None]
    used = sorted({label for _, one, two in kept for label in (one, two)})
    known = PREFERENCE if matched.a.criterion.unit is Unit.PAIR else ()
    labels = (*known, *(label for label in used if label not in known))
    ids = clusters_of([each for each, _, _ in kept], matched)
    cells = Counter((one, two) for _, one, two in kept)
    first, second = [one for _, one, _ in kept], [two for _, _, two in kept]
    return LabelsAgreement(
        criterion=matched.a.criterion.name,
        judge_a=matched.a.judge,
        judge_b=matched.b.judge,
        slice=name,
        labels=labels,
        matrix={one: {two: cells[one, two] for two in labels} for one in labels},
        agreement=proportion([one == two for _, one, two in kept], ids, n_dropped=len(matched.cases) - len(kept)),
        kappa=kappa(pair_labels(first, second, labels=labels, clusters=ids)) if kept else undefined("no_data"),
        left_out=dict(sorted(matched.left_out.items())),
        differ=tuple((each.case_id, one, two) for each, one, two in kept if one != two),
    )


def _label(answer: Answer | None) -> str | None:
    """As files call it, of the two answers of a pair too."""
    if answer is None or answer.kind != "verdict" or answer.label is None:
        return None
    return ANSWERS_OF_PAIR.get(answer.label, answer.label)


# What both of them need


def _columns(matched: Matched) -> tuple[list[Both], NDArray[np.float64], NDArray[np.float64]]:
    """The cases with two verdicts, and the scores of both sides."""
    rows = list(_scored(matched))
    a, b = (np.array([row[at] for row in rows], dtype=np.float64) for at in (1, 2))
    return [row[0] for row in rows], a, b


def _labels(passes: NDArray[np.bool_]) -> list[str]:
    return [_LABELS[each] for each in passes.tolist()]


def _truths(values: Sequence[bool]) -> NDArray[np.bool_]:
    return np.array(values, dtype=np.bool_)


def _scored(matched: Matched) -> Iterator[tuple[Both, float, float]]:
    """The cases with a verdict of both sides, and the two scores."""
    for each in matched.cases:
        if each.a is not None and each.b is not None and each.a.score is not None and each.b.score is not None:
            yield each, each.a.score, each.b.score
