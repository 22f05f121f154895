from pathlib import Path
from typing import Any

import pytest

from judges.diagnosis.rules import Condition, default_rules, read_rules, rules_text
from judges.errors import InputError
from support.facts import diagnosed

MINE = """
[[fails]]
when = "not tone"

[[rules]]
cause = "harsh"
component = "prompt"
says = "speaks harshly"
when = ["tone.unfit", "tone<0.4"]
unless = "refused"

[[rules]]
cause = "few"
component = "retriever"
says = "hardly anything found"
when = "recall@1<0.5"
"""


def rules_file(folder: Path, text: str = MINE) -> Path:
    path = folder / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_our_rules_are_what_their_file_says() -> None:
    assert len(default_rules().rules) == rules_text().count("[[rules]]")
    assert str(default_rules().rule("ranked_low").clause) == (
        "not found and ranked and not high_before unless not answerable"
    )
    assert all(rule.act for rule in default_rules().rules)


def test_rules_of_one_s_own_name_causes_of_one_s_own(tmp_path: Path) -> None:
    rules = read_rules(rules_file(tmp_path))
    for said in ("unfit", 0.3):
        found = diagnosed(said={"tone": said}, rules=rules)
        assert found.rule is rules.rule("harsh")
    low = diagnosed(said={"tone": 0.45}, relevant=["a", "b", "x"], rules=rules)
    assert low.rule is rules.rule("few")
    assert low.evidence[0].why == "recall@1 is 0.33"
    assert diagnosed("I don't know.", said={"tone": 0.3}, rules=rules).rule is None


def test_a_name_that_nothing_is_known_of_makes_neither_it_nor_its_not_hold(tmp_path: Path) -> None:
    text = MINE.replace('"tone<0.4"', '"frendly"').replace('"recall@1<0.5"', '"not frendly"')
    found = diagnosed(said={"tone": 0.2}, rules=read_rules(rules_file(tmp_path, text)))
    assert found.rule is None
    assert {rule.cause: finding.facts[-1].why for rule, finding in found.not_ruled_out}["few"] == (
        "the run has no criterion `frendly`"
    )


def test_a_smaller_share_may_be_enough_to_have_found_it(tmp_path: Path) -> None:
    half = read_rules(rules_file(tmp_path, rules_text().replace("found_share = 1.0", "found_share = 0.5")))
    known: dict[str, Any] = {"relevant": ["a", "x"], "said": {"correctness": False, "faithfulness": False}}
    assert (diagnosed(**known).rule or half.rules[0]).cause == "not_retrieved"
    assert diagnosed(**known, rules=half).rule is half.rule("strayed")


@pytest.mark.parametrize(
    ("was", "becomes", "complaint"),
    [
        ('when = "not tone"', "when = ", "no TOML"),
        ('"not tone"', '"not not tone"', "`fails`: `not not tone` is no part of a condition"),
        ('"not tone"', '"tone or found"', "write names joined by `and`"),
        ('"not tone"', '""', "`fails.0.when`"),
        ("tone<0.4", "tone<much", "rule `harsh`: `tone<much` is no requirement"),
        ('cause = "few"', 'cause = "harsh"', "two rules name the cause `harsh`"),
        ('cause = "few"', 'cause = "Few things"', "`rules.1.cause`"),
        ("component", "part", "`rules.0.component`: field required"),
        ("says =", "hint = 3\nsays =", "`rules.0.hint`: there is no such field"),
        ("[[fails]]", "[[spares]]", "`fails`: field required"),
    ],
)
def test_a_file_of_something_else_is_refused_in_one_line(
    tmp_path: Path, was: str, becomes: str, complaint: str
) -> None:
    path = rules_file(tmp_path, MINE.replace(was, becomes))
    with pytest.raises(InputError) as refused:
        read_rules(path)
    assert str(refused.value).startswith(str(path))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_rules(tmp_path / "none.toml")


def test_conditions_read_as_they_are_written() -> None:
    for text in ("found", "not found and ranked", "recall@3<0.5 and honest_refusal.honest"):
        assert str(Condition.parse(text)) == text
