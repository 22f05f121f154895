from pathlib import Path

import pytest

from judges import Abstained, Case, ClaimVerdict, Failed, Verdict, evaluate_sync
from judges.engine.run import Run
from judges.errors import InputError
from judges.measures import Measures
from support.builders import ANSWERED, GROUNDED, FunctionJudge, make_case, make_cases


def claims(*scores: float) -> Verdict:
    return Verdict(sum(scores) / len(scores), claims=tuple(ClaimVerdict("c", score) for score in scores))


def by_answer(case: Case) -> object:
    """A verdict of two claims; case 3 fails, case 4 is abstained from."""
    number = int(case.id[1:])
    if number == 3:
        raise RuntimeError("no luck")
    return Abstained("no_answer") if number == 4 else claims(1.0, number % 2)


@pytest.fixture
def measures(tmp_path: Path) -> Measures:
    cases = [
        make_case(
            number,
            answer=f"It is number {number}." if number else "I don't know.",
            extra={
                "retrieved": ["a", "b", "c"],
                "relevant": [] if number in (0, 1) else [["a", "b", "c", "x"][number - 2]],
                "topic": "odd" if number % 2 else "even",
            },
        )
        for number in range(6)
    ]
    evaluate_sync(cases, [ANSWERED, GROUNDED], FunctionJudge(by_answer), out=tmp_path / "run")
    return Measures(Run(tmp_path / "run"))


def test_a_criterion_s_figures_have_names(measures: Measures) -> None:
    assert measures.find("answered").figure.value == pytest.approx((0.5 + 1.0 + 0.5 + 1.0) / 4)
    assert measures.find("answered.strict").figure.value == 0.5
    assert measures.find("answered.lowest").figure.value == 0.5
    assert measures.find("answered.claims").figure.value == 6 / 8
    assert measures.find("answered by function") == measures.find("answered")
    assert measures.find("answered.strict by function") == measures.find("answered.strict")
    assert measures.find("answered").missing == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("name", "count", "of"),
    [
        ("failed", 2, 12),
        ("abstained", 2, 12),
        ("pending", 0, 12),
        ("answered.failed", 1, 6),
        ("grounded.abstained", 1, 6),
        ("answered_unanswerable", 1, 2),
        ("refused_answerable", 0, 4),
    ],
)
def test_counts_say_of_how_many(measures: Measures, name: str, count: int, of: int) -> None:
    found = measures.find(name)
    assert (found.is_count, found.figure.value, found.figure.n) == (True, count, of)


def test_metrics_of_retrieval_are_means_over_the_cases_with_something_relevant(measures: Measures) -> None:
    assert measures.find("recall@1").figure.value == pytest.approx(1 / 4)
    assert measures.find("RECALL@2").figure.value == pytest.approx(2 / 4)
    found = measures.find("RR").figure
    assert found.value == pytest.approx((1 + 1 / 2 + 1 / 3) / 4)
    assert (found.n, found.n_dropped) == (4, 2)
    assert {name: each.value for name, each in measures.by_case("hit@1").items()} == {
        "c2": 1,
        "c3": 0,
        "c4": 0,
        "c5": 0,
    }


def test_a_field_may_group_the_cases(measures: Measures) -> None:
    grouped = Measures(measures.run, cluster="topic")
    for name in ("answered", "recall@1"):
        assert grouped.find(name).figure.n_clusters == 2
        assert measures.find(name).figure.n_clusters == 4


def test_an_unknown_name_is_refused_with_those_near_it(measures: Measures) -> None:
    for wrong, near in (("anwsered", "answered"), ("failled", "failed"), ("answered.strickt", "answered.strict")):
        with pytest.raises(InputError, match=rf"no figure `{wrong}`; there are .*{near}"):
            measures.find(wrong)
    with pytest.raises(InputError, match="such as recall@4"):
        measures.find("\x1b[2J")


def test_where_several_judges_were_asked_a_name_says_which(tmp_path: Path) -> None:
    one, two = (FunctionJudge(lambda _: Verdict(0.5), name, f"{name}@1") for name in ("one", "two"))
    evaluate_sync(make_cases(3), ANSWERED, [one, two], out=tmp_path)
    measures = Measures(Run(tmp_path))
    with pytest.raises(InputError, match=r"by which judge\? .*answered.strict by one, answered.strict by two"):
        measures.find("answered.strict")
    assert measures.find("answered by two").figure.value == 0.5


def test_what_the_cases_lack_is_said(tmp_path: Path) -> None:
    evaluate_sync(make_cases(3), ANSWERED, FunctionJudge(lambda _: Verdict(1.0)), out=tmp_path)
    measures = Measures(Run(tmp_path))
    with pytest.raises(InputError, match=r"no case has both `retrieved` .* and `relevant`"):
        measures.find("recall@4")
    with pytest.raises(InputError, match="say whether they can be answered"):
        measures.find("answered_unanswerable")


@pytest.mark.parametrize("name", ["failed", "answered.claims", "answered.failed", "answered_unanswerable"])
def test_what_is_no_mean_over_cases_has_no_value_a_case(measures: Measures, name: str) -> None:
    with pytest.raises(InputError, match="can't be compared case by case"):
        measures.by_case(name)


def test_replicates_of_a_case_are_one_value(tmp_path: Path) -> None:
    scores = iter([0.0, 1.0, 1.0, 1.0])
    evaluate_sync(
        make_cases(2), ANSWERED, FunctionJudge(lambda _: Verdict(next(scores))), out=tmp_path, replicates=2, workers=1
    )
    values = Measures(Run(tmp_path)).by_case("answered")
    assert [each.value for each in values.values()] == [0.5, 1.0]


def test_a_failure_counts_as_missing_and_so_does_what_is_not_judged_yet(tmp_path: Path) -> None:
    def judge(_: Case) -> Failed | Verdict:
        raise ValueError

    evaluate_sync(make_cases(2), ANSWERED, FunctionJudge(judge), out=tmp_path)
    measures = Measures(Run(tmp_path))
    assert measures.find("answered").missing == 1.0
    assert measures.find("answered").figure.value is None
    (tmp_path / "ledger.jsonl").write_bytes(b"")
    assert Measures(Run(tmp_path)).find("answered").missing == 1.0
    assert Measures(Run(tmp_path)).find("pending").figure.value == 2


def tiered(*names: object) -> list[Case]:
    return [make_case(at, extra={} if name is None else {"tier": name}) for at, name in enumerate(names)]


def test_a_run_is_of_a_tier_if_every_case_is(tmp_path: Path) -> None:
    for name, cases, expected in (
        ("all", tiered("smoke", "regression"), True),
        ("some", tiered("smoke", None), False),
        ("others", tiered("gold", "silver"), False),
    ):
        evaluate_sync(cases, ANSWERED, FunctionJudge(lambda _: Verdict(1.0)), out=tmp_path / name)
        assert Measures(Run(tmp_path / name)).is_of_a_tier is expected
