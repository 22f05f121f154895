"""What went wrong in a run: the cause of each failing case, the share that each explains, and where to act first.

Where a case was asked several times, each answer may fail for a reason of its own: answers are counted, and beside them
the cases that they are to, which the intervals go by.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judges.case import Case
from judges.diagnosis.causes import CaseDiagnosis, diagnose_case
from judges.diagnosis.facts import Facts, Opinion
from judges.diagnosis.hidden import Hidden, hidden_slices
from judges.diagnosis.retrieved import ENOUGH, Retrieved, read_retrieval
from judges.diagnosis.rules import Rules, default_rules
from judges.engine.plan import Assignment
from judges.engine.run import Manifest, Run
from judges.errors import InputError
from judges.figures import Figure
from judges.intervals import proportion, signed_share
from judges.phrases import bare
from judges.printable import printable
from judges.retrieval.labels import Labels
from judges.retrieval.metrics import Metric, measure
from judges.retrieval.passages import Index
from judges.retrieval.ranking import Ranking
from judges.summary import Answerable, asked_id, check_fields, cluster_of, slices_of
from judges.verdict import Judgement, Outcome

__all__ = ["Diagnosis", "First", "Inapplicable", "Share", "SliceDiagnosis", "diagnose_run"]

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the failing cases something explains."""

    name: str
    count: int
    """Failing answers."""
    asked: int
    """The cases that they are to: as many, unless some were asked several times."""
    figure: Figure
    """The share."""
    cases: tuple[str, ...] = ()
    """Ids of the first of them, one of each case that was asked."""
    also: int = 0
    """Answers in which it went wrong, too, after the cause."""

    def to_record(self) -> dict[str, Any]:
        """The share as JSON-ready values."""
        return {
            "name": self.name,
            "cases": self.asked,
            "answers": self.count,
            "share": self.figure.to_record(),
            "examples": list(self.cases),
            "also": self.also,
        }


@dataclass(frozen=True, slots=True)
class First:
    """The part of the pipeline to act on first: the one that explains most."""

    component: str
    share: Figure
    acts: tuple[str, ...]
    """What to do, for the most frequent cause first."""
    second: str | None
    """The part that explains most of the rest."""
    lead: Figure | None
    """Its share less that of the second."""

    @property
    def is_clear(self) -> bool:
        """Whether more cases would hardly change the order."""
        return self.lead is None or (self.lead.ci_low is not None and self.lead.ci_low > 0)

    def to_record(self) -> dict[str, Any]:
        """It as JSON-ready values."""
        return {
            "component": self.component,
            "share": self.share.to_record(),
            "acts": list(self.acts),
            "second": self.second,
            "lead": None if self.lead is None else self.lead.to_record(),
            "is_clear": self.is_clear,
        }


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """A rule that couldn't be held against cases that failed, since too little is known of them."""

    cause: str
    count: int
    """Failing answers of which too little is known."""
    asked: int
    """The cases that they are to."""
    lacks: tuple[str, ...]
    """What is lacking, the most frequent first."""

    def to_record(self) -> dict[str, Any]:
        """It as JSON-ready values."""
        return {"cause": self.cause, "cases": self.asked, "answers": self.count, "lacks": list(self.lacks)}


@dataclass(frozen=True, slots=True)
class SliceDiagnosis:
    """What went wrong in a part of the data."""

    field: str
    value: str
    count: int
    """Answers of which it is known whether they fail."""
    asked: int
    """The cases that they are to."""
    failing: Figure
    """The share that fails."""
    causes: tuple[Share, ...]
    """The most frequent first."""

    def to_record(self) -> dict[str, Any]:
        """The slice as JSON-ready values."""
        return {
            "field": self.field,
            "value": self.value,
            "cases": self.asked,
            "answers": self.count,
            "failing": self.failing.to_record(),
            "causes": [each.to_record() for each in self.causes],
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong in a run."""

    rules: Rules
    cases: tuple[CaseDiagnosis, ...]
    """In order of input; where a case was asked several times, one for each answer."""
    failing: Figure
    """The share of these that fails; `n_dropped` are those of which it isn't known."""
    causes: tuple[Share, ...]
    """By cause the share of the failing cases, the most frequent first."""
    components: tuple[Share, ...]
    """Likewise by part of the pipeline."""
    unexplained: Share
    first: First | None
    """None where no failing case is explained."""
    inapplicable: tuple[Inapplicable, ...]
    stand_ins: Mapping[str, str]
    """By name what spoke for it, in one case or more."""
    slices: tuple[SliceDiagnosis, ...]
    hidden: tuple[Hidden, ...]
    compared: int
    """Slices times measures that were looked at for `hidden`."""

    @property
    def is_repeated(self) -> bool:
        """Whether a case was asked several times."""
        return any(each.asked != each.case_id for each in self.cases)

    def case(self, name: str) -> CaseDiagnosis | None:
        """The diagnosis of one case."""
        return next((each for each in self.cases if each.case_id == name), None)

    def to_record(self) -> dict[str, Any]:
        """The diagnosis as JSON-ready values."""
        return {
            "cases": _asked(self.cases),
            "answers": len(self.cases),
            "failing": self.failing.to_record(),
            "causes": [
                {**each.to_record(), "component": rule.component, "says": rule.says, "act": rule.act}
                for each in self.causes
                for rule in (self.rules.rule(each.name),)
            ],
            "components": [each.to_record() for each in self.components],
            "unexplained": self.unexplained.to_record(),
            "first": None if self.first is None else self.first.to_record(),
            "inapplicable": [each.to_record() for each in self.inapplicable],
            "stand_ins": dict(self.stand_ins),
            "slices": [each.to_record() for each in self.slices],
            "hidden": {"compared": self.compared, "found": [each.to_record() for each in self.hidden]},
            "per_case": [each.to_record() for each in self.cases],
        }


def diagnose_run(
    run: Run,
    *,
    rules: Rules | None = None,
    labels: Labels | None = None,
    complete: bool = False,
    index: Index | None = None,
    span_share: float = ENOUGH,
    judge: str | None = None,
    refusals: Sequence[str] = (),
    answerable: Answerable | None = None,
    by: Sequence[str] = (),
    cluster: str | None = None,
) -> Diagnosis:
    """Find out what went wrong in the cases of a run.

    Args:
        run: The run.
        rules: How; by default ours.
        labels: What is relevant, by case; by default what the cases carry as `relevant`.
        complete: Whether nothing is relevant to a case that `labels` lack.
        index: All passages there are.
        span_share: A passage holds enough of a labelled span if it holds this share of it.
        judge: Whose verdicts, where several judges were asked.
        refusals: What an answer says that declines; case and accents don't count.
        answerable: By field and value of it whether a case that has it can be answered; it goes before `answerable`
            and `relevant` of the case.
        by: Fields whose values are slices.
        cluster: Field that groups cases, for the intervals; by default each case is a group, with its repeats.

    Raises:
        InputError: The folder is not a run, several judges were asked and none is named, labels can't be used, or
            no case has a value that `answerable` names.
        LedgerError: A file of the run can't be read.
    """
    rules = default_rules() if rules is None else rules
    manifest = _of_one_judge(run, judge)
    said = [text for text in map(bare, refusals) if text]
    cases: dict[str, Case] = {}
    opinions: dict[str, dict[str, Opinion]] = {}
    for row in run.rows(manifest):
        cases[row.case.id] = row.case
        opinions[row.case.id] = _opinions((work.assignment, judgement) for work, judgement in row.judgements)
    retrieved = read_retrieval(
        cases.values(), labels, complete=complete, index=index, share=span_share, source=str(run.path)
    )
    if labels is not None and not labels.keys() & set(map(asked_id, cases.values())):
        raise InputError(f"{run.path}: none of its cases is in the qrels; check that both name cases alike")
    told = answerable or {}
    check_fields(told, cases.values(), str(run.path))
    facts = {name: Facts(case, retrieved[name], opinions[name], rules, said, told) for name, case in cases.items()}
    found = {name: diagnose_case(each) for name, each in facts.items()}
    groups: dict[object, int] = {}
    clusters = {name: groups.setdefault(cluster_of(case, cluster), len(groups)) for name, case in cases.items()}
    known = clusters if cluster is not None or len(groups) < len(cases) else None
    of_field = {field: {name: slices_of(case, field) for name, case in cases.items()} for field in by}
    hidden, compared = hidden_slices(_measures(cases, retrieved, opinions), of_field, known) if by else ([], 0)
    failing = [each for each in found.values() if each.standing == "fails"]
    causes, components = _causes(failing, rules, known), _components(failing, rules, known)
    return Diagnosis(
        rules,
        tuple(found.values()),
        _failing(list(found.values()), known),
        causes,
        components,
        _share("", [each for each in failing if each.rule is None], failing, known),
        _first(failing, causes, components, rules, known),
        tuple(_inapplicable(failing, rules)),
        {name: fact.stands_in for each in facts.values() for name, fact in each.known.items() if fact.stands_in},
        tuple(_slices(found, of_field, rules, known)),
        tuple(hidden),
        compared,
    )


def _of_one_judge(run: Run, judge: str | None) -> Manifest:
    """What was asked of that judge, or of the one there is for each criterion."""
    manifest = run.manifest()
    names = list(dict.fromkeys(each.judge for each in manifest.assignments))
    if judge is not None:
        if judge not in names:
            raise InputError(f"{run.path}: has no judge `{printable(judge, 40)}`; it has {', '.join(names)}")
        return replace(manifest, assignments=tuple(each for each in manifest.assignments if each.judge == judge))
    criteria = [each.criterion.name for each in manifest.assignments]
    twice = next((name for name in criteria if criteria.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{run.path}: several judges judged {twice}; name one with --judge: {', '.join(names)}")
    return manifest


def _opinions(judgements: Iterable[tuple[Assignment, Judgement | None]]) -> dict[str, Opinion]:
    outcomes: dict[str, tuple[Assignment, list[Outcome]]] = {}
    for assignment, judgement in judgements:
        there = outcomes.setdefault(assignment.criterion.name, (assignment, []))
        if judgement is not None:
            there[1].append(judgement.outcome)
    return {name: Opinion(assignment, tuple(each)) for name, (assignment, each) in outcomes.items()}


# Shares

_Found = Sequence[CaseDiagnosis]
_Clusters = Mapping[str, int] | None


def _ids(cases: _Found, clusters: _Clusters) -> list[int] | None:
    return None if clusters is None else [clusters[each.case_id] for each in cases]


def _asked(found: _Found) -> int:
    """How many cases were asked."""
    return len({each.asked for each in found})


def _failing(cases: _Found, clusters: _Clusters) -> Figure:
    known = [each for each in cases if each.standing != "unknown"]
    failed = [each.standing == "fails" for each in known]
    return proportion(failed, _ids(known, clusters), n_dropped=len(cases) - len(known))


def _share(name: str, chosen: _Found, failing: _Found, clusters: _Clusters, also: int = 0) -> Share:
    ids = {each.case_id for each in chosen}
    figure = proportion([each.case_id in ids for each in failing], _ids(failing, clusters))
    first: dict[str, str] = {}
    for each in chosen:
        first.setdefault(each.asked, each.case_id)
    return Share(name, len(chosen), len(first), figure, tuple(first.values())[:_NAMED], also)


def _causes(failing: _Found, rules: Rules, clusters: _Clusters) -> tuple[Share, ...]:
    shares: list[Share] = []
    for rule in rules.rules:
        chosen = [each for each in failing if each.rule is rule]
        also = sum(rule in each.also for each in failing)
        if chosen or also:
            shares.append(_share(rule.cause, chosen, failing, clusters, also))
    return tuple(sorted(shares, key=lambda each: -each.count))


def _components(failing: _Found, rules: Rules, clusters: _Clusters) -> tuple[Share, ...]:
    shares: list[Share] = []
    for component in dict.fromkeys(rule.component for rule in rules.rules):
        chosen = [each for each in failing if each.rule is not None and each.rule.component == component]
        if chosen:
            shares.append(_share(component, chosen, failing, clusters))
    return tuple(sorted(shares, key=lambda each: -each.count))


def _first(
    failing: _Found, causes: Sequence[Share], components: Sequence[Share], rules: Rules, clusters: _Clusters
) -> First | None:
    """The part that explains most; of equal ones the earliest of the pipeline."""
    if not components:
        return None
    best = components[0]
    acts = (rules.rule(each.name) for each in causes if each.count)
    chosen = tuple(rule.act for rule in acts if rule.component == best.name and rule.act)
    if len(components) == 1:
        return First(best.name, best.figure, chosen, None, None)
    second = components[1].name
    named = [None if each.rule is None else each.rule.component for each in failing]
    signs = np.array([(name == best.name) - (name == second) for name in named], dtype=np.int64)
    return First(best.name, best.figure, chosen, second, signed_share(signs, _ids(failing, clusters)))


def _inapplicable(failing: _Found, rules: Rules) -> Iterable[Inapplicable]:
    for rule in rules.rules:
        lacking: Counter[str] = Counter()
        unknown: list[CaseDiagnosis] = []
        for each in failing:
            finding = next(finding for other, finding in each.findings if other is rule)
            if finding.holds is None:
                unknown.append(each)
                lacking.update(list(dict.fromkeys(fact.why for fact in finding.facts)))
        if unknown:
            yield Inapplicable(
                rule.cause, len(unknown), _asked(unknown), tuple(why for why, _ in lacking.most_common(_NAMED))
            )


# Slices


def _slices(
    found: Mapping[str, CaseDiagnosis],
    of_field: Mapping[str, Mapping[str, Sequence[str]]],
    rules: Rules,
    clusters: _Clusters,
) -> Iterable[SliceDiagnosis]:
    for field, of_case in of_field.items():
        for value in sorted(dict.fromkeys(each for names in of_case.values() for each in names)):
            inside = [each for name, each in found.items() if value in of_case[name]]
            failing = [each for each in inside if each.standing == "fails"]
            figure = _failing(inside, clusters)
            causes = tuple(each for each in _causes(failing, rules, clusters) if each.count)
            asked = _asked([each for each in inside if each.standing != "unknown"])
            yield SliceDiagnosis(field, value, figure.n, asked, figure, causes)


def _measures(
    cases: Mapping[str, Case], retrieved: Mapping[str, Retrieved], opinions: Mapping[str, Mapping[str, Opinion]]
) -> dict[str, dict[str, float]]:
    """What means are taken of, by name the value of each case that has one: recall, and the scores."""
    measures: dict[str, dict[str, float]] = {}
    recall = Metric("recall")
    for name in cases:
        known = retrieved[name]
        if known.needs and known.read is not None:
            value = measure([recall], known.grades, Ranking(known.read), groups=known.groups)[recall]
            if value is not None:
                measures.setdefault("recall", {})[name] = value
        for criterion, opinion in opinions[name].items():
            scores = [verdict.score for verdict in opinion.verdicts]
            if scores:
                measures.setdefault(criterion, {})[name] = sum(scores) / len(scores)
    return measures
