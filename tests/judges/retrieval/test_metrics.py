from itertools import permutations
from math import isfinite, log2
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.errors import InputError
from judges.retrieval.metrics import Gain, Metric, Name, Ties, ceiling, measure, measure_all
from judges.retrieval.qrels import Group, Qrels
from judges.retrieval.ranking import Ranking

IDS = [f"d{number}" for number in range(9)]
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(-1, 4))
SCORES = st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
CUT_OFFS = st.integers(1, 12)
GAINS = st.sampled_from(get_args(Gain))
TIES = st.sampled_from(get_args(Ties))
METRICS = st.builds(Metric, st.sampled_from(get_args(Name)), st.none() | CUT_OFFS).map(
    lambda metric: Metric(metric.name) if metric.name == "Rprec" else metric
)


def one(metric: str | Metric, grades: dict[str, int], ranking: Ranking, **options: Any) -> float | None:
    wanted = Metric.parse(metric) if isinstance(metric, str) else metric
    return measure([wanted], grades, ranking, **options)[wanted]


@given(METRICS)
def test_a_metric_is_parsed_from_its_text_in_any_case(metric: Metric) -> None:
    assert Metric.parse(str(metric)) == Metric.parse(str(metric).lower()) == metric


@pytest.mark.parametrize(("text", "name"), [("MRR", "RR"), ("mrr@10", "RR@10"), ("MAP", "AP"), ("Precision@5", "P@5")])
def test_metrics_go_by_their_other_names_in_the_field_too(text: str, name: str) -> None:
    assert str(Metric.parse(text)) == name


@pytest.mark.parametrize("text", ["", "nDCG@0", "nDCG@", "P@-1", "P@1.5", "F1", "Rprec@5", "P@٣", "P@1\n2", "P@1e3"])
def test_what_is_no_metric_is_answered_with_those_there_are(text: str) -> None:
    with pytest.raises(InputError, match="is no metric; choose of P, recall, hit, RR, AP, nDCG, judged, Rprec"):
        Metric.parse(text)


@given(METRICS, GRADES, SCORES, GAINS, TIES, st.booleans())
def test_values_are_from_0_to_1_or_undefined_and_never_nan(
    metric: Metric, grades: dict[str, int], scores: dict[str, float], gain: Gain, ties: Ties, strict: bool
) -> None:
    value = one(metric, grades, Ranking.by_score(scores.items()), gain=gain, ties=ties, strict=strict)
    relevant = any(grade >= 1 for grade in grades.values())
    assert (value is None) == (not relevant and not strict and metric.name != "judged")
    assert value is None or (isfinite(value) and 0 <= value <= 1)


@given(METRICS, GRADES, SCORES, TIES, st.randoms())
def test_the_order_of_input_does_not_matter(
    metric: Metric, grades: dict[str, int], scores: dict[str, float], ties: Ties, random: Random
) -> None:
    shuffled = dict(random.sample(list(grades.items()), len(grades)))
    scored = random.sample(list(scores.items()), len(scores))
    first = one(metric, grades, Ranking.by_score(scores.items()), ties=ties)
    assert one(metric, shuffled, Ranking.by_score(scored), ties=ties) == pytest.approx(first, abs=1e-12)


@given(GRADES.filter(lambda grades: max(grades.values(), default=0) >= 1), st.none() | CUT_OFFS, GAINS, TIES)
def test_ndcg_of_the_ideal_ranking_is_1(grades: dict[str, int], k: int | None, gain: Gain, ties: Ties) -> None:
    ideal = Ranking.by_score((document, float(grade)) for document, grade in grades.items())
    assert one(Metric("nDCG", k), grades, ideal, gain=gain, ties=ties) == pytest.approx(1, abs=1e-12)


@given(GRADES, SCORES, CUT_OFFS)
def test_precision_and_recall_stay_below_the_ceiling_and_the_ideal_ranking_reaches_it(
    grades: dict[str, int], scores: dict[str, float], k: int
) -> None:
    ideal = Ranking.by_score((document, float(grade)) for document, grade in grades.items())
    relevant = sum(grade >= 1 for grade in grades.values())
    for metric in (Metric("P", k), Metric("recall", k)):
        most = ceiling(metric, relevant)
        assert one(metric, grades, ideal) == most
        value = one(metric, grades, Ranking.by_score(scores.items()))
        assert (value is None) == (most is None)
        assert value is None or most is None or value <= most


def test_one_relevant_document_allows_a_precision_at_4_of_a_quarter() -> None:
    assert ceiling(Metric("P", 4), 1) == 0.25
    assert ceiling(Metric("recall", 4), 10) == 0.4
    assert ceiling(Metric("nDCG", 4), 1) == 1
    assert ceiling(Metric("P", 4), 0) is None
    assert ceiling(Metric("judged", 4), 0) == 1


@given(GRADES.filter(lambda grades: max(grades.values(), default=0) >= 1), SCORES, CUT_OFFS)
def test_recall_hit_and_ap_never_fall_with_k(grades: dict[str, int], scores: dict[str, float], k: int) -> None:
    ranking = Ranking.by_score(scores.items())
    for name in ("recall", "hit", "AP", "RR"):
        below, above = one(f"{name}@{k}", grades, ranking), one(f"{name}@{k + 1}", grades, ranking)
        whole = one(name, grades, ranking)
        assert below is not None
        assert above is not None
        assert whole is not None
        assert below <= above <= whole


@given(
    GRADES.filter(lambda grades: max(grades.values(), default=0) >= 1),
    st.dictionaries(st.sampled_from(IDS[:5]), st.sampled_from([0.0, 1.0])),
    CUT_OFFS,
)
def test_tie_averaged_ndcg_is_the_mean_over_all_orders_of_the_tied(
    grades: dict[str, int], scores: dict[str, float], k: int
) -> None:
    orders = {
        tuple(sorted(order, key=lambda document: -scores[document])): None for order in permutations(sorted(scores))
    }
    values = [one(f"nDCG@{k}", grades, Ranking.in_order(order)) or 0.0 for order in orders]
    averaged = one(f"nDCG@{k}", grades, Ranking.by_score(scores.items()), ties="average")
    assert averaged == pytest.approx(sum(values) / len(values), abs=1e-9)


def test_the_mean_reciprocal_rank_of_ranks_1_3_and_none_is_0_444() -> None:
    qrels = Qrels({name: {"r": 1} for name in ("q1", "q2", "q3")})
    rankings = {
        "q1": Ranking.in_order(["r", "x"]),
        "q2": Ranking.in_order(["x", "y", "r"]),
        "q3": Ranking.in_order(["x"]),
    }
    values = [each.values[Metric("RR")] or 0.0 for each in measure_all([Metric("RR")], qrels, rankings)]
    assert round(sum(values) / 3, 3) == 0.444


def test_a_query_without_results_has_0_and_one_without_qrels_is_left_out() -> None:
    metrics = [Metric(name) for name in get_args(Name)]
    found = list(measure_all(metrics, Qrels({"q1": {"r": 1}}), {"q2": Ranking.in_order(["r"])}))
    assert [(each.query, each.relevant, each.retrieved) for each in found] == [("q1", 1, 0)]
    assert set(found[0].values.values()) == {0.0}


def test_a_query_without_a_relevant_document_is_undefined_but_for_judged() -> None:
    grades, ranking = {"a": 0, "b": -1}, Ranking.in_order(["a", "x"])
    for name in get_args(Name):
        assert one(Metric(name), grades, ranking) == (0.5 if name == "judged" else None)
        assert one(Metric(name), grades, ranking, strict=True) == (0.5 if name == "judged" else 0)


def test_a_negative_grade_is_judged_and_gains_nothing() -> None:
    grades, ranking = {"a": -2, "b": 1}, Ranking.in_order(["a", "x", "b"])
    assert one("nDCG", grades, ranking) == 0.5
    assert one("judged@2", grades, ranking) == 0.5
    assert one("hit@2", grades, ranking) == 0


def test_precision_divides_by_k_and_judged_by_what_was_retrieved() -> None:
    grades, ranking = {"a": 1}, Ranking.in_order(["a"])
    assert one("P@5", grades, ranking) == 0.2
    assert one("P", grades, ranking) == 1
    assert one("judged@5", grades, ranking) == 1


def test_the_highest_grade_has_a_gain_that_is_a_number() -> None:
    grades = {"a": 1000, "b": 1000, "c": 1}
    assert one("nDCG@1", grades, Ranking.in_order(["a", "b"]), gain="exponential") == 1


# Groups: documents of which any one suffices


def test_a_group_is_found_with_its_first_document_and_counts_once() -> None:
    grades, groups = {"a": 1, "b": 1, "c": 2, "n": 0}, [Group(frozenset({"a", "b"}))]
    ranking = Ranking.in_order(["x", "b", "a", "n"])
    assert one("recall@2", grades, ranking, groups=groups) == 0.5
    assert one("recall", grades, ranking, groups=groups) == 0.5
    assert one("P@3", grades, ranking, groups=groups) == 2 / 3
    assert one("RR", grades, ranking, groups=groups) == 0.5
    assert one("AP", grades, ranking, groups=groups) == 0.25
    assert one("Rprec", grades, ranking, groups=groups) == 0.5
    assert one("judged", grades, ranking, groups=groups) == 0.75
    assert one("nDCG", grades, ranking, groups=groups) == pytest.approx((1 / log2(3)) / (2 + 1 / log2(3)))


def test_one_document_may_be_in_two_groups_and_satisfy_both() -> None:
    groups = [Group(frozenset({"a", "b"})), Group(frozenset({"a", "c"}), 2)]
    grades = {"a": 2, "b": 1, "c": 2}
    assert one("recall@1", grades, Ranking.in_order(["a"]), groups=groups) == 1
    assert one("recall@1", grades, Ranking.in_order(["b"]), groups=groups) == 0.5
    assert one("nDCG@1", grades, Ranking.in_order(["a"]), groups=groups) == 1


def test_a_group_without_documents_is_relevant_and_never_found() -> None:
    [found] = measure_all(
        [Metric("recall")], Qrels({"q": {}}, {"q": [Group(frozenset())]}), {"q": Ranking.in_order(["a"])}
    )
    assert (found.values[Metric("recall")], found.relevant, found.grouped) == (0.0, 1, True)


@given(METRICS, GRADES, SCORES, GAINS)
def test_a_group_of_one_is_that_document(
    metric: Metric, grades: dict[str, int], scores: dict[str, float], gain: Gain
) -> None:
    groups = [Group(frozenset({name}), grade) for name, grade in grades.items() if grade >= 1]
    ranking = Ranking.by_score(scores.items())
    assert one(metric, grades, ranking, groups=groups, gain=gain) == one(metric, grades, ranking, gain=gain)


def test_ties_are_not_averaged_over_groups() -> None:
    with pytest.raises(ValueError, match="isn't defined for groups"):
        one("nDCG", {"a": 1}, Ranking.in_order(["a"]), groups=[Group(frozenset({"a"}))], ties="average")
