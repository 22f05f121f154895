"""The double of the services must do what it says, or nothing that is tested against it means anything."""

import json
import time
import urllib.error
import urllib.request
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from support.model_server import RunningServer

SCHEMA = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "enum": ["c1", "c2", "c3"]},
                    "rationale": {"type": "string"},
                    "verdict": {"type": "string", "enum": ["supported", "unsupported"]},
                },
                "required": ["id", "rationale", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


def chat(text: str = "The bridge opened in 1932.", **members: object) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": text}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}},
        **members,
    }


def message(system: str = "Judge.", **members: object) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 500,
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "The bridge opened in 1932."}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        **members,
    }


def post(
    server: RunningServer, path: str, body: object, timeout: float = 30
) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers, document."""
    headers = {"authorization": "Bearer secret-key", "content-type": "application/json"}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers)  # noqa: S310  # loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout) as reply:
            return (
                reply.status,
                {name.lower(): value for name, value in reply.headers.items()},
                json.loads(reply.read()),
            )
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}, json.loads(error.read())


def said(document: dict[str, Any]) -> str:
    return str(document["choices"][0]["message"]["content"])


def test_the_default_answer_fills_in_the_schema_one_item_an_id_and_is_the_same_each_time(
    model_server: RunningServer,
) -> None:
    first = said(post(model_server, "/v1/chat/completions", chat())[2])
    claims = json.loads(first)["claims"]
    assert [claim["id"] for claim in claims] == ["c1", "c2", "c3"]
    assert {claim["verdict"] for claim in claims} <= {"supported", "unsupported"}
    assert said(post(model_server, "/v1/chat/completions", chat())[2]) == first
    message_reply = post(model_server, "/v1/messages", message())[2]
    assert message_reply["content"][0]["text"] == first
    assert message_reply["stop_reason"] == "end_turn"


def test_ids_come_from_the_text_where_the_schema_has_none(model_server: RunningServer) -> None:
    items = {"type": "object", "properties": {"id": {"type": "string"}, "grade": {"type": "integer", "maximum": 2}}}
    schema = {"type": "object", "properties": {"claims": {"type": "array", "items": items}}}
    text = json.dumps([{"id": "a-1", "text": "x"}, {"id": "a-2", "text": "y"}])
    plain = chat(text, response_format=None)
    plain["messages"][0]["content"] = f"Answer as this schema says: {json.dumps(schema)}"
    for body in (
        chat(text, response_format={"type": "json_schema", "json_schema": {"name": "r", "schema": schema}}),
        plain,
    ):
        claims = json.loads(said(post(model_server, "/v1/chat/completions", body)[2]))["claims"]
        assert [claim["id"] for claim in claims] == ["a-1", "a-2"]
        assert all(0 <= claim["grade"] <= 2 for claim in claims)


def test_a_brain_of_ones_own_answers(tmp_path: Path) -> None:
    (tmp_path / "my_brain.py").write_text("def answer(question):\n    return question.text.upper()\n", "utf-8")
    with RunningServer.start(python_path=tmp_path, brain="my_brain:answer") as server:
        assert said(post(server, "/v1/chat/completions", chat("abc"))[2]) == "ABC"


def test_requests_over_the_limit_are_refused_with_the_time_to_wait(model_server: RunningServer) -> None:
    model_server.set(limits={"requests_per_minute": 120, "burst_seconds": 1})
    replies = [post(model_server, "/v1/chat/completions", chat(str(each))) for each in range(3)]
    assert [status for status, _, _ in replies] == [200, 200, 429]
    assert replies[0][1]["x-ratelimit-limit-requests"] == "120"
    assert replies[1][1]["x-ratelimit-remaining-requests"] == "0"
    assert replies[2][1]["retry-after"] == "1"
    time.sleep(0.6)  # the bucket fills by itself
    assert post(model_server, "/v1/chat/completions", chat())[0] == 200


def test_tokens_are_limited_too_and_anthropic_says_so_in_its_own_words(model_server: RunningServer) -> None:
    model_server.set(limits={"input_tokens_per_minute": 60, "output_tokens_per_minute": 6000, "kind": "window"})
    first, second = (post(model_server, "/v1/messages", message("Judge well. " * 10)) for _ in range(2))
    assert (first[0], second[0]) == (200, 429)
    assert first[1]["anthropic-ratelimit-input-tokens-limit"] == "60"
    assert first[1]["anthropic-ratelimit-output-tokens-reset"].endswith("Z")
    assert second[2]["error"]["type"] == "rate_limit_error"
    assert 50 < int(second[1]["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("style", "header"), [("seconds", "retry-after"), ("date", "retry-after"), ("ms", "retry-after-ms"), ("none", None)]
)
def test_a_429_says_when_to_come_back_in_each_of_the_ways_that_are_used(
    model_server: RunningServer, style: str, header: str | None
) -> None:
    model_server.set(limits={"requests_per_minute": 1, "retry_after": style, "headers": "none"})
    post(model_server, "/v1/chat/completions", chat())
    status, headers, _ = post(model_server, "/v1/chat/completions", chat())
    assert status == 429
    assert [name for name in headers if "retry" in name] == ([header] if header else [])
    assert not [name for name in headers if "ratelimit" in name]


def test_a_fault_meets_the_nth_request_and_only_those_that_match(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "overloaded", "nth": [2, 3], "match": "apple"}])
    texts = ["apple", "pear", "apple", "apple", "apple"]
    statuses = [post(model_server, "/v1/chat/completions", chat(text))[0] for text in texts]
    assert statuses == [200, 200, 529, 529, 200]


def test_a_share_of_faults_falls_on_the_same_requests_for_a_seed(model_server: RunningServer) -> None:
    def round_of(seed: int) -> list[int]:
        model_server.set(faults=[])
        model_server.set(faults=[{"fault": "internal", "share": 0.3, "seed": seed}])
        return [post(model_server, "/v1/chat/completions", chat(str(each)))[0] for each in range(60)]

    assert round_of(1) == round_of(1)
    assert round_of(1) != round_of(2)
    assert 6 <= round_of(1).count(500) <= 30


@pytest.mark.parametrize("fault", ["reset", "reset_body", "truncated_json", "html", "empty_body"])
def test_a_broken_reply_is_broken(model_server: RunningServer, fault: str) -> None:
    model_server.set(faults=[{"fault": fault}])
    with pytest.raises((ConnectionError, IncompleteRead, ValueError)):
        post(model_server, "/v1/chat/completions", chat())


def test_a_request_that_hangs_is_logged_when_the_client_leaves(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "hang"}])
    with pytest.raises(TimeoutError):
        post(model_server, "/v1/chat/completions", chat(), timeout=0.2)
    deadline = time.monotonic() + 10
    while not model_server.log() and time.monotonic() < deadline:
        time.sleep(0.01)
    [entry] = model_server.log()
    assert (entry.status, entry.fault, model_server.in_flight()) == (0, "hang", 0)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("missing_claims", ["c2", "c3"]),
        ("extra_claims", ["c1", "c2", "c3", "one-too-many"]),
        ("reordered", ["c3", "c2", "c1"]),
        ("duplicate_claims", ["c1", "c2", "c3", "c1"]),
        ("unknown_id", ["no-such-id", "c2", "c3"]),
    ],
)
def test_claims_go_wrong_as_they_are_told(model_server: RunningServer, fault: str, found: list[str]) -> None:
    model_server.set(faults=[{"fault": fault}])
    claims = json.loads(said(post(model_server, "/v1/chat/completions", chat())[2]))["claims"]
    assert [claim["id"] for claim in claims] == found


@pytest.mark.parametrize(
    ("fault", "finish", "stop_reason"),
    [
        ("truncated", "length", "max_tokens"),
        ("content_filter", "content_filter", "refusal"),
        ("refusal", "stop", "refusal"),
    ],
)
def test_each_dialect_has_its_way_to_say_that_a_reply_is_not_whole(
    model_server: RunningServer, fault: str, finish: str, stop_reason: str
) -> None:
    model_server.set(faults=[{"fault": fault}])
    assert post(model_server, "/v1/chat/completions", chat())[2]["choices"][0]["finish_reason"] == finish
    assert post(model_server, "/v1/messages", message())[2]["stop_reason"] == stop_reason


def test_a_system_text_that_was_seen_before_is_read_from_the_prompt_cache(model_server: RunningServer) -> None:
    long = "Judge with care. " * 400
    first, second = (post(model_server, "/v1/messages", message(long))[2]["usage"] for _ in range(2))
    assert first["cache_creation_input_tokens"] == second["cache_read_input_tokens"] > 1024
    assert first["cache_read_input_tokens"] == second["cache_creation_input_tokens"] == 0
    assert first["input_tokens"] == second["input_tokens"]
    body = chat()
    body["messages"][0]["content"] = long + "!"
    cached = [
        post(model_server, "/v1/chat/completions", body)[2]["usage"]["prompt_tokens_details"]["cached_tokens"]
        for _ in range(2)
    ]
    assert cached[0] == 0
    assert cached[1] > 1024


def test_log_probabilities_cover_the_text_and_the_other_words_of_a_list(model_server: RunningServer) -> None:
    model_server.set(token_length=4)
    choice = post(model_server, "/v1/chat/completions", chat(logprobs=True, top_logprobs=5))[2]["choices"][0]
    tokens = choice["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == choice["message"]["content"]
    firsts = [token for token in tokens if token["token"] in ("supp", "unsu")]
    assert len(firsts) == 3
    assert all({other["token"] for other in first["top_logprobs"]} == {"supp", "unsu"} for first in firsts)


def test_the_log_has_what_was_asked_and_a_fingerprint_of_the_key_but_not_the_key(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    with RunningServer.start(log_file=file) as server:
        post(server, "/v1/chat/completions", chat())
        [entry] = server.log()
    assert entry.body == chat()
    assert entry.key is not None
    text = file.read_text("utf-8")
    assert json.loads(text)["number"] == 1
    assert "secret-key" not in text


def test_a_setting_that_does_not_exist_is_an_error(model_server: RunningServer) -> None:
    with pytest.raises(ValueError, match="latencyy"):
        model_server.set(latencyy=1)
    with pytest.raises(ValueError, match="no_such_fault"):
        model_server.set(faults=[{"fault": "no_such_fault"}])
