"""`judges plan`: what `judges run` would take, with the same arguments. Nothing is sent, judged or written."""

from judges.cli.options import RunOptions
from judges.cli.output import Column, data, money, table, tokens, write_json
from judges.cli.run import asked
from judges.planning import Forecast, Known, forecast

__all__ = ["plan"]


def plan(options: RunOptions) -> None:
    """Say what `judges run` with the same arguments would take: calls, tokens, money, time. Nothing is sent."""
    from judges.engine.evaluate import checked

    job = asked(options, only_plans=True)
    known = Known(is_cached=job.connections.is_cached, price=job.connections.price)
    forecasts = forecast(
        checked(job.intake.admit(job.source, options.lang, lambda _: None)),
        job.assignments,
        job.by_name(),
        known,
        there=job.run.keys(),
        replicates=options.replicates,
        repeat_share=options.repeat_share,
    )
    minutes = job.connections.minutes(forecasts)
    if options.json:
        write_json(
            {
                "run": str(job.run.path),
                "forecasts": [one.to_record() for one in forecasts],
                "calls": sum(one.paid for one in forecasts),
                "cost": _sum([one.cost for one in forecasts]),
                "most_cost": _sum([one.most_cost for one in forecasts]),
                "minutes": minutes,
            }
        )
        return
    job.intake.report(job.criteria)
    _show(forecasts, minutes)
    if options.max_cost is not None:
        _hold_against(options.max_cost, forecasts)


def _show(forecasts: list[Forecast], minutes: float | None) -> None:
    table(
        [
            Column("criterion"),
            Column("judge"),
            *(
                Column(head, "right")
                for head in ("judgements", "there already", "calls", "cached", "tokens read", "written", "cost")
            ),
        ],
        (
            [
                one.criterion,
                one.judge,
                f"{one.judgements:,}",
                f"{one.there:,}",
                f"{one.calls:,}",
                f"{one.cached:,}",
                _about(one.input_tokens),
                _about(one.output_tokens),
                _cost(one),
            ]
            for one in forecasts
        ),
    )
    data()
    for one in forecasts:
        if one.refused:
            data(f"  {one.criterion} by {one.judge}: {one.refused:,} cases don't fit into the model's window")
    paid, cost = sum(one.paid for one in forecasts), _sum([one.cost for one in forecasts])
    if not paid:
        data("  no call of a service is needed")
        return
    most = _sum([one.most_cost for one in forecasts])
    if cost is None:
        data(f"  {paid:,} calls to pay; the price of a model isn't known: see [prices] of judges.toml")
    elif most is not None:
        data(f"  {paid:,} calls to pay, about {money(cost)}; {money(most)} if every reply were as long as is allowed")
    if minutes is not None:
        data(f"  at least {_time(minutes)} at the limits that are set")
    data("  tokens are estimated from the text; replies that have to be asked for twice are not counted")


def _hold_against(max_cost: float, forecasts: list[Forecast]) -> None:
    cost = _sum([one.cost for one in forecasts])
    if cost is not None and cost > max_cost:
        data(f"  more than --max-cost {money(max_cost)}: the run would stop before it is done, and could go on later")


def _cost(one: Forecast) -> str:
    if not one.paid:
        return "–"
    return "unknown" if one.cost is None else money(one.cost)


def _about(count: int) -> str:
    return tokens(count) if count else "–"


def _time(minutes: float) -> str:
    if minutes < 1:
        return f"{minutes * 60:.0f} seconds"
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _sum(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
