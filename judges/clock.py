"""Time, as a thing that is passed in: tests move it by hand."""

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "RealClock"]


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Seconds since some fixed moment; it never goes back."""
        ...

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


class RealClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float, /) -> None:
        """Wait in the event loop."""
        await asyncio.sleep(seconds)
