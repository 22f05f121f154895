"""Worked examples of many tests at once (section 9)."""

from collections.abc import Callable, Sequence

from calibration.statistics.multiplicity import benjamini_hochberg, benjamini_yekutieli, bonferroni, holm
from support.examples import Example, Results

Adjust = Callable[[Sequence[float]], tuple[float, ...]]
METHODS: dict[str, Adjust] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
}


def multiple_comparisons(example: Example) -> Results:
    results: dict[str, object] = {}
    for name, adjust in METHODS.items():
        adjusted = adjust(example.inputs["p_values"])
        rejected = [each <= float(example.inputs["alpha"]) for each in adjusted]
        results[name] = {"adjusted": list(adjusted), "rejected": rejected, "count": sum(rejected)}
    return results


ADAPTERS: dict[str, Callable[[Example], Results]] = {"multiple_comparisons": multiple_comparisons}
