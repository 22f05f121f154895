from typing import Any

import pytest

from judges.verdict import Abstained, ClaimVerdict, Failed, Verdict
from support.facts import diagnosed, resting_on

SORRY = "I don't know."
WRONG = {"correctness": False}
SPAN = {"doc": "d", "start": 10, "end": 110}
HALVES = [{"id": "a", "doc": "d", "start": 0, "end": 60}, {"id": "b", "doc": "d", "start": 60, "end": 200}]

ONLY_C_RELEVANT = Verdict(1 / 3, claims=tuple(ClaimVerdict(f"passage {name}", name == "c") for name in "abc"))

PLANTED: list[tuple[str, str, dict[str, Any]]] = [
    ("answered_unanswerable", "generator", {"relevant": [], "said": {"faithfulness": True}}),
    ("answered_unanswerable", "generator", {"answerable": False, "said": WRONG}),
    ("answered_unanswerable", "generator", {"said": {"honest_refusal": "answered_unanswerable"}}),
    ("cut", "chunker", {"retrieved": HALVES, "relevant": [SPAN], "read": (), "said": WRONG}),
    ("demoted", "reranker", {"relevant": ["x"], "candidates": ["d", "x", "a", "b", "c"], "said": WRONG}),
    ("ranked_low", "retriever", {"relevant": ["x"], "candidates": ["a", "b", "c", "x"], "said": WRONG}),
    ("ranked_low_somewhere", "ranking", {"relevant": ["x"], "retrieved": ["a", "b", "c", "x"], "said": WRONG}),
    ("not_retrieved", "retriever", {"relevant": ["x"], "said": WRONG}),
    ("not_retrieved", "retriever", {"relevant": ["x"], "candidates": ["a", "b", "c", "d"], "said": WRONG}),
    ("not_retrieved", "retriever", {"relevant": ["a", "x"], "said": WRONG}),
    ("not_retrieved", "retriever", {"relevant": ["x"], "answer": SORRY, "said": WRONG}),
    ("not_retrieved", "retriever", {"said": WRONG | {"context_recall": False}}),
    ("refused_answerable", "generator", {"relevant": ["b"], "answer": SORRY, "said": WRONG}),
    ("refused_answerable", "generator", {"said": {"honest_refusal": "refused_answerable"}}),
    ("strayed", "generator", {"relevant": ["a"], "said": WRONG | {"faithfulness": False}}),
    ("strayed", "generator", {"relevant": ["a"], "said": {"correctness": True, "faithfulness": False}}),
    ("strayed", "generator", {"relevant": ["a"], "said": {"faithfulness_graded": 0.0}}),
    (
        "off_question",
        "generator",
        {"relevant": ["a"], "said": WRONG | {"faithfulness": True, "answer_relevance": False}},
    ),
    ("noise", "context", {"relevant": ["c"], "said": WRONG | {"faithfulness": resting_on(0)}}),
    ("noise", "context", {"said": WRONG | {"faithfulness": resting_on(0), "context_relevance": ONLY_C_RELEVANT}}),
    ("wrong_source", "generator", {"relevant": ["a"], "said": {"correctness": True, "source_use": False}}),
    ("wrong_source", "generator", {"relevant": ["a"], "answer": "It is so [2].", "said": {"correctness": True}}),
    ("wrong_source", "generator", {"relevant": ["a"], "answer": "It is so [b, c].", "said": {"correctness": True}}),
    (
        "left_out",
        "generator",
        {
            "relevant": ["a"],
            "said": WRONG | {"faithfulness": resting_on(0), "completeness": False, "context_recall": True},
        },
    ),
    ("left_out", "generator", {"relevant": ["a"], "said": {"correctness": True, "completeness": False}}),
    ("wrong_although_supported", "documents", {"relevant": ["a"], "said": WRONG | {"faithfulness": resting_on(0)}}),
    (
        "wrong_although_supported",
        "documents",
        {"relevant": ["a"], "said": WRONG | {"faithfulness": True, "completeness": False, "context_recall": False}},
    ),
]


@pytest.mark.parametrize(("cause", "component", "known"), PLANTED)
def test_each_cause_is_named(cause: str, component: str, known: dict[str, Any]) -> None:
    found = diagnosed(**known)
    assert found.standing == "fails"
    assert found.rule is not None
    assert (found.rule.cause, found.rule.component) == (cause, component)
    assert found.evidence
    assert all(fact.why for fact in (*found.reasons, *found.evidence))


def test_every_rule_is_tested() -> None:
    from judges.diagnosis.rules import default_rules

    assert {rule.cause for rule in default_rules().rules} == {cause for cause, _, _ in PLANTED}


@pytest.mark.parametrize(
    "known",
    [
        {"relevant": ["a"], "said": {"correctness": True, "faithfulness": True}},
        {"relevant": [], "answer": SORRY, "said": {"correctness": False, "answer_relevance": False}},
        {"relevant": ["a"], "said": {"correctness": True, "answer_relevance": False}},
        {"relevant": ["a"], "answer": "It is so [1].", "said": {"correctness": True}},
        {"relevant": ["x"], "said": {"correctness": True}},
    ],
)
def test_a_case_passes_if_nothing_says_it_fails(known: dict[str, Any]) -> None:
    found = diagnosed(**known)
    assert (found.standing, found.rule, found.findings) == ("passes", None, ())


@pytest.mark.parametrize("outcome", [Abstained("no_references"), Failed("ReplyError")])
def test_whether_it_fails_is_unknown_without_a_verdict_and_a_label(outcome: Any) -> None:
    assert diagnosed(said={"correctness": outcome}).standing == "unknown"
    assert diagnosed(relevant=["a"]).standing == "unknown"
    assert diagnosed(None, relevant=["a"]).standing == "unknown"


def test_what_went_wrong_later_is_named_too() -> None:
    found = diagnosed(relevant=["x"], said=WRONG | {"faithfulness": False, "answer_relevance": False})
    assert found.rule is not None
    assert found.rule.cause == "not_retrieved"
    assert [rule.cause for rule in found.also] == ["strayed", "off_question"]


def test_what_too_little_is_known_for_is_said_and_not_guessed() -> None:
    found = diagnosed(said=WRONG | {"faithfulness": False})
    assert found.rule is not None
    assert found.rule.cause == "strayed"
    lacking = {rule.cause: " ".join(fact.why for fact in finding.facts) for rule, finding in found.not_ruled_out}
    assert "nothing says whether it can be answered" in lacking["answered_unanswerable"]
    assert "nothing says which passages are relevant" in lacking["not_retrieved"]


def test_a_case_that_no_rule_explains_stays_unexplained() -> None:
    found = diagnosed(relevant=["a"], said=WRONG)
    assert (found.standing, found.rule, found.also) == ("fails", None, ())
    assert "strayed" in {rule.cause for rule, _ in found.not_ruled_out}


def test_what_stands_in_for_labels_is_marked() -> None:
    [fact] = diagnosed(said=WRONG | {"context_recall": False}).evidence
    assert (fact.name, fact.stands_in) == ("found", "context_recall")
    assert "context_recall stands in for labels of what is relevant" in fact.why
    labelled = diagnosed(relevant=["x"], said=WRONG | {"context_recall": True})
    assert [each.stands_in for each in labelled.evidence] == [None]


def test_the_claim_that_decided_is_quoted() -> None:
    found = diagnosed(relevant=["a"], said={"faithfulness": resting_on(0, score=0.2)})
    assert found.evidence[0].why == "faithfulness fails: 0.20 by tester, below 0.5: “It is so.”"


def test_of_several_replicates_the_majority_counts() -> None:
    assert diagnosed(said={"correctness": [True, False, False]}).standing == "fails"
    assert diagnosed(said={"correctness": [True, True, False]}).standing == "passes"


def test_a_declared_refusal_counts_as_one() -> None:
    known: dict[str, Any] = {"answer": "Our pages do NOT say.", "relevant": []}
    assert diagnosed(**known).standing == "fails"
    assert diagnosed(**known, refusals=["our pages do not say"]).standing == "passes"


def test_the_record_says_it_all() -> None:
    record = diagnosed(relevant=["x"], said=WRONG).to_record()
    assert record["cause"] == "not_retrieved"
    assert record["evidence"][0] == {
        "name": "found",
        "why": "x is not among the 3 passages read",
        "stands_in": None,
    }
