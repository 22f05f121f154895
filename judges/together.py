"""Does a few things at once that belong to one."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

__all__ = ["together"]

Result = TypeVar("Result")


async def together(calls: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results of a few calls at once, in order.

    All of them end before the first error is raised: what is under way may be paid for.
    """
    if len(calls) == 1:
        return [await calls[0]]
    ended: list[list[Result] | Exception | None] = [None] * len(calls)

    async def one(place: int) -> None:
        try:
            ended[place] = [await calls[place]]
        except Exception as error:  # noqa: BLE001  raised below, when the others have ended
            ended[place] = error

    try:
        async with asyncio.TaskGroup() as group:
            for place in range(len(calls)):
                group.create_task(one(place))
    finally:
        for call in calls:
            call.close()  # one whose task was cancelled before it began
    results: list[Result] = []
    for each in ended:
        if isinstance(each, Exception):
            raise each
        results += each or []
    return results
