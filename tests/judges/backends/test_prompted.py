import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judges.backends.prompted import PromptedJudge
from judges.case import Case, Context, Part, Turn
from judges.claims import Claim, Split
from judges.conformance import check_judge
from judges.criteria import (
    ANSWER_RELEVANCE,
    COMPLETENESS,
    CONTEXT_RECALL,
    CONTEXT_RELEVANCE,
    CORRECTNESS,
    CRITERIA,
    FAITHFULNESS,
    FAITHFULNESS_GRADED,
    FAITHFULNESS_WHOLE,
    PREFERENCE,
)
from judges.criterion import Criterion, Example, Level, Scale, Unit
from judges.errors import ContextTooLong, InputError, InvalidReply, RateLimited, TruncatedReply
from judges.judge import Judge
from judges.prompts import load, read_template
from judges.replies import level_schema
from judges.service import ChatReply, ChatRequest
from judges.tokens import estimate_tokens
from judges.verdict import Abstained, Verdict
from support.scripted_models import ids_in, items_of, said_of, scripted, tokens_of
from support.services import Answering

CASE = Case(
    "1",
    question="How large is it?",
    answer="It is 5 GB. It is slow. It is red.",
    contexts=(Context("It holds 5 GB.", "d1"), Context(" ", "d2"), Context("It is slow.", "d3")),
    references=("It is 5 GB.", "It is 5 GB. It is blue."),
    rival="It is 6 GB.",
    history=(Turn("user", "Hello."),),
)


class Words:
    """Each word is a claim."""

    fingerprint = "words@1"

    def split(self, text: str, lang: str | None = None) -> Split:
        return Split(tuple(Claim(found[0], found.start(), found.end()) for found in re.finditer(r"\S+", text)), ())


def judge_of(model: Answering, **fields: Any) -> PromptedJudge:
    return PromptedJudge(model, "m-1", **fields)


def judged(judge: PromptedJudge, criterion: Criterion, case: Case = CASE, *, replicate: int = 0) -> Verdict:
    outcome = asyncio.run(judge.judge(case, criterion, replicate=replicate))
    assert isinstance(outcome, Verdict)
    return outcome


def user(request: ChatRequest) -> str:
    return request.messages[0].text


def texts(request: ChatRequest, kind: str) -> list[str]:
    """The texts of one kind that a request shows."""
    return re.findall(rf"^<{kind}-\w+[^>]*>\n(.*?)\n</{kind}-", user(request), re.DOTALL | re.MULTILINE)


def finds(request: ChatRequest) -> str:
    """A careful model: a claim is supported if a passage, or the answer, holds it."""
    properties: Any = (request.schema or {})["properties"]
    if "claims" in properties:
        return json.dumps({"claims": texts(request, "text")[0].split(". ")})
    if "items" not in properties:
        return said_of(properties["verdict"]["enum"][-1])
    levels = properties["items"]["items"]["properties"]["verdict"]["enum"]
    shown = " ".join(texts(request, "passage") + texts(request, "answer"))
    claims = dict(re.findall(r'^<claim-\w+ id="(\w+)"[^>]*>\n(.*?)\n</claim-', user(request), re.DOTALL | re.MULTILINE))
    return items_of((name, levels[-1] if claims.get(name, "") in shown else levels[0]) for name in ids_in(request))


# --- What is asked --------------------------------------------------------------------------------------------------


def test_it_is_a_judge_of_every_built_in_criterion_and_keeps_the_protocol() -> None:
    judge = judge_of(scripted(finds))
    assert isinstance(judge, Judge)
    assert all(judge.supports(criterion) for criterion in CRITERIA.values())
    check_judge(judge)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_a_plan_names_the_very_requests_that_are_sent(criterion: Criterion) -> None:
    for fields in ({}, {"samples": 3}, {"rationale": False}, {"window": 1_000_000}, {"claims": "model"}):
        model = scripted(finds)
        judge = judge_of(model, **fields)
        planned = judge.requests(CASE, criterion, replicate=2)
        judged(judge, criterion, replicate=2)
        if fields == {"claims": "model"} and criterion.unit is Unit.CLAIM:
            taken_apart = [request for request in model.asked if texts(request, "text")]
            assert [request for request in planned if texts(request, "text")] == taken_apart
            continue
        assert sorted(request.fingerprint for request in planned) == sorted(
            request.fingerprint for request in model.asked
        )


def test_all_claims_go_in_one_request_and_are_counted_as_asked() -> None:
    model = scripted(finds)
    verdict = judged(judge_of(model), FAITHFULNESS)
    (request,) = model.asked
    assert texts(request, "claim") == ["It is 5 GB.", "It is slow.", "It is red."]
    assert texts(request, "passage") == ["It holds 5 GB.", "It is slow."]
    assert [claim.label for claim in verdict.claims] == ["contradicted", "supported", "contradicted"]
    assert verdict.score == pytest.approx(1 / 3)
    assert [CASE.answer[claim.start : claim.end] for claim in verdict.claims if CASE.answer] == texts(request, "claim")


def test_passages_are_judged_one_by_one_under_the_numbers_they_have_in_the_case() -> None:
    model = scripted(lambda request: items_of((name, "relevant") for name in ids_in(request)))
    verdict = judged(judge_of(model), CONTEXT_RELEVANCE)
    assert ids_in(model.asked[0]) == ["p1", "p3"]
    assert [claim.text for claim in verdict.claims] == ["It holds 5 GB.", "It is slow."]


def test_of_several_references_the_one_that_fits_best_counts() -> None:
    model = scripted(finds)
    verdict = judged(judge_of(model), COMPLETENESS)
    assert verdict.score == 1
    assert [claim.text for claim in verdict.claims] == ["It is 5 GB."]
    assert [texts(request, "claim") for request in model.asked] == [["It is 5 GB."], ["It is 5 GB.", "It is blue."]]


def test_all_references_are_shown_where_the_answer_is_compared_with_them() -> None:
    model = scripted(finds)
    judged(judge_of(model), CORRECTNESS)
    assert texts(model.asked[0], "reference") == list(CASE.references)


def test_two_answers_are_shown_in_their_order() -> None:
    model = scripted(finds)
    assert judged(judge_of(model), PREFERENCE).label == "first"
    assert texts(model.asked[0], "answer") == [CASE.answer, CASE.rival]


def test_a_criterion_sees_the_parts_that_it_names_and_no_others() -> None:
    model = scripted(finds)
    bare = Criterion("tone", Part.ANSWER)
    judged(judge_of(model), bare)
    judged(judge_of(model), replace(bare, background=(Part.HISTORY, Part.QUESTION)))
    first, second = map(user, model.asked)
    assert "How large" not in first
    assert "Hello." not in first
    assert second.index("Hello.") < second.index("How large") < second.index("It is 5 GB.")


@pytest.mark.parametrize(
    ("criterion", "case", "reason"),
    [
        (FAITHFULNESS, replace(CASE, answer=None), "no_answer"),
        (FAITHFULNESS, replace(CASE, answer=" \n"), "no_answer"),
        (FAITHFULNESS, replace(CASE, contexts=()), "no_contexts"),
        (FAITHFULNESS, replace(CASE, contexts=(Context(" "),)), "no_contexts"),
        (FAITHFULNESS, replace(CASE, answer="I don't know."), "no_claims"),
        (ANSWER_RELEVANCE, replace(CASE, question=""), "no_question"),
        (CORRECTNESS, replace(CASE, references=("",)), "no_references"),
        (PREFERENCE, replace(CASE, rival=None), "no_rival"),
        (Criterion("manners", Part.ANSWER, Part.HISTORY), replace(CASE, history=()), "no_history"),
    ],
)
def test_where_something_is_missing_nothing_is_asked(criterion: Criterion, case: Case, reason: str) -> None:
    model = scripted(finds)
    judge = judge_of(model)
    outcome = asyncio.run(judge.judge(case, criterion))
    assert isinstance(outcome, Abstained)
    assert outcome.reason == reason
    assert model.asked == []
    assert judge.requests(case, criterion) == []


@pytest.mark.parametrize(
    ("criterion", "is_supported"),
    [
        (Criterion("tone", Part.ANSWER), True),
        (Criterion("clear", Part.QUESTION), True),
        (Criterion("said", Part.REFERENCES, unit=Unit.CLAIM), True),
        (Criterion("nice", Part.CONTEXTS, unit=Unit.CONTEXT), True),
        (Criterion("nice", Part.ANSWER, unit=Unit.CONTEXT), False),
        (Criterion("kinder", Part.ANSWER, unit=Unit.PAIR, background=(Part.RIVAL,)), True),
        (Criterion("kinder", Part.ANSWER, unit=Unit.PAIR), False),
        (Criterion("kinder", Part.QUESTION, unit=Unit.PAIR, background=(Part.RIVAL,)), False),
        (Criterion("polite", Part.HISTORY), False),
        (Criterion("tagged", Part.EXTRA), False),
        (Criterion("tagged", Part.ANSWER, Part.EXTRA), False),
        (Criterion("tagged", Part.ANSWER, background=(Part.EXTRA,)), False),
    ],
)
def test_it_supports_what_there_are_words_for(criterion: Criterion, is_supported: bool) -> None:
    assert judge_of(scripted(finds)).supports(criterion) is is_supported


def test_examples_of_a_rubric_are_shown_to_the_model() -> None:
    criterion = Criterion("tone", Part.ANSWER, examples=(Example({"answer": "Well!"}, "yes", "It is kind."),))
    model = scripted(finds)
    judged(judge_of(model), criterion)
    assert '{"answer":"Well!","rationale":"It is kind.","verdict":"yes"}' in model.asked[0].system


def test_what_the_user_asks_for_is_sent_as_it_is() -> None:
    model = scripted(finds)
    judge = judge_of(model, parameters={"temperature": 0}, max_tokens=700, logprobs=True, rationale=False)
    judged(judge, ANSWER_RELEVANCE)
    (request,) = model.asked
    assert (request.parameters, request.max_tokens, request.logprobs) == ({"temperature": 0}, 700, True)
    assert (request.schema or {})["required"] == ["verdict"]


def test_a_request_tells_how_long_its_reply_is_likely_to_be() -> None:
    judge = judge_of(scripted(finds))
    (whole,) = judge.requests(CASE, ANSWER_RELEVANCE)
    (three,) = judge.requests(CASE, FAITHFULNESS)
    (bare,) = replace(judge, rationale=False).requests(CASE, FAITHFULNESS)
    lengths = [request.expected_tokens or 0 for request in (bare, whole, three)]
    assert 0 < lengths[0] < lengths[1] < lengths[2] < three.max_tokens


@pytest.mark.parametrize("field", ["samples", "max_tokens", "window"])
def test_numbers_below_one_are_refused(field: str) -> None:
    with pytest.raises(InputError, match=f"{field} is 0; give 1 or more"):
        judge_of(scripted(finds), **{field: 0})


# --- Identity -------------------------------------------------------------------------------------------------------


def test_its_fingerprint_tells_whatever_may_change_a_verdict_and_nothing_else() -> None:
    judge = judge_of(scripted(finds), identity="openai https://example.org")
    changes: list[dict[str, Any]] = [
        {"model": "m-2"},
        {"identity": "openai https://example.net"},
        {"rationale": False},
        {"language": "Catalan"},
        {"samples": 2},
        {"logprobs": True},
        {"parameters": {"temperature": 0}},
        {"max_tokens": 10},
        {"long": "split", "window": 50_000},
        {"long": "split", "window": 60_000},
        {"window": 3_000},
    ]
    prints = [replace(judge, **change).fingerprint_for(FAITHFULNESS) for change in changes]
    assert len({judge.fingerprint_for(FAITHFULNESS), *prints}) == len(changes) + 1
    for same in (
        {"name": "x"},
        {"threshold": 0.7},
        {"workers": 3},
        {"window": 1_000_000},
        {"service": scripted(finds)},
    ):
        assert replace(judge, **same).fingerprint_for(FAITHFULNESS) == judge.fingerprint_for(FAITHFULNESS)


def test_who_takes_answers_apart_matters_where_they_are(tmp_path: Path) -> None:
    judge = judge_of(scripted(finds))
    for other in (replace(judge, claims="model"), replace(judge, splitter=Words())):
        assert other.fingerprint_for(FAITHFULNESS) != judge.fingerprint_for(FAITHFULNESS)
        assert other.fingerprint_for(CORRECTNESS) == judge.fingerprint_for(CORRECTNESS)


def test_a_changed_template_changes_the_fingerprint_of_its_criterion_only(tmp_path: Path) -> None:
    judge = judge_of(scripted(finds))
    path = tmp_path / "mine.md"
    path.write_text('+++\nabout = "Mine."\n+++\n# System\nSay it.\n\n# User\n{{ answer }}\n', "utf-8")
    other = replace(judge, templates={"correctness": read_template(path)})
    assert other.fingerprint_for(CORRECTNESS) != judge.fingerprint_for(CORRECTNESS)
    assert other.fingerprint_for(FAITHFULNESS) == judge.fingerprint_for(FAITHFULNESS)
    model = scripted(finds)
    judged(replace(other, service=model), CORRECTNESS)
    assert model.asked[0].system == "Say it."


# --- Claims by the model --------------------------------------------------------------------------------------------


def test_the_model_may_take_the_answer_apart() -> None:
    model = scripted(finds)
    verdict = judged(judge_of(model, claims="model"), FAITHFULNESS)
    apart, asked = model.asked
    assert apart.system == load("claims").system({})
    assert texts(apart, "text") == [CASE.answer]
    assert texts(asked, "claim") == ["It is 5 GB", "It is slow", "It is red."]
    assert [claim.start for claim in verdict.claims] == [None, None, None]


def test_criteria_that_read_the_same_take_the_answer_apart_with_one_request() -> None:
    model = scripted(finds)
    judge = judge_of(model, claims="model", samples=2)
    other = replace(
        FAITHFULNESS, name="other", premise=Part.REFERENCES, background=(Part.QUESTION, Part.HISTORY), template=""
    )
    for criterion in (FAITHFULNESS, FAITHFULNESS_GRADED, other):
        judged(judge, criterion)
        judged(judge, criterion, replicate=1)
    assert len({request.fingerprint for request in model.asked if texts(request, "text")}) == 1
    for criterion in (COMPLETENESS, CONTEXT_RECALL):
        judged(judge, criterion)
    assert len({request.fingerprint for request in model.asked if texts(request, "text")}) == 3


def test_an_answer_that_claims_nothing_is_not_judged() -> None:
    judge = judge_of(scripted(lambda _: '{"claims": []}'), claims="model")
    outcome = asyncio.run(judge.judge(CASE, FAITHFULNESS))
    assert isinstance(outcome, Abstained)
    assert outcome.reason == "no_claims"


def test_claims_that_are_no_list_are_asked_for_once_more() -> None:
    def model(request: ChatRequest) -> str:
        return "- It is 5 GB." if texts(request, "text") and len(request.messages) == 1 else finds(request)

    service = scripted(model)
    judged(judge_of(service, claims="model"), FAITHFULNESS)
    assert [len(request.messages) for request in service.asked] == [1, 3, 1]


# --- Long lists -----------------------------------------------------------------------------------------------------

MANY = replace(CASE, answer=" ".join(f"w{number}" for number in range(45)))


def test_a_long_list_of_claims_is_asked_in_several_requests() -> None:
    model = scripted(finds)
    verdict = judged(judge_of(model, splitter=Words()), FAITHFULNESS, MANY)
    assert [len(ids_in(request)) for request in model.asked] == [20, 20, 5]
    assert [name for request in model.asked for name in ids_in(request)] == [f"c{number}" for number in range(1, 46)]
    assert len(verdict.claims) == 45


def test_short_replies_hold_fewer_claims_and_those_without_rationale_more() -> None:
    for fields, sizes in (
        ({"max_tokens": 1500}, [10, 10, 10, 10, 5]),
        ({"max_tokens": 300, "rationale": False}, [10, 10, 10, 10, 5]),
        ({"max_tokens": 10}, [1] * 45),
    ):
        model = scripted(finds)
        judged(judge_of(model, splitter=Words(), **fields), FAITHFULNESS, MANY)
        assert [len(ids_in(request)) for request in model.asked] == sizes


def cut_off_above(most: int) -> Callable[[ChatRequest], str | ChatReply]:
    def model(request: ChatRequest) -> str | ChatReply:
        text = finds(request)
        return ChatReply(text[:-9], "m-1", "length") if len(ids_in(request)) > most else text

    return model


def test_a_list_whose_reply_is_cut_off_is_halved_until_it_fits() -> None:
    model = scripted(cut_off_above(3))
    verdict = judged(judge_of(model, splitter=Words()), FAITHFULNESS, replace(MANY, answer="a b c d e f g h i j"))
    assert [len(ids_in(request)) for request in model.asked] == [10, 5, 5, 2, 3, 2, 3]
    assert [claim.text for claim in verdict.claims] == list("abcdefghij")


def test_one_claim_whose_reply_is_cut_off_fails() -> None:
    with pytest.raises(TruncatedReply, match="cut off at 4,096 tokens"):
        judged(judge_of(scripted(cut_off_above(0)), splitter=Words()), FAITHFULNESS, replace(CASE, answer="a b"))


def test_a_claim_missing_twice_fails_the_judgement() -> None:
    model = scripted(lambda request: items_of((name, "supported") for name in ids_in(request) if name != "c2"))
    with pytest.raises(InvalidReply, match="twice not what was asked: missing: c2; then: missing: c2"):
        judged(judge_of(model), FAITHFULNESS)


# --- Long cases -----------------------------------------------------------------------------------------------------

LONG = replace(
    CASE,
    answer="It is 5 GB. It is slow. It is red.",
    contexts=tuple(
        Context(f"{'Filler. ' * 300}{said}", f"d{number}")
        for number, said in enumerate(["", "It is 5 GB.", "", "It is slow.", ""], 1)
    ),
)


def size(request: ChatRequest) -> int:
    return estimate_tokens(request.system) + sum(estimate_tokens(turn.text) for turn in request.messages)


def test_what_does_not_fit_is_refused_before_it_is_sent_with_the_sizes() -> None:
    model = scripted(finds)
    judge = judge_of(model, window=3_000)
    with pytest.raises(
        ContextTooLong,
        match=r"m-1: about [34],\d\d\d tokens, 750 for the reply included, don't fit into its 3,000; `--long split`",
    ):
        judged(judge, FAITHFULNESS, LONG)
    with pytest.raises(ContextTooLong):
        judge.requests(LONG, FAITHFULNESS)
    assert model.asked == []


def test_passages_that_do_not_fit_are_shown_in_several_requests_and_the_best_of_them_counts() -> None:
    model = scripted(finds)
    verdict = judged(judge_of(model, window=3_000, long="split"), FAITHFULNESS, LONG)
    assert [claim.label for claim in verdict.claims] == ["supported", "supported", "contradicted"]
    assert len(model.asked) > 1
    assert all(size(request) + request.max_tokens <= 3_000 for request in model.asked)
    assert all(len(texts(request, "claim")) == 3 for request in model.asked)
    shown = [found for request in model.asked for found in re.findall(r'n="(\d)" id="d(\d)"', user(request))]
    assert shown == [(str(number), str(number)) for number in range(1, 6)], "each keeps its number"


def test_nothing_of_a_passage_is_ever_cut() -> None:
    model = scripted(finds)
    judged(judge_of(model, window=3_000, long="split"), FAITHFULNESS, LONG)
    assert [text for request in model.asked for text in texts(request, "passage")] == [
        context.text for context in LONG.contexts
    ]


def test_passages_that_are_judged_themselves_are_split_too() -> None:
    model = scripted(lambda request: items_of((name, "relevant") for name in ids_in(request)))
    verdict = judged(judge_of(model, window=3_000, long="split"), CONTEXT_RELEVANCE, LONG)
    assert [name for request in model.asked for name in ids_in(request)] == ["p1", "p2", "p3", "p4", "p5"]
    assert len(model.asked) > 1
    assert len(verdict.claims) == 5


def test_where_no_passages_are_left_to_split_the_claims_are() -> None:
    case = replace(CASE, references=(" ".join(f"w{number}" * 100 for number in range(10)),))
    model = scripted(finds)
    verdict = judged(judge_of(model, window=2_000, long="split", splitter=Words()), COMPLETENESS, case)
    assert len(verdict.claims) == 10
    assert len(model.asked) > 3
    assert all(size(request) + request.max_tokens <= 2_000 for request in model.asked)


@pytest.mark.parametrize(
    ("criterion", "case", "words"),
    [
        (FAITHFULNESS_WHOLE, LONG, "a verdict of the whole isn't put together from parts"),
        (FAITHFULNESS, replace(LONG, contexts=(Context("Filler. " * 3000),)), "those aren't cut"),
        (CONTEXT_RELEVANCE, replace(LONG, contexts=(Context("Filler. " * 3000),)), "those aren't cut"),
    ],
)
def test_what_can_not_be_split_is_refused_with_the_reason(criterion: Criterion, case: Case, words: str) -> None:
    model = scripted(finds)
    with pytest.raises(ContextTooLong, match=words):
        judged(judge_of(model, window=3_000, long="split"), criterion, case)
    assert model.asked == []


def test_an_answer_too_long_to_be_taken_apart_is_refused() -> None:
    model = scripted(finds)
    with pytest.raises(ContextTooLong, match="taken apart"):
        judged(judge_of(model, window=3_000, claims="model"), FAITHFULNESS, replace(CASE, answer="Filler. " * 3000))
    assert model.asked == []


def refusing_above(tokens: int) -> Callable[[ChatRequest], str | ContextTooLong]:
    def model(request: ChatRequest) -> str | ContextTooLong:
        return ContextTooLong(f"m-1: at most {tokens} tokens") if size(request) > tokens else finds(request)

    return model


@pytest.mark.parametrize("window", [None, 1_000_000])
def test_where_only_the_service_knows_that_it_does_not_fit_it_is_split_then(window: int | None) -> None:
    model = scripted(refusing_above(1_500))
    verdict = judged(judge_of(model, window=window, long="split"), FAITHFULNESS, LONG)
    assert [claim.label for claim in verdict.claims] == ["supported", "supported", "contradicted"]
    read = [text for request in model.asked if size(request) <= 1_500 for text in texts(request, "passage")]
    assert read == [context.text for context in LONG.contexts]


def test_where_only_the_service_knows_and_nothing_may_be_split_its_words_are_kept_with_the_sizes() -> None:
    model = scripted(refusing_above(1_500))
    with pytest.raises(
        ContextTooLong,
        match=r"^m-1: at most 1500 tokens \(about \d,\d{3} tokens, 4,096 for the reply included\); `--long split` asks",
    ):
        judged(judge_of(model), FAITHFULNESS, LONG)
    assert len(model.asked) == 1
    with pytest.raises(ContextTooLong, match="those aren't cut"):
        judged(judge_of(scripted(refusing_above(100)), long="split"), FAITHFULNESS, LONG)


def test_a_small_window_leaves_three_quarters_for_the_case() -> None:
    model = scripted(finds)
    judged(judge_of(model, window=4_000), FAITHFULNESS)
    judged(judge_of(model, window=4_000), ANSWER_RELEVANCE)
    judged(judge_of(model, window=4_000, max_tokens=1_300), ANSWER_RELEVANCE)
    assert [request.max_tokens for request in model.asked] == [1_000, 1_000, 1_300]


# --- Samples and probabilities --------------------------------------------------------------------------------------


def test_samples_are_asked_under_numbers_of_their_own_and_their_shares_are_probabilities() -> None:
    model = scripted(lambda request: said_of("irrelevant" if request.replicate % 3 == 0 else "relevant"))
    judge = judge_of(model, samples=3)
    verdict = judged(judge, ANSWER_RELEVANCE)
    assert verdict.probabilities == pytest.approx({"irrelevant": 1 / 3, "partly_relevant": 0, "relevant": 2 / 3})
    assert verdict.label == "relevant"
    assert verdict.score == pytest.approx(2 / 3)
    judged(judge, ANSWER_RELEVANCE, replicate=1)
    assert sorted(request.replicate for request in model.asked) == [0, 1, 2, 3, 4, 5]


def test_each_claim_has_the_shares_of_its_samples() -> None:
    def model(request: ChatRequest) -> str:
        return items_of(
            (name, "supported" if name != "c2" or request.replicate else "unsupported") for name in ids_in(request)
        )

    verdict = judged(judge_of(scripted(model), samples=4), FAITHFULNESS)
    assert [claim.score for claim in verdict.claims] == [1, 0.75, 1]
    assert verdict.claims[1].probabilities == {"contradicted": 0, "unsupported": 0.25, "supported": 0.75}


def test_one_sample_that_fails_fails_all_and_the_others_are_waited_for() -> None:
    model = scripted(lambda request: RateLimited("slow down") if request.replicate == 1 else said_of("relevant"))
    with pytest.raises(RateLimited):
        judged(judge_of(model, samples=3), ANSWER_RELEVANCE)
    assert len(model.asked) == 3


def test_log_probabilities_give_the_score_of_a_whole_and_of_claims() -> None:
    two = Scale((Level("no", 0.0), Level("yes", 1.0)))

    def model(request: ChatRequest) -> ChatReply:
        assert request.logprobs
        if request.schema == level_schema(two, rationale=True):
            return tokens_of('{"verdict":"', [("yes", 0.9), ("no", 0.1)], '"}')
        return tokens_of('{"items":[{"id":"c1","verdict":"', [("no", 0.8), ("yes", 0.2)], '"}]}')

    judge = judge_of(scripted(model), logprobs=True)
    whole = judged(judge, Criterion("tone", Part.ANSWER, scale=two))
    assert whole.label == "yes"
    assert whole.score == pytest.approx(0.9)
    assert whole.probabilities == pytest.approx({"no": 0.1, "yes": 0.9})
    claim = judged(judge, Criterion("true", Part.ANSWER, unit=Unit.CLAIM, scale=two), replace(CASE, answer="It is."))
    assert claim.claims[0].score == pytest.approx(0.2)
