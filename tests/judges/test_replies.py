import json
import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.criteria import CORRECTNESS_GRADED, FAITHFULNESS
from judges.criterion import Level, Scale
from judges.errors import EmptyReply, InvalidReply, ReplyError
from judges.replies import Items, Said, claims_schema, items_schema, level_schema, read_claims, read_items, read_level
from support.scripted_models import items_of, said_of

SCALE = FAITHFULNESS.scale
ASKED = ("c1", "c2", "c3")
RIGHT = {"c1": "supported", "c2": "unsupported", "c3": "contradicted"}


def read(text: str) -> dict[str, str]:
    return {name: said.label for name, said in read_items(text, SCALE, ASKED).said.items()}


def complaint(text: str) -> str:
    return read_items(text, SCALE, ASKED).complaint or ""


def refusal(reading: Callable[[], object]) -> str:
    """Why a reply is refused; empty if it isn't."""
    try:
        reading()
    except ReplyError as error:
        return str(error)
    return ""


# --- Schemas --------------------------------------------------------------------------------------------------------


def test_the_rationale_comes_before_the_verdict_and_may_be_left_out() -> None:
    assert level_schema(SCALE, rationale=True)["required"] == ["rationale", "verdict"]
    assert level_schema(SCALE, rationale=False)["required"] == ["verdict"]


def test_the_schema_of_items_names_each_level_and_allows_nothing_else() -> None:
    assert items_schema(SCALE, rationale=True) == {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "rationale": {"type": "string"},
                        "verdict": {"type": "string", "enum": ["contradicted", "unsupported", "supported"]},
                    },
                    "required": ["id", "rationale", "verdict"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["items"],
        "additionalProperties": False,
    }
    assert claims_schema()["required"] == ["claims"]


# --- The whole ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        said_of("supported"),
        f"\n  {said_of('supported')}\n",
        f"```json\n{said_of('supported')}\n```",
        f"```\n{said_of('supported')}```",
        f"Here is my verdict:\n{said_of('supported')}\nI hope this helps.",
        f"In the set {{a, b}} and at {{}} it is so. {said_of('supported')}",
        f"\ufeff{said_of('supported')}",
        f'<think>\n{{"verdict": "contradicted"}}? No.\n</think>\n{said_of("supported")}',
        f'It might be {{"verdict": "contradicted"}}. No.</think>{said_of("supported")}',
        f"{said_of('supported')}\n\n{said_of('supported')}",
        f"{said_of('supported')}}}",
        said_of(" Supported "),
        '{"verdict": "supported", "rationale": "It says so.", "confidence": 0.9}',
    ],
)
def test_one_object_is_read_whatever_stands_around_it(text: str) -> None:
    assert read_level(text, SCALE) == Said("supported", "It says so.")


def test_a_verdict_needs_no_rationale() -> None:
    assert read_level('{"verdict": "supported"}', SCALE) == Said("supported")
    assert read_level('{"rationale": null, "verdict": "supported"}', SCALE) == Said("supported")


def test_half_a_character_in_a_rationale_or_claim_is_replaced() -> None:
    assert read_level('{"rationale": "a\\ud83d b", "verdict": "supported"}', SCALE).rationale == "a? b"
    assert read_level('{"rationale": "\\ud83d\\ude00", "verdict": "supported"}', SCALE).rationale == "😀"
    assert read_claims('{"claims": ["a\\udc00"]}') == ("a?",)


def test_a_level_that_is_a_number_may_be_given_as_one() -> None:
    assert read_level('{"rationale": "", "verdict": 10}', CORRECTNESS_GRADED.scale).label == "10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The claim is supported.", "no JSON object"),
        ('"supported"', "no object"),
        ("[]", "no object"),
        ("null", "no object"),
        ("NaN", "NaN is no JSON value"),
        ("{}", "`verdict`: field required"),
        ('{"rationale": "supported"}', "`verdict`: field required"),
        ('{"verdict": "mostly supported"}', "must be one of contradicted, unsupported, supported"),
        ('{"verdict": "SUPPORTED."}', "must be one of"),
        ('{"verdict": ""}', "must be one of"),
        ('{"verdict": null}', "`verdict`"),
        ('{"verdict": true}', "`verdict`"),
        ('{"verdict": 1.0}', "`verdict`"),
        ('{"verdict": NaN}', "NaN is no JSON value"),
        ('{"verdict": -Infinity}', "-Infinity is no JSON value"),
        ('{"verdict": ["supported"]}', "`verdict`"),
        ('{"verdict": {"label": "supported"}}', "`verdict`"),
        ('{"verdict": "supported", "verdict": "contradicted"}', "`verdict` comes twice"),
        ('{"verdict": "supported", "verdict": "supported"}', "`verdict` comes twice"),
        ('{"rationale": 7, "verdict": "supported"}', "`rationale`"),
        ('{"verdict": "supported"} or {"verdict": "contradicted"}', "more than one JSON object"),
        ('```json\n{"verdict": "supported"}\n```\n{"verdict": "contradicted"}', "more than one JSON object"),
        ('{"rationale": "cut off', "no JSON object"),
        ('{"rationale": "x", "draft": {"verdict": "supported"}, "verdict": "contradicted"', "no JSON object"),
        ('{"rationale": "x" "verdict": "supported"}', "no JSON object"),
        ('{draft: {"verdict": "supported"}}', "no JSON object"),
        ("{'verdict': 'supported'}", "no JSON object"),
        ('<think>{"verdict": "supported"}', "thoughts don't end"),
        ("{" * 100_000, "no JSON object"),
        ('{"a":' * 100_000, "no JSON object"),
        ('{"verdict":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
        (f'{{"verdict": {"1" * 5000}}}', "too long"),
    ],
)
def test_what_is_not_one_verdict_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        read_level(text, SCALE)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "  \n\t", "<think>Hm.</think>", "Hm.</think>\n"])
def test_a_reply_without_anything_is_empty(text: str) -> None:
    with pytest.raises(EmptyReply):
        read_level(text, SCALE)


def test_labels_that_differ_in_case_only_are_told_apart() -> None:
    scale = Scale((Level("a", 0.0), Level("A", 1.0)))
    assert read_level('{"verdict": "A"}', scale).label == "A"
    assert read_level('{"verdict": "a"}', scale).label == "a"
    scale = Scale((Level("ss", 0.0), Level("SS", 1.0)))
    with pytest.raises(InvalidReply, match="must be one of ss, SS"):
        read_level('{"verdict": "ß"}', scale)


def test_what_a_message_quotes_moves_no_cursor_and_is_short() -> None:
    with pytest.raises(InvalidReply) as caught:
        read_level(json.dumps({"verdict": "\x1b[2J\u202e" + "x" * 9999}), SCALE)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


# --- Items ----------------------------------------------------------------------------------------------------------


def test_items_are_matched_by_id_in_any_order() -> None:
    found = read_items(items_of(reversed(RIGHT.items())), SCALE, ASKED)
    assert found.complaint is None
    assert list(found.said) == list(ASKED)
    assert {name: said.label for name, said in found.said.items()} == RIGHT


def test_a_missing_item_is_named_and_the_others_count() -> None:
    text = items_of({"c1": "supported"}.items())
    assert read(text) == {"c1": "supported"}
    assert complaint(text) == "missing: c2, c3"


def test_an_item_that_nobody_asked_for_is_named_and_gives_no_verdict() -> None:
    text = items_of({**RIGHT, "c9": "supported"}.items())
    assert read(text) == RIGHT
    assert complaint(text) == "`c9` was not asked for"


def test_an_item_that_comes_twice_counts_for_nothing_even_where_both_agree() -> None:
    text = items_of([*RIGHT.items(), ("c2", "unsupported")])
    assert read(text) == {"c1": "supported", "c3": "contradicted"}
    assert complaint(text) == "`c2` comes 2 times"


def test_an_item_with_an_unknown_level_is_left_out() -> None:
    text = items_of({**RIGHT, "c2": "maybe"}.items())
    assert read(text) == {"c1": "supported", "c3": "contradicted"}
    assert "entry 2: `verdict` is `maybe`" in complaint(text)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"verdict": "supported"}, "entry 1: `id`: field required"),
        ({"id": 1, "verdict": "supported"}, "entry 1: `id`"),
        ({"id": "c1"}, "entry 1: `verdict`: field required"),
        ({"id": "c1", "verdict": None}, "entry 1: `verdict`"),
        ({"id": "C1", "verdict": "supported"}, "`C1` was not asked for"),
        ("c1", "entry 1: it should be an object"),
        (None, "entry 1: it should be an object"),
        ([], "entry 1: it should be an object"),
    ],
)
def test_an_item_of_the_wrong_kind_gives_no_verdict(item: object, message: str) -> None:
    text = json.dumps({"items": [item]})
    assert read(text) == {}
    assert message in complaint(text)
    assert "missing: c1, c2, c3" in complaint(text)


def test_ids_that_are_settled_are_passed_over_and_can_not_be_changed() -> None:
    found = read_items(
        items_of({"c1": "supported", "c2": "no level", "c3": "contradicted"}.items()), SCALE, ["c3"], ["c1", "c2"]
    )
    assert found == Items({"c3": Said("contradicted", "It says so.")}, None)


@pytest.mark.parametrize(
    "text", ['{"items": {}}', '{"items": null}', "{}", "[]", '{"verdict": "supported"}', "c1: yes"]
)
def test_a_reply_without_a_list_is_refused(text: str) -> None:
    with pytest.raises(InvalidReply):
        read_items(text, SCALE, ASKED)


def test_a_list_of_a_hundred_thousand_wrong_items_has_a_short_complaint() -> None:
    text = items_of((f"x{number}", "supported") for number in range(100_000))
    assert len(complaint(text)) < 600


def test_an_empty_list_misses_all() -> None:
    assert complaint('{"items": []}') == "missing: c1, c2, c3"


# --- Claims ---------------------------------------------------------------------------------------------------------


def test_claims_keep_their_order_and_blank_ones_are_left_out() -> None:
    assert read_claims('{"claims": [" b ", "a", " ", "b"]}') == ("b", "a", "b")
    assert read_claims('{"claims": []}') == ()


@pytest.mark.parametrize("text", ['{"claims": "a"}', '{"claims": [1]}', '{"claims": [["a"]]}', "{}", "- a\n- b"])
def test_what_is_no_list_of_texts_is_refused(text: str) -> None:
    with pytest.raises(InvalidReply):
        read_claims(text)


# --- Properties -----------------------------------------------------------------------------------------------------

LABELS = st.sampled_from(SCALE.labels)
PROSE = st.text(st.characters(exclude_characters="{}<")).filter(lambda text: not text.lstrip().startswith('"'))
WHOLE_REPLIES = st.dictionaries(st.sampled_from(ASKED), LABELS, min_size=3)


@given(WHOLE_REPLIES, PROSE, PROSE, st.randoms(use_true_random=False), st.booleans())
def test_noise_around_a_reply_and_shuffling_in_it_change_nothing(
    verdicts: Mapping[str, str], before: str, after: str, random: random.Random, in_a_fence: bool
) -> None:
    items = [{"id": name, "rationale": "r", "verdict": label} for name, label in verdicts.items()]
    random.shuffle(items)
    shuffled = [dict(random.sample(list(item.items()), len(item))) for item in items]
    text = json.dumps({"items": shuffled})
    text = f"```json\n{text}\n```" if in_a_fence else text
    found = read_items(f"{before}{text}{after}", SCALE, ASKED)
    assert found.complaint is None
    assert {name: said.label for name, said in found.said.items()} == dict(verdicts)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*SCALE.labels, *ASKED]),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["items", "id", "verdict", "rationale", "x"]), inner)
    ),
)
ANY_REPLIES = st.one_of(
    st.text(),
    st.text(st.sampled_from('{}[]":,\\ \n`c1supported')),
    JSON.map(json.dumps),
    st.lists(JSON.map(json.dumps)).map(" ".join),
    st.tuples(JSON, st.integers(0, 200)).map(lambda drawn: json.dumps(drawn[0])[: drawn[1]]),
    st.tuples(WHOLE_REPLIES, st.integers(0, 300)).map(lambda drawn: items_of(drawn[0].items())[: drawn[1]]),
)


@given(ANY_REPLIES)
def test_no_reply_makes_reading_fail_in_another_way_than_a_reply_error(text: str) -> None:
    for reading in (
        lambda: read_level(text, SCALE),
        lambda: read_items(text, SCALE, ASKED),
        lambda: read_claims(text),
    ):
        assert refusal(reading).isprintable()


@given(ANY_REPLIES)
def test_no_reply_gives_a_verdict_on_what_it_does_not_name(text: str) -> None:
    try:
        found = read_items(text, SCALE, ASKED)
    except ReplyError:
        return
    assert found.said.keys() <= set(ASKED)
    for name, said in found.said.items():
        assert name in text
        assert said.label in text.casefold()
    if len(found.said) < len(ASKED):
        assert found.complaint is not None


@given(WHOLE_REPLIES, st.integers(0, 400))
def test_a_reply_cut_off_anywhere_is_whole_or_refused(verdicts: Mapping[str, str], cut: int) -> None:
    text = items_of(verdicts.items())
    if cut >= len(text):
        assert read(text) == dict(verdicts)
        return
    with pytest.raises(ReplyError):
        read_items(text[:cut], SCALE, ASKED)


@pytest.mark.parametrize(
    "bomb",
    ["{", "}", "{}", "{a}", '{"', '{"a":', "{[", '"{', "```{", "<think>", "</think>", '{"verdict":"supported"}', "{\n"],
)
def test_a_reply_of_millions_of_braces_is_read_in_one_go(bomb: str) -> None:
    # What took quadratic time would take hours here.
    text = bomb * (3_000_000 // len(bomb))
    for reading in (lambda: read_level(text, SCALE), lambda: read_items(text, SCALE, ASKED)):
        assert len(refusal(reading)) < 400
