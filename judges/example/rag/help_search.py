"""A small pipeline over the help pages of the example: chunks, search, an answer made of their sentences.

Three ways to search, each one step further; everything else is the same:

    terms       BM25 over words
    hybrid      BM25 and shared character n-grams, their ranks fused
    reranked    the same, its first ten put in order by how much of the question a chunk covers

It is an example of what `judges experiment` tries: `plan.toml` says how.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from typing import Any

from judges import Case, Context

_PAGES = Path(__file__).parent.parent / "cases.jsonl"

_REFUSALS = {
    "ca": "Els documents no diuen res d'això.",
    "fr": "Les documents ne disent pas cela.",
    "ro": "Documentele nu spun nimic despre asta.",
}
_REFUSAL = "The documents do not say."
_ENOUGH = 0.2
"""Share of the question's weight that a sentence must cover to be an answer."""
_SENTENCES = 2
"""Sentences of an answer, at most."""


# Words


def words(text: str) -> list[str]:
    """Lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return re.findall(r"\w+", "".join(each for each in plain if not unicodedata.combining(each)))


def ngrams(text: str, size: int = 4) -> list[str]:
    """Stretches of characters within words: they meet where endings differ."""
    return [
        padded[start : start + size]
        for word in words(text)
        for padded in [f" {word} "]
        for start in range(max(1, len(padded) - size + 1))
    ]


# Chunks


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a page."""

    page: str
    start: int
    end: int
    text: str

    @property
    def id(self) -> str:
        """Page and stretch."""
        return f"{self.page}:{self.start}-{self.end}"


def chunks_of(page: str, text: str, size: int, step: int) -> list[Chunk]:
    """Stretches of `size` words, a new one every `step` words."""
    places = [(found.start(), found.end()) for found in re.finditer(r"\S+", text)]
    chunks: list[Chunk] = []
    for first in range(0, len(places), step):
        stretch = places[first : first + size]
        start, end = stretch[0][0], stretch[-1][1]
        chunks.append(Chunk(page, start, end, text[start:end]))
        if first + size >= len(places):
            break
    return chunks


def pages() -> dict[str, str]:
    """The help pages by id."""
    lines = _PAGES.read_text("utf-8").splitlines()
    return {page["id"]: page["text"] for line in lines for page in json.loads(line)["contexts"]}


# Search


class BM25:
    """Okapi BM25 over any kind of term. Source: Robertson & Zaragoza 2009, with the idf of Lucene, never below 0."""

    def __init__(self, texts: Sequence[str], terms: Callable[[str], Iterable[str]]) -> None:
        self._terms = terms
        self._counts = [Counter(terms(text)) for text in texts]
        self._lengths = [sum(each.values()) for each in self._counts]
        self._mean = sum(self._lengths) / len(self._lengths)
        self._holding = Counter(term for each in self._counts for term in each)

    def weight(self, term: str) -> float:
        """How much a term tells: the rarer, the more."""
        holding = self._holding[term]
        return log(1 + (len(self._counts) - holding + 0.5) / (holding + 0.5))

    def scores(self, question: str, k1: float = 1.2, b: float = 0.75) -> list[float]:
        """A score a text."""
        asked = set(self._terms(question))
        return [
            sum(
                self.weight(term) * count[term] * (k1 + 1) / (count[term] + k1 * (1 - b + b * length / self._mean))
                for term in asked
                if term in count
            )
            for count, length in zip(self._counts, self._lengths, strict=True)
        ]


def best_first(scores: Sequence[float]) -> list[int]:
    """The places of those above 0, the highest first."""
    return sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: -scores[at])


def fused(rankings: Iterable[Sequence[int]], constant: int = 60) -> list[int]:
    """One ranking of several, by reciprocal ranks. Source: Cormack, Clarke & Büttcher 2009."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, at in enumerate(ranking, 1):
            scores[at] = scores.get(at, 0.0) + 1 / (constant + rank)
    return sorted(scores, key=lambda at: -scores[at])


@dataclass(frozen=True, slots=True)
class Index:
    """All chunks, ready to be searched."""

    chunks: tuple[Chunk, ...]
    by_words: BM25
    by_ngrams: BM25

    def coverage(self, question: str, text: str) -> float:
        """The share of the question's n-grams that a text has, the rare ones weighing more; from 0 to 1."""
        there = set(ngrams(text))
        weights = {term: self.by_ngrams.weight(term) for term in set(ngrams(question))}
        total = sum(weights.values())
        return sum(weight for term, weight in weights.items() if term in there) / total if total else 0.0


@cache
def index(size: int, step: int) -> Index:
    """The index of the help pages."""
    chunks = tuple(chunk for page, text in pages().items() for chunk in chunks_of(page, text, size, step))
    texts = [chunk.text for chunk in chunks]
    return Index(chunks, BM25(texts, words), BM25(texts, ngrams))


# Answers


def answer(case: Case, asked: str, passages: Sequence[str], found: Index) -> str:
    """The sentences that cover the question best, in their order; a refusal where none covers enough."""
    sentences = [each for text in passages for each in re.split(r"(?<=[.!?])\s+", text) if len(each.split()) > 2]
    sentences = list(dict.fromkeys(sentences))
    covered = {each: found.coverage(asked, each) for each in sentences}
    best = sorted(sentences, key=lambda each: -covered[each])[:_SENTENCES]
    chosen = [each for each in sentences if each in best and covered[each] >= _ENOUGH]
    return " ".join(chosen) if chosen else _REFUSALS.get(case.lang or "", _REFUSAL)


# The variants


def terms(case: Case, *, size: int, step: int, k: int) -> Mapping[str, Any]:
    """Search by words."""
    found, asked = index(size, step), case.question or ""
    return _said(case, found, best_first(found.by_words.scores(asked)), k)


def hybrid(case: Case, *, size: int, step: int, k: int) -> Mapping[str, Any]:
    """Search by words and by n-grams."""
    found, asked = index(size, step), case.question or ""
    return _said(case, found, _both(found, asked), k)


def reranked(
    case: Case, *, size: int, step: int, k: int, passages: Sequence[Context] | None = None
) -> Mapping[str, Any]:
    """Search by both, and put the first ten in order anew. Given the right passages, answer from these."""
    found, asked = index(size, step), case.question or ""
    if passages is not None:
        return {"contexts": passages, "answer": answer(case, asked, [each.text for each in passages], found)}
    before = _both(found, asked)[:10]
    after = sorted(before, key=lambda at: -found.coverage(asked, found.chunks[at].text))
    return {**_said(case, found, after, k), "candidates": [found.chunks[at].id for at in before]}


def _both(found: Index, asked: str) -> list[int]:
    return fused([best_first(found.by_words.scores(asked)), best_first(found.by_ngrams.scores(asked))])


def _said(case: Case, found: Index, ranking: Sequence[int], k: int) -> dict[str, Any]:
    """What `judges experiment` is told: ten were retrieved, and the first k are what the answer is made from."""
    retrieved = [found.chunks[at] for at in ranking[:10]]
    return {
        "retrieved": [{"id": each.id, "doc": each.page, "start": each.start, "end": each.end} for each in retrieved],
        "contexts": [{"id": each.id, "text": each.text} for each in retrieved[:k]],
        "answer": answer(case, case.question or "", [each.text for each in retrieved[:k]], found),
    }
