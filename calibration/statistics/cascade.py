"""What a cascade of judges costs: an item goes from judge to judge, and at last to a human.

Source:
    Jung, Brahman & Choi 2024, arXiv:2407.18370, section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from judges.figures import Figure, to_record, undefined
from judges.intervals import NOTHING

__all__ = ["CascadeCost", "CascadeStep", "Stage", "cascade_cost"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One judge of a cascade, in shares of the items that reach it."""

    cost: float
    """Of one call."""
    accept: float
    """Share of verdicts accepted."""
    error: float | None
    """Share of the accepted that disagree with the human; None if nothing is accepted."""


@dataclass(frozen=True, slots=True)
class CascadeStep:
    """What one stage does, in shares of all items."""

    reached: float
    accepted: float


@dataclass(frozen=True, slots=True)
class CascadeCost:
    """What a cascade costs per item, and how good it is. Follows from the shares it is given; no interval."""

    per_stage: tuple[CascadeStep, ...]
    to_human: float
    """Share that no stage accepts."""
    expected_cost: float
    """sum of reached x cost, the human included."""
    agreement_on_accepted: Figure
    """Undefined (no_data) if nothing is accepted."""
    overall_agreement: float
    """Where the human counts as the truth."""
    saving: Figure
    """Share of the cost of giving all to humans; undefined (no_data) if humans cost next to nothing."""

    def to_record(self) -> dict[str, object]:
        """The costs as JSON-ready values."""
        return to_record(self)


def cascade_cost(stages: Sequence[Stage], *, human_cost: float) -> CascadeCost:
    """The expected cost of an item that goes from judge to judge and at last to a human.

    Raises:
        ValueError: A share lies outside 0 to 1, a cost is negative or not finite, or a stage that accepts has no error
            rate.
    """
    reach, cost, wrong, steps = 1.0, 0.0, 0.0, list[CascadeStep]()
    for at, stage in enumerate(stages):
        error = 0.0 if stage.error is None and stage.accept == 0 else stage.error
        if error is None or not (0 <= stage.accept <= 1 and 0 <= error <= 1):
            raise ValueError(f"stage {at}: accept {stage.accept} and error {stage.error} are to be shares from 0 to 1")
        if not (isfinite(stage.cost) and stage.cost >= 0):
            raise ValueError(f"stage {at}: cost {stage.cost} is to be a finite number, 0 or more")
        accepted = reach * stage.accept
        steps.append(CascadeStep(reach, accepted))
        cost, wrong, reach = cost + reach * stage.cost, wrong + accepted * error, reach - accepted
    if not (isfinite(human_cost) and human_cost >= 0):
        raise ValueError(f"human cost {human_cost} is to be a finite number, 0 or more")
    cost += reach * human_cost
    taken = sum(step.accepted for step in steps)
    agreement = Figure(1 - wrong / taken) if taken > 0 else undefined("no_data")
    saving = Figure(1 - cost / human_cost) if human_cost > NOTHING * cost else undefined("no_data")
    return CascadeCost(tuple(steps), reach, cost, agreement, 1 - wrong, saving)
