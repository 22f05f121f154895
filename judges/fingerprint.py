"""The identity of a value: the SHA-256 of its canonical JSON.

Canonical means: keys sorted, no white space, UTF-8, no NaN or infinity. Equal values have equal fingerprints in every
process and on every system, so a fingerprint may be stored and compared later.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["Json", "canonical", "digest", "fingerprint"]

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Json) -> bytes:
    """The one JSON text of `value`.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass")


def fingerprint(value: Json) -> str:
    """32 hexadecimal digits (128 bits) that stand for `value`.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    return hashlib.sha256(canonical(value)).hexdigest()[:32]


def digest(text: str) -> str:
    """32 hexadecimal digits (128 bits) that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
