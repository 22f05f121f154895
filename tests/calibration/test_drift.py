"""Then and now: a change of the judge is told from its noise."""

import numpy as np
import pytest

from calibration.drift import Anchor, Drift, drift_of


def judged(n: int, seed: int, *, then: float, now: float, noise: float, clusters: int = 0, repeats: int = 1) -> Drift:
    """Cases of which a judge says the truth but for its noise; `then` and `now` of the failed ones it passes."""
    rng = np.random.default_rng(seed)
    anchors = list[Anchor]()
    for place in range(n):
        good = bool(rng.random() < 0.5)
        rates = [1 - noise if good else max(noise, lenient) for lenient in (then, now)]
        scores = [
            [float(rng.random() < rate) for _ in range(count)] for rate, count in zip(rates, (repeats, 2), strict=True)
        ]
        group = str(place % clusters) if clusters else None
        anchors.append(Anchor(f"c{place}", group, "pass" if good else "fail", *scores))
    return drift_of(anchors, 0.5)


def test_a_judge_that_has_become_lenient_is_found() -> None:
    found = judged(100, 1, then=0.05, now=0.6, noise=0.05)
    assert found.found == "changed"
    assert (found.shift.difference.ci_low or 0) > 0.1
    assert found.turned.to_pass is not None
    assert found.turned.to_pass > 10
    assert found.kappa is not None
    assert (found.kappa.kappa_a.value or 0) < (found.kappa.kappa_b.value or 0)
    assert len(found.changed) == found.turned.to_pass + (found.turned.to_fail or 0)


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_noisy_judge_that_has_not_changed_is_seldom_taken_for_another(repeats: int) -> None:
    runs = [judged(60, seed, then=0.2, now=0.2, noise=0.2, repeats=repeats) for seed in range(200)]
    assert sum(each.found == "changed" for each in runs) <= 13  # 5% of 200, and what chance allows
    assert np.mean([each.beyond.difference.value or 0.0 for each in runs]) == pytest.approx(0, abs=0.01)
    assert min(each.noise.value or 0.0 for each in runs) > 0.1


def test_a_judge_that_turned_round_without_a_shift_is_found_beyond_its_noise() -> None:
    anchors = [Anchor(str(n), None, None, [float(n % 2)], [float(1 - n % 2)] * 2) for n in range(40)]
    found = drift_of(anchors, 0.5)
    assert found.shift.difference.value == 0
    assert found.beyond.difference.value == 1
    assert (found.found, found.p_shift) == ("changed", 1)
    assert found.kappa is None


def test_a_judge_that_says_the_very_same_has_a_bound() -> None:
    found = drift_of([Anchor(str(n), None, "pass", [0.8], [0.8, 0.8]) for n in range(50)], 0.5)
    assert found.found == "not_shown"
    assert found.beyond.difference.ci_high is not None
    assert 0 < found.beyond.difference.ci_high < 0.08


def test_cases_without_a_verdict_on_both_days_are_left_out_and_counted() -> None:
    anchors = [
        Anchor("a", None, "pass", [1.0], [1.0, 1.0]),
        Anchor("b", None, "pass", [None], [1.0, 1.0]),
        Anchor("c", None, "pass", [1.0], [1.0, None]),
        Anchor("d", None, "fail", [None, 0.0], [0.0, 0.0]),
    ]
    found = drift_of(anchors, 0.5)
    assert (found.left_out, found.between.n) == (2, 2)
    assert drift_of(anchors[1:3], 0.5).found == "undefined"
    assert drift_of([], 0.5).to_record()["found"] == "undefined"


def test_groups_are_allowed_for() -> None:
    found = judged(90, 3, then=0.1, now=0.3, noise=0.1, clusters=12)
    assert found.beyond.difference.n_clusters == 12
    assert found.between.n_clusters == 12
