import json
from pathlib import Path

import pytest

from judges.diagnosis.rules import rules_text
from support.command import EXAMPLE, SHARED, judges

QRELS = ("--qrels", EXAMPLE / "qrels.txt", "--complete")

GIVEN = {"reference": "In 1932.", "contexts": [{"id": "d1", "text": "It opened in 1932."}], "relevant": ["d1"]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    asked = [word for name in ("faithfulness", "answer_relevance", "correctness") for word in ("-c", name)]
    judges("run", EXAMPLE / "cases.jsonl", "-j", "overlap", *asked, "--out", "demo", folder=folder)
    return folder


def diagnose(home: Path, *arguments: str | Path, code: int = 0) -> str:
    done = judges("diagnose", *arguments, folder=home, code=code)
    return done.stderr if code else done.stdout


def test_the_page_names_causes_with_shares_and_where_to_act_first(home: Path) -> None:
    shown = diagnose(home, "demo", *QRELS)
    assert "of 44 cases fail" in shown
    assert "retriever  what answers it was not retrieved" in shown
    assert "act first on the generator" in shown
    assert "can't be told in" in shown
    assert "no spans of the documents are labelled" in shown


def test_one_complaint_is_explained_in_plain_words(home: Path) -> None:
    shown = diagnose(home, "demo", *QRELS, "--case", "en-11")
    assert "to blame    retriever: what answers it was not retrieved" in shown
    assert "since       en-backup-2 is not among the 3 passages read" in shown
    assert "besides     generator: says what no passage says" in shown
    assert "what to do  Search with other words" in shown
    shown = diagnose(home, "demo", *QRELS, "--case", "en-01")
    assert "passes      correctness passes: " in shown
    assert "It passes" in shown


def test_json_is_one_document_of_it_all(home: Path) -> None:
    found = json.loads(diagnose(home, "demo", *QRELS, "--by", "lang", "--json"))
    assert len(found["per_case"]) == found["cases"] == 44
    assert sum(each["cases"] for each in found["causes"]) + found["unexplained"]["cases"] == sum(
        each["standing"] == "fails" for each in found["per_case"]
    )
    assert {each["value"] for each in found["slices"]} == {"en", "ca", "fr", "ro"}
    one = json.loads(diagnose(home, "demo", *QRELS, "--case", "en-11", "--json"))
    assert (one["cause"], one["component"]) == ("not_retrieved", "retriever")
    assert {"cause", "holds", "facts"} == set(one["rules"][0])


def test_slices_are_shown_with_what_the_mean_hides(home: Path) -> None:
    shown = diagnose(home, "demo", *QRELS, "--by", "meta.question_type")
    assert "unanswerable" in shown
    assert "the mean of faithfulness, 0.59, hides meta.question_type unanswerable: 0.25" in shown
    assert "no slice lies far below the rest" in diagnose(home, "demo", *QRELS, "--by", "lang")


def test_a_declared_refusal_changes_what_fails(home: Path) -> None:
    before, after = (
        json.loads(diagnose(home, "demo", *QRELS, "--json", *more))["failing"]["value"]
        for more in ((), ("--refusal", "I found nothing in the help centre"))
    )
    assert after < before


def test_the_rules_are_printed_and_may_be_changed(home: Path) -> None:
    printed = diagnose(home, "--rules")
    assert printed == rules_text()
    mine = printed.replace("what answers it was not retrieved", "the search engine missed it")
    (home / "mine.toml").write_text(mine, encoding="utf-8")
    assert "retriever  the search engine missed it" in diagnose(home, "demo", *QRELS, "--rules-file", "mine.toml")


def test_a_field_may_say_what_can_not_be_answered(home: Path) -> None:
    shown = diagnose(home, "demo", "--unanswerable", "meta.question_type=literal")
    assert "answered what the documents don't answer" in shown


def test_conversations_are_diagnosed_by_what_their_fields_say(tmp_path: Path) -> None:
    data = SHARED / "data" / "mtrag_human_eval" / "items.jsonl"
    if not data.exists():
        pytest.skip("the data set mtrag_human_eval is not beside the checkout")
    judges("run", data, "-j", "overlap", "-c", "faithfulness", "--out", "run", folder=tmp_path)
    said = ("--answerable", "meta.answerability=ANSWERABLE", "--unanswerable", "meta.answerability=UNANSWERABLE")
    by = ("--by", "judges.conditional_idk.idk", "--by", "meta.answerability", "--by", "meta.question_type")
    found = json.loads(diagnose(tmp_path, "run", *said, *by, "--cluster", "meta.item", "--json"))
    bluffs = [each["case"] for each in found["per_case"] if each["cause"] == "answered_unanswerable"]
    with data.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    honest = {row["id"]: row["judges"]["conditional_idk"]["idk"] for row in rows}
    assert len(bluffs) == 10
    assert not any(honest[name] for name in bluffs)
    assert {"UNANSWERABLE", "PARTIAL"} <= {each["value"] for each in found["slices"]}


def test_answers_to_a_case_that_was_asked_again_are_counted_as_answers(tmp_path: Path) -> None:
    lines = [
        {"id": f"{name}{again}", "question": "When?", "answer": answer, "repeat_of": name, "kind": name, **GIVEN}
        for name, answers in (("a", ["Never."] * 3), ("b", ["In 1932."] * 3))
        for again, answer in zip(("", "#2", "#3"), answers, strict=True)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "again.jsonl").write_text(text, encoding="utf-8")
    judges("run", "again.jsonl", "-j", "overlap", "-c", "correctness", "--out", "again", folder=tmp_path)
    shown = diagnose(tmp_path, "again", "--by", "kind")
    assert "3 of 6 answers fail" in shown
    assert "these answers are to 2 cases, asked several times" in shown
    assert "such as\n" in shown
    assert "3         1  1.00" in shown
    assert "a#2" not in shown
    assert "can't be told in 3 answers" in shown
    assert "cases fail" not in shown


def test_without_labels_what_is_missing_is_said(home: Path) -> None:
    shown = diagnose(home, "demo")
    assert "nothing says which passages are relevant (`relevant`, or --qrels)" in shown
    assert "retriever  what" not in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "diagnose what?"),
        (("nowhere",), "not a run"),
        (("demo", "--case", "en-1"), "the run has no case `en-1`; near it: en-1"),
        (("demo", "--complete"), "give --qrels"),
        (("demo", "--judge", "nobody"), "has no judge `nobody`"),
        (("demo", "--case", "en-01", "--by", "lang"), "give one of them"),
        (("demo", "--span-share", "2"), "give a share above 0, at most 1"),
        (("demo", "--rules-file", "none.toml"), "none.toml: can't be read"),
        (("--rules", "--json"), "leave out --json"),
        (("demo", "--unanswerable", "lang"), "write it as FIELD=VALUE"),
        (("demo", "--answerable", "lang=xx"), "no case has lang `xx`"),
        (("demo", "--answerable", "lang=ca", "--unanswerable", "lang=ca"), "can't be both"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(home: Path, arguments: tuple[str, ...], complaint: str) -> None:
    said = diagnose(home, *arguments, code=2)
    assert complaint in said
    assert said.count("\n") == 1
