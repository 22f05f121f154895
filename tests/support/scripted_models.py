"""Replies as language models write them, and language models that reply so by a function."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from math import log

from judges.errors import ServiceError
from judges.service import ChatReply, ChatRequest, TokenChoice
from support.services import Answering

__all__ = ["ids_in", "items_of", "reply_of", "said_of", "scripted", "tokens_of"]


def scripted(function: Callable[[ChatRequest], str | ChatReply | ServiceError]) -> Answering:
    """A language model whose answers are texts, replies or errors; `asked` holds its requests."""

    def answer(request: ChatRequest) -> ChatReply | BaseException:
        said = function(request)
        return reply_of(said) if isinstance(said, str) else said

    return Answering(answer)


def reply_of(text: str) -> ChatReply:
    """A reply that ended by itself."""
    return ChatReply(text, "scripted-1")


_ITEM = re.compile(r'^<(?:claim|passage)-[0-9a-f]+ id="(\w+)"', re.MULTILINE)
_LEFT = re.compile(r"Give these entries and no others: ([\w, ]+)\.$")


def ids_in(request: ChatRequest) -> list[str]:
    """The ids that a request asks for: those of its items, or those that its last turn names."""
    left = _LEFT.search(request.messages[-1].text)
    return left[1].split(", ") if left else _ITEM.findall(request.messages[0].text)


def items_of(verdicts: Iterable[tuple[str, str]], rationale: str = "It says so.") -> str:
    """A reply about several things: their ids and verdicts."""
    items = [{"id": name, "rationale": rationale, "verdict": verdict} for name, verdict in verdicts]
    return json.dumps({"items": items}, ensure_ascii=False)


def said_of(verdict: str, rationale: str = "It says so.") -> str:
    """A reply about the whole."""
    return json.dumps({"rationale": rationale, "verdict": verdict}, ensure_ascii=False)


def tokens_of(*tokens: str | Sequence[tuple[str, float]]) -> ChatReply:
    """A reply with its tokens: each a text that was certain, or what could have stood there, the chosen one first."""
    choices: list[TokenChoice] = []
    for token in tokens:
        options = [(token, 1.0)] if isinstance(token, str) else list(token)
        alternatives = tuple((text, log(probability)) for text, probability in options)
        choices.append(TokenChoice(options[0][0], log(options[0][1]), alternatives))
    return ChatReply("".join(choice.token for choice in choices), "scripted-1", logprobs=tuple(choices))
