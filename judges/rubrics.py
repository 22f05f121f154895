"""The door of a rubric file: a named list of criteria of the user's own, in TOML or YAML, without code.

    name = "support"                        # by default the file's name
    include = ["rag9", "tone", "mine.yaml"] # rubrics, criteria and checks by name, or package.module:object; files

    [[criteria]]                            # for any judge
    name = "plain_words"
    description = "Is the answer in plain words?"
    judged = "answer"                       # or question, contexts, references
    against = "question"                    # may be left out
    unit = "whole"                          # or claim, context, pair
    reads = ["history"]                     # what else the judge may see

    [[criteria.levels]]                     # worst first; without any, no and yes
    label = "jargon"
    score = 0.0
    description = "It uses words that only insiders know."

    [[criteria.levels]]
    label = "plain"
    score = 1.0

    [[criteria.examples]]                   # may be left out
    answer = "Flush the DNS resolver."
    verdict = "jargon"
    rationale = "It doesn't say what that is."

    [[checks]]                              # needs no judge
    name = "right_form"
    kind = "json"                           # answered, well_formed, json, category, phrases, length, language, refusal
    schema = "schema.json"                  # a file, from where the rubric is; other kinds have other settings

A file of one criterion may have its fields at the top, with `[[levels]]` and `[[examples]]`.

In YAML the fields are the same. What ends in .yaml or .yml is YAML 1.2, where the labels `yes` and `no` are texts.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from os.path import normpath
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from judges.case import Part
from judges.checks import (
    Answered,
    Category,
    Check,
    Language,
    Length,
    Phrases,
    Refusal,
    Rule,
    ValidJson,
    WellFormed,
)
from judges.criterion import BINARY, Criterion, Example, Level, Scale, Unit
from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable
from judges.remedies import by_option
from judges.toml import read_toml
from judges.yaml import read_yaml

__all__ = ["RUBRIC_FILES", "Rubric", "read_criterion", "read_rubric", "rubric_file", "rubric_names"]

_YAML = (".yaml", ".yml")
RUBRIC_FILES = (".toml", *_YAML)
"""What the name of a rubric file ends in."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LISTS = frozenset({"include", "criteria", "checks"})


@dataclass(frozen=True, slots=True)
class Rubric:
    """A named list of what is asked."""

    name: str
    checks: tuple[Check, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    include: tuple[str, ...] = ()
    """Names of others: rubrics, criteria, checks."""


def rubric_names() -> list[str]:
    """The rubrics that come with Judges."""
    return sorted(path.stem for path in _root().glob("*.toml"))


def rubric_file(name: str) -> Path:
    """The file of a rubric of ours."""
    return _root() / f"{name}.toml"


def _root() -> Path:
    return Path(__file__).with_name("rubric_sets")


def read_criterion(path: Path) -> Criterion:
    """The one criterion that a file describes.

    Raises:
        InputError: It can't be read, or isn't a rubric of one criterion.
    """
    rubric = read_rubric(path)
    if len(rubric.criteria) != 1 or rubric.checks or rubric.include:
        remedy = by_option("--rubric", "give it with --rubric", "name it among `rubrics`")
        raise InputError(f"{path}: is a rubric, not one criterion; {remedy}")
    return rubric.criteria[0]


def read_rubric(path: Path) -> Rubric:
    """The rubric that a file describes; files that it names are read, too.

    Raises:
        InputError: It can't be read, or isn't a rubric.
    """
    found = read_yaml(path) if path.suffix in _YAML else read_toml(path)
    if not _LISTS & found.keys():
        single = _admitted(path, _Criterion, {"name": path.stem, **found})
        return Rubric(single.name, criteria=(_criterion(path, single),))
    file = _admitted(path, _File, {"name": path.stem, **found})
    rubric = Rubric(
        _named(path, file.name),
        checks=tuple(_check(path, each) for each in file.checks),
        criteria=tuple(_criterion(path, each) for each in file.criteria),
        include=tuple(normpath(path.parent / each) if each.endswith(RUBRIC_FILES) else each for each in file.include),
    )
    names = [*(each.name for each in rubric.checks), *(each.name for each in rubric.criteria), *rubric.include]
    if not names:
        raise InputError(f"{path}: the rubric is empty; give it `criteria`, `checks` or `include`")
    _expect_different(path, names)
    return rubric


# --- The file -------------------------------------------------------------------------------------------------------


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Level(_Record):
    label: Annotated[str, Field(min_length=1)]
    score: Annotated[float, Field(ge=0, le=1)]
    description: str = ""


class _Example(_Record):
    question: str | None = None
    answer: str | None = None
    rival: str | None = None
    contexts: str | None = None
    references: str | None = None
    verdict: str
    rationale: str = ""


class _Criterion(_Record):
    name: str
    description: str = ""
    judged: Part = Part.ANSWER
    against: Part | None = None
    unit: Unit = Unit.WHOLE
    reads: list[Part] = Field(default_factory=list[Part])
    levels: list[_Level] = Field(default_factory=list[_Level])
    examples: list[_Example] = Field(default_factory=list[_Example])
    template: str = ""


class _Check(BaseModel):
    model_config = ConfigDict(extra="allow")  # the settings of its kind
    name: str
    kind: str
    description: str = ""


class _File(_Record):
    name: str
    include: list[str] = Field(default_factory=list[str])
    criteria: list[_Criterion] = Field(default_factory=list[_Criterion])
    checks: list[_Check] = Field(default_factory=list[_Check])


RecordT = TypeVar("RecordT", bound=_Record)


def _admitted(path: Path, kind: type[RecordT], found: dict[str, Any]) -> RecordT:
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{path}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            what = "a rubric has no such field"
        case "missing":
            what = "is missing"
        case _:
            what = first["msg"].removeprefix("Value error, ").lower()
    return f"`{where}`: {what}" if where else what


def _named(path: Path, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(f"{path}: `name`: `{printable(name, 40)}` is no name; use letters, digits, - and _")
    return name


def _expect_different(path: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}: `{name}` is there twice; give each its own name")
        seen.add(name)


# --- What it describes ----------------------------------------------------------------------------------------------

_KINDS: dict[str, type[Rule]] = {
    "answered": Answered,
    "well_formed": WellFormed,
    "json": ValidJson,
    "category": Category,
    "phrases": Phrases,
    "length": Length,
    "language": Language,
    "refusal": Refusal,
}


def _check(path: Path, check: _Check) -> Check:
    name = _named(path, check.name)
    kind = _KINDS.get(check.kind)
    if kind is None:
        raise InputError(f"{path}: check `{name}`: there is no kind `{check.kind}`; there are {', '.join(_KINDS)}")
    settings: dict[str, Any] = dict(check.model_extra or {})
    known = [each.name for each in fields(kind)]
    for setting in settings:
        if setting not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"{path}: check `{name}`: a check of kind `{check.kind}` has no `{setting}`; {there}")
    if "schema" in settings:
        settings["schema"] = _schema(path, settings["schema"])
    try:
        return Check(name, TypeAdapter[Rule](kind).validate_python(settings), check.description)
    except ValidationError as error:
        raise InputError(f"{path}: check `{name}`: {_first(error)}") from None


def _schema(path: Path, name: object) -> Json:
    if not isinstance(name, str):
        raise InputError(f"{path}: `schema` is no text; give the name of a file")
    place = path.parent / name
    try:
        return cast("Json", orjson.loads(place.read_bytes()))
    except OSError as error:
        raise InputError(f"{path}: the schema {place}: can't be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: the schema {place}: no JSON: {error}") from None


def _criterion(path: Path, record: _Criterion) -> Criterion:
    name = _named(path, record.name)
    try:
        levels = tuple(Level(each.label, each.score, each.description) for each in record.levels)
        return Criterion(
            name=name,
            hypothesis=record.judged,
            premise=record.against,
            unit=record.unit,
            scale=Scale(levels) if levels else BINARY,
            description=record.description,
            background=(*record.reads, *([Part.RIVAL] if record.unit is Unit.PAIR else [])),
            template=record.template,
            examples=tuple(_example(each) for each in record.examples),
        )
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _example(example: _Example) -> Example:
    parts = example.model_dump(exclude_none=True, exclude={"verdict", "rationale"})
    return Example(parts, example.verdict, example.rationale)
