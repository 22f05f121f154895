"""`judges cache`: what the cache holds, and how to make it smaller."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Column, can_be_asked, counted, data, json_line, note, table, write_json
from judges.errors import InputError

if TYPE_CHECKING:
    from judges.calls.cache import Cache, Pruned

__all__ = ["cache_app"]

cache_app = typer.Typer(
    help="The replies that were paid for: how many, how often they were used, and how to make room.",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)

_Folder = Annotated[Path | None, typer.Option("--cache", help="Folder of the cache, where it isn't the usual one.")]


@cache_app.callback()
def _size(
    context: typer.Context,
    folder: _Folder = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    if context.invoked_subcommand is not None:
        context.obj = folder
        return
    with _opened(folder, only_read=True) as cache:
        if cache is None:
            if json:
                write_json({"path": str(_path(folder)), "replies": 0, "bytes": 0, "hits": 0, "models": {}})
            return
        found = cache.statistics()
        if json:
            write_json(
                {
                    "path": str(cache.path),
                    "replies": found.replies,
                    "bytes": found.bytes,
                    "hits": found.hits,
                    "oldest": _day(found.oldest),
                    "newest": _day(found.newest),
                    "models": {
                        model: {"replies": each.replies, "hits": each.hits} for model, each in found.by_model.items()
                    },
                }
            )
            return
        table(
            [Column("model"), Column("replies", "right"), Column("used again", "right")],
            ([model, f"{each.replies:,}", f"{each.hits:,}"] for model, each in found.by_model.items()),
        )
        if found.by_model:
            data()
        since = f", stored {_day(found.oldest)} to {_day(found.newest)}" if found.replies else ""
        data(f"{_replies(found.replies)} in {_bytes(found.bytes)}{since}")
        data(f"file: {cache.path}")


@cache_app.command()
def prune(
    context: typer.Context,
    older_than: Annotated[str | None, typer.Option(help="Replies not used for so long: 30d, 12h.")] = None,
    max_size: Annotated[
        str | None, typer.Option(help="The least used, until the file is no larger: 500MB, 2GB.")
    ] = None,
    folder: _Folder = None,
) -> None:
    """Take away replies that haven't been used for long."""
    if older_than is None and max_size is None:
        raise InputError("which replies? --older-than 30d, --max-size 2GB, or both")
    age = None if older_than is None else _age(older_than)
    size = None if max_size is None else _bytes_of(max_size)
    with _opened(folder or context.obj) as cache:
        if cache is not None:
            _tell(cache.prune(older_than=age, max_bytes=size))


@cache_app.command()
def export(context: typer.Context, folder: _Folder = None) -> None:
    """Print every reply as a line of JSON, oldest first."""
    with _opened(folder or context.obj, only_read=True) as cache:
        if cache is not None:
            for record in cache.export():
                data(json_line(record))


@cache_app.command()
def clear(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    folder: _Folder = None,
) -> None:
    """Take away everything: what is asked again is paid again."""
    with _opened(folder or context.obj) as cache:
        if cache is None:
            return
        found = cache.statistics()
        if not yes:
            if not can_be_asked():
                raise InputError(
                    f"nothing was taken away: say with --yes that {_replies(found.replies)} ({_bytes(found.bytes)}) "
                    "that were paid for may go"
                )
            typer.confirm(
                f"Take away {_replies(found.replies)}, {_bytes(found.bytes)}, that were paid for?", abort=True, err=True
            )
        _tell(cache.clear())


def _path(folder: Path | None) -> Path:
    from judges.config import cache_file
    from judges.settings import read_settings

    return cache_file(folder or read_settings().cache)


@contextmanager
def _opened(folder: Path | None, *, only_read: bool = False) -> "Generator[Cache | None]":
    """The cache; None, with a word about it, if there is none yet."""
    from judges.calls.cache import Cache

    path = _path(folder)
    if not path.exists():
        note(f"there is no cache at {path}: it is made by the first run that asks a hosted model")
        yield None
        return
    with Cache.to_read(path) if only_read else Cache(path) as cache:
        yield cache


def _tell(pruned: "Pruned") -> None:
    data(f"took away {_replies(pruned.replies)}, {_bytes(pruned.bytes)}")


def _replies(count: int) -> str:
    return counted(count, "reply", "replies")


def _day(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


_UNITS = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}


def _bytes(count: int) -> str:
    """`830 B`, `1.2 MB`."""
    for unit in ("TB", "GB", "MB", "KB"):
        if count >= _UNITS[unit]:
            return f"{count / _UNITS[unit]:.1f} {unit}"
    return f"{count} B"


def _bytes_of(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B)", text.strip().upper())
    if found is None:
        raise InputError(f"--max-size {text}: should be a number and a unit, as in 500MB or 2GB")
    return int(float(found[1]) * _UNITS[found[2]])


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d+)\s*([dhm])", text.strip().lower())
    if found is None:
        raise InputError(f"--older-than {text}: should be a number and d, h or m, as in 30d or 12h")
    count = int(found[1])
    return {"d": timedelta(days=count), "h": timedelta(hours=count), "m": timedelta(minutes=count)}[found[2]]
