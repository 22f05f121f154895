from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.scale import severity
from calibration.statistics.tables import INVALID, Invalid, pair_labels, pairs_of_table
from support.sound import check_sound

LEVELS = (1, 2, 3, 4)
items = st.lists(
    st.tuples(
        st.sampled_from([*LEVELS, None]),
        st.sampled_from([*LEVELS, INVALID, None]),
        st.integers(0, 6),
    ),
    max_size=40,
)
Item = tuple[int | None, int | Invalid | None, int]


@given(items, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_a_comparison_of_scales_is_sound_in_any_order(rows: list[Item], clustered: bool, random: Random) -> None:
    def compare(rows: list[Item]) -> list[float]:
        ids = [c for _, _, c in rows] if clustered else None
        found = severity(pair_labels([h for h, _, _ in rows], [j for _, j, _ in rows], labels=LEVELS, clusters=ids))
        check_sound(found)
        tests = (found.stuart_maxwell, found.bhapkar)
        assert all(each.p_value is None or 0 <= each.p_value <= 1 for each in tests)
        values = [found.shift.difference.value, found.wasserstein, *(each.statistic for each in tests)]
        return [-99.0 if each is None else each for each in values]

    assert compare(random.sample(rows, len(rows))) == pytest.approx(compare(rows), rel=1e-6, abs=1e-9)


def test_items_and_their_table_say_the_same() -> None:
    human, judge = [1, 2, 3, 4, 4, 2, 1, 3], [1, 3, 3, 4, 3, 1, 2, 4]
    pairs = pair_labels(human, judge, labels=LEVELS)
    assert severity(pairs) == severity(pairs_of_table(pairs.table, labels=LEVELS))


def test_clusters_of_one_item_are_none() -> None:
    human, judge = [1, 2, 3, 4, 4, 2, 1, 3, 2, 2], [1, 3, 3, 4, 3, 1, 2, 4, 3, 3]
    alone = severity(pair_labels(human, judge, labels=LEVELS))
    single = severity(pair_labels(human, judge, labels=LEVELS, clusters=list(range(10))))
    assert single.stuart_maxwell.statistic == pytest.approx(alone.stuart_maxwell.statistic)
    assert single.bhapkar.statistic == pytest.approx(alone.bhapkar.statistic)
    assert single.shift.difference.se == pytest.approx(alone.shift.difference.se)


def test_items_copied_within_a_cluster_add_no_evidence() -> None:
    human, judge = [1, 2, 3, 4, 4, 2, 1, 3, 2, 2], [1, 3, 3, 4, 3, 1, 2, 4, 3, 3]
    alone = severity(pair_labels(human, judge, labels=LEVELS))
    copied = severity(pair_labels(human * 3, judge * 3, labels=LEVELS, clusters=list(range(10)) * 3))
    assert copied.stuart_maxwell.statistic == pytest.approx(alone.stuart_maxwell.statistic)
    assert copied.bhapkar.statistic == pytest.approx(alone.bhapkar.statistic)


def test_invalid_answers_have_no_place_on_the_scale() -> None:
    found = severity(pair_labels([1, 2, 3, 3], [1, 2, INVALID, 4], labels=LEVELS))
    assert found.shift.difference.n == 3
    assert found.shift.difference.n_dropped == 1
    assert found.judge is not None
    assert found.judge.levels_used == 3


def test_a_level_that_nobody_uses_changes_no_test() -> None:
    table = [[10, 2, 1], [6, 12, 3], [1, 3, 16]]
    wide = [[10, 2, 0, 1], [6, 12, 0, 3], [0, 0, 0, 0], [1, 3, 0, 16]]
    one, two = severity(pairs_of_table(table)), severity(pairs_of_table(wide))
    assert two.stuart_maxwell.df == one.stuart_maxwell.df == 2
    assert two.bhapkar.statistic == pytest.approx(one.bhapkar.statistic)


def test_no_disagreement_leaves_nothing_to_test() -> None:
    found = severity(pairs_of_table([[5, 0], [0, 4]]))
    assert found.bhapkar.statistic is None
    assert found.bhapkar.p_value == 1
    assert found.bhapkar.reason == "no_discordant"


def test_a_judge_that_moves_every_item_alike_has_no_wald_statistic() -> None:
    found = severity(pairs_of_table([[0, 9], [0, 0]]))
    assert found.stuart_maxwell.statistic == pytest.approx(9)
    assert found.bhapkar.reason == "singular"
    assert found.sd_ratio.reason == "constant_rater"


def test_no_items_leave_every_figure_without_value() -> None:
    found = severity(pairs_of_table([[0, 0], [0, 0]]))
    assert found.shift.difference.reason == "no_data"
    assert found.human is None
    check_sound(found)


def test_a_judge_that_stays_in_the_middle_has_a_ratio_below_1() -> None:
    human = [1, 2, 3, 4] * 30
    judge = [2, 2, 3, 3] * 29 + [1, 2, 3, 4]
    found = severity(pair_labels(human, judge, labels=LEVELS)).sd_ratio
    assert found.ci_high is not None
    assert found.ci_high < 0.6
    grouped = severity(pair_labels(human, judge, labels=LEVELS, clusters=[c // 4 for c in range(120)])).sd_ratio
    assert grouped.value == found.value
    assert grouped.n_clusters == 30
    constant = severity(pair_labels(human, [2] * 120, labels=LEVELS)).sd_ratio
    assert constant.value == 0
    assert constant.reason == "constant_judge"
