"""Finds a phrase in a text, as people would: whatever its case, its accents, or what can't be seen inside it."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Wording", "folded"]

_APOSTROPHE = "’"
_SPACED = r"[^\W_\u0e00-\u10cf\u1100-\u11ff\u1780-\u17ff\u2e80-\U0001ffff]"
"""Letters and digits of scripts that put spaces between words."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How alike a phrase and what is found must be."""

    match_case: bool
    match_accents: bool
    whole_words: bool = False

    def find(self, phrase: str, text: "Folded") -> tuple[int, int] | None:
        """Where the phrase first stands, in characters of the text as it was given; None if it doesn't."""
        found = _pattern(phrase, self).search(text.text)
        return None if found is None else text.span(*found.span())

    def fold(self, text: str) -> "Folded":
        """A text made ready to be looked in."""
        return folded(text, match_case=self.match_case, match_accents=self.match_accents)


@dataclass(frozen=True, slots=True)
class Folded:
    """A text without what doesn't count, and where each of its characters comes from."""

    text: str
    places: tuple[int, ...] | None
    """None where each comes from its own place."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A stretch of it in the text as it was given."""
        return (start, end) if self.places is None else (self.places[start], self.places[end - 1] + 1)


def folded(text: str, *, match_case: bool, match_accents: bool) -> Folded:
    """`text` in decomposed form, without what can't be seen; without case and accents where these don't count."""
    if text.isascii():
        return Folded(text if match_case else text.lower(), None)
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in "'" if character == _APOSTROPHE else unicodedata.normalize("NFD", character):
            category = unicodedata.category(letter)
            if category == "Cf" or (category == "Mn" and not match_accents):
                continue
            same = letter if match_case else letter.casefold()
            letters.append(same)
            places += [place] * len(same)
    return Folded("".join(letters), tuple(places))


@lru_cache(maxsize=1024)
def _pattern(phrase: str, wording: Wording) -> re.Pattern[str]:
    wanted = wording.fold(phrase.strip()).text
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    if wording.whole_words:
        before = rf"(?<!{_SPACED})" if re.match(_SPACED, wanted) else ""
        after = rf"(?!{_SPACED})" if re.search(rf"{_SPACED}\Z", wanted) else ""
        pattern = f"{before}{pattern}{after}"
    return re.compile(pattern)
