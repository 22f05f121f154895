"""Verdicts that cases hold, judged, shown, calibrated and gated from the command line."""

import json
from pathlib import Path

import pytest

from support.command import SHARED, judges

NOMIRACL = SHARED / "data" / "nomiracl_de_es_fr" / "items_with_text.jsonl"
GPT_4 = ("-c", "context_sufficiency", "-j", "stored:judges.gpt-4-azure.answer_in_context")


def test_whether_passages_hold_an_answer_is_judged_shown_calibrated_and_gated_by_a_field_of_any_name(
    tmp_path: Path,
) -> None:
    if not NOMIRACL.exists():
        pytest.skip("the data set nomiracl_de_es_fr is not beside the checkout")
    shown = judges("run", NOMIRACL, *GPT_4, "--out", "run", folder=tmp_path).stdout
    assert "judged      238" in shown
    assert "mean score  0.63 [0.56, 0.69]" in shown
    assert "failed (InvalidReply 2)" in shown  # it said neither
    assert "es        79          0       1  0.49" in judges("show", "run", "--by", "lang", folder=tmp_path).stdout
    label = ("--label", "gold.answer_in_context", "--positive", "present")
    audit = judges("calibrate", "run", "--gold", NOMIRACL, *label, "--json", folder=tmp_path, code=None)
    assert audit.returncode == 0
    json.loads(audit.stdout)
    gated = judges("gate", "run", "--require", "context_sufficiency>=0.5", folder=tmp_path).stdout
    assert "PASS  context_sufficiency>=0.5  0.626 [0.564, 0.688]  by its interval, 238 cases" in gated
    judges("gate", "run", "--require", "context_sufficiency>=0.8", folder=tmp_path, code=1)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (("-c", "tone", "-c", "correctness", "-j", "stored:said"), "holds one verdict, and 2 criteria are asked"),
        (("-c", "tone", "-j", "stored:sad"), "no case has a verdict in `sad`"),
        (("-c", "tone", "-j", "stored:grade"), "`grade` is 4, and scores of a run go from 0 to 1"),
        (("-c", "completeness", "-j", "overlap", "--map", "references=none"), "no record has `none`"),
    ],
)
@pytest.mark.parametrize("out", [(), ("--out", "deep/er/run")], ids=["named after the arguments", "named"])
def test_what_is_refused_leaves_no_folder_behind(
    tmp_path: Path, asked: tuple[str, ...], complaint: str, out: tuple[str, ...]
) -> None:
    case = {"id": "a", "answer": "Yes.", "references": ["Yes."], "said": "yes", "grade": 4}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case), encoding="utf-8")
    done = judges("run", "cases.jsonl", *asked, *out, folder=tmp_path, code=2)
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["cases.jsonl"]
    assert judges("run", "cases.jsonl", "-c", "tone", "-j", "stored:said", *out, folder=tmp_path).stdout


def test_a_rubric_s_plain_checks_leave_the_field_of_its_one_criterion_any_name(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'include = ["tone"]\n[[checks]]\nname = "short"\nkind = "length"\nunit = "words"\nmost = 9\n', encoding="utf-8"
    )
    case = {"id": "a", "question": "?", "answer": "Yes.", "said": {"so": "yes"}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case), encoding="utf-8")
    shown = judges("run", "cases.jsonl", "-r", "mine.toml", "-j", "stored:said.so", folder=tmp_path).stdout
    assert "short" in shown
    assert "tone" in shown
