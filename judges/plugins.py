"""Finds an object by name: ours by a table, an application's by `package.module:object` or by entry point.

Nothing is loaded before it is asked for, and nothing registers itself by being imported.
"""

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from judges.errors import InputError

if TYPE_CHECKING:
    from judges.engine.plan import Assignment
    from judges.engine.run import Manifest, Run
    from judges.figures import Figure

__all__ = ["SERVICES", "CalibrationReader", "CorrectedRate", "available", "calibration_reader", "installed", "resolve"]

_OURS: dict[str, dict[str, str]] = {
    "judges.judges": {
        "overlap": "judges.backends.overlap:TokenOverlapJudge",
        "checks": "judges.backends.checks:ChecksJudge",
    },
    "judges.criteria": {
        "faithfulness": "judges.criteria:FAITHFULNESS",
        "faithfulness_graded": "judges.criteria:FAITHFULNESS_GRADED",
        "faithfulness_whole": "judges.criteria:FAITHFULNESS_WHOLE",
        "answer_relevance": "judges.criteria:ANSWER_RELEVANCE",
        "correctness": "judges.criteria:CORRECTNESS",
        "correctness_graded": "judges.criteria:CORRECTNESS_GRADED",
        "completeness": "judges.criteria:COMPLETENESS",
        "context_relevance": "judges.criteria:CONTEXT_RELEVANCE",
        "context_recall": "judges.criteria:CONTEXT_RECALL",
        "context_sufficiency": "judges.criteria:CONTEXT_SUFFICIENCY",
        "source_use": "judges.criteria:SOURCE_USE",
        "honest_refusal": "judges.criteria:HONEST_REFUSAL",
        "tone": "judges.criteria:TONE",
        "preference": "judges.criteria:PREFERENCE",
        "answered": "judges.checks:ANSWERED",
        "well_formed": "judges.checks:WELL_FORMED",
        "valid_json": "judges.checks:VALID_JSON",
        "in_language": "judges.checks:IN_LANGUAGE",
        "declared_refusal": "judges.checks:DECLARED_REFUSAL",
    },
    "judges.datasets": {},
}

SERVICES = ("openai", "anthropic", "embedding")
"""Judges of hosted models are named by service and model: `openai:MODEL`. `judges.config` makes them."""

_KINDS = {
    "judges.judges": "judge",
    "judges.criteria": "criterion",
    "judges.datasets": "reader",
    "judges.pipelines": "pipeline",
}


def installed(group: str) -> list[EntryPoint]:
    """What installed packages offer for `group`, by name."""
    return sorted(entry_points(group=group), key=lambda point: point.name)


def available(group: str) -> list[str]:
    """All names that `resolve` knows in `group`."""
    return sorted({*_OURS.get(group, {}), *(point.name for point in installed(group))})


def resolve(group: str, name: str) -> object:
    """The object called `name` in `group`.

    Args:
        group: `judges.judges`, `judges.criteria`, `judges.datasets` or `judges.pipelines`.
        name: One of `available(group)`, or `package.module:object`; modules are also looked for in the current folder.

    Raises:
        InputError: There is no such thing, or it can't be imported.
    """
    kind = _KINDS[group]
    ours = _OURS.get(group, {})
    if name in ours:
        return _imported(ours[name], kind, name)
    if ":" in name:
        return _imported(name, kind, name)
    for point in installed(group):
        if point.name == name:
            return _imported(point.value, kind, name)
    names = available(group)
    near = get_close_matches(name, names, n=1)
    guess = f"did you mean `{near[0]}`? " if near else ""
    if group == "judges.judges":
        names += [*(f"{service}:MODEL" for service in SERVICES), "stored:FIELD"]
    known = f"known: {', '.join(names)}; " if names else ""
    raise InputError(f"no {kind} is called `{name}`; {guess}{known}your own: package.module:object")


def _imported(path: str, kind: str, name: str) -> object:
    module_name, _, attributes = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: object = import_module(module_name)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except (Exception, SystemExit) as error:  # a module of the user's may raise anything when it is imported
        raise InputError(f"{kind} `{name}`: can't be imported ({type(error).__name__}: {error})") from error
    return found


# --- Calibrations: what labels have shown of a judge. Another package fits, keeps and reads them ---------------------


class CorrectedRate(Protocol):
    """What a calibration makes of a run: for one judge and criterion, the pass rate that people would give it."""

    @property
    def head(self) -> str:
        """What it is about, and what it rests on."""
        ...

    @property
    def rows(self) -> "Sequence[tuple[str, Figure]]":
        """Figures, each under its name: the judge's own rate, the corrected one, what they rest on."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What to know about them, and what to be careful of."""
        ...

    def to_record(self) -> dict[str, Any]:
        """The same as JSON-ready values."""
        ...


class CalibrationReader(Protocol):
    """What an entry point of `judges.calibrations` names: a module, or an object, that reads calibrations."""

    def bind(self, paths: "Sequence[Path]", assignments: "Sequence[Assignment]", /) -> "tuple[Assignment, ...]":
        """The assignments with the calibrations of these files, and their thresholds.

        Raises:
            InputError: A file can't be read, or is about another judge or criterion.
        """
        ...

    def chance_of(self, assignment: "Assignment", /) -> Callable[[float], float] | None:
        """From a score to the chance that people pass the case; None where the calibration has no such map."""
        ...

    def corrected(self, run: "Run", manifest: "Manifest", /) -> "Sequence[CorrectedRate]":
        """What the calibrations of a run make of it.

        Raises:
            JudgesError: The run, or a calibration, can't be read.
        """
        ...


def calibration_reader() -> CalibrationReader:
    """Whoever reads calibrations.

    Raises:
        InputError: Nobody does, several do, or it can't be imported.
    """
    found = installed("judges.calibrations")
    if len(found) != 1:
        names = ", ".join(point.value for point in found)
        raise InputError(
            f"several packages read calibrations ({names}); uninstall all but one"
            if found
            else "no installed package reads calibrations; install judges-eval anew"
        )
    try:
        return cast("CalibrationReader", found[0].load())
    except Exception as error:
        raise InputError(f"{found[0].value}: can't be imported ({type(error).__name__}: {error})") from error
