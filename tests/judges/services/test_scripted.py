import pytest

from judges.errors import Declined, RateLimited
from judges.service import ChatReply
from judges.services.scripted import ScriptedChat
from support.asking import ask, question


def test_a_list_is_said_line_by_line_and_its_end_is_told() -> None:
    service = ScriptedChat(["one", ChatReply("two", "m", "length")])
    assert ask(service).text == "one"
    assert ask(service).finish == "length"
    with pytest.raises(Declined, match="scripted script: asked 3 times, and there are only 2 replies"):
        ask(service)


def test_a_function_sees_the_request_and_may_answer_with_an_error() -> None:
    service = ScriptedChat(lambda request: RateLimited("wait") if request.replicate else request.messages[0].text)
    reply = ask(service, question("hello", model="m"))
    assert (reply.text, reply.model, reply.usage.calls) == ("hello", "m", 1)
    assert [request.model for request in service.asked] == ["m"]


def test_its_name_is_its_identity() -> None:
    assert ScriptedChat([], name="demo").identity == "scripted demo"
