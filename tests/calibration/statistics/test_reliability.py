import json
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.reliability import (
    ScoredLabels,
    area_under_curve,
    brier,
    calibration_line,
    pair_scored,
    reliability_table,
    spiegelhalter,
)
from judges.figures import Figure
from judges.intervals import proportion_interval

scores = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 1.0]) | st.floats(0, 1)
rows = st.lists(st.tuples(scores, st.booleans()), max_size=25)
gaps = st.lists(st.tuples(scores | st.none(), st.booleans() | st.none(), st.integers(0, 4)), max_size=25)


def paired(items: list[tuple[float, bool]]) -> ScoredLabels:
    return pair_scored([item[0] for item in items], [item[1] for item in items])


def figures(items: ScoredLabels) -> list[Figure]:
    table, parts, line = reliability_table(items), brier(items), calibration_line(items)
    found = [parts.score, parts.skill, line.intercept, line.slope, line.in_the_large, area_under_curve(items)]
    return [table.ece, table.mce, table.excess, *found, *(each.rate for each in table.bins)]


def calibrated(n: int, seed: int) -> tuple[list[float], list[bool]]:
    generator = np.random.default_rng(seed)
    chances = generator.beta(2, 2, n)
    return chances.tolist(), (generator.random(n) < chances).tolist()


@settings(max_examples=60, deadline=None)
@given(items=rows)
def test_an_interval_contains_its_value(items: list[tuple[float, bool]]) -> None:
    for figure in figures(paired(items)):
        assert (figure.ci_low is None) == (figure.ci_high is None)
        if figure.ci_low is not None and figure.ci_high is not None:
            assert figure.value is not None
            assert figure.ci_low <= figure.value <= figure.ci_high


@settings(max_examples=40, deadline=None)
@given(items=rows, random=st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(items: list[tuple[float, bool]], random: Random) -> None:
    mixed = list(items)
    random.shuffle(mixed)
    for first, second in zip(figures(paired(items)), figures(paired(mixed)), strict=True):
        assert first.reason == second.reason
        if first.value is not None:
            assert first.value == pytest.approx(second.value, rel=1e-6, abs=1e-9)
        if first.ci_low is not None:
            assert first.ci_low == pytest.approx(second.ci_low, rel=1e-6, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(items=gaps)
def test_every_result_is_json_whatever_is_missing(items: list[tuple[float | None, bool | None, int]]) -> None:
    given_scores, labels, clusters = [row[0] for row in items], [row[1] for row in items], [row[2] for row in items]
    for scored in (pair_scored(given_scores, labels), pair_scored(given_scores, labels, clusters=clusters)):
        assert scored.n + scored.n_dropped == len(items)
        for result in (reliability_table(scored), brier(scored), spiegelhalter(scored), calibration_line(scored)):
            json.dumps(result.to_record(), allow_nan=False)
        json.dumps(area_under_curve(scored).to_record(), allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(items=st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=25))
def test_the_brier_score_is_the_sum_of_its_parts(items: list[tuple[float, bool]]) -> None:
    parts = brier(paired(items))
    assert parts.score.value is not None
    assert parts.reliability is not None
    assert parts.resolution is not None
    assert parts.uncertainty is not None
    assert parts.score.value == pytest.approx(parts.reliability - parts.resolution + parts.uncertainty)


def test_a_score_on_an_edge_is_in_the_upper_bin_and_one_is_in_the_last() -> None:
    edges = [j / 10 for j in range(11)]
    table = reliability_table(pair_scored(edges, [1] * 11))
    assert [each.n for each in table.bins] == [1] * 9 + [2]
    sums = [0.1 + 0.2, 0.1 + 0.7, 0.7 - 0.1, 1 - 0.9, 0.3 * 3]  # all just off an edge
    table = reliability_table(pair_scored(sums, [1] * 5))
    assert [each.index for each in table.bins] == [1, 3, 6, 8, 9]
    many = reliability_table(pair_scored([j / 100 for j in range(100)], [0] * 100), bins=100)
    assert [each.n for each in many.bins] == [1] * 100


def test_empty_bins_are_left_out_and_each_rate_has_wilson_s_interval() -> None:
    table = reliability_table(pair_scored([0.05, 0.95, 0.91], [0, 1, 0]))
    assert [(each.index, each.n) for each in table.bins] == [(0, 1), (9, 2)]
    assert (table.bins[1].rate.ci_low, table.bins[1].rate.ci_high) == proportion_interval(1, 2)
    assert (table.bin_count, table.n) == (10, 3)
    assert table.ece.value == pytest.approx((0.05 + 2 * 0.43) / 3)
    assert table.mce.value == pytest.approx(0.43)


def test_without_a_class_what_needs_both_is_undefined() -> None:
    for label, reason in ((0, "no_positive_gold"), (1, "no_negative_gold")):
        items = pair_scored([0.2, 0.4, 0.7], [label] * 3)
        line = calibration_line(items)
        assert {figure.reason for figure in (line.intercept, line.slope, line.in_the_large)} == {reason}
        assert area_under_curve(items).reason == reason
        assert brier(items).skill.reason == reason
        assert brier(items).score.status == "ok"
    nothing = pair_scored([], [])
    assert {figure.reason for figure in figures(nothing)} == {"no_data"}
    assert spiegelhalter(nothing).reason == "no_data"


def test_scores_that_separate_the_classes_have_no_slope_but_an_area_of_one_without_interval() -> None:
    items = pair_scored([0.1, 0.2, 0.3, 0.3, 0.6, 0.9], [0, 0, 0, 1, 1, 1])
    line = calibration_line(items)
    assert (line.slope.status, line.slope.reason) == ("undefined", "singular")
    assert line.in_the_large.status == "ok"
    perfect = area_under_curve(pair_scored([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]))
    assert (perfect.value, perfect.ci_low, perfect.reason) == (1.0, None, "singular")


def test_a_score_of_exactly_zero_or_one_has_no_logit_and_so_no_line() -> None:
    line = calibration_line(pair_scored([0.0, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    assert {figure.reason for figure in (line.intercept, line.slope, line.in_the_large)} == {"singular"}


def test_constant_scores_have_an_intercept_with_slope_one_only() -> None:
    line = calibration_line(pair_scored([0.5] * 4, [1, 1, 1, 0]))
    assert line.slope.reason == "constant_input"
    assert line.in_the_large.value == pytest.approx(np.log(3))


def test_a_judge_too_sure_of_itself_has_a_slope_below_one() -> None:
    chances, labels = calibrated(3000, 5)
    sharpened = [chance**3 / (chance**3 + (1 - chance) ** 3) for chance in chances]
    line = calibration_line(pair_scored(sharpened, labels))
    assert line.slope.value == pytest.approx(1 / 3, abs=0.05)
    assert line.slope.ci_high is not None
    assert line.slope.ci_high < 1


def test_calibrated_scores_pass_the_test_as_often_as_they_should() -> None:
    p_values = [spiegelhalter(pair_scored(*calibrated(100, seed))).p_value or 0.0 for seed in range(300)]
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.09


def test_scores_of_nought_half_and_one_have_no_test() -> None:
    test = spiegelhalter(pair_scored([0, 0.5, 1, 1], [0, 1, 1, 0]))
    assert (test.statistic, test.p_value, test.reason) == (None, None, "singular")


def test_clusters_of_one_item_are_hardly_different_from_none() -> None:
    chances, labels = calibrated(500, 7)
    alone, clustered = (
        pair_scored(chances, labels, clusters=clusters) for clusters in (None, [f"case {at}" for at in range(500)])
    )
    for first, second in zip(figures(alone)[3:9], figures(clustered)[3:9], strict=True):
        assert second.value == first.value
        assert second.n_clusters == 500
        assert second.ci_low == pytest.approx(first.ci_low, abs=0.05)
        assert second.ci_high == pytest.approx(first.ci_high, abs=0.05)
    assert spiegelhalter(clustered).statistic == pytest.approx(spiegelhalter(alone).statistic, rel=0.1)


def test_copies_in_one_cluster_tell_no_more_than_one() -> None:
    chances, labels = calibrated(200, 8)
    once = pair_scored(chances, labels, clusters=range(200))
    copied = pair_scored(chances * 4, labels * 4, clusters=list(range(200)) * 4)
    for first, second in zip(figures(once)[3:9], figures(copied)[3:9], strict=True):
        assert second.se == pytest.approx(first.se, rel=1e-6)
        assert second.deff == pytest.approx(4 * (first.deff or 0.0), rel=0.02)


def test_one_cluster_has_no_interval() -> None:
    items = pair_scored([0.2, 0.6, 0.5, 0.7], [0, 1, 1, 0], clusters=["a"] * 4)
    for figure in figures(items)[3:9]:
        assert (figure.ci_low, figure.reason) == (None, "too_few_clusters")
    assert spiegelhalter(items).reason == "too_few_clusters"


@settings(max_examples=60, deadline=None)
@given(items=st.lists(st.tuples(st.floats(-50, 50), st.booleans()), min_size=2, max_size=20))
def test_the_area_counts_pairs_whatever_the_scale_of_scores(items: list[tuple[float, bool]]) -> None:
    yes, no = ([score for score, label in items if label is wanted] for wanted in (True, False))
    figure = area_under_curve(paired(items))
    if not yes or not no:
        assert figure.value is None
    else:
        wins = [(one > other) + (one == other) / 2 for one in yes for other in no]
        assert figure.value == pytest.approx(sum(wins) / len(wins))


def test_delong_s_interval_covers_what_it_should() -> None:
    truth = area_under_curve(pair_scored(*calibrated(50_000, 1))).value or 0.0
    held = 0
    for seed in range(300):
        figure = area_under_curve(pair_scored(*calibrated(80, seed)))
        held += (figure.ci_low or 0.0) <= truth <= (figure.ci_high or 0.0)
    assert 0.91 <= held / 300 <= 0.98


def test_a_class_of_one_item_has_an_area_and_no_interval() -> None:
    figure = area_under_curve(pair_scored([0.1, 0.6, 0.5], [0, 0, 1]))
    assert (figure.value, figure.reason) == (0.5, "too_few")
    assert "rare_class" in figure.flags


def test_wrong_input_is_refused_with_its_remedy() -> None:
    with pytest.raises(ValueError, match="2 scores and 1 labels"):
        pair_scored([0.1, 0.2], [1])
    with pytest.raises(ValueError, match="some label is not 0 or 1: say which class is positive"):
        pair_scored([0.1, 0.2], [1, 2])
    with pytest.raises(ValueError, match="give None where it is missing"):
        pair_scored([0.1, float("nan")], [1, 0])
    outside = pair_scored([0.1, 1.2], [1, 0])
    for statistic in (reliability_table, brier, spiegelhalter, calibration_line):
        with pytest.raises(ValueError, match="map the scores first"):
            statistic(outside)
    with pytest.raises(ValueError, match="use at least one"):
        reliability_table(pair_scored([], []), bins=0)
