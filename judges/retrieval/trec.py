"""The places of judged documents straight from a large file of rankings in TREC's format.

`judges.retrieval.ranking.read_trec_rankings` says what such a file means, and its errors are given here too. But lines
are taken apart many at once, by numpy, and no id becomes a text of its own that isn't judged.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judges.errors import InputError
from judges.retrieval.arrays import Marks, Places, places_of, rank_by_score
from judges.retrieval.fields import shown
from judges.retrieval.qrels import Qrels
from judges.retrieval.ranking import entry_of, twice

__all__ = ["PlacedFile", "place_trec"]

_COLUMNS = 6
_WIDEST = 255
"""Longest word that is read many at once: each takes as much room as the longest."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_Words: TypeAlias = NDArray[np.bytes_]
_Scores: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """What a file of rankings has of some qrels."""

    places: Places
    known: int
    """Queries of the file that are in the qrels."""
    unknown: int
    """Queries of the file that are not."""


def place_trec(blocks: Iterable[bytes], name: str, qrels: Qrels, *, keep_first: bool = False) -> PlacedFile:
    """Find the judged documents of each query of the qrels in a file of rankings.

    Args:
        blocks: The file, cut anywhere. Pieces of some 100 KiB are fastest.
        name: What messages call it.
        qrels: What is looked for; without groups.
        keep_first: Of several copies of a document keep the first in the ranking.

    Raises:
        InputError: As of `read_trec_rankings`.
    """
    pool = _Pool(qrels, name, keep_first)
    for run in _runs(blocks, name):
        pool.add(run)
    return pool.result()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Lines of one query that follow one another."""

    query: bytes
    documents: _Words
    scores: _Scores
    line: int
    """The number of the first."""


# Taking lines apart


def _runs(blocks: Iterable[bytes], name: str) -> Iterator[_Run]:
    line, rest = 1, b""
    for block in chain(blocks, [b"\n"]):  # ends a last line that has no end
        text = rest + block
        cut = text.rfind(b"\n") + 1
        text, rest = text[:cut], text[cut:]
        columns = _columns(text)
        if columns is None:
            yield from _one_by_one(text, name, line)
        else:
            yield from _by_query(*columns, line)
        line += text.count(b"\n")


def _columns(text: bytes) -> tuple[_Words, _Words, _Scores] | None:
    """Query, document and score of each line; None if any line is unusual, be it wrong or only blank."""
    characters = np.frombuffer(text, dtype=np.uint8)
    blank = (characters == ord(" ")) | (characters - np.uint8(9) < 5)  # \t \n \v \f \r, as bytes.split has it
    line_ends = np.flatnonzero(characters == ord("\n"))
    starts = np.flatnonzero(blank[:-1] > blank[1:]) + 1
    if text and not blank[0]:
        starts = np.append(0, starts)
    if not text or starts.size != _COLUMNS * line_ends.size:
        return None
    begins = starts.reshape(-1, _COLUMNS)
    if not (bool(np.all(begins[:, -1] < line_ends)) and bool(np.all(begins[1:, 0] > line_ends[:-1]))):
        return None
    ends = begins[:, 1:] - 1
    if bool(np.any(blank[ends - 1])):  # several blanks between two words
        ends = (np.flatnonzero(blank[:-1] < blank[1:]) + 1).reshape(-1, _COLUMNS)[:, :-1]
    if int((ends - begins[:, :-1]).max()) > _WIDEST or b"\0" in text:
        return None
    padded = text + bytes(_WIDEST)
    queries, documents, written = (_words(padded, begins[:, at], ends[:, at]) for at in (0, 2, 4))
    try:
        text.decode()
        scores = written.astype(np.float64)
    except ValueError:
        return None
    if b"_" in text and b"_" in written.tobytes():
        return None
    return (queries, documents, scores) if bool(np.all(np.isfinite(scores))) else None


def _words(text: bytes, begins: NDArray[np.intp], ends: NDArray[np.intp]) -> _Words:
    """The words between these places of a text, which goes on behind the last for as long as the longest word."""
    lengths = ends - begins
    width = int(lengths.max())
    windows: _Words = np.ndarray(len(text) - width + 1, f"S{width}", text, strides=(1,))  # one from each place on
    words = windows[begins]
    if int(lengths.min()) < width:
        kept = np.tri(width + 1, width, -1, dtype=np.uint8) * np.uint8(0xFF)  # row n keeps n letters
        letters = words.view(np.uint8).reshape(-1, width)
        letters &= kept.take(lengths, axis=0)
    return words


def _by_query(queries: _Words, documents: _Words, scores: _Scores, line: int) -> Iterator[_Run]:
    bounds = [0, *(np.flatnonzero(queries[1:] != queries[:-1]) + 1).tolist(), queries.size]
    for start, end in pairwise(bounds):
        yield _Run(bytes(queries[start]), documents[start:end], scores[start:end], line + start)


def _one_by_one(text: bytes, name: str, line: int) -> Iterator[_Run]:
    for number, each in enumerate(text.split(b"\n")[:-1], line):
        if (entry := entry_of(each, f"{name}:{number}")) is not None:
            yield _Run(entry.query.encode(), np.array([entry.document.encode()]), np.array([entry.score]), number)


# Putting queries together


class _Pool:
    """Collects runs; finds the judged documents of a query when the next query begins."""

    def __init__(self, qrels: Qrels, name: str, keep_first: bool) -> None:
        self._name, self._keep_first = name, keep_first
        self._queries = tuple(qrels.grades)
        self._number = {query.encode(): number for number, query in enumerate(self._queries)}
        sizes = np.array([len(grades) for grades in qrels.grades.values()], dtype=np.int64)
        self._wanted = [name.encode() for grades in qrels.grades.values() for name in grades]
        self._bounds: list[int] = np.append(0, np.cumsum(sizes)).tolist()
        self._judged = Marks(
            np.repeat(np.arange(sizes.size), sizes),
            np.zeros(len(self._wanted), dtype=np.int64),
            np.array([grade for grades in qrels.grades.values() for grade in grades.values()], dtype=np.int64),
        )
        self._retrieved = np.zeros(sizes.size, dtype=np.int64)
        self._open: list[_Run] = []
        self._seen: dict[bytes, list[_Run]] = {}
        self._again: set[bytes] = set()

    def add(self, run: _Run) -> None:
        if self._open and self._open[0].query != run.query:
            self._close()
        self._open.append(run)

    def result(self) -> PlacedFile:
        if self._open:
            self._close()
        for query in self._again:
            self._place(query, self._seen[query])
        known = len(self._seen.keys() & self._number.keys())
        places = places_of(self._queries, self._retrieved, self._judged)
        return PlacedFile(places, known, len(self._seen) - known)

    def _close(self) -> None:
        query = self._open[0].query
        if query in self._seen:
            self._again.add(query)
        else:
            self._place(query, self._open)
        self._seen.setdefault(query, []).extend(self._open)
        self._open = []

    def _place(self, query: bytes, runs: Sequence[_Run]) -> None:
        documents = np.concatenate([run.documents for run in runs])
        scores = np.concatenate([run.scores for run in runs])
        keys = _keys(documents)
        ordered = np.sort(keys)
        if bool(np.any(ordered[1:] == ordered[:-1])) and len(set(documents.tolist())) < documents.size:
            if not self._keep_first:
                raise self._complaint(query, runs)
            documents, scores = _best(documents, scores)
            keys = _keys(documents)
        if (number := self._number.get(query)) is None:
            return
        judged = slice(self._bounds[number], self._bounds[number + 1])
        wanted = np.array(self._wanted[judged], dtype=np.bytes_)
        which, at = _matches(_keys(wanted), keys)
        same = wanted[which] == documents[at]
        self._judged.rank[judged][which[same]] = rank_by_score(scores, documents, at[same])
        self._retrieved[number] = documents.size

    def _complaint(self, query: bytes, runs: Sequence[_Run]) -> InputError:
        seen = set[bytes]()
        for run in runs:
            for line, document in enumerate(run.documents.tolist(), run.line):
                if document in seen:
                    where = f"{self._name}:{line}: query {shown(query.decode())}"
                    return InputError(f"{where}: {twice(document.decode())}")
                seen.add(document)
        raise AssertionError("asked for a document that occurs twice where none does")


def _keys(words: _Words) -> NDArray[np.uint64]:
    """A number for each word: equal words have equal ones, others hardly ever."""
    parts = -(-words.itemsize // 8)
    letters = words.astype(f"S{8 * parts}").view(np.uint64).reshape(-1, parts)
    factors = np.cumprod(np.full(parts, _FACTOR), dtype=np.uint64)
    return np.asarray(letters @ factors, dtype=np.uint64)


def _matches(wanted: NDArray[np.uint64], keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where a wanted key and a key are the same: their places among the one and the other."""
    if not wanted.size:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    order = np.argsort(wanted)
    near = order[np.minimum(np.searchsorted(wanted, keys, sorter=order), order.size - 1)]
    at = np.flatnonzero(wanted[near] == keys)
    return near[at], at


def _best(documents: _Words, scores: _Scores) -> tuple[_Words, _Scores]:
    """Each document once, with its highest score."""
    best: dict[bytes, float] = {}
    for document, score in zip(documents.tolist(), scores.tolist(), strict=True):
        best[document] = max(score, best.get(document, score))
    return np.array(list(best)), np.array(list(best.values()), dtype=np.float64)
