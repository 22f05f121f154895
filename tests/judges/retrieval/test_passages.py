from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.errors import InputError
from judges.fingerprint import Json
from judges.retrieval.passages import Passage, Span, passage_id, passage_of, read_ids, read_index

HASH = sha256(b"a text").hexdigest()
SPANS = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 20), st.integers(1, 20)).map(
    lambda parts: Span(parts[0], parts[1], parts[1] + parts[2])
)


@given(SPANS, SPANS)
def test_the_share_of_a_span_that_another_holds_counts_its_characters(span: Span, other: Span) -> None:
    held = set(range(span.start, span.end)) & set(range(other.start, other.end))
    share = len(held) / (span.end - span.start) if span.document == other.document else 0
    assert span.covered_by(other) == share
    assert span.covered_by(span) == 1


def test_a_record_may_tell_the_text_its_hash_and_the_span_of_a_passage() -> None:
    assert passage_of({"id": "p"}, "r:1") is None
    assert passage_of({"text": "a text"}, "r:1") == Passage(HASH)
    assert passage_of({"text_hash": f"sha256:{HASH.upper()}"}, "r:1") == Passage(HASH)
    assert passage_of({"doc": "d", "start": "0", "end": 12}, "r:1") == Passage(None, Span("d", 0, 12))


def test_where_only_the_span_is_given_it_is_the_id() -> None:
    where: dict[str, Json] = {"doc": "d", "start": 3, "end": 12}
    assert passage_id(where, "r:1") == "d:3-12"
    assert passage_id({**where, "document": "p"}, "r:1") == "p"
    assert passage_id({"doc": "d"}, "r:1") == "d"


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"text": 3}, "`text` holds"),
        ({"text_hash": "abc"}, "give the SHA-256 of the text in hex"),
        ({"text": "another", "text_hash": HASH}, "`text_hash` is not that of `text`"),
        ({"doc": "d", "start": 3}, "a span needs all of `doc`, `start` and `end`"),
        ({"start": 3, "end": 4}, "a span needs all of"),
        ({"doc": "d", "start": -1, "end": 4}, '`start` holds "-1"; give a whole number from 0'),
        ({"doc": "d", "start": 4, "end": 4}, "the span ends at 4 and starts at 4"),
    ],
)
def test_what_can_not_be_used_is_named(record: dict[str, Json], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        passage_of(record, "r:7")
    assert str(caught.value).startswith("r:7: ")
    assert complaint in str(caught.value)


def test_an_index_is_read_from_ids_or_records_and_has_each_once() -> None:
    assert read_ids([("i:1", b" p 1 \n"), ("i:2", b"\n"), ("i:3", b"p2")]) == {"p 1": Passage(), "p2": Passage()}
    assert read_index([("i:1", {"id": 1, "text": "a text"}), ("i:2", {"document": "p"})]) == {
        "1": Passage(HASH),
        "p": Passage(),
    }
    with pytest.raises(InputError, match='i:2: the id "p" is there a second time'):
        read_ids([("i:1", b"p"), ("i:2", b"p")])
