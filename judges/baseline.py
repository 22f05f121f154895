"""How far a run fell below its baseline: paired, case by case.

Two runs over the same cases are compared by the difference within each case, which leaves out how hard the case is.
Replicates of a case are averaged first: they are not more cases.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judges.errors import InputError
from judges.figures import Figure, undefined
from judges.gate import Requirement
from judges.intervals import Clusters, ratio, signed_share
from judges.measures import CaseValue, Measures

__all__ = ["Drop", "compared_names", "drop_of", "level_for", "measure_drop"]

_WORST = 3
_MISTAKEN = 0.05
_NOTHING = 1e-12  # a difference that is rounding and not data


@dataclass(frozen=True, slots=True)
class Drop:
    """A figure of the baseline less that of the run, over the cases of both."""

    name: str
    """Of the figure."""
    figure: Figure
    """Above 0 where the run is worse. `n` is the number of cases compared."""
    is_same: bool
    """Whether what was measured is the very same in both runs: then nothing fell, here or elsewhere."""
    before: float | None
    """The mean of these cases in the baseline."""
    after: float | None
    only_before: int
    """Cases with a value in the baseline only."""
    only_after: int
    other_question: int
    """Cases whose id is in both, but not with the same question."""
    fell_most: tuple[tuple[str, float], ...]
    """Ids of the cases that fell most, and how far."""

    def to_record(self) -> dict[str, Any]:
        """The drop as JSON-ready values."""
        return {
            "name": self.name,
            "figure": self.figure.to_record(),
            "is_same": self.is_same,
            "before": self.before,
            "after": self.after,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "other_question": self.other_question,
            "fell_most": [{"case": name, "drop": by} for name, by in self.fell_most],
        }

    def requirement(self, most: float) -> Requirement:
        """That it is at most so much."""
        return Requirement(f"drop({self.name})", "<=", most)


def level_for(comparisons: int) -> float:
    """The level at which the intervals of so many comparisons hold together in 95% (Bonferroni).

    So a gate on all of them alarms for nothing in at most 5%, however many there are.
    """
    return 1 - _MISTAKEN / max(comparisons, 1)


def compared_names(before: Measures, after: Measures) -> tuple[list[str], list[str]]:
    """The criteria that both runs have by the same judge; and those that only the baseline has.

    Raises:
        InputError: There are none of the first kind.
    """
    there = {each.fingerprint for each in after.manifest.assignments}
    names, gone = list[str](), list[str]()
    for each in before.manifest.assignments:
        short, full = each.criterion.name, f"{each.criterion.name} by {each.judge}"
        name = short if before.is_of_a_criterion(short) and after.is_of_a_criterion(short) else full
        (names if each.fingerprint in there and after.is_of_a_criterion(name) else gone).append(name)
    if not names:
        asked = [
            ", ".join(f"{each.criterion.name} by {each.judge}" for each in measures.manifest.assignments)
            for measures in (before, after)
        ]
        raise InputError(
            f"no criterion was judged by the same judge in {before.run.path} ({asked[0]}) and {after.run.path} "
            f"({asked[1]}), or one of them has changed since; judge both with the same"
        )
    return names, gone


def measure_drop(before: Measures, after: Measures, name: str, *, level: float = 0.95) -> Drop:
    """How far a figure fell.

    Args:
        before: The baseline.
        after: The run.
        name: Of a criterion's mean score or strict share, or of a metric of retrieval.
        level: Of the interval.

    Raises:
        InputError: One of them lacks it, or the judge or the wording has changed since.
        LedgerError: A file of a run can't be read.
    """
    old, new = before.by_case(name), after.by_case(name)
    if before.is_of_a_criterion(name) and before.assignment(name).fingerprint != after.assignment(name).fingerprint:
        raise InputError(
            f"`{name}`: the judge or the wording of the criterion has changed since {before.run.path}, so a drop can't "
            "be put down to the answers; judge both with the same"
        )
    both = [each for each in old if each in new]
    asked = [each for each in both if before.cases[each].question == after.cases[each].question]
    differences = np.array([old[each].value - new[each].value for each in asked])
    groups = {group: at for at, group in enumerate(dict.fromkeys(before.clusters[each] for each in asked))}
    clusters = np.array([groups[before.clusters[each]] for each in asked], dtype=np.int64)
    figure = drop_of(
        differences,
        None if len(groups) == len(asked) else clusters,
        level=level,
        n_dropped=len(old) + len(new) - len(both) - len(asked),
    )
    is_same = bool(asked) and not differences.any() and all(old[each].content == new[each].content for each in asked)
    if is_same:
        figure = replace(figure, ci_low=0.0, ci_high=0.0, method=None, reason=None)
    order = sorted(range(len(asked)), key=lambda at: -float(differences[at]))[:_WORST]
    return Drop(
        name=name,
        figure=figure,
        is_same=is_same,
        before=_mean(asked, old),
        after=_mean(asked, new),
        only_before=len(old) - len(both),
        only_after=len(new) - len(both),
        other_question=len(both) - len(asked),
        fell_most=tuple((asked[at], float(differences[at])) for at in order if differences[at] > 0),
    )


def drop_of(
    differences: NDArray[np.float64], clusters: Clusters | None = None, *, level: float = 0.95, n_dropped: int = 0
) -> Figure:
    """The mean of differences within cases, with a t interval.

    Args:
        differences: Baseline less run, from -1 to 1, one a case. What is rounding is made 0 here, in place.
        clusters: One id a case, or None when cases are independent.
        level: Of the two-sided interval.
        n_dropped: Cases left out before; it is passed on.

    Returns:
        Where all differ alike, by 0, 1 or -1, the interval is Bonett and Price's for as many cases (or clusters).
    """
    differences[np.abs(differences) < _NOTHING] = 0.0
    if not differences.size:
        return undefined("no_data", n_dropped=n_dropped, level=level)
    if bool(np.all(differences == differences[0])) and differences[0] in (-1.0, 0.0, 1.0):
        return signed_share(differences.astype(np.int64), clusters, level=level, n_dropped=n_dropped)
    return ratio(differences, np.ones(differences.size), clusters, level=level, n_dropped=n_dropped)


def _mean(cases: Sequence[str], values: dict[str, CaseValue]) -> float | None:
    return sum(values[each].value for each in cases) / len(cases) if cases else None
