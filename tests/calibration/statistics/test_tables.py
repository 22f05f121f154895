import numpy as np
import pytest

from calibration.statistics.tables import INVALID, encode_labels, pair_labels, pairs_of_table
from judges.figures import to_record
from judges.intervals import (
    cluster_codes,
    mean,
    proportion,
    proportion_interval,
    proportion_of_counts,
    signed_share,
)


def test_missing_labels_are_dropped_and_counted_and_invalid_answers_are_not() -> None:
    gold, judge = ["a", "b", None, "a", "b", "a"], ["a", INVALID, "a", None, "b", INVALID]
    kept = pair_labels(gold, judge, labels=["a", "b"])
    assert kept.table.tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 0]]
    assert (kept.n, kept.n_dropped, kept.n_invalid) == (4, 2, 2)
    dropped = pair_labels(gold, judge, labels=["a", "b"], invalid="drop")
    assert dropped.table.tolist() == [[1, 0], [0, 1]]
    assert (dropped.n, dropped.n_dropped, dropped.n_invalid) == (2, 4, 2)
    for pairs in (kept, dropped):
        assert (pairs.invalid_rate.value, pairs.invalid_rate.n) == (0.5, 4)
        assert (pairs.invalid_rate.ci_low, pairs.invalid_rate.ci_high) == proportion_interval(2, 4)
        assert "high_drop" in pairs.flags()


def test_more_than_five_percent_missing_are_flagged() -> None:
    assert proportion_of_counts(50, 95, n_dropped=5).flags == ()
    assert proportion_of_counts(50, 94, n_dropped=6).flags == ("high_drop",)
    assert mean([0.1, 0.4] * 47, n_dropped=6).flags == ("high_drop",)


def test_invalid_answers_alone_raise_the_flag_of_missing_ones() -> None:
    assert pair_labels([0] * 40, [INVALID] * 3 + [0] * 37, labels=[0, 1]).flags() == ("high_drop",)
    assert pair_labels([0] * 40, [INVALID] * 2 + [0] * 38, labels=[0, 1]).flags() == ()


def test_a_table_with_a_column_more_than_rows_holds_invalid_answers() -> None:
    pairs = pairs_of_table([[3, 1, 2], [0, 4, 1]], labels=["a", "b"])
    gold = ["a"] * 6 + ["b"] * 5
    same = pair_labels(gold, ["a"] * 3 + ["b"] + [INVALID] * 2 + ["b"] * 4 + [INVALID], labels=["a", "b"])
    assert pairs.table.tolist() == same.table.tolist()
    assert pairs.invalid_rate == same.invalid_rate
    assert pairs_of_table([[3, 1, 0], [0, 4, 0]]).table.tolist() == [[3, 1], [0, 4]]


def test_labels_may_come_as_arrays() -> None:
    pairs = pair_labels(np.array(["a", "b", "b"]), np.array(["a", "a", "b"]), labels=["a", "b"])
    assert pairs.table.tolist() == [[1, 0], [1, 1]]


def test_wrong_input_is_refused_with_its_place_and_remedy() -> None:
    with pytest.raises(ValueError, match="item 1: label 'c' is not one of"):
        pair_labels(["a", "c"], ["a", "a"], labels=["a", "b"])
    with pytest.raises(ValueError, match="can't be invalid"):
        pair_labels([INVALID], ["a"], labels=["a"])
    with pytest.raises(ValueError, match="1 human labels and 2 judge labels"):
        pair_labels(["a"], ["a", "a"], labels=["a"])
    for labels in ([], ["a", "a"], ["a", None], [INVALID]):
        with pytest.raises(ValueError, match="declare"):
            pair_labels([], [], labels=labels)
    for table in ([[1, -1], [0, 2]], [[0.5, 1], [1, 1]]):
        with pytest.raises(ValueError, match="negative or not a whole number"):
            pairs_of_table(np.array(table))
    with pytest.raises(ValueError, match="as many rows as columns"):
        pairs_of_table([[1, 2, 3, 4], [1, 2, 3, 4]])
    with pytest.raises(ValueError, match="outside 0 to 1"):
        mean([0.5, 1.5])
    with pytest.raises(ValueError, match="missing or not finite"):
        mean([0.5, float("nan")])
    with pytest.raises(ValueError, match="truth value"):
        proportion(np.array([0, 2]))
    with pytest.raises(ValueError, match="level is 95"):
        proportion_of_counts(1, 2, level=95)
    with pytest.raises(ValueError, match="3 successes of 2"):
        proportion_of_counts(3, 2)
    with pytest.raises(ValueError, match="2 cluster ids for 3 items"):
        mean([0.1, 0.2, 0.3], [1, 2])
    for missing in (None, float("nan")):
        with pytest.raises(ValueError, match="cluster id is missing"):
            cluster_codes([1, missing], 2)
    with pytest.raises(ValueError, match="not -1, 0 or 1"):
        signed_share([2])
    with pytest.raises(TypeError, match="no result"):
        to_record(3)


def test_a_copy_of_invalid_is_invalid_too_and_never_a_human_label() -> None:
    sent = type(INVALID)()
    assert encode_labels(["b", sent, None, INVALID], ["a", "b"], may_be_invalid=True).tolist() == [1, 2, -1, 2]
    with pytest.raises(
        ValueError, match=r"item 1: label INVALID is not one of \['a'\]; a human label can't be invalid"
    ):
        encode_labels(["a", sent], ["a"])
    with pytest.raises(ValueError, match=r"item 2: label 'c' .* declare it"):
        encode_labels(["a", None, "c"], ["a"], may_be_invalid=True)
