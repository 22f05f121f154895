"""Prompt templates: files of `prompts/` that are read, checked and rendered, with case text as data inside fences.

A template is named by its folder and version (`prompts/faithfulness/1.md`) and never changes once it is released: to
change the wording, copy it to the next number. Its text is Jinja in two sections, `# System` and `# User`; the system
section is the same for all cases of a criterion.

Text of cases is hostile. It stands between tags that end in a code which is found in none of the texts, so that no text
can close its tag or open another.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judges.case import Case, Context, Part
from judges.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2 import Template as Compiled

__all__ = [
    "Fence",
    "Template",
    "clean",
    "fenced_parts",
    "latest",
    "load",
    "numbered",
    "prompt_root",
    "read_template",
    "text_of",
]

_PARTS = re.compile(
    r"\A\+\+\+\n(?P<front>.*?)^\+\+\+\n+# System\n(?P<system>.*?)^# User\n(?P<user>.*)\Z", re.DOTALL | re.MULTILINE
)
_CODE_DIGITS = 10
_VERSION = re.compile(r"[1-9][0-9]*")


def prompt_root() -> Path:
    """The folder of the templates: inside the installed package, or beside it in a checkout."""
    packaged = Path(__file__).with_name("_prompts")
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "prompts"


@dataclass(frozen=True, slots=True)
class Template:
    """One version of a prompt."""

    name: str
    version: str
    about: str
    digest: str
    """SHA-256 of the file, read with the line ends of Unix: what identifies the wording."""
    _system: str = field(repr=False)
    _user: str = field(repr=False)

    @property
    def identity(self) -> str:
        """Name, version and the start of the digest, for fingerprints: `faithfulness/1 3fa9…`."""
        return f"{self.name}/{self.version} {self.digest[:16]}"

    def reads(self, name: str) -> bool:
        """Whether the user's turn names this value. What it doesn't name need not be made ready."""
        return name in _names(self._user)

    def system(self, values: Mapping[str, Any]) -> str:
        """The instructions.

        Raises:
            InputError: The template asks for something that isn't among the values.
        """
        return self._render(self._system, values)

    def user(self, values: Mapping[str, Any]) -> str:
        """The user's turn.

        Raises:
            InputError: The template asks for something that isn't among the values.
        """
        return self._render(self._user, values)

    def _render(self, source: str, values: Mapping[str, Any]) -> str:
        try:
            return _compiled(source).render(values).strip()
        except Exception as error:
            # A template of the user's may compute what it likes, and fail in any way.
            raise InputError(f"prompt {self.name}/{self.version}: can't be rendered: {error}") from error


@lru_cache(maxsize=256)
def load(name: str, version: str | None = None) -> Template:
    """A template of ours, or of the user's own.

    Args:
        name: The folder: `faithfulness`. Or the path of a file: `my/prompt.md`.
        version: `1`, `2`, ...; the latest by default. A file has none.

    Raises:
        InputError: There is no such template, or it can't be read.
    """
    if name.endswith(".md"):
        return read_template(Path(name))
    return read_template(prompt_root() / name / f"{version or latest(name)}.md")


@lru_cache(maxsize=256)
def latest(name: str) -> str:
    """The newest version of a template of ours.

    Raises:
        InputError: There is no such template.
    """
    folders = {path.name: path for path in prompt_root().iterdir() if path.is_dir()}
    found = folders[name].glob("*.md") if name in folders else ()
    versions = [int(path.stem) for path in found if _VERSION.fullmatch(path.stem)]
    if not versions:
        known = ", ".join(sorted(folders))
        raise InputError(f"no prompt is called `{name}`; known: {known}; your own: the path of a .md file")
    return str(max(versions))


@lru_cache(maxsize=256)
def read_template(path: Path) -> Template:
    """A template from its file.

    Raises:
        InputError: It can't be read, or isn't a template.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8"
        raise InputError(f"prompt {path}: can't be read: {reason}") from error
    found = _PARTS.match(text)
    if found is None:
        raise InputError(
            f"prompt {path}: no template; it starts with +++, front matter, +++, then `# System`, `# User`"
        )
    try:
        front = tomllib.loads(found["front"])
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"prompt {path}: its front matter is no TOML: {error}") from error
    about = front.pop("about", "")
    if not isinstance(about, str) or front:
        wrong = ", ".join(front) or "about"
        raise InputError(f"prompt {path}: its front matter may hold `about`, a text, and no more; look at: {wrong}")
    template = Template(
        name=path.parent.name,
        version=path.stem,
        about=about,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        _system=found["system"].strip(),
        _user=found["user"].strip(),
    )
    for source in (found["system"], found["user"]):
        _check(source.strip(), path)
    return template


def _check(source: str, path: Path) -> None:
    from jinja2 import TemplateSyntaxError

    try:
        _compiled(source)
    except TemplateSyntaxError as error:
        raise InputError(f"prompt {path}: line {error.lineno} of its section: {error.message}") from error


@lru_cache(maxsize=256)
def _names(source: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", source))


@lru_cache(maxsize=256)
def _compiled(source: str) -> "Compiled":
    compiled = _environment().from_string(source)
    compiled.globals = dict(compiled.globals)  # it was a chain of several, gone through anew for each text
    return compiled


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    from jinja2 import StrictUndefined, Undefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Absent(StrictUndefined):
        """What isn't there can be asked for (`if history`), but not printed."""

        __bool__ = Undefined.__bool__  # type: ignore[assignment]

    # Prompts are plain text: nothing is escaped for HTML. Case text is a value and never part of a template.
    return ImmutableSandboxedEnvironment(undefined=Absent, trim_blocks=True, lstrip_blocks=True, autoescape=False)


_UNSENDABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_UNNAMEABLE = re.compile(r"[^\w.:/@#-]")


def clean(text: str) -> str:
    """`text` without control characters and half surrogates, which services refuse: each becomes U+FFFD."""
    return _UNSENDABLE.sub("\ufffd", text)


class Fence:
    """Tags around the texts of one request, which none of these texts can close."""

    def __init__(self, texts: Iterable[str], digits: int = _CODE_DIGITS) -> None:
        """Make the code from all texts that will stand inside: the same texts, the same code.

        Args:
            texts: The texts.
            digits: Hexadecimal digits of the code. With few, long texts may hold every code there is.
        """
        inside = [text for text in texts if text]
        sha = hashlib.sha256()
        for text in inside:
            sha.update(b"%d:" % len(text))
            sha.update(text.encode("utf-8", "surrogatepass"))
        self.code = sha.hexdigest()[:digits]
        while any(self.code in text for text in inside):  # someone has tried many texts until one fitted
            sha.update(b"again")
            self.code = sha.hexdigest()[:digits]

    def block(self, kind: str, text: str, **names: str | int | None) -> str:
        """A text on lines of its own.

        Args:
            kind: What it is: `passage`, `answer`.
            text: The text.
            names: What it is known by: `n=1`, `id="d7"`. Untrusted too.
        """
        tag = f"{kind}-{self.code}"
        attributes = "".join(
            f' {name}="{value if isinstance(value, int) else _UNNAMEABLE.sub("_", value)[:80]}"'
            for name, value in names.items()
            if value is not None
        )
        return f"<{tag}{attributes}>\n{clean(text)}\n</{tag}>"


def text_of(case: Case, part: Part) -> str:
    """All text of a part, as it goes into a fence's code; nothing of a part that no prompt shows."""
    match part:
        case Part.QUESTION:
            return case.question or ""
        case Part.HISTORY:
            return "\n".join([f"{turn.role}: {turn.text}" for turn in case.history])
        case Part.ANSWER:
            return case.answer or ""
        case Part.RIVAL:
            return case.rival or ""
        case Part.CONTEXTS:
            return "\n".join([context.text for context in case.contexts])
        case Part.REFERENCES:
            return "\n".join(case.references)
        case Part.EXTRA:
            return ""


def fenced_parts(case: Case, parts: Mapping[Part, str], fence: Fence) -> dict[str, Any]:
    """The parts that are there, by name, each in its fences.

    Args:
        case: Where they are from.
        parts: Those to be shown, with their text: from `text_of`.
        fence: Made from all these texts, and whatever else the request shows.
    """
    shown: dict[str, Any] = {}
    for part, text in parts.items():
        if not text.strip():
            continue
        match part:
            case Part.CONTEXTS:
                blocks = [
                    fence.block("passage", context.text, n=number, id=context.doc_id)
                    for number, context in numbered(case.contexts)
                ]
            case Part.REFERENCES:
                blocks = [
                    fence.block("reference", reference, n=number)
                    for number, reference in enumerate(case.references, 1)
                    if reference.strip()
                ]
            case Part.HISTORY:
                blocks = [fence.block("turn", turn.text, role=turn.role) for turn in case.history]
            case Part.RIVAL:
                blocks = [fence.block("answer", text, n=2)]
            case Part.ANSWER:
                blocks = [fence.block("answer", text, n=1 if parts.get(Part.RIVAL, "").strip() else None)]
            case _:
                blocks = [fence.block(part.value, text)]
        shown[part.value] = "\n".join(blocks)
    return shown


def numbered(contexts: Sequence[Context]) -> list[tuple[int, Context]]:
    """The passages in which something can be seen, with their numbers: an answer cites them by these."""
    return [(number, context) for number, context in enumerate(contexts, 1) if context.text.strip()]
