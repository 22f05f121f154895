import json
import subprocess
import sys
from collections.abc import Callable
from math import isfinite, sqrt
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.resampling import jackknife_se
from judges.figures import FLAGS, REASONS, Figure
from judges.intervals import (
    ProportionMethod,
    bonett_price,
    influence_se,
    mean,
    mover,
    normal_quantile,
    proportion,
    proportion_interval,
    proportion_of_counts,
    ratio,
    signed_share,
    signed_share_of_counts,
    t_quantile,
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
@settings(max_examples=60, deadline=None)
@given(items=st.one_of(scored_items, passed_items))
def test_every_figure_holds_its_value_and_is_plain_json(
    statistic: Callable[[Items, bool], Figure], clustered: bool, items: Items
) -> None:
    assert_honest(statistic(items, clustered))


@pytest.mark.parametrize("statistic", [proportion_of, mean_of, signed_share_of])
@pytest.mark.parametrize("clustered", [False, True])
@settings(max_examples=40, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(items=scored_items)
def test_cluster_ids_of_any_kind_give_the_same_interval(items: Items) -> None:
    values, clusters = apart(items)
    names = [f"case {cluster}" for cluster in clusters]
    for other in (np.array(clusters), names, np.array(names), [(name, 1) for name in names]):
        assert_same(mean(values, clusters), mean(values, other))


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=100, deadline=None)
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


# Standard errors, tests


def test_the_standard_error_by_cluster_follows_its_formula() -> None:
    influence = np.array([1.0, 2.0, -1.0, -2.0, 0.5, -0.5])
    error = influence_se(influence, np.array([0, 0, 1, 1, 2, 2]), 3)
    assert error.se == pytest.approx(sqrt(3 / 2 * (9 + 9 + 0)) / 6)
    assert error.independent == pytest.approx(sqrt(10.5) / 6)
    assert error.deff == pytest.approx(3 / 2 * 18 / 10.5)


def test_a_two_sided_test_agrees_with_its_interval() -> None:
    assert two_sided(normal_quantile(0.95), 1.0).p_value == pytest.approx(0.05)
    assert two_sided(-t_quantile(0.9, 5), 1.0, 5).p_value == pytest.approx(0.1)


def test_importing_intervals_does_not_load_scipy() -> None:
    code = "import judges.intervals, sys; sys.exit(any(name.startswith('scipy') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
