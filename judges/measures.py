"""The figures of a run by name: what a gate may require something of.

    faithfulness               mean score of a criterion; where several judges were asked, `faithfulness by overlap`
    faithfulness.strict        share of answers in which every claim passes; likewise `.lowest` and `.claims`
    faithfulness.failed        how many judgements failed; likewise `.abstained`, and `.pending` for those not made yet
    failed abstained pending   the same of all criteria together
    recall@4 nDCG@10 RR        means over the cases, which carry `retrieved` and `relevant`
    answered_unanswerable      cases that can't be answered, and were: nothing is `relevant`, or `answerable` is false
    refused_answerable         cases that can be answered, and were not

An answer is refused where it claims nothing ("I don't know."), or says what the application has declared a refusal.

A criterion goes before anything else of its name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from judges.case import Case
from judges.checks import answerable
from judges.claims import refusal_of
from judges.datasets.tiers import Tier
from judges.engine.plan import Assignment, key_of
from judges.engine.run import Run
from judges.errors import InputError
from judges.figures import Figure, undefined
from judges.fingerprint import fingerprint
from judges.intervals import mean
from judges.phrases import bare
from judges.printable import printable
from judges.retrieval.arrays import Places, measure_places, place_rankings
from judges.retrieval.labels import Label, check_versions, labels_of, relevant_ids, resolve
from judges.retrieval.metrics import Metric
from judges.retrieval.ranking import Ranking, known_passages, ranking_of
from judges.summary import Cluster, SummaryRow, cluster_of, summarise_run
from judges.verdict import Verdict

__all__ = ["CaseValue", "Measure", "Measures"]

_Share: TypeAlias = Literal["mean", "strict", "lowest", "claims"]
_Count: TypeAlias = Literal["failed", "abstained", "pending"]
_Refusal: TypeAlias = Literal["answered_unanswerable", "refused_answerable"]
_SHARES: tuple[_Share, ...] = get_args(_Share)
_COUNTS: tuple[_Count, ...] = get_args(_Count)
_REFUSALS: tuple[_Refusal, ...] = get_args(_Refusal)


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run."""

    figure: Figure
    is_count: bool = False
    """Whether it counts what is there, and so says nothing of other cases."""
    missing: float = 0.0
    """Share of the judgements it rests on that failed or are not made yet."""


@dataclass(frozen=True, slots=True)
class CaseValue:
    """What one case adds to a mean."""

    value: float
    """From 0 to 1; over replicates the mean."""
    content: str
    """Hash of all it was found from: the same content in two runs is the same answer."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What a name says of a criterion."""

    row: SummaryRow
    part: _Share | _Count


class Measures:
    """The figures of one run. What is asked for first is read first, and then kept."""

    def __init__(self, run: Run, *, cluster: str | None = None, refusals: Sequence[str] = ()) -> None:
        """Read the judgements.

        Args:
            run: The run.
            cluster: Field that groups cases, for the intervals; by default each case is a group, with its repeats.
            refusals: What an answer says that refuses to answer; case and accents don't count.

        Raises:
            InputError: The folder is not a run.
            LedgerError: A file of the run can't be read.
        """
        self.run = run
        self.manifest = run.manifest()
        self.rows = summarise_run(run, self.manifest, cluster=cluster)
        self._cluster = cluster
        self._refusals = [text for text in map(bare, refusals) if text]
        self._parts: dict[str, _Part] = {}
        self._ambiguous: dict[str, list[str]] = {}
        for row in self.rows:
            alone = sum(row.criterion == other.criterion for other in self.rows) == 1
            for part in (*_SHARES, *_COUNTS):
                name = row.criterion if part == "mean" else f"{row.criterion}.{part}"
                full = f"{name} by {row.judge}"
                self._parts[full] = _Part(row, part)
                if alone:
                    self._parts.setdefault(name, _Part(row, part))
                else:
                    self._ambiguous.setdefault(name, []).append(full)

    @cached_property
    def cases(self) -> Mapping[str, Case]:
        """By id, in order of input."""
        return {case.id: case for case in self.run.cases()}

    @cached_property
    def clusters(self) -> Mapping[str, Cluster]:
        """The group of each case."""
        return {name: cluster_of(case, self._cluster) for name, case in self.cases.items()}

    @cached_property
    def is_of_a_tier(self) -> bool:
        """Whether every case was chosen for a tier, so that the set stands for itself."""
        return bool(self.cases) and all(case.extra.get("tier") in set(Tier) for case in self.cases.values())

    @property
    def missing(self) -> float:
        """Share of all judgements that failed or are not made yet."""
        asked = sum(row.asked for row in self.rows)
        return sum(map(_missing, self.rows)) / asked if asked else 0.0

    def find(self, name: str) -> Measure:
        """The figure of that name.

        Raises:
            InputError: There is none, several judges have one, or the cases lack what it takes.
            LedgerError: A file of the run can't be read.
        """
        if (found := self._parts.get(name)) is not None:
            return _of_row(found)
        if name in self._ambiguous:
            raise InputError(
                f"{self.run.path}: `{name}` by which judge? Say one of: {', '.join(self._ambiguous[name])}"
            )
        if name in _COUNTS:
            total = sum(_count(row, name) for row in self.rows)
            return Measure(_counted(total, sum(row.asked for row in self.rows)), is_count=True)
        if name in _REFUSALS:
            return Measure(self._refused(name), is_count=True)
        return Measure(self._retrieval(self._metric(name)))

    def by_case(self, name: str) -> dict[str, CaseValue]:
        """What each case adds to the mean of that name; cases that add nothing are left out.

        Raises:
            InputError: As `find`; or it isn't a mean over cases.
            LedgerError: A file of the run can't be read.
        """
        found = self._parts.get(name)
        if found is None and name not in (*self._ambiguous, *_COUNTS, *_REFUSALS):
            return self._retrieval_by_case(self._metric(name))
        if found is None or found.part == "claims" or found.part in _COUNTS:
            self.find(name)
            raise InputError(f"`{name}` can't be compared case by case; compare the mean score, or .strict")
        return self._scores(self.assignment(name), found)

    def assignment(self, name: str) -> Assignment:
        """The criterion and judge behind a name that `by_case` takes.

        Raises:
            KeyError: It is no criterion's.
        """
        row = self._parts[name].row
        return next(
            each
            for each in self.manifest.assignments
            if (each.criterion.name, each.judge) == (row.criterion, row.judge)
        )

    def is_of_a_criterion(self, name: str) -> bool:
        """Whether the name is that of a criterion's figure."""
        return name in self._parts

    # Criteria

    def _scores(self, assignment: Assignment, wanted: _Part) -> dict[str, CaseValue]:
        found: dict[str, CaseValue] = {}
        for row in self.run.rows(self.manifest):
            values: list[float] = []
            for work, judgement in row.judgements:
                if work.assignment == assignment and judgement is not None and isinstance(judgement.outcome, Verdict):
                    values.append(_value(judgement.outcome, wanted))
            if values:
                found[row.case.id] = CaseValue(sum(values) / len(values), key_of(row.case, assignment, 0))
        return found

    # Retrieval

    def _metric(self, name: str) -> Metric:
        try:
            return Metric.parse(name)
        except InputError:
            known = [*self._parts, *_COUNTS, *_REFUSALS]
            short = [each for each in known if " by " not in each and "." not in each]
            near = get_close_matches(name, known, n=3) or short
            there = ", ".join(printable(each, 60) for each in near)
            raise InputError(
                f"{self.run.path}: has no figure `{printable(name, 60)}`; there are {there}, and metrics of retrieval "
                "such as recall@4"
            ) from None

    def _retrieval(self, metric: Metric) -> Figure:
        values = self._retrieval_by_case(metric)
        dropped = len(self.cases) - len(values)
        if not values:
            return undefined("no_relevant", n_dropped=dropped)
        groups = {name: at for at, name in enumerate(dict.fromkeys(self.clusters[each] for each in values))}
        numbers = np.array([each.value for each in values.values()])
        return mean(numbers, np.array([groups[self.clusters[each]] for each in values]), n_dropped=dropped)

    def _retrieval_by_case(self, metric: Metric) -> dict[str, CaseValue]:
        places = self._places
        measured = measure_places([metric], places)
        numbers: list[float] = measured.values[metric].tolist()
        return {
            name: CaseValue(value, self._retrieved[name])
            for name, value, defined in zip(places.queries, numbers, measured.defined(metric).tolist(), strict=True)
            if defined
        }

    @cached_property
    def _retrieved(self) -> dict[str, str]:
        """A hash of what was retrieved and of what is relevant, of the cases that carry both."""
        return {
            name: fingerprint([case.extra["retrieved"], case.extra["relevant"]])
            for name, case in self.cases.items()
            if case.extra.get("retrieved") is not None and case.extra.get("relevant") is not None
        }

    @cached_property
    def _places(self) -> Places:
        """Where the relevant documents of each case stand."""
        labels: dict[str, list[Label]] = {}
        rankings: dict[str, Ranking] = {}
        for name in self._retrieved:
            case = self.cases[name]
            labels[name] = labels_of(case.extra["relevant"], self._where(case))
            rankings[name] = ranking_of(case.extra["retrieved"], self._where(case))
        if not labels:
            raise InputError(
                f"{self.run.path}: no case has both `retrieved` and `relevant`, which metrics of retrieval need"
            )
        check_versions(relevant_ids(labels), (each for ranking in rankings.values() for each in ranking.documents))
        return place_rankings(resolve(labels, known_passages(rankings.values())).qrels, rankings)

    def _where(self, case: Case) -> str:
        return f"{self.run.path}: case `{printable(case.id, 40)}`"

    # Refusals

    def _refused(self, name: _Refusal) -> Figure:
        """How many of the cases that can't be answered were, or that can be were not."""
        known = dict(self._answerable())
        if not known:
            raise InputError(
                f"{self.run.path}: `{name}` needs cases that say whether they can be answered: `relevant`, a list that "
                "is empty where nothing is, or `answerable`, true or false"
            )
        wanted = name == "refused_answerable"
        chosen = [self.cases[each] for each, answerable in known.items() if answerable is wanted]
        answered = sum(refusal_of(case.answer or "", case.lang, self._refusals) is None for case in chosen)
        return _counted(len(chosen) - answered if wanted else answered, len(chosen))

    def _answerable(self) -> Iterator[tuple[str, bool]]:
        """The cases that say whether they can be answered, by id."""
        for case in self.cases.values():
            told = answerable(case)
            if told is not None:
                yield case.id, told


def _of_row(found: _Part) -> Measure:
    row = found.row
    missing = _missing(row) / row.asked if row.asked else 0.0
    match found.part:
        case "mean" | "strict" | "lowest" | "claims":
            return Measure(cast("Figure", getattr(row, found.part)), missing=missing)
        case _:
            return Measure(_counted(_count(row, found.part), row.asked), is_count=True)


def _missing(row: SummaryRow) -> int:
    return sum(row.failed.values()) + row.pending


def _count(row: SummaryRow, name: _Count) -> int:
    match name:
        case "failed":
            return sum(row.failed.values())
        case "abstained":
            return sum(row.abstained.values())
        case "pending":
            return row.pending


def _counted(count: int, n: int) -> Figure:
    return Figure(float(count), n=n)


def _value(verdict: Verdict, wanted: _Part) -> float:
    if wanted.part == "mean":
        return verdict.score
    lowest = min((claim.score for claim in verdict.claims), default=verdict.score)
    return lowest if wanted.part == "lowest" else float(lowest >= wanted.row.threshold)
