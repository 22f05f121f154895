"""Random rankings measured by pytrec_eval, which is trec_eval's own code."""

from importlib import import_module
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.retrieval.arrays import measure_places, place_rankings
from judges.retrieval.metrics import Metric, measure_all
from judges.retrieval.qrels import Qrels
from judges.retrieval.ranking import Ranking

pytrec_eval = import_module("pytrec_eval")  # loaded by name: it has no types

CUT_OFFS = (1, 3, 5, 10)
AT = {"P": "P", "recall": "recall", "hit": "success", "nDCG": "ndcg_cut", "AP": "map_cut"}
WHOLE = {"RR": "recip_rank", "AP": "map", "nDCG": "ndcg", "Rprec": "Rprec", "P": "set_P", "recall": "set_recall"}
THEIRS = {Metric.parse(f"{ours}@{k}"): f"{theirs}_{k}" for ours, theirs in AT.items() for k in CUT_OFFS} | {
    Metric.parse(ours): theirs for ours, theirs in WHOLE.items()
}
IDS = st.sampled_from([f"d{number}" for number in range(15)])
SCORES = st.integers(-6, 6).map(lambda eighths: eighths / 8)  # exact in single precision, and often equal
QUERIES = st.sampled_from(["q1", "q2", "q3"])
QRELS = st.dictionaries(QUERIES, st.dictionaries(IDS, st.integers(-1, 3), min_size=1), min_size=1)
RANKINGS = st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES, min_size=1), min_size=1)


def by_pytrec_eval(
    qrels: dict[str, dict[str, int]], rankings: dict[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    names = {f"{theirs}.{','.join(map(str, CUT_OFFS))}" for theirs in AT.values()} | set(WHOLE.values())
    return cast("dict[str, dict[str, float]]", pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(rankings))


@given(QRELS, RANKINGS)
def test_every_metric_has_the_value_of_pytrec_eval(
    grades: dict[str, dict[str, int]], scores: dict[str, dict[str, float]]
) -> None:
    wanted = by_pytrec_eval(grades, scores)
    qrels, rankings = Qrels(grades), {query: Ranking.by_score(scored.items()) for query, scored in scores.items()}
    for found in measure_all(list(THEIRS), qrels, rankings, strict=True):
        if found.query in wanted:  # it leaves out a query without a ranking; we count 0
            for metric, theirs in THEIRS.items():
                assert found.values[metric] == pytest.approx(wanted[found.query][theirs], abs=1e-9), metric
    at_once = measure_places(list(THEIRS), place_rankings(qrels, rankings))
    for place, query in enumerate(at_once.queries):
        for metric, theirs in THEIRS.items():
            if query in wanted:
                assert at_once.values[metric][place] == pytest.approx(wanted[query][theirs], abs=1e-9), metric


def test_trec_eval_holds_scores_in_single_precision_and_we_do_not() -> None:
    scores = {"a": 0.5 + 1e-12, "b": 0.5}  # equal in single precision, so there the last id is first
    theirs = by_pytrec_eval({"q": {"a": 1}}, {"q": scores})
    [ours] = measure_all([Metric("RR")], Qrels({"q": {"a": 1}}), {"q": Ranking.by_score(scores.items())})
    assert theirs["q"]["recip_rank"] == 0.5
    assert ours.values[Metric("RR")] == 1
