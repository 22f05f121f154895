import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.batch import Batched
from judges.errors import Declined, InvalidReply, Unavailable
from judges.service import EmbeddingReply, EmbeddingRequest
from support.services import AnsweringMany, text
from support.virtual_time import run_virtually


def batched(
    service: AnsweringMany, *, max_items: int = 256, max_size: int = 1000
) -> Batched[EmbeddingRequest, EmbeddingReply]:
    return Batched(
        service,
        size=lambda request: len(request.text),
        group=lambda request: request.model,
        max_items=max_items,
        max_size=max_size,
    )


def ask(
    service: AnsweringMany, words: Sequence[str], *, max_items: int = 256, max_size: int = 1000
) -> list[EmbeddingReply | BaseException]:
    async def run() -> list[EmbeddingReply | BaseException]:
        one = batched(service, max_items=max_items, max_size=max_size)
        return await asyncio.gather(*(one(text(word)) for word in words), return_exceptions=True)

    return run_virtually(run())


def vectors(outcomes: Sequence[EmbeddingReply | BaseException]) -> list[str]:
    return [outcome.vector.decode() for outcome in outcomes if isinstance(outcome, EmbeddingReply)]


def test_requests_that_come_together_are_one_call() -> None:
    service = AnsweringMany()
    assert vectors(ask(service, "abc")) == list("abc")
    assert service.asked == [["a", "b", "c"]]


def test_those_that_come_a_few_milliseconds_later_go_along_and_later_ones_do_not() -> None:
    async def run() -> None:
        service = AnsweringMany()
        one = batched(service)

        async def later(seconds: float, word: str) -> EmbeddingReply:
            await asyncio.sleep(seconds)
            return await one(text(word))

        await asyncio.gather(*(later(seconds, word) for seconds, word in ((0, "a"), (0.004, "b"), (0.006, "c"))))
        assert service.asked == [["a", "b"], ["c"]]

    run_virtually(run())


def test_a_full_batch_goes_at_once() -> None:
    async def run() -> None:
        service = AnsweringMany()
        one = batched(service, max_items=2)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(one(text("a")), one(text("b")))
        assert service.asked == [["a", "b"]]
        assert asyncio.get_running_loop().time() <= began + 0.0051

    run_virtually(run())


def test_no_batch_is_larger_than_allowed_unless_one_text_is() -> None:
    service = AnsweringMany()
    assert vectors(ask(service, ["four", "four", "much too long", "one"], max_size=8))
    assert sorted(service.asked, key=len) == [["much too long"], ["one"], ["four", "four"]]


def test_requests_of_different_groups_do_not_go_together() -> None:
    async def run() -> None:
        service = AnsweringMany()
        one = batched(service)
        await asyncio.gather(one(text("a", model="x")), one(text("b", model="y")), one(text("c", model="x")))
        assert sorted(service.asked) == [["a", "c"], ["b"]]

    run_virtually(run())


def test_a_declined_batch_is_halved_until_the_one_at_fault_is_alone() -> None:
    service = AnsweringMany(lambda word: Declined(f"not {word}") if word == "f" else None)
    outcomes = ask(service, "abcdefgh")
    assert vectors(outcomes) == list("abcdegh")
    assert isinstance(outcomes[5], Declined)
    assert len(service.asked) <= 2 * 3 + 1


def test_if_everything_is_declined_not_every_request_is_tried_alone() -> None:
    service = AnsweringMany(lambda _: Declined("no such parameter"))
    outcomes = ask(service, [f"text {number}" for number in range(256)], max_size=100_000)
    assert all(isinstance(outcome, Declined) for outcome in outcomes)
    assert len(service.asked) < 30


def test_any_other_error_is_everyones() -> None:
    error = Unavailable("gone")
    service = AnsweringMany(lambda _: error)
    assert ask(service, "abc") == [error] * 3
    assert len(service.asked) == 1


def test_a_service_that_answers_too_few_has_answered_nobody() -> None:
    async def short(requests: Sequence[EmbeddingRequest], /) -> Sequence[EmbeddingReply]:
        return [EmbeddingReply(b"", each.model) for each in requests][1:]

    async def run() -> None:
        one = Batched(short, size=lambda _: 1, group=lambda _: 0)
        outcomes = await asyncio.gather(one(text("a")), one(text("b")), return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["the service answered 1 of 2 requests made in one call"] * 2
        assert all(isinstance(outcome, InvalidReply) for outcome in outcomes)

    run_virtually(run())


def test_if_the_one_who_calls_is_cancelled_another_takes_over() -> None:
    async def run() -> None:
        service = AnsweringMany(wait=lambda: asyncio.sleep(1))
        one = batched(service)
        tasks = [asyncio.ensure_future(one(text(word))) for word in "abc"]
        await asyncio.sleep(0.5)
        tasks[0].cancel()
        assert vectors(await asyncio.gather(*tasks, return_exceptions=True)) == ["b", "c"]
        assert service.asked[0] == ["a", "b", "c"]
        assert sorted(service.asked[1]) == ["b", "c"]

    run_virtually(run())


def test_a_request_that_is_cancelled_before_the_call_is_not_sent() -> None:
    async def run() -> None:
        service = AnsweringMany()
        one = batched(service)
        tasks = [asyncio.ensure_future(one(text(word))) for word in "abc"]
        await asyncio.sleep(0.001)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert service.asked == [["a", "c"]]

    run_virtually(run())


@given(
    st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 25), st.sampled_from("abcd")), max_size=12),
    st.integers(1, 5),
    st.sets(st.sampled_from("abcd"), max_size=2),
)
def test_whoever_is_not_cancelled_gets_its_own_answer(
    callers: Sequence[tuple[int, int | None, str]], max_items: int, refused: set[str]
) -> None:
    async def run() -> None:
        service = AnsweringMany(lambda word: Declined(word) if word in refused else None, lambda: asyncio.sleep(0.005))
        one = batched(service, max_items=max_items)

        async def call(begin: int, word: str) -> EmbeddingReply:
            await asyncio.sleep(begin / 1000)
            return await one(text(word))

        loop = asyncio.get_running_loop()
        tasks = [asyncio.ensure_future(call(begin, word)) for begin, _, word in callers]
        for task, (_, cancelled, _) in zip(tasks, callers, strict=True):
            if cancelled is not None:
                loop.call_later(cancelled / 1000, task.cancel)
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        for outcome, (_, cancelled, word) in zip(outcomes, callers, strict=True):
            match outcome:
                case EmbeddingReply():
                    assert outcome.vector.decode() == word
                case Declined():
                    assert str(outcome) == word
                    assert word in refused
                case _:
                    assert isinstance(outcome, asyncio.CancelledError)
                    assert cancelled is not None
        assert all(len(each) <= max_items for each in service.asked)

    run_virtually(run())


def test_a_batch_of_one_is_a_call_like_any_other() -> None:
    service = AnsweringMany(lambda _: Declined("no"))
    (outcome,) = ask(service, ["a"])
    with pytest.raises(Declined):
        raise outcome if isinstance(outcome, BaseException) else AssertionError
