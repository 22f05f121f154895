"""What went wrong in one case: the rules held against what is known of it.

Where a case was asked several times, each of its answers has a diagnosis.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from judges.diagnosis.facts import OWN_NAMES, Fact, Facts
from judges.diagnosis.rules import Clause, Condition, Rule, Term
from judges.summary import asked_id

__all__ = ["CaseDiagnosis", "Finding", "Standing", "diagnose_case"]

Standing: TypeAlias = Literal["fails", "passes", "unknown"]
"""Whether a case fails; unknown if nothing that would tell is known."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a rule, or of another clause."""

    holds: bool | None
    """None: too little is known."""
    facts: tuple[Fact, ...]
    """Those that decided; where too little is known, those that lack."""


@dataclass(frozen=True, slots=True)
class CaseDiagnosis:
    """What went wrong in one case."""

    case_id: str
    asked: str
    """Id of the case that was asked: not `case_id` where this is one of several answers to it."""
    standing: Standing
    reasons: tuple[Fact, ...]
    """Why it fails."""
    findings: tuple[tuple[Rule, Finding], ...] = ()
    """What came of each rule; none are held against a case that doesn't fail."""
    cleared: tuple[Fact, ...] = ()
    """Of a case that passes, what speaks for it."""

    @property
    def rule(self) -> Rule | None:
        """The one that names the cause: the first that holds. None where none does."""
        return next((rule for rule, finding in self.findings if finding.holds), None)

    @property
    def evidence(self) -> tuple[Fact, ...]:
        """What that rule rests on."""
        return next((finding.facts for _, finding in self.findings if finding.holds), ())

    @property
    def also(self) -> tuple[Rule, ...]:
        """What else went wrong, further along."""
        return tuple(rule for rule, finding in self.findings if finding.holds)[1:]

    @property
    def not_ruled_out(self) -> tuple[tuple[Rule, Finding], ...]:
        """The rules before the one that holds which too little is known for."""
        return tuple(self._undecided())

    def _undecided(self) -> Iterator[tuple[Rule, Finding]]:
        for rule, finding in self.findings:
            if finding.holds:
                return
            if finding.holds is None:
                yield rule, finding

    def to_record(self) -> dict[str, Any]:
        """The diagnosis as JSON-ready values."""
        rule = self.rule
        return {
            "case": self.case_id,
            "asked": self.asked,
            "standing": self.standing,
            "reasons": [each.why for each in self.reasons],
            "cleared": [each.why for each in self.cleared],
            "cause": None if rule is None else rule.cause,
            "component": None if rule is None else rule.component,
            "evidence": [
                {"name": each.name, "why": each.why, "stands_in": each.stands_in} for each in self.evidence
            ],
            "also": [each.cause for each in self.also],
            "not_ruled_out": [
                {"cause": each.cause, "lacks": [fact.why for fact in finding.facts]}
                for each, finding in self.not_ruled_out
            ],
        }  # fmt: skip


def diagnose_case(facts: Facts) -> CaseDiagnosis:
    """Hold the rules against what is known of a case."""
    name, asked, rules = facts.case.id, asked_id(facts.case), facts.rules
    fails = [_clause(each, facts) for each in rules.fails]
    reasons = _unique(fact for finding in fails if finding.holds for fact in finding.facts)
    spares = [finding for each in rules.spares if (finding := _clause(each, facts)).holds]
    if reasons and not spares:
        findings = tuple((each, _clause(each.clause, facts)) for each in rules.rules)
        return CaseDiagnosis(name, asked, "fails", reasons, findings)
    # That it was answered doesn't say that it was answered well: a verdict or a measure has to.
    told = any(finding.holds is False and finding.facts[0].name not in OWN_NAMES for finding in fails)
    if not (spares or told):
        return CaseDiagnosis(name, asked, "unknown", ())
    cleared = spares or [finding for finding in fails if finding.holds is False]
    speaking = _unique(fact for each in cleared for fact in each.facts)
    return CaseDiagnosis(name, asked, "passes", (), cleared=speaking)


def _unique(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple({fact.name: fact for fact in facts}.values())


def _clause(clause: Clause, facts: Facts) -> Finding:
    found = Finding(None, ())
    lacking: list[Fact] = []
    for condition in clause.when:
        found = _condition(condition, facts)
        if found.holds is not None:
            break
        lacking += found.facts
    if found.holds is None:
        found = Finding(None, _unique(lacking))
    if found.holds is False:
        return found
    for condition in clause.unless:
        against = _condition(condition, facts)
        if against.holds:
            return Finding(False, against.facts)
    return found


def _condition(condition: Condition, facts: Facts) -> Finding:
    """All terms have to hold; one that doesn't decides, whatever isn't known of the others."""
    found = [_term(term, facts) for term in condition.terms]
    for holds, fact in found:
        if holds is False:
            return Finding(False, (fact,))
    unknown = tuple(fact for holds, fact in found if holds is None)
    return Finding(None, unknown) if unknown else Finding(True, tuple(fact for _, fact in found))


def _term(term: Term, facts: Facts) -> tuple[bool | None, Fact]:
    fact = facts.fact(term.name)
    if term.requirement is not None:
        return None if fact.number is None else term.requirement.holds(fact.number), fact
    return None if fact.value is None else fact.value is term.wanted, fact
