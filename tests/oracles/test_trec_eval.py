"""The values trec_eval 10.0 prints for its own sample, to the 4 decimals it prints."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from judges.retrieval.fields import Line
from judges.retrieval.metrics import Measured, Metric, ceiling, measure_all
from judges.retrieval.qrels import read_trec_qrels
from judges.retrieval.ranking import read_trec_rankings
from support.command import SHARED

SAMPLE = SHARED / "data" / "trec_eval_sample"
WHOLE = {"map": "AP", "recip_rank": "RR", "Rprec": "Rprec", "ndcg": "nDCG", "set_P": "P", "set_recall": "recall"}
AT = {"P": "P", "recall": "recall", "success": "hit", "map_cut": "AP", "ndcg_cut": "nDCG"}

pytestmark = pytest.mark.skipif(not SAMPLE.exists(), reason="the sample of trec_eval is not beside the checkout")


def lines(name: str) -> Iterator[Line]:
    for number, line in enumerate((SAMPLE / name).read_bytes().splitlines(), 1):
        yield f"{name}:{number}", line


def expected() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in Path(SAMPLE / "basic.expected.jsonl").read_text(encoding="utf-8").splitlines():
        row = cast("dict[str, Any]", json.loads(line))
        found.setdefault(row["measure"], {})[row["query"]] = row["value"]
    return found


def ours(measure: str) -> tuple[str, str] | None:
    """What we call a measure of trec_eval's, and how its value follows from ours."""
    if measure in WHOLE:
        return WHOLE[measure], "value"
    if measure == "set_relative_P" or measure.startswith("num_re"):
        return ("P", measure) if measure != "num_rel_ret" else ("recall", measure)
    name, _, k = measure.rpartition("_")
    if name in AT:
        return f"{AT[name]}@{k}", "value"
    if name == "relative_P":
        return f"P@{k}", "relative"
    return (f"judged@{k}", "unjudged") if name == "unj" else None


def derived(how: str, metric: Metric, measured: Measured) -> float:
    value = measured.values[metric]
    assert value is not None
    match how:
        case "relative":
            most = ceiling(metric, measured.relevant)
            assert most
            return value / most
        case "set_relative_P":
            return value * measured.retrieved / min(measured.relevant, measured.retrieved)
        case "unjudged":
            return 1 - value
        case "num_rel":
            return measured.relevant
        case "num_ret":
            return measured.retrieved
        case "num_rel_ret":
            return value * measured.relevant
        case _:
            return value


def test_every_value_of_trec_evals_sample_that_we_measure_agrees_to_4_decimals() -> None:
    wanted = {measure: values for measure, values in expected().items() if ours(measure)}
    names = {measure: pair for measure in wanted if (pair := ours(measure))}
    metrics = [Metric.parse(text) for text in dict.fromkeys(text for text, _ in names.values())]
    measured = list(
        measure_all(metrics, read_trec_qrels(lines("basic.qrels")), read_trec_rankings(lines("basic.run")), strict=True)
    )
    assert len(measured) == 3
    wrong = list[str]()
    for measure, (text, how) in names.items():
        values = {each.query: derived(how, Metric.parse(text), each) for each in measured}
        values["all"] = sum(values.values()) / (1 if measure.startswith("num_") else len(values))
        assert wanted[measure].keys() == values.keys()
        for query, value in wanted[measure].items():
            if f"{values[query]:.4f}" != f"{value:.4f}":
                wrong.append(f"{measure} of {query}: {values[query]:.6f}, not {value}")
    assert not wrong
    assert len(names) == 61
