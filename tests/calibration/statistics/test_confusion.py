import json
from collections.abc import Sequence
from dataclasses import fields
from math import isfinite, sqrt
from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.confusion import (
    AlwaysPass,
    BinaryMetrics,
    MulticlassMetrics,
    binary_metrics,
    binary_metrics_of_pairs,
    mcnemar,
    mcnemar_of_items,
    multiclass_metrics,
)
from calibration.statistics.tables import INVALID, Invalid, LabelPairs, pair_labels, pairs_of_table
from judges.figures import FLAGS, REASONS, Figure
from judges.intervals import bonett_price, mover, proportion, proportion_interval

Label: TypeAlias = str | Invalid | None
Item: TypeAlias = tuple[str | None, Label, int]

counts = st.integers(0, 12)
item_lists = st.lists(
    st.tuples(
        st.sampled_from(["no", "yes", "yes", None]), st.sampled_from(["no", "yes", "yes", INVALID]), st.integers(0, 8)
    ),
    max_size=40,
)


def paired(items: Sequence[Item], clustered: bool, labels: Sequence[str] = ("no", "yes")) -> LabelPairs:
    clusters = [cluster for _, _, cluster in items] if clustered else None
    return pair_labels(
        [gold for gold, _, _ in items], [judge for _, judge, _ in items], labels=labels, clusters=clusters
    )


def figures_of(metrics: BinaryMetrics | MulticlassMetrics | AlwaysPass) -> dict[str, Figure]:
    values = {field.name: getattr(metrics, field.name) for field in fields(metrics)}
    found = {name: value for name, value in values.items() if isinstance(value, Figure)}
    if isinstance(metrics, BinaryMetrics):
        found |= {f"always_pass.{name}": figure for name, figure in figures_of(metrics.always_pass).items()}
    return found


def assert_honest(name: str, figure: Figure) -> None:
    assert set(figure.flags) <= FLAGS, name
    assert figure.reason is None or figure.reason in REASONS, name
    for number in (figure.value, figure.ci_low, figure.ci_high, figure.se, figure.deff):
        assert number is None or isfinite(number), name
    if figure.value is None:
        assert figure.reason is not None, name
    elif figure.ci_low is None or figure.ci_high is None:
        assert figure.reason in {"too_few_clusters", "many_undefined_resamples", "singular"}, name
    else:
        assert figure.ci_low <= figure.value + 1e-12, name
        assert figure.value <= figure.ci_high + 1e-12, name
        assert figure.ci_low < figure.ci_high, name


@settings(max_examples=40, deadline=None)
@given(tp=counts, fp=counts, fn=counts, tn=counts)
def test_every_binary_figure_holds_its_value_and_is_plain_json(tp: int, fp: int, fn: int, tn: int) -> None:
    metrics = binary_metrics(tp, fp, fn, tn)
    json.dumps(metrics.to_record(), allow_nan=False)
    for name, figure in figures_of(metrics).items():
        assert_honest(name, figure)


@settings(max_examples=25, deadline=None)
@given(items=item_lists, clustered=st.booleans())
def test_every_figure_of_items_holds_its_value_and_is_plain_json(items: list[Item], clustered: bool) -> None:
    pairs = paired(items, clustered)
    for metrics in (binary_metrics_of_pairs(pairs, positive="yes"), multiclass_metrics(pairs)):
        json.dumps(metrics.to_record(), allow_nan=False)
        for name, figure in figures_of(metrics).items():
            assert_honest(name, figure)


@settings(max_examples=20, deadline=None)
@given(items=item_lists, clustered=st.booleans(), random=st.randoms())
def test_the_order_of_items_does_not_matter(items: list[Item], clustered: bool, random: Random) -> None:
    shuffled = random.sample(items, len(items))
    one, other = (binary_metrics_of_pairs(paired(each, clustered), positive="yes") for each in (items, shuffled))
    others = figures_of(other)
    for name, figure in figures_of(one).items():
        for part in ("value", "ci_low", "ci_high", "se", "deff"):
            assert getattr(figure, part) == pytest.approx(getattr(others[name], part), abs=1e-9), name
        assert (figure.n, figure.flags, figure.reason) == (others[name].n, others[name].flags, others[name].reason)


@settings(max_examples=20, deadline=None)
@given(items=item_lists, clustered=st.booleans())
def test_the_other_label_as_positive_swaps_the_rates(items: list[Item], clustered: bool) -> None:
    pairs = paired(items, clustered)
    yes, no = (binary_metrics_of_pairs(pairs, positive=label) for label in ("yes", "no"))
    assert yes.recall.value == no.specificity.value
    assert (yes.recall.ci_low, yes.recall.ci_high) == (no.specificity.ci_low, no.specificity.ci_high)
    assert yes.precision.value == no.npv.value
    assert (yes.tp, yes.fp, yes.invalid_positive) == (no.tn, no.fn, no.invalid_negative)
    assert yes.mcc.value == pytest.approx(no.mcc.value)
    assert yes.balanced_accuracy.value == no.balanced_accuracy.value


@settings(max_examples=20, deadline=None)
@given(items=item_lists, clustered=st.booleans())
def test_two_labels_give_the_same_rates_as_several(items: list[Item], clustered: bool) -> None:
    pairs = paired(items, clustered)
    binary, several = binary_metrics_of_pairs(pairs, positive="yes"), multiclass_metrics(pairs)
    assert binary.accuracy == several.accuracy
    assert binary.mcc == several.mcc
    assert binary.f1 == several.classes[1].f1
    assert binary.recall == several.classes[1].recall
    assert binary.balanced_accuracy.value == several.balanced_accuracy.value
    if binary.balanced_accuracy.value is not None:
        assert binary.balanced_accuracy.ci_low == pytest.approx(several.balanced_accuracy.ci_low)


def test_j_and_balanced_accuracy_join_the_two_wilson_intervals() -> None:
    metrics = binary_metrics(90, 30, 10, 70)
    terms = [(1.0, 0.9, *proportion_interval(90, 100)), (1.0, 0.7, *proportion_interval(70, 100))]
    low, high = mover(terms)
    assert (metrics.youden_j.ci_low, metrics.youden_j.ci_high) == pytest.approx((low - 1, high - 1))
    assert (metrics.balanced_accuracy.ci_low, metrics.balanced_accuracy.ci_high) == pytest.approx((low / 2, high / 2))
    assert metrics.youden_j.method == "mover"


def test_clusters_whose_rates_go_together_widen_j() -> None:
    """In every case the judge is right on both items or on neither: recall and specificity rise and fall as one."""
    gold, clusters = ["yes", "no"] * 40, [number // 2 for number in range(80)]
    together = [label if number // 2 % 4 else "yes no".replace(label, "").strip() for number, label in enumerate(gold)]
    apart = [
        label if (number // 2 + number % 2) % 4 else "yes no".replace(label, "").strip()
        for number, label in enumerate(gold)
    ]
    one, other = (
        binary_metrics_of_pairs(pair_labels(gold, judge, labels=["no", "yes"], clusters=clusters), positive="yes")
        for judge in (together, apart)
    )
    assert one.recall.value == other.recall.value == 0.75
    assert one.youden_j.ci_low is not None
    assert other.youden_j.ci_low is not None
    assert one.youden_j.ci_low < other.youden_j.ci_low - 0.02


def test_a_rate_by_cluster_is_the_proportion_of_its_denominator_s_items() -> None:
    generator = np.random.default_rng(2)
    gold, judge = generator.random(200) < 0.4, generator.random(200) < 0.5
    clusters = generator.integers(0, 40, 200)
    metrics = binary_metrics_of_pairs(pair_labels(gold, judge, labels=[False, True], clusters=clusters), positive=True)
    for figure, chosen, hit in (
        (metrics.recall, gold, judge),
        (metrics.specificity, ~gold, ~judge),
        (metrics.precision, judge, gold),
        (metrics.npv, ~judge, ~gold),
        (metrics.accuracy, gold | ~gold, gold == judge),
    ):
        expected = proportion(hit[chosen], clusters[chosen])
        assert (figure.value, figure.ci_low, figure.ci_high) == pytest.approx(
            (expected.value, expected.ci_low, expected.ci_high)
        )
        assert figure.n_clusters == expected.n_clusters


def test_f1_is_defined_without_precision_and_undefined_without_positives() -> None:
    metrics = binary_metrics(0, 0, 7, 43)
    assert (metrics.precision.value, metrics.precision.reason) == (None, "no_positive_pred")
    assert (metrics.f1.value, metrics.f1.method) == (0.0, "exact_bound")
    nothing = binary_metrics(0, 0, 0, 12)
    assert (nothing.f1.value, nothing.f1.reason) == (None, "no_positives")
    assert (nothing.recall.ci_low, nothing.recall.ci_high) == (0.0, 1.0)
    empty = binary_metrics(0, 0, 0, 0)
    assert {figure.reason for figure in figures_of(empty).values()} == {"no_data"}


def test_perfect_agreement_shows_no_bootstrap_interval() -> None:
    metrics = binary_metrics(25, 0, 0, 25)
    u = 1 - 0.025 ** (1 / 25)
    assert metrics.f1.ci_low == pytest.approx(2 * (1 - u) / (2 - u))
    assert metrics.mcc.ci_low == pytest.approx(1 - (1 - 0.025 ** (1 / 50)) / 0.5)
    for figure in (metrics.f1, metrics.mcc):
        assert (figure.method, figure.ci_high) == ("exact_bound", 1.0)
        assert "perfect_agreement" in figure.flags
    several = multiclass_metrics(pairs_of_table([[12, 0, 0], [0, 15, 0], [0, 0, 20]]))
    for figure in (several.macro_f1, several.weighted_f1, several.mcc, several.balanced_accuracy):
        assert figure.value == 1
        assert figure.ci_low is not None
        assert 0.7 < figure.ci_low < 0.96
    opposite = binary_metrics(0, 20, 20, 0)
    assert (opposite.mcc.value, opposite.mcc.ci_low) == (-1.0, -1.0)
    assert opposite.mcc.ci_high is not None
    assert opposite.mcc.ci_high > -0.9


def test_the_limits_of_f1_at_its_ends_are_those_of_the_shared_positives() -> None:
    """F1 = 2s/(1+s) for the share s of items both call positive among those either does."""
    low, high = proportion_interval(0, 9, method="clopper_pearson")
    metrics = binary_metrics(0, 4, 5, 30)
    assert (metrics.f1.ci_low, metrics.f1.ci_high) == pytest.approx((low, 2 * high / (1 + high)))


def test_f1_and_mcc_are_resampled_and_repeat_with_their_seed() -> None:
    one, again, other = (binary_metrics(40, 9, 12, 60, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert (one.f1.method, one.f1.seed, one.mcc.method) == ("bca", 1, "bca")
    assert one.f1.ci_low != other.f1.ci_low


def test_a_class_with_few_gold_items_is_flagged_where_it_is_a_denominator() -> None:
    metrics = binary_metrics(3, 2, 1, 194)
    flagged = {name for name, figure in figures_of(metrics).items() if "rare_class" in figure.flags}
    assert flagged == {"recall", "f1", "balanced_accuracy", "youden_j", "mcc"}


def test_an_invalid_answer_misses_the_label_and_predicts_nothing() -> None:
    pairs = pairs_of_table([[20, 4, 2], [3, 30, 5]], labels=["no", "yes"])
    metrics = binary_metrics_of_pairs(pairs, positive="yes")
    assert (metrics.tp, metrics.fp, metrics.fn, metrics.tn) == (30, 4, 3, 20)
    assert (metrics.invalid_positive, metrics.invalid_negative) == (5, 2)
    assert metrics.accuracy.value == pytest.approx(50 / 64)
    assert metrics.recall.value == pytest.approx(30 / 38)
    assert metrics.specificity.value == pytest.approx(20 / 26)
    assert metrics.precision.value == pytest.approx(30 / 34)
    assert metrics.npv.value == pytest.approx(20 / 23)
    assert metrics.f1.value == pytest.approx(60 / (34 + 38))
    assert metrics.invalid_rate.value == pytest.approx(7 / 64)
    several = multiclass_metrics(pairs)
    assert several.micro_f1.value == pytest.approx(100 / (64 + 57))


def test_the_judge_is_compared_with_always_passing() -> None:
    metrics = binary_metrics(80, 10, 5, 5)
    baseline = metrics.always_pass
    assert baseline.accuracy.value == pytest.approx(0.85)
    assert (baseline.accuracy.ci_low, baseline.accuracy.ci_high) == proportion_interval(85, 100)
    assert baseline.f1.value == pytest.approx(2 * 85 / (2 * 85 + 15))
    assert baseline.gain.value == pytest.approx(0.0)
    assert (baseline.gain.ci_low, baseline.gain.ci_high) == bonett_price(5, 5, 100)


def test_classes_with_undefined_parts_are_listed_and_left_out_of_the_averages() -> None:
    metrics = multiclass_metrics(
        pairs_of_table([[12, 0, 3, 0], [2, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], labels=list("abcd"))
    )
    assert [(each.label, each.part, each.reason) for each in metrics.undefined] == [
        ("b", "precision", "no_positive_pred"),
        ("c", "recall", "no_positive_gold"),
        ("d", "precision", "no_positive_pred"),
        ("d", "recall", "no_positive_gold"),
        ("d", "f1", "no_positives"),
    ]
    f1_of_a = 24 / 29
    assert metrics.macro_f1.value == pytest.approx(f1_of_a / 3)
    assert metrics.weighted_f1.value == pytest.approx(f1_of_a * 15 / 18)
    assert metrics.balanced_accuracy.value == pytest.approx(0.4)
    record = json.loads(json.dumps(metrics.to_record(), allow_nan=False))
    assert record["undefined"][0] == {"label": "b", "part": "precision", "reason": "no_positive_pred"}


def test_humans_with_one_label_have_no_balanced_accuracy() -> None:
    assert (
        multiclass_metrics(pairs_of_table([[5, 3, 1], [0, 0, 0], [0, 0, 0]])).balanced_accuracy.reason
        == "single_category"
    )


def test_several_classes_by_cluster_are_wider() -> None:
    gold = list("aabbcc") * 10
    judge = list("aabbcc") * 7 + list("bbccaa") * 3
    clusters = [number // 6 for number in range(60)]
    alone = multiclass_metrics(pair_labels(gold, judge, labels="abc"))
    clustered = multiclass_metrics(pair_labels(gold, judge, labels="abc", clusters=clusters))
    for name, figure in figures_of(alone).items():
        other = figures_of(clustered)[name]
        if name != "invalid_rate":
            assert figure.value == pytest.approx(other.value)
            assert figure.ci_low is not None
            assert other.ci_low is not None
            assert other.ci_low < figure.ci_low, name


# McNemar


@settings(max_examples=60, deadline=None)
@given(b=st.integers(0, 30), c=st.integers(0, 30), same=st.integers(0, 30))
def test_mcnemar_does_not_care_who_is_first(b: int, c: int, same: int) -> None:
    one, other = mcnemar(b, c, b + c + same), mcnemar(c, b, b + c + same)
    json.dumps(one.to_record(), allow_nan=False)
    assert (one.p_mid, one.p_exact, one.chi2, one.p_chi2) == (other.p_mid, other.p_exact, other.chi2, other.p_chi2)
    assert_honest("difference", one.difference)
    if one.p_mid is not None and one.p_exact is not None:
        assert 0 < one.p_mid <= one.p_exact <= 1
    if one.difference.value is not None:
        assert one.difference.value == -(other.difference.value or 0.0)


def test_mid_p_of_equal_counts_is_one_minus_their_probability() -> None:
    assert mcnemar(3, 3, 10).p_mid == pytest.approx(1 - 20 / 64)


def test_no_items_have_no_p() -> None:
    nothing = mcnemar(0, 0, 0)
    assert (nothing.p_value, nothing.reason, nothing.difference.reason) == (None, "no_data", "no_data")


def test_not_inferior_means_a_lower_bound_above_minus_the_margin() -> None:
    assert mcnemar(10, 12, 400, margin=0.05).non_inferior is True
    assert mcnemar(10, 12, 40, margin=0.05).non_inferior is False
    assert mcnemar(10, 12, 40).non_inferior is None
    assert mcnemar(0, 0, 0, margin=0.05).non_inferior is None
    with pytest.raises(ValueError, match="margin"):
        mcnemar(1, 2, 10, margin=0.0)
    with pytest.raises(ValueError, match="counts are not negative"):
        mcnemar(5, 6, 10)


def test_items_give_the_counts_of_mcnemar() -> None:
    a, b = [True, True, False, True, False, True], [True, False, True, False, False, False]
    assert mcnemar_of_items(a, b) == mcnemar(3, 1, 6)
    with pytest.raises(ValueError, match="one truth value of each judge"):
        mcnemar_of_items(a, b[1:])


def test_mcnemar_by_cluster_is_a_t_test_and_gives_no_p_that_ignores_clusters() -> None:
    a = [True, True, True, True, False, False, True, True, True, True] * 4
    b = [False, False, False, False, False, False, True, True, True, True] * 4
    clusters = [number // 2 for number in range(40)]
    clustered, alone = mcnemar_of_items(a, b, clusters), mcnemar_of_items(a, b)
    assert (clustered.method, clustered.p_mid, clustered.p_exact, clustered.chi2) == ("t", None, None, None)
    assert clustered.difference.deff == pytest.approx(2 * 20 / 19)
    assert clustered.p_value is not None
    assert alone.p_value is not None
    assert clustered.p_value > alone.p_value
    same = mcnemar_of_items(a, a, clusters)
    assert (same.p_value, same.reason) == (1.0, "no_discordant")
    assert mcnemar_of_items(a, b, [0] * 40).reason == "too_few_clusters"


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        binary_metrics(1, -1, 0, 0)
    with pytest.raises(ValueError, match="two labels, one of them positive"):
        binary_metrics_of_pairs(pairs_of_table([[1, 0], [0, 1]]), positive="yes")
    with pytest.raises(ValueError, match="two labels, one of them positive"):
        binary_metrics_of_pairs(pairs_of_table([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), positive=1)


# Coverage


def test_the_interval_of_mcc_covers_about_as_often_as_it_says() -> None:
    cells = np.array([0.5, 0.1, 0.1, 0.3])
    truth = (0.5 * 0.3 - 0.01) / sqrt(0.6 * 0.4 * 0.6 * 0.4)
    tables = np.random.default_rng(12).multinomial(80, cells, size=150)
    held = 0
    for tn, fp, fn, tp in tables.tolist():
        figure = binary_metrics(tp, fp, fn, tn).mcc
        held += figure.ci_low is not None and figure.ci_high is not None and figure.ci_low <= truth <= figure.ci_high
    assert held / 150 > 0.89
