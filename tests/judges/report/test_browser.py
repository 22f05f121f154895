"""In a real browser: no text of a report runs or loads anything, and not even a mistake of ours would let it."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from judges.report.page import render
from judges.report.sections import Chapter, Decided, Page, Section, Table
from support.browser import dom_of
from support.hostile_texts import HOSTILE
from support.html import outline


@contextmanager
def listening() -> Generator[tuple[str, list[str]]]:
    """A server's address, and the paths it has been asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def breaking_out(address: str) -> str:
    return (
        "<script>document.title = 'ran'</script>"
        "<img src=x onerror=\"document.title = 'ran'\">"
        f'<img src="{address}/image"><script src="{address}/script"></script>'
        f'<link rel="stylesheet" href="{address}/style"><iframe src="{address}/frame"></iframe>'
        "<style>h1 { display: none }</style>"
    )


def test_hostile_texts_are_shown_and_do_nothing(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with listening() as (address, asked):
        texts = [breaking_out(address), *HOSTILE.values()]
        rows = [[each, each] for each in texts]
        chapter = Chapter(
            texts[0], texts[0], (Section(texts[0], (Decided("PASS", texts[0]), Table.of(["id", "why"], rows))),)
        )
        path.write_text(render(Page("A judge", texts[0], (chapter,))), encoding="utf-8", newline="\n")
        dom = dom_of(path)
    assert asked == []
    found = outline(dom)
    assert "<title>A judge</title>" in dom
    assert not {"script", "img", "iframe", "link"} & {name for name, _ in found.elements}
    assert found.count("tr") == 1 + len(texts)
    assert found.count("style") == 1
    assert found.cells[2] == texts[0]


def test_the_policy_holds_even_where_a_text_has_broken_out(tmp_path: Path) -> None:
    held, free = tmp_path / "held.html", tmp_path / "free.html"
    with listening() as (address, asked):
        html = render(Page("A judge", "lead", ())).replace("<main>", "<main>" + breaking_out(address))
        held.write_text(html, encoding="utf-8")
        assert "<title>A judge</title>" in dom_of(held)
        assert asked == []
        # Without the policy the same page does all that: what is shown above is the policy's doing.
        free.write_text(html.replace("Content-Security-Policy", "none"), encoding="utf-8")
        assert "<title>ran</title>" in dom_of(free)
        assert {"/image", "/script", "/style", "/frame"} <= set(asked)
