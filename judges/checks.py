"""Plain checks: what can be asked of an answer without anybody's opinion. The judge `checks` looks.

A check is a criterion with a rule: `Check("short_enough", Length(most=120, unit="words"))`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from judges.case import Case, Part
from judges.criterion import BINARY, Criterion
from judges.errors import InputError
from judges.fields import MISSING
from judges.fingerprint import fingerprint
from judges.retrieval.labels import labels_of

__all__ = [
    "ANSWERED",
    "CHECKS",
    "DECLARED_REFUSAL",
    "IN_LANGUAGE",
    "VALID_JSON",
    "WELL_FORMED",
    "Answered",
    "Category",
    "Check",
    "Language",
    "Length",
    "Phrases",
    "Refusal",
    "Rule",
    "Unit",
    "ValidJson",
    "WellFormed",
    "answerable",
]


@dataclass(frozen=True, slots=True)
class Answered:
    """Something can be seen in the answer."""


@dataclass(frozen=True, slots=True)
class WellFormed:
    """It is a text for people: no character that went wrong, no mark of a turn or a template, no fence left open."""


@dataclass(frozen=True, slots=True)
class ValidJson:
    """It is JSON (RFC 8259), of this schema."""

    schema: Mapping[str, Any] | bool | None = None
    """A JSON Schema, of the draft that its `$schema` names; by default 2020-12. `format` is a note, and not checked."""
    fenced: bool = False
    """Whether it may stand in a Markdown fence, with nothing around."""


@dataclass(frozen=True, slots=True)
class Category:
    """It is one of these, and nothing else. White space around it doesn't count."""

    allowed: tuple[str, ...]
    match_case: bool = True
    match_accents: bool = True

    def __post_init__(self) -> None:
        _expect_texts(self.allowed, "allowed")


@dataclass(frozen=True, slots=True)
class Phrases:
    """It has all that are required, one of `one_of`, and none that is forbidden.

    Any white space stands for any other, and characters that can't be seen don't count.
    """

    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    match_case: bool = False
    match_accents: bool = False
    whole_words: bool = True
    """Whether letters next to it make it another word. Only in scripts that put spaces between words."""

    def __post_init__(self) -> None:
        _expect_texts((*self.required, *self.one_of, *self.forbidden), "required, one_of, forbidden")


Unit: TypeAlias = Literal["characters", "words", "sentences"]
"""What a length is counted in."""


@dataclass(frozen=True, slots=True)
class Length:
    """It is so long.

    Characters are counted in composed form, without white space around the answer. Words are stretches between white
    space with a letter or digit in them: count characters in scripts without spaces. Sentences are those of
    `judges.claims`: list items, rows and blocks of code count, headings don't.
    """

    least: int = 0
    most: int | None = None
    unit: Unit = "characters"

    def __post_init__(self) -> None:
        if self.least < 0 or (self.most is not None and self.most < max(self.least, 1)):
            raise ValueError("a length goes from `least`, 0 or more, to `most`, which isn't below it")
        if self.most is None and self.least == 0:
            raise ValueError("a length needs `least` or `most`")


@dataclass(frozen=True, slots=True)
class Language:
    """It is in this language."""

    lang: str | None = None
    """As a BCP 47 tag, of which the language counts. None: that of the case."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """It refuses if the case can't be answered, and doesn't if it can.

    A refusal says so, in words that are known in English, Catalan, French and Romanian or are declared here, and claims
    nothing else. Where else to turn ("please contact support") it may say.
    """

    declared: tuple[str, ...] = ()
    """How the application refuses."""
    field: str = "answerable"
    """Where a case says whether it can be answered: true or false, at this dotted path. Where it doesn't, `relevant`
    decides, the labels of its passages: it can't if nothing is relevant."""


Rule: TypeAlias = Answered | WellFormed | ValidJson | Category | Phrases | Length | Language | Refusal


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is asked, and its name."""

    name: str
    rule: Rule
    description: str = ""
    """The question, if it isn't the rule's own."""

    @property
    def criterion(self) -> Criterion:
        """What is asked, as any judge would be."""
        return Criterion(
            name=self.name,
            hypothesis=Part.ANSWER,
            scale=BINARY,
            description=self.description or _question(self.rule),
            background=(Part.EXTRA,) if isinstance(self.rule, Refusal) else (),
        )

    @property
    def fingerprint(self) -> str:
        """What identifies the rule."""
        return fingerprint([type(self.rule).__name__, asdict(self.rule)])


def _expect_texts(texts: Iterable[str], field: str) -> None:
    texts = list(texts)
    if not texts or not all(text.strip() for text in texts):
        raise ValueError(f"`{field}` should hold texts that aren't empty, one at least")


def _question(rule: Rule) -> str:
    match rule:
        case Answered():
            return "Is there an answer?"
        case WellFormed():
            return "Is the answer a text for people, with nothing broken or left over in it?"
        case ValidJson(schema=schema):
            return "Is the answer valid JSON?" if schema is None else "Is the answer valid JSON of the schema?"
        case Category():
            return "Is the answer one of the allowed categories?"
        case Phrases(required=required, one_of=one_of, forbidden=forbidden):
            wanted = required or one_of
            has = "Does the answer have what it must say"
            return f"{has}{', and nothing forbidden' if forbidden else ''}?" if wanted else "Is nothing forbidden said?"
        case Length(least=least, most=most, unit=unit):
            return f"Has the answer {_range(least, most)} {unit}?"
        case Language(lang=lang):
            return "Is the answer in the language of the case?" if lang is None else f"Is the answer in `{lang}`?"
        case Refusal():
            return "Is the answer a refusal where the case can't be answered, and only there?"


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} or more"
    return f"{least:,} to {most:,}" if least else f"at most {most:,}"


def answerable(case: Case, field: str = "answerable") -> bool | None:
    """Whether a case can be answered, as it says itself; None if it doesn't say.

    Args:
        case: The case.
        field: Dotted path of what it says: true or false, also as text. Without it, `relevant` tells: the labels of
            passages, of which one is relevant or none.

    Raises:
        InputError: What is there is neither true nor false, or `relevant` holds no labels.
    """
    told = case.find(field)
    if told is MISSING or told is None:
        relevant = case.extra.get("relevant")
        return None if relevant is None else any(label.grade >= 1 for label in labels_of(relevant, f"case {case.id!r}"))
    if isinstance(told, bool):
        return told
    text = told.strip().lower() if isinstance(told, str) else None
    if text not in ("true", "false"):
        raise InputError(f"case {case.id!r}: `{field}` is {told!r:.40}; give true or false")
    return text == "true"


ANSWERED = Check("answered", Answered())
WELL_FORMED = Check("well_formed", WellFormed())
VALID_JSON = Check("valid_json", ValidJson())
IN_LANGUAGE = Check("in_language", Language())
DECLARED_REFUSAL = Check("declared_refusal", Refusal())

CHECKS = (ANSWERED, WELL_FORMED, VALID_JSON, IN_LANGUAGE, DECLARED_REFUSAL)
"""Those that need no settings."""
