from pathlib import Path

import pytest

from judges import Case, TokenOverlapJudge, Verdict, evaluate_sync
from judges.criteria import CORRECTNESS, CRITERIA, FAITHFULNESS
from judges.criterion import Criterion
from judges.diagnosis.diagnose import Diagnosis, diagnose_run
from judges.engine.run import Run
from judges.errors import InputError
from judges.retrieval.labels import Label
from support.builders import make_case
from support.held_out_topics import HELD_OUT_TOPICS
from support.planted_causes import CRITERIA as JUDGED
from support.planted_causes import NO_FAULT, KnowingJudge, planted_cases
from support.planted_topics import LATER_TOPICS, TOPICS, Topic
from support.unseen_topics import UNSEEN_TOPICS


class WrongJudge:
    """Says that every answer is incorrect, and faithful unless its case is told to stray."""

    name = "wrong"
    fingerprint = "wrong@1"

    def supports(self, criterion: Criterion) -> bool:
        return criterion in (CORRECTNESS, FAITHFULNESS)

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        return Verdict(float(criterion == FAITHFULNESS and "strays" not in (case.answer or "")))


def ran(folder: Path, *kinds: str, **fields: object) -> Run:
    """A run of cases that miss what is needed, or stray, or fail for no known reason."""
    cases = [
        make_case(
            number,
            answer=f"It is {number}." if kind != "strayed" else f"It strays to {number}.",
            extra={"relevant": ["x" if kind == "missed" else f"d{number}"], "kind": kind, "half": number % 2},
        )
        for number, kind in enumerate(kinds)
    ]
    evaluate_sync(cases, [CORRECTNESS, FAITHFULNESS], WrongJudge(), out=folder)
    return Run(folder)


def test_each_cause_has_its_share_of_what_fails_and_the_largest_comes_first(tmp_path: Path) -> None:
    found = diagnose_run(ran(tmp_path, *["missed"] * 8, *["strayed"] * 2))
    assert [(each.name, each.count, each.figure.value) for each in found.causes] == [
        ("not_retrieved", 8, 0.8),
        ("strayed", 2, 0.2),
        ("wrong_although_supported", 0, 0.0),
    ]
    assert [each.also for each in found.causes] == [0, 0, 8]
    assert [each.name for each in found.components] == ["retriever", "generator"]
    assert found.causes[0].cases == ("c0", "c1", "c2")
    assert (found.failing.value, found.failing.n) == (1.0, 10)
    assert found.unexplained.count == 0


def test_where_to_act_first_is_clear_only_if_the_lead_is(tmp_path: Path) -> None:
    clear = diagnose_run(ran(tmp_path / "clear", *["missed"] * 30, *["strayed"] * 3)).first
    assert clear is not None
    assert (clear.component, clear.second, clear.is_clear) == ("retriever", "generator", True)
    assert clear.acts[0].startswith("Search with other words")
    close = diagnose_run(ran(tmp_path / "close", *["missed"] * 3, *["strayed"] * 2)).first
    assert close is not None
    assert (close.component, close.is_clear) == ("retriever", False)
    alone = diagnose_run(ran(tmp_path / "alone", "missed")).first
    assert alone is not None
    assert (alone.second, alone.is_clear) == (None, True)


def test_rules_that_lack_something_are_named_with_what_they_lack(tmp_path: Path) -> None:
    found = {each.cause: each for each in diagnose_run(ran(tmp_path, "missed", "missed")).inapplicable}
    assert found["ranked_low"].count == 2
    assert "`candidates`" in " ".join(found["ranked_low"].lacks)
    assert found["cut"].lacks == ("no spans of the documents are labelled",)
    assert "not_retrieved" not in found


def test_slices_have_their_own_causes_and_what_the_mean_hides_is_called_out(tmp_path: Path) -> None:
    found = diagnose_run(ran(tmp_path, *["missed"] * 8, *["strayed"] * 20), by=["kind", "half"])
    assert [(each.field, each.value, each.count) for each in found.slices] == [
        ("kind", "missed", 8),
        ("kind", "strayed", 20),
        ("half", "0", 14),
        ("half", "1", 14),
    ]
    assert [(each.measure, each.value) for each in found.hidden] == [("recall", "missed"), ("faithfulness", "strayed")]
    assert found.compared == 3 * 4


def test_grouped_cases_make_wider_intervals(tmp_path: Path) -> None:
    run = ran(tmp_path, *["missed"] * 10, *["strayed"] * 10)
    alone, grouped = (diagnose_run(run, cluster=each).causes[0].figure for each in (None, "half"))
    assert (alone.n_clusters, grouped.n_clusters) == (None, 2)


def test_repeats_of_a_case_are_one_case_to_every_interval(tmp_path: Path) -> None:
    cases = [make_case(number, extra={"relevant": ["x"], "repeat_of": f"q{number // 2}"}) for number in range(8)]
    evaluate_sync(cases, [CORRECTNESS], WrongJudge(), out=tmp_path)
    found = diagnose_run(Run(tmp_path))
    assert (found.failing.n, found.failing.n_clusters, found.causes[0].figure.n_clusters) == (8, 4, 4)
    assert found.is_repeated
    cause = found.causes[0]
    assert (cause.count, cause.asked, cause.cases) == (8, 4, ("c0", "c2", "c4"))
    record = found.to_record()
    assert (record["cases"], record["answers"]) == (4, 8)
    assert {(each["cases"], each["answers"]) for each in (*record["causes"], *record["inapplicable"])} == {(4, 8)}
    assert [each["asked"] for each in record["per_case"]][:3] == ["q0", "q0", "q1"]


def test_a_field_may_say_what_can_be_answered(tmp_path: Path) -> None:
    kinds = (["out of scope"], ["in scope"], ["both", "in scope", "out of scope"], ["small talk"])
    cases = [make_case(number, answer="Seven.", extra={"meta": {"kind": kind}}) for number, kind in enumerate(kinds)]
    evaluate_sync(cases, [FAITHFULNESS], WrongJudge(), out=tmp_path)
    told = {("meta.kind", "out of scope"): False, ("meta.kind", "in scope"): True}
    found = diagnose_run(Run(tmp_path), answerable=told)
    assert [each.standing for each in found.cases] == ["fails", "passes", "passes", "passes"]
    assert found.causes[0].name == "answered_unanswerable"
    assert found.cases[0].evidence[0].why == "meta.kind is out of scope: it can not be answered"
    with pytest.raises(InputError, match=r"no case has meta\.kind `nowhere`"):
        diagnose_run(Run(tmp_path), answerable={("meta.kind", "nowhere"): False})


def test_labels_from_elsewhere_have_to_be_of_these_cases(tmp_path: Path) -> None:
    run = ran(tmp_path, "strayed")
    assert diagnose_run(run, labels={"c0": [Label("z")]}).causes[0].name == "not_retrieved"
    with pytest.raises(InputError, match="none of its cases is in the qrels"):
        diagnose_run(run, labels={"other": [Label("z")]})


def test_of_several_judges_one_has_to_be_named(tmp_path: Path) -> None:
    cases = [make_case(0, extra={"relevant": ["x"]})]
    evaluate_sync(cases, [CORRECTNESS], [WrongJudge(), TokenOverlapJudge()], out=tmp_path)
    with pytest.raises(InputError, match=r"several judges judged correctness; name one with --judge: wrong, overlap"):
        diagnose_run(Run(tmp_path))
    assert diagnose_run(Run(tmp_path), judge="wrong").causes[0].name == "not_retrieved"
    with pytest.raises(InputError, match="has no judge `nobody`"):
        diagnose_run(Run(tmp_path), judge="nobody")


def test_a_run_of_nothing_but_passes_has_nobody_to_blame(tmp_path: Path) -> None:
    evaluate_sync([make_case(0)], [FAITHFULNESS], WrongJudge(), out=tmp_path)
    found = diagnose_run(Run(tmp_path))
    assert (found.failing.value, found.causes, found.first) == (0.0, (), None)
    assert found.to_record()["first"] is None


# Planted causes


def diagnosed(folder: Path, cases: list[Case], *, knowing: bool) -> Diagnosis:
    judge = KnowingJudge() if knowing else TokenOverlapJudge()
    criteria = [CRITERIA[name] for name in JUDGED if knowing or name != "source_use"]
    evaluate_sync(cases, criteria, judge, out=folder)
    return diagnose_run(Run(folder))


def named(found: Diagnosis) -> list[str]:
    return [NO_FAULT if each.rule is None else each.rule.component for each in found.cases]


def planted(cases: list[Case]) -> list[str]:
    return [str(case.find("planted.component")) for case in cases]


@pytest.mark.parametrize(
    "topics",
    [TOPICS, LATER_TOPICS, HELD_OUT_TOPICS, UNSEEN_TOPICS],
    ids=["first", "later", "held-out", "unseen"],
)
def test_the_planted_component_is_named_in_95_percent_of_the_cases_if_the_judge_knows(
    tmp_path: Path, topics: tuple[Topic, ...]
) -> None:
    cases = planted_cases(topics)
    found = named(diagnosed(tmp_path, cases, knowing=True))
    right = [one == other for one, other in zip(found, planted(cases), strict=True)]
    assert len(cases) >= 200
    assert sum(right) >= 0.95 * len(right)


def test_the_overlap_judge_sees_most_failures_and_the_rules_are_right_on_these(tmp_path: Path) -> None:
    cases = planted_cases(HELD_OUT_TOPICS)
    found = diagnosed(tmp_path, cases, knowing=False)
    seen = [
        (one, other)
        for one, other, each in zip(named(found), planted(cases), found.cases, strict=True)
        if each.standing == "fails"
    ]
    assert len(seen) >= 0.95 * sum(each != NO_FAULT for each in planted(cases))
    assert sum(one == other for one, other in seen) >= 0.95 * len(seen)
