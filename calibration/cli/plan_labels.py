"""`judges plan-labels`: how many cases people should label, and which. Mounted into the `judges` command."""

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Column, counted, data, number, prose, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.planning import Expected, Goal, Need
    from calibration.sampling import Design, Frame, How
    from judges.engine.plan import Assignment
    from judges.engine.run import Manifest

__all__ = ["plan_labels"]


class Way(StrEnum):
    """How cases are chosen."""

    RANDOM = "random"
    BY_VERDICT = "by-verdict"
    UNSURE = "unsure"


_WAYS: "dict[Way | None, How]" = {
    None: "random",
    Way.RANDOM: "random",
    Way.BY_VERDICT: "by_verdict",
    Way.UNSURE: "unsure",
}


def plan_labels(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    kappa_halfwidth: Annotated[
        float | None, typer.Option(help="Plan for an interval of kappa of plus or minus this: 0.1.")
    ] = None,
    pass_rate_halfwidth: Annotated[
        float | None, typer.Option(help="Plan for an interval of the pass rate of plus or minus this: 0.05.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, help="Label so many cases, whatever they show.")] = None,
    how: Annotated[
        Way | None,
        typer.Option(
            help="random (default): good for every figure. by-verdict: as many of the judge's passes as fails. "
            "unsure: most where the score is near the threshold."
        ),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="Pick this case by hand; may be given several times. Instead of --how.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the cases to label to this file (.jsonl).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw: the same seed draws the same cases.")] = 0,
    criterion: Annotated[
        str | None, typer.Option("--criterion", "-c", help="What the labels are about; needed if the run has several.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", "-j", help="The judge to be held against them; needed if there are several."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Scores from here on pass; by default the judge's own.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the question several systems answered.")
    ] = None,
    kappa: Annotated[float, typer.Option(help="The kappa to plan for.")] = 0.6,
    pass_rate: Annotated[
        float | None, typer.Option(help="The pass rate to plan for; by default that of the judge.")
    ] = None,
    show_verdicts: Annotated[
        bool, typer.Option("--show-verdicts", help="Show what the judge said to those who label. It sways them.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan human labels: how many an interval takes, and which cases; write those cases for labelling."""
    from calibration.planning import expect
    from calibration.sampling import draw, frame_of, pick, write_sample
    from judges.engine.run import Run

    way: How = "hand_picked" if case else _WAYS[how]
    wanted: dict[Goal, float | None] = {"kappa": kappa_halfwidth, "pass_rate": pass_rate_halfwidth}
    goals: dict[Goal, float] = {goal: half for goal, half in wanted.items() if half is not None}
    _check(case, how, n, goals, way)
    home = Run(run)
    manifest = home.manifest()
    assignment = _chosen(manifest, criterion, judge)
    frame = frame_of(home, manifest, assignment, way, threshold=threshold, cluster=cluster)
    field = f"gold.{assignment.criterion.name}"
    expected = None if case or way == "unsure" else expect(frame, pass_rate=pass_rate, kappa=kappa)
    needs = [] if expected is None else _needs(goals, expected, way)
    size = n if n is not None else max((each.n for each in needs if _decides(each, way)), default=0)
    design: Design | None = None
    if case:
        design = pick(frame, case, field=field, blind=not show_verdicts)
    elif out is not None or n is not None:
        size = size if n is not None else min(size, len(frame.said))
        design = draw(frame, way, size, field=field, seed=seed, blind=not show_verdicts)
    if out is not None and design is not None:
        write_sample(out, design, home, assignment.criterion, frame.said if show_verdicts else None)
    if json:
        write_json(
            {
                "run": str(home.path),
                "criterion": assignment.criterion.name,
                "judge": assignment.judge,
                "threshold": frame.threshold,
                "cluster": cluster,
                "expected": None if expected is None else expected.to_record(),
                "needs": [each.to_record() for each in needs],
                "out": None if out is None else str(out),
                "design": None if design is None else design.to_record(),
            }
        )
        return
    _show_frame(frame, cluster)
    if expected is not None:
        data()
        _show_needs(needs, expected, way, size if n is not None else None)
    if design is not None:
        _show_design(design, out, home.path)


def _check(case: list[str] | None, how: Way | None, n: int | None, goals: "dict[Goal, float]", way: "How") -> None:
    """Refuse what can't be wanted together."""
    from calibration.statistics.prevalence import check_population_value

    if case and (how is not None or n is not None or goals):
        raise InputError("--case picks by hand: leave out --how, --n and the half widths, which are for drawing")
    if not case and n is None and not goals:
        raise InputError("how many? give --kappa-halfwidth 0.1, --pass-rate-halfwidth 0.05, or --n 200")
    if n is not None and goals:
        raise InputError("--n says how many, so nothing is left to plan; leave it out, or the half widths")
    if way == "unsure" and goals:
        raise InputError("what labels of unsure cases will show can't be foreseen: give --n, or plan with --how random")
    if "kappa" in goals and way == "by_verdict":
        try:
            check_population_value("kappa", "by_verdict")
        except ValueError as error:
            raise InputError(f"--kappa-halfwidth with --how by-verdict: {error} (--how random)") from None


def _needs(goals: "dict[Goal, float]", expected: "Expected", way: "How") -> "list[Need]":
    from calibration.planning import need

    asked: list[tuple[Goal, float]] = []
    for goal, half in goals.items():
        if goal != "pass_rate" or way != "by_verdict":  # labels chosen by verdict are no rate by themselves
            asked.append((goal, half))
        if goal == "pass_rate":
            asked.append(("pass_rate_with_judge", half))
    found = [need(goal, half, expected, way) for goal, half in asked]
    if way == "by_verdict" and None in found:
        raise InputError(
            f"no number of labels narrows the pass rate so far: the judge has judged too few cases "
            f"({expected.population:,}); judge more of them, or ask for less"
        )
    return [each for each in found if each is not None]


def _decides(need: "Need", way: "How") -> bool:
    """Whether a need counts: what the judge may save is only shown, since it rests on a kappa nobody knows yet."""
    return need.goal != "pass_rate_with_judge" or way == "by_verdict"


_GOALS: "dict[Goal, str]" = {
    "kappa": "kappa",
    "pass_rate": "pass rate, from the labels alone",
    "pass_rate_with_judge": "pass rate, with the judge's help",
}
_LEFT_OUT = {
    "abstained": "the judge abstained from: the criterion doesn't apply",
    "failed": "on which the judge failed",
    "pending": "not judged yet: run the same `judges run` again first",
}


def _show_frame(frame: "Frame", cluster: str | None) -> None:
    name = f"{frame.assignment.criterion.name} by {frame.assignment.judge}"
    data(f"{printable(name)}: {counted(len(frame.said), 'case')} to choose from")
    for kind, count in frame.left_out.items():
        prose(f"left out: {count:,} {_LEFT_OUT.get(kind, kind)}", "  ")
    if cluster is not None:
        groups = len(set(frame.groups.values()))
        prose(f"{counted(groups, 'group')} by {cluster}", "  ")


def _show_needs(needs: "list[Need]", expected: "Expected", way: "How", n: int | None) -> None:
    from calibration.planning import fails_among, half_width

    if n is not None:
        goals: list[Goal] = ["kappa", "pass_rate", "pass_rate_with_judge"]
        shown = goals if way == "random" else goals[2:]
        table(
            [Column(f"from {counted(n, 'label')}"), Column("interval, about")],
            ([_GOALS[goal], f"± {half_width(goal, n, expected, way):.2f}"] for goal in shown),
        )
    else:
        table(
            [Column("wanted"), Column("interval"), Column("labels", "right"), Column("of them fails, about", "right")],
            (
                [_GOALS[each.goal], f"± {each.half_width:g}", f"{each.n:,}", f"{each.human_fails:,.0f}"]
                for each in needs
            ),
        )
    data()
    if n is not None:
        prose(f"of {counted(n, 'label')} about {fails_among(n, expected, way):,.0f} will be fails", "  ")
    prose(
        f"planned for kappa {number(expected.kappa)} and a pass rate of {number(expected.pass_rate)} "
        f"(the judge's is {number(expected.judge_pass_rate)}); other values with --kappa and --pass-rate",
        "  ",
    )
    if expected.deff > 1:
        prose(
            f"groups count: labels of all cases would be worth {expected.population / expected.deff:,.0f} independent "
            f"ones (design effect {number(expected.deff)}, seen in the judge's verdicts)",
            "  ",
        )
    for each in needs:
        if not each.enough_cases and _decides(each, way):
            prose(
                f"the run has too few cases for {_GOALS[each.goal]} ± {each.half_width:g}: labels of all of them would "
                f"give ± {each.reached:.2f}; judge more cases like these",
                "  ",
            )


def _show_design(design: "Design", out: Path | None, run: Path) -> None:
    from calibration.sampling import design_path

    data()
    ways = {
        "random": "at random",
        "by_verdict": "by verdict: " + ", ".join(f"{s.sampled:,} of {s.cases:,} that {s.name}" for s in design.strata),
        "unsure": "most where the judge is unsure: "
        + ", ".join(f"{s.sampled:,} of {s.cases:,} {s.name}" for s in design.strata),
        "hand_picked": "by hand",
    }
    data(f"{counted(len(design.cases), 'case')}, chosen {ways[design.how]}")
    if design.how == "hand_picked":
        prose("they can show what the judge gets wrong; nothing about the run's pass rate, kappa or error rates", "  ")
    else:
        prose(
            f"their labels give the run's pass rate (by {_named(design.estimators[:1])}) and {_named(design.values)}",
            "  ",
        )
        if "kappa" not in design.values:
            prose("they don't give kappa, nor how many fails it finds: that takes a random sample", "  ")
    if out is None:
        prose("nothing is written without --out FILE", "  ")
        return
    data()
    data(
        f"to label: {out}"
        + ("" if design.blind else " (with the judge's verdicts: labels won't be independent of them)")
    )
    data(f"design:   {design_path(out)}")
    prose("keep the two together; those who label should see only the first", "  ")
    prose(f"put each label (pass or fail, say) into `{design.field}`, then:", "  ")
    command = ("judges", "calibrate", str(run), "--gold", str(out), "--label", design.field, "--positive", "pass")
    data(f"  {printable(shlex.join(command))}")


def _named(names: "Sequence[str]") -> str:
    return ", ".join(_WORDS.get(name, name.replace("_", "-")) for name in names) or "no other rate"


_WORDS = {
    "accuracy": "agreement",
    "precision": "how many of its passes are right",
    "npv": "how many of its fails are right",
    "recall": "passes found",
    "specificity": "fails found",
}


def _chosen(manifest: "Manifest", criterion: str | None, judge: str | None) -> "Assignment":
    """The one criterion and judge that are meant."""
    found = [a for a in manifest.assignments if criterion in (None, a.criterion.name) and judge in (None, a.judge)]
    there = ", ".join(f"{a.criterion.name} by {a.judge}" for a in found or manifest.assignments)
    if not found:
        named = " by ".join(f"`{name}`" for name in (criterion, judge) if name is not None)
        raise InputError(f"the run has no {named}; it has: {there}")
    if len(found) > 1:
        raise InputError(f"labels are about one criterion; choose with --criterion (and --judge) one of: {there}")
    return found[0]
