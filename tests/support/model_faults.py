"""What the model server does wrong on request: errors of HTTP, broken connections, bad replies.

A rule names a fault and says which requests meet it: the nth, a share of them, those that hold a text.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field

from support.model_brain import Answer
from support.model_limits import RetryAfter

__all__ = [
    "CONTENT_FAULTS",
    "HTTP_ERRORS",
    "ContentFault",
    "FaultScript",
    "HttpError",
    "HttpFault",
    "Rule",
    "TransportFault",
    "VectorFault",
]

HttpFault = Literal[
    "bad_request", "unsupported_parameter", "response_format", "invalid_schema", "context_length", "prompt_filtered",
    "unauthorised", "payment", "no_credit", "forbidden", "no_model", "request_timeout", "conflict", "too_large",
    "unprocessable", "rate_limited", "quota", "request_over_limit", "internal", "bad_gateway", "unavailable",
    "gateway_timeout", "overloaded",
]  # fmt: skip
TransportFault = Literal[
    "hang",
    "reset",
    "reset_body",
    "slow",
    "truncated_json",
    "html",
    "empty_body",
    "redirect",
    "no_choices",
    "error_as_success",
]
ContentFault = Literal[
    "prose", "fences", "truncated", "missing_claims", "extra_claims", "unknown_id", "duplicate_keys",
    "duplicate_claims", "wrong_types", "reordered", "unknown_level", "empty_content", "not_json", "refusal",
    "content_filter",
]  # fmt: skip
VectorFault = Literal["shuffled", "missing_vector", "uneven_vectors", "no_base64"]


class Rule(BaseModel):
    """A fault, and which requests meet it: those for which all that is given holds."""

    model_config = ConfigDict(extra="forbid")

    fault: HttpFault | TransportFault | ContentFault | VectorFault
    nth: list[int] | None = None
    """Counted from 1, among the requests for which `match`, `model` and `path` hold."""
    share: float | None = None
    """Of the requests; which ones is decided by the seed, the body, and how often this body came before."""
    seed: int = 0
    times: int | None = None
    """At most so often."""
    match: str | None = None
    """A text that the body holds."""
    model: str | None = None
    path: str | None = None
    """How the path ends."""
    parameter: str | None = None
    """The one that `unsupported_parameter` complains of."""
    message: str | None = None
    """Instead of the usual one."""
    retry_after: float | None = None
    """Seconds, said in the way of `retry_after_as`."""
    retry_after_as: RetryAfter = "seconds"
    seconds: float = 5.0
    """How long `slow` takes."""
    headers: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpError:
    """How an error looks in both dialects."""

    status: int
    message: str
    openai_type: str = "invalid_request_error"
    openai_code: str | None = None
    anthropic_type: str = "invalid_request_error"
    parameter: str | None = None


HTTP_ERRORS: dict[HttpFault, HttpError] = {
    "bad_request": HttpError(400, "The request is malformed: 'messages' has no content."),
    "unsupported_parameter": HttpError(
        400, "Unsupported parameter: '{parameter}' is not supported with this model.",
        openai_code="unsupported_parameter",
    ),
    "response_format": HttpError(
        400,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        parameter="response_format",
    ),
    "invalid_schema": HttpError(
        400, "Invalid schema for response_format 'reply': In context=(), 'minLength' is not permitted.",
        parameter="response_format",
    ),
    "context_length": HttpError(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10211 tokens.",
        openai_code="context_length_exceeded",
        parameter="messages",
    ),
    "prompt_filtered": HttpError(
        400,
        "The response was filtered due to the prompt triggering the content management policy.",
        openai_code="content_filter",
        parameter="prompt",
    ),
    "unauthorised": HttpError(
        401, "Incorrect API key provided: {key}.", openai_code="invalid_api_key", anthropic_type="authentication_error"
    ),
    "payment": HttpError(402, "Insufficient credits.", "billing_error", None, "billing_error"),
    "no_credit": HttpError(400, "Your credit balance is too low to access the API. Please go to Plans & Billing."),
    "forbidden": HttpError(403, "Your project may not use this model.", anthropic_type="permission_error"),
    "no_model": HttpError(
        404,
        "The model `{model}` does not exist or you do not have access to it.",
        openai_code="model_not_found",
        anthropic_type="not_found_error",
        parameter="model",
    ),
    "request_timeout": HttpError(408, "The request took too long to arrive.", "timeout", None, "timeout_error"),
    "conflict": HttpError(409, "The resource is locked.", "conflict", None, "conflict_error"),
    "too_large": HttpError(413, "Request exceeds the maximum size", "invalid_request_error", None, "request_too_large"),
    "unprocessable": HttpError(422, "The request can't be processed."),
    "rate_limited": HttpError(
        429, "Rate limit reached for {model}. Please try again later.", "requests", "rate_limit_exceeded",
        "rate_limit_error",
    ),
    "quota": HttpError(
        429, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota",
        "insufficient_quota", "rate_limit_error",
    ),
    "request_over_limit": HttpError(
        429, "Request too large for {model} on tokens per min (TPM): Limit 30000, Requested 40211.", "tokens",
        "rate_limit_exceeded", "rate_limit_error",
    ),
    "internal": HttpError(500, "The server had an error.", "server_error", None, "api_error"),
    "bad_gateway": HttpError(502, "Bad gateway.", "server_error", None, "api_error"),
    "unavailable": HttpError(503, "The engine is currently overloaded.", "server_error", None, "api_error"),
    "gateway_timeout": HttpError(504, "The upstream took too long.", "server_error", None, "timeout_error"),
    "overloaded": HttpError(529, "Overloaded", "server_error", None, "overloaded_error"),
}  # fmt: skip


class FaultScript:
    """The rules in force, and how often each was met."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._counted = [0] * len(self.rules)
        self._met = [0] * len(self.rules)
        self._seen: list[Counter[bytes]] = [Counter() for _ in self.rules]

    def meet(self, raw: bytes, path: str, model: str) -> Rule | None:
        """The first rule that this request meets; all of them count it."""
        found: Rule | None = None
        for position, rule in enumerate(self.rules):
            if not _applies(rule, raw, path, model):
                continue
            self._counted[position] += 1
            if found is None and self._hit(position, rule, raw):
                self._met[position] += 1
                found = rule
        return found

    def _hit(self, position: int, rule: Rule, raw: bytes) -> bool:
        if rule.times is not None and self._met[position] >= rule.times:
            return False
        if rule.nth is not None and self._counted[position] not in rule.nth:
            return False
        if rule.share is None:
            return True
        body = hashlib.blake2b(raw, digest_size=16).digest()
        self._seen[position][body] += 1
        drawn = hashlib.blake2b(
            body, digest_size=8, salt=f"{rule.seed}.{self._seen[position][body]}".encode()[:16]
        ).digest()
        return int.from_bytes(drawn, "big") / 2**64 < rule.share


def _applies(rule: Rule, raw: bytes, path: str, model: str) -> bool:
    return (
        (rule.match is None or rule.match.encode() in raw)
        and (rule.model is None or rule.model == model)
        and (rule.path is None or path.endswith(rule.path))
    )


def _prose(text: str) -> str:
    return f"Here is what I found.\n\n{text}\n\nLet me know if anything is unclear."


def _fences(text: str) -> str:
    return f"```json\n{text}\n```"


def _truncated(text: str) -> str:
    return text[: max(1, len(text) * 2 // 3)]


def _on_items(change: Callable[[list[Any]], list[Any]]) -> Callable[[str], str]:
    """What changes the first list of objects of a JSON document."""

    def changed(text: str) -> str:
        try:
            document: Any = json.loads(text)
        except ValueError:
            return text
        for name, value in document.items():
            items: list[Any] = list(cast("Iterable[Any]", value)) if isinstance(value, list) else []
            if items and isinstance(items[0], dict):
                document[name] = change(items)
                break
        return json.dumps(document, ensure_ascii=False)

    return changed


def _renamed(items: list[Any]) -> list[Any]:
    return [{**items[0], "id": "no-such-id"}, *items[1:]]


def _added(items: list[Any]) -> list[Any]:
    return [*items, {**items[-1], "id": "one-too-many"}]


def _duplicate_keys(text: str) -> str:
    """The first member of the document, twice, with another value the second time."""
    document: Any = json.loads(text)
    name = next(iter(document))
    return text.rstrip().removesuffix("}") + f", {json.dumps(name)}: null}}"


def _wrong_types(value: Any) -> Any:
    """Every leaf as another type."""
    if isinstance(value, str):
        return [value]
    return _inside(value, _wrong_types) if isinstance(value, dict | list) else str(value)


def _unknown_level(value: Any) -> Any:
    """Every short text as a word that no scale has, every number as one that none has."""
    if isinstance(value, dict | list):
        return _inside(value, _unknown_level)
    if isinstance(value, str) and " " in value:
        return value
    return "purple" if value is None or isinstance(value, str | bool) else 1_000_003


def _inside(value: Any, change: Callable[[Any], Any]) -> Any:
    """The parts of a list or an object changed; ids stay."""
    if isinstance(value, list):
        return [change(each) for each in cast("Iterable[Any]", value)]
    return {name: each if name == "id" else change(each) for name, each in cast("dict[str, Any]", value).items()}


def _on_document(change: Callable[[Any], Any]) -> Callable[[str], str]:
    return lambda text: json.dumps(change(json.loads(text)), ensure_ascii=False)


_CHANGES: dict[ContentFault, Callable[[str], str]] = {
    "prose": _prose,
    "fences": _fences,
    "truncated": _truncated,
    "missing_claims": _on_items(lambda items: items[1:]),
    "extra_claims": _on_items(_added),
    "unknown_id": _on_items(_renamed),
    "duplicate_claims": _on_items(lambda items: [*items, items[0]]),
    "reordered": _on_items(lambda items: items[::-1]),
    "duplicate_keys": _duplicate_keys,
    "wrong_types": _on_document(_wrong_types),
    "unknown_level": _on_document(_unknown_level),
    "empty_content": lambda _: "",
    "not_json": lambda _: "I would say that most of it is supported.",
    "refusal": lambda _: "I can't help with that.",
    "content_filter": lambda _: "",
}
_FINISHES: dict[str, str] = {"truncated": "length", "refusal": "refusal", "content_filter": "content_filter"}


def _spoiler(name: ContentFault) -> Callable[[Answer], Answer]:
    def spoil(answer: Answer) -> Answer:
        return Answer(_CHANGES[name](answer.text), _FINISHES.get(name, answer.finish), answer.probabilities)

    return spoil


CONTENT_FAULTS: dict[str, Callable[[Answer], Answer]] = {name: _spoiler(name) for name in get_args(ContentFault)}
"""What each does to a good answer."""
