"""What the model server answers: a brain turns a question into a text, the same one each time.

The default brain fills in the JSON schema of the question. Your own is a function `(Question) -> str | Answer`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias, cast

__all__ = ["Answer", "Brain", "Question", "Schema", "fill", "find_schema", "load_brain", "schema_brain"]

Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a model, whichever way it came."""

    model: str
    system: str
    messages: tuple[tuple[str, str], ...]
    """Role and text of each turn."""
    schema: Schema | None
    max_tokens: int
    top_logprobs: int | None = None
    """How many alternatives are wanted for each token; None if no log-probabilities are."""
    tool: str | None = None
    """The tool that must be called, if one must."""
    cached_prefix: bool = False
    """Whether the system text is marked to be kept (Anthropic)."""

    @property
    def text(self) -> str:
        """All that the user said."""
        return "\n".join(text for role, text in self.messages if role == "user")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says, and how it ends."""

    text: str
    finish: str = "stop"
    """`stop`, `length`, `refusal` or `content_filter`."""
    probabilities: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """For a word of the text: how likely it and others were to stand there."""


Brain: TypeAlias = Callable[[Question], str | Answer]


def load_brain(name: str) -> Brain:
    """The brain called `module:function`."""
    module, _, function = name.partition(":")
    return cast("Brain", getattr(import_module(module), function))


def schema_brain(question: Question) -> str:
    """Fills in the schema: that of the request, else one in the system text; without any, it counts characters."""
    schema = question.schema if question.schema is not None else find_schema(question.system)
    if schema is None:
        return f"The text has {len(question.text)} characters."
    return json.dumps(fill(schema, question.text), ensure_ascii=False)


def find_schema(text: str) -> Schema | None:
    """The last JSON schema of an object that stands in `text`."""
    decoder = json.JSONDecoder()
    position, found = 0, None
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except ValueError:
            position = start + 1
            continue
        if isinstance(value, dict) and "properties" in value:
            found = cast("Schema", value)
    return found


def fill(schema: Schema, text: str) -> object:
    """A value that the schema allows, chosen by the hash of `text`: one item for each id that is known."""
    return _Filler(schema, text).value(schema, ())


_ID = re.compile(r'"id"\s*:\s*"([^"]+)"')


@dataclass(frozen=True, slots=True)
class _Filler:
    root: Schema
    text: str

    def value(self, schema: Schema, path: tuple[str, ...]) -> object:
        schema = self.resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            options = cast("list[object]", schema["enum"])
            return options[self.number(path) % len(options)]
        match self.kind(schema):
            case "object":
                properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
                return {name: self.value(each, (*path, name)) for name, each in properties.items()}
            case "array":
                return list(self.items(schema, path))
            case "boolean":
                return self.number(path) % 2 == 1
            case "integer":
                low, high = int(schema.get("minimum", 0)), int(schema.get("maximum", schema.get("minimum", 0) + 10))
                return low + self.number(path) % (high - low + 1)
            case "number":
                least = float(schema.get("minimum", 0))
                most = float(schema.get("maximum", least + 1))
                return round(least + (self.number(path) % 1001) / 1000 * (most - least), 3)
            case "null":
                return None
            case _:
                said = f"{path[-1] if path else 'text'} {self.number(path) % 10_000}"
                said += "." * (int(schema.get("minLength", 0)) - len(said))
                return said[: schema.get("maxLength")]

    def items(self, schema: Schema, path: tuple[str, ...]) -> Iterator[object]:
        prefix = cast("list[Schema]", schema.get("prefixItems", []))
        for position, part in enumerate(prefix):
            yield self.value(part, (*path, str(position)))
        if prefix or not isinstance(schema.get("items"), Mapping):
            return
        item = self.resolved(cast("Schema", schema["items"]))
        ids = self.ids(item)
        if ids:
            for each in ids:
                value = cast("dict[str, object]", self.value(item, (*path, each)))
                yield {**value, "id": each}
            return
        for position in range(max(1, int(schema.get("minItems", 1)))):
            yield self.value(item, (*path, str(position)))

    def ids(self, item: Schema) -> list[str]:
        """The ids that a list of such items must name: the schema's, else those of the JSON in the text."""
        properties = cast("Mapping[str, Schema]", item.get("properties", {}))
        if "id" not in properties:
            return []
        wanted = self.resolved(properties["id"])
        if "enum" in wanted:
            return [str(each) for each in cast("list[object]", wanted["enum"])]
        return list(dict.fromkeys(_ID.findall(self.text)))

    def resolved(self, schema: Schema) -> Schema:
        """The schema itself: references followed, the first choice taken."""
        while True:
            if "$ref" in schema:
                schema = self.named(cast("str", schema["$ref"]))
                continue
            choices = cast("list[Schema]", schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or [])
            if not choices:
                return schema
            schema = next((each for each in choices if each.get("type") != "null"), choices[0])

    def named(self, reference: str) -> Schema:
        found: Any = self.root
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        return cast("Schema", found)

    @staticmethod
    def kind(schema: Schema) -> str:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            return next((each for each in cast("list[str]", kind) if each != "null"), "null")
        return cast("str", kind)

    def number(self, path: tuple[str, ...]) -> int:
        return int.from_bytes(hashlib.blake2b("\0".join((*path, self.text)).encode(), digest_size=6).digest(), "big")
