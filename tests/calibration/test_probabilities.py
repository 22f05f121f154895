"""Scores as probabilities, and where to cut them."""

from pathlib import Path

import numpy as np
import pytest

from calibration.audit import audit
from calibration.items import scored_items
from calibration.probabilities import parse_rule, suggest_threshold
from calibration.statistics.threshold import MinimumCost, TargetPrecision, Youden
from judges import InputError
from support.stored import records_of, stored_pairs, write_records


def scored(n: int, seed: int, middle: float = 0.5) -> tuple[list[str], list[float]]:
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.7
    scores = np.clip(rng.normal(middle + np.where(good, 0.15, -0.15), 0.12), 0.001, 0.999)
    return ["pass" if each else "fail" for each in good.tolist()], scores.tolist()


def test_a_threshold_is_suggested_where_kappa_is_shown_to_rise_and_not_elsewhere(tmp_path: Path) -> None:
    shifted = audit(stored_pairs(write_records(tmp_path, records_of(*scored(500, 1, middle=0.3))))).threshold
    assert shifted is not None
    assert shifted.suggested
    assert shifted.at.value == pytest.approx(0.3, abs=0.1)
    assert shifted.kappa.value is not None
    assert shifted.kappa_now.value is not None
    assert shifted.kappa.value > shifted.kappa_now.value + 0.2
    settled = audit(stored_pairs(write_records(tmp_path, records_of(*scored(500, 1))))).threshold
    assert settled is not None
    assert not settled.suggested


def test_another_rule_is_the_user_s_wish_and_its_price_in_kappa_is_shown(tmp_path: Path) -> None:
    pairs = stored_pairs(write_records(tmp_path, records_of(*scored(500, 2))))
    cheap = suggest_threshold(scored_items(pairs), MinimumCost(1, 1), now=0.5)
    dear = suggest_threshold(scored_items(pairs), MinimumCost(20, 1), now=0.5)
    assert cheap is not None
    assert dear is not None
    assert cheap.at.value is not None
    assert dear.at.value is not None
    assert dear.at.value > cheap.at.value
    assert dear.at.ci_low is not None
    assert dear.suggested
    assert dear.cost is not None
    assert dear.gain.value is not None
    assert dear.gain.value < 0


def test_with_few_cases_no_threshold_is_tried(tmp_path: Path) -> None:
    assert audit(stored_pairs(write_records(tmp_path, records_of(*scored(9, 3))))).threshold is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("kappa", "kappa"),
        ("youden", Youden()),
        ("cost:5:1", MinimumCost(5, 1)),
        ("precision:0.9", TargetPrecision(0.9)),
    ],
)
def test_a_rule_is_named(text: str, rule: object) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize("text", ["", "best", "cost", "cost:1", "cost:a:b", "cost:-1:1", "precision:2", "kappa:1"])
def test_a_rule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="choose kappa, youden, cost:5:1"):
        parse_rule(text)


def test_recalibrated_scores_mean_what_they_say(tmp_path: Path) -> None:
    gold, scores = scored(1000, 4, middle=0.3)
    found = audit(stored_pairs(write_records(tmp_path, records_of(gold, scores)))).probabilities
    assert found is not None
    assert found.as_is is not None
    assert found.recalibrated is not None
    before, after = found.as_is.table.ece.value, found.recalibrated.table.ece.value
    assert before is not None
    assert after is not None
    assert after < 0.06 < 0.15 < before
    beyond = [100 * score for score in scores]
    raw = audit(stored_pairs(write_records(tmp_path, records_of(gold, beyond)), threshold=50)).probabilities
    assert raw is not None
    assert raw.as_is is None
    assert raw.recalibrated is not None
