"""`judges run`: judge the cases of a file into a run folder."""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from judges.case import Case, Part
from judges.cli.options import RunOptions, option_of
from judges.cli.output import Exit, TerminalProgress, counted, exit_code, note, usage_line
from judges.cli.read import print_summary
from judges.criterion import Criterion
from judges.datasets.tiers import of_tier
from judges.engine.progress import Counts
from judges.errors import BudgetReached, CacheError, InputError, JudgesError, ReplyError, ServiceError, TooManyFailed
from judges.fingerprint import fingerprint
from judges.printable import printable
from judges.usage import NOTHING_USED

if TYPE_CHECKING:
    from judges.config import Connections
    from judges.engine.plan import Assignment
    from judges.engine.run import Run
    from judges.judge import Judge
    from judges.summary import SummaryRow

__all__ = ["Asked", "Intake", "asked", "connections_of", "run"]

_INVALID_SHOWN = 10
_INVALID_KEPT = 1000
_CHECKS = "checks"
"""The judge of plain checks. It has them all, whoever else is asked, and nothing else."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line asks for, read and checked."""

    options: RunOptions
    connections: "Connections"
    criteria: "list[Criterion]"
    judges: "list[Judge]"
    assignments: "tuple[Assignment, ...]"
    intake: "Intake"
    source: "Iterable[Case]"
    run: "Run"

    def by_name(self) -> "dict[str, Judge]":
        """The judges."""
        return {judge.name: judge for judge in self.judges}


def asked(options: RunOptions, *, only_plans: bool = False) -> Asked:
    """Everything that a command line names. Nothing is judged, sent or written yet.

    Raises:
        InputError: Something isn't what it should be.
    """
    from judges.backends.checks import ChecksJudge
    from judges.config import what_is_asked
    from judges.engine.evaluate import admitted
    from judges.engine.plan import assign
    from judges.engine.run import Run

    checks, criteria = what_is_asked(options.criterion, options.rubric)
    connections = connections_of(options, only_plans=only_plans)
    judges = [connections.judge(name) for name in dict.fromkeys(options.judge) if name != _CHECKS]
    if not checks and not criteria:
        raise InputError("nothing to judge: say what, with --criterion or --rubric")
    if criteria and not judges:
        raise InputError(f"no judge for `{criteria[0].name}`: name one, as in --judge overlap")
    for remark in connections.check_asked(option_of):
        note(remark)
    assignments = assign(criteria, judges) if criteria else ()
    if options.threshold is not None:
        assignments = tuple(replace(assignment, threshold=options.threshold) for assignment in assignments)
    if options.calibration:
        from judges.plugins import calibration_reader

        assignments = calibration_reader().bind(options.calibration, assignments)
        judges = [_fitted(judge, assignments) for judge in judges]
    if checks:
        if any(judge.name == _CHECKS for judge in judges):
            raise InputError(f"a judge of yours is called `{_CHECKS}`, as is that of plain checks; rename yours")
        judges = [ChecksJudge(checks, name=_CHECKS), *judges]
        plain = [check.criterion for check in checks]
        criteria = [*plain, *criteria]
        assignments = (*assign(plain, judges[:1]), *assignments)
    fields = options.fields()
    intake = Intake(skip_invalid=options.skip_invalid)
    if options.cases == "-" and options.format is None:
        intake.hint = "; standard input is read as JSON Lines, other formats are named with --format"
    source = _reader(
        options.cases, options.reader, fields, options.format, {c.hypothesis for c in criteria}, intake.refuse
    )
    wanted = islice(of_tier(source, options.tier), options.limit)
    return Asked(
        options,
        connections,
        criteria,
        judges,
        assignments,
        intake,
        admitted(wanted, assignments, {judge.name: judge for judge in judges}),
        Run(options.out if options.out is not None else _folder(options, fields, assignments)),
    )


def _fitted(judge: "Judge", assignments: "tuple[Assignment, ...]") -> "Judge":
    """The judge; one that says of its thresholds whether they are fitted is told so, where all of them are."""
    made: object = judge
    is_all = all(each.calibration is not None for each in assignments if each.judge == judge.name)
    if is_all and hasattr(made, "threshold_is_fitted") and is_dataclass(made) and not isinstance(made, type):
        return cast("Judge", replace(made, threshold_is_fitted=True))
    return judge


def connections_of(options: RunOptions, *, only_plans: bool = False) -> "Connections":
    """What makes the judges, and what their calls share. Nothing is opened yet.

    Raises:
        InputError: The settings can't be read.
    """
    from judges.config import CacheMode, Connections
    from judges.settings import JudgeSettings, read_settings

    settings = read_settings(options.config)
    mode: CacheMode = "use"
    if options.no_cache:
        mode = "none"
    elif options.refresh:
        mode = "refresh"
    elif options.offline:
        mode = "offline"
    return Connections(
        settings,
        asked=JudgeSettings(
            base_url=options.base_url,
            claims=None if options.claims is None else options.claims.value,
            rationale=False if options.no_rationale else None,
            language=options.rationale_in,
            samples=options.samples,
            logprobs=True if options.logprobs else None,
            max_tokens=options.max_tokens,
            window=options.window,
            long=None if options.long is None else options.long.value,
            timeout_seconds=options.timeout,
            parameters=options.parameters(),
        ),
        requests_per_minute=options.rpm,
        tokens_per_minute=options.tpm,
        concurrency=options.concurrency,
        cache=options.cache,
        mode=mode,
        max_cost=options.max_cost,
        only_plans=only_plans,
    )


def run(options: RunOptions) -> None:
    """Judge the cases of a file. Stopped at any moment, the same command goes on where it was."""
    from judges.backends.stored import StoredVerdicts
    from judges.engine.evaluate import judge_run
    from judges.engine.run import Manifest
    from judges.summary import summarise_run

    job = asked(options)
    home, intake = job.run, job.intake
    askable = {judge.name for judge in job.judges if not isinstance(judge, StoredVerdicts)}
    counts = Counts()
    manifest: Manifest | None = None
    stopped: JudgesError | None = None
    with TerminalProgress(quiet=options.quiet) as progress, home.locked():
        try:
            manifest = home.begin(
                intake.admit(job.source, options.lang, progress.reading),
                lambda count: Manifest(
                    printable(options.cases),
                    job.assignments,
                    options.replicates,
                    count,
                    intake.invalid,
                    tuple(intake.complaints),
                    options.repeat_share,
                ),
            )
            intake.report(job.criteria)
            try:
                asyncio.run(
                    judge_run(
                        home,
                        manifest,
                        job.by_name(),
                        workers=options.workers,
                        max_failures=options.max_failures if askable else 1.0,  # what costs nothing is read to its end
                        counts=counts,
                        progress=progress,
                    )
                )
            finally:
                job.connections.close()
        except (KeyboardInterrupt, asyncio.CancelledError):
            _report_usage(counts)
            note(f"judges: interrupted; what was judged is kept in {home.path}: run the same command again to go on")
            raise typer.Exit(Exit.INTERRUPTED) from None
        except (ServiceError, BudgetReached, TooManyFailed, CacheError) as error:
            if manifest is None or not counts.done:
                raise
            stopped = error
    _report(counts)
    rows = summarise_run(home, manifest)
    print_summary(home, manifest, rows, json=options.json)
    if stopped is not None:
        note(f"judges: {printable(str(stopped))}")
        note(f"what was judged is kept: {_remedy(rows, askable).replace('to try them again', 'to go on')}")
        raise typer.Exit(exit_code(stopped))
    failed = sum(sum(row.failed.values()) for row in rows)
    if failed > options.max_failures * counts.total:
        last = f"; the last one: {printable(counts.last_failure, 300)}" if counts.last_failure else ""
        note(f"judges: {failed:,} of {counts.total:,} judgements failed{last}")
        if askable:
            note(_remedy(rows, askable))
        raise typer.Exit(Exit.TOO_MANY_FAILED)


def _remedy(rows: "list[SummaryRow]", askable: Collection[str]) -> str:
    """What may help against failures: a reply that was no verdict is in the cache, and would come back from there."""
    kinds = {kind for row in rows if row.judge in askable for kind in row.failed}
    again = "run the same command to try them again"
    if kinds & {kind.__name__ for kind in ReplyError.__subclasses__()}:
        return f"{again}, with --refresh to ask the model anew where its reply was no verdict"
    return again


def _report(counts: Counts) -> None:
    """What is not in the summary: how the judgements came about."""
    if counts.repaired:
        note("the last line of the ledger was cut off: it was removed, and that judgement made again")
    if counts.resumed:
        note(f"resumed: {counts.resumed:,} of {counts.total:,} judgements were there already, {counts.made:,} made now")
    if counts.shared:
        note(f"{counted(counts.shared, 'judgement')} taken over from cases with the very same content")
    _report_usage(counts)


def _report_usage(counts: Counts) -> None:
    usage = counts.usage
    if usage != NOTHING_USED:
        note(f"used now: {usage_line(usage)}")


class Intake:
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


def _folder(options: RunOptions, fields: dict[str, str], assignments: "tuple[Assignment, ...]") -> Path:
    """The default folder of a run: the same for the same arguments, another for others."""
    from judges.rubrics import RUBRIC_FILES

    asked = [
        options.cases,
        options.criterion,
        options.judge,
        sorted(fields.items()),
        options.format,
        options.reader,
        options.lang,
        options.limit,
        options.skip_invalid,
        options.replicates,
    ]
    if options.tier is not None:
        asked.append(options.tier)
    if options.rubric:
        asked.append(options.rubric)
    named = (*options.rubric, *options.criterion, *options.judge)
    if any(":" in name or name.endswith(RUBRIC_FILES) for name in named):
        asked.append([assignment.fingerprint for assignment in assignments])  # a model is asked in many ways
    stem = "stdin" if options.cases == "-" else Path(options.cases).name.partition(".")[0]
    names = [Path(name).stem if name.endswith(RUBRIC_FILES) else name for name in named]
    words = "-".join([stem, *names])
    return Path("runs") / f"{re.sub(r'[^A-Za-z0-9_]+', '-', words)[:60].strip('-')}-{fingerprint(asked)[:8]}"
