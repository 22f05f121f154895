"""The door of a dataset: a record becomes a `Case`, or an `Invalid` that says why not.

Fields by our own names are taken as they are, `--map` takes others. What is taken from its own name leaves the record;
all the rest stays with the case as `extra`, under its own name.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from judges.case import Case, Context, Part, Turn
from judges.datasets.jsonl import kind_of
from judges.datasets.source import REPAIR, Invalid, Record
from judges.errors import InputError
from judges.fields import MISSING, find
from judges.fingerprint import Json
from judges.printable import printable
from judges.remedies import by_option

__all__ = ["TARGETS", "CaseRecord", "Door"]

# The names by which a field of a case is known, its own first.
_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id",),
    "question": ("question",),
    "answer": ("answer", "answers.a"),
    "contexts": ("contexts",),
    "references": ("references", "reference"),
    "history": ("history",),
    "lang": ("lang",),
    "rival": ("rival", "answers.b"),
}
_FIELDS = {name: field for field, names in _NAMES.items() for name in names}
_NESTED = ("contexts", "references", "history")

TARGETS = tuple(_FIELDS)
"""What `--map` may fill."""

LINE = "@line"
"""Mapped to `id`, it numbers the cases by their lines."""


def _text(value: object) -> object:
    """Numbers and truth values as their JSON text; what that would change stays, to be refused."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return value if "e" in text or "n" in text else text
    return value


def _identifier(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _texts(value: object) -> object:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _passages(value: object) -> object:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [{"text": item} if isinstance(item, str) else item for item in items]
    if isinstance(value, dict):
        return [cast("dict[str, object]", value)]
    return [{"text": value}] if isinstance(value, str) else value


def _turns(value: object) -> object:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [{"role": "user", "text": item} if isinstance(item, str) else item for item in items]
    return [{"role": "user", "text": value}] if isinstance(value, str) else value


_Text = Annotated[str, BeforeValidator(_text)]
_Identifier = Annotated[str, BeforeValidator(_identifier)]


class ContextRecord(BaseModel):
    """One passage: text, or an object with `text` and perhaps `id`, `rank` and `score`."""

    model_config = ConfigDict(extra="allow", strict=True)
    text: _Text
    doc_id: _Identifier | None = Field(None, validation_alias=AliasChoices("doc_id", "id"))
    rank: int | None = Field(None, ge=1)
    score: float | None = Field(None, allow_inf_nan=False)


class TurnRecord(BaseModel):
    """One earlier turn: text of the user, or an object with `role` and `text` (or `content`)."""

    model_config = ConfigDict(extra="allow", strict=True)
    role: str
    text: _Text = Field(validation_alias=AliasChoices("text", "content"))


class CaseRecord(BaseModel):
    """The fields of a record that a case is made of, by the names of `Case`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: _Identifier = Field(min_length=1)
    question: _Text | None = None
    answer: _Text | None = None
    contexts: Annotated[list[ContextRecord], BeforeValidator(_passages)] | None = None
    references: Annotated[list[_Text], BeforeValidator(_texts)] | None = None
    rival: _Text | None = None
    history: Annotated[list[TurnRecord], BeforeValidator(_turns)] | None = None
    lang: str | None = None

    def to_case(self, extra: Mapping[str, Json]) -> Case:
        """The case. Passages without a rank are ranked as they stand."""
        return Case(
            id=self.id,
            question=self.question,
            answer=self.answer,
            contexts=tuple(
                Context(context.text, context.doc_id, place if context.rank is None else context.rank, context.score)
                for place, context in enumerate(self.contexts or (), 1)
            ),
            references=tuple(self.references or ()),
            rival=self.rival,
            history=tuple(Turn(turn.role, turn.text) for turn in self.history or ()),
            lang=self.lang or None,
            extra=extra,
        )


class Door:
    """Lets records in as cases. It keeps which mapped fields it has met, so one door serves one reading."""

    def __init__(self, fields: Mapping[str, str], required: Collection[Part]) -> None:
        """A door for one dataset.

        Args:
            fields: `--map`: what to fill (one of `TARGETS`) -> dotted path in the record.
            required: Parts that must be there, `null` or not.

        Raises:
            InputError: `fields` can't be followed.
        """
        self._mapped = _checked(fields)
        self._own = {name: field for name, field in _FIELDS.items() if self._mapped.get(field, name) == name}
        # What is mapped to a name of its own is taken from there like any other.
        self._elsewhere = {field: path for field, path in self._mapped.items() if self._own.get(path) != field}
        self._required = tuple(part.value for part in Part if part in required and part is not Part.EXTRA)
        self._unmet = {path: field for field, path in self._mapped.items() if path != LINE}
        self._met_first: list[str] = []

    def is_nested(self, column: str) -> bool:
        """Whether a cell of this column may hold JSON: it is, or reaches into, a list of a case."""
        if self._own.get(column) in _NESTED:
            return True
        return any(
            (path == column and field in _NESTED) or path.startswith(f"{column}.")
            for field, path in self._mapped.items()
        )

    def admit(self, record: Record) -> Case | Invalid:
        """The record as a case, or what is wrong with it."""
        if not self._met_first:
            self._met_first = list(record.values)
        values, extra, names, second = self._taken(record)
        for field in ("id", *self._required):
            if field not in values or (field == "id" and values[field] is None):
                return self._missing(record, field)
        if second is not None:
            field = _FIELDS[second]
            remedy = by_option(
                "--map",
                f"choose with --map {field}={names[field]} or --map {field}={second}",
                "take one of them out of the file",
            )
            message = f"`{names[field]}` and `{second}` are both there and are one part of a case; {remedy}"
            return record.invalid(message, second)
        try:
            checked = CaseRecord.model_validate(values)
        except ValidationError as error:
            return _refused(record, error.errors(include_url=False)[0], names)
        # A list with more in it than a case holds is kept as it was.
        for field, items in (("contexts", checked.contexts), ("history", checked.history)):
            if items and names[field] in self._own and any(item.model_extra for item in items):
                extra[names[field]] = cast("Json", values[field])
        return checked.to_case(extra)

    def unmet(self) -> str | None:
        """What to say of mapped fields that no record had; None when each was met."""
        if not self._unmet:
            return None
        path, field = next(iter(self._unmet.items()))
        there = ", ".join(f"`{printable(name, 40)}`" for name in _nearest(path, self._met_first)[:12])
        return f"no record has `{printable(path, 80)}`, mapped to {field}; the first one has {there or 'no fields'}"

    def _taken(self, record: Record) -> tuple[dict[str, object], dict[str, Json], dict[str, str], str | None]:
        """The fields of the case, the rest, what the record calls each field, and a second name for one of them."""
        values: dict[str, object] = {}
        names: dict[str, str] = {}
        second: str | None = None
        extra = dict(record.values)
        own = self._own
        pair = extra.get("answers")
        if isinstance(pair, Mapping) and ("a" in pair or "b" in pair):
            self._take_pair(pair, extra)
        for name in [name for name in own if name in extra]:
            field, value = own[name], extra.pop(name)
            if values.get(field) is not None and value is not None:
                second = name
            elif value is not None or field not in values:
                values[field] = value
                names[field] = name
        for field, path in self._elsewhere.items():
            there = str(record.line) if path == LINE else find(record.values, path)
            if there is not MISSING:
                values[field] = there
                names[field] = path
        if self._unmet:
            for field in values:
                self._unmet.pop(names[field], None)
        return values, extra, names, second

    def _take_pair(self, pair: Mapping[str, Json], extra: dict[str, Json]) -> None:
        """Spreads `answers` into `answers.a` and `answers.b`; it stays as it was if it holds more than is taken."""
        taken = [side for side in ("a", "b") if side in pair and f"answers.{side}" in self._own]
        for side in taken:
            extra[f"answers.{side}"] = pair[side]
        if len(taken) == len(pair):
            del extra["answers"]

    def _missing(self, record: Record, field: str) -> Invalid:
        path = self._mapped.get(field)
        name = path if path is not None else "answers.b" if field == "rival" else field
        numbering = f", or number the cases with --map id={LINE}" if field == "id" else ""
        source = "" if path is None else f" (--map {field}={printable(path, 80)})"
        target = "answers.b" if field == "rival" else field
        remedy = by_option(
            "--map",
            f"map another field with --map {target}=FIELD{numbering}",
            f"call the field that holds it `{target}`",
        )
        return record.invalid(f"`{printable(name, 80)}` is missing{source}; {remedy}", name)


def _checked(fields: Mapping[str, str]) -> dict[str, str]:
    """The mapping by field of a case."""
    mapped: dict[str, str] = {}
    origin: dict[str, str] = {}
    for target, path in fields.items():
        if target not in _FIELDS:
            nearest = ", ".join(_nearest(target, TARGETS))
            raise InputError(f"--map: `{printable(target, 80)}` is no field of a case; there are {nearest}")
        field = _FIELDS[target]
        if not path:
            raise InputError(f"--map {target}=: name the field to take it from: --map {target}=FIELD")
        if path == LINE and field != "id":
            raise InputError(f"--map {target}={LINE}: {LINE} can only be an id: --map id={LINE}")
        if field in mapped:
            raise InputError(
                f"--map {origin[field]}=... and --map {target}=... fill the same part of a case; keep one of them"
            )
        mapped[field], origin[field] = path, target
    return mapped


def _nearest(word: str, names: Iterable[str]) -> list[str]:
    """All names, those like `word` first."""
    names = list(names)
    close = difflib.get_close_matches(word, names, n=3)
    return [*close, *(name for name in names if name not in close)]


def _refused(record: Record, error: ErrorDetails, names: Mapping[str, str]) -> Invalid:
    """What pydantic found, in our words and with the dataset's own names."""
    field, *inner = error["loc"]
    top = names.get(str(field), str(field))
    path = ".".join([top, *map(str, inner)])
    found: Any = error["input"]
    match error["type"]:
        case "missing":
            what = "is missing"
        case "string_too_short":
            what = "is empty"
        case "string_type" if isinstance(found, float):
            what = f"is {kind_of(found)}, which can't be kept digit by digit; write it as text"
        case "string_type":
            what = f"is {kind_of(found)}, not text"
        case "list_type":
            what = f"is {kind_of(found)}, not a list"
        case "int_type" | "greater_than_equal":
            what = f"is {kind_of(found)}, not a whole number from 1"
        case "float_type" | "finite_number":
            what = f"is {kind_of(found)}, not a number"
        case _:
            what = f"is {kind_of(found)}, not text or an object with `text`"
    remedy = REPAIR if inner else by_option("--map", f"map another field with --map {field}=FIELD", "correct it")
    return record.invalid(f"`{printable(path, 120)}` {what}; {remedy}", path)
