import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.backends.overlap import TokenOverlapJudge
from judges.case import Case, Context, Part
from judges.claims import Claim, Split
from judges.criteria import (
    ANSWER_RELEVANCE,
    COMPLETENESS,
    CONTEXT_RECALL,
    CONTEXT_RELEVANCE,
    CORRECTNESS,
    CRITERIA,
    FAITHFULNESS,
)
from judges.criterion import Criterion, Unit
from judges.errors import InputError
from judges.judge import Judge
from judges.printable import printable
from judges.verdict import Abstained, ClaimVerdict, Evidence, Verdict

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"


class Lines:
    """Each line is a claim."""

    fingerprint = "lines@1"

    def split(self, text: str, lang: str | None = None) -> Split:
        claims: list[Claim] = []
        start = 0
        for line in text.split("\n"):
            if line.strip():
                claims.append(Claim(line, start, start + len(line)))
            start += len(line) + 1
        return Split(tuple(claims), ())


def judged(case: Case, criterion: Criterion, judge: TokenOverlapJudge | None = None) -> Verdict | Abstained:
    return asyncio.run((judge or TokenOverlapJudge(Lines())).judge(case, criterion))


def verdict(case: Case, criterion: Criterion, judge: TokenOverlapJudge | None = None) -> Verdict:
    outcome = judged(case, criterion, judge)
    assert isinstance(outcome, Verdict)
    return outcome


BRIDGE = Case(
    id="q1",
    question="When did the bridge open?",
    answer="It opened in 1932.\nThe king of Norway came.",
    contexts=(
        Context("Ferries crossed the harbour before.", doc_id="d1"),
        Context("Then: the bridge opened in 1932, as planned.", doc_id="d2"),
    ),
    references=("in 1923", "March 1932"),
)


WORDED = {"preference", "context_sufficiency", "honest_refusal", "tone"}
"""Criteria that ask for more than how well one text supports another: only a model can read what they ask."""
COMPARED = [criterion for criterion in CRITERIA.values() if criterion.name not in WORDED]


def test_it_is_a_judge_of_every_built_in_criterion_that_compares_two_texts() -> None:
    judge = TokenOverlapJudge()
    assert isinstance(judge, Judge)
    assert [criterion for criterion in CRITERIA.values() if judge.supports(criterion)] == COMPARED


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion("coherence", Part.ANSWER),
        Criterion("preference", Part.ANSWER, Part.QUESTION, Unit.PAIR),
        Criterion("talk", Part.ANSWER, Part.HISTORY),
        Criterion("itself", Part.ANSWER, Part.ANSWER),
        Criterion("passages", Part.CONTEXTS, Part.QUESTION, Unit.CLAIM),
    ],
    ids=lambda criterion: criterion.name,
)
def test_what_is_no_comparison_of_two_texts_is_refused(criterion: Criterion) -> None:
    assert not TokenOverlapJudge(Lines()).supports(criterion)
    with pytest.raises(InputError, match=f"case 'q1': the overlap judge can't judge '{criterion.name}'"):
        judged(BRIDGE, criterion)


def test_each_claim_is_looked_for_in_the_best_passage_and_window() -> None:
    found = verdict(BRIDGE, FAITHFULNESS)
    first, second = found.claims
    assert found.score == pytest.approx((first.score + second.score) / 2)
    assert first.score > 0.8 > 0.35 > second.score
    assert first.evidence is not None
    passage = BRIDGE.contexts[1].text
    assert first.evidence == Evidence("contexts", 1, passage.index("opened"), passage.index(", as"), "d2")
    assert BRIDGE.answer is not None
    assert BRIDGE.answer[second.start : second.end] == second.text == "The king of Norway came."
    assert found.evidence == first.evidence


def test_a_rationale_is_one_line_and_names_what_weighs_most() -> None:
    case = Case(id="a", answer="The bridge opened in Norway in 1932", contexts=(Context("the bridge opened in 1923"),))
    found = verdict(case, FAITHFULNESS)
    assert found.rationale == f"covers {found.score / 0.3:.2f}, but nowhere is there 1932; not found: 1932, Norway"
    assert "\n" not in verdict(BRIDGE, FAITHFULNESS).rationale


def test_a_rationale_names_a_negation_on_one_side() -> None:
    case = Case(id="a", answer="It is supported", contexts=(Context("It is not supported"),))
    assert verdict(case, FAITHFULNESS).rationale == "covers 1.00, but negated on one side only: supported"


def test_the_reference_that_fits_best_counts_and_is_named() -> None:
    found = verdict(BRIDGE, CORRECTNESS)
    assert found.evidence == Evidence("references", 1, 0, len("March 1932"))
    assert found.rationale.startswith("reference 2: covers")
    assert found.claims[0].text == "March 1932"
    assert BRIDGE.answer is not None
    evidence = found.claims[0].evidence
    assert evidence is not None
    assert evidence.part == "answer"
    assert BRIDGE.answer[evidence.start : evidence.end] == "1932"


def test_what_must_be_covered_is_the_reference_and_the_question_not_the_answer() -> None:
    long = Case(
        id="a",
        question="Who wrote Emma?",
        answer="As is well known, Jane Austen wrote Emma.",
        references=("Jane Austen",),
    )
    assert verdict(long, CORRECTNESS).score == 1
    assert verdict(long, ANSWER_RELEVANCE).score == pytest.approx(9 / 12)


def answered(question: str | None, answer: str, reference: str, *, contexts: Sequence[str] = ()) -> Case:
    return Case("a", question, answer, tuple(Context(text) for text in contexts), (reference,), lang="en")


def test_an_answer_that_repeats_the_question_and_differs_in_what_was_asked_fails() -> None:
    judge = TokenOverlapJudge()
    reference = "The north gate of the old harbour is painted green and white."
    asked = "How is the north gate of the old harbour painted?"
    wrong, right = (
        f"The north gate of the old harbour is painted {colours}." for colours in ("blue", "green and white")
    )
    for criterion in (CORRECTNESS, COMPLETENESS):
        assert verdict(answered(asked, wrong, reference), criterion).score < judge.threshold
        assert verdict(answered(None, wrong, reference), criterion).score >= judge.threshold
        assert verdict(answered(asked, right, reference), criterion).score == pytest.approx(1)
    assert verdict(answered(asked, "", reference, contexts=[wrong]), CONTEXT_RECALL).score < judge.threshold


def test_a_number_that_the_question_says_need_not_be_repeated() -> None:
    reference = "In 1932 the harbour bridge."
    asked = verdict(answered("What was opened in 1932?", "The harbour bridge.", reference), CORRECTNESS)
    assert asked.score > 0.8
    assert "nowhere" not in asked.rationale
    assert verdict(answered("What was opened?", "The harbour bridge.", reference), CORRECTNESS).score < 0.35


def test_of_things_that_the_question_names_the_one_chosen_counts() -> None:
    asked = "Is the lake or the river deeper?"
    right, wrong = (
        verdict(answered(asked, f"The {what}.", "The lake."), CORRECTNESS).score for what in ("lake", "river")
    )
    assert right == pytest.approx(1)
    assert wrong < right / 2


def test_what_the_question_says_counts_in_an_answer_that_is_held_against_passages() -> None:
    contexts = ["The north gate is painted green."]
    asked, alone = (
        verdict(answered(question, "The north gate is blue.", "x", contexts=contexts), FAITHFULNESS)
        for question in ("Which colour has the north gate?", None)
    )
    assert asked.score == alone.score


def test_a_relevant_answer_may_deny_and_needs_no_number_of_the_question() -> None:
    case = Case(id="a", question="Was the bridge opened in 1932?", answer="No, the bridge was not opened then")
    found = verdict(case, ANSWER_RELEVANCE)
    assert found.score == pytest.approx(1 - (12 + 2) / (3 + 3 + 6 + 6 + 2 + 12))
    assert "negated" not in found.rationale


def test_completeness_asks_for_each_claim_of_the_best_reference() -> None:
    case = Case(
        id="a", answer="It opened in March. It is red.", references=("It is blue.", "It is red.\nIt opened in May.")
    )
    found = verdict(case, COMPLETENESS)
    assert [claim.text for claim in found.claims] == ["It is red.", "It opened in May."]
    assert found.rationale.startswith("reference 2: 2 claims; the weakest covers")
    assert found.claims[0].score == 1


def test_context_recall_looks_for_the_reference_in_the_passages() -> None:
    found = verdict(BRIDGE, CONTEXT_RECALL)
    assert found.claims[0].evidence is not None
    assert found.claims[0].evidence.doc_id == "d2"


def test_each_passage_is_judged_against_the_question() -> None:
    found = verdict(BRIDGE, CONTEXT_RELEVANCE)
    first, second = found.claims
    assert first.score < second.score
    assert found.score == pytest.approx((first.score + second.score) / 2)
    assert second.evidence is not None
    assert (second.evidence.index, second.evidence.doc_id) == (1, "d2")
    assert found.evidence == second.evidence


ANSWERED = Case(id="a", question="q", answer="a", contexts=(Context("c"),), references=("r",))


@pytest.mark.parametrize("nothing", ["", " \n", "\u200b\u00a0"])
@pytest.mark.parametrize(
    ("criterion", "missing", "code"),
    [
        (FAITHFULNESS, "contexts", "no_contexts"),
        (FAITHFULNESS, "answer", "no_answer"),
        (ANSWER_RELEVANCE, "question", "no_question"),
        (ANSWER_RELEVANCE, "answer", "no_answer"),
        (CORRECTNESS, "references", "no_references"),
        (CORRECTNESS, "answer", "no_answer"),
        (COMPLETENESS, "references", "no_references"),
        (COMPLETENESS, "answer", "no_answer"),
        (CONTEXT_RELEVANCE, "contexts", "no_contexts"),
        (CONTEXT_RELEVANCE, "question", "no_question"),
        (CONTEXT_RECALL, "contexts", "no_contexts"),
        (CONTEXT_RECALL, "references", "no_references"),
    ],
)
def test_it_abstains_where_a_text_is_missing_or_blank(
    criterion: Criterion, missing: str, code: str, nothing: str
) -> None:
    blank: dict[str, Any] = {"contexts": [{"text": nothing}, {"text": nothing}], "references": [nothing]}
    absent: dict[str, Any] = {"contexts": [], "references": []}
    for value in (blank.get(missing, nothing), absent.get(missing)):
        outcome = judged(Case.from_record({**ANSWERED.to_record(), missing: value}), criterion)
        assert isinstance(outcome, Abstained)
        assert outcome.reason == code
        assert outcome.detail


@pytest.mark.parametrize("answer", ["👍", "👍\n❤️", "...\n—"])
def test_claims_without_words_are_no_claims(answer: str) -> None:
    outcome = judged(Case(id="a", answer=answer, contexts=(Context("c"),)), FAITHFULNESS)
    assert isinstance(outcome, Abstained)
    assert outcome.reason == "no_claims"


def test_a_claim_without_words_is_left_out_and_counted() -> None:
    found = verdict(Case(id="a", answer="red\n👍", contexts=(Context("red"),)), FAITHFULNESS)
    assert (found.score, len(found.claims)) == (1, 1)
    assert found.rationale == "covers 1.00; without words, left out: 1"


@pytest.mark.parametrize("criterion", [ANSWER_RELEVANCE, CONTEXT_RELEVANCE])
def test_a_question_without_words_can_not_be_covered(criterion: Criterion) -> None:
    outcome = judged(Case(id="a", question="???", answer="a", contexts=(Context("c"),)), criterion)
    assert isinstance(outcome, Abstained)
    assert outcome.reason == "no_words"


def test_a_reference_of_stop_words_is_a_reference() -> None:
    assert verdict(Case(id="a", answer="It was The Who.", references=("The Who",)), CORRECTNESS).score == 1
    assert verdict(Case(id="a", answer="Queen", references=("The Who",)), CORRECTNESS).score == 0


def test_blank_passages_keep_their_place_in_the_evidence() -> None:
    case = Case(id="a", answer="red", contexts=(Context(" "), Context("blue"), Context("red", doc_id="r")))
    assert verdict(case, FAITHFULNESS).evidence == Evidence("contexts", 2, 0, 3, "r")


def test_a_language_of_the_case_wins_over_the_judges() -> None:
    case = Case(id="a", answer="1.000 persones", contexts=(Context("1000 persones"),))
    assert verdict(case, FAITHFULNESS).score < 0.35
    assert verdict(case, FAITHFULNESS, TokenOverlapJudge(Lines(), lang="ca")).score == 1
    assert verdict(Case.from_record({**case.to_record(), "lang": "ca"}), FAITHFULNESS).score == 1


def test_the_fingerprint_follows_what_scores_depend_on_and_not_the_threshold() -> None:
    class OtherLines(Lines):
        fingerprint = "lines@2"

    judge = TokenOverlapJudge(Lines())
    others = [
        TokenOverlapJudge(OtherLines()),
        TokenOverlapJudge(Lines(), window=4),
        TokenOverlapJudge(Lines(), penalty=0.2),
        TokenOverlapJudge(Lines(), lang="ca"),
    ]
    assert len({judge.fingerprint, *(other.fingerprint for other in others)}) == 5
    assert TokenOverlapJudge(Lines(), threshold=0.9, name="mine").fingerprint == judge.fingerprint
    assert TokenOverlapJudge(Lines(), threshold=0.9).threshold == 0.9


@pytest.mark.parametrize("wrong", [{"threshold": 1.5}, {"penalty": -0.1}, {"window": 0.5}, {"window": math.nan}])
def test_a_parameter_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        TokenOverlapJudge(Lines(), **cast("Any", wrong))


def test_a_claim_that_differs_in_a_number_or_a_negation_fails_at_the_default_threshold() -> None:
    judge = TokenOverlapJudge(Lines())
    for answer in ("The bridge opened in 1923", "The bridge never opened in 1932"):
        case = Case(id="a", answer=answer, contexts=(Context("The bridge opened in 1932"),))
        assert verdict(case, FAITHFULNESS, judge).score < judge.threshold


TEXTS = st.text(max_size=40) | st.sampled_from(["the bridge opened in 1932", "大橋が開通した", "सेतु खुला"])
CASES = st.builds(
    Case,
    id=st.just("a"),
    question=st.none() | TEXTS,
    answer=st.none() | TEXTS,
    contexts=st.lists(st.builds(Context, TEXTS), max_size=3).map(tuple),
    references=st.lists(TEXTS, max_size=3).map(tuple),
    lang=st.sampled_from([None, "en", "ca", "ja", "xx-Latn"]),
)


@given(case=CASES, criterion=st.sampled_from(COMPARED))
@settings(max_examples=200, deadline=None)
def test_any_case_gives_a_share_with_evidence_in_its_texts_or_a_reason(case: Case, criterion: Criterion) -> None:
    judge = TokenOverlapJudge()
    outcome = asyncio.run(judge.judge(case, criterion))
    assert outcome == asyncio.run(judge.judge(case, criterion, replicate=1))
    if isinstance(outcome, Abstained):
        assert outcome.reason
        return
    texts: dict[str, Sequence[str | None]] = {
        "question": [case.question],
        "answer": [case.answer],
        "contexts": [context.text for context in case.contexts],
        "references": case.references,
    }
    assert outcome.claims
    parts: list[Verdict | ClaimVerdict] = [outcome, *outcome.claims]
    for part in parts:
        assert 0 <= part.score <= 1
        assert math.isfinite(part.score)
        assert part.rationale
        assert printable(part.rationale) == part.rationale
        if part.evidence is not None:
            text = texts[part.evidence.part][part.evidence.index]
            assert text is not None
            assert 0 <= part.evidence.start < part.evidence.end <= len(text)


def rows(name: str) -> list[dict[str, Any]]:
    path = DATA / name / "items.jsonl"
    if not path.exists():
        pytest.skip(f"the data set {name} is not beside the checkout")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def to_case(row: dict[str, Any]) -> Case:
    return Case(
        id=row["id"],
        lang=row["lang"],
        question=row["question"],
        answer=row["answer"],
        contexts=tuple(Context(context["text"], doc_id=context["id"]) for context in row.get("contexts", ())),
        references=tuple(row.get("references", ())),
    )


def kappa(gold: Sequence[bool], said: Sequence[bool]) -> float:
    """Cohen's: the share of agreement beyond what chance gives."""
    n = len(gold)
    agreed = sum(a == b for a, b in zip(gold, said, strict=True)) / n
    by_chance = (sum(gold) * sum(said) + (n - sum(gold)) * (n - sum(said))) / n**2
    return (agreed - by_chance) / (1 - by_chance)


def auroc(gold: Sequence[bool], scores: Sequence[float]) -> float:
    """How often a positive scores above a negative; a tie counts half."""
    positives = [score for score, label in zip(scores, gold, strict=True) if label]
    negatives = [score for score, label in zip(scores, gold, strict=True) if not label]
    won = sum((high > low) + (high == low) / 2 for high in positives for low in negatives)
    return won / (len(positives) * len(negatives))


def test_correctness_agrees_with_people_on_open_questions() -> None:
    judge = TokenOverlapJudge()
    gold: list[bool] = []
    scores: list[float] = []
    for row in rows("openqa_nq301"):
        gold.append(row["gold"]["correctness"] == "correct")
        scores.append(verdict(to_case(row), CORRECTNESS, judge).score)
    assert len(gold) == 1490
    assert 0.57 <= kappa(gold, [score >= judge.threshold for score in scores]) <= 0.61
    assert 0.82 <= auroc(gold, scores) <= 0.85


def test_faithfulness_agrees_with_people_on_conversations_and_abstains_without_passages() -> None:
    judge = TokenOverlapJudge()
    gold: list[bool] = []
    scores: list[float] = []
    peer: list[float] = []
    reasons: dict[str, int] = {}
    for row in rows("mtrag_human_eval"):
        outcome = judged(to_case(row), FAITHFULNESS, judge)
        if isinstance(outcome, Abstained):
            reasons[outcome.reason] = reasons.get(outcome.reason, 0) + 1
            continue
        gold.append(row["gold"]["faithfulness"] >= 3)
        scores.append(outcome.score)
        peer.append(row["judges"]["bert_kprecision"]["overlap"])
    assert reasons.pop("no_contexts") == 27
    assert set(reasons) <= {"no_claims"}
    assert len(gold) + 27 + sum(reasons.values()) == 477
    assert 0.9 <= auroc(gold, scores) <= 0.96
    assert auroc(gold, scores) > auroc(gold, peer)
    assert 0.6 <= kappa(gold, [score >= judge.threshold for score in scores]) <= 0.75


def test_completeness_is_nearer_to_a_model_s_judgement_where_it_knows_the_question() -> None:
    judge = TokenOverlapJudge()
    gold: list[bool] = []
    knowing: list[float] = []
    unknowing: list[float] = []
    for row in rows("mtrag_human_eval"):
        case = to_case(row)
        found, without = (judged(each, COMPLETENESS, judge) for each in (case, replace(case, question=None)))
        if row["meta"]["system"] != "reference" and isinstance(found, Verdict) and isinstance(without, Verdict):
            gold.append(row["judges"]["rb_llm"]["quality"] >= 0.5)
            knowing.append(found.score)
            unknowing.append(without.score)
    assert len(gold) == 306
    assert 0.85 <= auroc(gold, knowing) <= 0.91
    assert auroc(gold, knowing) > auroc(gold, unknowing) + 0.03


def test_a_citation_is_no_number_that_the_passage_should_hold() -> None:
    contexts = (Context("The bridge opened in 1932."),)
    plain = judged(Case("a", answer="The bridge opened in 1932.", contexts=contexts), FAITHFULNESS)
    cited = judged(Case("a", answer="The bridge opened in 1932 [2][3, 4].", contexts=contexts), FAITHFULNESS)
    assert isinstance(plain, Verdict)
    assert isinstance(cited, Verdict)
    assert cited.score == plain.score
