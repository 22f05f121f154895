import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.statistics.elbow import Shape, elbow

CURVE = [(0.0, 10.0), (1.0, 6.0), (2.0, 3.8), (3.0, 2.6), (4.0, 2.0), (5.0, 1.7)]


@pytest.mark.parametrize(
    ("shape", "along", "up"),
    [
        ("convex-decreasing", 1, 1),
        ("concave-increasing", 1, -1),
        ("convex-increasing", -1, 1),
        ("concave-decreasing", -1, -1),
    ],
)
def test_a_curve_turned_over_has_the_same_elbow(shape: Shape, along: int, up: int) -> None:
    points = sorted((along * x, up * y) for x, y in CURVE)
    found = elbow([x for x, _ in points], [y for _, y in points], shape)
    first = elbow([x for x, _ in CURVE], [y for _, y in CURVE], "convex-decreasing")
    assert found.x == along * (first.x or 0)
    assert found.max_difference == pytest.approx(first.max_difference)


@given(st.floats(0.1, 100), st.floats(-100, 100))
def test_units_do_not_matter(scale: float, shift: float) -> None:
    first = elbow([x for x, _ in CURVE], [y for _, y in CURVE], "convex-decreasing")
    found = elbow([x for x, _ in CURVE], [scale * y + shift for _, y in CURVE], "convex-decreasing")
    assert found.x == first.x
    assert found.difference_curve == pytest.approx(first.difference_curve, abs=1e-6)


@pytest.mark.parametrize("y", [[3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [3.0, 2.9, 1.0]])
def test_what_is_straight_flat_or_bends_the_other_way_has_no_elbow(y: list[float]) -> None:
    found = elbow([0.0, 1.0, 2.0], y, "convex-decreasing")
    assert (found.x, found.reason, found.max_difference) == (None, "no_elbow", None)
    assert found.to_record()["reason"] == "no_elbow"


def test_two_points_make_no_curve() -> None:
    assert elbow([0, 1], [1, 0], "convex-decreasing").reason == "no_data"


@pytest.mark.parametrize(
    ("x", "y", "complaint"),
    [
        ([0, 0, 1], [1, 2, 3], "x doesn't rise"),
        ([0, 1], [1, 2, 3], "3 of y for 2 items"),
        ([0, 1, float("nan")], [1, 2, 3], "a x is missing or not finite"),
    ],
)
def test_points_that_make_no_curve_are_an_error(x: list[float], y: list[float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        elbow(x, y, "convex-decreasing")
