from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.post_stratified import (
    post_stratified,
    post_stratified_of_counts,
    post_stratified_weighted,
)
from judges.intervals import proportion, proportion_interval
from support.sound import check_sound

Labelled: TypeAlias = tuple[int, int, int]
"""Human label, verdict, cluster."""
Other: TypeAlias = tuple[int, int]

bits = st.integers(0, 1)
labelled = st.lists(st.tuples(bits, bits, st.integers(0, 5)), max_size=40)
unlabelled = st.lists(st.tuples(bits, st.integers(3, 12)), max_size=60)
cells = st.tuples(*(st.integers(0, 12) for _ in range(4)), st.integers(0, 99), st.integers(0, 99), st.booleans())


def columns(items: list[Labelled], others: list[Other]) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    return (
        [y for y, _, _ in items],
        [f for _, f, _ in items],
        [f for f, _ in others],
        [c for _, _, c in items],
        [c for _, c in others],
    )


@given(cells)
@settings(max_examples=150)
def test_a_rate_is_sound_whatever_the_counts(counts: tuple[int, int, int, int, int, int, bool]) -> None:
    *table, inside = counts
    tp, fp, fn, tn, positive, negative = table
    found = post_stratified_of_counts(tp, fp, fn, tn, positive, negative, labelled_in_stream=inside)
    check_sound(found)
    figure = found.estimate
    passed = positive + (tp + fp if inside else 0)
    failed = negative + (fn + tn if inside else 0)
    if passed + failed == 0:
        assert figure.reason == "no_data"
    elif (passed and not tp + fp) or (failed and not fn + tn):
        assert figure.reason == "empty_stratum"
        assert figure.ci_low is not None
        assert figure.ci_high is not None
        assert 0 <= figure.ci_low < figure.ci_high <= 1
    else:
        assert figure.value is not None
        assert figure.ci_low is not None
        assert figure.ci_high is not None
        assert 0 <= figure.ci_low < figure.ci_high <= 1  # never without width


@given(cells)
@settings(max_examples=60)
def test_calling_passes_fails_turns_the_interval_round(counts: tuple[int, int, int, int, int, int, bool]) -> None:
    tp, fp, fn, tn, positive, negative, inside = counts
    one = post_stratified_of_counts(tp, fp, fn, tn, positive, negative, labelled_in_stream=inside)
    other = post_stratified_of_counts(tn, fn, fp, tp, negative, positive, labelled_in_stream=inside)
    if one.estimate.value is not None:
        assert other.estimate.value == pytest.approx(1 - one.estimate.value)
        assert one.estimate.ci_high is not None
        assert other.estimate.ci_low == pytest.approx(1 - one.estimate.ci_high)
        assert one.sensitivity.value == pytest.approx(other.specificity.value)
        assert one.sensitivity.ci_low == pytest.approx(other.specificity.ci_low)


@given(labelled, unlabelled, st.booleans())
@settings(max_examples=80)
def test_a_rate_with_clusters_is_sound(items: list[Labelled], others: list[Other], inside: bool) -> None:
    y, f, rest, ids, more = columns(items, others)
    found = post_stratified(y, f, rest, clusters=ids, clusters_unlabelled=more, labelled_in_stream=inside)
    check_sound(found)
    if found.estimate.value is not None and len(set(ids)) < 2:
        assert found.estimate.reason == "too_few_clusters"
        assert found.estimate.ci_low is None


@given(labelled, unlabelled, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_items_decides_nothing(items: list[Labelled], others: list[Other], random: Random) -> None:
    def rate(items: list[Labelled], others: list[Other]) -> list[float | None]:
        y, f, rest, ids, more = columns(items, others)
        figure = post_stratified(y, f, rest, clusters=ids, clusters_unlabelled=more).estimate
        return [figure.value, figure.ci_low, figure.ci_high]

    moved = rate(random.sample(items, len(items)), random.sample(others, len(others)))
    assert moved == pytest.approx(rate(items, others), abs=1e-9)


def test_clusters_of_one_item_are_nearly_none() -> None:
    random = np.random.default_rng(5)
    y = random.integers(0, 2, 150)
    f = np.where(random.random(150) < 0.8, y, 1 - y)
    rest = random.integers(0, 2, 400)
    alone = post_stratified(y, f, rest).estimate
    single = post_stratified(y, f, rest, clusters=np.arange(150), clusters_unlabelled=np.arange(150, 550)).estimate
    assert single.value == alone.value
    assert single.deff == pytest.approx(1, abs=0.01)
    assert single.ci_low == pytest.approx(alone.ci_low, abs=0.002)
    assert single.ci_high == pytest.approx(alone.ci_high, abs=0.002)


def test_the_standard_error_is_that_of_the_influence_values() -> None:
    y = np.array([1, 1, 0, 1, 0, 0, 1, 0])
    f = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    rest = np.array([1, 1, 1, 0, 0])
    found = post_stratified(y, f, rest)
    w, a1, a0 = 7 / 13, 3 / 4, 1 / 4
    theta = w * a1 + (1 - w) * a0
    own = np.where(f == 1, w * (y - a1) / 4, (1 - w) * (y - a0) / 4) + (np.where(f == 1, a1, a0) - theta) / 13
    other = (np.where(rest == 1, a1, a0) - theta) / 13
    assert found.estimate.value == pytest.approx(theta)
    assert found.estimate.se == pytest.approx(float(own @ own + other @ other) ** 0.5)


def test_a_verdict_without_labels_leaves_room_for_all_it_may_be() -> None:
    found = post_stratified_of_counts(0, 0, 3, 17, 30, 150)
    low, high = proportion_interval(3, 20)
    assert found.estimate.reason == "empty_stratum"
    assert found.estimate.ci_low == pytest.approx(0.85 * low)
    assert found.estimate.ci_high == pytest.approx(0.85 * high + 0.15)


def test_with_clusters_the_rates_beside_the_estimate_know_them_too() -> None:
    random = np.random.default_rng(3)
    y, f, rest = (np.repeat(random.random(size) < 0.7, 3) for size in (40, 40, 100))
    ids, more = np.repeat(np.arange(40), 3), np.repeat(np.arange(40, 140), 3)
    found, alone = post_stratified(y, f, rest, clusters=ids, clusters_unlabelled=more), post_stratified(y, f, rest)
    assert found.ppv == proportion(y[f], ids[f])
    assert found.fomr == proportion(y[~f], ids[~f])
    assert found.judge_only == proportion(np.concatenate([f, rest]), np.concatenate([ids, more]))
    assert found.ppv.value == alone.ppv.value
    assert found.ppv.deff == pytest.approx(3, rel=0.1)
    outside = post_stratified(y, f, rest, clusters=ids, clusters_unlabelled=more, labelled_in_stream=False)
    assert outside.judge_only == proportion(rest, more)


def test_what_a_verdict_without_labels_leaves_open_is_wider_with_clusters() -> None:
    y, f, rest = [1, 0, 0, 0, 0] * 8, [0] * 40, [1] * 20 + [0] * 40
    alone = post_stratified(y, f, rest).estimate
    grouped = post_stratified(y, f, rest, clusters=[*range(20), *range(20)], clusters_unlabelled=range(20, 80)).estimate
    own = proportion(np.array(y), [*range(20), *range(20)])
    low, high = own.ci_low, own.ci_high
    assert (grouped.reason, grouped.n_clusters) == ("empty_stratum", 20)
    assert low is not None
    assert high is not None
    assert (grouped.ci_low, grouped.ci_high) == pytest.approx((0.8 * low, 0.8 * high + 0.2))
    assert alone.ci_high is not None
    assert grouped.ci_high is not None
    assert grouped.ci_high > alone.ci_high
    single = post_stratified(y, f, rest, clusters=["x"] * 40, clusters_unlabelled=range(60)).estimate
    assert (single.ci_low, single.ci_high, single.reason) == (None, None, "empty_stratum")


# Labels with probabilities of their own


@given(labelled, unlabelled, st.booleans(), st.data())
@settings(max_examples=80)
def test_a_weighted_rate_is_sound(
    items: list[Labelled], others: list[Other], clustered: bool, data: st.DataObject
) -> None:
    y, f, rest, ids, more = columns(items, others)
    chances = data.draw(st.lists(st.floats(0.01, 1), min_size=len(y), max_size=len(y)))
    mine, theirs = (ids, more) if clustered else (None, None)
    found = post_stratified_weighted(y, f, rest, chances, clusters=mine, clusters_unlabelled=theirs)
    check_sound(found)
    assert (found.value is None) == (not items)
    if items and clustered and len(set(ids)) < 2:
        assert found.reason == "too_few_clusters"


@given(labelled, unlabelled, st.floats(0.05, 1), st.booleans())
@settings(max_examples=60)
def test_equal_probabilities_say_no_more_than_none(
    items: list[Labelled], others: list[Other], chance: float, clustered: bool
) -> None:
    y, f, rest, ids, more = columns(items, others)
    mine, theirs = (ids, more) if clustered else (None, None)
    plain = post_stratified(y, f, rest, clusters=mine, clusters_unlabelled=theirs).estimate
    weighted = post_stratified_weighted(y, f, rest, [chance] * len(y), clusters=mine, clusters_unlabelled=theirs)
    if plain.value is not None and items:
        assert weighted.value == pytest.approx(plain.value)
        for one, other in ((weighted.ci_low, plain.ci_low), (weighted.ci_high, plain.ci_high), (weighted.se, plain.se)):
            assert one == (None if other is None else pytest.approx(other, abs=1e-9))


def test_a_weighted_share_is_that_of_the_stream_and_its_interval_that_of_the_effective_labels() -> None:
    y, f, rest = [1, 1, 0, 1], [1, 1, 1, 1], [1] * 96
    found = post_stratified_weighted(y, f, rest, [0.1, 0.1, 0.02, 0.02])
    assert found.value == pytest.approx((10 + 10 + 50) / 120)
    few, many = (post_stratified_weighted(y * size, f * size, rest, [0.1, 0.1, 0.02, 0.02] * size) for size in (1, 20))
    assert few.ci_low is not None
    assert many.ci_low is not None
    assert few.ci_low < many.ci_low
    with pytest.raises(ValueError, match="inclusion probability"):
        post_stratified_weighted(y, f, rest, [0.1, 0.1, 0.1, 0.0])


def test_a_verdict_without_labels_leaves_the_weighted_labels_alone() -> None:
    found = post_stratified_weighted([1, 0], [0, 0], [1, 1, 0], [0.5, 0.25])
    assert found.value == pytest.approx(2 / 6)


def test_a_verdict_that_no_item_has_takes_no_part() -> None:
    found = post_stratified_of_counts(18, 2, 0, 0, 300, 0)
    low, high = proportion_interval(18, 20)
    assert found.estimate.value == pytest.approx(0.9)
    assert found.estimate.ci_low is not None
    assert found.estimate.ci_high is not None
    assert found.estimate.ci_low < low  # the stream may hold fails that the sample missed
    assert found.estimate.ci_high > high
    assert found.sensitivity.value == 1
    assert found.specificity.value == 0


def test_labels_of_other_data_do_not_count_as_items_of_the_stream() -> None:
    found = post_stratified_of_counts(9, 1, 2, 8, 30, 70, labelled_in_stream=False)
    assert found.judge_only.value == pytest.approx(0.3)
    assert found.judge_only.n == 100
    assert found.estimate.value == pytest.approx(0.3 * 0.9 + 0.7 * 0.2)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    random, truth, draws = np.random.default_rng(11), 0.8, 600
    covered = sensitivity = 0
    for _ in range(draws):
        y = random.random(360) < truth
        f = np.where(y, random.random(360) < 0.9, random.random(360) < 0.3)
        found = post_stratified(y[:60], f[:60], f[60:])
        figure, rate = found.estimate, found.sensitivity
        covered += figure.ci_low is None or figure.ci_high is None or figure.ci_low <= truth <= figure.ci_high
        sensitivity += rate.ci_low is None or rate.ci_high is None or rate.ci_low <= 0.9 <= rate.ci_high
    assert covered / draws > 0.925
    assert sensitivity / draws > 0.925


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="a count is negative"):
        post_stratified_of_counts(-1, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        post_stratified([2], [1], [1])
    with pytest.raises(ValueError, match="one part only"):
        post_stratified([1], [1], [1], clusters_unlabelled=[1])
