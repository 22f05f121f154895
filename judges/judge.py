"""What a judge is: anything of this shape. No base class, no registration."""

from typing import Protocol, runtime_checkable

from judges.case import Case
from judges.criterion import Criterion
from judges.verdict import Abstained, Verdict

__all__ = ["Judge"]


@runtime_checkable
class Judge(Protocol):
    """Turns a case and a criterion into a verdict. It keeps nothing between calls.

    It may have more, and is asked for it where it does:

        threshold: float                        scores from here on pass; 0.5 without it
        workers: int                            judgements it can have under way at a time, unless the user says
        fingerprint_for(criterion) -> str       in place of `fingerprint`, where that depends on the criterion
        describe(criterion) -> Mapping          what that fingerprint is made of, by name: for telling what differs
        reads: tuple[Part, ...]                 parts of a case it reads beside the criterion's: in each judgement's key
        threshold_is_fitted: bool               of a dataclass: set where labels have fitted its thresholds
        admit(cases, criteria) -> Iterator      the same cases, while a run takes them in: refuses what it can't judge
        requests(case, criterion) -> list       the requests a judgement begins with, for planning its cost
        async aclose()                          lets go of connections, after an evaluation; it still serves the next
    """

    @property
    def name(self) -> str:
        """What tables and files call it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever its verdicts may change: backend, model, parameters, version. Never holds a secret."""
        ...

    def supports(self, criterion: Criterion, /) -> bool:
        """Whether it can serve the criterion. Asked before anything is spent."""
        ...

    async def judge(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> Verdict | Abstained:
        """Judge one case.

        Raises:
            JudgesError: With the disposition the engine follows. Any other exception is recorded as a failure.
        """
        ...
