"""Worked examples of the statistics, with the values they must have. `examples.json` names their sources.

`support/worked/` has an adapter for each task: from an example to what we compute, under the names of what is expected.
`python tests/support/examples.py FILE` holds us against any file of that format: a line for each example that misses,
and exit code 1 if one does (2: the file can't be read).
"""

import json
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any, cast

if __name__ == "__main__":  # our neighbours are no top-level modules: `html` is the standard library's
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from judges.figures import Figure

Json = dict[str, Any]
Results = Mapping[str, object]
Adapter = Callable[["Example"], Results]

FILE = Path(__file__).parents[1] / "calibration" / "statistics" / "examples.json"
WRONG = ("wrong_if_", "invalid_", "must_not_equal_", "naive_", "p_if_wrongly_")
"""What a common mistake gives."""
_FIVE_PLACES, _FIVE_PLACES_TOL = "_5dp", 1e-5
_PRINTED = {"class_prior": 0.005, "observer1_class1_row": 0.02}
"""Values printed with two decimals, the second after fewer steps than we take."""


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example."""

    id: str
    task: str
    inputs: Json
    params: Json
    expected: Json
    tol: float


class Miss(AssertionError):
    """What we compute is not what is expected: where, and both values."""


def load_examples(path: Path = FILE) -> list[Example]:
    """The examples of a file.

    Raises:
        ValueError: It holds none, or something else.
    """
    try:
        rows = cast("list[Json]", json.loads(path.read_text(encoding="utf-8"))["examples"])
        found = [
            Example(row["id"], row["task"], row["inputs"], row.get("params") or {}, row["expected"], float(row["tol"]))
            for row in rows
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: is no file of examples ({type(error).__name__}: {error})") from error
    if not found:
        raise ValueError(f"{path}: holds no example")
    return found


def adapters() -> dict[str, Adapter]:
    """The adapter of each task."""
    from support.worked import agreement, multiplicity, no_answer, prevalence, raters, retrieval, scores

    found: dict[str, Adapter] = {}
    for module in (agreement, raters, scores, prevalence, multiplicity, no_answer, retrieval):
        assert not found.keys() & module.ADAPTERS.keys()
        found |= module.ADAPTERS
    return found


def check_example(example: Example) -> None:
    """Compute the example and compare.

    Raises:
        Miss: We give something else, nothing under a name that is expected, or what a mistake would give.
    """
    adapter = adapters().get(example.task)
    if adapter is None:
        raise Miss(f"{example.id}: nothing here computes `{example.task}`")
    _compare(example.expected, adapter(example), example.tol, example.id)


def labels_in(*answers: Iterable[object]) -> list[object]:
    """The labels that occur, in order: the examples without a declared scale have no unused level."""
    return sorted(
        {each for some in answers for each in some if each is not None}, key=lambda each: (str(type(each)), each)
    )


def limits(figure: Figure) -> list[float | None]:
    """The interval of a figure."""
    return [figure.ci_low, figure.ci_high]


def _compare(expected: object, found: object, tol: float, where: str) -> None:
    """By the rules of the examples: numbers within `tol`, null is undefined, no wrong answer is given."""
    if isinstance(expected, dict):
        _compare_record(cast("Json", expected), found, tol, where)
    elif isinstance(found, Figure):
        _compare(expected, found.value, tol, where)
    elif isinstance(expected, list):
        rows = cast("Sequence[object]", found) if isinstance(found, list | tuple) else None
        if rows is None or len(rows) != len(cast("list[object]", expected)):
            raise Miss(f"{where}: expected {expected!r:.200}, found {found!r:.200}")
        for place, (wanted, row) in enumerate(zip(cast("list[object]", expected), rows, strict=True)):
            _compare(wanted, row, tol, f"{where}[{place}]")
    elif not _is_same(expected, found, tol):
        raise Miss(f"{where}: expected {expected!r}, found {found!r:.200}")


def _compare_record(expected: Json, found: object, tol: float, where: str) -> None:
    if not isinstance(found, Figure | Mapping):
        raise Miss(f"{where}: expected {expected!r:.200}, found {found!r:.200}")
    given = cast("Figure | Results", found)
    for name, wanted in expected.items():
        path = f"{where}.{name}"
        if name.startswith(WRONG):
            _refuse(wanted, given if isinstance(given, Figure) else given.get(name, given), tol, path)
        elif isinstance(given, Figure):
            _compare_figure(name, wanted, given, tol, path)
        elif name not in given:
            raise Miss(f"{path}: expected {wanted!r:.200}, nothing is computed under this name")
        else:
            _compare(wanted, given[name], _tolerance(name, tol), path)


def _refuse(wrong: object, found: object, tol: float, where: str) -> None:
    """None of our numbers may be what the mistake gives."""
    for each in _numbers(wrong):
        if any(_is_same(each, number, tol) for number in _numbers(found)):
            raise Miss(f"{where}: {each!r} is what a mistake gives, and it came back")


def _compare_figure(name: str, wanted: object, found: Figure, tol: float, where: str) -> None:
    match name:
        case "value":
            _compare(wanted, found.value, tol, where)
            _compare("undefined" if wanted is None else "ok", found.status, tol, f"{where}: status")
        case "reason":
            _compare(wanted, found.reason, tol, where)
        case "flag":
            if wanted not in found.flags:
                raise Miss(f"{where}: expected {wanted!r}, found {found.flags!r}")
        case "se_n":
            _compare(wanted, found.se, tol, where)
        case _:
            raise Miss(f"{where}: nothing compares `{name}` of a figure")


def _tolerance(name: str, tol: float) -> float:
    if name.endswith(_FIVE_PLACES):
        return max(tol, _FIVE_PLACES_TOL)
    return _PRINTED.get(name, tol) if name in _PRINTED else tol


def _is_same(expected: object, found: object, tol: float) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return isclose(expected, found, rel_tol=0, abs_tol=tol)
    return type(expected) is type(found) and expected == found


def _numbers(found: object) -> list[float]:
    """Every number of a result."""
    if isinstance(found, Figure):
        return _numbers([found.value, found.ci_low, found.ci_high])
    if isinstance(found, Mapping):
        return _numbers(list(cast("Results", found).values()))
    if isinstance(found, list | tuple):
        return [number for each in cast("Sequence[object]", found) for number in _numbers(each)]
    return [float(found)] if isinstance(found, int | float) and not isinstance(found, bool) else []


def misses(examples: Sequence[Example]) -> list[str]:
    """A line for each example that we miss, for whatever reason."""
    found: list[str] = []
    for each in examples:
        try:
            check_example(each)
        except Miss as miss:
            found.append(str(miss))
        except Exception as error:  # noqa: BLE001  # an example that can't be computed is one that we miss
            why = f"{error}".partition("\n")[0] or traceback.extract_tb(error.__traceback__)[-1].line
            found.append(f"{each.id}: {type(error).__name__}: {why}")
    return found


def main(arguments: Sequence[str]) -> int:
    """Hold us against a file of examples; what to exit with."""
    if len(arguments) != 1:
        print("usage: python tests/support/examples.py FILE", file=sys.stderr)
        return 2
    try:
        examples = load_examples(Path(arguments[0]))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    found = misses(examples)
    for line in found:
        print(line)
    print(f"{len(examples) - len(found):,} of {len(examples):,} examples have their values", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    from support.examples import main as main_of_the_module  # its Example is the one that the adapters know

    sys.exit(main_of_the_module(sys.argv[1:]))
