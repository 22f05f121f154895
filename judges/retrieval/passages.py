"""What is known of a passage beside its id: its text, and which stretch of which source document it is.

Labels can be held against both: a passage whose text has changed is no longer the one that was labelled, and a span of
a source document keeps its meaning however the document is cut into passages.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from judges.errors import InputError
from judges.fingerprint import Json
from judges.retrieval.fields import DOCUMENT, ITEM, Line, Row, id_of, shown, value_of, whole_of

__all__ = ["Index", "Passage", "Span", "passage_id", "passage_of", "read_ids", "read_index", "span_of", "text_hash_of"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source document, in characters."""

    document: str
    start: int
    """From 0."""
    end: int
    """Behind the last character."""

    def __str__(self) -> str:
        return f"{self.document}:{self.start}-{self.end}"

    def covered_by(self, other: "Span") -> float:
        """The share of this stretch that another one holds, from 0 to 1."""
        if other.document != self.document:
            return 0.0
        return max(min(self.end, other.end) - max(self.start, other.start), 0) / (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Passage:
    """What is known of a passage; None where it isn't."""

    text_hash: str | None = None
    """SHA-256 of its text in UTF-8, in hex."""
    span: Span | None = None


Index = Mapping[str, Passage]
"""All passages that can be retrieved, by id."""


def passage_of(record: Mapping[str, Json], where: str) -> Passage | None:
    """What a record says of its passage: `text` or `text_hash`; `doc`, `start` and `end`. None if nothing.

    Raises:
        InputError: One of these fields can't be used.
    """
    text_hash, span = text_hash_of(record, where), span_of(record, where)
    return None if text_hash is None and span is None else Passage(text_hash, span)


def passage_id(record: Mapping[str, Json], where: str, names: Sequence[str] = DOCUMENT) -> str:
    """The id of the passage of a record, in the first of these fields; where only its span is given, that is the id.

    Raises:
        InputError: There is neither.
    """
    span = span_of(record, where)
    if span is None:
        return id_of(value_of(record, names, where), where, names[0])
    there = [name for name in names if name != "doc" and record.get(name) is not None]
    return id_of(record[there[0]], where, there[0]) if there else str(span)


def span_of(record: Mapping[str, Json], where: str) -> Span | None:
    """The stretch `doc`, `start`, `end` of a record; None if it has neither `start` nor `end`.

    Raises:
        InputError: One of the three is missing or can't be used.
    """
    start, end = record.get("start"), record.get("end")
    if start is None and end is None:
        return None
    if start is None or end is None or record.get("doc") is None:
        raise InputError(f"{where}: a span needs all of `doc`, `start` and `end`; give the three, or none")
    span = Span(id_of(record["doc"], where, "doc"), whole_of(start, where, "start"), whole_of(end, where, "end"))
    if span.end <= span.start:
        raise InputError(
            f"{where}: the span ends at {span.end} and starts at {span.start}; `end` is the character behind the last"
        )
    return span


def text_hash_of(record: Mapping[str, Json], where: str) -> str | None:
    """The hash of a record's text, as `text_hash` or from `text`; None if it has neither.

    Raises:
        InputError: `text_hash` is no SHA-256, `text` no text, or the two don't go together.
    """
    given, text = record.get("text_hash"), record.get("text")
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}: `text` holds {shown(text)}; give the passage's text")
    made = None if text is None else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if given is None:
        return made
    if not isinstance(given, str) or not re.fullmatch(r"(?:sha256:)?[0-9a-fA-F]{64}", given):
        raise InputError(f"{where}: `text_hash` holds {shown(given)}; give the SHA-256 of the text in hex")
    given = given.removeprefix("sha256:").lower()
    if made not in (None, given):
        raise InputError(f"{where}: `text_hash` is not that of `text`; leave one of them out")
    return given


def read_index(records: Iterable[Row]) -> dict[str, Passage]:
    """The passages of an index from records with `id` and maybe text and span.

    Raises:
        InputError: A record has no id, or the id of another.
    """
    index: dict[str, Passage] = {}
    for where, record in records:
        _add(index, passage_id(record, where, ITEM), passage_of(record, where) or Passage(), where)
    return index


def read_ids(lines: Iterable[Line]) -> dict[str, Passage]:
    """The passages of an index from a text with one id a line. Blanks around it don't count.

    Raises:
        InputError: A line isn't UTF-8, or repeats an id.
    """
    index: dict[str, Passage] = {}
    for where, line in lines:
        try:
            name = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: is not UTF-8; save the file as UTF-8") from error
        if name:
            _add(index, name, Passage(), where)
    return index


def _add(index: dict[str, Passage], name: str, passage: Passage, where: str) -> None:
    if name in index:
        raise InputError(f"{where}: the id {shown(name)} is there a second time; give each passage its own")
    index[name] = passage
