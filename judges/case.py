"""A case: one answer to judge, with what it can be judged against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from judges.fields import MISSING, find
from judges.fingerprint import Json

__all__ = ["Case", "Context", "Part", "Turn"]


class Part(StrEnum):
    """What a criterion may read of a case."""

    QUESTION = "question"
    HISTORY = "history"
    ANSWER = "answer"
    RIVAL = "rival"
    CONTEXTS = "contexts"
    REFERENCES = "references"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Context:
    """One retrieved passage."""

    text: str
    doc_id: str | None = None
    rank: int | None = None
    """Place in the ranking, from 1."""
    score: float | None = None
    """The retriever's score, in its own unit."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn of the conversation."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One item of a dataset. What is absent is None or empty."""

    id: str
    question: str | None = None
    answer: str | None = None
    contexts: tuple[Context, ...] = ()
    references: tuple[str, ...] = ()
    """Accepted answers; the one that fits best counts."""
    rival: str | None = None
    """The other answer of a pair: `answers.b`, where `answer` is `answers.a`."""
    history: tuple[Turn, ...] = ()
    lang: str | None = None
    """Language of the case, as a BCP 47 tag (`ca`, `pt-BR`)."""
    extra: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Fields of the dataset that are not ours: for slices and labels."""

    def complaint(self) -> str | None:
        """What is wrong with the types of its fields; None if nothing is. Annotations alone stop nobody."""
        texts: dict[str, object] = {
            "id": self.id,
            "question": self.question,
            "answer": self.answer,
            "rival": self.rival,
            "lang": self.lang,
        }
        for name, value in texts.items():
            if not isinstance(value, str) and (value is not None or name == "id"):
                return f"`{name}` is {value!r:.60}, not a text"
        items: list[tuple[str, object, type]] = [
            ("references", self.references, str),
            ("contexts", self.contexts, Context),
            ("history", self.history, Turn),
        ]
        for name, value, kind in items:
            if isinstance(value, str) or not isinstance(value, Sequence):
                return f"`{name}` is {value!r:.60}; give a tuple of {kind.__name__}"
            for item in cast("Sequence[object]", value):
                if not isinstance(item, kind):
                    return f"`{name}` holds {item!r:.60}; give {kind.__name__} values"
        return None

    def part(self, part: Part) -> Json:
        """One part as JSON-ready values: what identifies it."""
        match part:
            case Part.QUESTION:
                return self.question
            case Part.HISTORY:
                return [[turn.role, turn.text] for turn in self.history]
            case Part.ANSWER:
                return self.answer
            case Part.RIVAL:
                return self.rival
            case Part.CONTEXTS:
                return [[context.doc_id, context.text, context.rank, context.score] for context in self.contexts]
            case Part.REFERENCES:
                return list(self.references)
            case Part.EXTRA:
                return dict(self.extra)

    def find(self, path: str) -> object:
        """The value at a dotted path, among our own fields first, then among the dataset's; or `MISSING`."""
        own = find(self.to_record(), path) if path.partition(".")[0] in self.__slots__ else MISSING
        return find(self.extra, path) if own is MISSING else own

    def to_record(self) -> dict[str, Json]:
        """The case as JSON-ready values; what is absent is left out. `from_record` reads it back."""
        record: dict[str, Json] = {"id": self.id}
        for name in ("question", "answer", "rival", "lang"):
            value: str | None = getattr(self, name)
            if value is not None:
                record[name] = value
        if self.contexts:
            record["contexts"] = [
                {name: value for name in Context.__slots__ if (value := getattr(context, name)) is not None}
                for context in self.contexts
            ]
        if self.references:
            record["references"] = list(self.references)
        if self.history:
            record["history"] = [{"role": turn.role, "text": turn.text} for turn in self.history]
        if self.extra:
            record["extra"] = dict(self.extra)
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Case":
        """A case from what `to_record` wrote. Nothing is checked: records of others go through `judges.datasets`."""
        values = dict(record)
        values["contexts"] = tuple(Context(**context) for context in values.get("contexts", ()))
        values["references"] = tuple(values.get("references", ()))
        values["history"] = tuple(Turn(**turn) for turn in values.get("history", ()))
        return cls(**values)
