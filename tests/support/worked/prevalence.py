"""Worked examples of true pass rates, probes and two systems (sections 5, 8 and 9)."""

from collections.abc import Callable
from math import log, sqrt
from typing import cast

import numpy as np
import pytest

from calibration.statistics.contrasts import RateGap
from calibration.statistics.post_stratified import PostStratified, post_stratified, post_stratified_of_counts
from calibration.statistics.power import (
    SamplePlan,
    allocate_gold_classes,
    minimum_detectable_effect,
    plan_difference,
    plan_kappa_halfwidth,
    plan_kappa_test,
    plan_mcnemar,
    plan_ppi,
    plan_proportion,
)
from calibration.statistics.ppi import Lambda, PpiMean, Stratum, ppi_mean, stratified_ppi
from calibration.statistics.prevalence import true_pass_rate
from calibration.statistics.probes import group_error_rates, length_bias, perturbation, position_bias, self_preference
from calibration.statistics.rogan_gladen import rogan_gladen_of_counts
from calibration.statistics.scale import severity
from calibration.statistics.systems import compare_systems, paired_ppi_difference, system_agreement
from calibration.statistics.tables import INVALID, pairs_of_table
from judges.figures import Figure
from support.examples import Example, Json, Results, limits


def interval(figure: Figure) -> Json:
    return {"ci_low": figure.ci_low, "ci_high": figure.ci_high}


def post_stratum(found: PostStratified) -> Json:
    figure = found.estimate
    return {
        "w_pos": found.judge_only,
        "ppv": found.ppv,
        "fomr": found.fomr,
        "estimate": figure,
        "reason": figure.reason,
        "se_delta": figure.se,
        **interval(figure),
    }


def powered(found: PpiMean) -> Json:
    return {"lam": found.lam, "estimate": found.normal, "se": found.normal.se, **interval(found.normal)}


def planned(plan: SamplePlan) -> Json:
    return {"n_exact": plan.n_exact, "n": plan.n}


def allocation(example: Example) -> Results:
    inputs = example.inputs
    found = allocate_gold_classes(
        inputs["judge_positive_rate"], inputs["sensitivity"], inputs["specificity"], inputs["labels"]
    )
    assert found.gold_positive + found.gold_negative == inputs["labels"]
    return {
        "theta": found.theta,
        "n_gold_positive_exact": found.gold_positive_exact,
        "n_gold_negative_exact": found.gold_negative_exact,
    }


def kappa_halfwidth(example: Example) -> Results:
    plan = plan_kappa_halfwidth(**example.inputs, level=example.params["level"])
    z = 1.959963984540054
    return {**planned(plan), "n_times_variance": plan.n_exact * (example.inputs["half_width"] / z) ** 2}


def kappa_test(example: Example) -> Results:
    plan = plan_kappa_test(**example.inputs, alpha=example.params["alpha"], power=example.params["power"])
    return {"noncentrality": plan.noncentrality, "effect_per_item": plan.effect, **planned(plan.sample)}


def ppi_plan(example: Example) -> Results:
    plan = plan_ppi(**example.inputs)
    return {
        "judge_human_correlation": plan.correlation,
        "se_human_only": plan.human_only_se,
        "se_ppi_plus_plus": plan.ppi_se,
        "effective_human_labels": plan.effective_labels,
        "max_saving_factor": plan.max_saving,
        "optimal_n_human_exact": plan.optimal_human_exact,
        "optimal_n_judge_only_exact": plan.optimal_judge_only_exact,
        "optimal_n_human": plan.optimal_human,
        "optimal_n_judge_only": plan.optimal_judge_only,
        "half_width95_at_optimum": plan.half_width,
        "se_rogan_gladen": plan.rogan_gladen_se,
    }


def proportion_halfwidth(example: Example) -> Results:
    plan = plan_proportion(**example.inputs, level=example.params["level"])
    return {"n_wilson": plan.wilson.n, "n_wald": plan.wald_n, "wilson_half_width_at_n": plan.half_width}


def clustered(example: Example) -> Results:
    inputs = example.inputs
    arrays = inputs["human"], inputs["judge_on_labelled"], inputs["judge_unlabelled"]
    ids = {"clusters": inputs["cluster"], "clusters_unlabelled": inputs["cluster_unlabelled"]}
    found = post_stratified(*arrays, **ids)
    chosen = true_pass_rate(*arrays, selection="random", **ids)
    assert chosen.estimate == found.estimate
    return {
        "post_stratified_iid": post_stratum(post_stratified(*arrays)),
        "se_cluster": found.estimate.se,
        "design_effect": found.estimate.deff,
        "inflation": found.inflation,
        **interval(found.estimate),
    }


def ppi(example: Example) -> Results:
    inputs = example.inputs
    human, judge = inputs["human"], inputs["judge_on_labelled"]
    others: list[float] = inputs.get("judge_unlabelled", [])
    if not others:
        passed, total = inputs["judge_unlabelled_positive"], inputs["judge_unlabelled_total"]
        others = [1.0] * passed + [0.0] * (total - passed)
    plain, tuned = ppi_mean(human, judge, others, lam=1), ppi_mean(human, judge, others)
    results: Json = {
        "ppi": powered(plain),
        "human_only": powered(ppi_mean(human, judge, others, lam=0)),
        "ppi_plus_plus": powered(tuned),
        "judge_only_mean": tuned.judge_only,
    }
    if "judge_unlabelled_total" in inputs:
        results["post_stratified"] = post_stratum(post_stratified(human, judge, others))
    if "flag" in example.expected:
        results["flag"] = "zero_residual_variance" if "zero_residual_variance" in plain.normal.flags else None
        chosen = true_pass_rate(human, judge, others, selection="random", estimator="ppi")
        assert limits(chosen.estimate) == limits(post_stratified(human, judge, others).estimate)
    return results


def error_rates(example: Example) -> Results:
    found = rogan_gladen_of_counts(**example.inputs)
    return {
        "sensitivity": found.sensitivity,
        "specificity": found.specificity,
        "youden_j": found.youden,
        "apparent": found.apparent,
        "estimate": found.estimate,
        "reason": found.estimate.reason,
        "rg_raw": found.raw,
        "rg_clipped": found.estimate,
        "se_delta": found.delta_se,
        "lr_adjusted": found.adjusted,
        "lr_shift": found.shift,
        "lr_se": found.adjusted_se,
        **interval(found.estimate),
    }


def strata(example: Example) -> Results:
    rows = cast("list[Json]", example.inputs["strata"])
    found = stratified_ppi(
        [
            Stratum(
                each["human"],
                each["judge_on_labelled"],
                each["judge_unlabelled"],
                each["population"],
                cast("Lambda", each["lam"]),
            )
            for each in rows
        ]
    )
    parts = [
        {"weight": weight, "estimate": mean.normal, "se": mean.normal.se}
        for weight, mean in zip(found.weights, found.strata, strict=True)
    ]
    return {"per_stratum": parts, "estimate": found.normal, "se": found.normal.se, **interval(found.normal)}


def two_phase(example: Example) -> Results:
    labelled = cast("dict[str, int]", example.inputs["labelled"])
    positive, negative = example.inputs["judge_unlabelled_positive"], example.inputs["judge_unlabelled_negative"]
    tp, fp, fn, tn = (labelled[name] for name in ("tp", "fp", "fn", "tn"))
    found = post_stratified_of_counts(tp, fp, fn, tn, positive, negative)
    human = [1] * labelled["tp"] + [0] * labelled["fp"] + [1] * labelled["fn"] + [0] * labelled["tn"]
    judge = [1] * (labelled["tp"] + labelled["fp"]) + [0] * (labelled["fn"] + labelled["tn"])
    others = [1] * positive + [0] * negative
    chosen = true_pass_rate(human, judge, others, selection="by_verdict")
    assert chosen.estimate == found.estimate
    assert chosen.judge_only == found.judge_only
    with pytest.raises(ValueError, match="use post_stratified"):
        true_pass_rate(human, judge, others, selection="by_verdict", estimator="rogan_gladen")
    return {
        "post_stratified": post_stratum(found),
        "bg_sensitivity": found.sensitivity,
        "bg_specificity": found.specificity,
    }


def position(example: Example) -> Results:
    ab, ba = ([INVALID if each == "invalid" else each for each in example.inputs[name]] for name in ("ab", "ba"))
    found = position_bias(ab, ba)
    return {
        "n": found.n,
        "invalid": found.invalid,
        "consistent": found.consistent,
        "first_both": found.first_both,
        "second_both": found.second_both,
        "inconsistent_other": found.inconsistent_other,
        "inconsistency_rate": found.inconsistency,
        "inconsistency_wilson95": limits(found.inconsistency),
        "first_slot_share": found.first_slot_share,
        "bias": found.bias.figure,
        "p_direction_exact": found.bias.p_value,
        "bias_bonett_price_ci95": limits(found.bias.figure),
    }


def verbosity(example: Example) -> Results:
    inputs = example.inputs
    found = length_bias(inputs["log_length_ratio_a_over_b"], inputs["human_prefers_a"], inputs["judge_prefers_a"])
    slope = found.effect.figure
    assert slope.value is not None
    assert found.odds_ratio_per_doubling.value == pytest.approx(2**slope.value)
    assert found.odds_ratio_per_doubling.ci_low is not None
    assert slope.ci_low == pytest.approx(log(found.odds_ratio_per_doubling.ci_low) / log(2))
    return {
        "logit_intercept": found.intercept,
        "logit_length": slope,
        "logit_length_se": slope.se,
        "logit_human": found.human,
        "odds_ratio_per_doubling": found.odds_ratio_per_doubling,
        "average_marginal_effect_length": found.marginal_effect,
        "logit_length_uncontrolled": found.uncontrolled,
        "judge_prefers_longer": found.judge_prefers_longer,
        "human_prefers_longer": found.human_prefers_longer,
        "excess": found.excess.figure,
        "excess_bonett_price_ci95": limits(found.excess.figure),
        "p_exact": found.excess.p_value,
    }


def own_family(example: Example) -> Results:
    inputs = example.inputs
    found = self_preference(
        inputs["judge_score"], inputs["human_score"], inputs["own_family"], clusters=inputs["cluster"]
    )
    return {
        "judge_own": found.judge_own,
        "judge_other": found.judge_other,
        "human_own": found.human_own,
        "human_other": found.human_other,
        "did": found.effect.figure,
        "se_cluster_cr1": found.effect.figure.se,
        "se_hc0": found.hc0_se,
        "ci95_t": limits(found.effect.figure),
    }


def group_rates(example: Example) -> Results:
    human: list[int] = []
    judge: list[int] = []
    own: list[int] = []
    for group, name in ((1, "own"), (0, "other")):
        for label, key in ((1, "judge_pass_given_human_pass"), (0, "judge_pass_given_human_fail")):
            passed, total = cast("list[int]", example.inputs[name][key])
            human += [label] * total
            judge += [1] * passed + [0] * (total - passed)
            own += [group] * total
    found = group_error_rates(human, judge, own)

    def gap(prefix: str, rates: RateGap) -> Json:
        return {
            f"{prefix}_own": rates.first,
            f"{prefix}_other": rates.second,
            f"{prefix}_gap": rates.gap,
            f"{prefix}_gap_newcombe95": limits(rates.gap),
        }

    return {**gap("tpr", found.tpr), **gap("fpr", found.fpr)}


def cue(example: Example) -> Results:
    found = perturbation(example.inputs["score_original"], example.inputs["score_perturbed"])
    figure = found.effect.figure
    return {
        "n": figure.n,
        "mean_change": figure,
        "share_up": found.share_up,
        "share_down": found.share_down,
        "flip_rate": found.flip_rate,
        "se": figure.se,
        "ci95_t": limits(figure),
        "p_t": found.effect.p_value,
        "cohens_dz": found.effect.standardised,
        "p_sign_exact": found.sign_p,
        "flag": "zero_variance_differences" if "zero_variance_differences" in figure.flags else None,
    }


def scale_use(example: Example) -> Results:
    found = severity(pairs_of_table(example.inputs["table_rows_human_cols_judge"]))
    assert found.human is not None
    assert found.judge is not None
    assert found.stuart_maxwell.df == found.bhapkar.df
    return {
        "mean_shift_judge_minus_human": found.shift.difference,
        "se": found.shift.difference.se,
        "ci95_t": limits(found.shift.difference),
        "cohens_dz": found.shift.standardised,
        "entropy_human": found.human.entropy,
        "entropy_judge": found.judge.entropy,
        "modal_share_human": found.human.modal_share,
        "modal_share_judge": found.judge.modal_share,
        "levels_used_human": found.human.levels_used,
        "levels_used_judge": found.judge.levels_used,
        "sd_ratio_judge_over_human": found.sd_ratio,
        "wasserstein_levels": found.wasserstein,
        "total_variation": found.total_variation,
        "stuart_maxwell": found.stuart_maxwell.statistic,
        "df": found.bhapkar.df,
        "p_stuart_maxwell": found.stuart_maxwell.p_value,
        "bhapkar": found.bhapkar.statistic,
        "p_bhapkar": found.bhapkar.p_value,
    }


def mcnemar_size(example: Example) -> Results:
    return planned(plan_mcnemar(**example.inputs, **example.params))


def smallest_effect(example: Example) -> Results:
    inputs = dict(example.inputs)
    n, delta = inputs.pop("n"), inputs.pop("delta")
    plan = plan_difference(delta, **inputs, **example.params)
    return {
        "mde": minimum_detectable_effect(n, **inputs, **example.params),
        "n_exact": plan.n_exact,
        "n_needed": plan.n,
    }


def two_systems(example: Example) -> Results:
    inputs = example.inputs
    found = compare_systems(inputs["score_a"], inputs["score_b"])
    results: Json = {
        "n": found.difference.n,
        "mean_a": found.mean_a,
        "mean_b": found.mean_b,
        "difference": found.difference,
        "se_paired": found.paired_se,
        "se_unpaired": found.unpaired_se,
        "correlation": found.correlation,
        "ci95_t": limits(found.difference),
        "p_t": found.test.p_value,
        "p_sign_flip_exact": None if found.flips is None or found.flips.method == "drawn" else found.flips.p_value,
    }
    if "cluster" in inputs:
        grouped = compare_systems(inputs["score_a"], inputs["score_b"], clusters=inputs["cluster"])
        assert grouped.miller is not None
        assert grouped.difference.se is not None
        assert grouped.mean_a.se is not None
        groups = grouped.difference.n_clusters or 0
        assert grouped.miller.difference == pytest.approx(grouped.difference.se * sqrt((groups - 1) / groups))
        assert grouped.miller.mean_a == pytest.approx(grouped.mean_a.se * sqrt((groups - 1) / groups))
        results |= {
            "clusters": groups,
            "se_cluster_miller": grouped.miller.difference,
            "se_cluster": grouped.difference.se,
            "design_effect": grouped.difference.deff,
            "ci95_cluster_t": limits(grouped.difference),
            "se_cluster_mean_a_miller": grouped.miller.mean_a,
        }
    return results


def paired_ppi(example: Example) -> Results:
    inputs = example.inputs
    counts = cast("dict[str, int]", inputs["judge_difference_unlabelled_counts"])
    others = np.repeat([float(each) for each in counts], list(counts.values()))
    found = paired_ppi_difference(inputs["human_a"], inputs["human_b"], inputs["judge_a"], inputs["judge_b"], others)
    return {
        "ppi_plus_plus": powered(found.estimate),
        "judge_only_difference": found.estimate.judge_only,
        "human_only_difference": found.estimate.human_only,
    }


def ranking(example: Example) -> Results:
    found = system_agreement(example.inputs["human_system_means"], example.inputs["judge_system_means"])
    return {
        "pairwise_accuracy": found.pairwise_accuracy,
        "kendall_tau_b": found.kendall_tau_b,
        "spearman": found.spearman,
        "same_winner": found.same_winner,
    }


ADAPTERS: dict[str, Callable[[Example], Results]] = {
    "allocate_gold_classes": allocation,
    "plan_kappa_halfwidth": kappa_halfwidth,
    "plan_kappa_test": kappa_test,
    "plan_ppi": ppi_plan,
    "plan_proportion_halfwidth": proportion_halfwidth,
    "post_stratified_clustered": clustered,
    "ppi_mean": ppi,
    "rogan_gladen": error_rates,
    "stratified_ppi": strata,
    "two_phase_labels": two_phase,
    "group_error_rates": group_rates,
    "paired_perturbation": cue,
    "position_bias": position,
    "self_preference_did": own_family,
    "severity_and_scale_use": scale_use,
    "verbosity_bias": verbosity,
    "mcnemar_sample_size": mcnemar_size,
    "minimum_detectable_effect": smallest_effect,
    "paired_comparison": two_systems,
    "paired_ppi_difference": paired_ppi,
    "system_level_agreement": ranking,
}
