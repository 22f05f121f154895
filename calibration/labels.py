"""Human labels: the door of label files, by case and by annotator.

Three forms are read, also mixed:

    {"id": "q1", "gold": {"faithfulness": 3}}                       one label that counts: adjudicated, or of one person
    {"id": "q1", "human": {"faithfulness": {"anna": 3, "ben": 4}}}  one of each annotator
    {"case_id": "q1", "criterion": "faithfulness", "annotator": "anna", "label": 3}    long form; CSV too
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from judges.case import Case
from judges.datasets import read_records
from judges.errors import InputError
from judges.fields import MISSING, find
from judges.printable import printable

__all__ = ["CaseLabels", "Labels", "group_of", "label_text", "labelled_criteria", "read_labels"]

_IDS = ("id", "case_id", "case")
_LONG = ("criterion", "label")
_GOLD, _HUMAN = "gold.", "human."


def group_of(case: Case, field: str) -> str | None:
    """The group that a field of the case names; None where the case lacks it."""
    found = case.find(field)
    return str(found) if isinstance(found, str | int | float) else None


@dataclass(frozen=True, slots=True)
class CaseLabels:
    """What people said of one case, as text: numbers as JSON writes them, truth as `true` and `false`."""

    adjudicated: str | None = None
    """The label that counts, where the file has one."""
    by_annotator: Mapping[str, str] = field(default_factory=dict[str, str])

    def all(self) -> tuple[str, ...]:
        """Every label given."""
        own = () if self.adjudicated is None else (self.adjudicated,)
        return (*own, *self.by_annotator.values())


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one criterion, by case."""

    source: str
    field: str
    """As it was named, or found."""
    by_case: Mapping[str, CaseLabels]
    clusters: Mapping[str, str]
    """The group each case belongs to; empty where no field was named."""
    unlabelled: int
    """Records that lack the label."""

    def values(self) -> Counter[str]:
        """How often each label was given, all annotators together."""
        return Counter(label for each in self.by_case.values() for label in each.all())

    def found(self) -> str:
        """Which labels there are, most frequent first, for a message."""
        named = (f"{printable(label, 40)} ({count})" for label, count in self.values().most_common(8))
        return "found: " + ", ".join(named)


def label_text(value: object) -> str | None:
    """A label as text; None where there is none. 3 and 3.0 are one label.

    Raises:
        TypeError: It is a list or an object.
    """
    if value is MISSING or value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError


def read_labels(path: Path, field: str, *, cluster: str | None = None) -> Labels:
    """The labels of one field of a file of records that have an `id` (or `case_id`, or `case`).

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet.
        field: Dotted path of a label, or of an object of labels by annotator. With `gold.x`, annotators are looked for
            in `human.x`. In a file of long form its last part is the criterion; a row without an annotator holds the
            label that counts.
        cluster: Dotted path of the field that groups cases, where some belong together.

    Raises:
        InputError: The file can't be read, a case has two labels of one person, none has any, or a label is a list.
    """
    cases: dict[str, dict[str | None, str]] = {}
    clusters: dict[str, str] = {}
    unlabelled = 0
    for where, record in read_records(path):
        case = _case_of(record, where)
        if cluster is not None and (group := find(record, cluster)) is not MISSING and group is not None:
            clusters[case] = str(group)
        given = dict(_given(record, field, where))
        own = cases.setdefault(case, {}) if given else {}
        for annotator, label in given.items():
            if own.setdefault(annotator, label) != label:
                who = "" if annotator is None else f" of `{printable(annotator, 40)}`"
                raise InputError(
                    f"{where}: the case `{printable(case, 80)}` has another label{who} above; keep one, "
                    "or name the annotators"
                )
        unlabelled += not given
    if not cases:
        raise InputError(f"{path}: no record has `{field}`; name the field of the labels with --label")
    by_case = {
        case: CaseLabels(own.get(None), {name: label for name, label in own.items() if name is not None})
        for case, own in cases.items()
    }
    return Labels(str(path), field, by_case, clusters, unlabelled)


def labelled_criteria(path: Path, criteria: Collection[str]) -> dict[str, str]:
    """Those of these criteria that a file has labels of, each with the field they are in.

    Raises:
        InputError: The file can't be read.
    """
    missing, found = list(criteria), dict[str, str]()
    for _, record in read_records(path):
        for name in list(missing):
            fields = (_GOLD + name, _HUMAN + name)
            there = next((each for each in fields if find(record, each) not in (MISSING, None, "")), None)
            if there is None and _is_long(record) and record["criterion"] == name:
                there = name
            if there is not None:
                found[name] = there
                missing.remove(name)
        if not missing:
            break
    return {name: found[name] for name in criteria if name in found}


def _case_of(record: Mapping[str, object], where: str) -> str:
    case = next((record[name] for name in _IDS if record.get(name) is not None), None)
    if not isinstance(case, str | int) or isinstance(case, bool):
        raise InputError(f"{where}: `id` is missing; each line of labels names its case")
    return str(case)


def _is_long(record: Mapping[str, object]) -> bool:
    return all(name in record for name in _LONG) and not isinstance(record["label"], dict)


def _given(record: Mapping[str, Any], field: str, where: str) -> Iterator[tuple[str | None, str]]:
    """The labels a record holds, each with its annotator; None for the one that counts."""
    if _is_long(record) and find(record, field) in (MISSING, record["label"]):
        if field in ("label", record["criterion"]) or field.rpartition(".")[2] == record["criterion"]:
            annotator = record.get("annotator")
            yield from _one(None if annotator in (None, "") else str(annotator), record["label"], field, where)
        return
    value = find(record, field)
    people = _object(value)
    if people is not None and not (field + ".").startswith(_GOLD):
        yield from _of_annotators(people, field, where)
        return
    yield from _one(None, value, field, where)
    if field.startswith(_GOLD):
        beside = _HUMAN + field.removeprefix(_GOLD)
        yield from _of_annotators(_object(find(record, beside)) or {}, beside, where)


def _object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _of_annotators(labels: Mapping[str, object], field: str, where: str) -> Iterator[tuple[str | None, str]]:
    for annotator, label in labels.items():
        yield from _one(annotator, label, f"{field}.{annotator}", where)


def _one(annotator: str | None, value: object, field: str, where: str) -> Iterator[tuple[str | None, str]]:
    try:
        text = label_text(value)
    except TypeError:
        raise InputError(f"{where}: `{field}` holds several values; name one of them: {field}.…") from None
    if text is not None:
        yield annotator, text
