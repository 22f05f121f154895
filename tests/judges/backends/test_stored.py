"""Verdicts that somebody else has stored, as a judge."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from judges import CORRECTNESS, PREFERENCE, Abstained, Case, Criterion, Part, Verdict, check_judge, evaluate_sync
from judges.backends.stored import StoredVerdicts
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


def test_a_field_about_one_criterion_is_refused_for_another() -> None:
    one = StoredVerdicts("judges.gpt-3.5-turbo.correctness")
    assert isinstance(asyncio.run(one.judge(told("correct"), CORRECTNESS)), Verdict)
    with pytest.raises(InputError, match="isn't about `preference`"):
        asyncio.run(one.judge(told("a"), PREFERENCE))


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
