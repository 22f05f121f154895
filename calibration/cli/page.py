"""Sections on standard output: their texts and tables, one below the other."""

from judges.cli.output import data, prose, table, width
from judges.printable import printable
from judges.report.sections import Chapter, Column, Decided, Illustration, Section, Table

__all__ = ["show_chapter", "show_table"]

_INDENT = "  "
_FEWEST = 24
_REST = 70
"""Characters that the other columns take."""


def show_chapter(chapter: Chapter) -> None:
    """Title, lead and sections."""
    data(printable(chapter.title))
    if chapter.lead:
        prose(chapter.lead, _INDENT)
    for section in chapter.sections:
        data()
        _show_section(section)


def _show_section(section: Section) -> None:
    """Its texts and tables, an empty line between two tables."""
    below_table = False
    for block in section.blocks:
        match block:
            case str():
                prose(block, _INDENT)
            case Decided():
                prose(f"{block.status}: {block.why}", _INDENT)
            case Table() | Illustration(spoken=True):
                if below_table:
                    data()
                show_table(block if isinstance(block, Table) else block.table)
            case Illustration():
                continue
        below_table = not isinstance(block, str | Decided)


def show_table(shown: Table) -> None:
    """A table, its cells cut to what their columns allow."""
    limits = [_limit(each) for each in shown.columns]
    table(
        shown.columns,
        (
            [cell if limit is None else printable(cell, limit) for cell, limit in zip(row, limits, strict=True)]
            for row in shown.rows
        ),
    )


def _limit(column: Column) -> int | None:
    return max(_FEWEST, width() - _REST) if column.free else column.limit
