import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.retry import Retried
from judges.calls.throttle import Account, Throttled, of_all, of_one
from judges.calls.tokens import Tokens, likely_tokens
from judges.errors import InputError, RateLimited, Unauthorised, Unavailable
from judges.service import ChatReply, ChatRequest, EmbeddingReply, EmbeddingRequest
from judges.usage import Limit, Limits, Usage
from support.limiters import Bucket, FixedWindow, Limited, Limiter, SlidingWindow
from support.services import Answering, AnsweringMany, chat, echo, text
from support.virtual_time import run_virtually


def throttled(service: Limited, account: Account) -> Throttled[ChatRequest, ChatReply]:
    return Throttled(service, account, likely=likely_tokens, used=of_one)


def seconds_for(
    service: Limited,
    calls: int,
    *,
    concurrency: int | None = None,
    requests_per_minute: float | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> float:
    """How long it takes to have so many calls answered, retries included."""

    async def run() -> float:
        account = Account("a", requests_per_minute=requests_per_minute, concurrency=concurrency)
        one = Retried(throttled(service, account))
        source = iter(range(calls))

        async def work() -> None:
            for number in source:
                await one(chat(str(number)))

        loop = asyncio.get_running_loop()
        loop.call_later(60.0, meanwhile)
        began = loop.time()
        async with asyncio.TaskGroup() as group:
            for _ in range(account.concurrency):
                group.create_task(work())
        return loop.time() - began

    return run_virtually(run())


# --- A limit that nobody tells ----------------------------------------------------------------------------------------

RETRY_AFTER: dict[str, Callable[[float], float] | None] = {
    "nothing said": None,
    "whole seconds": lambda wait: float(max(1, ceil(wait))),
    "milliseconds": lambda wait: wait,
}


@pytest.mark.parametrize("retry_after", RETRY_AFTER.values(), ids=RETRY_AFTER.keys())
@pytest.mark.parametrize("burst", [5, 10, 25])
def test_an_unknown_limit_is_found_and_used_with_few_refusals(
    burst: int, retry_after: Callable[[float], float] | None
) -> None:
    service = Limited(Bucket(25, burst), retry_after=retry_after)
    seconds = seconds_for(service, 500)
    assert 500 / seconds >= 0.95 * 25
    assert len(service.refused) <= 5


@pytest.mark.parametrize("limiter", [SlidingWindow(25, 1), FixedWindow(25, 1)], ids=["sliding", "fixed"])
def test_windows_of_a_second_are_used_nearly_as_well(limiter: Limiter) -> None:
    service = Limited(limiter)
    seconds = seconds_for(service, 500)
    assert 500 / seconds >= 0.9 * 25
    assert len(service.refused) <= 12


@pytest.mark.parametrize("limiter", [SlidingWindow(25, 60), FixedWindow(25, 60)], ids=["sliding", "fixed"])
def test_windows_of_a_minute_cost_few_refusals_once_they_are_full(limiter: Limiter) -> None:
    service = Limited(limiter)
    seconds = seconds_for(service, 4000)
    assert 4000 / seconds >= 0.95 * 25
    assert len(service.refused) <= 100


def test_over_long_the_refusals_become_rarer() -> None:
    service = Limited(Bucket(25, 25))
    seconds = seconds_for(service, 5000)
    assert 5000 / seconds >= 0.97 * 25
    assert sum(moment > 20 for moment in service.refused) <= 10


@pytest.mark.parametrize(("before", "after"), [(25, 12), (25, 60)])
def test_a_limit_that_changes_is_followed(before: int, after: int) -> None:
    bucket = Bucket(before, 10)
    service = Limited(bucket)

    def change() -> None:
        bucket.per_second = after

    calls = 60 * before + 120 * after
    seconds = seconds_for(service, calls, meanwhile=change)
    assert seconds <= 180 * 1.2
    assert len(service.refused) <= 0.02 * calls


def test_without_a_limit_the_calls_in_flight_are_the_limit() -> None:
    service = Limited(None)
    seconds = seconds_for(service, 2000)
    assert 2000 * 0.2 / 64 / seconds >= 0.85
    assert service.most_in_flight == 64


# --- A number of calls in flight that is stated -----------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [4, 64, 256])
def test_a_stated_number_of_calls_is_in_flight_from_the_first_reply_on(concurrency: int) -> None:
    service = Limited(None)
    seconds = seconds_for(service, 2000, concurrency=concurrency)
    round_trips = 1 + ceil(2000 / concurrency)
    assert seconds <= 0.2 * round_trips + 0.06  # it may fall into the wait for the next turn
    assert service.most_in_flight == concurrency
    assert sum(moment < 0.2 for moment, _ in service.sent) <= 5


@pytest.mark.parametrize("retry_after", RETRY_AFTER.values(), ids=RETRY_AFTER.keys())
@pytest.mark.parametrize("concurrency", [16, 64, 256])
@pytest.mark.parametrize("burst", [5, 25])
def test_if_the_service_bears_fewer_than_stated_one_round_is_refused_and_no_more(
    burst: int, concurrency: int, retry_after: Callable[[float], float] | None
) -> None:
    service = Limited(Bucket(25, burst), retry_after=retry_after)
    seconds = seconds_for(service, 500, concurrency=concurrency)
    assert 500 / seconds >= 0.95 * 25
    assert len(service.refused) <= concurrency
    assert sum(moment > 1 for moment in service.refused) <= 5


@pytest.mark.parametrize("limiter", [SlidingWindow(25, 1), FixedWindow(25, 1)], ids=["sliding", "fixed"])
def test_nor_more_than_a_round_by_a_window_of_a_second(limiter: Limiter) -> None:
    service = Limited(limiter)
    seconds = seconds_for(service, 500, concurrency=64)
    assert 500 / seconds >= 0.9 * 25
    assert len(service.refused) <= 64


def test_a_limit_that_the_first_reply_tells_is_kept_whatever_is_stated() -> None:
    service = Limited(Bucket(25, 10), limits=Limits(requests=Limit(per_minute=1500)))
    seconds = seconds_for(service, 500, concurrency=256)
    assert 500 / seconds >= 0.95 * 25
    assert not service.refused


# --- A limit that nobody tells, whatever it is ------------------------------------------------------------------------


@given(st.floats(2, 200), st.floats(5, 60), st.floats(0.05, 3))
def test_whatever_the_limit_every_call_is_answered_and_few_are_refused(
    per_second: float, burst: float, seconds: float
) -> None:
    service = Limited(Bucket(per_second, burst), seconds=seconds)
    seconds_for(service, 200)
    assert len(service.refused) <= 30


# --- A limit that is known --------------------------------------------------------------------------------------------


def test_a_limit_in_the_headers_is_kept_from_the_first_reply_on() -> None:
    service = Limited(Bucket(25, 10), limits=Limits(requests=Limit(per_minute=1500)))
    seconds = seconds_for(service, 500)
    assert 500 / seconds >= 0.95 * 25
    assert not service.refused


def test_a_stated_limit_is_kept_from_the_start() -> None:
    service = Limited(Bucket(25, 3))
    seconds = seconds_for(service, 500, requests_per_minute=1500)
    assert 500 / seconds >= 0.95 * 25
    assert not service.refused


def test_what_is_stated_counts_for_more_than_headers() -> None:
    service = Limited(None, limits=Limits(requests=Limit(per_minute=60_000)))
    assert seconds_for(service, 100, requests_per_minute=600) >= 9.9


def test_a_thousand_who_wait_go_in_the_order_they_came_at_the_stated_rate() -> None:
    async def run() -> None:
        service = Limited(None)
        one = throttled(service, Account("a", requests_per_minute=6000, concurrency=64))
        await asyncio.gather(*(one(chat(str(number))) for number in range(1000)))
        assert [name for _, name in service.sent] == [str(number) for number in range(1000)]
        assert 9.9 <= service.sent[-1][0] - service.sent[0][0] <= 10.1

    run_virtually(run())


def test_in_real_time_too_the_rate_is_kept_and_the_order() -> None:
    async def run() -> None:
        service = Limited(None, seconds=0.0)
        one = throttled(service, Account("a", requests_per_minute=12_000))
        await asyncio.gather(*(one(chat(str(number))) for number in range(60)))
        assert [name for _, name in service.sent] == [str(number) for number in range(60)]
        assert service.sent[-1][0] - service.sent[0][0] >= 59 * 0.005 - 0.06

    asyncio.run(run())


def test_judges_of_one_account_take_turns() -> None:
    async def run() -> None:
        service = Limited(None)
        account = Account("a", requests_per_minute=600)
        many, few = throttled(service, account), throttled(service, account)
        crowd = [asyncio.ensure_future(many(chat("many"))) for _ in range(20)]
        await asyncio.sleep(0)
        guests = [asyncio.ensure_future(few(chat("few"))) for _ in range(5)]
        await asyncio.gather(*crowd, *guests)
        assert Counter(name for _, name in service.sent[:12])["few"] == 5

    run_virtually(run())


# --- Refusals ---------------------------------------------------------------------------------------------------------


def test_a_refusal_stops_the_whole_account_for_as_long_as_the_service_asks() -> None:
    async def run() -> None:
        class Once:
            def __init__(self) -> None:
                self.left = 1

            def ask(self, now: float) -> float | None:
                self.left -= 1
                return 7.0 if self.left == -3 else None

        service = Limited(Once(), retry_after=lambda wait: wait)
        one = throttled(service, Account("a", requests_per_minute=1200))
        outcomes = await asyncio.gather(*(one(chat(str(number))) for number in range(9)), return_exceptions=True)
        (refused,) = service.refused
        assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 1
        later = [moment for moment, _ in service.sent if moment > refused]
        assert min(later) >= refused + 7

    run_virtually(run())


def test_an_error_of_another_kind_slows_nobody() -> None:
    async def run() -> None:
        class Ill(Limited):
            async def __call__(self, request: ChatRequest, /) -> ChatReply:
                reply = await super().__call__(request)
                if request.messages[0].text == "3":
                    raise Unavailable("gone", retry_after=100)
                return reply

        service = Ill(None)
        one = throttled(service, Account("a", requests_per_minute=600))
        await asyncio.gather(*(one(chat(str(number))) for number in range(9)), return_exceptions=True)
        assert service.sent[-1][0] < 1

    run_virtually(run())


def test_who_waits_to_try_again_holds_no_slot() -> None:
    async def run() -> None:
        service = Limited(None)
        gone = [Unavailable("gone", retry_after=50)]

        async def ill_once(request: ChatRequest, /) -> ChatReply:
            if gone:
                raise gone.pop()
            return await service(request)

        account = Account("a", concurrency=1)
        one = Retried(Throttled(ill_once, account, likely=likely_tokens, used=of_one))
        await asyncio.gather(one(chat("a")), one(chat("b")))
        assert [name for _, name in service.sent] == ["b", "a"]
        assert service.sent[0][0] < 1

    run_virtually(run())


@pytest.mark.parametrize(("seconds", "most"), [(0.01, 4), (0.2, 8), (1.0, 26)])
def test_a_key_that_is_refused_costs_what_was_sent_before_the_first_reply_and_no_more(
    seconds: float, most: int
) -> None:
    async def run() -> None:
        refusal = Unauthorised("no such key")
        service = Answering(lambda _: refusal, lambda: asyncio.sleep(seconds))
        account = Account("a")
        judges = [Throttled(service, account, likely=likely_tokens, used=of_one) for _ in range(2)]
        outcomes = await asyncio.gather(
            *(judges[number % 2](chat(str(number))) for number in range(64)), return_exceptions=True
        )
        assert outcomes == [refusal] * 64
        assert len(service.asked) <= most
        assert asyncio.get_running_loop().time() < 2 * seconds + 0.1
        service.answer = echo  # the key was mended: who comes now is let through
        assert (await judges[0](chat("again"))).text == "again"

    run_virtually(run())


# --- Tokens -----------------------------------------------------------------------------------------------------------


def of_size(read: float, written: float = 0.0) -> Callable[[ChatRequest], Tokens]:
    return lambda _: Tokens(read, written)


def duration(
    account: Callable[[], Account], likely: Callable[[ChatRequest], Tokens], usage: Usage, calls: int
) -> float:
    async def run() -> float:
        service = Limited(None, usage=usage)
        one = Throttled(service, account(), likely=likely, used=of_one)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(one(chat(str(number))) for number in range(calls)))
        return asyncio.get_running_loop().time() - began

    return run_virtually(run())


@pytest.mark.parametrize("likely", [500, 1000, 4000], ids=["too low", "right", "too high"])
def test_tokens_a_minute_are_kept_whatever_the_estimate(likely: float) -> None:
    usage = Usage(input_tokens=900, output_tokens=100)
    seconds = duration(lambda: Account("a", concurrency=8, tokens_per_minute=600_000), of_size(likely), usage, 300)
    assert 0.9 <= 300 * 1000 / 10_000 / seconds <= 1.1


def test_tokens_read_and_written_are_limited_apart() -> None:
    usage = Usage(input_tokens=1000, output_tokens=100)
    seconds = duration(
        lambda: Account("a", input_tokens_per_minute=6_000_000, output_tokens_per_minute=60_000),
        of_size(1000, 100),
        usage,
        300,
    )
    assert 0.9 <= 300 * 100 / 1000 / seconds <= 1.1


def test_what_the_prompt_cache_had_ready_does_not_count_as_read() -> None:
    usage = Usage(input_tokens=1000, cache_read_tokens=900, output_tokens=1)
    seconds = duration(lambda: Account("a", concurrency=4, input_tokens_per_minute=60_000), of_size(1000), usage, 300)
    assert seconds <= 300 * 100 / 1000 * 1.2


def test_a_limit_of_tokens_in_the_headers_is_kept() -> None:
    async def run() -> float:
        limits = Limits(tokens=Limit(per_minute=60_000))
        service = Limited(None, usage=Usage(input_tokens=100), limits=limits)
        one = Throttled(service, Account("a", concurrency=4), likely=of_size(100), used=of_one)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(one(chat(str(number))) for number in range(300)))
        return asyncio.get_running_loop().time() - began

    assert 300 * 100 / 1000 * 0.95 <= run_virtually(run()) <= 300 * 100 / 1000 * 1.1


def test_a_request_larger_than_a_minutes_tokens_still_gets_its_turn() -> None:
    assert duration(lambda: Account("a", tokens_per_minute=600), of_size(5000), Usage(), 1) < 10


def test_the_tokens_of_a_batch_are_those_of_all_its_texts() -> None:
    async def run() -> float:
        service = AnsweringMany()
        one = Throttled[Sequence[EmbeddingRequest], Sequence[EmbeddingReply]](
            service,
            Account("a", tokens_per_minute=6000),
            likely=lambda requests: Tokens(3.0 * len(requests), 0.0),
            used=of_all,
        )
        began = asyncio.get_running_loop().time()
        for _ in range(10):
            await one([text(word) for word in "abcdefghij" * 10])
        return asyncio.get_running_loop().time() - began

    assert 24 <= run_virtually(run()) <= 33


# --- Slots ------------------------------------------------------------------------------------------------------------


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 60)), max_size=12),
    st.none() | st.just(6000.0),
)
def test_cancelled_callers_leave_their_slot_and_their_turn_to_the_others(
    concurrency: int, callers: Sequence[tuple[int, int | None]], requests_per_minute: float | None
) -> None:
    async def run() -> None:
        service = Limited(None, seconds=0.01)
        account = Account("a", concurrency=concurrency, requests_per_minute=requests_per_minute)
        parties = [throttled(service, account) for _ in range(2)]
        loop = asyncio.get_running_loop()

        async def call(number: int, begin: int) -> ChatReply:
            await asyncio.sleep(begin / 1000)
            return await parties[number % 2](chat(str(number)))

        tasks = [asyncio.ensure_future(call(number, begin)) for number, (begin, _) in enumerate(callers)]
        for task, (_, cancelled) in zip(tasks, callers, strict=True):
            if cancelled is not None:
                loop.call_later(cancelled / 1000, task.cancel)
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        for outcome, (_, cancelled) in zip(outcomes, callers, strict=True):
            assert isinstance(outcome, ChatReply) or cancelled is not None
        assert service.most_in_flight <= concurrency
        await asyncio.wait_for(asyncio.gather(*(parties[0](chat("after")) for _ in range(concurrency))), 60)

    run_virtually(run())


@pytest.mark.parametrize(("requests", "tokens"), [(0, None), (None, -1), (float("nan"), None)])
def test_a_limit_is_above_nothing(requests: float | None, tokens: float | None) -> None:
    with pytest.raises(InputError, match=r"account openai: \w+ is .* must be above 0"):
        Account("openai", requests_per_minute=requests, tokens_per_minute=tokens)


def test_an_account_tells_its_pace() -> None:
    assert Account("a", requests_per_minute=90).requests_per_minute == pytest.approx(90)
