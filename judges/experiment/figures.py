"""The figures of a variant: of its retrieval, of its answers, and what they took; all of them told by its run."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from typing import cast

import numpy as np
from numpy.typing import NDArray

from judges.case import Case
from judges.engine.plan import Assignment
from judges.engine.run import Run
from judges.errors import InputError
from judges.figures import Figure, undefined
from judges.intervals import NOTHING, normal_quantile, ratio, sample_flags
from judges.measures import Measures
from judges.summary import REPEAT_OF, Cluster

__all__ = ["Figures", "correlation", "figure_names", "figures_of"]

_FAITHFUL = "faithfulness"
_REFUSALS = ("answered_unanswerable", "refused_answerable")
_LEAST = 5
"""Cases that an interval of a correlation takes."""
_DEEPEST = 50
"""Passages that the curve of recall goes down to."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of a variant."""

    values: Mapping[str, Figure]
    """By name, in order of the table. `judges.measures` says what most are, and finds them by the same names.

    length      characters of an answer
    length~X    Spearman's correlation of length and score of the criterion X, over cases
    cost        dollars of all calls together
    seconds     that a call took
    """
    curve: tuple[float, ...] = ()
    """Recall at 1, 2, 3, ...: as deep as anything was retrieved, and no deeper than the last cut-off."""
    deepest: int = 0
    """The most passages retrieved for a case; 0 where retrieval isn't measured."""
    notes: tuple[str, ...] = ()
    """Why something isn't measured."""


def figure_names(ks: Sequence[int], assignments: Sequence[Assignment]) -> list[str]:
    """The names of the figures, in order of the table."""
    asked = _asked_names(assignments)
    return [
        *_retrieval_names(ks),
        *asked,
        *_REFUSALS,
        "length",
        *(f"length~{name}" for name in asked if name.startswith(_FAITHFUL)),
        "cost",
        "seconds",
    ]


def _retrieval_names(ks: Sequence[int]) -> list[str]:
    return [*(f"{name}@{k}" for name in ("recall", "P", "nDCG") for k in sorted(set(ks))), "RR"]


def _asked_names(assignments: Sequence[Assignment]) -> list[str]:
    """A criterion's name; where several judges were asked, with the judge's."""
    several = len({each.judge for each in assignments}) > 1
    return [f"{each.criterion.name} by {each.judge}" if several else each.criterion.name for each in assignments]


def figures_of(run: Run, ks: Sequence[int], *, gold_passages: bool = False, refusals: Sequence[str] = ()) -> Figures:
    """The figures of a run that an experiment made.

    Intervals know that cases asked several times are no more cases: the repeats of one are a cluster.

    Args:
        run: The run.
        ks: Cut-offs of retrieval.
        gold_passages: Whether right passages were given, so that there is no retrieval to measure.
        refusals: What an answer says that refuses to answer.

    Raises:
        LedgerError: A file of the run can't be read.
    """
    measures = Measures(run, cluster=REPEAT_OF, refusals=refusals)
    cases, clusters = measures.cases, measures.clusters
    values: dict[str, Figure] = {}
    notes: list[str] = []
    curve: tuple[float, ...] = ()
    deepest = 0
    if gold_passages:
        notes.append("the right passages were given, so there is no retrieval to measure")
    else:
        try:
            values |= {name: measures.find(name).figure for name in _retrieval_names(ks)}
            deepest = max(_depth(case) for case in cases.values())
            curve = _curve(measures, min(deepest, max(ks), _DEEPEST))
        except InputError as error:  # no case has what it takes, or labels and passages don't go together
            notes.append(str(error).removeprefix(f"{run.path}: "))
    lengths = {name: float(len(case.answer)) for name, case in cases.items() if case.answer is not None}
    for name in _asked_names(measures.manifest.assignments):
        values[name] = measures.find(name).figure
        if name.startswith(_FAITHFUL):
            scores = {case: found.value for case, found in measures.by_case(name).items()}
            values[f"length~{name}"] = correlation(lengths, scores, clusters)
    for name in _REFUSALS:
        with suppress(InputError):  # no case says whether it can be answered
            values[name] = measures.find(name).figure
    values["length"] = _mean_of(lengths, clusters)
    values["cost"] = _total([_said(case, "cost") for case in cases.values()])
    seconds = {name: said for name, case in cases.items() if (said := _said(case, "seconds")) is not None}
    values["seconds"] = _mean_of(seconds, clusters)
    names = figure_names(ks, measures.manifest.assignments)
    return Figures({name: values.get(name, undefined("no_data")) for name in names}, curve, deepest, tuple(notes))


def _curve(measures: Measures, depth: int) -> tuple[float, ...]:
    found = [measures.find(f"recall@{k}").figure.value for k in range(1, depth + 1)]
    return tuple(each for each in found if each is not None)


def _depth(case: Case) -> int:
    found = case.extra.get("retrieved")
    return len(cast("Sequence[object]", found)) if isinstance(found, list | dict) else 0


def _said(case: Case, name: str) -> float | None:
    found = case.find(f"pipeline.{name}")
    return float(found) if isinstance(found, int | float) else None


def _mean_of(values: Mapping[str, float], clusters: Mapping[str, Cluster]) -> Figure:
    if not values:
        return undefined("no_data")
    return ratio(list(values.values()), np.ones(len(values)), [clusters[name] for name in values])


def _total(costs: Sequence[float | None]) -> Figure:
    """The sum; undefined where some don't say."""
    known = [each for each in costs if each is not None]
    missing = len(costs) - len(known)
    if missing or not known:
        return undefined("no_data", n=len(known), n_dropped=missing)
    return Figure(sum(known), n=len(known))


def correlation(
    first: Mapping[str, float], second: Mapping[str, float], clusters: Mapping[str, Hashable], *, level: float = 0.95
) -> Figure:
    """Spearman's correlation over cases: of a case asked several times, of its two means.

    Args:
        first: A number by id.
        second: The same. Ids that only one of them has are left out, and counted as dropped.
        clusters: By id, what is one case.
        level: Of the two-sided interval.

    Source:
        Interval: Bonett & Wright 2000, Psychometrika 65:23.
    """
    groups: dict[Hashable, list[str]] = {}
    for name in first:
        if name in second:
            groups.setdefault(clusters[name], []).append(name)
    dropped = len(first.keys() ^ second.keys())
    n = len(groups)
    if n < 2:
        return undefined("too_few" if n else "no_data", n=n, n_dropped=dropped, level=level)
    ranks = [_ranks([_mean(values[name] for name in names) for names in groups.values()]) for values in (first, second)]
    spreads = [float(each.std()) for each in ranks]
    if not all(spreads):
        return undefined("constant_input", n=n, n_dropped=dropped, level=level)
    products = (ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())
    value = min(max(float(products.mean()) / (spreads[0] * spreads[1]), -1.0), 1.0)
    flags = sample_flags(n, None, dropped)
    if (is_perfect := 1 - abs(value) < NOTHING) or n < _LEAST:
        reason = "singular" if is_perfect else "too_few"
        return Figure(value, level=level, n=n, n_dropped=dropped, reason=reason, flags=flags)
    half = normal_quantile(level) * sqrt((1 + value * value / 2) / (n - 3))
    low, high = tanh(atanh(value) - half), tanh(atanh(value) + half)
    return Figure(value, low, high, level, "bonett_wright", n, n_dropped=dropped, flags=flags)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Mid-ranks: equal values share their mean rank."""
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts).astype(np.float64)
    return ((2 * last - counts + 1) / 2)[places]
