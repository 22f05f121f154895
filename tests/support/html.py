"""What an HTML page consists of, by the standard library's parser."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Outline", "outline"]

_HEADINGS = ("h1", "h2", "h3", "figcaption")


@dataclass
class Outline:
    """A page in order of its elements."""

    elements: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])
    """Names, each with those of its attributes."""
    headings: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    cells: list[str] = field(default_factory=list[str])
    spoken: list[str] = field(default_factory=list[str])
    """What is said of pictures to those who can't see them."""
    texts: list[str] = field(default_factory=list[str])

    def count(self, name: str) -> int:
        """Elements of this name."""
        return sum(each == name for each, _ in self.elements)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = Outline()
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.elements.append((tag, tuple(name for name, _ in attrs)))
        self._open = tag
        if tag in _HEADINGS:
            self.found.headings.append((tag, ""))
        elif tag in ("td", "th"):
            self.found.cells.append("")
        elif tag == "svg":
            self.found.spoken.append(dict(attrs).get("aria-label") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        self.found.texts.append(data)
        if self._open in _HEADINGS:
            name, text = self.found.headings[-1]
            self.found.headings[-1] = name, text + data
        elif self._open in ("td", "th"):
            self.found.cells[-1] += data


def outline(html: str) -> Outline:
    """Take a page apart."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.found
