import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.flight import Flights, SingleFlight
from judges.errors import Unavailable
from judges.service import ChatReply, ChatRequest
from judges.usage import Usage, tallied
from support.services import Answering, chat, echo


async def turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def test_equal_requests_at_the_same_time_are_one_call() -> None:
    async def run() -> None:
        service = Answering(wait=lambda: turns(3))
        single = SingleFlight[ChatRequest, ChatReply](service)
        replies = await asyncio.gather(*(single(chat(question)) for question in "abaab"))
        assert [reply.text for reply in replies] == list("abaab")
        assert [request.messages[0].text for request in service.asked] == ["a", "b"]

    asyncio.run(run())


def test_requests_one_after_the_other_are_calls_of_their_own() -> None:
    async def run() -> None:
        service = Answering()
        single = SingleFlight[ChatRequest, ChatReply](service)
        await single(chat())
        await single(chat())
        assert len(service.asked) == 2

    asyncio.run(run())


def test_replicates_of_a_question_are_different_requests() -> None:
    async def run() -> None:
        service = Answering(wait=lambda: turns(3))
        single = SingleFlight[ChatRequest, ChatReply](service)
        await asyncio.gather(single(chat(replicate=0)), single(chat(replicate=1)))
        assert len(service.asked) == 2

    asyncio.run(run())


def test_stacks_share_flights_only_for_the_same_service() -> None:
    async def run() -> None:
        service = Answering(wait=lambda: turns(3))
        flights = Flights[ChatReply]()
        here = [SingleFlight[ChatRequest, ChatReply](service, identity="here", flights=flights) for _ in range(2)]
        there = SingleFlight[ChatRequest, ChatReply](service, identity="there", flights=flights)
        await asyncio.gather(*(single(chat()) for single in (*here, there)))
        assert len(service.asked) == 2
        assert not flights.under_way

    asyncio.run(run())


def test_an_error_reaches_everyone_who_waits_and_is_not_kept() -> None:
    async def run() -> None:
        error = Unavailable("gone")
        service = Answering(lambda _: error, lambda: turns(3))
        single = SingleFlight[ChatRequest, ChatReply](service)
        outcomes = await asyncio.gather(*(single(chat()) for _ in range(3)), return_exceptions=True)
        assert outcomes == [error] * 3
        assert len(service.asked) == 1
        service.answer = echo
        assert (await single(chat())).text == "why?"

    asyncio.run(run())


def test_who_only_waited_counts_as_sharing_and_not_as_answered_by_our_cache() -> None:
    async def run() -> None:
        single = SingleFlight[ChatRequest, ChatReply](Answering(wait=lambda: turns(3)))
        with tallied() as tally:
            await asyncio.gather(*(single(chat()) for _ in range(4)))
        assert tally.usage == Usage(shared=3, models=("m",))

    asyncio.run(run())


def test_if_the_one_who_calls_is_cancelled_another_takes_over() -> None:
    async def run() -> None:
        service = Answering(wait=lambda: turns(5))
        single = SingleFlight[ChatRequest, ChatReply](service)
        tasks = [asyncio.ensure_future(single(chat())) for _ in range(3)]
        await turns(2)
        tasks[0].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert [outcome.text for outcome in outcomes[1:] if isinstance(outcome, ChatReply)] == ["why?"] * 2
        assert len(service.asked) == 2

    asyncio.run(run())


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.none() | st.integers(0, 12)), max_size=8),
    st.integers(0, 4),
)
def test_whoever_is_not_cancelled_gets_a_reply_and_no_equal_calls_overlap(
    callers: Sequence[tuple[str, int, int | None]], length: int
) -> None:
    async def run() -> None:
        calling: set[str] = set()
        flights = Flights[ChatReply]()

        async def service(request: ChatRequest, /) -> ChatReply:
            assert request.fingerprint not in calling
            calling.add(request.fingerprint)
            try:
                await turns(length)
                return echo(request)
            finally:
                calling.discard(request.fingerprint)

        single = SingleFlight[ChatRequest, ChatReply](service, flights=flights)

        async def call(question: str, begin: int) -> ChatReply:
            await turns(begin)
            return await single(chat(question))

        tasks = [asyncio.ensure_future(call(question, begin)) for question, begin, _ in callers]
        for moment in range(14):
            for task, (_, _, cancelled) in zip(tasks, callers, strict=True):
                if cancelled == moment:
                    task.cancel()
            await turns(1)
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        for outcome, (question, _, cancelled) in zip(outcomes, callers, strict=True):
            assert isinstance(outcome, ChatReply | asyncio.CancelledError)
            assert isinstance(outcome, ChatReply) or cancelled is not None
            assert isinstance(outcome, asyncio.CancelledError) or outcome.text == question
        assert not flights.under_way

    asyncio.run(run())


def test_an_error_that_nobody_else_waits_for_is_raised_once() -> None:
    async def run() -> None:
        single = SingleFlight[ChatRequest, ChatReply](Answering(lambda _: Unavailable("gone")))
        with pytest.raises(Unavailable):
            await single(chat())

    asyncio.run(run())
