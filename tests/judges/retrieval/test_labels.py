import pytest

from judges.errors import InputError
from judges.fingerprint import Json
from judges.retrieval.labels import (
    Absent,
    Label,
    absent,
    check_versions,
    labels_from,
    labels_of,
    read_labels,
    relevant_ids,
    resolve,
)
from judges.retrieval.metrics import Metric, measure_all
from judges.retrieval.passages import Passage, Span
from judges.retrieval.qrels import Group, Qrels
from judges.retrieval.ranking import Ranking

OLD, NEW = "0" * 64, "1" * 64


# Reading


def test_records_are_read_under_our_names_trecs_and_beirs() -> None:
    labels = read_labels(
        [
            ("a:1", {"query": 301, "document": "d1", "grade": 2}),
            ("a:2", {"query_id": "301", "doc_id": "d2", "relevance": "1"}),
            ("a:3", {"query-id": "301", "corpus-id": 7, "score": 0.0}),
        ]
    )
    assert labels == {"301": [Label("d1", 2), Label("d2", 1), Label("7", 0)]}


def test_a_record_may_label_a_span_a_text_or_an_alternative() -> None:
    labels = read_labels(
        [
            ("a:1", {"query": "q", "doc": "guide", "start": 5, "end": "9", "grade": 1, "group": 1}),
            ("a:2", {"query": "q", "document": "d", "grade": 1, "text_hash": OLD}),
        ]
    )
    assert labels["q"] == [Label(Span("guide", 5, 9), 1, "1"), Label("d", 1, None, OLD)]


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"query": "q", "document": "d", "grade": None}, "has no `grade`; give it that name, or one of relevance"),
        ({"query": "q", "grade": 1}, "has no `document`"),
        ({"query": "q", "document": "d0", "grade": 1}, 'document "d0" of query "q" is judged a second time'),
        ({"query": "", "document": "d", "grade": 1}, "which is no id"),
        ({"query": True, "document": "d", "grade": 1}, "which is no id"),
        ({"query": 1.5, "document": "d", "grade": 1}, "which is no id"),
        ({"query": ["q"], "document": "d", "grade": 1}, "which is no id"),
        ({"query": "q", "document": "d", "grade": 1, "group": ""}, "which is no id"),
    ],
)
def test_a_record_that_is_no_label_is_named_with_its_remedy(record: dict[str, Json], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_labels([("a:1", {"query": "q", "document": "d0", "grade": 1}), ("a:2", record)])
    assert str(caught.value).startswith("a:2: ")
    assert complaint in str(caught.value)


def test_a_case_carries_ids_grades_groups_or_objects() -> None:
    assert labels_of(["d1", 2, "d1"], "c:1") == [Label("d1"), Label("2")]
    assert labels_of({"d1": 2, "d2": 0}, "c:1") == [Label("d1", 2), Label("d2", 0)]
    assert labels_of([], "c:1") == []
    assert labels_of(["d1", ["d2", {"id": "d3", "grade": 2}]], "c:1") == [
        Label("d1"), Label("d2", 1, "#2"), Label("d3", 2, "#2"),
    ]  # fmt: skip
    assert labels_of([{"doc": "g", "start": 0, "end": 4}], "c:1") == [Label(Span("g", 0, 4))]
    assert labels_of([{"id": "d", "text_hash": OLD, "group": "x"}], "c:1") == [Label("d", 1, "x", OLD)]


@pytest.mark.parametrize(
    ("relevant", "complaint"),
    [
        ("d1", "`relevant` is no list of ids"),
        ([{"grade": 1}], "has no `id`"),
        (["d", {"id": "d", "grade": 2}], '`relevant` labels "d" twice, and not alike'),
    ],
)
def test_what_a_case_can_not_carry_is_named(relevant: object, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        labels_of(relevant, "c:1")
    assert str(caught.value).startswith("c:1: ")
    assert complaint in str(caught.value)


# What labels come to


def test_labels_by_id_come_to_their_grades() -> None:
    qrels = Qrels({"q1": {"a": 2, "b": 0}, "q2": {}})
    resolved = resolve(labels_from(qrels), {})
    assert (resolved.qrels, resolved.changed, resolved.emptied, resolved.unchecked) == (qrels, (), (), 0)
    assert relevant_ids(labels_from(qrels)) == {"a"}


def test_a_passage_is_relevant_if_it_covers_enough_of_a_span_however_documents_are_cut() -> None:
    labels = {"q": [Label(Span("guide", 100, 200), 2)]}
    cut = {"whole": Span("guide", 0, 300), "half": Span("guide", 150, 400), "little": Span("guide", 190, 400)}
    passages = {name: Passage(None, span) for name, span in cut.items()} | {"other": Passage(None, Span("faq", 0, 900))}
    assert resolve(labels, passages).qrels == Qrels(
        {"q": {"whole": 2, "half": 2}}, {"q": [Group(frozenset({"whole", "half"}), 2)]}
    )
    assert resolve(labels, passages, share=0.6).qrels.grades == {"q": {"whole": 2}}
    assert resolve(labels, passages, share=0.1).qrels.grades == {"q": {"whole": 2, "half": 2, "little": 2}}


def test_a_span_that_no_passage_covers_can_not_be_found_and_counts() -> None:
    labels = {"q": [Label(Span("guide", 0, 10)), Label(Span("guide", 100, 200))]}
    resolved = resolve(labels, {"p": Passage(None, Span("guide", 0, 20))})
    recall = Metric("recall")
    [found] = measure_all([recall], resolved.qrels, {"q": Ranking.in_order(["p"])})
    assert (found.values[recall], found.relevant) == (0.5, 2)


def test_spans_without_a_passage_that_tells_its_place_are_an_error() -> None:
    with pytest.raises(InputError, match="give `doc`, `start` and `end`"):
        resolve({"q": [Label(Span("guide", 0, 10))]}, {"p": Passage(OLD)})


def test_any_one_of_a_group_suffices_and_alternatives_may_be_spans_and_ids() -> None:
    labels = {"q": [Label("a", 1, "x"), Label(Span("g", 0, 9), 2, "x"), Label("no", 0, "x"), Label("c")]}
    passages = {"b": Passage(None, Span("g", 0, 9))}
    assert resolve(labels, passages).qrels == Qrels(
        {"q": {"a": 1, "b": 2, "no": 0, "c": 1}}, {"q": [Group(frozenset({"a", "b"}), 2)]}
    )


def test_a_label_on_a_text_that_has_changed_is_left_out_and_named() -> None:
    labels = {
        "q1": [Label("same", 1, None, OLD), Label("changed", 1, None, OLD), Label("unknown", 1, None, OLD)],
        "q2": [Label("changed", 1, None, OLD), Label("same", 0, None, OLD)],
        "q3": [Label("changed", 0, None, OLD)],
    }
    resolved = resolve(labels, {"same": Passage(OLD), "changed": Passage(NEW)})
    assert resolved.qrels.grades == {"q1": {"same": 1, "unknown": 1}, "q3": {}}
    assert resolved.changed == (("q1", "changed"), ("q2", "changed"), ("q3", "changed"))
    assert resolved.emptied == ("q2",)
    assert resolved.unchecked == 1


# What is not there any more


def test_what_an_index_lacks_is_listed_with_the_reason() -> None:
    labels = {
        "q": [Label("here"), Label("gone"), Label("never", 0), Label("other", 1, None, OLD), Label(Span("g", 0, 9))]
    }
    index = {"here": Passage(), "other": Passage(NEW, Span("g", 8, 20))}
    assert absent(labels, index) == [
        Absent("q", "gone", "no such id"),
        Absent("q", "other", "another text"),
        Absent("q", Span("g", 0, 9), "no passage covers it"),
    ]
    assert absent({"q": [Label(Span("g", 0, 9))]}, {"here": Passage()}) == []


def test_labels_of_another_chunking_are_refused_where_all_ids_carry_its_version() -> None:
    relevant = [f"d{number}@512" for number in range(41)] + [f"d{number}@256" for number in range(9)]
    with pytest.raises(InputError) as caught:
        check_versions(relevant, ["x@256", "y@256"])
    assert str(caught.value).startswith("stale qrels: 41 of 50 relevant ids are not in the index: ")
    assert 'version "512", and what was retrieved of "256"' in str(caught.value)


@pytest.mark.parametrize(
    ("relevant", "retrieved"),
    [
        ([], ["a@2"]),
        (["a@1"], []),
        (["a@1"], ["a@1", "b@1"]),
        (["a@1", "b"], ["a@2"]),
        (["a@1"], ["a@2", "b"]),
        (["a@1"], ["a@2", "b@3"]),
        (["a@"], ["a@2"]),
    ],
)
def test_ids_that_tell_no_version_for_sure_are_let_be(relevant: list[str], retrieved: list[str]) -> None:
    check_versions(relevant, retrieved)
