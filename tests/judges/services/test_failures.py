"""What each error of a service becomes, and what it says. The real SDKs, over real HTTP."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import TypeAlias

import pytest

from judges.errors import (
    ContextTooLong,
    Declined,
    InputError,
    RateLimited,
    Rejected,
    ServiceError,
    Unauthorised,
    Unavailable,
)
from judges.services.anthropic import AnthropicChat
from judges.services.chat import HttpChat
from judges.services.connection import HttpReply
from judges.services.embeddings import OpenAIEmbeddings
from judges.services.failures import Asked, failure, read_problem, redacted
from judges.services.openai import OpenAIChat
from support.asking import KEY, ask, question
from support.model_server import RunningServer

Make: TypeAlias = Callable[..., HttpChat]


def openai(server: RunningServer, timeout_seconds: float | None = None) -> HttpChat:
    return OpenAIChat(server.openai, KEY, timeout_seconds=timeout_seconds)


def anthropic(server: RunningServer, timeout_seconds: float | None = None) -> HttpChat:
    return AnthropicChat(server.anthropic, KEY, timeout_seconds=timeout_seconds)


DIALECTS = pytest.mark.parametrize("make", [openai, anthropic])


def error_of(service: HttpChat) -> ServiceError:
    """What a call raises, its message one clean line."""
    with pytest.raises(ServiceError) as caught:
        ask(service, question())
    message = str(caught.value)
    assert message.startswith(f"{service.service} judge-1: ")
    assert message.isprintable()
    assert KEY not in message
    assert "bearer" not in message.lower()
    return caught.value


@DIALECTS
@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("bad_request", Declined, "the request was refused (400): The request is malformed"),
        ("unprocessable", Declined, "the request was refused (422)"),
        ("context_length", ContextTooLong, "the request is too long for the model (400): This model's maximum context"),
        ("too_large", ContextTooLong, "the request is too long"),
        ("unauthorised", Unauthorised, "the key was not accepted (401): Incorrect API key provided: [key]"),
        ("forbidden", Unauthorised, "the account may not do this (403): Your project may not use this model."),
        ("payment", Unauthorised, "the account has no quota or credit left (402)"),
        ("no_credit", Unauthorised, "the account has no quota or credit left (400): Your credit balance is too low"),
        ("quota", Unauthorised, "the account has no quota or credit left (429): You exceeded your current quota"),
        ("no_model", Unauthorised, "no such model at http://127.0.0.1:"),
        ("rate_limited", RateLimited, "too many requests (429): Rate limit reached for judge-1."),
        ("request_over_limit", Declined, "the request alone is over the account's limit (429)"),
        ("request_timeout", Unavailable, "the service asks to try again (408)"),
        ("conflict", Unavailable, "the service asks to try again (409)"),
        ("internal", Unavailable, "the service failed (500): The server had an error."),
        ("bad_gateway", Unavailable, "the service failed (502)"),
        ("unavailable", Unavailable, "the service is overloaded (503)"),
        ("gateway_timeout", Unavailable, "the service failed (504)"),
        ("overloaded", Unavailable, "the service is overloaded (529): Overloaded"),
        ("truncated_json", Unavailable, "the reply can't be read (application/json: {"),
        ("empty_body", Unavailable, "the reply can't be read (application/json, empty)"),
        ("html", Unavailable, "the reply can't be read (text/html: a web page: Just a moment...)"),
        ("no_choices", Unavailable, "the reply can't be read (application/json: {"),
        ("redirect", Rejected, "has moved; give the new address as base URL (307)"),
        ("reset", Unavailable, "the connection broke ("),
        ("reset_body", Unavailable, "the connection broke ("),
    ],
)
def test_each_error_becomes_ours_and_says_what_happened_in_one_line(
    model_server: RunningServer, make: Make, fault: str, kind: type[ServiceError], says: str
) -> None:
    model_server.set(faults=[{"fault": fault}])
    error = error_of(make(model_server))
    assert type(error) is kind
    assert says in str(error)
    assert model_server.requests() == 1  # no SDK tries again behind our back


@DIALECTS
def test_a_server_that_hangs_is_given_up_after_our_time_and_not_the_sdks(
    model_server: RunningServer, make: Make
) -> None:
    model_server.set(faults=[{"fault": "hang"}])
    error = error_of(make(model_server, 0.3))
    assert type(error) is Unavailable
    assert "no reply within 0.3 s" in str(error)


def test_a_reply_that_drips_in_is_given_up_too(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "slow", "seconds": 20}])
    error = error_of(OpenAIChat(model_server.openai, KEY, timeout_seconds=1.5))
    assert "no reply within 1.5 s" in str(error)


def test_a_slow_reply_is_waited_for(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "slow", "seconds": 0.2}])
    assert ask(OpenAIChat(model_server.openai, KEY)).text


def test_where_nothing_ever_answered_the_run_stops_and_says_where() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    service = OpenAIChat(f"http://127.0.0.1:{port}/v1", KEY)
    error = error_of(service)
    assert type(error) is Rejected
    assert str(error) == (
        f"openai judge-1: nothing answers at http://127.0.0.1:{port}/v1 (connection refused); "
        "is the server running, and is this its address?"
    )


def test_where_something_answered_before_a_refused_connection_is_tried_again() -> None:
    with RunningServer.start() as server:
        service = OpenAIChat(server.openai, KEY)
        ask(service)
    error = error_of(service)
    assert type(error) is Unavailable
    assert "no connection any more (connection refused)" in str(error)


def test_a_host_that_does_not_exist_is_told_apart() -> None:
    assert "(no such host)" in str(error_of(OpenAIChat("http://no-such-host.invalid/v1", KEY)))


def test_plain_http_where_tls_is_expected_is_told_apart(model_server: RunningServer) -> None:
    error = error_of(OpenAIChat(model_server.openai.replace("http:", "https:"), KEY))
    assert type(error) is Rejected
    assert "(no TLS there)" in str(error)


def test_a_base_url_that_leads_elsewhere_is_told_apart_from_a_model_that_is_not_there(
    model_server: RunningServer,
) -> None:
    error = error_of(OpenAIChat(model_server.url, KEY))
    assert type(error) is Rejected
    assert "is the base URL right? it often ends in /v1 (404): Not Found" in str(error)


def test_nobody_is_sent_after_a_v1_that_is_there_already_or_belongs_to_the_path(model_server: RunningServer) -> None:
    for service in (OpenAIChat(f"{model_server.url}/x/v1", KEY), AnthropicChat(f"{model_server.url}/x", KEY)):
        assert "is the base URL right? (404): Not Found" in str(error_of(service))


def test_a_model_that_a_proxy_does_not_know_stops_the_run_whatever_the_status(model_server: RunningServer) -> None:
    said = "Invalid model name passed in model=nosuch. Call `/v1/models` to view available models for your key."
    model_server.set(faults=[{"fault": "bad_request", "message": said}])  # LiteLLM's proxy, 1.108
    error = error_of(OpenAIChat(model_server.openai, KEY))
    assert type(error) is Unauthorised
    assert "no such model at" in str(error)


@DIALECTS
@pytest.mark.parametrize("style", ["seconds", "ms", "date"])
def test_the_time_to_wait_is_read_in_each_of_its_forms(model_server: RunningServer, make: Make, style: str) -> None:
    model_server.set(faults=[{"fault": "rate_limited", "retry_after": 7, "retry_after_as": style}])
    error = error_of(make(model_server))
    assert error.retry_after is not None
    assert 6.0 <= error.retry_after <= 9.0


@DIALECTS
def test_an_error_carries_the_limits(model_server: RunningServer, make: Make) -> None:
    model_server.set(limits={"requests_per_minute": 1})
    service = make(model_server)
    ask(service)
    error = error_of(service)
    assert type(error) is RateLimited
    assert error.retry_after is not None
    assert error.limits is not None
    assert error.limits.requests is not None
    assert (error.limits.requests.per_minute, error.limits.requests.remaining) == (1, 0)


@DIALECTS
def test_a_cancelled_call_is_cancelled_at_once(model_server: RunningServer, make: Make) -> None:
    model_server.set(faults=[{"fault": "hang"}])
    service = make(model_server)

    async def go() -> None:
        task = asyncio.create_task(service(question()))
        while await asyncio.to_thread(model_server.in_flight) == 0:  # noqa: ASYNC110  # another process's state
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await service.aclose()

    asyncio.run(go())
    deadline = time.monotonic() + 10
    while model_server.in_flight() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert model_server.in_flight() == 0


def problem_says(content: bytes, status: int = 400) -> str:
    asked = Asked("openai", "m", "http://127.0.0.1/v1", KEY)
    reply = HttpReply(status, {}, content)
    return str(failure(read_problem(reply), asked, reply, None)).partition(": ")[2]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"error": {"message": "bad", "type": "x"}}', "the request was refused (400): bad"),
        (b'{"error": "bad"}', "the request was refused (400): bad"),
        (b'{"object": "error", "message": "bad", "code": 400}', "the request was refused (400): bad"),
        (b'{"detail": "bad"}', "the request was refused (400): bad"),
        (b'{"detail": [{"loc": ["body", "x"], "msg": "bad"}]}', '(400): [{"loc":["body","x"],"msg":"bad"}]'),
        (b'{"error": {"message": "Provider error", "metadata": {"raw": "upstream: bad"}}}', "error upstream: bad"),
        (b"<html><title>Bad\nrequest</title></html>", "(400): a web page: Bad request"),
        (b"bad \x1b[31mrequest", r"(400): bad \x1b[31mrequest"),
        (b"", "the request was refused (400)"),
        (b"[]", "the request was refused (400)"),
        (b"null", "the request was refused (400)"),
    ],
)  # fmt: skip
def test_errors_are_read_in_all_the_forms_that_are_about(content: bytes, says: str) -> None:
    assert says in problem_says(content)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10211 tokens.",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
        "prompt is too long: 210211 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199759 + 21333 > 204658",
        "the request exceeds the available context size. try increasing the context size",
        "'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens",
    ],
)
def test_a_request_that_is_too_long_is_known_by_its_words_and_its_sizes_are_told(message: str) -> None:
    reply = HttpReply(400, {}, b'{"error": {"message": "' + message.encode() + b'"}}')
    error = failure(read_problem(reply), Asked("openai", "m", "", None), reply, None)
    assert type(error) is ContextTooLong
    assert message in str(error)


def test_a_long_error_is_cut() -> None:
    assert len(problem_says(b'{"error": "' + b"x" * 100_000 + b'"}')) < 500


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"key={KEY[:12]}... is wrong",
        f"...{KEY[-10:]} is wrong",
        "sk-proj-Zz_11aabbccddeeff is wrong",
        "AIzaSyA1234567890abcdef is wrong",
        "Authorization: Bearer abc.def-123",
    ],
)
def test_nothing_that_looks_like_a_key_is_told(text: str) -> None:
    found = redacted(text, KEY)
    assert "[key]" in found
    for secret in (KEY[:8], KEY[-8:], "aabbccddeeff", "1234567890", "abc.def"):
        assert secret not in found


def test_a_text_without_a_key_stays_as_it_is() -> None:
    text = "The model `judge-1` does not exist; ask-for-more, risk-free, task_1."
    assert redacted(text, KEY) == redacted(text, None) == text


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://host/v1", "http://", "http://user:secret@host/v1", "http://host:99999/v1", ""]
)
@pytest.mark.parametrize("service", [OpenAIChat, AnthropicChat, OpenAIEmbeddings])
def test_a_base_url_that_is_none_is_the_users_to_correct(
    url: str, service: type[OpenAIChat | AnthropicChat | OpenAIEmbeddings]
) -> None:
    with pytest.raises(InputError, match="base URL") as caught:  # an empty one too: it doesn't mean the vendor's own
        service(url, KEY)
    assert "secret" not in str(caught.value)
