from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.statistics.multiplicity import benjamini_hochberg, benjamini_yekutieli, bonferroni, holm
from support.worked.multiplicity import METHODS, Adjust

p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=20)
methods = pytest.mark.parametrize("adjust", METHODS.values(), ids=METHODS)


@methods
@given(p=p_values, random=st.randoms())
def test_the_order_of_the_tests_does_not_matter_and_equal_p_values_stay_equal(
    adjust: Adjust, p: list[float], random: Random
) -> None:
    places = list(range(len(p)))
    random.shuffle(places)
    adjusted = adjust(p)
    assert adjust([p[each] for each in places]) == pytest.approx([adjusted[each] for each in places])
    for first, second in zip(p, adjusted, strict=True):
        assert all(other == pytest.approx(second) for value, other in zip(p, adjusted, strict=True) if value == first)


@given(p=p_values)
def test_adjusting_never_lowers_a_p_value_and_the_stricter_aim_costs_more(p: list[float]) -> None:
    for raw, bh, by, step, bound in zip(
        p, benjamini_hochberg(p), benjamini_yekutieli(p), holm(p), bonferroni(p), strict=True
    ):
        assert raw <= bh + 1e-12
        assert bh <= by + 1e-12
        assert bh <= step + 1e-12
        assert step <= bound <= 1


@methods
@pytest.mark.parametrize("wrong", [-0.01, 1.01, float("nan"), float("inf")])
def test_what_is_no_p_value_is_refused(adjust: Adjust, wrong: float) -> None:
    with pytest.raises(ValueError, match="leave out tests that have none"):
        adjust([0.5, wrong])


@methods
def test_a_table_of_p_values_is_refused(adjust: Adjust) -> None:
    with pytest.raises(ValueError, match="flat list"):
        adjust([[0.5, 0.1]])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


@methods
def test_no_test_gives_no_p_value(adjust: Adjust) -> None:
    assert adjust([]) == ()
