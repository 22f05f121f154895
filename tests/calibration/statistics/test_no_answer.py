from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.statistics.no_answer import Costs, Operation, Queries, choose, cross_fit, sweep, threshold_figure
from support.sound import check_sound

SCORES = st.none() | st.sampled_from([0.0, 0.1, 0.5, 0.9, 7.0])
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.booleans()), max_size=25)
COSTS = st.builds(Costs, *[st.sampled_from([0.0, 0.5, 1.0, 4.0])] * 3)


def queries(rows: list[tuple[float | None, bool, bool]]) -> Queries:
    return Queries.of([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def operate(rows: list[tuple[float | None, bool, bool]], threshold: float | None) -> Operation:
    """What a threshold does, counted one by one."""
    found = Operation(threshold, 0, 0, 0, 0, 0)
    for score, answerable, correct in rows:
        accepted = threshold is not None and score is not None and score >= threshold
        match accepted, answerable, correct:
            case True, False, _:
                found = replace(found, false_accept=found.false_accept + 1)
            case False, True, _:
                found = replace(found, false_reject=found.false_reject + 1)
            case False, False, _:
                found = replace(found, unanswerable_rejected=found.unanswerable_rejected + 1)
            case True, True, False:
                found = replace(found, accepted_wrong=found.accepted_wrong + 1)
            case _:
                found = replace(found, accepted_correct=found.accepted_correct + 1)
    return found


@given(ROWS)
def test_the_sweep_counts_what_each_threshold_does(rows: list[tuple[float | None, bool, bool]]) -> None:
    candidates = [*sorted({row[0] for row in rows if row[0] is not None}), None]
    assert list(sweep(queries(rows))) == [operate(rows, threshold) for threshold in candidates]


@given(ROWS, COSTS)
def test_the_choice_is_the_cheapest_and_of_equals_the_highest(
    rows: list[tuple[float | None, bool, bool]], costs: Costs
) -> None:
    chosen, candidates = choose(queries(rows), costs), sweep(queries(rows))
    values = [each.cost(costs) or 0.0 for each in candidates]
    at = candidates.index(chosen)
    assert values[at] == pytest.approx(min(values), abs=1e-9)
    assert all(value > values[at] + 1e-12 for value in values[at + 1 :])


@given(ROWS, st.floats(0.1, 50), st.floats(-50, 50))
def test_the_scale_of_scores_does_not_matter(
    rows: list[tuple[float | None, bool, bool]], scale: float, shift: float
) -> None:
    moved = [(None if score is None else scale * score + shift, *rest) for score, *rest in rows]
    first, other = sweep(queries(rows)), sweep(Queries.of(*zip(*moved, strict=True)) if moved else queries([]))
    assert [replace(each, threshold=None) for each in other] == [replace(each, threshold=None) for each in first]


def test_what_retrieved_nothing_is_rejected_at_any_threshold() -> None:
    for each in sweep(Queries.of([None, 0.5], [True, True])):
        assert each.false_reject >= 1


@given(ROWS.filter(lambda rows: len(rows) >= 2), COSTS, st.integers(0, 5))
def test_held_out_figures_are_those_of_thresholds_chosen_on_the_other_folds(
    rows: list[tuple[float | None, bool, bool]], costs: Costs, seed: int
) -> None:
    folds = np.random.default_rng(seed).permutation(len(rows)) % 2
    found = cross_fit(queries(rows), costs, folds=folds)
    total, accepted = 0.0, 0
    for place, fold in enumerate(dict.fromkeys(folds.tolist())):
        others = [row for row, own in zip(rows, folds, strict=True) if own != fold]
        threshold = choose(queries(others), costs).threshold
        assert found.fold_thresholds[place] == threshold
        held_out = operate([row for row, own in zip(rows, folds, strict=True) if own == fold], threshold)
        total += (held_out.cost(costs) or 0.0) * (held_out.accepted + held_out.rejected)
        accepted += held_out.accepted
    assert found.held_out.cost.value == pytest.approx(total / len(rows))
    assert found.held_out.precision.n == accepted
    check_sound(found.held_out)


def test_the_threshold_has_a_bootstrap_interval_that_holds_it() -> None:
    generator = np.random.default_rng(1)
    scores = np.concatenate([generator.normal(0.7, 0.1, 60), generator.normal(0.4, 0.1, 40)])
    found = threshold_figure(Queries.of(scores, [1] * 60 + [0] * 40), Costs())
    assert found.value is not None
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert 0.4 < found.ci_low < found.value < found.ci_high < 0.7
    assert (found.n, found.method) == (100, "percentile")


def test_copies_of_a_query_in_one_cluster_add_nothing_to_what_is_known() -> None:
    generator = np.random.default_rng(2)
    scores = np.concatenate([generator.normal(0.7, 0.1, 20), generator.normal(0.5, 0.1, 20)])
    answerable = np.repeat([True, False], 20)
    once = threshold_figure(Queries.of(scores, answerable), Costs(), clusters=range(40))
    copied = Queries.of(np.repeat(scores, 4), np.repeat(answerable, 4))
    clustered = threshold_figure(copied, Costs(), clusters=np.repeat(np.arange(40), 4))
    assert (clustered.value, clustered.ci_low, clustered.ci_high) == (once.value, once.ci_low, once.ci_high)
    assert (clustered.n, clustered.n_clusters) == (160, 40)
    few = threshold_figure(copied, Costs(), clusters=np.repeat(np.arange(8), 20))
    assert (few.value, few.ci_low, few.reason) == (once.value, None, "too_few_clusters")


def test_no_cluster_may_lie_in_two_folds() -> None:
    queries = Queries.of([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 0])
    with pytest.raises(ValueError, match="some cluster lies in two folds"):
        cross_fit(queries, Costs(), folds=[0, 0, 1, 1], clusters=["a", "b", "b", "c"])
    found = cross_fit(queries, Costs(), folds=[0, 0, 1, 1], clusters=["a", "a", "b", "b"])
    assert found.held_out.cost.n_clusters == 2


def test_where_rejecting_everything_is_cheapest_there_is_no_threshold() -> None:
    found = threshold_figure(Queries.of([0.1, 0.9], [True, False]), Costs(false_accept=9))
    assert (found.value, found.reason) == (None, "no_threshold")


@pytest.mark.parametrize(
    ("answerable", "reason"), [([], "no_data"), ([True], "no_negative_gold"), ([False], "no_positive_gold")]
)
def test_without_queries_of_both_kinds_there_is_no_threshold(answerable: list[bool], reason: str) -> None:
    assert threshold_figure(Queries.of([0.5] * len(answerable), answerable), Costs()).reason == reason


@pytest.mark.parametrize(
    ("scores", "answerable", "correct"),
    [
        ([float("nan")], [1], None),
        ([float("inf")], [1], None),
        ([0.5], [2], None),
        ([0.5], [1, 0], None),
        ([0.5], [1], []),
    ],
)
def test_what_is_no_query_is_an_error(scores: list[float], answerable: list[int], correct: list[int] | None) -> None:
    with pytest.raises(ValueError, match="give"):
        Queries.of(scores, answerable, correct)


def test_costs_are_numbers_from_0_and_queries_need_two_folds() -> None:
    with pytest.raises(ValueError, match="give finite costs, 0 or more"):
        Costs(false_accept=-1)
    with pytest.raises(ValueError, match="all queries lie in one fold"):
        cross_fit(Queries.of([0.1, 0.2], [1, 0]), Costs(), folds=[0, 0])
