"""`judges threshold`: from which retrieval score on to answer at all. Mounted into the `judges` command."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import note, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.no_answer import Answerable

__all__ = ["threshold"]


def threshold(
    dataset: Annotated[
        str, typer.Argument(help="Cases with `retrieved` (or `contexts`) and the retriever's scores; higher is nearer.")
    ],
    unanswerable: Annotated[
        str | None,
        typer.Option(
            help="Which queries have no answer, as FIELD=VALUE; else those whose `answerable` is false, or `relevant` "
            "is empty."
        ),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(
            help="Instead: relevance, as for `judges retrieval`; a query without a relevant document has no answer."
        ),
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
    cluster: Annotated[
        str | None,
        typer.Option(help="Field that groups queries, such as those of one conversation; else each is a group."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and the resampling.")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures too: one HTML file that needs nothing else.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the retrieval score below which to say "no answer": what each rejects, accepts and costs."""
    from calibration.cli.page import show_chapter
    from calibration.no_answer import queries_of, study
    from calibration.sections.no_answer import chapter_of
    from calibration.statistics.no_answer import Costs
    from judges.datasets import read_cases
    from judges.report.page import check_page, write_page
    from judges.report.sections import Page

    for name, cost in (("false-accept", cost_false_accept), ("false-reject", cost_false_reject), ("wrong", cost_wrong)):
        if not (isfinite(cost) and cost >= 0):
            raise InputError(f"--cost-{name} {cost:g}: give a finite number, 0 or more")
    if cost_wrong and correct is None:
        raise InputError("--cost-wrong: which answers are wrong? name the field that says it with --correct")
    if html is not None:
        check_page(html)
    cases = read_cases(dataset)
    result = study(
        queries_of(cases, _answerable(unanswerable, qrels), correct=correct, cluster=cluster),
        Costs(cost_false_accept, cost_false_reject, cost_wrong),
        seed=seed,
    )
    if cluster is not None and result.groups is None:
        note(f"`{printable(cluster, 80)}` groups no queries: each is a group of its own")
    chapter = chapter_of(result, cluster)
    if html is not None:
        write_page(html, Page("From which score on to answer at all", f"queries of {dataset}", (chapter,)))
    if json:
        write_json({"dataset": dataset, "cluster": cluster, "seed": seed, **result.to_record()})
    else:
        show_chapter(chapter)
    if html is not None:
        note(f"page: {printable(str(html))}")


def _answerable(unanswerable: str | None, qrels: str | None) -> "Answerable":
    from calibration.no_answer import by_case, by_field, by_labels
    from judges.cli.retrieval import read_qrels
    from judges.retrieval.labels import labels_from

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
        return by_case
    read = read_qrels(qrels)
    return by_labels(read if isinstance(read, dict) else labels_from(read))
