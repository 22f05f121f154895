"""The figures of a run by name: what a gate may require something of.

    faithfulness               mean score of a criterion; where several judges were asked, `faithfulness by overlap`
    faithfulness.strict        share of answers in which every claim passes; likewise `.lowest` and `.claims`
    faithfulness.failed        how many judgements failed; likewise `.abstained`, and `.pending` for those not made yet
    failed abstained pending   the same of all criteria together
    recall@4 nDCG@10 RR        means over the cases, which carry `retrieved` (or else `contexts`) and `relevant`
    answered_unanswerable      cases that can't be answered, and were: nothing is `relevant`, or `answerable` is false
    refused_answerable         cases that can be answered, and were not

Of a case that was asked several times, the share of its answers counts: three answers to a question are no three cases.
An answer is refused where it claims nothing ("I don't know."), or says what the application has declared a refusal.

A criterion goes before anything else of its name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from judges.fields import MISSING
from judges.figures import Figure, undefined
from judges.fingerprint import Json, fingerprint
from judges.intervals import mean
from judges.phrases import bare
from judges.printable import printable
from judges.retrieval.arrays import Places, measure_places, place_rankings
from judges.retrieval.labels import Label, Labels, check_versions, labels_of, relevant_ids, resolve
from judges.retrieval.metrics import Metric
from judges.retrieval.ranking import Ranking, known_passages, ranking_of, ranking_of_contexts
from judges.summary import (
    Answerable,
    Cluster,
    SummaryRow,
    answerable_by_fields,
    asked_id,
    check_fields,
    cluster_of,
    summarise_run,
)
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
    answers: int | None = None
    """Of a count of cases, some of which were asked several times: how many answers there are."""
    stood_in: int = 0
    """Of a metric of retrieval: answers whose passages stand in for `retrieved`."""
    given: int = 0
    """Likewise: answers left out, since the right passages were given."""


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

    def __init__(
        self,
        run: Run,
        *,
        cluster: str | None = None,
        refusals: Sequence[str] = (),
        labels: Labels | None = None,
        complete: bool = False,
        answerable: Answerable | None = None,
        keep_first: bool = False,
    ) -> None:
        """Read the judgements.

        Args:
            run: The run.
            cluster: Field that groups cases, for the intervals; by default each case is a group, with its repeats.
            refusals: What an answer says that refuses to answer; case and accents don't count.
            labels: What is relevant, by case; by default what the cases carry as `relevant`.
            complete: Whether nothing is relevant to a case that `labels` lack.
            answerable: By field and value of it whether a case that has it can be answered; it goes before
                `answerable` and `relevant` of the case.
            keep_first: Of a document that an answer's retrieval has twice keep the first copy; else it is refused.

        Raises:
            InputError: The folder is not a run, no case has a value that `answerable` names, or none is in `labels`.
            LedgerError: A file of the run can't be read.
        """
        self.run = run
        self.manifest = run.manifest()
        self.rows = summarise_run(run, self.manifest, cluster=cluster)
        self._cluster = cluster
        self._refusals = [text for text in map(bare, refusals) if text]
        self._labels, self._complete, self._keep_first = labels, complete, keep_first
        if labels is not None and not labels.keys() & self._asked(self.cases):
            raise InputError(f"{run.path}: none of its cases is in the qrels; check that both name cases alike")
        self._told: Answerable = answerable or {}
        check_fields(self._told, self.cases.values() if self._told else (), str(run.path))
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
            return self._refused(name)
        return self._retrieval(self._metric(name))

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

    def _retrieval(self, metric: Metric) -> Measure:
        values = self._retrieval_by_case(metric)
        found = self._retrieved
        dropped = len(self._asked(self.cases) - self._asked(values))
        if not values:
            figure = undefined("no_relevant", n_dropped=dropped)
        else:
            groups = {name: at for at, name in enumerate(dict.fromkeys(self.clusters[each] for each in values))}
            numbers = np.array([each.value for each in values.values()])
            figure = mean(numbers, np.array([groups[self.clusters[each]] for each in values]), n_dropped=dropped)
        return Measure(figure, stood_in=len(found.stood_in), given=len(found.given))

    def _asked(self, names: Iterable[str]) -> set[str]:
        """The cases that were asked, each once."""
        return {asked_id(self.cases[each]) for each in names}

    def _retrieval_by_case(self, metric: Metric) -> dict[str, CaseValue]:
        places = self._places
        measured = measure_places([metric], places)
        numbers: list[float] = measured.values[metric].tolist()
        return {
            name: CaseValue(value, self._retrieved.contents[name])
            for name, value, defined in zip(places.queries, numbers, measured.defined(metric).tolist(), strict=True)
            if defined
        }

    @cached_property
    def _retrieved(self) -> "_Retrieved":
        """What was retrieved and what is relevant, of the cases of which both are known.

        Where a case has no `retrieved`, its passages stand in; but not right ones that it was given.
        """
        found = _Retrieved()
        blank: list[str] = []
        for name, case in self.cases.items():
            where = self._where(case)
            labels = self._relevant(case, where)
            if labels is None:
                continue
            if case.extra.get("retrieved") is not None:
                retrieved = case.extra["retrieved"]
                ranking = ranking_of(retrieved, where, keep_first=self._keep_first)
                found.add(name, labels, ranking, retrieved)
            elif case.find("pipeline.gold_passages") is True:
                found.given.append(name)
            elif not case.contexts:
                blank.append(name)
            elif (items := _items(case)) is not None:
                ranking = ranking_of_contexts(items, where, keep_first=self._keep_first)
                found.add(name, labels, ranking, items)
                found.stood_in.append(name)
        if found.stood_in:  # a case without a passage, among others with theirs, is one that nothing was found for
            for name in blank:
                found.add(name, self._relevant(self.cases[name], "") or (), Ranking(), [])
            found.stood_in += blank
        return found

    @cached_property
    def _places(self) -> Places:
        """Where the relevant documents of each case stand."""
        found = self._retrieved
        if not found.labels:
            why = (
                "its cases were given the right passages, so there is no retrieval to measure"
                if found.given
                else "no case has both `retrieved` (or `contexts`, each with an id) and `relevant`, which metrics of "
                "retrieval need"
            )
            raise InputError(f"{self.run.path}: {why}")
        rankings = found.rankings
        check_versions(
            relevant_ids(found.labels), (each for ranking in rankings.values() for each in ranking.documents)
        )
        return place_rankings(resolve(found.labels, known_passages(rankings.values())).qrels, rankings)

    def _relevant(self, case: Case, where: str) -> Sequence[Label] | None:
        """The labels of a case; None where nobody says what is relevant."""
        if self._labels is not None:
            return self._labels.get(asked_id(case), () if self._complete else None)
        relevant = case.extra.get("relevant")
        return None if relevant is None else labels_of(relevant, where)

    def _where(self, case: Case) -> str:
        return f"{self.run.path}: case `{printable(case.id, 40)}`"

    # Refusals

    def _refused(self, name: _Refusal) -> Measure:
        """How many of the cases that can't be answered were, or that can be were not.

        Of a case that was asked several times, the share of its answers counts.
        """
        known = dict(self._answerable())
        if not known:
            raise InputError(
                f"{self.run.path}: `{name}` needs cases that say whether they can be answered: `relevant`, a list that "
                "is empty where nothing is, or `answerable`, true or false; or a field of yours: --unanswerable "
                "FIELD=VALUE"
            )
        wanted = name == "refused_answerable"
        met: dict[str, list[bool]] = {}
        for each, can in known.items():
            if can is wanted:
                case = self.cases[each]
                refused = refusal_of(case.answer or "", case.lang, self._refusals) is not None
                met.setdefault(asked_id(case), []).append(refused is wanted)
        count = round(sum(sum(each) / len(each) for each in met.values()), 9)  # 9 times 1/9 is 1
        answers = sum(map(len, met.values()))
        return Measure(Figure(count, n=len(met)), is_count=True, answers=answers if answers > len(met) else None)

    def _answerable(self) -> Iterator[tuple[str, bool]]:
        """The cases of which it is said whether they can be answered, by id."""
        for case in self.cases.values():
            told = self._can_be_answered(case)
            if told is not None:
                yield case.id, told

    def _can_be_answered(self, case: Case) -> bool | None:
        if said := answerable_by_fields(case, self._told):
            if len(set(said.values())) > 1:
                raise InputError(
                    f"{self._where(case)}: {' and '.join(said)}: one says that it can be answered, one that it can not"
                )
            return next(iter(said.values()))
        if self._labels is None or case.find("answerable") not in (MISSING, None):
            return answerable(case)
        labels = self._relevant(case, self._where(case))
        return None if labels is None else any(label.grade >= 1 for label in labels)


@dataclass(slots=True)
class _Retrieved:
    """What was retrieved and what is relevant, by case."""

    labels: dict[str, Sequence[Label]] = field(default_factory=dict[str, Sequence[Label]])
    rankings: dict[str, Ranking] = field(default_factory=dict[str, Ranking])
    contents: dict[str, str] = field(default_factory=dict[str, str])
    """A hash of both."""
    stood_in: list[str] = field(default_factory=list[str])
    """Cases whose passages stand in for `retrieved`."""
    given: list[str] = field(default_factory=list[str])
    """Cases left out, since the right passages were given."""

    def add(self, name: str, labels: Sequence[Label], ranking: Ranking, record: Json) -> None:
        self.labels[name] = labels
        self.rankings[name] = ranking
        said: Json = [[str(each.target), each.grade, each.group, each.text_hash] for each in labels]
        self.contents[name] = fingerprint([record, said])


def _items(case: Case) -> list[dict[str, Json]] | None:
    """The passages of a case as records of a ranking; None where one has neither an id nor a span."""
    kept = case.extra.get("contexts")
    spans = cast("Sequence[object]", kept) if isinstance(kept, list | tuple) else ()
    items: list[dict[str, Json]] = []
    for place, context in enumerate(case.contexts):
        span = spans[place] if len(spans) == len(case.contexts) else None
        item = dict(cast("Mapping[str, Json]", span)) if isinstance(span, Mapping) else {}
        item |= {name: value for name, value in (("id", context.doc_id), ("rank", context.rank)) if value is not None}
        if item.get("id") is None and item.get("start") is None:
            return None
        items.append(item)
    return items


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
