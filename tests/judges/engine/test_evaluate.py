import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from judges import (
    Abstained,
    Case,
    ClaimVerdict,
    Criterion,
    Failed,
    InputError,
    Judgement,
    ReplyError,
    Run,
    Unauthorised,
    Verdict,
    evaluate,
    evaluate_sync,
)
from judges.engine.evaluate import judge_all
from judges.engine.plan import assign
from judges.engine.progress import Counts
from support.builders import ANSWERED, GROUNDED, CountingJudge, FunctionJudge, hashed, make_case, make_cases


@pytest.fixture(params=["in memory", "in a folder"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "run" if request.param == "in a folder" else None


def test_judgements_come_in_the_order_of_the_cases_whoever_is_first_ready(out: Path | None) -> None:
    class Slow(CountingJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            await asyncio.sleep(0.02 if case.id == "c0" else 0)
            return Verdict(hashed(case.answer or ""))

    results = evaluate_sync(make_cases(10), ANSWERED, Slow(), out=out, workers=5)
    assert [judgement.case_id for judgement in results] == [f"c{number}" for number in range(10)]


def test_every_criterion_is_asked_of_every_judge_as_often_as_wanted(out: Path | None) -> None:
    judges = [CountingJudge("a", "a@1"), CountingJudge("b", "b@1")]
    results = evaluate_sync(make_cases(3), [ANSWERED, GROUNDED], judges, replicates=2, out=out)
    assert [(j.criterion, j.judge, j.replicate) for j in results[:8]] == [
        (criterion, judge, replicate)
        for criterion in ("answered", "grounded")
        for judge in ("a", "b")
        for replicate in (0, 1)
    ]
    assert len(results) == 24
    assert len(judges[0].asked) == 12


def test_an_exception_of_a_judge_costs_that_judgement_only(out: Path | None) -> None:
    def function(case: Case) -> Verdict:
        if case.id == "c1":
            raise ValueError("line one\nline two " + "x" * 1000)
        if case.id == "c2":
            raise ReplyError("no verdict in it")
        return Verdict(1.0)

    results = evaluate_sync(make_cases(4), ANSWERED, FunctionJudge(function), out=out)
    assert [type(judgement.outcome) for judgement in results] == [Verdict, Failed, Failed, Verdict]
    failure = results[1].outcome
    assert isinstance(failure, Failed)
    assert failure.error == "ValueError"
    assert failure.message.startswith("line one line two x")
    assert len(failure.message) == 500


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        0.5,
        True,
        Verdict(float("nan")),
        Verdict(float("inf")),
        Verdict(-0.1),
        Verdict(1.1),
        Verdict("1"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        Verdict(None),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        Verdict(0.5, probabilities={"yes": float("nan")}),
        Verdict(0.5, claims=(ClaimVerdict("x", 2.0),)),
        Verdict(0.5, claims=(ClaimVerdict("x", 0.5, probabilities={"yes": 1.5}),)),
    ],
    ids=repr,
)
def test_what_is_no_verdict_is_a_failure_that_says_so_and_never_a_number(out: Path | None, outcome: object) -> None:
    [judgement] = evaluate_sync([make_case(1)], ANSWERED, FunctionJudge(lambda _: outcome), out=out)
    assert isinstance(judgement.outcome, Failed)
    assert judgement.outcome.error == "InvalidVerdict"
    assert judgement.score is None


def test_a_verdict_that_no_file_can_hold_is_a_failure(tmp_path: Path) -> None:
    strange = Verdict(0.5, rationale=object())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    [judgement] = evaluate_sync([make_case(1)], ANSWERED, FunctionJudge(lambda _: strange), out=tmp_path / "run")
    assert isinstance(judgement.outcome, Failed)


def test_an_error_that_stops_stops_after_what_is_under_way_is_kept(tmp_path: Path) -> None:
    class Keyless(CountingJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            self.asked.append(case.id)
            if case.id == "c3":
                raise Unauthorised("the key is not accepted")
            await asyncio.sleep(0.01)
            return Verdict(1.0)

    judge = Keyless()
    with pytest.raises(Unauthorised, match="the key is not accepted"):
        evaluate_sync(make_cases(100), ANSWERED, judge, out=tmp_path / "run", workers=4)
    assert len(judge.asked) == 4
    run = Run(tmp_path / "run")
    assert [judgement.case_id for judgement in run.stored(run.manifest())] == ["c0", "c1", "c2"]


def test_no_more_judgements_are_under_way_than_wanted() -> None:
    judge = CountingJudge(pause=0.001)
    evaluate_sync(make_cases(30), ANSWERED, judge, workers=6)
    assert judge.most_under_way == 6


def test_cases_with_the_very_same_content_are_judged_once_and_each_has_its_judgement(out: Path | None) -> None:
    judge = CountingJudge()
    twins = [Case("a", answer="same"), Case("b", answer="same"), Case("c", answer="other")]
    results = evaluate_sync(twins, ANSWERED, judge, out=out)
    assert judge.asked == ["a", "c"]
    assert [judgement.case_id for judgement in results] == ["a", "b", "c"]
    assert results[0].outcome == results[1].outcome


def test_two_cases_with_one_id_are_refused(out: Path | None) -> None:
    with pytest.raises(InputError, match="two cases have the id `c1`"):
        evaluate_sync([make_case(1), make_case(1)], ANSWERED, CountingJudge(), out=out)


def test_a_failed_judgement_is_tried_again_and_nothing_else(tmp_path: Path) -> None:
    broken = True

    class Mending(CountingJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict | Abstained:
            self.asked.append(case.id)
            if broken and case.id == "c2":
                raise OSError("not now")
            return Verdict(1.0)

    judge = Mending()
    first = evaluate_sync(make_cases(4), ANSWERED, judge, out=tmp_path / "run")
    assert isinstance(first[2].outcome, Failed)
    broken, judge.asked = False, []
    second = evaluate_sync(make_cases(4), ANSWERED, judge, out=tmp_path / "run")
    assert judge.asked == ["c2"]
    assert all(isinstance(judgement.outcome, Verdict) for judgement in second)


Change = Callable[[list[Case]], list[Case]]

CHANGES: list[tuple[Change, list[str]]] = [
    (lambda cases: cases, []),
    (lambda cases: cases[::-1], []),
    (lambda cases: cases[:2], []),
    (lambda cases: [*cases, make_case(9)], ["c9"]),
    (lambda cases: [make_case(0, answer="other"), *cases[1:]], ["c0"]),
    (lambda cases: [make_case(0, question="other", references=(), extra={"x": 1}), *cases[1:]], []),
    (lambda cases: [make_case(0, id="renamed"), *cases[1:]], []),
    (lambda cases: [make_case(0, lang="ro"), *cases[1:]], ["c0"]),
]


@pytest.mark.parametrize(("change", "asked_again"), CHANGES)
def test_a_change_judges_again_what_it_affects_and_nothing_else(
    tmp_path: Path, change: Change, asked_again: list[str]
) -> None:
    judge = CountingJudge()
    evaluate_sync(make_cases(4), ANSWERED, judge, out=tmp_path / "run")
    judge.asked = []
    cases = change(make_cases(4))
    results = evaluate_sync(cases, ANSWERED, judge, out=tmp_path / "run")
    assert judge.asked == asked_again
    assert [judgement.case_id for judgement in results] == [case.id for case in cases]
    assert [judgement.score for judgement in results] == [hashed(case.answer or "") for case in cases]


def test_another_fingerprint_judges_all_again_and_going_back_judges_nothing(tmp_path: Path) -> None:
    old, new = CountingJudge(fingerprint="counting@1"), CountingJudge(fingerprint="counting@2")
    evaluate_sync(make_cases(3), ANSWERED, old, out=tmp_path / "run")
    evaluate_sync(make_cases(3), ANSWERED, new, out=tmp_path / "run")
    assert len(new.asked) == 3
    old.asked = []
    evaluate_sync(make_cases(3), ANSWERED, old, out=tmp_path / "run")
    assert old.asked == []


def test_progress_is_told_of_every_judgement() -> None:
    seen: list[tuple[int, int, int]] = []

    def progress(counts: Counts) -> None:
        seen.append((counts.done, counts.total, counts.failed))

    def function(case: Case) -> object:
        return Verdict(1.0) if case.id != "c2" else None

    evaluate_sync(make_cases(3), ANSWERED, FunctionJudge(function), progress=progress, workers=1)
    assert seen == [(1, 3, 0), (2, 3, 0), (3, 3, 1)]


async def _notebook() -> list[float | None]:
    return [judgement.score for judgement in evaluate_sync(make_cases(3), ANSWERED, CountingJudge())]


def test_evaluate_sync_works_where_an_event_loop_already_runs() -> None:
    expected = [judgement.score for judgement in evaluate_sync(make_cases(3), ANSWERED, CountingJudge())]
    assert asyncio.run(_notebook()) == expected


def test_evaluate_can_be_awaited() -> None:
    results = asyncio.run(evaluate(make_cases(3), ANSWERED, CountingJudge()))
    assert len(results) == 3


@pytest.mark.parametrize("wrong", [{"replicates": 0}, {"workers": 0}])
def test_less_than_one_of_anything_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="1 or more"):
        evaluate_sync(make_cases(1), ANSWERED, CountingJudge(), **wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("cases", "criteria", "judges", "message"),
    [
        ("cases.jsonl", ANSWERED, CountingJudge(), r"'c' is no Case; read a file with judges.load\(path\)"),
        ([{"id": "a"}], ANSWERED, CountingJudge(), "is no Case"),
        ([make_case(1)], "faithfulness", CountingJudge(), "is no criterion; give judges.FAITHFULNESS"),
        ([make_case(1)], ANSWERED, "overlap", "is no judge; give an object with name"),
        ([make_case(1)], ANSWERED, CountingJudge, "is no judge"),
        ([make_case(1)], [], CountingJudge(), "at least one criterion"),
    ],
    ids=str,
)
def test_something_else_than_cases_criteria_and_judges_is_refused(
    cases: Any,
    criteria: Any,
    judges: Any,
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_sync(cases, criteria, judges)


def test_no_cases_give_no_judgements(out: Path | None) -> None:
    results = evaluate_sync([], ANSWERED, CountingJudge(), out=out)
    assert len(results) == 0
    assert results.to_records() == []


class Gone(BaseException):
    """Not an Exception."""


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(5), GeneratorExit(), Gone("x")], ids=repr)
def test_whatever_a_judge_raises_costs_one_judgement(out: Path | None, error: BaseException) -> None:
    def function(case: Case) -> Verdict:
        if case.id == "c1":
            raise error
        return Verdict(1.0)

    results = evaluate_sync(make_cases(4), ANSWERED, FunctionJudge(function), out=out)
    assert [type(judgement.outcome) for judgement in results] == [Verdict, Failed, Verdict, Verdict]


def test_ctrl_c_within_a_judge_stops_at_once(tmp_path: Path) -> None:
    judge = CountingJudge()

    def function(case: Case) -> Verdict:
        judge.asked.append(case.id)
        if case.id == "c3":
            raise KeyboardInterrupt
        return Verdict(1.0)

    with pytest.raises(KeyboardInterrupt):
        evaluate_sync(make_cases(100), ANSWERED, FunctionJudge(function), out=tmp_path / "run")
    assert judge.asked == ["c0", "c1", "c2", "c3"]
    run = Run(tmp_path / "run")
    assert [judgement.case_id for judgement in run.stored(run.manifest())] == ["c0", "c1", "c2"]


def test_a_judge_that_moves_to_another_folder_does_not_take_the_run_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def function(_: Case) -> Verdict:
        os.chdir(tmp_path / "elsewhere")
        return Verdict(1.0)

    assert len(evaluate_sync(make_cases(3), ANSWERED, FunctionJudge(function), out="run")) == 3
    assert (tmp_path / "run" / "ledger.jsonl").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_judge_whose_supports_fails_is_named() -> None:
    class Broken(CountingJudge):
        def supports(self, criterion: object) -> bool:
            raise RuntimeError("no idea")

    with pytest.raises(InputError, match=r"the judge `counting`: supports\(\) failed \(RuntimeError: no idea\)"):
        evaluate_sync([make_case(1)], ANSWERED, Broken())


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        (make_case(1, references="Plan b"), "`references` is 'Plan b'; give a tuple of str"),
        (make_case(1, contexts="a passage"), "`contexts` is 'a passage'; give a tuple of Context"),
        (make_case(1, contexts=("a passage",)), "`contexts` holds 'a passage'; give Context values"),
        (make_case(1, answer=4), "`answer` is 4, not a text"),
        (make_case(1, id=None), "case None: `id` is None, not a text"),
        (make_case(1, history=[{"role": "user"}]), "`history` holds"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_case_of_wrong_types_is_refused(out: Path | None, case: Case, complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        evaluate_sync([case], ANSWERED, CountingJudge(), out=out)


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter on Windows")
def test_ctrl_c_is_heard_while_judgements_that_are_there_are_skipped(tmp_path: Path) -> None:
    evaluate_sync(make_cases(500), ANSWERED, CountingJudge(), out=tmp_path / "run")
    resumed: list[int] = []

    def progress(counts: Counts) -> None:
        resumed.append(counts.resumed)
        if counts.resumed == 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        evaluate_sync(make_cases(500), ANSWERED, CountingJudge(), out=tmp_path / "run", progress=progress)
    assert resumed[-1] == 10


class Wordless(Exception):
    """Its message can't be had."""

    def __str__(self) -> str:
        raise ValueError("no")


async def cancels_itself(case: Case) -> Verdict:
    if case.id == "c1":
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
    return Verdict(1.0)


async def has_no_words(case: Case) -> Verdict:
    if case.id == "c1":
        raise Wordless
    return Verdict(1.0)


@pytest.mark.parametrize("judged", [cancels_itself, has_no_words])
def test_a_judge_that_cancels_itself_or_has_no_words_costs_one_judgement(
    out: Path | None, judged: Callable[[Case], Awaitable[Verdict]]
) -> None:
    class Odd(CountingJudge):
        async def judge(self, case: Case, criterion: object, *, replicate: int = 0) -> Verdict:
            return await judged(case)

    results = evaluate_sync(make_cases(4), ANSWERED, Odd(), out=out)
    assert [type(judgement.outcome) for judgement in results] == [Verdict, Failed, Verdict, Verdict]


def test_when_something_stops_it_all_what_hangs_is_given_up_after_a_while_and_not_recorded() -> None:
    class Hanging(CountingJudge):
        async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
            if case.id == "c3":
                await asyncio.sleep(0.01)
                raise Unauthorised("no such key")
            await asyncio.sleep(0.05 if case.id == "c1" else 1000)
            return Verdict(1.0)

    kept = Kept()
    hanging = Hanging()
    assignments = assign([ANSWERED], [hanging])
    with pytest.raises(Unauthorised):
        asyncio.run(judge_all(make_cases(4), assignments, {"counting": hanging}, kept, workers=4, grace_seconds=0.5))
    assert [judgement.case_id for judgement in kept.judgements] == ["c1"]


@dataclass
class Kept:
    """A store in memory."""

    keys: set[bytes] = field(default_factory=set[bytes])
    judgements: list[Judgement] = field(default_factory=list[Judgement])

    def append(self, judgement: Judgement) -> None:
        self.judgements.append(judgement)


class Wary(CountingJudge):
    """Takes in no case without an answer."""

    def admit(self, cases: Iterable[Case], criteria: Sequence[Criterion]) -> Iterator[Case]:
        for case in cases:
            if case.answer is None:
                raise InputError(f"case `{case.id}`: nothing to judge by {', '.join(each.name for each in criteria)}")
            yield case


def test_a_judge_may_refuse_cases_before_anything_is_judged(out: Path | None) -> None:
    judge, other = Wary(), CountingJudge("other")
    with pytest.raises(InputError, match="case `none`: nothing to judge by answered"):
        evaluate_sync([*make_cases(2), Case("none")], ANSWERED, [judge, other], out=out)
    assert (judge.asked, other.asked) == ([], [])
    assert len(evaluate_sync(make_cases(2), ANSWERED, [judge, other], out=out)) == 4
