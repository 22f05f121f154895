"""Pages with pictures, written by the command as a user would have them."""

import json
from pathlib import Path

import pytest

from support.browser import dom_of
from support.command import EXAMPLE, judges
from support.html import outline

LABELS = EXAMPLE / "labels.jsonl"
ASKED = ("--unanswerable", "meta.question_type=unanswerable")
HOSTILE = "</td><script>document.title='ran'</script>\u202egnorw\x1b[2J"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "faithfulness", "-c", "correctness", "-j", "overlap", "--out", "one",
        folder=folder,
    )  # fmt: skip
    cases = [json.loads(line) for line in (EXAMPLE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    for case in cases:
        case["judged"] = {"short": len(case["answer"]) < 60}
    (folder / "judged.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cases), encoding="utf-8")
    return folder


def test_the_page_has_the_text_s_words_in_its_order_and_three_pictures(home: Path) -> None:
    asked = ("calibrate", "one", "--gold", LABELS, "--label", "gold.correctness")
    alone = judges(*asked, folder=home)
    done = judges(*asked, "--html", "page.html", folder=home)
    assert done.stdout == alone.stdout
    assert done.stderr == "page: page.html\n"
    found = outline((home / "page.html").read_text(encoding="utf-8"))
    shown = " ".join(" ".join(found.texts).split())
    lines = [line.strip().removeprefix("UNDECIDED: ") for line in alone.stdout.splitlines()]
    prose = [line for line in lines if line and "  " not in line]
    place = 0
    for line in prose:
        place = shown.index(line, place)
    assert len(prose) > 10
    assert [text for name, text in found.headings if name == "figcaption"] == [
        "How often people pass what has this score",
        "Scores by what people say",
        "What another threshold would do",
    ]
    assert all("The table has the numbers." in each for each in found.spoken)


def test_several_criteria_have_an_overview_and_a_chapter_each(home: Path) -> None:
    judges("calibrate", "one", "--gold", LABELS, "--html", "all.html", "--json", folder=home)
    found = outline((home / "all.html").read_text(encoding="utf-8"))
    assert [text for name, text in found.headings if name == "h2"] == [
        "faithfulness by overlap, against gold.faithfulness",
        "correctness by overlap, against gold.correctness (correct is a pass)",
    ]
    assert found.cells[:3] == ["criterion", "judge", "decision"]
    assert found.count("a") == 2


def test_json_stays_the_one_document_of_standard_output(home: Path) -> None:
    done = judges("calibrate", "one", "--gold", LABELS, "--html", "json.html", "--json", folder=home)
    assert len(json.loads(done.stdout)["audits"]) == 2
    done = judges("threshold", EXAMPLE / "cases.jsonl", *ASKED, "--html", "cut.html", "--json", folder=home)
    assert json.loads(done.stdout)["queries"] == 44


def test_threshold_draws_what_is_accepted_and_rejected(home: Path) -> None:
    asked = ("threshold", EXAMPLE / "cases.jsonl", *ASKED)
    done = judges(*asked, "--html", "threshold.html", folder=home)
    assert done.stdout == judges(*asked, folder=home).stdout
    found = outline((home / "threshold.html").read_text(encoding="utf-8"))
    assert [text for name, text in found.headings if name == "figcaption"] == [
        "What a threshold accepts and rejects",
        "Scores of answerable and unanswerable queries",
    ]
    assert "suggested 0.55 [0.55, 0.63]" in found.spoken[0]


@pytest.mark.parametrize(
    "asked",
    [
        ("calibrate", "one", "--gold", LABELS),
        ("threshold", EXAMPLE / "cases.jsonl", *ASKED),
        ("audit", "one", "--gold", LABELS),
        ("compare", "judged.jsonl", "one", "--judge-a", "stored:judged.short", "-c", "correctness"),
    ],
    ids=["calibrate", "threshold", "audit", "compare"],
)
def test_nothing_but_such_a_page_is_written_over(home: Path, asked: tuple[str | Path, ...]) -> None:
    (home / "notes.html").write_text("mine", encoding="utf-8")
    done = judges(*asked, "--html", "notes.html", folder=home, code=2)
    assert done.stderr == "judges: --html notes.html: something else is there already; choose another file\n"
    assert done.stdout == ""
    assert (home / "notes.html").read_text(encoding="utf-8") == "mine"
    judges(*asked, "--html", "twice.html", folder=home)
    judges(*asked, "--html", "twice.html", folder=home)
    done = judges(*asked, "--html", "none/page.html", folder=home, code=2)
    assert "there is no folder none" in done.stderr


def test_an_audit_draws_its_effects_and_says_what_the_text_says(home: Path) -> None:
    asked = ("audit", "one", "-c", "correctness", "--gold", LABELS, "--system", "meta.system", "--own", "a")
    alone = judges(*asked, folder=home)
    done = judges(*asked, "--html", "audit.html", folder=home)
    assert (done.stdout, done.stderr) == (alone.stdout, "page: audit.html\n")
    found = outline((home / "audit.html").read_text(encoding="utf-8"))
    assert [text for name, text in found.headings if name in ("h2", "figcaption")] == [
        "audit of overlap on correctness",
        "Effects, with their intervals",
    ]
    assert found.spoken[0].startswith("Effects, with their intervals. severity: -0.16 [-0.30, -0.01]; length: ")
    shown = " ".join(" ".join(found.texts).split())
    for line in (
        "these cases show no bias: `at most` says how large it may still be",
        "self-preference",
        "at most 0.37",
    ):
        assert line in shown


def test_a_comparison_draws_its_differences(home: Path) -> None:
    cases = [json.loads(line) for line in (EXAMPLE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    for case in cases:
        case["judged"] = {"short": len(case["answer"]) < 60}
    (home / "judged.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cases), encoding="utf-8")
    asked = (
        "compare",
        "judged.jsonl",
        "one",
        "--judge-a",
        "stored:judged.short",
        "-c",
        "correctness",
        "--gold",
        LABELS,
    )
    alone = judges(*asked, folder=home)
    done = judges(*asked, "--html", "compared.html", folder=home)
    assert (done.stdout, done.stderr) == (alone.stdout, "page: compared.html\n")
    found = outline((home / "compared.html").read_text(encoding="utf-8"))
    assert [text for name, text in found.headings if name == "figcaption"] == ["A less B on correctness"]
    assert "Cohen's kappa: " in found.spoken[0]
    assert found.count("circle") + found.count("rect") >= 4
    shown = " ".join(" ".join(found.texts).split())
    assert next(line for line in alone.stdout.splitlines() if line.startswith("correctness: ")) in shown


def test_there_is_no_page_of_anchors(home: Path) -> None:
    done = judges("calibrate", "one", "--anchors", LABELS, "--html", "no.html", folder=home, code=2)
    assert "--html" in done.stderr
    assert not (home / "no.html").exists()


def test_hostile_ids_labels_judges_and_fields_are_texts_in_a_browser(tmp_path: Path) -> None:
    records = [
        {
            "id": f"{place}{HOSTILE}",
            "answer": HOSTILE,
            "human": {"x": {"anna" + HOSTILE: f"a{HOSTILE}", "ben": f"{'ab'[place % 2]}{HOSTILE}"}},
            "judges": {f"j{HOSTILE}": {"x": f"{'ab'[place % 3 > 1]}{HOSTILE}"}},
            "meta": {"kind": f"{place % 2}{HOSTILE}"},
        }
        for place in range(12)
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    judges(
        "calibrate", path, "-j", f"stored:judges.j{HOSTILE}.x", "--label", "human.x",
        "--positive", f"a{HOSTILE}", "--by", "meta.kind", "--html", "page.html",
        folder=tmp_path,
    )  # fmt: skip
    dom = dom_of(tmp_path / "page.html")
    found = outline(dom)
    assert "<title>How far to trust a judge</title>" in dom
    assert "script" not in {name for name, _ in found.elements}
    assert not set(dom) & set("\u202e\x1b")
    assert any("<script>document.title='ran'</script>\\u202egnorw\\x1b[2J" in each for each in found.cells)


def test_hostile_texts_stay_texts_on_the_pages_of_comparisons_and_audits(tmp_path: Path) -> None:
    name = f"j{HOSTILE}"
    records = [
        {
            "id": f"{place}{HOSTILE}",
            "answer": f"{HOSTILE} {place}",
            "gold": {"x": ["pass", "fail"][place % 2]},
            "judges": {name: {"x": ["pass", "fail"][place % 3 > 0]}, "k": {"x": ["pass", "fail"][place % 5 > 1]}},
            "meta": {"kind": f"{place % 2}{HOSTILE}", "system": f"s{place % 2}{HOSTILE}"},
        }
        for place in range(12)
    ]
    path = tmp_path / f"cases{HOSTILE.replace('/', '')[:20]}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    judges(
        "compare", path, path, "--judge-a", f"stored:judges.{name}.x", "--judge-b", "stored:judges.k.x",
        "--gold", path, "--by", "meta.kind", "--html", "compare.html", folder=tmp_path,
    )  # fmt: skip
    rubric = 'name = "x"\njudged = "answer"\nagainst = "question"\n'
    (tmp_path / "x.toml").write_text(rubric, encoding="utf-8")
    asked = [record | {"question": HOSTILE} for record in records]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked), encoding="utf-8")
    judges("run", "asked.jsonl", "-c", "x.toml", "-j", "overlap", "--out", "run", folder=tmp_path)
    judges(
        "audit", "run", "--gold", path, "--system", "meta.system", "--own", f"s0{HOSTILE}", "--html", "audit.html",
        folder=tmp_path,
    )  # fmt: skip
    for page in ("compare.html", "audit.html"):
        dom = dom_of(tmp_path / page)
        found = outline(dom)
        assert "script" not in {each for each, _ in found.elements}
        assert not set(dom) & set("\u202e\x1b")
        assert "<title>ran" not in dom
        assert any("<script>document.title='ran'</script>" in each for each in found.texts)
