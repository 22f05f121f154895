"""Worked examples of the statistics, with the values they must have. `examples.json` names their sources.

A test module has an adapter for each task: from an example to what we compute, under the names of what is expected.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from judges.figures import Figure

Json = dict[str, Any]
Results = Mapping[str, object]
WRONG = ("wrong_if_", "invalid_", "must_not_equal_", "naive_", "p_if_wrongly_")


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example."""

    id: str
    task: str
    inputs: Json
    params: Json
    expected: Json
    tol: float


def load_examples(*topics: int) -> list[Example]:
    """The examples of these sections of the specification."""
    text = (Path(__file__).parents[1] / "calibration" / "statistics" / "examples.json").read_text(encoding="utf-8")
    rows = cast("list[Json]", json.loads(text)["examples"])
    return [
        Example(row["id"], row["task"], row["inputs"], row.get("params", {}), row["expected"], row["tol"])
        for row in rows
        if row["topic"] in topics
    ]


def limits(figure: Figure) -> list[float | None]:
    """The interval of a figure."""
    return [figure.ci_low, figure.ci_high]


def check(expected: object, found: object, tol: float, where: str) -> None:
    """Compare by the rules of the examples: numbers within `tol`, null is undefined, no wrong answer is given."""
    if isinstance(expected, dict):
        given = numbers(found)
        for name, wanted in cast("Json", expected).items():
            path = f"{where}.{name}"
            if name.startswith(WRONG):
                assert all(each != pytest.approx(wanted, abs=tol) for each in given), path
            elif isinstance(found, Figure):
                check_figure(name, wanted, found, tol, path)
            else:
                assert isinstance(found, Mapping)
                check(wanted, cast("Results", found)[name], tol, path)
    elif isinstance(expected, list):
        assert found == pytest.approx(cast("list[float]", expected), abs=tol), where
    elif isinstance(found, Figure):
        check(expected, found.value, tol, where)
    elif expected is None or isinstance(expected, str):
        assert found == expected, where
    else:
        assert found == pytest.approx(expected, abs=tol), where


def check_figure(name: str, wanted: object, found: Figure, tol: float, where: str) -> None:
    match name:
        case "value":
            check(wanted, found.value, tol, where)
            assert found.status == ("undefined" if wanted is None else "ok")
        case "reason":
            assert found.reason == wanted, where
        case "flag":
            assert wanted in found.flags, where
        case "se_n":
            check(wanted, found.se, tol, where)
        case _:
            pytest.fail(f"{where}: nothing compares {name}")


def numbers(found: object) -> list[float]:
    """Every number of a result."""
    if isinstance(found, Figure):
        return numbers([found.value, found.ci_low, found.ci_high])
    if isinstance(found, Mapping):
        return numbers(list(cast("Results", found).values()))
    if isinstance(found, list):
        return [number for each in cast("list[object]", found) for number in numbers(each)]
    return [float(found)] if isinstance(found, int | float) else []
