from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import Case, Criterion, Verdict, evaluate_sync
from judges.baseline import compared_names, drop_of, level_for, measure_drop
from judges.engine.run import Run
from judges.errors import InputError
from judges.measures import Measures
from support.builders import ANSWERED, GROUNDED, FunctionJudge, hashed, make_case, make_cases


def measured(
    folder: Path,
    score: Callable[[Case], float],
    cases: list[Case] | None = None,
    criteria: list[Criterion] | None = None,
    fingerprint: str = "function@1",
) -> Measures:
    judge = FunctionJudge(lambda case: Verdict(score(case)), fingerprint=fingerprint)
    evaluate_sync(cases or make_cases(30), criteria or [ANSWERED], judge, out=folder)
    return Measures(Run(folder))


def number(case: Case) -> int:
    return int(case.id[1:])


def test_a_drop_is_measured_within_cases(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", lambda case: 0.5 + number(case) / 100)
    after = measured(tmp_path / "b", lambda case: 0.4 + number(case) / 100 + number(case) % 2 / 50)
    drop = measure_drop(before, after, "answered")
    assert drop.figure.value == pytest.approx(0.09)
    assert drop.figure.ci_low is not None
    assert drop.figure.ci_low > 0.08
    assert drop.before == pytest.approx(0.645)
    assert drop.after == pytest.approx(0.555)
    assert drop.fell_most[0][1] == pytest.approx(0.1)
    assert drop.requirement(0.02).check(drop.figure).status == "FAIL"
    back = measure_drop(after, before, "answered")
    assert back.figure.value == pytest.approx(-0.09)
    assert back.requirement(0.02).check(back.figure).status == "PASS"
    assert back.fell_most == ()


def test_the_very_same_content_can_not_have_fallen(tmp_path: Path) -> None:
    before, after = (measured(tmp_path / name, lambda case: hashed(case.id)) for name in "ab")
    drop = measure_drop(before, after, "answered")
    assert drop.is_same
    assert (drop.figure.ci_low, drop.figure.value, drop.figure.ci_high) == (0.0, 0.0, 0.0)


def test_other_content_of_the_same_score_may_still_differ_elsewhere(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", lambda _: 0.5)
    after = measured(tmp_path / "b", lambda _: 0.5, [make_case(at, answer="another") for at in range(30)])
    drop = measure_drop(before, after, "answered")
    assert not drop.is_same
    assert drop.figure.value == 0.0
    assert drop.figure.ci_high is not None
    assert 0 < drop.figure.ci_high < 0.2


def test_cases_of_one_run_only_and_other_questions_are_counted(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", lambda _: 0.5, make_cases(10))
    after = measured(tmp_path / "b", lambda _: 0.5, [make_case(5, question="another"), *make_cases(14)[6:]])
    drop = measure_drop(before, after, "answered")
    assert (drop.figure.n, drop.only_before, drop.only_after, drop.other_question) == (4, 5, 4, 1)


def test_runs_without_a_case_in_common_have_no_drop(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", lambda _: 0.5, make_cases(3))
    after = measured(tmp_path / "b", lambda _: 0.5, make_cases(9)[5:])
    drop = measure_drop(before, after, "answered")
    assert (drop.figure.value, drop.figure.reason, drop.before) == (None, "no_data", None)
    assert drop.requirement(0.02).check(drop.figure, basis="this set").status == "UNDECIDED"


def test_another_judge_is_no_baseline(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", lambda _: 0.5)
    after = measured(tmp_path / "b", lambda _: 0.5, fingerprint="function@2")
    with pytest.raises(InputError, match="the judge or the wording of the criterion has changed"):
        measure_drop(before, after, "answered")
    with pytest.raises(InputError, match="no criterion was judged by the same judge"):
        compared_names(before, after)


def test_a_criterion_that_only_the_baseline_has_is_named(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", lambda _: 0.5, criteria=[ANSWERED, GROUNDED])
    after = measured(tmp_path / "b", lambda _: 0.5)
    assert compared_names(before, after) == (["answered"], ["grounded by function"])


def test_metrics_of_retrieval_are_compared_too(tmp_path: Path) -> None:
    cases = [
        [make_case(at, extra={"retrieved": ["x", "a"][skipped:], "relevant": ["a"]}) for at in range(8)]
        for skipped in (1, 0)
    ]
    before, after = (measured(tmp_path / str(at), lambda _: 0.5, each) for at, each in enumerate(cases))
    drop = measure_drop(before, after, "RR")
    assert (drop.before, drop.after, drop.figure.value) == (1.0, 0.5, 0.5)


def test_more_comparisons_ask_for_wider_intervals() -> None:
    assert [level_for(count) for count in (0, 1, 2, 5)] == pytest.approx([0.95, 0.95, 0.975, 0.99])


@given(st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.5, 1.0]), min_size=2, max_size=30), st.booleans())
def test_a_drop_lies_in_its_interval_and_turns_with_the_runs(values: list[float], clustered: bool) -> None:
    clusters = np.arange(len(values)) // 2 if clustered and len(values) > 3 else None
    found = drop_of(np.array(values), clusters)
    assert found.value == pytest.approx(sum(values) / len(values))
    turned = drop_of(-np.array(values), clusters)
    assert turned.value == pytest.approx(-(found.value or 0.0))
    if found.ci_low is not None and found.ci_high is not None:
        assert found.ci_low <= (found.value or 0.0) + 1e-12
        assert found.ci_high >= (found.value or 0.0) - 1e-12


def test_rounding_is_no_drop() -> None:
    figure = drop_of(np.array([0.1 + 0.2 - 0.3] * 10))
    assert figure.value == 0.0
    assert "zero_variance_differences" in figure.flags
