"""Requests that come close together become one call of a service that takes many."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, cast

from judges.clock import Clock, RealClock
from judges.errors import Declined, InvalidReply
from judges.service import ManyService

__all__ = ["Batched"]

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")

_ENOUGH_DECLINED = 4
"""If so many requests are declined one by one, and none succeeds, the others are not tried one by one."""


@dataclass(frozen=True, slots=True)
class _Answer(Generic[ReplyT]):
    """What came of one request. An error is a value here: nobody may be left to raise it to."""

    reply: ReplyT | None = None
    error: Exception | None = None
    lead: bool = False
    """Nothing came: whoever made the call was cancelled, and the receiver is to make it."""


class _Batch(Generic[RequestT, ReplyT]):
    """Requests that go together."""

    __slots__ = ("declined", "members", "sent", "size", "succeeded")

    def __init__(self) -> None:
        self.members: list[tuple[RequestT, asyncio.Future[_Answer[ReplyT]]]] = []
        self.size = 0
        self.sent = False
        self.declined = 0
        """Requests that were declined on their own."""
        self.succeeded = False
        """Whether any was not."""

    def join(self, request: RequestT, size: int = 0) -> "asyncio.Future[_Answer[ReplyT]]":
        future: asyncio.Future[_Answer[ReplyT]] = asyncio.get_running_loop().create_future()
        self.members.append((request, future))
        self.size += size
        return future

    def hand_over(self) -> None:
        """The next of those still waiting makes the call."""
        for _, future in _waiting(self.members):
            future.set_result(_Answer(lead=True))
            return


_Members: TypeAlias = "Sequence[tuple[RequestT, asyncio.Future[_Answer[ReplyT]]]]"


def _waiting(members: "_Members[RequestT, ReplyT]") -> "_Members[RequestT, ReplyT]":
    """Those who have no answer yet and still want one."""
    return [member for member in members if not member[1].done()]


class Batched(Generic[RequestT, ReplyT]):
    """Makes a service of single requests from one of many.

    The first to come waits a few milliseconds for others and makes the call for all of them; who fills a batch makes
    the call at once. If it is cancelled, another one takes over. A declined batch is halved until the requests at fault
    are found, so they alone fail.
    """

    def __init__(
        self,
        inner: ManyService[RequestT, ReplyT],
        *,
        size: Callable[[RequestT], int],
        group: Callable[[RequestT], Hashable],
        max_items: int = 256,
        max_size: int = 200_000,
        wait_seconds: float = 0.005,
        clock: Clock | None = None,
    ) -> None:
        """Wrap a service of many requests.

        Args:
            inner: What makes the call.
            size: The size of a request, in whatever `max_size` counts.
            group: Only requests of one group can go together.
            max_items: At most so many requests in a call.
            max_size: At most so much in a call, unless a single request is larger.
            wait_seconds: How long the first waits for others.
            clock: Waits.
        """
        self._inner = inner
        self._size = size
        self._group = group
        self._max_items = max_items
        self._max_size = max_size
        self._wait_seconds = wait_seconds
        self._clock = RealClock() if clock is None else clock
        self._open: dict[Hashable, _Batch[RequestT, ReplyT]] = {}

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply to this request."""
        group = self._group(request)
        size = self._size(request)
        batch = self._open.get(group)
        if batch is not None and batch.size + size > self._max_size:
            self._close(group, batch)  # its first caller still makes its call
            batch = None
        first = batch is None
        if batch is None:
            batch = self._open[group] = _Batch[RequestT, ReplyT]()
        future = batch.join(request, size)
        sends = len(batch.members) >= self._max_items or batch.size >= self._max_size
        try:
            if first and not sends:
                await self._clock.sleep(self._wait_seconds)
                sends = not batch.sent
            if sends:
                await self._send(group, batch)
            while (answer := await future).lead:
                sends = True
                future = batch.join(request)
                await self._send(group, batch)
        except BaseException:
            handed = future.done() and not future.cancelled() and future.result().lead
            future.cancel()
            if sends or handed or (first and not batch.sent):
                self._close(group, batch)
                batch.hand_over()
            raise
        if answer.error is not None:
            raise answer.error
        return cast("ReplyT", answer.reply)

    def _close(self, group: Hashable, batch: _Batch[RequestT, ReplyT]) -> None:
        if self._open.get(group) is batch:
            del self._open[group]

    async def _send(self, group: Hashable, batch: _Batch[RequestT, ReplyT]) -> None:
        batch.sent = True
        self._close(group, batch)
        await self._ask(batch, batch.members)

    async def _ask(self, batch: _Batch[RequestT, ReplyT], members: "_Members[RequestT, ReplyT]") -> None:
        members = _waiting(members)
        if not members:
            return
        answers: list[_Answer[ReplyT]]
        try:
            replies = await self._inner([request for request, _ in members])
            if len(replies) != len(members):
                raise InvalidReply(f"the service answered {len(replies)} of {len(members)} requests made in one call")  # noqa: TRY301
            answers = [_Answer(reply) for reply in replies]
            batch.succeeded = True
        except Declined as error:
            if len(members) > 1 and (batch.succeeded or batch.declined < _ENOUGH_DECLINED):
                half = len(members) // 2
                await self._ask(batch, members[:half])
                await self._ask(batch, members[half:])
                return
            batch.declined += 1
            answers = [_Answer(error=error)] * len(members)
        except Exception as error:  # noqa: BLE001  raised by each whose request this was
            answers = [_Answer(error=error)] * len(members)
        for (_, future), answer in zip(members, answers, strict=True):
            if not future.done():
                future.set_result(answer)
