from dataclasses import replace
from typing import Any

import pytest

from calibration.no_answer import Query, by_case, by_field, by_labels, queries_of, study
from calibration.statistics.no_answer import Costs
from judges.case import Case, Context
from judges.errors import InputError
from judges.figures import Figure
from judges.retrieval.labels import Label


def case(name: str, *scores: float | None, **extra: Any) -> Case:
    return Case(name, contexts=tuple(Context("text", score=score) for score in scores), extra=extra)


CASES = [case("a", 0.2, 0.9, kind="easy", relevant=["x"]), case("b", 0.4, kind="none", relevant=[])]


def test_the_best_score_is_that_of_what_was_retrieved_or_else_of_the_contexts() -> None:
    cases = [
        *CASES,
        case("c", 0.1, kind="easy", retrieved=[{"id": "x", "score": 3}, {"id": "y", "score": 5}]),
        case("d", kind="easy"),
    ]
    assert [each.score for each in queries_of(cases, by_field("kind", "none"))] == [0.9, 0.4, 5.0, None]


def test_a_field_labels_or_the_case_itself_say_what_is_unanswerable() -> None:
    labels = {"a": [Label("x")], "b": [Label("x", 0)]}
    for answerable in (by_field("kind", "none"), by_labels(labels), by_case):
        assert [each.answerable for each in queries_of(CASES, answerable)] == [True, False]
    listed = [case("a", 1.0, kinds=["easy", "old"]), case("b", 1.0, kinds=["old", "none"])]
    assert [each.answerable for each in queries_of(listed, by_field("kinds", "none"))] == [True, False]
    told = [case("a", 1.0, answerable=True, relevant=[]), case("b", 1.0, answerable="false", relevant=["x"])]
    assert [each.answerable for each in queries_of(told, by_case)] == [True, False]
    flags = [case("a", 1.0, idk=False), case("b", 1.0, idk=True)]
    assert [each.answerable for each in queries_of(flags, by_field("idk", "true"))] == [True, False]


def test_whether_an_answer_is_right_counts_where_there_is_one() -> None:
    cases = [
        case("a", 1.0, kind="easy", right=True),
        case("b", 1.0, kind="easy", right="No"),
        case("c", 1.0, kind="none"),
    ]
    assert [each.correct for each in queries_of(cases, by_field("kind", "none"), correct="right")] == [
        True,
        False,
        None,
    ]


@pytest.mark.parametrize(
    ("cases", "options", "complaint"),
    [
        ([case("a", 1.0)], {}, 'case "a" has no `kind`'),
        ([case("a", None, kind="easy")], {}, 'case "a" has passages without a score'),
        ([case("a", 1.0, kind="easy", retrieved=["x"])], {}, 'case "a" has passages without a score'),
        ([case("a", 1.0, kind="easy")], {}, "no query is unanswerable, so there is nothing to reject"),
        ([case("a", 1.0, kind="none")], {}, "no query is answerable, so there is nothing to accept"),
        ([case("a", kind="none"), case("b", kind="easy")], {}, "no case retrieved anything, so there is no score"),
        ([case("a", 1.0, kind="easy", right="maybe")], {"correct": "right"}, 'case "a" has "maybe" in `right`'),
        ([case("a", 1.0, kind="easy")], {"correct": "right"}, 'case "a" has "" in `right`'),
    ],
)
def test_what_a_case_lacks_is_named(cases: list[Case], options: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        queries_of(cases, by_field("kind", "none"), **options)
    assert complaint in str(caught.value)


def test_a_case_that_says_nothing_is_named_with_what_else_may_say_it() -> None:
    complaint = r'case "a" has neither `answerable` nor `relevant`; name what is unanswerable with --unanswerable'
    with pytest.raises(InputError, match=complaint):
        queries_of([case("a", 1.0)], by_case)


def made(answerable: list[float | None], unanswerable: list[float | None]) -> list[Query]:
    yes = [Query(f"a{place}", None, score, answerable=True) for place, score in enumerate(answerable)]
    return [*yes, *(Query(f"u{place}", None, score, answerable=False) for place, score in enumerate(unanswerable))]


def test_populations_that_do_not_overlap_are_separated_and_nothing_is_near() -> None:
    found = study(made([0.8, 0.9, 0.7], [0.1, None, 0.3]), Costs())
    assert found.separated
    assert found.near == ()
    assert found.threshold.value == 0.7
    assert found.area.value == 1
    assert found.helps


def test_unanswerable_queries_that_score_like_answerable_ones_are_named_the_nearest_first() -> None:
    found = study(made([0.2, 0.6, 0.8, 0.9], [0.1, 0.7, 0.6, None]), Costs())
    assert not found.separated
    assert [(each.query.id, each.above) for each in found.near] == [("u1", 0.5), ("u2", 0.5)]


def test_where_accepting_or_rejecting_everything_is_cheapest_no_threshold_helps() -> None:
    assert not study(made([0.1, 0.2], [0.8, 0.9]), Costs(false_reject=9)).helps
    assert not study(made([0.1, 0.2], [0.8, 0.9]), Costs(false_accept=9)).helps


def test_queries_of_one_group_stay_together_and_widen_the_intervals() -> None:
    """Five copies of each query are no more than one query, if they are of one group."""
    single = made([0.3, 0.5, 0.6, 0.7, 0.8, 0.9], [0.1, 0.2, 0.4, 0.55, 0.65, 0.35])
    copies = [replace(each, id=f"{each.id}.{copy}", cluster=("item", each.id)) for each in single for copy in range(5)]
    alone = study([replace(each, cluster=None) for each in copies], Costs())
    found = study(copies, Costs())
    assert (alone.groups, found.groups, found.folds) == (None, 12, 5)
    assert found.threshold.value == alone.threshold.value
    assert (found.threshold.n, found.threshold.n_clusters) == (60, 12)
    for name in ("unanswerable_rejected", "answerable_accepted", "cost"):
        narrow, wide = getattr(alone.fitted.held_out, name), getattr(found.fitted.held_out, name)
        assert wide.ci_high - wide.ci_low > narrow.ci_high - narrow.ci_low
    assert width(found.area) > width(alone.area)
    assert found.to_record()["groups"] == 12


def width(figure: Figure) -> float:
    assert figure.ci_low is not None
    assert figure.ci_high is not None
    return figure.ci_high - figure.ci_low


def test_groups_of_one_query_each_are_no_groups() -> None:
    queries = made([0.2, 0.6, 0.8], [0.1, 0.7])
    grouped = [replace(each, cluster=("id", each.id)) for each in queries]
    assert study(grouped, Costs()).groups is None
    assert study(grouped, Costs()).threshold == study(queries, Costs()).threshold


def test_one_group_alone_is_refused() -> None:
    queries = [replace(each, cluster=("item", "x")) for each in made([0.2, 0.6], [0.1])]
    with pytest.raises(InputError, match="all queries are of one group"):
        study(queries, Costs())
