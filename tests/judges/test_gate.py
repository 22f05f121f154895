import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.errors import InputError
from judges.figures import Figure, undefined
from judges.gate import Requirement, Status

OPERATORS = (">=", ">", "<=", "<", "==")


@pytest.mark.parametrize(
    ("text", "name", "operator", "bound"),
    [
        ("kappa>=0.6", "kappa", ">=", 0.6),
        ("recall@4>=0.85", "recall@4", ">=", 0.85),
        ("answered_unanswerable<=0", "answered_unanswerable", "<=", 0.0),
        (" pass-rate > 1e-3 ", "pass-rate", ">", 0.001),
        ("gold.x<-2", "gold.x", "<", -2.0),
        ("fails==0", "fails", "==", 0.0),
    ],
)
def test_a_requirement_is_a_name_an_operator_and_a_number(text: str, name: str, operator: str, bound: float) -> None:
    found = Requirement.parse(text)
    assert (found.name, found.operator, found.bound) == (name, operator, bound)
    assert Requirement.parse(str(found)) == found


@pytest.mark.parametrize(
    "text",
    ["", "kappa", "kappa=0.6", "kappa>=", ">=0.6", "kappa>=high", "kappa>=nan", "kappa>=inf", "kappa>==1", "a b>=1"],
)
def test_what_is_no_requirement_gets_one_line_that_shows_how_to_write_one(text: str) -> None:
    with pytest.raises(InputError, match=r"is no requirement; write it as in 'kappa>=0\.6'") as caught:
        Requirement.parse(text)
    assert "\n" not in str(caught.value)


def test_text_that_would_move_a_cursor_is_shown_as_text() -> None:
    with pytest.raises(InputError) as caught:
        Requirement.parse("\x1b[2Jkappa")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "low", "high", "status"),
    [
        ("x>=0.5", 0.5, 0.7, "PASS"),
        ("x>=0.5", 0.4, 0.5, "UNDECIDED"),
        ("x>=0.5", 0.3, 0.49, "FAIL"),
        ("x>0.5", 0.5, 0.7, "UNDECIDED"),
        ("x>0.5", 0.3, 0.5, "FAIL"),
        ("x<=0", 0.0, 0.0, "PASS"),
        ("x<=0", 0.0, 0.1, "UNDECIDED"),
        ("x<=0", 0.01, 0.1, "FAIL"),
        ("x<0.5", 0.1, 0.4, "PASS"),
        ("x<0.5", 0.5, 0.6, "FAIL"),
        ("x==0", 0.0, 0.0, "PASS"),
        ("x==0", -0.1, 0.1, "UNDECIDED"),
        ("x==0", 0.0, 0.1, "UNDECIDED"),
        ("x==0", 0.1, 0.2, "FAIL"),
    ],
)
def test_the_whole_interval_must_lie_on_the_right_side(text: str, low: float, high: float, status: Status) -> None:
    assert Requirement.parse(text).check(Figure((low + high) / 2, low, high)).status == status


def test_on_this_set_the_value_alone_decides() -> None:
    figure = Figure(0.0, 0.0, 0.2, n=18)
    requirement = Requirement.parse("answered_unanswerable<=0")
    assert requirement.check(figure).status == "UNDECIDED"
    assert requirement.check(figure, basis="this set").status == "PASS"
    assert requirement.check(Figure(0.1), basis="this set").status == "FAIL"


def test_what_does_not_exist_decides_nothing_and_says_why() -> None:
    requirement = Requirement.parse("kappa>=0.6")
    for basis in ("interval", "this set"):
        found = requirement.check(undefined("single_category"), basis=basis)
        assert (found.status, found.reason) == ("UNDECIDED", "kappa is undefined (single_category)")
    bare = requirement.check(Figure(0.9, reason="too_few_clusters"))
    assert (bare.status, bare.reason) == ("UNDECIDED", "kappa has no interval (too_few_clusters)")


@given(
    st.sampled_from(OPERATORS),
    st.floats(-2, 2),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(sorted),
    st.floats(0, 1),
)
def test_a_decision_holds_for_every_value_in_the_interval(
    operator: str, bound: float, ends: list[float], share: float
) -> None:
    low, high = ends
    inside = min(max(low + share * (high - low), low), high)
    requirement = Requirement.parse(f"x{operator}{bound!r}")
    status = requirement.check(Figure(inside, low, high)).status
    if status != "UNDECIDED":
        assert requirement.holds(inside) == (status == "PASS")


def test_the_record_is_json() -> None:
    record = Requirement.parse("kappa>=0.6").check(undefined("no_data")).to_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["status"] == "UNDECIDED"
