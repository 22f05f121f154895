"""Replies that were paid for, in one SQLite file that all runs and processes of a user share. The home of sqlite3."""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Literal, NoReturn, Self, TypeAlias, TypeVar

from judges.calls.shapes import Answered, Asked
from judges.calls.stored import Form, Stored, exported
from judges.errors import CacheError, NotCached
from judges.fingerprint import fingerprint
from judges.printable import printable
from judges.remedies import by_option
from judges.service import Service
from judges.usage import Usage, add_usage

__all__ = ["Cache", "CacheStatistics", "Cached", "Mode", "ModelStatistics", "Pruned", "reply_key"]

RequestT = TypeVar("RequestT", bound=Asked)
ReplyT = TypeVar("ReplyT", bound=Answered)

Mode: TypeAlias = Literal["use", "refresh", "offline"]
"""Read and write; write only, so that each reply is a new one; read only, so that nothing is asked."""

_APPLICATION = 0x4A554447  # "JUDG": tells our files from other SQLite files
_VERSION = 1
_SCHEMA = """
CREATE TABLE replies (
    key BLOB NOT NULL PRIMARY KEY,
    identity TEXT NOT NULL,
    model TEXT NOT NULL,
    reply BLOB NOT NULL,
    vector BLOB,
    created REAL NOT NULL,
    used REAL NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0
);
"""
_READ = "SELECT reply, vector FROM replies WHERE key = ?"
_WRITE = """
INSERT INTO replies (key, identity, model, reply, vector, created, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT (key) DO UPDATE SET identity = ?2, model = ?3, reply = ?4, vector = ?5, created = ?6, used = ?6
"""
_COUNT = "UPDATE replies SET hits = hits + ?, used = max(used, ?) WHERE key = ?"
_WHOLE = "SELECT key, identity, model, created, used, hits, reply, vector FROM replies ORDER BY created, key"

_HITS_KEPT = 2000
_PRUNED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ModelStatistics:
    """What the cache holds of one model."""

    replies: int
    hits: int


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """What the cache holds."""

    replies: int
    bytes: int
    """On disk, or in memory."""
    hits: int
    by_model: Mapping[str, ModelStatistics]
    """By the model as the service names it, most replies first."""
    oldest: float | None
    """When the oldest reply was stored, in seconds since 1970; None if there is none."""
    newest: float | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `prune` took away."""

    replies: int
    bytes: int


class Cache:
    """A store of replies by key.

    A reply is on its way to the disk before `put` returns, and survives the process; the last ones may be lost with the
    machine's power. Hits are counted in memory and written now and then: a killed process loses some counts.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        clock: Callable[[], float] = time.time,
        busy_seconds: float = 10.0,
        only_read: bool = False,
    ) -> None:
        """Open or create a cache.

        Args:
            path: The file; None for one in memory, gone with the process.
            clock: Tells the time of day, in seconds since 1970.
            busy_seconds: How long to wait for another process that is writing.
            only_read: Whether a file that is there is to be read and never written: see `to_read`.

        Raises:
            CacheError: The file can't be opened, is damaged, or isn't ours.
        """
        self.path = path
        self.failure: CacheError | None = None
        """Why the last reply could not be stored, until someone was told."""
        self._where = "the cache in memory" if path is None else printable(str(path), 300)
        self._clock = clock
        self._hits: dict[bytes, int] = {}
        if path is not None and path.is_dir():
            raise CacheError(f"{self._where}: is a folder, and the cache is a file; give another path")
        with self._explained():
            self._connection = sqlite3.connect(
                ":memory:" if path is None else _read_only(path) if only_read else path,
                uri=only_read,
                timeout=busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._explained():
                self._prepare(only_read=only_read)
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def to_read(cls, path: Path) -> Self:
        """Open a cache to which no reply is added, wherever it is: nothing is made where there is none yet.

        Raises:
            CacheError: The file can't be read, is damaged, or isn't ours.
        """
        try:
            is_there = path.exists()
        except OSError as error:
            raise CacheError(
                f"{printable(str(path), 300)}: can't be read: {error.strerror}; give another path"
            ) from error
        if not is_there:
            return cls(None)
        return cls(path, only_read=not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)))

    def _prepare(self, *, only_read: bool) -> None:
        """Make sure that the file is ours, and as we know it."""
        run = self._connection.execute
        has_tables = self._pragma("schema_version")
        if self._pragma("application_id") != _APPLICATION:  # read after the other: both are written at once
            if has_tables:
                raise CacheError(f"{self._where}: is a database of another program; give another path")
            if only_read:
                raise CacheError(f"{self._where}: holds no cache yet, and can't be written; give another path")
            run("PRAGMA auto_vacuum = INCREMENTAL")
            run("PRAGMA journal_mode = WAL")
            run("BEGIN IMMEDIATE")
            if not self._pragma("application_id"):  # another process may have been faster
                for statement in _SCHEMA.split(";"):
                    run(statement)
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {_VERSION}")
            run("COMMIT")
        if self._pragma("user_version") > _VERSION:
            raise CacheError(f"{self._where}: was written by a newer version of Judges; use that, or give another path")
        run("PRAGMA synchronous = NORMAL")
        if not only_read:  # better known now than when the first reply has been paid for
            run("UPDATE replies SET hits = hits WHERE FALSE")  # BEGIN IMMEDIATE is no test: it then begins to read
        run("SELECT count(*) FROM (SELECT 1 FROM replies LIMIT 1)")

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    def get(self, key: str, form: Form[ReplyT]) -> ReplyT | None:
        """The reply stored under a key, if there is one.

        Raises:
            CacheError: The file can't be read, or what is stored isn't such a reply.
        """
        digest = bytes.fromhex(key)
        try:
            row: tuple[bytes, bytes | None] | None = self._connection.execute(_READ, (digest,)).fetchone()
        except sqlite3.Error as error:
            self._explain(error)
        if row is None:
            return None
        try:
            reply = form.decode(Stored(*row))
        except (ValueError, TypeError, KeyError) as error:
            raise CacheError(f"{self._where}: the reply {key} is damaged; `judges cache clear` starts anew") from error
        self._hits[digest] = self._hits.get(digest, 0) + 1
        if len(self._hits) >= _HITS_KEPT:
            self._write_hits()
        return reply

    def has(self, key: str) -> bool:
        """Whether there is a reply under a key. Counts as no hit.

        Raises:
            CacheError: The file can't be read.
        """
        with self._explained():
            found = self._connection.execute("SELECT 1 FROM replies WHERE key = ?", (bytes.fromhex(key),)).fetchone()
        return found is not None

    def put(self, key: str, reply: ReplyT, form: Form[ReplyT], identity: str) -> None:
        """Store a reply, in place of an earlier one under the same key.

        Raises:
            CacheError: It can't be stored. What was stored before is unharmed.
        """
        stored = form.encode(reply)
        row = (bytes.fromhex(key), identity, reply.model, stored.text, stored.vector, self._clock())
        try:
            self._connection.execute(_WRITE, row)
        except sqlite3.Error as error:
            self._explain(error)

    def _write_hits(self) -> None:
        """Write the counts. They are dropped where that can't be done: no run fails for a count."""
        hits, self._hits = self._hits, {}
        now = self._clock()
        try:
            with self._transaction():
                self._connection.executemany(_COUNT, [(count, now, key) for key, count in hits.items()])
        except sqlite3.Error:
            return

    def size(self) -> int:
        """Bytes on disk, or in memory."""
        with self._explained():
            return self._size()

    def _size(self) -> int:
        if self.path is None:
            return self._pragma("page_count") * self._pragma("page_size")
        return sum(
            part.stat().st_size
            for ending in ("", "-wal", "-shm")
            if (part := self.path.with_name(self.path.name + ending)).exists()
        )

    def statistics(self) -> CacheStatistics:
        """What the cache holds.

        Raises:
            CacheError: The file can't be read.
        """
        self._write_hits()
        with self._explained():
            run = self._connection.execute
            rows: list[tuple[str, int, int]] = run(
                "SELECT model, count(*), sum(hits) FROM replies GROUP BY model ORDER BY 2 DESC, 1"
            ).fetchall()
            oldest, newest = run("SELECT min(created), max(created) FROM replies").fetchone()
            return CacheStatistics(
                replies=sum(replies for _, replies, _ in rows),
                bytes=self._size(),
                hits=sum(hits for _, _, hits in rows),
                by_model={model: ModelStatistics(replies, hits) for model, replies, hits in rows},
                oldest=oldest,
                newest=newest,
            )

    def prune(self, *, older_than: timedelta | None = None, max_bytes: int | None = None) -> Pruned:
        """Take away what hasn't been used for long.

        Args:
            older_than: Replies last used before so long a time.
            max_bytes: The least recently used, until the file is no larger.

        Raises:
            CacheError: The file can't be written.
        """
        self._write_hits()
        with self._explained():
            before = self._size()
            removed = 0
            if older_than is not None:
                limit = self._clock() - older_than.total_seconds()
                removed += self._remove("used < ?", limit)
            if max_bytes is not None:
                self._shrink()
                while self._pragma("page_count") * self._pragma("page_size") > max_bytes:
                    gone = self._remove_some("1 = ?", 1)
                    if not gone:
                        break
                    removed += gone
                    self._shrink()
            self._shrink()
            return Pruned(removed, max(0, before - self._size()))

    def clear(self) -> Pruned:
        """Take away everything.

        Raises:
            CacheError: The file can't be written.
        """
        self._hits.clear()
        with self._explained():
            before = self._size()
            removed = self._remove("1 = ?", 1)
            self._shrink()
            return Pruned(removed, max(0, before - self._size()))

    def _remove(self, condition: str, value: float) -> int:
        """Remove in short transactions, so that other processes get their turn."""
        removed = 0
        while gone := self._remove_some(condition, value):
            removed += gone
        return removed

    def _remove_some(self, condition: str, value: float) -> int:
        return self._connection.execute(
            f"DELETE FROM replies WHERE rowid IN (SELECT rowid FROM replies WHERE {condition} "  # noqa: S608  our own words
            f"ORDER BY used LIMIT {_PRUNED_AT_ONCE})",
            (value,),
        ).rowcount

    def _shrink(self) -> None:
        """Give what is free back to the disk."""
        self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` would take one page only
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def export(self) -> Iterator[dict[str, Any]]:
        """Each reply as JSON-ready values, oldest first.

        Raises:
            CacheError: The file can't be read, or something in it isn't a reply.
        """
        self._write_hits()
        with self._explained(), closing(self._connection.execute(_WHOLE)) as rows:
            for key, identity, model, created, used, hits, reply, vector in rows:
                try:
                    record = exported(Stored(reply, vector))
                except ValueError as error:
                    raise CacheError(f"{self._where}: the reply {key.hex()} is damaged") from error
                yield {
                    "key": key.hex(),
                    "identity": identity,
                    "model": model,
                    "created": created,
                    "used": used,
                    "hits": hits,
                    "reply": record,
                }

    def report(self) -> None:
        """Say that a reply could not be stored, if so.

        Raises:
            CacheError: That.
        """
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Write the counts and close the file.

        Raises:
            CacheError: The last reply could not be stored.
        """
        self._write_hits()
        self._connection.close()
        self.report()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.failure = None  # one error at a time
        self.close()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self._explain(error)

    def _explain(self, error: sqlite3.Error) -> NoReturn:
        found = getattr(error, "sqlite_errorcode", None)
        code = found & 0xFF if isinstance(found, int) else -1
        said = _SAID.get(code, f"{error}; give another path")
        if code in _UNUSABLE:
            said += by_option("--no-cache", ", or use --no-cache")
        raise CacheError(f"{self._where}: {said}") from error


def _read_only(path: Path) -> str:
    """How SQLite is told to read a file only.

    A log that stands beside it is read too. Without one the file is whole, and SQLite must be told that nobody will
    change it: else it wants to make a log, in a folder that can't be written.

    Source:
        SQLite, Write-Ahead Logging, "Read-Only Databases".
    """
    has_log = path.with_name(f"{path.name}-wal").exists()
    return f"{path.absolute().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}"


_UNUSABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
_SAID = {
    sqlite3.SQLITE_BUSY: "another process has kept it locked for too long; try again when that has ended",
    sqlite3.SQLITE_LOCKED: "another process has kept it locked for too long; try again when that has ended",
    sqlite3.SQLITE_CANTOPEN: "can't be opened or created; its folder must exist and be writable",
    sqlite3.SQLITE_READONLY: "can't be written; make file and folder writable",
    sqlite3.SQLITE_PERM: "can't be written; make file and folder writable",
    sqlite3.SQLITE_FULL: "the disk is full; make room (`judges cache prune` helps), then run the same command again",
    sqlite3.SQLITE_IOERR: "can't be read or written (the disk may be full, or gone); then run the same command again",
    sqlite3.SQLITE_NOTADB: "is not a cache of Judges, or damaged; move the file away or give another path",
    sqlite3.SQLITE_CORRUPT: "is damaged; move the file away (what it holds will be asked and paid for again)",
}


def reply_key(identity: str, request: Asked) -> str:
    """What the reply to a request is stored under.

    Args:
        identity: Names service and endpoint.
        request: What is asked.
    """
    return fingerprint([identity, request.fingerprint])


class Cached(Generic[RequestT, ReplyT]):
    """Answers from the cache what was paid for once.

    The write follows the reply with no `await` between, so a cancellation can't lose it. If it fails, the reply in hand
    is handed on all the same, since it has been paid for, and the error is raised before the next call is paid.
    """

    __slots__ = ("_cache", "_form", "_identity", "_inner", "_mode")

    def __init__(
        self,
        inner: Service[RequestT, ReplyT],
        cache: Cache,
        form: Form[ReplyT],
        *,
        identity: str,
        mode: Mode = "use",
    ) -> None:
        """Wrap a service.

        Args:
            inner: What makes the call.
            cache: Where replies are kept.
            form: How they are kept.
            identity: Names service and endpoint, such as `openai https://api.openai.com/v1`: another one never gets
                this one's replies.
            mode: Whether the cache is read, written, or both.
        """
        self._inner = inner
        self._cache = cache
        self._form = form
        self._identity = identity
        self._mode = mode

    async def __call__(self, request: RequestT, /) -> ReplyT:
        """The reply.

        Raises:
            NotCached: Only the cache may answer, and it can't.
            CacheError: It can't be read, or an earlier reply could not be written.
        """
        key = reply_key(self._identity, request)
        if self._mode != "refresh":
            found = self._cache.get(key, self._form)
            if found is not None:
                add_usage(Usage(hits=1, models=(found.model,)))
                return found
        if self._mode == "offline":
            raise NotCached(
                f"no reply of {printable(request.model)} to this request is stored, and only the cache may answer: "
                "run it once without --offline"
            )
        self._cache.report()
        reply = await self._inner(request)
        try:
            self._cache.put(key, reply, self._form, self._identity)
        except CacheError as error:
            self._cache.failure = error
        return reply
