import json
import unicodedata
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import Figure
from judges.calls.waits import tell_going_on, tell_held_up
from judges.cli.output import Column, TerminalProgress, figure, json_line, number, table, write_json
from judges.engine.progress import Counts
from judges.figures import undefined
from judges.printable import printable

BAD = {"Cc", "Cs", "Cn", "Co"}


@given(st.text(st.characters()), st.none() | st.integers(2, 40))
def test_nothing_that_a_terminal_obeys_is_left(text: str, width: int | None) -> None:
    shown = printable(text, width)
    assert not any(unicodedata.category(character) in BAD for character in shown)
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f") & set(shown)


@pytest.mark.parametrize("text", ["El gos és aquí", "ไม่มีช่องว่าง", "हिन्दी में", "👩‍👩‍👧", "فارسی"])
def test_text_in_any_script_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert printable("word " * 100, 12) == "word word w…"
    assert printable("a\n\tb") == "a b"


@given(
    st.recursive(
        st.text() | st.integers(-(2**53), 2**53), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_keeps_its_value_and_can_be_looked_at(value: object) -> None:
    line = json_line(value)
    assert json.loads(line) == value
    assert not any("\x7f" <= character <= "\x9f" or character in "\u202e\u2066" for character in line)


def test_a_figure_is_shown_with_its_interval_or_its_reason() -> None:
    assert figure(Figure(0.825, 0.771, 0.866)) == "0.82 [0.77, 0.87]"
    assert figure(Figure(0.5, reason="too_few_clusters")) == "0.50 [–]"
    assert figure(undefined("no_data")) == "– (no_data)"
    assert number(None) == "–"


def test_columns_are_aligned_also_where_letters_are_wide(capsys: pytest.CaptureFixture[str]) -> None:
    table([Column("case"), Column("score", "right")], [["北京", "1"], ["b", "0.25"]])
    lines = capsys.readouterr().out.splitlines()
    widths = [sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in line) for line in lines]
    assert len(set(widths)) == 1
    assert lines[0].split() == ["case", "score"]


@given(st.integers(40, 140))
def test_a_number_with_its_interval_and_a_long_name_stay_whole_where_there_is_room_for_them(room: int) -> None:
    rows = [
        ["generator", "says what no passage says, " * 3, "0.39 [0.25, 0.55]"],
        ["answered_unanswerable<=0", "?", "1"],
    ]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setattr("judges.cli.output.width", lambda: room)
        table([Column("name"), Column("what went wrong"), Column("of those that fail")], rows)
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= room
    assert " ".join(shown.getvalue().split()).count("passage") == 3
    if room >= 24 + 7 + 17 + 3 * 2:  # the longest pieces, and blanks
        assert any("0.39 [0.25, 0.55]" in line for line in lines)
        assert any("answered_unanswerable<=0" in line for line in lines)
    if room >= 133:
        assert len(lines) == 3


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"a": [1, None]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, None]}


def test_where_there_is_no_terminal_a_long_wait_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress() as progress:
        tell_held_up("openai", "openai m: too many requests (429)", 2.0)  # not worth a line
        tell_going_on("openai")
        progress(Counts(total=400, verdicts=12))
        for _ in range(5):
            tell_held_up("openai", "openai m: too many\x1b[2J requests (429)", 35.0)
    assert capsys.readouterr().err.splitlines() == [
        "judges: waiting, next try in 35 s: openai m: too many\\x1b[2J requests (429) (12 of 400 done)"
    ]


def test_who_wants_no_progress_hears_of_no_wait(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress(quiet=True):
        tell_held_up("openai", "openai m: too many requests (429)", 35.0)
    tell_held_up("openai", "openai m: too many requests (429)", 35.0)
    assert capsys.readouterr().err == ""
