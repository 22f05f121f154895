import json
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest

from judges import CONTEXT_RELEVANCE, TokenOverlapJudge, Verdict, evaluate_sync, read_cases
from support.command import EXAMPLE, SHARED, judges

NOMIRACL = SHARED / "data" / "nomiracl_de_es_fr" / "items_with_text.jsonl"
ASKED = ("--unanswerable", "meta.question_type=unanswerable")


def write_cases(folder: Path, cases: list[dict[str, Any]]) -> None:
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")


def swept(*arguments: str | Path, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(judges("threshold", *arguments, "--json", folder=folder).stdout)
    return found


def test_the_example_shows_the_sweep_a_threshold_and_what_is_deceptively_near(tmp_path: Path) -> None:
    done = judges("threshold", EXAMPLE / "cases.jsonl", *ASKED, folder=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0] == "44 queries: 36 answerable, 8 unanswerable"
    [suggested] = [line for line in lines if line.endswith("suggested")]
    assert suggested.split()[0] == "0.550"
    assert any(line.startswith("suggested threshold: 0.550 [0.550, ") for line in lines)
    assert "no threshold separates the two" in done.stdout
    assert "Is there a discount for students?" in done.stdout
    assert "3 without results: rejected at any threshold" in done.stdout


def test_json_has_the_whole_sweep_the_threshold_and_its_cross_fitted_figures(tmp_path: Path) -> None:
    found = swept(EXAMPLE / "cases.jsonl", *ASKED, "--cost-false-accept", "5", folder=tmp_path)
    assert found["costs"] == {"false_accept": 5.0, "false_reject": 1.0, "accepted_wrong": 0.0}
    assert found["sweep"][-1]["threshold"] is None
    assert found["sweep"][-1]["precision_of_accepted"] is None
    assert min(found["sweep"], key=lambda each: each["cost"])["threshold"] == found["threshold"]["value"] == 0.62
    assert found["apparent"]["unanswerable_accepted"] == 0
    assert set(found["cross_fitted"]) == {
        "unanswerable_rejected", "answerable_accepted", "precision", "cost", "fold_thresholds", "optimism",
    }  # fmt: skip
    assert found["near"][0]["id"] == "en-09"
    assert found == swept(EXAMPLE / "cases.jsonl", *ASKED, "--cost-false-accept", "5", folder=tmp_path)


def test_qrels_and_the_cases_own_labels_say_what_is_unanswerable_too(tmp_path: Path) -> None:
    wanted = swept(EXAMPLE / "cases.jsonl", *ASKED, folder=tmp_path)
    assert swept(EXAMPLE / "cases.jsonl", "--qrels", EXAMPLE / "qrels.txt", folder=tmp_path)["sweep"] == wanted["sweep"]
    write_cases(
        tmp_path,
        [
            {"id": "a", "retrieved": {"x": 0.9}, "relevant": ["x"], "right": True},
            {"id": "b", "retrieved": {"x": 0.8}, "relevant": ["x"], "right": False},
            {"id": "c", "retrieved": {"x": 0.1}, "relevant": []},
        ],
    )
    found = swept("cases.jsonl", "--correct", "right", "--cost-wrong", "2", folder=tmp_path)
    assert found["separated"]
    assert found["threshold"]["value"] == 0.9
    shown = judges("threshold", "cases.jsonl", folder=tmp_path).stdout
    assert "every answerable query scores higher than every unanswerable one" in shown


def test_the_cases_of_the_example_say_themselves_what_has_no_answer(tmp_path: Path) -> None:
    assert swept(EXAMPLE / "cases.jsonl", folder=tmp_path) == swept(EXAMPLE / "cases.jsonl", *ASKED, folder=tmp_path)


def test_qrels_may_be_records_as_everywhere(tmp_path: Path) -> None:
    lines = [line.split() for line in (EXAMPLE / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    (tmp_path / "qrels.csv").write_text(
        "query,document,grade\n" + "".join(f"{query},{name},{grade}\n" for query, _, name, grade in lines),
        encoding="utf-8",
    )
    wanted = swept(EXAMPLE / "cases.jsonl", folder=tmp_path)
    assert swept(EXAMPLE / "cases.jsonl", "--qrels", "qrels.csv", folder=tmp_path) == wanted


def test_groups_of_queries_are_kept_together_and_named(tmp_path: Path) -> None:
    found = swept(EXAMPLE / "cases.jsonl", "--cluster", "meta.topic", folder=tmp_path)
    assert (found["cluster"], found["groups"], found["threshold"]["n_clusters"]) == ("meta.topic", 13, 13)
    assert found["cross_fitted"]["cost"]["n_clusters"] == 13
    shown = judges("threshold", EXAMPLE / "cases.jsonl", "--cluster", "meta.topic", folder=tmp_path).stdout
    assert "intervals and folds keep 13 groups by meta.topic together" in shown
    alone = judges("threshold", EXAMPLE / "cases.jsonl", "--cluster", "session", folder=tmp_path)
    assert "`session` groups no queries: each is a group of its own" in alone.stderr


@pytest.mark.skipif(not NOMIRACL.exists(), reason="the data set isn't beside the checkout")
def test_word_overlap_hardly_tells_which_questions_of_nomiracl_have_no_answer(tmp_path: Path) -> None:
    """A weak score is called one: it doesn't separate the two, and the nearest unanswerable questions are named."""
    judge = TokenOverlapJudge()
    cases: list[dict[str, Any]] = []
    for case in islice(read_cases(NOMIRACL), 0, None, 4):
        [judgement] = evaluate_sync([case], CONTEXT_RELEVANCE, judge)
        assert isinstance(judgement.outcome, Verdict)
        scores = [claim.score for claim in judgement.outcome.claims]
        known = cast("dict[str, str]", case.extra["gold"])["answer_in_context"] == "present"
        cases.append({"id": case.id, "answerable": known, "retrieved": {str(n): each for n, each in enumerate(scores)}})
    write_cases(tmp_path, cases)
    found = swept("cases.jsonl", folder=tmp_path)
    assert found["queries"] == 60
    assert not found["separated"]
    assert 0.5 < found["area_under_curve"]["value"] < 0.8
    assert len(found["near"]) > 10


def test_where_no_threshold_helps_it_says_so(tmp_path: Path) -> None:
    write_cases(
        tmp_path,
        [
            {"id": "a", "retrieved": {"x": 0.1}, "relevant": ["x"]},
            {"id": "b", "retrieved": {"x": 0.9}, "relevant": []},
            {"id": "c", "retrieved": {"x": 0.9}, "relevant": []},
        ],
    )
    shown = judges("threshold", "cases.jsonl", folder=tmp_path).stdout
    assert "no threshold helps at these costs: the cheapest is to reject every query" in shown
    assert "which may be chance" in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("none.jsonl",), "none.jsonl: there is no such file"),
        (("cases.jsonl",), 'case "a" has neither `answerable` nor `relevant`'),
        (("cases.jsonl", "--unanswerable", "kind"), "--unanswerable kind: give FIELD=VALUE"),
        (("cases.jsonl", "--unanswerable", "kind=no"), "no query is unanswerable"),
        (("cases.jsonl", "--unanswerable", "kind=x", "--qrels", "q.txt"), "keep one of them"),
        (("cases.jsonl", "--cost-wrong", "1"), "name the field that says it with --correct"),
        (("cases.jsonl", "--cost-false-accept", "-1"), "--cost-false-accept -1: give a finite number, 0 or more"),
    ],
)
def test_wrong_input_is_one_line_that_says_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    write_cases(tmp_path, [{"id": "a", "kind": "yes", "retrieved": {"x": 1}}])
    done = judges("threshold", *arguments, folder=tmp_path, code=2)
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_hostile_questions_reach_no_terminal(tmp_path: Path) -> None:
    hostile = "q\x1b[31m\u202e"
    write_cases(
        tmp_path,
        [
            {"id": "a", "question": "?", "retrieved": {"x": 0.1}, "relevant": ["x"]},
            {"id": hostile, "question": hostile, "retrieved": {"x": 0.9}, "relevant": []},
        ],
    )
    for arguments in ((), ("--json",)):
        done = judges("threshold", "cases.jsonl", *arguments, folder=tmp_path)
        assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)
