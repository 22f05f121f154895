import csv
import io
import json
from pathlib import Path

import pytest

from support.command import EXAMPLE, judges


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "faithfulness", "-c", "answer_relevance", "-c", "correctness",
        "-j", "overlap", "--out", "one", folder=folder,
    )  # fmt: skip
    return folder


def test_slices_come_from_any_field_of_the_case(home: Path) -> None:
    shown = json.loads(judges("show", "one", "--by", "meta.fault", "--json", folder=home).stdout)
    asked = {row["slice"]: row["asked"] for row in shown["rows"] if row["criterion"] == "correctness"}
    assert asked["none"] == 18
    assert sum(asked.values()) == 44
    assert [row["slice"] for row in shown["rows"][:4]] == sorted(row["slice"] for row in shown["rows"][:4])


def test_a_field_that_no_case_has_is_said_so(home: Path) -> None:
    done = judges("show", "one", "--by", "meta.nothing", folder=home)
    assert "no case has the field `meta.nothing`" in done.stderr
    assert "(none)" in done.stdout


def test_one_case_is_followed_from_claims_to_evidence(home: Path) -> None:
    shown = judges("show", "one", "--case", "en-01", folder=home).stdout
    assert "How often does a backup run" in shown
    assert "faithfulness by overlap" in shown
    assert "in contexts 1 (en-backup-1): “" in shown
    record = json.loads(judges("show", "one", "--case", "en-01", "--json", folder=home).stdout)
    assert [judgement["criterion"] for judgement in record["judgements"]] == [
        "faithfulness",
        "answer_relevance",
        "correctness",
    ]
    claim = record["judgements"][0]["verdict"]["claims"][0]
    evidence = claim["evidence"]
    passage = record["case"]["contexts"][evidence["index"]]["text"]
    assert 0 <= evidence["start"] < evidence["end"] <= len(passage)


def test_a_case_that_is_not_there_is_answered_with_near_names(home: Path) -> None:
    assert "near it: en-01" in judges("show", "one", "--case", "en-001", folder=home, code=2).stderr


def test_the_worst_come_first(home: Path) -> None:
    worst = json.loads(judges("show", "one", "--worst", "7", "--json", folder=home).stdout)
    scores = [judgement["score"] for judgement in worst]
    assert len(scores) == 7
    assert scores == sorted(scores)
    assert len(judges("show", "one", "--worst", "7", "-c", "faithfulness", folder=home).stdout.splitlines()) >= 8


def test_a_threshold_applies_on_reading(home: Path) -> None:
    strict = [
        json.loads(judges("show", "one", "--threshold", cut, "--json", folder=home).stdout)["rows"][0]["strict"][
            "value"
        ]
        for cut in ("0.0", "0.5", "1.0")
    ]
    assert strict == sorted(strict, reverse=True)
    assert strict[0] == 1.0


def test_every_judgement_is_exported_in_order_of_input(home: Path) -> None:
    records = [json.loads(line) for line in judges("export", "one", folder=home).stdout.splitlines()]
    with (EXAMPLE / "cases.jsonl").open(encoding="utf-8") as file:
        ids = [json.loads(line)["id"] for line in file]
    assert [record["case"] for record in records] == [case_id for case_id in ids for _ in range(3)]
    rows = list(csv.DictReader(io.StringIO(judges("export", "one", "--format", "csv", folder=home).stdout)))
    assert [row["case"] for row in rows] == [record["case"] for record in records]
    assert {row["outcome"] for row in rows} == {"verdict", "abstained"}


def test_cases_are_counted_as_cases_however_often_they_were_asked_or_judged(tmp_path: Path) -> None:
    said: list[str] = []
    for name, answers, replicates in (("once", "aa bb", 3), ("even", "aaa bbb", 1), ("odd", "aa b", 2)):
        lines = [
            {"id": f"{group[0]}{again}", "answer": "Yes.", "references": ["Yes."], "repeat_of": group[0]}
            for group in answers.split()
            for again in range(1 if name == "once" else len(group))
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
        asked = ("-c", "correctness", "-j", "overlap", "--replicates", str(replicates), "--out", name)
        ran = judges("run", f"{name}.jsonl", *asked, folder=tmp_path).stdout
        shown = judges("show", name, folder=tmp_path).stdout
        assert ran == shown
        said.append(next(line for line in shown.splitlines() if "case" in line))
        record = json.loads(judges("show", name, "--json", folder=tmp_path).stdout)
        assert (record["cases"], record["answers"], record["replicates"]) == (2, len(lines), replicates)
    assert said == [
        "2 cases from once.jsonl, each judged 3 times; the judgements of one are one case to every interval",
        "2 cases from even.jsonl, each asked 3 times; the answers to one are one case to every interval",
        (
            "2 cases from odd.jsonl, asked several times: 3 answers, each answer judged 2 times; "
            "the answers to one are one case to every interval"
        ),
    ]


@pytest.mark.parametrize("view", [(), ("--by", "id")])
def test_claims_are_spoken_of_only_where_a_judge_took_answers_apart(tmp_path: Path, view: tuple[str, ...]) -> None:
    lines = [{"id": name, "question": "?", "answer": "Yes.", "references": ["Yes."], "said": "yes"} for name in "ab"]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    judges("run", "cases.jsonl", "-c", "tone", "-j", "stored:said", "--out", "whole", folder=tmp_path)
    judges("run", "cases.jsonl", "-c", "correctness", "-j", "overlap", "--out", "apart", folder=tmp_path)
    whole = judges("show", "whole", *view, folder=tmp_path).stdout
    assert "passes" in whole
    assert "claim" not in whole
    assert "every claim passes" in judges("show", "apart", *view, folder=tmp_path).stdout


def test_only_one_view_at_a_time(home: Path) -> None:
    done = judges("show", "one", "--case", "en-01", "--by", "lang", folder=home, code=2)
    assert "give one of them" in done.stderr


def test_a_criterion_that_was_not_asked_is_refused(home: Path) -> None:
    assert "it has: faithfulness" in judges("show", "one", "-c", "tone", folder=home, code=2).stderr


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    assert "not a run" in judges("show", tmp_path, folder=tmp_path, code=2).stderr


def test_hostile_text_can_not_reach_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 \u202etxet \x9b31m \u2066 [red]markup[/red] :smile:"
    case = {
        "id": f"id{hostile}",
        "answer": f"An answer {hostile}.",
        "contexts": [f"A passage {hostile}."],
        "meta": hostile,
    }
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n", encoding="utf-8")
    ran = judges("run", "cases.jsonl", "-c", "faithfulness", "-j", "overlap", "--out", "one", folder=tmp_path)
    shown = [
        ran,
        judges("show", "one", "--case", f"id{hostile}", folder=tmp_path),
        judges("show", "one", "--worst", "1", folder=tmp_path),
        judges("show", "one", "--by", "meta", folder=tmp_path),
        judges("show", "one", "--case", hostile, folder=tmp_path, code=2),
        judges("export", "one", folder=tmp_path),
        judges("show", "one", "--worst", "1", "--json", folder=tmp_path),
    ]
    for done in shown:
        for text in (done.stdout, done.stderr):
            assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"} & set(text)
    assert "[red]markup[/red] :smile:" in shown[1].stdout


def test_the_reader_of_our_output_may_leave_early(home: Path) -> None:
    import subprocess
    import sys

    from support.command import environment

    with subprocess.Popen(
        [sys.executable, "-m", "judges", "export", "one"],
        cwd=home,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0
