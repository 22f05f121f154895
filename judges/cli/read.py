"""`judges show` and `judges export`: read what a run has found."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judges.cli.output import (
    Column,
    counted,
    data,
    figure,
    json_line,
    note,
    number,
    prose,
    table,
    usage_line,
    width,
    write_json,
)
from judges.errors import InputError
from judges.printable import printable
from judges.usage import NOTHING_USED
from judges.verdict import Abstained, ClaimVerdict, Evidence, Failed, Judgement, Verdict

if TYPE_CHECKING:
    from judges.case import Case
    from judges.engine.run import Manifest, Row, Run
    from judges.plugins import CorrectedRate
    from judges.repeats import RepeatRow
    from judges.summary import SummaryRow

__all__ = ["export", "print_summary", "show"]

_QUOTE_LENGTH = 300
_CONTEXT_LENGTH = 200
_UNDER_NAME = " " * 10
_CELL_LENGTH = 90
_SLICE_LENGTH = 32
_NAME_WIDTH = 20
_FIGURE_WIDTH = 20
_NAMED = 5
_SIDE_BY_SIDE = 3
"""Criteria and judges that stand in columns; more of them in lines, where there is room for one."""
_LINE_WIDTH = 130


def show(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    case: Annotated[str | None, typer.Option(help="Follow one case: its claims, verdicts, evidence.")] = None,
    worst: Annotated[int | None, typer.Option(min=1, help="The so many lowest scores.")] = None,
    by: Annotated[str | None, typer.Option(help="A row for each value of this field: meta.domain, lang.")] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", "-c", help="Only this criterion.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Scores from here on pass; by default the judge's own.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a run has found: a summary, its slices, its worst answers, or one case."""
    from judges.engine.run import Run

    home = Run(run)
    manifest = home.manifest()
    if criterion is not None:
        manifest = _only(manifest, criterion)
    if sum(option is not None for option in (case, worst, by)) > 1:
        raise InputError("--case, --worst and --by each show another thing; give one of them")
    if case is not None:
        _show_case(_row_of(home, manifest, case), threshold, _chances(manifest), json=json)
    elif worst is not None:
        _show_worst(home, manifest, worst, json=json)
    else:
        from judges.summary import summarise_run

        print_summary(home, manifest, summarise_run(home, manifest, by=by, threshold=threshold), by=by, json=json)
        _warn_of_addresses(home)


def _only(manifest: "Manifest", criterion: str) -> "Manifest":
    from dataclasses import replace

    kept = tuple(a for a in manifest.assignments if a.criterion.name == criterion)
    if not kept:
        names = ", ".join(dict.fromkeys(a.criterion.name for a in manifest.assignments))
        raise InputError(f"the run has no criterion `{criterion}`; it has: {names}")
    return replace(manifest, assignments=kept)


def print_summary(
    run: "Run", manifest: "Manifest", rows: "list[SummaryRow]", *, by: str | None = None, json: bool
) -> None:
    """The summary of a run on standard output."""
    from judges.summary import NO_SLICE, asked_id

    asked = Counter(map(asked_id, run.cases()))
    corrected = _corrected(run, manifest)
    repeats = _repeats(run, manifest, rows)
    if json:
        write_json(
            {
                "run": str(run.path),
                "source": manifest.source,
                "cases": len(asked),
                "answers": manifest.cases,
                "replicates": manifest.replicates,
                "invalid": manifest.invalid,
                "by": by,
                "rows": [row.to_record() for row in rows],
                "calibrations": [each.to_record() for each in corrected],
                "repeats": [each.to_record() for each in repeats],
            }
        )
        return
    if by is not None and rows and all(row.slice == NO_SLICE for row in rows):
        note(f"no case has the field `{by}`")
    if by is None:
        if len(rows) > _SIDE_BY_SIDE and width() >= _LINE_WIDTH:
            _show_lines(rows)
        else:
            _show_side_by_side(rows)
    else:
        _show_slices(rows, by)
    for line in _summary_notes(manifest, asked, rows):
        prose(line, "  ")
    for repeat in repeats:
        prose(f"{repeat.criterion} by {repeat.judge}: {repeat}", "  ")
    for each in corrected:
        _show_corrected(each)
    data(f"run folder: {run.path}")


def _repeats(run: "Run", manifest: "Manifest", rows: "list[SummaryRow]") -> "list[RepeatRow]":
    """How often the verdict changed where a share was judged once more."""
    if not manifest.repeat_share:
        return []
    from judges.repeats import summarise_repeats

    return summarise_repeats(run, manifest, {(row.criterion, row.judge): row.threshold for row in rows})


def _corrected(run: "Run", manifest: "Manifest") -> "Sequence[CorrectedRate]":
    """What the calibrations of a run make of it."""
    if all(each.calibration is None for each in manifest.assignments):
        return []
    from judges.plugins import calibration_reader

    return calibration_reader().corrected(run, manifest)


def _show_corrected(rate: "CorrectedRate") -> None:
    data()
    prose(rate.head)
    table([Column(""), Column("")], ([name, figure(value)] for name, value in rate.rows))
    for line in rate.notes:
        prose(line, "  ")
    data()


def _chances(manifest: "Manifest") -> "dict[tuple[str, str], Callable[[float], float]]":
    """By criterion and judge, where it is calibrated: from a score to the chance that people pass the case."""
    calibrated = [each for each in manifest.assignments if each.calibration is not None]
    if not calibrated:
        return {}
    from judges.plugins import calibration_reader

    reader = calibration_reader()
    found = {(each.criterion.name, each.judge): reader.chance_of(each) for each in calibrated}
    return {name: chance for name, chance in found.items() if chance is not None}


def _chance(judgement: Judgement, chances: "Mapping[tuple[str, str], Callable[[float], float]]") -> float | None:
    chance = chances.get((judgement.criterion, judgement.judge))
    return None if chance is None or judgement.score is None else chance(judgement.score)


def _show_side_by_side(rows: "list[SummaryRow]") -> None:
    """A column a criterion and judge, as many side by side as there is room for."""
    judges = {row.judge for row in rows}
    room = max(1, (width() - _NAME_WIDTH) // _FIGURE_WIDTH)
    for first in range(0, len(rows), room):
        shown = rows[first : first + room]
        heads = [row.criterion if len(judges) == 1 else f"{row.criterion} by {row.judge}" for row in shown]
        measures: list[tuple[str, Callable[[SummaryRow], str]]] = [
            ("judged", lambda row: f"{row.judged:,}"),
            ("abstained", lambda row: f"{sum(row.abstained.values()):,}"),
            ("failed", lambda row: f"{sum(row.failed.values()):,}"),
            ("mean score", lambda row: figure(row.mean)),
            (_passes(shown), lambda row: figure(row.strict)),
        ]
        if any(row.claims.n for row in shown):
            measures.extend(
                [
                    ("lowest claim", lambda row: figure(row.lowest) if row.claims.n else "–"),
                    ("claims", lambda row: f"{row.claims.n:,}"),
                    ("claims that pass", lambda row: figure(row.claims) if row.claims.n else "–"),
                ]
            )
        table(
            [Column(""), *(Column(head) for head in heads)],
            ([name, *(cell(row) for row in shown)] for name, cell in measures),
        )
        data()


def _passes(rows: "Iterable[SummaryRow]") -> str:
    """What to call the share that passes."""
    return "every claim passes" if any(row.claims.n for row in rows) else "passes"


def _show_lines(rows: "list[SummaryRow]") -> None:
    """A line a criterion and judge."""
    judges = {row.judge for row in rows}
    has_claims = any(row.claims.n for row in rows)
    table(
        [
            Column("criterion"),
            *([Column("judge")] if len(judges) > 1 else []),
            *(Column(head, "right") for head in ("judged", "abstained", "failed")),
            Column("mean score"),
            Column(_passes(rows)),
            *([Column("claims", "right"), Column("claims that pass")] if has_claims else []),
        ],
        (
            [
                row.criterion,
                *([row.judge] if len(judges) > 1 else []),
                f"{row.judged:,}",
                f"{sum(row.abstained.values()):,}",
                f"{sum(row.failed.values()):,}",
                figure(row.mean),
                figure(row.strict),
                *(([f"{row.claims.n:,}", figure(row.claims)] if row.claims.n else ["–", "–"]) if has_claims else []),
            ]
            for row in rows
        ),
    )
    data()


def _show_slices(rows: "list[SummaryRow]", by: str) -> None:
    """A table a criterion and judge, a line a slice."""
    for criterion, judge in dict.fromkeys((row.criterion, row.judge) for row in rows):
        shown = [row for row in rows if (row.criterion, row.judge) == (criterion, judge)]
        data(f"{criterion} by {judge}")
        table(
            [
                Column(by),
                *(Column(head, "right") for head in ("judged", "abstained", "failed")),
                Column("mean score"),
                Column(_passes(shown)),
            ],
            (
                [
                    printable(row.slice or "", _SLICE_LENGTH),
                    f"{row.judged:,}",
                    f"{sum(row.abstained.values()):,}",
                    f"{sum(row.failed.values()):,}",
                    figure(row.mean),
                    figure(row.strict),
                ]
                for row in shown
            ),
        )
        data()


def _summary_notes(manifest: "Manifest", asked: Mapping[str, int], rows: list["SummaryRow"]) -> Iterator[str]:
    cuts = dict.fromkeys(f"{row.judge} from {row.threshold:g}" for row in rows)
    yield f"{counted(len(asked), 'case')} from {printable(manifest.source)}{_how_often(asked, manifest.replicates)}"
    yield f"[95% interval]; a score passes: {', '.join(cuts)}"
    if manifest.invalid:
        yield f"not among them: {counted(manifest.invalid, 'invalid record')} of the input"
    for row in rows:
        name = row.criterion if row.slice is None else f"{row.criterion}, {printable(row.slice)}"
        if row.abstained and row.slice is None:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(row.abstained.items()))
            yield f"{name}: abstained ({printable(reasons)}): doesn't apply, so not in the mean"
        if row.failed:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(row.failed.items()))
            low, high = row.mean_if_failed
            yield (
                f"{name}: failed ({printable(kinds)}): the mean would be {number(low)} had all of them gone badly, "
                f"{number(high)} had all gone well"
            )
        if row.usage != NOTHING_USED:
            yield f"{name}: {usage_line(row.usage)}{_answered_by(row)}"
        if row.pending:
            yield f"{name}: {row.pending:,} not judged yet: run the same `judges run` again to go on"


def _how_often(asked: Mapping[str, int], replicates: int) -> str:
    """How often cases were asked and judged, where it isn't once.

    Args:
        asked: By case its answers.
        replicates: How often each answer was judged.
    """
    often, answers = sorted(set(asked.values())), sum(asked.values())
    several = len(asked) < answers
    said: list[str] = []
    if several:
        said.append(
            f"each asked {often[0]:,} times" if len(often) == 1 else f"asked several times: {answers:,} answers"
        )
    if replicates > 1:
        said.append(f"each {'answer ' if several else ''}judged {replicates:,} times")
    one = "the answers to one" if several else "the judgements of one"
    return f", {', '.join(said)}; {one} are one case to every interval" if said else ""


def _answered_by(row: "SummaryRow") -> str:
    """The models that answered, where they have other names than the judge, or there were several."""
    models = [model for model in row.usage.models if model not in row.judge]
    if not models:
        return ""
    careful = "; careful: more than one model" if len(row.usage.models) > 1 else ""
    return f"; answered by {printable(', '.join(row.usage.models))}{careful}"


def _warn_of_addresses(run: "Run") -> None:
    """Say which answers speak to whoever judges them: a person should look at these."""
    from judges.phrases import addresses_judge

    found = [case.id for case in run.cases() if any(map(addresses_judge, filter(None, (case.answer, case.rival))))]
    if found:
        ids = ", ".join(printable(each, _SLICE_LENGTH) for each in found[:_NAMED])
        more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
        note(f"answers that address the judge, to be looked at by a person: {ids}{more}")


def _row_of(run: "Run", manifest: "Manifest", case_id: str) -> "Row":
    from difflib import get_close_matches

    ids: list[str] = []
    for row in run.rows(manifest):
        if row.case.id == case_id:
            return row
        ids.append(row.case.id)
    near = get_close_matches(case_id, ids[:100_000], n=3)
    guess = f"; near it: {', '.join(near)}" if near else ""
    raise InputError(f"the run has no case `{case_id}`{guess}")


def _show_case(
    row: "Row",
    threshold: float | None,
    chances: "Mapping[tuple[str, str], Callable[[float], float]]",
    *,
    json: bool,
) -> None:
    from judges.phrases import addresses_judge

    case = row.case
    if json:
        judgements = [_record(judgement, chances) for _, judgement in row.judgements if judgement is not None]
        write_json({"case": case.to_record(), "judgements": judgements})
        return
    data(f"case      {printable(case.id)}" + (f"  ({printable(case.lang)})" if case.lang else ""))
    for name, text in (("question", case.question), ("answer", case.answer), ("rival", case.rival)):
        if text is not None:
            prose(text, _UNDER_NAME, head=f"{name:<10}")
    for reference in case.references:
        prose(reference, _UNDER_NAME, head="accepted  ")
    for place, context in enumerate(case.contexts, 1):
        named = f" ({printable(context.doc_id)})" if context.doc_id else ""
        prose(f"context {place}{named}: {printable(context.text, _CONTEXT_LENGTH)}", _UNDER_NAME)
    for name, text in _texts(case):
        words = addresses_judge(text)
        if words is not None:
            prose(f"{name} addresses the judge: “{printable(words, _CELL_LENGTH)}”", _UNDER_NAME, head="careful   ")
    for work, judgement in row.judgements:
        cut = work.assignment.threshold if threshold is None else threshold
        data()
        chance = None if judgement is None else _chance(judgement, chances)
        line = _verdict_line(judgement, cut, chance)
        prose(f"{work.assignment.criterion.name} by {work.assignment.judge}: {line}", "  ")
        if judgement is not None and isinstance(judgement.outcome, Verdict):
            verdict = judgement.outcome
            for claim in verdict.claims:
                _show_claim(case, claim, cut, said=verdict.rationale)
            if verdict.evidence is not None and not verdict.claims:
                _show_evidence(case, verdict.evidence)


def _texts(case: "Case") -> Iterator[tuple[str, str]]:
    """The texts that a judge may have read, with what to call each."""
    for name, text in (("the question", case.question), ("the answer", case.answer), ("the rival", case.rival)):
        if text is not None:
            yield name, text
    for place, context in enumerate(case.contexts, 1):
        yield f"context {place}", context.text


def _verdict_line(judgement: Judgement | None, cut: float, chance: float | None) -> str:
    if judgement is None:
        return "not judged yet"
    match judgement.outcome:
        case Verdict(score=score, rationale=rationale, label=label):
            word = "passes" if score >= cut else "fails"
            named = f" ({printable(label)})" if label is not None else ""
            likely = "" if chance is None else f" (people pass such a case with a chance of {chance:.2f})"
            return f"{score:.2f}{named}, {word} at {cut:g}{likely}" + (f": {printable(rationale)}" if rationale else "")
        case Abstained(reason=reason, detail=detail):
            return f"abstained: {printable(detail or reason)}"
        case Failed(error=error, message=message):
            return f"failed: {printable(error)}: {printable(message)}"


def _show_claim(case: "Case", claim: ClaimVerdict, cut: float, *, said: str) -> None:
    prose(claim.text, _UNDER_NAME, head=f"  {'+' if claim.score >= cut else '-'} {claim.score:.2f}  ")
    label = "" if claim.label is None else printable(claim.label)
    rationale = claim.rationale if claim.rationale != said else ""
    if label or rationale:
        prose(f"{label}: {rationale}" if label and rationale else label or rationale, _UNDER_NAME, head=_UNDER_NAME)
    if claim.evidence is not None:
        _show_evidence(case, claim.evidence)


def _show_evidence(case: "Case", evidence: Evidence) -> None:
    quote = printable(_quote(case, evidence), _QUOTE_LENGTH)
    prose(f"in {_where(evidence)}: “{quote}”", _UNDER_NAME, head=_UNDER_NAME)


def _where(evidence: Evidence) -> str:
    place = f"{evidence.part} {evidence.index + 1}" if evidence.part in ("contexts", "references") else evidence.part
    return place + (f" ({printable(evidence.doc_id)})" if evidence.doc_id else "")


def _quote(case: "Case", evidence: Evidence) -> str:
    match evidence.part:
        case "contexts" if evidence.index < len(case.contexts):
            text = case.contexts[evidence.index].text
        case "references" if evidence.index < len(case.references):
            text = case.references[evidence.index]
        case "answer":
            text = case.answer or ""
        case "question":
            text = case.question or ""
        case _:
            text = ""
    return text[evidence.start : evidence.end]


def _show_worst(run: "Run", manifest: "Manifest", count: int, *, json: bool) -> None:
    from judges.engine.results import judgement_record

    def scored() -> Iterator[tuple[float, int, Judgement]]:
        for place, judgement in enumerate(run.stored(manifest)):
            if isinstance(judgement.outcome, Verdict):
                yield judgement.outcome.score, place, judgement

    lowest = [judgement for _, _, judgement in nsmallest(count, scored(), key=lambda entry: entry[:2])]
    if json:
        write_json([judgement_record(judgement) for judgement in lowest])
        return
    if not lowest:
        data("the run has no verdict yet")
        return
    columns = [Column("case"), Column("criterion"), Column("score", "right"), Column("why")]
    table(columns, ([j.case_id, j.criterion, number(j.score), _why(j)] for j in lowest))
    data()
    data(f"one of them in full: judges show {run.path} --case ID")


def _why(judgement: Judgement) -> str:
    if not isinstance(judgement.outcome, Verdict):
        return ""
    verdict = judgement.outcome
    if not verdict.claims:
        return printable(verdict.rationale, _CELL_LENGTH)
    lowest = min(verdict.claims, key=lambda claim: claim.score)
    return printable(f"{lowest.rationale} – {lowest.text}" if lowest.rationale else lowest.text, _CELL_LENGTH)


class _Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


def export(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    format_: Annotated[
        _Format, typer.Option("--format", help="One JSON object or one CSV row a judgement.")
    ] = _Format.JSONL,
) -> None:
    """Print every judgement of a run, in order of the cases."""
    from judges.engine.run import Run

    home = Run(run)
    manifest = home.manifest()
    chances = _chances(manifest)
    if format_ is _Format.JSONL:
        for judgement in home.stored(manifest):
            data(json_line(_record(judgement, chances)))
        return
    heads = ["case", "criterion", "judge", "replicate", "outcome", "score", "claims", "why"]
    data(_csv_line([*heads, *(["chance"] if chances else [])]))
    for judgement in home.stored(manifest):
        data(_csv_line([*_csv_row(judgement), *([_chance(judgement, chances)] if chances else [])]))


def _record(judgement: Judgement, chances: "Mapping[tuple[str, str], Callable[[float], float]]") -> dict[str, Any]:
    """A judgement as JSON-ready values; of a calibrated judge with the chance that people pass the case."""
    from judges.engine.results import judgement_record

    chance = _chance(judgement, chances)
    return judgement_record(judgement) | ({} if chance is None else {"chance": chance})


def _csv_line(cells: list[Any]) -> str:
    import csv
    from io import StringIO

    line = StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _csv_row(judgement: Judgement) -> list[Any]:
    named = [judgement.case_id, judgement.criterion, judgement.judge, judgement.replicate]
    match judgement.outcome:
        case Verdict(score=score, rationale=rationale, claims=claims):
            return [*named, "verdict", score, len(claims), rationale]
        case Abstained(reason=reason, detail=detail):
            return [*named, "abstained", "", "", detail or reason]
        case Failed(error=error, message=message):
            return [*named, "failed", "", "", f"{error}: {message}"]
