"""As fast as an account allows: calls in flight, requests and tokens a minute. The home of asyncio_throttle."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

from asyncio_throttle.throttler import Throttler

from judges.calls.pace import Pace
from judges.calls.shapes import Answered
from judges.calls.tokens import Tokens
from judges.calls.waits import tell_going_on, tell_held_up
from judges.clock import Clock, RealClock
from judges.errors import Disposition, InputError, RateLimited, ServiceError
from judges.service import Service
from judges.usage import NOTHING_USED, Limits, Usage

__all__ = ["Account", "Call", "Throttled", "of_all", "of_one"]

RequestT = TypeVar("RequestT", contravariant=True)
ReplyT = TypeVar("ReplyT", covariant=True)

_IN_FLIGHT = 64
"""Calls in flight at most, where nobody states it."""
_OF_WHAT_IT_SAYS = 0.99
"""The share used of a limit that headers state: requests arrive a little earlier or later than they were sent."""
_SHORT = 0.0001
"""Seconds that aren't worth a sleep."""
_LONG = 0.1
"""Seconds that are better slept than waited for in the throttler."""
_LEARNING = 0.05
"""Weight of a new figure in the mean of what requests use beside what they should."""


class _Allowance:
    """Tokens: they flow in evenly, and at most one second's worth is kept. A request may take it below nothing."""

    __slots__ = ("_at", "_left", "per_second", "stated")

    def __init__(self, per_minute: float | None, now: float) -> None:
        self.stated = per_minute is not None
        self.per_second = inf if per_minute is None else per_minute / 60
        self._left = self.per_second
        self._at = now

    def learn(self, per_minute: float | None, now: float) -> None:
        """A header states the limit; what the user has stated holds."""
        if per_minute is None or self.stated:
            return
        per_second = _OF_WHAT_IT_SAYS * per_minute / 60
        if per_second != self.per_second:
            self._left = min(self._flow(now), per_second)
            self.per_second = per_second

    def _flow(self, now: float) -> float:
        if self.per_second != inf:
            self._left = min(self.per_second, self._left + (now - self._at) * self.per_second)
        self._at = now
        return self._left

    def wait(self, amount: float, now: float) -> float:
        """Seconds until there is so much; a request larger than what is kept waits until all of it is there."""
        if self.per_second == inf:
            return 0.0
        return max(0.0, (min(amount, self.per_second) - self._flow(now)) / self.per_second)

    def take(self, amount: float) -> None:
        """Less than nothing to take is to give back."""
        if self.per_second != inf:
            self._left -= amount


class _Ratio:
    """The running mean of what requests used, beside what they should."""

    __slots__ = ("_weight", "value")

    def __init__(self) -> None:
        self.value = 1.0
        self._weight = 1.0

    def learn(self, used: float, likely: float) -> None:
        if likely > 0:
            self.value += self._weight * (used / likely - self.value)
            self._weight = max(_LEARNING, self._weight / (1 + self._weight))  # 1, 1/2, 1/3, ...: the mean of the first


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt on its way."""

    sent: float
    likely: Tokens
    taken: "_Taken"


@dataclass(frozen=True, slots=True)
class _Taken:
    """Tokens as the limits count them."""

    input: float = 0.0
    fresh: float = 0.0
    """Of the input, what the service's prompt cache didn't have ready."""
    output: float = 0.0


_NOTHING = _Taken()


class Account:
    """The limits of one account with a service, shared by all judges that use it.

    One call at a time stands at the gate: it waits for a free slot, for tokens and for its turn; those behind it cost
    nothing while they wait. Parties (judges) take turns at the gate, each in order of arrival.

    What isn't stated is learned: from the headers of replies, and from the service's refusals (see
    `judges.calls.pace`). A refusal slows the whole account. An error that stops everything, such as that of a wrong
    key, is also the error of all that wait: they aren't sent any more. Who comes later is, for it may be mended.
    """

    def __init__(
        self,
        name: str,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        input_tokens_per_minute: float | None = None,
        output_tokens_per_minute: float | None = None,
        concurrency: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        """An account.

        Args:
            name: For messages.
            requests_per_minute: None to learn it, like the other limits.
            tokens_per_minute: Read and written together.
            input_tokens_per_minute: Read, without those that the service's prompt cache had ready.
            output_tokens_per_minute: Written.
            concurrency: Calls in flight at most. If it is stated, so many go out at once when a first one has been
                accepted; None for 64, found out gently whether the service bears them.
            clock: Tells the time and waits.

        Raises:
            InputError: A limit isn't above 0.
        """
        limits = {
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "input_tokens_per_minute": input_tokens_per_minute,
            "output_tokens_per_minute": output_tokens_per_minute,
            "concurrency": concurrency,
        }
        for what, limit in limits.items():
            if limit is not None and not 0 < limit < inf:
                raise InputError(f"account {name}: {what} is {limit}, and must be above 0")
        self.name = name
        self._clock = RealClock() if clock is None else clock
        now = self._clock.now()
        self._stated = requests_per_minute is not None
        self.concurrency = _IN_FLIGHT if concurrency is None else concurrency
        """Calls in flight at most."""
        self._pace = Pace(
            concurrency=self.concurrency,
            at_once=concurrency is not None,
            ceiling=inf if requests_per_minute is None else requests_per_minute / 60,
        )
        self._turns = Throttler(1)
        self._last_turn = now
        """When the throttler let the last one through."""
        self._tokens = _Allowance(tokens_per_minute, now)
        self._input = _Allowance(input_tokens_per_minute, now)
        self._output = _Allowance(output_tokens_per_minute, now)
        self._input_ratio = _Ratio()
        self._fresh_ratio = _Ratio()
        self._output_ratio = _Ratio()
        self._free = self.concurrency
        self._slot: asyncio.Future[None] | None = None
        """What the one at the gate waits for if all slots are taken."""
        self._occupied = False
        self._held_until: float | None = None
        """The end of the pause of which was told; None if no calls are held up."""
        self._stopped: ServiceError | None = None
        """The last error that stops everything."""
        self._parties: OrderedDict[object, deque[asyncio.Future[None]]] = OrderedDict()
        """Who waits to come to the gate, by party; the first party is the next."""

    @property
    def requests_per_minute(self) -> float | None:
        """The pace at this moment, as it was stated or learned; None if nothing holds requests up."""
        rate = self._pace.rate(self._clock.now())
        return None if rate == inf else rate * 60

    async def enter(self, party: object, likely: Tokens) -> Call:
        """Wait for a slot and a turn, for one attempt that is likely to use so many tokens; `leave` must follow.

        Raises:
            ServiceError: Meanwhile another one met an error that stops everything.
        """
        known = self._stopped
        await self._come_to_gate(party)
        try:
            return await self._pass(likely, known)
        finally:
            self._call_next()

    def leave(self) -> None:
        """The attempt has ended: its slot is free."""
        self._free += 1
        if self._slot is not None and not self._slot.done():
            self._slot.set_result(None)

    async def _come_to_gate(self, party: object) -> None:
        if not self._occupied:
            self._occupied = True
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parties.setdefault(party, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._call_next()
            raise

    def _call_next(self) -> None:
        while self._parties:
            party, queue = self._parties.popitem(last=False)
            called = queue.popleft()
            if queue:
                self._parties[party] = queue  # at the end: the others come first
            if not called.done():
                called.set_result(None)
                return
        self._occupied = False

    async def _pass(self, likely: Tokens, known: ServiceError | None) -> Call:
        taken = _Taken(
            likely.input * self._input_ratio.value,
            likely.input * self._fresh_ratio.value,
            likely.output * self._output_ratio.value,
        )
        while True:
            if self._stopped is not None and self._stopped is not known:
                raise self._stopped
            if not self._free:
                self._slot = asyncio.get_running_loop().create_future()
                await self._slot
                continue
            now = self._clock.now()
            seconds = max(
                self._tokens.wait(taken.input + taken.output, now),
                self._input.wait(taken.fresh, now),
                self._output.wait(taken.output, now),
            )
            until_due = self._pace.due - now
            if seconds > _SHORT:
                await self._clock.sleep(min(seconds, _LONG))  # a reply may give tokens back meanwhile
            elif until_due > 2 * _LONG:
                await self._clock.sleep(until_due - _LONG)
            elif until_due > _SHORT / 2:
                await self._wait_turn(self._pace.due)
            else:
                break
        self._free -= 1
        self._pace.sent(now)
        self._take(taken, _NOTHING)
        return Call(now, likely, taken)

    async def _wait_turn(self, due: float) -> None:
        """One request since the last one it let through and until `due`: so the throttler is told, and when to look."""
        self._turns.period = due - self._last_turn
        self._turns.retry_interval = due - self._clock.now() + _SHORT
        await self._turns.acquire()  # type: ignore[no-untyped-call] # it has no types
        self._last_turn = self._clock.now()

    def _take(self, more: _Taken, less: _Taken) -> None:
        self._tokens.take(more.input + more.output - less.input - less.output)
        self._input.take(more.fresh - less.fresh)
        self._output.take(more.output - less.output)

    def answered(self, call: Call, usage: Usage, limits: Limits | None) -> None:
        """A reply came to a call."""
        self._learn(limits)
        now = self._clock.now()
        self._pace.accepted(call.sent, now)
        if self._held_until is not None and now >= self._held_until:  # else it was sent before the pause
            self._held_until = None
            tell_going_on(self.name)
        if usage.input_tokens or usage.output_tokens:
            fresh = usage.input_tokens - usage.cache_read_tokens
            self._input_ratio.learn(usage.input_tokens, call.likely.input)
            self._fresh_ratio.learn(fresh, call.likely.input)
            self._output_ratio.learn(usage.output_tokens, call.likely.output)
            self._take(_Taken(usage.input_tokens, fresh, usage.output_tokens), call.taken)

    def failed(self, call: Call, error: ServiceError) -> None:
        """A call came to nothing."""
        self._learn(error.limits)
        if error.disposition is Disposition.STOP:
            self._stopped = error
        if isinstance(error, RateLimited):
            self._pace.refused(call.sent, self._clock.now(), error.retry_after)
            self._take(_NOTHING, call.taken)  # what is refused uses nothing
        if error.disposition is Disposition.RETRY:
            now = self._clock.now()
            self._held_until = max(now, self._pace.due)
            tell_held_up(self.name, str(error), self._held_until - now)

    def _learn(self, limits: Limits | None) -> None:
        if limits is None:
            return
        now = self._clock.now()
        if limits.requests is not None and limits.requests.per_minute and not self._stated:
            self._pace.ceiling = _OF_WHAT_IT_SAYS * limits.requests.per_minute / 60
        for allowance, limit in (
            (self._tokens, limits.tokens),
            (self._input, limits.input_tokens),
            (self._output, limits.output_tokens),
        ):
            if limit is not None and limit.per_minute:
                allowance.learn(limit.per_minute, now)


class Throttled(Generic[RequestT, ReplyT]):
    """Each attempt takes a slot and a turn of the account, and the account learns from what comes back."""

    __slots__ = ("_account", "_inner", "_likely", "_used")

    def __init__(
        self,
        inner: Service[RequestT, ReplyT],
        account: Account,
        *,
        likely: Callable[[RequestT], Tokens],
        used: "Callable[[ReplyT], tuple[Usage, Limits | None]]",
    ) -> None:
        """Wrap a service.

        Args:
            inner: The service itself.
            account: Whose limits hold; each `Throttled` is a party of its own.
            likely: What a request should use.
            used: What it did use, and what the service says of the limits: `of_one` or `of_all`.
        """
        self._inner = inner
        self._account = account
        self._likely = likely
        self._used = used

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply."""
        account = self._account
        call = await account.enter(self, self._likely(request))
        try:
            reply = await self._inner(request)
        except ServiceError as error:
            account.failed(call, error)
            raise
        finally:
            account.leave()
        account.answered(call, *self._used(reply))
        return reply


def of_one(reply: Answered) -> tuple[Usage, Limits | None]:
    """What one reply says of usage and limits."""
    return reply.usage, reply.limits


def of_all(replies: Sequence[Answered]) -> tuple[Usage, Limits | None]:
    """What the replies to one call of many requests say of usage and limits."""
    usage, limits = NOTHING_USED, None
    for reply in replies:
        usage += reply.usage
        limits = reply.limits or limits
    return usage, limits
