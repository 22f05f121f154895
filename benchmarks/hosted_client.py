"""One client of a model server, in a process of its own: `hosted.py` starts it, and reads what it prints.

    python benchmarks/hosted_client.py '{"variant": "ours", ...}'        the fields of `Task`

All make the same calls. Each asks a few first, so that everything is imported and compiled, then begins anew with a new
client, and from there time is taken. CPU time is that of this process, all threads.
"""

import asyncio
import gc
import itertools
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from judges import read_cases

if TYPE_CHECKING:
    from judges import Case
    from judges.backends.swapped import Swapped
    from judges.config import Connections

__all__ = ["MODELS", "Measured", "Task", "Variant", "Vendor"]

Vendor: TypeAlias = Literal["openai", "anthropic"]
Variant: TypeAlias = Literal["ours", "sdk", "sdk_aiohttp", "bare", "bodies"]

MODELS: dict[Vendor, str] = {"openai": "gpt-4.1-mini", "anthropic": "claude-sonnet-4-5"}
KEY = "sk-benchmark"

Body: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[Body], Awaitable[str]]
"""Posts a body; the text of the reply."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure."""

    variant: Variant
    url: str
    """Of the model server."""
    cases: str
    """The file."""
    folder: str
    """Where ours writes its run, into `run`, and has its cache."""
    bodies: str
    """The file with what ours posts, for the others to post; `bodies` writes it."""
    vendor: Vendor = "openai"
    criterion: str = "answer_relevance"
    run: str = "run"
    warm_up: int = 20
    """The first so many cases aren't measured."""
    in_flight: int | None = 64
    """None: ours isn't told, and finds out itself that it may have 64."""
    max_retries: int = 0
    """Of the SDKs."""
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What it took."""

    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    answered: int
    """Calls with a reply, judgements with a verdict."""
    errors: dict[str, int]
    """The others, by kind."""

    @property
    def lost(self) -> int:
        """All others."""
        return sum(self.errors.values())


class Stopwatch:
    """Wall and CPU time since it was made."""

    def __init__(self) -> None:
        gc.collect()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> Callable[["Counter[str]"], Measured]:
        """Take the time now; say later how calls ended, by the kind of their error, "" for none."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)

        def measured(ends: "Counter[str]") -> Measured:
            errors = {kind: count for kind, count in ends.items() if kind}
            return Measured(wall, cpu, peak, ends[""], errors)

        return measured


# --- Ours -----------------------------------------------------------------------------------------------------------


def connected(task: Task) -> "tuple[Connections, Swapped]":
    from judges.backends.swapped import Swapped
    from judges.config import Connections
    from judges.settings import JudgeSettings, ServiceSettings, Settings

    base_url = f"{task.url}/v1" if task.vendor == "openai" else task.url
    settings = Settings(services={base_url: ServiceSettings(concurrency=task.in_flight)})
    asked = JudgeSettings(base_url=base_url, timeout_seconds=task.timeout_seconds)
    connections = Connections(settings, asked=asked, cache=Path(task.folder, "cache"))
    judge = connections.judge(f"{task.vendor}:{MODELS[task.vendor]}")
    assert isinstance(judge, Swapped)
    return connections, judge


async def ours(task: Task, cases: "Iterator[Case]", run: str) -> Measured:
    """The whole pipeline: claims, prompts, cache on disk, limits, replies, ledger on disk."""
    from judges import Failed, evaluate
    from judges.config import criterion_named

    criterion = criterion_named(task.criterion)
    stopwatch = Stopwatch()
    connections, judge = connected(task)
    results = await evaluate(cases, criterion, judge, out=Path(task.folder, run))
    connections.close()
    measured = stopwatch.stop()
    outcomes = (judgement.outcome for judgement in results)
    return measured(Counter(outcome.error if isinstance(outcome, Failed) else "" for outcome in outcomes))


def write_bodies(task: Task) -> Measured:
    """What ours posts, one body a line."""
    from judges.config import criterion_named
    from judges.services.anthropic import AnthropicChat
    from judges.services.chat import encode
    from judges.services.openai import OpenAIChat

    stopwatch = Stopwatch()
    connections, judge = connected(task)
    chat = AnthropicChat(task.url) if task.vendor == "anthropic" else OpenAIChat(f"{task.url}/v1")
    criterion = criterion_named(task.criterion)
    requests = [request for case in read_cases(task.cases) for request in judge.requests(case, criterion)]
    lines = [encode(chat.write(request, chat.first_traits())) + b"\n" for request in requests]
    Path(task.bodies).write_bytes(b"".join(lines))
    connections.close()
    return stopwatch.stop()(Counter({"": len(lines)}))


# --- The others -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def openai_sdk(task: Task) -> AsyncGenerator[Ask]:
    import openai

    client = openai.AsyncOpenAI(
        api_key=KEY,
        base_url=f"{task.url}/v1",
        max_retries=task.max_retries,
        http_client=openai.DefaultAioHttpClient() if task.variant == "sdk_aiohttp" else None,
    )

    create: Any = client.chat.completions.create

    async def ask(body: Body) -> str:
        reply = await create(**body)
        return str(reply.choices[0].message.content)

    async with client:
        yield ask


@asynccontextmanager
async def anthropic_sdk(task: Task) -> AsyncGenerator[Ask]:
    import anthropic

    client = anthropic.AsyncAnthropic(
        api_key=KEY,
        base_url=task.url,
        max_retries=task.max_retries,
        http_client=anthropic.DefaultAioHttpClient() if task.variant == "sdk_aiohttp" else None,
    )

    create: Any = client.messages.create

    async def ask(body: Body) -> str:
        reply = await create(**body)
        return "".join(block.text for block in reply.content if block.type == "text")

    async with client:
        yield ask


@asynccontextmanager
async def bare(task: Task) -> AsyncGenerator[Ask]:
    import aiohttp

    is_openai = task.vendor == "openai"
    url = f"{task.url}/v1/chat/completions" if is_openai else f"{task.url}/v1/messages"
    headers = {"authorization": f"Bearer {KEY}"} if is_openai else {"x-api-key": KEY, "anthropic-version": "2023-06-01"}

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def ask(body: Body) -> str:
            async with session.post(url, json=body, raise_for_status=True) as response:
                reply: Any = json.loads(await response.read())
            return str(reply["choices"][0]["message"]["content"] if is_openai else reply["content"][0]["text"])

        yield ask


def client_of(task: Task) -> AbstractAsyncContextManager[Ask]:
    if task.variant == "bare":
        return bare(task)
    return openai_sdk(task) if task.vendor == "openai" else anthropic_sdk(task)


async def plain(task: Task, bodies: Sequence[Body]) -> Measured:
    """The plain way: a task a call, a semaphore, `gather`. Nothing is kept."""
    slots = asyncio.Semaphore(task.in_flight or 64)
    stopwatch = Stopwatch()
    async with client_of(task) as ask:

        async def one(body: Body) -> str:
            async with slots:
                try:
                    json.loads(await ask(body))
                except Exception as error:  # noqa: BLE001  counted
                    return type(error).__name__
            return ""

        ends = await asyncio.gather(*(one(body) for body in bodies))
    return stopwatch.stop()(Counter(ends))


def read_bodies(task: Task) -> list[Body]:
    return [json.loads(line) for line in Path(task.bodies).read_bytes().splitlines()]


async def measure(task: Task) -> Measured:
    match task.variant:
        case "bodies":
            return write_bodies(task)
        case "ours":
            cases = read_cases(task.cases)
            await ours(task, itertools.islice(cases, task.warm_up), f"{task.run}-warm")
            return await ours(task, cases, task.run)
        case _:
            bodies = read_bodies(task)
            await plain(task, bodies[: task.warm_up])
            return await plain(task, bodies[task.warm_up :])


def main() -> None:
    os.environ["NO_PROXY"] = "127.0.0.1"
    print(json.dumps(asdict(asyncio.run(measure(Task(**json.loads(sys.argv[1])))))))


if __name__ == "__main__":
    main()
