"""What an evaluation does for judges that cost something: it counts, it stops in time, it lets go."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from judges import Case, Criterion, Run, Verdict, evaluate_sync
from judges.engine.plan import assign
from judges.engine.progress import Counts
from judges.errors import ReplyError, TooManyFailed
from judges.usage import Usage, add_usage
from support.builders import ANSWERED, GROUNDED, CountingJudge, make_cases

ONE_CALL = Usage(calls=1, input_tokens=10, output_tokens=2, cost=0.5, models=("m-1",))


@dataclass
class PayingJudge(CountingJudge):
    """Uses one call a judgement, and some fail after it was paid."""

    fails: frozenset[str] = frozenset()
    closed: int = 0

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        self.asked.append(case.id)
        add_usage(ONE_CALL)
        if case.id in self.fails:
            raise ReplyError("no verdict")
        return Verdict(0.5)

    async def aclose(self) -> None:
        self.closed += 1


def test_each_judgement_says_what_its_calls_used_and_the_run_keeps_it(tmp_path: Path) -> None:
    counts: list[Counts] = []
    judge = PayingJudge(fails=frozenset({"c1"}))
    results = evaluate_sync(make_cases(3), ANSWERED, judge, out=tmp_path / "run", progress=counts.append)
    assert [judgement.usage for judgement in results] == [ONE_CALL] * 3  # what failed was paid for too
    assert counts[-1].usage == Usage(calls=3, input_tokens=30, output_tokens=6, cost=1.5, models=("m-1",))
    again = Run(tmp_path / "run")
    assert [judgement.usage for judgement in again.stored(again.manifest())] == [ONE_CALL] * 3


def test_a_judge_that_calls_nothing_leaves_nothing_about_it_in_the_ledger(tmp_path: Path) -> None:
    evaluate_sync(make_cases(1), ANSWERED, CountingJudge(), out=tmp_path / "run")
    line = json.loads((tmp_path / "run" / "ledger.jsonl").read_text())
    assert "usage" not in line


def test_too_many_failures_end_it_once_there_are_enough_to_tell(tmp_path: Path) -> None:
    judge = PayingJudge(fails=frozenset(f"c{number}" for number in range(0, 1000, 10)))  # 10% of them
    with pytest.raises(TooManyFailed, match=r"of 51 judgements failed, more than 5%.*ReplyError: no verdict"):
        evaluate_sync(make_cases(1000), ANSWERED, judge, out=tmp_path / "run", workers=1, max_failures=0.05)
    assert len(judge.asked) == 51  # the first failure after 50 judgements
    run = Run(tmp_path / "run")
    assert len(run.stored(run.manifest())) == 51


def test_as_many_failures_as_are_allowed_end_nothing() -> None:
    judge = PayingJudge(fails=frozenset(f"c{number}" for number in range(19, 1000, 20)))
    assert len(evaluate_sync(make_cases(200), ANSWERED, judge, workers=1, max_failures=0.05)) == 200


def test_connections_are_let_go_however_it_ends() -> None:
    judge = PayingJudge(fails=frozenset(f"c{number}" for number in range(100)))
    with pytest.raises(TooManyFailed):
        evaluate_sync(make_cases(100), ANSWERED, judge, max_failures=0.0)
    evaluate_sync(make_cases(1), ANSWERED, judge)
    assert judge.closed == 2


def test_a_judge_says_how_many_judgements_it_can_have_under_way() -> None:
    @dataclass
    class Wide(CountingJudge):
        workers: int = 20
        pause: float = 0.01

    wide = Wide()
    evaluate_sync(make_cases(60), ANSWERED, wide)
    assert wide.most_under_way == 20
    narrow = Wide()
    evaluate_sync(make_cases(60), ANSWERED, narrow, workers=3)
    assert narrow.most_under_way == 3


def test_a_judge_may_have_a_fingerprint_for_each_criterion() -> None:
    @dataclass
    class Versioned(CountingJudge):
        versions: dict[str, int] = field(default_factory=lambda: {"answered": 1, "grounded": 1})

        def fingerprint_for(self, criterion: Criterion) -> str:
            return f"versioned@{self.versions[criterion.name]}"

    before = assign([ANSWERED, GROUNDED], [Versioned()])
    after = assign([ANSWERED, GROUNDED], [Versioned(versions={"answered": 1, "grounded": 2})])
    assert before[0].fingerprint == after[0].fingerprint
    assert before[1].fingerprint != after[1].fingerprint
