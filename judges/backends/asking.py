"""Asks a model, and once more where its reply isn't what was asked.

A reply that was cut off, declined or taken away is not asked for again: the same would come of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from judges.backends.readout import Answered, answered, answered_items
from judges.criterion import Scale
from judges.errors import FilteredReply, InvalidReply, RefusedReply, ReplyError, TruncatedReply
from judges.printable import printable
from judges.replies import read_items, read_level
from judges.service import ChatReply, ChatRequest, Message, Service

__all__ = ["ask", "ask_items", "ask_level"]

Result = TypeVar("Result")
Chat = Service[ChatRequest, ChatReply]


async def ask(service: Chat, request: ChatRequest, read: Callable[[ChatReply], Result]) -> Result:
    """What the reply says.

    Args:
        service: Whom to ask.
        request: What.
        read: Reads a reply, or raises a ReplyError, whose message is shown to the model.

    Raises:
        ReplyError: It was no answer, twice; or there is none to be had.
        ServiceError: As the service has it.
    """
    reply = await _reply(service, request)
    try:
        return read(reply)
    except ReplyError as error:
        complaint = str(error)
    again = await _reply(service, _asked_again(request, reply, complaint))
    try:
        return read(again)
    except ReplyError as error:
        raise _twice(request, complaint, error) from None


async def ask_level(service: Chat, request: ChatRequest, scale: Scale) -> Answered:
    """The verdict of the whole.

    Raises:
        ReplyError: The reply was no verdict, twice; or there is none to be had.
        ServiceError: As the service has it.
    """
    return await ask(service, request, lambda reply: answered(read_level(reply.text, scale), scale, reply))


async def ask_items(service: Chat, request: ChatRequest, scale: Scale, asked: Sequence[str]) -> dict[str, Answered]:
    """The verdict of each item, by id: all of them. Only what the first reply lacks is asked for again.

    Raises:
        ReplyError: A verdict was missing or wrong, twice; or there is none to be had.
        ServiceError: As the service has it.
    """
    reply = await _reply(service, request)
    found: dict[str, Answered] = {}
    try:
        first = read_items(reply.text, scale, asked)
    except ReplyError as error:
        complaint = str(error)
    else:
        found = answered_items(first.said, scale, reply)
        if first.complaint is None:
            return found
        complaint = first.complaint
    left = [name for name in asked if name not in found]
    if not left:  # all are there, but there is more that was not asked for: is it about the same things?
        left, found = list(asked), {}
    again = await _reply(service, _asked_again(request, reply, complaint, left))
    try:
        second = read_items(again.text, scale, left, known=found)
        if second.complaint is not None:
            raise InvalidReply(second.complaint)
    except ReplyError as error:
        raise _twice(request, complaint, error) from None
    return found | answered_items(second.said, scale, again)


async def _reply(service: Chat, request: ChatRequest) -> ChatReply:
    """A reply that is whole."""
    reply = await service(request)
    match reply.finish:
        case "stop":
            return reply
        case "length":
            raise TruncatedReply(
                f"{request.model}: the reply was cut off at {request.max_tokens:,} tokens; allow more with "
                "--max-tokens, or `max_tokens` in judges.toml"
            )
        case "refusal":
            said = f": {printable(reply.text, 200)}" if reply.text.strip() else ""
            raise RefusedReply(f"{request.model}: declined to answer{said}")
        case "content_filter":
            raise FilteredReply(f"{request.model}: the service's content filter took the reply away")


def _asked_again(request: ChatRequest, reply: ChatReply, complaint: str, left: Sequence[str] = ()) -> ChatRequest:
    """The same request, with the model's reply and what is wrong with it."""
    these = f" Give these entries and no others: {', '.join(left)}." if left else ""
    words = f"That was not what was asked: {complaint}. Reply again with the JSON object only.{these}"
    if not reply.text.strip():  # services refuse an empty turn
        first = request.messages[0]
        return replace(request, messages=(Message("user", f"{first.text}\n\n(An earlier reply was empty. {words})"),))
    return replace(request, messages=(*request.messages, Message("assistant", reply.text), Message("user", words)))


def _twice(request: ChatRequest, first: str, second: ReplyError) -> ReplyError:
    """The error of a reply that was wrong, and was wrong again."""
    return type(second)(f"{request.model}: twice not what was asked: {first}; then: {second}")
