import subprocess
import sys
from typing import TypeAlias, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.post_stratified import post_stratified
from calibration.statistics.ppi import ppi_mean, weighted_ppi
from calibration.statistics.prevalence import (
    Estimator,
    PassRate,
    Selection,
    check_estimator,
    check_population_value,
    true_mean,
    true_pass_rate,
)
from calibration.statistics.rogan_gladen import rogan_gladen
from support.sound import check_sound

Labelled: TypeAlias = tuple[int, int, int]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
HUMAN, JUDGE, OTHERS = [1, 1, 0, 1, 0, 0, 1, 1], [1, 1, 1, 1, 0, 0, 0, 1], [1, 1, 0, 0, 1, 1, 1, 0, 1, 1]
BINS = [3, 3, 3, 3, 1, 1, 1, 3], [3, 3, 1, 1, 3, 3, 3, 1, 3, 3]

bits = st.integers(0, 1)
labelled = st.lists(st.tuples(bits, bits, st.integers(0, 5)), max_size=30)
unlabelled = st.lists(st.tuples(bits, st.integers(3, 12)), max_size=40)


@given(labelled, unlabelled, st.sampled_from(SELECTIONS), st.sampled_from([None, *ESTIMATORS]), st.booleans())
@settings(max_examples=150)
def test_a_rate_is_sound_or_refused(
    items: list[Labelled],
    others: list[tuple[int, int]],
    selection: Selection,
    estimator: Estimator | None,
    clustered: bool,
) -> None:
    y, f, rest = [y for y, _, _ in items], [f for _, f, _ in items], [f for f, _ in others]
    ids = ([c for _, _, c in items], [c for _, c in others]) if clustered else (None, None)
    try:
        check_estimator(selection, estimator or "stratified_ppi")
    except ValueError:
        if estimator is not None or selection == "tuning":
            with pytest.raises(ValueError, match=r"use|label fresh items"):
                true_pass_rate(y, f, rest, selection=selection, estimator=estimator)
            return
    found = true_pass_rate(
        y,
        f,
        rest,
        selection=selection,
        estimator=estimator,
        strata=(f, rest),
        inclusion=[0.1 + 0.9 * each for each in f],
        clusters=ids[0],
        clusters_unlabelled=ids[1],
    )
    check_sound(found)
    assert found.estimate.value is None or 0 <= found.estimate.value <= 1
    assert found.human_only.n == len(y)
    assert found.judge_only.n >= len(rest)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        ("random", "post_stratified"),
        ("by_verdict", "post_stratified"),
        ("by_score", "stratified_ppi"),
        ("by_gold", "rogan_gladen"),
        ("old_error_rates", "rogan_gladen"),
        ("old_predictive_values", "post_stratified"),
    ],
)
def test_how_the_items_were_chosen_decides_the_estimator(selection: Selection, chosen: Estimator) -> None:
    found = true_pass_rate(HUMAN, JUDGE, OTHERS, selection=selection, strata=BINS)
    assert found.estimator == chosen
    assert found.human_only.value == pytest.approx(5 / 8)
    assert found.human_only_is_valid == (selection == "random")


@pytest.mark.parametrize(
    ("selection", "estimator", "remedy"),
    [
        ("by_verdict", "rogan_gladen", "use post_stratified or stratified_ppi"),
        ("by_verdict", "ppi_plus_plus", "use post_stratified or stratified_ppi"),
        ("by_verdict", "human_only", "use post_stratified or stratified_ppi"),
        ("by_score", "post_stratified", "use stratified_ppi or weighted_ppi"),
        ("by_gold", "weighted_ppi", "use rogan_gladen"),
        ("old_error_rates", "weighted_ppi", "use rogan_gladen"),
        ("by_gold", "ppi", "use rogan_gladen"),
        ("by_gold", "post_stratified", "use rogan_gladen"),
        ("old_error_rates", "ppi_plus_plus", "use rogan_gladen"),
        ("old_predictive_values", "rogan_gladen", "use post_stratified"),
        ("tuning", "post_stratified", "cross-fit"),
    ],
)
def test_what_is_not_valid_is_refused_with_what_to_use(selection: Selection, estimator: Estimator, remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        true_pass_rate(HUMAN, JUDGE, OTHERS, selection=selection, estimator=estimator)


def test_labels_of_the_stream_count_among_its_items_and_others_do_not() -> None:
    inside = true_pass_rate(HUMAN, JUDGE, OTHERS, selection="random")
    assert inside.judge_only.n == 18
    assert inside.estimate == post_stratified(HUMAN, JUDGE, OTHERS).estimate
    old = true_pass_rate(HUMAN, JUDGE, OTHERS, selection="old_error_rates")
    assert old.judge_only.n == 10
    assert old.estimate == rogan_gladen(HUMAN, JUDGE, OTHERS).estimate
    moved = true_pass_rate(HUMAN, JUDGE, OTHERS, selection="old_predictive_values")
    assert moved.judge_only.n == 10


def test_labels_that_show_no_error_get_the_post_stratified_interval() -> None:
    y, others = [1] * 20 + [0] * 10, [1] * 450 + [0] * 50
    found = true_pass_rate(y, y, others, selection="random", estimator="ppi_plus_plus")
    expected = post_stratified(y, y, others).estimate
    assert (found.estimate.ci_low, found.estimate.ci_high) == (expected.ci_low, expected.ci_high)
    assert "zero_residual_variance" in found.estimate.flags


def near_the_threshold(seed: int, errors: tuple[float, float, float]) -> tuple[PassRate, PassRate]:
    """Labels as `judges plan-labels --how unsure` draws them: 30, 20 and 10 of three bands of 300 cases, of which the
    judge passes 7 in 10 and errs at these rates. By strata, and by the probabilities of the same choice."""
    random = np.random.default_rng(seed)
    band = np.repeat([0, 1, 2], 300)
    f = random.random(900) < 0.7
    y = f ^ (random.random(900) < np.array(errors)[band])
    drawn = np.zeros(900, dtype=np.bool_)
    for each, size in enumerate((30, 20, 10)):
        drawn[random.choice(np.flatnonzero(band == each), size, replace=False)] = True
    strata = (band[drawn].tolist(), band[~drawn].tolist())
    chances = (np.array([30, 20, 10])[band[drawn]] / 300).tolist()
    columns = y[drawn], f[drawn], f[~drawn]
    return (
        true_pass_rate(*columns, selection="by_score", strata=strata),
        true_pass_rate(*columns, selection="by_score", inclusion=chances),
    )


@pytest.mark.parametrize("errors", [(0.3, 0.1, 0.05), (0.05, 0.05, 0.05), (0.1, 0.05, 0.1)])
def test_a_stratum_without_an_error_among_its_labels_does_not_make_the_interval_too_short(
    errors: tuple[float, float, float],
) -> None:
    """By the residuals alone such intervals cover the rate 56% to 90% of the time."""
    truth = float(np.mean([0.7 * (1 - each) + 0.3 * each for each in errors]))
    for way in (0, 1):
        rates = [near_the_threshold(seed, errors)[way].estimate for seed in range(150)]
        covered = [r.ci_low is not None and r.ci_high is not None and r.ci_low <= truth <= r.ci_high for r in rates]
        assert np.mean(covered) >= 0.91


def test_unequal_probabilities_alone_ask_for_the_weighted_mean() -> None:
    by_strata, by_chance = near_the_threshold(3, (0.3, 0.2, 0.2))
    assert (by_strata.estimator, by_chance.estimator) == ("stratified_ppi", "weighted_ppi")
    assert by_chance.estimate.value == pytest.approx(by_strata.estimate.value, abs=0.05)
    with pytest.raises(ValueError, match="give `inclusion`"):
        true_pass_rate(HUMAN, JUDGE, OTHERS, selection="by_score", estimator="weighted_ppi")


def test_strata_of_the_verdict_without_errors_are_post_stratified() -> None:
    y, others = [1] * 20 + [0] * 10, [1] * 450 + [0] * 50
    found = true_pass_rate(y, y, others, selection="by_verdict", estimator="stratified_ppi", strata=(y, others))
    expected = post_stratified(y, y, others).estimate
    assert (found.estimate.ci_low, found.estimate.ci_high) == pytest.approx((expected.ci_low, expected.ci_high))
    assert found.estimate.flags == ("zero_residual_variance",)


def test_the_verdict_as_stratum_gives_the_post_stratified_rate() -> None:
    random = np.random.default_rng(8)
    y = random.integers(0, 2, 80)
    f = np.where(random.random(80) < 0.8, y, 1 - y)
    others = random.integers(0, 2, 300)
    first = true_pass_rate(y, f, others, selection="by_verdict")
    second = true_pass_rate(
        y, f, others, selection="by_verdict", estimator="stratified_ppi", strata=(f.tolist(), others.tolist())
    )
    assert second.estimate.value == pytest.approx(first.estimate.value)


def test_strata_are_asked_for_where_they_are_needed() -> None:
    with pytest.raises(ValueError, match="give `strata`"):
        true_pass_rate(HUMAN, JUDGE, OTHERS, selection="by_score")
    with pytest.raises(ValueError, match="strata don't fit"):
        true_pass_rate(HUMAN, JUDGE, OTHERS, selection="by_score", strata=([1], [1]))


def test_scores_are_estimated_by_ppi_plus_plus_with_judge_and_humans_beside() -> None:
    random = np.random.default_rng(9)
    y = random.normal(3, 1, 150)
    f, others = y + random.normal(0, 0.5, 150), random.normal(3, 1.2, 900)
    found = true_mean(y, f, others, selection="random")
    assert found.estimator == "ppi_plus_plus"
    assert found.estimate == ppi_mean(y, f, others).normal
    assert found.judge_only.value == pytest.approx(float(np.concatenate([f, others]).mean()))
    assert found.human_only.value == pytest.approx(float(y.mean()))
    check_sound(found)
    selections: tuple[Selection, ...] = ("by_gold", "old_error_rates", "old_predictive_values")
    for selection in selections:
        with pytest.raises(ValueError, match="use a random sample of this stream"):
            true_mean(y, f, others, selection=selection)
    with pytest.raises(ValueError, match="is for truth values: use ppi_plus_plus"):
        true_mean(y, f, others, selection="random", estimator="rogan_gladen")
    with pytest.raises(ValueError, match="cross-fit"):
        true_mean(y, f, others, selection="tuning")
    strata = ((y > 3).tolist(), (others > 3).tolist())
    assert true_mean(y, f, others, selection="by_score", strata=strata).estimator == "stratified_ppi"
    weighted = true_mean(y, f, others, selection="by_score", inclusion=[0.2] * 150)
    assert weighted.estimator == "weighted_ppi"
    assert weighted.estimate == weighted_ppi(y, f, others, [0.2] * 150).normal
    assert true_mean(y, f, others, selection="random", estimator="human_only").estimate == found.human_only


def test_scores_that_show_no_error_of_the_judge_have_no_interval() -> None:
    found = true_mean([1.0, 2.5, 3.0], [1.0, 2.5, 3.0], [1.0, 2.0, 4.0, 3.0], selection="random")
    assert found.estimate.value is not None
    assert found.estimate.ci_low is None
    assert found.estimate.reason == "singular"


def test_a_rate_that_only_describes_the_labelled_items_is_refused_as_a_value_of_the_stream() -> None:
    for name in ("accuracy", "precision", "kappa"):
        with pytest.raises(ValueError, match="recall and specificity hold"):
            check_population_value(name, "by_gold")
    check_population_value("recall", "by_gold")
    check_population_value("precision", "by_verdict")
    with pytest.raises(ValueError, match="npv and precision hold"):
        check_population_value("recall", "by_verdict")
    with pytest.raises(ValueError, match="no raw rate holds"):
        check_population_value("precision", "by_score")
    check_population_value("kappa", "random")
    with pytest.raises(ValueError, match="is none of"):
        check_population_value("f2", "random")


def test_importing_these_modules_does_not_load_scipy() -> None:
    names = "prevalence", "power", "probes", "scale", "systems", "ppi", "rogan_gladen", "post_stratified", "contrasts"
    code = (
        f"import sys, {', '.join(f'calibration.statistics.{name}' for name in names)}; "
        "sys.exit(any(name.startswith('scipy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
