from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.rogan_gladen import rogan_gladen, rogan_gladen_of_counts
from support.sound import check_sound

Part: TypeAlias = tuple[int, int]

part = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
bits = st.integers(0, 1)
labelled = st.lists(st.tuples(bits, bits, st.integers(0, 5)), max_size=40)
stream = st.lists(st.tuples(bits, st.integers(3, 12)), max_size=60)


@given(part, part, part)
@settings(max_examples=200)
def test_a_rate_is_sound_whatever_the_counts(passed: Part, positive: Part, negative: Part) -> None:
    found = rogan_gladen_of_counts(*passed, *positive, *negative)
    check_sound(found)
    figure = found.estimate
    assert figure.ci_low is not None
    assert figure.ci_high is not None
    assert 0 <= figure.ci_low < figure.ci_high <= 1  # never without width
    if 0 in (passed[1], positive[1], negative[1]):
        assert figure.reason in {"no_data", "no_positive_gold", "no_negative_gold"}
    elif positive[0] / positive[1] + negative[0] / negative[1] <= 1 - 1e-9:
        assert figure.reason == "judge_uninformative"
        assert figure.value is None
    elif found.youden.ci_low is not None and found.youden.ci_low <= 0:
        assert (figure.ci_low, figure.ci_high) == (0, 1)
        assert figure.reason == "judge_uninformative"


@given(labelled, stream)
@settings(max_examples=80)
def test_a_rate_with_clusters_is_sound(items: list[tuple[int, int, int]], others: list[Part]) -> None:
    found = rogan_gladen(
        [y for y, _, _ in items],
        [f for _, f, _ in items],
        [f for f, _ in others],
        clusters=[c for _, _, c in items],
        clusters_stream=[c for _, c in others],
    )
    check_sound(found)
    alone = rogan_gladen([y for y, _, _ in items], [f for _, f, _ in items], [f for f, _ in others])
    assert found.estimate.value == alone.estimate.value
    assert found.raw == alone.raw


def test_the_judges_own_rates_give_back_the_human_rate() -> None:
    found = rogan_gladen_of_counts(760, 1490, 667, 816, 581, 674)
    assert found.raw == pytest.approx(816 / 1490)


def test_clusters_of_one_item_are_nearly_none() -> None:
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 300)
    f = np.where(random.random(300) < 0.85, y, 1 - y)
    others = random.integers(0, 2, 500)
    alone = rogan_gladen(y, f, others).estimate
    single = rogan_gladen(y, f, others, clusters=np.arange(300), clusters_stream=np.arange(300, 800)).estimate
    assert single.deff == pytest.approx(1, abs=0.01)
    assert single.ci_low == pytest.approx(alone.ci_low, abs=0.002)
    assert single.ci_high == pytest.approx(alone.ci_high, abs=0.002)


def test_items_that_come_in_fives_widen_the_interval() -> None:
    random = np.random.default_rng(4)
    y = np.repeat(random.integers(0, 2, 60), 5)
    f = np.where(np.repeat(random.random(60) < 0.85, 5), y, 1 - y)
    others = np.repeat(random.integers(0, 2, 100), 5)
    alone = rogan_gladen(y, f, others).estimate
    grouped = rogan_gladen(
        y, f, others, clusters=np.repeat(np.arange(60), 5), clusters_stream=np.repeat(np.arange(60, 160), 5)
    ).estimate
    assert grouped.deff == pytest.approx(5, rel=0.05)
    assert None not in (alone.ci_low, alone.ci_high, grouped.ci_low, grouped.ci_high)
    assert (grouped.ci_high or 0) - (grouped.ci_low or 0) > 1.5 * ((alone.ci_high or 0) - (alone.ci_low or 0))


def test_error_rates_of_another_stream_are_not_passed_off_as_certainty() -> None:
    # the judge passes everything, though it is known to pass only 60% of what is right
    found = rogan_gladen_of_counts(1000, 1000, 300, 500, 490, 500)
    assert found.raw is not None
    assert found.raw > 1.5
    assert found.estimate.value == 1
    assert found.estimate.reason == "not_identified"
    assert (found.estimate.ci_low, found.estimate.ci_high) == (0, 1)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random, truth, draws = np.random.default_rng(12), 0.8, 1500
    covered = 0
    for _ in range(draws):
        tp, tn = (int(random.binomial(60, rate)) for rate in (0.9, 0.7))
        passed = int(random.binomial(500, truth * 0.9 + (1 - truth) * 0.3))
        figure = rogan_gladen_of_counts(passed, 500, tp, 60, tn, 60).estimate
        covered += figure.ci_low is not None and figure.ci_high is not None and figure.ci_low <= truth <= figure.ci_high
    assert covered / draws > 0.935


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="successes"):
        rogan_gladen_of_counts(11, 10, 1, 2, 1, 2)
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        rogan_gladen([0.5], [1], [1])
