"""`judges audit`: the biases and the noise of a judge. Mounted into the `judges` command."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.options import RunOptions, command_with, option_of
from judges.cli.output import Exit, TerminalProgress, can_be_asked, counted, data, money, note, usage_line, write_json
from judges.engine.progress import Counts
from judges.errors import BudgetReached, InputError, ServiceError, TooManyFailed
from judges.printable import printable
from judges.usage import NOTHING_USED

if TYPE_CHECKING:
    from calibration.findings import Finding, Skipped
    from calibration.pairs import Pairs
    from calibration.probing import Batch, Judgements, Probing
    from calibration.sections.bias import Audited
    from judges.config import Connections
    from judges.criterion import Criterion
    from judges.engine.plan import Assignment
    from judges.engine.run import Manifest, Run
    from judges.planning import Forecast

__all__ = ["Price", "audit", "judge_batches", "may_spend"]

_ALL = "all"
_ASK_ABOVE = 1.0
"""Dollars from which a command asks before it spends them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditOptions(RunOptions):
    """What was asked on the command line."""

    cases: Annotated[str, typer.Argument(help="Folder of a run; or, with --judge and --criterion, a file of cases.")]
    criterion: Annotated[
        list[str], typer.Option("--criterion", "-c", help="Of a run only this criterion; of cases what is asked.")
    ] = field(default_factory=list[str])
    judge: Annotated[
        list[str], typer.Option("--judge", "-j", help="Of a run only this judge; of cases who is asked.")
    ] = field(default_factory=list[str])
    probe: Annotated[
        list[str] | None,
        typer.Option(
            help="Free, of runs: repeat, position, severity, length, self-preference, language, scale. With calls: "
            "repeat, position, injection, unsupported, authority, padding, politeness, format, level-order, "
            "level-names, wording, batch. Or all. May be repeated."
        ),
    ] = None
    rephrased: Annotated[
        list[str] | None,
        typer.Option(help="The .toml file of a criterion in other words, by the same name: for --probe wording."),
    ] = None
    n: Annotated[int, typer.Option("--n", min=2, help="Ask about so many cases, drawn at random.")] = 50
    seed: Annotated[int, typer.Option(min=0, help="Of the draw: the same seed draws the same cases.")] = 0
    repeats: Annotated[int, typer.Option(min=2, help="How often the same is asked, for the repeat noise.")] = 2
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the document they are about.")
    ] = None
    gold: Annotated[Path | None, typer.Option(help="File of human labels, by the case's id: the reference.")] = None
    label: Annotated[str | None, typer.Option(help="Field of the label; by default gold.CRITERION.")] = None
    positive: Annotated[str | None, typer.Option(help="Which labels are good: 'correct', 'pass,partly', '>=3'.")] = None
    system: Annotated[str | None, typer.Option(help="Field that says who wrote the answer: meta.system.")] = None
    own: Annotated[
        list[str] | None,
        typer.Option(help="A system of the judge's own family, where its name doesn't tell. May be repeated."),
    ] = None
    pair: Annotated[
        str | None, typer.Option(help="Field that the same answer in two languages has the same value of.")
    ] = None
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Scores from here on pass; by default the judge's own.")
    ] = None
    html: Annotated[
        Path | None, typer.Option(help="Write a page with a picture too: one HTML file that needs nothing else.")
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before calls are paid.")] = False


def _audit(options: AuditOptions) -> None:
    """Look for a judge's biases and noise: what a run shows for free, and what a few more calls would show."""
    from calibration.cli.page import show_chapter
    from calibration.sections.bias import chapter_of
    from judges.report.page import check_page, write_page
    from judges.report.sections import Page

    if options.html is not None:
        check_page(options.html)
    if Path(options.cases).is_dir():
        audited, price, counts = _of_run(options)
    else:
        audited, price, counts = _of_cases(options)
    chapters = [chapter_of(each, options.cases) for each in audited]
    if options.html is not None:
        against = "" if options.gold is None else f", with the labels of {options.gold}"
        write_page(options.html, Page("Biases and noise of a judge", f"{options.cases}{against}", tuple(chapters)))
    if options.json:
        write_json(
            {
                "source": options.cases,
                "n": options.n if price is not None else None,
                "seed": options.seed if price is not None else None,
                "cluster": options.cluster,
                "gold": None if options.gold is None else str(options.gold),
                "asked": None if price is None else price.to_record(),
                "used": None if price is None else counts.usage.to_record(),
                "audits": [each.to_record() for each in audited],
            }
        )
    else:
        for place, chapter in enumerate(chapters):
            if place:
                data()
            show_chapter(chapter)
    if options.html is not None:
        note(f"page: {printable(str(options.html))}")
    if counts.failed > options.max_failures * max(counts.made, 1):
        note(f"judges: {counts.failed:,} of {counts.made:,} judgements failed")
        raise typer.Exit(Exit.TOO_MANY_FAILED)


audit = command_with(AuditOptions, _audit, without=("out", "replicates", "limit", "repeat_share", "calibration"))
audit.__name__ = "audit"


# --- A run ----------------------------------------------------------------------------------------------------------


def _of_run(options: AuditOptions) -> "tuple[list[Audited], Price | None, Counts]":
    from calibration.bias import READING, Groups, findings_of, observe
    from calibration.findings import adjusted, is_askable
    from calibration.probing import ASKING
    from calibration.sections.bias import Audited
    from judges.engine.run import Run

    for name in ("rubric", "map", "format", "reader", "lang", "tier", "skip_invalid"):
        if getattr(options, name):
            raise InputError(f"--{name.replace('_', '-')} is for a file of cases; the run has its cases already")
    home = Run(options.cases)
    manifest = home.manifest()
    assignments = [
        each if options.threshold is None else replace(each, threshold=options.threshold)
        for each in manifest.assignments
        if (not options.criterion or each.criterion.name in options.criterion)
        and (not options.judge or each.judge in options.judge)
    ]
    if not assignments:
        there = ", ".join(f"{each.criterion.name} by {each.judge}" for each in manifest.assignments)
        raise InputError(f"{options.cases}: the run has nothing of that; it has: {there}")
    probes = _probes(options, (*READING, *ASKING))
    asked = [each for each in ASKING if options.probe is not None and each in probes]
    if manifest.replicates > 1 and "repeat" in asked:
        asked.remove("repeat")  # the run has it
    read = [each for each in READING if each in probes and each not in asked]
    pairs = _pairs(options, home, manifest, assignments)
    groups = Groups(options.cluster, options.system, tuple(options.own or ()), options.pair)
    found: list[tuple[list[Finding], list[Skipped]]] = [
        findings_of(observed, joined, read)
        for observed, joined in zip(observe(home, manifest, assignments, groups), pairs, strict=True)
    ]
    counts = Counts()
    price: Price | None = None
    probings: list[Probing] = []
    if asked:
        probings, price, counts = _ask_again(options, home, manifest, assignments, asked, found)
    audited = [
        Audited(
            assignment,
            adjusted(findings),
            tuple(skipped),
            manifest.cases,
            len(probings[place].cases) if probings else None,
            more=ASKING if options.probe is None and is_askable(assignment) else (),
        )
        for place, (assignment, (findings, skipped)) in enumerate(zip(assignments, found, strict=True))
    ]
    return audited, price, counts


def _ask_again(
    options: AuditOptions,
    home: "Run",
    manifest: "Manifest",
    assignments: "Sequence[Assignment]",
    probes: Sequence[str],
    found: "list[tuple[list[Finding], list[Skipped]]]",
) -> "tuple[list[Probing], Price, Counts]":
    from calibration.probing import Judgements, check_askable, prepare, sampled
    from judges.cli.run import connections_of
    from judges.engine.plan import assign

    check_askable(assignments)
    rephrased = _rephrased(options, assignments)
    connections = connections_of(options)
    judges = {name: connections.judge(name) for name in dict.fromkeys(each.judge for each in assignments)}
    for remark in connections.check_asked(option_of):
        note(remark)
    for each in assignments:
        [now] = assign([each.criterion], [judges[each.judge]])
        if now.fingerprint != each.fingerprint:
            raise InputError(
                f"the judge `{each.judge}` isn't the one of the run (its model, prompt or parameters differ): give the "
                "options that the run was made with, or audit the cases: judges audit CASES --judge ... --criterion ..."
            )
    cases = sampled(home.cases(), options.n, options.seed)
    ids = {case.id for case in cases}
    there = Judgements(
        judgement
        for row in home.rows(manifest)
        if row.case.id in ids
        for _, judgement in row.judgements
        if judgement is not None
    )
    probings = [
        prepare(
            judges[each.judge],
            each,
            cases,
            probes,
            repeats=options.repeats,
            cluster=options.cluster,
            rephrased=rephrased.get(each.criterion.name),
        )
        for each in assignments
    ]
    price, counts = _judged(options, probings, there, connections)
    for probing, (findings, skipped) in zip(probings, found, strict=True):
        findings += probing.findings(there)
        skipped += probing.skipped
    return probings, price, counts


def _pairs(
    options: AuditOptions, home: "Run", manifest: "Manifest", assignments: "Sequence[Assignment]"
) -> "list[Pairs | None]":
    """What the judges said, joined with people's labels: of each criterion that has some."""
    from calibration.answers import Subject, answers_in_run
    from calibration.labels import labelled_criteria, read_labels
    from calibration.meaning import meaning_of
    from calibration.pairs import Question, join

    if options.gold is None:
        if options.label is not None or options.positive is not None:
            raise InputError("--label and --positive are about people's labels; give their file with --gold")
        return [None] * len(assignments)
    names = list(dict.fromkeys(each.criterion.name for each in assignments))
    if options.label is not None:
        last = options.label.rpartition(".")[2]
        if last not in names and len(names) > 1:
            raise InputError(f"`{options.label}` names none of {', '.join(names)}: say which with --criterion")
        fields = {last if last in names else names[0]: options.label}
    else:
        fields = labelled_criteria(options.gold, names)
        if not fields:
            raise InputError(f"{options.gold}: has no labels of {', '.join(names)}; name their field with --label")
    labelled = [each for each in assignments if each.criterion.name in fields]
    questions: list[Question] = []
    for each in labelled:
        labels = read_labels(options.gold, fields[each.criterion.name], cluster=options.cluster)
        meaning = meaning_of(labels, positive=options.positive, scale=None)
        questions.append(Question(Subject.of(each), labels, meaning, options.threshold, (), options.cluster))
    joined = iter(join(answers_in_run(home, manifest, _as_kept(manifest, labelled)), questions, source=options.cases))
    return [next(joined) if each.criterion.name in fields else None for each in assignments]


def _as_kept(manifest: "Manifest", assignments: "Sequence[Assignment]") -> "list[Assignment]":
    by_fingerprint = {each.fingerprint: each for each in manifest.assignments}
    return [by_fingerprint[each.fingerprint] for each in assignments]


# --- Cases ----------------------------------------------------------------------------------------------------------


def _of_cases(options: AuditOptions) -> "tuple[list[Audited], Price | None, Counts]":
    from calibration.findings import adjusted
    from calibration.probing import ASKING, Judgements, check_askable, prepare, sampled
    from calibration.sections.bias import Audited
    from judges.cli.run import asked
    from judges.engine.evaluate import checked

    if not options.judge or not (options.criterion or options.rubric):
        raise InputError(
            f"{options.cases}: is no run; of a file of cases say who is asked what, with --judge and --criterion"
        )
    for name, value in (("gold", options.gold), ("system", options.system), ("pair", options.pair)):
        if value is not None:
            raise InputError(f"--{name} is for a run: judge the cases with `judges run`, then audit its folder")
    probes = _probes(options, ASKING)
    job = asked(options)
    source = checked(job.intake.admit(job.source, options.lang, lambda _: None))
    cases = sampled(source, options.n, options.seed)
    job.intake.report(job.criteria)
    by_name = job.by_name()
    check_askable(job.assignments, in_run=False)
    rephrased = _rephrased(options, job.assignments)
    probings = [
        prepare(
            by_name[each.judge],
            each,
            cases,
            probes,
            repeats=options.repeats,
            cluster=options.cluster,
            rephrased=rephrased.get(each.criterion.name),
        )
        for each in job.assignments
    ]
    made = Judgements()
    price, counts = _judged(options, probings, made, job.connections)
    audited = [
        Audited(each.assignment, adjusted(each.findings(made)), each.skipped, None, len(cases)) for each in probings
    ]
    return audited, price, counts


def _probes(options: AuditOptions, known: Sequence[str]) -> list[str]:
    """The names of the probes that were asked for."""
    from calibration.bias import READING

    names = list(dict.fromkeys(options.probe or [_ALL]))
    for name in names:
        if name in known or name == _ALL:
            continue
        if name in READING:
            raise InputError(f"--probe {name} is for a run: judge the cases with `judges run`, then audit its folder")
        raise InputError(f"--probe {name}: choose among {', '.join(dict.fromkeys(known))}, all")
    return list(dict.fromkeys(known)) if _ALL in names else names


def _rephrased(options: AuditOptions, assignments: "Sequence[Assignment]") -> "dict[str, Criterion]":
    """The criteria in other words, by name."""
    from calibration.rewording import check_rewording
    from judges.rubrics import read_criterion

    made: dict[str, Criterion] = {}
    asked = {each.criterion.name: each.criterion for each in assignments}
    for path in options.rephrased or ():
        other = read_criterion(Path(path))
        if other.name not in asked:
            raise InputError(f"--rephrased {path}: nobody is asked `{other.name}`; asked is: {', '.join(asked)}")
        check_rewording(asked[other.name], other)
        made[other.name] = other
    return made


# --- New judgements -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Price:
    """What new judgements would take."""

    judgements: int
    calls: int
    """Those that would be paid."""
    cost: float | None
    """Dollars; None where a price isn't known."""
    most_cost: float | None
    """If every reply were as long as is allowed."""

    @classmethod
    def of(cls, forecasts: "Sequence[Forecast]") -> "Price":
        """All of it together."""
        costs = [each.cost for each in forecasts], [each.most_cost for each in forecasts]
        return cls(
            sum(each.judgements - each.there for each in forecasts),
            sum(each.paid for each in forecasts),
            *(None if None in each else sum(cost for cost in each if cost is not None) for each in costs),
        )

    def __str__(self) -> str:
        said = counted(self.judgements, "new judgement")
        if not self.calls:
            return f"{said}, for which no call has to be paid"
        if self.cost is None or self.most_cost is None:
            return f"{said}: {counted(self.calls, 'call')} to pay, at a price that isn't known"
        return (
            f"{said}: {counted(self.calls, 'call')} to pay, about {money(self.cost)}, at most {money(self.most_cost)}"
        )

    def to_record(self) -> dict[str, object]:
        """The forecast as JSON-ready values."""
        return {
            "judgements": self.judgements,
            "calls": self.calls,
            "cost": self.cost,
            "most_cost": self.most_cost,
        }


def _judged(
    options: AuditOptions, probings: "Sequence[Probing]", there: "Judgements", connections: "Connections"
) -> tuple[Price, Counts]:
    batches = [batch for probing in probings for batch in probing.batches]
    try:
        price = price_of(batches, there, connections)
        note(str(price))
        may_spend(price, yes=options.yes, max_cost=options.max_cost)
        counts = judge_batches(
            batches, there, workers=options.workers, max_failures=options.max_failures, quiet=options.quiet
        )
    finally:
        connections.close()
    return price, counts


def price_of(batches: "Sequence[Batch]", there: "Judgements", connections: "Connections") -> Price:
    """What the judgements that aren't there would take. Nothing is sent."""
    from judges.engine.plan import plan
    from judges.planning import Known, forecast

    known = Known(is_cached=connections.is_cached, price=connections.price)
    keys = set(there.keys)
    forecasts: list[Forecast] = []
    for batch in batches:
        asked = [batch.assignment]
        judges = {batch.judge.name: batch.judge}
        forecasts += forecast(batch.cases, asked, judges, known, there=keys, replicates=batch.replicates)
        keys |= {bytes.fromhex(work.key) for work in plan(batch.cases, asked, replicates=batch.replicates)}
    return Price.of(forecasts)


def may_spend(price: Price, *, yes: bool, max_cost: float | None) -> None:
    """Ask before much is spent. With `--max-cost`, what it allows need not be asked for.

    Raises:
        InputError: Nobody is there to be asked.
        typer.Exit: They said no.
    """
    if yes or not price.calls:
        return
    allowed = _ASK_ABOVE if max_cost is None else max_cost
    if price.cost is not None and price.cost <= allowed:
        return
    if not can_be_asked():
        raise InputError("nothing was asked: say with --yes that these calls may be paid")
    if not typer.confirm("Ask?", err=True):
        raise typer.Exit(Exit.DONE)


def judge_batches(
    batches: "Sequence[Batch]",
    there: "Judgements",
    *,
    workers: int | None = None,
    max_failures: float = 1.0,
    quiet: bool = False,
) -> Counts:
    """Make the judgements that aren't there.

    Raises:
        JudgesError: As the engine has it.
    """
    from judges.engine.evaluate import judge_all

    counts = Counts(total=sum(len(batch.cases) * batch.replicates for batch in batches))

    async def judge(progress: TerminalProgress) -> None:
        for batch in batches:
            await judge_all(
                batch.cases,
                [batch.assignment],
                {batch.judge.name: batch.judge},
                there,
                replicates=batch.replicates,
                workers=workers,
                max_failures=max_failures,
                counts=counts,
                progress=progress,
            )

    try:
        with TerminalProgress(quiet=quiet) as progress:
            asyncio.run(judge(progress))
    except (ServiceError, BudgetReached, TooManyFailed):
        if counts.made:
            note("replies that were paid are in the cache: run the same command again to go on")
        raise
    except (KeyboardInterrupt, asyncio.CancelledError):
        note("judges: interrupted; replies that were paid are in the cache: run the same command again to go on")
        raise typer.Exit(Exit.INTERRUPTED) from None
    finally:
        if counts.usage != NOTHING_USED:
            note(f"used now: {usage_line(counts.usage)}")
    return counts
