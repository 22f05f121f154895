"""The worked examples of every section of the specification, each task by its one adapter."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import ROOT
from support.examples import FILE, Example, Json, adapters, check_example, load_examples

EXAMPLES = load_examples()
SCRIPT = ROOT / "tests" / "support" / "examples.py"


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{example.task}-{example.id}" for example in EXAMPLES])
def test_a_worked_example_has_its_published_value(example: Example) -> None:
    check_example(example)


def test_no_kind_of_example_is_left_out() -> None:
    assert {example.task for example in EXAMPLES} == adapters().keys()
    assert len(EXAMPLES) == 148


def holds(path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The command, as somebody runs it who has a file of examples."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(path), *more], capture_output=True, encoding="utf-8", check=False
    )


def test_the_command_is_quiet_about_examples_that_hold() -> None:
    done = holds(FILE)
    assert (done.stdout, done.returncode) == ("", 0)
    assert done.stderr == "148 of 148 examples have their values\n"


def nudge(row: Json) -> None:
    row["expected"]["precision"]["value"] += 1e-4


def rename(row: Json) -> None:
    row["expected"]["accuraccy"] = row["expected"].pop("accuracy")


def undefine(row: Json) -> None:
    row["expected"]["recall"] = {"value": None, "reason": "no_positive_gold"}


def expect_a_mistake(row: Json) -> None:
    row["expected"]["wrong_if_swapped"] = 0.75


def ask_something_else(row: Json) -> None:
    row["task"] = "tarot"


def give_what_is_refused(row: Json) -> None:
    row["inputs"]["tp"] = -1


@pytest.mark.parametrize(
    ("breaking", "line"),
    [
        (nudge, "t1-binary-basic.precision.value: expected 0.7501, found 0.75"),
        (rename, "t1-binary-basic.accuraccy: expected {'value': 0.8}, nothing is computed under this name"),
        (undefine, "t1-binary-basic.recall.value: expected None, found 0.9"),
        (expect_a_mistake, "t1-binary-basic.wrong_if_swapped: 0.75 is what a mistake gives, and it came back"),
        (ask_something_else, "t1-binary-basic: nothing here computes `tarot`"),
        (give_what_is_refused, "t1-binary-basic: ValueError: "),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_the_command_names_each_example_that_misses_and_exits_with_1(
    breaking: Callable[[Json], None], line: str, tmp_path: Path
) -> None:
    document = json.loads(FILE.read_text(encoding="utf-8"))
    document["examples"] = document["examples"][:2]
    assert document["examples"][0]["id"] == "t1-binary-basic"
    breaking(document["examples"][0])
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    done = holds(path)
    assert done.returncode == 1
    assert done.stdout.startswith(line)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == "1 of 2 examples have their values\n"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"examples": []}', '{"examples": [{"id": "a"}]}', "\xff"])
def test_what_is_no_file_of_examples_is_said_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "nothing.json"
    path.write_text(text, encoding="latin-1")
    done = holds(path)
    assert (done.stdout, done.returncode) == ("", 2)
    assert len(done.stderr.splitlines()) == 1
