"""`read_cases`, from file to case: formats, whole-file trouble, invalid records, and what it costs."""

import gc
import gzip
import io
import json
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.case import Case, Context, Part, Turn
from judges.datasets import Invalid, read_cases
from judges.errors import InputError
from judges.fingerprint import Json, canonical

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"


def written(folder: Path, text: str | bytes, name: str = "cases.jsonl") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def trouble(cases: Iterator[Case]) -> str:
    with pytest.raises(InputError) as error:
        list(cases)
    told = str(error.value)
    assert told.isprintable()
    return told


# --- formats

RECORDS = b'{"id":"1","answer":"x"}\n{"id":"2","answer":"y"}\n'
DOCUMENT = b'[{"id":"1","answer":"x"},{"id":"2","answer":"y"}]'
COMMAS = b"id,answer\n1,x\n2,y\n"
TABS = b"id\tanswer\n1\tx\n2\ty\n"


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("cases.jsonl", RECORDS, None),
        ("cases.NDJSON", RECORDS, None),
        ("cases.v2.json", DOCUMENT, None),
        ("cases.csv", COMMAS, None),
        ("cases.tsv", TABS, None),
        ("cases.jsonl.gz", gzip.compress(RECORDS, mtime=0), None),
        ("cases.json.gz", gzip.compress(DOCUMENT, mtime=0), None),
        ("cases.csv.GZ", gzip.compress(COMMAS, mtime=0), None),
        ("cases", RECORDS, None),
        ("cases", DOCUMENT, None),
        ("cases.gz", gzip.compress(RECORDS, mtime=0), None),
        ("cases.txt", COMMAS, "csv"),
        ("cases.json", RECORDS, "jsonl"),
    ],
)
def test_the_suffix_says_the_format_unless_it_is_named(
    tmp_path: Path, name: str, data: bytes, form: str | None
) -> None:
    file = written(tmp_path, data, name)
    expected = [Case("1", answer="x", extra={}), Case("2", answer="y", extra={})]
    assert list(read_cases(file, format=form)) == expected
    assert list(read_cases(str(file), format=form)) == expected


@pytest.mark.parametrize("data", [RECORDS, DOCUMENT])
def test_a_stream_is_lines_or_a_document_and_stays_open(data: bytes) -> None:
    stream = io.BytesIO(data)
    assert [case.id for case in read_cases(stream)] == ["1", "2"]
    assert not stream.closed


@pytest.mark.parametrize(("data", "form"), [(RECORDS, "None"), (DOCUMENT, "None"), (TABS, "'tsv'")])
def test_a_dash_is_standard_input_read_once_from_a_pipe(data: bytes, form: str) -> None:
    code = (
        "import sys; from judges.datasets import read_cases;"
        f" print(*[case.id + case.answer for case in read_cases('-', format={form})], sys.stdin.closed)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["1x", "2y", "False"]


def test_trouble_on_standard_input_is_told_by_that_name() -> None:
    code = (
        "from judges.datasets import read_cases; from judges.errors import InputError\n"
        "try: list(read_cases('-'))\n"
        "except InputError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b'{"id":1}\n{', capture_output=True, check=True)
    assert done.stdout.startswith(b"standard input:2: is not JSON: ")


def test_an_unknown_suffix_or_format_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"`\.xlsx`; let it end in \.jsonl, \.json, \.csv, \.tsv, \.parquet \(for cases: --format\)"
    ):
        read_cases(written(tmp_path, b"x", "cases.xlsx"))
    with pytest.raises(InputError, match=r"`xml` is not a format; choose one of jsonl, json, csv, tsv, parquet"):
        read_cases("cases.jsonl", format="xml")


# --- trouble with the whole file


def test_a_missing_file_a_directory_and_a_name_that_can_not_be_are_told(tmp_path: Path) -> None:
    assert trouble(read_cases(tmp_path / "none.jsonl")) == f"{tmp_path / 'none.jsonl'}: there is no such file"
    (tmp_path / "folder.jsonl").mkdir()
    assert trouble(read_cases(tmp_path / "folder.jsonl")).endswith("folder.jsonl: is a directory; name a file in it")
    assert "can't be opened" in trouble(read_cases("a\0b.jsonl"))
    assert trouble(read_cases("x" * 5000 + ".jsonl"))
    assert "no such file" in trouble(read_cases("\x1b[31m.jsonl"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cases.jsonl", b""),
        ("cases.jsonl", b"\xef\xbb\xbf"),
        ("cases.jsonl", b"\n \r\n"),
        ("cases.json", b""),
        ("cases.json", b" \n"),
        ("cases.json", b"[]"),
        ("cases.csv", b""),
        ("cases.csv", b"id,answer\r\n"),
        ("cases", b""),
        ("cases.jsonl.gz", gzip.compress(b"", mtime=0)),
    ],
)
def test_a_file_without_records_is_an_error(tmp_path: Path, name: str, data: bytes) -> None:
    assert trouble(read_cases(written(tmp_path, data, name))).endswith(f"{name}: is empty: it holds no records")


@pytest.mark.parametrize(
    "data", [RECORDS, gzip.compress(RECORDS, mtime=0)[:-12], gzip.compress(RECORDS, mtime=0)[:20] + b"\xff" * 40]
)
def test_a_broken_archive_is_told(tmp_path: Path, data: bytes) -> None:
    assert "cases.jsonl.gz: can't be read: " in trouble(read_cases(written(tmp_path, data, "cases.jsonl.gz")))


# --- invalid records


def test_the_first_invalid_record_ends_the_reading_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, '{"id":"1","answer":"x"}\n{"id":"2"}\n')
    cases = read_cases(file, required=[Part.ANSWER])
    assert next(cases).id == "1"
    with pytest.raises(InputError) as error:
        next(cases)
    assert str(error.value) == f"{file}:2: `answer` is missing; map another field with --map answer=FIELD"


def test_invalid_records_are_told_and_left_out_when_someone_wants_to_know(tmp_path: Path) -> None:
    file = written(tmp_path, '{"id":"1"}\n{"id":\n[]\n{"id":"1"}\n{"id":["x"]}\n{}\n{"id":"2"}\n')
    told: list[Invalid] = []
    assert [case.id for case in read_cases(file, on_invalid=told.append)] == ["1", "2"]
    assert [(invalid.line, invalid.field) for invalid in told] == [
        (2, None),
        (3, None),
        (4, "id"),
        (5, "id"),
        (6, "id"),
    ]


@pytest.mark.parametrize(
    ("name", "data", "place", "first"),
    [
        ("cases.jsonl", b'{"id":"x"}\n\n{"id":"X"}\n{"id":"x"}\n', ":4", "line 1"),
        ("cases.json", b'[{"id":"x"},{"id":"X"},{"id":"x"}]', ": record 3", "record 1"),
        ("cases.csv", b'id,a\nx,"1\n2"\nX,\nx,\n', ":5", "line 2"),
        ("cases.jsonl", b'{"id":7}\n{"id":"7"}\n', ":2", "line 1"),
    ],
)
def test_an_id_that_comes_twice_names_the_place_of_the_first(
    tmp_path: Path, name: str, data: bytes, place: str, first: str
) -> None:
    told = trouble(read_cases(written(tmp_path, data, name)))
    assert f'{name}{place}: `id` "' in told
    assert f"is already that of {first}; map another field with --map id=FIELD" in told


def test_cases_without_ids_are_numbered_by_their_lines(tmp_path: Path) -> None:
    file = written(tmp_path, '{"answer":"x"}\n\n{"answer":"x"}\n')
    assert [case.id for case in read_cases(file, fields={"id": "@line"})] == ["1", "3"]


def test_an_error_of_whoever_is_told_stays_theirs(tmp_path: Path) -> None:
    def tell(_invalid: Invalid) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        list(read_cases(written(tmp_path, "x\n"), on_invalid=tell))


# --- mapping


def test_a_mapped_field_that_some_record_has_is_fine_and_one_that_none_has_is_not(tmp_path: Path) -> None:
    file = written(tmp_path, '{"id":"1","docs":["x"]}\n{"id":"2"}\n')
    assert [len(case.contexts) for case in read_cases(file, fields={"contexts": "docs"})] == [1, 0]
    told = trouble(read_cases(file, fields={"contexts": "doks"}))
    assert told == f"{file}: no record has `doks`, mapped to contexts; the first one has `docs`, `id`"
    skipped: list[Invalid] = []
    assert "no record has" in trouble(read_cases(file, fields={"id": "key"}, on_invalid=skipped.append))
    assert len(skipped) == 2


def test_a_mapping_that_can_not_be_followed_is_refused_before_anything_is_opened() -> None:
    with pytest.raises(InputError, match="`questoin` is no field of a case; there are question"):
        read_cases("none.jsonl", fields={"questoin": "query"})


# --- what it costs


def test_importing_the_package_loads_none_of_the_libraries_it_reads_with() -> None:
    code = "import sys, judges.datasets; print(*sys.modules.keys() & {'pydantic', 'orjson', 'pyarrow', 'csv'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.csv", "cases.jsonl.gz"])
def test_a_file_is_closed_when_its_reader_goes_away(tmp_path: Path, name: str) -> None:
    data = COMMAS if "csv" in name else gzip.compress(RECORDS, mtime=0) if "gz" in name else RECORDS
    file = written(tmp_path, data, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cases = read_cases(file)
        next(cases)
        del cases
        gc.collect()
    file.unlink()  # Windows keeps an open file


def lines(count: int) -> Callable[[], bytes]:
    """A `read` of that many records, made as they are asked for."""
    numbers = iter(range(count))
    return lambda: b"".join(b'{"id":"%d","answer":"%s"}\n' % (n, b"x" * 1000) for n in islice(numbers, 50))


class Endless(io.RawIOBase):
    """A stream whose records exist only while they are read."""

    def __init__(self, count: int) -> None:
        self._make = lines(count)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # RawIOBase has no name for its buffers in 3.11
        if not self._rest:
            self._rest = self._make()
        taken = self._rest[: len(view)]
        view[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


def test_memory_does_not_follow_the_file() -> None:
    stream = io.BufferedReader(Endless(20_000))  # 20 MB
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_cases(stream))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 6_000_000  # most of it: the ids, to tell doubled ones


# --- what was written is read back

TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)
NAMES = TEXT.filter(
    lambda name: (
        name
        not in {
            *("id", "question", "answer", "answers", "answers.a", "answers.b", "rival"),
            *("contexts", "reference", "references", "history", "lang"),
        }
    )
)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def whole_cases(draw: st.DrawFn) -> Case:
    passages = draw(st.lists(st.tuples(TEXT, st.none() | TEXT, st.none() | st.floats(-1e6, 1e6)), max_size=4))
    return Case(
        id=draw(TEXT.filter(bool)),
        question=draw(st.none() | TEXT),
        answer=draw(st.none() | TEXT),
        contexts=tuple(Context(text, doc_id, rank, score) for rank, (text, doc_id, score) in enumerate(passages, 1)),
        references=tuple(draw(st.lists(TEXT, max_size=3))),
        rival=draw(st.none() | TEXT),
        history=tuple(Turn(role, text) for role, text in draw(st.lists(st.tuples(TEXT, TEXT), max_size=3))),
        lang=draw(st.sampled_from([None, "ca", "pt-BR"])),
        extra=draw(st.dictionaries(NAMES, JSON, max_size=3)),
    )


@given(st.lists(whole_cases(), min_size=1, max_size=4, unique_by=lambda case: case.id))
@settings(max_examples=100, deadline=None)
def test_cases_written_as_records_are_read_back(cases: list[Case]) -> None:
    flat: list[Json] = []
    for case in cases:
        record = case.to_record()
        record.pop("extra", None)
        flat.append({**record, **case.extra})
    text = b"\n".join(json.dumps(record).encode() for record in flat)
    assert list(read_cases(io.BytesIO(text))) == cases
    assert list(read_cases(io.BytesIO(canonical(flat)), format="json")) == cases


@given(whole_cases())
@settings(max_examples=50, deadline=None)
def test_a_field_called_extra_is_a_field_like_any_other(case: Case) -> None:
    (read,) = read_cases(io.BytesIO(canonical(case.to_record())))
    assert read.extra == ({"extra": case.extra} if case.extra else {})


@given(st.binary(max_size=200), st.sampled_from(["jsonl", "json", "csv", "tsv", "parquet", None]))
@settings(max_examples=300, deadline=None)
def test_whatever_the_bytes_nothing_but_an_input_error_comes_out(data: bytes, form: str | None) -> None:
    told: list[Invalid | InputError] = []
    try:
        list(read_cases(io.BytesIO(data), format=form, on_invalid=told.append))
    except InputError as error:
        told.append(error)
    assert all(str(trouble).isprintable() for trouble in told)


@given(st.dictionaries(st.sampled_from(["id", "answer", "answers", "contexts", "reference", "history", "lang"]), JSON))
@settings(max_examples=200, deadline=None)
def test_whatever_the_values_a_record_is_a_case_or_told_in_one_line(values: dict[str, Json]) -> None:
    told: list[Invalid] = []
    cases = list(read_cases(io.BytesIO(canonical(values)), on_invalid=told.append))
    assert len(cases) + len(told) == 1
    assert all(str(invalid).isprintable() and len(str(invalid)) < 400 for invalid in told)


# --- data that was not made for us

ANSWERED = (Part.QUESTION, Part.ANSWER)


@pytest.mark.parametrize(
    ("path", "count", "required"),
    [
        ("mtrag_human_eval/items.jsonl", 477, (*ANSWERED, Part.CONTEXTS, Part.REFERENCES, Part.HISTORY)),
        ("openqa_nq301/items.jsonl", 1490, (*ANSWERED, Part.REFERENCES)),
        ("openqa_nq301/system_answers.jsonl", 3612, (*ANSWERED, Part.REFERENCES)),
        ("pandalm_pairwise/items.jsonl", 999, (*ANSWERED, Part.RIVAL)),
        ("llmbar_pairwise/items.jsonl", 238, (*ANSWERED, Part.RIVAL)),
        ("unieval_topicalchat/items.jsonl", 360, (*ANSWERED, Part.CONTEXTS)),
        ("nomiracl_de_es_fr/items_with_text.jsonl", 240, (Part.QUESTION, Part.CONTEXTS)),
    ],
)
def test_published_datasets_are_read_as_they_are(path: str, count: int, required: tuple[Part, ...]) -> None:
    file = SHARED / path
    if not file.exists():
        pytest.skip("the shared data sets are not beside this checkout")
    cases = list(read_cases(file, required=required))
    assert len(cases) == count
    with file.open(encoding="utf-8") as opened:
        for case, line in zip(cases, opened, strict=True):
            record = json.loads(line)
            assert case.extra.items() <= record.items()
            assert record.keys() - case.extra.keys() <= {
                *("id", "question", "answer", "answers", "contexts", "references", "history", "lang"),
            }
            assert [context.text for context in case.contexts] == [c["text"] for c in record.get("contexts", [])]
            assert [turn.text for turn in case.history] == [turn["text"] for turn in record.get("history", [])]
