"""`judges diagnose`: which part of the pipeline is to blame."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.options import CanBeAnswered, CanNotBeAnswered, QrelsComplete, QrelsOfCases, told_by_fields
from judges.cli.output import Column, counted, data, figure, number, prose, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from judges.case import Case
    from judges.diagnosis.causes import CaseDiagnosis, Finding
    from judges.diagnosis.diagnose import Diagnosis, First, Share, SliceDiagnosis
    from judges.diagnosis.hidden import Hidden
    from judges.diagnosis.rules import Rule
    from judges.engine.run import Run
    from judges.retrieval.passages import Index

__all__ = ["diagnose"]

_SLICE_LENGTH = 32
_CAUSES_SHOWN = 3
_INDENT = " " * 12


def diagnose(
    run: Annotated[Path | None, typer.Argument(help="Folder of the run.")] = None,
    case: Annotated[str | None, typer.Option(help="Explain one case.")] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="A row for each value of this field, and what the means hide. May be given several times."),
    ] = None,
    qrels: QrelsOfCases = None,
    complete: QrelsComplete = False,
    index: Annotated[
        str | None,
        typer.Option(help="All passages there are, as `judges retrieval` takes them: tells whether a span was cut."),
    ] = None,
    span_share: Annotated[
        float, typer.Option("--span-share", help="A passage holds enough of a labelled span if it holds this share.")
    ] = 0.8,
    judge: Annotated[str | None, typer.Option(help="Whose verdicts, where several judges were asked.")] = None,
    refusal: Annotated[
        list[str] | None,
        typer.Option(
            help="What an answer says that declines: 'The help pages do not say'. May be given several times."
        ),
    ] = None,
    answerable: CanBeAnswered = None,
    unanswerable: CanNotBeAnswered = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the question several answers are to.")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Print the rules, and diagnose nothing.")] = False,
    rules_file: Annotated[Path | None, typer.Option("--rules-file", help="Rules to go by instead of ours.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell which part of a pipeline is to blame: retrieval, chunks, generation, or the documents."""
    from judges.diagnosis.rules import default_rules, read_rules, rules_text

    if rules:
        if json:
            raise InputError("--rules prints them as the TOML that --rules-file takes; leave out --json")
        data(rules_text(rules_file).rstrip())
        return
    if run is None:
        raise InputError("diagnose what? Give the folder of a run, or --rules")
    if not 0 < span_share <= 1:
        raise InputError(f"--span-share {span_share:g}: give a share above 0, at most 1")
    if complete and qrels is None:
        raise InputError("--complete says that the qrels are complete; give --qrels")
    if case is not None and by:
        raise InputError("--case explains one case, --by is for all; give one of them")
    from judges.cli.retrieval import qrels_labels
    from judges.diagnosis.diagnose import diagnose_run
    from judges.engine.run import Run

    home = Run(run)
    found = diagnose_run(
        home,
        rules=default_rules() if rules_file is None else read_rules(rules_file),
        labels=None if qrels is None else qrels_labels(qrels),
        complete=complete,
        index=None if index is None else _passages(index),
        span_share=span_share,
        judge=judge,
        refusals=refusal or (),
        answerable=told_by_fields(answerable or (), unanswerable or ()),
        by=by or (),
        cluster=cluster,
    )
    if case is not None:
        _show_case(home, found, case, json=json)
    elif json:
        write_json({"run": str(home.path), **found.to_record()})
    else:
        _show(home, found)


def _passages(source: str) -> "Index":
    from judges.cli.retrieval import read_passages

    return read_passages(source)


# The page


def _show(run: "Run", found: "Diagnosis") -> None:
    failing = round((found.failing.value or 0) * found.failing.n)
    prose(f"{failing:,} of {_answers(found, found.failing.n)} fail: {figure(found.failing)}")
    data()
    if failing:
        _show_causes(found)
        data()
        if found.first is not None:
            _show_first(found.first)
            data()
    for line in _notes(found):
        prose(line, "  ")
    if found.slices:
        _show_slices(found)
    if failing:
        data(f"one of them in full: judges diagnose {run.path} --case ID")


def _answers(found: "Diagnosis", count: int) -> str:
    """So many answers: each is a case, unless some were asked several times."""
    return counted(count, "answer" if found.is_repeated else "case")


def _show_causes(found: "Diagnosis") -> None:
    columns = [
        Column("to blame"),
        Column("what went wrong"),
        *_count_columns(found),
        Column("of those that fail"),
        Column("also in", "right"),
        Column("such as"),
    ]
    rows = [
        [rule.component, rule.says, *_counts(found, each), figure(each.figure), f"{each.also:,}", _ids(each.cases)]
        for each in found.causes
        for rule in (found.rules.rule(each.name),)
    ]
    rest = found.unexplained
    if rest.count:
        rows.append(["?", "no rule holds", *_counts(found, rest), figure(rest.figure), "", _ids(rest.cases)])
    table(columns, rows)


def _count_columns(found: "Diagnosis") -> list[Column]:
    return [Column(head, "right") for head in (("answers", "to cases") if found.is_repeated else ("cases",))]


def _counts(found: "Diagnosis", each: "Share | SliceDiagnosis") -> list[str]:
    return [f"{count:,}" for count in ((each.count, each.asked) if found.is_repeated else (each.count,))]


def _ids(names: Sequence[str]) -> str:
    return ", ".join(printable(name, 24) for name in names)


def _show_first(first: "First") -> None:
    prose(f"act first on the {first.component}, which explains {figure(first.share)} of what fails", "  ")
    if first.second is not None and not first.is_clear:
        lead = "" if first.lead is None else f" (ahead by {figure(first.lead)})"
        prose(f"but so few cases don't tell it from the {first.second}{lead}", "  ", head="  ")
    for act in first.acts[:_CAUSES_SHOWN]:
        prose(act, "    ", head="  - ")


def _notes(found: "Diagnosis") -> Iterator[str]:
    one = "answer" if found.is_repeated else "case"
    yield f"[95% interval]; each {one} counts once, for the cause that comes first along the pipeline"
    asked = len({each.asked for each in found.cases})
    if found.is_repeated:
        yield (
            f"these answers are to {counted(asked, 'case')}, asked several times; "
            "the answers to one are one case to every interval"
        )
    if found.failing.n_clusters is not None and found.failing.n_clusters < asked:
        yield f"the intervals allow for {counted(found.failing.n_clusters, 'group')} of cases that belong together"
    if found.failing.n_dropped:
        untold = _answers(found, found.failing.n_dropped)
        yield f"not known whether they fail: {untold} without a verdict or label that tells"
    for name, other in found.stand_ins.items():
        yield f"careful: {other} stands in for {'labels of what is relevant' if name == 'found' else name}"
    alike: dict[tuple[str, int], list[str]] = {}
    for each in found.inapplicable:
        alike.setdefault((each.lacks[0], each.count), []).append(f"“{found.rules.rule(each.cause).says}”")
    for (lacks, count), says in alike.items():
        yield f"can't be told in {_answers(found, count)}: {', '.join(says)}: {lacks}"


def _show_slices(found: "Diagnosis") -> None:
    for field in dict.fromkeys(each.field for each in found.slices):
        data()
        table(
            [Column(field), *_count_columns(found), Column("fail"), Column("why")],
            (
                [
                    printable(each.value, _SLICE_LENGTH),
                    *_counts(found, each),
                    figure(each.failing),
                    ", ".join(f"{cause.name} {cause.count:,}" for cause in each.causes[:_CAUSES_SHOWN]),
                ]
                for each in found.slices
                if each.field == field
            ),
        )
    data()
    for each in found.hidden:
        prose(_hidden_words(found, each), "  ")
    looked = counted(found.compared, "comparison")
    if found.hidden:
        prose(f"[intervals that allow for {looked}]", "  ")
    else:
        prose(f"no slice lies far below the rest, allowing for {looked}", "  ")
    data()


def _hidden_words(found: "Diagnosis", each: "Hidden") -> str:
    hidden = f"{each.field} {printable(each.value, _SLICE_LENGTH)}"
    return (
        f"the mean of {each.measure}, {number(each.overall)}, hides {hidden}: "
        f"{figure(each.inside)} in {_answers(found, each.inside.n)}, {number(each.elsewhere.value)} elsewhere"
    )


# One case


def _show_case(run: "Run", found: "Diagnosis", name: str, *, json: bool) -> None:
    diagnosis = found.case(name)
    if diagnosis is None:
        from difflib import get_close_matches

        near = get_close_matches(name, [each.case_id for each in found.cases][:100_000], n=3)
        guess = f"; near it: {', '.join(printable(each, 40) for each in near)}" if near else ""
        raise InputError(f"the run has no case `{printable(name, 80)}`{guess}")
    if json:
        write_json({"run": str(run.path), **diagnosis.to_record(), "rules": list(_rule_records(diagnosis))})
        return
    case = next(each for each in run.cases() if each.id == name)
    _show_texts(case)
    data()
    if diagnosis.standing == "unknown":
        prose("Nothing says whether it fails: it has no verdict, and no label on what is relevant.")
        return
    if diagnosis.standing == "passes":
        _items("passes", (each.why for each in diagnosis.cleared))
        prose("It passes: nothing that was judged speaks against it.")
        return
    _items("fails", (each.why for each in diagnosis.reasons))
    _show_cause(diagnosis)


def _rule_records(diagnosis: "CaseDiagnosis") -> Iterator[dict[str, object]]:
    for rule, finding in diagnosis.findings:
        facts = [{"name": each.name, "value": each.value, "why": each.why} for each in finding.facts]
        yield {"cause": rule.cause, "holds": finding.holds, "facts": facts}


def _show_texts(case: "Case") -> None:
    data(f"case        {printable(case.id)}")
    for head, text in (("question", case.question), ("answer", case.answer)):
        if text is not None:
            prose(text, _INDENT, head=f"{head:<12}")
    for reference in case.references[:1]:
        prose(reference, _INDENT, head=f"{'accepted':<12}")


def _show_cause(diagnosis: "CaseDiagnosis") -> None:
    rule = diagnosis.rule
    if rule is None:
        prose("no rule holds: it fails, and what is known doesn't say why", _INDENT, head=f"{'to blame':<12}")
    else:
        prose(f"{rule.component}: {rule.says}", _INDENT, head=f"{'to blame':<12}")
        _items("since", (each.why for each in diagnosis.evidence))
        _items("besides", (f"{each.component}: {each.says}" for each in diagnosis.also))
    _items("can't say", (f"“{other.says}”: {_lacks(finding)}" for other, finding in diagnosis.not_ruled_out))
    _items("ruled out", _ruled_out(diagnosis))
    if rule is not None and rule.act:
        data()
        prose(rule.act, _INDENT, head=f"{'what to do':<12}")


def _lacks(finding: "Finding") -> str:
    return "; ".join(each.why for each in finding.facts)


def _ruled_out(diagnosis: "CaseDiagnosis") -> Iterator[str]:
    """The rules before the one that holds, each with what speaks against it."""
    before: list[tuple[Rule, Finding]] = []
    for rule, finding in diagnosis.findings:
        if finding.holds:
            break
        if finding.holds is False:
            before.append((rule, finding))
    for why in dict.fromkeys(_lacks(finding) for _, finding in before):
        says = ", ".join(f"“{rule.says}”" for rule, finding in before if _lacks(finding) == why)
        yield f"{says}: {why}"


def _items(head: str, lines: "Iterator[str]") -> None:
    for line in lines:
        prose(line, _INDENT, head=f"{head:<12}")
        head = ""
