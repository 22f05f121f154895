"""Judges cases: plans the judgements, skips those that exist, makes the others, and turns errors into outcomes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from time import perf_counter
from typing import Protocol

from judges.case import Case
from judges.criterion import Criterion
from judges.engine.plan import Assignment, Work, assign, plan
from judges.engine.pool import for_each, run_to_end
from judges.engine.progress import Counts, Progress
from judges.engine.results import Results
from judges.engine.run import Manifest, Run
from judges.errors import Disposition, InputError, JudgesError, TooManyFailed
from judges.judge import Judge
from judges.usage import NOTHING_USED, tallied
from judges.verdict import Abstained, Failed, Judgement, Outcome, Verdict

__all__ = [
    "GRACE_SECONDS",
    "WORKERS",
    "Store",
    "admitted",
    "checked",
    "evaluate",
    "evaluate_sync",
    "judge_all",
    "judge_run",
    "outcome_of",
]

WORKERS = 8
"""Judgements under way at a time, unless told otherwise."""

_MESSAGE_LENGTH = 500
GRACE_SECONDS = 10.0
"""What is under way when something stops it all, such as a refused key, may take so long to end. It may be paid for."""
_ENOUGH = 50
"""Judgements that must have been made before their failures end an evaluation."""


class Store(Protocol):
    """Where judgements go, and which of them it has already. A ledger is one."""

    keys: set[bytes]

    def append(self, judgement: Judgement, /) -> None:
        """Keep one judgement."""
        ...


async def judge_all(
    cases: Iterable[Case],
    assignments: Sequence[Assignment],
    judges: Mapping[str, Judge],
    store: Store,
    *,
    replicates: int = 1,
    repeat_share: float = 0.0,
    workers: int | None = None,
    max_failures: float = 1.0,
    grace_seconds: float = GRACE_SECONDS,
    counts: Counts | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Make every judgement that `store` doesn't have, and store each as soon as it is made.

    Args:
        cases: Read once, as workers become free.
        assignments: Who judges what.
        judges: By name.
        store: Its keys decide what is left to do; each judgement is appended to it.
        replicates: How often each judgement is made.
        repeat_share: The share of judgements made once more, as `plan` chooses them.
        workers: Judgements under way at a time; by default as many as the judges can have.
        max_failures: The share of judgements that may fail. A larger one ends it, once there are enough to tell.
        grace_seconds: How long what is under way may still take when something stops it all.
        counts: Counted on, if given: its `total` is for `progress` to show.
        progress: Told after each judgement.

    Raises:
        TooManyFailed: More than `max_failures` of the judgements made now failed.
        JudgesError: Another error whose disposition is STOP. What was under way is finished and stored first, as far
            as it ends in time.
    """
    count = counts if counts is not None else Counts()
    caller = asyncio.current_task()
    is_over = False

    def end() -> None:
        nonlocal is_over
        is_over = True

    def is_ended() -> bool:
        return is_over or (caller is not None and caller.cancelling() > 0)

    def left() -> Iterator[Work]:
        there = frozenset(store.keys)
        begun: set[bytes] = set()
        for work in plan(cases, assignments, replicates=replicates, repeat_share=repeat_share):
            key = bytes.fromhex(work.key)
            if key in there:
                count.resumed += 1
            elif key in begun:
                count.shared += 1
            else:
                begun.add(key)
                yield work
                continue
            if progress is not None:
                progress(count)
            if is_ended():
                return  # Ctrl-C while there is nothing but judgements to skip

    async def judge(work: Work) -> Judgement:
        began = perf_counter()
        assignment = work.assignment
        with tallied() as tally:
            try:
                outcome = await outcome_of(
                    judges[assignment.judge],
                    work.case,
                    assignment.criterion,
                    replicate=work.replicate,
                    is_ended=is_ended,
                )
            except BaseException:
                count.usage += tally.usage  # paid for, though no judgement comes of it
                raise
        return Judgement(
            case_id=work.case.id,
            criterion=assignment.criterion.name,
            judge=assignment.judge,
            outcome=outcome,
            replicate=work.replicate,
            key=work.key,
            seconds=round(perf_counter() - began, 6),
            usage=None if tally.usage is NOTHING_USED else tally.usage,
        )

    def keep(judgement: Judgement) -> None:
        try:
            store.append(judgement)
        except TypeError as error:  # something in the verdict is no JSON value
            judgement = replace(judgement, outcome=_failed(error))
            store.append(judgement)
        if judgement.usage is not None:
            count.usage += judgement.usage
        match judgement.outcome:
            case Verdict():
                count.verdicts += 1
            case Abstained():
                count.abstained += 1
            case Failed():
                count.failed += 1
        if progress is not None:
            progress(count)
        if isinstance(judgement.outcome, Failed):
            count.last_failure = f"{judgement.outcome.error}: {judgement.outcome.message}"
        if isinstance(judgement.outcome, Failed) and count.made >= _ENOUGH and count.failed > max_failures * count.made:
            raise TooManyFailed(
                f"{count.failed:,} of {count.made:,} judgements failed, more than {max_failures:.0%}; "
                f"the last one: {count.last_failure}"
            )

    at_once = workers if workers is not None else max(getattr(each, "workers", WORKERS) for each in judges.values())
    try:
        await for_each(judge, left(), keep, workers=at_once, grace_seconds=grace_seconds, on_grace_over=end)
    finally:
        await _let_go(judges.values())
    return count


async def _let_go(judges: Iterable[Judge]) -> None:
    """Close the connections of judges that have some."""
    for judge in judges:
        close: Callable[[], Awaitable[None]] | None = getattr(judge, "aclose", None)
        if close is not None:
            await close()


async def outcome_of(
    judge: Judge, case: Case, criterion: Criterion, *, replicate: int, is_ended: Callable[[], bool]
) -> Outcome:
    """One judgement's outcome: what the judge returns, or a failure where it raises or breaks its promises.

    Args:
        judge: Who is asked.
        case: About what.
        criterion: By what.
        replicate: Which repetition.
        is_ended: Whether the evaluation is being cancelled. Any other cancellation has leaked from what the judge did.

    Raises:
        JudgesError: An error whose disposition is STOP.
    """
    try:
        return _checked(await judge.judge(case, criterion, replicate=replicate), judge.name)
    except JudgesError as error:
        if error.disposition is Disposition.STOP:
            raise
        return _failed(error)
    except KeyboardInterrupt:
        raise
    except asyncio.CancelledError as error:
        if is_ended():
            raise
        task = asyncio.current_task()
        while task is not None and task.cancelling():
            task.uncancel()
        return _failed(error)
    except BaseException as error:  # noqa: BLE001  an application's judge may raise anything; it costs this judgement only
        return _failed(error)


def _failed(error: BaseException) -> Failed:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  even that may fail
        message = "(it has no message)"
    return Failed(type(error).__name__, " ".join(message.split())[:_MESSAGE_LENGTH])


def _checked(outcome: object, judge: str) -> Outcome:
    """The outcome, if it keeps the promises of the protocol; a failure that says which it breaks, if not."""
    if isinstance(outcome, Abstained):
        return outcome
    if not isinstance(outcome, Verdict):
        return Failed("InvalidVerdict", f"{judge} returned {type(outcome).__name__}, not a Verdict or Abstained")
    for number in _numbers(outcome):
        if not isinstance(number, Real) or not 0 <= float(number) <= 1:  # NaN fails this too
            return Failed("InvalidVerdict", f"{judge} gave {number!r}; scores and probabilities go from 0 to 1")
    return outcome


def _numbers(verdict: Verdict) -> Iterator[object]:
    yield verdict.score
    yield from (verdict.probabilities or {}).values()
    for claim in verdict.claims:
        yield claim.score
        yield from (claim.probabilities or {}).values()


async def judge_run(
    run: Run,
    manifest: Manifest,
    judges: Mapping[str, Judge],
    *,
    workers: int | None = None,
    max_failures: float = 1.0,
    counts: Counts | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Make every judgement that a run still lacks. Hold the run (`Run.locked`) meanwhile.

    Raises:
        JudgesError: As `judge_all`.
        LedgerError: A file of the run can't be read or written.
    """
    counts = counts if counts is not None else Counts()
    counts.total = run.planned(manifest)
    with run.open_ledger() as ledger:
        counts.repaired = ledger.repaired
        if progress is not None:
            progress(counts)
        return await judge_all(
            run.cases(),
            manifest.assignments,
            judges,
            ledger,
            replicates=manifest.replicates,
            repeat_share=manifest.repeat_share,
            workers=workers,
            max_failures=max_failures,
            counts=counts,
            progress=progress,
        )


class _Memory:
    """A store that keeps judgements by key."""

    def __init__(self) -> None:
        self.keys: set[bytes] = set()
        self.by_key: dict[str, Judgement] = {}

    def append(self, judgement: Judgement) -> None:
        self.by_key[judgement.key] = judgement


async def evaluate(
    cases: Iterable[Case],
    criteria: Criterion | Iterable[Criterion],
    judges: Judge | Iterable[Judge],
    *,
    out: str | Path | None = None,
    replicates: int = 1,
    workers: int | None = None,
    max_failures: float = 1.0,
    progress: Progress | None = None,
) -> Results:
    """Judge cases by every criterion with every judge.

    Args:
        cases: Their ids must differ. With `out` they are read once and not kept in memory.
        criteria: What is asked: one or several.
        judges: Who is asked: one or several.
        out: Folder of the run. What it holds is not judged again, so the same call goes on where it was stopped.
            Without it, nothing is written.
        replicates: How often each judgement is made.
        workers: Judgements under way at a time; by default as many as the judges can have.
        max_failures: The share of judgements that may fail. A larger one ends the evaluation, from 50 judgements on.
        progress: Told after each judgement.

    Returns:
        The judgements, in order of the cases; a verdict, an abstention or a failure each.

    Raises:
        InputError: Two cases share an id, or a judge doesn't support a criterion, or refuses a case.
        TooManyFailed: More than `max_failures` failed.
        JudgesError: A judge raised an error that stops everything.
    """
    asked = [criteria] if isinstance(criteria, Criterion) else list(criteria)
    panel = list(judges) if isinstance(judges, Iterable) else [judges]
    if replicates < 1 or (workers is not None and workers < 1):
        raise InputError("`replicates` and `workers` are 1 or more")
    assignments = assign(asked, panel)
    by_name = {judge.name: judge for judge in panel}
    if out is not None:
        run = Run(out)
        with run.locked():
            manifest = run.begin(
                admitted(checked(cases), assignments, by_name),
                lambda count: Manifest("(Python)", assignments, replicates=replicates, cases=count),
            )
            await judge_run(run, manifest, by_name, workers=workers, max_failures=max_failures, progress=progress)
        return Results(run.stored(manifest))
    kept = list(admitted(checked(cases), assignments, by_name))
    memory = _Memory()
    counts = Counts(total=len(kept) * len(assignments) * replicates)
    await judge_all(
        kept,
        assignments,
        by_name,
        memory,
        replicates=replicates,
        workers=workers,
        max_failures=max_failures,
        counts=counts,
        progress=progress,
    )
    return Results(
        [
            replace(
                memory.by_key[work.key],
                case_id=work.case.id,
                criterion=work.assignment.criterion.name,
                judge=work.assignment.judge,
            )
            for work in plan(kept, assignments, replicates=replicates)
        ]
    )


def admitted(cases: Iterable[Case], assignments: Sequence[Assignment], judges: Mapping[str, Judge]) -> Iterable[Case]:
    """The same cases, seen first by the judges that want to: what one can't judge is refused before anything is.

    Args:
        cases: Those to be judged.
        assignments: Who judges what.
        judges: By name.

    Raises:
        InputError: While the cases are read: a judge refuses them.
    """
    for name, judge in judges.items():
        admit: Callable[[Iterable[Case], Sequence[Criterion]], Iterable[Case]] | None = getattr(judge, "admit", None)
        if admit is not None:
            cases = admit(cases, [each.criterion for each in assignments if each.judge == name])
    return cases


def checked(cases: Iterable[Case]) -> Iterator[Case]:
    """The same cases, if they are what they should be. Files are checked at their own door; this is for made ones.

    Raises:
        InputError: One is no case, holds something else than texts, or has the id of another.
    """
    seen: set[str] = set()
    for case in cases:
        if not isinstance(case, Case):  # pyright: ignore[reportUnnecessaryIsInstance]  # a path, say
            raise InputError(f"{case!r:.100} is no Case; read a file with judges.load(path)")
        if complaint := case.complaint():
            raise InputError(f"case {case.id!r:.100}: {complaint}")
        if case.id in seen:
            raise InputError(f"two cases have the id `{case.id}`; give each its own")
        seen.add(case.id)
        yield case


def evaluate_sync(
    cases: Iterable[Case],
    criteria: Criterion | Iterable[Criterion],
    judges: Judge | Iterable[Judge],
    *,
    out: str | Path | None = None,
    replicates: int = 1,
    workers: int | None = None,
    max_failures: float = 1.0,
    progress: Progress | None = None,
) -> Results:
    """`evaluate`, run to its end. Where an event loop already runs (a notebook), in a thread with a loop of its own.

    Arguments, result and errors are those of `evaluate`.
    """
    return run_to_end(
        evaluate(
            cases,
            criteria,
            judges,
            out=out,
            replicates=replicates,
            workers=workers,
            max_failures=max_failures,
            progress=progress,
        )
    )
