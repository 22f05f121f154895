"""Agreement and confusion against scikit-learn and statsmodels; where they are wrong, a test says so."""

import warnings
from collections.abc import Callable
from importlib import import_module
from math import isnan
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.agreement import cohen_kappa_of_table, kappa, kappa_null_test, percent_agreement
from calibration.statistics.confusion import binary_metrics, mcnemar, multiclass_metrics
from calibration.statistics.tables import Weights, pair_labels, pairs_of_table
from judges.figures import Figure
from judges.intervals import ProportionMethod, proportion_interval

# loaded by name: these libraries have no complete types
sk = import_module("sklearn.metrics")
sm = import_module("statsmodels.api")
sm_raters = import_module("statsmodels.stats.inter_rater")
sm_tables = import_module("statsmodels.stats.contingency_tables")
sm_proportion = import_module("statsmodels.stats.proportion")

Table = list[list[int]]

tables = (
    st.integers(2, 5)
    .flatmap(lambda k: st.lists(st.lists(st.integers(0, 15), min_size=k, max_size=k), min_size=k, max_size=k))
    .filter(lambda table: sum(map(sum, table)) > 0)
)


def labels_of(table: Table) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Gold and judge labels with this table."""
    counts = np.array(table)
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    gold, judge = np.divmod(cells, len(table))
    return gold, judge


def quietly(call: Callable[[], Any]) -> float:
    """The number of a library that warns about what we call undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(call())


def assert_equal(figure: Figure, number: float) -> None:
    assert figure.value is not None
    assert figure.value == pytest.approx(number, abs=1e-9)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@settings(max_examples=60, deadline=None)
@given(table=tables)
def test_kappa_agrees_with_scikit_learn_where_it_is_defined(weights: Weights, table: Table) -> None:
    gold, judge = labels_of(table)
    scheme = None if isinstance(weights, str) and weights == "none" else weights
    theirs = quietly(lambda: sk.cohen_kappa_score(gold, judge, labels=range(len(table)), weights=scheme))
    figure = cohen_kappa_of_table(table, weights=weights, interval="wald")
    if figure.value is None:
        assert isnan(theirs)
    else:
        assert_equal(figure, theirs)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@settings(max_examples=60, deadline=None)
@given(table=tables)
def test_standard_errors_of_kappa_agree_with_statsmodels(weights: Weights, table: Table) -> None:
    pairs = pairs_of_table(table)
    figure = kappa(pairs, weights=weights, interval="wald")
    assume(figure.value is not None and "constant_rater" not in figure.flags)  # statsmodels divides 0 by 0
    scheme = {"none": None, "linear": "linear", "quadratic": "quadratic"}[cast("str", weights)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the root of a rounding error below 0
        theirs = sm_raters.cohens_kappa(
            np.array(table), weights=None if scheme is None else np.arange(len(table)), wt=scheme
        )
    assert_equal(figure, theirs.kappa)
    if figure.se:
        assert figure.se == pytest.approx(theirs.std_kappa, abs=1e-7)
    null = kappa_null_test(pairs, weights=weights)
    if null.statistic is not None:
        assert null.se == pytest.approx(theirs.std_kappa0, abs=1e-7)
        assert null.p_value == pytest.approx(theirs.pvalue_two_sided, abs=1e-7)


def test_scikit_learn_without_labels_forgets_unused_levels_and_so_misjudges_weighted_kappa() -> None:
    table = [[4, 2, 0, 0, 1], [1, 6, 0, 2, 0], [0, 0, 0, 0, 0], [0, 1, 0, 9, 3], [0, 0, 0, 2, 11]]
    gold, judge = labels_of(table)
    figure = cohen_kappa_of_table(table, weights="quadratic")
    assert_equal(figure, sk.cohen_kappa_score(gold, judge, labels=range(5), weights="quadratic"))
    assert figure.value != pytest.approx(sk.cohen_kappa_score(gold, judge, weights="quadratic"), abs=0.01)


@pytest.mark.parametrize(
    ("method", "theirs"),
    [("wilson", "wilson"), ("clopper_pearson", "beta"), ("jeffreys", "jeffreys"), ("agresti_coull", "agresti_coull")],
)
@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 400), data=st.data(), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_of_a_proportion_agree_with_statsmodels(
    method: ProportionMethod, theirs: str, n: int, data: st.DataObject, level: float
) -> None:
    successes = data.draw(st.integers(0, n))
    low, high = sm_proportion.proportion_confint(successes, n, alpha=1 - level, method=theirs)
    expected = (max(float(low), 0.0), min(float(high), 1.0))
    assert proportion_interval(successes, n, level=level, method=method) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(table=tables)
def test_metrics_of_several_classes_agree_with_scikit_learn_where_all_are_defined(table: Table) -> None:
    gold, judge = labels_of(table)
    metrics, k = multiclass_metrics(pairs_of_table(table)), len(table)
    assert_equal(metrics.accuracy, sk.accuracy_score(gold, judge))
    assert_equal(metrics.micro_f1, sk.f1_score(gold, judge, average="micro", labels=range(k), zero_division=0))
    assert_equal(metrics.weighted_f1, sk.f1_score(gold, judge, average="weighted", labels=range(k), zero_division=0))
    scores = sk.f1_score(gold, judge, average=None, labels=range(k), zero_division=0)
    for each, score in zip(metrics.classes, scores, strict=True):
        assert each.f1.value == pytest.approx(score) or each.f1.value is None
    if metrics.balanced_accuracy.value is not None:
        assert_equal(metrics.balanced_accuracy, quietly(lambda: sk.balanced_accuracy_score(gold, judge)))
    if all(each.f1.value is not None for each in metrics.classes):
        assert_equal(metrics.macro_f1, float(scores.mean()))
    theirs = quietly(lambda: sk.matthews_corrcoef(gold, judge))
    if metrics.mcc.value is None:
        assert theirs == 0  # 0/0, which scikit-learn calls 0
    else:
        assert_equal(metrics.mcc, theirs)


@settings(max_examples=40, deadline=None)
@given(tp=st.integers(1, 30), fp=st.integers(1, 30), fn=st.integers(1, 30), tn=st.integers(1, 30))
def test_binary_metrics_agree_with_scikit_learn(tp: int, fp: int, fn: int, tn: int) -> None:
    gold, judge = labels_of([[tn, fp], [fn, tp]])
    metrics = binary_metrics(tp, fp, fn, tn)
    assert_equal(metrics.precision, sk.precision_score(gold, judge))
    assert_equal(metrics.recall, sk.recall_score(gold, judge))
    assert_equal(metrics.specificity, sk.recall_score(gold, judge, pos_label=0))
    assert_equal(metrics.npv, sk.precision_score(gold, judge, pos_label=0))
    assert_equal(metrics.f1, sk.f1_score(gold, judge))
    assert_equal(metrics.balanced_accuracy, sk.balanced_accuracy_score(gold, judge))
    assert_equal(metrics.youden_j, sk.balanced_accuracy_score(gold, judge, adjusted=True))
    assert_equal(metrics.mcc, sk.matthews_corrcoef(gold, judge))


def test_scikit_learn_calls_the_correlation_with_a_constant_judge_zero_and_we_call_it_undefined() -> None:
    gold, judge = labels_of([[0, 5], [0, 7]])
    assert sk.matthews_corrcoef(gold, judge) == 0
    assert binary_metrics(7, 5, 0, 0).mcc.reason == "constant_rater"


@settings(max_examples=60, deadline=None)
@given(b=st.integers(0, 40), c=st.integers(0, 40))
def test_mcnemar_agrees_with_statsmodels(b: int, c: int) -> None:
    assume(b + c > 0)
    test, table = mcnemar(b, c, b + c + 5), np.array([[3, b], [c, 2]])
    plain = sm_tables.mcnemar(table, exact=False, correction=False)
    assert test.p_exact == pytest.approx(sm_tables.mcnemar(table, exact=True).pvalue)
    assert (test.chi2, test.p_chi2) == pytest.approx((plain.statistic, plain.pvalue))
    if b != c:  # statsmodels lets the correction carry |b - c| below 0
        assert test.chi2_corrected == pytest.approx(sm_tables.mcnemar(table, exact=False).statistic)


def test_percent_agreement_by_cluster_has_the_sandwich_standard_error_of_statsmodels() -> None:
    generator = np.random.default_rng(4)
    gold, judge, clusters = generator.integers(0, 3, 120), generator.integers(0, 3, 120), generator.integers(0, 25, 120)
    figure = percent_agreement(pair_labels(gold, judge, labels=[0, 1, 2], clusters=clusters))
    model = sm.OLS((gold == judge).astype(float), np.ones(120))
    options = {"groups": clusters, "use_correction": False}
    theirs = model.fit(cov_type="cluster", cov_kwds=options)
    groups = len(np.unique(clusters))
    assert figure.se == pytest.approx(float(theirs.bse[0]) * np.sqrt(groups / (groups - 1)))
