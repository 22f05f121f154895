"""Records from CSV, TSV and Parquet."""

import csv
import datetime as dt
import importlib
import io
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.case import Case, Context, Turn
from judges.datasets import Invalid, read_cases
from judges.datasets.source import Record
from judges.datasets.table import read_delimited, read_parquet
from judges.errors import InputError
from judges.fingerprint import canonical

# pyarrow has no types of its own; taken this way it is Any, and absent it skips.
arrow: Any = importlib.import_module("pyarrow")
parquet: Any = importlib.import_module("pyarrow.parquet")


def never(_column: str) -> bool:
    return False


def rows(text: bytes, delimiter: str = ",") -> list[tuple[int, object]]:
    read = read_delimited(io.BytesIO(text), "f", nested=never, delimiter=delimiter)
    return [(row.line, row.values if isinstance(row, Record) else row.message) for row in read]


def parquet_file(table: object) -> io.BytesIO:
    file = io.BytesIO()
    parquet.write_table(table, file)
    file.seek(0)
    return file


def test_a_row_is_a_record_and_an_empty_cell_an_absent_field() -> None:
    assert rows(b"id,a,b\n1,x,\n2,,y\n") == [(2, {"id": "1", "a": "x"}), (3, {"id": "2", "b": "y"})]


def test_a_quoted_cell_may_hold_anything_and_lines_are_counted_through_it() -> None:
    text = b'\xef\xbb\xbfid,a\r\n1,"x, ""y""\r\nz"\r\n\r\n2,w\r\n'
    assert rows(text) == [(2, {"id": "1", "a": 'x, "y"\r\nz'}), (5, {"id": "2", "a": "w"})]


def test_tabs_separate_where_they_should() -> None:
    assert rows(b"id\ta\n1\tx,y\n", "\t") == [(2, {"id": "1", "a": "x,y"})]


def test_a_cell_may_be_larger_than_the_csv_module_expects() -> None:
    (row,) = rows(b"id,a\n1," + b"x" * 5_000_000 + b"\n")
    assert row == (2, {"id": "1", "a": "x" * 5_000_000})


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (b"1,2,3", "has 3 cells, where the header has 2"),
        (b"1", "has 1 cells, where the header has 2"),
        (b'1,"x"y', "can't be taken apart into cells: "),
        (b"1,x\ry", "can't be taken apart into cells: "),
        (b"1,x\0", "holds a NUL byte"),
        (b"1,\xe9", "is not UTF-8 (byte 3 of its line); save the file as UTF-8"),
    ],
)
def test_a_row_that_is_no_record_is_told_and_the_next_one_read(row: bytes, complaint: str) -> None:
    bad, good = rows(b"id,a\n" + row + b"\n2,y\n")
    assert bad[0] == 2
    assert str(bad[1]).startswith(complaint)
    assert good == (3, {"id": "2", "a": "y"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'id,a\n1,x\n2,"y\n3,z\n', "f:3: a quote that opens in this row is never closed"),
        (b"id,a,id\n1,x,2\n", "f: two columns are called `id`; rename one"),
        (b"id;a\n1;x\n", "f: its header is one column, `id;a`; if ';' separates its cells, save it with commas"),
        (b"id\ta\n1\tx\n", "call it .tsv (for cases: --format tsv)"),
        (b"id,\xe9\n1,x\n", "f:1: the header is not UTF-8"),
        (b'"id,a\n1,x\n', "f:1: a quote that opens in this row is never closed"),
        ("id,a\n1,x\n".encode("utf-16"), "f: is not UTF-8 but looks like UTF-16"),
    ],
)
def test_a_table_that_can_not_be_followed_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        rows(text)
    assert complaint in str(error.value)
    assert str(error.value).isprintable()


def test_lists_of_a_case_are_json_in_their_cells_and_other_cells_stay_text(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["id", "answers.a", "answers.b", "contexts", "reference", "history", "tags"])
        writer.writerow(
            ["1", "x", "y", '["c", {"id": "d", "text": "e"}]', '["r", "s"]', '[{"role":"user","text":"h"}]', '["t"]']
        )
        writer.writerow(["2", "x", "[y", "bare", "bare", "bare", ""])
    assert list(read_cases(file)) == [
        Case(
            "1",
            answer="x",
            rival="y",
            contexts=(Context("c", rank=1), Context("e", "d", 2)),
            references=("r", "s"),
            history=(Turn("user", "h"),),
            extra={"tags": '["t"]'},
        ),
        Case(
            "2",
            answer="x",
            rival="[y",
            contexts=(Context("bare", rank=1),),
            references=("bare",),
            history=(Turn("user", "bare"),),
            extra={},
        ),
    ]


def test_a_mapping_reaches_into_json_cells(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text('id,docs,meta\n1,"[""c""]","{""gold"":[""r""]}"\n', encoding="utf-8")
    (case,) = read_cases(file, fields={"contexts": "docs", "reference": "meta.gold.0"})
    assert case.contexts == (Context("c", rank=1),)
    assert case.references == ("r",)
    assert case.extra == {"docs": ["c"], "meta": {"gold": ["r"]}}


def test_a_list_that_is_not_json_is_not_taken_for_a_passage(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("id,contexts\n1,\"['c', 'd']\"\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cases.csv:2: `contexts` begins like a JSON list or object but is none: "):
        list(read_cases(file))


TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.sampled_from([",", "\t"]))
@settings(max_examples=100)
def test_what_the_csv_module_writes_is_read_back(cells: list[tuple[str, str]], delimiter: str) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *cells])
    read = [values for _, values in rows(file.getvalue().encode(), delimiter)]
    assert read == [{"a": first, "b": second} for first, second in cells]


def test_a_parquet_row_is_a_record_whose_values_are_json() -> None:
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.UTC)
    table = arrow.table(
        {
            "id": ["1"],
            "n": arrow.array([None], arrow.int64()),
            "nan": [float("nan")],
            "inf": [float("inf")],
            "when": arrow.array([moment]),
            "nanoseconds": arrow.array([1_700_000_000_000_000_001], arrow.timestamp("ns")),
            "day": [moment.date()],
            "price": [Decimal("1.50")],
            "utf8": [b"x\xc3\xa9"],
            "bytes": [b"\xff\x00"],
            "struct": [{"a": [moment.date()], "b": float("nan")}],
            "map": arrow.array([[("k", 1)]], arrow.map_(arrow.string(), arrow.int64())),
            "category": arrow.array(["c"]).dictionary_encode(),
        }
    )
    (row,) = read_parquet(parquet_file(table), "f")
    assert isinstance(row, Record)
    assert row.values == {
        "id": "1",
        "n": None,
        "nan": None,
        "inf": "inf",
        "when": "2024-05-06T07:08:09+00:00",
        "nanoseconds": "2023-11-14T22:13:20",
        "day": "2024-05-06",
        "price": "1.50",
        "utf8": "x\u00e9",
        "bytes": "ff00",
        "struct": {"a": ["2024-05-06"], "b": None},
        "map": [["k", 1]],
        "category": "c",
    }
    assert canonical(row.values)


def test_parquet_cases_are_those_of_the_same_records_in_json(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {
            "id": str(number),
            "answer": None if number % 3 else f"a{number}",
            "contexts": [{"id": "d", "text": "x"}] * (number % 4),
            "history": [{"role": "user", "text": "h"}],
            "meta": {"fold": number % 5},
        }
        for number in range(2500)  # more than two batches
    ]
    file = tmp_path / "cases.parquet"
    parquet.write_table(arrow.Table.from_pylist(records), file, row_group_size=700)
    lines = io.BytesIO(b"\n".join(canonical(record) for record in records))
    assert list(read_cases(file)) == list(read_cases(lines, format="jsonl"))


def test_a_parquet_row_that_is_wrong_is_told_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "cases.parquet"
    far = arrow.array([0, 2**50, 0], arrow.timestamp("s"))  # no such year in Python
    parquet.write_table(arrow.table({"id": ["1", "2", None], "when": far}), file)
    told: list[Invalid] = []
    assert [case.id for case in read_cases(file, on_invalid=told.append)] == ["1"]
    assert str(told[0]).startswith(f"{file}: row 2: can't be read: ")
    assert str(told[1]).startswith(f"{file}: row 3: `id` is missing; ")


def test_parquet_from_a_stream_that_can_not_seek_is_read_whole() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, _offset: int, _whence: int = 0) -> int:
            raise io.UnsupportedOperation

    pipe = Pipe(parquet_file(arrow.table({"id": ["1"]})).getvalue())
    assert [case.id for case in read_cases(pipe, format="parquet")] == ["1"]
    assert not pipe.closed


def test_what_is_not_parquet_is_told_and_never_a_traceback() -> None:
    whole = parquet_file(arrow.table({"id": ["1"], "name": ["x" * 1000]})).getvalue()
    misnamed = whole.replace(b"name", b"nam\xff")
    for broken in (b"", b"no", b"x" * 100, whole[:-10], whole[: len(whole) // 2], misnamed):
        with pytest.raises(InputError, match="f: "):
            list(read_parquet(io.BytesIO(broken), "f"))


def test_parquet_with_two_columns_of_one_name_is_refused() -> None:
    doubled = arrow.Table.from_arrays([arrow.array(["1"]), arrow.array(["2"])], names=["id", "id"])
    with pytest.raises(InputError, match="two columns are called `id`"):
        list(read_parquet(parquet_file(doubled), "f"))


@pytest.fixture
def _without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # Python's own way to say: not importable


@pytest.mark.usefixtures("_without_pyarrow")
def test_without_pyarrow_the_package_to_install_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cases.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="Parquet needs pyarrow: pip install pyarrow"):
        list(read_cases(file))
