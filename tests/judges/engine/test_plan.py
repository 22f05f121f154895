from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import FAITHFULNESS, Case, Context, Criterion, InputError, Part, TokenOverlapJudge, Turn, Verdict
from judges.backends.prompted import PromptedJudge
from judges.backends.swapped import Swapped
from judges.criteria import CRITERIA
from judges.engine.plan import Assignment, assign, key_of, plan
from judges.fingerprint import Json
from judges.services.scripted import ScriptedChat
from support.builders import ANSWERED, GROUNDED, CountingJudge, make_case

FULL = Case(
    "q1",
    "question",
    "answer",
    (Context("passage", "d1", 1, 0.5),),
    ("reference",),
    rival="rival",
    history=(Turn("user", "earlier"),),
    lang="en",
    extra={"field": 1},
)

CASE_CHANGES: Mapping[Part, list[dict[str, Any]]] = {
    Part.QUESTION: [{"question": "other"}, {"question": None}],
    Part.ANSWER: [{"answer": "other"}, {"answer": ""}, {"answer": None}],
    Part.RIVAL: [{"rival": "other"}],
    Part.REFERENCES: [{"references": ("other",)}, {"references": ()}, {"references": ("reference", "more")}],
    Part.HISTORY: [{"history": ()}, {"history": (Turn("assistant", "earlier"),)}],
    Part.CONTEXTS: [
        {"contexts": ()},
        {"contexts": (Context("other", "d1", 1, 0.5),)},
        {"contexts": (Context("passage", "d2", 1, 0.5),)},
        {"contexts": (Context("passage", "d1", 2, 0.5),)},
        {"contexts": (Context("passage", "d1", 1, 0.6),)},
    ],
    Part.EXTRA: [{"extra": {"field": 2}}],
}

criteria = st.builds(
    Criterion,
    name=st.just("any"),
    hypothesis=st.sampled_from(Part),
    premise=st.none() | st.sampled_from(Part),
    background=st.lists(st.sampled_from(Part), max_size=2).map(tuple),
)


@given(criteria, st.sampled_from([(part, change) for part, changes in CASE_CHANGES.items() for change in changes]))
def test_a_changed_part_changes_the_key_exactly_when_the_criterion_reads_it(
    criterion: Criterion, changed: tuple[Part, dict[str, Any]]
) -> None:
    part, change = changed
    assignment = Assignment(criterion, "j", "j@1")
    same = key_of(FULL, assignment, 0) == key_of(replace(FULL, **change), assignment, 0)
    assert same == (part not in criterion.parts)


@given(criteria)
def test_the_id_is_in_no_key_and_the_language_in_every_one(criterion: Criterion) -> None:
    assignment = Assignment(criterion, "j", "j@1")
    assert key_of(FULL, assignment, 0) == key_of(replace(FULL, id="q2"), assignment, 0)
    assert key_of(FULL, assignment, 0) != key_of(replace(FULL, lang="fr"), assignment, 0)


def test_criterion_judge_and_replicate_are_in_every_key_and_names_and_thresholds_in_none() -> None:
    base = Assignment(GROUNDED, "j", "j@1", 0.5)
    key = key_of(FULL, base, 0)
    assert key != key_of(FULL, base, 1)
    assert key != key_of(FULL, replace(base, criterion=replace(GROUNDED, description="other")), 0)
    assert key != key_of(FULL, replace(base, judge_fingerprint="j@2"), 0)
    assert key == key_of(FULL, replace(base, judge="another name"), 0)
    assert key == key_of(FULL, replace(base, threshold=0.9), 0)


@dataclass(frozen=True)
class LineSplitter:
    """Another splitter."""

    fingerprint: str = "lines@1"

    def split(self, text: str, lang: str | None = None) -> Any:
        raise NotImplementedError


def test_another_splitter_or_parameter_of_the_overlap_judge_is_another_judge_but_another_threshold_is_not() -> None:
    usual = TokenOverlapJudge()
    assert TokenOverlapJudge(LineSplitter()).fingerprint != usual.fingerprint
    assert TokenOverlapJudge(threshold=0.9).fingerprint == usual.fingerprint


def test_keys_of_all_built_in_criteria_differ() -> None:
    keys = {key_of(FULL, Assignment(criterion, "j", "j@1"), 0) for criterion in CRITERIA.values()}
    assert len(keys) == len(CRITERIA)


def test_the_plan_goes_case_by_case_through_criteria_judges_and_replicates() -> None:
    assignments = assign([ANSWERED, GROUNDED], [CountingJudge("a"), CountingJudge("b")])
    works = list(plan([make_case(1), make_case(2)], assignments, replicates=2))
    order = [(w.case.id, w.assignment.criterion.name, w.assignment.judge, w.replicate) for w in works]
    assert order == sorted(order)
    assert len(works) == 16


def test_an_assignment_comes_back_from_its_record() -> None:
    [assignment] = assign([GROUNDED], [CountingJudge()])
    again = Assignment.from_record(assignment.to_record())
    assert again == assignment
    assert again.fingerprint == assignment.fingerprint


@pytest.mark.parametrize(
    ("asked", "judges", "message"),
    [
        ([], [CountingJudge()], "at least one criterion"),
        ([ANSWERED], [], "at least one criterion and one judge"),
        ([ANSWERED, ANSWERED], [CountingJudge()], "two criteria are called `answered`"),
        ([ANSWERED], [CountingJudge(), CountingJudge()], "two judges are called `counting`"),
        ([Criterion("other", Part.ANSWER)], [CountingJudge()], "`counting` can't judge `other`"),
    ],
)
def test_what_can_not_be_judged_is_refused_before_anything_is_spent(
    asked: list[Criterion], judges: list[CountingJudge], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        assign(asked, judges)


class Sent:
    """Sends parameters to a service as they are."""

    name = "sent"
    fingerprint = "sent@1"

    def supports(self, criterion: Criterion) -> bool:
        return True

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        return Verdict(1.0)

    def describe(self, criterion: Criterion) -> dict[str, Json]:
        return {"model": "m-1", "parameters": {"temperature": 0, "effort": "low", "headers": ["Bearer sk-1234"]}}


def test_an_assignment_says_what_the_judge_is_made_of_and_keeps_no_secret() -> None:
    [assignment] = assign([ANSWERED], [Sent()])
    described = assignment.judge_described
    assert described is not None
    assert described["model"] == "m-1"
    assert "sk-1234" not in str(described)
    assert str(described["parameters"]).startswith("{'temperature': 0, 'effort': 'low', 'headers': ['#")
    assert Assignment.from_record(assignment.to_record()).judge_described == described
    [undescribed] = assign([ANSWERED], [CountingJudge()])
    assert undescribed.judge_described is None


def test_a_calibration_and_a_description_are_no_part_of_any_key() -> None:
    plain = Assignment(ANSWERED, "j", "j@1")
    told = Assignment(ANSWERED, "j", "j@1", 0.7, {"model": "m-1"}, {"map": None})
    assert told == plain
    assert key_of(FULL, told, 0) == key_of(FULL, plain, 0)
    assert Assignment.from_record(told.to_record()).calibration == {"map": None}


def test_a_model_s_judge_names_model_service_parameters_and_template() -> None:
    made = [
        PromptedJudge(ScriptedChat(["yes"]), model, identity="openai https://a.example", parameters={"seed": seed})
        for model, seed in (("m-1", 1), ("m-2", 2))
    ]
    first, second = (assign([FAITHFULNESS], [Swapped(judge)])[0].judge_described for judge in made)
    assert first is not None
    assert second is not None
    assert {name for name in first if first[name] != second[name]} == {"model", "parameters"}
    assert first["service"] == "openai https://a.example"
    assert str(first["template"]).startswith("faithfulness")
