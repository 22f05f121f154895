from dataclasses import replace

import pytest

from judges.backends.overlap import TokenOverlapJudge
from judges.backends.prompted import PromptedJudge
from judges.case import Case
from judges.criteria import ANSWER_RELEVANCE, FAITHFULNESS
from judges.engine.plan import assign, key_of
from judges.judge import Judge
from judges.planning import Forecast, Known, forecast
from judges.service import ChatReply, ChatRequest, EmbeddingRequest
from judges.usage import Usage
from support.builders import make_case, make_cases


def has_nothing(judge: str, request: ChatRequest | EmbeddingRequest) -> bool:
    return False


def knows_no_price(judge: str, usage: Usage) -> float | None:
    return None


NOTHING_KNOWN = Known(is_cached=has_nothing, price=knows_no_price)


class NeverAsked:
    async def __call__(self, request: ChatRequest) -> ChatReply:
        raise AssertionError("a plan sends nothing")


def planned(cases: list[Case], judge: Judge, known: Known = NOTHING_KNOWN, there: set[bytes] | None = None) -> Forecast:
    assignments = assign([ANSWER_RELEVANCE], [judge])
    (one,) = forecast(cases, assignments, {judge.name: judge}, known, there=there or set())
    return one


def test_each_judgement_is_a_call_or_more() -> None:
    one = planned(make_cases(3), PromptedJudge(NeverAsked(), "m-1"))
    assert (one.judgements, one.calls, one.paid) == (3, 3, 3)
    assert one.input_tokens > 300
    assert 0 < one.output_tokens < one.most_output_tokens
    many = planned(make_cases(3), PromptedJudge(NeverAsked(), "m-1", samples=5))
    assert many.calls == 15


def test_what_the_run_or_the_cache_has_is_not_paid_again() -> None:
    judge = PromptedJudge(NeverAsked(), "m-1")
    cases = make_cases(3)
    (assignment,) = assign([ANSWER_RELEVANCE], [judge])
    there = {bytes.fromhex(key_of(cases[0], assignment, 0))}

    def has_one(judge: str, request: ChatRequest | EmbeddingRequest) -> bool:
        return isinstance(request, ChatRequest) and "question 1" in request.messages[0].text

    known = replace(NOTHING_KNOWN, is_cached=has_one)
    one = planned(cases, judge, known, there)
    assert (one.judgements, one.there, one.calls, one.cached, one.paid) == (3, 1, 2, 1, 1)


def test_cases_with_the_same_content_are_paid_once() -> None:
    cases = [make_case(1), replace(make_case(1), id="other")]
    one = planned(cases, PromptedJudge(NeverAsked(), "m-1"))
    assert (one.judgements, one.there, one.calls) == (2, 1, 1)


def test_money_is_what_the_tokens_cost_and_unknown_without_a_price() -> None:
    judge = PromptedJudge(NeverAsked(), "m-1")

    def price(judge: str, usage: Usage) -> float:
        return usage.input_tokens / 1000 + usage.output_tokens / 100

    known = replace(NOTHING_KNOWN, price=price)
    one = planned(make_cases(2), judge, known)
    assert one.cost == pytest.approx(one.input_tokens / 1000 + one.output_tokens / 100)
    assert one.most_cost == pytest.approx(one.input_tokens / 1000 + one.most_output_tokens / 100)
    unpriced = planned(make_cases(2), judge)
    assert unpriced.cost is None
    assert unpriced.to_record()["cost"] is None


def test_a_judge_without_a_service_takes_no_call() -> None:
    one = planned(make_cases(3), TokenOverlapJudge())
    assert (one.judgements, one.free, one.calls, one.cost) == (3, 3, 0, 0)


def test_a_case_that_does_not_fit_is_named_before_anything_is_paid() -> None:
    long = replace(make_case(1), answer="word " * 100_000)
    one = planned([make_case(0), long], PromptedJudge(NeverAsked(), "m-1", window=8_000))
    assert (one.judgements, one.refused, one.calls) == (2, 1, 1)


def test_what_abstains_costs_nothing() -> None:
    one = planned([Case("empty", question="?")], PromptedJudge(NeverAsked(), "m-1"))
    assert (one.free, one.calls) == (1, 0)


def test_claims_of_the_model_are_a_call_of_their_own() -> None:
    judge = PromptedJudge(NeverAsked(), "m-1", claims="model")
    assignments = assign([FAITHFULNESS], [judge])
    (one,) = forecast(make_cases(2), assignments, {judge.name: judge}, NOTHING_KNOWN)
    assert one.calls == 4
