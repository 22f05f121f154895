"""Pass rates, plans, probes and comparisons of systems against statsmodels and scipy."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calibration.statistics.contrasts import exact_sign_p, mean_difference, rate_gap
from calibration.statistics.logit import fit_logit
from calibration.statistics.power import plan_kappa_test, plan_proportion, plan_zero_errors
from calibration.statistics.probes import length_bias, self_preference
from calibration.statistics.scale import severity
from calibration.statistics.systems import compare_systems, system_agreement
from calibration.statistics.tables import pairs_of_table

# loaded by name: these libraries have no complete types
sm = import_module("statsmodels.api")
sm_proportion = import_module("statsmodels.stats.proportion")
sm_tables = import_module("statsmodels.stats.contingency_tables")
stats = import_module("scipy.stats")

tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(1, 15), min_size=k, max_size=k), min_size=k, max_size=k)
)
seeds = st.integers(0, 2**32 - 1)


def ols(outcome: Any, column: Any) -> Any:
    return sm.OLS(np.asarray(outcome), sm.add_constant(np.asarray(column, dtype=np.float64)))


@given(tables)
@settings(max_examples=40)
def test_tests_of_equal_margins_agree_with_statsmodels(table: list[list[int]]) -> None:
    found, square = severity(pairs_of_table(table)), sm_tables.SquareTable(np.array(table), shift_zeros=False)
    for ours, method in ((found.stuart_maxwell, "stuart_maxwell"), (found.bhapkar, "bhapkar")):
        theirs = square.homogeneity(method=method)
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-6, abs=1e-9)
        assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-9)


@given(tables)
@settings(max_examples=30)
def test_the_distance_of_distributions_agrees_with_scipy(table: list[list[int]]) -> None:
    counts, levels = np.array(table), np.arange(len(table))
    theirs = stats.wasserstein_distance(levels, levels, counts.sum(axis=1), counts.sum(axis=0))
    assert severity(pairs_of_table(table)).wasserstein == pytest.approx(theirs, abs=1e-9)


@given(seeds, st.integers(10, 80))
@settings(max_examples=30)
def test_a_paired_test_agrees_with_scipy(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(0, 1, n), random.normal(0.3, 2, n)
    found, theirs = compare_systems(a, b, draws=10), stats.ttest_rel(a, b)
    interval = theirs.confidence_interval()
    assert found.test.p_value == pytest.approx(theirs.pvalue)
    assert found.difference.ci_low == pytest.approx(interval.low)
    assert found.correlation == pytest.approx(stats.pearsonr(a, b).statistic)


@given(seeds, st.integers(3, 12))
@settings(max_examples=30)
def test_clustered_errors_agree_with_statsmodels(seed: int, groups: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(groups), random.integers(0, groups, 40)])
    d = random.normal(0, 1, codes.size) + random.normal(0, 1, groups)[codes]
    fit = sm.OLS(d, np.ones(d.size)).fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": False})
    found = compare_systems(d, np.zeros(d.size), clusters=codes, draws=10)
    assert found.miller is not None
    assert found.miller.difference == pytest.approx(float(fit.bse[0]))
    assert mean_difference(d, codes).difference.se == pytest.approx(float(fit.bse[0]) * (groups / (groups - 1)) ** 0.5)


@given(seeds, st.integers(3, 12))
@settings(max_examples=30)
def test_self_preference_agrees_with_statsmodels(seed: int, groups: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(groups), random.integers(0, groups, 40)])
    judge, human = random.integers(1, 6, codes.size), random.integers(1, 6, codes.size)
    own = random.integers(0, 2, codes.size)
    assume(0 < own.sum() < own.size)
    found = self_preference(judge, human, own, clusters=codes)
    model = ols(judge - human, own)
    clustered = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    assert found.effect.figure.value == pytest.approx(float(clustered.params[1]), abs=1e-9)
    assert found.effect.figure.se == pytest.approx(float(clustered.bse[1]))
    assert found.effect.p_value == pytest.approx(float(clustered.pvalues[1]), abs=1e-9)
    assert found.effect.figure.ci_low == pytest.approx(float(clustered.conf_int()[1][0]), abs=1e-9)
    assert found.hc0_se == pytest.approx(float(model.fit(cov_type="HC0").bse[1]))


@given(seeds, st.integers(60, 150))
@settings(max_examples=25)
def test_the_length_regression_agrees_with_statsmodels(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    x, human = random.normal(0, 0.8, n), random.integers(0, 2, n)
    judge = random.random(n) < 1 / (1 + np.exp(-(0.1 + 0.7 * x + (human - 0.5))))
    design = np.column_stack([np.ones(n), x, human - 0.5]).astype(np.float64)
    found = length_bias(x, human, judge)
    assume(found.effect.figure.value is not None)
    model = sm.Logit(judge.astype(np.float64), design)
    theirs = model.fit(disp=0)
    effect = theirs.get_margeff(at="overall", method="dydx")
    assert found.effect.figure.value == pytest.approx(float(theirs.params[1]), abs=1e-6)
    assert found.effect.figure.se == pytest.approx(float(theirs.bse[1]), abs=1e-6)
    assert found.effect.p_value == pytest.approx(float(theirs.pvalues[1]), abs=1e-6)
    assert found.marginal_effect.value == pytest.approx(float(effect.margeff[0]), abs=1e-6)
    assert found.marginal_effect.se == pytest.approx(float(effect.margeff_se[0]), abs=1e-6)
    codes = random.integers(0, 12, n)
    ours = fit_logit(design, judge, codes, int(codes.max()) + 1)
    grouped = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": codes})
    assume(np.unique(codes).size == codes.max() + 1)
    assert ours is not None
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(np.asarray(grouped.bse), rel=1e-5)


@given(st.integers(1, 60), st.integers(1, 60), seeds)
@settings(max_examples=40)
def test_a_gap_of_rates_agrees_with_statsmodels(n: int, m: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = random.random(n) < 0.7, random.random(m) < 0.4
    hits = int(first.sum()), int(second.sum())
    found = rate_gap(first, second)
    low, high = sm_proportion.confint_proportions_2indep(hits[0], n, hits[1], m, method="newcomb")
    assert (found.gap.ci_low, found.gap.ci_high) == pytest.approx((low, high), abs=1e-9)
    if 0 < sum(hits) < n + m:
        _, p = sm_proportion.proportions_ztest(hits, (n, m))
        assert found.test.p_value == pytest.approx(float(p), abs=1e-9)


@given(st.integers(0, 80), st.integers(0, 80))
@settings(max_examples=40)
def test_the_exact_test_of_signs_agrees_with_scipy(up: int, down: int) -> None:
    assume(up + down > 0)
    assert exact_sign_p(up, down) == pytest.approx(stats.binomtest(up, up + down).pvalue)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=15))
@settings(max_examples=40)
def test_agreement_on_systems_agrees_with_scipy(systems: list[tuple[int, int]]) -> None:
    human, judge = [float(h) for h, _ in systems], [float(j) for _, j in systems]
    assume(len(set(human)) > 1 and len(set(judge)) > 1)
    found = system_agreement(human, judge)
    assert found.kendall_tau_b.value == pytest.approx(stats.kendalltau(human, judge).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(human, judge).statistic)


def test_the_wilson_plan_agrees_with_statsmodels() -> None:
    for p, h in ((0.85, 0.05), (0.5, 0.1), (0.99, 0.02), (0.0, 0.03)):
        n = plan_proportion(p, h).wilson.n
        widths = [np.diff(sm_proportion.proportion_confint(p * m, m, method="wilson"))[0] / 2 for m in (n - 1, n)]
        assert widths[1] <= h < widths[0]


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.1, 0.5), (0.05, 0.06)])
def test_the_noncentrality_of_a_plan_has_its_power(alpha: float, power: float) -> None:
    found = plan_kappa_test(0.4, 0.6, 0.3, alpha=alpha, power=power)
    assert stats.ncx2.sf(stats.chi2.isf(alpha, 1), 1, found.noncentrality) == pytest.approx(power, abs=1e-9)


def test_no_error_among_the_planned_items_is_as_unlikely_as_asked_for() -> None:
    n = plan_zero_errors(0.02, 0.05).n
    assert stats.binom.pmf(0, n, 0.02) <= 0.05 < stats.binom.pmf(0, n - 1, 0.02)
