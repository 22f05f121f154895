"""A real model, small enough for any machine: what it says is of no use, but it must come in the form that was asked.

What it needs: see `support.llama`.
"""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, judges
from support.llama import MISSING, llama_server

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture(scope="module")
def base_url() -> Generator[str]:
    """The address of llama.cpp's server."""
    with llama_server() as url:
        yield url


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
