"""What each reply has cost, and never more than the budget."""

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from judges.calls.budget import Budget
from judges.calls.prices import Prices
from judges.errors import InputError, ServiceError
from judges.printable import printable
from judges.service import Service
from judges.usage import Usage, add_usage

__all__ = ["Metered", "most_cost"]

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")


class Metered(Generic[RequestT, ReplyT]):
    """Adds what an attempt used and cost to the tally of whoever asked.

    An attempt that ended without a reply may have been billed all the same, as far as anybody can tell from here: a
    reply that broke off, took too long or can't be read. It counts as unanswered, and the budget takes it for as dear
    as it can have been.
    """

    __slots__ = ("_budget", "_inner", "_model", "_most", "_prices", "_used")

    def __init__(
        self,
        inner: Service[RequestT, ReplyT],
        prices: Prices,
        *,
        budget: Budget | None = None,
        model: Callable[[RequestT], str],
        most: Callable[[RequestT], Usage],
        used: Callable[[ReplyT], tuple[str, Usage]],
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes one attempt.
            prices: What calls cost.
            budget: What they may cost together.
            model: The model that a request is for.
            most: The most that a request may use, for the budget.
            used: The model that answered, and what it used.
        """
        self._inner = inner
        self._prices = prices
        self._budget = budget
        self._model = model
        self._most = most
        self._used = used

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply.

        Raises:
            BudgetReached: The call might cost more than is left.
            InputError: There is a budget, and no price.
        """
        if self._budget is None:
            try:
                reply = await self._inner(request)
            except ServiceError as error:
                self._count_unanswered(error)
                raise
            self._add(request, reply)
            return reply
        model = self._model(request)
        most = most_cost(self._prices, model, self._most(request))
        if most is None:
            raise InputError(
                f"the price of {printable(model)} isn't known, so a budget can't be kept: give the model's price under "
                "[prices] of judges.toml, or leave out --max-cost"
            )
        await self._budget.reserve(most)
        cost = most  # also where it is cancelled on its way
        try:
            reply = await self._inner(request)
            cost = self._add(request, reply)
        except ServiceError as error:
            cost = most if self._count_unanswered(error) else 0.0
            raise
        finally:
            self._budget.settle(most, cost)
        return reply

    def _count_unanswered(self, error: ServiceError) -> bool:
        if error.may_be_billed:
            add_usage(_UNANSWERED)
        return error.may_be_billed

    def _add(self, request: RequestT, reply: ReplyT) -> float:
        model, usage = self._used(reply)
        cost = self._prices(self._model(request), usage)
        if cost is None and model != self._model(request):
            cost = self._prices(model, usage)
        add_usage(usage.as_call(model, cost))
        return 0.0 if cost is None else cost


_UNANSWERED = Usage(unanswered=1)


def most_cost(prices: Prices, model: str, most: Usage) -> float | None:
    """The most that a call may cost, in dollars: all of its input may go into the service's prompt cache."""
    plain = prices(model, most)
    written = prices(model, replace(most, cache_write_tokens=most.input_tokens))
    return None if plain is None else max(plain, written or 0.0)
