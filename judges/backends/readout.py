"""What a model said, as verdicts: levels become scores; log-probabilities and samples become probabilities."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean

from judges.criterion import Level, Scale
from judges.replies import Said
from judges.service import ChatReply, TokenChoice
from judges.verdict import ClaimVerdict, Verdict

__all__ = ["Answered", "Item", "answered", "answered_items", "combined", "finds_more", "of_items"]

_MISSING_MASS = 0.1
"""Where more of the probability than this is missing, none is given."""


@dataclass(frozen=True, slots=True)
class Item:
    """One claim or passage to be judged."""

    id: str
    text: str
    start: int | None = None
    end: int | None = None
    doc_id: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model said of one thing, over all samples."""

    said: Said
    score: float
    probabilities: Mapping[str, float] | None = None


def answered(said: Said, scale: Scale, reply: ChatReply) -> Answered:
    """The verdict of a reply about the whole."""
    return _answered(said, scale, reply.logprobs, _places(reply).get(None))


def answered_items(said: Mapping[str, Said], scale: Scale, reply: ChatReply) -> dict[str, Answered]:
    """The verdicts of a reply about several things, by id."""
    places = _places(reply)
    return {name: _answered(each, scale, reply.logprobs, places.get(name)) for name, each in said.items()}


def _answered(said: Said, scale: Scale, logprobs: Sequence[TokenChoice] | None, place: int | None) -> Answered:
    if logprobs and place is not None:
        probabilities = _probabilities(said.label, scale, logprobs, place)
        if probabilities is not None:
            return Answered(said, _expected(probabilities, scale), probabilities)
    return Answered(said, _level(scale, said.label).score)


def _level(scale: Scale, label: str) -> Level:
    level = scale.level(label)
    assert level is not None, "replies are read by their scale"  # noqa: S101
    return level


def _expected(probabilities: Mapping[str, float], scale: Scale) -> float:
    score = sum(share * _level(scale, label).score for label, share in probabilities.items())
    return min(1.0, max(0.0, score))


# --- Log-probabilities ----------------------------------------------------------------------------------------------

_MEMBERS = re.compile(
    r'"(?P<key>(?:[^"\\]|\\.)*)"\s*:\s*(?P<value>"(?:[^"\\]|\\.)*"|[^\s"{}\[\],]+)?'
    r'|"(?:[^"\\]|\\.)*"|(?P<brace>[{}])',
    re.DOTALL,
)
"""Of JSON: members of objects, with values that are texts or numbers; other texts; braces."""
_END_OF_NUMBER = re.compile(r"[\s,}\]]")


def _places(reply: ChatReply) -> dict[str | None, int]:
    """Where in the tokens' text each verdict begins, after its quotation mark, by the id of its object.

    What comes twice is left out. The reply has been read as JSON before, by its schema.
    """
    if not reply.logprobs:
        return {}
    # Where tokens split a letter, this text isn't quite the reply's.
    text = "".join(choice.token for choice in reply.logprobs)
    found: dict[str | None, int] = {}
    twice: set[str | None] = set()
    objects: list[dict[str, re.Match[str]]] = []
    for member in _MEMBERS.finditer(text, max(text.find("{"), 0)):
        if member["brace"] == "{":
            objects.append({})
        elif member["brace"] == "}":
            own = objects.pop() if objects else {}
            if "verdict" in own:
                name = own["id"]["value"].strip('"') if "id" in own else None
                if name in found:
                    twice.add(name)
                verdict = own["verdict"]
                found[name] = verdict.start("value") + verdict["value"].startswith('"')
        elif member["value"] and objects:
            objects[-1][member["key"]] = member
    return {name: place for name, place in found.items() if name not in twice}


def _probabilities(label: str, scale: Scale, logprobs: Sequence[TokenChoice], place: int) -> Mapping[str, float] | None:
    """By level, from what could have stood where the verdict stands; None where that can't be told.

    The tokens of the verdict are followed until they can be no other level: "un" may begin two levels, and the token
    after it tells them apart. Of what wasn't chosen only one token is known: where it may begin several levels, or is
    the beginning of none, its mass is missing.
    """
    first, before = _token_at(logprobs, place)
    is_text = before.endswith('"') or (first > 0 and not before and logprobs[first - 1].token.endswith('"'))
    text = ""  # of the verdict, so far
    reached = 1.0  # the probability of having said so much
    mass = dict.fromkeys(scale.labels, 0.0)
    for choice in logprobs[first:]:
        for token, logprob in choice.alternatives:
            if token.startswith(before) and token != choice.token:
                fits = _begun(text + token[len(before) :], scale, is_text=is_text)
                if len(fits) == 1:
                    mass[fits[0]] += reached * exp(logprob)
        text += choice.token[len(before) :]
        reached *= exp(choice.logprob)
        before = ""
        fits = _begun(text, scale, is_text=is_text)
        if len(fits) <= 1:
            break
    else:
        return None
    if fits != [label]:
        return None
    mass[label] += reached
    total = sum(mass.values())
    return None if total < 1 - _MISSING_MASS else {name: share / total for name, share in mass.items()}


def _token_at(logprobs: Sequence[TokenChoice], place: int) -> tuple[int, str]:
    """The number of the token that holds a place of their text, and what it holds before it."""
    at = 0
    for number, choice in enumerate(logprobs):
        if place < at + len(choice.token):
            return number, choice.token[: place - at]
        at += len(choice.token)
    return len(logprobs), ""


def _begun(text: str, scale: Scale, *, is_text: bool) -> list[str]:
    """The levels that a verdict which begins so may be."""
    if is_text:
        word, ended, _ = text.partition('"')
    else:
        end = _END_OF_NUMBER.search(text)
        word, ended = (text, "") if end is None else (text[: end.start()], end[0])
    word = word.casefold()
    if ended:
        return [label for label in scale.labels if label.casefold() == word]
    return [label for label in scale.labels if label.casefold().startswith(word)]


# --- Several verdicts -----------------------------------------------------------------------------------------------


def combined(samples: Sequence[Answered], scale: Scale) -> Answered:
    """Several samples of one thing: their mean, the commonest level, and a rationale of one that chose it."""
    counts = Counter(each.said.label for each in samples)
    score = fmean(each.score for each in samples)
    # Of levels that are equally common, the worse one.
    label = max(scale.labels, key=lambda name: counts[name])
    if all(each.probabilities is not None for each in samples):
        shares = {name: fmean((each.probabilities or {})[name] for each in samples) for name in scale.labels}
    else:
        shares = {name: counts[name] / len(samples) for name in scale.labels}
    said = next(each.said for each in samples if each.said.label == label)
    return Answered(said, score, shares)


def finds_more(one: Answered, other: Answered, scale: Scale) -> bool:
    """Whether one part of the passages says more of a thing than another part."""
    if one.score != other.score:
        return one.score > other.score
    # Contradicted by one part and not found in another: contradicted, which is the lower level of the two.
    return scale.labels.index(one.said.label) < scale.labels.index(other.said.label)


def of_items(items: Sequence[Item], answered: Sequence[Answered], scale: Scale, word: str) -> Verdict:
    """The mean over all that was asked."""
    claims = tuple(
        ClaimVerdict(
            item.text,
            each.score,
            each.said.rationale,
            each.said.label,
            each.probabilities,
            start=item.start,
            end=item.end,
        )
        for item, each in zip(items, answered, strict=True)
    )
    worst = min(claims, key=lambda claim: claim.score)
    counts = Counter(claim.label for claim in claims)
    found = ", ".join(f"{counts[label]} {label}" for label in scale.labels if counts[label])
    rationale = worst.rationale if len(claims) == 1 else f"{len(claims)} {word}: {found}"
    if len(claims) > 1 and worst.score < 1 and worst.rationale:
        rationale += f"; {worst.rationale}"
    return Verdict(fmean(claim.score for claim in claims), rationale, claims=claims)
