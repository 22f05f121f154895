import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.tokens import likely_tokens, most_tokens
from judges.service import ChatRequest, Message
from support.services import chat, text


@given(st.text(), st.text())
def test_the_most_is_a_token_for_each_byte_and_all_of_the_reply(system: str, question: str) -> None:
    request = ChatRequest("m", system, (Message("user", question),), max_tokens=77)
    most = most_tokens(request)
    assert most.input_tokens >= len((system + question).encode("utf-8", "surrogatepass"))
    assert most.output_tokens == 77
    assert likely_tokens(request).input <= most.input_tokens


@pytest.mark.parametrize("words", ["桥在什么时候开通的？", "สะพานเปิดเมื่อไหร่", "When did the bridge open?", "🌉🌉🌉"])
def test_scripts_without_spaces_are_not_thought_small(words: str) -> None:
    assert most_tokens(text(words)).input_tokens >= len(words)
    assert likely_tokens(text(words)).input >= len(words) / 4


def test_a_schema_counts() -> None:
    plain = chat()
    with_schema = ChatRequest(plain.model, plain.system, plain.messages, schema={"type": "object"})
    assert most_tokens(with_schema).input_tokens > most_tokens(plain).input_tokens + 100


def test_half_of_a_surrogate_pair_counts_like_any_other_text() -> None:
    assert most_tokens(chat("\ud800")).input_tokens >= 3
