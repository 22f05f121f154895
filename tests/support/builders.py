"""Cases and judges for tests. The judges are real ones, only simple."""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from judges import Abstained, Case, Context, Criterion, Part, Verdict

ANSWERED = Criterion("answered", Part.ANSWER)
GROUNDED = Criterion("grounded", Part.ANSWER, Part.CONTEXTS)


def make_case(number: int, **parts: object) -> Case:
    """A small case whose every part tells its number."""
    values: dict[str, object] = {
        "id": f"c{number}",
        "question": f"question {number}",
        "answer": f"answer {number}",
        "contexts": (Context(f"context {number}", doc_id=f"d{number}", rank=1),),
        "references": (f"reference {number}",),
    }
    return Case(**{**values, **parts})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def make_cases(count: int) -> list[Case]:
    """So many of them."""
    return [make_case(number) for number in range(count)]


def hashed(text: str) -> float:
    """A number from 0 to 1 that depends on all of the text."""
    return hashlib.sha256(text.encode()).digest()[0] / 255


@dataclass
class CountingJudge:
    """Scores an answer by its hash, and remembers what it was asked."""

    name: str = "counting"
    fingerprint: str = "counting@1"
    pause: float = 0.0
    asked: list[str] = field(default_factory=list[str])
    under_way: int = 0
    most_under_way: int = 0

    def supports(self, criterion: Criterion) -> bool:
        return criterion.name in ("answered", "grounded")

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict | Abstained:
        self.asked.append(case.id)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(self.pause)
        self.under_way -= 1
        if case.answer is None:
            return Abstained("no_answer")
        return Verdict(hashed(case.answer), f"the hash of it, replicate {replicate}")


@dataclass(frozen=True)
class FunctionJudge:
    """Does what a function says: returns what it returns, raises what it raises."""

    function: Callable[[Case], object]
    name: str = "function"
    fingerprint: str = "function@1"

    def supports(self, criterion: Criterion) -> bool:
        return criterion.name in ("answered", "grounded")

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        return self.function(case)  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
