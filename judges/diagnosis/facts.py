"""What is known of a case by the names that rules use: whether it holds, and the figure or the claim that says so."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from judges.case import Case
from judges.checks import answerable
from judges.claims import refusal_of
from judges.criterion import Criterion, Unit
from judges.diagnosis.retrieved import Need, Retrieved
from judges.diagnosis.rules import Rules
from judges.engine.plan import Assignment
from judges.errors import InputError
from judges.fields import MISSING
from judges.printable import printable
from judges.retrieval.bridge import judges_passages, qrels_from_verdicts
from judges.retrieval.metrics import Metric, measure
from judges.retrieval.ranking import Ranking
from judges.summary import Answerable, answerable_by_fields
from judges.verdict import Abstained, ClaimVerdict, Evidence, Failed, Outcome, Verdict

__all__ = ["OWN_NAMES", "Fact", "Facts", "Opinion"]

OWN_NAMES = frozenset({"answerable", "refused", "found", "ranked", "high_before", "cut", "misled", "cites_relevant"})
"""The names that are neither of a criterion nor of a metric."""

_CITED = re.compile(r"\[([^\[\]\n]{1,80})\]")
_SHOWN = 90
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known by one name."""

    name: str
    value: bool | None
    """None where it isn't known."""
    why: str
    """The figure or the claim that decided; where nothing is known, what is lacking."""
    number: float | None = None
    stands_in: str | None = None
    """The name of what spoke for it, for want of better."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge said of a case on one criterion, each time it was asked."""

    assignment: Assignment
    outcomes: tuple[Outcome, ...]

    @property
    def criterion(self) -> Criterion:
        """The criterion."""
        return self.assignment.criterion

    @property
    def verdicts(self) -> list[Verdict]:
        """What are verdicts."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Verdict)]

    def passes(self, verdict: Verdict) -> bool:
        """Whether each claim reaches the threshold; of passages, one at least."""
        scores = [claim.score for claim in verdict.claims] or [verdict.score]
        return (max(scores) if self.criterion.unit is Unit.CONTEXT else min(scores)) >= self.assignment.threshold


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one case. `fact` looks it up."""

    case: Case
    retrieved: Retrieved
    opinions: Mapping[str, Opinion]
    """By criterion."""
    rules: Rules
    refusals: Sequence[str] = ()
    """What an answer says that declines, as `bare` makes it."""
    answerable: Answerable = field(default_factory=dict[tuple[str, str], bool])
    """What values of which fields say."""
    known: dict[str, Fact] = field(default_factory=dict[str, Fact], init=False, repr=False)

    def fact(self, name: str) -> Fact:
        """What is known by that name, by what may stand in for it if need be."""
        if (there := self.known.get(name)) is not None:
            return there
        fact = self._look(name)
        nothing_to_find = name == "found" and self.retrieved.needs == ()
        if fact.value is None and fact.number is None and not nothing_to_find:
            for other in self.rules.stand_ins.get(name, ()):
                spoke = self._look(other)
                if spoke.value is not None:
                    said = f"{spoke.why} ({other} stands in for {_FOR.get(name, name)})"
                    fact = replace(spoke, name=name, why=said, stands_in=other)
                    break
        self.known[name] = fact
        return fact

    def _look(self, name: str) -> Fact:
        match name:
            case "answerable":
                return self._answerable()
            case "refused":
                return self._refused()
            case "found":
                return self._found()
            case "ranked":
                return self._ranked()
            case "high_before":
                return self._high_before()
            case "cut":
                return self._cut()
            case "misled":
                return self._misled()
            case "cites_relevant":
                return self._cites_relevant()
            case _:
                return self._label(name) if "." in name else self._criterion(name)

    # The question and the answer

    def _answerable(self) -> Fact:
        if said := answerable_by_fields(self.case, self.answerable):
            why = " and ".join(said)
            if len(set(said.values())) > 1:
                return Fact("answerable", None, f"{why}: one says that it can be answered, one that it can not")
            can = next(iter(said.values()))
            return Fact("answerable", can, f"{why}: it {'can' if can else 'can not'} be answered")
        if self.case.find("answerable") not in (MISSING, None):
            told = answerable(self.case)
            return Fact("answerable", told, f"the case says that it {'can' if told else 'can not'} be answered")
        needs = self.retrieved.needs
        if needs is None:
            return Fact(
                "answerable", None, "nothing says whether it can be answered (`relevant`, `answerable`, --answerable)"
            )
        if needs:
            return Fact("answerable", True, f"{_named(needs)} is labelled relevant")
        return Fact("answerable", False, "nothing is labelled relevant: the documents don't answer it")

    def _refused(self) -> Fact:
        answer = self.case.answer
        if answer is None or not answer.strip():
            return Fact("refused", None, "there is no answer")
        for name, value in _REFUSALS:
            told = self._label(name)
            if told.value:
                return Fact("refused", value, told.why)
        said = refusal_of(answer, self.case.lang, self.refusals)
        if said is None:
            return Fact("refused", False, f"it was answered: “{printable(answer, _SHOWN)}”")
        how = "declines" if said in self.refusals else "claims nothing"
        return Fact("refused", True, f"the answer {how}: “{printable(said, _SHOWN)}”")

    # The retrieval

    def _found(self) -> Fact:
        read, needs = self.retrieved.read, self.retrieved.needs
        if needs is None or read is None:
            return Fact("found", None, _LABELS if needs is None else _IDS)
        if not needs:
            return Fact("found", None, "nothing is labelled relevant")
        missing = self.retrieved.missing
        share = 1 - len(missing) / len(needs)
        if share >= self.rules.found_share - 1e-12:
            met = [need for need in needs if need not in missing]
            places = ", ".join(f"{_named([need])} at {self.retrieved.place(need, read)}" for need in met[:_NAMED])
            return Fact("found", True, f"what is needed was read: {places} of {len(read)}", share)
        if not read:
            return Fact("found", False, f"nothing was retrieved; {_named(missing)} was needed", share)
        among = f"the {len(read)} passages read" if len(read) > 1 else "the one passage read"
        verb = "is" if len(missing) == 1 else "are"
        return Fact("found", False, f"{_named(missing)} {verb} not among {among}", share)

    def _ranked(self) -> Fact:
        known = self._missing("ranked")
        if isinstance(known, Fact):
            return known
        orders = [("candidates", self.retrieved.before), ("ranking", self.retrieved.below)]
        there = [(what, order) for what, order in orders if order is not None]
        if not there:
            return Fact("ranked", None, "no order is known beyond what was read (`candidates`, `retrieved`)")
        said: list[str] = []
        for need in known:
            place = next(
                ((at, what, len(order)) for what, order in there if (at := self.retrieved.place(need, order))), None
            )
            if place is None:
                depth = max(len(order) for _, order in there)
                return Fact("ranked", False, f"{_named([need])} is not among the {depth} of the longest order known")
            at, what, count = place
            said.append(f"{_named([need])} at {at} of {count} in the {what}")
        return Fact("ranked", True, f"it was retrieved: {', '.join(said[:_NAMED])}")

    def _high_before(self) -> Fact:
        known = self._missing("high_before")
        if isinstance(known, Fact):
            return known
        before, depth = self.retrieved.before, len(self.retrieved.read or ())
        if before is None:
            return Fact("high_before", None, "the order before reranking isn't known (`candidates`)")
        places = [(need, self.retrieved.place(need, before)) for need in known]
        said = ", ".join(
            f"{_named([need])} {'was missing' if at is None else f'stood at {at}'}" for need, at in places[:_NAMED]
        )
        high = all(at is not None and at <= depth for _, at in places)
        return Fact("high_before", high, f"before reranking {said}; {depth} were read")

    def _missing(self, name: str) -> tuple[Need, ...] | Fact:
        """What was needed and not read; or why that can't be said."""
        found = self._found()
        if found.value is None:
            return Fact(name, None, found.why)
        return Fact(name, False, "nothing is missing") if found.value else self.retrieved.missing

    def _cut(self) -> Fact:
        needs = self.retrieved.needs
        if needs is None:
            return Fact("cut", None, _LABELS)
        if not any(need.spans for need in needs):
            return Fact("cut", None, "no spans of the documents are labelled")
        for span, parts in self.retrieved.parts.items():
            if parts:
                held = ", ".join(printable(name, 40) for name in parts[:_NAMED])
                return Fact("cut", True, f"no passage holds enough of {printable(str(span), 60)}; parts are in {held}")
        if self.retrieved.parts:
            span = next(iter(self.retrieved.parts))
            return Fact("cut", None, f"no passage known holds any of {printable(str(span), 60)}")
        return Fact("cut", False, "each span that is needed is whole in a passage")

    # What the answer rests on

    def _misled(self) -> Fact:
        relevant = self._relevant()
        if isinstance(relevant, Fact):
            return replace(relevant, name="misled")
        named, by = relevant
        opinion = next(
            (self.opinions[each] for each in ("faithfulness", *self.rules.stand_ins.get("faithfulness", ()))
             if each in self.opinions and self.opinions[each].verdicts),
            None,
        )  # fmt: skip
        if opinion is None:
            return Fact("misled", None, "nobody judged what the answer rests on (faithfulness)")
        places = list(dict.fromkeys(_support(opinion)))
        if not places:
            return Fact("misled", None, "no verdict names the passages that the answer rests on")
        names = [self._context(place) for place in places if place < len(self.case.contexts)]
        good = [name for name in names if name in named]
        said = ", ".join(printable(name, 40) for name in (good or names)[:_NAMED])
        if good:
            return Fact("misled", False, f"the answer rests on {said}, which is relevant{by}")
        return Fact("misled", True, f"the answer rests on {said}, which is not relevant{by}")

    def _cites_relevant(self) -> Fact:
        relevant = self._relevant()
        if isinstance(relevant, Fact):
            return replace(relevant, name="cites_relevant")
        named, by = relevant
        cited = list(dict.fromkeys(self._cited()))
        if not cited:
            return Fact("cites_relevant", None, "the answer cites no passage, as in [2] or [id]")
        good = [name for name in cited if name in named]
        said = ", ".join(printable(name, 40) for name in (good or cited)[:_NAMED])
        return Fact("cites_relevant", bool(good), f"it cites {said}, which is {'' if good else 'not '}relevant{by}")

    def _cited(self) -> Iterator[str]:
        names = [self._context(place) for place in range(len(self.case.contexts))]
        for found in _CITED.finditer(self.case.answer or ""):
            for word in re.split(r"[,;]\s*", found[1].strip()):
                if word in names:
                    yield word
                elif word.isascii() and word.isdigit() and len(word) < 5 and 1 <= int(word) <= len(names):
                    yield names[int(word) - 1]

    def _context(self, place: int) -> str:
        return self.case.contexts[place].doc_id or f"passage {place + 1}"

    def _relevant(self) -> tuple[set[str], str] | Fact:
        """The passages that are relevant, and a word on who says so."""
        if self.retrieved.needs is not None:
            return {name for name, grade in self.retrieved.grades.items() if grade >= 1}, ""
        for opinion in self.opinions.values():
            if judges_passages(opinion.criterion) and opinion.verdicts:
                judged = qrels_from_verdicts(
                    [(self.case, opinion.outcomes)],
                    opinion.criterion.scale,
                    opinion.assignment.threshold,
                    keep_first=True,
                )
                grades = judged.qrels.grades[self.case.id]
                by = f" ({opinion.criterion.name} stands in for labels)"
                return {name for name, grade in grades.items() if grade >= 1}, by
        return Fact("", None, _LABELS)

    # Verdicts

    def _criterion(self, name: str) -> Fact:
        opinion = self.opinions.get(name)
        if opinion is None:
            return self._metric(name)
        verdicts = opinion.verdicts
        if not verdicts:
            return Fact(name, None, _no_verdict(name, opinion.outcomes))
        passed = [verdict for verdict in verdicts if opinion.passes(verdict)]
        good = 2 * len(passed) >= len(verdicts)
        verdict = next(each for each in verdicts if opinion.passes(each) is good)
        score = fmean(each.score for each in verdicts)
        return Fact(name, good, _verdict_words(opinion, verdict, good=good), score)

    def _label(self, name: str) -> Fact:
        criterion, _, label = name.partition(".")
        opinion = self.opinions.get(criterion)
        if opinion is None:
            return Fact(name, None, f"the run has no criterion `{printable(criterion, 40)}`")
        labels = [verdict.label for verdict in opinion.verdicts if verdict.label is not None]
        if not labels:
            return Fact(name, None, _no_verdict(criterion, opinion.outcomes))
        given = max(dict.fromkeys(labels), key=labels.count)
        return Fact(name, given == label, f"{criterion} by {opinion.assignment.judge} is `{printable(given, 40)}`")

    def _metric(self, name: str) -> Fact:
        try:
            metric = Metric.parse(name)
        except InputError:
            return Fact(name, None, f"the run has no criterion `{printable(name, 40)}`")
        if not self.retrieved.needs or self.retrieved.read is None:
            return Fact(name, None, _LABELS if self.retrieved.needs is None else "nothing is labelled relevant")
        ranking = Ranking.in_order(self.retrieved.read)
        value = measure([metric], self.retrieved.grades, ranking, groups=self.retrieved.groups)[metric]
        return Fact(name, None, f"{metric} is {value:.2f}" if value is not None else "undefined", value)


_REFUSALS = (("honest_refusal.refused_answerable", True), ("honest_refusal.answered_unanswerable", False))
"""What verdicts say of whether the answer declines, which goes before what its words say."""
_FOR = {"found": "labels of what is relevant"}
_LABELS = "nothing says which passages are relevant (`relevant`, or --qrels)"
_IDS = "the passages read have no ids"


def _named(needs: Iterable[Need]) -> str:
    names = [printable(str(need), 60) for need in needs]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _no_verdict(name: str, outcomes: Sequence[Outcome]) -> str:
    match next(iter(outcomes), None):
        case Abstained(reason=reason):
            return f"no verdict on {name}: abstained ({printable(reason, 40)})"
        case Failed(error=error):
            return f"no verdict on {name}: failed ({printable(error, 40)})"
        case _:
            return f"{name} is not judged yet"


def _verdict_words(opinion: Opinion, verdict: Verdict, *, good: bool) -> str:
    """`faithfulness fails: 0.12 by overlap, below 0.35: “the claim”: why`."""
    cut, judge, name = opinion.assignment.threshold, opinion.assignment.judge, opinion.criterion.name
    claim = _deciding(opinion, verdict)
    score = verdict.score if claim is None else claim.score
    label = (verdict.label if claim is None else claim.label) or ""
    shown = f"{score:.2f}" + (f" ({printable(label, 40)})" if label else "")
    words = f"{name} passes: {shown} by {judge}" if good else f"{name} fails: {shown} by {judge}, below {cut:g}"
    if claim is not None and not good and opinion.criterion.unit is not Unit.WHOLE:
        words += f": “{printable(claim.text, _SHOWN)}”"
    rationale = (claim.rationale if claim is not None else "") or verdict.rationale
    return f"{words}: {printable(rationale, _SHOWN)}" if rationale and not good else words


def _deciding(opinion: Opinion, verdict: Verdict) -> ClaimVerdict | None:
    if not verdict.claims:
        return None
    return (max if opinion.criterion.unit is Unit.CONTEXT else min)(verdict.claims, key=lambda claim: claim.score)


def _support(opinion: Opinion) -> Iterator[int]:
    """The places of the passages that bear out a claim."""
    for verdict in opinion.verdicts:
        proofs: list[tuple[float, Evidence | None]] = [(claim.score, claim.evidence) for claim in verdict.claims]
        for score, evidence in proofs or [(verdict.score, verdict.evidence)]:
            if evidence is not None and evidence.part == "contexts" and score >= opinion.assignment.threshold:
                yield evidence.index
