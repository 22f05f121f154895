"""Calls that may succeed later are made again. The home of tenacity."""

from random import Random
from typing import TYPE_CHECKING, Generic, TypeVar

from judges.calls.pace import LONGEST_HEEDED
from judges.clock import Clock, RealClock
from judges.errors import Disposition, RateLimited, Rejected, ServiceError
from judges.service import Service

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["Retried"]

RequestT = TypeVar("RequestT", contravariant=True)
ReplyT = TypeVar("ReplyT", covariant=True)

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0


class Retried(Generic[RequestT, ReplyT]):
    """Repeats a call whose error says that it may succeed later, and no other.

    It waits as long as the service asks and a little longer, else 0.5 s, then twice as long each time up to 30 s, less
    up to a half by chance so that calls don't come back together.

    "Too many requests" is no failure of the call: it is repeated for as long as others get through. If nothing but this
    comes back for `max_wait` seconds, or the service asks to wait for more than ten minutes, it's the account's fault
    and stops the run.
    """

    def __init__(
        self,
        inner: Service[RequestT, ReplyT],
        *,
        attempts: int = 6,
        max_wait: float = 300.0,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes one attempt.
            attempts: At most so many of a call; those that met "too many requests" aren't counted.
            max_wait: For at most so many seconds a call is repeated, counted from its first failure.
            clock: Tells the time and waits.
            random: Where chance comes from.
        """
        self._inner = inner
        self._attempts = attempts
        self._max_wait = max_wait
        self._clock = RealClock() if clock is None else clock
        self._random = Random() if random is None else random  # noqa: S311  no secret depends on it
        self._last_success = float("-inf")

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply.

        Raises:
            ServiceError: The last attempt's error, with the number of attempts named.
            Rejected: Nothing but "too many requests" for too long.
        """
        try:
            reply = await self._inner(request)  # most calls succeed at once, and tenacity costs as much as the rest
        except ServiceError as error:
            if error.disposition is not Disposition.RETRY:
                raise
            reply = await self._repeat(request, error)
        self._last_success = self._clock.now()
        return reply

    async def _repeat(self, request: RequestT, first: ServiceError) -> ReplyT:
        from tenacity import AsyncRetrying, retry_if_exception

        patience = _Patience(self._attempts, self._max_wait, self._clock.now(), self._random)
        failed: ServiceError | None = first

        async def attempt() -> ReplyT:
            nonlocal failed
            if failed is not None:  # the attempt that was already made
                error, failed = failed, None
                raise error
            return await self._inner(request)

        def wait(state: "RetryCallState") -> float:
            return patience.after(_error(state), self._clock.now(), self._last_success)

        def stop(_: "RetryCallState") -> bool:  # tenacity asks after `wait`
            return patience.ended

        repeated = AsyncRetrying(
            sleep=self._clock.sleep, retry=retry_if_exception(_may_succeed), stop=stop, wait=wait, reraise=True
        )
        try:
            return await repeated(attempt)
        except ServiceError as error:
            if error.disposition is not Disposition.RETRY:
                raise
            if isinstance(error, RateLimited):
                raise Rejected(patience.nothing_but_refusals(error), limits=error.limits) from error
            error.args = (f"{error} ({patience.made} attempts)",)
            raise


def _may_succeed(error: BaseException) -> bool:
    return isinstance(error, ServiceError) and error.disposition is Disposition.RETRY


def _error(state: "RetryCallState") -> ServiceError:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, ServiceError):  # no other is repeated
        raise TypeError(f"an attempt ended with {error!r}")
    return error


class _Patience:
    """How often and how long one call is repeated."""

    def __init__(self, attempts: int, max_wait: float, now: float, random: Random) -> None:
        self.made = 0
        self.ended = False
        self._failures = 0
        self._attempts = attempts
        self._max_wait = max_wait
        self._began = now
        self._random = random

    def after(self, error: ServiceError, now: float, last_success: float) -> float:
        """How long to wait after this failed attempt, unless it has `ended` all patience."""
        self.made += 1
        wait = self._next_wait(error.retry_after)
        if isinstance(error, RateLimited):
            asked = error.retry_after or 0.0
            self.ended = asked > LONGEST_HEEDED or now - max(self._began, last_success) > self._max_wait + asked
        else:
            self._failures += 1
            self.ended = self._failures >= self._attempts or now + wait - self._began > self._max_wait
        return wait

    def _next_wait(self, asked: float | None) -> float:
        if asked is not None:
            return asked + self._random.uniform(0.0, min(1.0, 0.05 + asked / 10))
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(self.made - 1, 10))
        return self._random.uniform(longest / 2, longest)

    def nothing_but_refusals(self, error: RateLimited) -> str:
        """What to say of an account that lets nothing through."""
        if error.retry_after is not None and error.retry_after > LONGEST_HEEDED:
            return f"{error} (it asks to wait {error.retry_after:,.0f} s: run the same command again then)"
        return (
            f"{error} (and nothing else for {self._max_wait:,.0f} s, in {self.made} attempts: "
            "look at the account's limits, or run the same command again later)"
        )
