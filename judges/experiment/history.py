"""The file of all experiments, `experiments.csv`: a row each time a variant was measured. It only grows.

A row has when, variant, dataset, settings and judges, then each figure with both ends of its interval. What is
undefined is an empty cell. A row that says what the last one of its variant says is not added again.
"""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from judges.errors import InputError, LedgerError
from judges.figures import Figure
from judges.fingerprint import Json
from judges.printable import printable

__all__ = ["Entry", "History"]

_HEAD = ("when", "variant", "dataset", "settings", "judges", "cases", "repeats", "failed")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row."""

    variant: str
    dataset: str
    """Its name and a hash of its cases: rows are comparable where it is the same."""
    settings: Mapping[str, Json]
    judges: Sequence[str]
    """Criterion, judge and the judge's fingerprint, each as one text."""
    cases: int
    repeats: int
    failed: int
    """Calls without an output."""
    figures: Mapping[str, Figure]

    def made_with(self) -> dict[str, Json]:
        """Settings, dataset and judges: all that may have changed since an earlier row."""
        return {**self.settings, "(dataset)": self.dataset, "(judges)": "; ".join(self.judges)}

    def cells(self) -> list[str]:
        """All cells but the first, which says when."""
        settings = orjson.dumps(self.settings, option=orjson.OPT_SORT_KEYS).decode()
        counts = (str(each) for each in (self.cases, self.repeats, self.failed))
        numbers = (
            "" if each is None else f"{each:.6g}"
            for figure in self.figures.values()
            for each in (figure.value, figure.ci_low, figure.ci_high)
        )
        return [self.variant, self.dataset, settings, "; ".join(self.judges), *counts, *numbers]


class History:
    """The file."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        """Read what is there.

        Args:
            path: Of the file; it is made with the first row.
            names: Of the figures that rows will have.

        Raises:
            InputError: It has other columns.
            LedgerError: It can't be read.
        """
        self.path = path
        self._header = [*_HEAD, *(f"{name}{end}" for name in names for end in ("", " low", " high"))]
        self._rows: dict[str, list[str]] = {}
        try:
            text = path.read_text("utf-8") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
            raise LedgerError(f"{path}: can't be read: {reason}; move it away, or choose another --out") from None
        self._is_whole = text.endswith("\n")
        rows = list(csv.reader(io.StringIO(text)))
        self._is_new = not rows
        if rows and rows[0] != self._header:
            raise InputError(
                f"{path}: {_difference(rows[0], self._header)}; its rows are never rewritten: choose another folder "
                "with --out, or move the file away"
            )
        for row in rows[1:]:
            if len(row) == len(self._header):
                self._rows[row[1]] = row[1:]

    def last(self, variant: str) -> dict[str, Json] | None:
        """What the last row of a variant was made with, as `Entry.made_with` has it; None where there is none."""
        row = self._rows.get(variant)
        if row is None:
            return None
        try:
            settings: object = orjson.loads(row[2])
        except orjson.JSONDecodeError:
            return None
        found = cast("dict[str, Json]", settings) if isinstance(settings, dict) else {}
        return {**found, "(dataset)": row[1], "(judges)": row[3]}

    def add(self, entry: Entry, when: str) -> bool:
        """Add a row, unless the last one of its variant says the same; whether it was added.

        Raises:
            LedgerError: It can't be written.
        """
        cells = entry.cells()
        if self._rows.get(entry.variant) == cells:
            return False
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._is_new:
            writer.writerow(self._header)
        elif not self._is_whole:
            text.write("\n")
        writer.writerow([when, *cells])
        try:
            with self.path.open("ab") as file:
                file.write(text.getvalue().encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror}; make room, then run the same command again") from error
        self._is_new, self._is_whole = False, True
        self._rows[entry.variant] = cells
        return True


def _difference(there: Sequence[str], wanted: Sequence[str]) -> str:
    """How the columns differ, in words."""
    more = [name for name in there if name not in wanted and not name.endswith((" low", " high"))]
    less = [name for name in wanted if name not in there and not name.endswith((" low", " high"))]
    parts = [
        f"{what} {', '.join(printable(name, 30) for name in names[:4])}" + (" ..." if len(names) > 4 else "")
        for what, names in (("it has", more), ("it lacks", less))
        if names
    ]
    return "has other columns than this plan: " + (" and ".join(parts) or "in another order")
