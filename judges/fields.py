"""Finds a value in nested data by a dotted path: `meta.domain`, `references.0`."""

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["MISSING", "find"]


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
        if path in data:
            value: object = data[path]
            return value
        step, dot, rest = path.partition(".")
        if dot and step in data:
            return find(data[step], rest)
        return MISSING
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        step, dot, rest = path.partition(".")
        if not (step.isascii() and step.isdigit()) or int(step) >= len(data):
            return MISSING
        item: object = data[int(step)]
        return find(item, rest) if dot else item
    return MISSING
