import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.wording import Wording

LOOSE = Wording(match_case=False, match_accents=False, whole_words=True)


def found(wording: Wording, phrase: str, text: str) -> str | None:
    at = wording.find(phrase, wording.fold(text))
    return None if at is None else text[slice(*at)]


@pytest.mark.parametrize(
    ("phrase", "text", "stands"),
    [
        ("refund", "No Refund is due.", "Refund"),
        ("refund", "It is non-refundable.", None),
        ("déjà vu", "un DEJA\nVU certain", "DEJA\nVU"),
        ("deja vu", "un d\u00e9ja\u0300 vu certain", "de\u0301ja\u0300 vu".replace("e\u0301", "\u00e9")),
        ("d'accord", "D’accord, alors", "D’accord"),
        ("forbidden", "for\u00adbid\u200bden words", "for\u00adbid\u200bden"),
        ("straße", "Die STRASSE", "STRASSE"),
        ("返金", "全額返金します", "返金"),
        ("[1]", "as said[1].", "[1]"),
        ("c++", "in C++ code", "C++"),
        ("a.b", "axb", None),
    ],
)
def test_a_phrase_is_found_where_people_would_see_it(phrase: str, text: str, stands: str | None) -> None:
    assert found(LOOSE, phrase, text) == stands


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        (Wording(match_case=True, match_accents=False), "politica"),
        (Wording(match_case=False, match_accents=True), "POLITICA"),
        (Wording(match_case=True, match_accents=True), "Politica"),
    ],
)
def test_what_must_match_does(wording: Wording, text: str) -> None:
    assert found(wording, "Política", "La Pol\u0069\u0301tica.") is not None
    assert found(wording, "Política", text) is None


@given(st.text(), st.text(min_size=1), st.text())
def test_what_was_put_in_is_found_and_nothing_outside_the_text(before: str, phrase: str, after: str) -> None:
    wording = Wording(match_case=True, match_accents=True)
    text = f"{before}{phrase}{after}"
    if not wording.fold(phrase).text.split():
        return
    at = wording.find(phrase, wording.fold(text))
    assert at is not None
    assert 0 <= at[0] < at[1] <= len(text)
