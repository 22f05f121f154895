import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 1),
        ("word", 2),
        ("The backup runs every four hours while the computer is on.", 15),
        ("é" * 30, 21),
        ("備份" * 30, 61),
        ("\ud800", 2),
    ],
)
def test_a_few_texts(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(text: str, more: str) -> None:
    assert 1 <= estimate_tokens(text) <= estimate_tokens(text + more)


@given(st.text(), st.text())
def test_a_text_in_two_parts_is_as_long_as_in_one_or_two_tokens_longer(one: str, other: str) -> None:
    together = estimate_tokens(one + other)
    assert together <= estimate_tokens(one) + estimate_tokens(other) + 1
    assert estimate_tokens(one) + estimate_tokens(other) <= together + 1
