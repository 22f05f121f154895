"""`judges calibrate`: hold a run's judgements against people's labels. Mounted into the `judges` command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Column, data, figure, note, number, prose, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.audit import Audit, View
    from calibration.pairs import Judged
    from judges.engine.plan import Assignment
    from judges.engine.run import Manifest

__all__ = ["calibrate"]


def calibrate(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    gold: Annotated[Path, typer.Option(help="File of human labels: records with the case's id and a label.")],
    label: Annotated[str, typer.Option(help="Field of the label: gold.faithfulness.")],
    positive: Annotated[
        str | None, typer.Option(help="Which labels are good: 'correct', 'pass,partly', '>=3'.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option("--criterion", "-c", help="The criterion the labels are about; else the label's name.")
    ] = None,
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Only this judge.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Scores from here on pass; by default the judge's own.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the question several systems answered.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold the judge against human labels: agreement, kappa and its interval, the failures it finds."""
    from calibration.audit import audit
    from calibration.labels import Positive, read_labels
    from calibration.pairs import join
    from judges.engine.run import Run

    home = Run(run)
    manifest = home.manifest()
    assignments = _chosen(manifest, criterion or _criterion_of(manifest, label), judge)
    labels = read_labels(gold, label, cluster=cluster)
    good = labels.good(
        Positive(positive if positive is not None else _usual(labels.found(), set(labels.by_case.values())))
    )
    audits = [
        audit(
            join(
                home, manifest, assignment, good, threshold=threshold, clusters=labels.clusters, cluster_field=cluster
            ),
            clustered=cluster is not None,
        )
        for assignment in assignments
    ]
    if cluster is not None and all(p.cluster == p.case_id for a in audits for p in a.pairs.pairs):
        note(f"`{cluster}` groups no cases: each is a group of its own")
    if json:
        write_json(
            {
                "run": str(home.path),
                "gold": str(gold),
                "label": label,
                "positive": positive,
                "cluster": cluster,
                "unlabelled_records": labels.unlabelled,
                "audits": [one.to_record() for one in audits],
            }
        )
        return
    for place, one in enumerate(audits):
        if place:
            data()
        _show(one, label, cluster)


def _criterion_of(manifest: "Manifest", label: str) -> str:
    """The criterion a label is about, by the last part of its field's name."""
    names = list(dict.fromkeys(a.criterion.name for a in manifest.assignments))
    last = label.rpartition(".")[2]
    if last in names:
        return last
    if len(names) == 1:
        return names[0]
    raise InputError(f"`{label}` names none of the run's criteria; say which with --criterion: {', '.join(names)}")


def _chosen(manifest: "Manifest", criterion: str, judge: str | None) -> "list[Assignment]":
    chosen = [a for a in manifest.assignments if a.criterion.name == criterion and judge in (None, a.judge)]
    if not chosen:
        pairs = ", ".join(f"{a.criterion.name} by {a.judge}" for a in manifest.assignments)
        raise InputError(f"the run has no `{criterion}`{f' by `{judge}`' if judge else ''}; it has: {pairs}")
    return chosen


def _usual(found: str, labels: set[str]) -> str:
    """The good label, where the usual words leave no doubt."""
    for good, bad in (("pass", "fail"), ("correct", "incorrect"), ("yes", "no"), ("true", "false"), ("1", "0")):
        if labels <= {good, bad}:
            return good
    raise InputError(
        f"which labels are good? say it with --positive, as in --positive correct or --positive '>=3'; {found}"
    )


def _show(audit: "Audit", label: str, cluster: str | None) -> None:
    pairs = audit.pairs
    assignment = pairs.assignment
    data(f"{assignment.criterion.name} by {printable(assignment.judge)}, against {printable(label)}")
    data(f"{len(pairs.pairs):,} labelled cases; a score passes from {pairs.threshold:g}")
    data()
    rare: tuple[Judged, ...] = ("abstained", "failed")
    judged: list[Judged] = ["pass", "fail", *(kind for kind in rare if any(row[kind] for row in audit.matrix.values()))]
    heads = ("judge: pass", *judged[1:])
    table(
        [Column("people say"), *(Column(head, "right") for head in heads)],
        ([name, *(f"{row[kind]:,}" for kind in judged)] for name, row in audit.matrix.items()),
    )
    data()
    for view in audit.views:
        cases = "" if len(audit.views) == 1 else f"abstentions {view.abstentions}: "
        table(
            [Column(f"{cases}{view.metrics.accuracy.n:,} cases"), Column("judge"), Column("always pass")], _rows(view)
        )
        data()
    data(f"area under the curve of the score  {figure(audit.area_under_curve)}")
    data()
    for line in _notes(audit, cluster):
        prose(line, "  ")


def _rows(view: "View") -> "list[list[str]]":
    """The judge, and beside it the baseline that passes everything."""
    metrics = view.metrics
    return [
        ["agreement", figure(metrics.accuracy), figure(metrics.always_pass.accuracy)],
        ["Cohen's kappa", figure(view.kappa), "0.00"],
        ["fails found (recall)", figure(metrics.specificity), "0.00"],
        ["fails that are right (precision)", figure(metrics.npv), "none"],
        ["passes found (recall)", figure(metrics.recall), "1.00"],
    ]


def _notes(audit: "Audit", cluster: str | None) -> "list[str]":
    pairs = audit.pairs
    kappa = audit.views[0].kappa
    notes: list[str] = []
    if kappa.value is None:
        notes.append(f"kappa is undefined ({kappa.reason})")
    elif kappa.ci_low is None:
        notes.append(f"kappa has no interval ({kappa.reason})")
    else:
        notes.append(
            "the judge agrees with people more than chance would"
            if kappa.ci_low > 0
            else "the interval of kappa reaches 0: these labels don't show that the judge agrees more than chance would"
        )
    if cluster is not None and kappa.n_clusters is not None:
        groups = f"{kappa.n_clusters:,} groups by {cluster}"
        notes.append(f"intervals allow for {groups} (design effect of kappa {number(kappa.deff)})")
    notes += [f"careful: {_FLAGS[flag]}" for flag in kappa.flags if flag in _FLAGS]
    for count, what in (
        (pairs.unlabelled, "cases of the run have no label"),
        (pairs.not_in_run, "labels are of cases that the run doesn't have"),
        (pairs.pending, "labelled cases are not judged yet: run the same `judges run` again"),
    ):
        if count:
            notes.append(f"left out: {count:,} {what}")
    for name, counts in (("abstained", pairs.abstained), ("failed", pairs.failed)):
        if counts:
            notes.append(f"{name}: {printable(', '.join(f'{reason} {count:,}' for reason, count in counts.items()))}")
    return notes


_FLAGS = {
    "constant_rater": "people or judge gave every case the same label",
    "small_n": "fewer than 30 cases",
    "few_clusters": "fewer than 30 groups",
    "rare_class": "fewer than 10 cases of one label",
    "high_drop": "more than 5% of the judgements are abstentions or failures",
}
