import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.backends.spans import Span, pieces, windows
from judges.claims import SentenceSplitter
from judges.similarity import is_blank
from judges.tokens import estimate_tokens

SENTENCES = SentenceSplitter()
BRIDGE = "The bridge opened in 1932. It is red. Who built it?"


def shown(text: str, spans: list[Span]) -> list[str]:
    return [text[start:end] for start, end in spans]


def test_windows_are_sentences_then_neighbours() -> None:
    spans = windows(BRIDGE, SENTENCES, "en", sentences=3, longest=100)
    assert shown(BRIDGE, spans) == [
        "The bridge opened in 1932.",
        "It is red.",
        "Who built it?",
        "The bridge opened in 1932. It is red.",
        "It is red. Who built it?",
        BRIDGE,
    ]


def test_neighbours_that_are_too_long_together_stay_apart() -> None:
    spans = windows(BRIDGE, SENTENCES, "en", sentences=2, longest=8)
    assert shown(BRIDGE, spans) == [
        "The bridge opened in 1932.",
        "It is red.",
        "Who built it?",
        "It is red. Who built it?",
    ]


def test_a_text_that_fits_is_one_piece_and_a_longer_one_is_cut_between_sentences() -> None:
    assert shown(f" {BRIDGE}\n", pieces(f" {BRIDGE}\n", SENTENCES, "en", longest=100)) == [BRIDGE]
    assert shown(BRIDGE, pieces(BRIDGE, SENTENCES, "en", longest=10)) == [
        "The bridge opened in 1932. It is red.",
        "Who built it?",
    ]


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = "bridge " * 40
    found = shown(text, windows(text, SENTENCES, None, sentences=1, longest=16))
    assert all(set(span.split()) == {"bridge"} for span in found)
    assert sum(len(span.split()) for span in found) == 40


@pytest.mark.parametrize("text", ["👍", "...", "---\n---"])
def test_a_text_without_words_is_one_span(text: str) -> None:
    assert shown(text, windows(text, SENTENCES, None, sentences=2, longest=100)) == [text]


TEXTS = st.text(max_size=300) | st.lists(st.sampled_from([*BRIDGE.split(), "\n", "# ", "- ", "大橋。", "🙂", "|"])).map(
    " ".join
)


@given(text=TEXTS.filter(lambda text: not is_blank(text)), longest=st.integers(16, 40))
@settings(max_examples=300)
def test_spans_hold_every_word_and_nothing_blank_and_none_is_too_long(text: str, longest: int) -> None:
    skipped = SENTENCES.split(text).skipped  # the number of a list's item, a tag
    marks = {place for each in skipped if each.reason == "markup" for place in range(each.start, each.end)}
    for spans in (
        windows(text, SENTENCES, None, sentences=2, longest=longest),
        pieces(text, SENTENCES, None, longest=longest),
    ):
        held: set[int] = set()
        for start, end in spans:
            assert 0 <= start < end <= len(text)
            assert text[start:end].strip() == text[start:end]
            assert estimate_tokens(text[start:end]) <= longest
            held.update(range(start, end))
        words = {match.start() for match in re.finditer(r"[^\W_]", text)}
        assert words - marks <= held
