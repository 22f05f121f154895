"""The judge that says what somebody else's judge has said: its verdicts stand in a field of each case."""

from collections.abc import Mapping
from typing import cast

from judges.case import Case, Part
from judges.criterion import Criterion, Unit
from judges.errors import InputError, InvalidReply
from judges.fields import MISSING, find_longest
from judges.fingerprint import Json, fingerprint
from judges.printable import printable
from judges.verdict import Abstained, Verdict

__all__ = ["BAD_WORDS", "GOOD_WORDS", "STORED", "StoredVerdicts"]

STORED = "stored:"
"""What its name begins with."""
GOOD_WORDS, BAD_WORDS = ("pass", "correct", "yes", "true"), ("fail", "incorrect", "no", "false")
"""Labels that are good or bad by themselves."""

_RULES = 1
"""Version of how a stored value is read. Raise it with every change that may change a verdict."""
_PAIR = {"a": "first", "b": "second"}
"""How a pair's answers are called in files, and on the scale."""
_SHOWN = 60


class StoredVerdicts:
    """Reads the verdicts that a field of the cases holds; it judges nothing.

    A number from 0 to 1 is a score. A label is a level of the criterion's scale, or one of the usual words: 1 or 0.

    Args:
        field: Dotted path of them: `judges.gpt-4.correctness`, or `judges.gpt-4` for all that it was asked, by
            criterion. Names may hold dots.
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
            InputError: The field holds verdicts on another criterion, or numbers that are no scores.
            InvalidReply: What is stored is no level of the scale.
        """
        value = find_longest(case.extra, self._field)
        if isinstance(value, Mapping):
            value = cast("Mapping[str, object]", value).get(criterion.name)
        elif value is not MISSING and not f".{self._field}".endswith(f".{criterion.name}"):
            raise InputError(
                f"case `{case.id}`: `{self._field}` isn't about `{criterion.name}`: its name ends otherwise; name the "
                "field of the verdicts on that, or ask another --criterion"
            )
        if value is MISSING or value is None or value == "":
            return Abstained("nothing_stored", f"the case has no verdict in `{self._field}`")
        return self._verdict(value, case, criterion)

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
            label = _PAIR.get(value, value) if criterion.unit is Unit.PAIR else value
            level = criterion.scale.level(label)
            if level is not None:
                return Verdict(level.score, f"stored: {shown}", level.label)
            if value.lower() in (*GOOD_WORDS, *BAD_WORDS):
                return Verdict(float(value.lower() in GOOD_WORDS), f"stored: {shown}")
        raise InvalidReply(
            f"case `{case.id}`: `{self._field}` holds {shown}, no number and none of "
            f"{', '.join(criterion.scale.labels)}"
        )
