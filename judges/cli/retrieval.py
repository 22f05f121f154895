"""`judges retrieval`: how good a retrieval is, without a model."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Column, data, figure, note, number, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from judges.figures import Figure
    from judges.retrieval.metrics import Gain, Measured, Metric, Name
    from judges.retrieval.qrels import Line, Qrels
    from judges.retrieval.ranking import Ranking

__all__ = ["retrieval"]

_RECORDS = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet"}


class GainName(StrEnum):
    """What a grade gains in nDCG."""

    LINEAR = "linear"
    EXPONENTIAL = "exponential"


def retrieval(
    qrels: Annotated[
        str | None,
        typer.Option(
            help="Relevance of documents: TREC qrels, or .jsonl, .csv, .tsv, .parquet with query, document, grade."
        ),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option(help="What was retrieved: a TREC ranking, or the like with query, document, score."),
    ] = None,
    cases: Annotated[
        str | None, typer.Option(help="Instead of both: a dataset whose cases have `retrieved` and `relevant`.")
    ] = None,
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs.")] = "1,3,5,10",
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="Only this metric, such as nDCG@10, RR; may be given several times."),
    ] = None,
    gain: Annotated[GainName, typer.Option(help="What grade g gains in nDCG: g, or 2^g - 1.")] = GainName.LINEAR,
    by: Annotated[str | None, typer.Option(help="With --cases: a row for each value of this field.")] = None,
    keep_first: Annotated[
        bool, typer.Option("--keep-first", help="Of a document retrieved twice keep the first copy.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="0 for queries without a relevant document, as in trec_eval.")
    ] = False,
    per_query: Annotated[bool, typer.Option("--per-query", help="The value of each query, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how good a retrieval is: precision, recall, reciprocal rank, nDCG, with intervals."""
    from judges.retrieval.metrics import Metric, measure_all

    metrics = list(dict.fromkeys(map(Metric.parse, metric))) if metric else _metrics_at(_cut_offs(k))
    gains: Gain = "exponential" if gain is GainName.EXPONENTIAL else "linear"
    source = _of_cases(cases, by, keep_first) if cases is not None else None
    if source is None:
        if qrels is None or ranking is None:
            raise InputError("nothing to measure: give --qrels and --ranking, or --cases")
        if by is not None:
            raise InputError("--by needs the fields of cases: give --cases instead of --qrels and --ranking")
        source = _of_files(qrels, ranking, keep_first)
    elif qrels is not None or ranking is not None:
        raise InputError("--cases holds both: leave out --qrels and --ranking")
    measured = list(measure_all(metrics, source.qrels, source.rankings, gain=gains, strict=strict))
    rows = [row for name, group in _sliced(measured, source) for row in _rows(metrics, group, name, strict)]
    _report(source, measured, rows, by=by, gain=gains, strict=strict, per_query=per_query, json=json)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is to be measured."""

    qrels: "Qrels"
    rankings: "dict[str, Ranking]"
    slices: dict[str, list[str]] | None = None
    """The slices of each query."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A metric over queries."""

    metric: "Metric"
    slice: str | None
    mean: "Figure"
    ceiling: float | None
    """The mean of what the queries allow."""
    undefined: int


def _cut_offs(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 and int(part) for part in parts):
        raise InputError(
            f'--k "{printable(text, 40)}" is no list of cut-offs; give whole numbers from 1, as in 1,3,5,10'
        )
    return sorted({int(part) for part in parts})


def _metrics_at(cut_offs: list[int]) -> "list[Metric]":
    from judges.retrieval.metrics import Metric

    at: list[Name] = ["P", "recall", "hit", "nDCG", "judged"]
    whole: list[Name] = ["RR", "AP", "Rprec"]
    return [*(Metric(name, cut) for name in at for cut in cut_offs), *map(Metric, whole)]


def _of_files(qrels: str, ranking: str, keep_first: bool) -> _Source:
    from judges.datasets import read_records
    from judges.retrieval.qrels import read_qrels, read_trec_qrels
    from judges.retrieval.ranking import read_rankings, read_trec_rankings

    if qrels == ranking == "-":
        raise InputError("--qrels - and --ranking -: standard input can't be both; name a file for one of them")
    judged = read_qrels(read_records(qrels)) if _of_records(qrels) else read_trec_qrels(_lines(qrels))
    if not judged.grades:
        raise InputError(f"{printable(qrels, 200)}: is empty: it holds no qrels; a line is `query 0 document grade`")
    rankings = (
        read_rankings(read_records(ranking), keep_first=keep_first)
        if _of_records(ranking)
        else read_trec_rankings(_lines(ranking), keep_first=keep_first)
    )
    if not rankings.keys() & judged.grades.keys():
        raise InputError(
            f"{printable(ranking, 200)}: has no query of {printable(qrels, 200)}; check that both name queries alike"
        )
    return _Source(judged, rankings)


def _of_records(source: str) -> bool:
    """Whether the name is that of a file of records; all else is text in TREC's format."""
    path = Path(source)
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower() in _RECORDS


def _lines(source: str) -> "Iterator[Line]":
    from judges.datasets.source import numbered_lines, opened

    with opened(source) as (stream, name):
        try:
            for line, text in numbered_lines(stream, name):
                yield f"{name}:{line}", text
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name}: can't be read: {printable(str(error), 120)}") from error


def _of_cases(source: str, by: str | None, keep_first: bool) -> _Source:
    from judges.case import Case
    from judges.datasets import read_records
    from judges.retrieval.qrels import Qrels, grades_of, id_of
    from judges.retrieval.ranking import ranking_of
    from judges.summary import slices_of

    grades: dict[str, dict[str, int]] = {}
    rankings: dict[str, Ranking] = {}
    slices: dict[str, list[str]] = {}
    for where, record in read_records(source):
        query = id_of(record.get("id"), where, "id")
        if query in grades:
            raise InputError(
                f'{where}: `id` "{printable(query, 40)}" is already that of another case; give each its own'
            )
        for name in ("retrieved", "relevant"):
            if record.get(name) is None:
                raise InputError(f"{where}: has no `{name}`; give a list of ids, [] where there is none")
        grades[query] = grades_of(record["relevant"], where)
        rankings[query] = ranking_of(record["retrieved"], where, keep_first=keep_first)
        if by is not None:
            slices[query] = slices_of(Case(query, extra=record), by)
    if not grades:
        raise InputError(
            f"{printable(source, 200)}: is empty: it holds no cases; each needs `id`, `retrieved`, `relevant`"
        )
    return _Source(Qrels(grades), rankings, slices if by is not None else None)


def _sliced(measured: "list[Measured]", source: _Source) -> "list[tuple[str | None, list[Measured]]]":
    if source.slices is None:
        return [(None, measured)]
    from judges.summary import NO_SLICE

    groups: dict[str, list[Measured]] = {}
    for each in measured:
        for name in source.slices[each.query]:
            groups.setdefault(name, []).append(each)
    if groups.keys() == {NO_SLICE}:
        note("no case has the field of --by")
    return sorted(groups.items(), key=lambda group: (group[0] == NO_SLICE, group[0]))


def _rows(metrics: "list[Metric]", measured: "list[Measured]", name: str | None, strict: bool) -> "Iterator[_Row]":
    from judges.figures import undefined
    from judges.intervals import mean
    from judges.retrieval.metrics import ceiling

    for metric in metrics:
        values = [value for each in measured if (value := each.values[metric]) is not None]
        tops = [ceiling(metric, each.relevant) for each in measured]
        allowed = [0.0 if top is None else top for top in tops if strict or top is not None]
        missing = len(measured) - len(values)
        found = mean(values, n_dropped=missing) if values else undefined("no_relevant", n_dropped=missing)
        yield _Row(metric, name, found, sum(allowed) / len(allowed) if allowed else None, missing)


def _report(
    source: _Source,
    measured: "list[Measured]",
    rows: list[_Row],
    *,
    by: str | None,
    gain: str,
    strict: bool,
    per_query: bool,
    json: bool,
) -> None:
    without_relevant = sum(each.relevant == 0 for each in measured)
    without_results = sum(each.retrieved == 0 for each in measured)
    without_qrels = len(source.rankings.keys() - source.qrels.grades.keys())
    if json:
        document: dict[str, object] = {
            "queries": len(measured),
            "without_relevant": without_relevant,
            "without_results": without_results,
            "without_qrels": without_qrels,
            "gain": gain,
            "strict": strict,
            "by": by,
            "rows": [
                {
                    "metric": str(row.metric),
                    "slice": row.slice,
                    "mean": row.mean.to_record(),
                    "ceiling": row.ceiling,
                    "undefined": row.undefined,
                }
                for row in rows
            ],
        }
        if per_query:
            document["per_query"] = [
                {
                    "query": each.query,
                    "relevant": each.relevant,
                    "retrieved": each.retrieved,
                    "values": {str(metric): value for metric, value in each.values.items()},
                }
                for each in measured
            ]
        write_json(document)
        return
    if per_query:
        for each in measured:
            for metric, value in each.values.items():
                data(f"{printable(each.query)}\t{metric}\t{number(value, 4)}")
        data()
    _show(rows, by)
    data(f"queries: {len(measured):,}")
    if without_relevant:
        what = "counted as 0" if strict else "left out of all means but those of judged@k"
        note(f"{without_relevant:,} without a relevant document: {what}")
    if without_results:
        note(f"{without_results:,} without results: counted as 0")
    if without_qrels:
        note(f"{without_qrels:,} of the ranking not in the qrels: left out")


def _show(rows: list[_Row], by: str | None) -> None:
    head = [] if by is None else [Column(by)]
    numbers = [Column(name, "right") for name in ("ceiling", "queries", "undefined")]
    table(
        [*head, Column("metric"), Column("mean", "right"), *numbers],
        (
            [
                *([] if by is None else [row.slice or ""]),
                str(row.metric),
                figure(row.mean, 3),
                number(row.ceiling, 3),
                f"{row.mean.n:,}",
                f"{row.undefined:,}",
            ]
            for row in rows
        ),
    )
