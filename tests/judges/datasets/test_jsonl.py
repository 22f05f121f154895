"""Records from lines and documents of JSON."""

from io import BytesIO

import pytest

from judges.datasets.jsonl import NotJson, parse, read_document, read_either, read_lines
from judges.datasets.source import Invalid, Record
from judges.errors import InputError


def lines(text: bytes) -> list[tuple[int, object]]:
    rows = read_lines(BytesIO(text), "f")
    return [(row.line, row.values if isinstance(row, Record) else row.message) for row in rows]


def test_each_line_is_a_record_and_blank_ones_only_count() -> None:
    assert lines(b'{"a":1}\n\n  \t\n{"a":2}') == [(1, {"a": 1}), (4, {"a": 2})]


def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing() -> None:
    assert lines(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":"\\r\\n"}\r\n') == [(1, {"a": 1}), (3, {"a": "\r\n"})]


def test_what_looks_like_a_line_end_to_others_is_none() -> None:
    text = '{"a":"x\u2028y\u0085z\x7f"}\n{"a":2}\n'
    assert lines(text.encode()) == [(1, {"a": "x\u2028y\u0085z\x7f"}), (2, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"a": ', "is not JSON: unexpected end"),
        (b'{"a": 1} x', "is not JSON: unexpected content after document (column 10)"),
        (b'{"a": NaN}', "is not JSON: NaN and Infinity are not JSON; write null (column 7)"),
        (b'{"a": Infinity}', "is not JSON: NaN and Infinity are not JSON"),
        (b'{"a": -Infinity}', "is not JSON: NaN and Infinity are not JSON"),
        (b'{"a": 1e999}', "is not JSON: number is infinity"),
        (b'{"a": "\xe9"}', "is not JSON: not UTF-8 (byte 8)"),
        (b'{"a": "\xed\xa0\x80"}', "is not JSON: not UTF-8"),
        (b'{"a": "\\ud800"}', "is not JSON: no low surrogate"),
        (b"{'a': 1}", "is not JSON: "),
        (b'{"a": "\x00"}', "is not JSON: "),
        (b"[" * 5000 + b"]" * 5000, "is not JSON: depth limit exceeded"),
        (b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", "is not JSON: nested more than 100 levels deep"),
        (b"[1]", "is a list, not an object with fields"),
        (b'"x"', 'is text ("x"), not an object with fields'),
        (b"null", "is null, not an object with fields"),
        (b"{", "is not JSON: "),
    ],
)
def test_a_line_that_is_no_record_is_told_and_the_next_one_read(line: bytes, complaint: str) -> None:
    bad, good = lines(line + b'\n{"a":1}\n')
    assert bad[0] == 1
    assert str(bad[1]).startswith(complaint)
    assert str(bad[1]).endswith("--skip-invalid")
    assert good == (2, {"a": 1})


def test_a_document_of_many_lines_in_a_file_of_lines_is_pointed_to_its_format() -> None:
    assert "--format json" in str(lines(b'[\n  {"a": 1}\n]\n')[0][1])


def test_numbers_keep_64_bits_and_the_last_of_doubled_keys_counts() -> None:
    assert lines(b'{"a":18446744073709551615,"b":1,"b":2}') == [(1, {"a": 2**64 - 1, "b": 2})]
    assert lines(b'{"a":100000000000000000000}') == [(1, {"a": 1e20})]


def test_nesting_is_counted_and_not_mistaken_for_many_brackets() -> None:
    assert parse("[" + ",".join(["{}"] * 1000) + "]") == [{}] * 1000
    assert parse("[" * 100 + "]" * 100) is not None
    with pytest.raises(NotJson):
        parse("[" * 101 + "]" * 101)


def test_a_line_of_50_megabytes_is_a_line() -> None:
    (row,) = lines(b'{"a":"' + b"x" * 50_000_000 + b'"}')
    assert row == (1, {"a": "x" * 50_000_000})
    (bad,) = lines(b'{"a":"' + b"x" * 50_000_000)
    assert len(str(bad[1])) < 200


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_other_unicode_encodings_are_named(encoding: str) -> None:
    text = '{"id":"1"}\n'.encode(encoding)
    for read in (read_lines, read_document, read_either):
        with pytest.raises(InputError, match=r"f: is not UTF-8 but looks like UTF-16 or UTF-32; save it as UTF-8"):
            list(read(BytesIO(text), "f"))


@pytest.mark.parametrize(
    "text",
    [
        b'[{"a":1},{"a":2}]',
        b'\xef\xbb\xbf \n[{"a":1},\r\n {"a":2}]\n',
        b'{"cases":[{"a":1},{"a":2}]}',
        b'{"version":"1","data":[{"a":1},{"a":2}]}',
    ],
)
def test_a_document_is_a_list_of_records_or_an_object_with_one(text: bytes) -> None:
    rows = list(read_document(BytesIO(text), "f"))
    assert rows == [Record("f", 1, {"a": 1}, "record"), Record("f", 2, {"a": 2}, "record")]


def test_a_record_of_a_document_that_is_none_is_told_by_its_number() -> None:
    good, bad = read_document(BytesIO(b'[{"a":1},[]]'), "f")
    assert isinstance(good, Record)
    assert isinstance(bad, Invalid)
    assert str(bad).startswith("f: record 2: is a list, not an object with fields;")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'{"id":"1","contexts":["x"],"history":["y"]}', "f: holds an object, where a list of cases is wanted"),
        (b'{"a":[],"b":[]}', "f: holds an object, where a list of cases is wanted"),
        (b'"x"', 'f: holds text ("x"), where a list of cases is wanted'),
        (b'{"id":1}\n{"id":2}', "--format jsonl"),
        (b'[{"id":"\xe9"}]', "f: is not one JSON document: not UTF-8 (byte 9)"),
        (b'[{"id":1},\n{"id":]', "line 2"),
    ],
)
def test_a_document_that_holds_no_list_says_what_is_wanted(text: bytes, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        list(read_document(BytesIO(text), "f"))
    assert complaint in str(error.value)
    assert str(error.value).isprintable()


def test_a_stream_that_begins_with_a_bracket_is_a_document_and_any_other_is_lines() -> None:
    assert [row.line for row in read_either(BytesIO(b'\n {"a":1}\n{"a":2}\n'), "f")] == [2, 3]
    rows = list(read_either(BytesIO(b'\xef\xbb\xbf\n [{"a":1},\n{"a":2}]\n'), "f"))
    assert rows == [Record("f", 1, {"a": 1}, "record"), Record("f", 2, {"a": 2}, "record")]
    assert list(read_either(BytesIO(b" \n\n"), "f")) == []
