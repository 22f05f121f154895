"""What a person sees: tables on standard output, progress and notes on standard error, and exit codes.

Text of cases and judges is hostile: nothing of it reaches a terminal that could move the cursor, change colours or turn
the line around.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from shutil import get_terminal_size
from textwrap import wrap
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

import orjson

from judges.calls.waits import watched
from judges.engine.progress import Counts
from judges.errors import BudgetReached, JudgesError, ServiceError, TooManyFailed
from judges.figures import Figure
from judges.printable import TURNS_TEXT, printable
from judges.report.sections import Column
from judges.usage import Usage

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from rich.text import Text

__all__ = [
    "Column",
    "Exit",
    "ReaderLeftError",
    "TerminalProgress",
    "can_be_asked",
    "count_of",
    "counted",
    "data",
    "exit_code",
    "figure",
    "json_line",
    "money",
    "note",
    "number",
    "prose",
    "table",
    "tokens",
    "usage_line",
    "width",
    "write_json",
]

_PLAIN_WIDTH = 160
_APART = 2
"""Blanks between columns."""
_PIECE = re.compile(r"[^\s\[]*\s?\[[^\]]*\]|\S+")
"""What is never cut over lines, if that can be helped: a word, a number with its interval."""
_SHORT, _LONG = 3.0, 10.0
"""Seconds that calls must wait before it is said, on a terminal and elsewhere."""
_PAST = 120.0
"""Seconds after which nobody waits any more, if nothing more was heard: the calls were given up."""
_FIRST_PAUSE = 30.0
"""Seconds between the first two lines about it; doubled each time."""


class Exit(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    GATE_FAILED = 1
    WRONG_INPUT = 2
    TOO_MANY_FAILED = 3
    BUDGET_REACHED = 4
    SERVICE_STOPPED = 5
    BUG = 70
    INTERRUPTED = 130


def exit_code(error: JudgesError) -> Exit:
    """The exit code of an error that ends a command."""
    match error:
        case TooManyFailed():
            return Exit.TOO_MANY_FAILED
        case BudgetReached():
            return Exit.BUDGET_REACHED
        case ServiceError():
            return Exit.SERVICE_STOPPED
        case _:
            return Exit.WRONG_INPUT


class ReaderLeftError(Exception):
    """Whoever read our standard output has gone (`| head`): there is nobody left to write for."""


def data(text: str = "") -> None:
    """One line on standard output.

    Raises:
        ReaderLeftError: Nobody reads it any more.
    """
    try:
        print(text)
    except BrokenPipeError:
        raise ReaderLeftError from None


def note(text: str) -> None:
    """One line on standard error."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def can_be_asked() -> bool:
    """Whether a person is there to answer a question; standard input may be closed."""
    stdin: TextIO | None = sys.stdin
    return stdin is not None and stdin.isatty()


def prose(text: str, indent: str = "", *, head: str = "") -> None:
    """A line of text on standard output; on a terminal cut between words where it is too narrow.

    Args:
        text: Made printable here.
        indent: What the lines after the first begin with.
        head: What the first line begins with.
    """
    line = printable(text)
    if not sys.stdout.isatty():
        data(head + line)
        return
    room = max(width(), 2 * len(indent) + 20)
    for part in wrap(line, room, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False) or [head]:
        data(part)


def count_of(value: Figure) -> str:
    """`15 of 24`; `0.33 of 2` where shares of cases add up to it."""
    count = value.value or 0.0
    return f"{count:,.0f} of {value.n:,}" if count == int(count) else f"{count:,.2f} of {value.n:,}"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """`1 record`, `1,200 records`; `things` where they don't just end in s."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


_UNSHOWN = re.compile("[\x7f-\x9f" + "".join(sorted(TURNS_TEXT)) + "]")


def _json(value: object, option: int) -> str:
    """JSON in which what a terminal might obey is written as an escape: the same value, safe to look at."""
    text = orjson.dumps(value, option=option).decode()
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_line(value: object) -> str:
    """`value` as one line of JSON."""
    return _json(value, 0)


def write_json(value: object) -> None:
    """`value` as the one JSON document of standard output."""
    data(_json(value, orjson.OPT_INDENT_2))


def number(value: float | None, digits: int = 2) -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def figure(value: Figure, digits: int = 2) -> str:
    """A figure with its interval: `0.83 [0.77, 0.88]`, or why there is none."""
    if value.value is None:
        return f"– ({value.reason})"
    if value.ci_low is None or value.ci_high is None:
        return f"{value.value:.{digits}f} [–]"
    return f"{value.value:.{digits}f} [{value.ci_low:.{digits}f}, {value.ci_high:.{digits}f}]"


def usage_line(usage: Usage) -> str:
    """What calls of services used: `1,080 calls, 120 replies from the cache; 1.2M tokens read, 0.1M written; $0.84`.

    No shares: one call may bring many replies, as embeddings come.
    """
    saved = [
        f", {counted(count, 'reply', 'replies')} {how}"
        for count, how in ((usage.hits, "from the cache"), (usage.shared, "shared with an equal call in flight"))
        if count
    ]
    parts = [counted(usage.calls, "call") + "".join(saved)]
    if usage.unanswered:
        parts.append(f"{counted(usage.unanswered, 'attempt')} without a readable reply, which may have been billed too")
    if usage.calls:
        kept = usage.cache_read_tokens / usage.input_tokens if usage.input_tokens else 0
        from_cache = f" ({kept:.0%} of them ready in the service's prompt cache)" if kept else ""
        parts.append(f"{tokens(usage.input_tokens)} tokens read{from_cache}, {tokens(usage.output_tokens)} written")
        priced = usage.calls - usage.unpriced
        if priced:
            parts.append(money(usage.cost) + (" without the calls whose price isn't known" if usage.unpriced else ""))
        elif usage.unpriced:
            parts.append("price unknown: see [prices] of judges.toml")
    return "; ".join(parts)


def tokens(count: int) -> str:
    """`830`, `52,000`, `1.2M`."""
    return f"{count:,}" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def money(dollars: float) -> str:
    """`$0.0042`, `$1.30`, `$1,200`: never a nought for what costs something."""
    if dollars >= 0.1 or dollars == 0:
        return f"${dollars:,.2f}"
    return f"${dollars:.2g}" if dollars >= 0.0001 else "less than $0.0001"


def width() -> int:
    """Characters of a line of standard output."""
    return get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Aligned columns on standard output. Cells are made printable here; what is too wide goes over several lines, once
    the columns that can be spared are left out.

    Args:
        columns: From left to right.
        rows: A cell a column.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, _APART, 0, 0), header_style="bold")
    cells = [[Text(printable(cell)) for cell in row] for row in rows]
    heads = [Text(printable(column.head)) for column in columns]
    kept = _kept(columns, [heads, *cells], width())
    heads, cells = [heads[at] for at in kept], [[row[at] for at in kept] for row in cells]
    widths = _widths(heads, cells, width())
    for at, head, fixed in zip(kept, heads, widths, strict=True):
        shown.add_column(head, justify=columns[at].side, overflow="fold", width=fixed)
    for row in cells:
        shown.add_row(*row)
    console = Console(highlight=False, markup=False, emoji=False, width=width())
    with console.capture() as captured:
        console.print(shown)
    for line in captured.get().splitlines():
        data(line.rstrip())


def _kept(columns: Sequence[Column], lines: "Sequence[Sequence[Text]]", room: int) -> list[int]:
    """The places of the columns that are shown: while they don't fit, the last one that can be spared is left out."""
    kept = list(range(len(columns)))
    whole = [max(line[at].cell_len for line in lines) + _APART for at in kept]
    spare = [at for at in kept if columns[at].spare]
    while spare and sum(whole[at] for at in kept) > room:
        kept.remove(spare.pop())
    return kept


def _widths(heads: "Sequence[Text]", cells: "Sequence[Sequence[Text]]", room: int) -> list[int | None]:
    """Widths of the columns that hold no texts, where a table is too wide but can be had without cutting a piece."""
    from rich.cells import cell_len

    def longest_piece(text: "Text") -> int:
        return max(map(cell_len, _PIECE.findall(text.plain)), default=0)

    places = range(len(heads))
    gaps = _APART * len(heads)
    whole = [max((row[at].cell_len for row in cells), default=0) for at in places]
    pieces = [max(map(longest_piece, (row[at] for row in cells)), default=0) for at in places]
    least = [max(longest_piece(heads[at]), pieces[at]) for at in places]
    if sum(max(heads[at].cell_len, whole[at]) for at in places) + gaps <= room or sum(least) + gaps > room:
        return [None for _ in places]
    return [least[at] if whole[at] == pieces[at] else None for at in places]


@dataclass(frozen=True, slots=True)
class _HeldUp:
    """Calls of an account that wait. Moments are those of the monotonic clock."""

    why: str
    since: float
    until: float
    """The next attempt, where that is known."""

    def at(self, now: float) -> str:
        """What to say of it."""
        since = f" for {now - self.since:,.0f} s" if now - self.since >= 1 else ""
        until = f", next try in {self.until - now:,.0f} s" if self.until - now >= 1 else ""
        return f"waiting{since}{until}: {self.why}"


class TerminalProgress:
    """Progress on standard error, where that is a terminal: done of total, rate, time left, failures; and what calls
    of hosted models wait for, if they do. Elsewhere only this, a line now and then.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._told = not quiet and not self._shown
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._next = 0.0
        self._resumed = 0
        self._held_up: dict[str, _HeldUp] = {}
        self._next_line = 0.0
        self._pause = _FIRST_PAUSE
        self._counts: Counts | None = None
        self._watched = watched(self)

    def __enter__(self) -> Self:
        self._watched.__enter__()
        if self._shown:
            from rich.console import Console, RenderableType
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
            from rich.text import Text

            waits = self._waits

            class WithWaits(Progress):
                def get_renderables(self) -> Iterable[RenderableType]:
                    yield from super().get_renderables()
                    for line in waits():
                        yield Text(line, no_wrap=True, overflow="ellipsis")

            self._bar = WithWaits(
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[done]}"),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[failures]}"),
                console=Console(stderr=True, highlight=False),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._watched.__exit__(kind, error, trace)

    def held_up(self, account: str, why: str, seconds: float, /) -> None:
        """Calls wait: see `judges.calls.waits`."""
        now = monotonic()
        before = self._held_up.get(account)
        held_up = _HeldUp(printable(why), now if before is None else before.since, now + seconds)
        self._held_up[account] = held_up
        if self._told and now >= self._next_line and max(now - held_up.since, seconds) >= _LONG:
            self._next_line = now + self._pause
            self._pause *= 2
            done = f" ({self._counts.done:,} of {self._counts.total:,} done)" if self._counts is not None else ""
            note(f"judges: {held_up.at(now)}{done}")

    def going_on(self, account: str, /) -> None:
        """Calls get through again."""
        self._held_up.pop(account, None)

    def _waits(self) -> list[str]:
        """What to say at this moment, on a terminal. Another thread asks."""
        now = monotonic()
        return [
            each.at(now)
            for each in list(self._held_up.values())
            if max(now, each.until) - each.since >= _SHORT and now - each.until < _PAST
        ]

    def reading(self, count: int) -> None:
        """So many cases have been read."""
        if self._due():
            self._update("reading", count, None)

    def __call__(self, counts: Counts, /) -> None:
        """So far have the judgements come."""
        self._counts = counts
        if self._due():
            self._update("judging", counts.done, counts)

    def step(self, what: str) -> Callable[[Counts], None]:
        """The progress of one step of several, under its own name."""

        def tell(counts: Counts, /) -> None:
            self._counts = counts
            if self._due():
                self._update(what, counts.done, counts)

        return tell

    def _due(self) -> bool:
        if self._bar is None or monotonic() < self._next:
            return False
        self._next = monotonic() + 0.1
        return True

    def _update(self, what: str, done: int, counts: Counts | None) -> None:
        if self._bar is None:
            return
        total = counts.total if counts is not None else None
        of_total = "" if total is None else f"/{total:,}"
        fields: dict[str, Any] = {"done": f"{done:,}{of_total}", "rate": "", "failures": ""}
        if self._task is None or self._bar.tasks[-1].description != what:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._resumed = done
            self._task = self._bar.add_task(what, total=total, completed=done, **fields)
        task = self._bar.tasks[-1]
        if counts is not None and task.elapsed:
            fields["rate"] = f"{(done - self._resumed) / task.elapsed:,.0f}/s"
            fields["failures"] = f"{counts.failed:,} failed" if counts.failed else ""
        self._bar.update(self._task, completed=done, total=total, **fields)
