import json
from pathlib import Path

import pytest

from support.command import EXAMPLE, SHARED, judges


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "faithfulness", "-c", "correctness", "-j", "overlap", "--out", "one",
        folder=folder,
    )  # fmt: skip
    return folder


def test_a_plan_says_how_many_labels_and_what_the_run_is_too_small_for(home: Path) -> None:
    done = judges(
        "plan-labels", "one", "-c", "correctness", "--kappa-halfwidth", "0.1", "--pass-rate-halfwidth", "0.15",
        folder=home,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0] == "correctness by overlap: 44 cases to choose from"
    assert any(line.startswith("kappa ") and "± 0.1 " in line for line in lines)
    assert any(line.startswith("pass rate, with the judge's help") for line in lines)
    assert "the run has too few cases for kappa ± 0.1" in done.stdout
    assert done.stderr == ""


def test_a_sample_is_written_labelled_and_held_against_the_judge(home: Path) -> None:
    done = judges(
        "plan-labels", "one", "-c", "correctness", "--n", "30", "--seed", "5", "--out", "sample.jsonl", folder=home
    )
    assert "judges calibrate one --gold sample.jsonl --label gold.correctness" in done.stdout
    assert " ".join(done.stdout.split()).count("of 30 labels about") == 1
    labels = {
        record["id"]: record["gold"]["correctness"]
        for record in map(json.loads, (EXAMPLE / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    }
    records = [json.loads(line) for line in (home / "sample.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(records) == 30
    for record in records:
        assert "contexts" not in record  # correctness is judged against the reference
        record["gold"]["correctness"] = labels[record["id"]]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (home / "sample.jsonl").write_text(text, encoding="utf-8")
    shown = judges(
        "calibrate", "one", "--gold", "sample.jsonl", "--label", "gold.correctness", "--positive", "correct",
        "--json", folder=home,
    )  # fmt: skip
    assert json.loads(shown.stdout)
    refused = judges(
        "plan-labels", "one", "-c", "correctness", "--n", "30", "--out", "sample.jsonl", folder=home, code=2
    )
    assert "is there already, perhaps with labels in it" in refused.stderr


def test_json_gives_the_plan_and_the_design(home: Path) -> None:
    options = ("-c", "correctness", "--how", "by-verdict", "--pass-rate-halfwidth", "0.2", "--out", "j.jsonl")
    document = json.loads(judges("plan-labels", "one", *options, "--json", folder=home).stdout)
    [need] = document["needs"]
    assert need["goal"] == "pass_rate_with_judge"
    assert document["design"] == json.loads((home / "j.design.json").read_text(encoding="utf-8"))
    assert [stratum["name"] for stratum in document["design"]["strata"]] == ["pass", "fail"]
    assert len(document["design"]["cases"]) == need["n"]


def test_cases_picked_by_hand_are_named_as_such(home: Path) -> None:
    done = judges("plan-labels", "one", "-c", "correctness", "--case", "en-01", "--out", "hand.jsonl", folder=home)
    assert "1 case, chosen by hand" in done.stdout
    assert "nothing about the run's pass rate" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--n", "5"), "labels are about one criterion; choose with --criterion"),
        (("-c", "tone", "--n", "5"), "the run has no `tone`"),
        (("-c", "correctness"), "how many? give --kappa-halfwidth"),
        (("-c", "correctness", "--n", "5", "--kappa-halfwidth", "0.1"), "--n says how many"),
        (("-c", "correctness", "--case", "en-01", "--n", "5"), "--case picks by hand"),
        (("-c", "correctness", "--case", "nobody"), "the run has no such case"),
        (("-c", "correctness", "--how", "unsure", "--kappa-halfwidth", "0.1"), "can't be foreseen"),
        (("-c", "correctness", "--how", "by-verdict", "--kappa-halfwidth", "0.1"), "kappa is no value of the stream"),
        (("-c", "correctness", "--how", "by-verdict", "--pass-rate-halfwidth", "0.01"), "too few cases"),
        (("-c", "correctness", "--kappa-halfwidth", "0.6"), "a number between 0 and 0.5"),
        (("-c", "correctness", "--kappa-halfwidth", "0.1", "--kappa", "1"), "--kappa 1.0"),
        (("-c", "correctness", "--n", "45"), "there are only 44 cases"),
        (("-c", "correctness", "--n", "5", "--threshold", "0"), "the judge passes every case"),
        (("-c", "correctness", "--n", "5", "--out", "no/s.jsonl"), "choose another file with --out"),
    ],
    ids=str,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(home: Path, arguments: tuple[str, ...], message: str) -> None:
    done = judges("plan-labels", "one", *arguments, folder=home, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_groups_of_people_s_data_raise_the_number_of_labels(tmp_path: Path) -> None:
    source = SHARED / "data" / "mtrag_human_eval" / "items.jsonl"
    if not source.exists():
        pytest.skip(f"{source} is not here")
    judges("run", source, "-c", "faithfulness", "-j", "overlap", "--out", "one", folder=tmp_path)
    plans = [
        json.loads(
            judges("plan-labels", "one", "--pass-rate-halfwidth", "0.05", *options, "--json", folder=tmp_path).stdout
        )
        for options in ((), ("--cluster", "meta.item"))
    ]
    apart, together = (plan["needs"][0]["n"] for plan in plans)
    assert apart < together < 447
    assert 1.3 < plans[1]["expected"]["deff"] < 2.0
