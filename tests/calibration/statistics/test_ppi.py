from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.ppi import Stratum, allocate_labels, ppi_mean, stratified_ppi, weighted_ppi
from support.sound import check_sound

Labelled: TypeAlias = tuple[float, float, int]
"""Human score, judge score, cluster."""

scores = st.integers(0, 4).map(float) | st.floats(-5, 5)
labelled = st.lists(st.tuples(scores, scores, st.integers(0, 4)), max_size=25)
unlabelled = st.lists(st.tuples(scores, st.integers(3, 9)), min_size=1, max_size=40)
Others: TypeAlias = list[tuple[float, int]]


def columns(items: list[Labelled]) -> tuple[list[float], list[float], list[int]]:
    return [y for y, _, _ in items], [f for _, f, _ in items], [c for _, _, c in items]


@given(labelled, unlabelled, st.sampled_from([0.0, 0.5, 1.0, None]), st.booleans())
@settings(max_examples=60)
def test_a_mean_is_sound_whatever_the_scores(
    items: list[Labelled], others: Others, lam: float | None, clustered: bool
) -> None:
    y, f, ids = columns(items)
    mine, theirs = (ids, [c for _, c in others]) if clustered else (None, None)
    found = ppi_mean(
        y, f, [f for f, _ in others], lam="tuned" if lam is None else lam, clusters=mine, clusters_unlabelled=theirs
    )
    check_sound(found)
    assert 0 <= found.lam <= 1
    assert (found.normal.value is None) == (not items)
    if found.t is not None and found.t.ci_low is not None and found.normal.ci_low is not None:
        assert found.t.ci_low <= found.normal.ci_low


@given(labelled.filter(lambda items: len(items) > 1), unlabelled, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_items_decides_nothing(items: list[Labelled], others: Others, random: Random) -> None:
    shuffled, moved = random.sample(items, len(items)), random.sample(others, len(others))

    def mean(items: list[Labelled], others: Others) -> list[float | None]:
        y, f, ids = columns(items)
        found = ppi_mean(y, f, [f for f, _ in others], clusters=ids, clusters_unlabelled=[c for _, c in others])
        return [found.lam, found.normal.value, found.normal.se]

    assert mean(shuffled, moved) == pytest.approx(mean(items, others), abs=1e-7)


@given(labelled.filter(lambda items: len(items) > 1), unlabelled)
@settings(max_examples=40)
def test_clusters_of_one_item_change_only_the_small_sample_factor(items: list[Labelled], others: Others) -> None:
    y, f, _ = columns(items)
    rest = [f for f, _ in others]
    n, total = len(y), len(rest)
    alone, single = (
        ppi_mean(y, f, rest),
        ppi_mean(y, f, rest, clusters=list(range(n)), clusters_unlabelled=list(range(n, n + total))),
    )
    assert single.normal.value == alone.normal.value
    assert single.normal.n_clusters == n
    assert alone.normal.se is not None
    assert single.normal.se is not None
    largest = max(n / (n - 1), total / max(total - 1, 1)) ** 0.5
    assert alone.normal.se - 1e-9 <= single.normal.se <= largest * alone.normal.se + 1e-9


def test_a_cluster_in_both_parts_is_summed_over_both() -> None:
    y, f, others = [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]
    apart = ppi_mean(y, f, others, lam=1, clusters=[0, 1, 2, 3], clusters_unlabelled=[4, 5, 6, 7])
    shared = ppi_mean(y, f, others, lam=1, clusters=[0, 1, 2, 3], clusters_unlabelled=[0, 1, 2, 3])
    residuals = np.array(y) - np.array(f) - np.mean(np.array(y) - np.array(f))
    together = (residuals + np.array(others) - 0.75) / 4
    assert shared.normal.se == pytest.approx((4 / 3 * float(together @ together)) ** 0.5)
    assert shared.normal.se != pytest.approx(apart.normal.se)


def test_a_constant_judge_leaves_the_human_scores_alone() -> None:
    found = ppi_mean([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0] * 20)
    assert found.lam == 0
    assert found.normal.value == pytest.approx(2 / 3)


def test_labels_without_any_error_of_the_judge_raise_a_flag() -> None:
    found = ppi_mean([0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0])
    assert "zero_residual_variance" in found.normal.flags
    constant = ppi_mean([1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0])
    assert "zero_residual_variance" in constant.normal.flags
    assert constant.normal.reason == "singular"
    assert constant.normal.ci_low is None


def test_few_labels_get_a_t_interval_and_many_do_not() -> None:
    random = np.random.default_rng(1)
    y, f, others = random.random(99), random.random(99), random.random(300)
    few = ppi_mean(y, f, others)
    assert few.t is not None
    assert few.figure is few.t
    assert few.figure.method == "ppi_t"
    many = ppi_mean(random.random(100), random.random(100), others)
    assert many.t is None
    assert many.figure is many.normal


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lam is 1\.5"):
        ppi_mean([1.0], [1.0], [1.0], lam=1.5)
    with pytest.raises(ValueError, match="2 of judge score for 1 items"):
        ppi_mean([1.0], [1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="cluster ids of one part only"):
        ppi_mean([1.0], [1.0], [1.0], clusters=[0])
    with pytest.raises(ValueError, match="not finite"):
        ppi_mean([float("nan")], [1.0], [1.0])
    with pytest.raises(ValueError, match="use lam=0"):
        ppi_mean([1.0], [1.0], [], lam=1)


# Strata

stratum_items = st.tuples(labelled, unlabelled, st.integers(0, 50))


@given(st.lists(stratum_items, min_size=1, max_size=4), st.booleans())
@settings(max_examples=40)
def test_a_stratified_mean_is_sound(parts: list[tuple[list[Labelled], Others, int]], clustered: bool) -> None:
    strata: list[Stratum] = []
    for items, others, population in parts:
        y, f, ids = columns(items)
        mine, theirs = (ids, [c for _, c in others]) if clustered else (None, None)
        strata.append(Stratum(y, f, [f for f, _ in others], population, "tuned", mine, theirs))
    found = stratified_ppi(strata)
    check_sound(found)
    used = [len(items) for items, _, population in parts if population]
    if not used:
        assert found.normal.reason == "no_data"
    elif 0 in used:
        assert found.normal.reason == "empty_stratum"
    else:
        assert found.normal.value is not None


# Labels chosen with probabilities of their own


def unequal(seed: int, n: int = 1200) -> tuple[list[float], list[float], list[float], list[float]]:
    """Of `n` items those with a judge's score near 0 are the likelier to be labelled, where it errs more. People's mean
    is 0.5: human and judge score of the labelled, probabilities, judge scores of the rest."""
    random = np.random.default_rng(seed)
    y = random.normal(0.5, 1, n)
    f = 1.2 * y + 0.3 + random.normal(0, 0.8, n)
    chance = np.clip(0.3 * np.exp(-np.abs(f)), 0.02, 1)
    chosen = random.random(n) < chance
    return y[chosen].tolist(), f[chosen].tolist(), chance[chosen].tolist(), f[~chosen].tolist()


@given(labelled, unlabelled, st.sampled_from([0.0, 0.5, 1.0, None]), st.booleans(), st.data())
@settings(max_examples=60)
def test_a_weighted_mean_is_sound_whatever_scores_and_probabilities(
    items: list[Labelled], others: Others, lam: float | None, clustered: bool, data: st.DataObject
) -> None:
    y, f, ids = columns(items)
    chances = data.draw(st.lists(st.floats(0.01, 1), min_size=len(y), max_size=len(y)))
    mine, theirs = (ids, [c for _, c in others]) if clustered else (None, None)
    found = weighted_ppi(
        y,
        f,
        [f for f, _ in others],
        chances,
        lam="tuned" if lam is None else lam,
        clusters=mine,
        clusters_unlabelled=theirs,
    )
    check_sound(found)
    assert 0 <= found.lam <= 1
    assert (found.normal.value is None) == (not items)


@given(labelled.filter(lambda items: len(items) > 1), unlabelled)
@settings(max_examples=40)
def test_with_equal_probabilities_the_weighted_mean_is_ppi(items: list[Labelled], others: Others) -> None:
    """The judge's mean over all items trusted by lam is its mean over the unlabelled trusted by lam N/(n + N)."""
    y, f, _ = columns(items)
    rest = [f for f, _ in others]
    part = len(rest) / (len(y) + len(rest))
    weighted, plain = weighted_ppi(y, f, rest, [0.1] * len(y), lam=1), ppi_mean(y, f, rest, lam=part)
    assert weighted.normal.value == pytest.approx(plain.normal.value, abs=1e-9)
    alone = weighted_ppi(y, f, rest, [0.1] * len(y), lam=0)
    assert (alone.normal.value, alone.normal.se) == pytest.approx(
        (float(np.mean(y)), float(np.std(y)) / len(y) ** 0.5), abs=1e-9
    )


def test_the_probabilities_of_strata_give_the_mean_of_strata_less_exactly() -> None:
    random = np.random.default_rng(12)
    parts = [(40, 400, 0.2), (10, 600, 3.0)]
    strata = [Stratum(random.normal(m, 0.3, n), np.zeros(n), np.zeros(size - n), size, 0.0) for n, size, m in parts]
    y = np.concatenate([np.asarray(each.human) for each in strata])
    chances = [n / size for n, size, _ in parts for _ in range(n)]
    weighted, whole = weighted_ppi(y, 0 * y, np.zeros(950), chances, lam=0), stratified_ppi(strata)
    assert weighted.normal.value == pytest.approx(whole.normal.value)
    assert weighted.normal.se is not None
    assert whole.normal.se is not None
    assert weighted.normal.se > 3 * whole.normal.se


def test_weights_undo_a_choice_by_score_that_makes_the_plain_mean_wrong() -> None:
    samples = list(map(unequal, range(150)))
    plain = [float(np.mean(y)) for y, _, _, _ in samples]
    figures = [weighted_ppi(y, f, rest, chance).figure for y, f, chance, rest in samples]
    values = np.array([each.value for each in figures], dtype=np.float64)
    errors = np.array([each.se for each in figures], dtype=np.float64)
    ends = np.array([(each.ci_low, each.ci_high) for each in figures], dtype=np.float64)
    assert float(np.mean((ends[:, 0] <= 0.5) & (ends[:, 1] >= 0.5))) >= 0.9
    assert float(values.mean()) == pytest.approx(0.5, abs=0.02)
    assert float(errors.mean()) == pytest.approx(float(values.std()), rel=0.2)
    assert abs(float(np.mean(plain)) - 0.5) > 0.2


def test_the_tuned_weight_is_no_worse_than_any_other() -> None:
    y, f, chance, rest = unequal(4)
    best = weighted_ppi(y, f, rest, chance)
    assert 0 < best.lam < 1
    assert best.normal.se is not None
    for lam in (0.0, best.lam - 0.05, best.lam + 0.05, 1.0):
        other = weighted_ppi(y, f, rest, chance, lam=min(max(lam, 0.0), 1.0)).normal.se
        assert other is not None
        assert best.normal.se <= other + 1e-12
    assert weighted_ppi(y, [2.0] * len(y), [2.0] * 9, chance).lam == 0


def test_few_effective_labels_get_a_t_interval_however_many_there_are() -> None:
    random = np.random.default_rng(6)
    y, f, rest = random.random(200), random.random(200), random.random(800)
    assert weighted_ppi(y, f, rest, [0.2] * 200).t is None
    heavy = weighted_ppi(y, f, rest, [0.9] * 190 + [0.01] * 10)
    assert heavy.t is not None
    assert "small_n" not in heavy.t.flags


def test_items_in_clusters_make_the_weighted_mean_less_sure() -> None:
    y, f, chance, rest = unequal(5)
    alone = weighted_ppi(y * 2, f * 2, rest * 2, chance * 2)
    ids, theirs = [*range(len(y))] * 2, [*range(len(y), len(y) + len(rest))] * 2
    grouped = weighted_ppi(y * 2, f * 2, rest * 2, chance * 2, clusters=ids, clusters_unlabelled=theirs)
    assert grouped.normal.value == pytest.approx(alone.normal.value)
    assert grouped.normal.deff == pytest.approx(2, rel=0.05)


def test_a_probability_out_of_range_is_refused() -> None:
    for wrong in ([0.0, 0.5], [0.5, 1.5], [0.5]):
        with pytest.raises(ValueError, match="inclusion probability"):
            weighted_ppi([1.0, 0.0], [1.0, 0.0], [1.0], wrong)


def test_one_stratum_is_the_plain_mean() -> None:
    random = np.random.default_rng(2)
    y, f, others = random.random(30), random.random(30), random.random(90)
    stratified, plain = stratified_ppi([Stratum(y, f, others, 120)]), ppi_mean(y, f, others)
    assert stratified.normal.value == pytest.approx(plain.normal.value)
    assert stratified.normal.se == pytest.approx(plain.normal.se)


def test_a_stratum_whose_items_are_all_labelled_needs_no_judge() -> None:
    found = stratified_ppi(
        [Stratum([1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [], 3), Stratum([0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0], 5)]
    )
    assert found.strata[0].lam == 0
    assert found.normal.value is not None


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0.5, 4)), min_size=2, max_size=5),
    st.floats(10, 500),
)
@settings(max_examples=40)
def test_no_other_allocation_of_the_budget_is_more_exact(
    strata: list[tuple[float, float, float]], budget: float
) -> None:
    weights, sds, costs = zip(*strata, strict=True)
    labels = allocate_labels(budget, weights, sds, costs)
    assert sum(n * cost for n, cost in zip(labels, costs, strict=True)) == pytest.approx(budget)

    def variance(labels: list[float]) -> float:
        return sum(float(w * w * sd * sd / n) for w, sd, n in zip(weights, sds, labels, strict=True))

    best = variance(list(labels))
    for share in (0.9, 1.1):  # move money between the first two
        moved = list(labels)
        moved[0] *= share
        moved[1] += (labels[0] - moved[0]) * costs[0] / costs[1]
        if moved[1] > 0:
            assert variance(moved) >= best * (1 - 1e-9)


def test_strata_that_do_not_vary_share_labels_by_weight() -> None:
    assert allocate_labels(100, [0.8, 0.2], [0.0, 0.0]) == pytest.approx((80, 20))
    with pytest.raises(ValueError, match="no stratum has a weight"):
        allocate_labels(100, [0.0], [1.0])
