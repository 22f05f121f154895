import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.cuts import best_cut, cut_interval, decide_out_of_fold, folds_of, kappa_by_cut
from calibration.statistics.agreement import cohen_kappa

ITEMS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40)


@given(ITEMS)
def test_each_cut_has_the_kappa_of_its_verdicts(items: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in items], dtype=np.float64)
    good = np.array([label for _, label in items])
    cuts, kappas = kappa_by_cut(scores, good)
    for cut, kappa in zip(cuts.tolist(), kappas.tolist(), strict=True):
        own = cohen_kappa(good.tolist(), (scores >= cut).tolist(), labels=(False, True)).value
        assert kappa == pytest.approx(0.0 if own is None else own, abs=1e-12)


@given(ITEMS)
def test_no_cut_is_better_than_the_best_and_below_chance_nothing_passes(items: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in items], dtype=np.float64)
    good = np.array([label for _, label in items])
    cut = best_cut(scores, good)
    assert cut.kappa == pytest.approx(max(0.0, float(kappa_by_cut(scores, good)[1].max())))
    assert (cut.at is None) == (cut.kappa == 0)


def test_scores_that_run_the_other_way_are_cut_the_other_way() -> None:
    scores, good = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False])
    assert best_cut(scores, good).at is None
    cut = best_cut(scores, good, either_way=True)
    assert (cut.at, cut.rising, cut.kappa) == (2.0, False, 1.0)
    assert cut.passes(scores).tolist() == good.tolist()


def test_what_is_decided_out_of_fold_knows_nothing_of_the_fold() -> None:
    rng = np.random.default_rng(0)
    scores, good = rng.random(2000), rng.random(2000) < 0.5
    folds = folds_of(2000, None)
    assert folds is not None
    decided = decide_out_of_fold(scores, good, folds)
    own = cohen_kappa(good.tolist(), decided.tolist(), labels=(False, True))
    assert own.value is not None
    assert abs(own.value) < 0.06
    flipped = good.copy()
    flipped[folds == 0] = ~good[folds == 0]
    assert (decide_out_of_fold(scores, flipped, folds) == decided)[folds == 0].all()


def test_groups_stay_in_one_fold_and_too_few_of_them_have_none() -> None:
    groups = [place // 3 for place in range(60)]
    folds = folds_of(60, groups)
    assert folds is not None
    assert all(len(set(folds[3 * group : 3 * group + 3].tolist())) == 1 for group in range(20))
    assert folds_of(9, None) is None
    assert folds_of(60, [place // 10 for place in range(60)]) is None


def test_the_interval_of_a_cut_narrows_with_the_items_and_widens_with_groups() -> None:
    rng = np.random.default_rng(1)

    def width(n: int, groups: int | None = None) -> float:
        good = rng.random(n) < 0.5
        scores = np.clip(rng.normal(np.where(good, 0.65, 0.35), 0.15), 0, 1)
        ids = None
        if groups is not None:
            good, scores = np.repeat(good[:groups], n // groups), np.repeat(scores[:groups], n // groups)
            ids = np.repeat(np.arange(groups), n // groups)
        cut = best_cut(scores, good).at
        assert cut is not None
        figure = cut_interval(scores, good, cut, ids)
        assert figure.ci_low is not None
        assert figure.ci_high is not None
        assert figure.ci_low <= cut <= figure.ci_high
        return figure.ci_high - figure.ci_low

    assert width(4000) < width(100)
    assert width(4000) < width(4000, groups=40)
