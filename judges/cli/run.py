"""`judges run`: judge the cases of a file into a run folder."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from judges.case import Case, Part
from judges.cli.output import Exit, TerminalProgress, counted, note
from judges.cli.read import print_summary
from judges.criterion import Criterion
from judges.errors import InputError, JudgesError
from judges.fingerprint import fingerprint
from judges.printable import printable

__all__ = ["run"]

_INVALID_SHOWN = 10
_INVALID_KEPT = 1000


def run(
    cases: Annotated[
        str, typer.Argument(help="File of cases: .jsonl, .json, .csv, .tsv, .parquet; - for standard input.")
    ],
    criterion: Annotated[
        list[str], typer.Option("--criterion", "-c", help="What is asked; may be given several times.")
    ],
    judge: Annotated[list[str], typer.Option("--judge", "-j", help="Who is asked: overlap, or package.module:object.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the run. By default named after the arguments.")] = None,
    map_: Annotated[
        list[str] | None, typer.Option("--map", help="OURS=THEIRS: the field of the file that holds a field of ours.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="jsonl, json, csv, tsv or parquet, where the file's name doesn't tell."),
    ] = None,
    reader: Annotated[str | None, typer.Option(help="package.module:function that reads the file into cases.")] = None,
    lang: Annotated[str | None, typer.Option(help="Language of cases that don't say theirs (ca, fr, pt-BR).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first so many cases.")] = None,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out records that are no cases, and list them.")
    ] = False,
    replicates: Annotated[int, typer.Option(min=1, help="How often each judgement is made.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Judgements under way at a time.")] = 8,
    max_failed: Annotated[
        float, typer.Option(min=0, max=1, help="Exit with 3 when a larger share of judgements failed.")
    ] = 0.1,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Scores from here on pass. Kept with the run; judges nothing again."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Judge the cases of a file. Stopped at any moment, the same command goes on where it was."""
    from judges.config import criterion_named, judge_named
    from judges.engine.evaluate import judge_run
    from judges.engine.plan import assign
    from judges.engine.run import Manifest, Run
    from judges.summary import summarise_run

    criteria = [criterion_named(name) for name in dict.fromkeys(criterion)]
    judges = [judge_named(name) for name in dict.fromkeys(judge)]
    assignments = assign(criteria, judges)
    if threshold is not None:
        assignments = tuple(replace(assignment, threshold=threshold) for assignment in assignments)
    fields = _fields(map_ or [])
    intake = _Intake(skip_invalid=skip_invalid)
    if cases == "-" and format_ is None:
        intake.hint = "; standard input is read as JSON Lines, other formats are named with --format"
    source = _reader(cases, reader, fields, format_, {c.hypothesis for c in criteria}, intake.refuse)
    if out is None:
        asked = [
            cases,
            criterion,
            judge,
            sorted(fields.items()),
            format_,
            reader,
            lang,
            limit,
            skip_invalid,
            replicates,
        ]
        out = Path("runs") / _folder_name(cases, criterion, judge, fingerprint(asked))
    home = Run(out)
    with TerminalProgress(quiet=quiet) as progress, home.locked():
        try:
            manifest = home.begin(
                intake.admit(islice(source, limit), lang, progress.reading),
                lambda count: Manifest(
                    printable(cases), assignments, replicates, count, intake.invalid, tuple(intake.complaints)
                ),
            )
            intake.report(criteria)
            counts = asyncio.run(
                judge_run(home, manifest, {j.name: j for j in judges}, workers=workers, progress=progress)
            )
        except (KeyboardInterrupt, asyncio.CancelledError):
            note(f"judges: interrupted; what was judged is kept in {out}: run the same command again to go on")
            raise typer.Exit(Exit.INTERRUPTED) from None
    if counts.repaired:
        note("the last line of the ledger was cut off: it was removed, and that judgement made again")
    if counts.resumed:
        note(f"resumed: {counts.resumed:,} of {counts.total:,} judgements were there already, {counts.made:,} made now")
    if counts.shared:
        note(f"{counts.shared:,} judgements are those of other cases with the very same content")
    rows = summarise_run(home, manifest)
    print_summary(home, manifest, rows, json=json)
    failed = sum(sum(row.failed.values()) for row in rows)
    if failed > max_failed * counts.total:
        note(f"judges: {failed:,} of {counts.total:,} judgements failed; run the same command to try them again")
        raise typer.Exit(Exit.TOO_MANY_FAILED)


class _Intake:
    """Lets the cases of the input in, and remembers what was wrong with it."""

    def __init__(self, *, skip_invalid: bool) -> None:
        self.invalid = 0
        self.complaints: list[str] = []
        """About the first so many invalid records."""
        self.hint = ""
        """What else may be wrong when records are."""
        self._skip = skip_invalid
        self._present: set[Part] = set()

    def refuse(self, complaint: object) -> None:
        """Remember a record that is no case."""
        self.invalid += 1
        if len(self.complaints) < _INVALID_KEPT:
            self.complaints.append(str(complaint))

    def admit(self, cases: Iterable[Case], lang: str | None, progress: Callable[[int], None]) -> Iterator[Case]:
        """The cases, those without a language in `lang`.

        Raises:
            InputError: After the last case, if a record was refused and may not be skipped.
        """
        count = 0
        for count, case in enumerate(cases, 1):
            progress(count)
            if len(self._present) < len(Part):
                self._present.update(part for part in Part if case.part(part))
            yield replace(case, lang=lang) if case.lang is None and lang is not None else case
        if self.invalid and not self._skip:
            self._list()
            found = counted(self.invalid, "invalid record")
            raise InputError(f"{found}, nothing was judged; --skip-invalid leaves them out{self.hint}")
        if not count:
            raise InputError("no case was found, so nothing was judged")

    def report(self, criteria: Sequence[Criterion]) -> None:
        """Say what was left out, and what no case has though a criterion needs it."""
        if self.invalid:
            note(f"skipped {counted(self.invalid, 'invalid record')}:")
            self._list()
        for criterion in criteria:
            for part in (criterion.hypothesis, criterion.premise):
                if part is not None and part not in self._present:
                    note(f"no case has `{part}`, which `{criterion.name}` needs; map a field with --map {part}=FIELD")
        if Part.RIVAL in self._present and not any(Part.RIVAL in criterion.parts for criterion in criteria):
            note("the cases are pairs, and only `answers.a` is judged; the other one with --map answer=answers.b")

    def _list(self) -> None:
        for complaint in self.complaints[:_INVALID_SHOWN]:
            note(f"  {printable(complaint)}")
        if self.invalid > _INVALID_SHOWN:
            note(f"  and {self.invalid - _INVALID_SHOWN:,} more")


def _reader(
    cases: str,
    reader: str | None,
    fields: dict[str, str],
    format_: str | None,
    required: set[Part],
    on_invalid: Callable[[object], None],
) -> Iterable[Case]:
    from judges.config import reader_named
    from judges.datasets import read_cases
    from judges.engine.evaluate import checked

    if reader is None:
        return read_cases(cases, fields=fields, format=format_, required=required, on_invalid=on_invalid)
    if fields or format_:
        raise InputError("--map and --format are for our own readers; yours makes the cases itself")
    return checked(_made_by(reader, reader_named(reader), Path(cases)))


def _made_by(name: str, reader: Callable[[Path], Iterable[Case]], path: Path) -> Iterator[Case]:
    """What an application's reader makes; what it raises is the user's to mend."""
    try:
        yield from reader(path)
    except (JudgesError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise InputError(f"reader `{name}`: failed on {path} ({type(error).__name__}: {error})") from error


def _folder_name(cases: str, criteria: list[str], judges: list[str], digest: str) -> str:
    stem = "stdin" if cases == "-" else Path(cases).name.partition(".")[0]
    words = "-".join([stem, *criteria, *judges])
    return f"{re.sub(r'[^A-Za-z0-9_]+', '-', words)[:60].strip('-')}-{digest[:8]}"


def _fields(pairs: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        if not (ours and equals and theirs):
            raise InputError(f"--map {pair}: should be OURS=THEIRS, as in --map question=query")
        if ours in fields:
            raise InputError(f"--map {pair}: `{ours}` is mapped twice")
        fields[ours] = theirs
    return fields
