import json
from collections.abc import Mapping
from typing import get_type_hints

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import TypeAdapter

from judges.errors import Rejected
from judges.fingerprint import Json
from judges.services.anthropic import AnthropicChat
from support.asking import KEY, SCHEMA, ask, ask_all, question
from support.model_server import RunningServer


def test_a_reply_has_the_words_the_tokens_and_the_model_as_the_service_names_it(model_server: RunningServer) -> None:
    model_server.set(resolves={"judge-1": "judge-1-20261101"})
    reply = ask(AnthropicChat(model_server.anthropic, KEY))
    assert [claim["id"] for claim in json.loads(reply.text)["claims"]] == ["c1", "c2"]
    assert (reply.finish, reply.model, reply.usage.calls, reply.logprobs) == ("stop", "judge-1-20261101", 1, None)
    [entry] = model_server.log()
    assert entry.path == "/v1/messages"
    assert entry.headers["anthropic-version"]
    assert entry.key is not None


def test_the_system_text_is_marked_to_be_kept_and_nothing_else_is_sent_that_was_not_asked_for(
    model_server: RunningServer,
) -> None:
    ask(AnthropicChat(model_server.anthropic, KEY))
    [body] = model_server.bodies()
    assert body["system"] == [{"type": "text", "text": "Judge each claim.", "cache_control": {"type": "ephemeral"}}]
    assert set(body) == {"model", "max_tokens", "messages", "system", "output_config"}


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_a_base_url_with_v1_is_the_one_without(model_server: RunningServer, ending: str) -> None:
    service = AnthropicChat(model_server.anthropic + ending, KEY)
    assert service.identity == f"anthropic {model_server.anthropic}"
    ask(service)
    assert [entry.path for entry in model_server.log()] == ["/v1/messages"]


def test_an_empty_system_text_is_left_out(model_server: RunningServer) -> None:
    ask(AnthropicChat(model_server.anthropic, KEY), question(system="", schema=None))
    assert set(model_server.bodies()[0]) == {"model", "max_tokens", "messages"}


@pytest.mark.parametrize("form", ["schema", "tool", "plain"])
def test_what_is_sent_is_a_valid_message_in_every_form(model_server: RunningServer, form: str) -> None:
    refused = {"schema": [], "tool": ["output_config"], "plain": ["output_config", "tools"]}[form]
    model_server.set(refuses=[{"feature": each} for each in refused])
    service = AnthropicChat(model_server.anthropic, KEY)
    replies = ask_all(service, [question(f"claim {each}") for each in range(5)])
    assert all(len(json.loads(reply.text)["claims"]) == 2 and reply.finish == "stop" for reply in replies)
    assert model_server.statuses()[400] == len(refused)
    for body in model_server.bodies():
        TypeAdapter[object](MessageCreateParamsNonStreaming).validate_python(body)
        assert set(body) <= set(get_type_hints(MessageCreateParamsNonStreaming))
    last = model_server.bodies()[-1]
    described = json.dumps(SCHEMA) in last["system"][0]["text"]
    assert ("output_config" in last, "tools" in last, described) == {
        "schema": (True, False, False),
        "tool": (False, True, False),
        "plain": (False, False, True),
    }[form]


def test_a_service_that_passes_over_the_schema_is_asked_in_another_way(model_server: RunningServer) -> None:
    model_server.set(ignores=["output_config"])
    reply = ask(AnthropicChat(model_server.anthropic, KEY))
    assert len(json.loads(reply.text)["claims"]) == 2
    assert reply.usage.calls == 2
    assert "tools" in model_server.bodies()[-1]


def test_limits_of_values_are_told_in_words_since_the_service_takes_no_others(model_server: RunningServer) -> None:
    grade: Mapping[str, Json] = {"type": "integer", "minimum": 0, "maximum": 10}
    schema: Mapping[str, Json] = {"type": "object", "properties": {"grade": grade}, "required": ["grade"]}
    reply = ask(AnthropicChat(model_server.anthropic, KEY), question(schema=schema))
    assert set(json.loads(reply.text)) == {"grade"}
    sent = model_server.bodies()[0]["output_config"]["format"]["schema"]
    assert sent["additionalProperties"] is False
    assert "maximum" not in sent["properties"]["grade"]
    assert "maximum: 10" in sent["properties"]["grade"]["description"]


@pytest.mark.parametrize(
    ("fault", "finish"),
    [("truncated", "length"), ("refusal", "refusal"), ("prompt_filtered", "content_filter")],
)
def test_a_reply_says_how_it_ended(model_server: RunningServer, fault: str, finish: str) -> None:
    model_server.set(faults=[{"fault": fault}])
    assert ask(AnthropicChat(model_server.anthropic, KEY)).finish == finish


def test_input_tokens_hold_those_of_the_prompt_cache_read_or_written(model_server: RunningServer) -> None:
    service = AnthropicChat(model_server.anthropic, KEY)
    first, second = (ask(service, question(system="Judge with care. " * 500)).usage for _ in range(2))
    assert first.cache_write_tokens == second.cache_read_tokens > 1024
    assert first.cache_read_tokens == second.cache_write_tokens == 0
    assert first.input_tokens == second.input_tokens > second.cache_read_tokens


def test_limits_are_read_from_the_headers_input_and_output_apart(model_server: RunningServer) -> None:
    model_server.set(
        limits={"requests_per_minute": 50, "input_tokens_per_minute": 9000, "output_tokens_per_minute": 8000}
    )
    limits = ask(AnthropicChat(model_server.anthropic, KEY)).limits
    assert limits is not None
    assert limits.requests is not None
    assert limits.input_tokens is not None
    assert limits.output_tokens is not None
    assert limits.tokens is None
    assert (limits.requests.per_minute, limits.requests.remaining) == (50, 49)
    assert limits.input_tokens.per_minute == 9000
    assert limits.output_tokens.per_minute == 8000
    assert limits.requests.reset_seconds is not None
    assert 0 <= limits.requests.reset_seconds <= 3


def test_a_parameter_of_the_user_is_sent_and_one_that_is_refused_stops_the_run(model_server: RunningServer) -> None:
    service = AnthropicChat(model_server.anthropic, KEY)
    ask(service, question(parameters={"temperature": 0, "output_config": {"effort": "low"}}))
    body = model_server.bodies()[0]
    assert body["temperature"] == 0
    assert set(body["output_config"]) == {"effort", "format"}
    model_server.set(refuses=[{"feature": "temperature"}])
    with pytest.raises(Rejected, match=r"temperature: Extra inputs are not permitted; .* leave out `temperature`"):
        ask(service, question(parameters={"temperature": 0}))


def test_the_key_of_the_environment_is_not_taken(model_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(AnthropicChat(model_server.anthropic, "none"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-someone-elses")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    ask(AnthropicChat(model_server.anthropic))
    first, second = model_server.log()
    assert first.key == second.key


def test_the_key_is_in_no_name_of_the_service() -> None:
    service = AnthropicChat("https://example.org", KEY)
    assert KEY not in repr(service) + service.identity
    assert service.identity == "anthropic https://example.org"
