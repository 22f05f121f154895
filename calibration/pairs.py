"""The one join: a run's judgements by case against people's labels, and what was left out and why."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from judges.engine.plan import Assignment
from judges.engine.run import Manifest, Row, Run
from judges.errors import InputError
from judges.verdict import Abstained, Failed, Verdict

__all__ = ["Pair", "Pairs", "join"]

Judged = Literal["pass", "fail", "abstained", "failed"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One case that a person has labelled and the judge was asked about."""

    case_id: str
    good: bool
    """The person's label is a good one."""
    judged: Judged
    score: float | None
    cluster: str
    """The group the case belongs to: its own id, where no field was named."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of one criterion and judge, in order of the cases."""

    assignment: Assignment
    threshold: float
    pairs: tuple[Pair, ...]
    unlabelled: int
    """Cases of the run without a label."""
    not_in_run: int
    """Labels of cases that the run doesn't have."""
    pending: int
    """Labelled cases that are not judged yet."""
    abstained: Mapping[str, int]
    """Abstentions among the pairs, by reason."""
    failed: Mapping[str, int]
    """Failures among the pairs, by kind of error."""


def join(
    run: Run,
    manifest: Manifest,
    assignment: Assignment,
    good: Mapping[str, bool],
    *,
    threshold: float | None = None,
    clusters: Mapping[str, str] | None = None,
    cluster_field: str | None = None,
) -> Pairs:
    """Join one criterion's judgements by one judge with labels.

    A judge's score for a case is its verdict's: the mean over its claims. With replicates it is the mean of theirs.

    Args:
        run: Where the judgements are.
        manifest: What was asked.
        assignment: The criterion and judge.
        good: Whether a case's label is good, by case id.
        threshold: A score at or above it is a pass; by default the judge's own.
        clusters: The group of each case, as the label file has it.
        cluster_field: Where the case itself says its group, if the label file doesn't.

    Raises:
        InputError: No labelled case is in the run.
        LedgerError: A file of the run can't be read.
    """
    cut = assignment.threshold if threshold is None else threshold
    pairs: list[Pair] = []
    unlabelled = pending = 0
    abstained: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for row in run.rows(manifest):
        label = good.get(row.case.id)
        if label is None:
            unlabelled += 1
            continue
        judged, score, reason = _judged(row, assignment, cut)
        if judged is None:
            pending += 1
            continue
        if judged == "abstained":
            abstained[reason] += 1
        elif judged == "failed":
            failed[reason] += 1
        cluster = (clusters or {}).get(row.case.id)
        if cluster is None and cluster_field is not None:
            found = row.case.find(cluster_field)
            cluster = str(found) if isinstance(found, str | int | float) else None
        pairs.append(Pair(row.case.id, label, judged, score, row.case.id if cluster is None else cluster))
    if not pairs and not pending:
        raise InputError(f"{run.path}: none of its {manifest.cases:,} cases has a label; do the ids match?")
    return Pairs(
        assignment=assignment,
        threshold=cut,
        pairs=tuple(pairs),
        unlabelled=unlabelled,
        not_in_run=len(good) - len(pairs) - pending,
        pending=pending,
        abstained=dict(sorted(abstained.items())),
        failed=dict(sorted(failed.items())),
    )


def _judged(row: Row, assignment: Assignment, threshold: float) -> tuple[Judged | None, float | None, str]:
    """What the judge said of a case: pass or fail by the mean score, or why there is none; None if not judged yet."""
    scores: list[float] = []
    reasons: dict[Judged, str] = {}
    for judgement in _asked(row, assignment):
        match judgement:
            case Verdict(score=score):
                scores.append(score)
            case Abstained(reason=reason):
                reasons["abstained"] = reason
            case Failed(error=error):
                reasons["failed"] = error
    if scores:
        mean = sum(scores) / len(scores)
        return ("pass" if mean >= threshold else "fail"), mean, ""
    for judged, reason in reasons.items():
        return judged, None, reason
    return None, None, ""


def _asked(row: Row, assignment: Assignment) -> Iterator[Verdict | Abstained | Failed]:
    for work, judgement in row.judgements:
        if work.assignment == assignment and judgement is not None:
            yield judgement.outcome
