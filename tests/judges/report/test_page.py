import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from judges import InputError
from judges.report.page import check_page, render, write_page
from judges.report.pictures import Axis, Bar, Bars, Panel, Picture
from judges.report.sections import Chapter, Column, Decided, Illustration, Page, Section, Table
from support.hostile_texts import HOSTILE
from support.html import outline

SCRIPTS = {
    "script": "<script>document.title = 'ran'</script>",
    "image": "<img src=x onerror=\"document.title = 'ran'\">",
    "end of a cell": "</td></tr></table></div><h1>PASS</h1>",
    "end of an attribute": "\"><script>document.title = 'ran'</script><p class=\"",
    "end of an attribute in single quotes": "' onmouseover='document.title = 1",
    "end of the style": "</style></title><script>document.title = 'ran'</script>",
    "end of a picture": "</title></text></svg><script>document.title = 'ran'</script>",
    "link": '<a href="javascript:alert(1)">see</a>',
    "character references": "&lt;script&gt;&#60;script&#62;",
    "expression": "{{ 7 * 7 }}{% for x in y %}",
}


def page(text: str) -> Page:
    bars = Bars(text, "first", (Bar(0, 1, 1, text),))
    picture = Picture(text, text, Axis(text, 0, 1), (Panel(Axis.counting(text, [1]), (bars,), 50),))
    table = Table.of([Column(text, "right"), text, Column(text, free=True)], [[text, text, text]])
    blocks = (Decided("FAIL", text), text, table, Illustration(picture, table))
    chapter = Chapter(text, text, (Section(text, blocks),), "FAIL")
    return Page(text, text, (chapter, replace(chapter, lead="")), table)


def test_the_page_says_what_the_report_says_in_its_order() -> None:
    found = outline(render(page("judge")))
    assert [name for name, _ in found.headings] == ["h1", *["h2", "h3", "figcaption"] * 2]
    assert {text for _, text in found.headings} == {"judge"}
    assert set(found.cells) == {"judge"}
    assert len(found.cells) == 6 * 5
    assert found.spoken == ["judge. judge"] * 2
    assert found.count("a") == 2


@pytest.mark.parametrize("name", [*SCRIPTS, *HOSTILE])
def test_no_text_becomes_more_than_a_text(name: str) -> None:
    text = {**SCRIPTS, **HOSTILE}[name]
    plain, found = outline(render(page("judge"))), outline(render(page(text)))
    assert found.elements == plain.elements
    assert len(set(found.cells)) == 1
    shown = found.cells[0]
    assert not set(shown) & set("\u202e\u2066\u2069\ufeff\x00\x1b\n")
    if len(text) < 1000:
        assert re.findall(r"[\w.]+", shown)[:1] == re.findall(r"[\w.]+", " ".join(text.split()))[:1] or "\\" in shown


def test_a_text_of_any_length_leaves_the_page_small() -> None:
    assert len(render(page("word " * 1_000_000))) < 100_000


def test_the_style_is_the_only_thing_that_the_policy_allows() -> None:
    html = render(page("judge"))
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    wanted = b64encode(sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{wanted}'; base-uri 'none'; form-action 'none'"
    assert html.index("Content-Security-Policy") < html.index("<style>")
    found = outline(html)
    assert not {"script", "link", "img", "iframe", "form", "object"} & {name for name, _ in found.elements}
    assert not {"style", "src", "onclick"} & {each for _, attributes in found.elements for each in attributes}
    assert "http" not in html.replace("http-equiv", "").replace('href="#', "")
    assert "url(" not in style
    assert "@import" not in style


def test_the_same_report_gives_the_same_page() -> None:
    assert render(page("judge")) == render(page("judge"))


def test_every_table_names_its_columns_and_rows() -> None:
    html = render(page("judge"))
    assert html.count('<th scope="col"') == 3 * 5
    assert html.count('<th scope="row"') == 5
    assert '<html lang="en">' in html


def test_a_page_replaces_such_a_page_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, page("one"))
    write_page(path, page("two"))
    assert path.read_text(encoding="utf-8") == render(page("two"))
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    other = tmp_path / "notes.html"
    for content in (b"", b"<!doctype html>\n<title>mine</title>", b"\xff\xfe"):
        other.write_bytes(content)
        with pytest.raises(InputError, match=r"notes\.html: something else is there already; choose another file"):
            write_page(other, page("one"))
        assert other.read_bytes() == content


def test_where_no_page_can_be_is_said_before_any_work(tmp_path: Path) -> None:
    check_page(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="there is no folder"):
        check_page(tmp_path / "none" / "page.html")
    with pytest.raises(InputError, match="Is a directory"):
        check_page(tmp_path)
