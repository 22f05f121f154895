"""What a report says, whatever shows it: a terminal shows texts and tables, a page the pictures too.

Texts may hold those of cases, labels and judges as they are. Whoever shows them makes them harmless.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judges.report.pictures import Forest, Picture

__all__ = ["Block", "Chapter", "Column", "Decided", "Illustration", "Page", "Section", "Side", "Table"]

Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    head: str
    side: Side = "left"
    limit: int | None = None
    """So many characters of a cell are shown where room is short, as in a terminal; None for all."""
    free: bool = False
    """Whether cells are texts of any length, cut to the room that the other columns leave."""
    spare: bool = False
    """Whether a terminal too narrow for the table leaves the column out, since what it says is said elsewhere too."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns from left to right, and rows with a cell for each."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[Column | str], rows: Sequence[Sequence[str]]) -> "Table":
        """A table; a column that is only a heading is one of texts, on the left."""
        made = tuple(each if isinstance(each, Column) else Column(each) for each in columns)
        return cls(made, tuple(tuple(row) for row in rows))


@dataclass(frozen=True, slots=True)
class Decided:
    """What is decided, and why."""

    status: Literal["PASS", "FAIL", "UNDECIDED"]
    why: str


@dataclass(frozen=True, slots=True)
class Illustration:
    """A picture, and the same in numbers beside it."""

    picture: Picture | Forest
    table: Table
    spoken: bool = False
    """Whether a terminal, which has no pictures, shows the table."""


Block: TypeAlias = str | Table | Decided | Illustration
"""A paragraph, a table, a decision, a picture."""


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks on one thing."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """Sections on one subject, such as a judge and a criterion."""

    title: str
    lead: str
    """One line below the title, or nothing."""
    sections: tuple[Section, ...]
    mark: str | None = None
    """A word beside its name in the list of chapters, such as what was decided."""


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    lead: str
    chapters: tuple[Chapter, ...]
    overview: Table | None = None
    """What the chapters say, in a row each."""
