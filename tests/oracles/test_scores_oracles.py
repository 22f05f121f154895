"""Scores, reliability, maps and certificates against scipy, scikit-learn and statsmodels."""

import warnings
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.mapping import fit_isotonic, fit_platt
from calibration.statistics.reliability import area_under_curve, brier, calibration_line, pair_scored, reliability_table
from calibration.statistics.scores import (
    bland_altman,
    kendall,
    mean_absolute_error,
    pair_scores,
    pearson,
    root_mean_squared_error,
    spearman,
)
from calibration.statistics.selective import certify_threshold, error_upper_bound
from calibration.statistics.threshold import sweep

# loaded by name: these libraries have no complete types
sk = import_module("sklearn.metrics")
sk_isotonic = import_module("sklearn.isotonic")
sk_calibration = import_module("sklearn.calibration")
sm = import_module("statsmodels.api")
stats = import_module("scipy.stats")

Array = NDArray[np.float64]

values = st.integers(1, 5).map(float) | st.floats(-100, 100).map(lambda each: round(each, 3))
pairs_of_scores = st.lists(st.tuples(values, values), min_size=5, max_size=40)
chances = st.integers(1, 99).map(lambda each: each / 100)
scored = st.lists(st.tuples(chances, st.booleans()), min_size=4, max_size=40)


def columns(rows: list[tuple[float, float]]) -> tuple[Array, Array]:
    human, judge = np.array(rows, dtype=np.float64).T
    return human, judge


def both_classes(rows: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    scores, labels = [row[0] for row in rows], [row[1] for row in rows]
    assume(len(set(labels)) == 2)
    return scores, labels


@settings(max_examples=100, deadline=None)
@given(rows=pairs_of_scores)
def test_correlations_agree_with_scipy(rows: list[tuple[float, float]]) -> None:
    human, judge = columns(rows)
    pairs = pair_scores(human, judge)
    theirs = {pearson: stats.pearsonr, spearman: stats.spearmanr, kendall: stats.kendalltau}
    for ours, function in theirs.items():
        figure = ours(pairs)
        if np.ptp(human) == 0 or np.ptp(judge) == 0:
            assert figure.reason == "constant_input"
        else:
            assert figure.value == pytest.approx(function(human, judge).statistic, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows=pairs_of_scores, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_fisher_s_interval_agrees_with_scipy(rows: list[tuple[float, float]], level: float) -> None:
    human, judge = columns(rows)
    figure = pearson(pair_scores(human, judge), level=level)
    assume(figure.ci_low is not None)
    theirs = stats.pearsonr(human, judge).confidence_interval(level)
    assert (figure.ci_low, figure.ci_high) == pytest.approx(tuple(theirs), abs=1e-9)


def test_kendall_of_a_hundred_thousand_likert_items_agrees_with_scipy() -> None:
    generator = np.random.default_rng(2)
    human = generator.integers(1, 6, 100_000)
    judge = human + generator.integers(-1, 2, 100_000)
    assert kendall(pair_scores(human, judge)).value == pytest.approx(stats.kendalltau(human, judge).statistic)
    continuous = human + generator.normal(0, 1, 100_000)
    assert kendall(pair_scores(human, continuous)).value == pytest.approx(stats.kendalltau(human, continuous).statistic)


@settings(max_examples=60, deadline=None)
@given(rows=pairs_of_scores)
def test_errors_and_bias_agree_with_scikit_learn_scipy_and_statsmodels(rows: list[tuple[float, float]]) -> None:
    human, judge = columns(rows)
    pairs, differences = pair_scores(human, judge), judge - human
    assert mean_absolute_error(pairs).value == pytest.approx(sk.mean_absolute_error(human, judge))
    assert root_mean_squared_error(pairs).value == pytest.approx(sk.root_mean_squared_error(human, judge))
    result = bland_altman(pairs)
    assume(float(np.ptp(differences)) > 0.01)
    theirs = stats.ttest_1samp(differences, 0)
    assert result.test.p_value == pytest.approx(theirs.pvalue, abs=1e-9)
    assert (result.bias.ci_low, result.bias.ci_high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    means = (human + judge) / 2
    if float(np.ptp(means)) > 0.01 and result.slope.se:
        line = sm.OLS(differences, sm.add_constant(means)).fit()
        assert result.slope.value == pytest.approx(line.params[1], abs=1e-7)
        assert result.slope.se == pytest.approx(line.bse[1], abs=1e-7)


def test_the_slope_by_cluster_has_the_sandwich_error_of_statsmodels() -> None:
    generator = np.random.default_rng(4)
    human, clusters = generator.normal(3, 1, 150), generator.integers(0, 25, 150)
    judge = human + generator.normal(0, 1, 25)[clusters] + generator.normal(0, 0.5, 150)
    result = bland_altman(pair_scores(human, judge, clusters=clusters))
    correct = np.sqrt(25 / 24)
    options = {"groups": clusters, "use_correction": False}
    line = sm.OLS(judge - human, sm.add_constant((human + judge) / 2)).fit(cov_type="cluster", cov_kwds=options)
    assert result.slope.se == pytest.approx(line.bse[1] * correct)
    mean = sm.OLS(judge - human, np.ones(150)).fit(cov_type="cluster", cov_kwds=options)
    assert result.bias.se == pytest.approx(mean.bse[0] * correct)


@settings(max_examples=80, deadline=None)
@given(rows=scored)
def test_the_area_and_the_brier_score_agree_with_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    scores, labels = both_classes(rows)
    items = pair_scored(scores, labels)
    assert area_under_curve(items).value == pytest.approx(sk.roc_auc_score(labels, scores))
    parts = brier(items)
    assert parts.score.value == pytest.approx(sk.brier_score_loss(labels, scores))


@settings(max_examples=80, deadline=None)
@given(rows=scored)
def test_delong_s_variance_is_that_of_his_components(rows: list[tuple[float, bool]]) -> None:
    """His formula as he writes it, pair by pair."""
    scores, labels = both_classes(rows)
    figure = area_under_curve(pair_scored(scores, labels))
    assume(figure.ci_low is not None)
    yes, no = (np.array([score for score, label in rows if label is wanted]) for wanted in (True, False))
    wins = (yes[:, None] > no[None, :]) + (yes[:, None] == no[None, :]) / 2
    variance = np.var(wins.mean(axis=1), ddof=1) / yes.size + np.var(wins.mean(axis=0), ddof=1) / no.size
    assert figure.se == pytest.approx(np.sqrt(variance))


def test_bins_agree_with_scikit_learn_away_from_the_edges() -> None:
    generator = np.random.default_rng(5)
    scores = generator.random(500)
    labels = generator.random(500) < scores
    rates, means = sk_calibration.calibration_curve(labels, scores, n_bins=10)
    table = reliability_table(pair_scored(scores, labels))
    assert [each.rate.value for each in table.bins] == pytest.approx(list(rates))
    assert [each.mean_score for each in table.bins] == pytest.approx(list(means))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(chances, st.booleans()), min_size=12, max_size=60))
def test_the_calibration_line_agrees_with_statsmodels(rows: list[tuple[float, bool]]) -> None:
    scores, labels = both_classes(rows)
    line = calibration_line(pair_scored(scores, labels))
    logits, answers = np.log(np.array(scores) / (1 - np.array(scores))), np.array(labels, dtype=np.float64)
    offset = sm.GLM(answers, np.ones(len(rows)), family=sm.families.Binomial(), offset=logits).fit(tol=1e-12)
    assert line.in_the_large.value == pytest.approx(offset.params[0], abs=1e-6)
    assert line.in_the_large.se == pytest.approx(offset.bse[0], rel=1e-5)
    assume(line.slope.value is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # near separation it can't tell whether it has converged
        theirs = sm.Logit(answers, sm.add_constant(logits)).fit(disp=0, maxiter=200, tol=1e-10)
    assert (line.intercept.value, line.slope.value) == pytest.approx(tuple(theirs.params), rel=1e-5, abs=1e-6)
    assert (line.intercept.se, line.slope.se) == pytest.approx(tuple(theirs.bse), rel=1e-4)


def test_the_calibration_line_by_cluster_has_the_sandwich_error_of_statsmodels() -> None:
    generator = np.random.default_rng(6)
    clusters = generator.integers(0, 20, 200)
    logits = generator.normal(0, 1, 200)
    labels = generator.random(200) < 1 / (1 + np.exp(-logits - generator.normal(0, 1, 20)[clusters]))
    line = calibration_line(pair_scored(1 / (1 + np.exp(-logits)), labels, clusters=clusters))
    options = {"groups": clusters, "use_correction": False}
    theirs = sm.GLM(labels.astype(float), sm.add_constant(logits), family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds=options
    )
    assert (line.intercept.se, line.slope.se) == pytest.approx(tuple(theirs.bse * np.sqrt(20 / 19)), rel=1e-5)


@settings(max_examples=80, deadline=None)
@given(rows=st.lists(st.tuples(values, st.booleans()), min_size=1, max_size=40))
def test_isotonic_maps_agree_with_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    scores, labels = [row[0] for row in rows], [row[1] for row in rows]
    theirs = sk_isotonic.IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    at = [*scores, -150.0, 0.3, 2.5, 150.0]
    assert fit_isotonic(scores, labels).apply(at) == pytest.approx(theirs.predict(at), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(values, st.booleans()), min_size=3, max_size=40))
def test_platt_s_map_is_the_logistic_regression_of_his_targets(rows: list[tuple[float, bool]]) -> None:
    scores, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    assume(len(set(scores.tolist())) > 1)
    yes = int(labels.sum())
    targets = np.where(labels, (yes + 1) / (yes + 2), 1 / (len(rows) - yes + 2))
    scaled = (scores - scores.mean()) / scores.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it takes a perfect fit for separation
        theirs = sm.GLM(targets, sm.add_constant(scaled), family=sm.families.Binomial()).fit(tol=1e-12)
    assert fit_platt(scores, labels).apply(scores) == pytest.approx(theirs.fittedvalues, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(rows=scored)
def test_the_sweep_agrees_with_scikit_learn_s_curve(rows: list[tuple[float, bool]]) -> None:
    scores, labels = both_classes(rows)
    fpr, tpr, thresholds = sk.roc_curve(labels, scores, drop_intermediate=False)
    found = sweep(scores, labels)[::-1]
    assert [each.threshold for each in found[1:]] == pytest.approx(list(thresholds[1:]))
    assert [each.tp / (each.tp + each.fn) for each in found] == pytest.approx(list(tpr))
    assert [each.fp / (each.fp + each.tn) for each in found] == pytest.approx(list(fpr))


@settings(max_examples=100, deadline=None)
@given(errors=st.integers(0, 60), more=st.integers(1, 200), delta=st.floats(0.01, 0.5))
def test_the_bound_and_the_p_value_of_a_certificate_agree_with_scipy(errors: int, more: int, delta: float) -> None:
    n = errors + more
    assert error_upper_bound(errors, n, delta=delta) == pytest.approx(stats.beta.ppf(1 - delta, errors + 1, n - errors))
    agrees = [False] * errors + [True] * more
    row = certify_threshold([1.0] * n, agrees, grid=[1.0], alpha=0.1, delta=delta, min_n=1, human="majority").rows[0]
    assert row.p_value == pytest.approx(stats.binom.cdf(errors, n, 0.1))
