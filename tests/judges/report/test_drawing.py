import re
from dataclasses import replace
from itertools import pairwise
from math import isclose
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.report.drawing import svg, ticks
from judges.report.pictures import Axis, Bar, Bars, Diagonal, Dot, Dots, Effect, Forest, Line, Mark, Panel, Picture
from support.hostile_texts import HOSTILE


def picture(name: str = "judge") -> Picture:
    return Picture(
        f"Scores of {name}",
        f"What {name} does.",
        Axis(f"score of {name}", 0, 1),
        (
            Panel(
                Axis(f"share of {name}", 0, 1),
                (
                    Diagonal(name),
                    Dots(name, "first", (Dot((0.25, 0.5), 0.25, 0.75, name), Dot((0.75, 1), None, None, name))),
                    Line(name, "second", ((0, 0), (1, 1))),
                ),
                100,
            ),
            Panel(Axis.counting(name, [4]), (Bars(name, "first", (Bar(0, 0.5, 4, name),)),), 50),
        ),
        (Mark(name, "0.5", "now", 0.5), Mark(name, "0.9 [0.8, 1]", "suggested", 0.9, 0.8, 1.0)),
    )


def between(low: float, extent: float) -> Axis:
    return Axis("x", low, low + extent)


def counting(most: int) -> Axis:
    return Axis.counting("n", [most])


AXES = st.builds(between, st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
COUNTS = st.builds(counting, st.integers(0, 10**9))


@given(AXES | COUNTS, st.integers(2, 9))
def test_ticks_rise_evenly_within_the_scale_and_are_not_too_many(axis: Axis, most: int) -> None:
    found = ticks(axis, most)
    assert len(found) <= most + 1
    room = (axis.high - axis.low) * 1e-6 + 1e-9
    assert all(axis.low - room <= each <= axis.high + room for each in found)
    steps = [after - before for before, after in pairwise(found)]
    assert all(isclose(each, steps[0], rel_tol=1e-3) and each > 0 for each in steps)
    if axis.whole:
        assert len(found) > 1
        assert all(each == round(each) for each in found)


def test_a_scale_of_chances_is_marked_at_every_fifth() -> None:
    assert [round(each, 9) for each in ticks(Axis("x", 0, 1))] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(Axis.counting("n", [3]), 5) == [0, 1, 2, 3]


def test_an_axis_over_values_holds_them_and_is_never_empty() -> None:
    assert Axis.over("x", [0.2, 0.9]) == Axis("x", 0, 1)
    assert Axis.over("x", []) == Axis("x", 0, 1)
    one = Axis.over("x", [7.0])
    assert one.low < 7 < one.high
    assert Axis.counting("n", []).high == 1


def test_places_in_the_picture_are_those_of_the_data() -> None:
    drawn = ET.fromstring(svg(picture()))  # noqa: S314  # ours
    dots = [each for each in drawn.iter("circle") if each.find("title") is not None]
    assert len(dots) == 2
    xs = [float(each.attrib["cx"]) for each in dots]
    ys = [float(each.attrib["cy"]) for each in dots]
    assert xs[1] - xs[0] == pytest.approx((480 - 50 - 14) / 2, abs=0.2)
    assert ys[0] - ys[1] == pytest.approx(50, abs=0.2)
    [bar] = [each for each in drawn.iter("rect") if each.attrib["class"].startswith("bar")]
    assert float(bar.attrib["height"]) == pytest.approx(50)


def test_what_lies_beyond_the_scale_stays_within_the_picture() -> None:
    far = Picture(
        "t", "s", Axis("x", 0, 1), (Panel(Axis("y", 0, 1), (Line("l", "first", ((-9, -9), (9, 9))),), 100),),
        (Mark("m", "5", "now", 5.0, -5.0, 5.0),),
    )  # fmt: skip
    drawn = ET.fromstring(svg(far))  # noqa: S314  # ours
    [line] = [each for each in drawn.iter("path") if each.attrib["class"] == "line first" and "L" in each.attrib["d"]]
    numbers = [float(each) for each in line.attrib["d"].replace("M", "").replace("L", " ").split()]
    assert min(numbers) >= 0
    assert max(numbers) <= 480


@given(st.floats(0, 1), st.floats(0, 1))
def test_no_mark_s_line_crosses_the_name_of_another_close_by(first: float, second: float) -> None:
    marks = Mark("in use", "0.3", "now", first), Mark("best", "0.4", "suggested", second, 0.2, 0.5)
    drawn = str(svg(replace(picture(), marks=marks)))
    lines = [float(each) for each in re.findall(r'class="mark \w+" d="M([\d.]+) ', drawn)]
    names = re.findall(r'class="name (?:now|suggested)" x="([-\d.]+)" y="\d+" text-anchor="(\w+)"', drawn)
    assert (len(lines), len(names)) == (2, 2)
    for x, anchor in names:
        begins = [(float(x) - line) * (1 if anchor == "start" else -1) for line in lines]
        assert not any(-4 < each < 4 for each in begins)


def test_what_a_mark_stands_for_is_drawn_over_the_bars_and_captions_over_both() -> None:
    drawn = str(svg(picture()))
    assert drawn.rindex('class="bar ') < drawn.index('class="mark ') < drawn.index(">share of judge<")


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_name_becomes_more_than_a_text(name: str) -> None:
    plain, hostile = (ET.fromstring(svg(picture(each))) for each in ("judge", HOSTILE[name]))  # noqa: S314
    assert [each.tag for each in hostile.iter()] == [each.tag for each in plain.iter()]
    assert [sorted(each.attrib) for each in hostile.iter()] == [sorted(each.attrib) for each in plain.iter()]


def test_a_picture_has_words_for_those_who_cant_see_it_and_no_look_of_its_own() -> None:
    drawn = ET.fromstring(svg(picture()))  # noqa: S314  # ours
    assert drawn.attrib["role"] == "img"
    assert drawn.attrib["aria-label"] == "Scores of judge. What judge does."
    for each in drawn.iter():
        assert not {"style", "fill", "stroke"} & set(each.attrib)


# Effects


def forest(*effects: tuple[str, float, float | None, float | None]) -> Forest:
    rows = tuple(Effect(name, "first", value, low, high, f"{name}: {value}") for name, value, low, high in effects)
    ends = [end for each in rows for end in (each.value, each.low, each.high) if end is not None]
    return Forest("Effects", "In words", Axis.around_0("change", ends), rows)


def test_each_effect_has_a_row_its_interval_around_it_and_a_line_where_there_is_none() -> None:
    shown = str(svg(forest(("one", 0.2, 0.1, 0.4), ("two", -0.3, None, None))))
    assert shown.count("<circle") == 2
    [(left, right)] = [
        (float(a), float(b)) for a, b in re.findall(r'class="line whisker first" d="M([\d.]+) [\d.]+H([\d.]+)"', shown)
    ]
    one, two = (float(each) for each in re.findall(r'<circle[^>]* cx="([\d.]+)"', shown))
    [none] = [float(each) for each in re.findall(r'class="none" d="M([\d.]+) ', shown)]
    assert two < none < left < one < right
    assert (one - none) / (none - two) == pytest.approx(2 / 3, abs=0.01)
    assert 'aria-label="Effects. In words"' in shown


def test_names_of_effects_are_made_harmless_and_cut() -> None:
    shown = str(svg(forest(("</text><script>" + "x" * 90, 0.5, 0.4, 0.6))))
    assert "<script" not in shown
    assert "x" * 40 not in re.sub(r"<title>.*?</title>|aria-label=\"[^\"]*\"", "", shown)


def test_the_scale_of_effects_always_holds_0() -> None:
    assert Axis.around_0("x", [0.5, 0.6]).low < 0 < Axis.around_0("x", [-0.2]).high
    assert Axis.around_0("x", []).low < 0 < Axis.around_0("x", []).high
