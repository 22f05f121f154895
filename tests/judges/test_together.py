import asyncio
from contextlib import suppress

import pytest

from judges.together import together


async def after(seconds: float, value: int) -> int:
    await asyncio.sleep(seconds)
    return value


async def failing(seconds: float, error: Exception) -> int:
    await asyncio.sleep(seconds)
    raise error


def test_results_come_in_the_order_of_the_calls() -> None:
    assert asyncio.run(together([after(0.02, 1), after(0, 2), after(0.01, 3)])) == [1, 2, 3]
    assert asyncio.run(together([after(0, 1)])) == [1]


def test_all_calls_end_before_the_first_error_is_raised() -> None:
    ended: list[int] = []

    async def slow() -> int:
        ended.append(await after(0.03, 1))
        return 1

    with pytest.raises(ValueError, match="first"):
        asyncio.run(together([failing(0.01, ValueError("first")), slow(), failing(0, ValueError("second"))]))
    assert ended == [1]


def test_a_cancellation_before_the_tasks_begin_leaves_no_call_unawaited() -> None:
    async def cancelled_at_once() -> None:
        task = asyncio.ensure_future(together([after(1, 1), after(1, 2)]))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancelled_at_once())  # warnings are errors here
