"""The judge that says what somebody else's judge has said: its verdicts stand in a field of each case."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import cast

from judges.case import Case, Part
from judges.criterion import Criterion, Unit
from judges.errors import InputError, InvalidReply
from judges.fields import MISSING, find_longest
from judges.fingerprint import Json, fingerprint
from judges.printable import printable
from judges.verdict import Abstained, Verdict

__all__ = ["BAD_WORDS", "GOOD_WORDS", "STORED", "StoredVerdicts", "fields_of", "refuse_absent", "unstored"]

STORED = "stored:"
"""What its name begins with."""
GOOD_WORDS, BAD_WORDS = ("pass", "correct", "yes", "true"), ("fail", "incorrect", "no", "false")
"""Labels that are good or bad by themselves."""

_RULES = 2
"""Version of how a stored value is read. Raise it with every change that may change a verdict."""
_PAIR = {"a": "first", "b": "second"}
"""How a pair's answers are called in files, and on the scale."""
_CALLED = {
    "context_sufficiency": {
        "absent": "insufficient",
        "unanswerable": "insufficient",
        "present": "sufficient",
        "answerable": "sufficient",
    }
}
"""By criterion: how its levels are called elsewhere, in words that are good or bad only there."""
_SHOWN = 60
_DEEPEST, _MOST_NAMES, _NAMED, _NEAR = 4, 200, 5, 0.75


class StoredVerdicts:
    """Reads the verdicts that a field of the cases holds; it judges nothing.

    A number from 0 to 1 is a score. A label is a level of the criterion's scale, or one of the usual words: 1 or 0.

    Args:
        field: Dotted path of them. Where one criterion is asked, the field may be called anything:
            `judges.gpt-4.right`. Where several are, it holds an object of verdicts by criterion: `judges.gpt-4`.
            Names may hold dots.
    """

    reads = (Part.EXTRA,)
    threshold = 0.5

    def __init__(self, field: str) -> None:
        if not field.strip(". "):
            raise InputError(
                f"judge `{STORED}{field}`: which verdicts? name their field: {STORED}judges.NAME.CRITERION"
            )
        self.name = field.removeprefix("judges.")
        self._field = field

    @property
    def fingerprint(self) -> str:
        """Where the verdicts stand. What they are is part of each case."""
        return fingerprint(["stored", _RULES, self._field])

    def describe(self, criterion: Criterion) -> Mapping[str, Json]:  # noqa: ARG002 - the same for each
        """What the fingerprint is made of."""
        return {"stored": self._field, "version": _RULES}

    def supports(self, criterion: Criterion, /) -> bool:  # noqa: ARG002 - any
        """Any: the field tells what it was asked."""
        return True

    async def judge(
        self,
        case: Case,
        criterion: Criterion,
        /,
        *,
        replicate: int = 0,  # noqa: ARG002 - part of the protocol; what is stored is the same each time
    ) -> Verdict | Abstained:
        """The verdict that is stored; it abstains where none is.

        Raises:
            InputError: The field holds numbers that are no scores.
            InvalidReply: What is stored is no level of the scale.
        """
        return self._read(case, criterion)

    def admit(self, cases: Iterable[Case], criteria: Sequence[Criterion]) -> Iterator[Case]:
        """The same cases, one by one, before any is judged: what can't be read as verdicts on these is refused.

        Raises:
            InputError: No case has a verdict on one of the criteria, several are asked and the field holds one
                verdict, or numbers that are no scores.
        """
        for case in refuse_absent(cases, [(self, criterion) for criterion in criteria]):
            value = find_longest(case.extra, self._field)
            if len(criteria) > 1 and not (value in (MISSING, None, "") or isinstance(value, Mapping)):
                raise InputError(
                    f"case `{printable(case.id, _SHOWN)}`: `{printable(self._field, _SHOWN)}` holds one verdict, and "
                    f"{len(criteria)} criteria are asked ({criteria[0].name}, ...); ask one of them, or name a field "
                    "that holds an object of verdicts by criterion"
                )
            for criterion in criteria:
                with suppress(InvalidReply):  # which costs that judgement only
                    self._read(case, criterion)
            yield case

    def _read(self, case: Case, criterion: Criterion) -> Verdict | Abstained:
        value = find_longest(case.extra, self._field)
        if isinstance(value, Mapping):
            value = cast("Mapping[str, object]", value).get(criterion.name)
        if value is MISSING or value is None or value == "":
            return Abstained("nothing_stored", f"the case has no verdict in `{self._field}`")
        return self._verdict(value, case, criterion)

    def absent(self, case: Case, criterion: Criterion) -> str | None:
        """The field that the case lacks, or has nothing in; None where a verdict is stored."""
        value, field = find_longest(case.extra, self._field), self._field
        if isinstance(value, Mapping):
            value, field = cast("Mapping[str, object]", value).get(criterion.name), f"{field}.{criterion.name}"
        return field if value is MISSING or value is None or value == "" else None

    def _verdict(self, value: object, case: Case, criterion: Criterion) -> Verdict:
        shown = printable(str(value), _SHOWN)
        if isinstance(value, bool):
            return Verdict(float(value), f"stored: {str(value).lower()}")
        if isinstance(value, int | float):
            if not 0 <= value <= 1:
                raise InputError(
                    f"case `{case.id}`: `{self._field}` is {shown}, and scores of a run go from 0 to 1; others can be "
                    "held against labels as they are: judges calibrate FILE --judge stored:..."
                )
            return Verdict(float(value), f"stored: {shown}")
        if isinstance(value, str):
            called = _PAIR if criterion.unit is Unit.PAIR else _CALLED.get(criterion.name, {})
            label = value if criterion.scale.level(value) is not None else called.get(value.lower(), value)
            level = criterion.scale.level(label)
            if level is not None:
                return Verdict(level.score, f"stored: {shown}", level.label)
            if value.lower() in (*GOOD_WORDS, *BAD_WORDS):
                return Verdict(float(value.lower() in GOOD_WORDS), f"stored: {shown}")
        names = {level: name for name, level in _PAIR.items()} if criterion.unit is Unit.PAIR else {}
        levels = ", ".join(names.get(label, label) for label in criterion.scale.labels)
        raise InvalidReply(
            f"case `{case.id}`: `{self._field}` holds `{shown}`, no number and none of {levels}; it counts as failed: "
            "mend the file, ask by a --criterion file whose levels are called so, or let more fail with --max-failures"
        )


def refuse_absent(cases: Iterable[Case], asked: Iterable[tuple[object, Criterion]]) -> Iterator[Case]:
    """The same cases, one by one; after the last, what no case has a verdict of is refused: its field is misspelt.

    Args:
        cases: Those to be judged.
        asked: Judges, each with what it is asked. Those that read no stored verdicts are passed over.

    Raises:
        InputError: A stored judge would abstain from every case.
    """
    sought = [(judge, criterion, "") for judge, criterion in asked if isinstance(judge, StoredVerdicts)]
    there: dict[str, None] = {}
    for case in cases:
        told = [(judge, criterion, field, judge.absent(case, criterion)) for judge, criterion, field in sought]
        sought = [(judge, asks, max(field, here, key=len)) for judge, asks, field, here in told if here is not None]
        if sought and len(there) < _MOST_NAMES:
            there.update(dict.fromkeys(fields_of(case)))
        yield case
    for _, _, field in sought:
        if field:  # there was a case
            raise unstored(field, there)


def fields_of(case: Case) -> Iterator[str]:
    """The dotted paths of what stands in a case beside the parts that we know."""
    return _paths(case.extra, "", 0)


def _paths(values: Mapping[str, object], before: str, depth: int) -> Iterator[str]:
    for name, value in values.items():
        if value is None or value == "" or value == {}:
            continue
        yield f"{before}{name}"
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from _paths(cast("Mapping[str, object]", value), f"{before}{name}.", depth + 1)


def unstored(field: str, there: Iterable[str]) -> InputError:
    """Says that no case has a verdict in `field`, and which of the fields that are there may be meant."""
    names = [name for name in there if name != field]
    near = get_close_matches(field, names, n=1, cutoff=_NEAR)
    root = field.partition(".")[0] + "."
    like = [name for name in names if name.startswith(root)] or [name for name in names if name.startswith("judges.")]
    if near:
        remedy = f"did you mean `{printable(near[0], _SHOWN)}`?"
    elif like:
        more = ", ..." if len(like) > _NAMED else ""
        remedy = f"there are {', '.join(f'`{printable(name, _SHOWN)}`' for name in like[:_NAMED])}{more}"
    else:
        remedy = f"name the field of the verdicts: {STORED}judges.NAME.CRITERION"
    return InputError(f"no case has a verdict in `{printable(field, _SHOWN)}`; {remedy}")
