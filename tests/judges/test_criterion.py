import json
from dataclasses import replace

import pytest

from judges import Criterion, Level, Part, Scale, Unit
from judges.criteria import CRITERIA

CHANGES: list[dict[str, object]] = [
    {"name": "other"},
    {"hypothesis": Part.QUESTION},
    {"premise": Part.REFERENCES},
    {"premise": None},
    {"unit": Unit.CLAIM},
    {"scale": Scale((Level("no", 0.0), Level("half", 0.5), Level("yes", 1.0)))},
    {"scale": Scale((Level("no", 0.0), Level("yes", 1.0, "another description")))},
    {"description": "other"},
    {"background": (Part.HISTORY,)},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_every_field_counts_in_the_fingerprint(change: dict[str, object]) -> None:
    criterion = Criterion("grounded", Part.ANSWER, Part.CONTEXTS)
    assert replace(criterion, **change).fingerprint != criterion.fingerprint  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=lambda criterion: criterion.name)
def test_a_criterion_comes_back_from_its_record(criterion: Criterion) -> None:
    again = Criterion.from_record(json.loads(json.dumps(criterion.to_record())))
    assert again == criterion
    assert again.fingerprint == criterion.fingerprint


def test_the_parts_are_hypothesis_premise_and_background_each_once() -> None:
    criterion = Criterion("x", Part.ANSWER, Part.CONTEXTS, background=(Part.QUESTION, Part.CONTEXTS))
    assert criterion.parts == (Part.QUESTION, Part.ANSWER, Part.CONTEXTS)


@pytest.mark.parametrize(
    "levels",
    [
        (),
        (Level("yes", 1.0),),
        (Level("yes", 1.0), Level("no", 0.0)),
        (Level("no", 0.0), Level("no", 1.0)),
        (Level("no", 0.0), Level("yes", 2.0)),
        (Level("no", float("nan")), Level("yes", 1.0)),
    ],
    ids=str,
)
def test_a_scale_that_makes_no_sense_is_refused(levels: tuple[Level, ...]) -> None:
    with pytest.raises(ValueError, match="scale"):
        Scale(levels)
