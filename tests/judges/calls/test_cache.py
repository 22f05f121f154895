import asyncio
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from judges.calls.cache import Cache, Cached, Mode, reply_key
from judges.calls.stored import CHAT, EMBEDDING
from judges.errors import CacheError, Disposition, InputError, NotCached, Unavailable
from judges.service import ChatReply, ChatRequest, EmbeddingReply
from judges.usage import Usage, tallied
from support.services import Answering, chat


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[Cache]:
    with Cache(path) as opened:
        yield opened


def cached(
    service: Answering, cache: Cache, *, identity: str = "here", mode: Mode = "use"
) -> Cached[ChatRequest, ChatReply]:
    return Cached(service, cache, CHAT, identity=identity, mode=mode)


def key(number: int) -> str:
    return f"{number:032x}"


def put(cache: Cache, number: int, text: str = "yes", model: str = "m") -> None:
    cache.put(key(number), ChatReply(text, model), CHAT, "here")


def process(script: str, *arguments: object) -> "subprocess.Popen[str]":
    head = """
    import sys
    from pathlib import Path
    from judges.calls.cache import Cache
    from judges.calls.stored import CHAT
    from judges.errors import CacheError
    from judges.service import ChatReply
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


# --- What is answered, and what is asked ----------------------------------------------------------------------------


def test_what_was_paid_once_is_answered_from_the_cache(cache: Cache) -> None:
    service = Answering()
    one = cached(service, cache)
    with tallied() as tally:
        first, second = asyncio.run(one(chat())), asyncio.run(one(chat()))
    assert first == second
    assert len(service.asked) == 1
    assert tally.usage == Usage(hits=1, models=("m",))


def test_the_cache_survives_its_process(path: Path) -> None:
    with Cache(path) as cache:
        asyncio.run(cached(Answering(), cache)(chat()))
    service = Answering()
    with Cache(path) as cache:
        asyncio.run(cached(service, cache, mode="offline")(chat()))
    assert not service.asked


def test_one_in_memory_answers_too() -> None:
    service = Answering()
    with Cache(None) as cache:
        one = cached(service, cache)
        asyncio.run(one(chat()))
        asyncio.run(one(chat()))
        assert cache.statistics().replies == 1
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "other",
    [chat("who?"), chat(model="n"), chat(max_tokens=99), chat(replicate=1)],
    ids=["question", "model", "max_tokens", "replicate"],
)
def test_whatever_can_change_the_reply_is_another_request(cache: Cache, other: ChatRequest) -> None:
    service = Answering()
    one = cached(service, cache)
    asyncio.run(one(chat()))
    asyncio.run(one(other))
    assert len(service.asked) == 2


def test_another_endpoint_never_gets_this_ones_reply(cache: Cache) -> None:
    service = Answering()
    asyncio.run(cached(service, cache, identity="openai https://a")(chat()))
    asyncio.run(cached(service, cache, identity="openai https://b")(chat()))
    assert len(service.asked) == 2


def test_refreshing_asks_again_and_stores_the_new_reply(cache: Cache) -> None:
    asyncio.run(cached(Answering(lambda _: ChatReply("old", "m")), cache)(chat()))
    newer = Answering(lambda _: ChatReply("new", "m"))
    assert asyncio.run(cached(newer, cache, mode="refresh")(chat())).text == "new"
    assert asyncio.run(cached(Answering(), cache)(chat())).text == "new"


def test_offline_a_miss_is_a_failure_of_its_own_and_nothing_is_asked(cache: Cache) -> None:
    service = Answering()
    with pytest.raises(NotCached, match="--offline"):
        asyncio.run(cached(service, cache, mode="offline")(chat()))
    assert not service.asked


def test_a_failure_is_never_stored(cache: Cache) -> None:
    with pytest.raises(Unavailable):
        asyncio.run(cached(Answering(lambda _: Unavailable("gone")), cache)(chat()))
    assert cache.statistics().replies == 0


def test_a_reply_that_is_of_no_use_was_paid_for_and_is_stored(cache: Cache) -> None:
    asyncio.run(cached(Answering(lambda _: ChatReply("{", "m", finish="length")), cache)(chat()))
    assert asyncio.run(cached(Answering(), cache, mode="offline")(chat())).finish == "length"


def test_a_cancellation_after_the_reply_does_not_lose_it(cache: Cache) -> None:
    async def run() -> None:
        async def service(request: ChatRequest, /) -> ChatReply:
            current = asyncio.current_task()
            assert current is not None
            current.cancel()  # reaches us at the next await
            return ChatReply("paid", request.model)

        async def call() -> None:
            await Cached(service, cache, CHAT, identity="here")(chat())
            await asyncio.sleep(0)

        with pytest.raises(asyncio.CancelledError):
            await asyncio.ensure_future(call())

    asyncio.run(run())
    assert cache.has(reply_key("here", chat()))


def test_vectors_are_stored_as_they_are(cache: Cache) -> None:
    reply = EmbeddingReply(bytes(range(256)), "e", Usage(input_tokens=3))
    cache.put(key(1), reply, EMBEDDING, "here")
    assert cache.get(key(1), EMBEDDING) == reply


# --- Several processes, and those that are killed --------------------------------------------------------------------

WRITER = """
first, count = int(sys.argv[2]), int(sys.argv[3])
with Cache(Path(sys.argv[1])) as cache:
    for number in range(first, first + count):
        cache.put(f"{number:032x}", ChatReply("x" * 500, "m"), CHAT, "here")
        print(number, flush=True)
"""


def test_processes_share_a_cache_that_all_of_them_create(path: Path) -> None:
    writers = [process(WRITER, path, 100 * number, 60) for number in range(4)]
    for writer in writers:
        output, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0, output
    with Cache(path) as cache:
        assert cache.statistics().replies == 240
        assert cache.get(key(301), CHAT) == ChatReply("x" * 500, "m")


def test_a_process_killed_at_any_moment_loses_no_reply_and_harms_none(path: Path) -> None:
    stored: set[int] = set()
    for number in range(4):
        writer = process(WRITER, path, 100_000 * number, 100_000)
        assert writer.stdout is not None
        for _ in range(50 + 37 * number):
            stored.add(int(writer.stdout.readline()))
        writer.send_signal(signal.SIGKILL)
        stored.update(int(line) for line in writer.stdout.read().splitlines())
        writer.stdout.close()
        writer.wait(timeout=10)
    with Cache(path) as cache:
        assert all(cache.has(key(number)) for number in stored)
        assert len(stored) <= cache.statistics().replies <= len(stored) + 4
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_one_may_prune_while_another_writes(path: Path) -> None:
    with Cache(path) as cache:
        put(cache, 999_999)
        writer = process(WRITER, path, 0, 300)
        while writer.poll() is None:
            cache.prune(older_than=timedelta(days=1), max_bytes=10**9)
        output, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0, output
        assert cache.statistics().replies == 301


# --- Whatever is wrong with the file ----------------------------------------------------------------------------------


def opening(path: Path) -> str:
    with pytest.raises(CacheError) as raised:
        Cache(path)
    message = str(raised.value)
    assert "\n" not in message
    assert str(path) in message
    assert raised.value.disposition is Disposition.STOP
    return message


def test_a_folder_is_no_cache(tmp_path: Path) -> None:
    assert "is a folder" in opening(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "can't be opened or created" in opening(tmp_path / "nowhere" / "cache.sqlite")


def test_another_file_is_left_alone(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)
    assert "is not a cache of Judges" in opening(path)
    assert path.read_text().startswith("Dear diary")


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE replies (mine TEXT)")
    before = path.read_bytes()
    assert "another program" in opening(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    with Cache(path) as cache:
        put(cache, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    assert "newer version of Judges" in opening(path)


def test_a_damaged_file_is_named(path: Path) -> None:
    with Cache(path) as cache:
        for number in range(500):
            put(cache, number, "x" * 500)
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 100] = b"\xff" * 100
    path.write_bytes(content)
    with pytest.raises(CacheError, match="is damaged"), Cache(path) as cache:
        cache.get(key(1), CHAT)


def test_a_reply_that_cannot_be_read_is_no_verdict(path: Path) -> None:
    with Cache(path) as cache:
        put(cache, 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET reply = '{\"text\": 1'")
    with Cache(path) as cache, pytest.raises(CacheError, match="is damaged"):
        cache.get(key(1), CHAT)


def test_a_locked_file_is_named(path: Path) -> None:
    with Cache(path, busy_seconds=0.1) as cache, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CacheError, match="another process has kept it locked"):
            put(cache, 1)
        other.execute("ROLLBACK")
        put(cache, 1)


READING = """
import os
if os.geteuid() == 0:
    os.setuid(65534)  # nothing is read-only to root
try:
    with Cache(Path(sys.argv[1])) as cache:
        cache.put(f"{1:032x}", ChatReply("yes", "m"), CHAT, "here")
except CacheError as error:
    print(error)
"""


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_cannot_be_written_is_named(there: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / "cache.sqlite"
    try:
        if there:
            with Cache(path) as cache:
                put(cache, 1)
        folder.chmod(0o555)
        output, _ = process(READING, path).communicate(timeout=60)
        assert output.startswith(f"{path}: can't be ")
        assert "make file and folder writable" in output or "its folder must exist and be writable" in output
        assert output.count("\n") == 1
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


LOOKING = """
import os
if os.geteuid() == 0:
    os.setuid(65534)
with Cache.to_read(Path(sys.argv[1])) as cache:
    print(cache.statistics().replies, cache.get(f"{1:032x}", CHAT) is not None, cache.has(f"{2:032x}"))
    print(len(list(cache.export())))
try:
    with Cache(Path(sys.argv[1])) as cache:
        print("opened")
except CacheError as error:
    print("writable" in str(error))
"""


@pytest.mark.parametrize("left", ["nothing", "a log"])
def test_what_cannot_be_written_can_be_read_and_to_write_it_is_refused_at_once(left: str) -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / "cache.sqlite"
    cache = Cache(path)
    try:
        put(cache, 1)
        if left == "nothing":
            cache.close()
        for each in folder.iterdir():
            each.chmod(0o444)
        folder.chmod(0o555)
        output, _ = process(LOOKING, path).communicate(timeout=60)
        assert output == "1 True False\n1\nTrue\n"
    finally:
        folder.chmod(0o755)
        for each in folder.iterdir():
            each.chmod(0o644)
        cache.close()
        shutil.rmtree(folder)


def test_a_cache_opened_to_be_read_is_not_made(tmp_path: Path) -> None:
    with Cache.to_read(tmp_path / "folder" / "cache.sqlite") as cache:
        assert cache.statistics().replies == 0
    assert not list(tmp_path.iterdir())


def test_what_is_there_but_is_no_cache_yet_is_not_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.touch()
    with pytest.raises(CacheError, match="holds no cache yet"):
        Cache(path, only_read=True)


FILLING = """
import asyncio, resource
from judges.calls.cache import Cached
from judges.service import ChatRequest, Message
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))  # writing beyond it fails, as on a full disk

class Paid:
    calls = 0
    async def __call__(self, request):
        self.calls += 1
        return ChatReply("x" * 20_000, "m")

service, judged = Paid(), 0
try:
    with Cache(Path(sys.argv[1])) as cache:
        one = Cached(service, cache, CHAT, identity="here")
        for number in range(100):
            asyncio.run(one(ChatRequest("m", "", (Message("user", str(number)),))))
            judged += 1
except CacheError as error:
    print(service.calls, judged, error)
"""


def test_on_a_full_disk_the_reply_in_hand_is_handed_on_and_no_other_is_paid(path: Path) -> None:
    output, _ = process(FILLING, path).communicate(timeout=60)
    paid, judged, message = output.split(" ", 2)
    assert paid == judged
    assert 5 < int(paid) < 20
    assert str(path) in message
    assert message.count("\n") == 1
    with Cache(path) as cache:  # what was stored before is unharmed
        assert cache.statistics().replies == int(paid) - 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_if_the_very_last_reply_could_not_be_stored_closing_says_so(path: Path) -> None:
    cache = Cache(path, busy_seconds=0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert asyncio.run(cached(Answering(), cache, mode="refresh")(chat())).text == "why?"
        other.execute("ROLLBACK")
    with pytest.raises(CacheError, match="locked"):
        cache.close()


def test_closing_does_not_hide_another_error(path: Path) -> None:
    def run() -> None:
        with Cache(path) as cache:
            cache.failure = CacheError("full")
            raise InputError("something else")

    with pytest.raises(InputError):
        run()


# --- What `judges cache` needs ---------------------------------------------------------------------------------------


def test_statistics_count_replies_and_hits_by_model(path: Path) -> None:
    now = [1000.0]
    with Cache(path, clock=lambda: now[0]) as cache:
        put(cache, 1, model="m")
        now[0] = 2000.0
        put(cache, 2, model="m")
        put(cache, 3, model="n")
        for number in (1, 1, 3):
            cache.get(key(number), CHAT)
        found = cache.statistics()
    assert (found.replies, found.hits) == (3, 3)
    assert {model: (each.replies, each.hits) for model, each in found.by_model.items()} == {"m": (2, 2), "n": (1, 1)}
    assert (found.oldest, found.newest) == (1000.0, 2000.0)
    assert found.bytes >= path.stat().st_size


def test_an_empty_cache_has_no_oldest_reply(cache: Cache) -> None:
    found = cache.statistics()
    assert (found.replies, found.hits, found.oldest, found.newest) == (0, 0, None, None)


def test_hits_are_there_after_closing(path: Path) -> None:
    with Cache(path) as cache:
        put(cache, 1)
        cache.get(key(1), CHAT)
    with Cache(path) as cache:
        assert cache.statistics().hits == 1


def test_pruning_takes_what_was_not_used_for_long(path: Path) -> None:
    now = [0.0]
    with Cache(path, clock=lambda: now[0]) as cache:
        for number in range(1200):
            put(cache, number)
        now[0] = 100_000.0
        cache.get(key(7), CHAT)
        put(cache, 5000)
        assert cache.prune(older_than=timedelta(days=1)).replies == 1199
        assert [cache.has(key(number)) for number in (7, 5000, 8)] == [True, True, False]


def test_pruning_by_size_takes_the_least_recently_used_and_frees_the_disk(path: Path) -> None:
    now = [0.0]
    with Cache(path, clock=lambda: now[0]) as cache:
        for number in range(3000):
            now[0] += 1
            put(cache, number, f"{number} " * 200)
        now[0] += 1
        cache.get(key(0), CHAT)
        before = path.stat().st_size
        pruned = cache.prune(max_bytes=before // 2)
        assert path.stat().st_size <= before // 2
        assert pruned.replies > 1000
        assert pruned.bytes >= before // 2
        assert cache.has(key(0))
        assert cache.has(key(2999))
        assert not cache.has(key(1))


def test_clearing_takes_everything(path: Path) -> None:
    with Cache(path) as cache:
        for number in range(1000):
            put(cache, number, "x" * 1000)
        assert cache.clear().replies == 1000
        assert cache.statistics().replies == 0
        assert cache.size() < 100_000


def test_export_gives_each_reply_as_it_was(path: Path) -> None:
    with Cache(path, clock=lambda: 1000.0) as cache:
        cache.put(key(1), ChatReply("yes", "m", usage=Usage(input_tokens=3)), CHAT, "openai https://x")
        cache.put(key(2), EmbeddingReply(b"\x00\x01", "e"), EMBEDDING, "openai https://x")
        records = list(cache.export())
    assert records == [
        {
            "key": key(1),
            "identity": "openai https://x",
            "model": "m",
            "created": 1000.0,
            "used": 1000.0,
            "hits": 0,
            "reply": {"text": "yes", "model": "m", "finish": "stop", "usage": {"input_tokens": 3}},
        },
        {
            "key": key(2),
            "identity": "openai https://x",
            "model": "e",
            "created": 1000.0,
            "used": 1000.0,
            "hits": 0,
            "reply": {"model": "e", "vector": "AAE="},
        },
    ]
