"""A judge that asks a language model: claims, then a prompt, then a reply that is read by its schema.

    case ── claims or passages ──> prompt ──> service ──> reply ──> verdict
                                     ^                      |
                                     └── asked once more ───┘  where the reply isn't what was asked

It knows no vendor: it is given a service, and whatever surrounds the call (cache, retries, limits) is part of that.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeVar

from judges.backends.asking import ask, ask_items, ask_level
from judges.backends.readout import Answered, Item, combined, finds_more, of_items
from judges.backends.rendering import (
    absent,
    can_show,
    claims_text,
    hypotheses,
    passages,
    system_text,
    template_for,
    user_text,
    with_passages,
)
from judges.case import Case, Part
from judges.claims import ClaimSplitter, SentenceSplitter
from judges.criterion import Criterion, Unit
from judges.errors import ContextTooLong, InputError, TruncatedReply
from judges.fingerprint import Json, fingerprint
from judges.once import once_each
from judges.prompts import Template, load, numbered
from judges.replies import claims_schema, items_schema, level_schema, read_claims
from judges.service import ChatReply, ChatRequest, Message, Service
from judges.together import together
from judges.tokens import estimate_tokens
from judges.verdict import Abstained, Verdict

__all__ = ["PromptedJudge"]

_RULES = 1
"""Version of what this module and its neighbours do around a prompt. Raise it with what may change a verdict."""
_LONG_TEXT = 50_000
"""Characters of a text that takes so long to take apart that it gets a thread of its own."""
_MOST_ITEMS = 20
"""Claims or passages in one request."""
_WHOLE_TOKENS = 2048
_ITEMS_TOKENS = 4096
"""The longest replies. Models that reason count their thoughts among them."""
_TOKENS_AN_ITEM = 150
_TOKENS_A_BARE_ITEM = 30
"""What a verdict takes at most with a rationale, and without: so many fit into a reply."""
_LIKELY_TOKENS = 70
_LIKELY_BARE_TOKENS = 20
"""What it is likely to take."""

Each = TypeVar("Each")


class _Part(NamedTuple):
    """What one request is about: a case, with all of its passages or some, and the items that are asked for."""

    case: Case
    items: Sequence[Item]
    request: ChatRequest


class _Frame(NamedTuple):
    """What all requests of a criterion share."""

    template: Template
    system: str
    schema: Mapping[str, Json]


_WHOLE = ""
"""Stands for the id of an item where the whole is judged."""


@dataclass(frozen=True)
class PromptedJudge:
    """Asks a language model. Of the cases it keeps nothing between calls."""

    service: Service[ChatRequest, ChatReply]
    model: str
    """As the service names it."""
    name: str = ""
    """What tables and files call it; by default the model."""
    identity: str = ""
    """The service and its endpoint: part of the fingerprint. Never a key."""
    claims: Literal["sentences", "model"] = "sentences"
    """Who takes answers apart: our rules, or the model (decomposed, and each claim made to stand on its own)."""
    splitter: ClaimSplitter = field(default_factory=SentenceSplitter)
    """The rules."""
    rationale: bool = True
    """Whether the model says why, before its verdict. Without, it is cheaper."""
    language: str | None = None
    """The language of rationales, in English words (`Catalan`); the model's choice by default."""
    samples: int = 1
    """Replies asked for each judgement; their shares are its probabilities."""
    logprobs: bool = False
    """Whether to ask for the log-probabilities of the verdict, where the service has them."""
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Sent as they are: `temperature`, `reasoning_effort`, ..."""
    max_tokens: int | None = None
    """The longest reply, in tokens. By default 2,048, or 4,096 for a list, and no more than a quarter of the window."""
    templates: Mapping[str, Template] = field(default_factory=dict[str, Template])
    """By criterion: other templates than the latest of ours."""
    window: int | None = None
    """The model's context window, in tokens, where it is known. What wouldn't fit isn't sent."""
    long: Literal["refuse", "split"] = "refuse"
    """What becomes of passages that don't fit into the window: see `judge`."""
    threshold: float = 0.5
    """Scores from here on pass."""
    workers: int = 64
    """Judgements that may wait for the service at a time."""
    close: Callable[[], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """Lets go of the service's connections."""
    _frame: Callable[[Criterion], _Frame] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("samples", self.samples), ("max_tokens", self.max_tokens), ("window", self.window)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}; give 1 or more")
        object.__setattr__(self, "_frame", once_each(self._framed))
        if not self.name:
            object.__setattr__(self, "name", self.model)

    @property
    def fingerprint(self) -> str:
        """Service, model, parameters and ways of asking; `fingerprint_for` adds the template."""
        return fingerprint(self._ways())

    def fingerprint_for(self, criterion: Criterion) -> str:
        """What identifies the judge for this criterion: a new version of its template changes this one only."""
        return fingerprint([self._ways_for(criterion), self._template(criterion).identity])

    def describe(self, criterion: Criterion) -> dict[str, Json]:
        """What that fingerprint is made of, by name."""
        return {**self._ways_for(criterion), "template": self._template(criterion).identity}

    def _ways_for(self, criterion: Criterion) -> dict[str, Json]:
        ways = self._ways()
        if criterion.unit is Unit.CLAIM:
            ways["claims"] = f"model {load('claims').identity}" if self.claims == "model" else self.splitter.fingerprint
        return ways

    def _ways(self) -> dict[str, Json]:
        return {
            "judge": f"prompted@{_RULES}",
            "service": self.identity,
            "model": self.model,
            "rationale": self.rationale,
            "language": self.language,
            "samples": self.samples,
            "logprobs": self.logprobs,
            "parameters": self.parameters,
            "max_tokens": [self._longest_reply(_WHOLE_TOKENS), self._longest_reply(_ITEMS_TOKENS)],
            "long": self.long if self.long == "refuse" else f"split {self.window}",
        }

    def supports(self, criterion: Criterion, /) -> bool:
        """Any criterion about question, answer, passages or reference answers, and pairs of answers."""
        return can_show(criterion)

    async def judge(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> Verdict | Abstained:
        """Judge one case.

        What doesn't fit into the model's window is refused with the sizes, before anything is paid where the window is
        known. With `long="split"` it is asked in several requests, each with some of the passages, and then with some
        of the claims. A claim counts as the request that finds most for it; what only several requests together would
        support is not found. A verdict of the whole can't be put together from parts, and is refused.

        Raises:
            ReplyError: The model's reply was no verdict, twice.
            ContextTooLong: The case doesn't fit.
            ServiceError: As the service has it.
        """
        nothing = absent(case, criterion)
        if nothing is not None:
            return nothing
        match criterion.unit:
            case Unit.CLAIM:
                return await self._by_claims(case, criterion, replicate)
            case Unit.CONTEXT:
                items = passages(case)
                found = await self._answers(case, criterion, items, replicate)
                return of_items(items, found, criterion.scale, "passages")
            case _:
                (only,) = await self._answers(case, criterion, (), replicate)
                return Verdict(only.score, only.said.rationale, only.said.label, only.probabilities)

    def requests(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> list[ChatRequest]:
        """The requests that a judgement begins with, for planning what it will cost. Nothing is sent.

        Where the model takes the answer apart, what follows depends on its reply; claims by our rules stand for it.

        Raises:
            ContextTooLong: The case doesn't fit.
        """
        if absent(case, criterion) is not None:
            return []
        made: list[ChatRequest] = []
        asked: list[tuple[Item, ...]] = [()]
        if criterion.unit is Unit.CLAIM:
            texts = hypotheses(case, criterion)
            if self.claims == "model":
                made += [self._claims_request(case, criterion, text) for text in texts]
            asked = [items for text in texts if (items := self._sentences(case, text))]
        elif criterion.unit is Unit.CONTEXT:
            asked = [passages(case)]
        for items in asked:
            for part in self._parts(case, criterion, items):
                made += [replace(part.request, replicate=number) for number in self._numbers(replicate)]
        return made

    async def aclose(self) -> None:
        """Let go of the service's connections."""
        if self.close is not None:
            await self.close()

    def _numbers(self, replicate: int) -> range:
        """The samples of a judgement, counted through all its repetitions."""
        return range(replicate * self.samples, (replicate + 1) * self.samples)

    # --- Claims -----------------------------------------------------------------------------------------------------

    async def _by_claims(self, case: Case, criterion: Criterion, replicate: int) -> Verdict | Abstained:
        """The mean over the claims; of several references, the one with the best mean."""

        async def one(text: str) -> Verdict | Abstained:
            items = await self._claims(case, criterion, text)
            if not items:
                return Abstained("no_claims", "nothing in it claims anything")
            return of_items(items, await self._answers(case, criterion, items, replicate), criterion.scale, "claims")

        outcomes = await together([one(text) for text in hypotheses(case, criterion)])
        verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
        return max(verdicts, key=lambda verdict: verdict.score) if verdicts else outcomes[0]

    async def _claims(self, case: Case, criterion: Criterion, text: str) -> tuple[Item, ...]:
        if self.claims == "sentences":
            if len(text) > _LONG_TEXT:  # others have their turn meanwhile
                return await asyncio.to_thread(self._sentences, case, text)
            return self._sentences(case, text)
        request = self._claims_request(case, criterion, text)
        claims = await ask(self.service, request, lambda reply: read_claims(reply.text))
        return tuple(Item(f"c{number}", claim) for number, claim in enumerate(claims, 1))

    def _sentences(self, case: Case, text: str) -> tuple[Item, ...]:
        claims = self.splitter.split(text, case.lang).claims
        return tuple(Item(f"c{number}", claim.text, claim.start, claim.end) for number, claim in enumerate(claims, 1))

    def _claims_request(self, case: Case, criterion: Criterion, text: str) -> ChatRequest:
        """A request of its own, the same for every criterion that reads the same, so that it is paid once."""
        template = load("claims")
        request = ChatRequest(
            model=self.model,
            system=template.system({}),
            messages=(Message("user", claims_text(template, case, criterion, text)),),
            schema=claims_schema(),
            max_tokens=self._longest_reply(_ITEMS_TOKENS),
            parameters=self.parameters,
            expected_tokens=2 * estimate_tokens(text),
        )
        if not self._fits(request):
            raise self._too_long(request, "an answer isn't taken apart in parts")
        return request

    # --- Asking -----------------------------------------------------------------------------------------------------

    async def _answers(self, case: Case, criterion: Criterion, items: Sequence[Item], replicate: int) -> list[Answered]:
        """What the model says of each item, or of the whole, over all samples and parts."""
        parts = self._parts(case, criterion, items)
        samples = await together(
            [self._ask_all(parts, criterion, number) for number in self._numbers(replicate)],
        )
        names = [item.id for item in items] or [_WHOLE]
        if self.samples == 1:
            return [samples[0][name] for name in names]
        return [combined([sample[name] for sample in samples], criterion.scale) for name in names]

    async def _ask_all(self, parts: Sequence[_Part], criterion: Criterion, replicate: int) -> dict[str, Answered]:
        """Several requests: by id, whichever finds most."""
        best: dict[str, Answered] = {}
        for found in await together([self._ask(part, criterion, replicate) for part in parts]):
            for name, each in found.items():
                if name not in best or finds_more(each, best[name], criterion.scale):
                    best[name] = each
        return best

    async def _ask(self, part: _Part, criterion: Criterion, replicate: int) -> dict[str, Answered]:
        """One request; several smaller ones where the reply or the request turns out to be too long."""
        request = replace(part.request, replicate=replicate) if replicate else part.request
        try:
            if not part.items:
                return {_WHOLE: await ask_level(self.service, request, criterion.scale)}
            return await ask_items(self.service, request, criterion.scale, [item.id for item in part.items])
        except TruncatedReply:
            if len(part.items) < 2:
                raise
            smaller = [(part.case, half) for half in _halves(part.items)]
        except ContextTooLong as error:
            smaller = self._smaller(part.case, criterion, part.items)
            if not smaller:
                raise self._too_long(request, self._remedy(criterion), said=str(error)) from error
        parts = [self._part(case, criterion, items) for case, items in smaller]
        return await self._ask_all(parts, criterion, replicate)

    # --- Prompts ----------------------------------------------------------------------------------------------------

    def _template(self, criterion: Criterion) -> Template:
        return self.templates.get(criterion.name) or template_for(criterion)

    def _framed(self, criterion: Criterion) -> _Frame:
        template = self._template(criterion)
        system = system_text(template, criterion, rationale=self.rationale, language=self.language)
        schema = items_schema if criterion.unit in (Unit.CLAIM, Unit.CONTEXT) else level_schema
        return _Frame(template, system, schema(criterion.scale, rationale=self.rationale))

    def _part(self, case: Case, criterion: Criterion, items: Sequence[Item]) -> _Part:
        frame = self._frame(criterion)
        request = ChatRequest(
            model=self.model,
            system=frame.system,
            messages=(Message("user", user_text(frame.template, case, criterion, items)),),
            schema=frame.schema,
            max_tokens=self._longest_reply(_ITEMS_TOKENS if items else _WHOLE_TOKENS),
            parameters=self.parameters,
            logprobs=self.logprobs,
            expected_tokens=(len(items) or 1) * (_LIKELY_TOKENS if self.rationale else _LIKELY_BARE_TOKENS),
        )
        return _Part(case, items, request)

    def _longest_reply(self, tokens: int) -> int:
        """`max_tokens`; where the user names none, these, but no more than a quarter of the window."""
        return self.max_tokens or (tokens if self.window is None else max(1, min(tokens, self.window // 4)))

    # --- What doesn't fit -------------------------------------------------------------------------------------------

    def _parts(self, case: Case, criterion: Criterion, items: Sequence[Item]) -> list[_Part]:
        """The case in as many requests as it takes: so many items each, and so many passages as fit.

        Raises:
            ContextTooLong: It doesn't fit, and can't or may not be split.
        """
        each = _TOKENS_AN_ITEM if self.rationale else _TOKENS_A_BARE_ITEM
        most = min(_MOST_ITEMS, max(1, self._longest_reply(_ITEMS_TOKENS) // each))
        groups = [items[at : at + most] for at in range(0, len(items), most)] or [()]
        return [part for group in groups for part in self._fitting(case, criterion, group)]

    def _fitting(self, case: Case, criterion: Criterion, items: Sequence[Item]) -> list[_Part]:
        part = self._part(case, criterion, items)
        if self._fits(part.request):
            return [part]
        smaller = self._smaller(case, criterion, items)
        if not smaller:
            raise self._too_long(part.request, self._remedy(criterion))
        return [each for view, some in smaller for each in self._fitting(view, criterion, some)]

    def _fits(self, request: ChatRequest) -> bool:
        return self.window is None or _size(request) <= self.window

    def _smaller(self, case: Case, criterion: Criterion, items: Sequence[Item]) -> list[tuple[Case, Sequence[Item]]]:
        """The same asked in two halves; nothing where that can't be or isn't wanted."""
        if self.long == "refuse" or not items:
            return []
        numbers = [number for number, _ in numbered(case.contexts)]
        if criterion.unit is Unit.CLAIM and criterion.premise is Part.CONTEXTS and len(numbers) > 1:
            return [(with_passages(case, half), items) for half in _halves(numbers)]
        return [(case, half) for half in _halves(items)] if len(items) > 1 else []

    def _remedy(self, criterion: Criterion) -> str:
        if criterion.unit not in (Unit.CLAIM, Unit.CONTEXT):
            return "a verdict of the whole isn't put together from parts"
        if self.long == "refuse":
            return "`--long split` asks about it in several requests"
        return "it is one passage and one claim, or one of them alone, and those aren't cut"

    def _too_long(self, request: ChatRequest, remedy: str, said: str = "") -> ContextTooLong:
        sizes = f"about {_size(request):,} tokens, {request.max_tokens:,} for the reply included"
        if said:
            return ContextTooLong(f"{said} ({sizes}); {remedy}")
        return ContextTooLong(f"{self.model}: {sizes}, don't fit into its {self.window:,}; {remedy}")


def _halves(items: Sequence[Each]) -> tuple[Sequence[Each], Sequence[Each]]:
    middle = len(items) // 2
    return items[:middle], items[middle:]


def _size(request: ChatRequest) -> int:
    """Tokens of a request and its reply, about."""
    read = (request.system, *(message.text for message in request.messages))
    return sum(estimate_tokens(text) for text in read) + request.max_tokens
