"""Makes something once of each object: thousands of requests carry the same criterion, and the same schema."""

from collections.abc import Callable
from typing import TypeVar

__all__ = ["once_each"]

Given = TypeVar("Given")
Made = TypeVar("Made")

_KEPT = 256


def once_each(make: Callable[[Given], Made]) -> Callable[[Given], Made]:
    """What `make` makes of an object, made once as long as the same object comes again. Nobody may change the object.

    Objects are told apart by identity, so they need no hash, and a long one takes no time.
    """
    kept: dict[int, tuple[Given, Made]] = {}  # with the object: while it lives, its number is its own

    def once(given: Given) -> Made:
        found = kept.get(id(given))
        if found is None:
            if len(kept) >= _KEPT:
                kept.clear()
            found = kept[id(given)] = (given, make(given))
        return found[1]

    return once
