import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.cascade import Stage, cascade_cost
from judges.figures import to_record


def test_a_cascade_that_accepts_nothing_costs_the_human_and_its_agreement_is_undefined() -> None:
    result = cascade_cost([Stage(0.1, 0.0, None)], human_cost=2.0)
    assert (result.to_human, result.overall_agreement) == (1.0, 1.0)
    assert result.expected_cost == pytest.approx(2.1)
    assert (result.agreement_on_accepted.value, result.agreement_on_accepted.reason) == (None, "no_data")
    assert cascade_cost([], human_cost=0.0).saving.reason == "no_data"
    json.dumps(to_record(result), allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(
    stages=st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.floats(0, 1)), max_size=4),
    human_cost=st.floats(0, 10),
)
def test_every_item_of_a_cascade_ends_somewhere(stages: list[tuple[float, float, float]], human_cost: float) -> None:
    result = cascade_cost([Stage(*each) for each in stages], human_cost=human_cost)
    assert result.to_human + sum(step.accepted for step in result.per_stage) == pytest.approx(1)
    json.dumps(result.to_record(), allow_nan=False)


def test_shares_and_costs_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="stage 0: accept"):
        cascade_cost([Stage(0.1, 0.5, None)], human_cost=1.0)
    with pytest.raises(ValueError, match="stage 0: cost"):
        cascade_cost([Stage(-1.0, 0.5, 0.1)], human_cost=1.0)
    with pytest.raises(ValueError, match="human cost"):
        cascade_cost([], human_cost=-1.0)
