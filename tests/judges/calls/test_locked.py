"""Calls that other processes have under way, with real processes and real locks."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from judges.calls.cache import Cache, Cached
from judges.calls.locked import Locked
from judges.calls.stored import CHAT
from judges.errors import Unavailable
from judges.service import ChatReply, ChatRequest
from support.services import Answering, chat

HOLDER = """
import asyncio, sys
from pathlib import Path
from judges.calls.locked import Locked
from judges.service import ChatReply, ChatRequest
from support.services import chat

async def never(request: ChatRequest) -> ChatReply:
    print("asking", flush=True)
    await asyncio.Event().wait()
    raise AssertionError

asyncio.run(Locked(never, Path(sys.argv[1]))(chat("a")))
"""


@contextmanager
def asking_a(path: Path) -> Generator[subprocess.Popen[str]]:
    """Another process that asks, says so as soon as it may, and waits for ever."""
    tests = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{HOLDER}", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def another_process_asking_a(path: Path) -> Generator[subprocess.Popen[str]]:
    with asking_a(path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asking\n"
        yield process


def locked(service: Answering, path: Path, *, patience: float = 300.0) -> Locked[ChatRequest, ChatReply]:
    return Locked[ChatRequest, ChatReply](service, path, patience=patience)


def test_the_same_request_waits_for_the_other_process_another_does_not_and_kill_9_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "replies.locks"

    async def run(process: subprocess.Popen[str]) -> None:
        service = Answering()
        ours = locked(service, path)
        waiting = asyncio.create_task(ours(chat("a")))
        await ours(chat("b"))
        await asyncio.sleep(0.2)
        assert [request.messages[0].text for request in service.asked] == ["b"]
        process.kill()
        assert (await waiting).text == "a"

    with another_process_asking_a(path) as process:
        asyncio.run(run(process))
    assert path.stat().st_size == 0


def test_whoever_has_waited_finds_the_reply_in_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "replies.locks"

    async def run(process: subprocess.Popen[str], cache: Cache) -> None:
        service = Answering()
        cached = Cached(service, cache, CHAT, identity="there")
        waiting = asyncio.create_task(Locked[ChatRequest, ChatReply](cached, path)(chat("a")))
        await asyncio.sleep(0.1)
        with Cache(tmp_path / "replies.sqlite") as theirs:  # as the other process would, before it lets go
            await Cached(Answering(), theirs, CHAT, identity="there")(chat("a"))
        process.kill()
        assert (await waiting).text == "a"
        assert service.asked == []

    with another_process_asking_a(path) as process, Cache(tmp_path / "replies.sqlite") as cache:
        asyncio.run(run(process, cache))


def test_a_process_that_never_ends_is_waited_for_so_long_and_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "replies.locks"
    service = Answering()
    with another_process_asking_a(path):
        asyncio.run(asyncio.wait_for(locked(service, path, patience=0.1)(chat("a")), 60))
    assert len(service.asked) == 1


def test_a_call_that_fails_or_is_cancelled_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "replies.locks"

    async def failing(request: ChatRequest) -> ChatReply:
        raise Unavailable("down")

    with pytest.raises(Unavailable):
        asyncio.run(Locked[ChatRequest, ChatReply](failing, path)(chat("a")))

    async def cancelled() -> None:
        task = asyncio.create_task(locked(Answering(wait=lambda: asyncio.sleep(60)), path)(chat("a")))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    with another_process_asking_a(path):  # it got the lock, though ours is still open
        pass


def test_a_stack_that_is_gone_takes_no_lock_of_another_with_it(tmp_path: Path) -> None:
    path = tmp_path / "replies.locks"

    async def run() -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        holding = asyncio.create_task(locked(Answering(wait=lambda: ended), path)(chat("a")))
        await asyncio.sleep(0.01)
        await locked(Answering(), path)(chat("b"))  # to close a file lets go of all that the process has in it
        gc.collect()
        with asking_a(path) as process:
            assert process.stdout is not None
            said = asyncio.create_task(asyncio.to_thread(process.stdout.readline))
            await asyncio.sleep(0.5)
            assert not said.done()
            ended.set_result(None)
            await holding
            assert await said == "asking\n"
            process.kill()

    asyncio.run(run())


def test_stacks_of_one_process_wait_for_each_other_too(tmp_path: Path) -> None:
    async def run() -> None:
        service = Answering(wait=lambda: asyncio.sleep(0.05))
        with Cache(tmp_path / "replies.sqlite") as cache:
            stacks = [
                Locked[ChatRequest, ChatReply](Cached(service, cache, CHAT, identity="there"), tmp_path / "locks")
                for _ in range(3)
            ]
            await asyncio.gather(*(stack(chat("a")) for stack in stacks))
        assert len(service.asked) == 1

    asyncio.run(run())


def test_the_same_request_to_another_service_is_another_call(tmp_path: Path) -> None:
    async def run() -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        here = Locked[ChatRequest, ChatReply](Answering(wait=lambda: ended), tmp_path / "locks", identity="here")
        there = Locked[ChatRequest, ChatReply](Answering(), tmp_path / "locks", identity="there")
        waiting = asyncio.create_task(here(chat("a")))
        await asyncio.sleep(0)
        assert (await asyncio.wait_for(there(chat("a")), 60)).text == "a"
        ended.set_result(None)
        await waiting

    asyncio.run(run())


def test_where_there_can_be_no_locks_calls_are_made_at_once(tmp_path: Path) -> None:
    service = Answering()
    asyncio.run(locked(service, tmp_path / "no" / "folder")(chat("a")))
    assert len(service.asked) == 1
