import pytest

from calibration.decision import decide
from judges.figures import Figure, undefined
from judges.gate import Requirement


def test_more_labels_settle_it_and_a_figure_on_the_bound_never_is() -> None:
    near = Figure(0.5, 0.1, 0.9, n=50)
    required = [Requirement.parse("x>=0.4")]
    [check] = decide({"x": near}, required, labelled=100, pass_rate=0.9, constant=False).checks
    assert check.needed is not None
    # the half width of 0.4 must shrink to 0.1, by 2.8/1.96 more for a power of 80%; twice the labels a case of x
    assert check.needed.more == pytest.approx(2 * 50 * ((0.4 / 0.1 * 2.8016 / 1.96) ** 2 - 1), rel=0.01)
    assert check.needed.more is not None
    assert check.needed.more_fails == pytest.approx(check.needed.more * 0.1, abs=1)
    [on_it] = decide({"x": Figure(0.4, 0.1, 0.7, n=50)}, required, labelled=100, pass_rate=0.9, constant=False).checks
    assert on_it.needed is not None
    assert on_it.needed.more is None


def test_all_must_pass_and_one_failure_fails_all() -> None:
    figures = {
        "good": Figure(0.9, 0.8, 1.0, n=50),
        "open": Figure(0.5, 0.2, 0.8, n=50),
        "bad": Figure(0.1, 0.0, 0.2, n=50),
        "none": undefined("no_data"),
    }

    def status(*names: str) -> str:
        required = [Requirement(name, ">=", 0.5) for name in names]
        return decide(figures, required, labelled=50, pass_rate=None, constant=False).status

    assert status("good") == "PASS"
    assert status("good", "open") == status("good", "none") == "UNDECIDED"
    assert status("good", "open", "bad") == "FAIL"
