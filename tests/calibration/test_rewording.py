"""A criterion asked otherwise asks the same."""

from dataclasses import replace

import pytest

from calibration.rewording import check_rewording, levels_renamed, levels_reversed
from judges import CORRECTNESS, FAITHFULNESS, Criterion, InputError, Part
from judges.backends.rendering import system_text, template_for
from judges.criteria import CRITERIA
from judges.criterion import Example, Level, Scale

SCALE = Scale((Level("off_topic", 0.0), Level("fine", 1.0, "It is fine.")))
PLAIN = Criterion("plain", Part.ANSWER, scale=SCALE, examples=(Example({"answer": "x"}, "fine"),))


def told(criterion: Criterion) -> str:
    return system_text(template_for(criterion), criterion, rationale=False, language=None)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=lambda each: each.name)
def test_what_levels_mean_and_are_worth_stays(criterion: Criterion) -> None:
    back, renamed = levels_reversed(criterion), levels_renamed(criterion)
    assert renamed is not None
    assert list(reversed(back.scale.levels)) == list(criterion.scale.levels)
    assert [level.score for level in renamed.scale.levels] == [level.score for level in criterion.scale.levels]
    assert len({each.fingerprint for each in (criterion, back, renamed)}) == 3


def test_the_prompt_lists_levels_the_other_way_round() -> None:
    before, after = told(FAITHFULNESS), told(levels_reversed(FAITHFULNESS))
    first, last = FAITHFULNESS.scale.labels[0], FAITHFULNESS.scale.labels[-1]
    assert before.index(f"`{first}`") < before.index(f"`{last}`")
    assert after.index(f"`{first}`") > after.index(f"`{last}`")
    assert sorted(before.splitlines()) == sorted(after.splitlines())


def test_letters_stand_for_labels_and_a_bare_label_becomes_its_description() -> None:
    renamed = levels_renamed(PLAIN)
    assert renamed is not None
    assert [(each.label, each.description) for each in renamed.scale.levels] == [
        ("K", "off topic"),
        ("L", "It is fine."),
    ]
    assert renamed.examples[0].label == "L"
    assert "off_topic" not in told(renamed)


def test_more_levels_than_letters_are_not_renamed() -> None:
    many = Scale(tuple(Level(str(number), number / 20) for number in range(21)))
    assert levels_renamed(replace(PLAIN, scale=many, examples=())) is None


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (CORRECTNESS, "what it is judged against"),
        (replace(PLAIN, scale=Scale((Level("off_topic", 0.5), Level("fine", 1.0)))), "its levels and their scores"),
    ],
)
def test_another_wording_must_ask_the_same(other: Criterion, what: str) -> None:
    check_rewording(PLAIN, replace(PLAIN, description="in other words"))
    with pytest.raises(InputError, match=f"`plain` in other words must ask the same; {what} differs"):
        check_rewording(PLAIN, other)
