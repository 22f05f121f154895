import json
from dataclasses import fields
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.ceiling import HumanCeiling, gold_noise, human_ceiling
from calibration.statistics.tables import INVALID, Invalid
from judges.figures import FLAGS, REASONS, Figure

Item: TypeAlias = tuple[list[int | None], int | Invalid | None, int]

item_lists = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0, 1, 1, None]), min_size=3, max_size=3),
        st.sampled_from([0, 1, 1, None, INVALID]),
        st.integers(0, 5),
    ),
    max_size=20,
)


def ceiling_of(items: list[Item], clusters: list[int] | None = None) -> HumanCeiling:
    return human_ceiling(
        [row for row, _, _ in items], [judge for _, judge, _ in items], labels=[0, 1], clusters=clusters
    )


def figures_of(found: HumanCeiling) -> list[Figure]:
    values = [getattr(found, field.name) for field in fields(found)]
    return [each for each in values if isinstance(each, Figure)] + [*found.by_annotator, *found.judge_by_annotator]


@settings(max_examples=40, deadline=None)
@given(items=item_lists, clustered=st.booleans())
def test_every_figure_holds_its_value_and_is_plain_json(items: list[Item], clustered: bool) -> None:
    found = ceiling_of(items, [cluster for _, _, cluster in items] if clustered else None)
    json.dumps(found.to_record(), allow_nan=False)
    for figure in figures_of(found):
        assert set(figure.flags) <= FLAGS
        assert figure.reason is None or figure.reason in REASONS
        if figure.value is None or figure.ci_low is None or figure.ci_high is None:
            assert figure.reason is not None
        else:
            assert figure.ci_low <= figure.value + 1e-12
            assert figure.value <= figure.ci_high + 1e-12


@settings(max_examples=25, deadline=None)
@given(items=item_lists, random=st.randoms())
def test_the_order_of_items_does_not_matter_and_clusters_of_one_item_change_no_number(
    items: list[Item], random: Random
) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)
    plain, other = ceiling_of(items), ceiling_of(shuffled)
    alone = ceiling_of(items, list(range(len(items))))
    for first, second, third in zip(figures_of(plain), figures_of(other), figures_of(alone), strict=True):
        for each in (second, third):
            assert (first.value is None) == (each.value is None)
            if first.value is not None:
                assert first.value == pytest.approx(each.value)
            if first.se is not None:
                assert first.se == pytest.approx(each.se)


def test_a_judge_that_copies_one_human_meets_the_ceiling_of_that_human() -> None:
    people = np.random.default_rng(1).integers(0, 2, (50, 3))
    found = human_ceiling(people, people[:, 0], labels=[0, 1])
    assert found.judge_by_annotator[0].value == found.by_annotator[0].value
    assert found.judge.value is not None
    assert found.humans.value is not None
    assert found.judge.value > found.humans.value  # held against itself as one of the others of the two


def test_an_invalid_answer_agrees_with_nobody_and_can_be_left_out() -> None:
    rows, judge = [[1, 1, 1]] * 20, [1] * 15 + [INVALID] * 5
    found = human_ceiling(rows, judge, labels=[0, 1])
    assert (found.humans.value, found.judge.value, found.difference.value) == (1, 0.75, -0.25)
    dropped = human_ceiling(rows, judge, labels=[0, 1], invalid="drop")
    assert dropped.judge.value == 1
    assert dropped.judge.n_dropped == 15
    assert dropped.judge.ci_low is not None
    assert dropped.judge.ci_low < 1


def test_items_of_one_case_widen_the_interval() -> None:
    generator = np.random.default_rng(2)
    people = np.repeat(generator.integers(0, 2, (20, 3)), 5, axis=0)
    judge = np.repeat(generator.integers(0, 2, 20), 5)
    plain = human_ceiling(people, judge, labels=[0, 1])
    clustered = human_ceiling(people, judge, labels=[0, 1], clusters=np.repeat(np.arange(20), 5))
    for first, second in ((plain.difference, clustered.difference), (plain.judge_kappa, clustered.judge_kappa)):
        assert first.se is not None
        assert second.se is not None
        assert second.se > 2 * first.se
    assert clustered.human_kappa.n_clusters == 20


def test_without_two_humans_beside_the_judge_there_is_nothing_to_say() -> None:
    found = human_ceiling([[1, None], [None, 0]], [1, 1], labels=[0, 1])
    assert (found.humans.reason, found.difference.reason) == ("no_data", "no_data")
    assert found.human_kappa.reason == "no_pairable"
    assert human_ceiling([], [], labels=[0, 1]).judge_kappa.reason == "no_data"
    assert human_ceiling([[1, 1], [1, 1]], [1, 1], labels=[0, 1]).human_kappa.reason == "single_category"


def test_noise_in_the_gold_labels_has_no_figure_where_humans_disagree_by_half() -> None:
    found = gold_noise(0.5, 0.2)
    assert (found.human_error.reason, found.judge_error.reason) == ("not_identified", "not_identified")
    json.dumps(found.to_record(), allow_nan=False)


@given(human=st.floats(0, 0.49), judge=st.floats(0, 0.5))
def test_the_disagreements_follow_from_the_error_rates(human: float, judge: float) -> None:
    found = gold_noise(2 * human * (1 - human), human + judge - 2 * human * judge)
    assert found.human_error.value == pytest.approx(human, abs=1e-6)
    assert found.judge_error.value == pytest.approx(judge, abs=1e-5)


def test_disagreements_that_are_no_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="shares from 0 to 1"):
        gold_noise(-0.1, 0.2)
