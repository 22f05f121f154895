"""The door: what becomes of each field, and what is said of one that can't be taken."""

import pytest

from judges.case import Case, Context, Part, Turn
from judges.datasets.records import TARGETS, Door
from judges.datasets.source import Invalid, Record
from judges.errors import InputError
from judges.fingerprint import Json


def admit(values: dict[str, Json], fields: dict[str, str] | None = None, *required: Part) -> Case | Invalid:
    return Door(fields or {}, required).admit(Record("cases.jsonl", 17, values))


def case(values: dict[str, Json], fields: dict[str, str] | None = None, *required: Part) -> Case:
    admitted = admit(values, fields, *required)
    assert isinstance(admitted, Case), str(admitted)
    return admitted


def refusal(values: dict[str, Json], fields: dict[str, str] | None = None, *required: Part) -> str:
    admitted = admit(values, fields, *required)
    assert isinstance(admitted, Invalid)
    return str(admitted)


def test_fields_by_our_names_make_a_case_and_all_others_stay_with_it() -> None:
    assert case(
        {
            "id": "1",
            "question": "q",
            "answer": "a",
            "contexts": ["c"],
            "references": ["r", "s"],
            "history": [{"role": "user", "text": "h"}],
            "lang": "ca",
            "meta": {"domain": "x"},
            "extra": 3,
        }
    ) == Case(
        "1",
        question="q",
        answer="a",
        contexts=(Context("c", rank=1),),
        references=("r", "s"),
        history=(Turn("user", "h"),),
        lang="ca",
        extra={"meta": {"domain": "x"}, "extra": 3},
    )


def test_one_reference_or_a_list_of_them() -> None:
    assert case({"id": "1", "reference": "r"}).references == ("r",)
    assert case({"id": "1", "reference": ["r", "s"]}).references == ("r", "s")
    assert case({"id": "1", "references": "r"}).references == ("r",)
    assert case({"id": "1", "references": []}).references == ()


def test_contexts_are_texts_or_objects_and_ranked_as_they_stand_unless_they_say_otherwise() -> None:
    contexts: list[Json] = [
        "one",
        {"id": "d2", "text": "two"},
        {"doc_id": 3, "text": "three", "rank": 7, "score": 2},
    ]
    assert case({"id": "1", "contexts": contexts}).contexts == (
        Context("one", rank=1),
        Context("two", "d2", 2),
        Context("three", "3", 7, 2.0),
    )
    assert case({"id": "1", "contexts": "alone"}).contexts == (Context("alone", rank=1),)
    assert case({"id": "1", "contexts": {"text": "alone"}}).contexts == (Context("alone", rank=1),)


def test_a_list_with_more_in_it_than_a_case_holds_is_kept_as_it_was() -> None:
    contexts: list[Json] = ["one", {"text": "two", "title": "Two"}]
    history: list[Json] = [{"role": "user", "content": "h", "time": 3}]
    plain = case({"id": "1", "contexts": [{"id": "d", "text": "one"}], "history": ["h"]})
    assert plain.extra == {}
    assert case({"id": "1", "contexts": contexts, "history": history}).extra == {
        "contexts": contexts,
        "history": history,
    }
    both: list[Json] = [{"id": "a", "doc_id": "b", "text": "x"}]
    assert case({"id": "1", "contexts": both}).extra == {"contexts": both}
    nested: dict[str, Json] = {"docs": contexts}
    assert case({"id": "1", "data": nested}, {"contexts": "data.docs"}).extra == {"data": nested}


def test_a_turn_is_an_object_with_text_or_content_and_bare_text_is_the_users() -> None:
    history: list[Json] = [{"role": "user", "text": "a"}, {"role": "assistant", "content": "b"}, "c"]
    turns = (Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c"))
    assert case({"id": "1", "history": history}).history == turns
    assert case({"id": "1", "history": "a"}).history == (Turn("user", "a"),)


def test_a_pair_is_answers_a_and_answers_b_however_the_file_nests_them() -> None:
    pair = Case("1", answer="x", rival="y", extra={})
    assert case({"id": "1", "answers": {"a": "x", "b": "y"}}) == pair
    assert case({"id": "1", "answers.a": "x", "answers.b": "y"}) == pair
    assert case({"id": "1", "answer": "x", "rival": "y"}) == pair
    more: dict[str, Json] = {"a": "x", "b": "y", "c": "z"}
    assert case({"id": "1", "answers": more}) == Case("1", answer="x", rival="y", extra={"answers": more})


def test_answers_that_are_no_pair_are_a_field_like_any_other() -> None:
    for answers in (["x", "y"], {"text": ["x"]}, "x", None):
        read = case({"id": "1", "answers": answers})
        assert read == Case("1", extra={"answers": answers})


def test_a_pair_may_be_mapped_the_other_way_round() -> None:
    swapped = case({"id": "1", "answers": {"a": "x", "b": "y"}}, {"answers.a": "answers.b", "answers.b": "answers.a"})
    assert (swapped.answer, swapped.rival, swapped.extra) == ("y", "x", {"answers": {"a": "x", "b": "y"}})


def test_a_mapped_field_and_the_one_it_displaces_both_stay() -> None:
    values: dict[str, Json] = {"id": "1", "question": "long", "query": "short", "references": ["r", "s"]}
    read = case(values, {"question": "query", "reference": "references.0"})
    assert (read.question, read.references) == ("short", ("r",))
    assert read.extra == {"question": "long", "query": "short", "references": ["r", "s"]}


def test_a_field_mapped_to_itself_is_taken_as_if_it_were_not_mapped() -> None:
    values: dict[str, Json] = {"id": "1", "reference": "r", "references": ["s"]}
    assert case(values, {"references": "references"}) == Case("1", references=("s",), extra={"reference": "r"})
    assert case({"id": "1", "answers": {"a": "x"}}, {"answer": "answers.a"}) == Case("1", answer="x", extra={})


def test_two_names_for_one_part_must_be_chosen_between_unless_one_is_null() -> None:
    assert refusal({"id": "1", "reference": "r", "references": ["s"]}) == (
        "cases.jsonl:17: `references` and `reference` are both there and are one part of a case;"
        " choose with --map references=references or --map references=reference"
    )
    assert case({"id": "1", "reference": "r", "references": None}).references == ("r",)
    assert case({"id": "1", "references": ["s"], "reference": None}).references == ("s",)


def test_null_is_present_but_empty() -> None:
    values: dict[str, Json] = dict.fromkeys(["question", "answer", "contexts", "references", "history", "lang"])
    everything = (Part.QUESTION, Part.ANSWER, Part.CONTEXTS, Part.REFERENCES, Part.HISTORY)
    assert case({"id": "1", **values}, None, *everything) == Case("1", extra={})


@pytest.mark.parametrize("part", [part for part in Part if part is not Part.EXTRA])
def test_a_part_that_is_asked_for_and_absent_is_named_with_its_remedy(part: Part) -> None:
    name = "answers.b" if part is Part.RIVAL else part.value
    expected = f"cases.jsonl:17: `{name}` is missing; map another field with --map {name}=FIELD"
    assert refusal({"id": "1"}, None, part) == expected


def test_what_no_field_holds_is_never_asked_for() -> None:
    assert case({"id": "1"}, None, Part.EXTRA) == Case("1", extra={})


def test_a_mapped_field_that_is_absent_is_named_as_it_was_mapped() -> None:
    assert refusal({"id": "1", "answer": "x"}, {"answer": "out.text"}, Part.ANSWER) == (
        "cases.jsonl:17: `out.text` is missing (--map answer=out.text); map another field with --map answer=FIELD"
    )
    assert case({"id": "1", "answer": "x"}, {"answer": "out.text"}) == Case("1", extra={"answer": "x"})


@pytest.mark.parametrize("values", [{}, {"id": None}])
def test_a_case_without_an_id_can_be_numbered(values: dict[str, Json]) -> None:
    assert refusal(values) == (
        "cases.jsonl:17: `id` is missing; map another field with --map id=FIELD,"
        " or number the cases with --map id=@line"
    )
    assert case(values, {"id": "@line"}).id == "17"


@pytest.mark.parametrize(("value", "text"), [(1998, "1998"), (2.5, "2.5"), (True, "true"), (-0.0, "-0.0"), ("", "")])
def test_a_number_or_truth_value_is_taken_as_its_text(value: Json, text: str) -> None:
    assert case({"id": 5, "answer": value, "reference": value, "contexts": [{"text": value}]}) == Case(
        "5", answer=text, references=(text,), contexts=(Context(text, rank=1),), extra={}
    )


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"id": ""}, "`id` is empty; map another field with --map id=FIELD"),
        ({"id": 1.5}, "`id` is a number (1.5), which can't be kept digit by digit; write it as text"),
        ({"id": True}, "`id` is true, not text"),
        ({"id": ["x"]}, "`id` is a list, not text"),
        ({"answer": ["x"]}, "`answer` is a list, not text; map another field with --map answer=FIELD"),
        ({"answer": 1e29}, "`answer` is a number (1e+29), which can't be kept digit by digit; write it as text"),
        ({"question": {"en": "x"}}, "`question` is an object, not text"),
        ({"lang": 3}, "`lang` is a number (3), not text"),
        ({"contexts": 3}, "`contexts` is a number (3), not a list"),
        ({"contexts": ["a", "b", "c", None]}, "`contexts.3` is null, not text or an object with `text`"),
        ({"contexts": [{"id": "d"}]}, "`contexts.0.text` is missing"),
        ({"contexts": [{"text": None}]}, "`contexts.0.text` is null, not text"),
        ({"contexts": [{"text": "x", "rank": 0}]}, "`contexts.0.rank` is a number (0), not a whole number from 1"),
        ({"contexts": [{"text": "x", "rank": "1"}]}, '`contexts.0.rank` is text ("1"), not a whole number from 1'),
        ({"contexts": [{"text": "x", "score": "high"}]}, '`contexts.0.score` is text ("high"), not a number'),
        ({"references": ["a", None]}, "`references.1` is null, not text"),
        ({"reference": ["a", ["b"]]}, "`reference.1` is a list, not text"),
        ({"history": {"role": "user"}}, "`history` is an object, not a list"),
        ({"history": [{"text": "x"}]}, "`history.0.role` is missing"),
        ({"history": [{"role": "user"}]}, "`history.0.text` is missing"),
        ({"answers": {"a": "x", "b": {}}}, "`answers.b` is an object, not text"),
    ],
)
def test_what_does_not_fit_is_named_with_what_was_found(values: dict[str, Json], complaint: str) -> None:
    told = refusal({"id": "1", **values})
    assert told.startswith(f"cases.jsonl:17: {complaint}")
    assert told.endswith(("=FIELD", "--skip-invalid"))


def test_a_mapped_field_is_called_by_its_own_name_when_it_does_not_fit() -> None:
    told = refusal({"id": "1", "data": {"docs": ["x", 3]}}, {"contexts": "data.docs"})
    assert told.startswith("cases.jsonl:17: `data.docs.1` is a number (3), not text or an object with `text`")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"anwser": "x"}, "`anwser` is no field of a case; there are answer, "),
        ({"extra": "x"}, "`extra` is no field of a case"),
        ({"reference": "a", "references": "b"}, "fill the same part of a case; keep one"),
        ({"answer": "a", "answers.a": "b"}, "--map answer=... and --map answers.a=... fill the same part"),
        ({"answer": ""}, "name the field to take it from"),
        ({"answer": "@line"}, "@line can only be an id"),
    ],
)
def test_a_mapping_that_can_not_be_followed_is_refused_at_once(fields: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError) as error:
        Door(fields, ())
    assert complaint in str(error.value)


def test_an_unknown_target_is_answered_with_all_that_there_are() -> None:
    with pytest.raises(InputError) as error:
        Door({"\x1b[31mcontext": "x"}, ())
    assert "\x1b" not in str(error.value)
    assert all(target in str(error.value) for target in TARGETS)


@pytest.mark.parametrize(
    "hostile", ["\x1b[2J\r\n\x07", "\u202eevil", "\u2028", "\ud800", "x" * 100_000, "\0" * 100_000]
)
def test_hostile_names_and_values_are_told_in_one_short_printable_line(hostile: str) -> None:
    for told in (
        refusal({"id": "1", "contexts": [{"text": "x", "rank": hostile}]}),
        refusal({"id": "1", "data": {hostile: ["x"]}}, {"answer": f"data.{hostile}"}),
        refusal({"id": "1"}, {"answer": hostile}, Part.ANSWER),
    ):
        assert told.isprintable()
        assert len(told) < 400
