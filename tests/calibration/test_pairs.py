"""The join of what judges said with people's labels."""

from pathlib import Path

import pytest

from calibration.answers import Subject, answers_in_run, stored_subjects
from calibration.labels import Labels, read_labels
from calibration.meaning import meaning_of
from calibration.pairs import Pairs, Question, join
from judges import Abstained, Case, InputError, Part, Run, Verdict, evaluate_sync
from support.builders import ANSWERED, FunctionJudge, make_case, make_cases
from support.stored import records_of, stored_pairs, write_records

SCORES = [0.9, 0.8, 0.2, 0.7, 0.1, 0.6, 0.4, 0.3]


def outcome(case: Case) -> object:
    number = int(case.id[1:])
    if number < len(SCORES):
        return Verdict(SCORES[number], "because")
    return Abstained("no_contexts") if number < len(SCORES) + 3 else None


@pytest.fixture
def run(tmp_path: Path) -> Run:
    evaluate_sync(make_cases(13), ANSWERED, FunctionJudge(outcome), out=tmp_path / "run")
    return Run(tmp_path / "run")


def labels_of(folder: Path, good: dict[str, bool]) -> Labels:
    records = [{"id": case, "gold": "pass" if label else "fail"} for case, label in good.items()]
    return read_labels(write_records(folder, records, "labels.jsonl"), "gold")


def joined(run: Run, folder: Path, good: dict[str, bool], threshold: float | None = 0.5) -> Pairs:
    manifest = run.manifest()
    labels = labels_of(folder, good)
    subject = Subject.of(manifest.assignments[0])
    question = Question(subject, labels, meaning_of(labels, positive="pass", scale=None), threshold)
    [pairs] = join(answers_in_run(run, manifest, manifest.assignments), [question], source=str(run.path))
    return pairs


def test_what_is_left_out_is_counted(run: Run, tmp_path: Path) -> None:
    good = {"c0": True, "c1": False, "elsewhere": True, "c8": True, "c11": False}
    pairs = joined(run, tmp_path, good)
    assert (len(pairs.pairs), pairs.unlabelled, pairs.not_in_run, pairs.pending) == (4, 9, 1, 0)
    assert (pairs.abstained, pairs.failed) == ({"no_contexts": 1}, {"InvalidVerdict": 1})
    assert len(pairs.unlabelled_passed) == 6
    lines = run.ledger_path.read_bytes().splitlines(keepends=True)
    run.ledger_path.write_bytes(b"".join(line for line in lines if b'"c1"' not in line))
    pairs = joined(run, tmp_path, {"c0": True, "c1": False})
    assert (len(pairs.pairs), pairs.pending) == (1, 1)


def test_labels_of_other_cases_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of its 13 cases has a label; do the ids match"):
        joined(run, tmp_path, {"x": True})


def test_the_threshold_is_the_judge_s_own_unless_told_otherwise(run: Run, tmp_path: Path) -> None:
    good = {f"c{number}": True for number in range(8)}
    assert joined(run, tmp_path, good, None).threshold == 0.5
    assert {each.said for each in joined(run, tmp_path, good, 0.0).pairs} == {"pass"}
    assert {each.said for each in joined(run, tmp_path, good, 1.0).pairs} == {"fail"}


def test_replicates_are_averaged_before_the_cut(tmp_path: Path) -> None:
    class Wavering(FunctionJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            return Verdict([0.9, 0.2, 0.2][replicate])

    evaluate_sync([make_case(0)], ANSWERED, Wavering(outcome), out=tmp_path / "run", replicates=3)
    [pair] = joined(Run(tmp_path / "run"), tmp_path, {"c0": True}).pairs
    assert pair.score == pytest.approx(1.3 / 3)
    assert pair.said == "fail"


def test_groups_come_from_the_labels_or_from_the_case(tmp_path: Path) -> None:
    records = records_of(["pass", "fail"] * 3, ["pass"] * 6, groups=[1, 1, 2, 2, 3, 3])
    path = write_records(tmp_path, records)
    bare = write_records(tmp_path, [{"id": each["id"], "gold": each["gold"]} for each in records], "labels.jsonl")
    both = [stored_pairs(path, cluster="group"), stored_pairs(path, gold=bare, cluster="group")]
    assert [[each.cluster for each in pairs.pairs] for pairs in both] == [["1", "1", "2", "2", "3", "3"]] * 2


# Stored judges


def test_the_longest_name_that_exists_wins_where_names_hold_dots(tmp_path: Path) -> None:
    judges = {"gpt-3.5-turbo": {"x": "pass"}, "gpt-3": {"5-turbo": {"x": "fail"}, "5-turbo.x": "fail"}}
    path = write_records(tmp_path, [{"id": "a", "answer": "?", "gold": {"x": "pass"}, "judges": judges}])
    pairs = stored_pairs(path, "judges.gpt-3.5-turbo.x")
    assert [each.said for each in pairs.pairs] == ["pass"]
    assert (pairs.question.subject.judge, pairs.question.subject.criterion) == ("gpt-3.5-turbo", "x")


def test_a_stored_judge_without_a_dimension_is_all_it_was_asked(tmp_path: Path) -> None:
    record = {"id": "a", "answer": "?", "judges": {"j": {"x": 1, "y": 2}}}
    path = write_records(tmp_path, [{"id": "0", "answer": "?"}, record])
    assert [each.criterion for each in stored_subjects(path, "judges.j", None)] == ["x", "y"]
    assert [each.criterion for each in stored_subjects(path, "judges.j", ["y"])] == ["y"]
    with pytest.raises(InputError, match=r"no case has a verdict in `judges\.k`; did you mean `judges\.j`\?"):
        stored_subjects(path, "judges.k", None)
    with pytest.raises(InputError, match=r"no case has a verdict in `judges\.j\.z`; did you mean `judges\.j\.y`\?"):
        stored_subjects(path, "judges.j", ["z"])


def test_a_field_of_one_verdict_is_about_what_is_said(tmp_path: Path) -> None:
    path = write_records(tmp_path, [{"id": "a", "answer": "?", "judges": {"j": {"x": 1}}}])
    [own] = stored_subjects(path, "judges.j.x", None)
    assert (own.criterion, own.judge, own.field) == ("x", "j", "judges.j.x")
    [other] = stored_subjects(path, "judges.j.x", ["correctness"])
    assert (other.criterion, other.judge, other.field) == ("correctness", "j.x", "judges.j.x")
    assert other.premise is Part.REFERENCES
    with pytest.raises(InputError, match="holds one verdict; which of y, z is it about"):
        stored_subjects(path, "judges.j.x", ["y", "z"])


def test_what_a_stored_judge_was_asked_is_gathered_from_all_cases(tmp_path: Path) -> None:
    said = ({"x": 1, "y": None}, {"x": 0, "y": ""}, {"z": 1}, {"y": 1})
    records = [{"id": str(place), "answer": "?", "judges": {"j": each}} for place, each in enumerate(said)]
    path = write_records(tmp_path, records)
    assert [each.criterion for each in stored_subjects(path, "judges.j", None)] == ["x", "z", "y"]


@pytest.mark.parametrize(
    ("gold", "said", "positive", "threshold", "expected"),
    [
        (["correct", "incorrect"], ["incorrect", "correct"], None, None, (None, ["fail", "pass"])),
        (["correct", "incorrect"], ["correct", "invalid"], None, None, (None, ["pass", "failed"])),
        ([4, 1], [0.7, 0.2], ">=3", None, (0.5, ["pass", "fail"])),
        ([4, 1], [3, 2], ">=3", None, (None, ["pass", "fail"])),
        ([4, 1], [0.7, 0.2], ">=3", 0.8, (0.8, ["fail", "fail"])),
        ([1, 0], [1, 0], None, None, (None, ["pass", "fail"])),
        ([1, 0], [0.9, 0.1], None, None, (0.5, ["pass", "fail"])),
    ],
)
def test_a_stored_answer_passes_by_its_label_by_the_rule_or_by_a_threshold(
    tmp_path: Path,
    gold: list[object],
    said: list[object],
    positive: str | None,
    threshold: float | None,
    expected: tuple[float | None, list[str]],
) -> None:
    path = write_records(tmp_path, records_of(gold, said))
    pairs = stored_pairs(path, positive=positive, threshold=threshold)
    assert (pairs.threshold, [each.said for each in pairs.pairs]) == expected


def test_scores_on_a_scale_of_their_own_need_a_threshold(tmp_path: Path) -> None:
    path = write_records(tmp_path, records_of(["pass", "fail"], [70, 20]))
    with pytest.raises(InputError, match=r"`judges\.j\.x` go from 20 to 70; say with --threshold"):
        stored_pairs(path)


def test_a_case_the_stored_judge_says_nothing_of_is_pending(tmp_path: Path) -> None:
    path = write_records(tmp_path, records_of(["pass", "fail", "pass"], ["pass", None, "pass"]))
    pairs = stored_pairs(path)
    assert (len(pairs.pairs), pairs.pending) == (2, 1)
