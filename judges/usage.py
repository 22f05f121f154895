"""What calls of services used: how many, how many tokens, how much money; and the limits a service states.

A tally collects it for whatever runs inside it, tasks started there included:

    with tallied() as tally:
        await judge.judge(case, criterion)
    tally.usage
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

__all__ = ["NOTHING_USED", "Limit", "Limits", "Tally", "Usage", "add_usage", "tallied"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls used. Usages add up with `+`."""

    calls: int = 0
    """Calls that were paid for."""
    hits: int = 0
    """Requests that our own cache answered: they cost nothing."""
    input_tokens: int = 0
    """Tokens read by the service, those of its prompt cache included."""
    output_tokens: int = 0
    """Tokens written, those of reasoning included."""
    cache_read_tokens: int = 0
    """Input tokens that the service's prompt cache had ready."""
    cache_write_tokens: int = 0
    """Input tokens that were put into the service's prompt cache."""
    cost: float = 0.0
    """Dollars, of the calls whose price is known."""
    unpriced: int = 0
    """Paid calls whose price isn't known."""
    unanswered: int = 0
    """Attempts without a readable reply, which may have been billed: nothing of them is in the other numbers."""
    shared: int = 0
    """Requests that waited for an equal one under way, and share its reply: they cost nothing."""
    models: tuple[str, ...] = ()
    """The models that answered, as the service names them, sorted: what a moving name stood for."""

    def __add__(self, other: "Usage") -> "Usage":
        if self is NOTHING_USED:
            return other
        return Usage(
            self.calls + other.calls,
            self.hits + other.hits,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
            self.unanswered + other.unanswered,
            self.shared + other.shared,
            self.models if self.models == other.models else tuple(sorted({*self.models, *other.models})),
        )

    def as_call(self, model: str, cost: float | None) -> "Usage":
        """What one paid call used: the tokens of this, the model that answered, and its price if that is known."""
        return Usage(
            1,
            0,
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            0.0 if cost is None else cost,
            int(cost is None),
            models=(model,),
        )

    def to_record(self) -> dict[str, Any]:
        """The usage as JSON-ready values; what is 0 or empty is left out."""
        record: dict[str, Any] = {name: value for name, value in zip(_SUMMED, _summed(self), strict=True) if value}
        if self.models:
            record["models"] = list(self.models)
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Usage":
        """The usage that `to_record` wrote."""
        values: dict[str, Any] = {**record, "models": tuple(record.get("models", ()))}
        return cls(**values)


_SUMMED = tuple(each.name for each in fields(Usage) if each.name != "models")
_summed = attrgetter(*_SUMMED)


NOTHING_USED = Usage()


class Tally:
    """Adds usages up."""

    __slots__ = ("usage",)

    def __init__(self) -> None:
        self.usage = NOTHING_USED


_tally: ContextVar[Tally | None] = ContextVar("judges_tally", default=None)


@contextmanager
def tallied() -> Generator[Tally]:
    """A tally of what is used inside the block. Inner tallies keep theirs to themselves."""
    tally = Tally()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


def add_usage(usage: Usage) -> None:
    """Add to the tally of whoever is running, if there is one."""
    tally = _tally.get()
    if tally is not None:
        tally.usage += usage


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of an account, as a service's headers state it. None is what they don't say."""

    per_minute: int | None = None
    remaining: int | None = None
    """Left until the reset."""
    reset_seconds: float | None = None
    """Until the whole limit is there again."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an account. A service limits tokens together, or input and output apart."""

    requests: Limit | None = None
    tokens: Limit | None = None
    input_tokens: Limit | None = None
    output_tokens: Limit | None = None
