"""The pass rate that people would give the whole run."""

from pathlib import Path

import numpy as np
import pytest

from calibration.audit import audit
from calibration.rates import Chosen, check_value
from judges.errors import InputError
from support.stored import records_of, stored_pairs, write_records


def partly_labelled(folder: Path) -> Path:
    """2,000 cases of which people pass 60%; the judge passes 80% of those and 30% of the others; 400 have labels."""
    rng = np.random.default_rng(5)
    good = rng.random(2000) < 0.6
    said = np.where(good, rng.random(2000) < 0.8, rng.random(2000) < 0.3)
    records = records_of(
        ["pass" if each else "fail" for each in good.tolist()], ["pass" if each else "fail" for each in said.tolist()]
    )
    for record in records[400:]:
        record["gold"] = {}
    return write_records(folder, records)


def test_the_rate_is_corrected_by_the_labels(tmp_path: Path) -> None:
    rate = audit(stored_pairs(partly_labelled(tmp_path)), chosen="random").rate
    assert rate is not None
    assert rate.supported
    assert rate.corrected is not None
    assert rate.naive.n == 2000
    assert rate.naive.value == pytest.approx(0.6, abs=0.03)
    assert rate.corrected.estimate.value == pytest.approx(0.6, abs=0.05)
    assert "pass_rate" in audit(stored_pairs(partly_labelled(tmp_path)), chosen="random").figures()


def test_cases_labelled_by_people_s_label_are_part_of_the_run_they_correct(tmp_path: Path) -> None:
    """Of 100 fails 80 have a label, of 900 passes 80: what has no label is all but free of fails."""
    rng = np.random.default_rng(1)
    good = np.arange(1000) >= 100
    said = np.where(good, rng.random(1000) < 0.9, rng.random(1000) < 0.1)
    records = records_of(
        ["pass" if each else "fail" for each in good.tolist()], ["pass" if each else "fail" for each in said.tolist()]
    )
    for record in [*records[80:100], *records[180:]]:
        record["gold"] = {}
    rate = audit(stored_pairs(write_records(tmp_path, records)), chosen="by-gold").rate
    assert rate is not None
    assert rate.corrected is not None
    assert rate.corrected.judge_only.n == 1000
    assert rate.corrected.judge_only.value == rate.naive.value
    assert rate.corrected.estimate.value == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    ("chosen", "estimator", "supported"),
    [
        ("unknown", "post_stratified", False),
        ("by-verdict", "post_stratified", True),
        ("by-gold", "rogan_gladen", True),
        ("by-hand", None, False),
        ("tuning", None, False),
    ],
)
def test_how_the_cases_were_chosen_decides_what_may_be_said(
    tmp_path: Path, chosen: Chosen, estimator: str | None, supported: bool
) -> None:
    rate = audit(stored_pairs(partly_labelled(tmp_path)), chosen=chosen).rate
    assert rate is not None
    assert rate.supported == supported
    assert (None if rate.corrected is None else rate.corrected.estimator) == estimator


def test_a_rate_that_only_describes_the_labelled_cases_is_refused_as_one_of_the_run() -> None:
    allowed: tuple[tuple[Chosen, str], ...] = (
        ("unknown", "kappa"), ("random", "kappa"), ("by-verdict", "precision"), ("by-gold", "recall")
    )  # fmt: skip
    for chosen, name in allowed:
        check_value(name, chosen)
    refused: tuple[tuple[Chosen, str, str], ...] = (
        ("by-verdict", "kappa", "npv and precision hold"),
        ("by-verdict", "recall", "label a random sample"),
        ("by-score", "precision", "no raw rate holds"),
        ("by-gold", "accuracy", "recall and specificity hold"),
        ("by-hand", "recall", "picked by hand"),
        ("tuning", "kappa", "what the judge was tuned on"),
    )
    for chosen, name, message in refused:
        with pytest.raises(InputError, match=message):
            check_value(name, chosen)
