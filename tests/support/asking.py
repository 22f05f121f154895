"""Requests to language models for tests, and how to ask them."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from judges.fingerprint import Json
from judges.service import ChatReply, ChatRequest, EmbeddingReply, EmbeddingRequest, Message

__all__ = ["KEY", "SCHEMA", "ask", "ask_all", "embed", "question"]

KEY = "sk-test-4f2a9c81d7e6b350"

SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "enum": ["c1", "c2"]},
                    "rationale": {"type": "string"},
                    "verdict": {"type": "string", "enum": ["supported", "unsupported"]},
                },
                "required": ["id", "rationale", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


class ChatService(Protocol):
    async def __call__(self, request: ChatRequest, /) -> ChatReply: ...
    async def aclose(self) -> None: ...


class EmbeddingService(Protocol):
    async def __call__(self, requests: list[EmbeddingRequest], /) -> list[EmbeddingReply]: ...
    async def aclose(self) -> None: ...


def question(
    text: str = "The bridge opened in 1932.",
    *,
    model: str = "judge-1",
    system: str = "Judge each claim.",
    schema: Mapping[str, Json] | None = SCHEMA,
    max_tokens: int = 500,
    parameters: Mapping[str, Json] | None = None,
    logprobs: bool = False,
) -> ChatRequest:
    """A request to judge two claims."""
    return ChatRequest(model, system, (Message("user", text),), schema, max_tokens, parameters or {}, logprobs)


def ask(service: ChatService, request: ChatRequest | None = None) -> ChatReply:
    """The reply, in an event loop of its own."""
    [reply] = ask_all(service, [request or question()])
    return reply


def ask_all(service: ChatService, requests: list[ChatRequest]) -> list[ChatReply]:
    """The replies to requests that are made all at once."""

    async def at_once() -> list[ChatReply]:
        try:
            return await asyncio.gather(*map(service, requests))
        finally:
            await service.aclose()

    return asyncio.run(at_once())


def embed(service: EmbeddingService, requests: list[EmbeddingRequest]) -> list[EmbeddingReply]:
    """The replies to one call."""

    async def once() -> list[EmbeddingReply]:
        try:
            return await service(requests)
        finally:
            await service.aclose()

    return asyncio.run(once())
