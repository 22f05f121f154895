"""Records from tables: a row of CSV, TSV or Parquet is a record, and a column's name is its field."""

import csv
import importlib
import io
import math
from collections.abc import Callable, Iterator
from datetime import date, time
from typing import Any, BinaryIO, Protocol, cast

from judges.datasets.jsonl import NotJson, parse
from judges.datasets.source import REPAIR, Invalid, Record, Row, called, numbered_lines
from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable

__all__ = ["read_delimited", "read_parquet"]

_LARGEST_CELL = 2**31 - 1  # what a C long holds everywhere
_BATCH = 1024


def read_delimited(
    stream: BinaryIO, name: str, *, nested: Callable[[str], bool], delimiter: str = ","
) -> Iterator[Row]:
    """The rows below the header. An empty cell is an absent field; all values are text.

    Args:
        stream: CSV as in RFC 4180; a quoted cell may hold delimiters, quotes and line ends.
        name: What messages call it.
        nested: Of which columns a cell that begins with `[` or `{` is JSON.
        delimiter: Between cells.

    Raises:
        InputError: The text is UTF-16, the header can't be used, or a quote is never closed.
    """
    # Raised for the process: the module has no other limit, and 128 KiB is less than a passage may be.
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
    lines = _Lines(stream, name)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    jsons: list[str] = []
    while True:
        begin = rows.line_num + 1
        complaint: str | None = None
        cells: list[str] = []
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if lines.exhausted:
                raise InputError(
                    f"{name}:{begin}: a quote that opens in this row is never closed; close it, and double each"
                    ' quote inside a quoted cell ("")'
                ) from error
            complaint = (
                f"can't be taken apart into cells: {printable(str(error), 80)}; put cells that hold quotes in quotes"
            )
        if (flaw := lines.take_flaw()) is not None:
            complaint = flaw
        if header is None:
            if complaint is not None:
                raise InputError(f"{name}:{begin}: the header {complaint}")
            if cells:
                header = _checked_header(cells, name, delimiter)
                jsons = [column for column in header if nested(column)]
        elif complaint is not None:
            yield Invalid(name, begin, None, complaint)
        elif len(cells) == len(header):
            values: dict[str, Json] = {column: cell for column, cell in zip(header, cells, strict=True) if cell}
            yield _unpacked(Record(name, begin, values), jsons)
        elif cells:
            message = f"has {len(cells)} cells, where the header has {len(header)}; {REPAIR}"
            yield Invalid(name, begin, None, message)


def read_parquet(stream: BinaryIO, name: str) -> Iterator[Row]:
    """The rows of a Parquet file, a batch at a time. Values become JSON: dates in ISO 8601, decimals as text.

    Args:
        stream: Read whole first where it can't seek.
        name: What messages call it.

    Raises:
        InputError: It is not Parquet, has two columns of one name, or pyarrow is not installed.
    """
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(f"{name}: Parquet needs pyarrow: pip install pyarrow") from error
    try:
        file = parquet.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
        schema = file.schema_arrow
        _refuse_doubles(cast("list[str]", schema.names), name)
        for index, field in enumerate(schema):
            if arrow.types.is_timestamp(field.type) and field.type.unit == "ns":  # Python's dates have none
                schema = schema.set(index, field.with_type(arrow.timestamp("us", field.type.tz)))
        number = 0
        for batch in file.iter_batches(batch_size=_BATCH):
            for values in _batch_rows(batch if batch.schema.equals(schema) else batch.cast(schema, safe=False)):
                number += 1
                if isinstance(values, str):
                    yield Invalid(name, number, None, f"can't be read: {values}; {REPAIR}", "row")
                else:
                    yield Record(name, number, values, "row")
    except (arrow.ArrowException, ValueError) as error:  # a name that is not UTF-8 is only a ValueError
        raise InputError(f"{name}: is not Parquet that can be read: {printable(str(error), 120)}") from error


class _Lines:
    """Decoded lines for the CSV reader, which can't be told of a bad one: the flaw is kept for whoever asks."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._lines = numbered_lines(stream, name)
        self._flaw: str | None = None
        self.exhausted = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        try:
            _, line = next(self._lines)
        except StopIteration:
            self.exhausted = True
            raise
        if b"\0" in line:
            self._flaw = f"holds a NUL byte; {REPAIR}"
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            self._flaw = f"is not UTF-8 (byte {error.start + 1} of its line); save the file as UTF-8"
            return line.decode("utf-8", "replace")

    def take_flaw(self) -> str | None:
        """What was wrong with the lines since the last call."""
        flaw, self._flaw = self._flaw, None
        return flaw


def _checked_header(cells: list[str], name: str, delimiter: str) -> list[str]:
    _refuse_doubles(cells, name)
    if len(cells) == 1 and (others := [other for other in ",;\t" if other != delimiter and other in cells[0]]):
        raise InputError(
            f"{name}: its header is one column, `{printable(cells[0], 80)}`;"
            f" if {printable(repr(others[0]), 80)} separates its cells,"
            f" {called('tsv') if others[0] == chr(9) else 'save it with commas'}"
        )
    return cells


def _refuse_doubles(columns: list[str], name: str) -> None:
    doubled = next((column for index, column in enumerate(columns) if column in columns[:index]), None)
    if doubled is not None:
        raise InputError(f"{name}: two columns are called `{printable(doubled, 80)}`; rename one")


def _unpacked(record: Record, columns: list[str]) -> Row:
    for column in columns:
        cell = record.values.get(column)
        if isinstance(cell, str) and cell.lstrip()[:1] in {"[", "{"}:
            try:
                record.values[column] = parse(cell)
            except NotJson as error:
                message = (
                    f"`{printable(column, 80)}` begins like a JSON list or object but is none: {error};"
                    ' write it as JSON: ["...", "..."]'
                )
                return record.invalid(message, column)
    return record


class _Batch(Protocol):
    """What is used of an Arrow batch: pyarrow has no types of its own."""

    def __len__(self) -> int: ...
    def slice(self, offset: int, length: int, /) -> "_Batch": ...
    def to_pylist(self) -> list[dict[str, object]]: ...


def _batch_rows(batch: _Batch) -> Iterator[dict[str, Json] | str]:
    """The rows of a batch; of a row that Python has no value for, the reason."""
    try:
        rows = [{name: _plain(value) for name, value in row.items()} for row in batch.to_pylist()]
    except (ValueError, ArithmeticError, LookupError, NotImplementedError) as error:
        if len(batch) == 1:
            yield printable(str(error), 120)
            return
        for index in range(len(batch)):
            yield from _batch_rows(batch.slice(index, 1))
        return
    yield from rows


def _plain(value: object) -> Json:
    """The value as JSON has it. A float that is NaN is what tables write for nothing."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return None if math.isnan(value) else value if math.isfinite(value) else str(value)
        case bytes():
            try:
                return value.decode("utf-8")
            except UnicodeDecodeError:
                return value.hex()
        case dict():
            return {str(key): _plain(item) for key, item in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_plain(item) for item in cast("list[object]", value)]
        case date() | time():  # datetime is a date
            return value.isoformat()
        case _:
            return str(value)
