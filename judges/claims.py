"""Splits an answer into claims: one checkable statement each.

`SentenceSplitter` reads the answer as Markdown, takes its blocks apart, and cuts running text into sentences:

    answer ── markdown-it ──> blocks: prose, headings, table rows, code
    prose ─── sentencex ────> sentences: claims, or skipped (fillers, questions, refusals, citations)

All steps work on a copy of the answer with exactly as many characters, in which markup may be blanked out: whatever is
found there has the same place in the answer.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from judges.phrases import EMOJI, bare, is_direction, is_filler, is_refusal, is_request, is_yes_or_no

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Claim", "ClaimSplitter", "SentenceSplitter", "Skipped", "Split", "answering_claims", "refusal_of"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement of an answer."""

    text: str
    """What is checked: the stretch of the answer, free of markup around it. Never empty."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A stretch of the answer that claims nothing."""

    start: int
    end: int
    reason: str
    """`heading`, `filler`, ..."""


@dataclass(frozen=True, slots=True)
class Split:
    """An answer taken apart. Claims and skipped stretches together are the answer, nothing lost or invented."""

    claims: tuple[Claim, ...]
    skipped: tuple[Skipped, ...]


class ClaimSplitter(Protocol):
    """Anything that takes an answer apart."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the claims may change."""
        ...

    def split(self, text: str, lang: str | None = None) -> Split:
        """The claims of `text`, in order."""
        ...


_RULES = 2
"""Version of the rules below. Raise it with every change that may change a claim."""


@dataclass(frozen=True, slots=True)
class SentenceSplitter:
    """One claim for each sentence, list item, table row and block of code.

    Claims and skipped stretches don't overlap, and every character that isn't white space lies in one of them.
    `claim.text` is always `text[claim.start : claim.end]`: Markdown inside a claim stays (`**`, links), Markdown around
    it doesn't. Skipped, by reason:

        heading    a heading, a line all in bold with something below it, the header row of a table
        filler     "Sure, here is a summary.", "I hope this helps!", and lead-ins: sentences that end in a colon
        question   asks, and so states nothing
        refusal    "I don't know", "The provided documents don't say": about the assistant and its sources, not about
                   the world. No passage can support it, so as a claim it would count as made up. An answer that only
                   refuses has no claims, and the judge abstains. "I don't know, but it may be 5 GB" is a claim.
        request    "Please contact our support team.": asks the reader for something, and states nothing. Only this one,
                   and only with a "please": "Contact support to have it reset" tells what to do, as passages do
        citation   nothing but references, not next to a sentence; next to one they belong to it: "It is 5 GB. [1]"
        fragment   no letter and no digit: emoji, dots
        markup     bullets, numbers of list items, bars of tables, fences, HTML tags, marks of emphasis

    A bare "Yes." belongs to the sentence after it. Fillers, refusals and requests are known in English, Catalan, French
    and Romanian, and but for refusals in Spanish, whatever the language of the case. What the rules don't know is a
    claim. A Thai, Lao or Tibetan paragraph may be one claim: its sentences bear no mark.
    """

    lang: str = "en"
    """Language of answers whose case names none, as a BCP 47 tag."""

    @property
    def fingerprint(self) -> str:
        """The versions of the rules and of the libraries they rest on, and the default language."""
        return (
            f"sentences={_RULES} sentencex={_version('sentencex')} "
            f"markdown-it-py={_version('markdown-it-py')} lang={self.lang}"
        )

    def split(self, text: str, lang: str | None = None) -> Split:
        """The claims of `text`, in order. Never raises for the sake of `text` or `lang`.

        Args:
            text: An answer, plain or in Markdown.
            lang: Its language, as a BCP 47 tag. Anything else counts as absent.
        """
        code = _language(lang) or _language(self.lang) or "en"
        plain = _plain(text)
        spans = [span for block in _blocks(plain) for span in _spans(block, code)]
        return _assemble(text, spans)


def refusal_of(answer: str, lang: str | None, declared: Sequence[str]) -> str | None:
    """What an answer says in place of an answer; None where it answers.

    Args:
        answer: The answer.
        lang: Its language, as a BCP 47 tag.
        declared: What the application says when it declines, as `bare` makes it.

    Returns:
        The declared refusal that it holds; else all of it, where it claims nothing or only sends the reader elsewhere:
        "I can't help with that. Please contact our support team."
    """
    said = bare(answer)
    found = next((refusal for refusal in declared if refusal in said), None)
    if found is not None:
        return found
    return None if answering_claims(SentenceSplitter().split(answer, lang)) else answer


def answering_claims(split: Split) -> tuple[Claim, ...]:
    """The claims of an answer but for those that only send the reader to people who help: they answer nothing."""
    return tuple(claim for claim in split.claims if not is_direction(bare(claim.text)))


class _Span(NamedTuple):
    """A stretch of the answer: a claim, unless there is a reason to skip it."""

    start: int
    end: int
    reason: str | None


_Kind: TypeAlias = Literal["prose", "whole", "heading"]


class _Block(NamedTuple):
    """A piece of the answer that no sentence crosses. `text` is as long as the stretch it stands for."""

    kind: _Kind
    start: int
    text: str


def _assemble(text: str, spans: Sequence[_Span]) -> Split:
    """The spans as claims and skipped stretches; what lies between them is markup."""
    claims: list[Claim] = []
    skipped: list[Skipped] = []
    done = 0
    for start, end, reason in (*spans, _Span(len(text), len(text), "end")):
        gap = text[done:start]
        if markup := gap.strip():
            left = done + len(gap) - len(gap.lstrip())
            skipped.append(Skipped(left, left + len(markup), "markup"))
        if reason is None:
            claims.append(Claim(text[start:end], start, end))
        elif end > start:
            skipped.append(Skipped(start, end, reason))
        done = end
    return Split(tuple(claims), tuple(skipped))


@cache
def _version(package: str) -> str:
    return version(package)


_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_]|\s*\Z)")
_NO_LANGUAGE = frozenset({"und", "mul", "mis", "zxx"})


def _language(tag: str | None) -> str | None:
    """The language of a BCP 47 tag in lower case, without region and script; None for what isn't one."""
    match = _TAG.match(tag or "")
    code = match[1].lower() if match else None
    return None if code in _NO_LANGUAGE else code


# --- The copy with as many characters ------------------------------------------------------------------------------

_ODD = re.compile(r"\r\n|[\0\r\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff]")
# Marks that people use as bullets and Markdown doesn't.
_FOREIGN_BULLET = re.compile(r"^([ \t]*)[•●◦▪‣∙·–—](?=[ \t])", re.MULTILINE)
_WORD = re.compile(r"[^\W_]")


def _plain(text: str) -> str:
    """`text` with one kind of line end, one kind of space, one kind of bullet, and nothing that isn't UTF-8."""
    return _FOREIGN_BULLET.sub(r"\1-", _ODD.sub(_even, text))


def _even(match: re.Match[str]) -> str:
    odd = match[0]
    if odd == "\r\n":
        return "\t\n"  # a space might make two spaces, which are a line break in Markdown
    if odd in "\r\u2028\u2029":
        return "\n"
    return " " if odd.isspace() else "\ufffd"


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


# --- Blocks ---------------------------------------------------------------------------------------------------------

_BLOCK_START = re.compile(r"\s*(?:[-#>*+_~`|=]|\d{1,9}[.)])")
_CONTAINERS = re.compile(r"(?:\s*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)))*\s*")
_ITEM_NUMBER = re.compile(r"\d{1,9}[.)]")
_LARGEST_NUMBER = 999
"""A list that starts above it is a list of years, and they belong to the claims."""
_ONE_ITEM = 7
"""Tokens of an answer that is a list of one item of one paragraph."""


def _blocks(plain: str, *, fenced: bool = False) -> Iterator[_Block]:
    """The blocks of a text, in order. `fenced`: it is what a block of code in Markdown held."""
    if "\n" not in plain.strip() and not _BLOCK_START.match(plain):
        yield _Block("prose", 0, plain)  # what the parser would say, without waiting for it
        return
    lines = plain.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    tokens = _parser().parse(plain)
    first_numbers: list[int] = []  # of the lists we are in
    seen = 0  # lines that are done
    for i, token in enumerate(tokens):
        if token.type.endswith("_list_open"):
            first_numbers.append(int(token.attrs.get("start", 1)))
        elif token.type.endswith("_list_close"):
            first_numbers.pop()
        if token.map is None or not _holds_text(tokens, i):
            continue
        first, end = token.map
        yield from _missed(lines, starts, seen, first)
        seen = max(seen, end)
        line, start = lines[first], starts[first]
        match token.type:
            case "fence":
                code = _region(lines, first + 1, token.content.removesuffix("\n").split("\n"))
                if token.info.strip().lower() in {"markdown", "md"} and not fenced:
                    for block in _blocks(code, fenced=True):
                        yield block._replace(start=starts[first + 1] + block.start)
                else:
                    yield _Block("whole", starts[first + 1], code)
            case "tr_open":
                at = _contents(line)
                at += len(line[at:]) - len(line[at:].lstrip(" \t|"))
                header = tokens[i - 1].type == "thead_open"
                yield _Block("heading" if header else "whole", start + at, line[at:].rstrip(" \t|"))
            case "list_item_open":
                at = max(line.find(token.info + token.markup), 0)
                yield _Block("prose", start + at, line[at:])
            case _:
                yield _paragraph(tokens, i, lines, start, first_numbers[-1] if first_numbers else 1)
    yield from _missed(lines, starts, seen, len(lines))


def _holds_text(tokens: "Sequence[Token]", i: int) -> bool:
    """Whether the token is one that `_blocks` makes a block of."""
    match tokens[i].type:
        case "fence" | "tr_open":
            return True
        case "inline":
            return tokens[i - 1].type in {"paragraph_open", "heading_open"}
        case "list_item_open":  # "1986." is an answer, not a list with nothing in it
            around = (tokens[i - 1].type, tokens[i + 1].type, tokens[i + 2].type)
            return around == ("ordered_list_open", "list_item_close", "ordered_list_close")
        case _:
            return False


def _paragraph(tokens: "Sequence[Token]", i: int, lines: Sequence[str], start: int, first_number: int) -> _Block:
    """The block of a paragraph or heading."""
    token, opening, item = tokens[i], tokens[i - 1], tokens[max(i - 2, 0)]
    first = token.map[0] if token.map else 0
    line = lines[first]
    if opening.markup.startswith("#"):
        at = _contents(line)
        return _Block("heading", start + at, line[at:])
    text = _region(lines, first, token.content.split("\n"))
    # "A sentence.\n---" is a paragraph and a rule to those who write it, and a heading to Markdown.
    titled = opening.type == "heading_open" and "\n" not in text and not _ENDED.search(text)
    heads = i + 2 < len(tokens) and tokens[i + 2].nesting >= 0  # something follows in the same container
    if heads and (titled or _BOLD_LINE.fullmatch(text)):
        return _Block("heading", start, text)
    # In "1986. A great year." and "3. Oktober 1990" the number is no number of an item.
    if item.type == "list_item_open" and item.info and (first_number > _LARGEST_NUMBER or len(tokens) == _ONE_ITEM):
        at = max(line.find(item.info + item.markup), 0)
        text = " " * at + line[at:] + text[len(line) :]
    return _Block("prose", start, text)


def _contents(line: str) -> int:
    """Where a line goes on after quote marks, bullets and numbers of items."""
    match = _CONTAINERS.match(line)
    return match.end() if match else 0


def _region(lines: Sequence[str], first: int, contents: Sequence[str]) -> str:
    """Lines from `first` on, with all that stands before their contents blanked out."""
    region: list[str] = []
    for line, content in zip(lines[first : first + len(contents)], contents, strict=False):
        body = content.strip()
        at = max(len(line.rstrip()) - len(body), 0)
        if not line.startswith(body, at):
            at = _contents(line)
        region.append(" " * at + line[at:])
    return "\n".join(region)


def _missed(lines: Sequence[str], starts: Sequence[int], first: int, end: int) -> Iterator[_Block]:
    """Lines with words that are in no block: those nested too deep for the parser."""
    for line, start in zip(lines[first:end], starts[first:end], strict=True):
        at = _contents(line)
        if _WORD.search(line, at) and not _ITEM_NUMBER.fullmatch(line[at:].strip()):
            yield _Block("prose", start + at, line[at:])


@cache
def _parser() -> "MarkdownIt":
    """A parser of CommonMark's blocks and of tables.

    Without indented code (in answers that is a list indented too far), without link definitions (they would vanish),
    and without HTML blocks (Markdown in them would not be seen; tags are blanked out later).
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table").disable(["code", "html_block", "reference"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


# --- Stretches of prose ---------------------------------------------------------------------------------------------

_CLOSERS = r"\"'”’»」』】）)\]}*_~"
_ENDED = re.compile(rf"[.!?。！？।॥۔؟។։။።][{_CLOSERS}\s]*+\Z")
_BOLD_LINE = re.compile(
    r"^[ \t]*(?:\*\*(?=\S)(?:[^*\n]|\*(?!\*)){1,100}(?<![\s.!?。！？।])\*\*|"
    r"__(?=\S)[^_\n]{1,100}(?<![\s.!?。！？।])__)[ \t]*+[:：]?[ \t]*+$",
    re.MULTILINE,
)
_BLOCK_TAGS = (
    "address|article|aside|blockquote|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|form|h[1-6]|"
    "header|hr|li|main|nav|ol|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)
_INLINE_TAGS = "a|abbr|b|big|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|tt|u|var"
_HTML = re.compile(rf"</?(?:(?P<block>{_BLOCK_TAGS})|{_INLINE_TAGS})(?:\s[^<>]*)?/?>|<!--[^<>]*-->", re.IGNORECASE)
_HARD_BREAK = re.compile(r"(?: {2}|\\)\t?\n")  # the tab: see `_even`
# Items of lists that Markdown doesn't know: bullets with no space, "a)", "1、", "①", "१.".
_ITEM = re.compile(
    r"^[ \t]*(?:(?P<bullet>[•●◦▪‣∙■□➢➤])|\(?[A-Za-z0-9]{1,2}\)[ \t]|[0-9]{1,3}[、．]|[①-⑳]|"
    r"[一二三四五六七八九十]{1,3}、|[（(][0-9一二三四五六七八九十]{1,3}[）)]|[٠-٩۰-۹०-९০-৯๐-๙០-៩]{1,3}[.)-][ \t])",
    re.MULTILINE,
)
_COLON_LINE = re.compile(r"^.{1,200}[:：][ \t]*+$", re.MULTILINE)


def _spans(block: _Block, code: str) -> Iterator[_Span]:
    """What a block says, in order."""
    if block.kind != "prose":
        yield from _span(block.start, block.text, "heading" if block.kind == "heading" else None)
        return
    for left, right, heading in _stretches(block.text):
        start, text = block.start + left, block.text[left:right]
        if heading:
            yield from _span(start, text, "heading")
            continue
        text = _without_markup(text)
        for begin, end in _sentences(text, code):
            yield from _judged(start + begin, text[begin:end])


def _span(start: int, text: str, reason: str | None) -> Iterator[_Span]:
    """All of `text` as one span, if it has a word."""
    body = text.strip()
    if _WORD.search(body):
        start += len(text) - len(text.lstrip())
        yield _Span(start, start + len(body), reason)


def _stretches(text: str) -> Iterator[tuple[int, int, bool]]:
    """The text cut where no sentence goes on: at hard breaks, tags of blocks, items, headings in bold.

    Any other line end is a space, for the text may be wrapped. The last value says whether a stretch is a heading.
    """
    cuts: set[int] = set()
    headings: set[int] = set()
    if "<" in text:
        cuts.update(match.start() for match in _HTML.finditer(text) if match["block"])
    if "\n" in text:
        last = len(text.rstrip())
        cuts.update(match.end() for match in _HARD_BREAK.finditer(text))
        cuts.update(match.start() for match in _ITEM.finditer(text))
        cuts.update(match.end() for match in _COLON_LINE.finditer(text) if is_filler(_bare(match[0])))
        for match in _BOLD_LINE.finditer(text):
            cuts.update(match.span())
            if match.end() < last:
                headings.add(match.start())
    left = 0
    for cut in (*sorted(cuts), len(text)):
        if cut > left:
            yield left, cut, left in headings
            left = cut


def _without_markup(text: str) -> str:
    """`text` with bullets, tags and line ends blanked out."""
    item = _ITEM.match(text)
    if item and item["bullet"]:
        text = " " * item.end() + text[item.end() :]
    if "<" in text:
        text = _HTML.sub(_blank, text)
    if "\n" in text:
        text = _HARD_BREAK.sub(_blank, text).replace("\n", " ")
    return text


# --- Sentences ------------------------------------------------------------------------------------------------------

_EMPHASIS = re.compile(r"\*+|(?<![^\W_])_+|_+(?![^\W_])|~~+")
_CITE = (
    r"(?:\[(?:\^?\d[\d,;–\- ]{0,40}|[A-Za-z]{0,20}[ _#:.-]?\d{1,6}|"
    r"(?:sources?|docs?|documents?|contexts?|passages?|refs?|citations?|fonts?|surs[aăe])\b[^\[\]\n]{0,80})\]"
    r"(?:\([^()\s]{0,300}\))?|"
    r"\((?:sources?|docs?|refs?|fonts?|surs[aăe])\s?:[^()\n]{0,200}\)|【[^【】\n]{1,60}】|[⁰¹²³⁴-⁹]{1,4})"
)
_CITATIONS = re.compile(rf"(?:{_CITE}[\s,;.]{{0,3}})++", re.IGNORECASE)
_REFERENCES = re.compile(rf"(?:{_CITE}|\(?\[[^\[\]\n]{{1,200}}\]\([^()\s]{{1,500}}\)\)?|[\s,;.])++", re.IGNORECASE)
_CITED = re.compile(rf"(?<=[.!?…。])(?>(?:\s?(?i:{_CITE}))+)(?=\s+[^\Wa-z])")
# Where sentencex doesn't cut: at Khmer and Tibetan marks (except in the Khmer "etc."), and at CJK marks before digits
# and small letters.
_UNCUT = re.compile(r"[។៕]+(?!ល?[។៕])|༎|། ?།|[。！？｡][”’」』）]?(?=[0-9a-z])")


def _sentences(text: str, code: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text of one line begin and end; white space may be around them."""
    text = text.rstrip()
    masked = _EMPHASIS.sub(_blank, text)  # in "**Dr.** Lee", sentencex sees no abbreviation
    cuts = {match.end() for pattern in (_UNCUT, _CITED) for match in pattern.finditer(masked)}
    cuts.update(_ends(masked, code))
    ends = [*sorted(cut for cut in cuts if cut < len(text)), len(text)]
    left = 0
    for cut, following in zip(ends, (*ends[1:], len(text)), strict=True):
        end = cut
        while end < len(text) and text[end] in "*_~":  # emphasis that closes here
            end += 1
        if end == len(text) or (end < following and not _goes_on(text, left, end, following, code)):
            if end > left:
                yield left, end
            left = end


_WINDOW = 5000
"""Characters that sentencex sees at a time: where there are no spaces, its time grows with their square."""


def _ends(text: str, code: str) -> Iterator[int]:
    """Where sentences end, as sentencex sees it."""
    segment = _segmenter()
    at = 0
    while at < len(text):
        window = text[at : at + _WINDOW]
        pieces = segment(code, window)
        if at + len(window) < len(text):
            unfinished = pieces.pop()
            if not pieces:  # one sentence, longer than the window
                at += len(unfinished)
        for piece in pieces:
            yield at + len(piece.rstrip())
            at += len(piece)


_REACH = 200
"""How far back we look at what ends at a cut."""
_ABBREVIATIONS = {
    "en": "approx",
    "ca": "av|st|sta|aprox|d'ex",
    "fr": "m|mm|av|env|[a-z]\\.-[a-z]|av\\. j",
    "ro": "dl|dna|d-l|d-na|str|alin|pag|nr|lit|ex|[îd]|[îd]\\.\\s?hr",
}
"""Abbreviations that sentencex takes for ends, as patterns, by language."""
_ABBREVIATED = {
    code: re.compile(rf"(?:\A|[\s(«“\"'’])(?:{names})\.\Z", re.IGNORECASE) for code, names in _ABBREVIATIONS.items()
}
_LONGEST_YES = 12
"""Characters of the longest "yes", with spaces and emphasis around it."""
_NUMBER = re.compile(r"\s*[*_]*(?:\d{1,9}|[A-Za-z])[.)][*_]*\Z")
_CLOSING = re.compile(rf"[.!?…。！？{_CLOSERS}]")
_EXCLAIMED = re.compile(r"(?:!|[.!?…,][\"'”’»)]{1,2})\Z")
_QUOTE_GOES_ON = re.compile(r"[とっ、，]")


def _goes_on(text: str, left: int, cut: int, following: int, code: str) -> bool:
    """Whether the sentence that began at `left` goes on after `cut`, at least up to `following`."""
    tail = text[max(left, cut - _REACH) : cut]
    after = text[cut:following]
    body = after.lstrip()
    abbreviated = _ABBREVIATED.get(code)
    return bool(
        not body
        or not tail.strip("*_~ ")
        or (cut - left <= _REACH and _NUMBER.match(tail))
        or (cut - left <= _LONGEST_YES and is_yes_or_no(bare(tail)))
        or (abbreviated and abbreviated.search(tail))
        or (_CLOSING.match(body) and not _WORD.search(body))
        or (body[0] in "([【⁰¹²³⁴⁵⁶⁷⁸⁹" and _REFERENCES.fullmatch(body))
        or (body[0].islower() and _EXCLAIMED.search(tail))
        or (tail[-1] in "」』”" and _QUOTE_GOES_ON.match(after))
        or (tail[-1] == "." and not after[0].isspace() and _within_name(tail.split()[-1], after))
        or (tail[-1] == "." and "\u0e00" <= tail[-2:-1] <= "\u0eff")  # Thai and Lao: it abbreviates, and ends nothing
    )


def _within_name(before: str, after: str) -> bool:
    """Whether a full stop with no space after it is one in an address, the name of a file, or the like: `Node.JS`."""
    return after[0] in "-/_" or before[0].isupper() or any(mark in before for mark in "/@_:(")


@cache
def _segmenter() -> Callable[[str, str], list[str]]:
    module: Any = import_module("sentencex")  # it has no types
    segment: Callable[[str, str], list[str]] = module.segment
    return segment


# --- What a sentence is ---------------------------------------------------------------------------------------------

_QUESTION = re.compile(rf"(?:[?？؟፧⁇⁈⁉‽][!！?？]*|[Ͱ-Ͽἀ-῿][\s»”)]?;)[\s*_~{EMOJI}]*\Z")
_LEAD_IN = re.compile(r"(?<![\u0530-\u058f])[:：][*_~\s]*\Z")  # in Armenian a colon is a full stop
_SOURCES = re.compile(
    rf"(?:\W*(?:sources?|references?|citations?|fonts?|referències|références|surs[ăae]|referințe)\s?:)?"
    rf"(?:{_CITE}:?|https?://\S++|[\s,;.<>])++",
    re.IGNORECASE,
)
_END_REACH = 20
_LONGEST_PHRASE = 300
"""Characters of the longest sentence that may be a filler or a refusal."""


def _judged(start: int, text: str) -> Iterator[_Span]:
    """A sentence as a claim, or with the reason why it isn't one."""
    body = text.strip()
    if not body:
        return
    start += len(text) - len(text.lstrip())
    left, right = _unwrapped(body) if _WORD.search(body) else (0, len(body))
    yield _Span(start + left, start + right, _reason(body))


def _reason(body: str) -> str | None:
    """Why a sentence isn't a claim; None if it is one."""
    if not _WORD.search(body):
        return "fragment" if body.strip("*_~#>|-+=`\\ \t") else "markup"
    end = body[-_END_REACH:]
    if _LEAD_IN.search(end):
        return "filler"
    if len(body) <= _LONGEST_PHRASE:
        if not body.startswith("http") and _SOURCES.fullmatch(body):
            return "citation"
        sentence = _bare(body)
        if is_filler(sentence):
            return "filler"
        if is_refusal(sentence):
            return "refusal"
        if is_request(sentence):
            return "request"
    return "question" if _QUESTION.search(end) else None


def _bare(body: str) -> str:
    return bare(_CITATIONS.sub("", body) if "[" in body or "【" in body else body)


def _unwrapped(body: str) -> tuple[int, int]:
    """Where a sentence stands within marks of emphasis that are around all of it, or that it doesn't close."""
    left, right = 0, len(body)
    for _ in range(4):  # marks may be nested; nobody nests more
        opening = _EMPHASIS.match(body, left, right)
        mark = opening[0] if opening else ""
        count = body.count(mark, left, right) if mark else 0
        if count == 2 and body.endswith(mark, left + len(mark), right):
            left, right = left + len(mark), right - len(mark)
        elif count % 2:
            left += len(mark)
        else:
            mark = body[left + len(body[left:right].rstrip("*_~")) : right]
            if not mark or body.count(mark, left, right) % 2 == 0:
                break
            right -= len(mark)
    inner = body[left:right]
    return right - len(inner.lstrip()), left + len(inner.rstrip())
