"""What an account says of calls that wait."""

import asyncio
from collections.abc import Iterator

import pytest

from judges.calls.retry import Retried
from judges.calls.throttle import Account, Throttled, of_one
from judges.calls.tokens import likely_tokens
from judges.calls.waits import watched
from judges.errors import Declined, RateLimited, ServiceError, Unavailable
from judges.service import ChatReply, ChatRequest
from support.services import Answering, chat, echo
from support.virtual_time import run_virtually


class Heard:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.seconds: list[float] = []

    def held_up(self, account: str, why: str, seconds: float, /) -> None:
        self.told.append(f"{account}: {why}")
        self.seconds.append(seconds)

    def going_on(self, account: str, /) -> None:
        self.told.append(f"{account} goes on")


def heard_of(*errors: ServiceError, calls: int = 1, then: float = 0.2) -> Heard:
    """What is told of calls made at once, the first of which fail so."""
    left: Iterator[ServiceError] = iter(errors)

    def answer(request: ChatRequest) -> ChatReply | ServiceError:
        return next(left, None) or echo(request)

    async def run() -> None:
        one = Retried(
            Throttled(
                Answering(answer, lambda: asyncio.sleep(then)), Account("openai"), likely=likely_tokens, used=of_one
            )
        )
        await asyncio.gather(*(one(chat(str(number))) for number in range(calls)), return_exceptions=True)

    heard = Heard()
    with watched(heard):
        run_virtually(run())
    return heard


def test_where_all_goes_well_nothing_is_told() -> None:
    assert heard_of(calls=20).told == []


def test_a_refusal_is_told_with_the_time_it_takes_and_so_is_the_end_of_it() -> None:
    heard = heard_of(RateLimited("too many requests", retry_after=35))
    assert heard.told == ["openai: too many requests", "openai goes on"]
    assert heard.seconds == [pytest.approx(35)]


def test_every_refusal_is_told_as_long_as_nothing_else_comes() -> None:
    heard = heard_of(*[RateLimited("too many requests")] * 12)
    assert heard.told == ["openai: too many requests"] * 12 + ["openai goes on"]


def test_a_service_that_is_not_well_is_told_too() -> None:
    heard = heard_of(Unavailable("overloaded"), Unavailable("overloaded"))
    assert heard.told == ["openai: overloaded"] * 2 + ["openai goes on"]
    assert heard.seconds == [0.0, 0.0]


def test_what_was_under_way_when_all_had_to_pause_does_not_end_the_pause() -> None:
    heard = heard_of(RateLimited("too many requests", retry_after=35), calls=6)
    assert heard.told == ["openai: too many requests", "openai goes on"]


def test_what_is_not_tried_again_is_not_waited_for() -> None:
    assert heard_of(Declined("no")).told == []


def test_outside_the_block_nobody_hears() -> None:
    heard = Heard()
    with watched(heard):
        pass
    asyncio.run(Throttled(Answering(), Account("a"), likely=likely_tokens, used=of_one)(chat()))
    assert heard.told == []
