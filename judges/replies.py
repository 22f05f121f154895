"""The door of what a model replies: JSON that is read by its schema, or refused. No word is ever searched for in prose.

Prose, a fence or thoughts may surround the one JSON object of a reply; keys that nobody asked for are passed over.

Three forms of reply:

    {"rationale": "…", "verdict": LEVEL}                              a judgement of the whole
    {"items": [{"id": "c1", "rationale": "…", "verdict": LEVEL}]}     one of each claim or passage
    {"claims": ["…"]}                                                 a text taken apart
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn, cast

from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr, ValidationError

from judges.criterion import Scale
from judges.errors import EmptyReply, InvalidReply
from judges.fingerprint import Json
from judges.once import once_each
from judges.printable import printable

__all__ = ["Items", "Said", "claims_schema", "items_schema", "level_schema", "read_claims", "read_items", "read_level"]

_SHOWN = 120
"""Characters of a reply that a message quotes."""
_COMPLAINTS = 5


@dataclass(frozen=True, slots=True)
class Said:
    """One verdict as a model gave it."""

    label: str
    """A level of the scale."""
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """The verdicts of a reply about several things."""

    said: Mapping[str, Said]
    """By id: those that were asked for and are in order."""
    complaint: str | None
    """What is wrong with the others, for the model to read; None if nothing is."""


# --- Schemas --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def level_schema(scale: Scale, *, rationale: bool) -> Mapping[str, Json]:
    """The schema of a judgement of the whole."""
    return _object(_said(scale, rationale=rationale))


@lru_cache(maxsize=256)
def items_schema(scale: Scale, *, rationale: bool) -> Mapping[str, Json]:
    """The schema of a judgement of each item. It is the same however many there are."""
    item = _object({"id": {"type": "string"}, **_said(scale, rationale=rationale)})
    return _object({"items": {"type": "array", "items": item}})


def claims_schema() -> Mapping[str, Json]:
    """The schema of a text taken apart."""
    return _object({"claims": {"type": "array", "items": {"type": "string"}}})


def _said(scale: Scale, *, rationale: bool) -> dict[str, Json]:
    verdict: dict[str, Json] = {"verdict": {"type": "string", "enum": list(scale.labels)}}
    return {"rationale": {"type": "string"}, **verdict} if rationale else verdict


def _object(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# --- Replies --------------------------------------------------------------------------------------------------------


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Said(_Model):
    rationale: StrictStr | None = None
    verdict: StrictStr | StrictInt


class _Item(_Said):
    id: StrictStr


class _Items(_Model):
    items: list[Any]


class _Claims(_Model):
    claims: list[StrictStr]


def read_level(text: str, scale: Scale) -> Said:
    """The verdict in a reply about the whole.

    Raises:
        EmptyReply: There is nothing in it.
        InvalidReply: It isn't what the schema asks for. The message can be shown to the model.
    """
    try:
        found = _Said.model_validate(_document(text))
    except ValidationError as error:
        raise InvalidReply(_told(error)) from None
    return _level(found, _labels(scale))


def read_items(text: str, scale: Scale, asked: Sequence[str], known: Collection[str] = ()) -> Items:
    """The verdicts in a reply about several things, matched by id.

    An item that is wrong in itself, or comes twice, is left out and complained of; the others count.

    Args:
        text: The reply.
        scale: Of the verdicts.
        asked: The ids that must be there.
        known: Ids that an earlier reply has settled: they may come again, and are passed over.

    Raises:
        EmptyReply: There is nothing in it.
        InvalidReply: It isn't what the schema asks for, as a whole. The message can be shown to the model.
    """
    try:
        found = _Items.model_validate(_document(text)).items
    except ValidationError as error:
        raise InvalidReply(_told(error)) from None
    labels, wanted, settled = _labels(scale), set(asked), set(known)
    said: dict[str, Said] = {}
    complaints: list[str] = []
    ids: Counter[str] = Counter()
    for place, each in enumerate(found, 1):
        try:
            item = _Item.model_validate(each)
            if item.id in settled:
                continue
            ids[item.id] += 1
            if item.id in wanted:
                said[item.id] = _level(item, labels)
        except ValidationError as error:
            complaints.append(f"entry {place}: {_told(error)}")
        except InvalidReply as error:
            complaints.append(f"entry {place}: {error}")
    for name, count in ids.items():
        if name not in wanted:
            complaints.append(f"`{_shown(name)}` was not asked for")
        elif count > 1:
            complaints.append(f"`{name}` comes {count} times")
            said.pop(name, None)
    missing = [name for name in asked if name not in ids]
    if missing:
        complaints.append(f"missing: {', '.join(missing)}")
    return Items({name: said[name] for name in asked if name in said}, "; ".join(complaints[:_COMPLAINTS]) or None)


def read_claims(text: str) -> tuple[str, ...]:
    """The claims in a reply, in order; blank ones left out.

    Raises:
        EmptyReply: There is nothing in it.
        InvalidReply: It isn't what the schema asks for.
    """
    try:
        found = _Claims.model_validate(_document(text)).claims
    except ValidationError as error:
        raise InvalidReply(_told(error)) from None
    return tuple(_whole_letters(claim).strip() for claim in found if claim.strip())


def _level(found: _Said, labels: "_Labels") -> Said:
    said = str(found.verdict).strip()
    label = labels.by_word.get(said.casefold() if labels.fold else said)
    if label is None:
        known = ", ".join(labels.by_word.values())
        raise InvalidReply(f"`verdict` is `{_shown(said)}`; it must be one of {known}")
    return Said(label, _whole_letters(found.rationale or "").strip())


def _whole_letters(text: str) -> str:
    """`text` without halves of characters, which JSON can spell and no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class _Labels(NamedTuple):
    """The labels of a scale by what is written for them."""

    by_word: Mapping[str, str]
    fold: bool
    """Whether upper and lower case are one: where that leaves no doubt."""


@once_each  # a hash of a scale takes longer than all that is done with it
def _labels(scale: Scale) -> _Labels:
    folded = {label.casefold(): label for label in scale.labels}
    if len(folded) == len(scale.labels):
        return _Labels(folded, fold=True)
    return _Labels({label: label for label in scale.labels}, fold=False)


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"] if not str(step).startswith(("str", "int")))
    what = "it should be an object" if first["type"] == "model_type" else first["msg"].lower()
    return f"`{where}`: {what}" if where else what


def _shown(text: str) -> str:
    return printable(text, _SHOWN)


# --- JSON among other things ----------------------------------------------------------------------------------------

_THOUGHTS = re.compile(r".*?</(?:think|thinking|reasoning)>", re.DOTALL)
"""Some servers send the opening tag of thoughts, some don't."""
_UNENDED_THOUGHTS = re.compile(r"\s*<(?:think|thinking|reasoning)>")
_PROSE = re.compile(r'\{[^{}"]*\}')
"""Braces that can't hold JSON: "the set {a, b}"."""


def _document(text: str) -> dict[str, object]:
    """The one JSON object of a reply: alone, or with prose, a fence or thoughts around it.

    Nothing is mended: if any stretch in braces is broken, it might have held the verdict, or what is inside it might
    pass for one, so the whole reply is refused.
    """
    if not text.strip():
        raise EmptyReply("the reply is empty")
    with suppress(ValueError, RecursionError):  # ValueError: no JSON, or a number of thousands of digits
        return _object_of(_DECODER.decode(text))
    thoughts = _THOUGHTS.match(text)
    rest = text[thoughts.end() :] if thoughts else text
    if not rest.strip():
        raise EmptyReply("the reply is empty but for its thoughts")
    if _UNENDED_THOUGHTS.match(rest):
        raise InvalidReply("the reply's thoughts don't end")
    found = _objects(rest)
    if not found:
        raise InvalidReply("the reply is no JSON object")
    if any(each != found[0] for each in found):
        raise InvalidReply("the reply holds more than one JSON object")
    return found[0]


def _objects(text: str) -> list[dict[str, object]]:
    """The objects that stand in a text, those inside others not counted. Takes time in proportion to the text."""
    found: list[dict[str, object]] = []
    place = text.find("{")
    while place >= 0:
        prose = _PROSE.match(text, place)
        if prose is None:
            try:
                value, end = _DECODER.raw_decode(text, place)
            except (ValueError, RecursionError) as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deep, or too long"
                raise InvalidReply(f"the reply is no JSON object: {reason}") from None
            found.append(_object_of(value))
        else:
            end = prose.end()
        place = text.find("{", end)
    return found


def _object_of(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidReply("the reply is JSON, but no object")
    return cast("dict[str, object]", value)


def _no_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InvalidReply(f"the key `{_shown(twice)}` comes twice in one object")
    return made


def _no_constant(name: str) -> NoReturn:
    raise InvalidReply(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_twice, parse_constant=_no_constant)
