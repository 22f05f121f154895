"""Our reading of the protocols against a server that isn't ours."""

from collections.abc import Iterator

import pytest

from judges.errors import RateLimited, Unauthorised, Unavailable
from judges.service import EmbeddingRequest
from judges.services.anthropic import AnthropicChat
from judges.services.embeddings import OpenAIEmbeddings
from judges.services.openai import OpenAIChat
from support.asking import KEY, ask, embed, question
from support.llmock import Llmock, is_installed

pytestmark = pytest.mark.skipif(not is_installed(), reason="llmock is not installed")


@pytest.fixture(scope="module")
def llmock() -> Iterator[Llmock]:
    with Llmock.start(requests_per_minute=1000) as server:
        yield server


def test_openais_dialect_is_understood_by_another_server(llmock: Llmock) -> None:
    reply = ask(OpenAIChat(llmock.openai, KEY), question("one", model="gpt-4o"))
    assert reply.text.startswith("{")
    assert (reply.finish, reply.usage.calls) == ("stop", 1)
    assert reply.usage.input_tokens > 0
    assert reply.limits is not None
    assert reply.limits.requests is not None
    assert reply.limits.requests.per_minute == 1000


def test_anthropics_dialect_is_understood_by_another_server(llmock: Llmock) -> None:
    reply = ask(AnthropicChat(llmock.anthropic, KEY), question("two", model="claude-x"))
    assert reply.text.startswith("{")
    assert (reply.finish, reply.usage.input_tokens > 0) == ("stop", True)
    assert reply.limits is not None
    assert reply.limits.requests is not None
    assert reply.limits.requests.per_minute == 1000


def test_embeddings_are_understood_by_another_server(llmock: Llmock) -> None:
    replies = embed(OpenAIEmbeddings(llmock.openai, KEY), [EmbeddingRequest("e", "a"), EmbeddingRequest("e", "b")])
    assert len({len(reply.vector) for reply in replies}) == 1
    assert replies[0].vector != replies[1].vector


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, RateLimited), (401, Unauthorised), (500, Unavailable), (503, Unavailable), (529, Unavailable)],
)
def test_errors_of_another_server_are_told_apart(llmock: Llmock, status: int, kind: type[Exception]) -> None:
    for service in (OpenAIChat(llmock.openai, KEY), AnthropicChat(llmock.anthropic, KEY)):
        llmock.fail(status, times=1)
        with pytest.raises(kind):
            ask(service, question(f"fail {status} {service.service}"))
        assert ask(service, question(f"go on {status} {service.service}")).text
