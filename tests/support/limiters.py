"""The ways in which services enforce a limit of requests, in seconds of the running event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from judges.errors import RateLimited
from judges.service import ChatReply, ChatRequest
from judges.usage import Limits, Usage

__all__ = ["Bucket", "FixedWindow", "Limited", "Limiter", "SlidingWindow"]


class Limiter(Protocol):
    """Lets a request in, or says in how many seconds it would."""

    def ask(self, now: float) -> float | None: ...


class Bucket:
    """Fills evenly and holds so many requests at most."""

    def __init__(self, per_second: float, burst: float) -> None:
        self.per_second = per_second
        self._burst = self._left = burst
        self._at = 0.0

    def ask(self, now: float) -> float | None:
        self._left = min(self._burst, self._left + (now - self._at) * self.per_second)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / self.per_second
        self._left -= 1
        return None


class SlidingWindow:
    """No more than so many in any window."""

    def __init__(self, per_second: float, seconds: float) -> None:
        self._most = round(per_second * seconds)
        self._seconds = seconds
        self._let_in: deque[float] = deque()

    def ask(self, now: float) -> float | None:
        while self._let_in and self._let_in[0] <= now - self._seconds:
            self._let_in.popleft()
        if len(self._let_in) >= self._most:
            return self._let_in[0] + self._seconds - now
        self._let_in.append(now)
        return None


class FixedWindow:
    """So many from each full window to the next."""

    def __init__(self, per_second: float, seconds: float) -> None:
        self._most = round(per_second * seconds)
        self._seconds = seconds
        self._window = self._let_in = 0

    def ask(self, now: float) -> float | None:
        window = int(now / self._seconds)
        if window != self._window:
            self._window, self._let_in = window, 0
        if self._let_in >= self._most:
            return (window + 1) * self._seconds - now
        self._let_in += 1
        return None


class Limited:
    """A language model behind a limit: what is over it gets a 429 at once, what is not takes its time."""

    def __init__(
        self,
        limiter: Limiter | None,
        *,
        seconds: float = 0.2,
        retry_after: Callable[[float], float] | None = None,
        limits: Limits | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.limiter = limiter
        self.seconds = seconds
        self.sent: list[tuple[float, str]] = []
        self.refused: list[float] = []
        self.in_flight = self.most_in_flight = 0
        self._retry_after = retry_after
        self._limits = limits
        self._usage = usage or Usage()

    async def __call__(self, request: ChatRequest, /) -> ChatReply:
        now = asyncio.get_running_loop().time()
        self.sent.append((now, request.messages[-1].text))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            wait = None if self.limiter is None else self.limiter.ask(now)
            if wait is not None:
                self.refused.append(now)
                await asyncio.sleep(0.005)
                retry_after = None if self._retry_after is None else self._retry_after(wait)
                raise RateLimited("too many requests", retry_after=retry_after, limits=self._limits)
            await asyncio.sleep(self.seconds)
            return ChatReply("yes", request.model, usage=self._usage, limits=self._limits)
        finally:
            self.in_flight -= 1
