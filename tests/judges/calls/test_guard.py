import asyncio

import pytest

from judges.calls.guard import Guarded
from judges.errors import ContextTooLong, Declined, Rejected, Unavailable
from judges.service import ChatReply, ChatRequest
from support.services import Answering, chat, echo


def declines(*questions: str) -> Answering:
    def answer(request: ChatRequest) -> ChatReply | BaseException:
        return Declined("no such parameter: x") if request.messages[0].text in questions else echo(request)

    return Answering(answer, lambda: asyncio.sleep(0))


def test_a_service_that_declines_the_first_request_stops_the_run_with_its_own_words() -> None:
    with pytest.raises(Rejected, match="no such parameter: x"):
        asyncio.run(Guarded(declines("a"))(chat("a")))


def test_a_service_that_declines_all_of_the_first_requests_stops_the_run() -> None:
    async def run() -> None:
        guarded = Guarded(declines(*"abc"))
        outcomes = await asyncio.gather(*(guarded(chat(each)) for each in "abc"), return_exceptions=True)
        assert all(isinstance(outcome, Rejected) for outcome in outcomes)

    asyncio.run(run())


def test_a_bad_request_among_the_first_is_alone_in_failing() -> None:
    async def run() -> None:
        guarded = Guarded(declines("a"))
        outcomes = await asyncio.gather(*(guarded(chat(each)) for each in "abc"), return_exceptions=True)
        assert type(outcomes[0]) is Declined
        assert [outcome.text for outcome in outcomes[1:] if isinstance(outcome, ChatReply)] == ["b", "c"]

    asyncio.run(run())


def test_after_a_success_a_declined_request_is_its_own_fault() -> None:
    async def run() -> None:
        guarded = Guarded(declines("a"))
        await guarded(chat("b"))
        with pytest.raises(Declined):
            await guarded(chat("a"))

    asyncio.run(run())


def test_a_request_that_is_too_long_never_speaks_for_the_others() -> None:
    with pytest.raises(ContextTooLong):
        asyncio.run(Guarded(Answering(lambda _: ContextTooLong("9,000 tokens")))(chat()))


def test_first_calls_that_are_all_in_vain_stop_the_run() -> None:
    async def run() -> None:
        def answer(request: ChatRequest) -> BaseException:
            return Declined("no") if request.messages[0].text == "a" else Unavailable("gone")

        guarded = Guarded(Answering(answer, lambda: asyncio.sleep(0)))
        outcomes = await asyncio.gather(guarded(chat("a")), guarded(chat("b")), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Rejected, Rejected]

    asyncio.run(run())


def test_a_cancelled_first_call_leaves_nobody_waiting() -> None:
    async def run() -> None:
        forever = asyncio.Event()

        async def service(request: ChatRequest, /) -> ChatReply:
            if request.messages[0].text == "slow":
                await forever.wait()
            raise Declined("no")

        guarded = Guarded(service)
        slow = asyncio.ensure_future(guarded(chat("slow")))
        declined = asyncio.ensure_future(guarded(chat("quick")))
        await asyncio.sleep(0.01)
        assert not declined.done()
        slow.cancel()
        with pytest.raises(Rejected):
            await asyncio.wait_for(declined, 5)

    asyncio.run(run())
