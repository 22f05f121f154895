import pytest

from judges import Case, Context
from judges.diagnosis.retrieved import Retrieved, read_retrieval
from judges.errors import InputError
from judges.fingerprint import Json
from judges.retrieval.labels import Label
from judges.retrieval.passages import Passage, Span


def read(*names: str | None, index: dict[str, Passage] | None = None, **fields: Json) -> Retrieved:
    contexts = tuple(Context("text", name, rank) for rank, name in enumerate(names, 1))
    return read_retrieval([Case("q", contexts=contexts, extra=fields)], index=index)["q"]


def test_the_contexts_are_what_was_read_and_retrieved_is_where_they_are_from() -> None:
    found = read("a", "b", retrieved=["a", "b", "c"], candidates=["c", "a", "b"])
    assert (found.read, found.below, found.before) == (("a", "b"), ("a", "b", "c"), ("c", "a", "b"))
    assert read("a", "b", retrieved=["b", "a"]).below is None


def test_without_ids_of_contexts_retrieved_is_what_was_read() -> None:
    assert read("a", None, retrieved=["a", "b"]).read == ("a", "b")
    assert read(retrieved=["a", "b"]).read == ("a", "b")
    assert read("a", None).read is None
    assert read().read == ()


def test_contexts_are_read_in_the_order_of_their_ranks() -> None:
    contexts = (Context("x", "a", 2), Context("x", "b", 1))
    assert read_retrieval([Case("q", contexts=contexts)])["q"].read == ("b", "a")


def test_needed_is_what_has_the_highest_grade() -> None:
    found = read("a", relevant={"a": 1, "b": 2, "c": 2, "d": 0})
    assert [str(need) for need in found.needs or ()] == ["b", "c"]
    assert [str(need) for need in found.missing] == ["b", "c"]
    assert read("a", relevant=["a"]).missing == ()


def test_of_a_group_any_one_will_do() -> None:
    found = read("b", relevant=[["a", "b"], "c"])
    assert [str(need) for need in found.needs or ()] == ["a or b", "c"]
    assert [str(need) for need in found.missing] == ["c"]


def test_nothing_relevant_is_another_thing_than_nothing_labelled() -> None:
    assert read("a", relevant=[]).needs == ()
    assert read("a").needs is None


def test_a_span_is_found_in_a_passage_that_holds_enough_of_it_and_cut_if_none_does() -> None:
    span: Json = {"doc": "d", "start": 0, "end": 100}
    whole: Json = [{"id": "a", "doc": "d", "start": 0, "end": 90}]
    assert read("a", retrieved=whole, relevant=[span]).missing == ()
    halves: Json = [{"id": "a", "doc": "d", "start": 0, "end": 60}, {"id": "b", "doc": "d", "start": 60, "end": 99}]
    found = read("a", "b", retrieved=halves, relevant=[span])
    assert found.parts == {Span("d", 0, 100): ("a", "b")}
    assert [str(need) for need in found.missing] == ["d:0-100"]
    index = {"z": Passage(span=Span("d", 0, 200))}
    assert read("a", "b", retrieved=halves, relevant=[span], index=index).parts == {}


def test_spans_may_stand_with_the_contexts() -> None:
    fields: Json = [{"id": "a", "text": "text", "doc": "d", "start": 0, "end": 100}]
    assert read("a", contexts=fields, relevant=[{"doc": "d", "start": 10, "end": 90}]).missing == ()


def test_labels_from_elsewhere_go_before_those_of_the_cases() -> None:
    cases = [Case(name, contexts=(Context("x", "a"),), extra={"relevant": ["a"]}) for name in ("q", "r")]
    labels = {"q": [Label("b")]}
    found = read_retrieval(cases, labels)
    assert [str(need) for need in found["q"].missing] == ["b"]
    assert found["r"].needs is None
    assert read_retrieval(cases, labels, complete=True)["r"].needs == ()


def test_labels_are_those_of_the_case_that_was_asked_several_times() -> None:
    cases = [Case(name, contexts=(Context("x", "a"),), extra={"repeat_of": "q"}) for name in ("q", "q#2")]
    found = read_retrieval(cases, {"q": [Label("a")]}, complete=True)
    assert [[str(need) for need in found[name].needs or ()] for name in ("q", "q#2")] == [["a"], ["a"]]


def test_labels_of_another_chunking_are_refused() -> None:
    with pytest.raises(InputError, match="stale qrels"):
        read("a@2", "b@2", relevant=["a@1"])


def test_a_field_that_holds_something_else_is_named() -> None:
    with pytest.raises(InputError, match=r"case `q`: `candidates` is no list"):
        read("a", candidates="a")
