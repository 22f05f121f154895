"""What another process is asking already is waited for, not asked twice.

A lock of one byte stands for a call under way: its place in a file is made of the fingerprints of request and service.
The kernel keeps such locks, so nothing is written, and lets go of them when a process ends, however it ends.
"""

import os
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from judges.calls.shapes import Asked
from judges.clock import Clock, RealClock
from judges.fingerprint import fingerprint
from judges.service import Service

__all__ = ["Locked"]

RequestT = TypeVar("RequestT", bound=Asked)
ReplyT = TypeVar("ReplyT")

_DIGITS = 15
"""Hexadecimal digits of a place: as many as a file's offset holds. Requests that share one only wait for each other."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


class Locked(Generic[RequestT, ReplyT]):
    """Makes a call while no other process makes the same one, and no other stack of this one.

    What it wraps looks into the cache first: whoever has waited finds the reply there. Where there are no such locks
    (Windows, some network drives, a folder that can't be written) other processes aren't waited for.
    """

    __slots__ = ("_clock", "_inner", "_path", "_patience", "_places", "_shift")

    def __init__(
        self,
        inner: Service[RequestT, ReplyT],
        path: Path,
        *,
        identity: str = "",
        clock: Clock | None = None,
        patience: float = 300.0,
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes the call.
            path: The file of the locks, made when it is first needed. It stays empty.
            identity: Names service and endpoint: the same request to another one is another call.
            clock: Tells the time and waits.
            patience: Seconds that another process is waited for: it may be stopped and never go on.
        """
        self._inner = inner
        self._path = path
        self._clock = RealClock() if clock is None else clock
        self._patience = patience
        self._places: _Places | None = None
        self._shift = int(fingerprint(identity)[:_DIGITS], 16)

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply."""
        if self._places is None:
            self._places = _places_of(self._path)
        places = self._places
        place = int(request.fingerprint[:_DIGITS], 16) ^ self._shift
        until = self._clock.now() + self._patience
        pause = _FIRST_PAUSE
        while not (is_ours := places.take(place)) and self._clock.now() < until:
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            return await self._inner(request)
        finally:
            if is_ours:
                places.leave(place)


class _Places:
    """The file of the locks as this process has it: open once, for to close it anywhere would let go of every lock that
    the process has in it. Within the process the kernel tells nobody apart: so what is held is noted too.

    Source:
        POSIX.1-2017, `fcntl`, "F_SETLK" and what closing does.
    """

    def __init__(self, path: Path) -> None:
        self._held: dict[int, object] = {}
        self._descriptor: int | None = None
        if sys.platform != "win32":
            try:
                self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:  # the cache itself says so, if it can't be written either
                return
            weakref.finalize(self, os.close, self._descriptor)

    def take(self, place: int) -> bool:
        """Whether nobody holds it; then we do, from other processes' view as far as there are locks."""
        mark = object()
        if self._held.setdefault(place, mark) is not mark:
            return False
        if sys.platform != "win32" and self._descriptor is not None:
            import fcntl

            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):  # POSIX leaves it open which
                del self._held[place]
                return False
            except OSError:  # there are no locks here
                return True
        return True

    def leave(self, place: int) -> None:
        """Others may have it now."""
        if sys.platform != "win32" and self._descriptor is not None:
            import fcntl

            with suppress(OSError):
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
        del self._held[place]


_open: WeakValueDictionary[str, _Places] = WeakValueDictionary()
_opening = Lock()


def _places_of(path: Path) -> _Places:
    """The one of this process, by whatever name the file goes."""
    name = os.path.realpath(path)
    with _opening:
        places = _open.get(name)
        if places is None:
            places = _open[name] = _Places(path)
        return places
