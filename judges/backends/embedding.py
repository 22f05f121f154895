"""A judge that compares meanings: the cosine of a claim's vector with those of the passages' sentences, and the like.

    case ── claims, spans, whole texts ──> vectors ──> cosines ──> verdict
                                              ^
                                           service

It finds what was paraphrased, and is blind to what a word turns round: a negation, another year. It tells texts about
other things apart, and hardly a true statement from a false one about the same thing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judges.backends.comparison import Sides, Text, compares, sides
from judges.backends.spans import RULES, Span, pieces, windows
from judges.case import Case, Part
from judges.claims import ClaimSplitter, SentenceSplitter
from judges.criterion import Criterion, Unit
from judges.errors import InputError, InvalidReply
from judges.fingerprint import Json, fingerprint
from judges.printable import printable
from judges.service import EmbeddingReply, EmbeddingRequest, Service
from judges.similarity import VERSION, tokenise
from judges.together import together
from judges.verdict import Abstained, ClaimVerdict, Evidence, Verdict

__all__ = ["EmbeddingJudge"]

Role: TypeAlias = Literal["query", "passage"]
Vector: TypeAlias = NDArray[np.float64]

_UNFITTED = "the threshold isn't fitted to this model"
_DIGITS = 6
"""Decimals of a cosine. Single precision has no more, and two machines agree on these."""
_OPENING = 80
"""Characters of a passage that stand for it in a verdict."""
_BREATH = 100
"""Claims after which others may have a turn."""


@dataclass(frozen=True)
class EmbeddingJudge:
    """Scores by the cosine of two texts' vectors, clipped to 0 to 1: below 0 counts as 0.

    By the criterion's unit:

        claim      each claim against spans of the premise; the best span counts and is named as evidence. The score is
                   the mean. Spans are as long as claims, each sentence and each two neighbouring ones (a claim may put
                   two together): a whole passage is about more than the claim, and its vector tells less.
        context    each passage against the question. Of a long passage, the best piece counts and is named.
        whole      the hypothesis against the premise; of several references or passages, the best counts and is named.

    A text too long for one request has the mean of its pieces' vectors, by their lengths. Nothing is cut off.

    Cosines of different models are not alike: those of E5 crowd between 0.7 and 1, those of others don't. So a
    threshold belongs to one model, 0.85 is no more than a first guess for E5, and each rationale says so until
    `threshold_is_fitted`. Neither is part of the fingerprint: a fitted threshold costs no new verdict.
    """

    service: Service[EmbeddingRequest, EmbeddingReply]
    """Takes one text at a time; all texts of a case are under way at once, for whoever puts them into batches."""
    model: str
    """As the service names it."""
    _: KW_ONLY
    name: str = ""
    """What tables and files call it; by default the model."""
    identity: str = ""
    """The service and its endpoint: part of the fingerprint. Never a key."""
    threshold: float = 0.85
    """Scores from here on pass."""
    threshold_is_fitted: bool = False
    """Whether the threshold was fitted to this model, on labels."""
    splitter: ClaimSplitter = field(default_factory=SentenceSplitter)
    """Takes answers and references apart into claims."""
    sentences: SentenceSplitter = field(default_factory=SentenceSplitter)
    """Takes premises apart into spans."""
    span: int = 2
    """Sentences of the longest span. Spans of 1 need a third of the tokens, and score nearly alike."""
    longest: int = 300
    """Tokens of the longest text sent, estimated; a model that reads 512 takes so much prose in any language."""
    prefixes: Mapping[str, str] | None = None
    """What is put in front of a `query` and of a `passage`, for models that were trained so and a service that doesn't
    do it: `{"query": "query: ", "passage": "passage: "}` for E5. Without prefixes each request has its role, for the
    service to follow. What is held against the question is a passage; anything else is a query, on both sides, as E5's
    authors want it where like is compared with like."""
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Sent as they are: `dimensions`, `input_type`, ..."""
    workers: int = 64
    """Judgements that may wait for the service at a time."""
    close: Callable[[], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """Lets go of the service's connections."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.model)
        for option, value, lowest, highest in (
            ("threshold", self.threshold, 0, 1),
            ("span", self.span, 1, 100),
            ("longest", self.longest, 16, 1_000_000),
        ):
            if not lowest <= value <= highest:
                raise InputError(f"embedding judge: {option} is {value}; give a number from {lowest:,} to {highest:,}")
        unknown = sorted(self.prefixes.keys() - {"query", "passage"}) if self.prefixes else []
        if unknown:
            raise InputError(
                f"embedding judge: no prefix is for `{printable(unknown[0], 40)}`; give `query` and `passage`"
            )

    @property
    def fingerprint(self) -> str:
        """Everything scores depend on: service, model, parameters, prefixes, the rules for claims and spans."""
        return "embedding@1:" + fingerprint(self._ways())

    def describe(self, criterion: Criterion) -> dict[str, Json]:  # noqa: ARG002 - the same for each
        """What the fingerprint is made of, by name."""
        return {"judge": "embedding@1", **self._ways()}

    def _ways(self) -> dict[str, Json]:
        return {
            "service": self.identity,
            "model": self.model,
            "parameters": self.parameters,
            "prefixes": self.prefixes,
            "splitter": self.splitter.fingerprint,
            "spans": [RULES, self.sentences.fingerprint, self.span, self.longest],
            "similarity": VERSION,
        }

    async def aclose(self) -> None:
        """Let go of the service's connections. The next judgement opens them again."""
        if self.close is not None:
            await self.close()

    def supports(self, criterion: Criterion, /) -> bool:
        """Whether it compares two texts: hypothesis and premise, but not a pair of answers."""
        return compares(criterion)

    async def judge(
        self,
        case: Case,
        criterion: Criterion,
        /,
        *,
        replicate: int = 0,  # noqa: ARG002 - part of the protocol; a vector is the same each time
    ) -> Verdict | Abstained:
        """Judge one case. Every replicate is the same.

        Raises:
            InputError: The criterion isn't supported.
            InvalidReply: A vector has no direction, or another length than the others.
            ServiceError: As the service has it.
        """
        plan = self._plan(case, criterion)
        if isinstance(plan, Abstained):
            return plan
        asked = self._asked(plan)
        replies = await together([self.service(request) for request in asked.values()])
        vectors = dict(zip(asked, _units(self.model, asked, replies), strict=True))
        columns = np.stack([_vector(plan.keys(stretch), vectors) for stretch in plan.columns])
        best: tuple[_Group, list[_Found]] | None = None
        for group in plan.groups:
            found: list[_Found] = []
            for number, row in enumerate(group.rows, 1):
                if number % _BREATH == 0:
                    await asyncio.sleep(0)  # an answer may be a book: Ctrl-C is to be heard
                found.append(_look(row, plan, vectors, columns))
            if found and (best is None or _mean(found) > _mean(best[1])):
                best = group, found
        assert best is not None, "a plan has a row"  # noqa: S101
        return self._verdict(criterion.unit, *best, is_best=len(plan.groups) > 1)

    def requests(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> list[EmbeddingRequest]:  # noqa: ARG002
        """The requests of a judgement, each once, for planning what it will cost. Nothing is sent."""
        plan = self._plan(case, criterion)
        return [] if isinstance(plan, Abstained) else list(self._asked(plan).values())

    # --- What is compared -------------------------------------------------------------------------------------------

    def _plan(self, case: Case, criterion: Criterion) -> "_Plan | Abstained":
        found = sides(case, criterion, "embedding")
        if isinstance(found, Abstained):
            return found
        match criterion.unit:
            case Unit.CLAIM:
                return self._by_claims(found, case.lang)
            case Unit.CONTEXT:
                return self._by_passages(found, case.lang)
            case _:
                return self._as_a_whole(found, case.lang)

    def _by_claims(self, found: Sides, lang: str | None) -> "_Plan | Abstained":
        """Each claim against spans; of several references, each on its own."""
        groups: list[_Group] = []
        is_empty = True
        for text in found.judged:
            rows: list[_Row] = []
            wordless = 0
            for claim in self.splitter.split(text.text, lang).claims:
                is_empty = False
                if tokenise(claim.text).keys:
                    cut = pieces(claim.text, self.sentences, lang, longest=self.longest)
                    stretch = _Stretch(text, claim.start, claim.end, tuple(claim.text[a:b] for a, b in cut))
                    rows.append(_Row(claim.text, (stretch,), claim.start, claim.end))
                else:
                    wordless += 1
            groups.append(_Group(text, rows, wordless))
        if not any(group.rows for group in groups):
            return Abstained("no_claims", "nothing in it claims anything" if is_empty else "no claim has a word in it")
        columns = [
            _stretch(text, span)
            for text in found.against
            for span in windows(text.text, self.sentences, lang, sentences=self.span, longest=self.longest)
        ]
        return _Plan(groups, columns)

    def _by_passages(self, found: Sides, lang: str | None) -> "_Plan | Abstained":
        against = _with_words(found.against)
        if isinstance(against, Abstained):
            return against
        rows = [_Row(text.text[:_OPENING], tuple(self._pieces(text, lang))) for text in found.judged]
        return _Plan([_Group(found.judged[0], rows)], [self._whole(text, lang) for text in against])

    def _as_a_whole(self, found: Sides, lang: str | None) -> "_Plan | Abstained":
        """One row: whatever is judged; of several texts on a side, the best counts."""
        # Passages are where a thing is looked for; a question or a reference is what must be there.
        is_searched = found.against[0].part is Part.CONTEXTS
        covered = _with_words(found.judged if is_searched else found.against)
        if isinstance(covered, Abstained):
            return covered
        judged, against = (covered, found.against) if is_searched else (found.judged, covered)
        row = _Row("", tuple(self._whole(text, lang) for text in judged))
        if is_searched:
            columns = [piece for text in against for piece in self._pieces(text, lang)]
        else:
            columns = [self._whole(text, lang) for text in against]
        return _Plan([_Group(judged[0], [row])], columns)

    def _pieces(self, text: Text, lang: str | None) -> "list[_Stretch]":
        return [_stretch(text, span) for span in pieces(text.text, self.sentences, lang, longest=self.longest)]

    def _whole(self, text: Text, lang: str | None) -> "_Stretch":
        cut = pieces(text.text, self.sentences, lang, longest=self.longest)
        return _Stretch(text, 0, len(text.text), tuple(text.text[start:end] for start, end in cut))

    # --- Asking -----------------------------------------------------------------------------------------------------

    def _asked(self, plan: "_Plan") -> "dict[_Key, EmbeddingRequest]":
        """The requests, each once, in the order in which they are needed."""
        stretches = [stretch for group in plan.groups for row in group.rows for stretch in row.stretches]
        return {key: self._request(*key) for stretch in (*stretches, *plan.columns) for key in plan.keys(stretch)}

    def _request(self, text: str, role: Role) -> EmbeddingRequest:
        if self.prefixes is None:
            return EmbeddingRequest(self.model, text, role, self.parameters)
        return EmbeddingRequest(self.model, self.prefixes.get(role, "") + text, None, self.parameters)

    # --- The verdict ------------------------------------------------------------------------------------------------

    def _verdict(self, unit: Unit, group: "_Group", found: "Sequence[_Found]", *, is_best: bool) -> Verdict:
        """The mean of all that was compared, with the rationale of the one that tells most.

        `is_best`: the group is one of several, and to be named.
        """
        strongest = max(found, key=lambda each: each.cosine)
        is_by_claim, is_whole = unit is Unit.CLAIM, unit is Unit.WHOLE
        telling = min(found, key=lambda each: each.cosine) if is_by_claim else strongest
        rationale = telling.rationale
        if len(found) > 1:
            rationale = f"{len(found)} {'claims; the weakest' if is_by_claim else 'passages; the best'} has {rationale}"
        if group.wordless:
            rationale += f"; without words, left out: {group.wordless}"
        if is_best or (is_whole and len(strongest.row.stretches) > 1):
            rationale = f"{strongest.judged.text.label}: {rationale}"
        if not self.threshold_is_fitted:
            rationale += f"; {_UNFITTED}"
        claims = [
            ClaimVerdict(
                each.row.text,
                each.score,
                each.rationale,
                evidence=each.where.evidence if is_by_claim else each.judged.evidence,
                start=each.row.start,
                end=each.row.end,
            )
            for each in found
        ]
        evidence = strongest.judged if unit is Unit.CONTEXT else strongest.where
        return Verdict(_mean(found), rationale, claims=() if is_whole else tuple(claims), evidence=evidence.evidence)


_Key: TypeAlias = tuple[str, Role]
"""A text and what it is for: all that distinguishes the requests of a judge."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of a text that has one vector."""

    text: Text
    start: int
    end: int
    pieces: tuple[str, ...]
    """What is embedded: all of it, or in several requests."""

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.text.part.value, self.text.index, self.start, self.end, self.text.doc_id)


@dataclass(frozen=True, slots=True)
class _Row:
    """One thing that is judged: a claim, a passage in its pieces, all texts of a part. Its best stretch counts."""

    text: str
    stretches: tuple[_Stretch, ...]
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class _Group:
    """What makes up one score, as a mean: the claims of one text, or the passages."""

    text: Text
    rows: Sequence[_Row]
    wordless: int = 0
    """Claims left out because they have no word."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is compared: every row with every column."""

    groups: Sequence[_Group]
    columns: Sequence[_Stretch]

    def keys(self, stretch: _Stretch) -> list[_Key]:
        """A stretch as texts to ask for."""
        is_search = Part.QUESTION in (self.groups[0].text.part, self.columns[0].text.part)
        role: Role = "passage" if is_search and stretch.text.part is not Part.QUESTION else "query"
        return [(piece, role) for piece in stretch.pieces]


@dataclass(frozen=True, slots=True)
class _Found:
    """The best of one row."""

    row: _Row
    cosine: float
    judged: _Stretch
    where: _Stretch

    @property
    def score(self) -> float:
        return min(1.0, max(0.0, self.cosine))

    @property
    def rationale(self) -> str:
        below = ", which counts as 0" if self.cosine < 0 else ""
        return f"cosine {self.cosine:.2f} with {self.where.text.label}{below}"


def _stretch(text: Text, span: Span) -> _Stretch:
    start, end = span
    return _Stretch(text, start, end, (text.text[start:end],))


def _with_words(texts: Sequence[Text]) -> Sequence[Text] | Abstained:
    """The texts that have a word; without one, there is nothing to compare."""
    found = [text for text in texts if tokenise(text.text).keys]
    return found or Abstained("no_words", f"the {texts[0].kind} has no word that could be compared")


def _mean(found: Sequence[_Found]) -> float:
    return fmean(each.score for each in found)


# --- Vectors --------------------------------------------------------------------------------------------------------


def _units(model: str, asked: Mapping[_Key, EmbeddingRequest], replies: Sequence[EmbeddingReply]) -> Iterator[Vector]:
    """The vectors at length 1.

    Raises:
        InvalidReply: One has no direction, or another length than the others.
    """
    size = len(replies[0].vector)
    for (text, _), reply in zip(asked, replies, strict=True):
        if len(reply.vector) != size or size == 0 or size % 4:
            raise InvalidReply(
                f"{printable(model, 80)}: vectors of {size} and {len(reply.vector)} bytes; "
                "they should be 32-bit floats, as many for each text: is more than one model behind this name?"
            )
        vector = np.frombuffer(reply.vector, "<f4").astype(np.float64)
        norm = float(np.linalg.norm(vector))
        if not 0 < norm < np.inf:
            raise InvalidReply(
                f"{printable(model, 80)}: the vector of “{printable(text, 40)}” has no direction, "
                f"its length is {norm:g}"
            )
        yield vector / norm


def _vector(keys: Sequence[_Key], vectors: Mapping[_Key, Vector]) -> Vector:
    """The vector of a stretch, at length 1: of several pieces the mean, weighted by their lengths."""
    if len(keys) == 1:
        return vectors[keys[0]]
    mean: Vector = np.average([vectors[key] for key in keys], axis=0, weights=[len(text) for text, _ in keys])
    return mean / max(float(np.linalg.norm(mean)), np.finfo(np.float64).tiny)


def _look(row: _Row, plan: _Plan, vectors: Mapping[_Key, Vector], columns: Vector) -> _Found:
    """Where a row is matched best; of equal places the first."""
    rows = np.stack([_vector(plan.keys(stretch), vectors) for stretch in row.stretches])
    cosines = np.round(rows @ columns.T, _DIGITS)
    at, where = divmod(int(np.argmax(cosines)), len(plan.columns))
    return _Found(row, float(cosines[at, where]) + 0.0, row.stretches[at], plan.columns[where])
