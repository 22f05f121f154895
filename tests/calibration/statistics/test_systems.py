from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.contrasts import exact_sign_p
from calibration.statistics.systems import (
    average_repeats,
    compare_systems,
    paired_ppi_difference,
    sign_flip_test,
    system_agreement,
)
from support.sound import check_sound

Row = tuple[float, float, int]

grades = st.sampled_from([0.0, 0.25, 0.5, 1.0])
rows = st.lists(st.tuples(grades, grades, st.integers(0, 8)), max_size=30)
bits = st.integers(0, 1)


@given(rows, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_a_comparison_is_sound_in_any_order(items: list[Row], clustered: bool, random: Random) -> None:
    results = [
        compare_systems(
            [a for a, _, _ in each],
            [b for _, b, _ in each],
            clusters=[c for *_, c in each] if clustered else None,
            draws=200,
        )
        for each in (items, random.sample(items, len(items)))
    ]
    found, moved = results
    check_sound(found)
    assert moved.flips == found.flips
    assert moved.difference.ci_low == pytest.approx(found.difference.ci_low)
    assert (found.flips is None) == (not items)
    assert (found.miller is None) == (not clustered or not items)


@given(rows.filter(lambda items: len(items) > 1))
@settings(max_examples=40)
def test_clusters_of_one_item_are_none(items: list[Row]) -> None:
    a, b = [a for a, _, _ in items], [b for _, b, _ in items]
    alone, single = compare_systems(a, b, draws=100), compare_systems(a, b, clusters=list(range(len(a))), draws=100)
    assert single.difference.se == pytest.approx(alone.difference.se)
    assert single.difference.ci_low == pytest.approx(alone.difference.ci_low)
    assert single.flips == alone.flips


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
@settings(max_examples=60)
def test_flips_are_all_counted_where_they_are_few(differences: list[float]) -> None:
    d = np.array(differences)
    all_signs = np.array(list(product([1, -1], repeat=d.size)))
    floor = abs(float(d.sum())) - 1e-9 * float(np.abs(d).sum())
    sums = [abs(float(each)) for each in all_signs @ d]
    expected = sum(each >= floor for each in sums) / len(sums)
    found = sign_flip_test(d)
    assert found.method == "exact"
    assert found.p_value == pytest.approx(expected)


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), max_size=16))
@settings(max_examples=60)
def test_flips_of_right_and_wrong_are_mcnemars_exact_test(differences: list[float]) -> None:
    up, down = differences.count(1.0), differences.count(-1.0)
    assert sign_flip_test(differences).p_value == pytest.approx(exact_sign_p(up, down))


def test_drawn_flips_are_close_to_the_exact_test_and_repeat_with_their_seed() -> None:
    d = [1.0] * 22 + [-1.0] * 9
    drawn = sign_flip_test(d, seed=4)
    assert drawn.method == "drawn"
    assert drawn.draws == 10_000
    assert drawn.p_value == pytest.approx(exact_sign_p(22, 9), abs=0.01)
    assert sign_flip_test(d, seed=4) == drawn
    assert sign_flip_test([1.0] * 60).p_value == 1 / 10_001  # never 0


def test_a_cluster_is_flipped_as_a_whole() -> None:
    d, ids = [0.5, 0.4, 0.6, 0.3, 0.2, 0.7], ["x", "x", "x", "y", "y", "y"]
    assert sign_flip_test(d).p_value == pytest.approx(2 / 64)
    found = sign_flip_test(d, ids)
    assert found.units == 2
    assert found.p_value == pytest.approx(2 / 4)


def test_equal_systems_have_p_1_and_say_that_nothing_varies() -> None:
    found = compare_systems([0.0, 1.0, 1.0], [0.0, 1.0, 1.0])
    assert found.flips is not None
    assert found.flips.p_value == 1
    assert found.test.p_value == 1
    assert "zero_variance_differences" in found.difference.flags
    assert found.discordant is not None
    assert found.discordant.p_mid == 1


def test_right_and_wrong_are_counted_for_independent_items_only() -> None:
    a, b = [1, 1, 1, 0, 1, 0], [0, 0, 1, 1, 0, 0]
    found = compare_systems(a, b).discordant
    assert found is not None
    assert (found.only_a, found.only_b) == (3, 1)
    assert found.p_exact == pytest.approx(0.625)
    assert found.p_mid == pytest.approx(0.625 - 0.25)
    assert compare_systems(a, b, clusters=[0, 0, 1, 1, 2, 2]).discordant is None
    assert compare_systems([0.5, 1], [1, 0]).discordant is None


def test_repeats_count_once_per_item() -> None:
    means = average_repeats([[1.0, 0.0], [1.0], [0.0, 0.0, 1.0]])
    assert means.tolist() == pytest.approx([0.5, 1.0, 1 / 3])
    with pytest.raises(ValueError, match="item 1 has no score"):
        average_repeats([[1.0], []])


labelled = st.lists(st.tuples(bits, bits, bits, bits, st.integers(0, 5)), max_size=25)
others = st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.integers(3, 9)), min_size=1, max_size=40)


@given(labelled, others, st.booleans())
@settings(max_examples=60)
def test_a_difference_corrected_by_humans_is_sound(
    items: list[tuple[int, int, int, int, int]], rest: list[tuple[int, int]], clustered: bool
) -> None:
    columns = [[row[k] for row in items] for k in range(4)]
    ids = ([row[4] for row in items], [c for _, c in rest]) if clustered else (None, None)
    found = paired_ppi_difference(
        columns[0],
        columns[1],
        columns[2],
        columns[3],
        [d for d, _ in rest],
        clusters=ids[0],
        clusters_unlabelled=ids[1],
    )
    check_sound(found)


def test_error_rates_that_differ_between_systems_are_reported() -> None:
    # the judge misses a third of what A gets right, and nothing of what B gets right
    human_a = human_b = [1] * 90 + [0] * 10
    judge_a, judge_b = [1] * 60 + [0] * 40, [1] * 90 + [0] * 10
    found = paired_ppi_difference(human_a, human_b, judge_a, judge_b, [-1] * 100 + [0] * 200)
    assert found.rates_differ
    assert found.tpr is not None
    assert found.tpr.gap.value == pytest.approx(-1 / 3)
    same = paired_ppi_difference(human_a, human_b, judge_b, judge_b, [0] * 300)
    assert not same.rates_differ
    scores = paired_ppi_difference([0.5, 1.0], [0.2, 0.3], [0.4, 0.9], [0.1, 0.4], [0.5, 0.2])
    assert scores.tpr is None


means = st.lists(st.tuples(st.integers(0, 6).map(float), st.integers(0, 6).map(float)), max_size=12)


@given(means, st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_agreement_on_systems_is_sound_in_any_order(systems: list[tuple[float, float]], random: Random) -> None:
    results = [
        system_agreement([h for h, _ in each], [j for _, j in each])
        for each in (systems, random.sample(systems, len(systems)))
    ]
    check_sound(results[0])
    assert results[1].pairwise_accuracy.value == pytest.approx(results[0].pairwise_accuracy.value)
    assert results[1].spearman.value == pytest.approx(results[0].spearman.value)
    assert results[1].same_winner == results[0].same_winner


def test_two_best_systems_leave_the_winner_open() -> None:
    found = system_agreement([0.8, 0.8, 0.3], [0.9, 0.8, 0.1])
    assert found.same_winner is None
    assert found.reason == "tie"
    assert found.pairwise_accuracy.value == 1  # the pair that people tie is left out


def test_a_tie_of_the_judge_counts_half() -> None:
    found = system_agreement([0.1, 0.2, 0.3], [0.5, 0.5, 0.7])
    assert found.pairwise_accuracy.value == pytest.approx(2.5 / 3)
    assert found.same_winner is True


def test_systems_that_people_call_alike_can_not_be_ranked() -> None:
    found = system_agreement([0.5, 0.5], [0.1, 0.2])
    assert found.pairwise_accuracy.reason == "no_pairable"
    assert found.kendall_tau_b.reason == "constant_input"
    assert system_agreement([], []).kendall_tau_b.reason == "no_data"


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="1 of score for 2 items"):
        compare_systems([1, 0], [1])
    with pytest.raises(ValueError, match="give at least one"):
        sign_flip_test([1.0], draws=0)
