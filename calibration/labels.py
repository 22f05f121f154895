"""Human labels: the door of label files, and what counts as a good label."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from judges.datasets import read_records
from judges.errors import InputError
from judges.fields import MISSING, find

__all__ = ["Labels", "Positive", "read_labels"]

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class Positive:
    """Which labels are good: `>=3`, `correct`, `pass,partly`."""

    def __init__(self, rule: str) -> None:
        """Read a rule.

        Raises:
            InputError: It is empty, or compares with something that is no number.
        """
        self.rule = rule.strip()
        comparison = re.fullmatch(r"(>=|<=|>|<)\s*(.*)", self.rule)
        self._compare: Callable[[float, float], bool] | None = None
        self._bound = 0.0
        self._names: frozenset[str] = frozenset()
        if comparison:
            number = _number(comparison[2])
            if number is None:
                raise InputError(f"--positive {rule}: `{comparison[2]}` is not a number")
            self._compare, self._bound = _COMPARISONS[comparison[1]], number
        else:
            self._names = frozenset(filter(None, (name.strip() for name in self.rule.split(","))))
            if not self._names:
                raise InputError("--positive is empty; give the good labels: --positive correct, or --positive '>=3'")

    def __call__(self, label: str) -> bool:
        """Whether a label is good.

        Raises:
            ValueError: The rule compares numbers, and the label is none.
        """
        if self._compare is None:
            return label in self._names
        number = _number(label)
        if number is None:
            raise ValueError(f"the label `{label}` is not a number")
        return self._compare(number, self._bound)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one field, by case."""

    source: str
    field: str
    by_case: Mapping[str, str]
    """Text of the label; numbers as JSON writes them, truth as `true` and `false`."""
    clusters: Mapping[str, str]
    """The group each case belongs to; empty where no field was named."""
    unlabelled: int
    """Cases of the file that lack the field, or have null there."""

    def good(self, positive: Positive) -> dict[str, bool]:
        """Whether each case's label is good.

        Raises:
            InputError: The rule doesn't fit the labels, or no label, or each, is good by it.
        """
        try:
            good = {case: positive(label) for case, label in self.by_case.items()}
        except ValueError as error:
            raise InputError(
                f"{self.source}: {error}, so --positive {positive.rule} can't judge it; {self.found()}"
            ) from None
        if good and not any(good.values()):
            raise InputError(f"{self.source}: no label of `{self.field}` is --positive {positive.rule}; {self.found()}")
        return good

    def found(self) -> str:
        """Which labels there are, most frequent first."""
        counts = Counter(self.by_case.values()).most_common(8)
        return "found: " + ", ".join(f"{label} ({count})" for label, count in counts)


def read_labels(path: Path, field: str, *, cluster: str | None = None) -> Labels:
    """The labels in one field of a file of records that have an `id` (or `case_id`, or `case`).

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet.
        field: Dotted path: `gold.faithfulness`.
        cluster: Dotted path of the field that groups cases, where some belong together.

    Raises:
        InputError: The file can't be read, a case has two labels, no case has one, or a label is a list or an object.
    """
    labels: dict[str, str] = {}
    clusters: dict[str, str] = {}
    unlabelled = 0
    for where, record in read_records(path):
        case = next((record[name] for name in ("id", "case_id", "case") if record.get(name) is not None), None)
        if not isinstance(case, str | int) or isinstance(case, bool):
            raise InputError(f"{where}: `id` is missing; each line of labels names its case")
        case = str(case)
        if cluster is not None and (group := find(record, cluster)) is not MISSING and group is not None:
            clusters[case] = str(group)
        label = find(record, field)
        if label is MISSING or label is None or label == "":
            unlabelled += 1
            continue
        if not isinstance(label, str | int | float):
            raise InputError(f"{where}: `{field}` holds several values; name one of them: {field}.…")
        if isinstance(label, float) and label.is_integer():
            label = int(label)  # 3 and 3.0 are one label
        text = str(label).lower() if isinstance(label, bool) else str(label)
        if labels.setdefault(case, text) != text:
            raise InputError(f"{where}: the case `{case}` has another label above; keep one")
    if not labels:
        raise InputError(f"{path}: no record has `{field}`; name the field of the labels with --label")
    return Labels(str(path), field, labels, clusters, unlabelled)
