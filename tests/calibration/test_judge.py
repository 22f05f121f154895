"""A calibrated judge is a judge again: its scores are chances that people pass the case."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.judge import Calibrated
from judges import Abstained, Case, InputError, Verdict, evaluate_sync
from judges.conformance import check_judge
from support.builders import ANSWERED, GROUNDED, FunctionJudge, make_cases
from support.calibrations import calibration


def judged(case: Case) -> object:
    """Scores 0.0 to 0.9 by the case's number; of the last it can't say."""
    number = int(case.id[1:])
    return Abstained("no_answer") if number == 9 else Verdict(number / 10, f"number {number}")


def test_scores_become_chances_and_the_same_cases_pass() -> None:
    judge = Calibrated(FunctionJudge(judged), calibration())
    outcomes = [each.outcome for each in evaluate_sync(make_cases(10), ANSWERED, judge)]
    verdicts = [each for each in outcomes if isinstance(each, Verdict)]
    scores = np.arange(9) / 10
    assert [each.score for each in verdicts] == pytest.approx((1 / (1 + np.exp(2 - 4 * scores))).tolist())
    assert [each.score >= judge.threshold for each in verdicts] == (scores >= 0.6).tolist()
    assert verdicts[3].rationale == "0.31 from a score of 0.30: number 3"
    assert outcomes[9] == Abstained("no_answer")


def test_it_keeps_the_promises_of_a_judge() -> None:
    check_judge(
        Calibrated(FunctionJudge(lambda case: Verdict(len(case.answer or "") % 10 / 10)), calibration()), [ANSWERED]
    )


def test_another_map_is_another_judge_and_other_criteria_are_not_its_own() -> None:
    one = Calibrated(FunctionJudge(judged), calibration())
    refitted = Calibrated(one.inner, replace(calibration(), map={"kind": "platt", "a": -3.0, "b": 1.0}))
    assert len({one.fingerprint, refitted.fingerprint, one.inner.fingerprint}) == 3
    assert one.supports(ANSWERED)
    assert not one.supports(GROUNDED)
    assert not one.supports(replace(ANSWERED, description="Well answered?"))


def test_a_calibration_of_another_judge_or_without_a_map_is_refused() -> None:
    with pytest.raises(InputError, match="is not of this judge, `function` as it is now"):
        Calibrated(FunctionJudge(judged, fingerprint="function@2"), calibration())
    with pytest.raises(InputError, match="has no map from scores to chances"):
        Calibrated(FunctionJudge(judged), replace(calibration(), map=None))
