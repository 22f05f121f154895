"""Pictures as SVG that stands inside an HTML page: no script, no colours of its own.

Colours, dashes and the look of texts are classes of the page's style sheet, so that a picture follows the reader's
light or dark mode and prints well.
"""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10
from typing import TypeAlias

from markupsafe import Markup

from judges.printable import printable
from judges.report.pictures import (
    Axis,
    Bars,
    Diagonal,
    Dots,
    Effect,
    Forest,
    Layer,
    Line,
    Mark,
    Panel,
    Picture,
    Point,
    Tone,
)

__all__ = ["svg", "ticks"]

_WIDTH, _LEFT, _RIGHT = 480, 50, 14
_ROW = 17
"""Units from one line of text to the next."""
_LETTER = 6.4
"""About the width of one."""
_APART = 26
"""The least from one number of the vertical scale to the next."""
_KEY = 22
"""The width of a key of the legend."""
_CLOSE = 9
"""Nearer than this the line of another mark would cross a name."""
_LONGEST, _SPOKEN = 80, 1_200
"""Characters of a text that is seen, and of one that is heard."""

_At: TypeAlias = Callable[[Point], Point]
"""Where a point of the data lies in the picture."""


def svg(picture: Picture | Forest) -> Markup:
    """The picture as an `svg` element. Its words are made harmless here."""
    drawn, height = _forest(picture) if isinstance(picture, Forest) else _picture(picture)
    return Markup(
        '<svg class="picture" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">{}</svg>'
    ).format(
        printable(f"{picture.title}. {picture.says}", _SPOKEN), _WIDTH, height, _WIDTH, height, Markup("").join(drawn)
    )


def _picture(picture: Picture) -> tuple[list[Markup], int]:
    """What it consists of, and its height."""
    keys = [layer for panel in picture.panels for layer in panel.layers if not isinstance(layer, Bars)]
    drawn: list[Markup] = []
    legend = _flow(keys)
    for layer, x, row in legend:
        drawn += _key(layer, x, 12 + row * _ROW)
    top = (1 + max((row for _, _, row in legend), default=-1)) * _ROW + 4
    marks_top = top
    top += len(picture.marks) * _ROW
    captions: list[Markup] = []
    bottom = top
    for panel in picture.panels:
        top += _ROW + 4
        bottom = top + panel.height
        drawn += _panel(panel, picture.axis, top)
        captions.append(_caption(panel, top))
        top = bottom + 8
    lines = [_x(picture.axis, mark.at) for mark in picture.marks]
    for place, mark in enumerate(picture.marks):
        drawn += _mark(mark, picture.axis, marks_top + place * _ROW, bottom, lines)
    drawn += captions  # over the lines of marks, as are their names
    drawn += _across(picture.axis, bottom)
    return drawn, bottom + 2 * _ROW + 6


def ticks(axis: Axis, most: int = 5) -> list[float]:
    """Round numbers on a scale, from one to the next at least so many parts of it."""
    rough = (axis.high - axis.low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
    if axis.whole:
        step = max(1.0, ceil(step) if step < 10 else step)
    first = ceil(axis.low / step - 1e-9)
    return [place * step for place in range(first, floor(axis.high / step + 1e-9) + 1)]


# Scales


def _x(axis: Axis, value: float) -> float:
    return _LEFT + _share(axis, value) * (_WIDTH - _LEFT - _RIGHT)


def _share(axis: Axis, value: float) -> float:
    return min(max((value - axis.low) / (axis.high - axis.low), 0.0), 1.0)


def _number(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def _shown(value: float, *, whole: bool) -> str:
    return f"{value:,.0f}" if whole else f"{round(value, 10) + 0.0:g}"


def _across(axis: Axis, bottom: int) -> Iterator[Markup]:
    for value in ticks(axis):
        x = _number(_x(axis, value))
        yield Markup('<path class="tick" d="M{} {}v4"/>').format(x, bottom)
        yield Markup('<text class="number" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            x, bottom + 16, _shown(value, whole=axis.whole)
        )
    yield Markup('<text class="scale" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        _number((_LEFT + _WIDTH - _RIGHT) / 2), bottom + 33, printable(axis.title, _LONGEST)
    )


# Legend and marks


def _flow(layers: Sequence[Layer]) -> list[tuple[Layer, float, int]]:
    """Where each key stands: one after the other, in rows."""
    places: list[tuple[Layer, float, int]] = []
    x, row = float(_LEFT), 0
    for layer in layers:
        room = _KEY + 8 + _LETTER * len(printable(layer.name, _LONGEST)) + 14
        if x > _LEFT and x + room > _WIDTH:
            x, row = float(_LEFT), row + 1
        places.append((layer, x, row))
        x += room
    return places


def _key(layer: Layer, x: float, y: int) -> Iterator[Markup]:
    start, end, middle = _number(x), _number(x + _KEY), y - 4
    if isinstance(layer, Diagonal):
        yield Markup('<path class="diagonal" d="M{} {}H{}"/>').format(start, middle, end)
    else:
        yield Markup('<path class="line {}" d="M{} {}H{}"/>').format(layer.tone, start, middle, end)
    if isinstance(layer, Dots):
        yield _shape(layer.tone, x + _KEY / 2, middle, "")
    yield Markup('<text class="name" x="{}" y="{}">{}</text>').format(
        _number(x + _KEY + 6), y, printable(layer.name, _LONGEST)
    )


def _mark(mark: Mark, axis: Axis, top: int, bottom: int, lines: Sequence[float]) -> Iterator[Markup]:
    """Its line over all panels, and its name beside it: beyond another mark's line that stands close by."""
    x = beside = _x(axis, mark.at)
    if mark.low is not None and mark.high is not None:
        low, high = _x(axis, mark.low), _x(axis, mark.high)
        yield Markup('<rect class="span {}" x="{}" y="{}" width="{}" height="{}"/>').format(
            mark.tone, _number(low), top + _ROW, _number(high - low), bottom - top - _ROW
        )
    yield Markup('<path class="mark {}" d="M{} {}V{}"/>').format(mark.tone, _number(x), top + 5, bottom)
    name = printable(f"{mark.word} {mark.says}", _LONGEST)
    gap = 5 if x + 5 + _LETTER * len(name) <= _WIDTH else -5
    for line in sorted(lines, reverse=gap < 0):
        if 0 < (line - beside) * gap < _CLOSE * abs(gap):
            beside = line
    yield Markup('<text class="name {}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        mark.tone, _number(beside + gap), top + 13, "start" if gap > 0 else "end", name
    )


# Panels


def _caption(panel: Panel, top: int) -> Markup:
    return Markup('<text class="scale" x="{}" y="{}">{}</text>').format(
        _LEFT, top - 6, printable(panel.axis.title, _LONGEST)
    )


def _panel(panel: Panel, across: Axis, top: int) -> Iterator[Markup]:
    bottom, right = top + panel.height, _WIDTH - _RIGHT

    def at(point: Point) -> tuple[float, float]:
        return _x(across, point[0]), bottom - _share(panel.axis, point[1]) * panel.height

    for value in ticks(panel.axis, max(panel.height // _APART, 1)):
        y = _number(at((0, value))[1])
        yield Markup('<path class="grid" d="M{} {}H{}"/>').format(_LEFT, y, right)
        yield Markup('<text class="number" x="{}" y="{}" dy="4" text-anchor="end">{}</text>').format(
            _LEFT - 6, y, _shown(value, whole=panel.axis.whole)
        )
    bars = [layer for layer in panel.layers if isinstance(layer, Bars)]
    for place, layer in enumerate(bars):
        yield from _bars(layer, place, len(bars), at)
    for other in panel.layers:
        match other:
            case Line():
                yield Markup('<path class="line {}" d="{}"/>').format(other.tone, _path([at(p) for p in other.points]))
            case Dots():
                yield from _dots(other, at)
            case Diagonal():
                low = max(across.low, panel.axis.low)
                high = min(across.high, panel.axis.high)
                yield Markup('<path class="diagonal" d="{}"/>').format(_path([at((low, low)), at((high, high))]))
            case Bars():
                pass
    yield Markup('<path class="base" d="M{} {}H{}"/>').format(_LEFT, bottom, right)


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points) if points else ""


def _bars(layer: Bars, place: int, of: int, at: _At) -> Iterator[Markup]:
    for bar in layer.bars:
        if not bar.height:
            continue
        low, base = at((bar.low, 0))
        high, top = at((bar.high, bar.height))
        wide = (high - low - 2) / of
        yield Markup(
            '<rect class="bar {}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
        ).format(
            layer.tone, _number(low + 1 + place * wide), _number(min(top, base - 1)), _number(max(wide, 1)),
            _number(max(base - top, 1)), printable(bar.says, _SPOKEN),
        )  # fmt: skip


def _dots(layer: Dots, at: _At) -> Iterator[Markup]:
    known = [(dot.at[0], dot.low, dot.high) for dot in layer.dots if dot.low is not None and dot.high is not None]
    if len(known) > 1:
        edge = [at((x, high)) for x, _, high in known] + [at((x, low)) for x, low, _ in reversed(known)]
        yield Markup('<path class="band {}" d="{}Z"/>').format(layer.tone, _path(edge))
    for x, low, high in known:
        (place, bottom), (_, top) = at((x, low)), at((x, high))
        yield Markup('<path class="whisker {}" d="M{} {}V{}"/>').format(
            layer.tone, _number(place), _number(bottom), _number(top)
        )
    yield Markup('<path class="line {}" d="{}"/>').format(layer.tone, _path([at(dot.at) for dot in layer.dots]))
    for dot in layer.dots:
        yield _shape(layer.tone, *at(dot.at), dot.says)


def _shape(tone: Tone, x: float, y: float, says: str) -> Markup:
    said = Markup("<title>{}</title>").format(printable(says, _SPOKEN)) if says else ""
    if tone == "first":
        return Markup('<circle class="dot {}" cx="{}" cy="{}" r="4">{}</circle>').format(
            tone, _number(x), _number(y), said
        )
    return Markup('<rect class="dot {}" x="{}" y="{}" width="7" height="7">{}</rect>').format(
        tone, _number(x - 3.5), _number(y - 3.5), said
    )


# Effects


_NAMES = 190
"""The width of their names."""
_LONGEST_NAME = 28


def _forest(forest: Forest) -> tuple[list[Markup], int]:
    """What it consists of, and its height."""
    axis, top = forest.axis, 6
    drawn: list[Markup] = []
    if len(forest.tones) > 1:
        x = float(_NAMES)
        for tone, words in forest.tones:
            drawn.append(_shape(tone, x, 8, ""))
            drawn.append(Markup('<text class="name" x="{}" y="12">{}</text>').format(_number(x + 9), words))
            x += 26 + _LETTER * len(words)
        top += _ROW
    bottom = top + (_ROW + 4) * len(forest.effects) + 4
    for value in ticks(axis):
        x = _over(axis, value)
        drawn.append(Markup('<path class="grid" d="M{} {}V{}"/>').format(_number(x), top, bottom))
        drawn.append(Markup('<path class="tick" d="M{} {}v4"/>').format(_number(x), bottom))
        drawn.append(
            Markup('<text class="number" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                _number(x), bottom + 16, _shown(value, whole=axis.whole)
            )
        )
    drawn.append(Markup('<path class="none" d="M{} {}V{}"/>').format(_number(_over(axis, 0.0)), top, bottom))
    drawn.append(Markup('<path class="base" d="M{} {}H{}"/>').format(_NAMES, bottom, _WIDTH - _RIGHT))
    for place, effect in enumerate(forest.effects):
        drawn += _effect(effect, axis, top + 4 + (_ROW + 4) * place + _ROW // 2)
    drawn.append(
        Markup('<text class="scale" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            _number((_NAMES + _WIDTH - _RIGHT) / 2), bottom + 33, printable(axis.title, _LONGEST)
        )
    )
    return drawn, bottom + 2 * _ROW + 6


def _effect(effect: Effect, axis: Axis, y: int) -> Iterator[Markup]:
    yield Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
        _NAMES - 10, y + 4, printable(effect.name, _LONGEST_NAME)
    )
    if effect.low is not None and effect.high is not None:
        low, high = (_number(_over(axis, each)) for each in (effect.low, effect.high))
        yield Markup('<path class="line whisker {}" d="M{} {}H{}"/>').format(effect.tone, low, y, high)
    yield _shape(effect.tone, _over(axis, effect.value), y, effect.says)


def _over(axis: Axis, value: float) -> float:
    return _NAMES + _share(axis, value) * (_WIDTH - _RIGHT - _NAMES)
