"""Worked examples of rankings (section 10)."""

from typing import Any

import pytest

from judges.errors import InputError
from judges.retrieval.metrics import Metric, measure
from judges.retrieval.ranking import Ranking
from support.examples import Example, Json

NAMES = {"recip_rank": "RR", "map": "AP"}


def values_of(names: list[str], grades: dict[str, int], ranking: Ranking) -> Json:
    found: Json = {}
    for name in names:
        exponential = name.startswith("ndcg_exp")
        metric = Metric.parse(NAMES.get(name, name.replace("_exp", "")))
        gain: Any = "exponential" if exponential else "linear"
        found[name] = measure([metric], grades, ranking, gain=gain, strict=True)[metric]
    return found


def ir_metrics(example: Example) -> Json:
    found: Json = {}
    for query, expected in example.expected.items():
        grades, ranking = example.inputs["qrels"][query], Ranking.by_score(example.inputs["run"][query].items())
        names = [name for name in expected if name not in ("ranking", "no_relevant")]
        found[query] = values_of(names, grades, ranking)
        found[query]["ranking"] = list(ranking.documents)
        recall = Metric("recall")
        found[query]["no_relevant"] = measure([recall], grades, ranking)[recall] is None
    return found


def ir_duplicates(example: Example) -> Json:
    grades, listed, k = example.inputs["qrels"], example.inputs["ranked_list"], example.inputs["k"]
    with pytest.raises(InputError, match="retrieved twice"):
        Ranking.in_order(listed)
    kept = Ranking.in_order(listed, keep_first=True)
    values = values_of([f"P@{k}", f"recall@{k}", f"ndcg@{k}"], grades, kept)
    return {
        "policy_error": True,
        "policy_keep_first": {**values, "ranking": list(kept.documents)},
        "wrong_if_counted_twice": {f"P@{k}": values[f"P@{k}"]},
    }


def ndcg_tie_averaged(example: Example) -> Json:
    names = [f"d{place}" for place in range(len(example.inputs["score"]))]
    grades = dict(zip(names, example.inputs["relevance"], strict=True))
    scored = Ranking.by_score(zip(names, example.inputs["score"], strict=True))
    metric = Metric("nDCG")
    return {
        "ndcg_tie_averaged": measure([metric], grades, scored, ties="average")[metric],
        "ndcg_trec_like_input_order": measure([metric], grades, Ranking.in_order(names))[metric],
    }


ADAPTERS = {"ir_metrics": ir_metrics, "ir_duplicates": ir_duplicates, "ndcg_tie_averaged": ndcg_tie_averaged}
