import json
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.mapping import assign_folds
from calibration.statistics.threshold import (
    Candidate,
    MinimumCost,
    Rule,
    TargetPrecision,
    Youden,
    choose_threshold,
    cross_fit_threshold,
    sweep,
)

RULES: list[Rule] = [Youden(), MinimumCost(1, 3), TargetPrecision(0.8), TargetPrecision(0.6, level=0.95)]

scores = st.integers(1, 5).map(float) | st.floats(0, 1)
rows = st.lists(st.tuples(scores, st.booleans()), max_size=25)
gaps = st.lists(st.tuples(scores | st.none(), st.booleans() | st.none(), st.integers(0, 5)), min_size=2, max_size=25)


def noisy(n: int, seed: int = 1) -> tuple[list[float], list[bool]]:
    generator = np.random.default_rng(seed)
    labels = generator.random(n) < 0.5
    return (labels + generator.normal(0, 0.8, n)).tolist(), labels.tolist()


@settings(max_examples=60, deadline=None)
@given(items=rows)
def test_a_sweep_counts_what_each_threshold_does(items: list[tuple[float, bool]]) -> None:
    found = sweep([item[0] for item in items], [item[1] for item in items])
    distinct: list[float | None] = [*sorted({item[0] for item in items})]
    assert [each.threshold for each in found] == [*distinct, None]
    for each in found:
        said = [each.threshold is not None and score >= each.threshold for score, _ in items]
        kinds = [(yes, label) for yes, (_, label) in zip(said, items, strict=True)]
        assert (each.tp, each.fp) == (kinds.count((True, True)), kinds.count((True, False)))
        assert (each.fn, each.tn) == (kinds.count((False, True)), kinds.count((False, False)))


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=50, deadline=None)
@given(items=rows, random=st.randoms(use_true_random=False))
def test_the_choice_is_the_best_and_the_highest_of_the_best(
    rule: Rule, items: list[tuple[float, bool]], random: Random
) -> None:
    given_scores, labels = [item[0] for item in items], [item[1] for item in items]
    choice = choose_threshold(given_scores, labels, rule)
    json.dumps(choice.to_record(), allow_nan=False)

    def worth(each: Candidate) -> float | None:
        match rule:
            case Youden():
                return each.youden
            case MinimumCost():
                cost = each.cost(rule)
                return None if cost is None else -cost
            case _:
                reached = each.precision if rule.level is None else each.precision_lower(level=rule.level)
                return float(each.tp) if reached is not None and reached >= rule.target else None

    worths = [(worth(each), each) for each in sweep(given_scores, labels)]
    best = max((value for value, _ in worths if value is not None), default=None)
    if best is None:
        assert choice.threshold is None
        assert choice.reason in {"no_data", "no_positive_gold", "no_negative_gold", "no_threshold"}
    else:
        assert choice.reason is None
        tied = [each for value, each in worths if value is not None and value == pytest.approx(best, abs=1e-9)]
        assert choice.at == tied[-1]
        assert choice.threshold == tied[-1].threshold
    mixed = list(items)
    random.shuffle(mixed)
    assert choose_threshold([item[0] for item in mixed], [item[1] for item in mixed], rule) == choice


def test_saying_no_to_everything_may_be_best() -> None:
    choice = choose_threshold([1, 2, 3, 4], [1, 0, 0, 0], MinimumCost(5, 1))
    assert (choice.threshold, choice.reason, choice.value) == (None, None, 0.25)
    upside_down = choose_threshold([1, 2, 3, 4], [1, 1, 0, 0], Youden())
    assert (upside_down.threshold, upside_down.reason, upside_down.value) == (None, None, 0.0)


def test_a_target_that_nothing_reaches_gives_no_threshold_and_the_reason() -> None:
    choice = choose_threshold([1, 2, 3], [0, 1, 0], TargetPrecision(0.9))
    assert (choice.threshold, choice.value, choice.reason) == (None, None, "no_threshold")
    assert choose_threshold([1, 2], [0, 0], Youden()).reason == "no_positive_gold"
    assert choose_threshold([1, 2], [1, 1], Youden()).reason == "no_negative_gold"
    assert choose_threshold([], [], MinimumCost(1, 1)).reason == "no_data"


def test_the_lower_bound_asks_for_more_than_the_point() -> None:
    places, labels = noisy(400)
    point = choose_threshold(places, labels, TargetPrecision(0.8))
    bound = choose_threshold(places, labels, TargetPrecision(0.8, level=0.95))
    assert point.threshold is not None
    assert bound.threshold is not None
    assert bound.threshold > point.threshold
    assert bound.at.precision is not None
    assert bound.value is not None
    assert 0.8 <= bound.value < bound.at.precision


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=40, deadline=None)
@given(items=gaps)
def test_cross_fitting_is_json_and_its_intervals_contain_their_values(
    rule: Rule, items: list[tuple[float | None, bool | None, int]]
) -> None:
    folds, clusters = [row[2] % 2 for row in items], [row[2] for row in items]
    kept = {fold for fold, row in zip(folds, items, strict=True) if row[0] is not None and row[1] is not None}
    if len(kept) == 1:
        return
    for ids in (None, clusters):
        result = cross_fit_threshold(
            [row[0] for row in items], [row[1] for row in items], rule, folds=folds, clusters=ids
        )
        json.dumps(result.to_record(), allow_nan=False)
        assert [each is None for each in result.decisions] == [row[0] is None or row[1] is None for row in items]
        for figure in (result.value, result.accuracy):
            assert figure.n_dropped == sum(each is None for each in result.decisions)
            if figure.value is not None and figure.ci_low is not None and figure.ci_high is not None:
                assert figure.ci_low <= figure.value <= figure.ci_high


def test_rare_classes_and_many_missing_items_are_flagged() -> None:
    scores, few, many = ([at / 80 for at in range(80)], *([at >= first for at in range(80)] for first in (74, 40)))
    folds = [at % 2 for at in range(80)]
    assert "rare_class" in cross_fit_threshold(scores, few, Youden(), folds=folds).value.flags
    assert cross_fit_threshold(scores, many, Youden(), folds=folds).value.flags == ()
    missing = [None if at % 10 == 0 else score for at, score in enumerate(scores)]
    for rule in RULES:
        found = cross_fit_threshold(missing, many, rule, folds=folds)
        assert "high_drop" in found.value.flags
        assert "high_drop" in found.accuracy.flags


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_decisions_are_made_by_thresholds_that_never_saw_the_fold(rule: Rule) -> None:
    places, labels = noisy(60)
    folds = assign_folds(60, folds=3)
    result = cross_fit_threshold(places, labels, rule, folds=folds)
    order = list(dict.fromkeys(folds.tolist()))
    for fold, choice in zip(order, result.fold_choices, strict=True):
        outside = np.flatnonzero(folds != fold)
        assert choice == choose_threshold([places[at] for at in outside], [labels[at] for at in outside], rule)
        for at in np.flatnonzero(folds == fold):
            assert result.decisions[at] == (choice.threshold is not None and places[at] >= choice.threshold)


@pytest.mark.parametrize("rule", RULES[:2], ids=str)
def test_a_search_among_scores_that_mean_nothing_is_optimistic(rule: Rule) -> None:
    found: list[float] = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        places, labels = generator.random(60).tolist(), generator.integers(0, 2, 60)
        found.append(cross_fit_threshold(places, labels, rule, folds=assign_folds(60)).optimism or 0.0)
    assert np.mean(found) > 0.02


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_clusters_of_one_item_are_hardly_different_from_none(rule: Rule) -> None:
    places, labels = noisy(300)
    folds = assign_folds(300)
    alone, clustered = (
        cross_fit_threshold(places, labels, rule, folds=folds, clusters=clusters) for clusters in (None, range(300))
    )
    for first, second in ((alone.value, clustered.value), (alone.accuracy, clustered.accuracy)):
        assert second.value == pytest.approx(first.value)
        assert second.ci_low == pytest.approx(first.ci_low, abs=0.02)
        assert second.ci_high == pytest.approx(first.ci_high, abs=0.02)


@pytest.mark.parametrize("rule", RULES[:3], ids=str)
def test_copies_in_one_cluster_tell_no_more_than_one(rule: Rule) -> None:
    places, labels = noisy(200)
    folds = assign_folds(200).tolist()
    once = cross_fit_threshold(places, labels, rule, folds=folds, clusters=range(200))
    copied = cross_fit_threshold(places * 3, labels * 3, rule, folds=folds * 3, clusters=list(range(200)) * 3)
    assert once.value.ci_low is not None
    assert copied.value.n == 3 * once.value.n
    assert copied.value.ci_low == pytest.approx(once.value.ci_low, abs=0.02)


def test_a_fold_whose_others_give_no_threshold_is_decided_no() -> None:
    result = cross_fit_threshold([1, 2, 3, 4], [0, 0, 1, 1], TargetPrecision(0.9), folds=[0, 0, 1, 1])
    assert [choice.reason for choice in result.fold_choices] == [None, "no_threshold"]
    assert result.decisions == (False, False, False, False)
    assert (result.value.reason, result.optimism) == ("no_positive_pred", None)


def test_wrong_input_is_refused_with_its_remedy() -> None:
    with pytest.raises(ValueError, match="split by cluster"):
        cross_fit_threshold([1, 2, 3], [0, 1, 1], Youden(), folds=[0, 1, 1], clusters=["a", "a", "b"])
    with pytest.raises(ValueError, match="use at least two"):
        cross_fit_threshold([1, 2], [0, 1], Youden(), folds=[0, 0])
    with pytest.raises(ValueError, match="some label is not 0 or 1"):
        sweep([1, 2], [0, 2])
    with pytest.raises(ValueError, match="give None where it is missing"):
        sweep([1, float("nan")], [0, 1])
    with pytest.raises(ValueError, match="1 scores and 2 labels"):
        sweep([1], [0, 1])
    with pytest.raises(ValueError, match="give finite numbers, 0 or more"):
        MinimumCost(-1, 1)
    with pytest.raises(ValueError, match="above 0, at most 1"):
        TargetPrecision(1.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        TargetPrecision(0.5, level=1.0)
