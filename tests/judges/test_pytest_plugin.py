"""The plugin is tried as an application would use it: pytest as a process, in a folder of the application's own."""

import shutil
import subprocess
import sys
from pathlib import Path

from support.command import EXAMPLE, environment

HEAVY = ("pydantic", "numpy", "scipy", "orjson", "filelock", "sentencex", "markdown_it", "openai", "anthropic", "typer")


def run_pytest(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on a test module with this code."""
    shutil.copy2(EXAMPLE / "cases.jsonl", folder / "smoke.jsonl")
    (folder / "test_application.py").write_text(
        f"import pytest\nfrom judges import FAITHFULNESS, Abstained, Case, Verdict, load\n\n{code}", encoding="utf-8"
    )
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *options],
        cwd=folder,
        env=environment(COLUMNS="160"),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_an_application_s_test_passes_where_its_answers_reach_the_bound(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
def test_by_objects_and_by_names(judged):
    judged(load("smoke.jsonl"), FAITHFULNESS, judge="overlap").must_reach(0.5)
    judged(load("smoke.jsonl"), "faithfulness", judge="overlap").must_reach(0.4, share="strict")


async def test_within_an_event_loop(judged):
    judged(load("smoke.jsonl"), FAITHFULNESS, judge="overlap").must_reach(0.5)


def test_loop(judged):
    import asyncio

    asyncio.run(test_within_an_event_loop(judged))
""",
        "-k",
        "not within",
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_message_says_what_was_missed_and_lists_the_worst_cases(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
def test_answers_stay_faithful(judged):
    judged(load("smoke.jsonl"), FAITHFULNESS, judge="overlap").must_reach(0.8)
""",
    )
    assert done.returncode == 1
    lines = [line.removeprefix("E").strip() for line in done.stdout.splitlines() if line.startswith("E ")]
    assert lines[0] == "AssertionError: faithfulness by overlap is 0.589 on these 37; it must reach 0.8"
    assert lines[1] == "37 judged, 4 abstained (no_claims), 3 abstained (no_contexts); the lowest:"
    assert [line[:12] for line in lines[2:]] == [
        "0.12  ro-10:",
        "0.19  ro-02:",
        "0.20  fr-04:",
        "0.23  en-02:",
        "0.24  fr-05:",
    ]
    assert "> " in done.stdout  # the line of the test
    assert "pytest_plugin.py" not in done.stdout.replace("judges.pytest_plugin.Judged object", "")


def test_by_the_interval_the_lower_end_must_reach_the_bound(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
def test_for_other_cases_too(judged):
    judged(load("smoke.jsonl"), FAITHFULNESS, judge="overlap").must_reach(0.5, basis="interval")
""",
    )
    assert done.returncode == 1
    assert "faithfulness by overlap is 0.589; it must reach 0.5: [0.4798, 0.6981] lies on both sides" in done.stdout


def test_failures_abstentions_and_no_cases_do_not_pass(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
class Broken:
    name = fingerprint = "broken"

    def supports(self, criterion):
        return True

    async def judge(self, case, criterion, *, replicate=0):
        if case.id == "a":
            return Verdict(1.0)
        if case.id == "c":
            return Abstained("no_answer")
        raise ValueError("it \\x1b[31mbroke")


@pytest.mark.parametrize("ids", ["ab", "c", ""])
def test_not_enough(judged, ids):
    judged([Case(each, answer=each) for each in ids], FAITHFULNESS, judge=Broken()).must_reach(0.5)
""",
    )
    assert "3 failed" in done.stdout
    assert "is 1.000; it must reach 0.5: 50% of the judgements failed or are missing, more than 5%" in done.stdout
    assert "b: ValueError: it \\x1b[31mbroke" in done.stdout
    assert "has no value; it must reach 0.5: faithfulness is undefined (no_data)" in done.stdout
    assert "there is no case to judge" in done.stdout


def test_judges_of_the_application_s_settings_have_their_names(tmp_path: Path) -> None:
    (tmp_path / "judges.toml").write_text('[judges.ours]\nmodel = "overlap"\n', encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = run_pytest(
        tmp_path,
        """
def test_answers_stay_faithful(judged):
    judged(load("smoke.jsonl"), FAITHFULNESS, judge="ours").must_reach(0.5)
""",
    )
    assert done.returncode == 0, done.stdout


def test_pytest_loads_nothing_heavy_for_tests_that_do_not_ask_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        f"""
import sys


def test_nothing_is_loaded():
    assert "judges.pytest_plugin" in sys.modules
    assert not set({HEAVY!r}) & set(sys.modules)
""",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_other.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
