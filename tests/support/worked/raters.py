"""Worked examples of many raters, the alternative annotator test, votes and repeats (sections 2, 4 and 7)."""

from collections.abc import Callable
from typing import Any

from calibration.statistics.annotators import dawid_skene, majority_of_independent, vote
from calibration.statistics.ceiling import gold_noise, human_ceiling
from calibration.statistics.intraclass import intraclass_correlation
from calibration.statistics.raters import (
    Distance,
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
from calibration.statistics.repeats import best_repeats, repeat_stability
from calibration.statistics.replacement import alternative_annotator_test
from support.examples import Example, Results, labels_in, limits


def fleiss(example: Example) -> Results:
    inputs = example.inputs
    ratings = unit_ratings_of_counts(inputs["counts_subject_by_category"], labels=inputs["categories"])
    found = fleiss_kappa(ratings)
    ac1 = gwet_ac(ratings)
    return {
        "fleiss_kappa": found.kappa,
        "reason": found.kappa.reason,
        "se_null_fleiss1979": found.null_test.se,
        "z": found.null_test.statistic,
        "per_category": [each.value for each in found.per_label],
        "krippendorff_alpha_nominal": krippendorff_alpha(ratings),
        "se_subject_sampling": found.kappa.se,
        "gwet_ac1_5dp": ac1,
    }


def alpha(example: Example) -> Results:
    rows: list[list[int | None]] = example.inputs["raters_by_units"]
    scale = sorted({each for row in rows for each in row if each is not None})
    ratings = unit_ratings([list(unit) for unit in zip(*rows, strict=True)], labels=scale)
    distances: tuple[Distance, ...] = ("nominal", "ordinal", "interval", "ratio")
    results: dict[str, object] = {each: krippendorff_alpha(ratings, distance=each) for each in distances}
    nominal = krippendorff_alpha(ratings)
    paired = ratings.pairable()
    return results | {"pairable_values": int(paired.counts.sum()), "units_used": nominal.n, "reason": nominal.reason}


def many_raters_missing(example: Example) -> Results:
    ratings = unit_ratings(example.inputs["units_by_raters"], labels=labels_in(*example.inputs["units_by_raters"]))
    ac1, generalised, found = gwet_ac(ratings), fleiss_generalised(ratings), krippendorff_alpha(ratings)
    prediger = brennan_prediger(ratings)
    return {
        "percent_agreement": pairwise_agreement(ratings),
        "gwet_ac1": ac1,
        "fleiss_kappa_gwet_missing": generalised,
        "krippendorff_alpha": found,
        "brennan_prediger": prediger,
        "conger_kappa": conger_kappa(ratings),
        "se_ac1": ac1.se,
        "se_fleiss": generalised.se,
        "se_alpha": found.se,
        "se_bp": prediger.se,
    }


def icc(example: Example) -> Results:
    found = intraclass_correlation(example.inputs["subjects_by_raters"])
    forms = ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
    results: dict[str, object] = {name: getattr(found, name) for name in forms}
    results |= {f"{name}_ci95": limits(getattr(found, name)) for name in forms}
    squares = {"MSB": found.ms_between, "MSC": found.ms_raters, "MSE": found.ms_error, "MSW": found.ms_within}
    return results | squares | {"reason": found.icc_2_1.reason}


def ceiling(example: Example) -> Results:
    humans, judge = example.inputs["items_by_humans"], example.inputs["judge"]
    found = human_ceiling(humans, judge, labels=labels_in(*humans, judge))
    return {
        "human_loo_agreement_by_annotator": [each.value for each in found.by_annotator],
        "judge_agreement_same_references_by_annotator": [each.value for each in found.judge_by_annotator],
        "human_loo_mean": found.humans,
        "judge_mean_same_references": found.judge,
        "difference_judge_minus_human": found.difference,
        "se_clustered_by_item": found.difference.se,
        "mean_pairwise_human_kappa": found.human_kappa,
        "mean_judge_human_kappa": found.judge_kappa,
    }


def noise(example: Example) -> Results:
    found = gold_noise(**example.inputs)
    return {"human_error": found.human_error, "judge_error": found.judge_error}


def alt_test(example: Example) -> Results:
    humans: dict[str, dict[str, Any]] = example.inputs["humans"]
    items = sorted(example.inputs["judge"])
    judge = [example.inputs["judge"][item] for item in items]
    ratings = [[humans[name].get(item) for name in humans] for item in items]
    answers = [each for row in ratings for each in row if each is not None] + judge
    found = alternative_annotator_test(
        ratings,
        judge,
        epsilon=example.params["epsilon"],
        labels=sorted(set(answers)) if example.params["scoring"] == "accuracy" else None,
        annotators=list(humans),
        min_items=example.params["min_items_per_human"],
        q=example.params["q"],
    )
    rows: list[Results] = [
        {
            "annotator": each.annotator,
            "n": each.n,
            "human_better": each.human_better,
            "judge_better": each.judge_better,
            "exact_p": each.exact_p,
            "advantage_probability_judge": each.advantage_judge,
            "advantage_probability_human": each.advantage_human,
            "mean_difference": each.difference,
            "t": each.t,
            "p": each.p_value,
            "zero_variance": each.t is None,
        }
        for each in found.humans
    ]
    return {
        "per_annotator": rows,
        "rejected": [each.rejected for each in found.humans],
        "by_adjusted_p": [each.adjusted_p for each in found.humans],
        "winning_rate": found.winning_rate,
        "average_advantage_probability": found.advantage,
        "passes": found.passes,
        "items_used": found.n_items,
    }


def votes(example: Example) -> Results:
    answers: list[list[object]] = example.inputs["items_by_judges"]
    scale = sorted({each for row in answers for each in row if each is not None}, key=str)
    found = vote(answers, labels=scale, weights=example.inputs["weights"])
    return {
        "votes": [
            {"label": each.label, "share": each.share, "reason": each.reason, "tied": list(each.tied)} for each in found
        ]
    }


def dawid(example: Example) -> Results:
    inputs = example.inputs
    found = dawid_skene(inputs["item"], inputs["judge"], inputs["label"], labels=range(inputs["n_classes"]))
    assert found.converged
    matrices = zip(found.judges, found.error_matrices, strict=True)
    return {
        "class_prior": list(found.prior),
        "error_matrices": {str(judge): [list(row or ()) for row in matrix] for judge, matrix in matrices},
        "posterior_first5": [list(row) for row in found.posterior[:5]],
        "labels": list(found.found),
        "log_likelihood": found.log_likelihood,
        "published": {"class_prior": list(found.prior), "observer1_class1_row": list(found.error_matrices[0][0] or ())},
    }


def independent(example: Example) -> Results:
    return {"p_majority_correct": majority_of_independent(**example.inputs)}


def optimal_repeats(example: Example) -> Results:
    inputs = example.inputs
    found = best_repeats(
        inputs["within_item_variance"],
        inputs["between_item_variance"],
        cost_item=inputs["cost_per_new_item"],
        cost_call=inputs["cost_per_call"],
    )
    return {"m_star": found.unrounded, "m_integer": found.repeats}


def retest(example: Example) -> Results:
    found = repeat_stability(example.inputs["repeats_by_item"], labels=[0, 1])
    assert found.binary is not None
    return {
        "pairwise_flip_rate": found.flip_rate,
        "items_ever_flipped": found.items_flipped,
        "mean_minority_share": found.minority_share,
        "intra_rater_fleiss_kappa": found.kappa,
        "within_item_variance": found.binary.within,
        "between_item_variance": found.binary.between,
        "se_mean_now": found.binary.se_now,
        "se_mean_one_repeat": found.binary.se_one,
        "se_mean_infinite_repeats": found.binary.se_infinite,
        "reliability_one": found.binary.reliability_one,
        "reliability_m": found.binary.reliability_mean,
    }


ADAPTERS: dict[str, Callable[[Example], Results]] = {
    "fleiss_kappa": fleiss,
    "krippendorff_alpha": alpha,
    "many_raters_missing": many_raters_missing,
    "icc": icc,
    "human_ceiling": ceiling,
    "gold_noise_adjustment": noise,
    "alt_test": alt_test,
    "vote": votes,
    "dawid_skene": dawid,
    "majority_of_independent": independent,
    "optimal_repeats": optimal_repeats,
    "test_retest": retest,
}
