"""A report as one HTML file that needs nothing else: no script, no network, and no file beside it.

Whatever it shows is text: the template escapes it, and a content security policy forbids everything but the page's own
style sheet, so that a text that broke out by a mistake of ours could neither run nor load anything into the page.
"""

import os
from base64 import b64encode
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from judges.errors import InputError
from judges.printable import printable
from judges.report.sections import Block, Decided, Illustration, Page, Table

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["check_page", "render", "write_page"]

_HERE = Path(__file__).parent
_MARK = b'<!doctype html>\n<meta name="generator" content="judges">\n'
"""What such a page begins with."""
_LONGEST = 1_200
"""Characters of a text."""


def render(page: Page) -> str:
    """The page as HTML. The same report gives the same text."""
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    shown = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            style=style,
            style_hash=b64encode(sha256(style.encode()).digest()).decode(),
            version=version("judges-eval"),
        )
    )
    return _MARK.decode() + shown


def check_page(path: Path) -> None:
    """Look whether a page may be written there, before the work that it shows.

    Raises:
        InputError: Something else than such a page is there, or no folder to put it in.
    """
    if not path.parent.is_dir():
        raise InputError(f"--html {path}: there is no folder {path.parent}; make it, or choose another file")
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MARK))
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"--html {path}: {error.strerror}; choose another file") from error
    if begins != _MARK:
        raise InputError(f"--html {path}: something else is there already; choose another file")


def write_page(path: Path, page: Page) -> None:
    """Write a page, in place of one that is there.

    Raises:
        InputError: Something else is there, or it can't be written.
    """
    check_page(path)
    new = path.with_name(path.name + ".new")
    try:
        with new.open("w", encoding="utf-8", newline="\n") as file:
            file.write(render(page))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise InputError(f"--html {path}: {error.strerror}; choose another file") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from judges.report.drawing import svg

    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    made.filters["svg"] = svg
    made.filters["kind"] = _kind
    return made


def _harmless(value: object) -> object:
    """What the template prints: texts without characters that turn or hide what follows, and not too long."""
    return printable(value, _LONGEST) if type(value) is str else value


def _kind(block: Block) -> str:
    match block:
        case str():
            return "text"
        case Table():
            return "table"
        case Decided():
            return "decided"
        case Illustration():
            return "illustration"
