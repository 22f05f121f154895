"""What the judgements of an evaluation say together: one row a criterion and judge, and a slice where asked for."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
import orjson

from judges.case import Case
from judges.engine.run import Manifest, Run
from judges.errors import InputError
from judges.fields import MISSING
from judges.figures import Figure, undefined
from judges.intervals import mean, proportion
from judges.printable import printable
from judges.usage import NOTHING_USED, Usage
from judges.verdict import Abstained, Failed, Judgement, Verdict

__all__ = [
    "NO_SLICE",
    "REPEAT_OF",
    "Answerable",
    "Cluster",
    "SummaryRow",
    "answerable_by_fields",
    "asked_id",
    "check_fields",
    "cluster_of",
    "slices_of",
    "summarise",
    "summarise_run",
]

REPEAT_OF = "repeat_of"
"""Field of a case that was asked several times: the id of the case it is."""
NO_SLICE = "(none)"
"""The slice of cases that lack the field."""
Cluster: TypeAlias = tuple[str, str]
"""What a case is grouped by: field and value."""
Answerable: TypeAlias = Mapping[tuple[str, str], bool]
"""By field and value of it whether a case that has it can be answered."""


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One criterion by one judge, over all cases or those of a slice.

    Means and shares are over verdicts. What the judge abstained from doesn't apply and is counted apart; what failed
    might have gone either way, and `mean_if_failed` says how far that matters.
    """

    criterion: str
    judge: str
    slice: str | None
    threshold: float
    """A score at or above it is a pass."""
    asked: int
    """Judgements asked for: cases times replicates."""
    judged: int
    """Verdicts among them."""
    abstained: Mapping[str, int]
    """By reason."""
    failed: Mapping[str, int]
    """By kind of error."""
    pending: int
    """Not made yet: the run was stopped before."""
    mean: Figure
    """Mean score."""
    strict: Figure
    """Share of verdicts in which every claim reaches the threshold; of a verdict without claims, its score."""
    lowest: Figure
    """Mean of the lowest claim's score."""
    claims: Figure
    """Share of claims that reach the threshold; `n` is their number. Verdicts without claims don't count."""
    mean_if_failed: tuple[float | None, float | None]
    """What the mean would be if every failed judgement had scored 0, or 1."""
    usage: Usage = NOTHING_USED
    """What the calls for these judgements used; those of earlier, failed attempts at them not included."""

    def to_record(self) -> dict[str, Any]:
        """The row as JSON-ready values."""
        return {
            "criterion": self.criterion,
            "judge": self.judge,
            **({} if self.slice is None else {"slice": self.slice}),
            "threshold": self.threshold,
            "asked": self.asked,
            "judged": self.judged,
            "abstained": dict(sorted(self.abstained.items())),
            "failed": dict(sorted(self.failed.items())),
            "pending": self.pending,
            "mean": self.mean.to_record(),
            "strict": self.strict.to_record(),
            "lowest": self.lowest.to_record(),
            "claims": self.claims.to_record(),
            "mean_if_failed": {"low": self.mean_if_failed[0], "high": self.mean_if_failed[1]},
            **({} if self.usage == NOTHING_USED else {"usage": self.usage.to_record()}),
        }


@dataclass(slots=True)
class _Tally:
    """What a row is made from, eight bytes a number."""

    threshold: float
    asked: int = 0
    pending: int = 0
    usage: Usage = NOTHING_USED
    abstained: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])
    score: "array[float]" = field(default_factory=lambda: array("d"))
    lowest: "array[float]" = field(default_factory=lambda: array("d"))
    cluster: "array[int]" = field(default_factory=lambda: array("q"))
    claim_score: "array[float]" = field(default_factory=lambda: array("d"))
    claim_cluster: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, judgement: Judgement | None, cluster: int) -> None:
        self.asked += 1
        if judgement is None:
            self.pending += 1
            return
        if judgement.usage is not None:
            self.usage += judgement.usage
        match judgement.outcome:
            case Abstained(reason=reason):
                self.abstained[reason] += 1
            case Failed(error=error):
                self.failed[error] += 1
            case Verdict(score=score, claims=claims):
                self.score.append(score)
                self.lowest.append(min((claim.score for claim in claims), default=score))
                self.cluster.append(cluster)
                for claim in claims:
                    self.claim_score.append(claim.score)
                    self.claim_cluster.append(cluster)

    def row(self, criterion: str, judge: str, slice_name: str | None) -> SummaryRow:
        failures = self.failed.total()
        with_failures = len(self.score) + failures
        total = float(np.sum(np.asarray(self.score)))
        lowest, claim_score = np.asarray(self.lowest), np.asarray(self.claim_score)
        cluster, claim_cluster = np.asarray(self.cluster), np.asarray(self.claim_cluster)
        return SummaryRow(
            criterion=criterion,
            judge=judge,
            slice=slice_name,
            threshold=self.threshold,
            asked=self.asked,
            judged=len(self.score),
            abstained=dict(self.abstained),
            failed=dict(self.failed),
            pending=self.pending,
            mean=mean(np.asarray(self.score), cluster) if self.score else undefined("no_data"),
            strict=proportion(lowest >= self.threshold, cluster) if self.score else undefined("no_data"),
            lowest=mean(lowest, cluster) if self.score else undefined("no_data"),
            claims=(
                proportion(claim_score >= self.threshold, claim_cluster) if self.claim_score else undefined("no_data")
            ),
            mean_if_failed=(
                (total / with_failures, (total + failures) / with_failures) if with_failures else (None, None)
            ),
            usage=self.usage,
        )


def summarise(judgements: Iterable[Judgement], *, threshold: float = 0.5) -> list[SummaryRow]:
    """One row a criterion and judge, in order of appearance.

    Args:
        judgements: Those of `evaluate`, say.
        threshold: A score at or above it is a pass.

    Raises:
        ValueError: The threshold is not from 0 to 1.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"the threshold is {threshold}; give a number from 0 to 1")
    tallies: dict[tuple[str, str], _Tally] = {}
    clusters: dict[str, int] = {}
    for judgement in judgements:
        tally = tallies.setdefault((judgement.criterion, judgement.judge), _Tally(threshold))
        tally.add(judgement, clusters.setdefault(judgement.case_id, len(clusters)))
    return [tally.row(criterion, judge, None) for (criterion, judge), tally in tallies.items()]


def summarise_run(
    run: Run,
    manifest: Manifest,
    *,
    by: str | None = None,
    threshold: float | None = None,
    cluster: str | None = None,
) -> list[SummaryRow]:
    """One row a criterion and judge of a run, and a slice where `by` names a field.

    Args:
        run: Where the judgements are.
        manifest: What was asked.
        by: Dotted path of the field whose values are the slices. A list puts a case in several slices.
        threshold: A score at or above it is a pass; by default each judge's own.
        cluster: Field that groups cases, for the intervals; by default each case is a group, with its repeats.

    Raises:
        LedgerError: A file of the run can't be read.
    """
    tallies: dict[tuple[str | None, int], _Tally] = {}
    if by is None:  # a criterion without a single case has its row, too
        for place, each in enumerate(manifest.assignments):
            tallies[None, place] = _Tally(each.threshold if threshold is None else threshold)
    clusters: dict[Cluster, int] = {}
    order = {(a.criterion.name, a.judge): place for place, a in enumerate(manifest.assignments)}
    for row in run.rows(manifest):
        number = clusters.setdefault(cluster_of(row.case, cluster), len(clusters))
        names = [None] if by is None else slices_of(row.case, by)
        for work, judgement in row.judgements:
            assignment = work.assignment
            place = order[assignment.criterion.name, assignment.judge]
            cut = assignment.threshold if threshold is None else threshold
            for name in names:
                tallies.setdefault((name, place), _Tally(cut)).add(judgement, number)
    return [
        tallies[name, place].row(manifest.assignments[place].criterion.name, manifest.assignments[place].judge, name)
        for name, place in sorted(tallies, key=lambda pair: (pair[1], _natural(pair[0])))
    ]


def cluster_of(case: Case, path: str | None) -> Cluster:
    """The group of a case: the value of a field. A case that lacks it is a group of its own.

    The answers to a case that was asked several times are always one group: they are no more cases.
    """
    value = MISSING if path is None else case.find(path)
    return (str(path), str(value)) if isinstance(value, str | int | float) else ("id", asked_id(case))


def asked_id(case: Case) -> str:
    """The id of the case that was asked: where it was asked several times, each answer has an id of its own."""
    value = case.extra.get(REPEAT_OF)
    return str(value) if isinstance(value, str | int) else case.id


def answerable_by_fields(case: Case, told: Answerable) -> dict[str, bool]:
    """What the fields of a case say of whether it can be answered, each as in `meta.kind is none`."""
    return {
        f"{path} is {printable(value, 40)}": can
        for (path, value), can in told.items()
        if value in slices_of(case, path)
    }


def check_fields(told: Answerable, cases: Iterable[Case], source: str) -> None:
    """Hold what is said of fields against the cases.

    Raises:
        InputError: No case has such a value.
    """
    cases = list(cases)
    for path, value in told:
        if not any(value in slices_of(case, path) for case in cases):
            raise InputError(f"{source}: no case has {printable(path, 60)} `{printable(value, 40)}`")


def slices_of(case: Case, path: str) -> list[str]:
    """The slices a case belongs to: the values of a field, as text."""
    value = case.find(path)
    values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    return list(dict.fromkeys(_names(values))) or [NO_SLICE]


def _names(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if value is MISSING or value is None or value == "":
            yield NO_SLICE
        elif isinstance(value, str):
            yield value
        elif isinstance(value, float) and value.is_integer():
            yield str(int(value))  # 3 and 3.0 are one value
        else:
            yield orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _natural(name: str | None) -> tuple[bool, list[tuple[int, str]]]:
    """Sorts `turn 2` before `turn 10`, and cases without the field last."""
    steps = re.split(r"([0-9]+)", name or "")
    return name == NO_SLICE, [(int(step), "") if step.isascii() and step.isdigit() else (0, step) for step in steps]
