"""Replies as bytes, for the cache: JSON, and the vector of an embedding beside it."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson

from judges.service import ChatReply, EmbeddingReply, TokenChoice
from judges.usage import Usage

__all__ = ["CHAT", "EMBEDDING", "Form", "Stored", "exported"]

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, slots=True)
class Stored:
    """A reply as the cache holds it."""

    text: bytes
    """JSON."""
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Form(Generic[ReplyT]):
    """How replies of one kind are stored. The limits of the account are left out: they were true for a moment."""

    encode: Callable[[ReplyT], Stored]
    decode: Callable[[Stored], ReplyT]


def _encode_chat(reply: ChatReply) -> Stored:
    record: dict[str, Any] = {"text": reply.text, "model": reply.model, "finish": reply.finish}
    if usage := reply.usage.to_record():
        record["usage"] = usage
    if reply.logprobs is not None:
        record["logprobs"] = [[each.token, each.logprob, each.alternatives] for each in reply.logprobs]
    return Stored(_dump(record))


def _decode_chat(stored: Stored) -> ChatReply:
    record = _load(stored.text)
    logprobs = record.get("logprobs")
    return ChatReply(
        text=record["text"],
        model=record["model"],
        finish=record["finish"],
        usage=Usage.from_record(record.get("usage", {})),
        logprobs=None
        if logprobs is None
        else tuple(
            TokenChoice(token, logprob, tuple((other, value) for other, value in alternatives))
            for token, logprob, alternatives in logprobs
        ),
    )


def _encode_embedding(reply: EmbeddingReply) -> Stored:
    record: dict[str, Any] = {"model": reply.model}
    if usage := reply.usage.to_record():
        record["usage"] = usage
    return Stored(_dump(record), reply.vector)


def _decode_embedding(stored: Stored) -> EmbeddingReply:
    record = _load(stored.text)
    return EmbeddingReply(stored.vector or b"", record["model"], Usage.from_record(record.get("usage", {})))


CHAT = Form(_encode_chat, _decode_chat)
EMBEDDING = Form(_encode_embedding, _decode_embedding)


def exported(stored: Stored) -> dict[str, Any]:
    """A stored reply as JSON-ready values; the vector in base64."""
    record = _load(stored.text)
    if stored.vector is not None:
        record["vector"] = b64encode(stored.vector).decode("ascii")
    return record


def _dump(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(record)
    except TypeError:  # half of a surrogate pair, or an integer beyond 64 bits
        return json.dumps(record).encode("ascii")


def _load(text: bytes) -> dict[str, Any]:
    try:
        record: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        record = json.loads(text)
    return record
