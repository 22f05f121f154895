import pytest

from judges.case import Case, Part
from judges.checks import CHECKS, DECLARED_REFUSAL, Check, Language, Length, Phrases, Rule, ValidJson, answerable
from judges.criterion import BINARY, Criterion
from judges.plugins import available, resolve


@pytest.mark.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])
def test_a_check_of_ours_is_a_criterion_that_asks_yes_or_no_and_has_its_name(check: Check) -> None:
    criterion = check.criterion
    assert (criterion.name, criterion.hypothesis, criterion.scale) == (check.name, Part.ANSWER, BINARY)
    assert criterion.description.endswith("?")
    assert Criterion.from_record(criterion.to_record()) == criterion
    assert check.name in available("judges.criteria")
    assert resolve("judges.criteria", check.name) is check


def test_only_a_check_that_reads_a_field_depends_on_the_fields_of_the_dataset() -> None:
    assert [check.name for check in CHECKS if Part.EXTRA in check.criterion.parts] == [DECLARED_REFUSAL.name]


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        (Length(most=1500), "Has the answer at most 1,500 characters?"),
        (Length(least=2, unit="words"), "Has the answer 2 or more words?"),
        (Length(2, 4, "sentences"), "Has the answer 2 to 4 sentences?"),
        (Phrases(required=("a",), forbidden=("b",)), "Does the answer have what it must say, and nothing forbidden?"),
        (Phrases(one_of=("a",)), "Does the answer have what it must say?"),
        (Phrases(forbidden=("b",)), "Is nothing forbidden said?"),
        (Language("ca"), "Is the answer in `ca`?"),
        (ValidJson({}), "Is the answer valid JSON of the schema?"),
    ],
)
def test_the_question_tells_the_settings(rule: Rule, question: str) -> None:
    assert Check("a", rule).criterion.description == question
    assert Check("a", rule, "Mine?").criterion.description == "Mine?"


@pytest.mark.parametrize(
    ("extra", "can"),
    [
        ({"answerable": True}, True),
        ({"answerable": "false"}, False),
        ({"answerable": False, "relevant": ["d1"]}, False),
        ({"answerable": None, "relevant": ["d1"]}, True),
        ({"relevant": {"d1": 0}}, False),
        ({}, None),
    ],
)
def test_a_case_says_whether_it_can_be_answered(extra: dict[str, object], can: bool | None) -> None:
    assert answerable(Case("a", extra=extra)) is can  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
