"""`judges gate`: hold a run against requirements, for continuous integration."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judges.cli.options import (
    CanBeAnswered,
    CanNotBeAnswered,
    KeepFirst,
    QrelsComplete,
    QrelsOfCases,
    told_by_fields,
)
from judges.cli.output import Column, Exit, count_of, counted, data, figure, note, number, prose, table, write_json
from judges.errors import InputError
from judges.gate import GateResult, Requirement, Status, status_of
from judges.printable import printable

if TYPE_CHECKING:
    from judges.baseline import Drop
    from judges.measures import Measure, Measures
    from judges.settings import GateSettings

__all__ = ["gate"]

_MOST_DROP = 0.02
_MOST_FAILURES = 0.05
_DIGITS = 3
_SEEN = 0.005  # less is shown as 0.00


def gate(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    require: Annotated[
        list[str] | None,
        typer.Option(help="What must hold: 'faithfulness>=0.9', 'recall@4>=0.85'. May be given several times."),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(help="What must not hold: 'answered_unanswerable>0'. May be given several times."),
    ] = None,
    on_set: Annotated[
        bool | None,
        typer.Option(
            "--on-set/--by-interval",
            help="Judge these very cases, or what they say of others; by default these for counts and tiers.",
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Folder of a baseline over the same cases, to compare with case by case.")
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            help="With --against: how far the mean scores may fall, 0.02; or one figure, 'recall@4=0.05'. May be "
            "given several times."
        ),
    ] = None,
    max_failures: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Nothing passes, and it ends with 3, when a larger share failed; 0.05."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the question several answers are to.")
    ] = None,
    refusal: Annotated[
        list[str] | None,
        typer.Option(
            help="What an answer says that declines: 'The help pages do not say'. May be given several times."
        ),
    ] = None,
    qrels: QrelsOfCases = None,
    complete: QrelsComplete = False,
    answerable: CanBeAnswered = None,
    unanswerable: CanNotBeAnswered = None,
    keep_first: KeepFirst = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 also where something is undecided.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write a report in JUnit XML to this file.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings with a table [gates]; by default judges.toml in the current folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold a run against requirements: PASS, FAIL or UNDECIDED. Ends with 1 when one fails."""
    from judges.cli.retrieval import qrels_labels
    from judges.engine.run import Run
    from judges.measures import Measures
    from judges.settings import read_settings

    settings = read_settings(config).gates
    asked = _asked(settings, require or [], forbid or [], against, max_drop or [], max_failures)
    qrels, complete = _qrels(settings, qrels, complete=complete)
    cluster = cluster if cluster is not None else settings.cluster
    strict = strict or settings.strict
    read = partial(
        Measures,
        cluster=cluster,
        refusals=refusal or settings.refusal,
        labels=None if qrels is None else qrels_labels(qrels),
        complete=complete,
        keep_first=keep_first or settings.keep_first,
        answerable=_answerable(settings, answerable or (), unanswerable or ()),
    )
    measures = read(Run(run))
    wanted = on_set if on_set is not None else settings.on_set
    is_on_set = wanted if wanted is not None else measures.is_of_a_tier
    checks = [_check(measures, each, asked.max_failures, on_set=is_on_set) for each in asked.requirements]
    gone: list[str] = []
    if asked.against is not None:
        baseline = read(Run(asked.against))
        fallen, gone = _held_against(baseline, measures, asked, on_set=is_on_set)
        checks += fallen
    results = [each.result for each in checks]
    if junit is not None:
        from judges.cli.junit import junit as report
        from judges.cli.junit import write_junit

        write_junit(junit, report(f"judges gate {run}", results, strict=strict))
    code = _code(results, strict=strict)
    if json:
        write_json(
            {
                "run": str(run),
                "against": None if asked.against is None else str(asked.against),
                "status": status_of(results),
                "strict": strict,
                "exit_code": int(code),
                "max_failures": asked.max_failures,
                "results": [each.to_record() for each in checks],
                "only_in_baseline": gone,
            }
        )
    else:
        _show(checks, gone, measures, chosen=wanted is not None, on_set=is_on_set, strict=strict)
    if code is not Exit.DONE:
        raise typer.Exit(code)


# What is asked


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a run is held against: as the command line says, or else the settings."""

    requirements: tuple[Requirement, ...]
    against: Path | None
    drops: dict[str, float]
    """By figure."""
    most_drop: float | None
    """Of all criteria that are not in `drops`; None where only those are to be compared."""
    max_failures: float


def _asked(
    settings: "GateSettings",
    require: Sequence[str],
    forbid: Sequence[str],
    against: Path | None,
    max_drop: Sequence[str],
    max_failures: float | None,
) -> _Asked:
    if (require or forbid) and (settings.require or settings.forbid):
        note("the requirements given here go instead of those of [gates] in the settings")
    if not (require or forbid):
        require, forbid = settings.require, settings.forbid
    if against is None and settings.against is not None:
        against = Path(settings.against)
    if max_drop and against is None:
        raise InputError("--max-drop needs a baseline to compare with; name its folder with --against")
    if not max_drop:
        said = settings.max_drop
        max_drop = () if said is None else said if isinstance(said, tuple) else (str(said),)
    drops, most = _drops(max_drop)
    requirements = [*map(Requirement.parse, require), *(Requirement.parse(each).opposite() for each in forbid)]
    if not requirements and against is None:
        raise InputError(
            "nothing to hold the run against; give --require, --forbid or --against, or a table [gates] in judges.toml"
        )
    if max_failures is None:
        max_failures = settings.max_failures if settings.max_failures is not None else _MOST_FAILURES
    return _Asked(tuple(dict.fromkeys(requirements)), against, drops, most, max_failures)


def _qrels(settings: "GateSettings", qrels: str | None, *, complete: bool) -> tuple[str | None, bool]:
    """The file of qrels, and whether they are complete. Those of the settings may be so on the command line."""
    if complete and qrels is None and settings.qrels is None:
        raise InputError("--complete says that the qrels are complete; give --qrels")
    if settings.complete and settings.qrels is None:
        raise InputError("[gates] `complete` says that the qrels are complete; give `qrels` there, too")
    return (settings.qrels, complete or settings.complete) if qrels is None else (qrels, complete)


def _answerable(settings: "GateSettings", can: Sequence[str], can_not: Sequence[str]) -> dict[tuple[str, str], bool]:
    if can or can_not:
        return told_by_fields(can, can_not)
    return told_by_fields(
        settings.answerable, settings.unanswerable, spelt=("[gates] answerable", "[gates] unanswerable")
    )


def _drops(texts: Sequence[str]) -> tuple[dict[str, float], float | None]:
    drops: dict[str, float] = {}
    most: float | None = None
    for text in texts:
        name, _, amount = text.rpartition("=")
        try:
            value = float(amount)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise InputError(
                f"`{printable(text, 80)}` is no largest drop; write it as in 0.02 or recall@4=0.05, from 0 to 1"
            )
        name = " ".join(name.split())
        if name in drops or (not name and most is not None):
            raise InputError(f"the largest drop of {name or 'all criteria'} is given twice; keep one")
        if name:
            drops[name] = value
        else:
            most = value
    return drops, most if drops else most if most is not None else _MOST_DROP


# What comes of it


@dataclass(frozen=True, slots=True)
class _Check:
    """A requirement held against its figure."""

    result: GateResult
    measure: "Measure | None" = None
    """Where the figure is one of this run, and not a drop."""
    drop: "Drop | None" = None

    @property
    def is_count(self) -> bool:
        return self.measure is not None and self.measure.is_count

    def to_record(self) -> dict[str, Any]:
        record = self.result.to_record()
        if self.measure is not None and self.measure.stood_in:
            record["passages_stand_in"] = self.measure.stood_in
        return record if self.drop is None else {**record, "drop": self.drop.to_record()}


def _check(measures: "Measures", requirement: Requirement, most: float, *, on_set: bool) -> _Check:
    found = measures.find(requirement.name)
    result = requirement.check(found.figure, basis="this set" if on_set or found.is_count else "interval")
    return _Check(result.unless_failed(found.missing, most), found)


def _held_against(
    baseline: "Measures", measures: "Measures", asked: _Asked, *, on_set: bool
) -> tuple[list[_Check], list[str]]:
    """How far the figures fell, and which criteria only the baseline has."""
    from judges.baseline import compared_names, level_for, measure_drop

    allowed, gone = dict(asked.drops), list[str]()
    if asked.most_drop is not None:
        names, gone = compared_names(baseline, measures)
        allowed = dict.fromkeys(names, asked.most_drop) | allowed
    level = level_for(len(allowed))
    checks: list[_Check] = []
    for name, most in allowed.items():
        drop = measure_drop(baseline, measures, name, level=level)
        missing = max(baseline.find(name).missing, measures.find(name).missing)
        result = drop.requirement(most).check(drop.figure, basis="this set" if on_set else "interval")
        checks.append(_Check(result.unless_failed(missing, asked.max_failures), drop=drop))
    return checks, gone


def _code(results: Sequence[GateResult], *, strict: bool) -> Exit:
    status = status_of(results)
    if status == "FAIL":
        return Exit.GATE_FAILED
    if any(each.withheld for each in results):
        return Exit.TOO_MANY_FAILED
    return Exit.GATE_FAILED if strict and status == "UNDECIDED" else Exit.DONE


# The page


def _show(
    checks: Sequence[_Check], gone: Sequence[str], measures: "Measures", *, chosen: bool, on_set: bool, strict: bool
) -> None:
    table(
        [Column(""), Column("requirement"), Column("value"), Column("")],
        ([each.result.status, str(each.result.requirement), _value(each), _why(each)] for each in checks),
    )
    data()
    for line in _notes(checks, gone, chosen=chosen, on_set=on_set):
        prose(line, "  ")
    counts: Counter[Status] = Counter(each.result.status for each in checks)
    prose(_together(counts, status_of(each.result for each in checks), strict=strict), "  ")
    if any(each.result.status == "FAIL" and not each.is_count for each in checks):
        data(f"the lowest scores: judges show {measures.run.path} --worst 10")


def _value(check: _Check) -> str:
    result = check.result
    if check.is_count and result.figure.value is not None:
        return count_of(result.figure)
    if result.basis == "this set" and result.figure.value is not None:
        return number(result.figure.value, _DIGITS)
    return figure(result.figure, _DIGITS)


def _why(check: _Check) -> str:
    result = check.result
    if result.withheld or result.figure.value is None or result.figure.ci_low is None:
        return "" if result.status != "UNDECIDED" else result.reason
    if check.drop is not None and check.drop.is_same:
        return f"the very same in both, {counted(_cases(result), 'case')}"
    if result.basis == "this set":
        return f"on these {counted(_cases(result), 'case')}"
    if result.status != "UNDECIDED":
        return f"by its interval, {counted(_cases(result), 'case')}"
    more = result.more_cases
    told = "" if more is None else f"; about {_about(more)} more cases would tell, if the value stays"
    return f"its interval lies on both sides of {result.requirement.bound:g}{told}"


def _about(count: int) -> str:
    """Two digits of it: it is an estimate."""
    return f"{round(count, 2 - len(str(count))):,}"


def _cases(result: GateResult) -> int:
    return result.figure.n if result.figure.n_clusters is None else result.figure.n_clusters


def _notes(checks: Sequence[_Check], gone: Sequence[str], *, chosen: bool, on_set: bool) -> Iterator[str]:
    if any(each.result.basis == "interval" for each in checks):
        levels = dict.fromkeys(f"{each.result.figure.level:.3g}" for each in checks if not each.is_count)
        yield f"[interval of level {' and '.join(levels)}]: all of it must meet the requirement"
    if on_set:
        why = "" if chosen else " (each names its tier)"
        yield f"these very cases are judged{why}; what they say of others: --by-interval"
    for each in checks:
        if each.drop is not None:
            yield from _drop_notes(each.drop)
            continue
        name, measure = each.result.requirement.name, each.measure
        if each.result.figure.n_dropped:
            yield f"{name}: {counted(each.result.figure.n_dropped, 'case')} without a value left out"
        if measure is not None and measure.stood_in:
            yield f"{name}: the passages of {counted(measure.stood_in, 'answer')} stand in for `retrieved`"
        if measure is not None and measure.given:
            yield f"{name}: {counted(measure.given, 'answer')} left out, given the right passages"
        if measure is not None and measure.answers is not None:
            yield f"{name}: of a case asked several times the share of its answers counts ({measure.answers:,} answers)"
    if gone:
        yield f"only in the baseline, or judged otherwise there: {', '.join(gone)}"


def _drop_notes(drop: "Drop") -> Iterator[str]:
    worst = ", ".join(f"{printable(name, 32)} by {number(by)}" for name, by in drop.fell_most if by >= _SEEN)
    yield (
        f"{drop.name}: {number(drop.before, _DIGITS)} in the baseline, {number(drop.after, _DIGITS)} now, over "
        f"{counted(drop.figure.n, 'case')} of both" + (f"; fell most: {worst}" if worst else "")
    )
    left = [
        f"{counted(count, 'case')} {what}"
        for count, what in (
            (drop.only_before, "with a value in the baseline only"),
            (drop.only_after, "with a value in this run only"),
            (drop.other_question, "with another question"),
        )
        if count
    ]
    if left:
        yield f"{drop.name}: left out {', '.join(left)}"


def _together(counts: Counter[Status], status: Status, *, strict: bool) -> str:
    total = counts.total()
    if status == "PASS":
        return f"PASS: {'the requirement is' if total == 1 else f'all {total} requirements are'} met"
    words = [(counts["FAIL"], "not met"), (counts["UNDECIDED"], "undecided")]
    said = " and ".join(f"{count} {what}" for count, what in words if count)
    return f"{status}: {said}, of {counted(total, 'requirement')}" + (
        "; --strict lets that fail" if strict and status == "UNDECIDED" else ""
    )
