"""The criteria that come with Judges, side by side. One of your own is a `Criterion(...)` like these."""

from collections.abc import Mapping
from types import MappingProxyType

from judges.case import Part
from judges.criterion import Criterion, Level, Scale, Unit

__all__ = [
    "ANSWER_RELEVANCE",
    "COMPLETENESS",
    "CONTEXT_RECALL",
    "CONTEXT_RELEVANCE",
    "CORRECTNESS",
    "CRITERIA",
    "FAITHFULNESS",
]

FAITHFULNESS = Criterion(
    name="faithfulness",
    hypothesis=Part.ANSWER,
    premise=Part.CONTEXTS,
    unit=Unit.CLAIM,
    scale=Scale(
        (
            Level("contradicted", 0.0, "A passage says otherwise."),
            Level("unsupported", 0.0, "No passage says so, whether or not it is true."),
            Level("partly_supported", 0.5, "The passages say part of it, and nothing against the rest."),
            Level("supported", 1.0, "The passages say so, or it follows from them."),
        )
    ),
    description="Does each claim of the answer follow from the passages, and from nothing else?",
)

ANSWER_RELEVANCE = Criterion(
    name="answer_relevance",
    hypothesis=Part.ANSWER,
    premise=Part.QUESTION,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("irrelevant", 0.0, "It doesn't address the question."),
            Level("partly_relevant", 0.5, "It addresses part of the question, or much of it is beside the point."),
            Level("relevant", 1.0, "It addresses what was asked, and little else."),
        )
    ),
    description="Does the answer address the question, whether or not it is right?",
)

CORRECTNESS = Criterion(
    name="correctness",
    hypothesis=Part.ANSWER,
    premise=Part.REFERENCES,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("incorrect", 0.0, "It says something else than every reference answer, or nothing."),
            Level("partly_correct", 0.5, "It gives part of a reference answer, and nothing against the rest."),
            Level("correct", 1.0, "It says what one of the reference answers says."),
        )
    ),
    description="Does the answer say what a reference answer says?",
)

COMPLETENESS = Criterion(
    name="completeness",
    hypothesis=Part.REFERENCES,
    premise=Part.ANSWER,
    unit=Unit.CLAIM,
    scale=Scale(
        (
            Level("missing", 0.0, "The answer doesn't say it, or says otherwise."),
            Level("partly_covered", 0.5, "The answer says part of it."),
            Level("covered", 1.0, "The answer says it, or it follows from the answer."),
        )
    ),
    description="Does the answer contain each claim of the reference answer?",
)

CONTEXT_RELEVANCE = Criterion(
    name="context_relevance",
    hypothesis=Part.CONTEXTS,
    premise=Part.QUESTION,
    unit=Unit.CONTEXT,
    scale=Scale(
        (
            Level("irrelevant", 0.0, "It doesn't help to answer the question."),
            Level("partly_relevant", 0.5, "It is on the subject, or helps to answer part of the question."),
            Level("relevant", 1.0, "It holds what is needed to answer the question, or a good part of it."),
        )
    ),
    description="Does each passage help to answer the question?",
)

CONTEXT_RECALL = Criterion(
    name="context_recall",
    hypothesis=Part.REFERENCES,
    premise=Part.CONTEXTS,
    unit=Unit.CLAIM,
    scale=Scale(
        (
            Level("missing", 0.0, "No passage says it."),
            Level("partly_found", 0.5, "The passages say part of it."),
            Level("found", 1.0, "The passages say it, or it follows from them."),
        )
    ),
    description="Do the passages hold each claim of the reference answer?",
)

CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        criterion.name: criterion
        for criterion in (
            FAITHFULNESS,
            ANSWER_RELEVANCE,
            CORRECTNESS,
            COMPLETENESS,
            CONTEXT_RELEVANCE,
            CONTEXT_RECALL,
        )
    }
)
"""By name."""
