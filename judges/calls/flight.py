"""Equal requests in flight are one call."""

import asyncio
from typing import Generic, TypeVar

from judges.calls.shapes import Answered, Asked
from judges.service import Service
from judges.usage import Usage, add_usage

__all__ = ["Flights", "SingleFlight"]

RequestT = TypeVar("RequestT", bound=Asked)
ReplyT = TypeVar("ReplyT", bound=Answered)


class _Flight(Generic[ReplyT]):
    __slots__ = ("error", "reply", "waiting")

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.reply: ReplyT | None = None
        self.error: Exception | None = None

    def land(self) -> None:
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_result(None)


class Flights(Generic[ReplyT]):
    """The calls under way, by service and request. Shared by all stacks whose equal requests shall be one call."""

    __slots__ = ("under_way",)

    def __init__(self) -> None:
        self.under_way: dict[tuple[str, str], _Flight[ReplyT]] = {}


class SingleFlight(Generic[RequestT, ReplyT]):
    """Makes one call of equal requests that come at the same time.

    The first caller makes the call itself, so no task is left behind. If it is cancelled, another one takes over; if
    the call fails, all of them get the same error. Those who only waited count as such in the usage.
    """

    __slots__ = ("_flights", "_identity", "_inner")

    def __init__(
        self, inner: Service[RequestT, ReplyT], *, identity: str = "", flights: Flights[ReplyT] | None = None
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes the call.
            identity: Names service and endpoint, where stacks of several share their flights.
            flights: What is under way; None for its own.
        """
        self._inner = inner
        self._identity = identity
        self._flights = Flights[ReplyT]() if flights is None else flights

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply, which equal requests under way get too."""
        key = (self._identity, request.fingerprint)
        under_way = self._flights.under_way
        while (flight := under_way.get(key)) is not None:
            waiter = asyncio.get_running_loop().create_future()
            flight.waiting.append(waiter)
            await waiter
            if flight.error is not None:
                raise flight.error
            if flight.reply is not None:
                add_usage(Usage(shared=1, models=(flight.reply.model,)))
                return flight.reply
            # Whoever made the call was cancelled: the first to get here makes it now.
        mine: _Flight[ReplyT] = _Flight()
        under_way[key] = mine
        try:
            reply = await self._inner(request)
        except Exception as error:
            mine.error = error
            raise
        else:
            mine.reply = reply
            return reply
        finally:
            del under_way[key]
            mine.land()
