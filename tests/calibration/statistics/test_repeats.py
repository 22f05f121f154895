import json
from dataclasses import fields
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.repeats import REPEATS_WARNING, RepeatStability, best_repeats, repeat_stability
from calibration.statistics.tables import INVALID, Invalid
from judges.figures import FLAGS, REASONS, Figure

Rows: TypeAlias = list[list[int | Invalid | None]]

tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0, 1, 1, 1, None, INVALID]), min_size=width, max_size=width), max_size=15
    )
)


def figures_of(found: RepeatStability) -> list[Figure]:
    parts: list[object] = [found, found.binary]
    values = [getattr(part, field.name) for part in parts for field in fields(part)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return [each for each in values if isinstance(each, Figure)]


@settings(max_examples=40, deadline=None)
@given(rows=tables, data=st.data())
def test_every_figure_holds_its_value_and_is_plain_json(rows: Rows, data: st.DataObject) -> None:
    size = len(rows)
    clusters = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=size, max_size=size))
    found = repeat_stability(rows, labels=[0, 1], clusters=clusters)
    json.dumps(found.to_record(), allow_nan=False)
    for figure in figures_of(found):
        assert set(figure.flags) <= FLAGS
        assert figure.reason is None or figure.reason in REASONS
        if figure.value is None:
            assert figure.reason is not None
        elif figure.ci_low is not None and figure.ci_high is not None:
            assert figure.ci_low <= figure.value + 1e-12
            assert figure.value <= figure.ci_high + 1e-12


@settings(max_examples=30, deadline=None)
@given(rows=tables, random=st.randoms())
def test_the_order_of_items_and_repeats_does_not_matter_and_clusters_of_one_item_change_no_value(
    rows: Rows, random: Random
) -> None:
    shuffled = [random.sample(row, len(row)) for row in rows]
    random.shuffle(shuffled)
    plain, other = repeat_stability(rows, labels=[0, 1]), repeat_stability(shuffled, labels=[0, 1])
    alone = repeat_stability(rows, labels=[0, 1], clusters=range(len(rows)))
    for first, second, third in zip(figures_of(plain), figures_of(other), figures_of(alone), strict=True):
        for each in (second, third):
            assert (first.value is None) == (each.value is None)
            if first.value is not None:
                assert first.value == pytest.approx(each.value, abs=1e-9)


def test_a_judge_that_never_changes_its_mind_agrees_with_itself_and_the_interval_says_how_surely() -> None:
    found = repeat_stability([[0, 0], [1, 1]] * 20, labels=[0, 1])
    assert (found.flip_rate.value, found.items_flipped.value, found.kappa.value) == (0, 0, 1)
    assert found.kappa.ci_low is not None
    assert 0.5 < found.kappa.ci_low < 1
    assert found.kappa.method == "exact_bound"
    assert found.warning == REPEATS_WARNING


def test_one_answer_to_everything_has_no_kappa_and_no_reliability() -> None:
    found = repeat_stability([[1, 1], [1, 1]], labels=[0, 1])
    assert found.kappa.reason == "single_category"
    assert found.binary is not None
    assert found.binary.reliability_one.reason == "constant_input"
    assert found.binary.se_now.value == 0


def test_an_invalid_answer_differs_from_every_label_and_a_missing_one_drops_the_item() -> None:
    found = repeat_stability([[1, INVALID], [1, 1], [None, 1], [0, 0]], labels=[0, 1])
    assert (found.flip_rate.n, found.flip_rate.n_dropped) == (3, 1)
    assert found.flip_rate.value == pytest.approx(1 / 3)


def test_variances_are_those_a_simulated_judge_has() -> None:
    generator = np.random.default_rng(1)
    chance = generator.beta(2, 2, 4000)
    found = repeat_stability((generator.random((4000, 5)) < chance[:, None]).astype(int), labels=[0, 1])
    assert found.binary is not None
    assert found.binary.within.value == pytest.approx(0.2, abs=0.01)  # E[p(1-p)] of beta(2, 2)
    assert found.binary.between.value == pytest.approx(0.05, abs=0.005)
    assert found.flip_rate.value == pytest.approx(0.4, abs=0.02)


def test_a_variance_between_items_below_zero_is_shown_and_gives_no_standard_error() -> None:
    found = repeat_stability([[0, 1], [1, 0], [0, 1]], labels=[0, 1])
    assert found.binary is not None
    assert found.binary.between.value == pytest.approx(-0.25)
    assert found.binary.se_infinite.reason == "singular"


def test_clusters_stretch_what_is_between_items_and_not_the_noise() -> None:
    generator = np.random.default_rng(2)
    chance = np.repeat(generator.random(30), 4)
    answers = (generator.random((120, 3)) < chance[:, None]).astype(int)
    plain = repeat_stability(answers, labels=[0, 1]).binary
    clustered = repeat_stability(answers, labels=[0, 1], clusters=np.repeat(np.arange(30), 4)).binary
    assert plain is not None
    assert clustered is not None

    def noise(se_one: float | None, se_infinite: float | None) -> float:
        assert se_one is not None
        assert se_infinite is not None
        return se_one**2 - se_infinite**2

    assert clustered.se_now.value is not None
    assert plain.se_now.value is not None
    assert clustered.se_now.value > 1.3 * plain.se_now.value
    assert noise(clustered.se_one.value, clustered.se_infinite.value) == pytest.approx(
        noise(plain.se_one.value, plain.se_infinite.value)
    )


def test_three_labels_have_no_binary_part_and_too_little_data_a_reason() -> None:
    assert repeat_stability([[0, 2], [1, 1]], labels=[0, 1, 2]).binary is None
    empty = repeat_stability([], labels=[0, 1])
    assert (empty.flip_rate.reason, empty.kappa.reason) == ("no_data", "no_data")
    assert empty.binary is not None
    assert empty.binary.within.reason == "no_data"
    one = repeat_stability([[0, 1]], labels=[0, 1])
    assert one.kappa.reason == "too_few"
    assert one.binary is not None
    assert one.binary.se_now.reason == "too_few"
    cluster = repeat_stability([[0, 1], [1, 1]], labels=[0, 1], clusters=["a", "a"])
    assert cluster.kappa.reason == "too_few_clusters"


@given(
    within=st.floats(0, 0.25),
    between=st.floats(0.001, 0.25),
    cost_item=st.floats(0, 10),
    cost_call=st.floats(0.001, 10),
)
def test_no_other_number_of_repeats_is_cheaper(
    within: float, between: float, cost_item: float, cost_call: float
) -> None:
    found = best_repeats(within, between, cost_item=cost_item, cost_call=cost_call)
    json.dumps(found.to_record(), allow_nan=False)
    assert found.repeats is not None

    def price(m: int) -> float:
        return (between + within / m) * (cost_item + m * cost_call)

    for other in {1, 2, 3, max(found.repeats - 1, 1), found.repeats + 1, 50}:
        assert price(found.repeats) <= price(other) * (1 + 1e-12)


def test_without_variance_between_items_no_number_of_repeats_is_best() -> None:
    found = best_repeats(0.1, 0, cost_item=1, cost_call=0.1)
    assert (found.unrounded.reason, found.repeats) == ("not_identified", None)


def test_wrong_input_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="two or more"):
        repeat_stability([[1]], labels=[0, 1])
    with pytest.raises(ValueError, match="two or more"):
        repeat_stability([[1, 1], [1]], labels=[0, 1])
    with pytest.raises(ValueError, match="declare it"):
        repeat_stability([[1, 7]], labels=[0, 1])
    with pytest.raises(ValueError, match="cost of a call is above 0"):
        best_repeats(0.1, 0.1, cost_item=1, cost_call=0)
