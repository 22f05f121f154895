"""Where records come from, a file or a stream, and what is said when one can't be a case.

Nothing here parses a record: `jsonl.py` and `table.py` do, and hand on what they read as a `Record` or an `Invalid`.
"""

import gzip
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias, cast

from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable
from judges.remedies import by_option

__all__ = [
    "FORMATS",
    "REPAIR",
    "Invalid",
    "Record",
    "Row",
    "called",
    "format_of",
    "numbered_lines",
    "opened",
    "readable",
    "refuse",
    "without_bom",
]

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
_SUFFIXES = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl"}

REPAIR = "correct it, or leave such records out with --skip-invalid"
"""The remedy where the record itself is wrong, and whoever reads can do without it."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Invalid:
    """One record that can't be a case. `str()` of it is one line, safe to print: where, what, and what to do."""

    source: str
    """The file's name, or `standard input`."""
    line: int
    """From 1. In a table the line its row begins in; see `unit`."""
    field: str | None
    """The field at fault, as the dataset calls it; None when the record could not be read at all."""
    message: str
    unit: str = "line"
    """What `line` counts: `line`, `record` (of a JSON document) or `row` (of a Parquet file)."""

    def __str__(self) -> str:
        return f"{_where(self.source, self.line, self.unit)}: {self.message}"


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it was read: nothing is checked but that it has fields."""

    source: str
    line: int
    values: dict[str, Json]
    unit: str = "line"

    @property
    def where(self) -> str:
        """Where it stands: `cases.jsonl:17`."""
        return _where(self.source, self.line, self.unit)

    def invalid(self, message: str, field: str | None = None) -> Invalid:
        """The complaint about this record."""
        return Invalid(self.source, self.line, field, message, self.unit)


Row: TypeAlias = Record | Invalid


def _where(source: str, line: int, unit: str) -> str:
    return f"{source}:{line}" if unit == "line" else f"{source}: {unit} {line}"


def format_of(source: str | Path | BinaryIO, override: str | None) -> str | None:
    """One of `FORMATS`; None where nothing tells: a stream, or a file without a suffix.

    Raises:
        InputError: `override` is not a format, or the suffix is of none.
    """
    if override is not None:
        if override not in FORMATS:
            raise InputError(f"`{printable(override, 80)}` is not a format; choose one of {', '.join(FORMATS)}")
        return override
    if source == "-" or not isinstance(source, str | Path):
        return None
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    if not suffixes:
        return None
    if (known := _SUFFIXES.get(suffixes[-1])) is None:
        raise InputError(
            f"{printable(str(source), 200)}: no format is known by the suffix `{printable(suffixes[-1], 80)}`;"
            f" let it end in .{', .'.join(FORMATS)}{by_option('--format', ' (for cases: --format)')}"
        )
    return known


@contextmanager
def opened(source: str | Path | BinaryIO) -> Generator[tuple[BinaryIO, str], None, None]:
    """The bytes of `source` and its name for messages. Only what was opened here is closed here.

    Args:
        source: A path (`.gz` is unpacked), "-" for standard input, or an open binary stream.

    Raises:
        InputError: It can't be opened.
    """
    if source == "-":
        stream = cast("BinaryIO | None", getattr(sys.stdin, "buffer", None))
        if stream is None:
            raise InputError("standard input: there is none; name a file")
        yield stream, "standard input"
    elif isinstance(source, str | Path):
        name = printable(str(source), 200)
        with _open_file(Path(source), name) as stream:
            yield stream, name
    else:
        given: object = getattr(source, "name", None)
        yield source, printable(given, 200) if isinstance(given, str) else "stream"


def called(kind: str) -> str:
    """The remedy where a file is of another format than it seems."""
    return f"call it .{kind}{by_option('--format', f' (for cases: --format {kind})')}"


def refuse(invalid: Invalid) -> NoReturn:
    """End the reading with a record that nobody can do without.

    Raises:
        InputError: Always.
    """
    raise InputError(str(invalid).replace(REPAIR, "correct it"))


def readable(rows: Iterator[Row], name: str) -> Iterator[Row]:
    """The same rows; trouble with the bytes below them becomes an `InputError`."""
    try:
        yield from rows
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: can't be read: {printable(str(error), 120)}") from error


def numbered_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers from 1, ends included, a byte order mark of UTF-8 left out.

    Raises:
        InputError: The text is UTF-16 or UTF-32.
    """
    for number, line in enumerate(stream, 1):
        yield number, without_bom(line, name) if number == 1 else line


def without_bom(data: bytes, name: str) -> bytes:
    """The start of a text, without the byte order mark of UTF-8.

    Raises:
        InputError: The text is UTF-16 or UTF-32.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise InputError(f"{name}: is not UTF-8 but looks like UTF-16 or UTF-32; save it as UTF-8")
    return data.removeprefix(_BOM)


def _open_file(path: Path, name: str) -> BinaryIO:
    try:
        if path.suffix.lower() == ".gz":
            return cast("BinaryIO", gzip.open(path, "rb"))
        return path.open("rb", buffering=1 << 18)
    except FileNotFoundError as error:
        raise InputError(f"{name}: there is no such file") from error
    except (OSError, ValueError) as error:
        try:
            directory = path.is_dir()
        except (OSError, ValueError):
            directory = False
        if directory:
            raise InputError(f"{name}: is a directory; name a file in it") from error
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"{name}: can't be opened: {printable(reason, 120)}") from error
