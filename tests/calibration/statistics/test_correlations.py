"""The difference of two correlations with the same people's numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from calibration.statistics.correlations import Correlation, correlation_difference
from support.sound import check_sound

Numbers = NDArray[np.float64]
KINDS: tuple[Correlation, ...] = ("spearman", "pearson")


def noisy(n: int, seed: int, *noise: float) -> tuple[Numbers, ...]:
    """People's numbers, and judges that see them through so much noise."""
    generator = np.random.default_rng(seed)
    human = generator.normal(size=n)
    return human, *(human + each * generator.normal(size=n) for each in noise)


def reference(x: Numbers, y: Numbers, kind: Correlation) -> float:
    return float(spearmanr(x, y).statistic if kind == "spearman" else pearsonr(x, y).statistic)


@pytest.mark.parametrize("kind", KINDS)
def test_both_correlations_are_those_of_the_reference_library(kind: Correlation) -> None:
    human, a, b = noisy(60, 1, 0.5, 2.0)
    found = correlation_difference(human.round(1), a.round(1), b.round(1), kind)
    expected = [reference(human.round(1), each.round(1), kind) for each in (a, b)]
    assert found.correlation_a.value == pytest.approx(expected[0])
    assert found.correlation_b.value == pytest.approx(expected[1])
    assert found.difference.value == pytest.approx(expected[0] - expected[1])
    check_sound(found)


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_is_that_of_resampling_rows_by_hand(kind: Correlation) -> None:
    human, a, b = noisy(40, 2, 0.7, 1.5)
    generator = np.random.default_rng(5)
    drawn: list[float] = []
    for _ in range(2_000):
        at = generator.integers(40, size=40)
        drawn.append(reference(human[at], a[at], kind) - reference(human[at], b[at], kind))
    found = correlation_difference(human, a, b, kind, seed=5)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.difference.ci_low == pytest.approx(low)
    assert found.difference.ci_high == pytest.approx(high)
    assert found.difference.se == pytest.approx(float(np.std(drawn, ddof=1)))
    rarer = min(sum(each <= 0 for each in drawn), sum(each >= 0 for each in drawn))
    assert found.p_value == pytest.approx(min(1.0, 2 * (1 + rarer) / 2_001))


def test_a_better_judge_is_found_and_of_two_alike_neither() -> None:
    human, good, bad, other = noisy(200, 3, 0.5, 3.0, 3.0)
    better = correlation_difference(human, good, bad)
    assert better.p_value is not None
    assert better.p_value < 0.01
    assert better.difference.ci_low is not None
    assert better.difference.ci_low > 0
    alike = correlation_difference(human, bad, other)
    assert alike.p_value is not None
    assert alike.p_value > 0.05


def test_pairing_tells_more_than_two_samples_would() -> None:
    human, a = noisy(100, 4, 1.0)
    b = a + 0.1 * np.random.default_rng(9).normal(size=100)
    found = correlation_difference(human, a, b)
    assert found.difference.se is not None
    assert found.difference.se < 0.05  # alone, each correlation has an error of about 0.08


def test_groups_that_say_the_same_thing_again_and_again_add_nothing() -> None:
    human, a, b = noisy(30, 6, 0.5, 1.5)
    once = correlation_difference(human, a, b)
    first, second, third = (np.repeat(each, 10) for each in (human, a, b))
    grouped = correlation_difference(first, second, third, clusters=np.repeat(np.arange(30), 10).tolist())
    assert grouped.difference.n_clusters == 30
    assert grouped.difference.se == pytest.approx(once.difference.se, rel=0.15)
    alone = correlation_difference(first, second, third)
    assert alone.difference.se is not None
    assert once.difference.se is not None
    assert alone.difference.se < once.difference.se / 2


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=0, max_size=12), st.sampled_from(KINDS))
@settings(max_examples=25, deadline=None)
def test_whatever_the_numbers_it_is_sound_and_turns_round_with_the_judges(
    rows: list[tuple[int, int, int]], kind: Correlation
) -> None:
    human, a, b = ([float(row[at]) for row in rows] for at in range(3))
    found = correlation_difference(human, a, b, kind)
    back = correlation_difference(human, b, a, kind)
    check_sound(found)
    assert back.p_value == pytest.approx(found.p_value)
    if found.difference.value is not None:
        assert back.difference.value == pytest.approx(-found.difference.value)


@pytest.mark.parametrize(
    ("a", "b", "reason", "p_value"),
    [
        ([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12], "singular", 1.0),
        ([1, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6], "constant_input", None),
    ],
)
def test_without_a_difference_or_a_correlation_there_is_a_reason(
    a: list[float], b: list[float], reason: str, p_value: float | None
) -> None:
    found = correlation_difference([1, 3, 2, 5, 4, 6], a, b)
    assert (found.difference.reason, found.p_value) == (reason, p_value)


def test_few_items_or_groups_have_no_interval() -> None:
    assert correlation_difference([1, 2, 3], [1, 3, 2], [3, 1, 2]).difference.reason == "too_few"
    one = correlation_difference([1, 2, 3, 4, 5], [1, 3, 2, 4, 5], [3, 1, 2, 5, 4], clusters=["x"] * 5)
    assert one.difference.reason == "too_few_clusters"
    assert correlation_difference([], [], []).difference.reason == "no_data"


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="give one per item"):
        correlation_difference([1, 2], [1, 2, 3], [1, 2])
