import json
from collections.abc import Callable
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.resampling import bootstrap_items
from calibration.statistics.scores import (
    ScorePairs,
    bland_altman,
    bootstrap_weighted,
    concordance,
    kendall,
    mean_absolute_error,
    pair_counts,
    pair_scores,
    pairwise_accuracy,
    pearson,
    root_mean_squared_error,
    spearman,
    weighted_spearman,
)
from judges.figures import Figure

Statistic = Callable[[ScorePairs], Figure]

CORRELATIONS: dict[str, Statistic] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
CLOSED: dict[str, Statistic] = {
    "mae": mean_absolute_error,
    "rmse": root_mean_squared_error,
    "ccc": concordance,
    "pairwise_accuracy": pairwise_accuracy,
    "bias": lambda pairs: bland_altman(pairs).bias,
    "lower_limit": lambda pairs: bland_altman(pairs).lower_limit,
    "upper_limit": lambda pairs: bland_altman(pairs).upper_limit,
    "slope": lambda pairs: bland_altman(pairs).slope,
}
EVERY = CORRELATIONS | CLOSED

levels = st.integers(1, 5).map(float)
values = levels | st.floats(-1e6, 1e6)
items = st.lists(st.tuples(values, values), max_size=25)
gaps = st.lists(st.tuples(values | st.none(), values | st.none(), st.integers(0, 4)), max_size=25)


def paired(rows: list[tuple[float, float]]) -> ScorePairs:
    return pair_scores([row[0] for row in rows], [row[1] for row in rows])


def noisy(n: int, seed: int = 1) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    human = generator.integers(1, 6, n)
    return human.astype(float).tolist(), (human + generator.normal(0.3, 1, n)).tolist()


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=40, deadline=None)
@given(rows=items)
def test_an_interval_contains_its_value(name: str, rows: list[tuple[float, float]]) -> None:
    figure = EVERY[name](paired(rows))
    if figure.ci_low is None or figure.ci_high is None:
        assert figure.reason is not None
        assert figure.ci_low is figure.ci_high
    else:
        assert figure.value is not None
        assert figure.ci_low <= figure.value <= figure.ci_high


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(levels, levels), min_size=5, max_size=25), random=st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(name: str, rows: list[tuple[float, float]], random: Random) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    first, second = EVERY[name](paired(rows)), EVERY[name](paired(mixed))
    for each, other in ((first.value, second.value), (first.ci_low, second.ci_low), (first.ci_high, second.ci_high)):
        assert each == pytest.approx(other, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(rows=gaps)
def test_every_result_is_json_whatever_is_missing(rows: list[tuple[float | None, float | None, int]]) -> None:
    human, judge, clusters = ([row[at] for row in rows] for at in range(3))
    for pairs in (pair_scores(human, judge), pair_scores(human, judge, clusters=clusters)):
        json.dumps(bland_altman(pairs).to_record(), allow_nan=False)
        json.dumps(pair_counts(pairs).to_record(), allow_nan=False)
        for statistic in EVERY.values():
            figure = statistic(pairs)
            json.dumps(figure.to_record(), allow_nan=False)
            assert figure.n + figure.n_dropped == len(rows)


@settings(max_examples=60, deadline=None)
@given(rows=items)
def test_pair_counts_are_those_of_all_pairs_one_by_one(rows: list[tuple[float, float]]) -> None:
    counts, seen = pair_counts(paired(rows)), [0, 0, 0, 0, 0]
    for at, (human, judge) in enumerate(rows):
        for other_human, other_judge in rows[:at]:
            up, down = (human > other_human) - (human < other_human), (judge > other_judge) - (judge < other_judge)
            seen[0 if up * down > 0 else 1 if up * down < 0 else 4 if up == down else 2 if up == 0 else 3] += 1
    assert list(counts.to_record().values()) == seen
    assert counts.total == len(rows) * (len(rows) - 1) // 2
    if rows[1:]:
        assert pairwise_accuracy(paired(rows)).value == pytest.approx((seen[0] + seen[4]) / counts.total)


@pytest.mark.parametrize("name", CLOSED)
def test_clusters_of_one_item_are_hardly_different_from_none(name: str) -> None:
    human, judge = noisy(400)
    alone, clustered = (
        CLOSED[name](pair_scores(human, judge, clusters=clusters)) for clusters in (None, list(range(400)))
    )
    assert clustered.value == alone.value
    assert clustered.n_clusters == 400
    assert alone.se is None or clustered.se == pytest.approx(alone.se, rel=0.1)
    assert clustered.ci_low == pytest.approx(alone.ci_low, abs=0.05)
    assert clustered.ci_high == pytest.approx(alone.ci_high, abs=0.05)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_the_cluster_bootstrap_of_single_items_comes_close_to_the_formula(name: str) -> None:
    human, judge = noisy(400)
    alone, clustered = (
        CORRELATIONS[name](pair_scores(human, judge, clusters=clusters)) for clusters in (None, list(range(400)))
    )
    assert clustered.value == alone.value
    assert (clustered.method, clustered.seed, clustered.undefined_share) == ("percentile", 0, 0.0)
    assert clustered.ci_low == pytest.approx(alone.ci_low, abs=0.025)
    assert clustered.ci_high == pytest.approx(alone.ci_high, abs=0.025)


@pytest.mark.parametrize("name", EVERY)
def test_copies_of_an_item_in_one_cluster_tell_no_more_than_the_item(name: str) -> None:
    human, judge = noisy(100)
    once = EVERY[name](pair_scores(human, judge, clusters=list(range(100))))
    copied = EVERY[name](pair_scores(human * 3, judge * 3, clusters=list(range(100)) * 3))
    assert once.ci_high is not None
    assert once.ci_low is not None
    assert copied.ci_high is not None
    assert copied.ci_low is not None
    assert copied.ci_high - copied.ci_low == pytest.approx(once.ci_high - once.ci_low, rel=0.03)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_the_bootstrap_draws_whole_clusters_and_counts_each_copy(name: str) -> None:
    human, judge = (np.array(each) for each in noisy(30))
    clusters = [at // 3 for at in range(30)]
    figure = CORRELATIONS[name](pair_scores(human, judge, clusters=clusters))
    slow = bootstrap_items(
        lambda drawn: CORRELATIONS[name](pair_scores(human[drawn], judge[drawn])).value, 30, clusters
    )
    assert (figure.ci_low, figure.ci_high) == pytest.approx((slow.low, slow.high), abs=1e-9)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_correlation_with_a_constant_is_undefined_and_one_of_few_items_has_no_interval(name: str) -> None:
    statistic = CORRELATIONS[name]
    assert statistic(pair_scores([], [])).reason == "no_data"
    assert statistic(pair_scores([1], [1])).reason == "too_few"
    assert statistic(pair_scores([2, 2, 2], [1, 2, 3])).reason == "constant_input"
    few = statistic(pair_scores([1, 2, 3, 4], [1, 3, 2, 4]))
    assert (few.status, few.ci_low, few.reason) == ("ok", None, "too_few")


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2, 2, 3]])
def test_a_correlation_of_exactly_one_shows_no_interval(name: str, clusters: list[int] | None) -> None:
    human = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    figure = CORRELATIONS[name](pair_scores(human, [3 * each + 0.1 for each in human], clusters=clusters))
    assert (figure.value, figure.ci_low, figure.ci_high, figure.reason) == (1.0, None, None, "singular")


@pytest.mark.parametrize("name", EVERY)
def test_one_cluster_has_no_interval(name: str) -> None:
    human, judge = noisy(40)
    figure = EVERY[name](pair_scores(human, judge, clusters=[0] * 40))
    assert (figure.status, figure.ci_low, figure.reason) == ("ok", None, "too_few_clusters")


def test_a_bootstrap_with_many_undefined_resamples_has_no_interval() -> None:
    figure = pearson(pair_scores([1, 1, 1, 2], [1, 2, 3, 4], clusters=[0, 1, 1, 2]))
    assert figure.reason == "many_undefined_resamples"
    assert "many_undefined_resamples" in figure.flags
    assert figure.undefined_share is not None
    assert figure.undefined_share > 0.05


def test_scores_outside_the_scale_stay_as_they_are() -> None:
    pairs = pair_scores([1, 2, 5, 4], [1, 2, 50, -4])
    assert mean_absolute_error(pairs).value == (45 + 8) / 4
    assert pairs.judge.tolist() == [1, 2, 50, -4]


def test_missing_scores_are_dropped_counted_and_flagged() -> None:
    figure = pearson(pair_scores([1, None, 3, 4, 2, 5], [1, 2, None, 4, 3, 2], clusters=list("aabbcc")))
    assert (figure.n, figure.n_dropped, figure.n_clusters) == (4, 2, 3)
    assert {"few_clusters", "high_drop", "small_n"} <= set(figure.flags)


def test_a_judge_that_errs_by_a_constant_correlates_fully_and_concords_less() -> None:
    human = [1.0, 2.0, 3.0, 4.0, 5.0, 2.5]
    shifted = pair_scores(human, [each + 1 for each in human])
    result = bland_altman(shifted)
    assert pearson(shifted).value == 1
    assert (result.bias.value, result.bias.ci_low, result.bias.ci_high, result.sd) == (1, 1, 1, 0)
    assert result.upper_limit == result.bias
    assert (result.test.p_value, result.test.reason) == (None, "singular")
    agreement = concordance(shifted).value
    assert agreement is not None
    assert agreement < 0.9
    perfect = concordance(pair_scores(human, human))
    assert (perfect.value, perfect.reason) == (1.0, "singular")
    assert "perfect_agreement" in perfect.flags


def test_concordance_with_a_constant_is_zero_and_of_one_shared_constant_undefined() -> None:
    constant = concordance(pair_scores([3.0] * 6, [1, 2, 3, 4, 5, 3]))
    assert constant.value == 0
    assert "constant_rater" in constant.flags
    assert concordance(pair_scores([3.0] * 6, [3.0] * 6)).reason == "constant_input"


def test_bland_and_altman_of_one_item_has_a_bias_and_no_deviation() -> None:
    result = bland_altman(pair_scores([1.0], [3.0]))
    assert (result.bias.value, result.bias.reason, result.sd) == (2, "too_few", None)
    assert (result.lower_limit.reason, result.test.reason, result.slope.reason) == ("too_few",) * 3
    assert bland_altman(pair_scores([], [])).bias.reason == "no_data"


def test_errors_are_in_units_of_the_scale_and_their_intervals_are_of_t() -> None:
    pairs = pair_scores([1, 2, 3, 4], [2, 2, 5, 4])
    figure = mean_absolute_error(pairs)
    assert (figure.value, figure.method) == (0.75, "t")
    assert figure.se == pytest.approx(np.std([1, 0, 2, 0], ddof=1) / 2)
    assert figure.ci_low == 0
    assert root_mean_squared_error(pairs).value == sqrt(5 / 4)


@pytest.mark.parametrize("statistic", [pearson, concordance, pairwise_accuracy, mean_absolute_error])
def test_intervals_cover_what_they_should(statistic: Statistic) -> None:
    """Over 300 samples of 60, against the value of a large one: 95% within Monte Carlo error."""
    truth = statistic(pair_scores(*noisy(40_000, seed=99))).value
    assert truth is not None
    held = 0
    for seed in range(300):
        figure = statistic(pair_scores(*noisy(60, seed=seed)))
        held += (figure.ci_low or 0.0) <= truth <= (figure.ci_high or 0.0)
    assert 0.90 <= held / 300 <= 0.99


def test_a_hundred_thousand_items_are_counted_exactly() -> None:
    n = 100_000
    places = np.arange(n)
    swapped = pair_scores(places, places ^ 1)  # each even item changes place with the next
    counts = pair_counts(swapped)
    assert (counts.discordant, counts.concordant) == (n // 2, n * (n - 1) // 2 - n // 2)
    assert pairwise_accuracy(swapped).value == pytest.approx(1 - 1 / (n - 1))
    assert kendall(pair_scores(places, -places)).value == -1


@pytest.mark.parametrize(
    ("human", "judge", "says"),
    [
        ([1.0], [1.0, 2.0], "1 human scores and 2 judge scores"),
        ([1.0, float("nan")], [1.0, 2.0], "give one per item, None where it is missing"),
        ([1.0, 2.0], [1.0, float("inf")], "a judge score is not a finite number"),
    ],
)
def test_wrong_input_is_refused_with_its_remedy(human: list[float], judge: list[float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        pair_scores(human, judge)


def test_a_cluster_id_for_each_item_is_asked_for() -> None:
    with pytest.raises(ValueError, match="give one id per item"):
        pair_scores([1.0, 2.0], [1.0, 2.0], clusters=["a"])


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(values, values, st.integers(0, 3)), min_size=2, max_size=20))
def test_a_rank_correlation_of_weights_is_that_of_items_repeated_so_often(rows: list[tuple[float, float, int]]) -> None:
    found = weighted_spearman(paired([(human, judge) for human, judge, _ in rows]))(np.array([row[2] for row in rows]))
    repeated = spearman(paired([(human, judge) for human, judge, times in rows for _ in range(times)])).value
    assert found == pytest.approx(repeated, abs=1e-9)


@pytest.mark.parametrize("clusters", [None, [number // 3 for number in range(60)]])
def test_drawing_weights_is_drawing_items(clusters: list[int] | None) -> None:
    pairs = pair_scores(*noisy(60), clusters=clusters)

    def of_items(chosen: NDArray[np.intp]) -> float | None:
        return spearman(pair_scores(pairs.human[chosen], pairs.judge[chosen])).value

    value = of_items(np.arange(60))
    assert value is not None
    by_item = bootstrap_items(of_items, 60, clusters, seed=5)
    by_weight = bootstrap_weighted(pairs, Figure(value), weighted_spearman(pairs), seed=5)
    assert (by_weight.ci_low, by_weight.ci_high) == pytest.approx((by_item.low, by_item.high))
