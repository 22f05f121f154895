"""Two runs joined and compared: what is compared, with which figures, and what was left out."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import ttest_rel
from sklearn.metrics import cohen_kappa_score  # pyright: ignore[reportUnknownVariableType]

from calibration.comparison import JudgesAgreement, LabelsAgreement, compare_agreement, compare_answers
from calibration.differences import People
from calibration.matching import match
from calibration.meaning import FAIL, PASS, Gold, Meaning, Positive, Scale
from calibration.statistics.multiplicity import holm
from judges import Abstained, Case, Criterion, InputError, Run, Verdict, evaluate_sync
from judges.criterion import Unit
from support.builders import ANSWERED, GROUNDED, FunctionJudge, hashed, make_case, make_cases
from support.sound import check_sound


def by_answer(case: Case) -> Verdict:
    """A score that depends on the answer alone."""
    return Verdict(hashed(case.answer or ""))


def milder(case: Case) -> Verdict:
    return Verdict(hashed(case.answer or "") ** 0.5)


MILD = FunctionJudge(milder, "mild", "mild@1")


def people(good: dict[str, bool]) -> People:
    """Labels of pass and fail."""
    meaning = Meaning((FAIL, PASS), Positive(PASS), None, False, frozenset((FAIL, PASS)))
    return People(meaning, {case: Gold(PASS if each else FAIL, None) for case, each in good.items()})


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Run]:
    """Makes a run of cases by a judge."""

    def make(
        name: str,
        cases: list[Case],
        judge: FunctionJudge | list[FunctionJudge] | None = None,
        criteria: list[Criterion] | None = None,
        replicates: int = 1,
    ) -> Run:
        judges = judge if isinstance(judge, list) else [judge or FunctionJudge(by_answer)]
        evaluate_sync(cases, criteria or [ANSWERED], judges, out=tmp_path / name, replicates=replicates)
        return Run(tmp_path / name)

    return make


Judged = Callable[..., Run]


def other_answers(count: int, text: str = "another") -> list[Case]:
    return [make_case(number, answer=f"{text} {number}") for number in range(count)]


def scores(cases: list[Case]) -> list[float]:
    return [by_answer(case).score for case in cases]


# What is compared


def test_one_judge_on_other_answers_compares_the_systems(judged: Judged) -> None:
    matching = match(judged("a", make_cases(9)), judged("b", other_answers(9)))
    assert (matching.mode, matching.shared) == ("systems", 9)


def test_another_judge_on_the_same_answers_compares_the_judges(judged: Judged) -> None:
    matching = match(judged("a", make_cases(9)), judged("b", make_cases(9), MILD))
    assert matching.mode == "judges"
    assert [(each.a.judge, each.b.judge) for each in matching.matched] == [("function", "mild")]


def test_one_judge_twice_on_the_same_answers_is_named_as_that(judged: Judged) -> None:
    assert match(judged("a", make_cases(9)), judged("b", make_cases(9))).mode == "same_judge"


def test_two_judges_of_one_run_are_compared_with_each_other(judged: Judged) -> None:
    run = judged("a", make_cases(9), [FunctionJudge(by_answer), MILD])
    [matched] = match(run, run).matched
    assert (matched.a.judge, matched.b.judge) == ("function", "mild")


def test_what_is_not_clear_or_nothing_is_refused(judged: Judged) -> None:
    three = [FunctionJudge(by_answer), MILD, FunctionJudge(milder, "third", "third@1")]
    one, several = judged("a", make_cases(4)), judged("b", make_cases(4), three)
    with pytest.raises(InputError, match="is one run with one judge"):
        match(one, one)
    with pytest.raises(InputError, match="choose with --judge-a and --judge-b"):
        match(several, several)
    assert match(several, several, judge_a="mild", judge_b="third").mode == "judges"
    with pytest.raises(InputError, match="has no `x`; it has: answered by function"):
        match(one, several, judge_a="x")
    with pytest.raises(InputError, match="both the answers and the judge differ"):
        match(one, judged("c", other_answers(4), MILD))
    with pytest.raises(InputError, match="no criterion in common"):
        match(one, judged("d", make_cases(4), criteria=[GROUNDED]))
    reworded = replace(ANSWERED, description="in other words")
    with pytest.raises(InputError, match="not worded the same"):
        match(one, judged("e", make_cases(4), criteria=[reworded]))


def test_cases_of_one_run_only_and_ids_that_ask_another_question_are_left_out_and_counted(judged: Judged) -> None:
    others = [*other_answers(6)[2:], make_case(6, question="another question"), make_case(9)]
    matching = match(judged("a", make_cases(8)), judged("b", others))
    assert (matching.shared, matching.only_a, matching.only_b, matching.other_question) == (4, 3, 1, 1)
    with pytest.raises(InputError, match="no id is in both"):
        match(judged("c", make_cases(2)), judged("d", make_cases(4)[2:]))
    with pytest.raises(InputError, match="their questions differ"):
        match(judged("e", make_cases(1)), judged("f", [make_case(0, question="x")]))


def test_two_judges_are_compared_on_what_both_have_read(judged: Judged) -> None:
    changed = [make_case(0, answer="mended"), *make_cases(12)[1:]]
    [matched] = match(judged("a", make_cases(12)), judged("b", changed, MILD)).matched
    assert (len(matched.cases), matched.other_content) == (11, 1)


# Two systems


def test_the_difference_of_two_systems_is_the_paired_one_of_the_reference_library(judged: Judged) -> None:
    first, second = make_cases(40), other_answers(40)
    [found] = compare_answers(match(judged("a", first), judged("b", second)))
    expected = ttest_rel(scores(first), scores(second))
    assert found.scores.difference.value == pytest.approx(
        sum(a - b for a, b in zip(scores(first), scores(second), strict=True)) / 40
    )
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.better_a == sum(a > b for a, b in zip(scores(first), scores(second), strict=True))
    assert found.better_a + found.better_b + found.same == 40
    assert found.only_a_passes == sum(a >= 0.5 > b for a, b in zip(scores(first), scores(second), strict=True))
    assert found.scores.difference.se is not None
    assert found.detectable == pytest.approx((1.959964 + 0.841621) * found.scores.difference.se)
    check_sound(found.scores)


def test_a_clear_difference_is_found_and_none_is_not(judged: Judged) -> None:
    low = FunctionJudge(lambda case: Verdict(hashed(case.answer or "") * (0.3 if "bad" in (case.answer or "") else 1)))
    first, second = judged("a", make_cases(60), low), judged("b", other_answers(60, "bad"), low)
    assert [each.found for each in compare_answers(match(first, second))] == ["a"]
    assert [each.found for each in compare_answers(match(second, first))] == ["b"]
    third = judged("c", other_answers(60), low)
    assert [each.found for each in compare_answers(match(first, third))] == ["untold"]
    alike = FunctionJudge(lambda _: Verdict(0.7))
    [same] = compare_answers(match(judged("d", make_cases(9), alike), judged("e", other_answers(9), alike)))
    assert (same.found, same.p_value, same.detectable) == ("same", 1.0, None)


def test_a_constant_difference_has_no_t_test_and_is_tested_by_flipping_signs(judged: Judged) -> None:
    always = FunctionJudge(lambda case: Verdict(0.75 if "another" in (case.answer or "") else 0.5))
    [found] = compare_answers(match(judged("a", make_cases(10), always), judged("b", other_answers(10), always)))
    assert found.scores.test.p_value is None
    assert found.p_value == pytest.approx(2 / 2**10)
    assert found.found == "b"


def test_numbers_of_people_say_what_they_would_find_and_whether_the_judge_errs_differently(judged: Judged) -> None:
    """People give A one point more of four on three cases of four; the judge sees no difference."""
    blind = FunctionJudge(lambda case: Verdict(hashed(case.id)))
    matching = match(judged("a", make_cases(80), blind), judged("b", other_answers(80), blind))
    ids = [f"c{number}" for number in range(40)]
    scale = Scale.parse("1..4")
    meaning = Meaning(scale.labels, None, scale, True, frozenset(scale.labels), (1.0, 4.0))
    numbers = {each: 1.0 + round(2 * hashed(each + "people")) for each in ids}
    gold = People(meaning, {each: Gold(None, number + (int(each[1:]) % 4 > 0)) for each, number in numbers.items()})
    other = People(meaning, {each: Gold(None, number) for each, number in numbers.items()})
    [found] = compare_answers(matching, {"answered": (gold, other)})
    assert (found.found, found.labelled) == ("same", 40)
    assert found.people is not None
    assert found.people.tpr is None
    assert found.people.estimate.figure.value == pytest.approx(0.75)
    assert found.bias is not None
    assert found.bias.difference.value == pytest.approx(-0.75)
    assert found.errs_differently
    undeclared = replace(meaning, scale=None, labels=())
    [found] = compare_answers(matching, {"answered": (replace(gold, meaning=undeclared), other)})
    assert (found.bias, found.errs_differently) == (None, False)


def test_abstained_failed_and_pending_judgements_of_either_side_leave_a_case_out(judged: Judged) -> None:
    def sometimes(case: Case) -> object:
        number, other = int(case.id[1:]), "another" in (case.answer or "")
        if number == 0 or (number == 1 and other):
            return Abstained("no_words")
        return None if number == 2 and other else by_answer(case)

    judge = FunctionJudge(sometimes)
    first, second = judged("a", make_cases(9), judge), judged("b", other_answers(9), judge)
    lines = first.ledger_path.read_bytes().splitlines(keepends=True)
    first.ledger_path.write_bytes(b"".join(line for line in lines if b'"c3"' not in line))
    [found] = compare_answers(match(first, second))
    assert found.left_out == {"a_abstained": 1, "a_pending": 1, "b_abstained": 2, "b_failed": 1}
    assert (found.scores.difference.n, found.scores.difference.n_dropped) == (5, 4)


def test_replicates_count_as_one_case(judged: Judged) -> None:
    class Wavering(FunctionJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            return Verdict(min(1.0, hashed(case.answer or "") + 0.1 * replicate))

    judge = Wavering(by_answer)
    [found] = compare_answers(
        match(judged("a", make_cases(9), judge, replicates=3), judged("b", other_answers(9), judge, replicates=3))
    )
    assert found.scores.difference.n == 9


def test_p_values_are_adjusted_over_criteria_and_slices(judged: Judged) -> None:
    first = [replace(case, extra={"kind": int(case.id[1:]) % 3}) for case in make_cases(30)]
    second = [make_case(number, answer=f"another {number}", contexts=()) for number in range(30)]
    judge = FunctionJudge(lambda case: Verdict(hashed(f"{case.answer}{len(case.contexts)}")))
    runs = judged("a", first, judge, [ANSWERED, GROUNDED]), judged("b", second, judge, [ANSWERED, GROUNDED])
    found = compare_answers(match(*runs, by="kind"))
    assert [(each.criterion, each.slice) for each in found] == [
        (name, kind) for name in ("answered", "grounded") for kind in ("0", "1", "2")
    ]
    assert [each.scores.difference.n for each in found] == [10] * 6
    assert [each.p_holm for each in found] == pytest.approx(holm([each.p_value or 0.0 for each in found]))


def test_groups_widen_the_interval_and_so_do_cases_with_the_very_same_content(judged: Judged) -> None:
    def cases(text: str) -> list[Case]:
        return [make_case(n, answer=f"{text} {n // 4}", extra={"item": n // 4}) for n in range(80)]

    runs = judged("a", cases("one")), judged("b", cases("two"))
    [by_field] = compare_answers(match(*runs, cluster="item"))
    matching = match(*runs)
    [by_content] = compare_answers(matching)
    assert matching.duplicates == 60
    assert by_field.scores.difference == by_content.scores.difference
    assert by_field.scores.difference.n_clusters == 20
    assert by_field.scores.difference.deff is not None
    assert by_field.scores.difference.deff > 3
    assert by_field.detectable is not None
    assert by_field.scores.difference.se is not None
    assert by_field.detectable > (1.96 + 0.84) * by_field.scores.difference.se


def test_thresholds_that_differ_between_the_runs_have_to_be_settled(judged: Judged) -> None:
    class Strict(FunctionJudge):
        threshold = 0.8

    runs = judged("a", make_cases(9)), judged("b", other_answers(9), Strict(by_answer))
    with pytest.raises(InputError, match=r"pass from 0.5 in A and from 0.8 in B; give one --threshold"):
        match(*runs)
    assert compare_answers(match(*runs, threshold=0.6))[0].threshold == 0.6


def test_a_judge_that_errs_differently_on_the_two_systems_is_found_out_by_labels(judged: Judged) -> None:
    """It likes B: it passes all of B's answers, and of A's only the good ones."""
    good_a = {f"c{number}": number % 2 == 0 for number in range(200)}
    good_b = {f"c{number}": number % 4 == 0 for number in range(200)}

    def partial(case: Case) -> Verdict:
        return Verdict(1.0 if "another" in (case.answer or "") else float(good_a[case.id]))

    judge = FunctionJudge(partial)
    matching = match(judged("a", make_cases(200), judge), judged("b", other_answers(200), judge))
    labelled = [f"c{number}" for number in range(100)]
    gold = [people({case: good[case] for case in labelled}) for good in (good_a, good_b)]
    [found] = compare_answers(matching, {"answered": (gold[0], gold[1])})
    assert found.found == "b"
    assert found.labelled == 100
    assert found.people is not None
    assert found.people.rates_differ
    estimate = found.people.estimate.figure
    assert estimate.value == pytest.approx(0.25)
    assert estimate.ci_low is not None
    assert estimate.ci_low > 0
    [without] = compare_answers(matching, {"answered": (people({}), people({}))})
    assert (without.labelled, without.people) == (0, None)


# Two judges


def test_without_labels_two_judges_are_held_against_each_other(judged: Judged) -> None:
    cases = make_cases(50)
    [found] = compare_agreement(match(judged("a", cases), judged("b", cases, MILD)))
    assert isinstance(found, JudgesAgreement)
    first = [score >= 0.5 for score in scores(cases)]
    second = [milder(case).score >= 0.5 for case in cases]
    assert found.kappa.value == pytest.approx(cohen_kappa_score(first, second))
    assert found.both_pass + found.only_a_passes + found.only_b_passes + found.both_fail == 50
    assert found.correlation.value == pytest.approx(1.0)
    assert {each.case_id for each in found.differ} == {
        case.id for case, one, two in zip(cases, first, second, strict=True) if one != two
    }
    gaps = [abs(each.score_a - each.score_b) for each in found.differ]
    assert gaps == sorted(gaps, reverse=True)
    assert found.only_a_passes == 0


def test_two_runs_on_pairs_of_answers_are_compared_by_what_is_preferred(judged: Judged) -> None:
    cases = make_cases(30)
    said = [["second", "tie", "first"][place % 3] for place in range(30)], ["first", "tie"] * 15
    pairs = replace(ANSWERED, unit=Unit.PAIR)
    by_case = [{case.id: label for case, label in zip(cases, each, strict=True)} for each in said]
    one = FunctionJudge(lambda case: Verdict(0.5, label=by_case[0][case.id]), "one", "one@1")
    two = FunctionJudge(lambda case: Verdict(0.5, label=by_case[1][case.id]), "two", "two@1")
    [found] = compare_agreement(match(judged("a", cases, one, [pairs]), judged("b", cases, two, [pairs])))
    assert isinstance(found, LabelsAgreement)
    assert found.labels == ("a", "b", "tie")
    assert found.matrix["b"] == {"a": 5, "b": 0, "tie": 5}
    assert found.kappa.value == pytest.approx(cohen_kappa_score(*said))


def test_every_record_is_json(judged: Judged) -> None:
    cases = make_cases(9)
    systems = match(judged("c", cases), judged("d", other_answers(9)))
    gold = people({case.id: hashed(case.id) > 0.5 for case in cases})
    records = [
        *(each.to_record() for each in compare_agreement(match(judged("a", cases), judged("b", cases, MILD)))),
        *(each.to_record() for each in compare_answers(systems, {"answered": (gold, gold)})),
    ]
    assert json.loads(json.dumps(records, allow_nan=False)) == records
