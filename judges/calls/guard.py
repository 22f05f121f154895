"""A service that refuses the very first requests would refuse them all: stop before there are thousands of failures."""

import asyncio
from typing import Generic, TypeVar

from judges.errors import ContextTooLong, Declined, Rejected, Unavailable
from judges.service import Service

__all__ = ["Guarded"]

RequestT = TypeVar("RequestT", contravariant=True)
ReplyT = TypeVar("ReplyT", covariant=True)


class Guarded(Generic[RequestT, ReplyT]):
    """Tells a bad request from a service that declines everything.

    Until a first call has succeeded, one that was declined, or was in vain after all attempts, waits for the others
    under way: if one of them succeeds, it was this request alone; if none does, the others would fare no better. A
    request that doesn't fit into the model's window is always alone.
    """

    __slots__ = ("_inner", "_proven", "_under_way", "_waiting")

    def __init__(self, inner: Service[RequestT, ReplyT]) -> None:
        self._inner = inner
        self._proven = False
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply.

        Raises:
            Rejected: The service declined this request and all others so far, or answered none of them.
        """
        before = self._proven
        if before:
            return await self._inner(request)
        self._under_way += 1
        try:
            reply = await self._inner(request)
        except ContextTooLong:
            self._leave()
            raise
        except (Declined, Unavailable) as error:
            self._leave()
            if not self._proven and self._under_way:
                waiter = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter
            if self._proven:
                raise
            why = "the first request was refused, so all would be" if isinstance(error, Declined) else "as all so far"
            message = f"{error} ({why})"
            raise Rejected(message, limits=error.limits) from error
        except BaseException:
            self._leave()
            raise
        self._proven = True
        self._leave()
        return reply

    def _leave(self) -> None:
        self._under_way -= 1
        if self._proven or not self._under_way:
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)
