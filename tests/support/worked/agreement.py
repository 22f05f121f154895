"""Worked examples of two raters (section 1 of the specification): from an example to what we compute."""

from collections.abc import Callable
from math import sqrt

import pytest

from calibration.statistics.agreement import (
    bias_index,
    bootstrap_kappa,
    brennan_prediger,
    cohen_kappa,
    cohen_kappa_of_table,
    gwet_ac,
    kappa,
    kappa_difference,
    kappa_max,
    kappa_null_test,
    percent_agreement,
    perfect_agreement_bound,
    prevalence_index,
    scott_pi,
)
from calibration.statistics.confusion import binary_metrics, mcnemar, multiclass_metrics
from calibration.statistics.tables import Weights, pair_labels, pairs_of_table
from judges.intervals import ProportionMethod, proportion_of_counts, two_sided
from support.examples import Example, Results, labels_in, limits

TABLE = "table_rows_gold_cols_judge"


def two_rater_table(example: Example) -> Results:
    pairs = pairs_of_table(example.inputs[TABLE], labels=example.inputs["labels"])
    results: dict[str, object] = {
        "n": pairs.n,
        "percent_agreement": percent_agreement(pairs),
        "ac1": gwet_ac(pairs),
        "ac2_quadratic": gwet_ac(pairs, weights="quadratic", interval="wald"),
        "scott_pi": scott_pi(pairs),
        "brennan_prediger": brennan_prediger(pairs),
        "kappa_max": kappa_max(pairs),
    }
    schemes: dict[str, Weights] = {"unweighted": "none", "linear": "linear", "quadratic": "quadratic"}
    for name, weights in schemes.items():
        figure = kappa(pairs, weights=weights, interval="wald")
        results[name] = {
            "kappa": figure,
            "se": figure.se,
            "se_null": kappa_null_test(pairs, weights=weights).se,
            "wald_ci95": limits(figure),
            "smoothed_ci95": limits(kappa(pairs, weights=weights, interval="smoothed")),
            "smoothed_indep_ci95": limits(kappa(pairs, weights=weights, interval="smoothed_indep")),
        }
    if pairs.k == 2:
        results["prevalence_index"] = prevalence_index(pairs)
        results["bias_index"] = bias_index(pairs)
        results["pabak"] = brennan_prediger(pairs)
    return results


def two_rater_degenerate(example: Example) -> Results:
    pairs = pair_labels(example.inputs["gold"], example.inputs["judge"], labels=example.inputs["labels"])
    return {
        "n_used": pairs.n,
        "n_dropped": pairs.n_dropped,
        "percent_agreement": percent_agreement(pairs),
        "kappa": kappa(pairs),
        "scott_pi": scott_pi(pairs),
        "ac1": gwet_ac(pairs),
        "pabak": brennan_prediger(pairs),
        "mcc": multiclass_metrics(pairs).mcc,
    }


def cohen_kappa_labels(example: Example) -> Results:
    inputs = example.inputs
    figure = cohen_kappa(
        inputs["gold"], inputs["judge"], labels=inputs["scale"], weights=example.params["weights"], interval="wald"
    )
    return {"quadratic_kappa": figure}


def weighted_kappa_custom(example: Example) -> Results:
    table, costs = example.inputs[TABLE], example.inputs["disagreement_weights"]
    weighted = cohen_kappa_of_table(table, weights=costs, interval="wald")
    return {
        "unweighted_kappa": cohen_kappa_of_table(table),
        "weighted_kappa": weighted,
        "weighted_se": weighted.se,
    }


def clustered_kappa(example: Example) -> Results:
    inputs = example.inputs
    pairs = pair_labels(
        inputs["gold"], inputs["judge"], labels=labels_in(inputs["gold"], inputs["judge"]), clusters=inputs["cluster"]
    )
    wald, smoothed, agreement = kappa(pairs, interval="wald"), kappa(pairs), percent_agreement(pairs)
    assert wald.se is not None
    assert wald.deff is not None
    assert wald.value is not None
    assert wald.ci_low is not None
    return {
        "n": wald.n,
        "clusters": wald.n_clusters,
        "kappa": wald,
        "se_iid_fce": wald.se / sqrt(wald.deff),
        "se_cluster": wald.se,
        "design_effect": wald.deff,
        "t_quantile": (wald.value - wald.ci_low) / wald.se,
        "wald_t_ci95": limits(wald),
        "smoothed_deff_ci95": limits(smoothed),
        "percent_agreement": agreement,
        "percent_agreement_se_cluster": agreement.se,
    }


def kappa_bootstrap(example: Example) -> Results:
    pairs, weights, size = pairs_of_table(example.inputs[TABLE]), example.params["weights"], example.params["resamples"]
    bca = bootstrap_kappa(pairs, weights=weights, resamples=size, seed=1)
    percentile = bootstrap_kappa(pairs, weights=weights, method="percentile", resamples=size, seed=1)
    assert bca.undefined_share == 0
    assert bca.acceleration == pytest.approx(example.expected["acceleration"], abs=1e-9)
    assert limits(kappa(pairs, weights=weights, interval="bca", resamples=size, seed=1)) == [bca.low, bca.high]
    return {
        "percentile_ci95": [percentile.low, percentile.high],
        "bca_ci95": [bca.low, bca.high],
        "acceleration": bca.acceleration,
        "z0_approx": bca.z0,
    }


def kappa_boundary_bound(example: Example) -> Results:
    pairs, level = pairs_of_table(example.inputs[TABLE]), example.params["level"]
    figure = kappa(pairs, interval="exact_bound", level=level)
    assert figure.method == "exact_bound"
    assert figure.ci_high == 1
    for chosen in ("bca", "percentile"):
        assert limits(kappa(pairs, interval=chosen, level=level)) == limits(figure)
    return {"upper_bound_disagreement": perfect_agreement_bound(pairs.n, level=level), "kappa_lower": figure.ci_low}


def kappa_difference_dependent(example: Example) -> Results:
    inputs = example.inputs
    answers = inputs["gold"], inputs["judge_a"], inputs["judge_b"]
    result = kappa_difference(*answers, labels=labels_in(*answers))
    first, second, test = result.kappa_a, result.kappa_b, result.test
    assert result.difference.value is not None
    assert first.se is not None
    assert second.se is not None
    # what the example gives as the mistake is that mistake: our judges are not independent
    apart = two_sided(result.difference.value, sqrt(first.se**2 + second.se**2))
    assert apart.p_value == pytest.approx(example.expected["p_if_wrongly_treated_as_independent"], abs=example.tol)
    return {
        "kappa_a": first,
        "kappa_b": second,
        "difference": result.difference,
        "se": result.difference.se,
        "z": test.statistic,
        "p_two_sided": test.p_value,
        "ci95": limits(result.difference),
    }


def proportion_intervals(example: Example) -> Results:
    methods: tuple[ProportionMethod, ...] = ("wilson", "clopper_pearson", "jeffreys", "agresti_coull")
    inputs = example.inputs
    return {
        f"{method}95": limits(proportion_of_counts(inputs["successes"], inputs["n"], method=method))
        for method in methods
    }


def binary(example: Example) -> Results:
    metrics = binary_metrics(**example.inputs)
    exact = binary_metrics(**example.inputs, method="clopper_pearson")
    names = ("accuracy", "precision", "recall", "specificity", "npv", "f1", "balanced_accuracy", "youden_j", "mcc")
    results: dict[str, object] = {name: getattr(metrics, name) for name in names}
    results["recall_wilson95"] = limits(metrics.recall)
    results["specificity_wilson95"] = limits(metrics.specificity)
    results["specificity_clopper_pearson95"] = limits(exact.specificity)
    return results


def multiclass(example: Example) -> Results:
    gold, judge = example.inputs["gold"], example.inputs["judge"]
    metrics = multiclass_metrics(pair_labels(gold, judge, labels=labels_in(gold, judge)))
    assert metrics.undefined == ()
    return {
        "accuracy": metrics.accuracy,
        "balanced_accuracy": metrics.balanced_accuracy,
        "macro_f1": metrics.macro_f1,
        "micro_f1": metrics.micro_f1,
        "weighted_f1": metrics.weighted_f1,
        "mcc_multiclass": metrics.mcc,
    }


def mcnemar_family(example: Example) -> Results:
    test = mcnemar(**example.inputs)
    assert test.p_value == test.p_mid
    return {
        "b_A_right_B_wrong": test.b,
        "c_A_wrong_B_right": test.c,
        "difference": test.difference,
        "p_exact": test.p_exact,
        "p_mid": test.p_mid,
        "chi2": test.chi2,
        "p_chi2": test.p_chi2,
        "chi2_cc": test.chi2_corrected,
        "bonett_price_ci95": limits(test.difference),
        "reason": test.reason,
    }


ADAPTERS: dict[str, Callable[[Example], Results]] = {
    "two_rater_table": two_rater_table,
    "two_rater_degenerate": two_rater_degenerate,
    "cohen_kappa_labels": cohen_kappa_labels,
    "weighted_kappa_custom": weighted_kappa_custom,
    "clustered_kappa": clustered_kappa,
    "kappa_bootstrap": kappa_bootstrap,
    "kappa_boundary_bound": kappa_boundary_bound,
    "kappa_difference_dependent": kappa_difference_dependent,
    "proportion_interval": proportion_intervals,
    "binary_metrics": binary,
    "multiclass_metrics": multiclass,
    "mcnemar": mcnemar_family,
}
