"""A judge that counts words: how much of a claim, a question or a reference is found in the text it is held against.

Deterministic, offline, in every script. It knows no synonyms and no facts: it finds what was copied, misses what was
paraphrased, and is a floor that a model has to beat.
"""

import asyncio
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from judges.backends.comparison import Text, compares, sides
from judges.case import Case, Part
from judges.claims import ClaimSplitter, SentenceSplitter
from judges.criterion import Criterion, Unit
from judges.errors import InputError
from judges.fingerprint import Json, fingerprint
from judges.printable import printable
from judges.similarity import VERSION, Overlap, Passage, Tokens, best_overlap, tokenise
from judges.verdict import Abstained, ClaimVerdict, Evidence, Verdict

__all__ = ["TokenOverlapJudge"]


class TokenOverlapJudge:
    """Scores by the share of content that is found in the best window of the best passage.

    Which text must be covered follows from the criterion: with claims, each claim of the hypothesis; else the premise
    (the question, or the reference that fits best) by the answer or the passage. Of a question only the share counts;
    of a claim or a reference, a number that is nowhere in the passage and a negation on one side only count on top.
    Of a reference, what the question says itself counts for little, where the criterion shows the question: an answer
    that repeats it hasn't answered it.

    Each entry of a verdict's `claims` names as evidence the window where its text was found. The verdict's own evidence
    is the window of the best claim or passage; with a question or references as premise it tells which one counted.

    Args:
        splitter: Takes an answer or a reference apart into claims; by sentences unless told otherwise.
        threshold: Where readers cut the score. It changes no score, so it is no part of the fingerprint.
        window: Length of the window of a passage in which a claim must be found, in lengths of the claim.
        penalty: What a score is multiplied by for a number or a negation that differs. Below the threshold, so that
            such a claim doesn't pass.
        lang: Language of the cases that name none.
        name: What tables call the judge.

    Raises:
        InputError: A number is out of its range.
    """

    def __init__(
        self,
        splitter: ClaimSplitter | None = None,
        *,
        threshold: float = 0.35,
        window: float = 3.0,
        penalty: float = 0.3,
        lang: str = "en",
        name: str = "overlap",
    ) -> None:
        ranges = (("threshold", threshold, 0.0, 1.0), ("penalty", penalty, 0.01, 1.0), ("window", window, 1.0, 1e6))
        for field, value, lowest, highest in ranges:
            if not lowest <= value <= highest:
                raise InputError(f"overlap judge: {field} is {value}; give a number from {lowest:g} to {highest:g}")
        self.name = name
        self.threshold = threshold
        self._splitter = SentenceSplitter(lang=lang) if splitter is None else splitter
        self._window = float(window)
        self._penalty = float(penalty)
        self._lang = lang

    @property
    def fingerprint(self) -> str:
        """Everything scores depend on: our rules, Unicode's tables, the parameters, the splitter."""
        return "overlap@3:" + fingerprint(self._ways())

    def describe(self, criterion: Criterion) -> dict[str, Json]:  # noqa: ARG002 - the same for each
        """What the fingerprint is made of, by name."""
        return {"judge": "overlap@3", **self._ways()}

    def _ways(self) -> dict[str, Json]:
        return {
            "similarity": VERSION,
            "window": self._window,
            "penalty": self._penalty,
            "lang": self._lang,
            "splitter": self._splitter.fingerprint,
        }

    def supports(self, criterion: Criterion, /) -> bool:
        """Whether it compares two texts: hypothesis and premise, but not a pair of answers."""
        return compares(criterion)

    async def judge(
        self,
        case: Case,
        criterion: Criterion,
        /,
        *,
        replicate: int = 0,  # noqa: ARG002 - part of the protocol; counting words gives the same each time
    ) -> Verdict | Abstained:
        """Judge one case. Every replicate is the same.

        Raises:
            InputError: The criterion isn't supported.
        """
        found = sides(case, criterion, "overlap")
        if isinstance(found, Abstained):
            return found
        judged, against = found.judged, found.against
        lang = case.lang or self._lang
        asked = case.question if Part.QUESTION in criterion.background else None
        granted = frozenset(tokenise(asked, lang).keys) if asked else frozenset[str]()
        match criterion.unit:
            case Unit.CLAIM:
                return await self._by_claims(case, lang, judged, against, granted)
            case Unit.CONTEXT:
                return self._by_passages(lang, judged, against, granted)
            case _:
                # Passages are where a thing is looked for; a question or a reference is what must be there.
                covered, searched = (judged, against) if criterion.premise is Part.CONTEXTS else (against, judged)
                return self._as_a_whole(lang, covered, searched, granted)

    async def _by_claims(
        self, case: Case, lang: str, judged: Sequence[Text], against: Sequence[Text], granted: AbstractSet[str]
    ) -> Verdict | Abstained:
        """The mean over the claims; of several references, the one with the best mean."""
        searched = _Searched(against, lang)
        best: Verdict | None = None
        is_empty = True
        for text in judged:
            claims: list[ClaimVerdict] = []
            wordless = 0
            for number, claim in enumerate(self._splitter.split(text.text, case.lang).claims, 1):
                if number % _BREATH == 0:
                    await asyncio.sleep(0)  # an answer may be a book: Ctrl-C is to be heard
                is_empty = False
                tokens = tokenise(_CITATION.sub(" ", claim.text), lang)
                if tokens.keys:
                    found = self._look(tokens, text.part, searched, granted)
                    claims.append(
                        ClaimVerdict(
                            claim.text,
                            found.score,
                            found.rationale,
                            evidence=found.evidence,
                            start=claim.start,
                            end=claim.end,
                        )
                    )
                else:
                    wordless += 1
            if not claims:
                continue
            score = fmean(claim.score for claim in claims)
            if best is None or score > best.score:
                worst = min(claims, key=lambda claim: claim.score)
                rationale = (
                    worst.rationale if len(claims) == 1 else f"{len(claims)} claims; the weakest {worst.rationale}"
                )
                if wordless:
                    rationale += f"; without words, left out: {wordless}"
                if len(judged) > 1:
                    rationale = f"{text.label}: {rationale}"
                strongest = max(claims, key=lambda claim: claim.score)
                best = Verdict(score, rationale, claims=tuple(claims), evidence=strongest.evidence)
        if best is not None:
            return best
        return Abstained("no_claims", "nothing in it claims anything" if is_empty else "no claim has a word in it")

    def _by_passages(
        self, lang: str, judged: Sequence[Text], against: Sequence[Text], granted: AbstractSet[str]
    ) -> Verdict | Abstained:
        """The mean over the passages."""
        claims: list[ClaimVerdict] = []
        evidence, highest = None, -1.0
        for text in judged:
            verdict = self._as_a_whole(lang, against, [text], granted)
            if isinstance(verdict, Abstained):
                return verdict
            window = verdict.claims[0].evidence
            claims.append(ClaimVerdict(text.text[:_OPENING], verdict.score, verdict.rationale, evidence=window))
            if verdict.score > highest:
                evidence, highest = window, verdict.score
        return Verdict(
            fmean(claim.score for claim in claims),
            claims[0].rationale if len(claims) == 1 else f"{len(claims)} passages; the best covers {highest:.2f}",
            claims=tuple(claims),
            evidence=evidence,
        )

    def _as_a_whole(
        self, lang: str, covered: Sequence[Text], searched: Sequence[Text], granted: AbstractSet[str]
    ) -> Verdict | Abstained:
        """How well one text is covered; of several, the best."""
        passages = _Searched(searched, lang)
        best: tuple[Text, _Found] | None = None
        for text in covered:
            tokens = tokenise(text.text, lang)
            if tokens.keys:
                found = self._look(tokens, text.part, passages, granted)
                if best is None or found.score > best[1].score:
                    best = text, found
        if best is None:
            return Abstained("no_words", f"the {covered[0].kind} has no word that could be looked for")
        text, found = best
        rationale = found.rationale if len(covered) == 1 else f"{text.label}: {found.rationale}"
        return Verdict(
            found.score,
            rationale,
            claims=(ClaimVerdict(text.text, found.score, found.rationale, evidence=found.evidence),),
            evidence=Evidence(text.part.value, text.index, 0, len(text.text), text.doc_id),
        )

    def _look(self, tokens: Tokens, part: Part, searched: "_Searched", granted: AbstractSet[str]) -> "_Found":
        """Look for one claim of `part` in all the texts. What the question says is granted to a reference only."""
        penalty = 1.0 if part is Part.QUESTION else self._penalty  # a question asserts nothing that could be denied
        index, overlap = best_overlap(
            tokens,
            searched.passages,
            window=self._window,
            penalty=penalty,
            granted=granted if part is Part.REFERENCES else frozenset(),
        )
        text = searched.texts[index]
        evidence = None
        if overlap.end > overlap.start:
            evidence = Evidence(text.part.value, text.index, overlap.start, overlap.end, text.doc_id)
        return _Found(overlap.score, _rationale(overlap, opposed=part is not Part.QUESTION), evidence)


_CITATION = re.compile(r"\[\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*\]")
"""`[2]`, `[1, 3]`: a number that points to a passage, and none that it should hold."""
_OPENING = 80
"""Characters of a passage that stand for it in a verdict."""
_BREATH = 100
"""Claims after which others may have a turn."""
_NAMED = 5
"""Missing words that a rationale names."""
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class _Found:
    score: float
    rationale: str
    evidence: Evidence | None


class _Searched:
    """Texts to look in, each made ready once for all claims."""

    def __init__(self, texts: Sequence[Text], lang: str) -> None:
        self.texts = texts
        self.passages = [
            _ready(text.text, lang) if len(text.text) <= _KEPT_CHARACTERS else Passage(text.text, lang)
            for text in texts
        ]


_KEPT_CHARACTERS = 16_384


@lru_cache(maxsize=64)
def _ready(text: str, lang: str) -> Passage:
    """Several systems often answer over the same passages. 64 texts of 16,384 characters at most: some 60 MB."""
    return Passage(text, lang)


def _rationale(overlap: Overlap, *, opposed: bool) -> str:
    """One line: the share, what counts against it, and the words behind what it lacks."""
    line = f"covers {overlap.share:.2f}"
    if opposed and overlap.absent:
        line += f", but nowhere is there {_named(overlap.absent)}"
    if opposed and overlap.opposed:
        line += f", but negated on one side only: {_named(overlap.opposed)}"
    if overlap.missing:
        line += f"; not found: {_named(overlap.missing)}"
    return line


def _named(words: Sequence[str]) -> str:
    names = ", ".join(printable(word, _NAME_LENGTH) for word in words[:_NAMED])
    return names if len(words) <= _NAMED else f"{names} and {len(words) - _NAMED} more"
