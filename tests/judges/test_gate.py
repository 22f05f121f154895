import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.errors import InputError
from judges.figures import Figure, undefined
from judges.gate import Requirement, Status, status_of
from judges.intervals import mean, proportion_of_counts

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
        ("tone.strict  by openai:gpt-6 >= .5", "tone.strict by openai:gpt-6", ">=", 0.5),
    ],
)
def test_a_requirement_is_a_name_an_operator_and_a_number(text: str, name: str, operator: str, bound: float) -> None:
    found = Requirement.parse(text)
    assert (found.name, found.operator, found.bound) == (name, operator, bound)
    assert Requirement.parse(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kappa",
        "kappa=0.6",
        "kappa>=",
        ">=0.6",
        "kappa>=high",
        "kappa>=nan",
        "kappa>=inf",
        "kappa>==1",
        "a b>=1",
        "a by>=1",
    ],
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


@given(st.sampled_from(OPERATORS[:4]), st.floats(-2, 2), st.floats(-2, 2))
def test_what_is_forbidden_holds_exactly_where_the_requirement_does_not(
    operator: str, bound: float, value: float
) -> None:
    requirement = Requirement.parse(f"x{operator}{bound!r}")
    assert requirement.opposite().holds(value) is not requirement.holds(value)
    assert requirement.opposite().opposite() == requirement


def test_one_value_can_not_be_forbidden() -> None:
    with pytest.raises(InputError, match="can't be forbidden"):
        Requirement.parse("fails==0").opposite()


def test_nothing_passes_on_what_is_left_when_too_many_judgements_failed() -> None:
    passed = Requirement.parse("x>=0.5").check(Figure(0.9, 0.8, 1.0))
    assert passed.unless_failed(0.05, 0.05) == passed
    withheld = passed.unless_failed(0.12, 0.05)
    assert (withheld.status, withheld.withheld) == ("UNDECIDED", True)
    assert withheld.reason == "12% of the judgements failed or are missing, more than 5%"
    failed = Requirement.parse("x>=0.5").check(Figure(0.2, 0.1, 0.3))
    assert failed.unless_failed(1.0, 0.05) == failed


@given(st.integers(5, 300), st.integers(0, 300), st.floats(0.05, 0.95))
def test_so_many_more_cases_decide_a_proportion_that_stays_the_same(n: int, successes: int, bound: float) -> None:
    successes = min(successes, n)
    result = Requirement("x", ">=", bound).check(proportion_of_counts(successes, n))
    more = result.more_cases
    if result.status != "UNDECIDED":
        assert more is None
    elif more is not None and more < 100_000:
        total = n + more
        grown = proportion_of_counts(round(successes * total / n), total)
        value = successes / n
        low, high = grown.ci_low or 0.0, grown.ci_high or 1.0
        nearest = low if value > bound else high
        assert nearest == pytest.approx(bound, abs=0.02 + 1 / total)


def test_so_many_more_cases_decide_a_mean() -> None:
    scores = [0.4, 0.6, 0.8, 0.5, 0.7] * 4
    result = Requirement("x", ">=", 0.58).check(mean(scores))
    assert result.status == "UNDECIDED"
    assert result.more_cases is not None
    times = result.more_cases // len(scores)
    assert Requirement("x", ">=", 0.58).check(mean(scores * (times + 2))).status == "PASS"
    assert Requirement("x", ">=", 0.58).check(mean(scores * (times // 2))).status == "UNDECIDED"


@pytest.mark.parametrize(
    "figure", [Figure(0.6, 0.5, 0.7, n=9), Figure(0.6, n=9), Figure(0.6, 0.6, 0.6, n=9), undefined("no_data")]
)
def test_where_no_number_of_cases_can_be_told_none_is(figure: Figure) -> None:
    assert Requirement("x", ">", 0.6).check(figure).more_cases is None
    assert Requirement("x", "==", 0.6).check(figure).more_cases is None


def test_results_together_are_as_good_as_the_worst() -> None:
    passed, failed, open_ = (
        Requirement.parse("x>=0.5").check(Figure(value, value - 0.1, value + 0.1)) for value in (0.9, 0.2, 0.5)
    )
    assert status_of([]) == status_of([passed]) == "PASS"
    assert status_of([passed, open_]) == "UNDECIDED"
    assert status_of([open_, failed, passed]) == "FAIL"
