import json
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.raters import (
    Distance,
    UnitRatings,
    brennan_prediger,
    conger_kappa,
    fleiss_generalised,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    pairwise_agreement,
    unit_ratings,
    unit_ratings_of_counts,
)
from judges.figures import FLAGS, REASONS, Figure

Rows: TypeAlias = list[list[int | None]]
LABELS = [1, 2, 3, 4]
COSTS = [[0.0, 1.0, 4.0, 6.0], [2.0, 0.0, 1.0, 3.0], [8.0, 2.0, 0.0, 0.5], [8.0, 4.0, 1.5, 0.0]]

FIGURES: dict[str, Callable[[UnitRatings], Figure]] = {
    "pairwise_agreement": pairwise_agreement,
    "ac1": gwet_ac,
    "ac2": lambda ratings: gwet_ac(ratings, weights="quadratic"),
    "ac2_costs": lambda ratings: gwet_ac(ratings, weights=COSTS),
    "brennan_prediger": brennan_prediger,
    "fleiss": fleiss_generalised,
    "fleiss_linear": lambda ratings: fleiss_generalised(ratings, weights="linear"),
    "fleiss_costs": lambda ratings: fleiss_generalised(ratings, weights=COSTS),
    "conger": conger_kappa,
    "nominal": krippendorff_alpha,
    "ordinal": lambda ratings: krippendorff_alpha(ratings, distance="ordinal"),
    "interval": lambda ratings: krippendorff_alpha(ratings, distance="interval"),
    "ratio": lambda ratings: krippendorff_alpha(ratings, distance="ratio"),
}
everything = pytest.mark.parametrize("name", FIGURES)

tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([1, 1, 2, 3, None]), min_size=width, max_size=width), min_size=1, max_size=12
    )
)


def assert_honest(figure: Figure) -> None:
    json.dumps(figure.to_record(), allow_nan=False)
    assert set(figure.flags) <= FLAGS
    assert figure.reason is None or figure.reason in REASONS
    if figure.value is None:
        assert figure.reason is not None
    elif figure.ci_low is None or figure.ci_high is None:
        assert figure.reason in {"too_few", "too_few_clusters", "singular", "many_undefined_resamples"}
    else:
        assert figure.reason is None
        assert figure.ci_low <= figure.value + 1e-12
        assert figure.value <= figure.ci_high + 1e-12
        assert figure.ci_low < figure.ci_high


@everything
@settings(max_examples=15, deadline=None)
@given(rows=tables, data=st.data())
def test_every_figure_holds_its_value_and_is_plain_json(name: str, rows: Rows, data: st.DataObject) -> None:
    size = len(rows)
    clusters = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=size, max_size=size))
    assert_honest(FIGURES[name](unit_ratings(rows, labels=LABELS, clusters=clusters)))


@everything
@settings(max_examples=10, deadline=None)
@given(rows=tables, random=st.randoms())
def test_the_order_of_units_and_raters_does_not_matter(name: str, rows: Rows, random: Random) -> None:
    places = list(range(len(rows[0])))
    random.shuffle(places)
    shuffled = [[row[place] for place in places] for row in rows]
    random.shuffle(shuffled)
    first, second = (FIGURES[name](unit_ratings(each, labels=LABELS)) for each in (rows, shuffled))
    assert (first.n, first.n_dropped, first.reason) == (second.n, second.n_dropped, second.reason)
    assert first.value == (None if second.value is None else pytest.approx(second.value, abs=1e-9))
    assert first.se == (None if second.se is None else pytest.approx(second.se, abs=1e-9))


@everything
@settings(max_examples=10, deadline=None)
@given(rows=tables)
def test_clusters_of_one_unit_are_no_clusters(name: str, rows: Rows) -> None:
    plain = FIGURES[name](unit_ratings(rows, labels=LABELS))
    alone = FIGURES[name](unit_ratings(rows, labels=LABELS, clusters=range(len(rows))))
    assert alone.value == plain.value
    if name != "pairwise_agreement" and plain.se is not None:
        assert alone.se == pytest.approx(plain.se)
    if alone.reason is None and plain.method == alone.method:
        assert [alone.ci_low, alone.ci_high] == pytest.approx([plain.ci_low, plain.ci_high], abs=1e-9)


@everything
def test_without_units_or_pairs_there_is_a_reason(name: str) -> None:
    assert FIGURES[name](unit_ratings([], labels=LABELS)).reason == "no_data"
    assert FIGURES[name](unit_ratings([[None, None]], labels=LABELS)).reason == "no_data"
    assert FIGURES[name](unit_ratings([[1, None], [None, 2]], labels=LABELS)).reason == "no_pairable"


@everything
def test_perfect_agreement_is_exactly_one_with_an_interval_below_it(name: str) -> None:
    figure = FIGURES[name](unit_ratings([[1, 1, 1], [2, 2, 2], [3, 3, None]] * 11, labels=LABELS))
    assert figure.value == 1
    if name == "conger":
        assert figure.reason == "singular"
    else:
        assert figure.ci_low is not None
        assert 0.5 < figure.ci_low < 1
        assert figure.ci_high == 1


def test_one_label_for_all_leaves_chance_undefined_and_gwets_coefficient_at_one() -> None:
    ratings = unit_ratings([[2, 2], [2, 2], [2, None]], labels=LABELS)
    for name in ("fleiss", "conger", "nominal", "ordinal", "interval", "ratio"):
        assert FIGURES[name](ratings).reason == "single_category", name
    assert gwet_ac(ratings).value == 1
    assert brennan_prediger(ratings).value == 1
    one = unit_ratings([[2, 2], [2, 2]], labels=[2])
    for name in ("fleiss", "ac1", "brennan_prediger", "conger", "nominal"):
        assert FIGURES[name](one).reason == "single_category", name


def test_one_cluster_gives_a_value_and_no_interval() -> None:
    ratings = unit_ratings([[1, 2], [2, 2], [1, 1]], labels=LABELS, clusters=["a", "a", "a"])
    for name, figure in ((name, make(ratings)) for name, make in FIGURES.items()):
        assert figure.value is not None, name
        assert figure.reason == "too_few_clusters", name


def test_doubling_every_unit_in_its_cluster_leaves_the_standard_error_as_it_was() -> None:
    generator = np.random.default_rng(1)
    rows = generator.integers(1, 4, (20, 3)).tolist()
    twice = unit_ratings(rows + rows, labels=LABELS, clusters=[*range(20), *range(20)])
    for make in (gwet_ac, brennan_prediger, fleiss_generalised):
        once, clustered = make(unit_ratings(rows, labels=LABELS)), make(twice)
        assert clustered.value == pytest.approx(once.value)
        assert clustered.se == pytest.approx(once.se)
        assert clustered.deff is not None
        assert clustered.deff > 1.9


def test_resamples_of_whole_clusters_give_alpha_a_wider_interval() -> None:
    generator = np.random.default_rng(2)
    rows = np.repeat(generator.integers(1, 4, (25, 2)), 4, axis=0).tolist()
    plain = krippendorff_alpha(unit_ratings(rows, labels=LABELS))
    clustered = krippendorff_alpha(unit_ratings(rows, labels=LABELS, clusters=np.repeat(np.arange(25), 4)))
    assert plain.ci_low is not None
    assert clustered.ci_low is not None
    assert clustered.ci_low < plain.ci_low
    assert clustered.n_clusters == 25
    assert (clustered.seed, clustered.method) == (0, "bca")


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = np.random.default_rng(3).integers(1, 4, (20, 3)).tolist()
    ratings = unit_ratings(rows, labels=LABELS)
    assert krippendorff_alpha(ratings, seed=4) == krippendorff_alpha(ratings, seed=4)
    assert krippendorff_alpha(ratings, seed=4).ci_low != krippendorff_alpha(ratings, seed=5).ci_low


def test_unused_labels_change_gwets_coefficient_and_no_distance_of_alpha() -> None:
    rows = [[1, 2], [2, 2], [3, 3], [1, 1], [3, 2]]
    few, many = unit_ratings(rows, labels=[1, 2, 3]), unit_ratings(rows, labels=[1, 2, 3, 9])
    distances: tuple[Distance, ...] = ("nominal", "ordinal", "interval", "ratio")
    for distance in distances:
        assert krippendorff_alpha(few, distance=distance) == krippendorff_alpha(many, distance=distance)
    assert gwet_ac(few).value != gwet_ac(many).value


def test_labels_of_two_kinds_have_one_kappa_and_the_overall_kappa_is_their_weighted_mean() -> None:
    counts = np.array([[3, 1, 0], [0, 4, 0], [1, 1, 2], [0, 0, 4], [2, 2, 0]])
    found = fleiss_kappa(unit_ratings_of_counts(counts))
    share = counts.sum(axis=0) / counts.sum()
    weights = share * (1 - share)
    values = [each.value for each in found.per_label]
    assert found.kappa.value == pytest.approx(float(np.average(np.array(values, dtype=float), weights=weights)))
    json.dumps(found.to_record(), allow_nan=False)


def test_a_label_nobody_used_has_no_kappa_of_its_own() -> None:
    found = fleiss_kappa(unit_ratings_of_counts([[2, 0, 0], [1, 1, 0], [0, 2, 0]], labels=["a", "b", "c"]))
    assert found.per_label[2].reason == "single_category"
    assert found.kappa.value is not None


def test_complete_disagreement_of_two_raters_is_minus_one_without_an_interval() -> None:
    figure = fleiss_kappa(unit_ratings_of_counts([[1, 1], [1, 1], [1, 1]])).kappa
    assert (figure.value, figure.reason) == (-1, "singular")
    assert "zero_residual_variance" in figure.flags


@pytest.mark.parametrize(
    ("counts", "message"),
    [([[1, -1]], "negative"), ([[1, 0.5]], "whole"), ([1, 2], "one row per unit"), ([()], "one row per unit")],
)
def test_counts_that_count_nothing_are_refused(counts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unit_ratings_of_counts(counts)


def test_wrong_input_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="declare it"):
        unit_ratings([[1, 7]], labels=LABELS)
    with pytest.raises(ValueError, match="None where one is missing"):
        unit_ratings([[1, 2], [1]], labels=LABELS)
    with pytest.raises(ValueError, match="one id per item"):
        unit_ratings([[1, 2]], labels=LABELS, clusters=[1, 2])
    with pytest.raises(ValueError, match="use krippendorff_alpha"):
        fleiss_kappa(unit_ratings([[1, 2], [1, None]], labels=LABELS))
    with pytest.raises(ValueError, match="make the ratings with unit_ratings"):
        conger_kappa(unit_ratings_of_counts([[1, 1]]))
    with pytest.raises(ValueError, match="labels that are numbers"):
        krippendorff_alpha(unit_ratings([["a", "b"]], labels=["a", "b"]), distance="interval")
    with pytest.raises(ValueError, match="not negative"):
        krippendorff_alpha(unit_ratings([[-1, 1]], labels=[-1, 1]), distance="ratio")
    with pytest.raises(ValueError, match="choose nominal"):
        krippendorff_alpha(unit_ratings([[1, 2]], labels=LABELS), distance="cosine")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="choose none"):
        gwet_ac(unit_ratings([[1, 2]], labels=LABELS), weights="cubic")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_interval_of_fleiss_kappa_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(6)
    covered, rounds = 0, 400
    for _ in range(rounds):  # each rater tells the truth with chance 0.8, else guesses: kappa is 0.64
        truth = generator.integers(0, 2, (60, 1))
        rated = np.where(generator.random((60, 3)) < 0.8, truth, generator.integers(0, 2, (60, 3)))
        ones = rated.sum(axis=1)
        figure = fleiss_kappa(unit_ratings_of_counts(np.column_stack([3 - ones, ones]))).kappa
        assert figure.ci_low is not None
        assert figure.ci_high is not None
        covered += figure.ci_low <= 0.64 <= figure.ci_high
    assert 0.91 <= covered / rounds <= 0.98


def test_costs_of_raters_without_a_role_are_the_mean_of_both_directions() -> None:
    ratings = unit_ratings([[1, 2, 2], [4, 4, None], [3, 1, 1], [2, 2, 2], [1, 3, 4]], labels=LABELS)
    costs = np.array(COSTS)
    for statistic in (gwet_ac, brennan_prediger, fleiss_generalised):
        figure = statistic(ratings, weights=costs)
        assert statistic(ratings, weights=costs.T) == figure
        assert figure.value != statistic(ratings, weights=np.triu(costs)).value


def test_costs_by_level_are_the_named_weights() -> None:
    ratings = unit_ratings([[1, 2, 2], [4, 4, None], [3, 1, 1], [2, 2, 2], [1, 3, 4]], labels=LABELS)
    steps = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(np.float64)
    for statistic in (gwet_ac, brennan_prediger, fleiss_generalised):
        assert statistic(ratings, weights=5 * steps) == statistic(ratings, weights="linear")
        assert statistic(ratings, weights=steps**2) == statistic(ratings, weights="quadratic")


def test_a_coefficient_of_costs_may_lie_below_minus_one_and_its_interval_goes_with_it() -> None:
    costs = np.zeros((4, 4))
    costs[0, 3] = 1.0
    figure = fleiss_generalised(unit_ratings([[2, 2]] * 30 + [[1, 4]] * 3, labels=LABELS), weights=costs)
    assert figure.value is not None
    assert figure.ci_low is not None
    assert figure.value < -5
    assert figure.ci_low < figure.value - 1
