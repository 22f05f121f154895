"""Each example of the README runs, and prints what the README says it prints."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from judges.config import what_is_asked
from judges.retrieval.labels import labels_of
from judges.settings import read_settings
from support.command import EXAMPLE, ROOT, environment, judges
from support.model_server import RunningServer

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [(match[1], match[2]) for match in re.finditer(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)]
PYTHON = [code for kind, code in BLOCKS if kind == "python"]
MADE = shutil.which("make") is not None and (ROOT / ".venv" / "installed").exists()
CONSOLE = [code for kind, code in BLOCKS if kind == "console"]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    """The environment of someone with keys, whose services are a server of ours, and who has no cache yet."""
    with RunningServer.start(brain="support.judging_brain:judge") as server:
        yield environment(
            OPENAI_API_KEY="sk-a-key",
            OPENAI_BASE_URL=server.openai,
            ANTHROPIC_API_KEY="sk-a-key",
            ANTHROPIC_BASE_URL=server.anthropic,
            JUDGES_CACHE=str(tmp_path_factory.mktemp("cache")),
        )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like a checkout to the examples, where they may write; what `make demo` makes is there."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(EXAMPLE, folder / "judges" / "example")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy2(ROOT / name, folder)
    asked = [option for name in ("faithfulness", "answer_relevance", "correctness") for option in ("-c", name)]
    judges("run", "judges/example/cases.jsonl", "-j", "overlap", *asked, "--out", "runs/demo", folder=folder)
    return folder


def test_there_are_examples_of_every_kind() -> None:
    assert len(PYTHON) >= 3
    assert len(CONSOLE) >= 3
    assert {kind for kind, _ in BLOCKS} <= {"python", "console", "json", "toml", "yaml", "text"}


def test_the_python_examples_run_one_after_the_other(checkout: Path, user: dict[str, str]) -> None:
    code = "\n".join(PYTHON)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=checkout,
        env={**user, "JUDGES_CACHE": str(checkout / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"# -> (.*)$", code, re.MULTILINE)
    assert promised
    assert done.stdout.splitlines() == promised


def test_the_tests_among_the_examples_pass(checkout: Path) -> None:
    tests = [code for code in PYTHON if "def test_" in code]
    assert tests
    (checkout / "test_example.py").write_text("\n".join(tests), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_example.py"],
        cwd=checkout,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("kind", "text"), [block for block in BLOCKS if block[0] in ("toml", "yaml")], ids=lambda text: text[:20]
)
def test_the_files_of_settings_and_rubrics_are_such(tmp_path: Path, kind: str, text: str) -> None:
    file = tmp_path / f"example.{kind}"
    file.write_text(text, encoding="utf-8")
    if re.search(r"^\[(judges|services|prices|gates)\b", text, re.MULTILINE):
        assert read_settings(file).judges
    else:
        assert any(what_is_asked((), [str(file)]))


def test_each_form_of_relevance_is_read() -> None:
    lines = [line for kind, text in BLOCKS if kind == "json" for line in text.splitlines() if "relevant" in line]
    assert [len(labels_of(json.loads(line)["relevant"], "README.md")) for line in lines] == [2, 2, 3, 1, 1]


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block, lines that go on joined, and the output shown below it."""
    found: list[tuple[str, str]] = []
    goes_on = False
    for line in block.splitlines():
        if line.startswith("$ ") or goes_on:
            start = found.pop()[0] if goes_on else ""
            goes_on = line.endswith("\\")
            found.append((start + line.removeprefix("$ ").removesuffix("\\"), ""))
        else:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line}\n")
    return found


def test_the_commands_run_and_print_what_is_shown(checkout: Path, user: dict[str, str]) -> None:
    for command, shown in (pair for block in CONSOLE for pair in commands(block)):
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            if not MADE:
                continue
            (checkout / ".venv").symlink_to(ROOT / ".venv")
            command = " ".join([*words, "--no-print-directory --old-file .venv/installed"])
            quiet = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
            done = subprocess.run(shlex.split(command), cwd=checkout, env=quiet, capture_output=True, check=False)
        elif words[0] == "judges":
            done = subprocess.run(
                [sys.executable, "-m", "judges", *words[1:]],
                cwd=checkout,
                env=user,
                capture_output=True,
                check=False,
            )
        else:
            assert words[0] in ("git", "cd", "pip"), f"the README shows a command that nobody tries: {command}"
            continue
        printed = done.stdout.decode("utf-8")
        assert done.returncode == 0, (command, done.stderr)
        expected = "\n".join(map(str.rstrip, shown.rstrip().splitlines()))
        pattern = re.escape(expected).replace(re.escape("[...]"), ".*")
        assert not expected or re.fullmatch(pattern, printed.rstrip(), re.DOTALL), (command, printed)


def test_every_link_to_a_file_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
