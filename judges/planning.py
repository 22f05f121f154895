"""What judging would take, before it is done: calls, tokens, money, time. Nothing is sent."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from judges.calls.tokens import likely_tokens
from judges.case import Case
from judges.engine.plan import Assignment, plan
from judges.errors import JudgesError
from judges.judge import Judge
from judges.service import ChatRequest, EmbeddingRequest
from judges.usage import Usage

__all__ = ["Forecast", "Known", "forecast"]

Request = ChatRequest | EmbeddingRequest


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the services, from outside."""

    is_cached: Callable[[str, Request], bool]
    """Whether the cache has the reply, by judge and request."""
    price: Callable[[str, Usage], float | None]
    """Dollars of a call, by judge."""


@dataclass(slots=True)
class Forecast:
    """What one criterion by one judge would take."""

    criterion: str
    judge: str
    judgements: int = 0
    there: int = 0
    """Judgements that the run has already, or that are those of a case with the same content."""
    free: int = 0
    """Judgements that take no call of a service."""
    refused: int = 0
    """Judgements that would fail before anything is paid: the case doesn't fit into the model's window."""
    calls: int = 0
    """Calls, those the cache answers included."""
    cached: int = 0
    input_tokens: int = 0
    """Of the calls that would be paid."""
    output_tokens: int = 0
    most_output_tokens: int = 0
    """If every reply were as long as is allowed."""
    cost: float | None = 0.0
    """Dollars; None where a price isn't known."""
    most_cost: float | None = 0.0
    seen: set[str] = field(default_factory=set[str], repr=False)

    @property
    def paid(self) -> int:
        """Calls that would be paid."""
        return self.calls - self.cached

    def to_record(self) -> dict[str, Any]:
        """The forecast as JSON-ready values."""
        names = (
            "criterion", "judge", "judgements", "there", "free", "refused", "calls", "cached", "input_tokens",
            "output_tokens", "most_output_tokens", "cost", "most_cost",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def forecast(
    cases: Iterable[Case],
    assignments: Sequence[Assignment],
    judges: Mapping[str, Judge],
    known: Known,
    *,
    there: AbstractSet[bytes] = frozenset(),
    replicates: int = 1,
    repeat_share: float = 0.0,
) -> list[Forecast]:
    """What it would take to make the judgements that aren't there, one forecast a criterion and judge.

    Replies are guessed to be of a usual length. What has to be asked twice, because a reply isn't what was asked, isn't
    counted; equal requests are counted once.

    Args:
        cases: Read once.
        assignments: Who judges what.
        judges: By name.
        known: The cache, and the prices.
        there: Keys of judgements that exist.
        replicates: How often each judgement is made.
        repeat_share: The share of them that is made once more.
    """
    found = {id(each): Forecast(each.criterion.name, each.judge) for each in assignments}
    begun: set[str] = set()
    for work in plan(cases, assignments, replicates=replicates, repeat_share=repeat_share):
        one = found[id(work.assignment)]
        one.judgements += 1
        if bytes.fromhex(work.key) in there or work.key in begun:
            one.there += 1
            continue
        begun.add(work.key)
        begin: Callable[..., list[Request]] | None = getattr(judges[one.judge], "requests", None)
        try:
            requests = begin(work.case, work.assignment.criterion, replicate=work.replicate) if begin else []
        except JudgesError:
            one.refused += 1
            continue
        one.free += not requests
        for request in requests:
            _count(one, request, known)
    return list(found.values())


def _count(one: Forecast, request: Request, known: Known) -> None:
    identity = request.fingerprint
    if identity in one.seen:
        return
    one.seen.add(identity)
    one.calls += 1
    if known.is_cached(one.judge, request):
        one.cached += 1
        return
    likely = likely_tokens(request)
    read, written = round(likely.input), round(likely.output)
    most = request.max_tokens if isinstance(request, ChatRequest) else 0
    one.input_tokens += read
    one.output_tokens += written
    one.most_output_tokens += most
    one.cost = _plus(one.cost, known.price(one.judge, Usage(calls=1, input_tokens=read, output_tokens=written)))
    one.most_cost = _plus(one.most_cost, known.price(one.judge, Usage(calls=1, input_tokens=read, output_tokens=most)))


def _plus(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more
