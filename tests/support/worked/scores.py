"""Worked examples of scores and of selective judging (sections 3 and 6)."""

from collections.abc import Callable
from math import sqrt

from calibration.statistics.cascade import Stage, cascade_cost
from calibration.statistics.mapping import fit_isotonic, fit_platt
from calibration.statistics.reliability import (
    area_under_curve,
    brier,
    calibration_line,
    pair_scored,
    reliability_table,
    spiegelhalter,
)
from calibration.statistics.scores import (
    bland_altman,
    concordance,
    kendall,
    mean_absolute_error,
    pair_counts,
    pair_scores,
    pairwise_accuracy,
    pearson,
    root_mean_squared_error,
    spearman,
)
from calibration.statistics.selective import certify_threshold, error_upper_bound, zero_error_size
from calibration.statistics.threshold import (
    MinimumCost,
    TargetPrecision,
    Youden,
    choose_threshold,
    cross_fit_threshold,
    sweep,
)
from support.examples import Example, Results, limits


def bland_altman_family(example: Example) -> Results:
    pairs = pair_scores(example.inputs["human"], example.inputs["judge"])
    result = bland_altman(pairs)
    assert result.sd is not None
    assert result.lower_limit.se == result.upper_limit.se
    return {
        "n": pairs.n,
        "bias": result.bias,
        "mae": mean_absolute_error(pairs),
        "rmse": root_mean_squared_error(pairs),
        "sd": result.sd,
        "bias_ci95": limits(result.bias),
        "limits": [result.lower_limit.value, result.upper_limit.value],
        "limit_se": result.upper_limit.se,
        "limit_se_bland_altman_approx": result.sd * sqrt(3 / pairs.n),  # theirs of 1986; we give the one above
        "p_bias_zero": result.test.p_value,
        "slope_diff_on_mean": result.slope,
        "lin_ccc": concordance(pairs),
        "flag": next((flag for flag in result.bias.flags if flag.startswith("zero")), None),
    }


def calibration_slope_intercept(example: Example) -> Results:
    line = calibration_line(pair_scored(example.inputs["score"], example.inputs["label"]))
    return {
        "intercept": line.intercept,
        "slope": line.slope,
        "se_slope": line.slope.se,
        "se_intercept": line.intercept.se,
        "intercept_in_the_large": line.in_the_large,
    }


def correlation(example: Example) -> Results:
    pairs = pair_scores(example.inputs["human"], example.inputs["judge"])
    figures = [pearson(pairs), spearman(pairs), kendall(pairs)]
    return {
        "n": pairs.n,
        "pearson": figures[0],
        "spearman": figures[1],
        "kendall_tau_b": figures[2],
        "pearson_fisher_ci95": limits(figures[0]),
        "spearman_bonett_wright_ci95": limits(figures[1]),
        "kendall_fieller_ci95": limits(figures[2]),
        "pairs": {name: count for name, count in pair_counts(pairs).to_record().items() if name != "total"},
        "pairwise_accuracy_with_ties": pairwise_accuracy(pairs),
        "reason": figures[0].reason,
    }


def isotonic(example: Example) -> Results:
    fitted = fit_isotonic(example.inputs["score"], example.inputs["label"])
    return {
        "knots": list(fitted.knots),
        "fitted": list(fitted.fitted),
        "predict_new_linear_clip": fitted.apply(example.inputs["new_scores"]).tolist(),
    }


def platt(example: Example) -> Results:
    scores = example.inputs["score"]
    fitted = fit_platt(scores, example.inputs["label"])
    low, high = fitted.apply([min(scores), max(scores)]).tolist()
    return {"a": fitted.a, "b": fitted.b, "p_at_min": low, "p_at_max": high}


def score_calibration(example: Example) -> Results:
    items = pair_scored(example.inputs["score"], example.inputs["label"])
    table, parts, area = reliability_table(items), brier(items), area_under_curve(items)
    assert (table.bin_count, table.n) == (10, items.n)
    return {
        "ece_equal_width_10": table.ece,
        "mce": table.mce,
        "brier": parts.score,
        "murphy": {
            "reliability": parts.reliability,
            "resolution": parts.resolution,
            "uncertainty": parts.uncertainty,
        },
        "brier_skill": parts.skill,
        "bins": [
            {
                "bin": each.index,
                "n": each.n,
                "mean_score": each.mean_score,
                "rate": each.rate,
                "wilson95": limits(each.rate),
            }
            for each in table.bins
        ],
        "mean_score_minus_rate": table.excess,
        "spiegelhalter_z": spiegelhalter(items).statistic,
        "auc": area,
        "auc_delong_ci95": limits(area),
        "auc_delong_se": area.se,
    }


def threshold_choice(example: Example) -> Results:
    scores, labels, params = example.inputs["score"], example.inputs["label"], example.params
    costs = MinimumCost(params["cost_fp"], params["cost_fn"])
    youden, cost = choose_threshold(scores, labels, Youden()), choose_threshold(scores, labels, costs)
    point = choose_threshold(scores, labels, TargetPrecision(params["target_precision"]))
    bound = choose_threshold(scores, labels, TargetPrecision(params["target_precision"], level=0.95))
    return {
        "sweep": [
            {
                "threshold": each.threshold,
                "tp": each.tp,
                "fp": each.fp,
                "fn": each.fn,
                "tn": each.tn,
                "youden": each.youden,
                "cost": each.cost(costs),
                "precision": each.precision,
                "precision_cp_lower95_one_sided": each.precision_lower(),
            }
            for each in sweep(scores, labels)
        ],
        "youden_threshold": youden.threshold,
        "youden_j": youden.value,
        "cost_threshold": cost.threshold,
        "min_cost": cost.value,
        "target_precision_threshold_point": point.threshold,
        "target_precision_threshold_pointwise_lower_bound": bound.threshold,
        "target_precision_reason": bound.reason,
    }


def threshold_cross_fit(example: Example) -> Results:
    inputs = example.inputs
    result = cross_fit_threshold(inputs["score"], inputs["label"], Youden(), folds=inputs["fold"])
    return {
        "apparent_threshold": result.apparent.threshold,
        "apparent_youden": result.apparent.value,
        "fold_thresholds": [each.threshold for each in result.fold_choices],
        "cross_fitted_youden": result.value,
        "optimism": result.optimism,
        "cross_fitted_accuracy": result.accuracy,
    }


def cascade(example: Example) -> Results:
    stages = [Stage(**each) for each in example.inputs["stages"]]
    result = cascade_cost(stages, human_cost=example.inputs["human_cost"])
    return {
        "per_stage": [{"reached": each.reached, "accepted": each.accepted} for each in result.per_stage],
        "to_human": result.to_human,
        "expected_cost": result.expected_cost,
        "agreement_on_accepted": result.agreement_on_accepted,
        "overall_agreement_human_as_truth": result.overall_agreement,
        "saving_vs_all_human": result.saving,
    }


def clopper_pearson_upper(example: Example) -> Results:
    return {"upper": error_upper_bound(**example.inputs, delta=example.params["delta"])}


def min_n_zero_errors(example: Example) -> Results:
    return {"n": zero_error_size(**example.inputs)}


def selective_threshold(example: Example) -> Results:
    inputs, params = example.inputs, example.params
    result = certify_threshold(
        inputs["confidence"], inputs["judge_agrees_with_human"], grid=inputs["grid"], **params, human="one_person"
    )
    return {
        "rows": [each.to_record() for each in result.rows],
        "threshold": result.threshold,
        "reason": result.reason,
        "coverage": result.coverage,
        "selective_agreement": result.agreement,
    }


ADAPTERS: dict[str, Callable[[Example], Results]] = {
    "bland_altman": bland_altman_family,
    "calibration_slope_intercept": calibration_slope_intercept,
    "correlation": correlation,
    "isotonic": isotonic,
    "platt": platt,
    "score_calibration": score_calibration,
    "threshold_choice": threshold_choice,
    "threshold_cross_fit": threshold_cross_fit,
    "cascade_cost": cascade,
    "clopper_pearson_upper": clopper_pearson_upper,
    "min_n_zero_errors": min_n_zero_errors,
    "selective_threshold": selective_threshold,
}
