import json
from pathlib import Path

import pytest

from support.command import EXAMPLE, SHARED, judges

LABELS = EXAMPLE / "labels.jsonl"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "faithfulness", "-c", "correctness", "-j", "overlap", "--out", "one",
        folder=folder,
    )  # fmt: skip
    return folder


def test_one_page_shows_matrix_agreement_kappa_and_the_baseline(home: Path) -> None:
    done = judges(
        "calibrate", "one", "--gold", LABELS, "--label", "gold.faithfulness", "--positive", "pass", folder=home
    )
    for words in ("people say", "abstained", "agreement", "Cohen's kappa", "fails found (recall)", "always pass"):
        assert words in done.stdout
    assert done.stderr == ""


def test_json_gives_both_readings_of_abstentions(home: Path) -> None:
    done = judges("calibrate", "one", "--gold", LABELS, "--label", "gold.faithfulness", "--json", folder=home)
    [audit] = json.loads(done.stdout)["audits"]
    assert [view["abstentions"] for view in audit["views"]] == ["left out", "count as fail"]
    assert audit["views"][1]["kappa"]["n"] == 44
    assert sum(row["abstained"] for row in audit["matrix"].values()) == sum(audit["abstained"].values()) > 0


def test_the_criterion_is_that_of_the_labels_name(home: Path) -> None:
    done = judges("calibrate", "one", "--gold", LABELS, "--label", "gold.correctness", folder=home)
    assert done.stdout.startswith("correctness by overlap, against gold.correctness")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gold", "nothing.jsonl", "--label", "gold.faithfulness"), "there is no such file"),
        (("--gold", LABELS, "--label", "gold.tone"), "say which with --criterion: faithfulness, correctness"),
        (("--gold", LABELS, "--label", "gold.tone", "-c", "tone"), "the run has no `tone`"),
        (("--gold", LABELS, "--label", "gold.tone", "-c", "faithfulness"), "no record has `gold.tone`"),
        (("--gold", LABELS, "--label", "gold.faithfulness", "--positive", ">=3"), "not a number"),
        (("--gold", LABELS, "--label", "gold.faithfulness", "--positive", "good"), "found: pass"),
        (("--gold", LABELS, "--label", "note", "-c", "faithfulness"), "which labels are good?"),
        (("--gold", LABELS, "--label", "gold.faithfulness", "-j", "other"), "by `other`"),
    ],
    ids=str,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(
    home: Path, arguments: tuple[str | Path, ...], message: str
) -> None:
    done = judges("calibrate", "one", *arguments, folder=home, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "criterion", "options", "low", "high"),
    [
        ("openqa_nq301", "correctness", ("--label", "gold.correctness", "--positive", "correct"), 0.55, 0.70),
        ("mtrag_human_eval", "faithfulness", ("--label", "gold.faithfulness", "--positive", ">=3"), 0.45, 0.75),
    ],
)
def test_the_overlap_judge_on_people_s_labels(
    tmp_path: Path, name: str, criterion: str, options: tuple[str, ...], low: float, high: float
) -> None:
    source = SHARED / "data" / name / "items.jsonl"
    if not source.exists():
        pytest.skip(f"{source} is not here")
    judges("run", source, "-c", criterion, "-j", "overlap", "--out", "one", folder=tmp_path)
    done = judges("calibrate", "one", "--gold", source, *options, "--cluster", "meta.item", "--json", folder=tmp_path)
    [audit] = json.loads(done.stdout)["audits"]
    kappa = audit["views"][0]["kappa"]
    assert low < kappa["value"] < high
    assert 0 < kappa["ci_low"] < kappa["value"] < kappa["ci_high"] < 1
    assert kappa["deff"] > 1
    assert audit["views"][0]["metrics"]["always_pass"]["accuracy"]["value"] < audit["views"][0]["agreement"]["value"]
