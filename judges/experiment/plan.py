"""The door of an experiment's plan: one dataset, and the variants of an application to try on it.

dataset = "cases.jsonl"                 # files are looked for from where the plan is
qrels = "spans.jsonl"                   # unless the cases have `relevant`; a case without a line has nothing relevant
passages = "pages.jsonl"                # id and text of each: for variants with `gold_passages`
ks = [1, 3, 5, 10]                      # cut-offs of retrieval
repeats = 1                             # how often a pipeline is asked each question
judges = ["overlap"]
criteria = ["faithfulness", "answer_relevance", "correctness"]
rubrics = []
refusal = ["The help pages do not say"] # what an answer says that refuses to answer

[variants.small_chunks]
pipeline = "search:answer"              # module:function
arguments = { size = 200, k = 4 }       # given to the function by name
workers = 4                             # calls at a time; by default 8 of an async function, 1 of another
[variants.small_chunks.versions]        # anything that tells variants apart; arguments are among them already
prompt = "v3"

[variants.given]
pipeline = "search:answer"
gold_passages = true                    # called with `passages`, the right ones: the generation apart

[variants.last_week]
outputs = "outputs/last_week.jsonl"     # instead of a pipeline: records with id, contexts, answer
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable
from judges.rubrics import RUBRIC_FILES
from judges.toml import read_toml

__all__ = ["CRITERIA", "KS", "Plan", "Variant", "read_plan"]

KS = (1, 3, 5, 10)
"""Cut-offs, unless told otherwise."""
CRITERIA = ("faithfulness", "answer_relevance", "correctness")
"""What is asked, unless told otherwise."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_Count = Annotated[int, Field(ge=1)]
_CutOff = Annotated[int, Field(ge=1, le=1000)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Variant(_Section):
    """One variant of the application: a pipeline, or what one has said before."""

    pipeline: str | None = None
    outputs: str | None = None
    gold_passages: bool = False
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    versions: Mapping[str, Any] = Field(default_factory=dict)
    workers: _Count | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "Variant":
        if (self.pipeline is None) == (self.outputs is None):
            raise ValueError("give it a `pipeline`, or a file of `outputs`")
        if self.outputs is not None and (self.arguments or self.workers):
            raise ValueError("stored outputs take no `arguments` and no `workers`")
        return self

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that tells it from other variants, by name, as JSON: a date is its text."""
        given = {"gold_passages": True} if self.gold_passages else {}
        found: dict[str, Json] = orjson.loads(orjson.dumps({**given, **self.arguments, **self.versions}, default=str))
        return found


class Plan(_Section):
    """All of the file."""

    path: Path
    dataset: str
    map: Mapping[str, str] = Field(default_factory=dict)
    """Fields of ours, each with the field of the dataset that holds it."""
    qrels: str | None = None
    passages: str | None = None
    ks: Annotated[tuple[_CutOff, ...], Field(min_length=1)] = KS
    repeats: _Count = 1
    judges: tuple[str, ...] = ("overlap",)
    criteria: tuple[str, ...] = CRITERIA
    rubrics: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    variants: Annotated[Mapping[str, Variant], Field(min_length=1)]

    def file(self, name: str) -> Path:
        """A file that the plan names."""
        return self.path.parent / name

    def rubric(self, name: str) -> str:
        """A criterion or rubric that the plan names: a name of ours, or a file."""
        return str(self.file(name)) if name.endswith(RUBRIC_FILES) else name


def read_plan(path: Path) -> Plan:
    """The plan of a file.

    Raises:
        InputError: It can't be read, or isn't a plan.
    """
    found = read_toml(path)
    try:
        plan = Plan.model_validate({**found, "path": path})
    except ValidationError as error:
        raise InputError(f"{path}: {_first(error)}") from None
    for name, variant in plan.variants.items():
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{path}: `variants.{printable(name, 40)}`: that can't be a folder's name; use letters, digits, - and _"
            )
        twice = sorted(variant.arguments.keys() & variant.versions.keys())
        if twice:
            raise InputError(
                f"{path}: `variants.{name}`: `{printable(twice[0], 40)}` is an argument and so a version already; "
                "leave it out of the versions"
            )
    return plan


_SAID: Mapping[str, str] = {
    "extra_forbidden": "a plan has no such field",
    "missing": "is missing",
    "too_short": "is empty; give one at least",
}


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(printable(str(step), 40) for step in first["loc"])
    return f"`{where}`: {_SAID.get(first['type']) or first['msg'].removeprefix('Value error, ').lower()}"
