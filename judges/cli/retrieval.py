"""`judges retrieval`: how good a retrieval is, without a model."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.options import KeepFirst
from judges.cli.output import Column, counted, data, figure, note, number, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from judges.case import Case
    from judges.figures import Figure
    from judges.fingerprint import Json
    from judges.retrieval.arrays import Measurements, Places
    from judges.retrieval.fields import Line
    from judges.retrieval.labels import Label, Labels, Resolved
    from judges.retrieval.metrics import Gain, Metric, Name
    from judges.retrieval.passages import Index
    from judges.retrieval.qrels import Qrels
    from judges.retrieval.ranking import Ranking
    from judges.verdict import Outcome

__all__ = ["qrels_labels", "read_passages", "read_qrels", "retrieval"]

_RECORDS = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet"}
_BLOCK = 1 << 17
_NAMED = 3
"""How many ids a note names."""


class GainName(StrEnum):
    """What a grade gains in nDCG."""

    LINEAR = "linear"
    EXPONENTIAL = "exponential"


def retrieval(
    run: Annotated[
        Path | None, typer.Argument(help="With --from-verdicts: folder of a run on context_relevance.")
    ] = None,
    from_verdicts: Annotated[
        bool,
        typer.Option(
            "--from-verdicts", help="What the judge of the run said of passages stands in for people's labels."
        ),
    ] = False,
    judge: Annotated[
        str | None, typer.Option(help="With --from-verdicts: whose verdicts, where several were asked.")
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(
            help="Relevance: TREC qrels, or .jsonl, .csv, .tsv, .parquet with query, grade and document (or doc, "
            "start, end: a span of a source document); maybe group, text or text_hash."
        ),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option(
            help="What was retrieved: a TREC ranking, or the like with query, document, score; "
            "maybe doc, start, end; text or text_hash."
        ),
    ] = None,
    cases: Annotated[
        str | None,
        typer.Option(
            help="Instead of both: a dataset whose cases have `retrieved` (or `contexts` with ids) and `relevant`. "
            "With --qrels these say what is relevant."
        ),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="All passages there are: an id a line, or records with id, maybe doc, start, end; text or text_hash. "
            "Refuses labels on ids it doesn't have."
        ),
    ] = None,
    check_ids: Annotated[
        str | None,
        typer.Option(
            "--check-ids", help="Measure nothing, but list what is labelled relevant and not in this index any more."
        ),
    ] = None,
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs.")] = "1,3,5,10",
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="Only this metric, such as nDCG@10, RR; may be given several times."),
    ] = None,
    gain: Annotated[GainName, typer.Option(help="What grade g gains in nDCG: g, or 2^g - 1.")] = GainName.LINEAR,
    by: Annotated[
        str | None, typer.Option(help="With --cases or --from-verdicts: a row for each value of this field.")
    ] = None,
    span_share: Annotated[
        float,
        typer.Option("--span-share", help="A passage is relevant if it covers this share of a labelled span."),
    ] = 0.5,
    keep_first: KeepFirst = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="0 for queries without a relevant document, as in trec_eval.")
    ] = False,
    per_query: Annotated[bool, typer.Option("--per-query", help="The value of each query, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how good a retrieval is: precision, recall, reciprocal rank, nDCG, with intervals."""
    from judges.retrieval.arrays import measure_places
    from judges.retrieval.metrics import Metric

    if not 0 < span_share <= 1:
        raise InputError(f"--span-share {span_share:g}: give a share above 0, at most 1")
    if (run is None) is from_verdicts or (judge is not None and not from_verdicts):
        raise InputError("verdicts stand in for labels with: judges retrieval RUN --from-verdicts [--judge JUDGE]")
    if run is not None and any(each is not None for each in (qrels, ranking, cases, index, check_ids)):
        raise InputError("--from-verdicts has its cases from the run: leave out all other files")
    if cases is not None and ranking is not None:
        raise InputError("--cases holds what was retrieved: leave out --ranking, or --cases")
    if check_ids is not None:
        _check_ids(_labels(qrels, cases), read_passages(check_ids), check_ids, span_share, json=json)
        return
    metrics = list(dict.fromkeys(map(Metric.parse, metric))) if metric else _metrics_at(_cut_offs(k))
    gains: Gain = "exponential" if gain is GainName.EXPONENTIAL else "linear"
    passages = None if index is None else read_passages(index)
    if run is not None:
        source = _of_verdicts(run, judge, by, keep_first=keep_first)
    elif cases is not None:
        source = _of_cases(cases, qrels, by, passages, span_share, keep_first=keep_first)
    elif qrels is None or ranking is None:
        raise InputError("nothing to measure: give --qrels and --ranking, or --cases")
    elif by is not None:
        raise InputError("--by needs the fields of cases: give --cases instead of --ranking")
    else:
        source = _of_files(qrels, ranking, passages, span_share, keep_first=keep_first)
    measured = measure_places(metrics, source.places, gain=gains)
    rows = [row for name, chosen in _sliced(source) for row in _rows(metrics, measured, chosen, name, strict=strict)]
    _report(source, measured, rows, by=by, gain=gains, strict=strict, per_query=per_query, json=json)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is to be measured."""

    places: "Places"
    without_qrels: int
    """Queries of the ranking that nothing was labelled for."""
    without_case: int = 0
    """Queries of the qrels that are none of the cases."""
    resolved: "Resolved | None" = None
    """What labels came to, where they were more than grades by id."""
    slices: dict[str, list[str]] | None = None
    """The slices of each query."""
    verdicts: "_Verdicts | None" = None
    """What stood in for labels, if anything did."""


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """Verdicts that stand in for labels."""

    criterion: str
    judge: str
    threshold: float
    left_out: "Mapping[str, int]"
    """Cases without a verdict, by the reason."""

    def to_record(self) -> "dict[str, Json]":
        return {
            "criterion": self.criterion,
            "judge": self.judge,
            "threshold": self.threshold,
            "left_out": dict(self.left_out),
        }


@dataclass(frozen=True, slots=True)
class _Row:
    """A metric over queries."""

    metric: "Metric"
    slice: str | None
    mean: "Figure"
    ceiling: float | None
    """The mean of what the queries allow; None where groups leave that open."""
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
    metrics = [Metric(name, cut) for name in at for cut in cut_offs]
    metrics.insert(len(cut_offs), Metric("P"))
    return [*metrics, *map(Metric, whole)]


# What comes in


def _labels(qrels: str | None, cases: str | None) -> "Labels":
    """The labels alone."""
    from judges.datasets import read_records
    from judges.retrieval.labels import labels_of

    if qrels is not None:
        return qrels_labels(qrels)
    if cases is None:
        raise InputError("--check-ids: whose labels? give --qrels, or --cases")
    return {
        _id(record.get("id"), where): labels_of(_relevant(record, where), where)
        for where, record in read_records(cases)
    }


def qrels_labels(source: str) -> "Labels":
    """Labels by query, from TREC's qrels or from records.

    Raises:
        InputError: The file can't be read, or holds something else.
    """
    from judges.retrieval.labels import labels_from

    read = read_qrels(source)
    return read if isinstance(read, dict) else labels_from(read)


def read_qrels(source: str) -> "Qrels | dict[str, list[Label]]":
    """Qrels from TREC's format, labels from records.

    Raises:
        InputError: The file can't be read, or holds something else.
    """
    from judges.datasets import read_records
    from judges.retrieval.labels import read_labels
    from judges.retrieval.qrels import read_trec_qrels

    read = read_labels(read_records(source)) if _of_records(source) else read_trec_qrels(_lines(source))
    if not (read if isinstance(read, dict) else read.grades):
        raise InputError(f"{printable(source, 200)}: is empty: it holds no qrels; a line is `query 0 document grade`")
    return read


def read_passages(source: str) -> "Index":
    """All passages there are, from ids a line or from records.

    Raises:
        InputError: The file can't be read, or holds something else.
    """
    from judges.datasets import read_records
    from judges.retrieval.passages import read_ids, read_index

    index = read_index(read_records(source)) if _of_records(source) else read_ids(_lines(source))
    if not index:
        raise InputError(f"{printable(source, 200)}: is empty: it holds no ids; give one a line")
    return index


def _of_files(qrels: str, ranking: str, index: "Index | None", share: float, *, keep_first: bool) -> _Source:
    from judges.datasets import read_records
    from judges.retrieval.labels import labels_from, relevant_ids
    from judges.retrieval.ranking import read_rankings, read_trec_rankings
    from judges.retrieval.trec import place_trec

    if qrels == ranking == "-":
        raise InputError("--qrels - and --ranking -: standard input can't be both; name a file for one of them")
    read = read_qrels(qrels)
    labels = read if isinstance(read, dict) else labels_from(read)
    strangers = InputError(
        f"{printable(ranking, 200)}: has no query of {printable(qrels, 200)}; check that both name queries alike"
    )
    versioned = any("@" in name for name in relevant_ids(labels))
    if not isinstance(read, dict) and index is None and not versioned and not _of_records(ranking):
        placed = place_trec(_blocks(ranking), printable(ranking, 200), read, keep_first=keep_first)
        if not placed.known:
            raise strangers
        return _Source(placed.places, placed.unknown)
    rankings = (
        read_rankings(read_records(ranking), keep_first=keep_first)
        if _of_records(ranking)
        else read_trec_rankings(_lines(ranking), keep_first=keep_first)
    )
    if not rankings.keys() & labels.keys():
        raise strangers
    return _resolved(labels, rankings, index, share)


def _of_cases(
    source: str, qrels: str | None, by: str | None, index: "Index | None", share: float, *, keep_first: bool
) -> _Source:
    from judges.case import Case
    from judges.datasets import read_records
    from judges.retrieval.labels import Label, labels_of
    from judges.summary import slices_of

    if source == qrels == "-":
        raise InputError("--qrels - and --cases -: standard input can't be both; name a file for one of them")
    given = None if qrels is None else _labels(qrels, None)
    labels: dict[str, list[Label]] = {}
    rankings: dict[str, Ranking] = {}
    slices: dict[str, list[str]] = {}
    for where, record in read_records(source):
        query = _id(record.get("id"), where)
        if query in rankings:
            raise InputError(
                f'{where}: `id` "{printable(query, 40)}" is already that of another case; give each its own'
            )
        rankings[query] = _ranking(record, where, keep_first=keep_first)
        if given is None:
            labels[query] = labels_of(_relevant(record, where), where)
        elif query in given:
            labels[query] = list(given[query])
        if by is not None:
            slices[query] = slices_of(Case(query, extra=record), by)
    if not rankings:
        raise InputError(
            f"{printable(source, 200)}: is empty: it holds no cases; each needs `id`, `retrieved`, `relevant`"
        )
    if qrels is not None and not labels:
        raise InputError(
            f"{printable(source, 200)}: has no case of {printable(qrels, 200)}; check that both name queries alike"
        )
    found = _resolved(labels, rankings, index, share)
    strangers = 0 if given is None else len(given.keys() - rankings.keys())
    return replace(found, without_case=strangers, slices=None if by is None else slices)


def _of_verdicts(path: Path, judge: str | None, by: str | None, *, keep_first: bool) -> _Source:
    from judges.engine.run import Run
    from judges.retrieval.arrays import place_rankings
    from judges.retrieval.bridge import judges_passages, qrels_from_verdicts
    from judges.summary import slices_of

    home = Run(path)
    manifest = home.manifest()
    there = [each for each in manifest.assignments if judges_passages(each.criterion) and judge in (None, each.judge)]
    if not there:
        whom = "" if judge is None else f" by `{printable(judge, 40)}`"
        raise InputError(
            f"{path}: has no verdicts on passages{whom}; judge them: judges run CASES -c context_relevance"
        )
    if len(there) > 1:
        names = ", ".join(f"{each.criterion.name} by {each.judge}" for each in there)
        raise InputError(f"{path}: has verdicts of several judges on passages ({names}); name one with --judge")
    [chosen] = there
    slices: dict[str, list[str]] = {}

    def judged() -> "Iterator[tuple[Case, list[Outcome]]]":
        for row in home.rows(replace(manifest, assignments=(chosen,))):
            if by is not None:
                slices[row.case.id] = slices_of(row.case, by)
            yield row.case, [judgement.outcome for _, judgement in row.judgements if judgement is not None]

    found = qrels_from_verdicts(judged(), chosen.criterion.scale, chosen.threshold, keep_first=keep_first)
    if not found.rankings:
        raise InputError(f"{path}: has no verdict on a passage yet; see why with: judges show {path}")
    return _Source(
        place_rankings(found.qrels, found.rankings),
        0,
        slices=None if by is None else slices,
        verdicts=_Verdicts(chosen.criterion.name, chosen.judge, chosen.threshold, found.left_out),
    )


def _id(value: object, where: str) -> str:
    from judges.retrieval.fields import id_of

    return id_of(value, where, "id")


def _relevant(record: "Mapping[str, Json]", where: str) -> "Json":
    if (value := record.get("relevant")) is None:
        raise InputError(
            f"{where}: has no `relevant`; give a list of ids, [] where there is none, or labels with --qrels"
        )
    return value


def _ranking(record: "Mapping[str, Json]", where: str, *, keep_first: bool) -> "Ranking":
    """What a case retrieved: `retrieved`, or else its passages."""
    from judges.retrieval.ranking import ranking_of, ranking_of_contexts

    if (retrieved := record.get("retrieved")) is not None:
        return ranking_of(retrieved, where, keep_first=keep_first)
    if (contexts := record.get("contexts")) is not None:
        return ranking_of_contexts(contexts, where, keep_first=keep_first)
    raise InputError(f"{where}: has neither `retrieved` nor `contexts`; give a list of ids, [] where there is none")


def _resolved(labels: "Labels", rankings: "dict[str, Ranking]", index: "Index | None", share: float) -> _Source:
    """Hold the labels against the passages there are, and find what is relevant in the rankings."""
    from judges.retrieval.arrays import place_rankings
    from judges.retrieval.labels import absent, check_versions, need_passages, relevant_ids, resolve
    from judges.retrieval.ranking import known_passages

    relevant = relevant_ids(labels)
    check_versions(relevant, (name for ranking in rankings.values() for name in ranking.documents))
    passages = dict(known_passages(rankings.values())) if need_passages(labels) else {}
    if index is not None:
        gone = {each.target for each in absent(labels, index, share=share) if each.why == "no such id"}
        if gone:
            raise InputError(
                f"stale qrels: {len(gone):,} of {len(relevant):,} relevant ids are not in the index; "
                "see which with --check-ids, and label again"
            )
        passages = {**passages, **index}
    resolved = resolve(labels, passages, share=share)
    places = place_rankings(resolved.qrels, rankings)
    return _Source(places, len(rankings.keys() - labels.keys()), resolved=resolved)


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


def _blocks(source: str) -> Iterator[bytes]:
    from judges.datasets.source import opened, without_bom

    with opened(source) as (stream, name):
        try:
            block = without_bom(stream.read(_BLOCK), name)
            while block:
                yield block
                block = stream.read(_BLOCK)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name}: can't be read: {printable(str(error), 120)}") from error


# What comes out


def _sliced(source: _Source) -> "list[tuple[str | None, Sequence[int]]]":
    """Each slice with the numbers of its queries."""
    queries = source.places.queries
    if source.slices is None:
        return [(None, range(len(queries)))]
    from judges.summary import NO_SLICE

    groups: dict[str, list[int]] = {}
    for place, query in enumerate(queries):
        for name in source.slices[query]:
            groups.setdefault(name, []).append(place)
    if groups.keys() == {NO_SLICE}:
        note("no case has the field of --by")
    return sorted(groups.items(), key=lambda group: (group[0] == NO_SLICE, group[0]))


def _rows(
    metrics: "list[Metric]", measured: "Measurements", chosen: Sequence[int], name: str | None, *, strict: bool
) -> Iterator[_Row]:
    from judges.figures import undefined
    from judges.intervals import mean
    from judges.retrieval.metrics import ceiling

    relevant: list[int] = measured.relevant[list(chosen)].tolist()
    for metric in metrics:
        defined = measured.defined(metric)[list(chosen)]
        values = measured.values[metric][list(chosen)]
        values = values if strict else values[defined]
        missing = len(chosen) - len(values)
        found = mean(values, n_dropped=missing) if len(values) else undefined("no_relevant", n_dropped=missing)
        tops = [ceiling(metric, each) for each in relevant]
        allowed = [0.0 if top is None else top for top in tops if strict or top is not None]
        known = allowed and not (measured.grouped and metric.name in ("P", "recall"))
        yield _Row(metric, name, found, sum(allowed) / len(allowed) if known else None, missing)


def _report(
    source: _Source,
    measured: "Measurements",
    rows: list[_Row],
    *,
    by: str | None,
    gain: str,
    strict: bool,
    per_query: bool,
    json: bool,
) -> None:
    resolved = source.resolved
    without_relevant = int((measured.relevant == 0).sum())
    without_results = int((measured.retrieved == 0).sum())
    found, relevant = int(measured.found.sum()), int(measured.relevant.sum())
    values = _values(measured, strict=strict) if per_query else []
    if json:
        document: dict[str, object] = {
            "queries": len(measured.queries),
            "without_relevant": without_relevant,
            "without_results": without_results,
            "without_qrels": source.without_qrels,
            "without_case": source.without_case,
            "relevant": relevant,
            "relevant_retrieved": found,
            "stale_labels": []
            if resolved is None
            else [{"query": query, "document": name} for query, name in resolved.changed],
            "stale_queries": [] if resolved is None else list(resolved.emptied),
            "unchecked_texts": 0 if resolved is None else resolved.unchecked,
            "verdicts": None if source.verdicts is None else source.verdicts.to_record(),
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
                {"query": query, "relevant": relevant, "retrieved": retrieved, "values": each}
                for query, relevant, retrieved, each in zip(
                    measured.queries, measured.relevant.tolist(), measured.retrieved.tolist(), values, strict=True
                )
            ]
        write_json(document)
        return
    for query, each in zip(measured.queries, values, strict=False):
        for name, value in each.items():
            data(f"{printable(query)}\t{name}\t{number(value, 4)}" + ("" if source.verdicts is None else "\tverdicts"))
    if per_query:
        data()
    _show(rows, by, "metric" if source.verdicts is None else "by verdicts")
    data(f"queries: {len(measured.queries):,}")
    if source.verdicts is not None:
        _tell_of_verdicts(source.verdicts)
    if without_relevant:
        what = "counted as 0" if strict else "left out of all means but those of judged@k"
        note(f"{without_relevant:,} without a relevant document: {what}")
    if without_results:
        note(f"{without_results:,} without results: counted as 0")
    if source.without_qrels:
        note(f"{source.without_qrels:,} of the ranking not in the qrels: left out")
    if source.without_case:
        note(f"{source.without_case:,} of the qrels not among the cases: left out")
    if resolved is not None:
        _note_stale(resolved)
    if relevant and found == relevant and source.verdicts is None:
        note(
            f"careful: {found:,} of {counted(relevant, 'relevant document')} retrieved; if people labelled only what "
            "this retriever found, recall and what is built on it measure nothing"
        )


def _tell_of_verdicts(verdicts: _Verdicts) -> None:
    data(
        f"relevant is what `{printable(verdicts.judge, 40)}` says of each retrieved passage ({verdicts.criterion} from "
        f"{verdicts.threshold:g}), not what people say"
    )
    note("careful: what wasn't retrieved wasn't judged; recall is of the relevant passages among those retrieved")
    if verdicts.left_out:
        reasons = ", ".join(f"{printable(reason, 40)} {count:,}" for reason, count in sorted(verdicts.left_out.items()))
        note(f"{counted(sum(verdicts.left_out.values()), 'case')} without a verdict left out: {reasons}")


def _values(measured: "Measurements", *, strict: bool) -> list[dict[str, float | None]]:
    """The metrics of each query, by name."""
    columns: dict[str, list[float | None]] = {}
    for metric, column in measured.values.items():
        defined = measured.defined(metric)
        columns[str(metric)] = [
            value if strict or there else None for value, there in zip(column.tolist(), defined.tolist(), strict=True)
        ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _note_stale(resolved: "Resolved") -> None:
    if resolved.changed:
        names = list(dict.fromkeys(name for _, name in resolved.changed))
        more = "" if len(names) <= _NAMED else f" and {len(names) - _NAMED:,} more"
        note(
            f"stale: {counted(len(resolved.changed), 'label')} left out, since the passage has another text now: "
            f"{', '.join(printable(name, 60) for name in names[:_NAMED])}{more}"
        )
    if resolved.emptied:
        note(f"stale: {len(resolved.emptied):,} of the queries left out, since no label on something relevant is left")
    if resolved.unchecked:
        note(
            f"{counted(resolved.unchecked, 'label')} with a text not checked: the passage's text is unknown; "
            "give `text` or `text_hash` in the ranking, or --index"
        )


def _check_ids(labels: "Labels", index: "Index", source: str, share: float, *, json: bool) -> None:
    from judges.retrieval.labels import absent

    gone = absent(labels, index, share=share)
    relevant = sum(label.grade >= 1 for given in labels.values() for label in given)
    if json:
        write_json(
            {
                "relevant": relevant,
                "absent": [{"query": each.query, "relevant": str(each.target), "why": each.why} for each in gone],
            }
        )
        return
    if gone:
        table(
            [Column("query"), Column("relevant"), Column("why")],
            ([each.query, str(each.target), each.why] for each in gone),
        )
        data()
    data(f"{len(gone):,} of {counted(relevant, 'relevant label')} not in {printable(source, 200)}")


def _show(rows: list[_Row], by: str | None, name: str) -> None:
    head = [] if by is None else [Column(by)]
    numbers = [Column(each, "right") for each in ("ceiling", "queries", "undefined")]
    table(
        [*head, Column(name), Column("mean", "right"), *numbers],
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
