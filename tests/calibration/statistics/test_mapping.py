import json
from collections.abc import Callable
from random import Random
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.mapping import (
    IsotonicMap,
    MapKind,
    PlattMap,
    ScoreMap,
    assign_folds,
    cross_fit,
    fit_isotonic,
    fit_platt,
    map_from_record,
)

FITS: dict[MapKind, Callable[[list[float], list[bool]], ScoreMap]] = {"platt": fit_platt, "isotonic": fit_isotonic}
KINDS: list[MapKind] = ["platt", "isotonic"]

scores = st.integers(1, 5).map(float) | st.floats(-1e3, 1e3)
rows = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=25)


def fit(kind: MapKind, items: list[tuple[float, bool]]) -> ScoreMap:
    return FITS[kind]([item[0] for item in items], [item[1] for item in items])


def noisy(n: int, seed: int = 1) -> tuple[list[float], list[bool]]:
    generator = np.random.default_rng(seed)
    places = generator.normal(0, 1, n)
    return places.tolist(), (generator.random(n) < 1 / (1 + np.exp(-2 * places))).tolist()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(items=rows)
def test_a_map_gives_probabilities_and_survives_being_saved(kind: MapKind, items: list[tuple[float, bool]]) -> None:
    fitted = fit(kind, items)
    found = fitted.apply([-1e4, *(item[0] for item in items), 1e4])
    assert bool(np.all((found >= 0) & (found <= 1)))
    saved = cast("dict[str, object]", json.loads(json.dumps(fitted.to_record(), allow_nan=False)))
    assert map_from_record(saved) == fitted


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(items=rows, random=st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(kind: MapKind, items: list[tuple[float, bool]], random: Random) -> None:
    mixed = list(items)
    random.shuffle(mixed)
    at = [item[0] for item in items]
    assert fit(kind, mixed).apply(at) == pytest.approx(fit(kind, items).apply(at), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(items=rows)
def test_an_isotonic_map_never_falls_and_keeps_the_mean(items: list[tuple[float, bool]]) -> None:
    found = fit_isotonic([item[0] for item in items], [item[1] for item in items])
    fitted = found.apply([item[0] for item in items])
    assert float(fitted.mean()) == pytest.approx(float(np.mean([item[1] for item in items])))
    assert bool(np.all(np.diff(found.apply(np.linspace(-1e3, 1e3, 50))) >= 0))


@settings(max_examples=60, deadline=None)
@given(items=rows)
def test_a_platt_map_meets_its_targets_on_average(items: list[tuple[float, bool]]) -> None:
    """At the maximum the gradient by b is 0: mean probability and mean target are equal."""
    yes = sum(label for _, label in items)
    no = len(items) - yes
    mean_target = (yes * (yes + 1) / (yes + 2) + no / (no + 2)) / len(items)
    assert float(fit("platt", items).apply([item[0] for item in items]).mean()) == pytest.approx(mean_target, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_scores_does_not_matter_to_a_platt_map(scale: float) -> None:
    places, labels = noisy(200)
    plain, scaled = fit_platt(places, labels), fit_platt([scale * place + 3 * scale for place in places], labels)
    assert scaled.a * scale == pytest.approx(plain.a)
    assert scaled.b == pytest.approx(plain.b - 3 * plain.a)


def test_separable_scores_constant_scores_and_one_class_have_a_finite_platt_map() -> None:
    assert fit_platt([1, 2, 3, 4], [0, 0, 1, 1]).a < 0
    constant = fit_platt([2, 2, 2], [1, 1, 0])
    assert constant.a == 0
    assert constant.apply([7]) == pytest.approx((2 * 3 / 4 + 1 / 3) / 3)
    assert fit_platt([1, 2, 3], [1, 1, 1]).apply([1, 2, 3]) == pytest.approx(4 / 5)


def test_items_with_a_gap_are_left_out() -> None:
    assert fit_platt([1, None, 3, 2, 4], [0, 1, 1, 0, None]) == fit_platt([1, 3, 2], [0, 1, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_cross_fitting_gives_each_item_a_probability_by_a_map_of_the_other_folds(kind: MapKind) -> None:
    places, labels = noisy(60)
    folds = assign_folds(60, folds=3, seed=2)
    result = cross_fit(places, labels, kind=kind, folds=folds)
    assert result.map == FITS[kind](places, labels)
    for fold in range(3):
        inside = np.flatnonzero(folds == fold)
        outside = np.flatnonzero(folds != fold)
        other = FITS[kind]([places[at] for at in outside], [labels[at] for at in outside])
        assert [result.probabilities[at] for at in inside] == pytest.approx(
            other.apply([places[at] for at in inside]).tolist()
        )
    json.dumps(result.to_record(), allow_nan=False)


def test_cross_fitting_keeps_the_place_of_items_with_a_gap() -> None:
    result = cross_fit([1, None, 3, 2, 5], [0, 1, 1, 1, None], kind="platt", folds=["a", "a", "b", "a", "b"])
    assert [each is None for each in result.probabilities] == [False, True, False, False, True]
    assert (result.n, result.n_dropped) == (3, 2)


def test_what_isotonic_maps_gain_on_their_own_items_is_lost_on_others() -> None:
    """Labels that have nothing to do with the scores: fitted scores look better than chance, cross-fitted don't."""
    generator = np.random.default_rng(3)
    places, labels = generator.random(200).tolist(), generator.integers(0, 2, 200)
    result = cross_fit(places, labels, kind="isotonic", folds=assign_folds(200))
    apparent = float(np.mean((result.map.apply(places) - labels) ** 2))
    honest = float(np.mean((np.array(result.probabilities, dtype=np.float64) - labels) ** 2))
    chance = float(np.var(labels))
    assert apparent < chance < honest


@settings(max_examples=40, deadline=None)
@given(clusters=st.lists(st.integers(0, 12), min_size=1, max_size=40), data=st.data())
def test_folds_are_even_and_split_no_cluster(clusters: list[int], data: st.DataObject) -> None:
    count = len(set(clusters))
    if count < 2:
        return
    folds = data.draw(st.integers(2, count))
    found = assign_folds(len(clusters), clusters=clusters, folds=folds)
    by_cluster = {(cluster, int(fold)) for cluster, fold in zip(clusters, found, strict=True)}
    assert len(by_cluster) == count
    sizes = [sum(fold == each for _, fold in by_cluster) for each in range(folds)]
    assert max(sizes) - min(sizes) <= 1


def test_one_seed_gives_one_split() -> None:
    assert assign_folds(50, seed=4).tolist() == assign_folds(50, seed=4).tolist()
    assert assign_folds(50, seed=4).tolist() != assign_folds(50, seed=5).tolist()


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "spline"},
        {"kind": "platt", "a": 1.0},
        {"kind": "platt", "a": "1", "b": 0},
        {"kind": "platt", "a": float("nan"), "b": 0.0},
        {"kind": "isotonic", "knots": [1.0]},
        {"kind": "isotonic", "knots": [1.0, 1.0], "fitted": [0.1, 0.2]},
        {"kind": "isotonic", "knots": [1.0, 2.0], "fitted": [0.3, 0.2]},
        {"kind": "isotonic", "knots": [1.0, 2.0], "fitted": [0.3, 1.2]},
        {"kind": "isotonic", "knots": [1.0, "2"], "fitted": [0.3, 0.4]},
        {"kind": "isotonic", "knots": [], "fitted": []},
    ],
)
def test_a_record_that_is_no_map_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"map"):
        map_from_record(record)


def test_wrong_input_is_refused_with_its_remedy() -> None:
    with pytest.raises(ValueError, match="nothing to fit a map to"):
        fit_isotonic([None], [1])
    with pytest.raises(ValueError, match="2 scores and 1 labels"):
        fit_platt([1, 2], [1])
    with pytest.raises(ValueError, match="some label is not 0 or 1"):
        fit_platt([1, 2], [1, 3])
    with pytest.raises(ValueError, match="give None where it is missing"):
        fit_platt([1, float("inf")], [1, 0])
    with pytest.raises(ValueError, match="leave such items out"):
        PlattMap(-1.0, 0.0).apply([float("nan")])
    with pytest.raises(ValueError, match="leave such items out"):
        IsotonicMap((1.0,), (0.5,)).apply([float("inf")])
    with pytest.raises(ValueError, match="split by cluster"):
        cross_fit([1, 2, 3], [0, 1, 1], kind="platt", folds=[0, 1, 1], clusters=["a", "a", "b"])
    with pytest.raises(ValueError, match="use at least two"):
        cross_fit([1, 2, 3], [0, 1, 1], kind="platt", folds=[0, 0, 0])
    with pytest.raises(ValueError, match="choose one of"):
        cross_fit([1, 2], [0, 1], kind=cast("MapKind", "spline"), folds=[0, 1])
    with pytest.raises(ValueError, match="5 folds for 3 items"):
        assign_folds(3)
