"""Reads the YAML files that a user writes, as plain values. The home of ruamel.yaml (`judges-eval[yaml]`).

It is YAML 1.2, so that `no` is a text, and a key that is there twice is an error. Tags are refused, as is what anchors
would blow up: a file says what it says, and nothing is made of it but texts, numbers, truth values, lists and objects.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, cast

from judges.errors import InputError
from judges.printable import printable
from judges.toml import text_of

__all__ = ["read_yaml"]

_MOST = 20_000
"""Values that a file may come to, with all its anchors followed."""
_DEEPEST = 50
_MESSAGE = 120


def read_yaml(path: Path) -> dict[str, Any]:
    """What a file holds.

    Raises:
        InputError: There is no such file, it can't be read, is no YAML 1.2 of plain values with text for keys, or the
            library isn't installed.
    """
    text = text_of(path)
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path}: to read YAML, run: pip install 'judges-eval[yaml]'; or write the same as TOML"
        ) from error
    try:
        _expect_modest(path, cast("Any", YAML(typ="safe", pure=True)).parse(text))
        found: object = cast("Any", YAML(typ="safe", pure=True)).load(text)
    except YAMLError as error:
        raise InputError(f"{path}: no YAML: {_said(error)}") from None
    except ValueError as error:
        what = printable(str(error), _MESSAGE).partition("; use ")[0]
        raise InputError(f"{path}: a number or a date in it is none ({what}); put it in quotes") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: holds no fields; give them one a line, as in `name: mine`")
    _expect_plain(path, cast("dict[object, object]", found), "")
    return cast("dict[str, Any]", found)


class _Mark(Protocol):
    """Where something stands, from 0."""

    line: int
    column: int


class _Event(Protocol):
    """What the parser reads, in order. ruamel.yaml's own types say less."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    version: tuple[int, int] | None


def _expect_modest(path: Path, events: Iterable[_Event]) -> None:
    """Nothing, if the file is of plain values and doesn't come to too many. It is looked at before anything is made."""
    sizes: dict[str, int] = {}
    """Values that each anchor stands for."""
    still_open: list[tuple[str | None, int]] = []
    """Anchor of each list or object we are in, and the values before it."""
    values = 0
    for event in events:
        problem: str | None = None
        match type(event).__name__:
            case "DocumentStartEvent" if event.version not in (None, (1, 2)):
                problem = "only YAML 1.2 is read; leave out the line with %YAML"
            case "SequenceEndEvent" | "MappingEndEvent":
                anchor, before = still_open.pop()
                if anchor is not None:
                    sizes[anchor] = values - before
            case "AliasEvent":
                if event.anchor in (anchor for anchor, _ in still_open):
                    problem = f"`*{event.anchor}` stands for something that it is itself part of; take it out"
                values += sizes.get(str(event.anchor), 1)
            case "ScalarEvent" | "SequenceStartEvent" | "MappingStartEvent" as kind:
                values += 1
                if event.tag is not None:
                    problem = f"there is a tag, `{event.tag}`; leave it out"
                if event.anchor is not None:
                    if event.anchor in sizes:
                        problem = f"the anchor `&{event.anchor}` is there twice; give each its own name"
                    sizes[event.anchor] = 1
                if kind != "ScalarEvent":
                    still_open.append((event.anchor, values - 1))
            case _:
                pass
        if len(still_open) > _DEEPEST:
            problem = f"it is nested more than {_DEEPEST} deep; a rubric needs far less"
        if values > _MOST:
            problem = f"it comes to more than {_MOST:,} values, its anchors followed; a rubric needs far fewer"
        if problem is not None:
            raise InputError(f"{path}: {printable(problem, _MESSAGE)}{_place(event.start_mark)}")


def _said(error: Exception) -> str:
    """What went wrong and where, in one line."""
    mark: _Mark | None = getattr(error, "problem_mark", None)
    what: object = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    character: object = getattr(error, "character", None)
    if isinstance(character, int):
        what = f"the character U+{character:04X} is not allowed"
    return printable(str(what), _MESSAGE) + ("" if mark is None else _place(mark))


def _place(mark: _Mark) -> str:
    return f" (at line {mark.line + 1}, column {mark.column + 1})"


def _expect_plain(path: Path, value: object, place: str) -> None:
    """Nothing, if all keys are texts and no value is a date."""
    inside: list[tuple[object, object]] = []
    if isinstance(value, dict):
        inside = list(cast("dict[object, object]", value).items())
        for key, _ in inside:
            if not isinstance(key, str):
                where = f"`{place}`: " if place else ""
                raise InputError(f"{path}: {where}the key {printable(str(key), 40)} is no text; put it in quotes")
    elif isinstance(value, list):
        inside = list(enumerate(cast("list[object]", value)))
    elif value is not None and not isinstance(value, str | int | float):
        raise InputError(f"{path}: `{place}`: {printable(str(value), 40)} is read as a date; put it in quotes")
    for key, each in inside:
        _expect_plain(path, each, f"{place}.{key}" if place else str(key))
