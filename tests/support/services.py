"""Small services in this process, for tests of what surrounds a service."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from judges.clock import Clock
from judges.service import ChatReply, ChatRequest, EmbeddingReply, EmbeddingRequest, Message
from judges.usage import Usage

__all__ = ["Answering", "AnsweringMany", "HandMovedClock", "chat", "echo", "text"]


def chat(question: str = "why?", *, model: str = "m", max_tokens: int = 100, replicate: int = 0) -> ChatRequest:
    """A question to a language model."""
    return ChatRequest(model, "", (Message("user", question),), max_tokens=max_tokens, replicate=replicate)


def text(words: str, *, model: str = "e") -> EmbeddingRequest:
    """A text to be embedded."""
    return EmbeddingRequest(model, words)


def echo(request: ChatRequest) -> ChatReply:
    """The question itself, at 10 tokens read and 5 written."""
    return ChatReply(request.messages[-1].text, request.model, usage=Usage(input_tokens=10, output_tokens=5))


async def _at_once() -> None:
    return None


@dataclass
class Answering:
    """A language model that keeps count; its answers may be errors, and it may take its time."""

    answer: Callable[[ChatRequest], ChatReply | BaseException] = echo
    wait: Callable[[], Awaitable[None]] = _at_once
    asked: list[ChatRequest] = field(default_factory=list[ChatRequest])

    async def __call__(self, request: ChatRequest, /) -> ChatReply:
        self.asked.append(request)
        await self.wait()
        answer = self.answer(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass
class AnsweringMany:
    """An embedding model that keeps count; a text may be refused."""

    refuses: Callable[[str], BaseException | None] = lambda _: None
    wait: Callable[[], Awaitable[None]] = _at_once
    asked: list[list[str]] = field(default_factory=list[list[str]])

    async def __call__(self, requests: Sequence[EmbeddingRequest], /) -> Sequence[EmbeddingReply]:
        self.asked.append([request.text for request in requests])
        await self.wait()
        for request in requests:
            refusal = self.refuses(request.text)
            if refusal is not None:
                raise refusal
        return [EmbeddingReply(each.text.encode(), each.model, Usage(input_tokens=3)) for each in requests]


class HandMovedClock(Clock):
    """Stands still but for sleeps, which pass at once and are noted."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)
