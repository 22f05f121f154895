import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.budget import Budget
from judges.errors import BudgetReached, InputError


def test_calls_go_through_while_the_most_they_may_cost_fits() -> None:
    async def run() -> None:
        budget = Budget(1.0)
        for _ in range(3):
            await budget.reserve(0.3)
            budget.settle(0.3, 0.3)
        assert budget.spent == pytest.approx(0.9)
        with pytest.raises(BudgetReached):
            await budget.reserve(0.3)

    asyncio.run(run())


def test_what_could_still_become_cheaper_is_waited_for() -> None:
    async def run() -> None:
        budget = Budget(1.0)
        await budget.reserve(0.7)
        waiting = asyncio.ensure_future(budget.reserve(0.7))
        await asyncio.sleep(0)
        assert not waiting.done()
        budget.settle(0.7, 0.1)
        await waiting
        budget.settle(0.7, 0.1)
        assert budget.spent == pytest.approx(0.2)

    asyncio.run(run())


def test_the_message_says_what_is_spent_what_is_allowed_and_how_to_go_on() -> None:
    async def run() -> None:
        budget = Budget(5.0)
        await budget.reserve(4.98)
        budget.settle(4.98, 4.9712)
        with pytest.raises(BudgetReached, match=r"\$5\.00 is reached: \$4\.97 are spent.*up to \$0\.0500.*each start"):
            await budget.reserve(0.05)

    asyncio.run(run())


def test_everyone_who_waits_hears_that_the_budget_is_reached() -> None:
    async def run() -> None:
        budget = Budget(1.0)
        await budget.reserve(0.9)
        waiting = [asyncio.ensure_future(budget.reserve(0.5)) for _ in range(3)]
        await asyncio.sleep(0)
        budget.settle(0.9, 0.9)
        outcomes = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
        assert all(isinstance(outcome, BudgetReached) for outcome in outcomes)

    asyncio.run(run())


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_a_budget_is_a_sum_of_money(amount: float) -> None:
    with pytest.raises(InputError, match="--max-cost"):
        Budget(amount)


@given(
    st.floats(0, 2),
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 4), st.none() | st.integers(0, 9)), max_size=10
    ),
)
def test_it_is_never_passed_and_nobody_waits_for_ever(
    limit: float, calls: Sequence[tuple[float, float, int, int | None]]
) -> None:
    async def run() -> None:
        budget = Budget(limit)

        async def call(most: float, share: float, length: int) -> None:
            await budget.reserve(most)
            try:
                for _ in range(length):
                    await asyncio.sleep(0)
            finally:
                budget.settle(most, most * share)
            assert budget.spent <= limit + 1e-9

        tasks = [asyncio.ensure_future(call(most, share, length)) for most, share, length, _ in calls]
        for moment in range(10):
            for task, (*_, cancelled) in zip(tasks, calls, strict=True):
                if cancelled == moment:
                    task.cancel()
            await asyncio.sleep(0)
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        for outcome, (most, *_) in zip(outcomes, calls, strict=True):
            assert outcome is None or isinstance(outcome, BudgetReached | asyncio.CancelledError)
            if isinstance(outcome, BudgetReached):
                assert budget.spent + most > limit

    asyncio.run(run())
