"""Tells whoever shows a run's progress that an account's calls are held up, and when they go on.

    with watched(progress):
        asyncio.run(...)

Heard of is whatever runs inside, tasks started there included.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

__all__ = ["Watcher", "tell_going_on", "tell_held_up", "watched"]


class Watcher(Protocol):
    """Is told by accounts, each by its name."""

    def held_up(self, account: str, why: str, seconds: float, /) -> None:
        """An attempt failed and will be made again; until one succeeds, each that fails is told.

        Args:
            account: Whose attempt.
            why: The error's own words, one line.
            seconds: Until the account is asked again, as far as it waits for a time; else 0.
        """
        ...

    def going_on(self, account: str, /) -> None:
        """An attempt succeeded again."""
        ...


_watcher: ContextVar[Watcher | None] = ContextVar("judges_watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Generator[None]:
    """Tell this one what happens inside the block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell_held_up(account: str, why: str, seconds: float) -> None:
    """Tell who watches, if anybody does."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher.held_up(account, why, seconds)


def tell_going_on(account: str) -> None:
    """Tell who watches, if anybody does."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher.going_on(account)
