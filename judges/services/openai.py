"""Language models that speak OpenAI's dialect, through the official SDK: OpenAI itself, and any server by its base URL
(vLLM, Ollama, llama.cpp, LiteLLM, OpenRouter, Azure).

Chat completions by default; the Responses API for models that say they have nothing else. The SDK's HTTP client and
headers are used: its typed `create` costs four times the processor time a call, and its own retries would hide 429s.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import BaseModel

from judges.fingerprint import digest
from judges.service import ChatReply, ChatRequest, Finish, TokenChoice
from judges.services.chat import Body, HttpChat
from judges.services.connection import Address, Client, client_of, no_trust
from judges.services.failures import Asked, Problem
from judges.services.headers import openai_limits
from judges.services.structured import REPLY, Form, Traits, asks_for_json, is_closed
from judges.usage import Limits, Usage

__all__ = ["OFFICIAL", "OpenAIChat", "openai_client"]

OFFICIAL = "https://api.openai.com/v1"
LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
CHAT, RESPONSES = "/chat/completions", "/responses"
FORMS: Sequence[Form] = ("strict", "schema", "tool", "json", "plain")
ALTERNATIVES = 8
"""Likeliest tokens asked for at each place: the most that all services with log-probabilities give."""


def openai_client(address: Address, api_key: str | None) -> Client:
    """A client for the running event loop, with the SDK's headers."""
    import openai

    unused = openai.DefaultAsyncHttpxClient(verify=no_trust(), trust_env=False)
    sdk = openai.AsyncOpenAI(api_key=api_key or "none", base_url=address.url, http_client=unused)
    key: dict[str, str] = sdk.auth_headers
    if api_key is None or address.is_at("azure.com"):
        key = {} if api_key is None else {"api-key": api_key}
    is_own = address.is_own("openai.com", "OPENAI_BASE_URL")
    return client_of(address, sdk.default_headers, key, sdk.close, is_own=is_own)


class OpenAIChat(HttpChat):
    """A `Service[ChatRequest, ChatReply]` at OpenAI or at any server that speaks its dialect."""

    service: ClassVar[str] = "openai"

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
            base_url: Of the API, such as `http://127.0.0.1:8000/v1`; None for OpenAI's own. A query in it (Azure's
                `?api-version=...`) is sent with each request.
            api_key: None where none is needed.
            key_from: Where the key comes from, such as `OPENAI_API_KEY`, for messages.
            timeout_seconds: For each call, from the connection to the last byte; None for 60 s, and 300 s where the
                model reasons.

        Raises:
            InputError: The base URL is none, or the key can't be one.
        """
        address = Address.parse(OFFICIAL if base_url is None else base_url)
        self._official = address.is_at("api.openai.com")
        known = self._official or address.is_at("azure.com")
        super().__init__(address, api_key, key_from, timeout_seconds, known=known)

    def make_client(self) -> Client:
        """The SDK's client."""
        return openai_client(self._address, self._api_key)

    def first_traits(self) -> Traits:
        """All there is; newer models call the limit by its newer name, other servers often know the older one only."""
        return Traits(CHAT, FORMS, limits=LIMIT_NAMES if self._known else LIMIT_NAMES[::-1])

    def write(self, request: ChatRequest, traits: Traits) -> Body:
        """The request as a chat completion, or as a response."""
        form = traits.form if request.schema is not None else None
        system = request.system
        if request.schema is not None and form in ("json", "plain"):
            system = asks_for_json(system, request.schema)
        turns = [{"role": message.role, "content": message.text} for message in request.messages]
        if system and traits.no_system:
            turns = [{"role": "user", "content": f"{system}\n\n{turns[0]['content']}"}, *turns[1:]]
        shown = system if not traits.no_system else ""
        body = (
            _as_response(request, form, shown, turns)
            if traits.path == RESPONSES
            else _as_completion(request, form, shown, turns, traits.limits[0])
        )
        if self._official and request.system:
            body["prompt_cache_key"] = digest(request.system)[:16]
        for name in traits.dropped:
            body.pop(name, None)
        return body

    def read(self, content: bytes, path: str, asked: Asked) -> ChatReply:
        """The reply that a chat completion, or a response, holds."""
        if path == RESPONSES:
            return _Response.model_validate_json(content).to_reply(asked)
        return _Completion.model_validate_json(content).to_reply(asked)

    def read_limits(self, headers: Mapping[str, str]) -> Limits | None:
        """What `x-ratelimit-*` headers say."""
        return openai_limits(headers)

    def adapt(self, problem: Problem, sent: Body, traits: Traits) -> bool:
        """Leave out, rename, or ask elsewhere, as the error says."""
        if "messages" in sent and problem.names("v1/responses", "responses api", "responses endpoint"):
            traits.path = RESPONSES
            return True
        for names in (("logprobs", "top_logprobs", "include"), ("prompt_cache_key",), ("store",)):
            if problem.names(names[0]) and names[0] not in traits.dropped and not sent.keys().isdisjoint(names):
                traits.dropped.update(names)
                return True
        if problem.is_unsupported and problem.names("max_tokens", "max_completion_tokens"):
            tried = next((name for name in LIMIT_NAMES if name in sent), "")
            return tried != "" and traits.rename_limit(tried)
        if problem.is_unsupported and problem.names("system role", "'system'", "role system") and not traits.no_system:
            traits.no_system = True
            return True
        return False

    def speaks_of_form(self, problem: Problem, form: Form) -> bool:
        """Whether it is about `response_format` or tools."""
        if form == "tool":
            return problem.names("tool", "function")
        return form != "plain" and problem.names(
            "response_format", "text.format", "json_schema", "json_object", "structured output", "schema", "grammar"
        )


def _as_completion(request: ChatRequest, form: Form | None, system: str, turns: Sequence[object], limit: str) -> Body:
    messages = [{"role": "system", "content": system}, *turns] if system else list(turns)
    body: Body = {"model": request.model, "messages": messages, limit: request.max_tokens}
    schema = request.schema
    if form == "tool":
        function = {"name": REPLY, "description": "Give the reply.", "parameters": schema}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": REPLY}}
    elif form == "json":
        body["response_format"] = {"type": "json_object"}
    elif form in ("strict", "schema") and schema is not None:
        strict = {"strict": True} if form == "strict" and is_closed(schema) else {}
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": REPLY, "schema": schema, **strict}}
    if request.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = ALTERNATIVES
    return {**body, **request.parameters}


def _as_response(request: ChatRequest, form: Form | None, system: str, turns: Sequence[object]) -> Body:
    body: Body = {"model": request.model, "input": list(turns), "max_output_tokens": request.max_tokens, "store": False}
    schema = request.schema
    text: Body = {}
    if system:
        body["instructions"] = system
    if form == "tool":
        tool = {"type": "function", "name": REPLY, "description": "Give the reply.", "parameters": schema}
        body["tools"] = [{**tool, "strict": False}]
        body["tool_choice"] = {"type": "function", "name": REPLY}
    elif form == "json":
        text["format"] = {"type": "json_object"}
    elif form in ("strict", "schema") and schema is not None:
        strict = form == "strict" and is_closed(schema)
        text["format"] = {"type": "json_schema", "name": REPLY, "schema": schema, "strict": strict}
    if request.logprobs:
        body["include"] = ["message.output_text.logprobs"]
        body["top_logprobs"] = ALTERNATIVES
    parameters = dict(request.parameters)  # named as in chat completions
    if "reasoning_effort" in parameters:
        body["reasoning"] = {"effort": parameters.pop("reasoning_effort")}
    if "verbosity" in parameters:
        text["verbosity"] = parameters.pop("verbosity")
    if text:
        body["text"] = text
    return {**body, **parameters}


class _Alternative(BaseModel):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: list[_Alternative] | None = None

    def to_choice(self) -> TokenChoice:
        return TokenChoice(
            self.token, self.logprob, tuple((each.token, each.logprob) for each in self.top_logprobs or ())
        )


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Function(BaseModel):
    arguments: str


class _Call(BaseModel):
    function: _Function


class _Part(BaseModel):
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Details(BaseModel):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _CompletionUsage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    total_tokens: int | None = None
    prompt_tokens_details: _Details | None = None

    def to_usage(self) -> Usage:
        output = self.completion_tokens or 0
        if self.total_tokens is not None:  # some services leave the tokens of reasoning out of the completion's
            output = max(output, self.total_tokens - self.prompt_tokens)
        details = self.prompt_tokens_details
        return Usage(1, 0, self.prompt_tokens, output, details.cached_tokens or 0 if details else 0)


_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "content_filter", "refusal": "refusal"}


class _Completion(BaseModel):
    """A chat completion, as much of it as is used."""

    model: str | None = None
    choices: list[_Choice]
    usage: _CompletionUsage | None = None

    def to_reply(self, asked: Asked) -> ChatReply:
        if not self.choices or self.choices[0].finish_reason in ("error", "abort"):
            raise ValueError("no reply in it")
        choice = self.choices[0]
        message = choice.message
        finish = _FINISHES.get(choice.finish_reason or "", "stop")
        content = message.content
        text = content if isinstance(content, str) else "".join(part.text for part in content or ())
        if message.tool_calls:
            text = "\n".join(call.function.arguments for call in message.tool_calls)
        if message.refusal:
            text, finish = message.refusal, "refusal"
        tokens = choice.logprobs.content if choice.logprobs is not None else None
        return ChatReply(
            text,
            self.model or asked.model,
            finish,
            self.usage.to_usage() if self.usage is not None else Usage(calls=1),
            None if tokens is None else tuple(token.to_choice() for token in tokens),
        )


class _Output(BaseModel):
    type: str
    text: str = ""
    refusal: str = ""
    arguments: str = ""
    logprobs: list[_Token] | None = None
    content: list["_Output"] | None = None


class _ResponseUsage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _Details | None = None

    def to_usage(self) -> Usage:
        details = self.input_tokens_details
        return Usage(1, 0, self.input_tokens, self.output_tokens, details.cached_tokens or 0 if details else 0)


class _Incomplete(BaseModel):
    reason: str | None = None


class _Response(BaseModel):
    """A response, as much of it as is used."""

    model: str | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    output: list[_Output]
    usage: _ResponseUsage | None = None

    def to_reply(self, asked: Asked) -> ChatReply:
        if self.status in ("failed", "cancelled"):
            raise ValueError("no reply in it")
        parts = [part for item in self.output for part in (item.content or (item,))]
        said = [part for part in parts if part.type in ("output_text", "function_call", "refusal")]
        reason = self.incomplete_details.reason if self.incomplete_details is not None else None
        finish: Finish = "stop"
        if self.status == "incomplete":
            finish = "content_filter" if reason == "content_filter" else "length"
        if any(part.type == "refusal" for part in said):
            finish = "refusal"
        tokens = [token for part in said for token in part.logprobs or ()]
        return ChatReply(
            "\n".join(part.refusal or part.arguments or part.text for part in said),
            self.model or asked.model,
            finish,
            self.usage.to_usage() if self.usage is not None else Usage(calls=1),
            tuple(token.to_choice() for token in tokens) or None,
        )
