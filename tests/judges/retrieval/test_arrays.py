"""The metrics of many queries at once have the values that the definitions give each query."""

from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.retrieval.arrays import Measurements, Places, measure_places, place_arrays, place_rankings
from judges.retrieval.metrics import Gain, Measured, Metric, Name, measure_all
from judges.retrieval.qrels import Group, Qrels
from judges.retrieval.ranking import Ranking

IDS = [f"d{number}" for number in range(9)]  # in the order of their text
METRICS = [Metric(name, k) for name in get_args(Name) for k in (None, 1, 2, 5, 12) if name != "Rprec" or k is None]
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(-1, 4))
SCORES = st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
GAINS = st.sampled_from(get_args(Gain))


@st.composite
def judged(draw: st.DrawFn) -> Qrels:
    """Grades, and here and there groups of what is relevant."""
    grades = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), GRADES))
    groups: dict[str, list[Group]] = {}
    for query, own in grades.items():
        relevant = [name for name, grade in own.items() if grade >= 1]
        members = st.frozensets(st.sampled_from(relevant)) if relevant else st.just(frozenset[str]())
        if made := draw(st.lists(st.builds(Group, members, st.integers(1, 4)), max_size=2)):
            groups[query] = made
    return Qrels(grades, groups)


RANKINGS = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q5"]), SCORES)


def agree(places: Places, wanted: list[Measured], gain: Gain) -> Measurements:
    found = measure_places(METRICS, places, gain=gain)
    assert list(found.queries) == [each.query for each in wanted]
    assert found.relevant.tolist() == [each.relevant for each in wanted]
    assert found.retrieved.tolist() == [each.retrieved for each in wanted]
    for metric in METRICS:
        defined = found.defined(metric).tolist()
        values = [value if there else None for value, there in zip(found.values[metric], defined, strict=True)]
        assert values == [pytest.approx(each.values[metric], abs=1e-12) for each in wanted], metric
        assert all(value == 0 for value, there in zip(found.values[metric], defined, strict=True) if not there)
    return found


@given(judged(), RANKINGS, GAINS)
def test_rankings_have_the_values_of_the_definitions(
    qrels: Qrels, scored: dict[str, dict[str, float]], gain: Gain
) -> None:
    rankings = {query: Ranking.by_score(scores.items()) for query, scores in scored.items()}
    wanted = list(measure_all(METRICS, qrels, rankings, gain=gain))
    found = agree(place_rankings(qrels, rankings), wanted, gain)
    assert found.grouped == bool(qrels.groups)
    for place, each in enumerate(wanted):
        recall = each.values[Metric("recall")]
        assert found.found[place] == (0 if recall is None else round(recall * each.relevant))


@given(st.lists(st.tuples(GRADES, SCORES), min_size=1, max_size=4), GAINS, st.randoms())
def test_arrays_have_the_values_of_the_definitions(
    queries: list[tuple[dict[str, int], dict[str, float]]], gain: Gain, random: Random
) -> None:
    depth = max(len(scores) for _, scores in queries)
    documents = np.full((len(queries), depth), -1)
    scores = np.zeros((len(queries), depth))
    for row, (_, scored) in enumerate(queries):
        documents[row, : len(scored)] = [IDS.index(name) for name in scored]
        scores[row, : len(scored)] = list(scored.values())
    triples = [(row, IDS.index(name), grade) for row, (own, _) in enumerate(queries) for name, grade in own.items()]
    random.shuffle(triples)
    columns = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    names = [f"q{row}" for row in range(len(queries))]
    places = place_arrays(documents, scores, (columns[0], columns[1], columns[2]), queries=names)
    qrels = Qrels({name: own for name, (own, _) in zip(names, queries, strict=True)})
    rankings = {name: Ranking.by_score(scored.items()) for name, (_, scored) in zip(names, queries, strict=True)}
    agree(places, list(measure_all(METRICS, qrels, rankings, gain=gain)), gain)


def test_without_scores_documents_stand_best_first() -> None:
    judgements = (np.array([0, 0]), np.array([2, 0]), np.array([1, 3]))
    places = place_arrays(np.array([[1, 2, 0, -1]]), None, judgements)
    assert places.judged.rank.tolist() == [2, 3]
    assert measure_places([Metric("RR")], places).values[Metric("RR")].tolist() == [0.5]
    assert places.queries == ("0",)


@pytest.mark.parametrize(
    ("documents", "scores", "judgements", "complaint"),
    [
        ([[1, 1]], None, ([0], [1], [1]), "row 0: a document occurs twice"),
        ([[-1, 1]], None, ([0], [1], [1]), "row 0: a document occurs twice, or -1 stands before the end"),
        ([[1, 2]], [[1.0]], ([0], [1], [1]), "give scores of that shape"),
        ([[1, 2]], None, ([1], [1], [1]), "a query is no row of `documents`"),
        ([[1, 2]], None, ([0], [-1], [1]), "a document is no number from 0"),
        ([[1, 2]], None, ([0, 0], [1, 1], [1, 2]), "judged a second time"),
        ([[1, 2]], None, ([0, 0], [1], [1]), "three flat arrays of one length"),
    ],
)
def test_arrays_that_do_not_fit_are_an_error(
    documents: list[list[int]],
    scores: list[list[float]] | None,
    judgements: tuple[list[int], list[int], list[int]],
    complaint: str,
) -> None:
    query, document, grade = (np.array(each, dtype=np.int64) for each in judgements)
    with pytest.raises(ValueError, match=complaint):
        place_arrays(np.array(documents), None if scores is None else np.array(scores), (query, document, grade))
