"""What the SDKs do by themselves, and why we don't leave it to them. If one of these fails, a workaround may go."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import anthropic
import openai
import pytest

from judges.errors import Rejected
from judges.services.anthropic import AnthropicChat
from judges.services.openai import OpenAIChat
from support.asking import KEY, ask, question
from support.model_server import RunningServer


def complete(client: openai.AsyncOpenAI) -> Awaitable[object]:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])


def run(make: Callable[[], openai.AsyncOpenAI]) -> None:
    async def once() -> None:
        async with make() as client:
            await complete(client)

    asyncio.run(once())


def test_left_alone_it_tries_three_times_where_a_throttle_would_see_one(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "rate_limited", "retry_after": 0.001, "retry_after_as": "ms"}])
    with pytest.raises(openai.RateLimitError):
        run(lambda: openai.AsyncOpenAI(api_key=KEY, base_url=model_server.openai))
    assert model_server.requests() == 3


def test_its_timeout_is_for_each_piece_so_that_a_reply_that_drips_in_has_none(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "slow", "seconds": 2}])
    run(lambda: openai.AsyncOpenAI(api_key=KEY, base_url=model_server.openai, timeout=1, max_retries=0))
    assert model_server.statuses() == {200: 1}


def test_on_aiohttp_it_calls_a_broken_connection_a_timeout_and_ours_says_what_it_was(
    model_server: RunningServer,
) -> None:
    model_server.set(faults=[{"fault": "reset"}])
    with pytest.raises(openai.APITimeoutError):
        run(
            lambda: openai.AsyncOpenAI(
                api_key=KEY, base_url=model_server.openai, max_retries=0, http_client=openai.DefaultAioHttpClient()
            )
        )
    with pytest.raises(Exception, match=r"the connection broke \(.*(disconnected|reset)"):
        ask(OpenAIChat(model_server.openai, KEY))


def test_without_a_key_it_takes_that_of_the_environment_to_any_server(
    model_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-someone-elses")
    run(lambda: openai.AsyncOpenAI(base_url=model_server.openai))
    assert model_server.log()[0].key is not None


def test_it_goes_where_a_redirect_leads_and_ours_stays_and_tells(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "redirect"}])
    with pytest.raises(openai.APIConnectionError):  # there is no such host, but it went to look
        run(lambda: openai.AsyncOpenAI(api_key=KEY, base_url=model_server.openai, max_retries=0))
    with pytest.raises(Rejected, match="has moved"):
        ask(OpenAIChat(model_server.openai, KEY))


def test_anthropics_typed_call_has_no_temperature_any_more_and_ours_sends_what_was_asked_for(
    model_server: RunningServer,
) -> None:
    create = anthropic.AsyncAnthropic(api_key=KEY).messages.create
    assert "temperature" not in inspect.signature(create).parameters
    ask(AnthropicChat(model_server.anthropic, KEY), question(parameters={"temperature": 0}))
    assert model_server.bodies()[0]["temperature"] == 0
