"""The simplest things to judge an answer by: how long it is, and how many words it has in common with a text.

No model, no weights, nothing to fit: what any judge has to beat.
"""

from functools import lru_cache

from judges.case import Case, Part
from judges.similarity import tokenise

__all__ = ["length_of", "overlap_of"]

_KEPT = 256


def length_of(case: Case, hypothesis: Part) -> float:
    """Characters of what is judged; of a pair of answers those of A less those of B."""
    if case.rival is not None:
        return float(len(case.answer or "") - len(case.rival))
    return float(sum(map(len, _texts(case, hypothesis))))


def overlap_of(case: Case, hypothesis: Part, premise: Part | None) -> float:
    """The share of distinct words that are found: those of the claims in the passages; those of the question, or of the
    reference that fits best, in the answer. Of a pair of answers A's share less B's. 0 where there is nothing to find.
    """
    if premise is None:
        return 0.0
    if case.rival is not None:
        wanted = _texts(case, premise)
        return _best(wanted, [case.answer or ""], case.lang) - _best(wanted, [case.rival], case.lang)
    judged, against = _texts(case, hypothesis), _texts(case, premise)
    if premise is Part.CONTEXTS:
        return _best(judged, against, case.lang)
    return _best(against, judged, case.lang)


def _best(wanted: list[str], searched: list[str], lang: str | None) -> float:
    if not wanted or not searched:
        return 0.0
    there = frozenset[str]().union(*(_words(text, lang) for text in searched))
    return max(_share(_words(text, lang), there) for text in wanted)


def _share(wanted: frozenset[str], there: frozenset[str]) -> float:
    return len(wanted & there) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=_KEPT)
def _words(text: str, lang: str | None) -> frozenset[str]:
    """Several systems often answer the same question over the same passages."""
    return frozenset(tokenise(text, lang).keys)


def _texts(case: Case, part: Part) -> list[str]:
    match part:
        case Part.QUESTION:
            texts = [case.question or ""]
        case Part.CONTEXTS:
            texts = [context.text for context in case.contexts]
        case Part.REFERENCES:
            texts = list(case.references)
        case _:
            texts = [case.answer or ""]
    return [text for text in texts if text]
