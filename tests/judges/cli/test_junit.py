from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.cli.junit import junit, write_junit
from judges.errors import InputError
from judges.figures import Figure
from judges.gate import GateResult, Requirement

PASSED, FAILED, OPEN = (
    Requirement.parse("x>=0.5").check(Figure(value, value - 0.1, value + 0.1)) for value in (0.9, 0.2, 0.5)
)
RESULTS = [PASSED, FAILED, OPEN, PASSED.unless_failed(1.0, 0.1)]


def kinds(results: list[GateResult], *, strict: bool) -> tuple[list[str], dict[str, str]]:
    """What became of each test, and the counts of the suite."""
    [suite] = fromstring(junit("gate", results, strict=strict))  # noqa: S314  our own report
    return [next((child.tag for child in test), "passed") for test in suite], suite.attrib


def test_each_requirement_is_a_test() -> None:
    found, counts = kinds(RESULTS, strict=False)
    assert found == ["passed", "failure", "skipped", "error"]
    assert [counts[name] for name in ("tests", "failures", "skipped", "errors")] == ["4", "1", "1", "1"]


def test_strict_lets_what_is_undecided_fail() -> None:
    found, counts = kinds(RESULTS, strict=True)
    assert found == ["passed", "failure", "failure", "failure"]
    assert [counts[name] for name in ("failures", "skipped", "errors")] == ["3", "0", "0"]


@given(st.text(st.characters()), st.text(st.characters()))
def test_whatever_names_hold_the_report_is_well_formed(name: str, suite: str) -> None:
    result = Requirement(name, ">=", 0.5).check(Figure(0.2, 0.1, 0.3))
    [read] = fromstring(junit(suite, [result], strict=False))  # noqa: S314  our own report
    assert read[0].attrib["name"].endswith(">=0.5")


def test_a_report_replaces_an_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    report = junit("gate", RESULTS, strict=False)
    path = tmp_path / "gate.xml"
    for _ in range(2):
        write_junit(path, report)
    assert path.read_bytes() == report
    path.write_text("my notes")
    with pytest.raises(InputError, match="holds something else than XML"):
        write_junit(path, report)
    assert path.read_text() == "my notes"
    with pytest.raises(InputError, match="choose another file with --junit"):
        write_junit(tmp_path / "nowhere" / "gate.xml", report)
