from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.statistics.multiplicity import benjamini_hochberg, benjamini_yekutieli, bonferroni, holm
from support.examples import Example, Results, check, load_examples

Adjust = Callable[[Sequence[float]], tuple[float, ...]]
METHODS: dict[str, Adjust] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
}
EXAMPLES = [example for example in load_examples(9) if example.task == "multiple_comparisons"]

p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=20)
methods = pytest.mark.parametrize("adjust", METHODS.values(), ids=METHODS)


def multiple_comparisons(example: Example) -> Results:
    results: dict[str, object] = {}
    for name, adjust in METHODS.items():
        adjusted = adjust(example.inputs["p_values"])
        rejected = [each <= float(example.inputs["alpha"]) for each in adjusted]
        results[name] = {"adjusted": list(adjusted), "rejected": rejected, "count": sum(rejected)}
    return results


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.id for example in EXAMPLES])
def test_a_worked_example_has_its_published_value(example: Example) -> None:
    check(example.expected, multiple_comparisons(example), example.tol, example.id)


def test_no_example_is_left_out() -> None:
    assert len(EXAMPLES) == 3


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
