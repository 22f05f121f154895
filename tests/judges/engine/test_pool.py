import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

import pytest

from judges.engine.pool import for_each

Item = TypeVar("Item")
Result = TypeVar("Result")


def run(function: Callable[[Item], Awaitable[Result]], items: Iterable[Item], workers: int = 4) -> list[Result]:
    results: list[Result] = []
    asyncio.run(for_each(function, items, results.append, workers=workers))
    return results


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_every_item_is_done_once() -> None:
    assert sorted(run(double, range(100))) == list(range(0, 200, 2))


def test_no_more_than_so_many_are_under_way() -> None:
    under_way = most = 0

    async def watched(_: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1

    run(watched, range(40), workers=7)
    assert most == 7


def test_items_are_taken_only_when_a_worker_is_free() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    async def check(number: int) -> None:
        await asyncio.sleep(0)
        assert len(taken) <= number + 5

    run(check, items(), workers=3)
    assert len(taken) == 20


def test_after_an_exception_no_item_is_begun_but_what_is_under_way_is_handed_on() -> None:
    begun: list[int] = []
    results: list[int] = []

    async def work(number: int) -> int:
        begun.append(number)
        await asyncio.sleep(0)
        if number == 2:
            raise ValueError("two")
        await asyncio.sleep(0.01)
        return number

    with pytest.raises(ValueError, match="two"):
        asyncio.run(for_each(work, range(100), results.append, workers=4))
    assert begun == [0, 1, 2, 3]
    assert sorted(results) == [0, 1, 3]


def test_an_exception_of_the_source_or_the_sink_is_raised_as_it_is() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("unplugged")

    with pytest.raises(OSError, match="unplugged"):
        run(double, broken())

    def refuse(_: int) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        asyncio.run(for_each(double, [1, 2, 3], refuse, workers=2))


def test_a_function_that_never_waits_leaves_the_loop_time_to_cancel() -> None:
    done = 0

    async def busy(_: int) -> None:
        nonlocal done
        done += 1

    def endless() -> Iterator[int]:
        while True:
            yield 0

    async def main() -> None:
        task = asyncio.create_task(for_each(busy, endless(), lambda _: None, workers=2))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 30))
    assert done > 1


def test_without_a_worker_nothing_can_be_done() -> None:
    with pytest.raises(ValueError, match="one worker"):
        run(double, [1], workers=0)
