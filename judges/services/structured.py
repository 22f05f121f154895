"""How a model is made to reply in the form of a JSON schema: by the strongest way that it takes.

strict    the service holds the reply to the schema            `response_format`, strict; `output_config`
schema    the same, for schemas that the strict way excludes
tool      the model must call a tool whose arguments are the reply
json      the service sees to it that the reply is JSON; the system text says which
plain     the system text says it, and that is all
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from judges.errors import Rejected
from judges.fingerprint import Json
from judges.once import once_each

__all__ = ["REPLY", "Form", "Traits", "asks_for_json", "holds_json", "is_closed"]

Form: TypeAlias = Literal["strict", "schema", "tool", "json", "plain"]

REPLY = "reply"
"""What the schema, or the tool, is called."""


@dataclass(slots=True)
class Traits:
    """What was found out about a model at an endpoint. Grows with the calls, and only ever gets weaker."""

    path: str
    """Where it is asked."""
    forms: Sequence[Form]
    """Those that may still be taken, the strongest first."""
    settled: bool = False
    """Whether a call has succeeded as they are."""
    tried: bool = False
    """Whether a first call has ended, well or not."""
    refusal: Rejected | None = None
    """What it met, if that stops everything: for those that waited for it."""
    dropped: set[str] = field(default_factory=set[str])
    """Members of the body that it doesn't take."""
    limits: Sequence[str] = ("max_tokens",)
    """What it may call the limit of the reply's length, the likeliest first."""
    no_system: bool = False
    """Whether it takes no system text: it goes in front of the user's."""
    reasons: bool = False
    """Whether it thinks before it writes, and so takes its time."""

    @property
    def form(self) -> Form:
        """The strongest way it takes, as far as is known."""
        return self.forms[0]

    def weaken(self, tried: Form) -> bool:
        """Don't try this way again; False if there is no other. Several calls may find it out at once."""
        if tried != self.form:
            return True
        if len(self.forms) == 1:
            return False
        self.forms = self.forms[1:]
        return True

    def rename_limit(self, tried: str) -> bool:
        """Don't call the limit so again; False if there is no other name."""
        if tried != self.limits[0]:
            return True
        if len(self.limits) == 1:
            return False
        self.limits = self.limits[1:]
        return True


def asks_for_json(system: str, schema: Mapping[str, Json]) -> str:
    """The system text, with the schema told in words for services that can't be told otherwise."""
    shown = json.dumps(schema, ensure_ascii=False)
    asked = f"Reply with one JSON document that fits this JSON schema, and with nothing before or after it:\n{shown}"
    return f"{system}\n\n{asked}" if system else asked


def holds_json(text: str) -> bool:
    """Whether a JSON object stands in the text, whatever is around it."""
    start = text.find("{")
    if start < 0:
        return False
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return False
    return isinstance(found, dict)


_NOT_STRICT = frozenset(
    {"oneOf", "allOf", "not", "if", "then", "else", "default", "patternProperties", "minLength", "maxLength",
     "minProperties", "maxProperties", "uniqueItems", "contains", "prefixItems", "dependentRequired",
     "dependentSchemas"}
)  # fmt: skip


_HOLDS_SCHEMAS = frozenset({"properties", "anyOf", "$defs", "items"})


@once_each
def is_closed(schema: Mapping[str, Json]) -> bool:
    """Whether OpenAI's strict way takes the schema: an object, every object closed, every property required, and none
    of the words it doesn't know.

    Source:
        OpenAI, Structured Outputs, "Supported schemas".
    """
    return schema.get("type") == "object" and _is_closed(schema)


def _is_closed(schema: Json) -> bool:
    if not isinstance(schema, Mapping):
        return True
    form: Mapping[str, Json] = schema
    if not _NOT_STRICT.isdisjoint(form):
        return False
    if _HOLDS_SCHEMAS.isdisjoint(form) and form.get("type") != "object":
        return True
    properties = cast("Mapping[str, Json]", form.get("properties") or {})
    if "properties" in form or form.get("type") == "object":
        required = cast("Sequence[str]", form.get("required") or ())
        if form.get("additionalProperties") is not False or set(required) != set(properties):
            return False
    choices = cast("Sequence[Json]", form.get("anyOf") or ())
    definitions = cast("Mapping[str, Json]", form.get("$defs") or {})
    return all(map(_is_closed, (*properties.values(), *choices, *definitions.values(), form.get("items"))))
