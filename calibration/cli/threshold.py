"""`judges threshold`: from which retrieval score on to answer at all. Mounted into the `judges` command."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Column, data, figure, note, number, prose, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.no_answer import Answerable, NoAnswer
    from calibration.statistics.no_answer import Operation

__all__ = ["threshold"]

_ROWS = 15
_NEAR = 8


def threshold(
    dataset: Annotated[
        str, typer.Argument(help="Cases with `retrieved` (or `contexts`) and the retriever's scores; higher is nearer.")
    ],
    unanswerable: Annotated[
        str | None,
        typer.Option(help="Which queries have no answer, as FIELD=VALUE; else those whose `relevant` is empty."),
    ] = None,
    qrels: Annotated[
        str | None, typer.Option(help="Instead: TREC qrels; a query without a relevant document has no answer.")
    ] = None,
    correct: Annotated[
        str | None, typer.Option(help="Field that says whether an answer is right, for precision and --cost-wrong.")
    ] = None,
    cost_false_accept: Annotated[
        float, typer.Option("--cost-false-accept", help="What an accepted query without an answer costs.")
    ] = 1.0,
    cost_false_reject: Annotated[
        float, typer.Option("--cost-false-reject", help="What a rejected query with an answer costs.")
    ] = 1.0,
    cost_wrong: Annotated[
        float, typer.Option("--cost-wrong", help="What an accepted query with a wrong answer costs; needs --correct.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and the resampling.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the retrieval score below which to say "no answer": what each rejects, accepts and costs."""
    from calibration.no_answer import queries_of, study
    from calibration.statistics.no_answer import Costs
    from judges.datasets import read_cases

    for name, cost in (("false-accept", cost_false_accept), ("false-reject", cost_false_reject), ("wrong", cost_wrong)):
        if not (isfinite(cost) and cost >= 0):
            raise InputError(f"--cost-{name} {cost:g}: give a finite number, 0 or more")
    if cost_wrong and correct is None:
        raise InputError("--cost-wrong: which answers are wrong? name the field that says it with --correct")
    cases = read_cases(dataset)
    result = study(
        queries_of(cases, _answerable(unanswerable, qrels), correct=correct),
        Costs(cost_false_accept, cost_false_reject, cost_wrong),
        seed=seed,
    )
    if json:
        write_json({"dataset": dataset, "seed": seed, **result.to_record()})
        return
    _show(result)


def _answerable(unanswerable: str | None, qrels: str | None) -> "Answerable":
    from calibration.no_answer import by_field, by_labels, by_qrels
    from judges.datasets.source import numbered_lines, opened
    from judges.retrieval.qrels import read_trec_qrels

    if unanswerable is not None and qrels is not None:
        raise InputError("--unanswerable and --qrels both say what has no answer: keep one of them")
    if unanswerable is not None:
        field, mark, value = unanswerable.partition("=")
        if not (field and mark):
            raise InputError(
                f"--unanswerable {printable(unanswerable, 60)}: give FIELD=VALUE, as in meta.type=unanswerable"
            )
        return by_field(field, value)
    if qrels is None:
        return by_labels
    with opened(qrels) as (stream, name):
        return by_qrels(read_trec_qrels((f"{name}:{line}", text) for line, text in numbered_lines(stream, name)))


def _show(result: "NoAnswer") -> None:
    answerable = sum(each.answerable for each in result.queries)
    data(
        f"{len(result.queries):,} queries: {answerable:,} answerable, {len(result.queries) - answerable:,} unanswerable"
    )
    data()
    apparent, held_out = result.fitted.apparent, result.fitted.held_out
    known = any(each.correct is not None for each in result.queries)
    precision = "accepted and right" if known else "accepted that are answerable"
    table(
        [
            Column("threshold", "right"),
            *(Column(head, "right") for head in ("unanswerable rejected", "answerable accepted", precision, "cost")),
            Column(""),
        ],
        (_row(each, result, suggested=each == apparent) for each in _some(result.sweep, apparent)),
    )
    data()
    if result.helps:
        data(f"suggested threshold: {figure(result.threshold, 3)}, the cheapest")
    else:
        what = "reject" if not apparent.accepted else "accept"
        prose(f"no threshold helps at these costs: the cheapest is to {what} every query")
    data(f"on queries it was not chosen on ({result.folds} folds):")
    for name, value in (
        ("unanswerable rejected", held_out.unanswerable_rejected),
        ("answerable accepted", held_out.answerable_accepted),
        (precision, held_out.precision),
        ("cost", held_out.cost),
    ):
        data(f"  {name:<30}{figure(value)}")
    data()
    if result.separated:
        prose("every answerable query scores higher than every unanswerable one: any threshold between separates them")
    else:
        low = result.area.ci_low
        chance = low is None or low <= 0.5
        prose(
            f"no threshold separates the two: an answerable query scores higher than an unanswerable one in "
            f"{figure(result.area)} of pairs" + (", which may be chance" if chance else "")
        )
        _show_near(result)
    if missing := sum(each.score is None for each in result.queries):
        note(f"{missing:,} without results: rejected at any threshold")


def _row(each: "Operation", result: "NoAnswer", *, suggested: bool) -> list[str]:
    accepted = each.unanswerable_accepted
    return [
        "never" if each.threshold is None else number(each.threshold, 3),
        number(None if accepted is None else 1 - accepted),
        number(each.answerable_accepted),
        number(each.precision),
        number(each.cost(result.costs), 3),
        "suggested" if suggested else "",
    ]


def _some(operations: "Sequence[Operation]", apparent: "Operation") -> "list[Operation]":
    """Not too many of the operations: evenly spread, with both ends and the one that is suggested."""
    if len(operations) <= _ROWS:
        return list(operations)
    last = len(operations) - 1
    places = {round(last * step / (_ROWS - 1)) for step in range(_ROWS)} | {operations.index(apparent)}
    return [operations[place] for place in sorted(places)]


def _show_near(result: "NoAnswer") -> None:
    if not result.near:
        return
    data()
    data("unanswerable, and deceptively near:")
    table(
        [Column("score", "right"), Column("no lower than", "right"), Column("id"), Column("question")],
        (
            [
                number(each.query.score, 3),
                f"{each.above:.0%} of answerable",
                printable(each.query.id, 40),
                printable(each.query.question or "", 70),
            ]
            for each in result.near[:_NEAR]
        ),
    )
    if len(result.near) > _NEAR:
        data(f"and {len(result.near) - _NEAR:,} more (--json has all)")
