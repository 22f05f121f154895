"""Every command and option explains itself, and the README names every command."""

import re
from pathlib import Path

import pytest

from support.command import ROOT, judges

COMMANDS = (
    "run",
    "plan",
    "show",
    "export",
    "retrieval",
    "gate",
    "experiment",
    "diagnose",
    "audit",
    "calibrate",
    "compare",
    "plan-labels",
    "threshold",
    "cache",
)


def test_the_help_lists_exactly_these_commands(tmp_path: Path) -> None:
    listed = judges("--help", folder=tmp_path).stdout.partition("Commands:")[2]
    assert re.findall(r"^  (\w[\w-]*)", listed, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_its_help_and_the_readme_names_the_command(tmp_path: Path, command: str) -> None:
    shown = judges(command, "--help", folder=tmp_path, changes={"COLUMNS": "200"}).stdout
    lines = [*shown.splitlines(), ""]
    options = [place for place, line in enumerate(lines) if re.match(r"^\s+(-\w, )?--", line)]
    assert options
    for place in options:  # behind the option, or below it where that is long
        below = re.match(r"^\s{12,}\S", lines[place + 1])
        assert re.search(r"\S\s{2,}\S", lines[place].strip()) or below, f"no help: {lines[place]}"
    assert f"judges {command}" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["gate", "retrieval", "diagnose", "experiment", "calibrate", "compare"])
def test_a_remedy_names_an_option_of_its_own_command_or_the_other_command(tmp_path: Path, command: str) -> None:
    shown = judges(command, "--help", folder=tmp_path, changes={"COLUMNS": "200"}).stdout
    there = set(re.findall(r"--[a-z][a-z-]+", shown))
    name = f"cli/{command}.py"
    path = next(ROOT / package / name for package in ("judges", "calibration") if (ROOT / package / name).exists())
    source = path.read_text(encoding="utf-8")
    named = [(line, option) for line in source.splitlines() for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)]
    strange = [line for line, option in named if option not in there and not re.search(r"judges \w+ ", line)]
    assert named
    assert [line for line in strange if "cluster = " not in line] == []  # what `judges compare` is told


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_option_gets_one_line_that_says_where_the_options_are(tmp_path: Path, command: str) -> None:
    done = judges(command, "--xyzzy", folder=tmp_path, code=2)
    assert done.stdout == ""
    assert done.stderr == f"judges: no such option: --xyzzy (see judges {command} --help)\n"


def test_a_wrong_command_gets_one_line_and_none_at_all_the_help(tmp_path: Path) -> None:
    assert judges("runn", folder=tmp_path, code=2).stderr == (
        "judges: no such command 'runn'. Did you mean 'run'? (see judges --help)\n"
    )
    nothing = judges(folder=tmp_path, code=2)
    assert (nothing.stdout, nothing.stderr) == ("", judges("--help", folder=tmp_path).stdout)


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert re.fullmatch(r"judges \d+\.\d+.*\n", judges("--version", folder=tmp_path).stdout)


def test_no_file_of_the_project_holds_a_path_of_one_machine_or_somebody_s_key() -> None:
    private = re.compile(r"/(?:home|Users|root|work)/\w|sk-[A-Za-z0-9]{16}|C:\\\\Users")
    for folder in ("judges", "calibration", "tests", "benchmarks", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if (
                path.is_file()
                and path.suffix in {".py", ".md", ".toml", ".jsonl", ".txt", ""}
                and path != Path(__file__)
            ):
                found = private.search(path.read_text(encoding="utf-8"))
                assert found is None, f"{path}: {found}"
