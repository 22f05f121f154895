import asyncio
from pathlib import Path

import pytest

from judges.calls.budget import Budget
from judges.calls.cache import Cache
from judges.calls.flight import Flights
from judges.calls.prices import Price, PriceList
from judges.calls.stack import chat_stack, embedding_stack
from judges.calls.throttle import Account
from judges.errors import BudgetReached, Declined, NotCached, Rejected, Unavailable
from judges.service import ChatReply, ChatRequest, EmbeddingReply
from judges.usage import Usage, tallied
from support.limiters import Bucket, Limited
from support.services import Answering, AnsweringMany, chat, echo, text
from support.virtual_time import run_virtually

PRICES = PriceList(None, {"m": Price(1.0, 1.0), "e": Price(1.0, 0.0)})


def test_equal_questions_are_paid_once_at_the_same_time_and_later(tmp_path: Path) -> None:
    async def run() -> None:
        service = Answering(wait=lambda: asyncio.sleep(0.01))
        with Cache(tmp_path / "cache") as cache, tallied() as tally:
            flights = Flights[ChatReply]()
            account = Account("a")
            one, other = (
                chat_stack(service, identity="here", account=account, prices=PRICES, cache=cache, flights=flights)
                for _ in range(2)
            )
            await asyncio.gather(*(judge(chat()) for judge in (one, other) * 5))
            await one(chat())
            assert cache.statistics().hits == 1
        assert len(service.asked) == 1
        assert (tally.usage.calls, tally.usage.hits, tally.usage.shared) == (1, 1, 9)

    run_virtually(run())


def test_a_failing_attempt_is_repeated_and_paid_and_stored_once() -> None:
    async def run() -> None:
        left = [Unavailable("gone")] * 2
        service = Answering(lambda request: left.pop() if left else echo(request))
        with Cache(None) as cache, tallied() as tally:
            stack = chat_stack(service, identity="here", account=Account("a"), prices=PRICES, cache=cache)
            await stack(chat())
            assert cache.statistics().replies == 1
        assert len(service.asked) == 3
        assert tally.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cost=15e-6, models=("m",))

    run_virtually(run())


def test_without_a_cache_each_question_is_asked() -> None:
    async def run() -> None:
        service = Answering()
        stack = chat_stack(service, identity="here", account=Account("a"), prices=PRICES)
        await stack(chat())
        await stack(chat())
        assert len(service.asked) == 2

    run_virtually(run())


def test_offline_neither_account_nor_budget_is_needed() -> None:
    async def run() -> None:
        service = Answering()
        with Cache(None) as cache:
            stack = chat_stack(
                service,
                identity="here",
                account=Account("a"),
                prices=PriceList(),
                cache=cache,
                mode="offline",
                budget=Budget(0.0),
            )
            with pytest.raises(NotCached):
                await stack(chat())
        assert not service.asked

    run_virtually(run())


def test_what_is_cached_costs_nothing_of_the_budget() -> None:
    async def run() -> None:
        with Cache(None) as cache:
            account = Account("a")
            await chat_stack(Answering(), identity="here", account=account, prices=PRICES, cache=cache)(chat())
            stack = chat_stack(
                Answering(), identity="here", account=account, prices=PRICES, cache=cache, budget=Budget(0.0)
            )
            await stack(chat())
            with pytest.raises(BudgetReached):
                await stack(chat("who?"))

    run_virtually(run())


def test_a_service_that_declines_everything_stops_after_the_calls_in_flight() -> None:
    async def run() -> None:
        service = Answering(lambda _: Declined("no such parameter"), lambda: asyncio.sleep(0.1))
        stack = chat_stack(service, identity="here", account=Account("a", concurrency=8), prices=PRICES)
        outcomes = await asyncio.gather(*(stack(chat(str(number))) for number in range(8)), return_exceptions=True)
        assert all(isinstance(outcome, Rejected) for outcome in outcomes)

    run_virtually(run())


def test_texts_go_out_together_and_each_is_paid_and_stored_once() -> None:
    async def run() -> None:
        service = AnsweringMany()
        with Cache(None) as cache, tallied() as tally:
            stack = embedding_stack(service, identity="here", account=Account("a"), prices=PRICES, cache=cache)
            replies = await asyncio.gather(*(stack(text(word)) for word in "abcab"))
            assert [reply.vector for reply in replies] == [b"a", b"b", b"c", b"a", b"b"]
            await asyncio.gather(*(stack(text(word)) for word in "abcd"))
        assert service.asked == [["a", "b", "c"], ["d"]]
        assert (tally.usage.calls, tally.usage.hits, tally.usage.shared, tally.usage.input_tokens) == (2, 3, 2, 12)

    run_virtually(run())


def test_a_text_that_is_declined_fails_alone_even_if_it_comes_first() -> None:
    async def run() -> None:
        service = AnsweringMany(lambda word: Declined("too rude") if word == "rude" else None)
        stack = embedding_stack(service, identity="here", account=Account("a"), prices=PRICES)
        outcomes = await asyncio.gather(*(stack(text(word)) for word in ("rude", "a", "b")), return_exceptions=True)
        assert type(outcomes[0]) is Declined
        assert [outcome.vector for outcome in outcomes[1:] if isinstance(outcome, EmbeddingReply)] == [b"a", b"b"]

    run_virtually(run())


def test_a_run_at_the_limit_with_faults_loses_nothing_and_repeats_little() -> None:
    async def run() -> None:
        limited = Limited(Bucket(25, 25))
        faults = 0

        async def service(request: ChatRequest, /) -> ChatReply:
            nonlocal faults
            reply = await limited(request)
            if int(request.messages[0].text) % 20 == 0 and faults * 20 <= int(request.messages[0].text):
                faults += 1
                raise Unavailable("gone")
            return reply

        with Cache(None) as cache:
            stack = chat_stack(service, identity="here", account=Account("a"), prices=PRICES, cache=cache)
            source = iter(range(500))

            async def work() -> None:
                for number in source:
                    await stack(chat(str(number)))

            async with asyncio.TaskGroup() as group:
                for _ in range(64):
                    group.create_task(work())
            assert cache.statistics().replies == 500
        assert faults >= 20
        assert len(limited.sent) <= 500 * 1.06 + len(limited.refused)

    run_virtually(run())
