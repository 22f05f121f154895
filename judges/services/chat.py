"""A language model over HTTP, whichever dialect it speaks: ask, find out what the model takes, make sense of errors.

A dialect says how a request is written and a reply is read (`judges.services.openai`, `judges.services.anthropic`).
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, cast

import orjson

from judges.errors import Rejected
from judges.fingerprint import Json
from judges.service import ChatReply, ChatRequest
from judges.services.connection import Address, Client, Connection, HttpReply, checked_key
from judges.services.failures import Asked, Problem, failure, read_problem, unreadable
from judges.services.structured import Form, Traits, holds_json
from judges.usage import NOTHING_USED, Limits

__all__ = ["Body", "HttpChat", "encode"]

Body = dict[str, object]
"""What is posted."""

SECONDS = 60.0
REASONING_SECONDS = 300.0
REASONING = ("reasoning_effort", "reasoning", "thinking", "effort")
"""Parameters that make a model think before it writes."""
_REASONED = re.compile(rb'"reasoning_tokens":\s*[1-9]|"type":\s*"thinking"')
"""What a reply says that took thought."""
MOST_TRIES = 10
"""Of one question, while it is found out what the model takes; each is refused for another reason."""


class HttpChat(ABC):
    """A `Service[ChatRequest, ChatReply]` over HTTP, for any number of event loops.

    Close it with `aclose` at the end of each loop it was used in; a later call opens it again.
    """

    service: ClassVar[str]
    """What messages call it."""

    def __init__(
        self, address: Address, api_key: str | None, key_from: str, timeout_seconds: float | None, *, known: bool
    ) -> None:
        """
        Args:
            address: Of the endpoint.
            api_key: None where none is needed.
            key_from: Where the key comes from, for messages.
            timeout_seconds: For each call; None for 60 s, and 300 s where the model reasons.
            known: Whether the endpoint is one whose ways are known. At any other, the first call to a model is made
                alone, and a reply in the wrong form makes it ask in another way.

        Raises:
            InputError: The key can't be one.
        """
        self._address = address
        self._api_key = checked_key(api_key, key_from)
        self._key_from = key_from
        self._timeout_seconds = timeout_seconds
        self._known = known
        self._connection = Connection(address, self.make_client)
        self._traits: dict[str, Traits] = {}

    @property
    def identity(self) -> str:
        """Service and endpoint, for cache keys and fingerprints. Never the key."""
        return f"{self.service} {self._address.url}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.url!r})"

    async def __call__(self, request: ChatRequest, /) -> ChatReply:
        """The model's reply; also if it declined, was cut off, or a content filter took the words away.

        Raises:
            ServiceError: With the disposition that callers follow.
        """
        traits = self._traits.get(request.model)
        if traits is None:
            traits = self._traits[request.model] = self.first_traits()
        if self._known or traits.tried:
            return await self._ask(request, traits)
        return await self._ask_first(request, traits)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connection.aclose()

    @abstractmethod
    def make_client(self) -> Client:
        """The SDK's client for the running event loop."""

    @abstractmethod
    def first_traits(self) -> Traits:
        """What is believed of a model before it was asked."""

    @abstractmethod
    def write(self, request: ChatRequest, traits: Traits) -> Body:
        """The request as the dialect has it."""

    @abstractmethod
    def read(self, content: bytes, path: str, asked: Asked) -> ChatReply:
        """The reply as the dialect has it.

        Raises:
            ValueError: It isn't one.
        """

    @abstractmethod
    def read_limits(self, headers: Mapping[str, str]) -> Limits | None:
        """What the headers say of limits."""

    def adapt(self, problem: Problem, sent: Body, traits: Traits) -> bool:  # noqa: ARG002  # for dialects that do
        """Learn from an error what the model doesn't take, apart from forms; whether there is another way to ask."""
        return False

    @abstractmethod
    def speaks_of_form(self, problem: Problem, form: Form) -> bool:
        """Whether the error is about the way in which the form of the reply was asked for."""

    async def _ask_first(self, request: ChatRequest, traits: Traits) -> ChatReply:
        """Ask alone, to find out what the model takes; whoever comes meanwhile waits for that, and shares an error that
        stops everything.
        """
        async with self._connection.gate:
            if traits.refusal is not None:
                raise traits.refusal
            if not traits.tried:
                try:
                    return await self._ask(request, traits)
                except Rejected as error:
                    traits.refusal = error
                    raise
                finally:
                    traits.tried = True
        return await self._ask(request, traits)

    async def _ask(self, request: ChatRequest, traits: Traits) -> ChatReply:
        asked = Asked(self.service, request.model, self._address.url, self._api_key, self._key_from)
        used = NOTHING_USED
        tries = 0
        while True:
            tries += 1
            form, path = traits.form, traits.path
            body = self.write(request, traits)
            seconds = self._seconds(request, traits)
            http = await self._connection.post(path, encode(body), asked=asked, timeout_seconds=seconds)
            limits = self.read_limits(http.headers)
            if 200 <= http.status < 300:
                reply = self._reply(http, path, asked, limits)
                traits.reasons = traits.reasons or _REASONED.search(http.content) is not None
                used += reply.usage
                if reply.finish == "stop" and request.schema is not None and not traits.settled:
                    traits.settled = self._known or holds_json(reply.text)
                    if not traits.settled and tries < MOST_TRIES and traits.weaken(form):
                        continue
                return ChatReply(reply.text, reply.model, reply.finish, used, reply.logprobs, limits)
            problem = read_problem(http)
            if problem.is_filtered:
                return ChatReply("", request.model, "content_filter", used, limits=limits)
            if tries >= MOST_TRIES or not self._learn(problem, body, form, request, traits, asked):
                raise failure(problem, asked, http, limits)

    def _reply(self, http: HttpReply, path: str, asked: Asked, limits: Limits | None) -> ChatReply:
        try:
            return self.read(http.content, path, asked)
        except ValueError:
            problem = read_problem(http)
            if problem.code.isdigit() and problem.message:  # an error of an upstream service, sent as a success
                raise failure(replace(problem, status=int(problem.code)), asked, http, limits) from None
            raise unreadable(asked, http, limits) from None

    def _learn(
        self, problem: Problem, sent: Body, form: Form, request: ChatRequest, traits: Traits, asked: Asked
    ) -> bool:
        if problem.status not in ((400, 403, 404, 422) if self._known else (400, 403, 404, 422, 500, 501)):
            return False
        if self.adapt(problem, sent, traits):
            return True
        for name in request.parameters:
            if problem.status in (400, 422) and _is_named(problem, name):
                told = failure(problem, asked, HttpReply(problem.status, {}, b""), None)
                said = str(told).removesuffix(".")
                raise Rejected(f"{said}; it was asked for: leave out `{name}`, or give it another value")
        wants_form = request.schema is not None and self.speaks_of_form(problem, form)
        return wants_form and traits.weaken(form)

    def _seconds(self, request: ChatRequest, traits: Traits) -> float:
        if self._timeout_seconds is not None:
            return self._timeout_seconds
        reasons = traits.reasons or any(name in request.parameters for name in REASONING)
        return REASONING_SECONDS if reasons else SECONDS


def encode(body: Body) -> bytes:
    """The body as JSON. Half a character (a lone surrogate) is sent escaped: the service says what it thinks of it."""
    try:
        return orjson.dumps(body, default=_plain)
    except TypeError:
        return json.dumps(body, default=_plain).encode("ascii")


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    raise TypeError(f"{type(value).__name__} can't be sent")


def _is_named(problem: Problem, name: str) -> bool:
    if problem.parameter.split(".")[0] == name:
        return True
    word = re.escape(name.lower())
    return re.search(rf"['\"`]{word}['\"`.]|(?:^|supplied: |argument |body\.){word}\b", problem.words) is not None
