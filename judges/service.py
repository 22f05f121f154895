"""What a service is: anything that answers requests of one kind. Judges ask services; services are what is paid for.

    Service[ChatRequest, ChatReply]              a language model
    Service[EmbeddingRequest, EmbeddingReply]    an embedding model, one text at a time
    ManyService[EmbeddingRequest, EmbeddingReply]    the same, many texts in one call

What surrounds a call (cache, retries, limits) has the shape of a service too, and lives in `judges.calls`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias, TypeVar

from judges.fingerprint import Json, digest, fingerprint
from judges.once import once_each
from judges.usage import NOTHING_USED, Limits, Usage

__all__ = [
    "ChatReply",
    "ChatRequest",
    "EmbeddingReply",
    "EmbeddingRequest",
    "Finish",
    "ManyService",
    "Message",
    "Service",
    "TokenChoice",
]

RequestT = TypeVar("RequestT", contravariant=True)
ReplyT = TypeVar("ReplyT", covariant=True)


class Service(Protocol[RequestT, ReplyT]):
    """Answers one request."""

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply.

        Raises:
            ServiceError: With the disposition that callers follow.
        """
        ...


class ManyService(Protocol[RequestT, ReplyT]):
    """Answers many requests in one call."""

    async def __call__(self, requests: Sequence[RequestT], /) -> Sequence[ReplyT]:
        """The replies, one for each request, in their order.

        Raises:
            ServiceError: The call failed, for all of them.
        """
        ...


_schema_digest = once_each(fingerprint)
_system_digest = lru_cache(maxsize=256)(digest)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a language model. Every field may change the reply, and is part of its identity."""

    model: str
    system: str
    """The instructions, the same for all cases of a criterion: what is constant comes first, so that it can be kept."""
    messages: tuple[Message, ...]
    """The conversation, from the user's turn to the user's turn."""
    schema: Mapping[str, Json] | None = None
    """JSON Schema of the reply; None for free text."""
    max_tokens: int = 1024
    """The longest reply, in tokens."""
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Sent as they are: `temperature`, `reasoning_effort`, ... Only what the user asked for."""
    logprobs: bool = False
    """Whether the log-probabilities of the reply's tokens are wanted; services that have none reply without."""
    replicate: int = 0
    """Which repetition of the same question, from 0. Not sent: it keeps samples apart in the cache."""
    expected_tokens: int | None = field(default=None, compare=False)
    """How long the reply is likely to be, for plans and limits. Not sent, and no part of the request's identity."""

    _fingerprint: str | None = field(default=None, init=False, repr=False, compare=False)
    """Made once: several wrappers ask for it, and it takes as long as all that one of them does."""

    def _identity(self) -> dict[str, Json]:
        """All that counts. What is long stands there by its digest: to spell it in JSON takes six times as long."""
        return {
            "kind": "chat",
            "model": self.model,
            "system": _system_digest(self.system),
            "messages": [[message.role, digest(message.text)] for message in self.messages],
            "schema": None if self.schema is None else _schema_digest(self.schema),
            "max_tokens": self.max_tokens,
            "parameters": self.parameters,
            "logprobs": self.logprobs,
            "replicate": self.replicate,
        }

    @property
    def fingerprint(self) -> str:
        """What identifies the request."""
        known = self._fingerprint
        if known is None:
            known = fingerprint(self._identity())
            object.__setattr__(self, "_fingerprint", known)
        return known


Finish: TypeAlias = Literal["stop", "length", "refusal", "content_filter"]
"""Why a reply ended: said all, cut off at `max_tokens`, the model declined, a filter took the words away."""


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """One token of a reply, with the log-probabilities of what could have stood there."""

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()
    """The likeliest tokens at this place, the chosen one usually among them."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a language model answered."""

    text: str
    model: str
    """The model as the service names it: what a moving name stood for."""
    finish: Finish = "stop"
    usage: Usage = NOTHING_USED
    """Tokens of this call. Its cost is worked out by whoever knows the prices."""
    logprobs: tuple[TokenChoice, ...] | None = None
    limits: Limits | None = field(default=None, compare=False)
    """What the service's headers say of the account's limits."""


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A text to be embedded."""

    model: str
    text: str
    role: Literal["query", "passage"] | None = None
    """What the text is for, where the model asks (E5: `query: `, `passage: `)."""
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Sent as they are: `dimensions`, ..."""

    def to_record(self) -> dict[str, Json]:
        """The request as JSON-ready values."""
        return {
            "kind": "embedding",
            "model": self.model,
            "text": self.text,
            "role": self.role,
            "parameters": self.parameters,
        }

    @property
    def fingerprint(self) -> str:
        """What identifies the request."""
        return fingerprint(self.to_record())


@dataclass(frozen=True, slots=True)
class EmbeddingReply:
    """The vector of a text, in single precision."""

    vector: bytes
    """Little-endian 32-bit floats, one after the other: `numpy.frombuffer(vector, "<f4")`."""
    model: str
    usage: Usage = NOTHING_USED
    limits: Limits | None = field(default=None, compare=False)
