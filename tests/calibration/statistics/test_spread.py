"""Where scores lie, kept and compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from calibration.statistics.spread import Spread, shift_of, spread_of

SCORES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), min_size=4, max_size=40)


@given(SCORES, SCORES)
def test_with_few_distinct_scores_the_distance_is_that_of_the_scores_themselves(
    then: list[float], now: list[float]
) -> None:
    assert shift_of(spread_of(then), now).distance == pytest.approx(
        ks_2samp(then, now, method="asymp").statistic, abs=1e-12
    )


@pytest.mark.parametrize("moved", [0.0, 0.02, 0.1])
def test_with_many_it_is_told_to_a_256th_and_its_chance_is_that_of_large_samples(moved: float) -> None:
    rng = np.random.default_rng(1)
    then, now = rng.random(4000), rng.random(3000) * (1 - moved) + moved
    found, wanted = shift_of(spread_of(then), now), ks_2samp(then, now, method="asymp")
    assert wanted.statistic - 2 / 256 <= found.distance <= wanted.statistic + 1e-12
    same = shift_of(spread_of(then[:256]), now)
    exact = ks_2samp(then[:256], now, method="asymp")
    assert same.distance == pytest.approx(exact.statistic)
    assert same.p == pytest.approx(exact.pvalue, rel=0.2, abs=1e-6)


def test_scores_do_not_differ_from_themselves_and_wholly_others_do() -> None:
    scores = np.random.default_rng(2).random(1000)
    same, apart = shift_of(spread_of(scores), scores), shift_of(spread_of(scores), scores + 2)
    assert same.distance < 1 / 255
    assert same.p == pytest.approx(1)
    assert apart.distance == 1
    assert apart.p < 1e-12


def test_groups_make_a_distance_less_telling() -> None:
    then, now = spread_of([0.0, 1.0] * 100), [0.0, 1.0, 1.0] * 60
    assert shift_of(then, now).p < shift_of(then, now, deff=3).p


def test_nothing_has_no_spread_and_a_spread_that_was_tampered_with_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to keep"):
        spread_of([])
    with pytest.raises(ValueError, match="nothing to compare"):
        shift_of(spread_of([0.5]), [])
    for at, counts in (((0.5, 0.5), (1, 1)), ((0.5,), (0,)), ((0.5,), (1, 2)), ((0.1, 0.5), (3, -1))):
        with pytest.raises(ValueError, match=r"of a spread|a spread has"):
            Spread(at, counts, whole=True)
