"""What each reply has cost, and never more than the budget."""

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from judges.calls.budget import Budget
from judges.calls.prices import Prices
from judges.calls.shapes import Answered, Asked
from judges.errors import InputError
from judges.printable import printable
from judges.service import Service
from judges.usage import Usage, add_usage

__all__ = ["Metered", "most_cost"]

RequestT = TypeVar("RequestT", bound=Asked)
ReplyT = TypeVar("ReplyT", bound=Answered)


class Metered(Generic[RequestT, ReplyT]):
    """Adds what a reply used and cost to the tally of whoever asked."""

    __slots__ = ("_budget", "_inner", "_most", "_prices")

    def __init__(
        self,
        inner: Service[RequestT, ReplyT],
        prices: Prices,
        *,
        budget: Budget | None = None,
        most: Callable[[RequestT], Usage],
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes the call.
            prices: What calls cost.
            budget: What they may cost together.
            most: The most that a request may use, for the budget.
        """
        self._inner = inner
        self._prices = prices
        self._budget = budget
        self._most = most

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply.

        Raises:
            BudgetReached: The call might cost more than is left.
            InputError: There is a budget, and no price.
        """
        if self._budget is None:
            reply = await self._inner(request)
            self._add(request, reply)
            return reply
        most = most_cost(self._prices, request.model, self._most(request))
        if most is None:
            raise InputError(
                f"the price of {printable(request.model)} isn't known, so a budget can't be kept: "
                "give the model's price, or leave out --max-cost"
            )
        await self._budget.reserve(most)
        cost = 0.0
        try:
            reply = await self._inner(request)
            cost = self._add(request, reply)
        finally:
            self._budget.settle(most, cost)
        return reply

    def _add(self, request: RequestT, reply: ReplyT) -> float:
        cost = self._prices(request.model, reply.usage)
        if cost is None and reply.model != request.model:
            cost = self._prices(reply.model, reply.usage)
        priced = cost is not None
        add_usage(
            replace(
                reply.usage,
                models=(reply.model,),
                calls=1,
                cost=cost if cost is not None else 0.0,
                unpriced=0 if priced else 1,
            )
        )
        return 0.0 if cost is None else cost


def most_cost(prices: Prices, model: str, most: Usage) -> float | None:
    """The most that a call may cost, in dollars: all of its input may go into the service's prompt cache."""
    plain = prices(model, most)
    written = prices(model, replace(most, cache_write_tokens=most.input_tokens))
    return None if plain is None else max(plain, written or 0.0)
