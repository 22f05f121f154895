"""What comes back when a case is judged: a verdict, an abstention or a failure. Every reader handles all three."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from judges.usage import Usage

__all__ = ["Abstained", "ClaimVerdict", "Evidence", "Failed", "Judgement", "Outcome", "Verdict"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The stretch of text that decided a check."""

    part: str
    """The part of the case it lies in: `contexts`, `references`, `answer`, `question`."""
    index: int
    """Which passage or reference, from 0; 0 for a part that is one text."""
    start: int
    """First character of the stretch in that text."""
    end: int
    """One past its last character."""
    doc_id: str | None = None
    """The passage's id, where it has one."""


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What was found for one claim, or one passage where the criterion's unit is the passage."""

    text: str
    score: float
    """0 to 1, 1 is best."""
    rationale: str = ""
    label: str | None = None
    probabilities: Mapping[str, float] | None = None
    evidence: Evidence | None = None
    start: int | None = None
    """Where the claim stands in the hypothesis, when it is a stretch of it."""
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer."""

    score: float
    """0 to 1, 1 is best. With claims: their mean."""
    rationale: str = ""
    label: str | None = None
    """A level of the criterion's scale, when the judge names one."""
    probabilities: Mapping[str, float] | None = None
    """By level, when the judge gives them."""
    claims: tuple[ClaimVerdict, ...] = ()
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Abstained:
    """The criterion doesn't apply to this case, or the judge declines to say."""

    reason: str
    """A short code: `no_contexts`, `no_references`, `no_question`, `no_answer`, `no_claims`, `no_words`, ..."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The judge broke on this case."""

    error: str
    """The kind of error: the name of its class."""
    message: str = ""


Outcome: TypeAlias = Verdict | Abstained | Failed


@dataclass(frozen=True, slots=True)
class Judgement:
    """One outcome, with the case, the criterion and the judge it belongs to."""

    case_id: str
    criterion: str
    """The criterion's name."""
    judge: str
    """The judge's name."""
    outcome: Outcome
    replicate: int = 0
    """Which repetition of the same judgement, from 0."""
    key: str = ""
    """Hash of all that the outcome depends on."""
    seconds: float | None = None
    """How long the judge took."""
    usage: Usage | None = None
    """What its calls of services used; None where there were none."""

    @property
    def score(self) -> float | None:
        """The verdict's score; None when there is no verdict."""
        return self.outcome.score if isinstance(self.outcome, Verdict) else None
