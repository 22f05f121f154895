"""Finds a value in nested data by a dotted path: `meta.domain`, `references.0`."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

__all__ = ["MISSING", "find", "find_longest"]


class Missing:
    """The type of `MISSING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""Nothing is there; a `None` that is there is another thing."""


def find(data: object, path: str) -> object:
    """The value at `path`, or `MISSING`.

    A key that is the whole rest of the path wins (a CSV column may be called `gold.correctness`); else the first step
    is a key of a mapping or an index of a list, and the search goes on below it.
    """
    if isinstance(data, Mapping):
        mapping = cast("Mapping[object, object]", data)
        if path in mapping:
            return mapping[path]
        step, dot, rest = path.partition(".")
        return find(mapping[step], rest) if dot and step in mapping else MISSING
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        items = cast("Sequence[object]", data)
        step, dot, rest = path.partition(".")
        if not (step.isascii() and step.isdigit()) or int(step) >= len(items):
            return MISSING
        item = items[int(step)]
        return find(item, rest) if dot else item
    return MISSING


def find_longest(data: object, path: str) -> object:
    """The value at a dotted path of names that hold dots: at each step the longest key that leads to one wins."""
    if not isinstance(data, Mapping):
        return MISSING
    mapping = cast("Mapping[str, object]", data)
    if path in mapping:
        return mapping[path]
    end = path.rfind(".")
    while end > 0:
        if path[:end] in mapping:
            value = find_longest(mapping[path[:end]], path[end + 1 :])
            if value is not MISSING:
                return value
        end = path.rfind(".", 0, end)
    return MISSING
