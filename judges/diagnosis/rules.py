"""The rules of a diagnosis, and the door of a file that holds them. `rules.toml` has ours, and says what they mean."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from judges.errors import InputError
from judges.gate import Requirement
from judges.printable import printable

__all__ = ["Clause", "Condition", "Rule", "Rules", "Term", "default_rules", "read_rules", "rules_text"]

_OURS = Path(__file__).with_name("rules.toml")
_NAME = re.compile(r"[A-Za-z][\w@.-]*")
_AND = re.compile(r"\s+and\s+")


@dataclass(frozen=True, slots=True)
class Term:
    """One name of a condition: that it holds, that it doesn't, or that its number lies so."""

    name: str
    wanted: bool = True
    """False after `not`."""
    requirement: Requirement | None = None

    @classmethod
    def parse(cls, text: str) -> "Term":
        """The term of a text such as `found`, `not found`, `recall@3<0.5`.

        Raises:
            InputError: It is something else.
        """
        bare = text.strip()
        if any(sign in bare for sign in "<>="):
            requirement = Requirement.parse(bare)
            return cls(requirement.name, requirement=requirement)
        first, _, rest = bare.partition(" ")
        name = rest.strip() if first == "not" else bare
        if not _NAME.fullmatch(name) or name in ("and", "not", "or"):
            raise InputError(
                f"`{printable(text, 60)}` is no part of a condition; write names joined by `and`, as in "
                "'not found and ranked', or 'recall@3<0.5'"
            )
        return cls(name, wanted=first != "not")

    def __str__(self) -> str:
        if self.requirement is not None:
            return str(self.requirement)
        return self.name if self.wanted else f"not {self.name}"


@dataclass(frozen=True, slots=True)
class Condition:
    """Terms that must all hold."""

    terms: tuple[Term, ...]

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """The condition of a text such as `not found and ranked`.

        Raises:
            InputError: It is something else.
        """
        return cls(tuple(map(Term.parse, _AND.split(text.strip()))))

    def __str__(self) -> str:
        return " and ".join(map(str, self.terms))


@dataclass(frozen=True, slots=True)
class Clause:
    """Holds if `when` does, and nothing of `unless` is known to."""

    when: tuple[Condition, ...]
    """The first of which enough is known decides."""
    unless: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        unless = f" unless {' or '.join(map(str, self.unless))}" if self.unless else ""
        return f"{', else '.join(map(str, self.when))}{unless}"


@dataclass(frozen=True, slots=True)
class Rule:
    """When a cause is to blame, which part of the pipeline that is, and what to do about it."""

    cause: str
    component: str
    says: str
    """What went wrong, in a few words."""
    clause: Clause
    act: str = ""
    """What to do about it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a run is diagnosed."""

    rules: tuple[Rule, ...]
    """Along the pipeline: the first that holds names the cause."""
    fails: tuple[Clause, ...]
    """A case fails if one of these holds."""
    spares: tuple[Clause, ...]
    """And none of these does."""
    stand_ins: dict[str, tuple[str, ...]]
    """By name: what may speak for it where it isn't known."""
    found_share: float = 1.0
    """The share of what is needed that has to be read."""

    def rule(self, cause: str) -> Rule:
        """The rule of a cause.

        Raises:
            KeyError: There is none.
        """
        for rule in self.rules:
            if rule.cause == cause:
                return rule
        raise KeyError(cause)


# The door

_Text = Annotated[str, Field(min_length=1)]


def _texts(value: object) -> object:
    return [value] if isinstance(value, str) and value else [] if value == "" else value


_Conditions = Annotated[list[_Text], BeforeValidator(_texts)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Clause(_Section):
    when: Annotated[_Conditions, Field(min_length=1)]
    unless: _Conditions = Field(default_factory=list[str])


class _Rule(_Clause):
    cause: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    component: _Text
    says: _Text
    act: str = ""


class _File(_Section):
    found_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    fails: Annotated[list[_Clause], Field(min_length=1)]
    spares: list[_Clause] = Field(default_factory=list[_Clause])
    stand_ins: dict[str, list[_Text]] = Field(default_factory=dict[str, list[str]])
    rules: Annotated[list[_Rule], Field(min_length=1)]


def rules_text(path: Path | None = None) -> str:
    """The text of a file of rules; by default of ours.

    Raises:
        InputError: It can't be read.
    """
    path = _OURS if path is None else path
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {getattr(error, 'strerror', None) or 'it is no UTF-8'}") from error


def read_rules(path: Path) -> Rules:
    """The rules of a file.

    Raises:
        InputError: It can't be read, or holds something else.
    """
    text = rules_text(path)
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    try:
        file = _File.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        what = "there is no such field" if first["type"] == "extra_forbidden" else first["msg"].lower()
        raise InputError(f"{path}: `{printable(where, 80)}`: {what}; see ours with --rules") from None
    causes = [rule.cause for rule in file.rules]
    twice = next((cause for cause in causes if causes.count(cause) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two rules name the cause `{twice}`; `when` may list several conditions")
    return Rules(
        tuple(
            Rule(each.cause, each.component, each.says, _clause(each, f"{path}: rule `{each.cause}`"), each.act)
            for each in file.rules
        ),
        _clauses(file.fails, f"{path}: `fails`"),
        _clauses(file.spares, f"{path}: `spares`"),
        {name: tuple(others) for name, others in file.stand_ins.items()},
        file.found_share,
    )


@cache
def default_rules() -> Rules:
    """Our own rules."""
    return read_rules(_OURS)


def _clauses(clauses: Sequence[_Clause], where: str) -> tuple[Clause, ...]:
    return tuple(_clause(each, where) for each in clauses)


def _clause(clause: _Clause, where: str) -> Clause:
    try:
        return Clause(tuple(map(Condition.parse, clause.when)), tuple(map(Condition.parse, clause.unless)))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
