import json
from random import Random
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.cascade import cascade_cost
from calibration.statistics.selective import (
    Certificate,
    Human,
    Order,
    StageItems,
    Vector,
    cascade_stages,
    certify_cascade,
    certify_threshold,
    certify_vectors,
    error_upper_bound,
    zero_error_size,
)

GRID = [0.5, 0.6, 0.7, 0.8, 0.9]

confidences = st.sampled_from([0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]) | st.floats(0, 1)
rows = st.lists(
    st.tuples(confidences | st.none(), st.sampled_from([True, True, True, False, None]), st.integers(0, 30)),
    max_size=80,
)


def stream(n: int, seed: int, error: float | None = None) -> tuple[list[float], list[bool]]:
    """Confidences that are true chances to agree; or verdicts that err at one rate whatever the confidence."""
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0.5, 1, n)
    chance = confidence if error is None else np.full(n, 1 - error)
    return confidence.tolist(), (generator.random(n) < chance).tolist()


def certify(confidence: list[float], agrees: list[bool], order: Order = "fixed") -> Certificate[float]:
    return certify_threshold(
        confidence, agrees, grid=GRID, alpha=0.2, delta=0.1, min_n=10, human="majority", order=order
    )


@pytest.mark.parametrize("order", ["fixed", "free"])
@settings(max_examples=60, deadline=None)
@given(items=rows, random=st.randoms(use_true_random=False))
def test_a_certificate_is_json_and_keeps_its_word(
    order: Order, items: list[tuple[float | None, bool | None, int]], random: Random
) -> None:
    def found(chosen: list[tuple[float | None, bool | None, int]], *, clustered: bool) -> Certificate[float]:
        return certify_threshold(
            [row[0] for row in chosen],
            [row[1] for row in chosen],
            grid=GRID,
            alpha=0.3,
            delta=0.2,
            human="one_person",
            clusters=[row[2] for row in chosen] if clustered else None,
            order=order,
        )

    for clustered in (False, True):
        certificate = found(items, clustered=clustered)
        json.dumps(certificate.to_record(), allow_nan=False)
        assert certificate.n_items + certificate.n_dropped == len(items)
        assert [row.threshold for row in certificate.rows] == sorted(GRID, reverse=True)
        for row in certificate.rows:
            assert not row.passed or (row.tested and row.upper_bound <= 0.3 and row.n >= certificate.min_n)
            assert row.n == 0 or error_upper_bound(row.errors, row.n, delta=0.2) <= row.upper_bound
        passed = [row.threshold for row in certificate.rows if row.passed]
        assert certificate.threshold == (min(passed) if passed else None)
        for figure in (certificate.coverage, certificate.agreement):
            if figure.ci_low is not None and figure.ci_high is not None and figure.value is not None:
                assert figure.ci_low <= figure.value <= figure.ci_high
    mixed = list(items)
    random.shuffle(mixed)
    assert found(mixed, clustered=False) == found(items, clustered=False)


@settings(max_examples=80, deadline=None)
@given(errors=st.integers(0, 40), more=st.integers(0, 80), alpha=st.sampled_from([0.05, 0.1, 0.2]))
def test_the_bound_and_the_p_value_certify_alike(errors: int, more: int, alpha: float) -> None:
    n = errors + more + 1
    agrees = [False] * errors + [True] * (n - errors)
    row = certify_threshold([1.0] * n, agrees, grid=[0.5], alpha=alpha, delta=0.1, min_n=1, human="majority").rows[0]
    assert row.passed == (row.upper_bound <= alpha)
    assert row.passed == (row.p_value <= 0.1)


def test_the_bound_is_one_where_all_are_errors_or_there_are_none() -> None:
    assert error_upper_bound(5, 5, delta=0.1) == 1
    assert error_upper_bound(0, 0, delta=0.1) == 1


@settings(max_examples=80, deadline=None)
@given(alpha=st.floats(0.005, 0.9), delta=st.floats(0.005, 0.9))
def test_the_size_for_zero_errors_is_the_smallest_that_certifies(alpha: float, delta: float) -> None:
    n = zero_error_size(alpha=alpha, delta=delta)
    assert error_upper_bound(0, n, delta=delta) <= alpha + 1e-9
    assert n == 1 or error_upper_bound(0, n - 1, delta=delta) > alpha - 1e-9
    assert zero_error_size(alpha=0.5, delta=0.25) == 2
    assert zero_error_size(alpha=0.9, delta=0.1) == 1


def test_a_threshold_after_a_failure_is_never_used_in_a_fixed_sequence() -> None:
    confidence = [0.95] * 30 + [0.75] * 70
    agrees = [False] * 8 + [True] * 92  # the strictest fails; all together would pass
    fixed, free = certify(confidence, agrees), certify(confidence, agrees, "free")
    assert (fixed.threshold, fixed.reason, fixed.coverage.value) == (None, "no_threshold", 0.0)
    assert (fixed.agreement.value, fixed.certified_agreement, fixed.share_to_humans) == (None, None, 1.0)
    assert fixed.rows[2].upper_bound <= 0.2
    assert not fixed.rows[2].tested
    assert (free.threshold, free.coverage.value, free.agreement.value) == (0.5, 1.0, 0.92)
    assert (free.certified_agreement, free.share_to_humans) == (0.8, 0.0)


def test_free_order_pays_for_every_threshold_of_the_grid() -> None:
    confidence, agrees = [0.95] * 20, [True] * 20
    free = certify(confidence, agrees, "free")
    assert free.rows[0].upper_bound == error_upper_bound(0, 20, delta=0.1 / 5)


def test_thresholds_with_few_items_are_skipped_and_do_not_end_the_walk() -> None:
    certificate = certify([0.95] * 5 + [0.85] * 30, [False, *[True] * 34])
    assert [row.tested for row in certificate.rows] == [False, True, True, True, True]
    assert certificate.threshold == 0.5


@pytest.mark.parametrize("order", ["fixed", "free"])
def test_the_promise_is_broken_no_more_often_than_delta(order: Order) -> None:
    """Verdicts that err a little more often than promised, at every threshold: each certificate is a mistake."""
    mistakes = sum(certify(*stream(150, seed, error=0.21), order).threshold is not None for seed in range(400))
    assert mistakes / 400 <= 0.1 + 0.03


def test_good_confidences_are_certified() -> None:
    certificate = certify(*stream(2000, 1))
    assert certificate.threshold is not None
    assert 0.5 <= certificate.threshold <= 0.7
    assert certificate.agreement.value is not None
    assert certificate.agreement.value > 0.8


def test_with_clusters_one_item_of_each_is_used() -> None:
    confidence, agrees = stream(100, 2)
    once = certify(confidence, agrees)
    copied = certify_threshold(
        confidence * 5,
        agrees * 5,
        grid=GRID,
        alpha=0.2,
        delta=0.1,
        min_n=10,
        human="majority",
        clusters=list(range(100)) * 5,
        seed=4,
    )
    assert copied.rows == once.rows
    assert (copied.n, copied.n_items, copied.seed, once.seed) == (100, 500, 4, None)


def test_missing_items_are_dropped_and_counted_and_no_data_has_its_reason() -> None:
    certificate = certify_threshold(
        [0.9, None, 0.8], [True, True, None], grid=GRID, alpha=0.5, delta=0.5, min_n=1, human="majority"
    )
    assert (certificate.n, certificate.n_dropped, certificate.coverage.n_dropped) == (1, 2, 2)
    empty = certify_threshold([], [], grid=GRID, alpha=0.5, delta=0.5, human="majority")
    assert (empty.reason, empty.coverage.value, empty.share_to_humans) == ("no_data", None, None)


def test_a_cascade_shares_out_delta_and_refuses_a_case_in_two_stages() -> None:
    first, second = stream(300, 5), stream(300, 6)
    stages = [
        StageItems(*first, GRID, clusters=range(300)),
        StageItems(*second, GRID, clusters=range(300, 600)),
    ]
    certificates = certify_cascade(stages, alpha=0.2, delta=0.1, min_n=10, human="majority")
    assert [each.delta for each in certificates] == [0.05, 0.05]
    alone = certify_threshold(*first, grid=GRID, alpha=0.2, delta=0.05, min_n=10, human="majority")
    assert certificates[0].threshold == alone.threshold
    assert certificates[0].coverage == alone.coverage
    with pytest.raises(ValueError, match="a case serves two stages"):
        certify_cascade([stages[0], stages[0]], alpha=0.2, delta=0.1, human="majority")
    with pytest.raises(ValueError, match="at least one judge"):
        certify_cascade([], alpha=0.2, delta=0.1, human="majority")


# One sequence for a whole cascade


def two_judges(n: int, seed: int, error: tuple[float, float]) -> tuple[list[list[float]], list[list[bool]]]:
    """Confidences of two judges of the same items, and whether each agrees with the human, whatever its confidence."""
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0, 1, (2, n))
    agrees = generator.random((2, n)) >= np.array(error)[:, None]
    return confidence.tolist(), agrees.tolist()


VECTORS: list[Vector] = [(0.9, None), (0.8, 0.9), (0.6, 0.8), (0.4, 0.5), (0.0, 0.0)]


def certified(confidence: list[list[float]], agrees: list[list[bool]], order: Order = "fixed") -> Certificate[Vector]:
    return certify_vectors(
        confidence, agrees, vectors=VECTORS, alpha=0.2, delta=0.1, min_n=10, human="majority", order=order
    )


def test_a_vector_is_tried_as_the_cascade_would_use_it() -> None:
    confidence: list[list[float | None]] = [[0.9, 0.5, 0.5, None], [0.2, 0.9, 0.4, 0.8]]
    agrees: list[list[bool | None]] = [[True, True, True, None], [False, False, True, True]]
    found = certify_vectors(
        confidence, agrees, vectors=[(0.8, None), (0.8, 0.7)], alpha=0.7, delta=0.5, human="one_person", min_n=1
    )
    assert [(row.n, row.errors) for row in found.rows] == [(1, 0), (3, 1)]
    assert (found.threshold, found.coverage.value, found.share_to_humans) == ((0.8, 0.7), 0.75, 0.25)
    assert found.agreement.value == pytest.approx(2 / 3)
    assert found.certified_agreement == pytest.approx(0.3)
    json.dumps(found.to_record(), allow_nan=False)
    first, second = cascade_stages(confidence, agrees, thresholds=(0.8, 0.7), costs=[1.0, 5.0])
    assert (first.accept, first.error, first.cost) == (0.25, 0.0, 1.0)
    assert (second.accept * 3, second.error, second.cost) == (2.0, 0.5, 5.0)
    cost = cascade_cost([first, second], human_cost=20.0)
    assert cost.expected_cost == pytest.approx(1 + 0.75 * 5 + 0.25 * 20)
    assert cost.to_human == pytest.approx(found.share_to_humans)
    assert cost.agreement_on_accepted.value == pytest.approx(found.agreement.value)
    never = cascade_stages(confidence, agrees, thresholds=(0.0, None), costs=[1.0, 5.0])[1]
    assert (never.accept, never.error) == (0.0, None)


def test_one_judge_alone_is_certified_by_its_vectors_as_by_its_grid() -> None:
    confidence, agrees = stream(400, 3)
    vectors: list[Vector] = [(each,) for each in sorted(GRID, reverse=True)]
    found = certify_vectors([confidence], [agrees], vectors=vectors, alpha=0.2, delta=0.1, min_n=10, human="majority")
    alone = certify(confidence, agrees)
    assert found.threshold == (alone.threshold,)
    assert (found.coverage, found.agreement) == (alone.coverage, alone.agreement)
    assert [row.upper_bound for row in found.rows] == [row.upper_bound for row in alone.rows]


def test_a_vector_after_a_failure_is_never_used() -> None:
    confidence, agrees = two_judges(400, 7, (0.02, 0.02))
    for item, each in enumerate(confidence[0]):
        if each >= 0.9:
            agrees[0][item] = False  # the strictest vector fails; the loosest, over all items, would pass
    found = certified(confidence, agrees)
    assert (found.threshold, found.reason, found.coverage.value) == (None, "no_threshold", 0.0)
    assert [row.tested for row in found.rows] == [True, False, False, False, False]
    assert found.rows[-1].upper_bound <= 0.2
    free = certified(confidence, agrees, "free")
    assert free.threshold == (0.0, 0.0)
    assert free.rows[-1].upper_bound == error_upper_bound(free.rows[-1].errors, 400, delta=0.1 / 5)


@pytest.mark.parametrize("order", ["fixed", "free"])
def test_the_promise_of_a_whole_cascade_is_broken_no_more_often_than_delta(order: Order) -> None:
    mistakes = sum(certified(*two_judges(150, seed, (0.21, 0.21)), order).threshold is not None for seed in range(400))
    assert mistakes / 400 <= 0.1 + 0.03


def test_a_sequence_of_vectors_accepts_more_than_delta_shared_out_over_disjoint_items() -> None:
    """Of 300 cases each stage gets 150, and half of delta; together all 300 and all of delta."""
    confidence, agrees = two_judges(300, 11, (0.12, 0.12))
    together = certify_vectors(
        confidence, agrees, vectors=[(0.5, None), (0.5, 0.5)], alpha=0.2, delta=0.1, human="majority"
    )
    stages = [
        StageItems(confidence[0][:150], agrees[0][:150], [0.5], range(150)),
        StageItems(confidence[1][150:], agrees[1][150:], [0.5], range(150, 300)),
    ]
    apart = certify_cascade(stages, alpha=0.2, delta=0.1, human="majority")
    assert together.threshold == (0.5, 0.5)
    assert together.rows[0].upper_bound < apart[0].rows[0].upper_bound


def test_of_each_cluster_one_item_goes_through_the_cascade_and_unknown_items_are_counted() -> None:
    confidence, agrees = two_judges(60, 2, (0.05, 0.05))
    found = certify_vectors(
        [each * 3 for each in confidence],
        [[*each, *each, *each[:-1], None] for each in agrees],
        vectors=VECTORS,
        alpha=0.3,
        delta=0.2,
        human="majority",
        clusters=list(range(60)) * 3,
        seed=9,
    )
    assert (found.n, found.n_items, found.n_dropped, found.seed) == (60, 179, 1, 9)
    empty = certify_vectors([[], []], [[], []], vectors=VECTORS, alpha=0.3, delta=0.2, human="majority")
    assert (empty.reason, empty.coverage.value) == ("no_data", None)


def test_a_cascade_of_vectors_refuses_what_does_not_fit() -> None:
    confidence, agrees = two_judges(20, 2, (0.05, 0.05))

    def refused(says: str, confidence: list[list[float]], agrees: list[list[bool]], vectors: list[Vector]) -> None:
        with pytest.raises(ValueError, match=says):
            certify_vectors(confidence, agrees, vectors=vectors, alpha=0.3, delta=0.2, human="majority")

    refused("no vector", confidence, agrees, [])
    refused("1 thresholds for 2 judges", confidence, agrees, [(0.5,)])
    refused("not a finite number", confidence, agrees, [(0.5, float("inf"))])
    refused("2 judges' confidences, 1 agreements", confidence, agrees[:1], VECTORS)
    refused("asked about the same items", [confidence[0], confidence[1][:5]], agrees, VECTORS)
    with pytest.raises(ValueError, match="1 costs for 2 judges"):
        cascade_stages(confidence, agrees, thresholds=(0.5, 0.5), costs=[1.0])


def test_wrong_input_is_refused_with_its_remedy() -> None:
    def refused(says: str, **changes: object) -> None:
        options = {"grid": GRID, "alpha": 0.1, "delta": 0.1, "human": "majority", **changes}
        with pytest.raises(ValueError, match=says):
            certify_threshold(
                [0.5, 0.6],
                [True, False],
                grid=cast("list[float]", options["grid"]),
                alpha=cast("float", options["alpha"]),
                delta=cast("float", options["delta"]),
                human=cast("Human", options["human"]),
                min_n=cast("int | None", options.get("min_n")),
            )

    refused("give thresholds to try", grid=[])
    refused("give thresholds to try", grid=[float("nan")])
    refused("alpha is 0", alpha=0)
    refused("delta is 1", delta=1)
    refused("choose fixed or free", human="crowd")
    refused("use at least 1", min_n=0)
    with pytest.raises(ValueError, match="1 confidences and 2 agreements"):
        certify([0.5], [True, False])
    with pytest.raises(ValueError, match="give None where it is missing"):
        certify([float("nan")], [True])
    with pytest.raises(ValueError, match="some agreement is not 0 or 1"):
        certify([0.5], cast("list[bool]", [2]))
    with pytest.raises(ValueError, match="3 errors of 2"):
        error_upper_bound(3, 2, delta=0.1)
