"""The cache: hits a second, what a stored reply costs, memory; and the whole stack around a service that does nothing.

Requests are judging prompts of about 2,000 characters, replies of about 300. One process, one core; CPU time is quoted.
"""

import argparse
import asyncio
import json
import resource
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from time import perf_counter, process_time

from judges.calls.cache import Cache, Cached
from judges.calls.prices import Price, PriceList
from judges.calls.stack import chat_stack
from judges.calls.stored import CHAT
from judges.calls.throttle import Account
from judges.fingerprint import Json
from judges.service import ChatReply, ChatRequest, Message
from judges.usage import Usage, tallied

Call = Callable[[ChatRequest], Awaitable[ChatReply]]

SYSTEM = "You judge whether an answer is supported by the passages it was given. " * 15
PASSAGE = "The bridge was opened to traffic on 19 March 1932, after eight years of work. " * 12
ANSWER = '{"claims": [{"id": "1", "rationale": "The passage gives this very date.", "verdict": "supported"}]}' * 3
SCHEMA: dict[str, Json] = {"type": "object", "properties": {"claims": {"type": "array"}}, "required": ["claims"]}


async def nothing(request: ChatRequest, /) -> ChatReply:
    return ChatReply(ANSWER, request.model, usage=Usage(input_tokens=600, output_tokens=80))


def requests(count: int) -> Iterable[ChatRequest]:
    for number in range(count):
        yield ChatRequest("m", SYSTEM, (Message("user", f"{number}: {PASSAGE}"),), schema=SCHEMA)


async def for_all(call: Call, count: int) -> tuple[float, float]:
    """Milliseconds a call: of CPU, and on the wall."""
    cpu, wall = process_time(), perf_counter()
    with tallied():
        for request in requests(count):
            await call(request)
    return (process_time() - cpu) / count * 1e3, (perf_counter() - wall) / count * 1e3


def memory() -> float:
    """The most so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(count: int) -> dict[str, float]:
    prices = PriceList(None, {"m": Price(1.0, 1.0)})
    with tempfile.TemporaryDirectory() as folder, Cache(Path(folder) / "cache.sqlite") as cache:
        alone = Cached(nothing, cache, CHAT, identity="benchmark")
        bare, _ = asyncio.run(for_all(nothing, count))
        stacked, _ = asyncio.run(
            for_all(chat_stack(nothing, identity="stacked", account=Account("a"), prices=prices, cache=cache), count)
        )
        stored, _ = asyncio.run(for_all(alone, count))
        before = memory()
        hit, hit_wall = asyncio.run(for_all(alone, count))
        again, _ = asyncio.run(
            for_all(chat_stack(nothing, identity="stacked", account=Account("a"), prices=prices, cache=cache), count)
        )
        return {
            "service_alone_ms": bare,
            "stack_miss_ms": stacked - bare,
            "stack_hit_ms": again - bare,
            "cache_miss_ms": stored - bare,
            "cache_hit_ms": hit - bare,
            "hits_per_second": 1e3 / hit_wall,
            "peak_mb": memory(),
            "grown_while_hitting_mb": memory() - before,
            "bytes_per_reply": cache.size() / (2 * count),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.replies)
    if options.json:
        print(json.dumps(result))
        return
    print(f"{options.replies:,} requests, CPU time a call without the loop around it\n")
    print(f"whole stack, not cached   {result['stack_miss_ms']:8.3f} ms")
    print(f"whole stack, cached       {result['stack_hit_ms']:8.3f} ms")
    print(f"cache alone, stored       {result['cache_miss_ms']:8.3f} ms")
    print(f"cache alone, hit          {result['cache_hit_ms']:8.3f} ms")
    print(f"hits                      {result['hits_per_second']:8,.0f} a second, making the request included")
    print(f"on disk                   {result['bytes_per_reply']:8,.0f} bytes a reply")
    print(
        f"memory                    {result['peak_mb']:8.1f} MB at most; hits made it grow by "
        f"{result['grown_while_hitting_mb']:.1f} MB"
    )


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
