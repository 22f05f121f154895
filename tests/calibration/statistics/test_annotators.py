import json
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.annotators import (
    DAWID_SKENE_WARNING,
    DawidSkene,
    crossfit_weights,
    dawid_skene,
    majority_of_independent,
    panel_errors,
    vote,
)
from calibration.statistics.tables import INVALID, Invalid
from judges.figures import FLAGS, REASONS

Rows: TypeAlias = list[list[str | Invalid | None]]
LABELS = ["a", "b", "c"]

tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from(["a", "a", "b", None, INVALID]), min_size=width, max_size=width), max_size=15
    )
)


def judged(n: int, accuracies: list[float], seed: int) -> tuple[list[int], list[list[int]]]:
    """True labels 0 and 1, and what independent judges of these accuracies say."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 2, n)
    right = generator.random((n, len(accuracies))) < np.array(accuracies)
    return truth.tolist(), np.where(right, truth[:, None], 1 - truth[:, None]).tolist()


def flat(answers: list[list[int]]) -> tuple[list[int], list[str], list[int]]:
    """A table of answers as items, judges and answers."""
    cells = [(item, f"j{judge}", said) for item, row in enumerate(answers) for judge, said in enumerate(row)]
    return [item for item, _, _ in cells], [judge for _, judge, _ in cells], [said for _, _, said in cells]


# Votes


@given(rows=tables, data=st.data())
def test_the_label_of_a_vote_has_more_weight_than_any_other_or_there_is_a_tie(rows: Rows, data: st.DataObject) -> None:
    width = len(rows[0]) if rows else 0
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=width, max_size=width))
    for row, found in zip(rows, vote(rows, labels=LABELS, weights=weights), strict=True):
        json.dumps(found.to_record(), allow_nan=False)
        sums = {
            label: sum(weight for said, weight in zip(row, weights, strict=True) if said == label)
            for label in LABELS
            if label in row
        }
        if not sums:
            assert (found.label, found.reason) == (None, "no_data")
            continue
        most = [label for label, weight in sums.items() if weight == max(sums.values())]
        if len(most) > 1:
            assert (found.label, found.reason, list(found.tied)) == (None, "tie", most)
        else:
            assert (found.label, found.reason, found.tied) == (most[0], None, ())


def test_a_tie_of_equal_weights_is_seen_through_rounding() -> None:
    found = vote([["a", "a", "a", "b"]], labels=LABELS, weights=[0.1, 0.1, 0.1, 0.3])[0]
    assert (found.reason, found.tied) == ("tie", ("a", "b"))


def test_weights_for_each_item_are_used_for_that_item() -> None:
    found = vote([["a", "b"], ["a", "b"]], labels=LABELS, weights=np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert [each.label for each in found] == ["a", "b"]


def test_crossfitted_weights_of_an_item_do_not_know_its_own_label() -> None:
    truth, answers = judged(40, [0.9, 0.7, 0.6], seed=1)
    weights = crossfit_weights(answers, truth, labels=[0, 1], folds=40)
    for item in range(40):
        other = list(truth)
        other[item] = 1 - other[item]
        assert crossfit_weights(answers, other, labels=[0, 1], folds=40)[item] == pytest.approx(weights[item])


def test_crossfitted_weights_rank_judges_by_accuracy_and_silence_one_worse_than_chance() -> None:
    truth, answers = judged(400, [0.9, 0.7, 0.2], seed=2)
    weights = crossfit_weights(answers, truth, labels=[0, 1])
    assert bool(np.all(weights[:, 0] > weights[:, 1]))
    assert bool(np.all(weights[:, 1] > 0))
    assert bool(np.all(weights[:, 2] == 0))
    assert weights[:, 0].mean() == pytest.approx(np.log(0.9 / 0.1), abs=0.3)


def test_items_of_a_cluster_share_their_fold() -> None:
    truth, answers = judged(60, [0.9, 0.7], seed=3)
    clusters = [place // 3 for place in range(60)]
    weights = crossfit_weights(answers, truth, labels=[0, 1], clusters=clusters)
    for start in range(0, 60, 3):
        assert np.ptp(weights[start : start + 3], axis=0).tolist() == [0, 0]


def test_a_panel_of_independent_judges_is_right_as_often_as_condorcet_says() -> None:
    truth, answers = judged(4000, [0.8] * 3, seed=4)
    found = vote(answers, labels=[0, 1])
    share = sum(each.label == label for each, label in zip(found, truth, strict=True)) / len(truth)
    assert share == pytest.approx(majority_of_independent(0.8, 3), abs=0.02)
    assert majority_of_independent(0.8, 1) == pytest.approx(0.8)
    assert majority_of_independent(0.8, 2) == pytest.approx(0.64)


# Shared errors


@settings(max_examples=30, deadline=None)
@given(rows=tables, data=st.data())
def test_every_error_correlation_holds_its_value_and_is_plain_json(rows: Rows, data: st.DataObject) -> None:
    size = len(rows)
    gold = data.draw(st.lists(st.sampled_from(["a", "b", None]), min_size=size, max_size=size))
    clusters = data.draw(st.none() | st.lists(st.integers(0, 4), min_size=size, max_size=size))
    found = panel_errors(rows, gold, labels=LABELS, clusters=clusters)
    json.dumps(found.to_record(), allow_nan=False)
    for figure in (*(each.phi for each in found.pairs), found.mean_phi, found.effective_judges):
        assert set(figure.flags) <= FLAGS
        assert figure.reason is None or figure.reason in REASONS
        if figure.value is None or figure.ci_low is None or figure.ci_high is None:
            assert figure.reason is not None
        else:
            assert figure.ci_low <= figure.value <= figure.ci_high


def test_judges_with_independent_errors_count_in_full_and_copies_count_as_one() -> None:
    truth, answers = judged(2000, [0.8, 0.7, 0.75], seed=5)
    found = panel_errors(answers, truth, labels=[0, 1])
    assert found.mean_phi.value == pytest.approx(0, abs=0.05)
    assert found.effective_judges.value == pytest.approx(3, abs=0.4)
    copies = panel_errors([[row[0]] * 3 for row in answers], truth, labels=[0, 1])
    assert copies.mean_phi.value == 1
    assert copies.effective_judges.value == pytest.approx(1)
    assert copies.mean_phi.reason == "singular"


def test_a_judge_that_never_errs_has_no_error_correlation() -> None:
    found = panel_errors([["a", "b"], ["a", "a"], ["b", "b"]], ["a", "a", "b"], labels=LABELS)
    assert found.pairs[0].phi.reason == "constant_rater"
    assert found.effective_judges.reason == "constant_rater"


def test_an_invalid_answer_is_an_error_and_a_missing_one_is_none() -> None:
    rows: Rows = [["a", INVALID], ["a", "a"], ["b", None], ["b", "a"]]
    phi = panel_errors(rows, ["a", "a", "a", "b"], labels=LABELS).pairs[0].phi
    assert (phi.n, phi.n_dropped, phi.reason) == (3, 1, "constant_rater")


# Dawid-Skene


def test_better_judges_get_better_error_matrices_and_the_labels_beat_the_vote() -> None:
    truth, answers = judged(600, [0.95, 0.6, 0.6, 0.6], seed=6)
    found = dawid_skene(*flat(answers), labels=[0, 1])
    diagonals = [float(np.mean([matrix[code][code] for code in (0, 1)])) for matrix in map(known, found.error_matrices)]
    assert diagonals[0] > 0.9
    assert diagonals[1:] == pytest.approx([0.6] * 3, abs=0.1)
    voted = [each.label for each in vote(answers, labels=[0, 1])]
    right = [sum(map(int.__eq__, truth, map(as_int, labels))) for labels in (found.found, voted)]
    assert right[0] > right[1]
    assert found.warning == DAWID_SKENE_WARNING


def known(matrix: tuple[tuple[float, ...] | None, ...]) -> list[tuple[float, ...]]:
    rows = [row for row in matrix if row is not None]
    assert len(rows) == len(matrix)
    return rows


def as_int(label: object) -> int:
    return label if isinstance(label, int) else -1


def comparable(found: DawidSkene) -> dict[object, tuple[float, ...]]:
    return dict(zip(found.items, found.posterior, strict=True))


@settings(max_examples=20, deadline=None)
@given(
    cells=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.sampled_from([0, 0, 1, 2, None])), max_size=40),
    random=st.randoms(),
)
def test_any_answers_give_plain_json_whose_rows_are_distributions(
    cells: list[tuple[int, int, int | None]], random: Random
) -> None:
    found = dawid_skene(*map(list, zip(*cells, strict=True)) if cells else ([], [], []), labels=[0, 1, 2])
    json.dumps(found.to_record(), allow_nan=False)
    if found.reason is not None:
        assert (len(found.judges) < 3, found.found) == (True, ())
        return
    assert sum(found.prior) == pytest.approx(1)
    for row in (*found.posterior, *(row for matrix in found.error_matrices for row in matrix if row is not None)):
        assert sum(row) == pytest.approx(1)
        assert min(row) >= 0


def test_the_order_of_answers_does_not_matter() -> None:
    _, answers = judged(60, [0.9, 0.7, 0.8], seed=7)
    cells = list(zip(*flat(answers), strict=True))
    Random(1).shuffle(cells)
    shuffled = [list(each) for each in zip(*cells, strict=True)]
    first, second = dawid_skene(*flat(answers), labels=[0, 1]), dawid_skene(*shuffled, labels=[0, 1])
    for item, row in comparable(first).items():
        assert row == pytest.approx(comparable(second)[item], abs=1e-6)


def test_two_judges_do_not_identify_anything() -> None:
    _, answers = judged(20, [0.9, 0.7], seed=8)
    found = dawid_skene(*flat(answers), labels=[0, 1])
    assert (found.reason, found.posterior, found.log_likelihood) == ("not_identified", (), None)
    assert dawid_skene([], [], [], labels=[0, 1]).reason == "no_data"


def test_gold_items_keep_their_label_and_show_how_judges_err_together() -> None:
    truth, answers = judged(200, [0.8, 0.7, 0.75], seed=9)
    gold = {item: truth[item] for item in range(100)}
    found = dawid_skene(*flat(answers), labels=[0, 1], gold=gold)
    assert list(found.found[:100]) == truth[:100]
    assert all(max(row) == 1 for row in found.posterior[:100])
    assert found.shared_errors is not None
    assert found.shared_errors.mean_phi.n == 100
    free = dawid_skene(*flat(answers), labels=[0, 1])
    assert free.shared_errors is None
    hits = [sum(map(int.__eq__, truth[100:], map(as_int, each.found[100:]))) for each in (found, free)]
    assert hits[0] >= hits[1] - 2


def test_gold_can_turn_the_labels_of_a_panel_that_is_mostly_wrong() -> None:
    truth, answers = judged(300, [0.2, 0.25, 0.3], seed=10)
    found = dawid_skene(*flat(answers), labels=[0, 1], gold={item: truth[item] for item in range(200)})
    right = sum(map(int.__eq__, truth[200:], map(as_int, found.found[200:])))
    assert right > 70


def test_items_that_say_nothing_have_no_label() -> None:
    found = dawid_skene([1, 1, 2, 2, 3, 3], ["x", "y", "x", "z", "y", "z"], [0, 1, 0, 1, 0, 1], labels=[0, 1])
    assert found.converged
    assert None in found.found


def test_a_label_no_item_has_has_no_row_in_the_error_matrices() -> None:
    _, answers = judged(30, [0.9, 0.9, 0.9], seed=11)
    found = dawid_skene(*flat(answers), labels=[0, 1, 2])
    assert [matrix[2] for matrix in found.error_matrices] == [None] * 3
    assert found.prior[2] == 0


def test_wrong_input_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="worse than chance"):
        vote([["a", "b"]], labels=LABELS, weights=[1, -1])
    with pytest.raises(ValueError, match="one per judge"):
        vote([["a", "b"]], labels=LABELS, weights=[1])
    with pytest.raises(ValueError, match="None where one is missing"):
        vote([["a", "b"], ["a"]], labels=LABELS)
    with pytest.raises(ValueError, match="declare it"):
        vote([["a", "z"]], labels=LABELS)
    with pytest.raises(ValueError, match="two or more"):
        crossfit_weights([["a"]], ["a"], labels=LABELS, folds=1)
    with pytest.raises(ValueError, match="two judges or more"):
        panel_errors([["a"]], ["a"], labels=LABELS)
    with pytest.raises(ValueError, match="one of each per answer"):
        dawid_skene([1, 2], ["x"], ["a"], labels=LABELS)
    with pytest.raises(ValueError, match="has no answer"):
        dawid_skene([1, 1, 1], ["x", "y", "z"], ["a", "a", "a"], labels=LABELS, gold={2: "a"})
    with pytest.raises(ValueError, match="one judge or more"):
        majority_of_independent(0.8, 0)
