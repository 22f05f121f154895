from pathlib import Path

import pytest

from calibration.labels import CaseLabels, labelled_criteria, read_labels
from judges import InputError
from support.stored import write_records


def test_labels_are_found_by_path_and_what_lacks_one_is_counted(tmp_path: Path) -> None:
    path = write_records(
        tmp_path,
        [
            {"id": "a", "gold": {"f": 3}, "group": 1},
            {"case_id": 7, "gold": {"f": True}},
            {"id": "c", "gold": {"f": None}},
            {"id": "d"},
            {"id": "e", "gold": {"f": 3.5}, "group": "x"},
            {"id": "f", "gold": {"f": 3.0}},
        ],
    )
    labels = read_labels(path, "gold.f", cluster="group")
    assert {case: each.adjudicated for case, each in labels.by_case.items()} == {
        "a": "3",
        "7": "true",
        "e": "3.5",
        "f": "3",
    }
    assert labels.clusters == {"a": "1", "e": "x"}
    assert labels.unlabelled == 2


def test_annotators_are_read_beside_the_label_that_counts(tmp_path: Path) -> None:
    path = write_records(
        tmp_path,
        [
            {"id": "a", "gold": {"f": 3}, "human": {"f": {"anna": 3, "ben": 4}}},
            {"id": "b", "human": {"f": {"anna": 2, "ben": None}}},
        ],
    )
    by_gold, by_people = read_labels(path, "gold.f").by_case, read_labels(path, "human.f").by_case
    assert by_gold == {"a": CaseLabels("3", {"anna": "3", "ben": "4"}), "b": CaseLabels(None, {"anna": "2"})}
    assert by_people == {"a": CaseLabels(None, {"anna": "3", "ben": "4"}), "b": CaseLabels(None, {"anna": "2"})}


LONG = [
    {"case_id": "a", "criterion": "f", "annotator": "anna", "label": "pass"},
    {"case_id": "a", "criterion": "f", "annotator": "ben", "label": "fail"},
    {"case_id": "a", "criterion": "tone", "annotator": "anna", "label": "fail"},
    {"case_id": "b", "criterion": "f", "annotator": "", "label": "fail"},
]


@pytest.mark.parametrize("field", ["f", "gold.f"])
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_long_form_has_a_row_a_label(tmp_path: Path, field: str, kind: str) -> None:
    if kind == "jsonl":
        path = write_records(tmp_path, LONG)
    else:
        path = tmp_path / "labels.csv"
        rows = [",".join(LONG[0]), *(",".join(each.values()) for each in LONG)]
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    labels = read_labels(path, field)
    assert labels.by_case == {"a": CaseLabels(None, {"anna": "pass", "ben": "fail"}), "b": CaseLabels("fail")}
    assert labelled_criteria(path, ["f", "tone", "other"]) == {"f": "f", "tone": "tone"}


def test_the_criteria_with_labels_are_found_in_either_form(tmp_path: Path) -> None:
    path = write_records(
        tmp_path, [{"id": "a", "gold": {"f": None}}, {"id": "b", "gold": {"f": 1}, "human": {"g": {"anna": 2}}}]
    )
    assert labelled_criteria(path, ["g", "f", "h"]) == {"g": "human.g", "f": "gold.f"}


def test_labels_come_from_csv_too(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,gold.f\na,pass\nb,\nc,fail\n", encoding="utf-8")
    labels = read_labels(tmp_path / "labels.csv", "gold.f")
    assert labels.by_case == {"a": CaseLabels("pass"), "c": CaseLabels("fail")}
    assert labels.unlabelled == 1


@pytest.mark.parametrize(
    ("records", "field", "message"),
    [
        ([{"gold": "pass"}], "gold", r"records\.jsonl:1: `id` is missing"),
        ([{"id": "a", "gold": {"x": 1}}], "gold", r"records\.jsonl:1: `gold` holds several values"),
        ([{"id": "a", "human": {"x": {"anna": 1}}}], "human", r"records\.jsonl:1: `human\.x` holds several values"),
        ([{"id": "a", "human": {"anna": [1]}}], "human", r"records\.jsonl:1: `human\.anna` holds several values"),
        (
            [{"id": "a", "gold": "x"}, {"id": "a", "gold": "y"}],
            "gold",
            r"records\.jsonl:2: the case `a` has another label above; keep one, or name the annotators",
        ),
        (
            [{"id": "a", "h": {"anna": "x"}}, {"id": "a", "h": {"anna": "y"}}],
            "h",
            r"records\.jsonl:2: the case `a` has another label of `anna` above",
        ),
        ([{"id": "a"}, {"id": "b", "gold": None}], "gold", "no record has `gold`; name the field"),
        ([[1]], "gold", r"records\.jsonl:1: "),
    ],
)
def test_labels_that_can_not_be_read_name_the_line_and_the_remedy(
    tmp_path: Path, records: list[object], field: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(write_records(tmp_path, records), field)


def test_the_same_label_twice_is_one_label(tmp_path: Path) -> None:
    path = write_records(tmp_path, [{"id": "a", "gold": "x"}, {"id": "a", "gold": "x"}])
    assert read_labels(path, "gold").by_case == {"a": CaseLabels("x")}
