import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import (
    Abstained,
    Case,
    ClaimVerdict,
    Failed,
    Judgement,
    Run,
    Verdict,
    evaluate_sync,
    summarise,
    summarise_run,
)
from judges.summary import NO_SLICE, slices_of
from support.builders import ANSWERED, CountingJudge, FunctionJudge, make_case


def judged(case: str, outcome: Verdict | Abstained | Failed, replicate: int = 0) -> Judgement:
    return Judgement(case, "x", "j", outcome, replicate)


def claims(*scores: float) -> Verdict:
    return Verdict(sum(scores) / len(scores), claims=tuple(ClaimVerdict("c", score) for score in scores))


def test_one_row_says_what_became_of_every_judgement() -> None:
    [row] = summarise(
        [
            judged("a", claims(1.0, 1.0)),
            judged("b", claims(1.0, 0.0)),
            judged("c", claims(0.6)),
            judged("d", Abstained("no_contexts")),
            judged("e", Failed("ValueError")),
            judged("f", Failed("ValueError")),
        ]
    )
    assert (row.asked, row.judged, row.pending) == (6, 3, 0)
    assert row.abstained == {"no_contexts": 1}
    assert row.failed == {"ValueError": 2}
    assert row.mean.value == pytest.approx(0.7)
    assert row.strict.value == pytest.approx(2 / 3)
    assert row.lowest.value == pytest.approx((1 + 0 + 0.6) / 3)
    assert row.claims.value == pytest.approx(4 / 5)
    assert row.claims.n == 5
    assert row.claims.n_clusters == 3
    assert row.mean_if_failed == pytest.approx((2.1 / 5, 4.1 / 5))


def test_without_a_verdict_there_is_no_number_but_a_reason() -> None:
    [row] = summarise([judged("a", Abstained("no_answer")), judged("b", Failed("ValueError"))])
    for figure in (row.mean, row.strict, row.lowest, row.claims):
        assert figure.value is None
        assert figure.reason == "no_data"
    assert row.mean_if_failed == (0.0, 1.0)
    [only_abstained] = summarise([judged("a", Abstained("no_answer"))])
    assert only_abstained.mean_if_failed == (None, None)


def test_a_verdict_without_claims_counts_as_a_whole() -> None:
    [row] = summarise([judged("a", Verdict(0.4)), judged("b", Verdict(0.6))], threshold=0.5)
    assert row.strict.value == 0.5
    assert row.lowest.value == pytest.approx(0.5)
    assert row.claims.n == 0


def test_replicates_of_a_case_are_no_independent_cases() -> None:
    scores = [0.1, 0.9, 0.5, 0.3]
    once = summarise([judged(str(n), Verdict(score)) for n, score in enumerate(scores)])[0].mean
    often = summarise([judged(str(n), Verdict(score), r) for n, score in enumerate(scores) for r in range(5)])[0].mean
    assert often.value == pytest.approx(once.value)
    assert (often.ci_low, often.ci_high) == pytest.approx((once.ci_low, once.ci_high))


outcomes = st.one_of(
    st.lists(st.floats(0, 1), min_size=1, max_size=4).map(lambda scores: claims(*scores)),
    st.floats(0, 1).map(Verdict),
    st.just(Abstained("no_contexts")),
    st.just(Failed("ValueError")),
)


@given(st.lists(outcomes, max_size=12), st.floats(0, 1))
def test_every_judgement_is_in_one_count_and_no_number_is_not_a_number(
    given_outcomes: list[Verdict | Abstained | Failed], threshold: float
) -> None:
    judgements = [judged(str(number), outcome) for number, outcome in enumerate(given_outcomes)]
    for row in summarise(judgements, threshold=threshold):
        counted = row.judged + sum(row.abstained.values()) + sum(row.failed.values()) + row.pending
        assert counted == row.asked == len(judgements)
        assert json.loads(json.dumps(row.to_record(), allow_nan=False)) == row.to_record()
        for figure in (row.mean, row.strict, row.lowest, row.claims):
            if figure.value is not None and figure.ci_low is not None and figure.ci_high is not None:
                assert -1e-9 <= figure.ci_low <= figure.value + 1e-9 <= figure.ci_high + 2e-9 <= 1 + 3e-9


def run_of(folder: Path, cases: Iterable[Case]) -> Run:
    evaluate_sync(cases, ANSWERED, CountingJudge(), out=folder / "run")
    return Run(folder / "run")


def test_a_list_puts_a_case_in_several_slices_and_its_absence_in_one_of_its_own(tmp_path: Path) -> None:
    values: list[object] = [["a", "b"], ["b"], [], None, "a"]
    cases = [make_case(number, extra={"kind": value}) for number, value in enumerate(values)]
    run = run_of(tmp_path, [*cases, make_case(9)])
    rows = summarise_run(run, run.manifest(), by="kind")
    assert {row.slice: row.asked for row in rows} == {"a": 2, "b": 2, NO_SLICE: 3}
    assert rows[-1].slice == NO_SLICE


def test_answers_to_a_case_that_was_asked_several_times_are_one_case_to_the_intervals(tmp_path: Path) -> None:
    cases = [make_case(number, extra={"repeat_of": f"q{number // 3}"}) for number in range(6)]
    run = run_of(tmp_path, cases)
    [row] = summarise_run(run, run.manifest())
    assert (row.mean.n, row.mean.n_clusters) == (6, 2)
    [row] = summarise_run(run, run.manifest(), cluster="id")
    assert row.mean.n_clusters == 6
    [row] = summarise_run(run, run.manifest(), cluster="a field that none has")
    assert row.mean.n_clusters == 2


def test_slices_are_in_natural_order(tmp_path: Path) -> None:
    run = run_of(tmp_path, [make_case(number, extra={"turn": number}) for number in (10, 2, 1)])
    assert [row.slice for row in summarise_run(run, run.manifest(), by="turn")] == ["1", "2", "10"]


def test_slices_are_named_by_the_values_as_json_writes_them() -> None:
    assert slices_of(Case("a", extra={"x": True}), "x") == ["true"]
    assert slices_of(Case("a", extra={"x": {"b": 1, "a": 2}}), "x") == ['{"a":2,"b":1}']
    assert slices_of(Case("a", extra={"x": ["b", "b", 1]}), "x") == ["b", "1"]
    assert slices_of(Case("a", lang="ca"), "lang") == ["ca"]
    assert slices_of(Case("a", extra={"x": [3.0, 3, 3.5]}), "x") == ["3", "3.5"]


def test_the_threshold_is_the_judges_own_unless_another_is_named(tmp_path: Path) -> None:
    class Picky(FunctionJudge):
        threshold = 0.9

    evaluate_sync([make_case(1)], ANSWERED, Picky(lambda _: Verdict(0.8)), out=tmp_path / "run")
    run = Run(tmp_path / "run")
    assert summarise_run(run, run.manifest())[0].strict.value == 0.0
    assert summarise_run(run, run.manifest(), threshold=0.8)[0].strict.value == 1.0


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        summarise([judged("a", Verdict(1.0))], threshold=threshold)
