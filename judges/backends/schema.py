"""Holds JSON values against a JSON Schema. The home of jsonschema, which is installed with `judges-eval[schema]`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from typing import Any, Protocol

import orjson

from judges.errors import InputError
from judges.fingerprint import Json, canonical
from judges.printable import printable

__all__ = ["Fault", "expect_schema", "faults", "rules"]

_MOST = 100
_MESSAGE = 120


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a value isn't as the schema has it, and why."""

    path: str
    """Dotted, as in `items.0.price`; empty for the whole."""
    message: str


def rules() -> str:
    """What the faults rest on."""
    return f"jsonschema={version('jsonschema')}"


def expect_schema(schema: Json) -> None:
    """Nothing, if it is a JSON Schema.

    Raises:
        InputError: It isn't, or the library isn't installed.
    """
    try:
        _validator(canonical(schema))
    except ModuleNotFoundError as error:
        raise InputError("to hold answers against a schema, run: pip install 'judges-eval[schema]'") from error
    except Exception as error:
        message = printable(str(getattr(error, "message", error)), _MESSAGE)
        raise InputError(f"its schema is no JSON Schema: {message}") from error


def faults(value: object, schema: Json) -> list[Fault]:
    """What is wrong with a value, in order of the paths: the first hundred faults.

    Raises:
        InputError: The schema refers to what isn't in it.
        RecursionError: The value is nested too deeply.
    """
    try:
        found = [
            Fault(".".join(str(step) for step in error.absolute_path), printable(error.message, _MESSAGE))
            for error in islice(_validator(canonical(schema)).iter_errors(value), _MOST)
        ]
    except RecursionError:
        raise
    except Exception as error:
        raise InputError(
            f"its schema can't be followed ({printable(str(error), _MESSAGE)}); it may only refer to parts of itself"
        ) from error
    return sorted(found, key=lambda fault: fault.path)


class _Error(Protocol):
    absolute_path: Iterable[object]
    message: str


class _Validator(Protocol):
    def iter_errors(self, instance: object, /) -> Iterable[_Error]: ...


@cache
def _validator(schema: bytes) -> _Validator:
    """Of the draft that the schema names. It is given no way to fetch what lies elsewhere."""
    validators: Any = import_module("jsonschema.validators")  # it has no types
    registry: Any = import_module("jsonschema_specifications").REGISTRY
    value: Any = orjson.loads(schema)
    kind = validators.validator_for(value, default=validators.Draft202012Validator)
    kind.check_schema(value)
    made: _Validator = kind(value, registry=registry)
    return made
