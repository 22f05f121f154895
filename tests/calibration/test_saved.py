"""What is kept of an audit: threshold, map, error rates, in a file that says what it is about."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from calibration.answers import Subject, answers_in_run
from calibration.audit import Audit, audit
from calibration.labels import CaseLabels, Labels
from calibration.meaning import meaning_of
from calibration.pairs import Question, join
from calibration.rates import Chosen
from calibration.saved import Calibration, calibration_from, calibration_of, read_calibrations, write_calibrations
from judges import Case, InputError, Run, Verdict, evaluate_sync
from judges.engine.plan import Assignment
from support.builders import ANSWERED, FunctionJudge, make_cases

N = 400
RNG = np.random.default_rng(7)
SCORES = RNG.random(N).round(3).tolist()
GOOD = [bool(each) for each in RNG.random(N) < np.array(SCORES) ** 4]
"""People pass a case with its score to the fourth power: few below 0.7."""


def scored(case: Case) -> Verdict:
    return Verdict(SCORES[int(case.id[1:])])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("saved") / "run"
    evaluate_sync(make_cases(N), ANSWERED, FunctionJudge(scored), out=folder)
    return Run(folder)


def assignment_of(run: Run) -> Assignment:
    [assignment] = run.manifest().assignments
    return assignment


def held(
    run: Run,
    chosen: Chosen = "random",
    *,
    labelled: int = 300,
    words: tuple[str, str] = ("pass", "fail"),
    good: list[bool] | None = None,
) -> Audit:
    """The judge of the run, held against labels of its first cases."""
    told = GOOD if good is None else good
    by_case = {f"c{place}": CaseLabels(words[0] if told[place] else words[1]) for place in range(labelled)}
    labels = Labels("labels.jsonl", "gold.answered", by_case, {}, N - labelled)
    assignment, manifest = assignment_of(run), run.manifest()
    question = Question(Subject.of(assignment), labels, meaning_of(labels, positive=None, scale=None))
    [pairs] = join(answers_in_run(run, manifest, [assignment]), [question], source="run")
    return audit(pairs, chosen=chosen)


def saved(run: Run, chosen: Chosen = "random", *, labelled: int = 300, good: list[bool] | None = None) -> Calibration:
    return calibration_of(held(run, chosen, labelled=labelled, good=good), assignment_of(run))


def test_a_file_gives_back_what_was_written(run: Run, tmp_path: Path) -> None:
    one = saved(run)
    write_calibrations(tmp_path / "one.json", [one])
    assert read_calibrations(tmp_path / "one.json") == (one,)
    assert calibration_from(one.to_record()) == one
    assert json.loads((tmp_path / "one.json").read_bytes())["format"] == 1
    write_calibrations(tmp_path / "one.json", [one, one])  # a refit takes the place of the old one
    assert len(read_calibrations(tmp_path / "one.json")) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["one.json"]


def test_a_suggested_threshold_is_kept_and_its_error_rates_are_those_out_of_fold(run: Run) -> None:
    one = saved(run)
    assert one.threshold.rule == "kappa"
    assert one.threshold.before == 0.5
    assert one.threshold.at > 0.6
    [(tp, fp, fn, tn)] = one.table
    assert tp + fp + fn + tn == one.labelled == 300
    passed = np.array(SCORES[:300]) >= one.threshold.at
    within = int(np.count_nonzero(passed & np.array(GOOD[:300])))
    assert tp != within  # decided by thresholds that never saw the case
    assert tp == pytest.approx(within, abs=25)
    assert one.passes_found.value == pytest.approx(tp / (tp + fn))
    assert one.fails_found.value == pytest.approx(tn / (tn + fp))
    assert one.judge_rate.value == pytest.approx(np.mean(np.array(SCORES) >= one.threshold.at))
    assert one.scores.n == N


def test_the_map_gives_the_chances_that_people_passed_with(run: Run) -> None:
    found = saved(run).score_map
    assert found is not None
    low, high = found.apply([0.2, 0.9]).tolist()
    assert low == pytest.approx(0.0, abs=0.06)
    assert high == pytest.approx(0.66, abs=0.1)


def test_how_the_cases_were_chosen_decides_what_is_kept(run: Run) -> None:
    by_verdict, by_gold = saved(run, "by-verdict"), saved(run, "by-gold")
    for one in (by_verdict, by_gold):
        assert (one.threshold.at, one.threshold.rule) == (0.5, None)
    assert by_verdict.map is not None
    assert by_verdict.passes_found.value is None
    assert by_verdict.passes_right.value is not None
    assert by_gold.map is None  # it would give the chances of a pass rate that somebody chose
    assert by_gold.passes_found.value is not None
    assert by_gold.passes_right.reason == "not_identified"
    assert saved(run, "unknown").chosen == "unknown"
    assert saved(run, "unknown", labelled=N).chosen == "all"


def test_a_map_that_turns_scores_round_is_not_kept(run: Run) -> None:
    assert saved(run, good=[not each for each in GOOD]).map is None


@pytest.mark.parametrize(("chosen", "words"), [("by-hand", "picked by hand"), ("tuning", "tuned on")])
def test_of_cases_that_say_nothing_about_others_no_calibration_is_made(run: Run, chosen: Chosen, words: str) -> None:
    with pytest.raises(InputError, match=words):
        saved(run, chosen)


def test_labels_other_than_pass_and_fail_make_no_calibration(run: Run) -> None:
    with pytest.raises(InputError, match="say which are good with --positive"):
        calibration_of(held(run, words=("a", "b")), assignment_of(run))


def test_another_file_is_never_overwritten_and_a_damaged_one_is_named(run: Run, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "c1", "gold": {"answered": "pass"}}\n', encoding="utf-8")
    with pytest.raises(InputError, match="something else is there already"):
        write_calibrations(labels, [saved(run)])
    assert "c1" in labels.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="is no calibration"):
        read_calibrations(labels)
    with pytest.raises(InputError, match="use a file that `judges calibrate --save` wrote"):
        read_calibrations(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="choose another file"):
        write_calibrations(tmp_path / "no folder" / "one.json", [saved(run)])


@pytest.mark.parametrize(
    "change",
    [
        {"table": [[0, 0, 0, 0]]},
        {"table": [[1, 2, -3, 4]]},
        {"threshold": {"at": 1.5, "rule": None, "low": None, "high": None, "before": 0.5}},
        {"map": {"kind": "platt", "a": "steep", "b": 0}},
        {"scores": {"at": [0.5, 0.5], "counts": [1, 1], "whole": True}},
        {"criterion": {"name": "answered"}},
        {"chosen": "well"},
    ],
)
def test_a_calibration_that_can_not_be_true_is_refused(run: Run, tmp_path: Path, change: dict[str, object]) -> None:
    record = {**saved(run).to_record(), **change}
    path = tmp_path / "one.json"
    path.write_bytes(orjson.dumps({"format": 1, "calibrations": [record]}))
    with pytest.raises(InputError, match="is no calibration"):
        read_calibrations(path)
    with pytest.raises(InputError, match=r"damaged .*; run `judges run` again with --calibration"):
        calibration_from(record)


def test_a_file_of_a_later_format_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(orjson.dumps({"format": 2, "calibrations": [saved(run).to_record()]}))
    with pytest.raises(InputError, match="format"):
        read_calibrations(path)


def test_it_fits_the_judge_and_criterion_it_was_made_of_and_no_other(run: Run) -> None:
    one, own = saved(run), assignment_of(run)
    assert one.fits(own)
    assert one.fits(replace(own, judge="under another name", threshold=0.1))
    assert not one.fits(replace(own, judge_fingerprint="function@2"))
    assert not one.fits(replace(own, criterion=replace(ANSWERED, description="Is it well answered?")))
