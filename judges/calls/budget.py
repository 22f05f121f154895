"""A sum of money that is never passed."""

import asyncio
from collections import deque

from judges.errors import BudgetReached, InputError

__all__ = ["Budget"]

_ROUNDING = 1e-12


class Budget:
    """At most so many dollars, shared by all stacks of a run.

    A call is let through when the most it may cost still fits beside what is spent and what the calls under way may
    cost. If it doesn't, it waits for them: most cost far less than they might.
    """

    def __init__(self, max_cost: float) -> None:
        """A budget of `max_cost` dollars.

        Raises:
            InputError: That isn't a sum of money.
        """
        if not 0 <= max_cost < float("inf"):
            raise InputError(f"a budget of {max_cost} is no sum of money; give dollars, as in --max-cost 5.00")
        self.max_cost = max_cost
        self.spent = 0.0
        """Dollars paid so far."""
        self._reserved: list[float] = []
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve(self, most: float) -> None:
        """Put `most` dollars aside; `settle` must follow.

        Raises:
            BudgetReached: The call may cost more than is left, and nothing is under way that could leave more.
        """
        first_come = not self._waiting
        queue = self._waiting.append
        while not (first_come and self._fits(most)):
            if first_come and not self._reserved:
                self._wake()
                raise BudgetReached(
                    f"the budget of {_dollars(self.max_cost)} is reached: {_dollars(self.spent)} are spent, and the "
                    f"next call may cost up to {_dollars(most)}; each start of the command has this budget"
                )
            waiter = asyncio.get_running_loop().create_future()
            queue(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
            first_come, queue = True, self._waiting.appendleft
        self._reserved.append(most)
        self._wake()

    def settle(self, most: float, cost: float) -> None:
        """The call for which `most` was put aside has cost `cost`."""
        self.spent += cost
        self._reserved.remove(most)
        self._wake()

    def _fits(self, most: float) -> bool:
        return self.spent + sum(self._reserved) + most <= self.max_cost + _ROUNDING

    def _wake(self) -> None:
        """The longest waiting one looks again; it wakes the next."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
