import pytest

from judges.fingerprint import Json
from judges.services.structured import Traits, asks_for_json, holds_json, is_closed
from support.asking import SCHEMA

CLOSED: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


CHANGES: list[tuple[dict[str, Json], bool]] = [
    ({}, True),
    ({"additionalProperties": True}, False),
    ({"required": []}, False),
    ({"properties": {"a": {"type": "string", "minLength": 1}}}, False),
    ({"properties": {"a": {"type": "string", "default": ""}}}, False),
    ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, True),
    ({"properties": {"a": {"anyOf": [CLOSED, {**CLOSED, "required": []}]}}}, False),
    ({"properties": {"a": {"type": "array", "items": CLOSED}}}, True),
    ({"properties": {"a": {"type": "array", "items": {**CLOSED, "required": []}}}}, False),
    ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": CLOSED}}, True),
    ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "object"}}}, False),
    ({"type": "array"}, False),
    ({"properties": {"default": {"type": "string"}}, "required": ["default"]}, True),
]


@pytest.mark.parametrize(("changes", "closed"), CHANGES)
def test_the_strict_way_takes_only_schemas_that_are_closed_throughout(changes: dict[str, Json], closed: bool) -> None:
    assert is_closed({**CLOSED, **changes}) is closed


def test_several_calls_that_find_out_the_same_weaken_it_once() -> None:
    traits = Traits("/", ("strict", "tool", "plain"))
    assert [traits.weaken("strict") for _ in range(3)] == [True, True, True]
    assert list(traits.forms) == ["tool", "plain"]
    assert traits.weaken("tool")
    assert not traits.weaken("plain")
    assert list(traits.forms) == ["plain"]


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"a": 1}', True), ('Sure: ```json\n{"a": 1}\n```', True), ('{"a": 1', False), ("[1]", False), ("no", False)],
)
def test_a_reply_in_the_right_form_is_known_whatever_stands_around_it(text: str, found: bool) -> None:
    assert holds_json(text) is found


def test_the_schema_told_in_words_comes_after_the_instructions() -> None:
    text = asks_for_json("Judge.", SCHEMA)
    assert text.startswith("Judge.\n\n")
    assert "JSON" in text
    assert text.endswith('"additionalProperties": false}')
    assert not asks_for_json("", SCHEMA).startswith("\n")
