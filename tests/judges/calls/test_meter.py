import asyncio

import pytest

from judges.calls.budget import Budget
from judges.calls.meter import Metered
from judges.calls.prices import Price, PriceList
from judges.calls.tokens import most_tokens
from judges.errors import BudgetReached, InputError, Unavailable
from judges.service import ChatReply, ChatRequest
from judges.usage import Usage, tallied
from support.services import Answering, chat, echo

PRICES = PriceList(None, {"m": Price(1_000_000, 2_000_000)})  # a dollar a token read, two a token written


def metered(
    service: Answering, prices: PriceList = PRICES, budget: Budget | None = None
) -> Metered[ChatRequest, ChatReply]:
    return Metered(
        service,
        prices,
        budget=budget,
        model=lambda request: request.model,
        most=most_tokens,
        used=lambda reply: (reply.model, reply.usage),
    )


def test_a_reply_is_counted_with_its_tokens_and_its_cost() -> None:
    with tallied() as tally:
        reply = asyncio.run(metered(Answering())(chat()))
    assert reply.text == "why?"
    assert tally.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cost=20.0, models=("m",))


def test_a_call_without_a_known_price_is_counted_as_such() -> None:
    with tallied() as tally:
        asyncio.run(metered(Answering(), PriceList())(chat()))
    assert tally.usage == Usage(calls=1, input_tokens=10, output_tokens=5, unpriced=1, models=("m",))


def test_the_name_the_service_gives_to_the_model_may_have_the_price() -> None:
    service = Answering(lambda _: ChatReply("yes", "m", usage=Usage(input_tokens=10)))
    with tallied() as tally:
        asyncio.run(metered(service)(chat(model="alias")))
    assert tally.usage.cost == 10.0


def test_a_failed_call_is_not_counted_and_leaves_the_budget_as_it_was() -> None:
    budget = Budget(1000.0)
    with tallied() as tally, pytest.raises(Unavailable):
        asyncio.run(metered(Answering(lambda _: Unavailable("gone")), budget=budget)(chat()))
    assert tally.usage == Usage()
    assert budget.spent == 0


def test_an_attempt_that_may_have_been_billed_is_taken_for_as_dear_as_it_can_be() -> None:
    most = most_tokens(chat(max_tokens=5))
    worst = most.input_tokens + 2.0 * most.output_tokens
    budget = Budget(10_000.0)
    lost = Unavailable("cut off", may_be_billed=True)
    with tallied() as tally, pytest.raises(Unavailable):
        asyncio.run(metered(Answering(lambda _: lost), budget=budget)(chat(max_tokens=5)))
    assert tally.usage == Usage(unanswered=1)
    assert budget.spent == worst


def test_no_call_is_made_that_could_pass_the_budget() -> None:
    most = most_tokens(chat(max_tokens=5))
    worst = most.input_tokens + 2 * most.output_tokens
    service, budget = Answering(), Budget(worst + 45.0)
    one = metered(service, budget=budget)

    async def run() -> None:
        for _ in range(10):
            await one(chat(max_tokens=5))

    with pytest.raises(BudgetReached, match=r"\$60\.00 are spent"):
        asyncio.run(run())
    assert len(service.asked) == 3


def test_calls_at_the_same_time_cannot_pass_the_budget_together() -> None:
    budget = Budget(100.0)
    service = Answering(echo, lambda: asyncio.sleep(0.001))
    one = metered(service, budget=budget)

    async def run() -> int:
        outcomes = await asyncio.gather(*(one(chat(max_tokens=5)) for _ in range(10)), return_exceptions=True)
        return sum(isinstance(outcome, BudgetReached) for outcome in outcomes)

    refused = asyncio.run(run())
    assert refused
    assert budget.spent == 20.0 * (10 - refused) <= 100.0


def test_a_budget_needs_a_price_before_anything_is_paid() -> None:
    service = Answering()
    with pytest.raises(InputError, match="the price of m isn't known"):
        asyncio.run(metered(service, PriceList(), Budget(1.0))(chat()))
    assert not service.asked
