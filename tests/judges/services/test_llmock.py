"""Our reading of the protocols against a server that isn't ours."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

from judges.errors import RateLimited, Unauthorised, Unavailable
from judges.service import EmbeddingRequest
from judges.services.anthropic import AnthropicChat
from judges.services.embeddings import OpenAIEmbeddings
from judges.services.openai import OpenAIChat
from support.asking import KEY, ask, embed, question


@pytest.fixture(scope="module")
def llmock() -> Iterator[str]:
    """The address of llmock, which allows 1,000 requests a minute."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [
        "-c",
        "from llmock.cli import app; app()",
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--rpm",
        "1000",
    ]
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                opener(url + "/_llmock/scenario")
                break
            except OSError:
                assert process.poll() is None, "llmock did not start"
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def opener(url: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(url, body, {"content-type": "application/json"})  # noqa: S310  # loopback
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as reply:
        return bytes(reply.read())


def test_openais_dialect_is_understood_by_another_server(llmock: str) -> None:
    reply = ask(OpenAIChat(f"{llmock}/v1", KEY), question("one", model="gpt-4o"))
    assert reply.text.startswith("{")
    assert (reply.finish, reply.usage.calls) == ("stop", 1)
    assert reply.usage.input_tokens > 0
    assert reply.limits is not None
    assert reply.limits.requests is not None
    assert reply.limits.requests.per_minute == 1000


def test_anthropics_dialect_is_understood_by_another_server(llmock: str) -> None:
    reply = ask(AnthropicChat(f"{llmock}/anthropic", KEY), question("two", model="claude-x"))
    assert reply.text.startswith("{")
    assert (reply.finish, reply.usage.input_tokens > 0) == ("stop", True)
    assert reply.limits is not None
    assert reply.limits.requests is not None
    assert reply.limits.requests.per_minute == 1000


def test_embeddings_are_understood_by_another_server(llmock: str) -> None:
    replies = embed(OpenAIEmbeddings(f"{llmock}/v1", KEY), [EmbeddingRequest("e", "a"), EmbeddingRequest("e", "b")])
    assert len({len(reply.vector) for reply in replies}) == 1
    assert replies[0].vector != replies[1].vector


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, RateLimited), (401, Unauthorised), (500, Unavailable), (503, Unavailable), (529, Unavailable)],
)
def test_errors_of_another_server_are_told_apart(llmock: str, status: int, kind: type[Exception]) -> None:
    for service in (OpenAIChat(f"{llmock}/v1", KEY), AnthropicChat(f"{llmock}/anthropic", KEY)):
        opener(f"{llmock}/_llmock/scenario", b'{"behaviors": [{"type": "fail", "status": %d, "times": 1}]}' % status)
        with pytest.raises(kind):
            ask(service, question(f"fail {status} {service.service}"))
        assert ask(service, question(f"go on {status} {service.service}")).text
