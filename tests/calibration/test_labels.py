import json
from pathlib import Path

import pytest

from calibration.labels import Positive, read_labels
from judges import InputError


def write(folder: Path, *records: object, name: str = "labels.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (">=3", ["3", "4", "3.5"], ["2", "2.9", "-7"]),
        ("> 3", ["3.1"], ["3"]),
        ("<2", ["1", "-1"], ["2"]),
        ("<=2", ["2"], ["2.1"]),
        ("correct", ["correct"], ["incorrect", "Correct", ""]),
        ("pass, partly", ["pass", "partly"], ["fail", "pass, partly"]),
    ],
)
def test_a_rule_says_which_labels_are_good(rule: str, good: list[str], bad: list[str]) -> None:
    positive = Positive(rule)
    assert all(positive(label) for label in good)
    assert not any(positive(label) for label in bad)


@pytest.mark.parametrize("rule", ["", " ", ",", ">=", ">=high", "<nan", ">inf"])
def test_a_rule_that_says_nothing_is_refused(rule: str) -> None:
    with pytest.raises(InputError, match="--positive"):
        Positive(rule)


def test_labels_are_found_by_path_and_what_lacks_one_is_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "gold": {"f": 3}, "group": 1},
        {"case_id": 7, "gold": {"f": True}},
        {"id": "c", "gold": {"f": None}},
        {"id": "d"},
        {"id": "e", "gold": {"f": 3.5}, "group": "x"},
        {"id": "f", "gold": {"f": 3.0}},
    )
    labels = read_labels(path, "gold.f", cluster="group")
    assert labels.by_case == {"a": "3", "7": "true", "e": "3.5", "f": "3"}
    assert labels.clusters == {"a": "1", "e": "x"}
    assert labels.unlabelled == 2


def test_labels_come_from_csv_too(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,gold.f\na,pass\nb,\nc,fail\n", encoding="utf-8")
    assert read_labels(tmp_path / "labels.csv", "gold.f").by_case == {"a": "pass", "c": "fail"}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"gold": "pass"}], r"labels\.jsonl:1: `id` is missing"),
        ([{"id": "a", "gold": {"x": 1}}], r"labels\.jsonl:1: `gold` holds several values"),
        (
            [{"id": "a", "gold": "x"}, {"id": "a", "gold": "y"}],
            r"labels\.jsonl:2: the case `a` has another label above",
        ),
        ([{"id": "a"}, {"id": "b", "gold": None}], "no record has `gold`; name the field"),
        ([[1]], r"labels\.jsonl:1: "),
    ],
)
def test_labels_that_can_not_be_read_name_the_line_and_the_remedy(
    tmp_path: Path, records: list[object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(write(tmp_path, *records), "gold")


def test_the_same_label_twice_is_one_label(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "a", "gold": "x"}, {"id": "a", "gold": "x"})
    assert read_labels(path, "gold").by_case == {"a": "x"}


def test_a_rule_that_no_label_meets_is_refused_with_the_labels_there_are(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path, {"id": "a", "gold": "good"}, {"id": "b", "gold": "bad"}), "gold")
    with pytest.raises(InputError, match=r"no label of `gold` is --positive pass; found: good \(1\), bad \(1\)"):
        labels.good(Positive("pass"))
    with pytest.raises(InputError, match="`good` is not a number"):
        labels.good(Positive(">=3"))
    assert labels.good(Positive("good")) == {"a": True, "b": False}
