"""Agreement of several people in public data sets, against figures recomputed by other libraries (FIGURES.md there).

Sections 1 (PandaLM), 2a (OpenQA-eval) and 5 (MTRAG). The data lie beside the checkout; no line of them is here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.statistics.agreement import cohen_kappa, percent_agreement
from calibration.statistics.raters import (
    UnitRatings,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    pairwise_agreement,
    unit_ratings,
)
from calibration.statistics.tables import pair_labels
from judges.figures import Figure
from support.command import SHARED

DATA = SHARED / "data"
Row = dict[str, Any]


def rows_of(folder: str) -> list[Row]:
    path = DATA / folder / "items.jsonl"
    if not path.exists():
        pytest.skip(f"needs the public data set {folder} beside the checkout")
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def labels_by(rows: list[Row], dimension: str, annotator: str) -> list[Any]:
    return [row["human"][dimension].get(annotator) for row in rows]


def assert_close(figure: Figure, wanted: float) -> None:
    assert figure.value is not None
    assert figure.value == pytest.approx(wanted, abs=1e-4)
    assert figure.ci_low is not None
    assert figure.ci_high is not None
    assert figure.ci_low < figure.value < figure.ci_high


@pytest.mark.parametrize(
    ("first", "second", "wanted", "published"),
    [("A1", "A2", 0.8520, 0.85), ("A1", "A3", 0.8789, 0.88), ("A2", "A3", 0.8617, 0.86)],
)
def test_pairs_of_pandalm_annotators_have_the_published_kappa(
    first: str, second: str, wanted: float, published: float
) -> None:
    rows = rows_of("pandalm_pairwise")
    figure = cohen_kappa(
        labels_by(rows, "preference", first), labels_by(rows, "preference", second), labels=["a", "b", "tie"]
    )
    assert figure.n == 999
    assert_close(figure, wanted)
    assert figure.value == pytest.approx(published, abs=0.005)


def test_three_pandalm_annotators_agree_as_other_libraries_say() -> None:
    rows = rows_of("pandalm_pairwise")
    people = [labels_by(rows, "preference", annotator) for annotator in ("A1", "A2", "A3")]
    ratings = unit_ratings(list(zip(*people, strict=True)), labels=["a", "b", "tie"])
    assert_close(fleiss_kappa(ratings).kappa, 0.8642)
    assert_close(krippendorff_alpha(ratings), 0.8642)
    assert_close(gwet_ac(ratings), 0.8864)


def test_openqa_annotators_agree_as_published_only_if_a_missing_label_is_a_label() -> None:
    rows, scale = rows_of("openqa_nq301"), ["correct", "incorrect", ""]
    first = labels_by(rows, "correctness", "A1")
    second = [each or "" for each in labels_by(rows, "correctness", "A2")]
    assert_close(percent_agreement(pair_labels(first, second, labels=scale)), 0.8644)
    assert_close(cohen_kappa(first, second, labels=scale), 0.7277)


def test_openqa_annotators_agree_as_other_libraries_say_where_missing_labels_are_missing() -> None:
    rows, scale = rows_of("openqa_nq301"), ["correct", "incorrect"]
    a1, a2, a3 = (labels_by(rows, "correctness", annotator) for annotator in ("A1", "A2", "A3"))
    pairs = pair_labels(a1, a2, labels=scale)
    assert (pairs.n, pairs.n_dropped) == (1483, 7)
    assert_close(percent_agreement(pairs), 0.8685)
    assert_close(cohen_kappa(a1, a2, labels=scale), 0.7347)
    assert_close(krippendorff_alpha(unit_ratings(list(zip(a1, a2, strict=True)), labels=scale)), 0.7347)
    assert_close(krippendorff_alpha(unit_ratings(list(zip(a1, a2, a3, strict=True)), labels=scale)), 0.7312)


MTRAG = {
    "naturalness": (1413, 0.1882, 0.3178, 0.2990, 0.1854, 459, 0.8215, 0.8359),
    "appropriateness": (1413, 0.0519, 0.0639, 0.0504, 0.0583, 459, 0.5587, 0.6267),
    "completeness": (1411, 0.1769, 0.2635, 0.3915, 0.1823, 457, 0.6353, 0.6878),
    "faithfulness": (1419, 0.2632, 0.4700, 0.5502, 0.2612, 465, 0.5005, 0.5885),
}


def mtrag(dimension: str, only: int | None = None) -> UnitRatings:
    rows = rows_of("mtrag_human_eval")
    people = [labels_by(rows, dimension, f"A{number}") for number in range(1, 8)]
    units = [unit for unit in zip(*people, strict=True) if only in {None, sum(each is not None for each in unit)}]
    return unit_ratings(units, labels=[1, 2, 3, 4])


@pytest.mark.parametrize("dimension", MTRAG)
def test_seven_mtrag_annotators_agree_as_other_libraries_say(dimension: str) -> None:
    size, nominal, ordinal, interval, fleiss, three, ac1, pairwise = MTRAG[dimension]
    ratings, of_three = mtrag(dimension), mtrag(dimension, only=3)
    assert (ratings.n, int(ratings.counts.sum())) == (477, size)
    assert_close(krippendorff_alpha(ratings), nominal)
    assert_close(krippendorff_alpha(ratings, distance="ordinal"), ordinal)
    assert_close(krippendorff_alpha(ratings, distance="interval"), interval)
    assert of_three.n == three
    assert_close(fleiss_kappa(of_three).kappa, fleiss)
    assert_close(gwet_ac(ratings), ac1)
    assert_close(pairwise_agreement(of_three), pairwise)


def test_with_unequal_numbers_of_ratings_fleiss_kappa_is_refused_and_alpha_named() -> None:
    with pytest.raises(ValueError, match=r"2 to 3 ratings.*krippendorff_alpha"):
        fleiss_kappa(mtrag("faithfulness"))
