"""Coefficients for many raters, adjusted p values and intraclass correlation against statsmodels."""

import warnings
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.ceiling import human_ceiling
from calibration.statistics.intraclass import intraclass_correlation
from calibration.statistics.multiplicity import benjamini_hochberg, benjamini_yekutieli, bonferroni, holm
from calibration.statistics.raters import fleiss_kappa, krippendorff_alpha, unit_ratings, unit_ratings_of_counts
from calibration.statistics.repeats import repeat_stability

# loaded by name: these libraries have no complete types
sk = import_module("sklearn.metrics")
sm_raters = import_module("statsmodels.stats.inter_rater")
sm_tests = import_module("statsmodels.stats.multitest")
sm_formula = import_module("statsmodels.formula.api")
sm_anova = import_module("statsmodels.stats.anova")
pandas = import_module("pandas")

units = st.tuples(st.integers(2, 5), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, shape[1] - 1), min_size=shape[0], max_size=shape[0]), min_size=1, max_size=25
    )
)


@settings(max_examples=60, deadline=None)
@given(rows=units)
def test_fleiss_kappa_agrees_with_statsmodels_where_it_is_defined(rows: list[list[int]]) -> None:
    ratings = unit_ratings(rows, labels=[0, 1, 2, 3])
    figure = fleiss_kappa(ratings).kappa
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides 0 by 0
        theirs = float(sm_raters.fleiss_kappa(ratings.counts, method="fleiss"))
    assert (figure.value is None) == bool(np.isnan(theirs))
    if figure.value is not None:
        assert figure.value == pytest.approx(theirs, abs=1e-9)
        stable = repeat_stability(rows, labels=[0, 1, 2, 3])
        assert stable.kappa.value == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows=units)
def test_alpha_of_complete_nominal_ratings_is_fleiss_kappa_corrected_for_the_sample(rows: list[list[int]]) -> None:
    ratings = unit_ratings_of_counts(unit_ratings(rows, labels=[0, 1, 2, 3]).counts)
    kappa, alpha = fleiss_kappa(ratings).kappa.value, krippendorff_alpha(ratings).value
    if kappa is not None:
        size = int(ratings.counts.sum())
        assert alpha == pytest.approx(1 - (1 - kappa) * (size - 1) / size)


@settings(max_examples=60, deadline=None)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_p_values_agree_with_statsmodels(p: list[float]) -> None:
    for ours, theirs in (
        (bonferroni, "bonferroni"),
        (holm, "holm"),
        (benjamini_hochberg, "fdr_bh"),
        (benjamini_yekutieli, "fdr_by"),
    ):
        assert ours(p) == pytest.approx(sm_tests.multipletests(p, method=theirs)[1].tolist(), abs=1e-12)


def test_mean_squares_are_those_of_an_analysis_of_variance() -> None:
    generator = np.random.default_rng(3)
    scores = generator.normal(size=(14, 4)) + generator.normal(size=(14, 1)) + np.arange(4)
    found = intraclass_correlation(scores)
    subject, rater = np.indices(scores.shape)
    frame = pandas.DataFrame({"score": scores.ravel(), "subject": subject.ravel(), "rater": rater.ravel()})
    table = sm_anova.anova_lm(sm_formula.ols("score ~ C(subject) + C(rater)", frame).fit())
    theirs = (table["sum_sq"] / table["df"]).tolist()
    assert [found.ms_between, found.ms_raters, found.ms_error] == pytest.approx(theirs)


def test_the_kappas_beside_the_ceiling_are_means_of_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 3, 80)
    people = np.where(generator.random((80, 3)) < 0.7, truth[:, None], generator.integers(0, 3, (80, 3)))
    judge = np.where(generator.random(80) < 0.6, truth, generator.integers(0, 3, 80))
    found = human_ceiling(people, judge, labels=[0, 1, 2])
    pairs = [(0, 1), (0, 2), (1, 2)]
    among = np.mean([sk.cohen_kappa_score(people[:, a], people[:, b]) for a, b in pairs])
    with_judge = np.mean([sk.cohen_kappa_score(people[:, a], judge) for a in range(3)])
    assert found.human_kappa.value == pytest.approx(float(among))
    assert found.judge_kappa.value == pytest.approx(float(with_judge))
