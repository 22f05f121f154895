"""Which cases are chosen for labelling, with which probabilities, and what the design lets their labels say."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.labels import read_labels
from calibration.sampling import (
    Design,
    Frame,
    How,
    allocate,
    design_path,
    draw,
    frame_of,
    pick,
    read_design,
    write_sample,
)
from judges import Abstained, Case, InputError, Run, Verdict, evaluate_sync
from support.builders import ANSWERED, FunctionJudge, make_cases

FIELD = "gold.answered"


def outcome(case: Case) -> object:
    """90 verdicts, 70 of them passes; 6 abstentions; 4 failures."""
    number = int(case.id[1:])
    if number < 90:
        return Verdict(0.5 + number / 180 if number < 70 else (number - 70) / 50)
    return Abstained("no_contexts") if number < 96 else None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("sampled") / "run"
    evaluate_sync(make_cases(100), ANSWERED, FunctionJudge(outcome), out=folder)
    return Run(folder)


def framed(run: Run, how: How) -> Frame:
    manifest = run.manifest()
    return frame_of(run, manifest, manifest.assignments[0], how)


def drawn(run: Run, how: How, n: int, seed: int = 0) -> Design:
    return draw(framed(run, how), how, n, field=FIELD, seed=seed)


def test_a_random_sample_is_of_all_cases_but_abstentions_and_each_is_as_likely(run: Run) -> None:
    design = drawn(run, "random", 20)
    assert design.population == 94
    assert design.left_out == {"abstained": 6}
    assert {each.inclusion_probability for each in design.cases} == {20 / 94}
    assert len({each.id for each in design.cases}) == 20


@pytest.mark.parametrize("how", ["random", "by_verdict", "unsure"])
def test_the_same_seed_draws_the_same_cases_and_another_seed_others(run: Run, how: How) -> None:
    assert drawn(run, how, 20, seed=3) == drawn(run, how, 20, seed=3)
    assert drawn(run, how, 20, seed=3).cases != drawn(run, how, 20, seed=4).cases


@pytest.mark.parametrize("how", ["random", "by_verdict", "unsure"])
def test_over_many_draws_each_case_comes_as_often_as_its_probability_says(run: Run, how: How) -> None:
    frame, draws = framed(run, how), 1500
    came: Counter[str] = Counter()
    probability: dict[str, float] = {}
    for seed in range(draws):
        for each in draw(frame, how, 24, field=FIELD, seed=seed).cases:
            assert each.inclusion_probability is not None
            came[each.id] += 1
            probability[each.id] = each.inclusion_probability
    assert set(probability) == set(frame.said)
    assert sum(probability.values()) == pytest.approx(24)
    for case, share in probability.items():
        assert came[case] / draws == pytest.approx(share, abs=5 * (share * (1 - share) / draws) ** 0.5)


def test_by_verdict_as_many_passes_as_fails_are_drawn(run: Run) -> None:
    design = drawn(run, "by_verdict", 30)
    assert [(each.name, each.cases, each.sampled) for each in design.strata] == [("pass", 70, 15), ("fail", 20, 15)]
    assert {each.stratum: each.inclusion_probability for each in design.cases} == {"pass": 15 / 70, "fail": 15 / 20}


def test_most_labels_go_where_the_score_is_near_the_threshold_and_some_everywhere(run: Run) -> None:
    design = drawn(run, "unsure", 30)
    assert [each.sampled for each in design.strata] == [15, 10, 5]
    assert sum(each.cases for each in design.strata) == 90
    frame = framed(run, "unsure")
    for each in design.cases:
        answer = frame.said[each.id]
        assert answer is not None
        assert design.stratum_of(answer.score) == each.stratum
    assert design.stratum_of(None) is None


def test_the_order_of_the_cases_does_not_tell_their_stratum(run: Run) -> None:
    order = [each.stratum for each in drawn(run, "by_verdict", 30).cases]
    assert order != sorted(order)
    assert order != sorted(order, reverse=True)


@given(
    st.lists(st.tuples(st.integers(2, 60), st.floats(0.1, 10)), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_labels_are_split_without_loss_and_within_each_stratum(strata: list[tuple[int, float]], part: float) -> None:
    sizes, shares = [size for size, _ in strata], [share for _, share in strata]
    least = 2 * len(sizes)
    n = least + int(part * (sum(sizes) - least))
    given_ = allocate(n, sizes, shares)
    assert sum(given_) == n
    assert all(2 <= each <= size for each, size in zip(given_, sizes, strict=True))


@pytest.mark.parametrize(
    ("how", "n", "message"),
    [
        ("random", 95, "only 94 cases"),
        ("by_verdict", 91, "only 90 cases"),
        ("by_verdict", 3, "at least 4, 2 for each of pass, fail"),
        ("unsure", 5, "at least 6"),
    ],
)
def test_a_number_that_can_not_be_drawn_is_refused(run: Run, how: How, n: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        drawn(run, how, n)


@pytest.mark.parametrize(
    ("score", "how", "message"),
    [
        (1.0, "by_verdict", "the judge passes every case"),
        (0.0, "by_verdict", "the judge fails every case"),
        (1.0, "unsure", "as sure of every case"),
    ],
)
def test_scores_that_make_no_strata_are_refused(tmp_path: Path, score: float, how: How, message: str) -> None:
    evaluate_sync(make_cases(8), ANSWERED, FunctionJudge(lambda _: Verdict(score)), out=tmp_path / "run")
    with pytest.raises(InputError, match=message):
        drawn(Run(tmp_path / "run"), how, 6)


def test_a_run_without_verdicts_has_nothing_to_draw_from(tmp_path: Path) -> None:
    evaluate_sync(make_cases(2), ANSWERED, FunctionJudge(lambda _: Abstained("no_contexts")), out=tmp_path / "run")
    with pytest.raises(InputError, match=r"no case has a verdict .*\(abstained 2\)"):
        framed(Run(tmp_path / "run"), "random")


# What the labels may say


def test_each_way_of_choosing_allows_its_estimators_and_values_and_refuses_the_others(run: Run) -> None:
    random, by_verdict, unsure = (drawn(run, how, 20) for how in ("random", "by_verdict", "unsure"))
    random.check_estimator("ppi_plus_plus")
    by_verdict.check_estimator("post_stratified")
    unsure.check_estimator("stratified_ppi")
    with pytest.raises(InputError, match="use post_stratified or stratified_ppi"):
        by_verdict.check_estimator("rogan_gladen")
    assert "kappa" in random.values
    assert by_verdict.values == ("npv", "precision")
    assert unsure.values == ()
    assert by_verdict.estimators[0] == "post_stratified"


def test_cases_picked_by_hand_support_nothing_about_the_run(run: Run) -> None:
    design = pick(framed(run, "hand_picked"), ["c3", "c92"], field=FIELD)
    assert [each.inclusion_probability for each in design.cases] == [None, None]
    assert (design.estimators, design.values) == ((), ())
    with pytest.raises(InputError, match="nothing about the run's rate"):
        design.check_estimator("human_only")
    for ids, message in ((["x"], "no such case"), (["c3", "c3"], "named twice")):
        with pytest.raises(InputError, match=message):
            pick(framed(run, "hand_picked"), ids, field=FIELD)


def test_a_sample_drawn_by_one_judge_s_verdicts_is_refused_for_another_judge(run: Run, tmp_path: Path) -> None:
    evaluate_sync(make_cases(4), ANSWERED, FunctionJudge(outcome, fingerprint="function@2"), out=tmp_path / "other")
    [other] = Run(tmp_path / "other").manifest().assignments
    [same] = run.manifest().assignments
    drawn(run, "by_verdict", 20).check_judge(same)
    drawn(run, "random", 20).check_judge(other)
    with pytest.raises(InputError, match="chosen by what another judge said"):
        drawn(run, "by_verdict", 20).check_judge(other)


def test_cases_that_came_or_went_since_the_draw_are_noticed(run: Run) -> None:
    design = drawn(run, "random", 20)
    ids = [f"c{number}" for number in range(100) if not 90 <= number < 96]
    design.check_population(reversed(ids))
    with pytest.raises(InputError, match="drawn from 94 cases"):
        design.check_population(ids[1:])


def test_labels_that_came_back_are_held_against_the_sample(run: Run) -> None:
    design = drawn(run, "random", 3)
    first, second, third = (each.id for each in design.cases)
    outside = next(f"c{number}" for number in range(10) if f"c{number}" not in (first, second, third))
    coverage = design.coverage({second, outside})
    assert (coverage.labelled, coverage.missing, coverage.outside) == ((second,), (first, third), (outside,))


# The files


def written(run: Run, design: Design, path: Path) -> list[dict[str, object]]:
    write_sample(path, design, run, ANSWERED)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("how", ["random", "by_verdict", "unsure"])
def test_a_design_is_read_back_as_it_was_written(run: Run, tmp_path: Path, how: How) -> None:
    design = drawn(run, how, 20)
    records = written(run, design, tmp_path / "sample.jsonl")
    assert read_design(tmp_path / "sample.jsonl") == design
    assert read_design(tmp_path / "sample.design.json") == design
    assert [record["id"] for record in records] == [each.id for each in design.cases]


def test_those_who_label_see_the_parts_and_nothing_of_the_judge_or_of_other_labels(tmp_path: Path) -> None:
    cases = [Case(f"c{n}", "q", f"answer {n}", references=("r",), extra={"gold": {"answered": 1}}) for n in range(9)]
    evaluate_sync(cases, ANSWERED, FunctionJudge(lambda case: Verdict(int(case.id[1:]) / 9)), out=tmp_path / "run")
    run = Run(tmp_path / "run")
    for record in written(run, drawn(run, "by_verdict", 6), tmp_path / "sample.jsonl"):
        assert set(record) == {"id", "question", "answer", "gold"}
        assert record["gold"] == {"answered": None}


def test_the_verdicts_are_there_if_they_are_asked_for(run: Run, tmp_path: Path) -> None:
    frame = framed(run, "random")
    design = draw(frame, "random", 5, field=FIELD, blind=False)
    write_sample(tmp_path / "s.jsonl", design, run, ANSWERED, frame.said)
    record = json.loads((tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert record["judge"]["says"] in ("pass", "fail", "failed")
    assert not read_design(tmp_path / "s.jsonl").blind


def test_labels_filled_in_are_read_by_the_door_of_labels(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sample.jsonl"
    records = written(run, drawn(run, "random", 4), path)
    for record, label in zip(records, ("pass", "fail", "pass", None), strict=True):
        record["gold"] = {"answered": label}
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    labels = read_labels(path, FIELD)
    assert list(labels.by_case) == [record["id"] for record in records[:3]]
    assert labels.unlabelled == 1


def test_a_file_that_may_hold_labels_is_never_replaced(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sample.jsonl"
    for there in (path, design_path(path)):
        there.write_text("mine", encoding="utf-8")
        with pytest.raises(InputError, match="is there already"):
            write_sample(path, drawn(run, "random", 4), run, ANSWERED)
        assert there.read_text(encoding="utf-8") == "mine"
        there.unlink()
    with pytest.raises(InputError, match="No such file"):
        write_sample(tmp_path / "no" / "sample.jsonl", drawn(run, "random", 4), run, ANSWERED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "is no design of a sample"),
        ({"how": "guess"}, "is no design of a sample"),
        ({"cases": None}, "is no design of a sample"),
        ({"threshold": 2}, "the threshold is 2"),
        ({"population": 7}, "don't add up"),
        ({"strata": [{"name": "rest", "cases": 94, "sampled": 4}]}, "which isn't described"),
        ({"strata": [{"name": "all", "cases": 94, "sampled": 5}]}, "4 cases are of the stratum `all`, which says 5"),
        ({"how": "hand_picked"}, "the inclusion probability of the case"),
    ],
)
def test_a_design_that_somebody_changed_is_refused(
    run: Run, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    record = drawn(run, "random", 4).to_record() | change
    (tmp_path / "s.design.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_design(tmp_path / "s.jsonl")


def test_a_design_that_is_missing_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_design(tmp_path / "s.jsonl")
    (tmp_path / "s.design.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="is no design of a sample"):
        read_design(tmp_path / "s.jsonl")
