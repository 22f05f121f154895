"""Figures of public data sets, got by the command line from the files as they are (FIGURES.md beside them).

What the functions give is in tests/oracles/test_published_*; no line of the data is here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import SHARED, judges


def path_of(name: str, file: str = "items.jsonl") -> Path:
    path = SHARED / "data" / name / file
    if not path.is_file():
        pytest.skip(f"the data set {name} is not beside the checkout")
    return path


def said(*arguments: str | Path, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(judges(*arguments, "--json", folder=folder).stdout)
    return found


# Section 2c; as the authors print them, in per cent: exact match, BEM, InstructGPT, people

PUBLISHED = {
    "text-davinci-003_zeroshot": (12.6, 63.5, 77.1, 71.4),
    "text-davinci-003_fewshot-n64": (33.9, 59.5, 67.8, 75.8),
    "DPR": (45.9, 52.5, 55.1, 58.8),
    "FiD": (47.8, 58.1, 61.5, 64.8),
    "ANCE-plus_FiD": (48.2, 59.5, 63.1, 65.8),
}
TWICE_ROUNDED = {45.9, 75.8}  # 45.85 and 75.75 before


def test_people_and_judges_rate_systems_as_published(tmp_path: Path) -> None:
    fields = ("judges.exact_match", "judges.bem", "judges.text-davinci-003", "gold")
    asked = [part for field in fields for part in ("-j", f"stored:{field}")]
    cases = path_of("openqa_nq301", "system_answers.jsonl")
    judges("run", cases, "-c", "correctness", *asked, "--out", "run", folder=tmp_path)
    rows = said("show", "run", "--by", "meta.system", folder=tmp_path)["rows"]
    assert len(rows) == 12 * len(fields)
    rates = {(row["slice"], row["judge"]): 100 * row["mean"]["value"] for row in rows}
    for system, published in PUBLISHED.items():
        for field, wanted in zip(fields, published, strict=True):
            found = rates[system, field.removeprefix("judges.")]
            assert found == pytest.approx(wanted, abs=0.06 if wanted in TWICE_ROUNDED else 0.0501)


# Section 4: accuracy, swapped, consistency, kappa between the orders

ORDERS = {
    "GPT-4/Vanilla": {
        "natural": (0.9500, 0.9600, 0.9500, 0.8977),
        "gptinst": (0.8478, 0.8804, 0.9457, 0.8910),
        "manual": (0.7609, 0.8478, 0.8261, 0.6522),
    },
    "PaLM2/Vanilla": {  # with answers that are none, which are a label of their own between the orders
        "natural": (0.7800, 0.8800, 0.8000, 0.6035),
        "gptinst": (0.7174, 0.7500, 0.6848, 0.3762),
        "manual": (0.6957, 0.6087, 0.8696, 0.7514),
    },
}


@pytest.mark.parametrize("judge", ORDERS)
def test_a_judge_of_pairs_is_held_against_itself_in_the_other_order(tmp_path: Path, judge: str) -> None:
    source = path_of("llmbar_pairwise")
    orders = [f"stored:judges.{judge}.{field}" for field in ("preference", "preference_swapped")]
    asked = ("compare", source, source, "--judge-a", orders[0], "--judge-b", orders[1], "-c", "preference")
    alone = said(*asked, "--by", "meta.subset", folder=tmp_path)["comparisons"]
    by_people = said(*asked, "--by", "meta.subset", "--gold", source, folder=tmp_path)["comparisons"]
    found = {
        one["slice"]: (
            two["agreement"]["a"]["value"],
            two["agreement"]["b"]["value"],
            one["agreement"]["value"],
            one["kappa"]["value"],
        )
        for one, two in zip(alone, by_people, strict=True)
    }
    assert found == {subset: pytest.approx(wanted, abs=5e-5) for subset, wanted in ORDERS[judge].items()}
    slices = said("calibrate", source, "-j", orders[0], "--by", "meta.subset", folder=tmp_path)["audits"][0]["slices"]
    assert {each["value"]: each["agreement"]["value"] for each in slices} == {
        subset: pytest.approx(wanted[0], abs=5e-5) for subset, wanted in ORDERS[judge].items()
    }


# Section 5: people's alpha by distance and Gwet's AC1; a judge's correlations with people's mean

PEOPLE = {
    "naturalness": (0.1882, 0.3178, 0.2990, 0.8215),
    "appropriateness": (0.0519, 0.0639, 0.0504, 0.5587),
    "completeness": (0.1769, 0.2635, 0.3915, 0.6353),
    "faithfulness": (0.2632, 0.4700, 0.5502, 0.5005),
}
JUDGES = {"rb_llm.quality": (0.4742, 0.3262, 0.2581), "bert_kprecision.overlap": (0.6220, 0.5842, 0.4575)}


@pytest.mark.parametrize(
    ("judge", "dimension"),
    [(judge, "faithfulness") for judge in JUDGES]
    + [("rb_llm.quality", dimension) for dimension in PEOPLE if dimension != "faithfulness"],
)
def test_grades_of_seven_people_and_scores_of_a_judge_come_out_as_recorded(
    tmp_path: Path, judge: str, dimension: str
) -> None:
    source = path_of("mtrag_human_eval")
    labels = ("--label", f"human.{dimension}", "--scale", "1..4")
    [audit] = said("calibrate", source, "-j", f"stored:judges.{judge}", *labels, folder=tmp_path)["audits"]
    people, scores = audit["people"], audit["scores"]
    found = [*(people["alpha"][name]["value"] for name in ("nominal", "ordinal", "interval")), people["gwet"]["value"]]
    assert found == pytest.approx(list(PEOPLE[dimension]), abs=5e-5)
    if dimension == "faithfulness":
        correlations = [scores[name]["value"] for name in ("pearson", "spearman", "kendall")]
        assert correlations == pytest.approx(list(JUDGES[judge]), abs=5e-5)


# Section 1


@pytest.mark.parametrize(
    ("judge", "accuracy", "kappa"), [("gpt-3.5-turbo", 0.6977, None), ("pandalm-7b", 0.6677, 0.4354)]
)
def test_most_of_three_people_prefer_what_the_authors_print(
    tmp_path: Path, judge: str, accuracy: float, kappa: float | None
) -> None:
    asked = ("calibrate", path_of("pandalm_pairwise"), "-j", f"stored:judges.{judge}", "--label", "human.preference")
    [audit] = said(*asked, folder=tmp_path)["audits"]
    assert {label: sum(row.values()) for label, row in audit["matrix"].items()} == {"a": 422, "b": 472, "tie": 105}
    [view] = audit["views"]
    assert view["agreement"]["value"] == pytest.approx(accuracy, abs=5e-5)
    assert kappa is None or view["kappa"]["value"] == pytest.approx(kappa, abs=5e-5)
    people = audit["people"]
    assert [people["fleiss"]["value"], people["alpha"]["nominal"]["value"]] == pytest.approx([0.8642] * 2, abs=5e-5)
    assert people["gwet"]["value"] == pytest.approx(0.8864, abs=5e-5)
