import pytest

from judges.fields import MISSING, find

DATA = {
    "meta": {"domain": "law", "none": None},
    "references": ["a", {"text": "b"}],
    "gold.correctness": "yes",
    "text": "abc",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("meta.domain", "law"),
        ("references.0", "a"),
        ("references.1.text", "b"),
        ("gold.correctness", "yes"),
        ("meta", {"domain": "law", "none": None}),
        ("meta.none", None),
    ],
)
def test_a_path_leads_to_its_value(path: str, value: object) -> None:
    assert find(DATA, path) == value


@pytest.mark.parametrize(
    "path", ["", "nothing", "meta.nothing", "references.2", "references.-1", "references.²", "text.0", "meta.domain.x"]
)
def test_a_path_that_leads_nowhere_is_missing_and_not_none(path: str) -> None:
    assert find(DATA, path) is MISSING


def test_a_key_that_is_the_whole_rest_of_the_path_wins() -> None:
    assert find({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert find({"x": {"a.b": 1, "a": {"b": 2}}}, "x.a.b") == 1
