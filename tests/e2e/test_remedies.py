"""What a message tells the user to do can be done with the command at hand."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from support.command import EXAMPLE, judges
from support.model_server import RunningServer

CASES = EXAMPLE / "cases.jsonl"
MODEL = ("-c", "correctness", "-j", "openai:gpt-4.1-mini")
FILES = {
    "nameless.jsonl": '{"answer": "x"}\n',
    "both.jsonl": '{"id": "a", "answer": "x", "answers": {"a": "y", "b": "z"}}\n',
    "twice.jsonl": '{"id": "a", "answerable": true, "retrieved": []}\n' * 2,
    "list.jsonl": '{"id": "a", "answer": ["x"]}\n',
    "document.jsonl": '[\n{"id": "a"}\n]\n',
    "lines.json": '{"id": "a"}\n{"id": "b"}\n',
    "tabs.csv": "id\tanswer\na\tx\n",
    "table.xlsx": "x",
    "copies.jsonl": '{"id": "a", "answer": "y", "reference": "x", "relevant": ["d"], "retrieved": ["d", "d"]}\n',
    "spans.jsonl": '{"id": "a", "answer": "x", "reference": "x", "relevant": [{"doc": "d", "start": 0, "end": 2}], '
    '"retrieved": ["d"]}\n',
    "words.jsonl": "".join(
        json.dumps({"id": name, "answer": "x", "reference": "x", "gold": gold}) + "\n"
        for name, gold in (("a", "so"), ("b", "what"))
    ),
    "outputs.jsonl": '{"id": "a", "answer": "x"}\n{"id": "b", "answer": "x"}\n',
    "rubric.toml": 'include = ["correctness", "faithfulness"]\n',
}
NO_CASES = ["nameless", "both", "twice", "list", "document"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of many flaws, and a run."""
    folder = tmp_path_factory.mktemp("home")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("nameless.jsonl", "table.xlsx", "rubric.toml"):
        plan = 'dataset = "{}"\n[variants.a]\noutputs = "outputs.jsonl"\n[variants.b]\noutputs = "outputs.jsonl"\n'
        text = plan.format("words.jsonl" if name == "rubric.toml" else name)
        asked = 'criteria = ["rubric.toml"]\n' if name == "rubric.toml" else ""
        (folder / f"{name}.plan.toml").write_text(asked + text, encoding="utf-8")
    for name in ("copies", "spans", "words"):
        judges("run", f"{name}.jsonl", "-c", "correctness", "-j", "overlap", "--out", name, folder=folder)
    return folder


@cache
def _help(command: str, folder: Path) -> str:
    return judges(command, "--help", folder=folder, changes={"COLUMNS": "200"}).stdout


def check(folder: Path, *arguments: str | Path, changes: Mapping[str, str] | None = None) -> str:
    """What the command says, if it is one line and names no option that the command at hand, or the one it names with
    it, lacks.
    """
    said = judges(*arguments, folder=folder, code=2, changes=changes).stderr
    for other, option in re.findall(r"(?:judges ([a-z-]+) [^;,()]*)?(?<![\w-])(--[a-z][a-z-]*)", said):
        command = other or str(arguments[0])
        assert re.search(rf"(?<![\w-]){option}\b", _help(command, folder)), f"judges {command} lacks {option}: {said}"
    return said


@pytest.mark.parametrize("name", [f"{each}.jsonl" for each in NO_CASES] + ["lines.json", "table.xlsx"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "", "-c", "correctness", "-j", "overlap"),
        ("threshold", ""),
        ("calibrate", "", "--judge", "stored:said"),
        ("calibrate", "words", "--gold", ""),
        ("compare", "", "", "--judge-a", "stored:said", "--judge-b", "stored:read"),
        ("retrieval", "--cases", ""),
    ],
    ids=["run", "threshold", "calibrate", "calibrate --gold", "compare", "retrieval"],
)
def test_a_file_that_can_not_be_read_is_mended_in_the_file_where_no_option_helps(
    home: Path, arguments: tuple[str, ...], name: str
) -> None:
    said = check(home, *(each or name for each in arguments))
    assert said


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("threshold", "nameless.jsonl"), "`id` is missing; call the field that holds it `id`"),
        (("calibrate", "twice.jsonl", "--judge", "stored:said"), "already that of line 1; give each record its own"),
        (("threshold", "both.jsonl"), "one part of a case; take one of them out of the file"),
        (("threshold", "list.jsonl"), "is a list, not text; correct it"),
        (("threshold", "tabs.csv"), "call it .tsv\n"),
        (("threshold", "table.xlsx"), "let it end in .jsonl, .json, .csv, .tsv, .parquet\n"),
        (("run", "table.xlsx", "-c", "correctness", "-j", "overlap"), ".parquet (for cases: --format)\n"),
        (("run", "nameless.jsonl", "-c", "correctness", "-j", "overlap"), "map another field with --map id=FIELD"),
        (("experiment", "nameless.jsonl.plan.toml"), "map another field with `map` of the plan: id=FIELD"),
        (("experiment", "table.xlsx.plan.toml"), ".parquet\n"),
        (("experiment", "rubric.toml.plan.toml"), "is a rubric, not one criterion; name it among `rubrics`"),
        (("run", "words.jsonl", "-c", "rubric.toml", "-j", "overlap"), "not one criterion; give it with --rubric"),
        (("retrieval", "--cases", "copies.jsonl"), "mend the ranking, or keep the first copy with --keep-first"),
        (("gate", "copies", "--require", "recall@1>=0.5"), "or keep the first copy with --keep-first"),
        (("diagnose", "spans"), "or of all passages with --index"),
        (("gate", "spans", "--require", "recall@1>=0.5"), "of each retrieved passage\n"),
        (
            ("calibrate", "words", "--gold", "words.jsonl", "--label", "gold", "-c", "correctness"),
            "with --scale a,b,tie",
        ),
        (
            ("audit", "words", "--gold", "words.jsonl", "--label", "gold", "-c", "correctness"),
            "--positive correct or --positive '>=3'; found",
        ),
    ],
)
def test_a_remedy_is_told_in_the_options_of_the_command_at_hand(
    home: Path, arguments: tuple[str, ...], remedy: str
) -> None:
    assert remedy in check(home, *arguments)


def test_a_cache_that_can_not_be_made_is_mended_where_it_is_where_no_option_goes_around_it(
    tmp_path: Path, server: RunningServer
) -> None:
    changes = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.openai}
    judges("run", CASES, *MODEL, "--limit", "3", "--no-cache", "--out", "run", folder=tmp_path, changes=changes)
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "replies.sqlite").symlink_to(tmp_path / "gone" / "replies.sqlite")
    for place, remedy in (
        ("file/cache", "name another as `cache` in judges.toml\n"),
        ("folder", "its folder must exist and be writable\n"),
    ):
        changes["JUDGES_CACHE"] = str(tmp_path / place)
        assert remedy in check(tmp_path, "calibrate", "run", "--anchors", EXAMPLE / "labels.jsonl", changes=changes)
        assert ", or use --no-cache\n" in check(tmp_path, "run", CASES, *MODEL, "--out", "new", changes=changes)


def test_a_parameter_that_is_ours_is_named_by_its_option_or_by_its_setting(
    tmp_path: Path, server: RunningServer
) -> None:
    changes = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.openai}
    settings = '[judges.mine]\nmodel = "openai:gpt-4.1-mini"\n'
    (tmp_path / "judges.toml").write_text(settings, encoding="utf-8")
    asked = ("run", CASES, "-c", "correctness", "-j", "mine", "--limit", "3", "--no-cache", "--out", "run")
    judges(*asked, folder=tmp_path, changes=changes)
    (tmp_path / "judges.toml").write_text(settings + "parameters = { max_tokens = 9 }\n", encoding="utf-8")
    assert "to be given: it is --max-tokens\n" in check(tmp_path, *asked, changes=changes)
    again = check(tmp_path, "calibrate", "run", "--anchors", EXAMPLE / "labels.jsonl", changes=changes)
    assert "to be given: it is the setting `max_tokens`\n" in again
