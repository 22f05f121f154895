"""What holds for all statistics of labels and scores: other names, the same items twice, one disagreement fewer.

That the order of items does not matter is with each statistic.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calibration.statistics import agreement, raters
from calibration.statistics.ceiling import human_ceiling
from calibration.statistics.confusion import mcnemar_of_items, multiclass_metrics
from calibration.statistics.mapping import fit_isotonic
from calibration.statistics.reliability import (
    ScoredLabels,
    area_under_curve,
    brier,
    calibration_line,
    pair_scored,
    reliability_table,
    spiegelhalter,
)
from calibration.statistics.replacement import alternative_annotator_test
from calibration.statistics.scores import (
    ScorePairs,
    bland_altman,
    concordance,
    kendall,
    mean_absolute_error,
    pair_scores,
    pearson,
    root_mean_squared_error,
    spearman,
)
from calibration.statistics.tables import INVALID, LabelPairs, Weights, pair_labels, pairs_of_table
from calibration.statistics.threshold import Youden, choose_threshold
from judges.figures import Figure

Label: TypeAlias = object
Item: TypeAlias = tuple[Label, Label, Label, float, bool]
"""Labels of three people (the second may be the judge), a score from 0 to 1, and whether it is yes."""
Statistic: TypeAlias = Callable[[Sequence[Item], Sequence[Label]], Figure]

LABELS = ("poor", "fair", "good")

named = st.sampled_from(LABELS)
item_lists = st.lists(
    st.tuples(named, named, named | st.none(), st.sampled_from([0.1, 0.25, 0.4, 0.6, 0.85]), st.booleans()),
    min_size=3,
    max_size=25,
)
tables = st.lists(st.lists(st.integers(0, 8), min_size=3, max_size=3), min_size=3, max_size=3)


def two(items: Sequence[Item], labels: Sequence[Label]) -> LabelPairs:
    return pair_labels([item[0] for item in items], [item[1] for item in items], labels=labels)


def many(items: Sequence[Item], labels: Sequence[Label]) -> raters.UnitRatings:
    return raters.unit_ratings([item[:3] for item in items], labels=labels)


def complete(items: Sequence[Item], labels: Sequence[Label]) -> raters.UnitRatings:
    return raters.unit_ratings([item[:2] for item in items], labels=labels)


def people(items: Sequence[Item]) -> list[list[Label]]:
    return [[item[0], item[2], item[1]] for item in items]


def wald(statistic: Callable[..., Figure], weights: Weights = "none") -> Statistic:
    return lambda items, labels: statistic(two(items, labels), weights=weights, interval="wald")


def by_score(statistic: Callable[[ScoredLabels], Figure]) -> Statistic:
    return lambda items, _: statistic(pair_scored([item[3] for item in items], [item[4] for item in items]))


def by_place(statistic: Callable[[ScorePairs], Figure]) -> Statistic:
    """Of two numbers: the score, and the place of a label on the scale."""
    return lambda items, labels: statistic(
        pair_scores([item[3] for item in items], [float(labels.index(item[0])) for item in items])
    )


NOMINAL: dict[str, Statistic] = {
    "kappa": wald(agreement.kappa),
    "Scott's pi": wald(agreement.scott_pi),
    "Brennan-Prediger": wald(agreement.brennan_prediger),
    "AC1": wald(agreement.gwet_ac),
    "pairwise agreement": lambda items, labels: raters.pairwise_agreement(many(items, labels)),
    "AC1 of many": lambda items, labels: raters.gwet_ac(many(items, labels)),
    "Brennan-Prediger of many": lambda items, labels: raters.brennan_prediger(many(items, labels)),
    "Fleiss' kappa": lambda items, labels: raters.fleiss_kappa(complete(items, labels)).kappa,
    "Fleiss' kappa with gaps": lambda items, labels: raters.fleiss_generalised(many(items, labels)),
    "Conger's kappa": lambda items, labels: raters.conger_kappa(many(items, labels)),
    "Krippendorff's alpha": lambda items, labels: raters.krippendorff_alpha(many(items, labels)),
    "ceiling of humans": lambda items, labels: (
        human_ceiling(people(items), [i[1] for i in items], labels=labels).humans
    ),
    "judge at the ceiling": lambda items, labels: (
        human_ceiling(people(items), [item[1] for item in items], labels=labels).difference
    ),
    "kappa of humans": lambda items, labels: (
        human_ceiling(people(items), [item[1] for item in items], labels=labels).human_kappa
    ),
    "advantage of the judge": lambda items, labels: (
        alternative_annotator_test(
            people(items), [item[1] for item in items], epsilon=0.2, labels=labels, min_items=2
        ).advantage
    ),
}
ORDINAL: dict[str, Statistic] = {
    "linear kappa": wald(agreement.kappa, "linear"),
    "quadratic AC2": wald(agreement.gwet_ac, "quadratic"),
    "linear Brennan-Prediger": wald(agreement.brennan_prediger, "linear"),
    "quadratic AC2 of many": lambda items, labels: raters.gwet_ac(many(items, labels), weights="quadratic"),
    "linear Fleiss": lambda items, labels: raters.fleiss_generalised(many(items, labels), weights="linear"),
    "ordinal alpha": lambda items, labels: raters.krippendorff_alpha(many(items, labels), distance="ordinal"),
}


@pytest.mark.parametrize("name", NOMINAL)
@settings(max_examples=12, deadline=None)
@given(items=item_lists, order=st.permutations(LABELS), numbers=st.permutations([10, 20, 30]))
def test_other_names_in_another_order_change_no_nominal_figure(
    name: str, items: list[Item], order: list[str], numbers: list[int]
) -> None:
    names: dict[Label, Label] = dict(zip(order, numbers, strict=True))
    renamed: list[Item] = [(names[a], names[b], None if c is None else names[c], s, y) for a, b, c, s, y in items]
    one, other = NOMINAL[name](items, LABELS), NOMINAL[name](renamed, [names[label] for label in order])
    assert other.value == pytest.approx(one.value)
    assert other.se == pytest.approx(one.se, abs=1e-9)
    assert (other.n, other.reason, other.flags, other.method) == (one.n, one.reason, one.flags, one.method)
    if "alpha" not in name:  # whose resamples are others when its units are
        assert (other.ci_low, other.ci_high) == pytest.approx((one.ci_low, one.ci_high), abs=1e-9)


@settings(max_examples=12, deadline=None)
@given(table=tables, order=st.permutations(range(3)))
def test_classes_keep_their_rates_when_they_are_declared_in_another_order(
    table: list[list[int]], order: list[int]
) -> None:
    one = multiclass_metrics(pairs_of_table(table, labels=LABELS))
    turned = np.array(table)[np.ix_(order, order)]
    other = multiclass_metrics(pairs_of_table(turned, labels=[LABELS[at] for at in order]))
    for name in ("accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "weighted_f1", "mcc"):
        first, second = getattr(one, name), getattr(other, name)
        assert second.value == pytest.approx(first.value), name
        assert second.reason == first.reason, name
    classes = {each.label: each for each in other.classes}
    for each in one.classes:
        again = classes[each.label]
        assert (again.gold, again.precision, again.recall) == (each.gold, each.precision, each.recall)
        assert again.f1.value == pytest.approx(each.f1.value)
    assert set(other.undefined) == set(one.undefined)


FLAT: dict[str, Statistic] = {  # SE^2 is the sum of squared influence over n^2
    **{name: NOMINAL[name] for name in ("kappa", "Scott's pi", "Brennan-Prediger", "AC1")},
    **{name: ORDINAL[name] for name in ("linear kappa", "quadratic AC2", "linear Brennan-Prediger")},
    "concordance": by_place(concordance),
    "Brier skill": by_score(lambda items: brier(items).skill),
    "calibration slope": by_score(lambda items: calibration_line(items).slope),
    "calibration in the large": by_score(lambda items: calibration_line(items).in_the_large),
}
SAMPLED: dict[str, Statistic] = {  # over n (n - 1)
    **{name: NOMINAL[name] for name in NOMINAL if "many" in name or "Fleiss" in name or name == "judge at the ceiling"},
    **{name: ORDINAL[name] for name in ("quadratic AC2 of many", "linear Fleiss")},
    "absolute error": by_place(mean_absolute_error),
    "bias": by_place(lambda pairs: bland_altman(pairs).bias),
    "Brier score": by_score(lambda items: brier(items).score),
}
PLAIN: dict[str, Statistic] = {
    "Conger's kappa": NOMINAL["Conger's kappa"],
    "kappa of humans": NOMINAL["kappa of humans"],
    "advantage of the judge": NOMINAL["advantage of the judge"],
    "percent agreement": lambda items, labels: agreement.percent_agreement(two(items, labels)),
    "kappa max": lambda items, labels: agreement.kappa_max(two(items, labels)),
    "pearson": by_place(pearson),
    "spearman": by_place(spearman),
    "kendall": by_place(kendall),
    "root mean squared error": by_place(root_mean_squared_error),
    "slope of the difference": by_place(lambda pairs: bland_altman(pairs).slope),
    "area under the curve": by_score(area_under_curve),
    "ECE": by_score(lambda items: reliability_table(items).ece),
    "largest gap": by_score(lambda items: reliability_table(items).mce),
}


TWICE: dict[str, Statistic] = {**FLAT, **SAMPLED, **PLAIN}


@pytest.mark.parametrize("name", TWICE)
@settings(max_examples=12, deadline=None)
@given(items=item_lists)
def test_every_item_twice_keeps_the_value_and_shrinks_the_standard_error_by_the_root_of_two(
    name: str, items: list[Item]
) -> None:
    statistic = TWICE[name]
    one, both = statistic(items, LABELS), statistic([*items, *items], LABELS)
    assert both.value == pytest.approx(one.value, abs=1e-9)
    if one.value is None:
        assert both.reason == one.reason
        return
    assert both.n == 2 * one.n
    if one.se and both.se and name in FLAT:
        assert both.se == pytest.approx(one.se / sqrt(2))
    elif one.se and both.se and name in SAMPLED:
        units = one.n if one.n_clusters is None else one.n_clusters
        assert both.se == pytest.approx(one.se * sqrt((units - 1) / (2 * units - 1)))
    if one.ci_low is not None and both.ci_low is not None and one.ci_high is not None and both.ci_high is not None:
        assert both.ci_high - both.ci_low <= one.ci_high - one.ci_low + 1e-9


@pytest.mark.parametrize("distance", ["nominal", "ordinal"])
@settings(max_examples=12, deadline=None)
@given(items=item_lists)
def test_every_unit_twice_moves_alpha_by_its_correction_for_the_sample_only(
    distance: raters.Distance, items: list[Item]
) -> None:
    ratings = many(items, LABELS)
    one = raters.krippendorff_alpha(ratings, distance=distance)
    both = raters.krippendorff_alpha(many([*items, *items], LABELS), distance=distance)
    assume(one.value is not None and both.value is not None)
    assert one.value is not None
    size = int(ratings.pairable().counts.sum())
    assert both.value == pytest.approx(1 - (1 - one.value) * (2 * size - 1) / (2 * size - 2))


@settings(max_examples=25, deadline=None)
@given(items=item_lists)
def test_every_item_twice_keeps_choices_and_maps_and_raises_test_statistics_by_the_root_of_two(
    items: list[Item],
) -> None:
    scores, labels = [item[3] for item in items], [item[4] for item in items]
    one, both = (choose_threshold(scores * times, labels * times, Youden()) for times in (1, 2))
    assert (both.threshold, both.reason) == (one.threshold, one.reason)
    assert fit_isotonic(scores * 2, labels * 2).fitted == pytest.approx(fit_isotonic(scores, labels).fitted)
    alone, doubled = (spiegelhalter(pair_scored(scores * times, labels * times)) for times in (1, 2))
    assert alone.statistic is not None
    assert doubled.statistic == pytest.approx(alone.statistic * sqrt(2), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(table=tables, human=st.integers(0, 2), judge=st.integers(0, 2))
def test_one_disagreement_fewer_lowers_no_rate(table: list[list[int]], human: int, judge: int) -> None:
    assume(human != judge and table[human][judge] > 0)
    better = [list(row) for row in table]
    better[human][judge] -= 1
    better[human][human] += 1
    before, after = pairs_of_table(table), pairs_of_table(better)
    rates, more = multiclass_metrics(before), multiclass_metrics(after)
    for one, other in (
        (agreement.percent_agreement(before), agreement.percent_agreement(after)),
        (rates.accuracy, more.accuracy),
        (rates.balanced_accuracy, more.balanced_accuracy),
        (rates.classes[human].recall, more.classes[human].recall),
        (rates.classes[judge].precision, more.classes[judge].precision),
    ):
        for name in ("value", "ci_low", "ci_high"):
            low, high = getattr(one, name), getattr(other, name)
            assert low is None or high is None or high >= low - 1e-12, name
    for one, other in (
        (rates.macro_f1, more.macro_f1),
        (rates.micro_f1, more.micro_f1),
        (rates.weighted_f1, more.weighted_f1),
        (rates.classes[human].f1, more.classes[human].f1),
        (rates.classes[judge].f1, more.classes[judge].f1),
    ):
        assert one.value is None or other.value is None or other.value >= one.value - 1e-12
    for weights in ("none", "linear", "quadratic"):
        first, second = (agreement.brennan_prediger(each, weights=weights, interval="wald") for each in (before, after))
        assert first.value is not None
        assert second.value is not None
        assert second.value > first.value


@settings(max_examples=25, deadline=None)
@given(items=item_lists, at=st.integers(0, 24))
def test_a_label_in_place_of_an_invalid_answer_never_lowers_agreement(items: list[Item], at: int) -> None:
    at %= len(items)
    spoilt: list[Item] = [(a, INVALID if place == at else b, c, s, y) for place, (a, b, c, s, y) in enumerate(items)]
    one, other = (agreement.percent_agreement(two(each, LABELS)).value for each in (spoilt, items))
    assert one is not None
    assert other is not None
    assert other >= one


@settings(max_examples=25, deadline=None)
@given(items=item_lists, at=st.integers(0, 24))
def test_an_item_that_only_a_gets_right_never_lowers_the_lead_of_a(items: list[Item], at: int) -> None:
    a, b = [item[4] for item in items], [item[0] == item[1] for item in items]
    before = mcnemar_of_items(a, b).difference
    a[at % len(a)], b[at % len(b)] = True, False
    after = mcnemar_of_items(a, b).difference
    for name in ("value", "ci_low", "ci_high"):
        assert getattr(after, name) >= getattr(before, name) - 1e-12


@settings(max_examples=25, deadline=None)
@given(items=item_lists, at=st.integers(0, 24), rise=st.floats(0.01, 0.5))
def test_a_higher_score_for_a_yes_never_lowers_the_area_under_the_curve(
    items: list[Item], at: int, rise: float
) -> None:
    at %= len(items)
    scores, labels = [item[3] for item in items], [item[4] for item in items]
    labels[at] = True
    before = area_under_curve(pair_scored(scores, labels)).value
    scores[at] += rise
    after = area_under_curve(pair_scored(scores, labels)).value
    assume(before is not None)
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12


@settings(max_examples=25, deadline=None)
@given(items=item_lists, at=st.integers(0, 24))
def test_a_yes_in_place_of_a_no_lowers_an_isotonic_map_nowhere(items: list[Item], at: int) -> None:
    scores, labels = [item[3] for item in items], [item[4] for item in items]
    labels[at % len(labels)] = False
    before = np.array(fit_isotonic(scores, labels).fitted)
    labels[at % len(labels)] = True
    assert bool(np.all(np.array(fit_isotonic(scores, labels).fitted) >= before - 1e-12))
