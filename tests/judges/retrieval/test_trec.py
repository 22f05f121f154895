"""A file of rankings read many lines at once says what it says line by line."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judges.errors import InputError
from judges.retrieval.arrays import Places, place_rankings
from judges.retrieval.qrels import Qrels
from judges.retrieval.ranking import read_trec_rankings
from judges.retrieval.trec import place_trec

QRELS = Qrels({"q1": {"d1": 2, "d2": 0, "é": 1}, "q2": {"d1": 1, "d" * 300: 1}, "q3": {}})
BLANKS = st.sampled_from([" ", "\t", "  ", " \v\f"])
QUERIES = st.sampled_from(["q1", "q2", "q3", "q10"])
DOCUMENTS = st.sampled_from(["d1", "d2", "d10", "x_y", "é", "d\x1c1", "d\x01", "d" * 300, "d" * 8, "d" * 9])
SCORES = st.sampled_from(["1", "1", "0.5", "-2e1", "7.25", "1_0", "nan", "inf", "x"])
ODD = st.sampled_from(["", " ", "\r", "q1 Q0 d1 1 0.5", "q1 Q0 d1 1 0.5 s t", "q1 Q0 d1 1 0.5 s t q2 Q0 d1", "\x01"])
LINES = st.tuples(QUERIES, DOCUMENTS, SCORES, BLANKS).map(
    lambda parts: parts[3].join([parts[0], "Q0", parts[1], "1", parts[2], "s"])
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Mostly sound lines; sometimes odd ones."""
    kinds = LINES if draw(st.booleans()) else LINES | ODD
    return "\n".join(draw(st.lists(kinds, max_size=12))).encode() + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


def in_blocks(text: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def flat(places: Places) -> list[object]:
    marks = [places.judged, places.met, places.needs]
    return [
        places.queries, places.retrieved.tolist(),
        *([each.query.tolist(), each.rank.tolist(), each.grade.tolist()] for each in marks),
    ]  # fmt: skip


def line_by_line(text: bytes, *, keep_first: bool) -> list[object] | str:
    lines = [(f"r.txt:{number}", line) for number, line in enumerate(text.split(b"\n"), 1)]
    try:
        rankings = read_trec_rankings(lines, keep_first=keep_first)
    except InputError as error:
        return str(error)
    known = len(rankings.keys() & QRELS.grades.keys())
    return [*flat(place_rankings(QRELS, rankings)), known, len(rankings) - known]


def at_once(text: bytes, size: int, *, keep_first: bool) -> list[object] | str:
    try:
        placed = place_trec(in_blocks(text, size), "r.txt", QRELS, keep_first=keep_first)
    except InputError as error:
        return str(error)
    return [*flat(placed.places), placed.known, placed.unknown]


@given(files(), st.sampled_from([1, 7, 40, 1000]))
@example(b"q1 Q0 d1 1 0.5\nq1 Q0 d2 1 0.5 s t\n", 1000)
@example(b"q1 Q0 d\xff 1 0.5 s\n", 1000)
@example(b"q1 Q0 d\0 1 0.5 s\n", 1000)
def test_a_file_read_at_once_has_the_places_it_has_line_by_line(text: bytes, size: int) -> None:
    assert at_once(text, size, keep_first=True) == line_by_line(text, keep_first=True)


@given(files(), st.sampled_from([1, 40, 1000]))
def test_what_is_wrong_with_a_file_is_wrong_either_way(text: bytes, size: int) -> None:
    wanted, found = line_by_line(text, keep_first=False), at_once(text, size, keep_first=False)
    if isinstance(wanted, str):
        assert isinstance(found, str)  # of several complaints which comes first may differ
        assert found.startswith("r.txt:")
    else:
        assert found == wanted


def test_a_document_retrieved_twice_is_named_with_its_line_even_far_from_the_first() -> None:
    text = b"q1 Q0 a 1 3 s\nq1 Q0 b 2 2 s\nq2 Q0 a 1 1 s\n\nq1 Q0 a 3 1 s\n"
    for size in (5, 1000):
        with pytest.raises(InputError, match=r'r\.txt:5: query "q1": document "a" is retrieved twice'):
            place_trec(in_blocks(text, size), "r.txt", QRELS)


def test_queries_whose_lines_are_scattered_are_put_together() -> None:
    lines = [f"{query} Q0 d{number} 1 {number} s\n" for number in range(3) for query in ("q1", "q2")]
    placed = place_trec(in_blocks("".join(lines).encode(), 1000), "r.txt", QRELS)
    assert placed.places.retrieved.tolist() == [3, 3, 0]
    assert placed.places.judged.rank.tolist() == [1, 2, 2]  # q1: d2, d1; q2: d1
