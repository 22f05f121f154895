from math import log
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.contrasts import mean_difference
from calibration.statistics.probes import (
    Effect,
    decision_impact,
    effect_of,
    group_error_rates,
    holm_family,
    length_bias,
    perturbation,
    position_bias,
    self_preference,
)
from calibration.statistics.tables import INVALID, Invalid
from judges.figures import Figure
from support.sound import check_sound, figures_in

Verdict = str | Invalid | None

verdicts = st.sampled_from(["A", "B", "tie", INVALID, None])
pairs = st.lists(st.tuples(verdicts, verdicts, st.integers(0, 5)), max_size=30)
bits = st.integers(0, 1)
lengths = st.lists(st.tuples(st.floats(-2, 2) | st.just(0.0), bits, bits, st.integers(0, 7)), max_size=40)
scored = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), bits, st.integers(0, 6)), max_size=30)


def same(one: object, other: object) -> None:
    """All figures of two results are the same, but for rounding."""
    for left, right in zip(figures_in(one), figures_in(other), strict=True):
        for name in ("value", "ci_low", "ci_high"):
            a, b = getattr(left, name), getattr(right, name)
            assert (a is None) == (b is None)
            assert a is None or a == pytest.approx(b, rel=1e-5, abs=1e-6)


@given(pairs, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_a_probe_of_position_is_sound_in_any_order(
    rows: list[tuple[Verdict, Verdict, int]], clustered: bool, random: Random
) -> None:
    results = [
        position_bias(
            [x for x, _, _ in each], [y for _, y, _ in each], clusters=[c for *_, c in each] if clustered else None
        )
        for each in (rows, random.sample(rows, len(rows)))
    ]
    found = results[0]
    check_sound(found)
    same(*results)
    assert found.n + found.invalid == len(rows)
    assert found.n == found.consistent + found.first_both + found.second_both + found.inconsistent_other


def test_turning_the_orders_round_turns_the_bias_round() -> None:
    ab, ba = ["A", "A", "B", "tie", "A"], ["B", "B", "B", "A", "tie"]
    one, two = position_bias(ab, ba), position_bias(ba, ab)
    assert one.bias.figure.value == pytest.approx(0.4)
    assert two.bias.figure.value == pytest.approx(-0.4)
    assert one.first_slot_share.value == pytest.approx(1 - (two.first_slot_share.value or 0))


def test_a_null_result_is_reported_as_a_bound() -> None:
    found = position_bias(["A"] * 200, ["A"] * 200).bias
    assert found.figure.value == 0
    assert found.p_value == 1
    assert found.bound == pytest.approx(max(abs(found.figure.ci_low or 0), abs(found.figure.ci_high or 0)))
    assert 0 < (found.bound or 0) < 0.02
    assert found.to_record()["bound"] == found.bound


def test_verdicts_that_are_not_declared_are_refused() -> None:
    with pytest.raises(ValueError, match="pair 1: verdict 'C' is none of"):
        position_bias(["A", "C"], ["A", "A"])
    with pytest.raises(ValueError, match="one per pair and order"):
        position_bias(["A"], [])
    with pytest.raises(ValueError, match="must read differently"):
        position_bias([], [], a="x", b="x")


@given(lengths, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_a_probe_of_length_is_sound_in_any_order(
    rows: list[tuple[float, int, int, int]], clustered: bool, random: Random
) -> None:
    results = [
        length_bias(
            [x for x, *_ in each],
            [h for _, h, _, _ in each],
            [j for *_, j, _ in each],
            clusters=[c for *_, c in each] if clustered else None,
        )
        for each in (rows, random.sample(rows, len(rows)))
    ]
    check_sound(results[0])
    assert results[0].excess.figure.value == results[1].excess.figure.value
    assert (results[0].effect.figure.value is None) == (results[1].effect.figure.value is None)


def test_a_judge_that_always_takes_the_longer_answer_is_singular_but_has_an_excess() -> None:
    random = np.random.default_rng(7)
    x = random.normal(0, 1, 100)
    human = random.integers(0, 2, 100)
    found = length_bias(x, human, x > 0)
    assert found.effect.figure.reason == "singular"
    assert found.odds_ratio_per_doubling.value is None
    assert found.judge_prefers_longer.value == 1
    assert (found.excess.figure.ci_low or 0) > 0.2


@pytest.mark.parametrize("human", [[0] * 40, [1] * 40])
def test_people_who_always_prefer_one_side_leave_length_uncontrolled_only(human: list[int]) -> None:
    random = np.random.default_rng(7)
    x = random.normal(0, 1, 40)
    found = length_bias(x, human, random.random(40) < 1 / (1 + np.exp(-x)))
    assert found.effect.figure.reason == "singular"
    assert found.uncontrolled is not None


def test_a_known_preference_for_length_is_found() -> None:
    random = np.random.default_rng(8)
    x, human = random.normal(0, 0.7, 20_000), random.integers(0, 2, 20_000)
    judge = random.random(20_000) < 1 / (1 + np.exp(-(0.2 + 0.9 * x + 2 * (human - 0.5))))
    found = length_bias(x, human, judge)
    assert found.effect.figure.value == pytest.approx(0.9, abs=0.08)
    assert found.human == pytest.approx(2, abs=0.1)
    assert found.odds_ratio_per_doubling.value == pytest.approx(2 ** (found.effect.figure.value or 0))


def test_lengths_that_differ_by_rounding_alone_predict_nothing() -> None:
    found = length_bias([0.0, 1e-271, 1e-271, 0.0] * 3, [0, 0, 1, 1] * 3, [0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0])
    assert found.effect.figure.reason == "singular"
    assert found.uncontrolled is None


def test_pairs_of_equal_length_have_no_longer_answer() -> None:
    found = length_bias([0.0, log(2), -log(3)], [1, 1, 0], [1, 1, 1])
    assert found.judge_prefers_longer.n == 2
    assert found.judge_prefers_longer.n_dropped == 1


@given(scored, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_a_probe_of_self_preference_is_sound_in_any_order(
    rows: list[tuple[int, int, int, int]], clustered: bool, random: Random
) -> None:
    results = [
        self_preference(
            [j for j, *_ in each],
            [h for _, h, _, _ in each],
            [own for *_, own, _ in each],
            clusters=[c for *_, c in each] if clustered else None,
        )
        for each in (rows, random.sample(rows, len(rows)))
    ]
    check_sound(results[0])
    same(*results)


def test_self_preference_without_clusters_is_that_with_clusters_of_one() -> None:
    random = np.random.default_rng(2)
    j, h, own = random.integers(1, 6, 40), random.integers(1, 6, 40), random.integers(0, 2, 40)
    alone, single = self_preference(j, h, own), self_preference(j, h, own, clusters=list(range(40)))
    assert single.effect.figure.ci_low == pytest.approx(alone.effect.figure.ci_low)
    assert single.effect.figure.deff == pytest.approx(1)


def test_a_judge_harsh_on_all_alike_shows_no_self_preference() -> None:
    found = self_preference([1, 2, 3, 2, 1, 3], [2, 4, 3, 3, 3, 3], [1, 1, 1, 0, 0, 0])
    assert found.effect.figure.value == pytest.approx(0)


def test_one_family_alone_can_not_be_compared() -> None:
    found = self_preference([1, 2], [1, 2], [1, 1])
    assert found.effect.figure.reason == "single_category"
    assert found.judge_other is None


@given(st.lists(st.tuples(bits, bits, bits, st.integers(0, 5)), max_size=40), st.booleans())
@settings(max_examples=80)
def test_error_rates_of_groups_are_sound(rows: list[tuple[int, int, int, int]], clustered: bool) -> None:
    found = group_error_rates(
        [y for y, *_ in rows],
        [f for _, f, _, _ in rows],
        [g for *_, g, _ in rows],
        clusters=[c for *_, c in rows] if clustered else None,
    )
    check_sound(found)
    assert found.tpr.first.n + found.tpr.second.n + found.fpr.first.n + found.fpr.second.n == len(rows)


@given(scored, st.booleans())
@settings(max_examples=60)
def test_a_perturbation_is_sound(rows: list[tuple[int, int, int, int]], clustered: bool) -> None:
    found = perturbation(
        [x for x, *_ in rows], [y for _, y, _, _ in rows], clusters=[c for *_, c in rows] if clustered else None
    )
    check_sound(found)
    if rows:
        assert found.flip_rate.value == pytest.approx((found.share_up.value or 0) + (found.share_down.value or 0))


def test_a_family_of_probes_is_adjusted_by_holm() -> None:
    effects = [Effect(Figure(0.1), p, None) for p in (0.04, None, 0.01, 0.03)]
    first, none, second, third = holm_family(effects)
    assert none is None
    assert [first, second, third] == pytest.approx([0.06, 0.03, 0.06])
    assert holm_family([]) == ()


def test_the_impact_of_a_bias_is_scaled_by_how_differently_systems_are_exposed() -> None:
    effect = effect_of(mean_difference([0.5, 0.1, 0.4, 0.6, 0.2])).figure
    one, two = decision_impact(effect, 0.9, 0.4), decision_impact(effect, 0.4, 0.9)
    assert effect.value is not None
    assert one.value == pytest.approx(0.5 * effect.value)
    assert two.value == pytest.approx(-0.5 * effect.value)
    assert one.ci_high is not None
    assert two.ci_low == pytest.approx(-one.ci_high)
    assert one.se == two.se
    check_sound(two)
    assert decision_impact(Figure(None, reason="no_data"), 1, 0).value is None
