"""What is known of a case, made by hand for tests of the diagnosis."""

from collections.abc import Mapping, Sequence

from judges import Case, Context, Verdict
from judges.criteria import CRITERIA
from judges.diagnosis.causes import CaseDiagnosis, diagnose_case
from judges.diagnosis.facts import Facts, Opinion
from judges.diagnosis.retrieved import read_retrieval
from judges.diagnosis.rules import Rules, default_rules
from judges.engine.plan import Assignment
from judges.fingerprint import Json
from judges.verdict import ClaimVerdict, Evidence, Outcome

Said = bool | float | str | Outcome
"""Passes or fails, a score, a label, or the outcome itself."""


def outcome_of(said: Said) -> Outcome:
    """The outcome that is meant."""
    if isinstance(said, str):
        return Verdict(0.0, label=said)
    return Verdict(float(said)) if isinstance(said, int | float) else said


def resting_on(place: int, *, score: float = 1.0) -> Verdict:
    """A verdict on one claim that rests on a passage, from 0."""
    evidence = Evidence("contexts", place, 0, 1)
    return Verdict(score, claims=(ClaimVerdict("It is so.", score, evidence=evidence),))


def make_facts(
    answer: str | None = "It is so.",
    *,
    read: Sequence[str] = ("a", "b", "c"),
    said: Mapping[str, Said | Sequence[Said]] | None = None,
    rules: Rules | None = None,
    refusals: Sequence[str] = (),
    **fields: Json,
) -> Facts:
    """What is known of a case that read these passages, with these verdicts and fields."""
    contexts = tuple(Context(f"passage {name}", name, rank) for rank, name in enumerate(read, 1))
    case = Case("q", "Is it so?", answer, contexts, ("It is so.",), extra=fields)
    opinions: dict[str, Opinion] = {}
    for name, each in (said or {}).items():
        several = [each] if isinstance(each, str) or not isinstance(each, Sequence) else each
        assignment = Assignment(CRITERIA[name], "tester", "tester@1")
        opinions[name] = Opinion(assignment, tuple(map(outcome_of, several)))
    retrieved = read_retrieval([case])["q"]
    return Facts(case, retrieved, opinions, rules or default_rules(), refusals)


def diagnosed(answer: str | None = "It is so.", **known: object) -> CaseDiagnosis:
    """The diagnosis of such a case."""
    return diagnose_case(make_facts(answer, **known))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
