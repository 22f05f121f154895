"""`judges experiment`: try variants of an application on one dataset, and set their figures side by side."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.options import option_of
from judges.cli.output import (
    Column,
    Exit,
    TerminalProgress,
    count_of,
    counted,
    data,
    exit_code,
    figure,
    money,
    note,
    number,
    prose,
    table,
    usage_line,
    width,
    write_json,
)
from judges.errors import BudgetReached, CacheError, InputError, JudgesError, ServiceError, TooManyFailed
from judges.fingerprint import Json
from judges.printable import printable
from judges.usage import NOTHING_USED

if TYPE_CHECKING:
    from judges.config import CacheMode, Connections
    from judges.experiment.dataset import Dataset
    from judges.experiment.history import Entry, History
    from judges.experiment.plan import Plan
    from judges.experiment.trial import Asked, Change, Trial, VariantResult
    from judges.figures import Figure

__all__ = ["experiment"]

_NAME_WIDTH = 22
_FIGURE_WIDTH = 22
_NAMED = 3
_SETTING_LENGTH = 24
_BARS = "▁▂▃▄▅▆▇█"
_LABELS = {
    "answered_unanswerable": "answered, unanswerable",
    "refused_answerable": "refused, answerable",
    "length": "answer length",
    "seconds": "seconds a call",
}


def experiment(
    plan: Annotated[Path, typer.Argument(help="The plan, a .toml file: a dataset and variants.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the runs and of experiments.csv; by default runs/ and the plan's name."),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this variant; may be given several times.")] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="How often a pipeline is asked each question; else as the plan says, or 1."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many cases.")] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Call pipelines again where there is an answer already.")
    ] = False,
    max_failures: Annotated[
        float, typer.Option(min=0, max=1, help="End with 3 when a larger share of calls or judgements failed.")
    ] = 0.05,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars that judging may spend; ends with 4 before a call would pass it."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder of the cache.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask judges again, and replace what the cache has.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Only the cache may answer for judges: nothing is sent anywhere.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings, such as judges by name; by default judges.toml in the current folder."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try variants of an application on one dataset: retrieval and generation side by side, each variant a run."""
    from judges.config import Connections
    from judges.experiment.figures import figure_names
    from judges.experiment.history import History
    from judges.experiment.plan import read_plan
    from judges.experiment.trial import trials_of
    from judges.settings import read_settings

    if no_cache + refresh + offline > 1:
        raise InputError("--no-cache, --refresh and --offline exclude each other; give one of them")
    if no_cache and cache is not None:
        raise InputError("--no-cache and --cache exclude each other; give one of them")
    asked_for = read_plan(plan)
    trials = trials_of(asked_for, only or [])
    mode: CacheMode = "none" if no_cache else "refresh" if refresh else "offline" if offline else "use"
    connections = Connections(read_settings(config), cache=cache, mode=mode, max_cost=max_cost)
    asked = _asked(asked_for, connections, max_failures)
    home = _Home(out if out is not None else Path("runs") / plan.stem, asked_for, repeats or asked_for.repeats)
    history = History(home.out / "experiments.csv", figure_names(asked.ks, asked.assigned()[0]))
    dataset = _dataset(asked_for, limit)
    results, stopped = _tried(home, trials, dataset, asked, connections, anew=anew, quiet=quiet)
    told = _entered(history, results, dataset)
    if json:
        write_json(_record(home, dataset, results, told))
    elif results:
        _show(home, dataset, results, told)
    if stopped is not None:
        note(f"judges: {printable(str(stopped))}")
        note(f"what was said and judged is kept in {home.out}: run the same command again to go on")
        raise typer.Exit(exit_code(stopped))
    _end(results, max_failures)


@dataclass(frozen=True, slots=True)
class _Home:
    """Where an experiment is kept."""

    out: Path
    plan: "Plan"
    repeats: int


def _asked(plan: "Plan", connections: "Connections", max_failures: float) -> "Asked":
    from judges.config import what_is_asked
    from judges.experiment.trial import Asked

    checks, criteria = what_is_asked(map(plan.rubric, plan.criteria), map(plan.rubric, plan.rubrics))
    if criteria and not plan.judges:
        raise InputError(f'{plan.path}: no judge for `{criteria[0].name}`: name one, as in judges = ["overlap"]')
    names = tuple(dict.fromkeys(plan.judges))
    asked = Asked(
        tuple(checks),
        tuple(criteria),
        lambda: [connections.judge(name) for name in names],
        plan.ks,
        plan.refusal,
        max_failures,
    )
    asked.assigned()
    for remark in connections.check_asked(option_of):
        note(remark)
    return asked


def _dataset(plan: "Plan", limit: int | None) -> "Dataset":
    from judges.experiment.dataset import read_dataset

    return read_dataset(
        plan.file(plan.dataset),
        fields=plan.map,
        qrels=None if plan.qrels is None else plan.file(plan.qrels),
        passages=None if plan.passages is None else plan.file(plan.passages),
        limit=limit,
    )


def _tried(
    home: _Home,
    trials: "Sequence[Trial]",
    dataset: "Dataset",
    asked: "Asked",
    connections: "Connections",
    *,
    anew: bool,
    quiet: bool,
) -> "tuple[list[VariantResult], JudgesError | None]":
    """Each variant in turn, and what ended it early."""
    from judges.experiment.trial import Told, try_variant

    results: list[VariantResult] = []

    async def all_of_them(progress: TerminalProgress) -> None:
        for trial in trials:
            told = Told(progress.step(f"{trial.name}: asking"), progress.step(f"{trial.name}: judging"))
            results.append(
                await try_variant(trial, dataset, asked, home.out, repeats=home.repeats, anew=anew, told=told)
            )

    try:
        with TerminalProgress(quiet=quiet) as progress:
            try:
                asyncio.run(all_of_them(progress))
            finally:
                connections.close()
    except (KeyboardInterrupt, asyncio.CancelledError):
        note(
            f"judges: interrupted; what was said and judged is kept in {home.out}: run the same command again to go on"
        )
        raise typer.Exit(Exit.INTERRUPTED) from None
    except (ServiceError, BudgetReached, TooManyFailed, CacheError) as error:
        return results, error
    return results, None


def _end(results: "Sequence[VariantResult]", most: float) -> None:
    """The exit code, where too much failed."""
    for result in results:
        judged = result.judgements
        if result.failed_share > most:
            note(
                f"judges: {result.name}: {len(result.failures):,} of {counted(result.calls.total, 'call')} failed; "
                "run the same command to try them again"
            )
        elif judged.failed > most * judged.total:
            note(
                f"judges: {result.name}: {judged.failed:,} of {counted(judged.total, 'judgement')} failed; "
                "run the same command to try them again"
            )
        else:
            continue
        raise typer.Exit(Exit.TOO_MANY_FAILED)


# --- The rows -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Told:
    """What the rows have to say of each other."""

    csv: Path
    added: int
    neighbours: "tuple[Change, ...]"
    """Of each variant and the one before it."""
    since: "tuple[Change, ...]"
    """Of a variant and its row of before."""


def _entered(history: "History", results: "Sequence[VariantResult]", dataset: "Dataset") -> _Told:
    """Add the rows, and find what changed."""
    from judges.experiment.trial import changes

    since: list[Change] = []
    added = 0
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for result in results:
        entry = _entry(result, dataset)
        last = history.last(result.name)
        if last is not None:
            since.append(changes(f"the last row of {result.name}", last, result.name, entry.made_with()))
        added += history.add(entry, now)
    neighbours = [
        changes(before.name, before.settings, after.name, after.settings) for before, after in pairwise(results)
    ]
    return _Told(history.path, added, tuple(neighbours), tuple(each for each in since if each.names))


def _entry(result: "VariantResult", dataset: "Dataset") -> "Entry":
    from judges.experiment.history import Entry

    return Entry(
        result.name,
        dataset.identity,
        result.settings,
        [f"{each.criterion.name} by {each.judge} #{each.fingerprint[:8]}" for each in result.assignments],
        result.cases,
        result.repeats,
        len(result.failures),
        result.figures,
    )


def _record(home: _Home, dataset: "Dataset", results: "Sequence[VariantResult]", told: _Told) -> dict[str, object]:
    return {
        "plan": str(home.plan.path),
        "out": str(home.out),
        "csv": str(told.csv),
        "rows_added": told.added,
        "dataset": dataset.identity,
        "cases": len(dataset.cases),
        "repeats": home.repeats,
        "ks": list(home.plan.ks),
        "variants": [result.to_record() for result in results],
        "changes": [each.to_record() for each in told.neighbours],
        "changes_since_the_last_row": [each.to_record() for each in told.since],
    }


# --- The page -------------------------------------------------------------------------------------------------------


def _show(home: _Home, dataset: "Dataset", results: "Sequence[VariantResult]", told: _Told) -> None:
    room = max(1, (width() - _NAME_WIDTH) // _FIGURE_WIDTH)
    settings = list(dict.fromkeys(name for each in results for name in each.settings))
    for first in range(0, len(results), room):
        shown = results[first : first + room]
        names = [name for name in shown[0].figures if any(_is_there(each.figures[name]) for each in shown)]
        table(
            [Column(""), *(Column(each.name) for each in shown)],
            [
                *([name, *(_setting(each.settings, name) for each in shown)] for name in settings),
                *(
                    ["failed calls", *(_failed(each) for each in shown)]
                    for _ in range(any(r.failures for r in results))
                ),
                *([_LABELS.get(name, name), *(_cell(name, each.figures[name]) for each in shown)] for name in names),
            ],
        )
        data()
    _show_curves(results)
    for line in _notes(home, dataset, results, told):
        prose(line, "  ")
    if len(results) > 1:
        cluster = " --cluster repeat_of" if home.repeats > 1 else ""
        data("which differences are real:")
        for before, after in pairwise(results):
            data(f"  judges compare {before.run} {after.run}{cluster}")
    data(f"rows: {told.csv}")


def _is_there(value: "Figure") -> bool:
    return value.value is not None or value.reason != "no_data"


def _setting(settings: Mapping[str, Json], name: str) -> str:
    if name not in settings:
        return "–"
    value = settings[name]
    return printable(value if isinstance(value, str) else str(value), _SETTING_LENGTH)


def _failed(result: "VariantResult") -> str:
    return f"{len(result.failures):,} of {result.calls.total:,}"


def _cell(name: str, value: "Figure") -> str:
    if value.value is None:
        return "–" if value.reason == "no_data" else f"– ({value.reason})"
    match name:
        case "answered_unanswerable" | "refused_answerable":
            return count_of(value)
        case "cost":
            return money(value.value)
        case "length":
            return figure(value, 0)
        case "seconds":
            return figure(value, 2 if value.value >= 1 else 4)
        case _:
            return figure(value)


def _show_curves(results: "Sequence[VariantResult]") -> None:
    """Recall by k, one column a k: a picture."""
    drawn = [each for each in results if len(each.found.curve) > 1]
    if not drawn:
        return
    length = max(len(each.name) for each in drawn)
    deepest = max(len(each.found.curve) for each in drawn)
    data(f"recall by k, from 1 to {deepest}")
    for each in drawn:
        curve = each.found.curve
        bars = "".join(_BARS[min(int(value * len(_BARS)), len(_BARS) - 1)] for value in curve)
        data(f"  {each.name:<{length}}  {bars:<{deepest}}  {number(curve[0])} to {number(curve[-1])}")
    prose(
        "where it flattens, more passages find little more. That is a picture and decides nothing: what a larger k "
        "does to the answers and to the cost, variants with different k tell",
        "  ",
        head="  ",
    )
    data()


def _notes(home: _Home, dataset: "Dataset", results: "Sequence[VariantResult]", told: _Told) -> Iterator[str]:
    first = results[0]
    asked = counted(len(dataset.cases), "case") + f" from {printable(dataset.name)}"
    if home.repeats > 1:
        asked += f", each asked {home.repeats} times; the repeats of a case are one case to every interval"
    yield asked
    yield "[95% interval]; of the difference of two variants they tell little: compare them case by case"
    left = first.figures["RR"].n_dropped if first.figures["RR"].value is not None else 0
    if left:
        yield f"in no mean of retrieval: {counted(left, 'case')} to which nothing is relevant"
    for result in results:
        yield from _notes_of(result, home.plan.ks)
    yield from _changes(results, told)


def _notes_of(result: "VariantResult", ks: Sequence[int]) -> Iterator[str]:
    name = result.name
    for each in result.found.notes:
        yield f"{name}: {printable(each)}"
    if result.calls.resumed:
        before = f"{result.calls.resumed:,} of {counted(result.calls.total, 'call')}"
        yield f"{name}: {before} were answered before; --anew calls the pipeline again"
    if 0 < result.found.deepest < max(ks):
        yield f"{name}: retrieved {counted(result.found.deepest, 'passage')} at most, so a larger k finds no more"
    for failure in result.failures[:_NAMED]:
        yield f"{name}: `{printable(failure.case, 40)}` has no answer: {printable(failure.error, 200)}"
    if len(result.failures) > _NAMED:
        yield f"{name}: and {len(result.failures) - _NAMED:,} more failed; cases without an answer are in no mean"
    if result.judgements.failed:
        failed = counted(result.judgements.failed, "judgement")
        yield f"{name}: {failed} failed and are in no mean: judges show {result.run}"
    if result.judging != NOTHING_USED:
        yield f"{name}: judging used now: {usage_line(result.judging)}"


def _changes(results: "Sequence[VariantResult]", told: _Told) -> Iterator[str]:
    if not any(each.settings for each in results) and len(results) > 1:
        yield "nothing is recorded of what tells the variants apart: name it in [variants.NAME.versions]"
        return
    for each in told.neighbours:
        if len(each.names) > 1:
            yield f"careful: {_changed(each)}; what differs between the two can be put down to none of them alone"
        elif not each.names:
            yield f"careful: no setting tells {each.before} from {each.after}: name it in [variants.NAME.versions]"
    for each in told.since:
        if len(each.names) > 1:
            yield f"careful: {_changed(each)}"


def _changed(change: "Change") -> str:
    names = ", ".join(printable(name, 40) for name in change.names)
    return f"{len(change.names)} things changed at once from {change.before} to {change.after} ({names})"
