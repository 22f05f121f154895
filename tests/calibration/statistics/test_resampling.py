import json
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from calibration.statistics.resampling import (
    ResampleMethod,
    bootstrap_items,
    jackknife_se,
    resample,
    resample_table,
)
from judges.intervals import (
    proportion_interval,
)


def share_of_totals(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """First part over the sum of both."""
    whole = totals.sum(axis=1)
    return np.where(whole > 0, totals[:, 0] / np.where(whole > 0, whole, 1.0), np.nan)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_bootstrap_of_a_proportion_comes_close_to_wilson(method: ResampleMethod) -> None:
    result = resample(np.eye(2), np.array([60, 140]), seed=4).interval(share_of_totals, method=method)
    assert (result.low, result.high) == pytest.approx(proportion_interval(60, 200), abs=0.01)
    assert result.undefined_share == 0


def test_drawing_clusters_draws_wider_than_drawing_items() -> None:
    by_item = resample(np.eye(2), np.array([600, 600])).interval(share_of_totals)
    by_case = resample(np.array([[6, 0], [0, 6]]), np.array([100, 100])).interval(share_of_totals)
    assert by_item.low is not None
    assert by_item.high is not None
    assert by_case.low is not None
    assert by_case.high is not None
    assert (by_case.high - by_case.low) / (by_item.high - by_item.low) == pytest.approx(sqrt(6), rel=0.1)


def test_one_seed_gives_one_interval() -> None:
    first, again, other = (resample(np.eye(2), np.array([7, 9]), seed=seed) for seed in (1, 1, 2))
    assert first.interval(share_of_totals) == again.interval(share_of_totals)
    assert not np.array_equal(first.drawn, other.drawn)


def test_the_bca_corrections_of_a_mean_are_efron_s() -> None:
    """The acceleration of a mean is its skewness over 6 sqrt(n). Efron 1987, section 4."""
    values = np.random.default_rng(5).exponential(size=40)
    units = np.stack([values, np.ones(40)], axis=1)
    result = resample(units, seed=6).interval(lambda totals: totals[:, 0] / totals[:, 1])
    centred = values - values.mean()
    skewness = float((centred**3).sum()) / 40 / float(values.std()) ** 3
    assert result.acceleration == pytest.approx(skewness / (6 * sqrt(40)))
    assert result.z0 == pytest.approx(0.0, abs=0.1)
    plain = resample(units, seed=6).interval(lambda totals: totals[:, 0] / totals[:, 1], method="percentile")
    assert result.low is not None
    assert plain.low is not None
    assert result.low > plain.low


def test_resamples_that_tie_with_the_estimate_count_half() -> None:
    result = resample(np.eye(2), np.array([1, 1])).interval(share_of_totals)
    assert result.z0 == pytest.approx(0.0, abs=0.04)


def test_a_bootstrap_interval_is_widened_to_hold_its_estimate() -> None:
    def kinds_seen(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.count_nonzero(totals, axis=1), dtype=np.float64)

    result = resample(np.eye(20)).interval(kinds_seen, method="percentile")
    assert result.low is not None
    assert result.low < 13
    assert result.high == 20


def test_many_resamples_without_a_value_leave_no_interval() -> None:
    def only_with_the_rare(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(totals[:, 0] > 0, totals[:, 1], np.nan)

    result = resample(np.eye(2), np.array([2, 20])).interval(only_with_the_rare)
    assert (result.low, result.high, result.reason) == (None, None, "many_undefined_resamples")
    assert result.undefined_share == pytest.approx((20 / 22) ** 22, abs=0.02)
    json.dumps(result.to_record(), allow_nan=False)


def test_resamples_that_never_vary_say_so() -> None:
    assert not resample(np.eye(2), np.array([0, 12])).interval(share_of_totals).varies
    assert resample(np.eye(2), np.array([1, 11])).interval(share_of_totals).varies


def test_too_few_resamples_are_refused() -> None:
    few = resample(np.eye(2), np.array([5, 5]), resamples=2_000)
    assert few.interval(share_of_totals, method="percentile").low is not None
    with pytest.raises(ValueError, match="10000 or more"):
        few.interval(share_of_totals)


def test_items_drawn_one_by_one_give_the_interval_of_totals() -> None:
    values = np.random.default_rng(7).random(60)
    clusters = [number // 3 for number in range(60)]
    found = bootstrap_items(lambda chosen: float(values[chosen].mean()), 60, clusters, seed=8)
    units = np.stack([values.reshape(20, 3).sum(axis=1), np.full(20, 3.0)], axis=1)
    totals = resample(units, seed=9).interval(lambda totals: totals[:, 0] / totals[:, 1], method="percentile")
    assert (found.low, found.high) == pytest.approx((totals.low, totals.high), abs=0.015)
    by_bca = bootstrap_items(lambda chosen: float(values[chosen].mean()), 60, clusters, method="bca", resamples=10_000)
    accelerated = resample(units).interval(lambda totals: totals[:, 0] / totals[:, 1])
    assert by_bca.acceleration == pytest.approx(accelerated.acceleration)


def test_a_statistic_that_is_undefined_for_some_draws_counts_them() -> None:
    found = bootstrap_items(lambda chosen: None if 0 not in chosen else float(chosen.mean()), 10)
    assert found.reason == "many_undefined_resamples"
    assert found.undefined_share == pytest.approx(0.9**10, abs=0.05)


def test_a_jackknife_that_loses_the_value_has_no_standard_error() -> None:
    assert jackknife_se(np.array([[1.0, 1.0], [0.0, 0.0]]), share_of_totals) is None


def test_a_table_is_drawn_as_its_cells_are_as_units() -> None:
    counts = np.array([30, 0, 5, 65])
    used = np.flatnonzero(counts)
    table, cells = resample_table(counts, seed=3), resample(np.eye(4)[used], counts[used], seed=3)
    for one, other in (
        (table.observed, cells.observed),
        (table.drawn, cells.drawn),
        (table.left_out, cells.left_out),
        (table.counts, cells.counts),
    ):
        assert np.array_equal(one, other)
    with pytest.raises(ValueError, match="nothing to resample"):
        resample_table(np.zeros(4, dtype=np.int64))
