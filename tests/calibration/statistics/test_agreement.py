import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from math import isfinite, sqrt
from random import Random
from typing import TypeAlias, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.agreement import (
    KappaInterval,
    bias_index,
    bootstrap_kappa,
    brennan_prediger,
    cohen_kappa,
    cohen_kappa_of_table,
    gwet_ac,
    invalid_rate,
    kappa,
    kappa_difference,
    kappa_max,
    kappa_null_test,
    percent_agreement,
    perfect_agreement_bound,
    prevalence_index,
    scott_pi,
)
from calibration.statistics.tables import (
    INVALID,
    Invalid,
    LabelPairs,
    Weights,
    disagreement_costs,
    pair_labels,
    pairs_of_table,
)
from judges.figures import FLAGS, REASONS, Figure
from judges.intervals import bonett_price, normal_quantile, proportion_interval, t_quantile

Label: TypeAlias = str | Invalid | None
Item: TypeAlias = tuple[str | None, Label, int]
"""Human label, judge label, cluster."""

LABELS = ("poor", "fair", "good")
COSTS = ((0.0, 1.0, 3.0), (2.0, 0.0, 1.0), (5.0, 0.5, 0.0))
SCHEMES: tuple[Weights, ...] = ("none", "linear", "quadratic", COSTS)

item_lists = st.lists(
    st.tuples(st.sampled_from([*LABELS, None]), st.sampled_from([*LABELS, *LABELS, INVALID, None]), st.integers(0, 5)),
    max_size=40,
)
tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=k, max_size=k)
)


def paired(items: Sequence[Item], clustered: bool, labels: Sequence[str] = LABELS) -> LabelPairs:
    clusters = [cluster for _, _, cluster in items] if clustered else None
    return pair_labels(
        [gold for gold, _, _ in items], [judge for _, judge, _ in items], labels=labels, clusters=clusters
    )


def assert_honest(figure: Figure) -> None:
    """What holds for every figure: an interval around the value, codes that exist, plain JSON."""
    json.dumps(figure.to_record(), allow_nan=False)
    assert set(figure.flags) <= FLAGS
    assert figure.reason is None or figure.reason in REASONS
    for number in (figure.value, figure.ci_low, figure.ci_high, figure.se, figure.deff):
        assert number is None or isfinite(number)
    if figure.value is not None and figure.ci_low is not None and figure.ci_high is not None:
        assert figure.ci_low <= figure.value <= figure.ci_high
        assert figure.ci_low < figure.ci_high


def assert_same(one: Figure, other: Figure) -> None:
    for name in ("value", "ci_low", "ci_high", "se", "deff"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9), name
    assert (one.n, one.n_clusters, one.n_dropped) == (other.n, other.n_clusters, other.n_dropped)
    assert (one.flags, one.reason, one.method) == (other.flags, other.reason, other.method)


STATISTICS: dict[str, Callable[[LabelPairs], Figure]] = {
    "percent agreement": percent_agreement,
    "kappa": kappa,
    "linear kappa": lambda pairs: kappa(pairs, weights="linear", interval="smoothed_indep"),
    "pi": scott_pi,
    "Brennan-Prediger": brennan_prediger,
    "quadratic Brennan-Prediger": lambda pairs: brennan_prediger(pairs, weights="quadratic", interval="smoothed"),
    "AC1": gwet_ac,
    "AC2": lambda pairs: gwet_ac(pairs, weights="quadratic", interval="smoothed_indep"),
    "kappa max": kappa_max,
    "invalid rate": invalid_rate,
}
NOMINAL = ["percent agreement", "kappa", "pi", "Brennan-Prediger", "AC1", "kappa max", "invalid rate"]


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("clustered", [False, True])
@settings(max_examples=40, deadline=None)
@given(items=item_lists)
def test_every_figure_holds_its_value_and_is_plain_json(name: str, clustered: bool, items: list[Item]) -> None:
    figure = STATISTICS[name](paired(items, clustered))
    assert_honest(figure)
    if figure.value is not None and figure.ci_low is None and name != "kappa max":
        assert figure.reason == "too_few_clusters"


@settings(max_examples=15, deadline=None)
@given(items=item_lists, clustered=st.booleans(), weights=st.sampled_from(SCHEMES))
def test_bootstrap_intervals_are_honest_too(items: list[Item], clustered: bool, weights: Weights) -> None:
    for statistic in (kappa, scott_pi, gwet_ac, brennan_prediger):
        figure = statistic(paired(items, clustered), weights=weights, interval="bca")
        assert_honest(figure)
        assert figure.method != "bca" or figure.seed == 0


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("clustered", [False, True])
@settings(max_examples=20, deadline=None)
@given(items=item_lists, random=st.randoms())
def test_the_order_of_items_does_not_matter(name: str, clustered: bool, items: list[Item], random: Random) -> None:
    shuffled = random.sample(items, len(items))
    assert_same(STATISTICS[name](paired(items, clustered)), STATISTICS[name](paired(shuffled, clustered)))


@pytest.mark.parametrize("name", NOMINAL)
@settings(max_examples=20, deadline=None)
@given(items=item_lists, order=st.permutations(LABELS))
def test_nominal_figures_ignore_names_and_order_of_labels(name: str, items: list[Item], order: list[str]) -> None:
    assert_same(STATISTICS[name](paired(items, True)), STATISTICS[name](paired(items, True, order)))


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
@settings(max_examples=20, deadline=None)
@given(items=item_lists)
def test_ordinal_figures_are_the_same_from_the_other_end_of_the_scale(weights: Weights, items: list[Item]) -> None:
    one, other = (paired(items, True, labels) for labels in (LABELS, LABELS[::-1]))
    for statistic in (kappa, scott_pi, gwet_ac):
        assert_same(
            statistic(one, weights=weights, interval="wald"), statistic(other, weights=weights, interval="wald")
        )


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@settings(max_examples=40, deadline=None)
@given(table=tables)
def test_coefficients_do_not_care_who_is_the_human(weights: Weights, table: list[list[int]]) -> None:
    one, other = pairs_of_table(table), pairs_of_table(np.array(table).T)
    for statistic in (kappa, scott_pi, gwet_ac, brennan_prediger):
        figures = [statistic(pairs, weights=weights, interval="smoothed") for pairs in (one, other)]
        for name in ("value", "ci_low", "ci_high", "se", "reason", "n"):
            assert getattr(figures[0], name) == pytest.approx(getattr(figures[1], name), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(table=tables, times=st.integers(2, 5))
def test_more_of_the_same_items_narrow_the_interval_and_keep_the_value(table: list[list[int]], times: int) -> None:
    one, many = (kappa(pairs_of_table(np.array(table) * factor), interval="wald") for factor in (1, times))
    assert one.value == pytest.approx(many.value)
    if one.se is not None and many.se is not None:
        assert many.se == pytest.approx(one.se / sqrt(times))


@settings(max_examples=40, deadline=None)
@given(items=item_lists)
def test_clusters_of_one_item_differ_from_none_only_by_t_and_the_small_sample_factor(items: list[Item]) -> None:
    apart = [(gold, judge, number) for number, (gold, judge, _) in enumerate(items)]
    without, with_clusters = (kappa(paired(apart, clustered), interval="wald") for clustered in (False, True))
    assert without.value == with_clusters.value
    n = without.n
    if n > 1 and without.se and with_clusters.se:
        assert with_clusters.deff == pytest.approx(n / (n - 1))
        assert with_clusters.se == pytest.approx(without.se * sqrt(n / (n - 1)))
        assert without.value is not None
        half = t_quantile(0.95, n - 1) * with_clusters.se
        assert with_clusters.ci_low == pytest.approx(max(without.value - half, -1))


@settings(max_examples=30, deadline=None)
@given(items=item_lists, weights=st.sampled_from(SCHEMES), data=st.data())
def test_influence_values_are_the_slope_of_the_coefficient(
    items: list[Item], weights: Weights, data: st.DataObject
) -> None:
    """A standard error by cluster is the norm of cluster slopes: move one cluster's weight a little and look."""
    pairs = paired(items, True)
    statistic = data.draw(st.sampled_from([kappa, scott_pi, gwet_ac, brennan_prediger]))
    figure = statistic(pairs, weights=weights, interval="wald")
    groups = pairs.n_clusters
    if figure.value is None or groups is None or groups < 2 or pairs.cells is None or pairs.codes is None:
        return
    step, slopes = 10_000, list[float]()
    for group in range(groups):
        own = np.bincount(pairs.cells[pairs.codes == group], minlength=pairs.table.size).reshape(pairs.table.shape)
        moved = statistic(pairs_like(pairs, pairs.table * step + own), weights=weights, interval="wald").value
        assert moved is not None
        slopes.append((moved - figure.value) * step)
    expected = sqrt(groups / (groups - 1) * sum(slope * slope for slope in slopes))
    assert figure.se == pytest.approx(expected, rel=0.01, abs=0.005)


def pairs_like(pairs: LabelPairs, table: NDArray[np.int64]) -> LabelPairs:
    """Independent pairs with another table, over the same labels."""
    k = pairs.k
    return pairs_of_table(table[:k] if table.shape[0] == k else table[:k, : k + 1], labels=pairs.labels)


# Degenerate data


def test_agreement_on_one_single_label_has_no_kappa_and_full_ac1() -> None:
    pairs = pairs_of_table([[0, 0], [0, 20]])
    for figure in (kappa(pairs), scott_pi(pairs), kappa(pairs, weights="linear"), kappa_max(pairs)):
        assert (figure.value, figure.reason, figure.n) == (None, "single_category", 20)
    for statistic in (gwet_ac, brennan_prediger):
        figure = statistic(pairs)
        assert figure.value == 1
        assert figure.flags == ("constant_rater", "perfect_agreement", "small_n")
        assert figure.ci_low is not None
        assert figure.ci_low < 0.9


def test_a_constant_judge_has_kappa_exactly_zero_with_an_interval_that_has_width() -> None:
    intervals: tuple[KappaInterval | None, ...] = (None, "smoothed_indep", "bca", "percentile", "exact_bound")
    for table in ([[0, 7], [0, 29]], [[0, 11], [0, 13]], [[0, 0], [15, 0]]):
        for interval in intervals:
            figure = cohen_kappa_of_table(table, interval=interval)
            assert figure.value == 0
            assert "constant_rater" in figure.flags
            assert "zero_residual_variance" in figure.flags
            assert figure.ci_low is None or figure.method == "smoothed"
            assert figure.ci_low is not None or figure.reason == "many_undefined_resamples"
            assert_honest(figure)


def test_a_constant_judge_has_weighted_kappa_exactly_zero_not_nearly() -> None:
    table = np.zeros((5, 5), dtype=np.int64)
    table[:, 3] = [17, 14, 1, 17, 20]
    assert cohen_kappa_of_table(table, weights="linear").value == 0


def test_perfect_agreement_never_shows_a_bootstrap_interval() -> None:
    pairs = pairs_of_table([[45, 0], [0, 5]])
    intervals: tuple[KappaInterval, ...] = ("bca", "percentile", "exact_bound")
    for interval in intervals:
        for weights in ("none", "linear"):
            figure = kappa(pairs, weights=weights, interval=interval)
            assert (figure.method, figure.ci_high) == ("exact_bound", 1.0)
            assert figure.ci_low == pytest.approx(1 - perfect_agreement_bound(50) / 0.18)
            assert figure.flags == ("perfect_agreement", "rare_class")
    assert kappa(pairs, weights="linear").method == "exact_bound"


def test_perfect_agreement_by_cluster_counts_each_cluster_as_one_item() -> None:
    gold = ["a", "b"] * 20
    clusters = [number // 4 for number in range(40)]
    figure = cohen_kappa(gold, gold, labels=["a", "b"], clusters=clusters, interval="exact_bound")
    assert figure.ci_low == pytest.approx(1 - perfect_agreement_bound(10) / 0.5)
    smoothed = cohen_kappa(gold, gold, labels=["a", "b"], clusters=clusters)
    alone = cohen_kappa(gold, gold, labels=["a", "b"])
    assert smoothed.ci_low is not None
    assert alone.ci_low is not None
    centre = 1 - (2 / 2**2 * 2 / 42) / 0.5  # kappa of the table with 1/2 more in each cell
    stretch = sqrt(40 / 10) * t_quantile(0.95, 9) / normal_quantile(0.95)
    assert (centre - smoothed.ci_low) / (centre - alone.ci_low) == pytest.approx(stretch)


def test_the_exact_bound_is_the_disagreement_that_perfect_agreement_would_just_rule_out() -> None:
    assert (1 - perfect_agreement_bound(30)) ** 30 == pytest.approx(0.025)
    assert (1 - perfect_agreement_bound(30, level=0.9)) ** 30 == pytest.approx(0.05)


def test_one_cluster_has_a_kappa_and_no_interval() -> None:
    figure = cohen_kappa(["a", "b", "a"], ["a", "b", "b"], labels=["a", "b"], clusters=[1, 1, 1])
    assert figure.value == pytest.approx(0.4)
    assert (figure.ci_low, figure.ci_high, figure.reason) == (None, None, "too_few_clusters")
    assert kappa_null_test(pair_labels(["a"], ["b"], labels=["a", "b"], clusters=[1])).reason == "too_few_clusters"


def test_no_data_and_one_declared_label_are_undefined() -> None:
    for statistic in (kappa, scott_pi, gwet_ac, brennan_prediger):
        assert statistic(pairs_of_table([[0, 0], [0, 0]])).reason == "no_data"
        for weights in ("none", "linear", "quadratic"):
            assert statistic(pairs_of_table([[5]]), weights=weights).reason == "single_category"
    for table in ([[5]], [[3, 2]]):  # the second with invalid answers
        assert kappa_max(pairs_of_table(table)).reason == "single_category"
    assert percent_agreement(pairs_of_table([[0, 0], [0, 0]])).reason == "no_data"
    assert prevalence_index(pairs_of_table([[0, 0], [0, 0]])).reason == "no_data"


def test_few_items_few_clusters_and_rare_classes_are_flagged() -> None:
    assert cohen_kappa_of_table([[12, 3], [2, 12]]).flags == ("small_n",)
    assert cohen_kappa_of_table([[40, 3], [2, 5]]).flags == ("rare_class",)
    clusters = [number // 2 for number in range(48)]
    figure = cohen_kappa(["a", "b"] * 24, ["a", "b", "a", "a"] * 12, labels=["a", "b"], clusters=clusters)
    assert figure.flags == ("few_clusters",)


def test_a_level_nobody_uses_is_not_a_rare_class_but_counts_in_the_weights() -> None:
    table = [[20, 5, 0, 0], [4, 30, 0, 2], [0, 0, 0, 0], [1, 0, 0, 25]]
    figure = cohen_kappa_of_table(table, weights="quadratic")
    short = cohen_kappa_of_table([[20, 5, 0], [4, 30, 2], [1, 0, 25]], weights="quadratic")
    assert "rare_class" not in figure.flags
    assert figure.value != pytest.approx(short.value, abs=0.005)


def test_a_single_item_has_an_interval_by_every_method() -> None:
    methods: tuple[KappaInterval, ...] = ("smoothed", "smoothed_indep", "bca", "percentile", "exact_bound")
    for method in methods:
        figure = cohen_kappa_of_table([[0, 1], [0, 0]], weights="linear", interval=method)
        assert (figure.value, figure.method) == (0.0, "smoothed")
        assert_honest(figure)


# Invalid answers


def test_an_invalid_answer_is_a_disagreement_unless_it_is_dropped() -> None:
    gold, judge = ["a"] * 10 + ["b"] * 10, ["a"] * 8 + [INVALID] * 2 + ["b"] * 9 + ["a"]
    kept = cohen_kappa(gold, judge, labels=["a", "b"])
    # p_o 17/20, p_e 1/2 of (9 + 9)/20
    assert kept.value == pytest.approx((0.85 - 0.45) / 0.55)
    assert (kept.n, kept.n_dropped) == (20, 0)
    dropped = cohen_kappa(gold, judge, labels=["a", "b"], invalid="drop")
    assert dropped.n_dropped == 2
    assert dropped.value is not None
    assert kept.value is not None
    assert dropped.value > kept.value


def test_an_invalid_answer_adds_no_label_that_chance_could_choose() -> None:
    pairs = pairs_of_table([[40, 6, 5], [4, 40, 5]])
    assert brennan_prediger(pairs).value == pytest.approx(2 * 0.8 - 1)
    # smoothing adds 2/k^2 to the cells of the declared labels: twice the table makes them whole numbers
    twice = kappa(pairs_of_table([[81, 13, 10], [9, 81, 10]]), interval="wald")
    figure = kappa(pairs)
    assert twice.value is not None
    assert twice.se is not None
    half = normal_quantile(0.95) * twice.se * sqrt(2)
    assert (figure.ci_low, figure.ci_high) == pytest.approx((twice.value - half, twice.value + half))


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_an_invalid_answer_never_scores_better_than_the_wrong_label(weights: Weights) -> None:
    """Least of all by adding a category: chance of 1/3 instead of 1/2 would raise Brennan-Prediger and AC1."""
    wrong, invalid = pairs_of_table([[40, 5], [5, 40]]), pairs_of_table([[40, 0, 5], [0, 40, 5]])
    for statistic in (brennan_prediger, gwet_ac):
        one, other = (statistic(pairs, weights=weights, interval="smoothed").value for pairs in (invalid, wrong))
        assert one is not None
        assert other is not None
        assert one <= other + 1e-12


def test_a_judge_with_only_invalid_answers_agrees_by_chance_alone() -> None:
    figure = cohen_kappa(["a", "b"] * 20, [INVALID] * 40, labels=["a", "b"])
    assert figure.value == 0
    assert figure.flags == ("constant_rater", "high_drop", "zero_residual_variance")


# Indices and tests


def test_prevalence_and_bias_have_paired_intervals_and_need_two_labels() -> None:
    pairs = pairs_of_table([[80, 10], [5, 5]])
    assert (prevalence_index(pairs).ci_low, prevalence_index(pairs).ci_high) == bonett_price(80, 5, 100)
    assert (bias_index(pairs).ci_low, bias_index(pairs).ci_high) == bonett_price(10, 5, 100)
    with pytest.raises(ValueError, match="are for two"):
        bias_index(pairs_of_table([[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    clustered = pair_labels([0, 0, 1, 1], [0, 1, 1, 0], labels=[0, 1], clusters=["x", "x", "y", "y"])
    assert bias_index(clustered).n_clusters == 2


def test_pabak_is_twice_the_agreement_minus_one() -> None:
    figure = brennan_prediger(pairs_of_table([[80, 10], [5, 5]]))
    assert figure.value == pytest.approx(2 * 0.85 - 1)


def test_percent_agreement_has_wilson_s_interval() -> None:
    figure = percent_agreement(pairs_of_table([[80, 10], [5, 5]]))
    assert (figure.ci_low, figure.ci_high) == proportion_interval(85, 100)


def test_the_null_test_rejects_agreement_and_keeps_chance() -> None:
    assert (kappa_null_test(pairs_of_table([[40, 5], [5, 40]])).p_value or 0) < 1e-6
    chance = kappa_null_test(pairs_of_table([[20, 20], [20, 20]]))
    assert (chance.statistic, chance.p_value) == (0.0, 1.0)
    assert kappa_null_test(pairs_of_table([[0, 7], [0, 9]])).reason == "constant_rater"
    assert kappa_null_test(pairs_of_table([[0, 0], [0, 9]])).reason == "single_category"


def test_the_null_test_knows_clusters() -> None:
    gold, judge = ["a", "b", "a", "b"] * 10, ["a", "b", "b", "b"] * 10
    alone = kappa_null_test(pair_labels(gold, judge, labels=["a", "b"]))
    twice = pair_labels(gold * 2, judge * 2, labels=["a", "b"], clusters=list(range(40)) * 2)
    clustered = kappa_null_test(twice)
    assert clustered.df == 39
    assert alone.se is not None
    assert clustered.se == pytest.approx(alone.se * sqrt(40 / 39))


def test_judges_that_never_differ_have_no_statistic_and_p_one() -> None:
    gold, judge = ["a", "b"] * 20, ["a", "b", "b", "b"] * 10
    result = kappa_difference(gold, judge, judge, labels=["a", "b"])
    assert (result.difference.value, result.difference.reason) == (0.0, "no_discordant")
    assert (result.test.statistic, result.test.p_value, result.test.reason) == (None, 1.0, "no_discordant")
    assert "zero_variance_differences" in result.difference.flags
    json.dumps(result.to_record(), allow_nan=False)


@settings(max_examples=40, deadline=None)
@given(
    items=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), *[st.sampled_from(["a", "b", INVALID, None])] * 2, st.integers(0, 9)
        ),
        max_size=40,
    ),
    clustered=st.booleans(),
)
def test_a_difference_of_kappas_turns_its_sign_when_the_judges_change_places(
    items: list[tuple[str | None, Label, Label, int]], clustered: bool
) -> None:
    gold, a, b = [item[0] for item in items], [item[1] for item in items], [item[2] for item in items]
    clusters = [item[3] for item in items] if clustered else None
    one = kappa_difference(gold, a, b, labels=["a", "b"], clusters=clusters)
    other = kappa_difference(gold, b, a, labels=["a", "b"], clusters=clusters)
    for figure in (one.difference, one.kappa_a, one.kappa_b):
        assert_honest(figure)
    json.dumps(one.to_record(), allow_nan=False)
    assert one.kappa_a.n == one.kappa_b.n == one.difference.n
    assert one.test.p_value == pytest.approx(other.test.p_value)
    if one.difference.value is not None:
        assert other.difference.value == pytest.approx(-one.difference.value)
    if one.difference.ci_low is not None:
        assert other.difference.ci_high == pytest.approx(-one.difference.ci_low)


def test_a_difference_of_kappas_leaves_out_what_one_judge_lacks() -> None:
    gold, a, b = ["a", "b", "a", "b", "b"], ["a", None, "a", "b", "b"], ["a", "b", "b", INVALID, "b"]
    kept = kappa_difference(gold, a, b, labels=["a", "b"])
    assert (kept.difference.n, kept.difference.n_dropped) == (4, 1)
    dropped = kappa_difference(gold, a, b, labels=["a", "b"], invalid="drop")
    assert (dropped.difference.n, dropped.difference.n_dropped) == (3, 2)


# Input


def test_wrong_weights_are_refused() -> None:
    for weights, message in (
        ([[0.0, 1.0]], "a cost matrix of shape"),
        ([[0.0, -1.0], [1.0, 0.0]], "not negative"),
        ([[0.5, 1.0], [1.0, 0.0]], "0 on the diagonal"),
        ([[0.0, 0.0], [0.0, 0.0]], "nothing to measure"),
    ):
        with pytest.raises(ValueError, match=message):
            disagreement_costs(weights, 2)


def test_costs_that_are_not_symmetric_punish_one_direction() -> None:
    costs = [[0.0, 1.0], [10.0, 0.0]]
    lenient, strict = (cohen_kappa_of_table(table, weights=costs) for table in ([[40, 8], [2, 40]], [[40, 2], [8, 40]]))
    assert lenient.value is not None
    assert strict.value is not None
    assert lenient.value > strict.value


def test_costs_can_carry_kappa_below_minus_one_and_the_interval_goes_with_it() -> None:
    costs = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]  # one costly mistake, which chance would hardly make
    table = [[0, 0, 20], [0, 80, 0], [0, 0, 0]]
    for interval in get_args(KappaInterval):
        figure = cohen_kappa_of_table(table, weights=costs, interval=interval)
        assert figure.value is not None
        assert figure.value == pytest.approx(1 - 0.2 / 0.04)
        assert figure.ci_low is not None
        assert figure.ci_high is not None
        assert figure.ci_low < figure.value - 0.5
        assert figure.value < figure.ci_high


def test_a_difference_of_kappas_is_flagged_where_a_class_is_rare() -> None:
    gold, a, b = ["a"] * 36 + ["b"] * 4, ["a"] * 35 + ["b"] * 5, ["a"] * 30 + ["b"] * 10
    assert "rare_class" in kappa_difference(gold, a, b, labels=["a", "b"]).difference.flags


def test_figures_of_resampling_name_their_seed_and_repeat() -> None:
    table = [[20, 5], [6, 30]]
    one, again, other = (cohen_kappa_of_table(table, weights="linear", seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert (one.method, one.seed) == ("bca", 1)
    assert (one.ci_low, one.ci_high) != (other.ci_low, other.ci_high)


def test_a_bootstrap_of_clusters_is_wider_when_clusters_repeat_their_items() -> None:
    items: list[Item] = [("poor", "poor", 0), ("good", "fair", 1), ("good", "good", 2), ("fair", "fair", 3)] * 10
    many = [(gold, judge, number % 40) for number, (gold, judge, _) in enumerate(items * 3)]
    clustered = bootstrap_kappa(paired(many, True))
    apart = bootstrap_kappa(paired(many, False))
    assert clustered.low is not None
    assert apart.low is not None
    assert clustered.low < apart.low


# Coverage


def coverage(truth: float, rare: float, n: int, interval: KappaInterval, draws: int = 2_000) -> tuple[float, float]:
    """How often the interval lies above and below the true kappa, when both raters use a label at the same rate."""
    both = rare**2 + truth * rare * (1 - rare)
    only = rare - both
    tables = np.random.default_rng(11).multinomial(n, [1 - rare - only, only, only, both], size=draws)
    above = below = 0
    for table in tables:
        figure = cohen_kappa_of_table(table.reshape(2, 2), interval=interval)
        above += figure.ci_low is not None and figure.ci_low > truth
        below += figure.ci_high is not None and figure.ci_high < truth
    return above / draws, below / draws


@pytest.mark.parametrize(("rare", "n"), [(0.5, 30), (0.2, 50), (0.1, 100)])
def test_the_smoothed_interval_covers_kappa_about_as_often_as_it_says(rare: float, n: int) -> None:
    above, below = coverage(0.6, rare, n, "smoothed")
    assert above + below < 0.075


def test_wald_misses_far_more_than_the_smoothed_interval_with_a_rare_class() -> None:
    assert sum(coverage(0.8, 0.1, 50, "wald")) > 2 * sum(coverage(0.8, 0.1, 50, "smoothed"))


def test_a_z_interval_of_kappa_is_as_wide_as_its_standard_error_says() -> None:
    figure = cohen_kappa_of_table([[40, 9], [6, 45]], interval="wald", level=0.9)
    assert figure.value is not None
    assert figure.se is not None
    assert figure.ci_low == pytest.approx(figure.value - normal_quantile(0.9) * figure.se)


def test_importing_agreement_and_confusion_does_not_load_scipy() -> None:
    code = (
        "import calibration.statistics.agreement, calibration.statistics.confusion, sys;"
        "sys.exit(any(name.startswith('scipy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_interval_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of smoothed"):
        cohen_kappa([0, 1, 1], [0, 1, 0], labels=[0, 1], interval="exact")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
