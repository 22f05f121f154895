"""What there is to judge: cases x criteria x judges x replicates, each with the key of its judgement."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from judges.case import Case, Part
from judges.criterion import Criterion
from judges.errors import InputError
from judges.fingerprint import Json, fingerprint
from judges.judge import Judge

__all__ = ["Assignment", "Work", "assign", "key_of", "plan"]

_DEFAULT_THRESHOLD = 0.5
_CHOOSING_DIGITS = 12
_CHOICES = int("f" * _CHOOSING_DIGITS, 16) + 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """A criterion given to a judge: data only, so that a run can remember it."""

    criterion: Criterion
    judge: str
    """The judge's name."""
    judge_fingerprint: str
    threshold: float = field(default=_DEFAULT_THRESHOLD, compare=False)
    """Where readers cut the judge's scores unless told otherwise. No part of any key."""
    judge_described: Mapping[str, Json] | None = field(default=None, compare=False)
    """What the judge's fingerprint is made of, by name; None where the judge doesn't say."""
    calibration: Mapping[str, Json] | None = field(default=None, compare=False)
    """What labels have shown of the judge, for whoever reads calibrations (`judges.plugins`). No part of any key."""
    reads: tuple[Part, ...] = ()
    """Parts of a case that the judge reads beside the criterion's: they are in the key."""
    fingerprint: str = field(init=False)
    """What identifies criterion and judge together."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", fingerprint([self.criterion.fingerprint, self.judge_fingerprint]))

    def to_record(self) -> dict[str, Any]:
        """The assignment as JSON-ready values."""
        return {
            "criterion": self.criterion.to_record(),
            "judge": self.judge,
            "judge_fingerprint": self.judge_fingerprint,
            "threshold": self.threshold,
            **({"reads": [part.value for part in self.reads]} if self.reads else {}),
            "judge_described": self.judge_described,
            "calibration": self.calibration,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Assignment":
        """The assignment that `to_record` wrote."""
        criterion = Criterion.from_record(record["criterion"])
        return cls(
            criterion,
            record["judge"],
            record["judge_fingerprint"],
            float(record["threshold"]),
            record.get("judge_described"),
            record.get("calibration"),
            tuple(Part(part) for part in record.get("reads", ())),
        )


@dataclass(frozen=True, slots=True)
class Work:
    """One judgement to be made."""

    case: Case
    assignment: Assignment
    replicate: int
    key: str


def assign(criteria: Sequence[Criterion], judges: Sequence[Judge]) -> tuple[Assignment, ...]:
    """Every criterion with every judge, criteria first.

    Raises:
        InputError: There is none of either, one is something else, two share a name, or a judge doesn't support a
            criterion.
    """
    for criterion in criteria:
        _expect(criterion, Criterion, "criterion", "judges.FAITHFULNESS, or a Criterion of your own")
    for judge in judges:
        _expect(
            judge, Judge, "judge", "an object with name, fingerprint, supports and judge, such as TokenOverlapJudge()"
        )
    if not criteria or not judges:
        raise InputError("nothing to judge: at least one criterion and one judge are needed")
    for kind, names in (("criteria", [c.name for c in criteria]), ("judges", [j.name for j in judges])):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"two {kind} are called `{twice[0]}`; give each its own name")
    for judge in judges:
        for criterion in criteria:
            if not _supports(judge, criterion):
                raise InputError(
                    f"the judge `{judge.name}` can't judge `{criterion.name}`; choose another judge for it"
                )
    return tuple(
        Assignment(
            criterion,
            judge.name,
            _fingerprint(judge, criterion),
            float(getattr(judge, "threshold", _DEFAULT_THRESHOLD)),
            _described(judge, criterion),
            reads=_reads(judge),
        )
        for criterion in criteria
        for judge in judges
    )


def _fingerprint(judge: Judge, criterion: Criterion) -> str:
    """Of the judge for this criterion, where that differs: a new prompt for one leaves the judgements of the others."""
    of_one: Callable[[Criterion], str] | None = getattr(judge, "fingerprint_for", None)
    return judge.fingerprint if of_one is None else of_one(criterion)


def _reads(judge: Judge) -> tuple[Part, ...]:
    """What it reads beside the criterion's parts, where it says so."""
    said: object = getattr(judge, "reads", ())
    parts = cast("tuple[object, ...]", said) if isinstance(said, tuple) else (said,)
    for each in parts:
        _expect(each, Part, f"part that the judge `{judge.name}` reads", "reads = (Part.EXTRA,)")
    return cast("tuple[Part, ...]", parts)


def _described(judge: Judge, criterion: Criterion) -> Mapping[str, Json] | None:
    """What the fingerprint is made of, where the judge says it: so that another judge can be told by what differs."""
    describe: Callable[[Criterion], Mapping[str, Json] | None] | None = getattr(judge, "describe", None)
    found = None if describe is None else describe(criterion)
    return (
        None if found is None else {name: _kept(value) if name == _AS_IT_IS else value for name, value in found.items()}
    )


_AS_IT_IS = "parameters"
"""What is sent to a service as it is."""
_WORD = re.compile("[a-z][a-z_-]{0,15}")


def _kept(value: Json) -> Json:
    """A parameter, fit to be kept in a file: numbers and words as they are. Other text may be a secret: its hash."""
    match value:
        case str():
            return value if _WORD.fullmatch(value) else f"#{fingerprint(value)[:8]}"
        case Mapping():
            return {name: _kept(each) for name, each in value.items()}
        case Sequence():
            return [_kept(each) for each in value]
        case _:
            return value


def _supports(judge: Judge, criterion: Criterion) -> bool:
    try:
        return judge.supports(criterion)
    except Exception as error:
        raise InputError(f"the judge `{judge.name}`: supports() failed ({type(error).__name__}: {error})") from error


def _expect(found: object, kind: type, name: str, remedy: str) -> None:
    if isinstance(found, type) or not isinstance(found, kind):
        raise InputError(f"{found!r:.100} is no {name}; give {remedy}")


def key_of(case: Case, assignment: Assignment, replicate: int) -> str:
    """The key of a judgement: a hash of all it depends on, and of nothing else.

    That is: the parts of the case that the criterion names, and those that the judge says it reads, the case's
    language, the criterion, the judge's fingerprint and the replicate. The case's id is not among them: two cases with
    the same content are one judgement.
    """
    parts = [case.part(part) for part in (*assignment.criterion.parts, *assignment.reads)]
    return fingerprint([assignment.fingerprint, replicate, case.lang, parts])


def plan(
    cases: Iterable[Case], assignments: Sequence[Assignment], *, replicates: int = 1, repeat_share: float = 0.0
) -> Iterator[Work]:
    """All judgements to be made, in order of the cases.

    Args:
        cases: Read once.
        assignments: Who judges what.
        replicates: How often each judgement is made.
        repeat_share: The share of them that is made once more, as the replicate after the last, to see how often the
            judge changes its mind. The hash of the content chooses: the same ones each time.
    """
    for case in cases:
        for assignment in assignments:
            first = ""
            for replicate in range(replicates):
                key = key_of(case, assignment, replicate)
                first = first or key
                yield Work(case, assignment, replicate, key)
            if repeat_share and _is_chosen(first, repeat_share):
                yield Work(case, assignment, replicates, key_of(case, assignment, replicates))


def _is_chosen(key: str, share: float) -> bool:
    return int(key[:_CHOOSING_DIGITS], 16) < share * _CHOICES
