"""A thousand calls that wait for an account's limit of requests: order, rate and CPU time.

Beside them the same calls, each of which waits in asyncio-throttle itself, looking every 10 ms whether it may go. Calls
cost nothing, so the CPU time is that of waiting.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import perf_counter, process_time

from asyncio_throttle.throttler import Throttler

from judges.calls.throttle import Account, Throttled, of_one
from judges.calls.tokens import likely_tokens
from judges.service import ChatReply, ChatRequest, Message

Call = Callable[[ChatRequest], Awaitable[ChatReply]]


class Sent:
    """A service that answers at once and notes when it was asked."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.times: list[float] = []

    async def __call__(self, request: ChatRequest, /) -> ChatReply:
        """The same reply to all."""
        self.order.append(int(request.messages[0].text))
        self.times.append(perf_counter())
        return ChatReply("yes", request.model)


def ours(service: Sent, per_second: float) -> Call:
    return Throttled(
        service, Account("benchmark", requests_per_minute=60 * per_second), likely=likely_tokens, used=of_one
    )


def polling(service: Sent, per_second: float) -> Call:
    throttler = Throttler(rate_limit=round(per_second), period=1.0)

    async def call(request: ChatRequest) -> ChatReply:
        async with throttler:
            return await service(request)

    return call


async def measure(make: Callable[[Sent, float], Call], waiters: int, per_second: float) -> dict[str, float]:
    service = Sent()
    call = make(service, per_second)
    cpu = process_time()
    await asyncio.gather(*(call(ChatRequest("m", "", (Message("user", str(number)),))) for number in range(waiters)))
    cpu = process_time() - cpu
    seconds = service.times[-1] - service.times[0]
    return {
        "cpu_seconds": cpu,
        "seconds": seconds,
        "rate": (waiters - 1) / seconds / per_second,
        "out_of_order": sum(later < earlier for earlier, later in zip(service.order, service.order[1:], strict=False)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiters", type=int, default=1000)
    parser.add_argument("--per-second", type=float, default=50.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {
        name: asyncio.run(measure(make, options.waiters, options.per_second))
        for name, make in (("ours", ours), ("asyncio-throttle, all polling", polling))
    }
    if options.json:
        print(json.dumps(results))
        return
    print(f"{options.waiters} waiters, {options.per_second:g} requests a second\n")
    print(f"{'':32}{'CPU s':>8}{'wall s':>8}{'rate used':>11}{'out of order':>14}")
    for name, result in results.items():
        print(
            f"{name:32}{result['cpu_seconds']:8.2f}{result['seconds']:8.2f}{result['rate']:11.3f}"
            f"{result['out_of_order']:14.0f}"
        )
    mine, theirs = results.values()
    print(f"\nCPU: {mine['cpu_seconds'] / theirs['cpu_seconds']:.3f} of the other's")


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
