import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.retry import Retried
from judges.errors import (
    Declined,
    Disposition,
    JudgesError,
    NotCached,
    RateLimited,
    Rejected,
    ServiceError,
    Unauthorised,
    Unavailable,
)
from judges.service import ChatReply, ChatRequest
from support.services import Answering, HandMovedClock, chat, echo


def failing(*errors: BaseException) -> Answering:
    """A service that fails so often, then answers."""
    left = list(errors)
    return Answering(lambda request: left.pop(0) if left else echo(request))


def retried(service: Answering, clock: HandMovedClock, attempts: int = 6) -> Retried[ChatRequest, ChatReply]:
    return Retried(service, attempts=attempts, clock=clock, random=Random(1))


def test_what_may_succeed_later_is_tried_again() -> None:
    service, clock = failing(Unavailable("gone"), RateLimited("slow down"), Unavailable("gone")), HandMovedClock()
    assert asyncio.run(retried(service, clock)(chat())).text == "why?"
    assert len(service.asked) == 4


def test_a_first_success_waits_for_nothing() -> None:
    clock = HandMovedClock()
    asyncio.run(retried(failing(), clock)(chat()))
    assert clock.slept == []


@pytest.mark.parametrize("error", [Declined("no"), Unauthorised("no key"), NotCached("none"), ValueError("a bug")])
def test_nothing_else_is_tried_again(error: Exception) -> None:
    service = failing(error)
    with pytest.raises(type(error)):
        asyncio.run(retried(service, HandMovedClock())(chat()))
    assert len(service.asked) == 1


@pytest.mark.parametrize("error", [Declined("no"), Unauthorised("no key"), ValueError("a bug")])
def test_an_error_that_ends_all_ends_the_repeating_too(error: Exception) -> None:
    service = failing(Unavailable("gone"), error)
    with pytest.raises(type(error)) as raised:
        asyncio.run(retried(service, HandMovedClock())(chat()))
    assert raised.value is error
    assert len(service.asked) == 2


def test_the_waits_double_with_a_part_left_to_chance() -> None:
    clock = HandMovedClock()
    asyncio.run(retried(failing(*[Unavailable("gone")] * 5), clock)(chat()))
    for wait, longest in zip(clock.slept, (0.5, 1, 2, 4, 8), strict=True):
        assert longest / 2 <= wait <= longest


def test_the_service_says_how_long_to_wait_and_a_little_is_added() -> None:
    clock = HandMovedClock()
    errors = [Unavailable("gone", retry_after=7), RateLimited("slow down", retry_after=0.02)]
    asyncio.run(retried(failing(*errors), clock)(chat()))
    assert 7 <= clock.slept[0] <= 8
    assert 0.02 <= clock.slept[1] <= 0.1


def test_after_the_last_attempt_its_error_is_raised_with_their_number() -> None:
    service = failing(*[Unavailable(f"gone {number}") for number in range(9)])
    with pytest.raises(Unavailable, match=r"gone 5 \(6 attempts\)"):
        asyncio.run(retried(service, HandMovedClock())(chat()))
    assert len(service.asked) == 6


def test_a_service_that_is_ill_for_long_is_given_up() -> None:
    clock = HandMovedClock()
    with pytest.raises(Unavailable):
        asyncio.run(retried(failing(*[Unavailable("gone", retry_after=50)] * 99), clock, attempts=99)(chat()))
    assert 200 < clock.time <= 300


def test_too_many_requests_are_no_failures_while_others_get_through() -> None:
    clock = HandMovedClock()
    service = failing(*[RateLimited("slow down", retry_after=100)] * 20)
    one = retried(service, clock)

    async def run() -> None:
        waiting = asyncio.ensure_future(one(chat("long")))
        while not waiting.done():
            service.answer, held = echo, service.answer
            await one(chat("short"))
            service.answer = held
            await asyncio.sleep(0)
        assert waiting.result().text == "long"

    asyncio.run(run())
    assert clock.time > 1500


def test_an_account_that_lets_nothing_through_stops_the_run() -> None:
    clock = HandMovedClock()
    with pytest.raises(Rejected, match=r"slow down \(and nothing else for 300 s, in \d+ attempts") as raised:
        asyncio.run(retried(failing(*[RateLimited("slow down")] * 99), clock)(chat()))
    assert raised.value.disposition is Disposition.STOP
    assert 300 < clock.time <= 331  # the last wait began in time


def test_a_wait_beyond_all_patience_is_not_begun() -> None:
    clock = HandMovedClock()
    with pytest.raises(Rejected, match="it asks to wait 86,400 s"):
        asyncio.run(retried(failing(RateLimited("daily quota", retry_after=86_400)), clock)(chat()))
    assert clock.slept == []


def test_a_wait_of_minutes_that_the_service_asks_for_is_kept() -> None:
    clock = HandMovedClock()
    reply = asyncio.run(retried(failing(RateLimited("slow down", retry_after=300.0)), clock)(chat()))
    assert reply.text
    assert 300 <= clock.time <= 302


def test_a_cancelled_call_is_not_repeated() -> None:
    service = failing(Unavailable("gone"), asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(retried(service, HandMovedClock())(chat()))
    assert len(service.asked) == 2


@given(st.lists(st.sampled_from([RateLimited, Unavailable, Declined, Unauthorised]), max_size=12))
def test_it_ends_with_a_reply_or_an_error_and_never_more_failed_attempts_than_allowed(
    kinds: Sequence[type[ServiceError]],
) -> None:
    service = failing(*(kind("no") for kind in kinds))
    outcome: ChatReply | JudgesError
    try:
        outcome = asyncio.run(retried(service, HandMovedClock(), attempts=3)(chat()))
    except JudgesError as error:
        outcome = error
    met = kinds[: len(service.asked)]
    assert met.count(Unavailable) <= 3
    final = next((kind for kind in kinds if kind in (Declined, Unauthorised)), None)
    if isinstance(outcome, ChatReply):
        assert final is None or len(service.asked) > len(kinds)
    elif not isinstance(outcome, Unavailable | Rejected):
        assert type(outcome) is final
