"""The two sides of a comparison: which texts of a case a criterion holds against which.

What judges need that know nothing of a criterion but its hypothesis and its premise: no wording, no levels.
"""

from dataclasses import dataclass

from judges.case import Case, Part
from judges.criterion import Criterion, Unit
from judges.errors import InputError
from judges.similarity import is_blank
from judges.verdict import Abstained

__all__ = ["Sides", "Text", "compares", "sides"]

_NAMES = {
    Part.QUESTION: ("no_question", "question"),
    Part.ANSWER: ("no_answer", "answer"),
    Part.CONTEXTS: ("no_contexts", "passage"),
    Part.REFERENCES: ("no_references", "reference"),
}


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a case in which something can be seen."""

    part: Part
    index: int
    """Which passage or reference, from 0; 0 for a part that is one text."""
    text: str
    doc_id: str | None = None

    @property
    def kind(self) -> str:
        """What it is, in a word: `passage`."""
        return _NAMES[self.part][1]

    @property
    def label(self) -> str:
        """Which one it is, for people: `passage 2`, `the answer`."""
        return f"{self.kind} {self.index + 1}" if self.part in (Part.CONTEXTS, Part.REFERENCES) else f"the {self.kind}"


@dataclass(frozen=True, slots=True)
class Sides:
    """What is judged, and what it is judged against: one text at least on each side."""

    judged: tuple[Text, ...]
    against: tuple[Text, ...]


def compares(criterion: Criterion) -> bool:
    """Whether the criterion compares two texts: hypothesis and premise, but not a pair of answers."""
    hypothesis, premise = criterion.hypothesis, criterion.premise
    if premise is None or hypothesis == premise or not {hypothesis, premise} <= _NAMES.keys():
        return False
    if criterion.unit is Unit.CONTEXT:
        return hypothesis is Part.CONTEXTS
    return criterion.unit is not Unit.PAIR and hypothesis is not Part.CONTEXTS


def sides(case: Case, criterion: Criterion, judge: str) -> Sides | Abstained:
    """The texts that are compared; or why there is nothing to compare.

    Args:
        case: The case.
        criterion: What is asked of it.
        judge: What kind of judge asks, for the message.

    Raises:
        InputError: The criterion compares no two texts.
    """
    premise = criterion.premise
    if premise is None or not compares(criterion):
        raise InputError(
            f"case {case.id!r}: the {judge} judge can't judge {criterion.name!r}; it needs two different texts "
            "among question, answer, contexts and references, and no pair"
        )
    found: list[tuple[Text, ...]] = []
    for part in (criterion.hypothesis, premise):
        texts = tuple(text for text in _texts(case, part) if not is_blank(text.text))
        if not texts:
            code, kind = _NAMES[part]
            return Abstained(code, f"the case has no {kind}")
        found.append(texts)
    judged, against = found
    return Sides(judged, against)


def _texts(case: Case, part: Part) -> list[Text]:
    match part:
        case Part.CONTEXTS:
            return [Text(part, index, context.text, context.doc_id) for index, context in enumerate(case.contexts)]
        case Part.REFERENCES:
            return [Text(part, index, text) for index, text in enumerate(case.references)]
        case _:
            return [Text(part, 0, (case.question if part is Part.QUESTION else case.answer) or "")]
