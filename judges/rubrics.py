"""The door of a rubric file: a criterion of the user's own, in TOML, without code.

name = "tone"
description = "Is the answer friendly and plain?"
judged = "answer"                 # or question, contexts, references
against = "question"              # may be left out
unit = "whole"                    # or claim, context, pair
reads = ["history"]               # what else the judge may see

[[levels]]                        # worst first
label = "rude"
score = 0.0
description = "It blames or mocks the person who asked."

[[levels]]
label = "friendly"
score = 1.0

[[examples]]                      # may be left out
answer = "Read the manual."
verdict = "rude"
rationale = "It sends the person away."
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judges.case import Part
from judges.criterion import BINARY, Criterion, Example, Level, Scale, Unit
from judges.errors import InputError

__all__ = ["read_rubric"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class _Level(BaseModel):
    model_config = ConfigDict(extra="forbid")
    label: Annotated[str, Field(min_length=1)]
    score: Annotated[float, Field(ge=0, le=1)]
    description: str = ""


class _Example(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: str | None = None
    answer: str | None = None
    rival: str | None = None
    contexts: str | None = None
    references: str | None = None
    verdict: str
    rationale: str = ""


class _Rubric(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    description: str = ""
    judged: Part = Part.ANSWER
    against: Part | None = None
    unit: Unit = Unit.WHOLE
    reads: list[Part] = Field(default_factory=list[Part])
    levels: list[_Level] = Field(default_factory=list[_Level])
    examples: list[_Example] = Field(default_factory=list[_Example])
    template: str = ""


def read_rubric(path: Path) -> Criterion:
    """The criterion that a file describes.

    Raises:
        InputError: It can't be read, or isn't a rubric.
    """
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {getattr(error, 'strerror', None) or 'it is no UTF-8'}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    try:
        rubric = _Rubric.model_validate({"name": path.stem, **found})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        what = "a rubric has no such field" if first["type"] == "extra_forbidden" else first["msg"].lower()
        raise InputError(f"{path}: `{where}`: {what}") from None
    if not _NAME.fullmatch(rubric.name):
        raise InputError(f"{path}: `name`: `{rubric.name}` is no name; use letters, digits, - and _")
    try:
        levels = tuple(Level(each.label, each.score, each.description) for each in rubric.levels)
        return Criterion(
            name=rubric.name,
            hypothesis=rubric.judged,
            premise=rubric.against,
            unit=rubric.unit,
            scale=Scale(levels) if levels else BINARY,
            description=rubric.description,
            background=(*rubric.reads, *([Part.RIVAL] if rubric.unit is Unit.PAIR else [])),
            template=rubric.template,
            examples=tuple(_example(each) for each in rubric.examples),
        )
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _example(example: _Example) -> Example:
    parts = example.model_dump(exclude_none=True, exclude={"verdict", "rationale"})
    return Example(parts, example.verdict, example.rationale)
