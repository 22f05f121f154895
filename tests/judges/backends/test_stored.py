"""Verdicts that somebody else has stored, as a judge."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from judges import (
    CONTEXT_SUFFICIENCY,
    CORRECTNESS,
    PREFERENCE,
    Abstained,
    Case,
    Criterion,
    Part,
    Verdict,
    check_judge,
    evaluate_sync,
)
from judges.backends.stored import StoredVerdicts, refuse_absent
from judges.criterion import Level, Scale
from judges.engine.plan import Assignment, assign, key_of
from judges.errors import InputError, InvalidReply
from judges.fingerprint import Json

BOTH = StoredVerdicts("judges.gpt-3.5-turbo")
CASE = Case("a", "When?", "In 1932.", references=("1932",))


def told(value: Json) -> Case:
    return replace(CASE, extra={"judges": {"gpt-3": {}, "gpt-3.5-turbo": {"correctness": value, "preference": value}}})


def verdict_on(value: Json, criterion: Criterion = CORRECTNESS) -> Verdict | Abstained:
    return asyncio.run(BOTH.judge(told(value), criterion))


@pytest.mark.parametrize(
    ("value", "score", "label"),
    [
        ("correct", 1.0, "correct"),
        ("incorrect", 0.0, "incorrect"),
        ("PASS", 1.0, None),
        ("no", 0.0, None),
        (True, 1.0, None),
        (False, 0.0, None),
        (0.25, 0.25, None),
        (1, 1.0, None),
    ],
)
def test_levels_the_usual_words_and_numbers_from_0_to_1_are_verdicts(
    value: Json, score: float, label: str | None
) -> None:
    found = verdict_on(value)
    assert isinstance(found, Verdict)
    assert (found.score, found.label) == (score, label)


@pytest.mark.parametrize(("value", "label"), [("a", "first"), ("b", "second"), ("tie", "tie"), ("first", "first")])
def test_the_answers_of_a_pair_have_the_names_that_files_give_them(value: str, label: str) -> None:
    found = verdict_on(value, PREFERENCE)
    assert isinstance(found, Verdict)
    assert found.label == label


@pytest.mark.parametrize("value", [None, ""])
def test_it_abstains_where_nothing_is_stored(value: Json) -> None:
    found = verdict_on(value)
    assert isinstance(found, Abstained)
    assert found.reason == "nothing_stored"
    assert isinstance(asyncio.run(BOTH.judge(CASE, CORRECTNESS)), Abstained)


@pytest.mark.parametrize("value", ["invalid", "very \x1b[2J good", ["correct"]])
def test_what_is_no_level_fails_that_judgement_and_is_shown_harmlessly(value: Json) -> None:
    with pytest.raises(InvalidReply, match="none of incorrect, correct") as caught:
        verdict_on(value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("value", [3.9, -0.1, 2])
def test_numbers_that_are_no_scores_stop_the_run(value: float) -> None:
    with pytest.raises(InputError, match="judges calibrate FILE"):
        verdict_on(value)


@pytest.mark.parametrize("field", ["judges.gpt-3.5-turbo.correctness", "right", "meta.right"])
def test_where_one_criterion_is_asked_the_field_may_be_called_anything(field: str) -> None:
    case = replace(told("correct"), extra={**told("correct").extra, "right": "correct", "meta": {"right": "correct"}})
    [found] = evaluate_sync([case], CORRECTNESS, StoredVerdicts(field))
    assert found.score == 1.0


def test_where_several_are_asked_one_verdict_is_about_none_of_them(tmp_path: Path) -> None:
    both = [CORRECTNESS, PREFERENCE]
    assert len(evaluate_sync([told("correct")], both, BOTH)) == 2
    one = StoredVerdicts("judges.gpt-3.5-turbo.correctness")
    for out in (None, tmp_path / "runs" / "one"):
        with pytest.raises(
            InputError, match=r"case `a`: .* holds one verdict, and 2 criteria are asked \(correctness, "
        ):
            evaluate_sync([CASE, replace(told("correct"), id="a")][1:], both, one, out=out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [["correct"], 0, False, "correct"])
def test_any_value_is_one_verdict_but_not_the_lack_of_one(value: Json) -> None:
    one, both = StoredVerdicts("judges.gpt-3.5-turbo.correctness"), [CORRECTNESS, PREFERENCE]
    lacking = [CASE, told(None), told("")]
    admitted = one.admit([*lacking, told(value)], both)
    assert [next(admitted) for _ in lacking] == lacking
    with pytest.raises(InputError, match="holds one verdict"):
        next(admitted)


def test_numbers_that_are_no_scores_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="judges calibrate FILE"):
        evaluate_sync([told(0.5), replace(told(4), id="b")], CORRECTNESS, BOTH, out=tmp_path / "runs" / "one")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("value", "score"), [("present", 1.0), ("Absent", 0.0), ("sufficient", 1.0), ("no", 0.0)])
def test_what_files_call_the_levels_of_a_criterion_is_understood_for_that_one_only(value: str, score: float) -> None:
    judge = StoredVerdicts("said")
    case = Case("a", "When?", extra={"said": value})
    found = asyncio.run(judge.judge(case, CONTEXT_SUFFICIENCY))
    assert isinstance(found, Verdict)
    assert found.score == score
    if value in {"present", "Absent"}:
        with pytest.raises(InvalidReply, match="none of incorrect, correct"):
            asyncio.run(judge.judge(case, CORRECTNESS))


def test_levels_of_one_s_own_are_read_as_they_are_called() -> None:
    scale = Scale((Level("present", 0.0), Level("gone", 1.0)))
    found = asyncio.run(
        StoredVerdicts("said").judge(Case("a", extra={"said": "present"}), replace(CONTEXT_SUFFICIENCY, scale=scale))
    )
    assert isinstance(found, Verdict)
    assert (found.score, found.label) == (0.0, "present")


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            "judges.gpt3.5-turbo.correctness",
            "`judges.gpt3.5-turbo.correctness`; did you mean `judges.gpt-3.5-turbo.cor",
        ),
        ("judges.gpt-3.5", "`judges.gpt-3.5`; did you mean `judges.gpt-3.5-turbo`?"),
        ("judges.gpt-3", "`judges.gpt-3.correctness`; did you mean `judges.gpt-3.5-turbo.correctness`?"),
        ("gold.x", "`gold.x`; there are `judges.gpt-3.5-turbo`, `judges.gpt-3.5-turbo.correctness`, `judges.gpt-3.5-"),
    ],
)
def test_a_field_that_no_case_has_is_refused_after_the_last_and_the_nearest_is_named(field: str, said: str) -> None:
    cases = refuse_absent([told("correct"), told("incorrect")], [(StoredVerdicts(field), CORRECTNESS)])
    assert [next(cases), next(cases)] == [told("correct"), told("incorrect")]
    with pytest.raises(InputError, match=re.escape(f"no case has a verdict in {said}")):
        next(cases)


@pytest.mark.parametrize("value", ["correct", 0, False])
def test_a_field_that_some_cases_have_is_not_refused(value: Json) -> None:
    cases = [CASE, told(value), told(None)]
    assert list(refuse_absent(cases, [(BOTH, CORRECTNESS), (object(), CORRECTNESS)])) == cases


def test_a_field_in_which_nothing_stands_is_refused_and_where_there_are_no_cases_none_is() -> None:
    with pytest.raises(InputError, match=r"no case has a verdict in `judges\.gpt-3\.5-turbo\.correctness`"):
        list(refuse_absent([told(None), told(""), CASE], [(BOTH, CORRECTNESS)]))
    assert list(refuse_absent([], [(BOTH, CORRECTNESS)])) == []


def test_hostile_names_of_fields_are_shown_harmlessly() -> None:
    case = replace(CASE, extra={"judges": {"j\x1b[2J": 1}})
    with pytest.raises(InputError) as caught:
        list(refuse_absent([case], [(StoredVerdicts("judges.j\x1b"), CORRECTNESS)]))
    assert "\x1b" not in str(caught.value)


def test_it_keeps_the_promises_of_a_judge() -> None:
    check_judge(BOTH, [CORRECTNESS], cases=[told("correct"), told(0.5)])


def test_what_is_stored_is_in_the_key_of_its_judgement_and_of_no_other_judge_s() -> None:
    [own] = assign([CORRECTNESS], [BOTH])
    assert own.reads == (Part.EXTRA,)
    assert key_of(told("correct"), own, 0) != key_of(told("incorrect"), own, 0)
    assert Assignment.from_record(own.to_record()) == own
    other = Assignment(CORRECTNESS, "j", "j@1")
    assert key_of(told("correct"), other, 0) == key_of(told("incorrect"), other, 0)


def test_a_run_judges_again_what_somebody_has_stored_anew_and_nothing_else(tmp_path: Path) -> None:
    first, second = told("correct"), replace(told("incorrect"), id="b", answer="In 1933.")
    before = evaluate_sync([first, second], CORRECTNESS, BOTH, out=tmp_path / "run")
    after = evaluate_sync([replace(told("incorrect"), id="a"), second], CORRECTNESS, BOTH, out=tmp_path / "run")
    assert [each.score for each in before] == [1.0, 0.0]
    assert [each.score for each in after] == [0.0, 0.0]
    assert list(before)[1].key == list(after)[1].key


def test_a_judge_that_reads_what_is_no_part_is_refused() -> None:
    class Odd(StoredVerdicts):
        reads = ("extra",)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    with pytest.raises(InputError, match="is no part that the judge `x` reads"):
        assign([CORRECTNESS], [Odd("judges.x")])


@pytest.mark.parametrize("field", ["", " ", "."])
def test_a_judge_without_a_field_is_refused(field: str) -> None:
    with pytest.raises(InputError, match="which verdicts"):
        StoredVerdicts(field)
