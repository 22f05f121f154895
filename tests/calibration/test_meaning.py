from pathlib import Path

import pytest

from calibration.labels import CaseLabels, Labels, read_labels
from calibration.meaning import Gold, Positive, Scale, meaning_of, number_of
from judges import InputError
from support.stored import write_records


def labels_of(folder: Path, *values: object) -> Labels:
    path = write_records(folder, [{"id": str(place), "gold": value} for place, value in enumerate(values)])
    return read_labels(path, "gold")


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (">=3", ["3", "4", "3.5"], ["2", "2.9", "-7"]),
        ("> 3", ["3.1"], ["3"]),
        ("<2", ["1", "-1"], ["2"]),
        ("<=2", ["2"], ["2.1"]),
        ("correct", ["correct"], ["incorrect", "Correct", ""]),
        ("pass, partly", ["pass", "partly"], ["fail", "pass, partly"]),
    ],
)
def test_a_rule_says_which_labels_are_good(rule: str, good: list[str], bad: list[str]) -> None:
    positive = Positive(rule)
    assert all(positive(label) for label in good)
    assert not any(positive(label) for label in bad)


@pytest.mark.parametrize("rule", ["", " ", ",", ">=", ">=high", "<nan", ">inf"])
def test_a_rule_that_says_nothing_is_refused(rule: str) -> None:
    with pytest.raises(InputError, match="--positive"):
        Positive(rule)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("a,b,tie", Scale(("a", "b", "tie"))),
        ("poor < fair<good", Scale(("poor", "fair", "good"), ordered=True)),
        ("1..4", Scale(("1", "2", "3", "4"), ordered=True, low=1.0, high=4.0)),
        ("0..100", Scale((), ordered=True, low=0.0, high=100.0)),
        ("0.5..3", Scale((), ordered=True, low=0.5, high=3.0)),
    ],
)
def test_a_scale_is_labels_levels_or_a_range(text: str, scale: Scale) -> None:
    assert Scale.parse(text) == scale


@pytest.mark.parametrize("text", ["", "a", "a,a", "a,,b", "4..1", "1..", "1..x", "a<"])
def test_a_scale_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--scale"):
        Scale.parse(text)


def test_the_usual_words_need_no_rule(tmp_path: Path) -> None:
    assert meaning_of(labels_of(tmp_path, "correct", "incorrect"), positive=None, scale=None).label("correct") == "pass"
    assert meaning_of(labels_of(tmp_path, 0, 1), positive=None, scale=None).label("0") == "fail"
    assert meaning_of(labels_of(tmp_path, "a", "b"), positive=None, scale=None).labels == ("a", "b", "tie")
    numbers = meaning_of(labels_of(tmp_path, 1, 2.5, 4), positive=None, scale=None)
    assert (numbers.labels, numbers.numeric, numbers.binary) == ((), True, False)


@pytest.mark.parametrize(
    ("values", "positive", "scale", "message"),
    [
        (("good", "bad"), "pass", None, r"no label of `gold` is --positive pass; found: good \(1\), bad \(1\)"),
        (("good", "bad"), ">=3", None, "`good` is not a number"),
        (("good", "bad"), None, None, "which labels are good"),
        (("good", "bad"), None, "good,poor", "the label `bad` is not among --scale good,poor"),
    ],
)
def test_labels_that_nothing_explains_are_refused_with_those_there_are(
    tmp_path: Path, values: tuple[str, ...], positive: str | None, scale: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        meaning_of(labels_of(tmp_path, *values), positive=positive, scale=None if scale is None else Scale.parse(scale))


def test_the_label_that_counts_is_the_adjudicated_one_else_that_of_most_and_a_tie_stays_one(tmp_path: Path) -> None:
    meaning = meaning_of(labels_of(tmp_path, 1, 2, 3, 4), positive=">=3", scale=None)
    assert meaning.gold(CaseLabels("2", {"anna": "4", "ben": "4"})) == Gold("fail", 2.0)
    assert meaning.gold(CaseLabels(None, {"anna": "4", "ben": "3", "cleo": "1"})) == Gold("pass", 8 / 3)
    assert meaning.gold(CaseLabels(None, {"anna": "4", "ben": "1"})) == Gold(None, 2.5, ("pass", "fail"))


def test_a_level_has_its_place_and_what_lies_between_levels_is_a_number(tmp_path: Path) -> None:
    named = meaning_of(labels_of(tmp_path, "poor", "good"), positive=None, scale=Scale.parse("poor<fair<good"))
    assert named.gold(CaseLabels("good")) == Gold("good", 3.0)
    ranged = meaning_of(labels_of(tmp_path, 1, 2.5), positive=None, scale=Scale.parse("1..4"))
    assert ranged.gold(CaseLabels("2.5")) == Gold(None, 2.5)
    assert ranged.gold(CaseLabels("2")) == Gold("2", 2.0)


def test_a_judge_s_word_that_people_never_use_is_no_label(tmp_path: Path) -> None:
    meaning = meaning_of(labels_of(tmp_path, "correct", "incorrect"), positive="correct", scale=None)
    assert meaning.label_said("incorrect") == "fail"
    assert meaning.label_said("invalid") is None


def test_a_judge_may_say_pass_and_fail_in_words_where_people_give_numbers(tmp_path: Path) -> None:
    meaning = meaning_of(labels_of(tmp_path, 1, 2, 3, 4), positive=">=3", scale=None)
    assert [meaning.label_said(each) for each in ("pass", "Fail", "correct", "4", "1")] == [
        "pass", "fail", "pass", "pass", "fail",
    ]  # fmt: skip
    assert meaning.label_said("splendid") is None


def test_the_judge_s_own_words_may_be_named_among_the_good_ones(tmp_path: Path) -> None:
    labels = labels_of(tmp_path, "good", "bad")
    meaning = meaning_of(labels, positive="good,true,fine", scale=None)
    said = ("good", "bad", "true", "false", "fine", "poor")
    assert [meaning.label_said(each) for each in said] == ["pass", "fail", "pass", "fail", "pass", None]
    declared = meaning_of(labels, positive="good,fine", scale=Scale.parse("good,bad,fine,poor"))
    assert declared.label_said("poor") == "fail"


def test_a_run_calls_the_answers_of_a_pair_first_and_second(tmp_path: Path) -> None:
    meaning = meaning_of(labels_of(tmp_path, "a", "b", "tie"), positive=None, scale=None)
    assert [meaning.label_said(each) for each in ("first", "second", "tie", "b")] == ["a", "b", "tie", "b"]
    ranks = meaning_of(labels_of(tmp_path, "first", "second"), positive="first", scale=None)
    assert ranks.label_said("first") == "pass"


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e300", "-1e51", "ten", ""])
def test_what_no_scale_reaches_is_no_number(text: str) -> None:
    assert number_of(text) is None
