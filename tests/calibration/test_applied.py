"""A saved calibration on a run: which judge it holds for, what it corrects, what it warns of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.applied import Corrected, bind, chance_of, corrected
from calibration.saved import Calibration, calibration_from, write_calibrations
from calibration.statistics.post_stratified import post_stratified_of_counts
from calibration.statistics.rogan_gladen import rogan_gladen_of_counts
from judges import Case, InputError, Run, Verdict, evaluate_sync
from judges.engine.plan import Assignment
from judges.figures import undefined
from judges.fingerprint import Json
from support.builders import ANSWERED, GROUNDED, FunctionJudge, make_case, make_cases
from support.calibrations import DESCRIBED, THEN, calibration

HERE = Assignment(ANSWERED, "function", "function@1", 0.5, DESCRIBED)


def written(folder: Path, *calibrations: Calibration, name: str = "one.json") -> Path:
    write_calibrations(folder / name, calibrations)
    return folder / name


def applied(
    folder: Path, own: Calibration, scores: Sequence[float], extra: Sequence[Mapping[str, Json]] | None = None
) -> Corrected:
    """The calibration on a run whose judge gives these scores."""

    def score(case: Case) -> Verdict:
        return Verdict(scores[int(case.id[1:])])

    home = folder / f"run {len(list(folder.iterdir()))}"
    cases = [make_case(place, extra={} if extra is None else extra[place]) for place in range(len(scores))]
    evaluate_sync(cases, ANSWERED, FunctionJudge(score), out=home)
    run = Run(home)
    manifest = run.manifest()
    bound = bind([written(folder, own)], manifest.assignments)
    [found] = corrected(run, replace(manifest, assignments=bound))
    return found


# To which judge it belongs


def test_it_brings_its_threshold_and_changes_no_key(tmp_path: Path) -> None:
    other = Assignment(GROUNDED, "function", "function@1", 0.5)
    [bound, untouched] = bind([written(tmp_path, calibration())], [HERE, other])
    assert bound.threshold == 0.6
    assert bound.fingerprint == HERE.fingerprint
    assert bound.calibration is not None
    assert calibration_from(bound.calibration) == calibration()
    assert Assignment.from_record(bound.to_record()) == bound
    assert untouched == other
    assert untouched.calibration is None


def test_a_chance_is_what_the_map_gives(tmp_path: Path) -> None:
    [bound] = bind([written(tmp_path, calibration())], [HERE])
    chance = chance_of(bound)
    assert chance is not None
    assert chance(0.5) == pytest.approx(0.5)
    assert chance(1.0) == pytest.approx(1 / (1 + np.exp(-2)))
    assert chance_of(HERE) is None
    [without] = bind([written(tmp_path, replace(calibration(), map=None))], [HERE])
    assert chance_of(without) is None


@pytest.mark.parametrize(
    ("now", "differs"),
    [
        (
            replace(HERE, judge_fingerprint="function@2", judge_described={**DESCRIBED, "model": "m-2"}),
            "the judge's model: `m-1` then, `m-2` now",
        ),
        (
            replace(
                HERE, judge_fingerprint="function@2", judge_described={"model": "m-1", "parameters": {"temperature": 1}}
            ),
            "the judge's parameters.temperature: `0` then, `1` now",
        ),
        (
            replace(HERE, judge_fingerprint="f@2", judge_described={**DESCRIBED, "template": "answered@2"}),
            "the judge's template: none then, `answered@2` now",
        ),
        (
            replace(HERE, judge="another", judge_fingerprint="f@2", judge_described=None),
            "the judge: `function` then, `another` now",
        ),
        (
            replace(HERE, judge_fingerprint="f@2", judge_described=None),
            "the judge's fingerprint: `function@1` then, `f@2` now",
        ),
        (
            replace(HERE, criterion=replace(ANSWERED, description="Well answered?")),
            "the criterion's description: `` then, `Well answered?` now",
        ),
    ],
)
def test_another_judge_or_criterion_is_refused_with_what_differs(tmp_path: Path, now: Assignment, differs: str) -> None:
    with pytest.raises(InputError) as refused:
        bind([written(tmp_path, calibration())], [now])
    assert differs in str(refused.value)
    assert "leave out --calibration" in str(refused.value)


def test_long_texts_are_shown_from_where_they_part(tmp_path: Path) -> None:
    same = "the same words again and again, " * 10
    then = replace(calibration(), criterion=replace(ANSWERED, description=same + "yes").to_record())
    with pytest.raises(InputError, match=r"`…nd again, yes` then, `…nd again, no` now"):
        bind([written(tmp_path, then)], [replace(HERE, criterion=replace(ANSWERED, description=same + "no"))])


def test_what_a_file_knows_of_others_is_left_aside_but_something_must_be_asked(tmp_path: Path) -> None:
    grounded = replace(calibration(), criterion=GROUNDED.to_record())
    both = written(tmp_path, calibration(), grounded)
    [bound] = bind([both], [HERE])
    assert bound.calibration is not None
    with pytest.raises(InputError, match="calibrates grounded by function; asked is answered by function"):
        bind([written(tmp_path, grounded, name="two.json")], [HERE])
    with pytest.raises(InputError, match="calibrated twice"):
        bind([both, both], [HERE])


# What it says of a run


def test_the_rate_is_corrected_by_the_error_rates_of_then(tmp_path: Path) -> None:
    scores = [0.9] * 130 + [0.1] * 70
    found = applied(tmp_path, calibration(), scores)
    wanted = rogan_gladen_of_counts(130, 200, 80, 100, 90, 100).estimate
    assert (found.naive.value, found.estimate) == (0.65, wanted)
    assert [name for name, _ in found.rows][:2] == ["pass rate, the judge alone, 200 cases", "pass rate, corrected"]
    assert found.head == "answered by function, calibrated on 200 labels on 2025-03-01 (a random sample)"
    assert found.to_record()["corrected"]["value"] == wanted.value


def test_of_cases_chosen_by_verdict_it_is_corrected_by_what_verdicts_are_worth(tmp_path: Path) -> None:
    found = applied(tmp_path, calibration("by-verdict"), [0.9] * 130 + [0.1] * 70)
    wanted = post_stratified_of_counts(80, 10, 20, 90, 130, 70, labelled_in_stream=False).estimate
    assert found.estimate == wanted
    assert "when calibrated: passes that were right" in dict(found.rows)
    assert any("as good, on the whole, as they were then" in each for each in found.notes)


def test_of_cases_chosen_by_score_there_is_no_corrected_rate_and_of_unknown_ones_a_condition(tmp_path: Path) -> None:
    unsure = applied(tmp_path, calibration("by-score"), [0.9, 0.1])
    assert unsure.estimate == undefined("not_identified", n=200)
    assert "pass rate, corrected" not in dict(unsure.rows)
    assert any("label a random sample" in each for each in unsure.notes)
    unknown = applied(tmp_path, calibration("unknown"), [0.9, 0.1])
    assert "pass rate, corrected, if labels were random" in dict(unknown.rows)
    assert unknown.to_record()["supported"] is False


def test_groups_widen_the_interval_as_they_did_then(tmp_path: Path) -> None:
    groups = tuple((4, 0, 1, 0) if place < 20 else (0, 1, 0, 9) for place in range(30))
    scores = ([0.9] * 10 + [0.1] * 10) * 10
    extra: list[Mapping[str, Json]] = [{"item": place // 10} for place in range(200)]
    alone = applied(tmp_path, calibration(table=groups), scores)
    grouped = applied(tmp_path, calibration(table=groups, cluster="item"), scores, extra)
    assert grouped.estimate.value == pytest.approx(alone.estimate.value)
    assert width(grouped) > 1.5 * width(alone)
    assert grouped.estimate.n_clusters is not None
    lost = applied(tmp_path, calibration(table=groups, cluster="other"), scores)
    assert any("no case has `other`" in each for each in lost.notes)


def width(found: Corrected) -> float:
    assert found.estimate.ci_low is not None
    assert found.estimate.ci_high is not None
    return found.estimate.ci_high - found.estimate.ci_low


def test_scores_like_those_of_then_are_no_warning_and_others_are_one_with_figures(tmp_path: Path) -> None:
    like = applied(tmp_path, calibration(), THEN[::3].tolist())
    assert like.has_moved == (False, False)
    assert not any("careful" in each for each in like.notes)
    higher = applied(tmp_path, calibration(), np.minimum(THEN[::3] + 0.2, 1).tolist())
    assert higher.has_moved == (True, True)
    notes = "\n".join(higher.notes)
    assert "Kolmogorov-Smirnov distance 0.2" in notes
    assert "p < 0.001" in notes
    assert "the judge passes 0.6" in notes
    assert "label a sample of them and calibrate anew" in notes
    assert higher.to_record()["shift"]["scores_moved"] is True


def test_a_judge_no_better_than_chance_corrects_nothing(tmp_path: Path) -> None:
    found = applied(tmp_path, calibration(table=((50, 50, 50, 50),)), [0.9, 0.1])
    assert found.estimate.value is None
    assert any("no better than chance" in each for each in found.notes)


def test_a_run_without_verdicts_says_so(tmp_path: Path) -> None:
    evaluate_sync(make_cases(3), ANSWERED, FunctionJudge(lambda _: None), out=tmp_path / "run")
    run = Run(tmp_path / "run")
    manifest = run.manifest()
    bound = bind([written(tmp_path, calibration())], manifest.assignments)
    [found] = corrected(run, replace(manifest, assignments=bound))
    assert found.shift is None
    assert found.gap is None
    assert any("no case has a verdict yet" in each for each in found.notes)
    assert corrected(run, manifest) == []
