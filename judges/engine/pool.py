"""Does one thing to many items, a few at a time. Memory follows the number of workers, not the number of items."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

__all__ = ["for_each", "run_to_end"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_BREATH_SECONDS = 0.02


async def for_each(
    function: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    sink: Callable[[Result], None],
    *,
    workers: int,
    grace_seconds: float | None = None,
    on_grace_over: Callable[[], None] | None = None,
) -> None:
    """Await `function` on each item, at most `workers` at a time, and hand each result to `sink`.

    `sink` is a plain function, so that no cancellation comes between a result and its sink. After the first exception
    no new item is begun; what is under way is finished and handed on, then the exception is raised as it is. What takes
    longer than `grace_seconds` then is cancelled, after `on_grace_over` was told.

    Once the caller is being cancelled no item is begun either: a function that blocks delays Ctrl-C by one call.

    A function that never waits for anything would keep the event loop from hearing Ctrl-C: so the workers pause for
    the loop a few times a second.

    Raises:
        ValueError: `workers` is below 1.
    """
    if workers < 1:
        raise ValueError("at least one worker is needed")
    source = iter(items)  # shared: each item goes to whichever worker is free
    failures: list[BaseException] = []
    caller = asyncio.current_task()
    last_breath = monotonic()
    ended = 0
    over = asyncio.Event()  # something failed, or all is done

    async def worker() -> None:
        nonlocal ended
        try:
            await work()
        finally:
            ended += 1
            if failures or ended == workers:
                over.set()

    async def work() -> None:
        nonlocal last_breath
        while not failures and not (caller and caller.cancelling()):
            try:
                item = next(source)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001  the source broke: raised below
                failures.append(error)
                return
            try:
                sink(await function(item))
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  raised below, when the others have finished
                failures.append(error)
                return
            if monotonic() - last_breath > _BREATH_SECONDS:
                await asyncio.sleep(0)
                last_breath = monotonic()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(worker()) for _ in range(workers)]
        if grace_seconds is not None:
            await over.wait()
            _, late = await asyncio.wait(tasks, timeout=grace_seconds)
            if late and on_grace_over is not None:
                on_grace_over()
            for task in late:
                task.cancel()
    if failures:
        raise failures[0]


def run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end: here, or in a thread of its own where an event loop runs already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loops: list[asyncio.AbstractEventLoop] = []

    def run() -> Result:
        with asyncio.Runner() as runner:
            loops.append(runner.get_loop())
            return runner.run(work)

    with ThreadPoolExecutor(1, "judges") as thread:
        ended = thread.submit(run)
        try:
            return ended.result()
        except KeyboardInterrupt:
            for loop in loops:
                loop.call_soon_threadsafe(_cancel_all, loop)
            raise


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
