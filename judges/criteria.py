"""The criteria that come with Judges, side by side. One of your own is a `Criterion(...)` like these, or a file.

The wording of each scale is here; the prompt around it, for judges that have one, is a file of `prompts/`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from judges.case import Part
from judges.criterion import Criterion, Level, Scale, Unit

__all__ = [
    "ANSWER_RELEVANCE",
    "COMPLETENESS",
    "CONTEXT_RECALL",
    "CONTEXT_RELEVANCE",
    "CONTEXT_SUFFICIENCY",
    "CORRECTNESS",
    "CORRECTNESS_GRADED",
    "CRITERIA",
    "FAITHFULNESS",
    "FAITHFULNESS_GRADED",
    "FAITHFULNESS_WHOLE",
    "HONEST_REFUSAL",
    "PREFERENCE",
    "SOURCE_USE",
    "TONE",
]

FAITHFULNESS = Criterion(
    name="faithfulness",
    hypothesis=Part.ANSWER,
    premise=Part.CONTEXTS,
    unit=Unit.CLAIM,
    scale=Scale(
        (
            Level("contradicted", 0.0, "The passages say otherwise."),
            Level("unsupported", 0.0, "No passage says all of it, whether or not it is true."),
            Level("supported", 1.0, "The passages say all of it, or it follows from them."),
        )
    ),
    description="Does each claim of the answer follow from the passages, and from nothing else?",
    background=(Part.QUESTION, Part.HISTORY),
    template="faithfulness",
)

FAITHFULNESS_GRADED = Criterion(
    name="faithfulness_graded",
    hypothesis=Part.ANSWER,
    premise=Part.CONTEXTS,
    unit=Unit.CLAIM,
    scale=Scale(
        (
            Level("0", 0.0, "The passages don't say it, or say otherwise, whether or not it is true."),
            Level("1", 0.5, "The passages say part of it, and nothing against the rest."),
            Level("2", 1.0, "The passages say all of it, or it follows from them."),
        )
    ),
    description="How much of each claim of the answer follows from the passages, and from nothing else?",
    background=(Part.QUESTION, Part.HISTORY),
    template="faithfulness",
)

FAITHFULNESS_WHOLE = Criterion(
    name="faithfulness_whole",
    hypothesis=Part.ANSWER,
    premise=Part.CONTEXTS,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("unfaithful", 0.0, "Something that matters isn't in the passages, or the whole misleads about them."),
            Level("mostly_faithful", 0.5, "All that matters is in the passages; a detail isn't."),
            Level(
                "faithful", 1.0, "All of it is in the passages or follows from them, and the whole gives their sense."
            ),
        )
    ),
    description="Does the answer as a whole say what the passages say: nothing added, nothing twisted?",
    background=(Part.QUESTION, Part.HISTORY),
    template="faithfulness_whole",
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
    background=(Part.HISTORY,),
    template="answer_relevance",
)

CORRECTNESS = Criterion(
    name="correctness",
    hypothesis=Part.ANSWER,
    premise=Part.REFERENCES,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("incorrect", 0.0, "It lacks or contradicts something that every reference answer says."),
            Level("correct", 1.0, "It says what one of the reference answers says, and nothing against it."),
        )
    ),
    description="Does the answer say what a reference answer says?",
    background=(Part.QUESTION, Part.HISTORY),
    template="correctness",
)

CORRECTNESS_GRADED = Criterion(
    name="correctness_graded",
    hypothesis=Part.ANSWER,
    premise=Part.REFERENCES,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("0", 0.0, "It says nothing of the reference answer, or the opposite."),
            Level("1", 0.1, "Next to nothing of it is right."),
            Level("2", 0.2, "One minor point is right."),
            Level("3", 0.3, "Several minor points are right, none that matters."),
            Level("4", 0.4, "Some of it is right, and what matters most is missing or wrong."),
            Level("5", 0.5, "About half is right."),
            Level("6", 0.6, "Somewhat more than half is right."),
            Level("7", 0.7, "What matters most is right; something else that matters is missing or wrong."),
            Level("8", 0.8, "What matters is right; several details are missing or wrong."),
            Level("9", 0.9, "Only a minor detail is missing or wrong."),
            Level("10", 1.0, "It says all that the reference answer says, and nothing against it."),
        )
    ),
    description="How much of what a reference answer says does the answer say?",
    background=(Part.QUESTION, Part.HISTORY),
    template="correctness",
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
    background=(Part.QUESTION,),
    template="completeness",
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
    background=(Part.HISTORY,),
    template="context_relevance",
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
    background=(Part.QUESTION,),
    template="context_recall",
)

CONTEXT_SUFFICIENCY = Criterion(
    name="context_sufficiency",
    hypothesis=Part.CONTEXTS,
    premise=Part.QUESTION,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("insufficient", 0.0, "The passages don't hold all that an answer to the question needs."),
            Level("sufficient", 1.0, "Taken together, the passages hold all that an answer to the question needs."),
        )
    ),
    description="Can the question be answered from the passages, taken together?",
    background=(Part.HISTORY,),
    template="context_sufficiency",
)

SOURCE_USE = Criterion(
    name="source_use",
    hypothesis=Part.ANSWER,
    premise=Part.CONTEXTS,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level(
                "misused", 0.0, "A passage is cited for what it doesn't say, or nothing that needs a source cites one."
            ),
            Level("partly_used", 0.5, "Every citation is right; some statements that need a source cite none."),
            Level(
                "well_used", 1.0, "Every statement that needs a source cites one, and each says what it is cited for."
            ),
        )
    ),
    description="Does each passage that the answer cites say what it is cited for?",
    background=(Part.QUESTION,),
    template="source_use",
)

HONEST_REFUSAL = Criterion(
    name="honest_refusal",
    hypothesis=Part.ANSWER,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("answered_unanswerable", 0.0, "The passages don't hold what is asked, and it answers all the same."),
            Level("refused_answerable", 0.0, "The passages hold what is asked, and it declines."),
            Level("honest", 1.0, "It answers where the passages hold what is asked, and declines where they don't."),
        )
    ),
    description="Does the answer decline where the passages don't hold what is asked, and only there?",
    background=(Part.QUESTION, Part.HISTORY, Part.CONTEXTS),
    template="honest_refusal",
)
"""The passages are no premise, since a case without any can be judged, too: it has to be declined."""

TONE = Criterion(
    name="tone",
    hypothesis=Part.ANSWER,
    unit=Unit.WHOLE,
    scale=Scale(
        (
            Level("unfit", 0.0, "It blames, mocks, lectures or brushes off the person who asked."),
            Level("uneven", 0.5, "It is polite, but in places stiff, gushing or out of step with the occasion."),
            Level("fit", 1.0, "It is respectful and plain, and fits the occasion."),
        )
    ),
    description="Does the answer speak to the person who asked in a fitting tone?",
    background=(Part.QUESTION, Part.HISTORY),
    template="tone",
)

PREFERENCE = Criterion(
    name="preference",
    hypothesis=Part.ANSWER,
    premise=Part.QUESTION,
    unit=Unit.PAIR,
    scale=Scale(
        (
            Level("second", 0.0, "The second answer is better."),
            Level("tie", 0.5, "Neither is better."),
            Level("first", 1.0, "The first answer is better."),
        )
    ),
    description="Which of two answers serves the person who asked better?",
    background=(Part.RIVAL, Part.HISTORY, Part.CONTEXTS),
    template="preference",
)

CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {
        criterion.name: criterion
        for criterion in (
            FAITHFULNESS,
            FAITHFULNESS_GRADED,
            FAITHFULNESS_WHOLE,
            ANSWER_RELEVANCE,
            CORRECTNESS,
            CORRECTNESS_GRADED,
            COMPLETENESS,
            CONTEXT_RELEVANCE,
            CONTEXT_RECALL,
            CONTEXT_SUFFICIENCY,
            SOURCE_USE,
            HONEST_REFUSAL,
            TONE,
            PREFERENCE,
        )
    }
)
"""By name."""
