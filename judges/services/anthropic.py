"""Language models that speak Anthropic's dialect, through the official SDK, and any server by its base URL.

The system text is marked to be kept by the prompt cache. Nothing that newer models refuse, such as `temperature`, is
sent unless it was asked for. The SDK's HTTP client and headers are used, as for OpenAI.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, cast

import orjson
from pydantic import BaseModel

from judges.fingerprint import Json
from judges.once import once_each
from judges.service import ChatReply, ChatRequest, Finish
from judges.services.chat import Body, HttpChat
from judges.services.connection import Address, Client, client_of, no_trust
from judges.services.failures import Asked, Problem
from judges.services.headers import anthropic_limits
from judges.services.structured import REPLY, Form, Traits, asks_for_json
from judges.usage import Limits, Usage

__all__ = ["OFFICIAL", "AnthropicChat"]

OFFICIAL = "https://api.anthropic.com"
MESSAGES = "/v1/messages"
FORMS: Sequence[Form] = ("schema", "tool", "plain")


class AnthropicChat(HttpChat):
    """A `Service[ChatRequest, ChatReply]` at Anthropic or at any server that speaks its dialect."""

    service: ClassVar[str] = "anthropic"

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        key_from: str = "",
        timeout_seconds: float | None = None,
    ) -> None:
        """
        Args:
            base_url: Of the API, with or without `/v1`; None for Anthropic's own.
            api_key: None where none is needed.
            key_from: Where the key comes from, such as `ANTHROPIC_API_KEY`, for messages.
            timeout_seconds: For each call, from the connection to the last byte; None for 60 s, and 300 s where the
                model reasons.

        Raises:
            InputError: The base URL is none, or the key can't be one.
        """
        address = Address.parse(OFFICIAL if base_url is None else base_url)
        address = replace(address, url=address.url.removesuffix("/v1"))  # the path has it
        super().__init__(address, api_key, key_from, timeout_seconds, known=address.is_at("api.anthropic.com"))

    def make_client(self) -> Client:
        """A client for the running event loop, with the SDK's headers."""
        import anthropic

        unused = anthropic.DefaultAsyncHttpxClient(verify=no_trust(), trust_env=False)
        sdk = anthropic.AsyncAnthropic(
            api_key=self._api_key or "none", base_url=self._address.url, open_telemetry=False, http_client=unused
        )
        is_own = self._address.is_own("anthropic.com", "ANTHROPIC_BASE_URL")
        return client_of(self._address, sdk.default_headers, sdk.auth_headers, sdk.close, is_own=is_own)

    def first_traits(self) -> Traits:
        """All there is."""
        return Traits(MESSAGES, FORMS)

    def write(self, request: ChatRequest, traits: Traits) -> Body:
        """The request as a message."""
        schema = request.schema
        form = traits.form if schema is not None else None
        system = asks_for_json(request.system, schema) if schema is not None and form == "plain" else request.system
        turns = [{"role": message.role, "content": message.text} for message in request.messages]
        body: Body = {"model": request.model, "max_tokens": request.max_tokens, "messages": turns}
        if system:
            body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        body |= request.parameters
        if form == "tool":
            body["tools"] = [{"name": REPLY, "description": "Give the reply.", "input_schema": schema}]
            body["tool_choice"] = {"type": "tool", "name": REPLY}
        elif form == "schema" and schema is not None:
            given = cast("Mapping[str, Json]", request.parameters.get("output_config") or {})
            body["output_config"] = {**given, "format": {"type": "json_schema", "schema": _supported(schema)}}
        return body

    def read(self, content: bytes, path: str, asked: Asked) -> ChatReply:  # noqa: ARG002  # there is one path
        """The reply that a message holds."""
        return _Reply.model_validate_json(content).to_reply(asked)

    def read_limits(self, headers: Mapping[str, str]) -> Limits | None:
        """What `anthropic-ratelimit-*` headers say."""
        return anthropic_limits(headers)

    def speaks_of_form(self, problem: Problem, form: Form) -> bool:
        """Whether it is about `output_config` or tools."""
        if form == "tool":
            return problem.names("tool")
        return form != "plain" and problem.names("output_config", "output_format", "structured output", "schema")


@once_each
def _supported(schema: Mapping[str, Json]) -> Json:
    """The schema in the words that the service takes: objects closed, limits of values told in descriptions."""
    import anthropic

    return cast("Json", anthropic.transform_schema(dict(schema)))


class _Block(BaseModel):
    type: str
    text: str = ""
    input: object = None


class _Usage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def to_usage(self) -> Usage:
        """Its input tokens leave out those of the prompt cache; ours hold them."""
        read, written = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        return Usage(1, 0, self.input_tokens + read + written, self.output_tokens, read, written)


_FINISHES: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class _Reply(BaseModel):
    """A message, as much of it as is used."""

    type: Literal["message"]
    model: str | None = None
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None

    def to_reply(self, asked: Asked) -> ChatReply:
        calls = [orjson.dumps(block.input).decode() for block in self.content if block.type == "tool_use"]
        text = "\n".join(calls) or "".join(block.text for block in self.content if block.type == "text")
        return ChatReply(
            text,
            self.model or asked.model,
            _FINISHES.get(self.stop_reason or "", "stop"),
            self.usage.to_usage() if self.usage is not None else Usage(calls=1),
        )
