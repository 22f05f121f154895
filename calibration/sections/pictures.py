"""What a report draws of scores: what they are worth as chances, how they part passes from fails, and what a cut does.

However many cases there are, a picture holds a few hundred points.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.audit import Audit
from calibration.cuts import kappa_by_cut
from calibration.items import scored_items
from calibration.no_answer import NoAnswer
from calibration.probabilities import Probabilities, Reliability
from calibration.words import figure_in_words
from judges.cli.output import number
from judges.figures import Figure
from judges.report.pictures import (
    Axis,
    Bar,
    Bars,
    Diagonal,
    Dot,
    Dots,
    Line,
    Mark,
    Panel,
    Picture,
    Point,
    Tone,
)
from judges.report.sections import Column, Illustration, Table

__all__ = ["answer_distributions", "answer_picture", "distributions", "reliability", "threshold_curve"]

_FEW = 200
"""With fewer items a histogram has 10 parts, else 20."""
_POINTS = 200
_ROWS = 11


# Scores as chances


def reliability(found: Probabilities) -> tuple[Illustration, ...]:
    """How often people pass what has a score, as it is and recalibrated; nothing where scores are no chances."""
    curves: list[tuple[str, Tone, Reliability]] = []
    if found.as_is is not None:
        curves.append(("as it is", "first", found.as_is))
    if found.recalibrated is not None:
        curves.append(("recalibrated, out of fold", "second", found.recalibrated))
    if not curves:
        return ()
    heights = [each.n for _, _, curve in curves for each in curve.table.bins]
    curve_panel = Panel(
        Axis("share that people pass", 0, 1),
        (Diagonal("where a score is the chance of a pass"), *(_curve(*each) for each in curves)),
        250,
    )
    count_panel = Panel(Axis.counting("cases", heights), tuple(_counts(*each) for each in curves), 56)
    gaps = " and ".join(f"{number(curve.table.ece.value)} {name}" for name, _, curve in curves)
    picture = Picture(
        "How often people pass what has this score",
        f"Share of cases that people pass by score, with 95% intervals. Expected calibration error {gaps}. "
        "The table has the numbers.",
        Axis("the judge's score", 0, 1),
        (curve_panel, count_panel),
    )
    places = sorted({each.index for _, _, curve in curves for each in curve.table.bins})
    columns = [Column("score")]
    for name, _, _ in curves:
        columns += [Column(f"cases, {name}", "right"), Column("people pass")]
    by_place = [{each.index: each for each in curve.table.bins} for _, _, curve in curves]
    count = curves[0][2].table.bin_count
    rows: list[list[str]] = []
    for place in places:
        row = [_part(place / count, (place + 1) / count)]
        for bins in by_place:
            bin_ = bins.get(place)
            row += ["0", "–"] if bin_ is None else [f"{bin_.n:,}", figure_in_words(bin_.rate)]
        rows.append(row)
    return (Illustration(picture, Table.of(columns, rows)),)


def _curve(name: str, tone: Tone, curve: Reliability) -> Dots:
    return Dots(
        name,
        tone,
        tuple(
            Dot(
                (each.mean_score, each.rate.value),
                each.rate.ci_low,
                each.rate.ci_high,
                f"{name}, {_part(each.low, each.high)}: people pass {figure_in_words(each.rate)} of {each.n:,}",
            )
            for each in curve.table.bins
            if each.rate.value is not None
        ),
    )


def _counts(name: str, tone: Tone, curve: Reliability) -> Bars:
    return Bars(
        name,
        tone,
        tuple(_bar(name, each.low, each.high, each.n, "cases") for each in curve.table.bins),
    )


# Scores by label


def distributions(audit: Audit) -> tuple[Illustration, ...]:
    """The scores of what people pass, and of what they fail, with the threshold in use and the suggested one."""
    items = scored_items(audit.pairs)
    if not items.pairs:
        return ()
    title = "Scores by what people say"
    kinds = ("people pass", "people fail")
    return (_two_kinds(title, items.scores, items.good, kinds, "cases", "the judge's score", _marks(audit)),)


def answer_distributions(result: NoAnswer) -> tuple[Illustration, ...]:
    """The best scores of the queries with an answer, and of those without."""
    known = [each for each in result.queries if each.score is not None]
    if not known:
        return ()
    scores = np.array([each.score for each in known], dtype=np.float64)
    kinds = np.array([each.answerable for each in known], dtype=np.bool_)
    mark = _suggested(result.threshold, "suggested") if result.helps else ()
    title = "Scores of answerable and unanswerable queries"
    names = ("answerable", "unanswerable")
    return (_two_kinds(title, scores, kinds, names, "queries", "score of the best passage", mark),)


def _two_kinds(
    title: str,
    scores: NDArray[np.float64],
    first: NDArray[np.bool_],
    names: tuple[str, str],
    things: str,
    what: str,
    marks: tuple[Mark, ...],
) -> Illustration:
    axis = Axis.over(what, (float(scores.min()), float(scores.max()), *_places(marks)))
    parts = 10 if scores.size < _FEW else 20
    edges = np.linspace(axis.low, axis.high, parts + 1)
    # What lies on an edge, but for rounding, is in the upper part.
    where = np.clip(np.searchsorted(edges, scores + 1e-9 * (axis.high - axis.low), side="right") - 1, 0, parts - 1)
    counts = [np.bincount(where[kind], minlength=parts).tolist() for kind in (first, ~first)]
    tones: tuple[Tone, Tone] = ("first", "second")
    bounds = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    panels = tuple(
        Panel(
            Axis.counting(f"{name}: {sum(heights):,} {things}", heights),
            (Bars(name, tone, tuple(_bar(name, *both, n, things) for both, n in zip(bounds, heights, strict=True))),),
            96,
        )
        for name, tone, heights in zip(names, tones, counts, strict=True)
    )
    middles = [_middle(scores[kind]) for kind in (first, ~first)]
    picture = Picture(
        title,
        f"Two histograms over the score. {names[0].capitalize()}: {sum(counts[0]):,} {things}, median {middles[0]}; "
        f"{names[1]}: {sum(counts[1]):,} {things}, median {middles[1]}.{_said(marks)} The table has the numbers.",
        axis,
        panels,
        marks,
    )
    rows = [
        [_part(*both), f"{yes:,}", f"{no:,}"]
        for both, yes, no in zip(bounds, *counts, strict=True)
        if yes or no
    ]  # fmt: skip
    return Illustration(picture, Table.of([Column("score"), *(Column(each, "right") for each in names)], rows))


def _bar(name: str, low: float, high: float, count: int, things: str) -> Bar:
    return Bar(low, high, count, f"{name}, {_part(low, high)}: {count:,} {things}")


def _middle(scores: NDArray[np.float64]) -> str:
    return number(float(np.median(scores)) if scores.size else None)


# What a cut does


@dataclass(frozen=True, slots=True)
class _Course:
    """One figure over the cuts."""

    name: str
    tone: Tone
    values: tuple[float | None, ...]


def threshold_curve(audit: Audit) -> tuple[Illustration, ...]:
    """Kappa and both error rates by cut. Nothing where people say one thing only."""
    items = scored_items(audit.pairs)
    scores, good = items.scores, items.good
    if not 0 < np.count_nonzero(good) < good.size:
        return ()
    cuts, kappas = kappa_by_cut(scores, good)
    passes, fails = np.sort(scores[good]), np.sort(scores[~good])
    missed = np.searchsorted(passes, cuts, side="left") / passes.size
    passed = 1 - np.searchsorted(fails, cuts, side="left") / fails.size
    marks = _marks(audit)
    wanted = [min(int(np.searchsorted(cuts, each.at)), cuts.size - 1) for each in marks]
    best = int(np.argmax(kappas))
    courses = (
        _Course("kappa", "first", tuple(kappas.tolist())),
        _Course("people's fails that pass", "second", tuple(passed.tolist())),
        _Course("people's passes that fail", "third", tuple(missed.tolist())),
    )
    says = (
        f"By threshold: kappa, highest at {cuts[best]:g} with {number(float(kappas[best]))}, and both error rates."
        f"{_said(marks)} The table has the numbers."
    )
    picture = _course_picture(
        "What another threshold would do", says, "a score passes from here on", cuts, courses, marks, [*wanted, best]
    )
    told = [(float(cuts[place]), place, "") for place in _some(cuts.size, _ROWS, []) if place not in wanted]
    told += [(each.at, place, each.word) for place, each in zip(wanted, marks, strict=True)]
    rows = [[number(at), *(number(each.values[place]) for each in courses), word] for at, place, word in sorted(told)]
    columns = [Column("from", "right"), *(Column(each.name, "right") for each in courses), Column("")]
    return (Illustration(picture, Table.of(columns, rows)),)


def answer_picture(result: NoAnswer) -> Picture | None:
    """The share of queries with an answer that are accepted, and of those without that are rejected, by threshold;
    None where nothing was retrieved.
    """
    known = [each for each in result.sweep if each.threshold is not None]
    if not known:
        return None
    cuts = np.array([each.threshold for each in known], dtype=np.float64)
    rejected = tuple(None if each.unanswerable_accepted is None else 1 - each.unanswerable_accepted for each in known)
    courses = (
        _Course("answerable accepted", "first", tuple(each.answerable_accepted for each in known)),
        _Course("unanswerable rejected", "second", rejected),
    )
    marks = _suggested(result.threshold, "suggested") if result.helps else ()
    says = (
        "By threshold: the share of answerable queries accepted falls, that of unanswerable ones rejected rises."
        f"{_said(marks)}"
    )
    return _course_picture(
        "What a threshold accepts and rejects", says, "answered from this score on", cuts, courses, marks, []
    )


def _course_picture(
    title: str,
    says: str,
    what: str,
    cuts: NDArray[np.float64],
    courses: Sequence[_Course],
    marks: tuple[Mark, ...],
    wanted: Sequence[int],
) -> Picture:
    across = Axis.over(what, (float(cuts[0]), float(cuts[-1]), *_places(marks)))
    places = _some(cuts.size, _POINTS, wanted)
    lines = tuple(Line(each.name, each.tone, _steps(cuts, each.values, places, across)) for each in courses)
    up = Axis.over("kappa; share of cases" if len(courses) > 2 else "share of queries", _heights(lines))
    return Picture(title, says, across, (Panel(up, lines, 220),), marks)


def _steps(
    cuts: NDArray[np.float64], values: Sequence[float | None], places: Sequence[int], across: Axis
) -> tuple[Point, ...]:
    """What a cut does, any cut does that lies above the score before it."""
    points: list[Point] = []
    left = across.low
    for place in places:
        value, right = values[place], float(cuts[place])
        if value is not None:
            points += [(left, value), (right, value)]
        left = right
    return tuple(points)


def _heights(lines: Sequence[Line]) -> list[float]:
    return [y for line in lines for _, y in line.points]


def _some(count: int, most: int, wanted: Sequence[int]) -> list[int]:
    """Not too many of so many places: evenly spread, both ends and those that are wanted among them."""
    spread = range(count) if count <= most else [round((count - 1) * step / (most - 1)) for step in range(most)]
    return sorted({*spread, *wanted})


# Marks


def _marks(audit: Audit) -> tuple[Mark, ...]:
    """The threshold in use, and the one that is best or suggested."""
    found: list[Mark] = []
    now, other = audit.pairs.threshold, audit.threshold
    if now is not None:
        found.append(Mark("in use", f"{now:g}", "now", now))
    if other is not None:
        found += _suggested(other.at, "suggested" if other.suggested else "best")
    return tuple(found)


def _suggested(at: Figure, word: str) -> tuple[Mark, ...]:
    if at.value is None:
        return ()
    return (Mark(word, figure_in_words(at), "suggested", at.value, at.ci_low, at.ci_high),)


def _places(marks: Sequence[Mark]) -> list[float]:
    return [each for mark in marks for each in (mark.at, mark.low, mark.high) if each is not None]


def _said(marks: Sequence[Mark]) -> str:
    return f" Thresholds: {'; '.join(f'{each.word} {each.says}' for each in marks)}." if marks else ""


def _part(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"
