import csv
import json
import os
import signal
import time
from pathlib import Path

import pytest

from support.command import EXAMPLE, judges, start

SEARCH = """
import os, time

PAGES = {"a": "The office opens at nine.", "b": "The office closes at five.", "c": "There is no parking."}

def search(question, *, k, order="abc"):
    if "fail" in question and not os.environ.get("MENDED"):
        raise RuntimeError("no luck \\x1b[31m\\n" + question)
    with open("asked.txt", "a", encoding="utf-8") as file:
        file.write(question + "\\n")
    time.sleep(float(os.environ.get("SLOW", "0")))
    found = [{"id": name, "text": PAGES[name]} for name in order][:k]
    return {"contexts": found, "answer": found[0]["text"], "cost": 0.001}

async def given(case, *, k, passages):
    return passages, " ".join(each.text for each in passages) or "I don't know."
"""

PLAN = """
dataset = "cases.jsonl"
passages = "pages.jsonl"
ks = [1, 2, 3]
criteria = ["faithfulness", "correctness"]

[variants.near]
pipeline = "search_pages:search"
arguments = { k = 2 }
versions = { prompt = "v1" }

[variants.far]
pipeline = "search_pages:search"
arguments = { k = 3, order = "bca" }
versions = { prompt = "v1" }

[variants.given]
pipeline = "search_pages:given"
gold_passages = true
arguments = { k = 3 }

[variants.stored]
outputs = "stored.jsonl"
versions = { k = 1, prompt = "v0" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plan in a folder of its own, seen from the folder above."""
    home = tmp_path / "plans"
    home.mkdir()
    (home / "search_pages.py").write_text(SEARCH, encoding="utf-8")
    (home / "plan.toml").write_text(PLAN, encoding="utf-8")
    cases = [
        {
            "id": f"q{number}",
            "question": f"When does it open, {number}?",
            "reference": "At nine.",
            "relevant": ["a"] if number else [],
        }
        for number in range(8)
    ]
    (home / "cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cases), encoding="utf-8")
    pages = [{"id": "a", "text": "The office opens at nine."}]
    (home / "pages.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pages), encoding="utf-8")
    stored = [{"id": f"q{number}", "answer": "At ten.", "contexts": [{"id": "b", "text": "x"}]} for number in range(7)]
    (home / "stored.jsonl").write_text("".join(json.dumps(each) + "\n" for each in stored), encoding="utf-8")
    return tmp_path


def row(shown: str, name: str) -> list[str]:
    """The cells of a line of the table, without intervals."""
    line = next(line for line in shown.splitlines() if line.startswith(f"{name} "))
    return [cell.split("[")[0].strip() for cell in line.removeprefix(name).split("  ") if cell.strip()]


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "runs" / "plan" / "experiments.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_variants_stand_side_by_side_and_each_is_a_run(folder: Path) -> None:
    done = judges("experiment", "plans/plan.toml", "--max-failures", "0.2", folder=folder)
    shown = done.stdout
    assert row(shown, "recall@1") == ["1.00", "0.00", "–", "0.00"]
    assert row(shown, "recall@3") == ["1.00", "1.00", "–", "0.00"]
    assert row(shown, "RR") == ["1.00", "0.33", "–", "0.00"]
    assert row(shown, "failed calls") == ["0 of 8", "0 of 8", "0 of 8", "1 of 8"]
    assert row(shown, "answered, unanswerable") == ["1 of 1", "1 of 1", "0 of 1", "1 of 1"]
    assert row(shown, "cost") == ["$0.008", "$0.008", "–", "–"]
    assert "given: the right passages were given, so there is no retrieval to measure" in shown
    assert "near: retrieved 2 passages at most, so a larger k finds no more" in shown
    assert "stored: `q7` has no answer: nothing is stored for it" in shown
    assert "  near  ██   1.00 to 1.00\n  far   ▁▁█  0.00 to 1.00\n" in shown
    assert "which differences are real:\n  judges compare runs/plan/near runs/plan/far\n" in shown
    compared = judges("compare", "runs/plan/near", "runs/plan/far", folder=folder).stdout
    assert "two systems, one judge (overlap): other answers to the same 8 cases" in compared
    assert "8 cases from cases.jsonl, answered by near" in judges("show", "runs/plan/near", folder=folder).stdout
    gated = judges("gate", "runs/plan/near", "--on-set", "--require", "recall@2>=1", folder=folder).stdout
    assert "PASS" in gated


def test_two_things_changed_at_once_are_warned_of(folder: Path) -> None:
    shown = judges("experiment", "plans/plan.toml", "--only", "near", "--only", "far", folder=folder).stdout
    assert "careful: 2 things changed at once from near to far (k, order)" in shown
    plan = folder / "plans" / "plan.toml"
    plan.write_text(PLAN.replace('k = 3, order = "bca"', "k = 3"), encoding="utf-8")
    shown = judges("experiment", "plans/plan.toml", "--only", "near", "--only", "far", folder=folder).stdout
    assert "careful" not in shown
    plan.write_text(PLAN.replace('k = 2 }\nversions = { prompt = "v1"', 'k = 1 }\nversions = { prompt = "v2"'))
    shown = judges("experiment", "plans/plan.toml", "--only", "near", folder=folder).stdout
    assert "careful: 2 things changed at once from the last row of near to near (k, prompt)" in shown


def test_the_history_gets_a_row_a_variant_and_none_for_the_same_again(folder: Path) -> None:
    arguments = ("experiment", "plans/plan.toml", "--only", "near", "--only", "far")
    judges(*arguments, folder=folder)
    first = rows_of(folder)
    assert [(each["variant"], each["recall@1"], each["failed"]) for each in first] == [
        ("near", "1", "0"),
        ("far", "0", "0"),
    ]
    assert json.loads(first[1]["settings"]) == {"k": 3, "order": "bca", "prompt": "v1"}
    shown = judges(*arguments, folder=folder).stdout
    assert "near: 8 of 8 calls were answered before; --anew calls the pipeline again" in shown
    assert rows_of(folder) == first
    judges(*arguments, "--limit", "4", folder=folder)
    assert rows_of(folder)[:2] == first
    assert [each["cases"] for each in rows_of(folder)] == ["8", "8", "4", "4"]
    plan = folder / "plans" / "plan.toml"
    plan.write_text(PLAN.replace("[1, 2, 3]", "[1, 2]"), encoding="utf-8")
    refused = judges(*arguments, folder=folder, code=2)
    assert "has other columns than this plan: it has recall@3, P@3, nDCG@3; its rows are never rewritten" in (
        refused.stderr
    )


def test_anew_calls_the_pipeline_again_and_a_changed_function_is_called_again_by_itself(folder: Path) -> None:
    arguments = ("experiment", "plans/plan.toml", "--only", "near")
    asked = folder / "asked.txt"
    for further, calls in ((), 8), ((), 8), (("--anew",), 16), ((), 16):
        judges(*arguments, *further, folder=folder)
        assert asked.read_text(encoding="utf-8").count("\n") == calls
    module = folder / "plans" / "search_pages.py"
    module.write_text(SEARCH.replace("opens at nine", "opens at ten"), encoding="utf-8")
    judges(*arguments, folder=folder)
    assert asked.read_text(encoding="utf-8").count("\n") == 24


def test_failing_calls_are_listed_end_with_3_and_are_made_again(folder: Path) -> None:
    cases = folder / "plans" / "cases.jsonl"
    cases.write_text(cases.read_text(encoding="utf-8").replace("open, 3", "fail, 3"), encoding="utf-8")
    arguments = ("experiment", "plans/plan.toml", "--only", "near")
    done = judges(*arguments, folder=folder, code=3)
    assert "near: `q3` has no answer: RuntimeError: no luck \\x1b[31m When does it fail, 3?" in done.stdout
    assert "judges: near: 1 of 8 calls failed; run the same command to try them again" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    shown = judges("show", "runs/plan/near", folder=folder).stdout
    assert "7 cases from cases.jsonl, answered by near" in shown
    done = judges(*arguments, folder=folder, changes={"MENDED": "1"})
    assert "7 of 8 calls were answered before" in done.stdout
    assert "failed calls" not in done.stdout


def test_json_is_one_document_with_every_figure(folder: Path) -> None:
    done = judges("experiment", "plans/plan.toml", "--json", "--repeats", "2", "--only", "far", folder=folder)
    found = json.loads(done.stdout)
    [variant] = found["variants"]
    assert (found["cases"], found["repeats"], variant["calls"], found["rows_added"]) == (8, 2, 16, 1)
    recall = variant["figures"]["recall@2"]
    assert (recall["value"], recall["n"], recall["n_clusters"], recall["n_dropped"]) == (0.0, 14, 7, 1)
    assert variant["figures"]["cost"]["value"] == pytest.approx(0.016)
    assert variant["recall_by_k"] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("search_pages:search", "nowhere:search", "pipeline `nowhere:search`: can't be imported (ModuleNotFoundError"),
        ("search_pages:search", "search_pages:PAGES", "pipeline `search_pages:PAGES`: that is a dict, not a function"),
        ("k = 2 }", "depth = 2 }", "can't be called (missing a required argument: 'k')"),
        ('outputs = "stored.jsonl"', 'outputs = "none.jsonl"', "none.jsonl: there is no such file"),
        ('"faithfulness"', '"faith"', "no criterion is called `faith`"),
        ('passages = "pages.jsonl"', "", "isn't known; name a file of id and text with `passages`"),
        ("cases.jsonl", "none.jsonl", "none.jsonl: there is no such file"),
    ],
)
def test_what_a_plan_asks_for_in_vain_is_told_in_one_line(folder: Path, old: str, new: str, complaint: str) -> None:
    plan = folder / "plans" / "plan.toml"
    plan.write_text(PLAN.replace(old, new), encoding="utf-8")
    done = judges("experiment", "plans/plan.toml", folder=folder, code=2)
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_remedies_of_a_plan_are_those_it_has(folder: Path) -> None:
    cases = folder / "plans" / "cases.jsonl"
    plan = folder / "plans" / "plan.toml"
    lines = cases.read_text(encoding="utf-8")
    cases.write_text(lines.replace('"id"', '"nr"'), encoding="utf-8")
    done = judges("experiment", "plans/plan.toml", folder=folder, code=2)
    assert "`id` is missing; map another field with `map` of the plan: id=FIELD" in done.stderr
    assert "--" not in done.stderr
    plan.write_text(PLAN.replace("ks =", 'map = { id = "nr" }\nks ='), encoding="utf-8")
    judges("experiment", "plans/plan.toml", "--only", "near", folder=folder)
    cases.write_text(f"{lines[:20]}\n", encoding="utf-8")
    done = judges("experiment", "plans/plan.toml", folder=folder, code=2)
    assert done.stderr.endswith("; correct it\n")  # a plan can't leave records out


def test_verdicts_stored_with_outputs_are_about_one_criterion_or_refused_before_anything_is_kept(folder: Path) -> None:
    plan = folder / "plans" / "plan.toml"
    kept = folder / "plans" / "stored.jsonl"
    said = kept.read_text(encoding="utf-8").replace('"answer"', '"said": "yes", "answer"')
    kept.write_text(said, encoding="utf-8")
    text = PLAN.replace("ks =", 'judges = ["stored:said"]\nks =')
    plan.write_text(text, encoding="utf-8")
    asked = ("experiment", "plans/plan.toml", "--only", "stored", "--max-failures", "0.2")
    done = judges(*asked, folder=folder, code=2)
    assert "`said` holds one verdict, and 2 criteria are asked (faithfulness, ...)" in done.stderr
    assert not (folder / "runs").exists()
    plan.write_text(text.replace('"faithfulness", ', ""), encoding="utf-8")
    assert row(judges(*asked, folder=folder).stdout, "correctness") == ["1.00"]


def test_an_experiment_can_do_without_the_cache(folder: Path) -> None:
    done = judges("experiment", "plans/plan.toml", "--no-cache", "--refresh", folder=folder, code=2)
    assert "--no-cache, --refresh and --offline exclude each other" in done.stderr
    done = judges("experiment", "plans/plan.toml", "--no-cache", "--cache", "here", folder=folder, code=2)
    assert "--no-cache and --cache exclude each other" in done.stderr
    judges("experiment", "plans/plan.toml", "--no-cache", "--only", "near", folder=folder)


@pytest.mark.parametrize("option", [("--refresh",), ("--cache", "here")])
def test_an_option_that_reaches_no_judge_is_refused_before_anything_is_asked(
    folder: Path, option: tuple[str, ...]
) -> None:
    done = judges("experiment", "plans/plan.toml", *option, folder=folder, code=2)
    assert f"{option[0]} has no effect on `overlap`" in done.stderr
    assert not (folder / "asked.txt").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals are another thing there")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_it_goes_on_where_it_was(folder: Path, how: signal.Signals) -> None:
    arguments = ("experiment", "plans/plan.toml", "--only", "near")
    process = start(*arguments, folder=folder, changes={"SLOW": "0.1"})
    outputs = folder / "runs" / "plan" / "near.outputs.jsonl"
    deadline = time.monotonic() + 60
    while not (outputs.exists() and outputs.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(how)
    said = process.communicate(timeout=60)[1].decode()
    if how is signal.SIGINT:
        assert process.returncode == 130, said
        assert "interrupted; what was said and judged is kept in runs/plan: run the same command again" in said
    kept = outputs.read_bytes().count(b"\n")
    judges(*arguments, folder=folder)
    assert outputs.read_bytes().count(b"\n") == 8
    asked = (folder / "asked.txt").read_text(encoding="utf-8").count("\n")
    assert asked <= 8 + 1, "at most the call that was under way is made again"
    assert kept >= 3


def test_the_example_compares_three_ways_to_search_and_the_answers_apart(tmp_path: Path) -> None:
    shown = judges("experiment", EXAMPLE / "rag" / "plan.toml", "--out", "rag", folder=tmp_path).stdout
    recall = [float(cell) for cell in row(shown, "recall@3")[:3]]
    assert recall[0] < recall[1] < recall[2]
    assert row(shown, "recall@3")[3] == "–"
    assert row(shown, "answered, unanswerable")[3] == "0 of 8"
    assert "careful" not in shown
    diagnosed = judges("diagnose", "rag/reranked", folder=tmp_path).stdout
    assert "retriever" in diagnosed
    assert "generator" in diagnosed
