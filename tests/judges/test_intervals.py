import json
import subprocess
import sys
from collections.abc import Callable
from math import isfinite, sqrt
from random import Random
from time import perf_counter
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from judges.figures import FLAGS, REASONS, Figure
from judges.intervals import (
    INVALID,
    ProportionMethod,
    ResampleMethod,
    bonett_price,
    bootstrap_items,
    cluster_codes,
    influence_se,
    jackknife_se,
    mean,
    mover,
    normal_quantile,
    pair_labels,
    pairs_of_table,
    proportion,
    proportion_interval,
    proportion_of_counts,
    ratio,
    resample,
    signed_share,
    signed_share_of_counts,
    t_quantile,
    to_record,
    two_sided,
)

Items: TypeAlias = list[tuple[float, int]]
"""A score or outcome, and its cluster."""

scores = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 3))
scored_items = st.lists(st.tuples(scores, st.integers(0, 6)), min_size=1, max_size=60)
passed_items = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 6)), min_size=1, max_size=60)


def assert_honest(figure: Figure) -> None:
    """What holds for every figure: an interval around the value, codes that exist, plain JSON."""
    json.dumps(figure.to_record(), allow_nan=False)
    assert set(figure.flags) <= FLAGS
    assert list(figure.flags) == sorted(set(figure.flags))
    assert figure.reason is None or figure.reason in REASONS
    assert (figure.ci_low is None) == (figure.ci_high is None)
    for number in (figure.value, figure.ci_low, figure.ci_high, figure.se, figure.deff):
        assert number is None or isfinite(number)
    if figure.value is None or figure.ci_low is None:
        assert figure.reason is not None
    elif figure.ci_high is not None:
        assert figure.ci_low <= figure.value <= figure.ci_high


def apart(items: Items) -> tuple[NDArray[np.float64], list[int]]:
    return np.array([value for value, _ in items]), [cluster for _, cluster in items]


def proportion_of(items: Items, clustered: bool) -> Figure:
    values, clusters = apart(items)
    return proportion(values > 0.5, clusters if clustered else None)


def mean_of(items: Items, clustered: bool) -> Figure:
    values, clusters = apart(items)
    return mean(values, clusters if clustered else None)


def ratio_of(items: Items, clustered: bool) -> Figure:
    values, clusters = apart(items)
    return ratio(values * 3, np.arange(len(values)) % 2 + 3, clusters if clustered else None)


def signed_share_of(items: Items, clustered: bool) -> Figure:
    values, clusters = apart(items)
    return signed_share(np.sign(values - 0.5).astype(np.int64), clusters if clustered else None)


STATISTICS: list[Callable[[Items, bool], Figure]] = [proportion_of, mean_of, ratio_of, signed_share_of]


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("clustered", [False, True])
@settings(max_examples=60)
@given(items=st.one_of(scored_items, passed_items))
def test_every_figure_holds_its_value_and_is_plain_json(
    statistic: Callable[[Items, bool], Figure], clustered: bool, items: Items
) -> None:
    assert_honest(statistic(items, clustered))


@pytest.mark.parametrize("statistic", [proportion_of, mean_of, signed_share_of])
@pytest.mark.parametrize("clustered", [False, True])
@settings(max_examples=40)
@given(items=st.one_of(scored_items, passed_items), random=st.randoms())
def test_the_order_of_items_does_not_matter(
    statistic: Callable[[Items, bool], Figure], clustered: bool, items: Items, random: Random
) -> None:
    shuffled = random.sample(items, len(items))
    assert_same(statistic(items, clustered), statistic(shuffled, clustered))


def assert_same(one: Figure, other: Figure) -> None:
    for name in ("value", "ci_low", "ci_high", "se", "deff"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9), name
    assert (one.n, one.n_clusters, one.flags, one.reason) == (other.n, other.n_clusters, other.flags, other.reason)


@settings(max_examples=40)
@given(items=scored_items)
def test_cluster_ids_of_any_kind_give_the_same_interval(items: Items) -> None:
    values, clusters = apart(items)
    names = [f"case {cluster}" for cluster in clusters]
    for other in (np.array(clusters), names, np.array(names), [(name, 1) for name in names]):
        assert_same(mean(values, clusters), mean(values, other))


@settings(max_examples=60)
@given(items=passed_items)
def test_clusters_of_one_item_differ_from_none_only_by_t_and_the_small_sample_factor(items: Items) -> None:
    values, _ = apart(items)
    n, p = len(values), float(values.mean())
    figure = proportion(values > 0.5, range(n))
    if n < 2:
        assert figure.reason == "too_few_clusters"
        return
    if 0 < p < 1:
        assert figure.deff == pytest.approx(n / (n - 1))
        effective = (n - 1) * (normal_quantile(0.95) / t_quantile(0.95, n - 1)) ** 2
        assert (figure.ci_low, figure.ci_high) == pytest.approx(proportion_interval(p * effective, effective))
    else:
        assert (figure.ci_low, figure.ci_high) == proportion_interval(p * n, n)


@settings(max_examples=40)
@given(items=scored_items)
def test_a_mean_of_clusters_of_one_item_is_the_mean_of_items(items: Items) -> None:
    values, _ = apart(items)
    if len(values) > 1:
        one, other = mean(values), mean(values, list(range(len(values))))
        assert (one.value, one.ci_low, one.ci_high) == pytest.approx((other.value, other.ci_low, other.ci_high))


def test_a_proportion_with_clusters_follows_the_effective_number_of_items() -> None:
    hits = np.array([1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1], dtype=np.bool_)
    clusters = np.repeat([0, 1, 2, 3, 4, 5], 2)
    sums = np.array([2, 2, 0, 1, 0, 2]) - 2 * 7 / 12
    se = sqrt(6 / 5 * float(np.sum(sums**2))) / 12
    effective = 7 / 12 * 5 / 12 / se**2 * (normal_quantile(0.95) / t_quantile(0.95, 5)) ** 2
    assert effective < 6
    figure = proportion(hits, clusters)
    assert figure.se == pytest.approx(se)
    assert figure.deff == pytest.approx(se**2 / (7 / 12 * 5 / 12 / 12))
    assert (figure.ci_low, figure.ci_high) == pytest.approx(proportion_interval(7 / 12 * effective, effective))
    assert figure.flags == ("few_clusters", "small_n")


def test_a_proportion_of_one_counts_each_cluster_as_one_item() -> None:
    figure = proportion([True] * 40, [number // 4 for number in range(40)])
    assert (figure.ci_low, figure.ci_high) == proportion_interval(10, 10)
    assert (figure.se, figure.deff) == (0.0, None)


def test_clusters_that_cancel_out_count_no_more_items_than_there_are() -> None:
    figure = proportion([True, False] * 20, [number // 2 for number in range(40)])
    assert (figure.ci_low, figure.ci_high) == pytest.approx(proportion_interval(20, 40))
    assert "zero_residual_variance" in figure.flags


def test_one_cluster_has_a_value_and_no_interval() -> None:
    for figure in (proportion([True, False], [1, 1]), mean([0.2, 0.4], ["a", "a"]), signed_share([1, 0], [1, 1])):
        assert figure.value is not None
        assert (figure.ci_low, figure.ci_high, figure.reason) == (None, None, "too_few_clusters")


def test_no_items_are_undefined_and_everything_is_possible() -> None:
    for figure in (proportion([]), proportion([], []), proportion_of_counts(0, 0)):
        assert (figure.value, figure.reason, figure.ci_low, figure.ci_high) == (None, "no_data", 0.0, 1.0)
    assert proportion_of_counts(0, 0, reason="no_positive_gold").reason == "no_positive_gold"
    assert mean([]).reason == "no_data"
    assert ratio([0.0, 0.0], [0.0, 0.0]).reason == "no_data"
    assert signed_share([]).reason == "no_data"


def test_scores_that_do_not_vary_keep_an_interval_with_width() -> None:
    figure = mean([0.1] * 50)
    assert figure.value == pytest.approx(0.1)
    assert figure.flags == ("zero_residual_variance",)
    assert (figure.ci_low, figure.ci_high) == pytest.approx(proportion_interval(5, 50))
    by_case = mean([1.0] * 50, [number // 5 for number in range(50)])
    assert (by_case.ci_low, by_case.ci_high, by_case.method) == (*proportion_interval(10, 10), "wilson")
    assert mean([0.5]).method == "wilson"


def test_a_mean_has_the_t_interval_of_its_standard_error() -> None:
    values = np.array([0.2, 0.4, 0.5, 0.9, 0.7])
    figure, half = mean(values), t_quantile(0.95, 4) * float(values.std(ddof=1)) / sqrt(5)
    assert (figure.ci_low, figure.ci_high) == pytest.approx((0.54 - half, 0.54 + half))
    assert mean([0.0] + [1.0] * 9).ci_high == 1.0


def test_a_ratio_of_sums_has_the_standard_error_of_its_jackknife() -> None:
    generator = np.random.default_rng(3)
    below = generator.integers(1, 6, 400)
    above = generator.binomial(below, 0.7)
    clusters = np.repeat(np.arange(100), 4)
    figure = ratio(above, below, clusters)
    assert figure.value == above.sum() / below.sum()
    units = np.stack([np.bincount(clusters, above), np.bincount(clusters, below)], axis=1)
    assert figure.se == pytest.approx(jackknife_se(units, lambda totals: totals[:, 0] / totals[:, 1]), rel=0.01)


def test_a_ratio_that_never_varies_has_no_interval_unless_it_is_a_share() -> None:
    assert ratio([4.0, 8.0], [2.0, 4.0]).reason == "singular"
    assert ratio([1.0, 2.0], [2.0, 4.0]).method == "wilson"


@settings(max_examples=100)
@given(n=st.integers(1, 300), data=st.data(), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_of_a_proportion_mirror_each_other(n: int, data: st.DataObject, level: float) -> None:
    successes = data.draw(st.integers(0, n))
    methods: list[ProportionMethod] = ["wilson", "clopper_pearson", "jeffreys", "agresti_coull"]
    for method in methods:
        low, high = proportion_interval(successes, n, level=level, method=method)
        other_low, other_high = proportion_interval(n - successes, n, level=level, method=method)
        assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-9)
        assert 0 <= low <= high <= 1


def test_clopper_and_pearson_cover_what_they_promise() -> None:
    from scipy.special import bdtr

    low, high = proportion_interval(7, 40, method="clopper_pearson")
    assert float(1 - bdtr(6, 40, low)) == pytest.approx(0.025)
    assert float(bdtr(7, 40, high)) == pytest.approx(0.025)


def test_wilson_limits_are_where_the_score_test_just_rejects() -> None:
    low, high = proportion_interval(7, 40)
    for limit in (low, high):
        assert abs(7 / 40 - limit) / sqrt(limit * (1 - limit) / 40) == pytest.approx(normal_quantile(0.95))


def test_mover_of_two_wilson_intervals_is_newcombe_s_published_difference() -> None:
    """Newcombe 1998, Statistics in Medicine 17:873, table II, method 10, case (a): 56/70 - 48/80."""
    terms = [(1.0, 56 / 70, *proportion_interval(56, 70)), (-1.0, 48 / 80, *proportion_interval(48, 80))]
    assert mover(terms) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_mover_of_terms_that_move_together_is_their_sum() -> None:
    terms = [(1.0, 0.5, 0.3, 0.6), (2.0, 0.5, 0.3, 0.6)]
    assert mover(terms, correlation=1.0) == pytest.approx((0.9, 1.8))
    low, high = mover(terms)
    assert 0.9 < low < high < 1.8


def test_a_paired_difference_without_any_difference_keeps_an_interval_with_width() -> None:
    figure = signed_share_of_counts(0, 0, 40)
    assert (figure.ci_low, figure.ci_high) == pytest.approx((-0.0659954202071, 0.0659954202071))
    assert figure.flags == ("zero_variance_differences",)
    clustered = signed_share([0] * 40, [number // 4 for number in range(40)])
    assert (clustered.ci_low, clustered.ci_high) == bonett_price(0, 0, 10)


def test_a_paired_difference_by_cluster_is_a_t_test_of_cluster_sums() -> None:
    values, clusters = [1, 1, 0, 0, -1, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    figure = signed_share(values, clusters)
    means = np.array([1, 0, -0.5, 1, 0])
    assert figure.value == pytest.approx(0.3)
    assert figure.se == pytest.approx(float(means.std(ddof=1)) / sqrt(5))
    assert figure.ci_low == pytest.approx(0.3 - t_quantile(0.95, 4) * float(means.std(ddof=1)) / sqrt(5))


# Bootstrap


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
    by_item = resample(np.eye(2), np.array([60, 60])).interval(share_of_totals)
    by_case = resample(np.array([[6, 0], [0, 6]]), np.array([10, 10])).interval(share_of_totals)
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
    skewness = float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)
    assert result.acceleration == pytest.approx(skewness / (6 * sqrt(40)))
    assert result.z0 == pytest.approx(0.0, abs=0.1)
    plain = resample(units, seed=6).interval(lambda totals: totals[:, 0] / totals[:, 1], method="percentile")
    assert result.low is not None
    assert plain.low is not None
    assert result.low > plain.low


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


# Standard errors, tests


def test_the_standard_error_by_cluster_follows_its_formula() -> None:
    influence = np.array([1.0, 2.0, -1.0, -2.0, 0.5, -0.5])
    error = influence_se(influence, np.array([0, 0, 1, 1, 2, 2]), 3)
    assert error.se == pytest.approx(sqrt(3 / 2 * (9 + 9 + 0)) / 6)
    assert error.independent == pytest.approx(sqrt(10.5) / 6)
    assert error.deff == pytest.approx(3 / 2 * 18 / 10.5)


def test_a_jackknife_that_loses_the_value_has_no_standard_error() -> None:
    assert jackknife_se(np.array([[1.0, 1.0], [0.0, 0.0]]), share_of_totals) is None


def test_a_two_sided_test_agrees_with_its_interval() -> None:
    assert two_sided(normal_quantile(0.95), 1.0).p_value == pytest.approx(0.05)
    assert two_sided(-t_quantile(0.9, 5), 1.0, 5).p_value == pytest.approx(0.1)


# Labels


def test_missing_labels_are_dropped_and_counted_and_invalid_answers_are_not() -> None:
    gold, judge = ["a", "b", None, "a", "b", "a"], ["a", INVALID, "a", None, "b", INVALID]
    kept = pair_labels(gold, judge, labels=["a", "b"])
    assert kept.table.tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 0]]
    assert (kept.n, kept.n_dropped, kept.n_invalid) == (4, 2, 2)
    dropped = pair_labels(gold, judge, labels=["a", "b"], invalid="drop")
    assert dropped.table.tolist() == [[1, 0], [0, 1]]
    assert (dropped.n, dropped.n_dropped, dropped.n_invalid) == (2, 4, 2)
    for pairs in (kept, dropped):
        assert (pairs.invalid_rate.value, pairs.invalid_rate.n) == (0.5, 4)
        assert (pairs.invalid_rate.ci_low, pairs.invalid_rate.ci_high) == proportion_interval(2, 4)
        assert "high_drop" in pairs.flags()


def test_invalid_answers_alone_raise_the_flag_of_missing_ones() -> None:
    assert pair_labels([0] * 40, [INVALID] * 3 + [0] * 37, labels=[0, 1]).flags() == ("high_drop",)
    assert pair_labels([0] * 40, [INVALID] * 2 + [0] * 38, labels=[0, 1]).flags() == ()


def test_a_table_with_a_column_more_than_rows_holds_invalid_answers() -> None:
    pairs = pairs_of_table([[3, 1, 2], [0, 4, 1]], labels=["a", "b"])
    gold = ["a"] * 6 + ["b"] * 5
    same = pair_labels(gold, ["a"] * 3 + ["b"] + [INVALID] * 2 + ["b"] * 4 + [INVALID], labels=["a", "b"])
    assert pairs.table.tolist() == same.table.tolist()
    assert pairs.invalid_rate == same.invalid_rate
    assert pairs_of_table([[3, 1, 0], [0, 4, 0]]).table.tolist() == [[3, 1], [0, 4]]


def test_labels_may_come_as_arrays() -> None:
    pairs = pair_labels(np.array(["a", "b", "b"]), np.array(["a", "a", "b"]), labels=["a", "b"])
    assert pairs.table.tolist() == [[1, 0], [1, 1]]


def test_wrong_input_is_refused_with_its_place_and_remedy() -> None:
    with pytest.raises(ValueError, match="item 1: label 'c' is not one of"):
        pair_labels(["a", "c"], ["a", "a"], labels=["a", "b"])
    with pytest.raises(ValueError, match="can't be invalid"):
        pair_labels([INVALID], ["a"], labels=["a"])
    with pytest.raises(ValueError, match="1 human labels and 2 judge labels"):
        pair_labels(["a"], ["a", "a"], labels=["a"])
    for labels in ([], ["a", "a"], ["a", None], [INVALID]):
        with pytest.raises(ValueError, match="declare"):
            pair_labels([], [], labels=labels)
    for table in ([[1, -1], [0, 2]], [[0.5, 1], [1, 1]]):
        with pytest.raises(ValueError, match="negative or not a whole number"):
            pairs_of_table(np.array(table))
    with pytest.raises(ValueError, match="as many rows as columns"):
        pairs_of_table([[1, 2, 3, 4], [1, 2, 3, 4]])
    with pytest.raises(ValueError, match="outside 0 to 1"):
        mean([0.5, 1.5])
    with pytest.raises(ValueError, match="missing or not finite"):
        mean([0.5, float("nan")])
    with pytest.raises(ValueError, match="truth value"):
        proportion(np.array([0, 2]))
    with pytest.raises(ValueError, match="level is 95"):
        proportion_of_counts(1, 2, level=95)
    with pytest.raises(ValueError, match="3 successes of 2"):
        proportion_of_counts(3, 2)
    with pytest.raises(ValueError, match="2 cluster ids for 3 items"):
        mean([0.1, 0.2, 0.3], [1, 2])
    for missing in (None, float("nan")):
        with pytest.raises(ValueError, match="cluster id is missing"):
            cluster_codes([1, missing], 2)
    with pytest.raises(ValueError, match="not -1, 0 or 1"):
        signed_share([2])
    with pytest.raises(TypeError, match="no result"):
        to_record(3)


def test_a_million_items_take_a_few_seconds_at_most() -> None:
    generator = np.random.default_rng(0)
    values = generator.random(1_000_000)
    clusters = [f"case {number}" for number in generator.integers(0, 300_000, 1_000_000)]
    started = perf_counter()
    assert mean(values, clusters).n_clusters == len(set(clusters))
    assert proportion(values > 0.5, clusters).n == 1_000_000
    assert perf_counter() - started < 10


def test_importing_intervals_does_not_load_scipy() -> None:
    code = "import judges.intervals, sys; sys.exit(any(name.startswith('scipy') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
