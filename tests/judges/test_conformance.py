import asyncio
from dataclasses import dataclass
from itertools import count
from random import Random

import pytest

from judges import Abstained, Case, Criterion, Part, TokenOverlapJudge, Verdict, check_judge
from support.builders import ANSWERED, GROUNDED, CountingJudge, FunctionJudge


def test_our_judges_keep_their_promises() -> None:
    check_judge(TokenOverlapJudge())
    check_judge(CountingJudge(), [ANSWERED, GROUNDED])


def test_a_judge_that_draws_lots_can_be_checked_too() -> None:
    random = Random(1)
    check_judge(FunctionJudge(lambda _: Verdict(random.random())), [ANSWERED], repeatable=False)


@dataclass
class Nameless(CountingJudge):
    name: str = ""


class Restless:
    name = "restless"
    ticks = count()

    @property
    def fingerprint(self) -> str:
        return f"restless@{next(self.ticks)}"

    def supports(self, criterion: Criterion) -> bool:
        return True

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        return Verdict(1.0)


class Vague(CountingJudge):
    def supports(self, criterion: Criterion) -> bool:
        return "perhaps"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


class Silent:
    name = "silent"
    fingerprint = "silent@1"


class Beyond(CountingJudge):
    threshold = 1.5


def brittle(case: Case) -> Verdict:
    assert case.answer is not None
    return Verdict(1 / len(case.answer))


def forgetful(counter: "count[int]" = count()) -> Verdict:  # noqa: B008
    return Verdict(1 / (1 + next(counter)))


@pytest.mark.parametrize(
    ("judge", "promise"),
    [
        (Nameless(), "`name` is ''"),
        (Restless(), "`fingerprint` changes between two readings"),
        (Vague(), "should be True or False"),
        (Silent(), "`judge` is missing"),
        (Beyond(), "`threshold` is 1.5"),
        (FunctionJudge(lambda _: 0.5), "returned float, not a Verdict"),
        (FunctionJudge(lambda _: Verdict(1.5)), "scores and probabilities go from 0 to 1"),
        (FunctionJudge(brittle), "failed on a case with the answer"),
        (FunctionJudge(lambda _: forgetful()), "another verdict the second time"),
        (FunctionJudge(lambda case: Verdict(len(case.question or "") / 1e6)), r"depends on `question`.*Part\.QUESTION"),
        (FunctionJudge(lambda case: Verdict(len(case.id) / 1e6)), "depends on the case's id"),
        (FunctionJudge(lambda _: Abstained("never")), "no verdict on the ordinary case"),
    ],
)
def test_a_broken_promise_is_named(judge: CountingJudge, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_judge(judge, [ANSWERED])


def test_a_judge_for_no_criterion_of_ours_wants_its_own_named() -> None:
    with pytest.raises(AssertionError, match=r"pass those it is for: check_judge\(judge, \[MY_CRITERION\]\)"):
        check_judge(CountingJudge())


def test_a_criterion_named_must_be_supported() -> None:
    with pytest.raises(AssertionError, match="doesn't support `tone`"):
        check_judge(CountingJudge(), [Criterion("tone", Part.ANSWER)])


def test_a_judge_is_checked_where_an_event_loop_already_runs() -> None:
    async def notebook() -> None:
        check_judge(CountingJudge(), [ANSWERED])

    asyncio.run(notebook())


def test_a_judge_whose_supports_fails_is_told_so() -> None:
    class Broken(CountingJudge):
        def supports(self, criterion: Criterion) -> bool:
            raise RuntimeError("no idea")

    with pytest.raises(AssertionError, match=r"`supports\(answered\)` failed: RuntimeError: no idea"):
        check_judge(Broken(), [ANSWERED])
