"""How many labels a run needs."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from calibration.planning import Expected, Goal, expect, fails_among, half_width, need
from calibration.sampling import How, frame_of
from calibration.statistics.post_stratified import post_stratified
from calibration.statistics.power import plan_kappa_halfwidth, plan_proportion
from judges import InputError, Run, Verdict, evaluate_sync
from support.builders import ANSWERED, FunctionJudge, make_case

MANY = Expected(pass_rate=0.8, kappa=0.6, judge_pass_rate=0.8, population=100_000, deff=1.0)


def test_independent_cases_need_what_the_planner_says() -> None:
    planned: dict[Goal, int] = {
        "kappa": plan_kappa_halfwidth(0.6, 0.8, 0.1).n,
        "pass_rate": plan_proportion(0.8, 0.1).wilson.n,
    }
    for goal, n in planned.items():
        found = need(goal, 0.1, MANY, "random")
        assert found is not None
        assert (found.n, found.enough_cases) == (n, True)
        assert found.human_fails == pytest.approx(0.2 * n)


def test_labels_by_verdict_hold_more_fails_than_random_ones() -> None:
    assert fails_among(100, MANY, "random") == pytest.approx(20)
    by_verdict = 50 * (1 - MANY.people_pass(True)) + 50 * (1 - MANY.people_pass(False))
    assert fails_among(100, MANY, "by_verdict") == pytest.approx(by_verdict)
    assert by_verdict > 30


def test_a_run_that_is_too_small_is_told_how_many_cases_it_takes_and_what_all_of_its_own_give() -> None:
    small = Expected(0.8, 0.6, 0.8, population=40, deff=1.0)
    found = need("kappa", 0.1, small, "random")
    assert found is not None
    assert (found.n, found.enough_cases) == (plan_kappa_halfwidth(0.6, 0.8, 0.1).n, False)
    assert found.reached == pytest.approx(half_width("kappa", 40, small, "random"))
    assert need("pass_rate_with_judge", 0.01, small, "by_verdict") is None


def test_groups_count_less_in_a_small_sample_than_if_every_case_were_labelled() -> None:
    grouped = Expected(0.8, 0.6, 0.8, population=1000, deff=3.0)
    assert grouped.deff_of(1) == 1
    assert grouped.deff_of(1000) == 3
    found = need("pass_rate", 0.05, grouped, "random")
    alone = plan_proportion(0.8, 0.05).wilson.n
    assert found is not None
    assert alone < found.n < 3 * alone
    assert found.n == pytest.approx(alone * grouped.deff_of(found.n), abs=2)


def test_the_design_effect_of_a_sample_is_what_drawing_from_groups_gives() -> None:
    generator = np.random.default_rng(0)
    groups, size, n = 200, 5, 250
    values = np.repeat(generator.normal(size=groups), size) + 0.5 * generator.normal(size=groups * size)
    values -= values.mean()
    sums = values.reshape(groups, size).sum(axis=1)
    full = float(sums @ sums) / float(values @ values)
    found: list[float] = []
    for _ in range(400):
        kept = generator.choice(values.size, n, replace=False)
        by_group = np.bincount(kept // size, weights=values[kept], minlength=groups)
        found.append(float(by_group @ by_group) / float(values[kept] @ values[kept]))
    planned = Expected(0.8, 0.6, 0.8, population=groups * size, deff=full).deff_of(n)
    assert float(np.mean(found)) == pytest.approx(planned, rel=0.03)


@pytest.mark.parametrize("how", ["random", "by_verdict"])
def test_the_judge_s_help_is_foreseen_as_the_post_stratified_interval_has_it(how: How) -> None:
    expected, n = Expected(0.7, 0.6, 0.8, population=4000, deff=1.0), 400
    planned = half_width("pass_rate_with_judge", n, expected, how)
    passes = 320 if how == "random" else 200
    human, judge = list[bool](), list[bool]()
    for count, verdict in ((passes, True), (n - passes, False)):
        good = round(count * expected.people_pass(verdict))
        human += [True] * good + [False] * (count - good)
        judge += [verdict] * count
    others = [True] * (3200 - passes) + [False] * (800 - n + passes)
    estimate = post_stratified(human, judge, others).estimate
    assert estimate.ci_low is not None
    assert estimate.ci_high is not None
    assert (estimate.ci_high - estimate.ci_low) / 2 == pytest.approx(planned, rel=0.05)


def test_what_people_pass_given_the_verdict_follows_from_kappa() -> None:
    expected = Expected(0.7, 0.5, 0.8, 100, 1.0)
    passed, failed = expected.people_pass(True), expected.people_pass(False)
    assert 0.8 * passed + 0.2 * failed == pytest.approx(0.7)
    agreed = 0.8 * passed + 0.2 * (1 - failed)
    chance = 0.8 * 0.7 + 0.2 * 0.3
    assert (agreed - chance) / (1 - chance) == pytest.approx(0.5)


def test_a_run_s_expectations_are_those_of_its_judge_and_its_groups(tmp_path: Path) -> None:
    cases = [make_case(number, extra={"item": number // 4}) for number in range(40)]
    judge = FunctionJudge(lambda case: Verdict(float(int(case.id[1:]) // 4 % 2)))
    evaluate_sync(cases, ANSWERED, judge, out=tmp_path / "run")
    run = Run(tmp_path / "run")
    manifest = run.manifest()
    frame = frame_of(run, manifest, manifest.assignments[0], "random", cluster="item")
    expected = expect(frame, pass_rate=0.9)
    assert (expected.pass_rate, expected.judge_pass_rate, expected.population) == (0.9, 0.5, 40)
    assert expected.deff == pytest.approx(4 * 10 / 9)
    with pytest.raises(InputError, match=r"--pass-rate 1\.0: give a number"):
        expect(frame, pass_rate=1.0)
    with pytest.raises(InputError, match=r"--kappa 1\.0: give a number"):
        expect(frame, kappa=1.0)
    with pytest.raises(InputError, match="half width"):
        need("kappa", 0.5, expected, "random")


def test_a_judge_that_passes_everything_leaves_nothing_to_plan_with(tmp_path: Path) -> None:
    evaluate_sync([make_case(0), make_case(1)], ANSWERED, FunctionJudge(lambda _: Verdict(1.0)), out=tmp_path / "run")
    run = Run(tmp_path / "run")
    manifest = run.manifest()
    with pytest.raises(InputError, match="the judge passes every case"):
        expect(frame_of(run, manifest, manifest.assignments[0], "random"))


def test_half_widths_shrink_with_the_root_of_the_labels() -> None:
    assert half_width("kappa", 100, MANY, "random") == pytest.approx(2 * half_width("kappa", 400, MANY, "random"))
    assert half_width("pass_rate", 10_000, MANY, "random") == pytest.approx(1.96 * sqrt(0.16 / 10_000), rel=1e-3)
