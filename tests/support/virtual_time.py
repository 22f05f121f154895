"""Runs a coroutine in time that doesn't pass by itself: whenever everything waits, the clock jumps to the next moment.

Twenty seconds of waiting take as long as the computing in between, and come out the same each time. It is the machine's
clock that is replaced while the coroutine runs: the event loop's and `time.monotonic`.
"""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_virtually"]

Result = TypeVar("Result")


class _Selector(selectors.DefaultSelector):
    """Never waits, but moves the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and nothing will come")
        self.now += max(0.0, timeout)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run_virtually(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that may use sleeps, timers and locks, but no input or output."""
    real = time.monotonic
    with asyncio.Runner(loop_factory=_Loop) as runner:
        time.monotonic = runner.get_loop().time
        try:
            return runner.run(work)
        finally:
            time.monotonic = real
