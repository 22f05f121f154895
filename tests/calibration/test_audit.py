"""The join of judgements and labels, and the audit made of it."""

import json
from pathlib import Path
from typing import cast

import pytest
from sklearn.metrics import (
    cohen_kappa_score,  # pyright: ignore[reportUnknownVariableType]
    roc_auc_score,  # pyright: ignore[reportUnknownVariableType]
)

from calibration.audit import audit
from calibration.pairs import Pairs, join
from judges import Abstained, Case, InputError, Run, Verdict, evaluate_sync
from support.builders import ANSWERED, FunctionJudge, make_case, make_cases

SCORES = [0.9, 0.8, 0.2, 0.7, 0.1, 0.6, 0.4, 0.3]
GOOD = [True, True, False, False, False, True, True, False]


def outcome(case: Case) -> object:
    number = int(case.id[1:])
    if number < len(SCORES):
        return Verdict(SCORES[number])
    return Abstained("no_contexts") if number < len(SCORES) + 3 else None


@pytest.fixture
def run(tmp_path: Path) -> Run:
    evaluate_sync(make_cases(13), ANSWERED, FunctionJudge(outcome), out=tmp_path / "run")
    return Run(tmp_path / "run")


def joined(run: Run, good: dict[str, bool], threshold: float = 0.5) -> Pairs:
    manifest = run.manifest()
    return join(run, manifest, manifest.assignments[0], good, threshold=threshold)


def labels(*, abstained: bool = False, failed: bool = False) -> dict[str, bool]:
    good = {f"c{number}": label for number, label in enumerate(GOOD)}
    if abstained:
        good |= {"c8": False, "c9": False, "c10": True}
    if failed:
        good |= {"c11": True, "c12": False}
    return good


def test_the_figures_are_those_of_the_reference_library(run: Run) -> None:
    made = audit(joined(run, labels()), clustered=False)
    judged = [score >= 0.5 for score in SCORES]
    assert made.matrix["pass"] == {"pass": 3, "fail": 1, "abstained": 0, "failed": 0}
    assert made.matrix["fail"] == {"pass": 1, "fail": 3, "abstained": 0, "failed": 0}
    [view] = made.views
    assert view.kappa.value == pytest.approx(cohen_kappa_score(GOOD, judged))
    assert view.metrics.accuracy.value == pytest.approx(6 / 8)
    assert view.metrics.specificity.value == pytest.approx(3 / 4)
    assert view.metrics.recall.value == pytest.approx(3 / 4)
    assert view.metrics.npv.value == pytest.approx(3 / 4)
    assert view.metrics.always_pass.accuracy.value == pytest.approx(4 / 8)


def test_abstentions_are_left_out_in_one_view_and_count_as_fails_in_the_other(run: Run) -> None:
    made = audit(joined(run, labels(abstained=True)), clustered=False)
    assert made.matrix["fail"]["abstained"] == 2
    assert made.matrix["pass"]["abstained"] == 1
    without, with_them = made.views
    assert (without.kappa.n, without.kappa.n_dropped) == (8, 3)
    assert (with_them.kappa.n, with_them.kappa.n_dropped) == (11, 0)
    judged = [score >= 0.5 for score in SCORES]
    assert without.kappa.value == pytest.approx(cohen_kappa_score(GOOD, judged))
    assert with_them.kappa.value == pytest.approx(
        cohen_kappa_score([*GOOD, False, False, True], [*judged, False, False, False])
    )
    assert with_them.metrics.specificity.value == pytest.approx(5 / 6)


def test_a_failed_judgement_disagrees_with_people_whatever_they_say(run: Run) -> None:
    made = audit(joined(run, labels(failed=True)), clustered=False)
    [view] = made.views
    assert made.matrix["pass"]["failed"] == 1
    assert view.metrics.accuracy.value == pytest.approx(6 / 10)
    assert view.metrics.specificity.value == pytest.approx(3 / 5)
    assert view.metrics.recall.value == pytest.approx(3 / 5)


def test_the_threshold_applies_on_reading(run: Run) -> None:
    assert audit(joined(run, labels(), threshold=0.0), clustered=False).matrix["fail"]["pass"] == 4
    assert audit(joined(run, labels(), threshold=1.0), clustered=False).matrix["pass"]["fail"] == 4
    manifest = run.manifest()
    assert join(run, manifest, manifest.assignments[0], labels()).threshold == 0.5


def test_what_is_left_out_is_counted(run: Run) -> None:
    pairs = joined(run, {"c0": True, "c1": False, "elsewhere": True})
    assert (len(pairs.pairs), pairs.unlabelled, pairs.not_in_run, pairs.pending) == (2, 11, 1, 0)
    lines = run.ledger_path.read_bytes().splitlines(keepends=True)
    run.ledger_path.write_bytes(b"".join(line for line in lines if b'"c1"' not in line))
    pairs = joined(run, {"c0": True, "c1": False})
    assert (len(pairs.pairs), pairs.pending) == (1, 1)


def test_labels_of_other_cases_are_refused(run: Run) -> None:
    with pytest.raises(InputError, match="none of its 13 cases has a label; do the ids match"):
        joined(run, {"x": True})


def test_replicates_are_averaged_before_the_cut(tmp_path: Path) -> None:
    class Wavering(FunctionJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            return Verdict([0.9, 0.2, 0.2][replicate])

    evaluate_sync([make_case(0)], ANSWERED, Wavering(outcome), out=tmp_path / "run", replicates=3)
    [pair] = joined(Run(tmp_path / "run"), {"c0": True}).pairs
    assert pair.score == pytest.approx(1.3 / 3)
    assert pair.judged == "fail"


def test_groups_come_from_the_labels_or_from_the_case_and_widen_the_interval(tmp_path: Path) -> None:
    def grouped(case: Case) -> Verdict:
        return Verdict(1.0 if int(case.id[1:]) // 4 % 3 else 0.0)

    cases = [make_case(number, extra={"item": number // 4}) for number in range(48)]
    evaluate_sync(cases, ANSWERED, FunctionJudge(grouped), out=tmp_path / "run")
    run = Run(tmp_path / "run")
    manifest = run.manifest()
    good = {case.id: int(case.id[1:]) // 4 % 2 == 0 for case in cases}
    from_case = join(run, manifest, manifest.assignments[0], good, cluster_field="item")
    from_labels = join(
        run, manifest, manifest.assignments[0], good, clusters={case.id: str(int(case.id[1:]) // 4) for case in cases}
    )
    assert {pair.cluster for pair in from_case.pairs} == {str(number) for number in range(12)}
    assert from_case.pairs == from_labels.pairs
    apart, together = audit(from_case, clustered=False).views[0], audit(from_case, clustered=True).views[0]
    for wide, narrow in (
        (together.kappa, apart.kappa),
        (together.metrics.accuracy, apart.metrics.accuracy),
        (together.metrics.specificity, apart.metrics.specificity),
    ):
        assert wide.value == pytest.approx(narrow.value)
        assert wide.ci_low is not None
        assert wide.ci_high is not None
        assert narrow.ci_low is not None
        assert narrow.ci_high is not None
        assert wide.ci_high - wide.ci_low > 1.2 * (narrow.ci_high - narrow.ci_low)


def test_a_class_that_people_never_used_gives_reasons_and_no_numbers(run: Run) -> None:
    [view] = audit(joined(run, dict.fromkeys(labels(), True)), clustered=False).views
    assert view.metrics.specificity.value is None
    assert view.metrics.specificity.reason == "no_negative_gold"
    assert view.kappa.value == 0.0
    assert "constant_rater" in view.kappa.flags


def test_the_record_is_json(run: Run) -> None:
    record = audit(joined(run, labels(abstained=True, failed=True)), clustered=False).to_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_the_area_under_the_curve_is_that_of_the_reference_library(run: Run) -> None:
    made = audit(joined(run, labels(abstained=True)), clustered=False)
    assert made.area_under_curve.value == pytest.approx(cast("float", roc_auc_score(GOOD, SCORES)))
    assert made.area_under_curve.n == 8
