import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, SHARED, judges, on_terminal

LABELS = EXAMPLE / "labels.jsonl"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "faithfulness", "-c", "correctness", "-j", "overlap", "--out", "one",
        folder=folder,
    )  # fmt: skip
    return folder


def audits(*arguments: str | Path, folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(judges("calibrate", *arguments, "--json", folder=folder).stdout)["audits"]
    return found


def test_one_page_begins_with_the_decision_and_shows_what_it_rests_on(home: Path) -> None:
    done = judges(
        "calibrate", "one", "--gold", LABELS, "--label", "gold.faithfulness", "--positive", "pass", folder=home
    )
    places = [
        done.stdout.index(words)
        for words in (
            "UNDECIDED: don't rely on this judge yet",
            "agreement ",
            "Cohen's kappa",
            "people say",
            "fails found (recall)",
            "same for all",
            "expected calibration error",
            "threshold",
            "pass rate",
            "disagree most",
            "abstained: ",
        )
    ]
    assert places == sorted(places)
    assert done.stderr == ""


def test_json_gives_everything_and_both_readings_of_abstentions(home: Path) -> None:
    [audit] = audits("one", "--gold", LABELS, "--label", "gold.faithfulness", folder=home)
    assert [view["abstentions"] for view in audit["views"]] == ["left out", "count as fail"]
    assert audit["views"][1]["kappa"]["n"] == 44
    assert sum(row["abstained"] for row in audit["matrix"].values()) == sum(audit["abstained"].values()) > 0
    assert audit["decision"]["status"] == "UNDECIDED"
    assert [each["name"] for each in audit["baselines"]] == ["same_label", "overlap", "length"]


def test_without_a_label_every_criterion_that_has_some_gets_a_row_and_a_page(home: Path) -> None:
    done = judges("calibrate", "one", "--gold", LABELS, folder=home)
    assert done.stdout.startswith("criterion ")
    assert "faithfulness by overlap, against gold.faithfulness" in done.stdout
    assert "correctness by overlap, against gold.correctness" in done.stdout
    assert [each["criterion"] for each in audits("one", "--gold", LABELS, folder=home)] == [
        "faithfulness",
        "correctness",
    ]


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals on Windows")
@pytest.mark.parametrize(("columns", "leaves_out"), [(80, {"agreement", "fails found"}), (120, set[str]())])
def test_the_row_of_a_judge_is_one_line_on_a_narrow_terminal_too(
    tmp_path: Path, columns: int, leaves_out: set[str]
) -> None:
    asked = ("correctness", "faithfulness", "answer_relevance")
    lines = [
        {
            "id": f"c{number}",
            "answer": "x",
            "gold": dict.fromkeys(asked, ("pass", "fail")[number % 2]),
            "judges": {"gpt-4-turbo": dict.fromkeys(asked, ("pass", "fail")[number % 3 == 0])},
        }
        for number in range(60)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shown = on_terminal("calibrate", "cases.jsonl", "-j", "stored:judges.gpt-4-turbo", folder=tmp_path, columns=columns)
    head, *rows = shown.partition("\r\n\r\n")[0].split("\r\n")
    assert [row.split()[:2] for row in rows] == [[name, "gpt-4-turbo"] for name in asked]
    assert max(map(len, rows)) <= columns
    named = {"criterion", "decision", "agreement", "kappa", "fails found"}
    assert {each for each in named if each not in head} == leaves_out


def test_what_is_required_sets_the_exit_code(home: Path) -> None:
    page = ("calibrate", "one", "--gold", LABELS, "--label", "gold.correctness")
    judges(*page, "--require", "kappa>0", folder=home, code=0)
    judges(*page, "--require", "kappa>=0.9", folder=home, code=1)
    judges(*page, "--require", "kappa>=0.6", folder=home, code=0)
    judges(*page, "--require", "kappa>=0.6", "--strict", folder=home, code=1)


def test_long_form_labels_and_slices(home: Path) -> None:
    rows = ["case_id,criterion,annotator,label"]
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        rows += [f"{record['id']},correctness,{name},{record['gold']['correctness']}" for name in ("anna", "ben")]
    (home / "long.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = judges("calibrate", "one", "--gold", "long.csv", "--by", "lang", "--worst", "0", folder=home)
    assert "2 people (anna, ben), 44 cases" in done.stdout
    assert "less that of the rest" in done.stdout
    assert "disagree most" not in done.stdout


def test_hostile_text_of_labels_and_judges_moves_no_cursor(home: Path) -> None:
    records = [
        {"id": f"\x1b[2J{place}", "answer": "?", "gold": {"x": "a\x1b[1m"}, "judges": {"j\x1b": {"x": "b\x1b[1m"}}}
        for place in range(4)
    ]
    path = home / "hostile.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    done = judges(
        "calibrate", path, "-j", "stored:judges.j\x1b.x", "--scale", "a\x1b[1m,b\x1b[1m", "--by", "gold.x", folder=home
    )
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--label", "gold.faithfulness"), "--gold is missing"),
        (("--gold", "nothing.jsonl", "--label", "gold.faithfulness"), "there is no such file"),
        (("--gold", LABELS, "--label", "gold.tone"), "say which with --criterion: faithfulness, correctness"),
        (("--gold", LABELS, "--label", "gold.tone", "-c", "tone"), "the run has no `tone`"),
        (("--gold", LABELS, "--label", "gold.tone", "-c", "faithfulness"), "no record has `gold.tone`"),
        (("--gold", LABELS, "-c", "tone"), "no record has gold.tone"),
        (("--gold", LABELS, "--label", "gold.faithfulness", "--positive", ">=3"), "not a number"),
        (("--gold", LABELS, "--label", "gold.faithfulness", "--positive", "good"), "found: pass"),
        (("--gold", LABELS, "--label", "note", "-c", "faithfulness"), "which labels are good?"),
        (("--gold", LABELS, "--label", "gold.faithfulness", "-j", "other"), "by `other`"),
        (("--gold", LABELS, "--require", "kappa"), "is no requirement"),
        (("--gold", LABELS, "--require", "kapa>0"), "there is no `kapa` here"),
        (("--gold", LABELS, "--threshold", "35"), "scores of a run go from 0 to 1"),
        (("--gold", LABELS, "--chosen", "well"), "choose one of random"),
        (("--gold", LABELS, "--rule", "best"), "choose kappa, youden"),
        (("--gold", LABELS, "--scale", "a"), "--scale a: write"),
        (("--gold", LABELS, "--positive", "pass", "--positive", "fail"), "says it twice"),
        (("-j", "stored:judges.x.y"), "give the file that holds `judges.x.y` in place of the run"),
    ],
    ids=str,
)
def test_wrong_usage_gets_one_clear_line_and_exit_code_2(
    home: Path, arguments: tuple[str | Path, ...], message: str
) -> None:
    done = judges("calibrate", "one", *arguments, folder=home, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def shared(name: str) -> Path:
    path = SHARED / "data" / name / "items.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


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
    source = shared(name)
    judges("run", source, "-c", criterion, "-j", "overlap", "--out", "one", folder=tmp_path)
    [audit] = audits("one", "--gold", source, *options, "--cluster", "meta.item", folder=tmp_path)
    kappa = audit["views"][0]["kappa"]
    assert low < kappa["value"] < high
    assert 0 < kappa["ci_low"] < kappa["value"] < kappa["ci_high"] < 1
    assert kappa["deff"] > 1
    assert audit["views"][0]["metrics"]["always_pass"]["accuracy"]["value"] < audit["views"][0]["agreement"]["value"]


@pytest.mark.parametrize(
    ("name", "judge", "options", "begins"),
    [
        ("openqa_nq301", "gpt-4", ("--cluster", "meta.item"), "correctness by gpt-4"),
        ("pandalm_pairwise", "gpt-3.5-turbo", (), "preference by gpt-3.5-turbo"),
        ("llmbar_pairwise", "GPT-4/Vanilla.preference", ("--scale", "a,b"), "preference by GPT-4/Vanilla"),
        ("unieval_topicalchat", "unieval-dialog.overall", ("--scale", "1..5"), "overall by unieval-dialog"),
    ],
)
def test_verdicts_stored_by_others_get_their_page_without_a_warning(
    tmp_path: Path, name: str, judge: str, options: tuple[str, ...], begins: str
) -> None:
    done = judges("calibrate", shared(name), "--judge", f"stored:judges.{judge}", *options, folder=tmp_path)
    assert done.stdout.startswith(begins)
    assert "PASS: the judge agrees with people" in done.stdout
    assert done.stderr == ""


def test_a_file_whose_words_are_no_labels_of_people_s_is_refused_with_both(tmp_path: Path) -> None:
    records = [
        {"id": str(place), "answer": "?", "gold": {"x": "good" if place % 2 else "bad"}, "judges": {"j": {"x": "fine"}}}
        for place in range(10)
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    done = judges("calibrate", path, "-j", "stored:judges.j.x", "--positive", "good", folder=tmp_path, code=2)
    assert "the judge says fine (10); people's labels are bad (5), good (5)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_numbers_beyond_any_scale_are_refused_and_break_nothing(tmp_path: Path) -> None:
    records = [
        {"id": str(place), "answer": "?", "gold": {"x": number}, "judges": {"j": {"x": number}}}
        for place, number in enumerate((1e308, -1e308, 3))
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    done = judges("calibrate", path, "-j", "stored:judges.j.x", folder=tmp_path, code=2)
    assert "which labels are good?" in done.stderr


def test_a_run_of_stored_verdicts_is_a_run_like_any_but_nobody_can_be_asked_again(tmp_path: Path) -> None:
    source = shared("pandalm_pairwise")
    judge = "stored:judges.gpt-3.5-turbo.preference"
    judges("run", source, "-c", "preference", "-j", judge, "--out", "one", folder=tmp_path)
    of_run = audits("one", "--gold", source, folder=tmp_path)[0]
    of_file = audits(source, "-j", judge, folder=tmp_path)[0]
    assert of_run["matrix"] == of_file["matrix"]
    assert of_run["views"][0]["kappa"] == of_file["views"][0]["kappa"]
    for command in (
        ("audit", "one", "--probe", "position"),
        ("audit", source, "-c", "preference", "-j", judge, "--probe", "position"),
        ("calibrate", "one", "--anchors", source),
    ):
        assert "nobody can be asked again" in judges(*command, "--yes", folder=tmp_path, code=2).stderr


def test_a_random_judge_and_one_that_always_passes_are_refused_by_the_page(tmp_path: Path) -> None:
    records = [
        {
            "id": str(place),
            "answer": "w " * (place * 7919 % 40),
            "gold": {"x": "pass" if place * 7919 % 101 < 70 else "fail"},
            "judges": {"random": {"x": place * 104729 % 103 < 60}, "always": {"x": True}},
        }
        for place in range(1000)
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    for name in ("random", "always"):
        done = judges("calibrate", path, "-j", f"stored:judges.{name}.x", "--positive", "pass,true", folder=tmp_path)
        assert "don't rely on this judge" in done.stdout
        assert "PASS: the judge" not in done.stdout
        assert "not a label" not in done.stdout
