"""llmock: a model server that isn't ours, and that grades how a client retries."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["Llmock", "is_installed"]


@dataclass(frozen=True, slots=True)
class Llmock:
    """One in a process of its own."""

    url: str

    @classmethod
    @contextmanager
    def start(cls, *, requests_per_minute: int) -> Generator["Llmock"]:
        """Start one, and end it with the block. Its first minute's requests may come at once."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        run = "from llmock.cli import app; app()"
        options = ("--host", "127.0.0.1", "--port", str(port), "--rpm", str(requests_per_minute))
        process = subprocess.Popen(
            [sys.executable, "-c", run, "serve", *options],
            env={**os.environ, "NO_COLOR": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        server = cls(f"http://127.0.0.1:{port}")
        try:
            for _ in range(300):
                try:
                    server.ask("GET", "/_llmock/scenario")
                    break
                except OSError:
                    assert process.poll() is None, "llmock did not start"
                    time.sleep(0.1)
            yield server
        finally:
            process.terminate()
            process.wait(20)

    @property
    def openai(self) -> str:
        """The base URL for OpenAI's dialect."""
        return f"{self.url}/v1"

    @property
    def anthropic(self) -> str:
        """The base URL for Anthropic's dialect."""
        return f"{self.url}/anthropic"

    def reset(self) -> None:
        """Forget requests and scenarios. What is left of the limits stays."""
        self.ask("POST", "/_llmock/reset", {})

    def fail(self, status: int, *, times: int, **how: object) -> None:
        """The next requests fail."""
        behaviour = {"type": "fail", "status": status, "times": times, **how}
        self.ask("POST", "/_llmock/scenario", {"behaviors": [behaviour]})

    def verdict(self) -> dict[str, Any]:
        """How the client has coped."""
        return self.ask("GET", "/_llmock/verdict")

    def requests(self) -> list[dict[str, Any]]:
        """What was asked so far."""
        return cast("list[dict[str, Any]]", self.ask("GET", "/_llmock/requests")["requests"])

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Any request; the reply's document."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, sent, method=method)  # noqa: S310  # loopback
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as reply:
            return cast("dict[str, Any]", json.loads(reply.read()))


def is_installed() -> bool:
    """Whether llmock is there."""
    return importlib.util.find_spec("llmock") is not None
