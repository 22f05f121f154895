"""What surrounds the call of a service, in the one right order.

    SingleFlight     equal requests in flight are one call
     Locked          (language models) also those of other processes
      Cached         what was paid for once is answered from the cache
        Guarded      a service that refuses the first requests stops the run
          Batched      (embeddings) requests that come close together go together
            Retried      what may succeed later is tried again; whoever waits holds no slot
              Metered        what an attempt costs, and never more than the budget
                Throttled        innermost: every attempt takes its turn, every refusal slows the account
                  the service

A stack belongs to one judge. Stacks share what they are given: account, cache, budget, flights.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from judges.calls.batch import Batched
from judges.calls.budget import Budget
from judges.calls.cache import Cache, Cached, Mode
from judges.calls.flight import Flights, SingleFlight
from judges.calls.guard import Guarded
from judges.calls.locked import Locked
from judges.calls.meter import Metered
from judges.calls.prices import Prices
from judges.calls.retry import Retried
from judges.calls.shapes import Answered, Asked
from judges.calls.stored import CHAT, EMBEDDING, Form
from judges.calls.throttle import Account, Throttled, of_all, of_one
from judges.calls.tokens import Tokens, likely_tokens, most_tokens
from judges.clock import Clock
from judges.fingerprint import canonical
from judges.service import ChatReply, ChatRequest, EmbeddingReply, EmbeddingRequest, ManyService, Service
from judges.usage import NOTHING_USED, Usage

__all__ = ["chat_stack", "embedding_stack"]

RequestT = TypeVar("RequestT", bound=Asked)
ReplyT = TypeVar("ReplyT", bound=Answered)


def chat_stack(
    service: Service[ChatRequest, ChatReply],
    *,
    identity: str,
    account: Account,
    prices: Prices,
    cache: Cache | None = None,
    mode: Mode = "use",
    budget: Budget | None = None,
    flights: Flights[ChatReply] | None = None,
    attempts: int = 6,
    max_wait: float = 300.0,
    clock: Clock | None = None,
) -> Service[ChatRequest, ChatReply]:
    """A language model that is asked no more often than needed, and no faster than allowed.

    Args:
        service: The service itself.
        identity: Names service and endpoint, such as `openai https://api.openai.com/v1`: part of the cache's keys.
        account: Whose limits hold.
        prices: What calls cost.
        cache: Where replies are kept; None for nowhere.
        mode: What the cache is used for.
        budget: What calls may cost together.
        flights: Shared by the stacks whose equal requests shall be one call; None for this one's own.
        attempts: At most so many of one call.
        max_wait: For at most so many seconds a call is repeated.
        clock: Tells the time and waits.
    """
    throttled = Throttled(service, account, likely=likely_tokens, used=of_one)
    metered = Metered(throttled, prices, budget=budget, model=_model, most=most_tokens, used=_used)
    retried = Retried(metered, attempts=attempts, max_wait=max_wait, clock=clock)
    kept = _kept(retried, CHAT, identity, cache, mode)
    if cache is not None and cache.path is not None and mode == "use":
        kept = Locked(kept, cache.path.with_suffix(".locks"), identity=identity, clock=clock)
    return SingleFlight(kept, identity=identity, flights=flights)


def embedding_stack(
    service: ManyService[EmbeddingRequest, EmbeddingReply],
    *,
    identity: str,
    account: Account,
    prices: Prices,
    cache: Cache | None = None,
    mode: Mode = "use",
    budget: Budget | None = None,
    flights: Flights[EmbeddingReply] | None = None,
    max_items: int = 256,
    max_bytes: int = 200_000,
    attempts: int = 6,
    max_wait: float = 300.0,
    clock: Clock | None = None,
) -> Service[EmbeddingRequest, EmbeddingReply]:
    """An embedding model: single texts come in, and go out many at a time.

    Args:
        service: The service itself.
        identity: Names service and endpoint: part of the cache's keys.
        account: Whose limits hold.
        prices: What calls cost.
        cache: Where replies are kept; None for nowhere.
        mode: What the cache is used for.
        budget: What calls may cost together.
        flights: Shared by the stacks whose equal requests shall be one call; None for this one's own.
        max_items: At most so many texts in one call.
        max_bytes: At most so much text in one call.
        attempts: At most so many of one call.
        max_wait: For at most so many seconds a call is repeated.
        clock: Tells the time and waits.
    """
    throttled = Throttled(service, account, likely=_likely_of_all, used=of_all)
    metered = Metered(throttled, prices, budget=budget, model=_model_of_all, most=_most_of_all, used=_used_by_all)
    retried = Retried(metered, attempts=attempts, max_wait=max_wait, clock=clock)
    batched = Batched(retried, size=_size, group=_group, max_items=max_items, max_size=max_bytes, clock=clock)
    return SingleFlight(_kept(batched, EMBEDDING, identity, cache, mode), identity=identity, flights=flights)


def _kept(
    called: Service[RequestT, ReplyT],
    form: Form[ReplyT],
    identity: str,
    cache: Cache | None,
    mode: Mode,
) -> Service[RequestT, ReplyT]:
    """Around it go locks and flights: equal requests share even the look into the cache, so a reply is written once."""
    guarded = Guarded(called)
    return guarded if cache is None else Cached(guarded, cache, form, identity=identity, mode=mode)


def _model(request: ChatRequest) -> str:
    return request.model


def _used(reply: ChatReply) -> tuple[str, Usage]:
    return reply.model, reply.usage


def _model_of_all(requests: Sequence[EmbeddingRequest]) -> str:
    return requests[0].model


def _most_of_all(requests: Sequence[EmbeddingRequest]) -> Usage:
    return sum((most_tokens(request) for request in requests), NOTHING_USED)


def _used_by_all(replies: Sequence[EmbeddingReply]) -> tuple[str, Usage]:
    return replies[0].model, of_all(replies)[0]


def _likely_of_all(requests: Sequence[EmbeddingRequest]) -> Tokens:
    return Tokens(sum(likely_tokens(request).input for request in requests), 0.0)


def _size(request: EmbeddingRequest) -> int:
    return len(request.text.encode("utf-8", "surrogatepass"))


def _group(request: EmbeddingRequest) -> Hashable:
    return request.model, request.role, canonical(request.parameters)
