"""What counts as found."""

import numpy as np
import pytest

from calibration.findings import Finding, Measure, adjusted, effect_of_change, repeat_noise, turned
from calibration.statistics.probes import Effect, perturbation
from judges.figures import Figure, undefined


def finding(measure: Measure, value: float | None, p_value: float | None = None) -> Finding:
    figure = undefined("no_data") if value is None else Figure(value, value - 0.1, value + 0.1, n=40)
    return Finding("probe", "", "what", measure, Effect(figure, p_value, None))


@pytest.mark.parametrize(
    ("measure", "value", "p_value", "found"),
    [
        ("change", 0.3, 0.001, "shown"),
        ("change", 0.3, 0.2, "not_shown"),
        ("change", 0.0, 1.0, "not_shown"),
        ("change", 0.3, None, "undefined"),
        ("gap", -0.3, 0.001, "shown"),
        ("rate", 0.02, None, "shown"),
        ("rate", 0.0, None, "not_shown"),
        ("rate", None, None, "undefined"),
        ("description", 0.4, None, "description"),
    ],
)
def test_a_change_needs_a_test_and_a_rate_a_single_case(
    measure: Measure, value: float | None, p_value: float | None, found: str
) -> None:
    [one] = adjusted([finding(measure, value, p_value)])
    assert one.found == found
    assert one.to_record()["found"] == found


def test_the_more_probes_the_less_a_small_p_says() -> None:
    alone = adjusted([finding("change", 0.3, 0.03)])
    among = adjusted([finding("change", 0.3, 0.03), finding("change", 0.1, 0.5), finding("rate", 0.1)])
    assert [each.found for each in alone] == ["shown"]
    assert [each.found for each in among] == ["not_shown", "not_shown", "shown"]


def test_equal_changes_are_tested_by_their_signs() -> None:
    found = perturbation(np.zeros(8), np.full(8, 0.25))
    assert found.effect.p_value is None
    assert effect_of_change(found).p_value == pytest.approx(2 / 2**8)


def test_verdicts_that_turn_are_counted_each_way() -> None:
    before, after = (np.array(each, dtype=np.bool_) for each in ([1, 1, 0, 0, 0], [1, 0, 1, 1, 0]))
    made = turned(before, after, None)
    assert (made.of, made.to_pass, made.to_fail, made.rate.value) == (5, 2, 1, 0.6)


def test_repeats_without_a_verdict_are_left_out_and_counted() -> None:
    found = repeat_noise([[0.9, 0.8], [0.9, 0.1], [None, 0.1], [0.5, 0.5]], 0.5, None, "twice")
    figure = found.effect.figure
    assert (figure.n, figure.n_dropped) == (3, 1)
    assert figure.value == pytest.approx(1 / 3)
    assert found.turned is not None
    assert (found.turned.to_pass, found.turned.to_fail) == (0, 1)
