"""A calibration as `judges calibrate --save` keeps one, with round numbers."""

from collections.abc import Sequence

import numpy as np

from calibration.saved import Calibration, SavedThreshold, Way
from calibration.statistics.spread import spread_of
from judges.fingerprint import Json
from judges.intervals import proportion_of_counts
from support.builders import ANSWERED

DESCRIBED: dict[str, Json] = {"model": "m-1", "parameters": {"temperature": 0}}
THEN = np.random.default_rng(0).random(1000).round(2)
"""Scores of the cases of then."""


def calibration(
    chosen: Way = "random",
    *,
    table: tuple[tuple[int, int, int, int], ...] = ((80, 10, 20, 90),),
    cluster: str | None = None,
    scores: Sequence[float] = THEN.tolist(),
) -> Calibration:
    """Of `function@1` on ANSWERED: it finds 80% of people's passes and 90% of their fails, from 0.6 on."""
    passed = sum(score >= 0.6 for score in scores)
    return Calibration(
        criterion=ANSWERED.to_record(),
        judge="function",
        judge_fingerprint="function@1",
        judge_described=DESCRIBED,
        label="gold.answered",
        positive="pass",
        cluster=cluster,
        chosen=chosen,
        made="2025-03-01T12:00:00+00:00",
        versions={},
        threshold=SavedThreshold(0.6, "kappa", 0.55, 0.7, 0.5),
        map={"kind": "platt", "a": -4.0, "b": 2.0},
        table=table,
        passes_found=proportion_of_counts(80, 100),
        fails_found=proportion_of_counts(90, 100),
        passes_right=proportion_of_counts(80, 90),
        fails_right=proportion_of_counts(90, 110),
        people_rate=proportion_of_counts(100, 200),
        judge_rate=proportion_of_counts(passed, len(scores)),
        scores=spread_of(scores),
    )
