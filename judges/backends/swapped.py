"""A judge of pairs that is asked in both orders, so that a preference for the first place shows as what it is."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from math import isclose

from judges.case import Case
from judges.criterion import Criterion, Scale, Unit
from judges.fingerprint import Json, fingerprint
from judges.judge import Judge
from judges.service import ChatRequest
from judges.together import together
from judges.verdict import Abstained, Verdict

__all__ = ["Swapped", "exchanged"]


@dataclass(frozen=True, slots=True)
class Swapped:
    """Asks `inner` twice about a pair, the second time with the answers exchanged; about anything else, once.

    Where both orders name the same winner, or none, that is the verdict: the mean of the two scores, and of two levels
    the more cautious. Where they don't, nothing is averaged away: the judge abstains (`order_dependent`) and says what
    it found each time.
    """

    inner: Judge

    @property
    def name(self) -> str:
        """The inner judge's."""
        return self.inner.name

    @property
    def fingerprint(self) -> str:
        """The inner judge's, and that pairs are swapped."""
        return fingerprint(["swapped", self.inner.fingerprint])

    @property
    def threshold(self) -> float:
        """The inner judge's."""
        return float(getattr(self.inner, "threshold", 0.5))

    @property
    def workers(self) -> int:
        """The inner judge's."""
        return int(getattr(self.inner, "workers", 8))

    def fingerprint_for(self, criterion: Criterion) -> str:
        """The inner judge's own, unless the criterion is about pairs."""
        of_one: Callable[[Criterion], str] | None = getattr(self.inner, "fingerprint_for", None)
        own = self.inner.fingerprint if of_one is None else of_one(criterion)
        return fingerprint(["swapped", own]) if criterion.unit is Unit.PAIR else own

    def describe(self, criterion: Criterion) -> Mapping[str, Json] | None:
        """What the inner judge says of itself, and that pairs are swapped."""
        of_one: Callable[[Criterion], Mapping[str, Json] | None] | None = getattr(self.inner, "describe", None)
        own = None if of_one is None else of_one(criterion)
        return own if own is None or criterion.unit is not Unit.PAIR else {**own, "swapped": True}

    def supports(self, criterion: Criterion, /) -> bool:
        """What the inner judge supports; of pairs, only scales that read the same from both ends."""
        levels = criterion.scale.levels
        is_even = all(isclose(one.score + other.score, 1) for one, other in zip(levels, reversed(levels), strict=True))
        return self.inner.supports(criterion) and (criterion.unit is not Unit.PAIR or is_even)

    async def judge(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> Verdict | Abstained:
        """Judge one case.

        Raises:
            JudgesError: As the inner judge has it.
        """
        if criterion.unit is not Unit.PAIR:
            return await self.inner.judge(case, criterion, replicate=replicate)
        as_given, swapped = await together(
            [
                self.inner.judge(case, criterion, replicate=replicate),
                self.inner.judge(exchanged(case), criterion, replicate=replicate),
            ]
        )
        if isinstance(as_given, Abstained) or isinstance(swapped, Abstained):
            return as_given if isinstance(as_given, Abstained) else swapped
        back = _turned_round(swapped, criterion.scale)
        if _winner(as_given, criterion.scale) != _winner(back, criterion.scale):
            return Abstained(
                "order_dependent",
                f"{_said(as_given)} in the order given; {_said(back)} with the answers exchanged",
            )
        shares = None
        if as_given.probabilities is not None and back.probabilities is not None:
            shares = {
                label: (share + back.probabilities.get(label, 0.0)) / 2
                for label, share in as_given.probabilities.items()
            }
        cautious = min(as_given, back, key=lambda verdict: abs(_level_score(verdict, criterion.scale) - 0.5))
        return replace(cautious, score=(as_given.score + back.score) / 2, probabilities=shares)

    def requests(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> list[ChatRequest]:
        """The requests that a judgement begins with."""
        begin: Callable[..., list[ChatRequest]] | None = getattr(self.inner, "requests", None)
        if begin is None:
            return []
        asked = [case, exchanged(case)] if criterion.unit is Unit.PAIR else [case]
        return [request for each in asked for request in begin(each, criterion, replicate=replicate)]

    async def aclose(self) -> None:
        """Let go of the inner judge's connections."""
        close: Callable[[], Awaitable[None]] | None = getattr(self.inner, "aclose", None)
        if close is not None:
            await close()


def exchanged(case: Case) -> Case:
    """The case with its two answers in the other order."""
    return replace(case, answer=case.rival, rival=case.answer)


def _winner(verdict: Verdict, scale: Scale) -> int:
    """1: the first answer; -1: the second; 0: neither. A level tells it, or else the score."""
    score = _level_score(verdict, scale)
    return 0 if isclose(score, 0.5) else 1 if score > 0.5 else -1


def _level_score(verdict: Verdict, scale: Scale) -> float:
    level = None if verdict.label is None else scale.level(verdict.label)
    return verdict.score if level is None else level.score


def _said(verdict: Verdict) -> str:
    said = verdict.label or f"{verdict.score:.2f}"
    return f"{said} ({verdict.rationale})" if verdict.rationale else said


def _turned_round(verdict: Verdict, scale: Scale) -> Verdict:
    """What a verdict on the exchanged pair says of the pair as it was given: the scale read from its other end."""
    opposite = {one.label: other.label for one, other in zip(scale.levels, reversed(scale.levels), strict=True)}
    shares = verdict.probabilities
    return replace(
        verdict,
        score=1 - verdict.score,
        label=None if verdict.label is None else opposite[verdict.label],
        probabilities=None if shares is None else {opposite[label]: share for label, share in shares.items()},
    )
