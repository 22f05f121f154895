"""Judges whose verdicts are stored in a file, as one side of a comparison."""

import json
from pathlib import Path

import pytest

from calibration.answers import Answer
from calibration.audit import audit
from calibration.comparison import JudgesAgreement, LabelsAgreement, compare_agreement
from calibration.differences import People
from calibration.labels import read_labels
from calibration.matching import match
from calibration.meaning import Scale, meaning_of
from calibration.on_gold import compare_judges
from calibration.stored import StoredJudge, stored_judge
from judges import CORRECTNESS, Case, InputError, Run, Verdict, evaluate_sync
from support.builders import ANSWERED, FunctionJudge, make_cases
from support.stored import stored_pairs


def written(folder: Path, *said: object, judge: str = "j", asked: str = "correctness") -> Path:
    path = folder / "cases.jsonl"
    records = [
        {"id": f"c{at}", "question": f"question {at}", "answer": f"answer {at}", "judges": {judge: {asked: each}}}
        for at, each in enumerate(said)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def answers(judge: StoredJudge) -> list[Answer | None]:
    return [given[0] for _, given in judge.answers(judge.assignments)]


def scores(judge: StoredJudge) -> list[float | None]:
    return [None if each is None else each.score for each in answers(judge)]


def test_labels_that_are_good_or_bad_have_scores_and_others_none(tmp_path: Path) -> None:
    path = written(tmp_path, "correct", "Incorrect", "invalid", None, True, "no")
    judge = stored_judge(path, "stored:judges.j.correctness", None)
    assert scores(judge) == [1.0, 0.0, None, None, 1.0, 0.0]
    assert judge.no_cut == ""
    assert [(each.criterion, each.judge, each.threshold) for each in judge.assignments] == [(CORRECTNESS, "j", 0.5)]


def test_a_rule_says_which_are_good_and_people_s_labels_which_are_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "a", "b", "tie", "invalid", asked="preference")
    name = "stored:judges.j.preference"
    assert "say it with --positive" in stored_judge(path, name, None).no_cut
    assert scores(stored_judge(path, name, None, positive="a")) == [1.0, 0.0, 0.0, 0.0]
    known = stored_judge(path, name, None, positive="a", vocabulary={"a", "b", "tie"})
    assert scores(known) == [1.0, 0.0, 0.0, None]


@pytest.mark.parametrize(
    ("positive", "cut", "why"),
    [(None, 0.5, "scores from 1 to 5"), (">=4", 4.0, ""), ("<3", 0.5, "scores from 1 to 5")],
)
def test_numbers_beyond_0_and_1_pass_from_where_the_rule_says(
    tmp_path: Path, positive: str | None, cut: float, why: str
) -> None:
    judge = stored_judge(written(tmp_path, 1, 3.5, 5), "stored:judges.j.correctness", None, positive=positive)
    assert (judge.assignments[0].threshold, scores(judge)) == (cut, [1.0, 3.5, 5.0])
    assert why in judge.no_cut
    assert bool(why) == bool(judge.no_cut)


def test_one_verdict_may_be_said_to_be_about_another_criterion(tmp_path: Path) -> None:
    path = written(tmp_path, 0.1, 0.9, asked="overlap")
    [assignment] = stored_judge(path, "stored:judges.j.overlap", ["correctness"]).assignments
    assert assignment.criterion == CORRECTNESS
    [own] = stored_judge(path, "stored:judges.j", None).assignments
    assert own.criterion.name == "overlap"


def test_a_stored_judge_is_compared_with_a_run_of_the_same_cases(tmp_path: Path) -> None:
    path = written(tmp_path, *["correct", "incorrect"] * 10, asked="answered")
    evaluate_sync(make_cases(20), [ANSWERED], [FunctionJudge(_passes_all)], out=tmp_path / "run")
    run = Run(tmp_path / "run")
    stored = stored_judge(path, "stored:judges.j.answered", None, like=[ANSWERED])
    matching = match(stored, run)
    assert (matching.mode, matching.shared, matching.matched[0].stored_a) == ("judges", 20, True)
    [found] = compare_agreement(matching)
    assert isinstance(found, JudgesAgreement)
    assert (found.both_pass, found.only_b_passes, found.agreement.value) == (10, 10, 0.5)


def _passes_all(_: Case) -> Verdict:
    return Verdict(0.9)


def test_cases_without_a_text_are_no_group(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    records = [{"id": f"c{at}", "judges": {"a": {"x": at % 2}, "b": {"x": at % 3 > 0}}} for at in range(30)]
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    matching = match(*(stored_judge(path, f"stored:judges.{name}.x", None) for name in "ab"))
    assert (matching.duplicates, matching.matched[0].clustered) == (0, False)
    assert compare_agreement(matching)[0].agreement.n == 30


def test_scores_of_which_some_are_whole_are_no_levels_and_the_better_order_of_cases_wins(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    levels = [1 + at % 4 for at in range(80)]
    records = [
        {
            "id": f"c{at}",
            "answer": f"answer {at}",
            "judges": {"good": {"x": (level - 1) / 3}, "bad": {"x": at % 7 / 6}},
            "human": {"x": {"anna": level, "ben": level}},
        }
        for at, level in enumerate(levels)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    labels = read_labels(path, "human.x")
    people = People.of(labels, meaning_of(labels, positive=None, scale=Scale.parse("1..4")))
    matching = match(*(stored_judge(path, f"stored:judges.{name}.x", None) for name in ("bad", "good")))
    [found] = compare_judges(matching, {"x": people})
    assert (found.decided_by, found.kappa, found.found) == ("spearman", None, "b")
    assert found.errors is not None
    assert found.errors.mae_b.value == pytest.approx(0.0)
    one = audit(stored_pairs(path, "judges.good.x", "human.x", scale="1..4"))
    assert one.views == ()
    assert one.people is not None
    assert (one.people.ceiling, one.people.replacement) == (None, None)
    assert one.scores is not None
    assert one.scores.stretched
    assert one.scores.beyond == ()
    assert one.scores.differences is not None
    assert one.scores.differences.mae.value == pytest.approx(0.0)


def test_what_nobody_can_tell_is_refused_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a", "b")
    with pytest.raises(InputError, match=r"is a file, not a run; say which of the judges stored in it"):
        stored_judge(path, None, None)
    with pytest.raises(InputError, match=r"no case has a verdict in `judges\.k`"):
        stored_judge(path, "stored:judges.k", None)
    with pytest.raises(InputError, match="wasn't asked tone, grammar; it was asked: correctness"):
        stored_judge(path, "stored:judges.j", ["tone", "grammar"])
    one = stored_judge(path, "stored:judges.j.correctness", None)
    with pytest.raises(InputError, match="is one file, and one judge is named"):
        match(one, one)
    (tmp_path / "other").mkdir()
    other = stored_judge(written(tmp_path / "other", 1, 5, judge="k"), "stored:judges.k.correctness", None)
    with pytest.raises(InputError, match="nothing says which are good"):
        compare_agreement(match(one, other))


def test_labels_none_of_which_is_known_to_be_good_are_compared_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = stored_judge(written(tmp_path, "x", "y", None, "z"), "stored:judges.j.correctness", None)
    other = written(tmp_path / "other", "x", "x", "x", "z", judge="k")
    [found] = compare_agreement(match(one, stored_judge(other, "stored:judges.k.correctness", None)))
    assert isinstance(found, LabelsAgreement)
    assert found.labels == ("x", "y", "z")
    assert (found.agreement.value, found.agreement.n_dropped, found.left_out) == (2 / 3, 1, {"a_pending": 1})
    assert found.differ == (("c1", "y", "x"),)
    assert json.loads(json.dumps(found.to_record(), allow_nan=False)) == found.to_record()
    by_rule = stored_judge(other, "stored:judges.k.correctness", None, positive="x")
    one = stored_judge(one.path, "stored:judges.j.correctness", None, positive="x")
    [by_pass] = compare_agreement(match(one, by_rule))
    assert isinstance(by_pass, JudgesAgreement)
    assert (by_pass.both_pass, by_pass.only_b_passes, by_pass.both_fail) == (1, 1, 1)
