import pytest

from judges.case import Part
from judges.criteria import (
    ANSWER_RELEVANCE,
    COMPLETENESS,
    CONTEXT_RECALL,
    CONTEXT_RELEVANCE,
    CONTEXT_SUFFICIENCY,
    CORRECTNESS,
    CRITERIA,
    FAITHFULNESS,
    HONEST_REFUSAL,
    TONE,
)
from judges.criterion import Criterion, Unit


@pytest.mark.parametrize(
    ("criterion", "name", "hypothesis", "premise", "unit"),
    [
        (FAITHFULNESS, "faithfulness", Part.ANSWER, Part.CONTEXTS, Unit.CLAIM),
        (ANSWER_RELEVANCE, "answer_relevance", Part.ANSWER, Part.QUESTION, Unit.WHOLE),
        (CORRECTNESS, "correctness", Part.ANSWER, Part.REFERENCES, Unit.WHOLE),
        (COMPLETENESS, "completeness", Part.REFERENCES, Part.ANSWER, Unit.CLAIM),
        (CONTEXT_RELEVANCE, "context_relevance", Part.CONTEXTS, Part.QUESTION, Unit.CONTEXT),
        (CONTEXT_RECALL, "context_recall", Part.REFERENCES, Part.CONTEXTS, Unit.CLAIM),
        (CONTEXT_SUFFICIENCY, "context_sufficiency", Part.CONTEXTS, Part.QUESTION, Unit.WHOLE),
        (HONEST_REFUSAL, "honest_refusal", Part.ANSWER, None, Unit.WHOLE),
        (TONE, "tone", Part.ANSWER, None, Unit.WHOLE),
    ],
)
def test_each_criterion_says_what_is_held_against_what(
    criterion: Criterion, name: str, hypothesis: Part, premise: Part | None, unit: Unit
) -> None:
    assert (criterion.name, criterion.hypothesis, criterion.premise, criterion.unit) == (
        name,
        hypothesis,
        premise,
        unit,
    )
    assert CRITERIA[name] is criterion


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_each_scale_goes_from_nothing_to_all_and_every_level_is_described(criterion: Criterion) -> None:
    levels = criterion.scale.levels
    assert (levels[0].score, levels[-1].score) == (0, 1)
    assert all(level.description.endswith(".") for level in levels)
    assert criterion.description.endswith("?")


def test_no_two_criteria_are_the_same() -> None:
    assert len({criterion.fingerprint for criterion in CRITERIA.values()}) == len(CRITERIA)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_what_serves_as_background_is_not_judged(criterion: Criterion) -> None:
    assert not {criterion.hypothesis, criterion.premise} & set(criterion.background)
