import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import Case, Context, Part, Turn
from judges.fields import MISSING

texts = st.text(max_size=20)
contexts = st.builds(
    Context, texts, doc_id=st.none() | texts, rank=st.none() | st.integers(1, 9), score=st.none() | st.floats(0, 1)
)
cases = st.builds(
    Case,
    id=texts,
    question=st.none() | texts,
    answer=st.none() | texts,
    contexts=st.lists(contexts, max_size=3).map(tuple),
    references=st.lists(texts, max_size=3).map(tuple),
    rival=st.none() | texts,
    history=st.lists(st.builds(Turn, texts, texts), max_size=2).map(tuple),
    lang=st.none() | texts,
    extra=st.dictionaries(texts, texts | st.integers() | st.none() | st.lists(texts, max_size=2), max_size=3),
)


@given(cases)
def test_a_case_comes_back_from_its_record(case: Case) -> None:
    assert Case.from_record(json.loads(json.dumps(case.to_record()))) == case


def test_a_field_is_looked_for_among_ours_first_then_among_the_datasets() -> None:
    case = Case(
        "q1", lang="ca", references=("a", "b"), extra={"meta": {"domain": "law"}, "lang": "theirs", "question": "old"}
    )
    assert case.find("lang") == "ca"
    assert case.find("references.1") == "b"
    assert case.find("meta.domain") == "law"
    assert case.find("question") == "old"
    assert case.find("nothing") is MISSING


@pytest.mark.parametrize("part", list(Part))
def test_every_part_of_a_case_is_told_apart_from_an_empty_one(part: Part) -> None:
    full = Case("q1", "q", "a", (Context("c"),), ("r",), rival="b", history=(Turn("user", "h"),), extra={"x": 1})
    assert full.part(part) != Case("q1").part(part)
