"""How many tokens a request may take, without a tokenizer: at most, for what must never be passed; likely, for pace."""

from dataclasses import dataclass
from functools import lru_cache

import orjson

from judges.service import ChatRequest, EmbeddingRequest
from judges.tokens import estimate_tokens
from judges.usage import Usage

__all__ = ["Tokens", "likely_tokens", "most_tokens"]

_TURN = 16
"""Tokens around a turn of a conversation."""
_TOOL = 1000
"""Instructions that a service adds to make a model keep to a schema."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens read and written."""

    input: float
    output: float


def most_tokens(request: ChatRequest | EmbeddingRequest) -> Usage:
    """The most that a request may use: a token stands for one byte of UTF-8 or more, whatever the script."""
    match request:
        case ChatRequest():
            read = _TURN + _bytes(request.system) + sum(_TURN + _bytes(each.text) for each in request.messages)
            if request.schema is not None:
                read += _TOOL + len(orjson.dumps(request.schema))
            return Usage(input_tokens=read, output_tokens=request.max_tokens)
        case EmbeddingRequest():
            return Usage(input_tokens=_TURN + _bytes(request.text))


def likely_tokens(request: ChatRequest | EmbeddingRequest) -> Tokens:
    """What a request should use."""
    match request:
        case ChatRequest():
            read = _TURN + _of_system(request.system) + sum(estimate_tokens(each.text) for each in request.messages)
            written = request.max_tokens if request.expected_tokens is None else request.expected_tokens
            return Tokens(read, min(written, request.max_tokens))
        case EmbeddingRequest():
            return Tokens(estimate_tokens(request.text), 0.0)


_of_system = lru_cache(maxsize=256)(estimate_tokens)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
