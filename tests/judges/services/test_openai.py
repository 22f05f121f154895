import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any, cast, get_type_hints

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from judges.errors import Declined, RateLimited, Rejected
from judges.fingerprint import Json
from judges.service import ChatRequest, Message
from judges.services.connection import Address
from judges.services.openai import OpenAIChat, openai_client
from support.asking import KEY, SCHEMA, ask, ask_all, question
from support.model_server import RunningServer


def check_against(form: type, body: Mapping[str, object]) -> None:
    """The body is what the SDK's own types allow, and has no member that they don't know."""
    TypeAdapter[object](form).validate_python(body)
    assert set(body) <= set(get_type_hints(form))


def test_a_reply_has_the_words_the_tokens_and_the_model_as_the_service_names_it(model_server: RunningServer) -> None:
    model_server.set(resolves={"judge-1": "judge-1-2026-11-01"}, reasoning_tokens=40)
    reply = ask(OpenAIChat(model_server.openai, KEY))
    assert [claim["id"] for claim in json.loads(reply.text)["claims"]] == ["c1", "c2"]
    assert (reply.finish, reply.model) == ("stop", "judge-1-2026-11-01")
    assert reply.usage.calls == 1
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 40
    [entry] = model_server.log()
    assert entry.path == "/v1/chat/completions"
    assert entry.headers["content-type"] == "application/json"


@pytest.mark.parametrize("form", ["strict", "tool", "json", "plain"])
def test_what_is_sent_is_a_valid_chat_completion_in_every_form(model_server: RunningServer, form: str) -> None:
    refused = {
        "strict": [],
        "tool": ["response_format.json_schema"],
        "json": ["response_format.json_schema", "tools"],
        "plain": ["response_format.json_schema", "response_format.json_object", "tools"],
    }[form]
    model_server.set(refuses=[{"feature": each} for each in refused])
    reply = ask(OpenAIChat(model_server.openai, KEY), question(logprobs=True, parameters={"temperature": 0, "seed": 1}))
    assert len(json.loads(reply.text)["claims"]) == 2
    for body in model_server.bodies():
        check_against(CompletionCreateParamsNonStreaming, body)
    last = model_server.bodies()[-1]
    described = json.dumps(SCHEMA) in last["messages"][0]["content"]
    assert (described, "tools" in last, last.get("response_format", {}).get("type")) == {
        "strict": (False, False, "json_schema"),
        "tool": (False, True, None),
        "json": (True, False, "json_object"),
        "plain": (True, False, None),
    }[form]


def test_what_a_model_takes_is_found_out_once_by_a_call_alone(model_server: RunningServer) -> None:
    model_server.set(refuses=[{"feature": "response_format.json_schema"}, {"feature": "logprobs"}], latency=0.02)
    service = OpenAIChat(model_server.openai, KEY)
    replies = ask_all(service, [question(f"claim {each}", logprobs=True) for each in range(20)])
    assert all(json.loads(reply.text) and reply.logprobs is None for reply in replies)
    statuses = model_server.statuses()
    assert statuses[200] == 20
    assert statuses[400] + statuses[403] == 3  # strict, schema, log-probabilities: once each
    model_server.clear_log()
    ask(service)
    assert model_server.statuses() == {200: 1}


def test_each_model_has_its_own_ways(model_server: RunningServer) -> None:
    model_server.set(refuses=[{"feature": "response_format.json_schema", "model": "old"}])
    service = OpenAIChat(model_server.openai, KEY)
    ask(service, question(model="old"))
    ask(service, question(model="new"))
    assert "tools" in model_server.bodies()[-2]
    assert model_server.bodies()[-1]["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    ("refused", "member"), [("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")]
)
def test_the_longest_reply_is_asked_for_by_the_name_that_the_model_knows(
    model_server: RunningServer, refused: str, member: str
) -> None:
    model_server.set(refuses=[{"feature": refused}])
    ask(OpenAIChat(model_server.openai, KEY), question(max_tokens=321))
    last = model_server.bodies()[-1]
    assert last[member] == 321
    assert refused not in last


def test_a_service_that_passes_over_the_schema_is_asked_in_another_way(model_server: RunningServer) -> None:
    model_server.set(ignores=["response_format"])
    service = OpenAIChat(model_server.openai, KEY)
    reply = ask(service)
    assert len(json.loads(reply.text)["claims"]) == 2
    assert reply.usage.calls == model_server.requests() == 3  # what was paid to find out is told
    model_server.clear_log()
    ask(service)
    assert model_server.requests() == 1


def test_a_single_reply_in_the_wrong_form_changes_nothing_once_the_form_is_known(model_server: RunningServer) -> None:
    service = OpenAIChat(model_server.openai, KEY)
    ask(service)
    model_server.set(faults=[{"fault": "not_json"}])
    assert ask(service).text == "I would say that most of it is supported."
    assert model_server.requests() == 2


def test_nothing_is_sent_that_was_not_asked_for(model_server: RunningServer) -> None:
    ask(OpenAIChat(model_server.openai, KEY), question(schema=None, system=""))
    [body] = model_server.bodies()
    assert set(body) == {"model", "messages", "max_tokens"}
    assert [turn["role"] for turn in body["messages"]] == ["user"]


def test_a_parameter_of_the_user_that_the_model_refuses_is_told_and_stops_the_run(model_server: RunningServer) -> None:
    model_server.set(refuses=[{"feature": "temperature"}])
    with pytest.raises(Rejected) as caught:
        ask(OpenAIChat(model_server.openai, KEY), question(parameters={"temperature": 0}))
    assert str(caught.value) == (
        "openai judge-1: the request was refused (400): Unsupported value: 'temperature' does not support 0. Only the "
        "default (1) value is supported; it was asked for: leave out `temperature`, or give it another value"
    )
    assert model_server.requests() == 1


def test_a_model_that_only_has_responses_is_asked_there_from_then_on(model_server: RunningServer) -> None:
    model_server.set(refuses=[{"feature": "chat"}], reasoning_tokens=7)
    service = OpenAIChat(model_server.openai, KEY)
    request = question(logprobs=True, parameters={"reasoning_effort": "low", "verbosity": "low"})
    for _ in range(2):
        reply = ask(service, request)
        assert len(json.loads(reply.text)["claims"]) == 2
        assert reply.logprobs is not None
        assert reply.usage.output_tokens > 7
    assert [entry.path for entry in model_server.log()] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]
    body = model_server.bodies()[-1]
    check_against(ResponseCreateParamsNonStreaming, body)
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["strict"] is True
    assert body["store"] is False
    assert body["instructions"] == "Judge each claim."


def test_responses_say_how_they_end_in_their_own_way(model_server: RunningServer) -> None:
    service = OpenAIChat(model_server.openai, KEY)
    model_server.set(refuses=[{"feature": "chat"}])
    for fault, finish in (("truncated", "length"), ("refusal", "refusal"), ("content_filter", "content_filter")):
        model_server.set(faults=[{"fault": fault}])
        assert ask(service).finish == finish


@pytest.mark.parametrize(
    ("fault", "finish"),
    [
        ("truncated", "length"),
        ("refusal", "refusal"),
        ("content_filter", "content_filter"),
        ("prompt_filtered", "content_filter"),
    ],
)
def test_a_reply_says_how_it_ended(model_server: RunningServer, fault: str, finish: str) -> None:
    model_server.set(faults=[{"fault": fault}])
    reply = ask(OpenAIChat(model_server.openai, KEY))
    assert reply.finish == finish
    assert reply.text == {"refusal": "I can't help with that."}.get(fault, reply.text)


def test_a_longest_reply_that_is_too_short_is_told_as_such(model_server: RunningServer) -> None:
    assert ask(OpenAIChat(model_server.openai, KEY), question(max_tokens=5)).finish == "length"


def test_log_probabilities_come_with_what_could_have_stood_there(model_server: RunningServer) -> None:
    reply = ask(OpenAIChat(model_server.openai, KEY), question(logprobs=True))
    assert reply.logprobs is not None
    assert "".join(choice.token for choice in reply.logprobs) == reply.text
    words = [choice for choice in reply.logprobs if choice.token in ("supported", "unsupported")]
    assert len(words) == 2
    for word in words:
        assert {token for token, _ in word.alternatives} == {"supported", "unsupported"}
        assert math.fsum(math.exp(logprob) for _, logprob in word.alternatives) == pytest.approx(1.0, abs=1e-5)


def test_tokens_that_the_prompt_cache_had_are_counted(model_server: RunningServer) -> None:
    service = OpenAIChat(model_server.openai, KEY)
    first, second = (ask(service, question(system="Judge with care. " * 500)).usage for _ in range(2))
    assert (first.cache_read_tokens, second.cache_read_tokens >= 1024) == (0, True)
    assert first.input_tokens == second.input_tokens > second.cache_read_tokens


def test_limits_are_read_from_the_headers(model_server: RunningServer) -> None:
    model_server.set(limits={"requests_per_minute": 600, "tokens_per_minute": 90_000})
    limits = ask(OpenAIChat(model_server.openai, KEY)).limits
    assert limits is not None
    assert limits.requests is not None
    assert limits.tokens is not None
    assert (limits.requests.per_minute, limits.requests.remaining) == (600, 599)
    assert limits.tokens.per_minute == 90_000
    assert limits.tokens.remaining is not None
    assert limits.tokens.remaining < 90_000
    assert limits.tokens.reset_seconds is not None
    assert 0 < limits.tokens.reset_seconds < 60


def test_a_schema_that_is_open_is_not_asked_for_strictly(model_server: RunningServer) -> None:
    ask(OpenAIChat(model_server.openai, KEY), question(schema={**SCHEMA, "additionalProperties": True}))
    [body] = model_server.bodies()
    assert "strict" not in body["response_format"]["json_schema"]


def test_a_model_without_a_system_role_is_told_in_the_first_turn(model_server: RunningServer) -> None:
    refusal = {"fault": "bad_request", "times": 1, "message": "System role not supported"}
    model_server.set(faults=[refusal])
    ask(OpenAIChat(model_server.openai, KEY))
    [turn] = model_server.bodies()[-1]["messages"]
    assert turn == {"role": "user", "content": "Judge each claim.\n\nThe bridge opened in 1932."}


def test_256_calls_are_in_flight_at_once(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "hang", "match": "wait"}])
    service = OpenAIChat(model_server.openai, KEY)

    async def many() -> None:
        await service(question("first"))
        calls = [asyncio.create_task(service(question(f"wait {each}"))) for each in range(256)]
        while await asyncio.to_thread(model_server.in_flight) < 256:  # noqa: ASYNC110  # another process's state
            await asyncio.sleep(0.02)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await service.aclose()

    asyncio.run(asyncio.wait_for(many(), 60))


def test_a_conversation_keeps_its_turns(model_server: RunningServer) -> None:
    turns = (Message("user", "one"), Message("assistant", "two"), Message("user", "three"))
    ask(OpenAIChat(model_server.openai, KEY), ChatRequest("m", "s", turns))
    [body] = model_server.bodies()
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant", "user"]


def test_text_with_half_a_character_is_sent_as_it_is_and_the_service_may_refuse_it(model_server: RunningServer) -> None:
    with pytest.raises(Declined, match="could not parse"):
        ask(OpenAIChat(model_server.openai, KEY), question("half \ud83d of it"))
    assert model_server.log()[0].status == 400


def test_a_query_in_the_base_url_goes_with_each_request_and_not_into_the_identity(model_server: RunningServer) -> None:
    service = OpenAIChat(f"{model_server.openai}/?api-version=2026-05-01", KEY)
    ask(service)
    assert model_server.log()[0].path == "/v1/chat/completions?api-version=2026-05-01"
    assert service.identity == f"openai {model_server.openai}"


def test_without_a_key_none_is_sent(model_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-someone-elses")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    ask(OpenAIChat(model_server.openai))
    assert model_server.log()[0].key is None


def test_azure_gets_its_key_in_a_header_of_its_own(model_server: RunningServer) -> None:
    for host, header in (("team.openai.azure.com", "api-key"), ("example.org", "authorization")):

        async def once(address: Address) -> None:
            client = openai_client(address, KEY)
            await client.post(
                "/chat/completions", b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}', 5.0
            )
            await client.close()

        asyncio.run(once(Address(model_server.openai, host, {"api-version": "v1"})))
        entry = model_server.log()[-1]
        assert (entry.status, entry.key_in, entry.path) == (200, header, "/v1/chat/completions?api-version=v1")


def test_an_error_that_is_sent_as_a_success_is_an_error(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "error_as_success"}])
    with pytest.raises(RateLimited, match=r"too many requests \(429\): upstream is busy"):
        ask(OpenAIChat(model_server.openai, KEY))


def test_the_official_service_gets_a_key_for_its_prompt_cache_and_the_newer_name_of_the_limit() -> None:
    service = OpenAIChat(api_key=KEY)
    body = service.write(question(), service.first_traits())
    check_against(CompletionCreateParamsNonStreaming, body)
    other = service.write(question("Another answer."), service.first_traits())
    assert body["prompt_cache_key"] == other["prompt_cache_key"]
    assert body["max_completion_tokens"] == 500
    changed = service.write(question(system="Judge it."), service.first_traits())
    assert changed["prompt_cache_key"] != body["prompt_cache_key"]


def test_the_key_is_in_no_name_of_the_service() -> None:
    service = OpenAIChat("https://example.org/v1", KEY)
    assert KEY not in repr(service) + service.identity
    assert service.identity == "openai https://example.org/v1"


def test_a_schema_may_be_any_mapping(model_server: RunningServer) -> None:
    from types import MappingProxyType

    ask(OpenAIChat(model_server.openai, KEY), question(schema=MappingProxyType(dict(SCHEMA))))
    assert model_server.bodies()[0]["response_format"]["json_schema"]["schema"] == SCHEMA


def reply_of(**members: Json) -> dict[str, Any]:
    """A chat completion as servers of other makers write it."""
    return {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}], **members}


def test_replies_of_other_makers_are_read_too() -> None:
    from judges.services.failures import Asked

    service, asked = OpenAIChat("http://127.0.0.1:9/v1"), Asked("openai", "m", "", None)

    def read(document: dict[str, Any]) -> tuple[str, str, int, int]:
        reply = service.read(json.dumps(document).encode(), "/chat/completions", asked)
        return reply.text, reply.model, reply.usage.input_tokens, reply.usage.output_tokens

    assert read(reply_of()) == ("x", "m", 0, 0)
    hidden = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 75}
    assert read(reply_of(usage=cast("Json", hidden))) == ("x", "m", 10, 65)  # reasoning counts only in the total
    parts = reply_of()
    parts["choices"][0]["message"]["content"] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(parts)[0] == "ab"
    with pytest.raises(ValueError, match="no reply in it"):
        read({"choices": []})
