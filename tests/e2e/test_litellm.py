"""LiteLLM's proxy, which speaks Anthropic's dialect for any model: what our judge makes of its replies and errors.

Needs the command `litellm` (`pip install 'litellm[proxy]'`, in an environment of its own), on the PATH or named by
JUDGES_TEST_LITELLM. Behind it is our model server, and a real small model where there is one (`support.llama`).
"""

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import pytest

from judges.service import ChatReply, ChatRequest, Message
from judges.services.anthropic import AnthropicChat
from support.command import EXAMPLE, environment, judges
from support.llama import MISSING, free_port, llama_server, started
from support.model_server import RunningServer

LITELLM = os.environ.get("JUDGES_TEST_LITELLM") or shutil.which("litellm") or ""
KEY = "sk-" + secrets.token_urlsafe(24)
CHAT = "gpt-4.1-mini"
CLAUDE = "claude-sonnet-4-5"
SMALL = "small"

pytestmark = [
    pytest.mark.skipif(not LITELLM, reason="there is no command `litellm`, and JUDGES_TEST_LITELLM names none"),
    pytest.mark.filterwarnings("ignore:The model 'claude-sonnet-4-5' is deprecated:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def proxy(_model_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of the proxy. It asks each model once, so that every error comes through."""
    with ExitStack() as stack:
        models = [
            (CHAT, f"openai/{CHAT}", _model_server.openai),
            (CLAUDE, f"anthropic/{CLAUDE}", _model_server.anthropic),
        ]
        if not MISSING:
            models.append((SMALL, f"openai/{SMALL}", stack.enter_context(llama_server())))
        settings = {
            "model_list": [
                {
                    "model_name": name,
                    "litellm_params": {"model": model, "api_base": url, "api_key": "none", "max_retries": 0},
                }
                for name, model, url in models
            ],
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
            "general_settings": {"master_key": KEY},
        }
        file = tmp_path_factory.mktemp("litellm") / "proxy.yaml"
        file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
        port = free_port()
        command = [LITELLM, "--config", str(file), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        quiet = environment(
            LITELLM_LOCAL_MODEL_COST_MAP="True",  # nothing is fetched
            LITELLM_USE_CHAT_COMPLETIONS_URL_FOR_ANTHROPIC_MESSAGES="True",
        )
        url = f"http://127.0.0.1:{port}"
        stack.enter_context(started(command, f"{url}/health/liveliness", env=quiet, seconds=180))
        yield url


def run(
    folder: Path, proxy: str, model: str, *arguments: str, key: str = KEY, code: int | None = 0
) -> tuple[list[dict[str, Any]], str]:
    """The ledger of a run, and what was said on the way."""
    done = judges(
        *("run", EXAMPLE / "cases.jsonl", "-j", f"anthropic:{model}", "--base-url", proxy, "--out", "one"),
        *arguments,
        folder=folder,
        changes={"JUDGES_API_KEY": key, "JUDGES_CACHE": str(folder / "cache")},
        code=code,
    )
    ledger = folder / "one" / "ledger.jsonl"
    lines = ledger.read_text("utf-8").splitlines() if ledger.exists() else []
    return [json.loads(line) for line in lines], done.stderr


@pytest.mark.parametrize("model", [CHAT, CLAUDE])
def test_verdicts_are_those_of_the_model_asked_directly(
    tmp_path: Path, server: RunningServer, proxy: str, model: str
) -> None:
    through, said = run(tmp_path, proxy, model, "-c", "faithfulness", "--limit", "8")
    assert all(body.get("response_format") or body.get("output_config") for body in server.bodies())
    (tmp_path / "direct").mkdir()
    directly, _ = run(tmp_path / "direct", server.anthropic, model, "-c", "faithfulness", "--limit", "8")
    assert len(through) == 8
    assert [line.get("verdict") for line in sorted(through, key=lambda line: line["case"])] == [
        line.get("verdict") for line in sorted(directly, key=lambda line: line["case"])
    ]
    assert all(line["usage"]["input_tokens"] > 0 for line in through if "verdict" in line)
    assert KEY not in said


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.parametrize("ways", [(), ("--no-rationale",)], ids=["rationale", "no-rationale"])
def test_a_real_models_verdict_comes_in_the_form_of_its_schema(
    tmp_path: Path, proxy: str, ways: tuple[str, ...]
) -> None:
    more = ("-c", "answer_relevance", "--limit", "2", "--workers", "1", "--max-tokens", "120")
    ledger, _ = run(tmp_path, proxy, SMALL, *more, *ways, code=None)
    assert len(ledger) == 2
    assert {line["verdict"]["score"] for line in ledger if "verdict" in line} <= {0.0, 0.5, 1.0}
    assert {line["failed"]["error"] for line in ledger if "failed" in line} <= {"TruncatedReply"}
    assert all(line["usage"]["input_tokens"] > 0 for line in ledger)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["good", "bad"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("model", [CHAT, CLAUDE])
def test_the_sdk_gets_a_forced_tools_input_where_we_get_the_same_as_text(
    server: RunningServer, proxy: str, model: str
) -> None:
    server.set(brain=None)

    async def both() -> tuple[anthropic.types.Message, ChatReply]:
        ours = AnthropicChat(proxy, KEY)
        try:
            async with anthropic.AsyncAnthropic(base_url=proxy, api_key=KEY, max_retries=0) as sdk:
                message = await sdk.messages.create(
                    model=model,
                    max_tokens=60,
                    messages=[{"role": "user", "content": "Is it good?"}],
                    tools=[{"name": "reply", "description": "Give the reply.", "input_schema": SCHEMA}],
                    tool_choice={"type": "tool", "name": "reply"},
                )
            request = ChatRequest(model, "", (Message("user", "Is it good?"),), schema=SCHEMA, max_tokens=60)
            return message, await ours(request)
        finally:
            await ours.aclose()

    message, reply = asyncio.run(both())
    [given] = [block.input for block in message.content if block.type == "tool_use"]
    assert set(given) == set(json.loads(reply.text)) == {"verdict"}
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens > 0, reply.usage.input_tokens > 0, reply.finish) == (True, True, "stop")


@pytest.mark.parametrize("model", [CHAT, CLAUDE])
@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("unauthorised", 5, "the key was not accepted (401)"),
        ("quota", 5, "the account has no quota or credit left (429)"),
        ("no_model", 5, "no such model at"),
        ("bad_request", 5, "the first request was refused, so all would be"),
        ("context_length", 3, "ContextTooLong"),
        ("refusal", 3, "RefusedReply"),
    ],
)
def test_errors_of_the_model_keep_their_meaning(
    tmp_path: Path, server: RunningServer, proxy: str, model: str, fault: str, code: int, said: str
) -> None:
    server.set(faults=[{"fault": fault}])
    _, told = run(tmp_path, proxy, model, "-c", "tone", "--limit", "2", code=code)
    assert said in told
    assert KEY not in told


@pytest.mark.parametrize("model", [CHAT, CLAUDE])
@pytest.mark.parametrize("fault", ["rate_limited", "overloaded", "internal"])
def test_what_passes_is_asked_again_though_the_proxy_hides_how_long_to_wait(
    tmp_path: Path, server: RunningServer, proxy: str, model: str, fault: str
) -> None:
    server.set(faults=[{"fault": fault, "nth": [2], "retry_after": 1.0}])
    ledger, _ = run(tmp_path, proxy, model, "-c", "tone", "--limit", "3", "--workers", "1")
    assert [line for line in ledger if "failed" in line] == []
    assert server.requests() == 4


def test_a_model_that_the_proxy_does_not_know_is_named(tmp_path: Path, proxy: str) -> None:
    _, told = run(tmp_path, proxy, "nosuch", "-c", "tone", "--limit", "1", code=5)
    assert "judges: anthropic nosuch: no such model at http://127.0.0.1:" in told


@pytest.mark.parametrize("key", ["", "sk-" + "another" * 4])
def test_a_wrong_key_stops_the_run_and_is_not_shown(tmp_path: Path, proxy: str, key: str) -> None:
    ledger, told = run(tmp_path, proxy, CHAT, "-c", "tone", "--limit", "1", key=key, code=5)
    assert ledger == []
    assert told.count("\n") == 1
    assert not key or key not in told
