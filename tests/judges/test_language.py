import json

import pytest

from judges.language import guess, is_known, same_language
from support.command import EXAMPLE, SHARED

NOMIRACL = SHARED / "data" / "nomiracl_de_es_fr" / "items_with_text.jsonl"


def test_the_language_of_every_example_is_told() -> None:
    cases = [json.loads(line) for line in EXAMPLE.joinpath("cases.jsonl").read_text("utf-8").splitlines()]
    texts = [(case["lang"], case[part]) for case in cases for part in ("question", "answer")]
    assert {lang for lang, _ in texts} == {"en", "ca", "fr", "ro"}
    assert [(lang, text) for lang, text in texts if guess(text).lang != lang] == []


@pytest.mark.skipif(not NOMIRACL.exists(), reason="the data set NoMIRACL isn't beside this checkout")
def test_where_it_is_sure_it_is_hardly_ever_wrong() -> None:
    wrong = sure = total = 0
    for line in NOMIRACL.read_text("utf-8").splitlines():
        item = json.loads(line)
        for context in item["contexts"]:
            found = guess(context["text"])
            total += 1
            sure += found.probability >= 0.8
            wrong += found.probability >= 0.8 and found.lang != item["lang"]
    assert sure / total > 0.97
    assert wrong / sure < 0.002


@pytest.mark.parametrize("text", ["", " ", "5 GB", "\ud800", "🙂", "12345"])
def test_what_tells_nothing_is_told_with_little_probability(text: str) -> None:
    assert guess(text).probability < 0.8


@pytest.mark.parametrize(
    ("tag", "other", "same"),
    [("pt-BR", "pt", True), ("CA", "ca", True), ("zh_Hant", "zh", True), ("nb", "no", True), ("ca", "es", False)],
)
def test_tags_are_compared_by_their_language(tag: str, other: str, same: bool) -> None:
    assert same_language(tag, other) is same
    assert is_known(tag)


def test_a_language_that_is_not_known_is_said_to_be_so() -> None:
    assert not is_known("tlh")
    assert not is_known("")
