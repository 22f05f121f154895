"""Cuts a text into the stretches that are embedded: neighbouring sentences, or pieces as long as a model reads."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from judges.claims import SentenceSplitter
from judges.tokens import estimate_tokens

__all__ = ["RULES", "Span", "pieces", "windows"]

RULES = 1
"""Version of the rules. Raise it with every change that may change a span."""

Span: TypeAlias = tuple[int, int]
"""First character, and one past the last."""


def windows(text: str, splitter: SentenceSplitter, lang: str | None, *, sentences: int, longest: int) -> list[Span]:
    """Each sentence, then each run of neighbouring sentences, up to so many together.

    Args:
        text: In which something can be seen.
        splitter: Says where sentences end. What it calls no claim is a sentence all the same: a heading, a question.
        lang: Language of the text, as a BCP 47 tag.
        sentences: In the longest run; 1 or more.
        longest: Tokens of the longest span, estimated: a longer sentence is cut, a longer run left out.
    """
    found = _sentences(text, splitter, lang, longest)
    spans = list(found)
    for count in range(2, sentences + 1):
        for (start, _), (_, end) in zip(found, found[count - 1 :], strict=False):
            if estimate_tokens(text[start:end]) <= longest:
                spans.append((start, end))
    return spans


def pieces(text: str, splitter: SentenceSplitter, lang: str | None, *, longest: int) -> list[Span]:
    """The text whole; or, where it has more than `longest` tokens, in pieces of whole sentences that have no more."""
    left = len(text) - len(text.lstrip())
    right = len(text.rstrip())
    if estimate_tokens(text[left:right]) <= longest:
        return [(left, right)]
    found: list[Span] = []
    for start, end in _sentences(text, splitter, lang, longest):
        if found and estimate_tokens(text[found[-1][0] : end]) <= longest:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


_KEPT_CHARACTERS = 16_384
_WORDLESS = ("markup", "fragment")


def _sentences(text: str, splitter: SentenceSplitter, lang: str | None, longest: int) -> tuple[Span, ...]:
    """All sentences, none of them longer than `longest` tokens. Of a text without words, all of it."""
    return (_kept if len(text) <= _KEPT_CHARACTERS else _made)(text, splitter, lang, longest)


def _made(text: str, splitter: SentenceSplitter, lang: str | None, longest: int) -> tuple[Span, ...]:
    split = splitter.split(text, lang)
    found = [(claim.start, claim.end) for claim in split.claims]
    found += [(skipped.start, skipped.end) for skipped in split.skipped if skipped.reason not in _WORDLESS]
    whole = sorted(found) or [(0, len(text))]
    return tuple(span for start, end in whole for span in _cut(text, start, end, longest))


_kept = lru_cache(maxsize=256)(_made)
"""Several systems often answer over the same passages. 256 texts of 16,384 characters at most: some 10 MB."""


def _cut(text: str, start: int, end: int, longest: int) -> Iterator[Span]:
    """A stretch without the white space around it; in halves, and halves of halves, where it is too long."""
    stretch = text[start:end]
    start += len(stretch) - len(stretch.lstrip())
    end -= len(stretch) - len(stretch.rstrip())
    if end - start < 2 or estimate_tokens(text[start:end]) <= longest:
        if end > start:
            yield start, end
        return
    middle = (start + end) // 2
    space = max(text.rfind(mark, (start + middle) // 2, middle) for mark in " \n\t")
    border = space + 1 if space >= 0 else middle
    yield from _cut(text, start, border, longest)
    yield from _cut(text, border, end, longest)
