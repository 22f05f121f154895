"""What another process is asking already is waited for, not asked twice.

A lock of one byte stands for a call under way: its place in a file is the request's fingerprint. The kernel keeps such
locks, so nothing is written, and lets go of them when a process ends, however it ends.
"""

import os
import sys
import weakref
from pathlib import Path
from typing import Generic, TypeVar

from judges.calls.shapes import Asked
from judges.clock import Clock, RealClock
from judges.service import Service

__all__ = ["Locked"]

RequestT = TypeVar("RequestT", bound=Asked)
ReplyT = TypeVar("ReplyT")

_DIGITS = 15
"""Hexadecimal digits of a place: as many as a file's offset holds. Requests that share one only wait for each other."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


class Locked(Generic[RequestT, ReplyT]):
    """Makes a call while no other process makes the same one.

    What it wraps looks into the cache first: whoever has waited finds the reply there. Where there are no such locks
    (Windows, some network drives, a folder that can't be written) calls are made at once.
    """

    __slots__ = ("__weakref__", "_clock", "_descriptor", "_inner", "_path", "_patience")

    def __init__(
        self, inner: Service[RequestT, ReplyT], path: Path, *, clock: Clock | None = None, patience: float = 300.0
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes the call.
            path: The file of the locks, made when it is first needed. It stays empty.
            clock: Tells the time and waits.
            patience: Seconds that another process is waited for: it may be stopped and never go on.
        """
        self._inner = inner
        self._path = path
        self._clock = RealClock() if clock is None else clock
        self._patience = patience
        self._descriptor: int | None = None

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply."""
        descriptor = self._opened()
        place = int(request.fingerprint[:_DIGITS], 16)
        until = self._clock.now() + self._patience
        pause = _FIRST_PAUSE
        while not _lock(descriptor, place) and self._clock.now() < until:
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            return await self._inner(request)
        finally:
            _unlock(descriptor, place)

    def _opened(self) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:  # the cache itself says so, if it can't be written either
                self._descriptor = -1
            else:
                weakref.finalize(self, os.close, self._descriptor)
        return self._descriptor


def _lock(descriptor: int, place: int) -> bool:
    """Whether no other process holds it; then we do, where there are locks."""
    if sys.platform != "win32" and descriptor >= 0:
        import fcntl

        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # POSIX leaves it open which
            return False
        except OSError:
            return True
    return True


def _unlock(descriptor: int, place: int) -> None:
    if sys.platform != "win32" and descriptor >= 0:
        import fcntl

        try:
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)
        except OSError:
            return
