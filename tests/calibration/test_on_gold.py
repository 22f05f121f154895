"""Two judges held against people's labels: passes and fails, labels without an order, levels and numbers."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import binomtest, spearmanr, ttest_rel
from sklearn.metrics import cohen_kappa_score  # pyright: ignore[reportUnknownVariableType]

from calibration.differences import People
from calibration.labels import CaseLabels, Labels
from calibration.matching import Matching, match
from calibration.meaning import Scale, meaning_of
from calibration.on_gold import JudgesOnGold, compare_judges
from judges import Abstained, Case, InputError, Run, Verdict, evaluate_sync
from support.builders import ANSWERED, FunctionJudge, hashed, make_cases
from support.sound import check_sound

Says = Callable[[Case], object]


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., Matching]:
    """Two judges of the same cases, from two runs."""

    calls = itertools.count()

    def make(first: Says, second: Says, count: int = 60) -> Matching:
        folder = tmp_path / str(next(calls))
        for name, says in (("a", first), ("b", second)):
            judge = FunctionJudge(says, name, f"{name}@1")
            evaluate_sync(make_cases(count), [ANSWERED], [judge], out=folder / name)
        return match(Run(folder / "a"), Run(folder / "b"))

    return make


Compared = Callable[..., Matching]


def people(labels: dict[str, str], positive: str | None = None, scale: str | None = None) -> dict[str, People]:
    given = Labels("labels.jsonl", "gold.answered", {case: CaseLabels(label) for case, label in labels.items()}, {}, 0)
    meaning = meaning_of(given, positive=positive, scale=None if scale is None else Scale.parse(scale))
    return {"answered": People.of(given, meaning)}


def number(case: Case) -> int:
    return int(case.id[1:])


def grade(case: Case) -> int:
    """What people say: 1 to 4."""
    return 1 + int(3.99 * hashed(f"{case.id} people"))


def near(case: Case) -> int:
    """Off by one on a third of the cases."""
    return grade(case) if number(case) % 3 else 1 + grade(case) % 4


def far(case: Case) -> int:
    return 1 + int(3.99 * hashed(f"{case.id} far"))


def as_score(judge: Callable[[Case], int]) -> Says:
    return lambda case: Verdict((judge(case) - 1) / 3)


def as_level(judge: Callable[[Case], int]) -> Says:
    return lambda case: Verdict((judge(case) - 1) / 3, label=str(judge(case)))


def grades(count: int = 60) -> dict[str, str]:
    return {case.id: str(grade(case)) for case in make_cases(count)}


# Pass and fail


def good(case: Case) -> bool:
    return hashed(case.question or "") > 0.4


def right(case: Case) -> Verdict:
    """Wrong on every tenth case."""
    return Verdict(float(good(case) != (number(case) % 10 == 0)))


def milder(case: Case) -> Verdict:
    return Verdict(hashed(case.answer or "") ** 0.5)


def words(count: int = 60) -> dict[str, str]:
    return {case.id: "pass" if good(case) else "fail" for case in make_cases(count)}


def test_two_judges_are_held_against_the_same_labels(compared: Compared) -> None:
    [found] = compare_judges(compared(right, milder), people(words()))
    cases = make_cases(60)
    gold = [good(case) for case in cases]
    first, second = [right(case).score == 1 for case in cases], [milder(case).score >= 0.5 for case in cases]
    assert found.kappa is not None
    assert found.agreement is not None
    assert found.fails_found is not None
    assert found.passes_found is not None
    assert found.kappa.kappa_a.value == pytest.approx(cohen_kappa_score(gold, first))
    assert found.kappa.kappa_b.value == pytest.approx(cohen_kappa_score(gold, second))
    assert found.agreement.test.b == len(found.only_a_right)
    assert found.agreement.test.c == len(found.only_b_right)
    assert found.agreement.a.value == pytest.approx(54 / 60)
    assert found.fails_found.a.n == gold.count(False)
    assert found.passes_found.b.value == pytest.approx(
        sum(b for b, each in zip(second, gold, strict=True) if each) / gold.count(True)
    )
    assert (found.found, found.decided_by) == ("a", "kappa")
    assert found.p_holm == found.kappa.test.p_value
    assert (dict(found.weighted), found.correlations, found.errors) == ({}, (), None)
    check_sound(found.kappa)
    check_sound(found.agreement.test)


def test_failures_count_as_wrong_abstentions_leave_the_case_out_for_both_judges(compared: Compared) -> None:
    def sometimes(case: Case) -> object:
        return {0: Abstained("no_words"), 1: None}.get(number(case), milder(case))

    gold = {f"c{at}": "pass" if at % 2 == 0 else "fail" for at in range(8)}
    [found] = compare_judges(compared(sometimes, milder, 12), people(gold))
    assert (found.unlabelled, found.abstained, found.pending, found.failed_a, found.failed_b) == (4, 1, 0, 1, 0)
    assert found.n == 7
    assert "c1" not in found.only_a_right


def test_two_judges_that_never_differ_are_said_to_be_the_same(compared: Compared) -> None:
    [found] = compare_judges(compared(milder, milder, 20), people(words(20)))
    assert found.found == "same"


def test_labels_of_other_cases_are_refused(compared: Compared) -> None:
    with pytest.raises(InputError, match="none of the cases in both runs has a label"):
        compare_judges(compared(right, milder, 5), people({"x": "pass", "y": "fail"}))


# Labels without an order


def test_labels_without_an_order_have_kappa_over_all_of_them(compared: Compared) -> None:
    said = ("a", "b", "tie")

    def first(case: Case) -> Verdict:
        return Verdict(0.5, label=said[number(case) % 3])

    def second(case: Case) -> Verdict:
        return Verdict(0.5, label=said[number(case) % 2])

    gold = {f"c{at}": said[at % 3 if at % 5 else 0] for at in range(60)}
    [found] = compare_judges(compared(first, second), people(gold))
    assert found.kappa is not None
    assert found.kappa.kappa_a.value == pytest.approx(
        cohen_kappa_score(list(gold.values()), [said[at % 3] for at in range(60)])
    )
    assert (found.labels, found.decided_by, found.found) == (said, "kappa", "a")
    assert (found.fails_found, found.threshold_a, found.correlations) == (None, None, ())


# Levels in order


def test_levels_have_kappa_with_credit_for_near_misses_and_that_decides(compared: Compared) -> None:
    [found] = compare_judges(compared(as_level(near), as_level(far)), people(grades(), scale="1..4"))
    cases = make_cases(60)
    gold = [grade(case) for case in cases]
    for name in ("linear", "quadratic"):
        made = found.weighted[name]
        for figure, judge in ((made.kappa_a, near), (made.kappa_b, far)):
            assert figure.value == pytest.approx(cohen_kappa_score(gold, [judge(c) for c in cases], weights=name))
    assert (found.decided_by, found.found) == ("kappa_quadratic", "a")
    assert found.p_holm == found.weighted["quadratic"].test.p_value
    assert found.detectable is not None
    assert found.errors is not None
    first, second = ([abs(judge(c) - grade(c)) for c in cases] for judge in (near, far))
    assert found.errors.mae_a.value == pytest.approx(sum(first) / 60)
    assert found.errors.difference.test.p_value == pytest.approx(ttest_rel(first, second).pvalue)
    closer = sum(a < b for a, b in zip(first, second, strict=True))
    farther = sum(a > b for a, b in zip(first, second, strict=True))
    assert (found.errors.closer_a, found.errors.closer_b, found.errors.same) == (closer, farther, 60 - closer - farther)
    assert found.errors.sign_p == pytest.approx(binomtest(closer, closer + farther).pvalue)


def test_levels_by_name_count_by_their_place(compared: Compared) -> None:
    named = ("poor", "fair", "good", "fine")

    def says(judge: Callable[[Case], int]) -> Says:
        return lambda case: Verdict((judge(case) - 1) / 3, label=named[judge(case) - 1])

    gold = {case.id: named[grade(case) - 1] for case in make_cases(60)}
    [found] = compare_judges(compared(says(near), says(far)), people(gold, scale="<".join(named)))
    [by_number] = compare_judges(compared(as_level(near), as_level(far)), people(grades(), scale="1..4"))
    assert found.errors == by_number.errors
    assert found.weighted["quadratic"].difference == by_number.weighted["quadratic"].difference


# Numbers


def test_scores_against_numbers_are_compared_by_rank_and_by_distance_where_a_range_is_declared(
    compared: Compared,
) -> None:
    matching = compared(as_score(near), as_score(far))
    [found] = compare_judges(matching, people(grades()))
    cases = make_cases(60)
    gold = [grade(case) for case in cases]
    ranks, moments = found.correlations
    assert (ranks.kind, moments.kind) == ("spearman", "pearson")
    assert ranks.correlation_a.value == pytest.approx(spearmanr(gold, [near(c) for c in cases]).statistic)
    assert (found.kappa, found.agreement, found.errors) == (None, None, None)
    assert (found.decided_by, found.found, found.p_holm) == ("spearman", "a", ranks.p_value)
    [declared] = compare_judges(matching, people(grades(), scale="1..4"))
    assert declared.errors is not None
    assert declared.errors.mae_a.value == pytest.approx(sum(abs(near(c) - grade(c)) for c in cases) / 60)
    assert declared.only_a_right[0] in {c.id for c in cases if abs(far(c) - grade(c)) == 3}
    check_sound(declared.errors)


def test_what_is_no_number_is_left_out_and_counted(compared: Compared) -> None:
    def sometimes(case: Case) -> object:
        return None if number(case) < 3 else as_score(near)(case)

    [found] = compare_judges(compared(sometimes, as_score(far)), people(grades()))
    assert (found.n, found.failed_a, found.failed_b) == (60, 3, 0)
    assert found.correlations[0].difference.n == 57


def test_a_mean_of_annotators_between_two_levels_counts_as_a_number_only(compared: Compared) -> None:
    gold = grades() | {"c0": "2.5"}
    matching = compared(as_level(near), as_level(far))
    [found] = compare_judges(matching, people(gold, scale="1..4"))
    assert found.weighted["quadratic"].difference.n == 59
    assert found.errors is not None
    assert found.errors.difference.difference.n == 60


def test_judges_that_order_all_cases_alike_are_the_same_by_rank(compared: Compared) -> None:
    def squared(case: Case) -> Verdict:
        return Verdict(((near(case) - 1) / 3) ** 2)

    matching = compared(as_score(near), squared)
    [found] = compare_judges(matching, people(grades()))
    assert found.correlations[0].difference.value == pytest.approx(0)
    assert found.found == "same"


def test_every_record_is_json(compared: Compared) -> None:
    matching = compared(as_level(near), as_level(far))
    made: list[JudgesOnGold] = [
        *compare_judges(matching, people(grades())),
        *compare_judges(matching, people(grades(), positive=">=3")),
        *compare_judges(matching, people(grades(), scale="1..4")),
    ]
    records = [each.to_record() for each in made]
    assert json.loads(json.dumps(records, allow_nan=False)) == records
    assert [each["decided_by"] for each in records] == ["spearman", "kappa", "kappa_quadratic"]


def test_slices_are_held_against_people_one_by_one_and_p_is_adjusted(tmp_path: Path) -> None:
    cases = [replace(case, extra={"kind": number(case) % 2}) for case in make_cases(60)]
    for name, says in (("a", as_score(near)), ("b", as_score(far))):
        evaluate_sync(cases, [ANSWERED], [FunctionJudge(says, name, f"{name}@1")], out=tmp_path / name)
    found = compare_judges(match(Run(tmp_path / "a"), Run(tmp_path / "b"), by="kind"), people(grades()))
    assert [(each.slice, each.n) for each in found] == [("0", 30), ("1", 30)]
    smallest = min(each.p_value or 0.0 for each in found)
    assert min(each.p_holm or 0.0 for each in found) == pytest.approx(min(1, 2 * smallest))
