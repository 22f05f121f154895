"""Rubrics from the command line: criteria and plain checks together, offline and with a model."""

import json
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, judges
from support.model_server import RunningServer

CASES = EXAMPLE / "cases.jsonl"
MODEL = "openai:gpt-4.1-mini"
PLAIN = ["answered", "well_formed", "allowed_length", "in_language", "nothing_forbidden", "declared_refusal"]


def rows(folder: Path, *arguments: str | Path, **ways: Any) -> dict[str, dict[str, Any]]:
    done = judges("run", *arguments, "--json", folder=folder, **ways)
    return {row["criterion"]: row for row in json.loads(done.stdout)["rows"]}


def test_rag9_runs_offline_with_the_overlap_judge(tmp_path: Path) -> None:
    found = rows(tmp_path, CASES, "--rubric", "rag9", "--judge", "overlap")
    assert [(name, row["judge"]) for name, row in found.items()] == [
        *((name, "checks") for name in PLAIN),
        *((name, "overlap") for name in ("faithfulness", "answer_relevance", "source_use")),
    ]
    assert [found[name]["judged"] for name in PLAIN[:5]] == [44] * 5
    assert found["declared_refusal"]["judged"] == 44
    assert [folder.name[:19] for folder in (tmp_path / "runs").iterdir()] == ["cases-rag9-overlap-"]


FAULTY: list[dict[str, str | bool]] = [
    {"id": "good", "answer": "The free plan has five gigabytes of space.", "answerable": True},
    {"id": "empty", "answer": ""},
    {"id": "template", "answer": "Dear {{ name }}, the free plan has five gigabytes of space."},
    {"id": "long", "answer": "The free plan has five gigabytes of space for everybody. " * 50},
    {"id": "french", "answer": "Le forfait gratuit comprend cinq gigaoctets d'espace de stockage."},
    {"id": "itself", "answer": "As an AI language model, I can say that the free plan has five gigabytes."},
    {"id": "made up", "answer": "The free plan has five gigabytes of space.", "answerable": False},
]


def test_each_plain_check_of_rag9_finds_its_fault_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "faulty.jsonl"
    common = {"lang": "en", "question": "How much?", "contexts": ["The free plan has five gigabytes of space."]}
    file.write_text("".join(json.dumps({**common, **case}) + "\n" for case in FAULTY))
    judges("run", file, "-r", "rag9", "-j", "overlap", "--out", "one", folder=tmp_path)
    lines = [json.loads(line) for line in judges("export", "one", folder=tmp_path).stdout.splitlines()]
    failed = {(line["case"], line["criterion"]) for line in lines if line["judge"] == "checks" and line["score"] == 0}
    assert failed == set(zip((case["id"] for case in FAULTY[1:]), PLAIN, strict=True))


RUBRIC = """
include = ["answered", "answer_relevance"]

[[criteria]]
name = "plain_words"
description = "Is the answer in plain words?"
against = "question"

[[checks]]
name = "short"
kind = "length"
unit = "words"
most = 20

[[checks]]
name = "form"
kind = "json"
schema = "schema.json"
"""


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    folder = tmp_path / "rubrics"
    folder.mkdir()
    (folder / "schema.json").write_text('{"type": "object"}')
    file = folder / "support.toml"
    file.write_text(RUBRIC)
    return file


def test_a_rubric_of_the_users_own_needs_no_code(tmp_path: Path, rubric: Path) -> None:
    found = rows(tmp_path, CASES, "-r", "rubrics/support.toml", "-j", "overlap", "-c", "correctness")
    assert [(name, row["judge"]) for name, row in found.items()] == [
        ("short", "checks"),
        ("form", "checks"),
        ("answered", "checks"),
        ("answer_relevance", "overlap"),
        ("plain_words", "overlap"),
        ("correctness", "overlap"),
    ]
    assert 0 < found["short"]["mean"]["value"] < 1
    assert found["form"]["mean"]["value"] == 0


def test_a_rubric_in_yaml_includes_rubrics_and_files_beside_it(tmp_path: Path, rubric: Path) -> None:
    (rubric.parent / "mine.yaml").write_text(
        "include: [rag9, support.toml, one.yaml]\nchecks: [{name: loud, kind: phrases, forbidden: ['!']}]\n", "utf-8"
    )
    (rubric.parent / "one.yaml").write_text("against: question\n", encoding="utf-8")
    found = rows(tmp_path, CASES, "-r", "rubrics/mine.yaml", "-c", "rubrics/one.yaml", "-j", "overlap")
    assert [name for name, row in found.items() if row["judge"] == "checks"] == ["loud", *PLAIN, "short", "form"]
    assert [name for name, row in found.items() if row["judge"] == "overlap"] == [
        "faithfulness", "answer_relevance", "source_use", "plain_words", "one",
    ]  # fmt: skip


def test_a_refusal_that_sends_the_reader_to_people_is_one(tmp_path: Path) -> None:
    judges("run", CASES, "-c", "declared_refusal", "--out", "one", folder=tmp_path)
    lines = [json.loads(line) for line in judges("export", "one", folder=tmp_path).stdout.splitlines()]
    refused = {line["case"] for line in lines if line["verdict"]["rationale"] == "it can be answered, and was refused"}
    assert refused == {"en-08", "ca-08", "fr-09", "ro-09"}


def test_a_changed_limit_judges_that_check_again_and_nothing_else(tmp_path: Path, rubric: Path) -> None:
    common = ("run", CASES, "-r", rubric, "-j", "overlap", "--out", "one")
    judges(*common, folder=tmp_path)
    rubric.write_text(RUBRIC.replace("most = 20", "most = 25"))
    again = judges(*common, folder=tmp_path)
    assert "resumed: 176 of 220 judgements were there already, 44 made now" in again.stderr


def test_checks_alone_need_no_judge(tmp_path: Path) -> None:
    found = rows(tmp_path, CASES, "-c", "answered", "-c", "in_language")
    assert {name: row["judge"] for name, row in found.items()} == {"answered": "checks", "in_language": "checks"}
    named = rows(tmp_path, CASES, "-c", "answered", "-j", "checks")
    assert list(named) == ["answered"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to judge: say what, with --criterion or --rubric"),
        (("-r", "rag9"), "no judge for `faithfulness`: name one, as in --judge overlap"),
        (("-c", "faithfulness", "-j", "checks"), "no judge for `faithfulness`"),
        (("-c", "tone", "-j", "overlap"), "the judge `overlap` can't judge `tone`; choose another judge for it"),
        (("-c", "context_sufficiency", "-j", "overlap"), "can't judge `context_sufficiency`"),
        (("-r", "rag8", "-j", "overlap"), "no rubric is called `rag8`; known: rag9; your own: a .toml or .yaml file"),
        (("-r", "gone.toml", "-j", "overlap"), "gone.toml: there is no such file"),
        (("-r", "rag9", "-r", "other.toml", "-j", "overlap"), "two criteria are called `answered`"),
        (("-r", "round.yaml", "-j", "overlap"), "round.yaml includes itself: round.yaml > back.toml > round.yaml"),
        (("-r", "bomb.yaml", "-j", "overlap"), "bomb.yaml: `*a` stands for something that it is itself part of"),
        (("-c", "other.toml", "-j", "overlap"), "is a rubric, not one criterion; give it with --rubric"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_in_one_line(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "other.toml").write_text('[[checks]]\nname = "answered"\nkind = "length"\nleast = 1\n')
    (tmp_path / "round.yaml").write_text("include: [back.toml]", encoding="utf-8")
    (tmp_path / "back.toml").write_text('include = ["sub/../round.yaml"]', encoding="utf-8")
    (tmp_path / "bomb.yaml").write_text("include: &a [*a]", encoding="utf-8")
    done = judges("run", CASES, *arguments, folder=tmp_path, code=2)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_verdicts_on_passages_stand_in_for_qrels_and_are_marked_as_such(tmp_path: Path) -> None:
    judges("run", CASES, "-c", "context_relevance", "-j", "overlap", "--out", "one", folder=tmp_path)
    common = ("retrieval", "one", "--from-verdicts", "-m", "nDCG@3", "-m", "recall@1")
    text = judges(*common, "--per-query", folder=tmp_path)
    assert "by verdicts  " in text.stdout
    assert "relevant is what `overlap` says of each retrieved passage (context_relevance from 0.35)" in text.stdout
    assert "what wasn't retrieved wasn't judged" in text.stderr
    assert "3 cases without a verdict left out: no_contexts 3" in text.stderr
    first = text.stdout.splitlines()[0].split("\t")
    assert (first[0], first[1], first[3]) == ("en-01", "nDCG@3", "verdicts")
    found = json.loads(judges(*common, "--json", folder=tmp_path).stdout)
    assert found["verdicts"] == {
        "criterion": "context_relevance",
        "judge": "overlap",
        "threshold": 0.35,
        "left_out": {"no_contexts": 3},
    }
    by_lang = json.loads(judges(*common, "--by", "lang", "--json", folder=tmp_path).stdout)
    assert {row["slice"] for row in by_lang["rows"]} == {"ca", "en", "fr", "ro"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("one",), "judges retrieval RUN --from-verdicts"),
        (("--from-verdicts",), "judges retrieval RUN --from-verdicts"),
        (("one", "--from-verdicts", "--cases", "cases.jsonl"), "leave out all other files"),
        (
            ("one", "--from-verdicts"),
            "one: has no verdicts on passages; judge them: judges run CASES -c context_relevance",
        ),
        (("one", "--from-verdicts", "--judge", "me"), "has no verdicts on passages by `me`"),
    ],
    ids=str,
)
def test_verdicts_that_are_not_there_are_asked_for(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    judges("run", CASES, "-c", "answered", "--out", "one", folder=tmp_path)
    assert words in judges("retrieval", *arguments, folder=tmp_path, code=2).stderr


@pytest.fixture(scope="module")
def server() -> Generator[RunningServer]:
    with RunningServer.start() as server:
        server.set(brain="support.judging_brain:judge")
        yield server


def test_a_model_judges_what_words_cannot_and_checks_cost_no_call(tmp_path: Path, server: RunningServer) -> None:
    server.reset()
    server.set(brain="support.judging_brain:judge")
    changes = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": server.openai, "JUDGES_CACHE": str(tmp_path / "cache")}
    criteria = ("tone", "honest_refusal", "context_sufficiency")
    asked = [word for name in criteria for word in ("-c", name)]
    found = rows(tmp_path, CASES, *asked, "-c", "answered", "-j", MODEL, changes=changes)
    # A case without passages can be judged for its refusal, and not for their sufficiency.
    assert {name: row["judged"] for name, row in found.items()} == {
        "answered": 44,
        "tone": 44,
        "honest_refusal": 44,
        "context_sufficiency": 41,
    }
    assert found["answered"]["judge"] == "checks"
    texts = [json.dumps(body, ensure_ascii=False) for body in server.bodies()]
    kinds = Counter(
        next(words for words in ("tone of an answer", "declines where it should", "can be answered from") if words in t)
        for t in texts
    )
    assert kinds == {"tone of an answer": 44, "declines where it should": 44, "can be answered from": 41}
    assert sum("There are no passages." in text for text in texts) == 3


def test_verdicts_of_a_model_become_graded_qrels(tmp_path: Path, server: RunningServer) -> None:
    changes = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": server.openai, "JUDGES_CACHE": str(tmp_path / "cache")}
    arguments = ("-c", "context_relevance", "-j", MODEL, "-j", "overlap", "--out", "one", "--limit", "10")
    judges("run", CASES, *arguments, folder=tmp_path, changes=changes)
    both = judges("retrieval", "one", "--from-verdicts", folder=tmp_path, code=2)
    assert "context_relevance by overlap); name one with --judge" in both.stderr
    found = judges("retrieval", "one", "--from-verdicts", "--judge", MODEL, "--json", folder=tmp_path)
    assert json.loads(found.stdout)["verdicts"]["judge"] == MODEL
