"""What was found about queries without an answer, as sections: what each threshold does, and which one is best."""

from collections.abc import Sequence

from calibration.no_answer import NoAnswer
from calibration.sections.pictures import answer_distributions, answer_picture
from calibration.statistics.no_answer import Costs, Operation
from judges.cli.output import figure, number
from judges.report.sections import Block, Chapter, Column, Illustration, Section, Table

__all__ = ["chapter_of"]

_ROWS = 15
_NEAR = 8


def chapter_of(result: NoAnswer, cluster: str | None = None) -> Chapter:
    """All about the queries of one dataset; the field that groups them, if one does."""
    count, answerable = len(result.queries), sum(each.answerable for each in result.queries)
    return Chapter(
        f"{count:,} queries: {answerable:,} answerable, {count - answerable:,} unanswerable",
        "",
        (_sweep(result), _suggestion(result, cluster), _separation(result), *_near(result)),
    )


def _precision(result: NoAnswer) -> str:
    known = any(each.correct is not None for each in result.queries)
    return "accepted and right" if known else "accepted that are answerable"


def _sweep(result: NoAnswer) -> Section:
    apparent = result.fitted.apparent
    heads = ("threshold", "unanswerable rejected", "answerable accepted", _precision(result), "cost")
    sweep = Table.of(
        [*(Column(head, "right") for head in heads), ""],
        [_row(each, result, suggested=each == apparent) for each in _some(result.sweep, apparent)],
    )
    picture = answer_picture(result)
    shown = sweep if picture is None else Illustration(picture, sweep, spoken=True)
    return Section("What each threshold does", (shown, _what_mistakes_cost(result.costs)))


def _what_mistakes_cost(costs: Costs) -> str:
    mistakes = (
        (costs.false_accept, "an unanswerable one is accepted"),
        (costs.false_reject, "an answerable one is rejected"),
        (costs.accepted_wrong, "an accepted one is answered wrongly"),
    )
    return "cost: mean of all queries, " + ", ".join(f"{cost:g} where {what}" for cost, what in mistakes if cost)


def _row(each: Operation, result: NoAnswer, *, suggested: bool) -> list[str]:
    accepted = each.unanswerable_accepted
    return [
        "never" if each.threshold is None else number(each.threshold, 3),
        number(None if accepted is None else 1 - accepted),
        number(each.answerable_accepted),
        number(each.precision),
        number(each.cost(result.costs), 3),
        "suggested" if suggested else "",
    ]


def _some(operations: Sequence[Operation], apparent: Operation) -> list[Operation]:
    """Not too many of the operations: evenly spread, with both ends and the one that is suggested."""
    if len(operations) <= _ROWS:
        return list(operations)
    last = len(operations) - 1
    places = {round(last * step / (_ROWS - 1)) for step in range(_ROWS)} | {operations.index(apparent)}
    return [operations[place] for place in sorted(places)]


def _suggestion(result: NoAnswer, cluster: str | None) -> Section:
    apparent, held_out = result.fitted.apparent, result.fitted.held_out
    if result.helps:
        line = f"suggested threshold: {figure(result.threshold, 3)}, the cheapest"
    else:
        what = "reject" if not apparent.accepted else "accept"
        line = f"no threshold helps at these costs: the cheapest is to {what} every query"
    out_of_fold = Table.of(
        [f"on queries it was not chosen on ({result.folds} folds)", ""],
        [
            ["unanswerable rejected", figure(held_out.unanswerable_rejected)],
            ["answerable accepted", figure(held_out.answerable_accepted)],
            [_precision(result), figure(held_out.precision)],
            ["cost", figure(held_out.cost)],
        ],
    )
    groups: list[str] = []
    if result.groups is not None:
        few = "; too few for an interval of the threshold" if result.threshold.reason == "too_few_clusters" else ""
        groups.append(f"intervals and folds keep {result.groups:,} groups by {cluster} together{few}")
    return Section("Suggested threshold", (line, out_of_fold, *groups))


def _separation(result: NoAnswer) -> Section:
    blocks: list[Block] = []
    if result.separated:
        blocks.append(
            "every answerable query scores higher than every unanswerable one: any threshold between separates them"
        )
    else:
        low = result.area.ci_low
        chance = ", which may be chance" if low is None or low <= 0.5 else ""
        blocks.append(
            f"no threshold separates the two: an answerable query scores higher than an unanswerable one in "
            f"{figure(result.area)} of pairs{chance}"
        )
    if missing := sum(each.score is None for each in result.queries):
        blocks.append(f"{missing:,} without results: rejected at any threshold")
    blocks += answer_distributions(result)
    return Section("Do scores tell the two apart?", tuple(blocks))


def _near(result: NoAnswer) -> tuple[Section, ...]:
    if not result.near:
        return ()
    columns = [
        Column("score", "right"),
        Column("no lower than", "right"),
        Column("id", limit=40),
        Column("question", limit=70),
    ]
    rows = [
        [number(each.query.score, 3), f"{each.above:.0%} of answerable", each.query.id, each.query.question or ""]
        for each in result.near[:_NEAR]
    ]
    more = len(result.near) - _NEAR
    rest = [f"and {more:,} more (--json has all)"] if more > 0 else []
    head = "unanswerable, and deceptively near:"
    return (Section("Unanswerable queries that look answerable", (head, Table.of(columns, rows), *rest)),)
