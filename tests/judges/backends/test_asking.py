import asyncio
import json
from collections.abc import Callable

import pytest

from judges.backends.asking import ask_items, ask_level
from judges.backends.readout import Answered
from judges.criteria import FAITHFULNESS
from judges.criterion import BINARY
from judges.errors import (
    EmptyReply,
    FilteredReply,
    InvalidReply,
    RefusedReply,
    ReplyError,
    ServiceError,
    TruncatedReply,
    Unavailable,
)
from judges.service import ChatReply, ChatRequest, Finish, Message
from support.scripted_models import items_of, said_of, scripted
from support.services import Answering

REQUEST = ChatRequest("m-1", "Judge.", (Message("user", "The case."),), max_tokens=900)
ASKED = ("c1", "c2", "c3")
RIGHT = (("c1", "supported"), ("c2", "unsupported"), ("c3", "contradicted"))


def in_turn(*said: str | ChatReply | ServiceError) -> Answering:
    """A model that says one thing after the other, and must not be asked for more."""
    left = list(said)
    return scripted(lambda _: left.pop(0))


def level(model: Answering) -> Answered:
    return asyncio.run(ask_level(model, REQUEST, BINARY))


def items(model: Answering, *asked: str) -> dict[str, str]:
    found = asyncio.run(ask_items(model, REQUEST, FAITHFULNESS.scale, asked or ASKED))
    return {name: each.said.label for name, each in found.items()}


def test_a_reply_that_is_right_is_asked_for_once() -> None:
    model = in_turn(said_of("yes", "Because."))
    assert level(model).said.rationale == "Because."
    assert model.asked == [REQUEST]


def test_a_reply_that_is_no_verdict_is_asked_for_once_more_with_the_error_named() -> None:
    model = in_turn(said_of("perhaps"), said_of("no"))
    assert level(model).said.label == "no"
    first, again = model.asked
    assert (again.model, again.system, again.schema, again.max_tokens) == ("m-1", "Judge.", None, 900)
    assert [turn.role for turn in again.messages] == ["user", "assistant", "user"]
    assert [turn.text for turn in again.messages[:2]] == ["The case.", said_of("perhaps")]
    assert again.messages[2].text == (
        "That was not what was asked: `verdict` is `perhaps`; it must be one of no, yes. "
        "Reply again with the JSON object only."
    )
    assert first == REQUEST


def test_after_an_empty_reply_no_empty_turn_is_sent() -> None:
    model = in_turn(" \n", said_of("no"))
    assert level(model).said.label == "no"
    (turn,) = model.asked[1].messages
    assert turn.text.startswith("The case.\n\n(An earlier reply was empty.")


@pytest.mark.parametrize(
    ("second", "kind"), [("", EmptyReply), ("{}", InvalidReply), ("no", InvalidReply), (said_of("maybe"), InvalidReply)]
)
def test_what_is_wrong_twice_is_an_error_of_the_second_kind_that_tells_both(
    second: str, kind: type[ReplyError]
) -> None:
    model = in_turn(said_of("perhaps"), second)
    with pytest.raises(kind, match=r"^m-1: twice not what was asked: `verdict` is `perhaps`.*; then: "):
        level(model)
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("finish", "kind", "words"),
    [
        ("length", TruncatedReply, "cut off at 900 tokens; allow more with --max-tokens"),
        ("refusal", RefusedReply, "declined to answer: I can't help."),
        ("content_filter", FilteredReply, "content filter took the reply away"),
    ],
)
@pytest.mark.parametrize("asking", [level, items])
def test_a_reply_that_did_not_end_by_itself_is_no_verdict_whatever_it_says(
    finish: Finish, kind: type[ReplyError], words: str, asking: Callable[[Answering], object]
) -> None:
    for text in (said_of("yes"), items_of(RIGHT)):
        model = in_turn(ChatReply(text, "m-1", finish))
        with pytest.raises(kind):
            asking(model)
        assert len(model.asked) == 1
    with pytest.raises(kind, match=f"^m-1: .*{words}"):
        asking(in_turn(ChatReply("I can't \n help.", "m-1", finish)))


def test_a_refusal_without_words_ends_without_a_colon() -> None:
    with pytest.raises(RefusedReply, match=r"declined to answer$"):
        level(in_turn(ChatReply("", "m-1", "refusal")))


def test_a_refusal_after_a_wrong_reply_is_a_refusal() -> None:
    with pytest.raises(RefusedReply):
        level(in_turn("{}", ChatReply("No.", "m-1", "refusal")))


@pytest.mark.parametrize("asking", [level, items])
def test_errors_of_the_service_pass_through(asking: Callable[[Answering], object]) -> None:
    for model in (in_turn(Unavailable("down")), in_turn("{}", Unavailable("down"))):
        with pytest.raises(Unavailable, match=r"^down$"):
            asking(model)


# --- Items ----------------------------------------------------------------------------------------------------------


def test_items_come_in_one_reply_in_any_order() -> None:
    model = in_turn(items_of(reversed(RIGHT)))
    assert items(model) == dict(RIGHT)
    assert len(model.asked) == 1


def test_only_what_is_missing_is_asked_for_again() -> None:
    model = in_turn(items_of(RIGHT[:1]), items_of(RIGHT[1:]))
    assert items(model) == dict(RIGHT)
    assert model.asked[1].messages[-1].text == (
        "That was not what was asked: missing: c2, c3. Reply again with the JSON object only. "
        "Give these entries and no others: c2, c3."
    )


@pytest.mark.parametrize(
    ("first", "left"),
    [
        (items_of([*RIGHT[:2], ("c3", "maybe")]), "c3"),
        (items_of([*RIGHT, ("c1", "supported")]), "c1"),
        (items_of([*RIGHT, ("c1", "contradicted")]), "c1"),
        (items_of([*RIGHT[:2], ("c4", "supported")]), "c3"),
        (items_of([*RIGHT, ("c4", "supported")]), "c1, c2, c3"),
        ("The claims are all supported.", "c1, c2, c3"),
        (said_of("supported"), "c1, c2, c3"),
        (items_of(RIGHT)[:-3], "c1, c2, c3"),
        ("", "c1, c2, c3"),
    ],
)
def test_whatever_is_wrong_with_items_those_concerned_are_asked_for_again(first: str, left: str) -> None:
    second = items_of([(name, "unsupported") for name in left.split(", ")])
    model = in_turn(first, second)
    expected = dict(RIGHT) | dict.fromkeys(left.split(", "), "unsupported")
    assert items(model) == expected
    assert f"Give these entries and no others: {left}." in model.asked[1].messages[-1].text


def test_a_second_reply_may_give_all_again_but_not_change_what_is_settled() -> None:
    model = in_turn(
        items_of(RIGHT[:2]), items_of([("c1", "contradicted"), ("c2", "contradicted"), ("c3", "supported")])
    )
    assert items(model) == {"c1": "supported", "c2": "unsupported", "c3": "supported"}


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (items_of([("c2", "supported")]), "missing: c3"),
        (items_of([("c2", "supported"), ("c3", "maybe")]), "`verdict` is `maybe`"),
        (items_of([("c2", "supported"), ("c3", "supported"), ("c3", "supported")]), "`c3` comes 2 times"),
        (items_of([("c2", "supported"), ("c3", "supported"), ("c4", "supported")]), "`c4` was not asked for"),
        (json.dumps({"items": None}), "`items`"),
        ("", "empty"),
    ],
)
def test_an_item_missing_twice_fails_all_so_that_none_is_left_out_of_the_count(second: str, words: str) -> None:
    model = in_turn(items_of(RIGHT[:1]), second)
    with pytest.raises(ReplyError, match="twice not what was asked: missing: c2, c3; then: ") as caught:
        items(model)
    assert words in str(caught.value)
    assert len(model.asked) == 2
