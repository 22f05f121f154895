from itertools import chain
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.contrasts import exact_sign_p, mean_difference, rate_gap, sign_test
from support.sound import check_sound

Item: TypeAlias = tuple[float, int]

differences = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-50, 50), st.integers(0, 6)), max_size=30
)
hits = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=30)


@given(differences, st.booleans())
@settings(max_examples=100)
def test_a_mean_difference_is_sound(items: list[Item], clustered: bool) -> None:
    found = mean_difference([d for d, _ in items], [c for _, c in items] if clustered else None)
    check_sound(found)
    assert found.test.p_value is None or 0 <= found.test.p_value <= 1


@given(differences, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_items_decides_nothing(items: list[Item], random: Random) -> None:
    moved = random.sample(items, len(items))
    one, two = (mean_difference([d for d, _ in each], [c for _, c in each]) for each in (items, moved))
    assert two.difference.value == pytest.approx(one.difference.value)
    assert two.difference.se == pytest.approx(one.difference.se, abs=1e-7)
    assert sign_test([d for d, _ in items]) == sign_test([d for d, _ in moved])


@given(differences.filter(lambda items: len(items) > 1))
@settings(max_examples=40)
def test_clusters_of_one_item_are_none(items: list[Item]) -> None:
    d = [d for d, _ in items]
    alone, single = mean_difference(d), mean_difference(d, list(range(len(d))))
    assert single.difference.value == alone.difference.value
    assert single.difference.se == pytest.approx(alone.difference.se, abs=1e-9)
    assert single.difference.ci_low == pytest.approx(alone.difference.ci_low, abs=1e-6)
    assert sign_test(d, list(range(len(d)))) == sign_test(d)


def test_differences_that_are_all_zero_have_p_1_and_an_interval_with_width() -> None:
    found = mean_difference([0.0] * 12)
    assert found.test.p_value == 1
    assert found.difference.se == 0
    assert found.difference.flags == ("small_n", "zero_variance_differences")
    assert found.difference.ci_low is not None
    assert found.difference.ci_low < 0
    assert found.standardised is None


def test_differences_that_are_all_the_same_have_no_t_test() -> None:
    found = mean_difference([0.3] * 12)
    assert found.test.p_value is None
    assert found.difference.reason == "singular"
    assert found.difference.ci_low is None
    assert sign_test([0.3] * 12) == pytest.approx(2 / 2**12)


def test_too_few_items_or_clusters_have_no_interval() -> None:
    assert mean_difference([]).difference.reason == "no_data"
    assert mean_difference([0.5]).difference.reason == "too_few"
    assert mean_difference([0.5, 0.2], ["x", "x"]).difference.reason == "too_few_clusters"


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=60)
def test_the_exact_p_of_signs_minds_no_direction(up: int, down: int) -> None:
    assert exact_sign_p(up, down) == exact_sign_p(down, up)
    assert 0 < exact_sign_p(up, down) <= 1


def test_a_cluster_has_one_sign() -> None:
    assert sign_test([1.0, 1.0, -0.5, 1.0, 1.0, 1.0]) == pytest.approx(exact_sign_p(5, 1))
    assert sign_test([1.0, 1.0, -0.5, 1.0, 1.0, 1.0], [0, 0, 0, 1, 1, 1]) == pytest.approx(exact_sign_p(2, 0))
    assert sign_test([0.1, 0.2, -0.3], [0, 0, 0]) == 1


@given(hits, hits, st.booleans())
@settings(max_examples=100)
def test_a_gap_of_rates_is_sound(
    first: list[tuple[bool, int]], second: list[tuple[bool, int]], clustered: bool
) -> None:
    arrays = [np.array([hit for hit, _ in each], dtype=np.bool_) for each in (first, second)]
    ids = ([c for _, c in first], [c for _, c in second]) if clustered else None
    found = rate_gap(arrays[0], arrays[1], ids)
    check_sound(found)
    assert found.test.p_value is None or 0 <= found.test.p_value <= 1
    turned = rate_gap(arrays[1], arrays[0], None if ids is None else (ids[1], ids[0]))
    if found.gap.ci_low is not None and found.gap.value is not None:
        assert turned.gap.value == pytest.approx(-found.gap.value)
        assert turned.gap.ci_high == pytest.approx(-found.gap.ci_low)


def test_clusters_in_both_groups_take_out_what_they_share() -> None:
    random = np.random.default_rng(6)
    base = random.random(60)
    first, second = base < 0.6, base < 0.55  # the two groups rise and fall together
    ids = list(range(60))
    apart = rate_gap(first, second, (ids, list(range(60, 120)))).gap
    shared = rate_gap(first, second, (ids, ids)).gap
    widths = [(each.ci_high or 0) - (each.ci_low or 0) for each in chain([apart, shared])]
    assert widths[1] < 0.6 * widths[0]
