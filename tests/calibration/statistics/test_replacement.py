import json
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.multiplicity import benjamini_yekutieli
from calibration.statistics.replacement import (
    EPSILON_CROWD,
    EPSILON_EXPERT,
    EPSILON_SKILLED,
    alternative_annotator_test,
)
from calibration.statistics.tables import INVALID, Invalid
from judges.figures import FLAGS, Figure

Label: TypeAlias = int | Invalid | None
Item: TypeAlias = tuple[list[int | None], Label, int]

item_lists = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0, 1, 1, 2, None]), min_size=3, max_size=3),
        st.sampled_from([0, 1, 1, 2, None, INVALID]),
        st.integers(0, 5),
    ),
    max_size=25,
)


def panel(n: int, people: int, skill: float, judge: float, seed: int) -> tuple[list[list[int]], list[int]]:
    """Labels of humans and a judge who know the truth so often, and guess among three labels otherwise."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, n)
    humans = np.where(generator.random((n, people)) < skill, truth[:, None], generator.integers(0, 3, (n, people)))
    answers = np.where(generator.random(n) < judge, truth, generator.integers(0, 3, n))
    return humans.tolist(), answers.tolist()


@pytest.mark.parametrize("labels", [[0, 1, 2], None], ids=["labels", "numbers"])
@settings(max_examples=25, deadline=None)
@given(items=item_lists, clustered=st.booleans(), epsilon=st.sampled_from([0.0, 0.1, 0.2]))
def test_every_result_is_plain_json_and_every_interval_holds_its_value(
    labels: list[int] | None, items: list[Item], clustered: bool, epsilon: float
) -> None:
    found = alternative_annotator_test(
        [row for row, _, _ in items],
        [judge for _, judge, _ in items],
        epsilon=epsilon,
        labels=labels,
        clusters=[cluster for _, _, cluster in items] if clustered else None,
        min_items=2,
    )
    json.dumps(found.to_record(), allow_nan=False)
    figures: list[Figure] = [found.advantage, found.human_alignment, found.judge_alignment]
    for each in found.humans:
        figures += [each.advantage_judge, each.advantage_human, each.difference]
        assert 0 <= each.p_value <= each.adjusted_p <= 1
        assert (each.exact_p is None) == clustered
        assert each.human_better + each.judge_better <= each.n
    for figure in figures:
        assert set(figure.flags) <= FLAGS
        if figure.value is not None and figure.ci_low is not None and figure.ci_high is not None:
            assert figure.ci_low <= figure.value + 1e-12
            assert figure.value <= figure.ci_high + 1e-12
    if not found.humans:
        assert (found.winning_rate.reason, found.passes) == ("too_few", None)


@settings(max_examples=20, deadline=None)
@given(items=item_lists, random=st.randoms())
def test_the_order_of_items_does_not_matter_and_clusters_of_one_item_change_nothing_of_the_t_test(
    items: list[Item], random: Random
) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)
    first, second, third = (
        alternative_annotator_test(
            [row for row, _, _ in each],
            [judge for _, judge, _ in each],
            epsilon=0.1,
            labels=[0, 1, 2],
            clusters=clusters,
            min_items=2,
        )
        for each, clusters in ((items, None), (shuffled, None), (items, range(len(items))))
    )
    for a, b, c in zip(first.humans, second.humans, third.humans, strict=True):
        assert a.p_value == pytest.approx(b.p_value)
        assert a.p_value == pytest.approx(c.p_value)
        assert a.exact_p == pytest.approx(b.exact_p)
    assert first.winning_rate.value == second.winning_rate.value
    if first.advantage.value is not None:
        assert [first.advantage.value, first.advantage.ci_low, first.advantage.ci_high] == pytest.approx(
            [third.advantage.value, third.advantage.ci_low, third.advantage.ci_high]
        )


def test_a_judge_as_good_as_the_truth_replaces_careless_humans_and_one_that_guesses_does_not() -> None:
    humans, judge = panel(120, 3, 0.8, 1.0, seed=1)
    found = alternative_annotator_test(humans, judge, epsilon=EPSILON_EXPERT, labels=[0, 1, 2])
    assert found.passes
    assert found.winning_rate.value == 1
    assert found.judge_alignment.value is not None
    assert found.human_alignment.value is not None
    assert found.judge_alignment.value > found.human_alignment.value
    humans, judge = panel(120, 3, 0.8, 0.0, seed=1)
    found = alternative_annotator_test(humans, judge, epsilon=EPSILON_EXPERT, labels=[0, 1, 2])
    assert found.passes is False
    assert found.winning_rate.value == 0


def test_careless_humans_are_easy_to_match_and_their_agreement_says_so() -> None:
    humans, judge = panel(120, 3, 0.1, 0.1, seed=2)
    found = alternative_annotator_test(humans, judge, epsilon=EPSILON_EXPERT, labels=[0, 1, 2])
    assert found.passes
    assert found.human_alignment.value is not None
    assert found.human_alignment.value < 0.5


def test_humans_with_too_few_items_are_skipped_by_name() -> None:
    humans, judge = panel(40, 2, 0.9, 0.9, seed=3)
    rows = [[*row, row[0] if place < 10 else None] for place, row in enumerate(humans)]
    found = alternative_annotator_test(rows, judge, epsilon=0.1, labels=[0, 1, 2], annotators=["ann", "bo", "cy"])
    assert [each.annotator for each in found.humans] == ["ann", "bo"]
    assert found.skipped == ("cy",)
    assert found.few_humans
    assert found.n_items == 40


def test_nobody_with_enough_items_leaves_the_test_undefined() -> None:
    found = alternative_annotator_test([[0, 0], [1, 1]], [0, 1], epsilon=0.1, labels=[0, 1])
    assert (found.winning_rate.reason, found.passes, found.few_humans) == ("too_few", None, True)
    assert found.skipped == (0, 1)
    assert alternative_annotator_test([], [], epsilon=0.1, labels=[0, 1]).passes is None


def test_items_with_one_human_or_no_answer_of_the_judge_are_left_out_and_counted() -> None:
    rows: list[list[int | None]] = [[0, 0], [1, None], [1, 1], [None, None]] * 20
    found = alternative_annotator_test(rows, [0, 1, None, 1] * 20, epsilon=0.1, labels=[0, 1], min_items=20)
    assert (found.n_items, found.n_dropped) == (20, 60)
    assert "high_drop" in found.advantage.flags


@pytest.mark.parametrize("labels", [[0, 1, 2], None], ids=["labels", "numbers"])
def test_an_invalid_answer_is_further_from_the_humans_than_any_label(labels: list[int] | None) -> None:
    rows = [[0, 0, 0]] * 40
    answers = [0] * 30 + [INVALID] * 10
    found = alternative_annotator_test(rows, answers, epsilon=0.1, labels=labels)
    assert [each.human_better for each in found.humans] == [10, 10, 10]
    dropped = alternative_annotator_test(rows, answers, epsilon=0.1, labels=labels, invalid="drop")
    assert [(each.n, each.human_better) for each in dropped.humans] == [(30, 0)] * 3


def test_where_nothing_varies_p_is_the_exact_bound_and_never_zero() -> None:
    found = alternative_annotator_test([[0, 0, 0]] * 40, [0] * 40, epsilon=0.1, labels=[0, 1])
    assert [each.p_value for each in found.humans] == pytest.approx([0.9**40] * 3)
    assert [each.t for each in found.humans] == [None] * 3
    assert found.advantage.value == 1
    assert found.advantage.ci_low is not None
    assert found.advantage.ci_low < 1
    clustered = alternative_annotator_test(
        [[0, 0, 0]] * 40, [0] * 40, epsilon=0.1, labels=[0, 1], clusters=[place // 4 for place in range(40)]
    )
    assert [each.p_value for each in clustered.humans] == pytest.approx([0.9**10] * 3)


def test_copies_of_items_in_a_cluster_make_no_evidence() -> None:
    humans, judge = panel(40, 3, 0.8, 0.9, seed=4)
    once = alternative_annotator_test(humans, judge, epsilon=0.1, labels=[0, 1, 2])
    again = alternative_annotator_test(
        humans * 3, judge * 3, epsilon=0.1, labels=[0, 1, 2], clusters=list(range(40)) * 3
    )
    assert [each.p_value for each in again.humans] == pytest.approx([each.p_value for each in once.humans])
    assert again.advantage.ci_low == pytest.approx(once.advantage.ci_low)


def test_humans_whose_items_are_one_cluster_are_skipped() -> None:
    found = alternative_annotator_test([[0, 0]] * 30, [0] * 30, epsilon=0.1, labels=[0, 1], clusters=["a"] * 30)
    assert (found.skipped, found.passes) == ((0, 1), None)


def test_a_decision_that_the_exact_test_does_not_share_is_flagged() -> None:
    # d is +1 twice in 32 items: t rejects, the binomial distribution does not
    rows = [[0, 0, 0]] * 32
    found = alternative_annotator_test(rows, [1, 1, *[0] * 30], epsilon=0.2, labels=[0, 1])
    exact = benjamini_yekutieli([each.exact_p or 0.0 for each in found.humans])
    assert [each.rejected for each in found.humans] == [True] * 3
    assert [each.exact_rejected for each in found.humans] == [p <= 0.05 for p in exact]
    assert found.exact_disagrees == (exact[0] > 0.05)


def test_numbers_are_close_by_distance_where_labels_are_only_equal_or_not() -> None:
    rows = [[1.0, 2.0, 3.0]] * 40
    numbers = alternative_annotator_test(rows, [2.0] * 40, epsilon=0.1)
    assert [each.judge_better for each in numbers.humans] == [40, 0, 40]
    labels = alternative_annotator_test(rows, [2.0] * 40, epsilon=0.1, labels=[1.0, 2.0, 3.0])
    assert [each.judge_better for each in labels.humans] == [40, 0, 40]
    assert labels.human_alignment.value == 0
    assert numbers.human_alignment.value == pytest.approx((2.5**0.5 * 2 + 1) / 3)


def test_the_prices_of_replacement_are_those_of_the_paper() -> None:
    assert (EPSILON_EXPERT, EPSILON_SKILLED, EPSILON_CROWD) == (0.2, 0.15, 0.1)


def test_wrong_input_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="epsilon is from 0"):
        alternative_annotator_test([[0, 0]], [0], epsilon=1.0, labels=[0, 1])
    with pytest.raises(ValueError, match="one row of human labels"):
        alternative_annotator_test([[0, 0], [0]], [0, 0], epsilon=0.1, labels=[0, 1])
    with pytest.raises(ValueError, match="declare it"):
        alternative_annotator_test([[0, 7]], [0], epsilon=0.1, labels=[0, 1])
    with pytest.raises(ValueError, match="declare the labels"):
        alternative_annotator_test([["a", "b"]], ["a"], epsilon=0.1)
    with pytest.raises(ValueError, match="give one each"):
        alternative_annotator_test([[0, 0]], [0], epsilon=0.1, labels=[0, 1], annotators=["ann"])
