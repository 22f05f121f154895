import json
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.power import (
    allocate_gold_classes,
    gold_fails,
    minimum_detectable_effect,
    plan_difference,
    plan_kappa_halfwidth,
    plan_kappa_test,
    plan_mcnemar,
    plan_ppi,
    plan_proportion,
    plan_zero_errors,
)
from judges.intervals import normal_quantile


def wilson_half(p: float, n: int) -> float:
    z = normal_quantile(0.95)
    return z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))


@given(st.floats(0, 1), st.floats(0.01, 0.49))
@settings(max_examples=80)
def test_one_item_fewer_would_be_too_few_for_a_proportion(p: float, half_width: float) -> None:
    plan = plan_proportion(p, half_width)
    n = plan.wilson.n
    assert wilson_half(p, n) <= half_width
    assert n == 1 or wilson_half(p, n - 1) > half_width * (1 - 1e-12)
    assert plan.half_width == pytest.approx(wilson_half(p, n))
    json.dumps(plan.to_record(), allow_nan=False)


@given(st.floats(0.001, 0.5), st.floats(0.001, 0.5))
@settings(max_examples=80)
def test_one_item_fewer_would_be_too_few_to_rule_errors_out(max_error: float, delta: float) -> None:
    n = plan_zero_errors(max_error, delta).n
    assert (1 - max_error) ** n <= delta
    assert (1 - max_error) ** (n - 1) > delta * (1 - 1e-9)


def test_the_rule_of_three_is_close_to_the_exact_number() -> None:
    assert plan_zero_errors(0.05, 0.05).n == 59
    assert plan_zero_errors(0.5, 0.25).n == 2  # exact: no rounding up past it


def test_clusters_multiply_the_number_of_items() -> None:
    alone, grouped = plan_proportion(0.85, 0.05).wilson, plan_proportion(0.85, 0.05, deff=2.5).wilson
    assert grouped.n == 490
    assert grouped.n_exact == alone.n
    for plan in (
        plan_kappa_halfwidth(0.7, 0.3, 0.1, deff=2),
        plan_kappa_test(0.4, 0.6, 0.3, deff=2).sample,
        plan_mcnemar(0.14, 0.08, deff=2),
        plan_difference(0.03, 1 / 9, deff=2),
        plan_zero_errors(0.05, 0.05, deff=2),
    ):
        assert 2 * plan.n_exact <= plan.n < 2 * plan.n_exact + 1


def test_a_plan_says_how_many_fails_it_is_likely_to_hold() -> None:
    assert gold_fails(200, 0.95) == pytest.approx(10)
    assert plan_proportion(0.9, 0.05, pass_rate=0.9).wilson.gold_fails == pytest.approx(
        0.1 * plan_proportion(0.9, 0.05).wilson.n
    )
    assert plan_proportion(0.9, 0.05).wilson.gold_fails is None
    assert plan_kappa_halfwidth(0.7, 0.9, 0.1).gold_fails == pytest.approx(0.1 * plan_kappa_halfwidth(0.7, 0.9, 0.1).n)


def test_a_plan_for_zero_errors_says_how_many_fails_it_holds_and_clusters_widen_that_of_a_budget() -> None:
    plan = plan_zero_errors(0.05, 0.05, pass_rate=0.8)
    assert plan.gold_fails == pytest.approx(0.2 * plan.n)
    one, two = (
        plan_ppi(0.8, 0.9, 0.8, n_human=100, n_judge_only=900, cost_human=2, cost_judge=0.05, budget=500, deff=deff)
        for deff in (1.0, 4.0)
    )
    assert (two.optimal_human, two.optimal_judge_only) == (one.optimal_human, one.optimal_judge_only)
    assert two.half_width == pytest.approx(2 * one.half_width)
    assert (two.human_only_se, two.ppi_se) == pytest.approx((2 * one.human_only_se, 2 * one.ppi_se))
    assert one.rogan_gladen_se is not None
    assert two.rogan_gladen_se == pytest.approx(2 * one.rogan_gladen_se)


@given(st.floats(0.05, 0.95), st.floats(0.55, 0.99), st.floats(0.55, 0.99), st.floats(0.001, 2.0))
@settings(max_examples=60)
def test_the_whole_budget_in_labels_is_never_better_than_the_plan(
    theta: float, tpr: float, tnr: float, cost_judge: float
) -> None:
    plan = plan_ppi(theta, tpr, tnr, n_human=100, n_judge_only=1000, cost_human=1.0, cost_judge=cost_judge, budget=300)
    assert plan.half_width <= normal_quantile(0.95) * sqrt(theta * (1 - theta) / 300) * (1 + 1e-9)
    spent = plan.optimal_human_exact
    if plan.optimal_judge_only_exact:
        spent += cost_judge * (plan.optimal_human_exact + plan.optimal_judge_only_exact)
    assert spent == pytest.approx(300)


@given(st.floats(0.05, 0.95), st.floats(0.55, 0.99), st.floats(0.55, 0.99), st.floats(0.001, 2.0))
@settings(max_examples=60)
def test_no_other_split_of_the_budget_beats_the_plan(theta: float, tpr: float, tnr: float, cost_judge: float) -> None:
    plan = plan_ppi(theta, tpr, tnr, n_human=100, n_judge_only=1000, cost_human=1.0, cost_judge=cost_judge, budget=300)
    json.dumps(plan.to_record(), allow_nan=False)
    squared = plan.correlation**2
    best = plan.half_width
    for share in (0.5, 0.9, 0.99, 1.01, 1.1):
        n = plan.optimal_human_exact * share
        spent = n * (1 + cost_judge)
        others = (300 - spent) / cost_judge
        if others >= 0:
            variance = theta * (1 - theta) / n * (1 - squared * others / (n + others))
            assert normal_quantile(0.95) * sqrt(variance) >= best * (1 - 1e-9)
    assert 1.0 * plan.optimal_human_exact <= 300 + 1e-9


def test_a_judge_dearer_than_what_it_saves_gets_nothing() -> None:
    plan = plan_ppi(0.8, 0.6, 0.6, n_human=100, n_judge_only=0, cost_human=1.0, cost_judge=1.0, budget=100)
    assert plan.optimal_judge_only == 0
    assert plan.optimal_human_exact == pytest.approx(100)
    assert plan.effective_labels == pytest.approx(100)
    assert plan.rogan_gladen_se is None


def test_a_judge_that_says_one_thing_or_the_opposite_saves_nothing() -> None:
    for tpr, tnr in ((1.0, 0.0), (0.2, 0.3)):
        plan = plan_ppi(0.8, tpr, tnr, n_human=50, n_judge_only=500, cost_human=1.0, cost_judge=0.01, budget=100)
        assert plan.max_saving == 1
        assert plan.ppi_se == pytest.approx(plan.human_only_se)


def test_the_gold_classes_are_split_as_no_other_split_is_better() -> None:
    plan = allocate_gold_classes(0.8, 0.9, 0.7, 200)

    def variance(positive: float) -> float:
        return plan.theta**2 * 0.09 / positive + (1 - plan.theta) ** 2 * 0.21 / (200 - positive)

    best = variance(plan.gold_positive_exact)
    assert all(variance(plan.gold_positive_exact + shift) > best for shift in (-5, -1, 1, 5))


def test_more_power_needs_more_items() -> None:
    assert plan_kappa_test(0.4, 0.6, 0.3, power=0.9).sample.n > plan_kappa_test(0.4, 0.6, 0.3).sample.n
    assert plan_mcnemar(0.14, 0.08, power=0.9).n > plan_mcnemar(0.14, 0.08).n
    assert minimum_detectable_effect(400, 0.1, power=0.9) > minimum_detectable_effect(400, 0.1)


def test_the_effect_that_n_items_show_needs_n_items() -> None:
    effect = minimum_detectable_effect(500, 0.12, 0.1, 0.2, 2, 4)
    assert plan_difference(effect, 0.12, 0.1, 0.2, 2, 4).n_exact == pytest.approx(500)


def test_mcnemar_does_not_mind_which_system_is_the_better() -> None:
    assert plan_mcnemar(0.14, 0.08) == plan_mcnemar(0.08, 0.14)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="half width is 0: give a number above 0"):
        plan_proportion(0.5, 0)
    with pytest.raises(ValueError, match=r"half width is 0\.5"):
        plan_proportion(0.5, 0.5)
    with pytest.raises(ValueError, match="prevalence is 1"):
        plan_kappa_halfwidth(0.5, 1, 0.1)
    with pytest.raises(ValueError, match="kappa is 1"):
        plan_kappa_halfwidth(1, 0.5, 0.1)
    with pytest.raises(ValueError, match="are the same"):
        plan_kappa_test(0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="power is 1"):
        plan_kappa_test(0.4, 0.5, 0.5, power=1)
    with pytest.raises(ValueError, match="without errors"):
        plan_ppi(0.8, 1, 1, n_human=10, n_judge_only=10, cost_human=1, cost_judge=1, budget=10)
    with pytest.raises(ValueError, match="tells nothing"):
        allocate_gold_classes(0.5, 0.5, 0.5, 100)
    with pytest.raises(ValueError, match="difference of the two shares is 0"):
        plan_mcnemar(0.1, 0.1)
    with pytest.raises(ValueError, match="design effect of 0"):
        plan_mcnemar(0.1, 0.2, deff=0)
    with pytest.raises(ValueError, match="at least one answer"):
        minimum_detectable_effect(10, 0.1, repeats_a=0)
