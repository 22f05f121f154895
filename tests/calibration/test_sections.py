"""What a report says and draws of a judge, from labels that lie in real files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score  # pyright: ignore[reportUnknownVariableType]

from calibration.audit import Audit, audit
from calibration.no_answer import Query, by_field, queries_of, study
from calibration.sections import no_answer
from calibration.sections.audit import chapter_of, overview_of
from calibration.statistics.no_answer import Costs
from judges.case import Case
from judges.report.page import render
from judges.report.pictures import Bars, Dots, Line, Picture
from judges.report.sections import Chapter, Illustration, Page, Table
from support.html import outline
from support.stored import records_of, stored_pairs, write_records


def audited(folder: Path, gold: Sequence[object], scores: Sequence[object], threshold: float = 0.5) -> Audit:
    path = write_records(folder, records_of(gold, scores))
    return audit(stored_pairs(path, threshold=threshold))


def sample(n: int, *, beyond: float = 1.0, seed: int = 0) -> tuple[list[str], list[float]]:
    """Labels, and scores that know something of them."""
    generator = np.random.default_rng(seed)
    scores = generator.random(n)
    good = generator.random(n) < scores
    return ["pass" if each else "fail" for each in good.tolist()], (scores.round(3) * beyond).tolist()


def illustrations(chapter: Chapter) -> dict[str, Illustration]:
    found = [block for section in chapter.sections for block in section.blocks if isinstance(block, Illustration)]
    return {each.picture.title: each for each in found}


def drawn_in(found: Illustration) -> Picture:
    assert isinstance(found.picture, Picture)
    return found.picture


def bars(picture: Picture) -> list[Bars]:
    return [layer for panel in picture.panels for layer in panel.layers if isinstance(layer, Bars)]


def lines(picture: Picture) -> dict[str, Line]:
    return {layer.name: layer for panel in picture.panels for layer in panel.layers if isinstance(layer, Line)}


def column(table: Table, place: int) -> list[str]:
    return [row[place] for row in table.rows]


CHANCES, LABELS, CUTS = (
    "How often people pass what has this score",
    "Scores by what people say",
    "What another threshold would do",
)


def test_the_page_begins_with_the_decision_and_goes_on_as_the_text_does(tmp_path: Path) -> None:
    one = audited(tmp_path, *sample(120))
    chapter = chapter_of(one, 5)
    assert [each.title for each in chapter.sections] == [
        "Decision",
        "Agreement with people",
        "Beside what judges nothing",
        "Scores as chances",
        "Threshold",
        "Pass rate",
        "Cases they disagree on most",
    ]
    assert list(illustrations(chapter)) == [CHANCES, LABELS, CUTS]
    assert chapter.mark == one.decision.status == "PASS"
    assert "Cases they disagree on most" not in [each.title for each in chapter_of(one, 0).sections]
    [row] = overview_of([one]).rows
    assert row[:4] == ("x", "j", "PASS", "120")


def test_a_share_that_is_not_nothing_is_not_shown_as_nothing_nor_one_that_is_not_all_as_all(tmp_path: Path) -> None:
    gold = ["fail"] * 700 + ["pass"] * 790
    said = ["fail"] * 2 + ["pass"] * 698 + ["fail"] + ["pass"] * 789
    one = audit(stored_pairs(write_records(tmp_path, records_of(gold, said))))
    tables = [block for each in chapter_of(one, 0).sections for block in each.blocks if isinstance(block, Table)]
    cells = {row[0]: row[1] for table in tables for row in table.rows}
    assert cells["fails found (recall)"] == "<0.01 [<0.01, 0.01]"
    assert cells["passes found (recall)"] == ">0.99 [0.99, >0.99]"
    assert [row[3] for table in tables for row in table.rows if row[0] in ("the judge", "same for all")] == [
        "<0.01 [<0.01, 0.01]",
        "0.00 [0.00, 0.01]",  # really none
    ]
    assert overview_of([one]).rows[0][-1] == "<0.01 [<0.01, 0.01]"
    assert one.to_record()["views"][0]["fails_found"]["value"] == 2 / 700


def test_the_reliability_curve_has_the_table_s_bins_before_and_after(tmp_path: Path) -> None:
    one = audited(tmp_path, *sample(300))
    shown = illustrations(chapter_of(one, 0))[CHANCES]
    before, after = (layer for layer in drawn_in(shown).panels[0].layers if isinstance(layer, Dots))
    assert one.probabilities is not None
    assert one.probabilities.as_is is not None
    bins = one.probabilities.as_is.table.bins
    assert [(dot.at, dot.low, dot.high) for dot in before.dots] == [
        ((each.mean_score, each.rate.value), each.rate.ci_low, each.rate.ci_high) for each in bins
    ]
    assert (before.name, after.name) == ("as it is", "recalibrated, out of fold")
    assert sum(int(each) for each in column(shown.table, 1)) == 300
    assert sum(int(each) for each in column(shown.table, 3)) == 300
    assert [sum(bar.height for bar in each.bars) for each in bars(drawn_in(shown))] == [300, 300]
    assert "calibration error" in shown.picture.says


def test_the_distributions_count_every_case_once_under_its_label(tmp_path: Path) -> None:
    gold, scores = sample(500)
    shown = illustrations(chapter_of(audited(tmp_path, gold, scores), 0))[LABELS]
    heights = [[bar.height for bar in each.bars] for each in bars(drawn_in(shown))]
    edges = np.linspace(0, 1, 21)
    for wanted, found in zip(("pass", "fail"), heights, strict=True):
        own = [score + 1e-9 for score, label in zip(scores, gold, strict=True) if label == wanted]
        assert found == np.histogram(own, edges)[0].tolist()
    assert [mark.word for mark in drawn_in(shown).marks] == ["in use", "best"]
    assert drawn_in(shown).marks[0].at == 0.5


def test_the_threshold_curve_is_kappa_and_the_error_rates_at_every_cut(tmp_path: Path) -> None:
    gold, scores = sample(150)
    shown = illustrations(chapter_of(audited(tmp_path, gold, scores), 0))[CUTS]
    drawn = lines(drawn_in(shown))
    assert list(drawn) == ["kappa", "people's fails that pass", "people's passes that fail"]
    good = np.array([each == "pass" for each in gold])
    for place in range(1, len(drawn["kappa"].points), 29):
        cut = drawn["kappa"].points[place][0] if place % 2 else drawn["kappa"].points[place + 1][0]
        at = {name: dict(reversed(line.points))[cut] for name, line in drawn.items()}
        passed = np.array(scores) >= cut
        assert at["kappa"] == pytest.approx(float(cohen_kappa_score(good, passed)))
        assert at["people's fails that pass"] == pytest.approx(passed[~good].mean())
        assert at["people's passes that fail"] == pytest.approx((~passed)[good].mean())
    in_use = next(row for row in shown.table.rows if row[-1] == "in use")
    assert in_use[0] == "0.50"
    assert float(in_use[1]) == pytest.approx(float(cohen_kappa_score(good, np.array(scores) >= 0.5)), abs=0.006)


def test_scores_beyond_0_and_1_have_no_chances_and_their_own_scale(tmp_path: Path) -> None:
    gold, scores = sample(20, beyond=40.0)
    found = illustrations(chapter_of(audited(tmp_path, gold, scores, threshold=20), 0))
    assert [layer.name for layer in drawn_in(found[CHANCES]).panels[0].layers[1:]] == ["recalibrated, out of fold"]
    assert drawn_in(found[LABELS]).axis.high > max(scores)


def test_few_cases_or_one_label_only_still_make_a_page(tmp_path: Path) -> None:
    few = audited(tmp_path, ["pass", "fail", "pass"], [0.9, 0.1, 0.9])
    assert set(illustrations(chapter_of(few, 5))) == {CHANCES, LABELS, CUTS}
    same = audited(tmp_path, ["pass"] * 12, [0.5] * 12)
    found = illustrations(chapter_of(same, 5))
    assert CUTS not in found
    render(Page("t", "l", (chapter_of(few, 5), chapter_of(same, 5))))


def test_labels_other_than_pass_and_fail_need_no_picture(tmp_path: Path) -> None:
    path = write_records(tmp_path, records_of(["a", "b", "tie", "a"] * 5, ["a", "b", "a", "b"] * 5))
    chapter = chapter_of(audit(stored_pairs(path, scale="a,b,tie")), 5)
    assert not illustrations(chapter)
    assert "a found (recall)" in outline(render(Page("t", "l", (chapter,)))).cells


def test_a_page_of_a_hundred_thousand_cases_stays_under_a_megabyte(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    scores = generator.random(100_000)
    gold = np.where(generator.random(100_000) < scores, "pass", "fail")
    one = audited(tmp_path, gold.tolist(), scores.tolist())
    html = render(Page("t", "l", (chapter_of(one, 50),)))
    assert len(html.encode()) < 1_000_000
    assert "100,000 labelled cases" in html


# Queries without an answer


def retrieved(scores: Sequence[float | None], answerable: Sequence[bool]) -> Chapter:
    cases = [
        Case(f"q{place}", question="?", extra={"retrieved": {} if score is None else {"d": score}, "kind": str(yes)})
        for place, (score, yes) in enumerate(zip(scores, answerable, strict=True))
    ]
    return no_answer.chapter_of(study(queries_of(cases, by_field("kind", "False")), Costs()))


def test_the_curve_of_acceptance_is_that_of_the_sweep() -> None:
    chapter = retrieved([0.9, 0.8, 0.4, 0.6, 0.2, None], [True, True, True, False, False, False])
    assert chapter.title == "6 queries: 3 answerable, 3 unanswerable"
    first, second = illustrations(chapter).values()
    drawn = lines(drawn_in(first))
    accepted, rejected = (
        dict(reversed(drawn[name].points)) for name in ("answerable accepted", "unanswerable rejected")
    )
    assert accepted == {
        0.0: 1,
        0.2: 1,
        0.4: 1,
        0.6: pytest.approx(2 / 3),
        0.8: pytest.approx(2 / 3),
        0.9: pytest.approx(1 / 3),
    }
    assert rejected[0.2] == pytest.approx(1 / 3)
    assert rejected[0.8] == 1
    assert first.spoken
    assert [sum(bar.height for bar in each.bars) for each in bars(drawn_in(second))] == [3, 2]
    texts = [block for section in chapter.sections for block in section.blocks if isinstance(block, str)]
    assert "1 without results: rejected at any threshold" in texts


def test_where_nothing_was_retrieved_there_is_nothing_to_draw() -> None:
    queries = [Query("a", "?", None, answerable=True), Query("b", "?", None, answerable=False)]
    chapter = no_answer.chapter_of(study(queries, Costs()))
    assert not illustrations(chapter)
    assert outline(render(Page("t", "l", (chapter,)))).count("table") == 2
