import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.fingerprint import Json, canonical, fingerprint

json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_the_order_of_keys_does_not_count(value: dict[str, Json]) -> None:
    assert fingerprint(value) == fingerprint(dict(reversed(value.items())))


@given(json_values, json_values)
def test_values_with_other_json_have_other_fingerprints(one: Json, other: Json) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (canonical(one) == canonical(other))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_json_can_not_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        fingerprint([number])


def test_half_of_a_surrogate_pair_has_a_fingerprint() -> None:
    assert fingerprint("\ud800") != fingerprint("\ud801")


def test_another_process_finds_the_same_fingerprint() -> None:
    code = "from judges.fingerprint import fingerprint; print(fingerprint({'b': [1, 2.5, None], 'a': 'ș'}))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert printed == fingerprint({"a": "ș", "b": [1, 2.5, None]})
