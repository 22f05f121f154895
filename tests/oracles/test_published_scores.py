"""Published figures of scored data sets, from the data itself (sections 3 and 5 of its FIGURES.md)."""

import json
from typing import Any

import numpy as np
import pytest

from calibration.labels import read_labels
from calibration.meaning import Scale, meaning_of
from calibration.statistics.agreement import kappa
from calibration.statistics.contrasts import mean_difference
from calibration.statistics.reliability import area_under_curve, pair_scored
from calibration.statistics.scores import kendall, pair_scores, pearson, spearman
from calibration.statistics.tables import pair_labels
from support.command import SHARED

Row = dict[str, Any]

UNIEVAL = {
    "naturalness": (0.443666, 0.513986, 0.373973),
    "coherence": (0.595143, 0.612942, 0.465915),
    "engagingness": (0.556510, 0.604739, 0.455941),
    "groundedness": (0.536209, 0.574954, 0.451533),
    "understandability": (0.380038, 0.467807, 0.360741),
    "overall": (0.632796, 0.662583, 0.487272),
}
MTRAG = {
    ("rl_f", "faithfulness"): (0.7205, 0.5815, 0.4893),
    ("rb_llm", "quality"): (0.4742, 0.3262, 0.2581),
    ("bert_kprecision", "overlap"): (0.6220, 0.5842, 0.4575),
}


def rows_of(name: str) -> list[Row]:
    path = SHARED / "data" / name / "items.jsonl"
    if not path.is_file():
        pytest.skip(f"the data set {name} is not beside the checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("dimension", UNIEVAL)
def test_unieval_correlates_with_human_ratings_as_its_authors_print(dimension: str) -> None:
    rows = rows_of("unieval_topicalchat")
    pairs = pair_scores(
        [row["gold"][dimension] for row in rows], [row["judges"]["unieval-dialog"][dimension] for row in rows]
    )
    assert (pairs.n, pairs.n_dropped) == (360, 0)
    found = tuple(round(figure(pairs).value or 0.0, 6) for figure in (pearson, spearman, kendall))
    assert found == UNIEVAL[dimension]


@pytest.mark.parametrize(("judge", "dimension"), MTRAG)
def test_judges_of_mtrag_correlate_with_mean_human_faithfulness_as_recorded(judge: str, dimension: str) -> None:
    rows = rows_of("mtrag_human_eval")
    human = [float(np.mean(list(row["human"]["faithfulness"].values()))) for row in rows]
    pairs = pair_scores(human, [row["judges"][judge][dimension] for row in rows])
    assert pairs.n == 477
    found = tuple(figure(pairs).value for figure in (pearson, spearman, kendall))
    assert found == pytest.approx(MTRAG[judge, dimension], abs=0.0001)


def test_faithfulness_scores_of_mtrag_tell_faithful_answers_apart_as_recorded() -> None:
    rows = rows_of("mtrag_human_eval")
    scores = [row["judges"]["rl_f"]["faithfulness"] for row in rows]
    faithful = [row["gold"]["faithfulness"] >= 3 for row in rows]
    items = [row["meta"]["item"] for row in rows]
    area = area_under_curve(pair_scored(scores, faithful))
    assert area.value == pytest.approx(0.8612, abs=0.0001)
    by_task = area_under_curve(pair_scored(scores, faithful, clusters=items))
    assert (by_task.value, by_task.n_clusters) == (area.value, 159)
    verdicts = pair_labels(faithful, [score >= 0.5 for score in scores], labels=[False, True])
    assert kappa(verdicts).value == pytest.approx(0.5911, abs=0.0001)


SYSTEMS = {  # mean over answers of people's mean faithfulness, and of the share of comparisons won
    "reference": (3.6080, 59.8532),
    "gpt-4o": (3.2390, 48.8470),
    "llama-3.1-405b-instruct": (3.2432, 47.0650),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_of_mtrag_have_the_recorded_means_of_what_their_annotators_say(system: str) -> None:
    own = [row["id"] for row in rows_of("mtrag_human_eval") if row["meta"]["system"] == system]
    assert len(own) == 159
    for dimension, scale, wanted in zip(("faithfulness", "win_rate"), ("1..4", "0..100"), SYSTEMS[system], strict=True):
        labels = read_labels(SHARED / "data" / "mtrag_human_eval" / "items.jsonl", f"human.{dimension}")
        meaning = meaning_of(labels, positive=None, scale=Scale.parse(scale))
        people = [meaning.gold(labels.by_case[case]).number for case in own]
        found = mean_difference([each for each in people if each is not None]).difference
        assert found.n == 159
        assert found.value == pytest.approx(wanted, abs=5e-5)
