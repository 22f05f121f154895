"""Worked examples of thresholds and elbows of retrieval (section 10)."""

from collections.abc import Callable

from calibration.statistics.elbow import elbow
from calibration.statistics.no_answer import Costs, Queries, choose, sweep
from support.examples import Example, Results


def no_answer_sweep(example: Example) -> Results:
    given, paid = example.inputs, example.params
    queries = Queries.of(given["top_score"], given["answerable"], given["answer_correct"])
    costs = Costs(paid["cost_false_accept"], paid["cost_false_reject"], paid["cost_accepted_wrong"])
    chosen = choose(queries, costs)
    return {
        "sweep": [
            {
                "threshold": each.threshold,
                "accepted": each.accepted,
                "rejected": each.rejected,
                "false_accept": each.false_accept,
                "false_reject": each.false_reject,
                "accepted_wrong": each.accepted_wrong,
                "accepted_correct": each.accepted_correct,
                "precision_of_accepted": each.precision,
                "tpr_answerable": each.answerable_accepted,
                "fpr_unanswerable": each.unanswerable_accepted,
                "cost": each.cost(costs),
            }
            for each in sweep(queries)
        ],
        "best_cost_threshold": chosen.threshold,
        "best_cost": chosen.cost(costs),
    }


def elbow_max_distance(example: Example) -> Results:
    found = elbow(example.inputs["x"], example.inputs["y"], example.inputs["shape"])
    return {
        "elbow_x": found.x,
        "difference_curve": list(found.difference_curve),
        "max_difference": found.max_difference,
    }


ADAPTERS: dict[str, Callable[[Example], Results]] = {
    "no_answer_sweep": no_answer_sweep,
    "elbow_max_distance": elbow_max_distance,
}
