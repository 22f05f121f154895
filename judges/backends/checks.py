"""The judge of plain checks: it looks at the answer, and needs no model.

Each verdict is 1 or 0, and its rationale says what was found and, as evidence, where.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

import orjson

from judges.backends.schema import expect_schema, faults
from judges.backends.schema import rules as schema_rules
from judges.backends.wording import Wording, folded
from judges.case import Case
from judges.checks import (
    CHECKS,
    Answered,
    Category,
    Check,
    Language,
    Length,
    Phrases,
    Refusal,
    Unit,
    ValidJson,
    WellFormed,
    answerable,
)
from judges.claims import SentenceSplitter, Split, answering_claims
from judges.criterion import Criterion
from judges.errors import InputError
from judges.fingerprint import Json, fingerprint
from judges.language import guess, is_known, same_language
from judges.language import rules as language_rules
from judges.printable import printable
from judges.similarity import is_blank
from judges.verdict import Abstained, Evidence, Verdict

__all__ = ["ChecksJudge"]

_RULES = 1
"""Version of the rules below. Raise it with every change that may change a verdict."""
_REFUSALS = 1
"""Version of what is a refusal beside the splitter's."""
_LIKELY = 0.5
_SURE = 0.8
"""How likely a language must be to be told: the expected one, and any other, which few answers are in."""
_SHOWN = 60
"""Characters of a text that a rationale shows."""
_SPLITTER = SentenceSplitter()


class ChecksJudge:
    """Says whether each check holds: 1 if it does, else 0.

    Args:
        checks: What it looks at; by default those that need no settings.
        name: What tables call the judge.

    Raises:
        InputError: Two checks have one name, a schema is none, or the library for schemas isn't installed.
    """

    def __init__(self, checks: Iterable[Check] = CHECKS, *, name: str = "checks") -> None:
        self.name = name
        self.threshold = 0.5
        self._checks: dict[str, Check] = {}
        for check in checks:
            if self._checks.setdefault(check.name, check) != check:
                raise InputError(f"two checks are called `{check.name}`; give each its own name")
            if isinstance(check.rule, ValidJson) and check.rule.schema is not None:
                try:
                    expect_schema(check.rule.schema)
                except InputError as error:
                    raise InputError(f"check `{check.name}`: {error}") from error

    @property
    def fingerprint(self) -> str:
        """All of its checks; `fingerprint_for` has those of one."""
        return f"checks@{_RULES}:" + fingerprint([self._ways(check) for check in self._checks.values()])

    def fingerprint_for(self, criterion: Criterion) -> str:
        """The rule of this check, and what it rests on."""
        return f"checks@{_RULES}:" + fingerprint(self._ways(self._checks[criterion.name]))

    def supports(self, criterion: Criterion, /) -> bool:
        """Whether it is the criterion of one of its checks."""
        check = self._checks.get(criterion.name)
        return check is not None and check.criterion == criterion

    async def judge(
        self,
        case: Case,
        criterion: Criterion,
        /,
        *,
        replicate: int = 0,  # noqa: ARG002 - part of the protocol; it finds the same each time
    ) -> Verdict | Abstained:
        """Look at one case.

        Raises:
            InputError: There is no such check; the case doesn't say what the check needs as it should; or a schema
                refers to what isn't in it.
        """
        if not self.supports(criterion):
            raise InputError(f"the judge `{self.name}` has no check `{criterion.name}`; give it: ChecksJudge([...])")
        rule = self._checks[criterion.name].rule
        answer = case.answer or ""
        if isinstance(rule, Answered):
            return _no("the answer is empty") if is_blank(answer) else _yes("there is an answer")
        if is_blank(answer):
            return Abstained("no_answer", "the case has no answer")
        match rule:
            case WellFormed():
                return _well_formed(answer)
            case ValidJson():
                return _valid_json(answer, rule)
            case Category():
                return _category(answer, rule)
            case Phrases():
                return _phrases(answer, rule)
            case Length():
                return _length(answer, case.lang, rule)
            case Language():
                return _language(answer, case.lang, rule)
            case Refusal():
                return _refusal(answer, case, rule)

    @staticmethod
    def _ways(check: Check) -> list[Json]:
        ways: list[Json] = [check.fingerprint]
        match check.rule:
            case ValidJson(schema=schema) if schema is not None:
                ways.append(schema_rules())
            case Language():
                ways += [language_rules(), _LIKELY, _SURE]
            case Length(unit="sentences"):
                ways.append(_SPLITTER.fingerprint)
            case Refusal():
                ways += [_SPLITTER.fingerprint, _REFUSALS]
            case _:
                pass
        return ways


def _yes(rationale: str, at: tuple[int, int] | None = None) -> Verdict:
    return Verdict(1.0, rationale, "yes", evidence=_evidence(at))


def _no(rationale: str, at: tuple[int, int] | None = None) -> Verdict:
    return Verdict(0.0, rationale, "no", evidence=_evidence(at))


def _evidence(at: tuple[int, int] | None) -> Evidence | None:
    return None if at is None else Evidence("answer", 0, *at)


def _quoted(text: str) -> str:
    return f"“{printable(text, _SHOWN)}”"


# --- A text for people ----------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_LEFT_OVER = re.compile(
    r"(?P<mark><\|[a-z][a-z_]{1,20}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</?(?:s|system|assistant)>)"
    r"|(?P<place>\{\{ ?\w[\w.]* ?\}\}|\{%.{0,80}?%\}|\$\{\w+\})"
)
_BROKEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd\ud800-\udfff]")


def _well_formed(answer: str) -> Verdict:
    """Code is spared, where such marks may well be what was asked for."""
    prose, left_open = _without_code(answer)
    if found := _BROKEN.search(answer):
        return _no(f"a character in it went wrong: U+{ord(found[0]):04X}", found.span())
    if found := _LEFT_OVER.search(prose):
        what = "a mark that belongs to a prompt" if found["mark"] else "a place that was never filled in"
        return _no(f"there is {what}: {_quoted(found[0])}", found.span())
    if left_open is not None:
        return _no("a fence of code is opened and not closed: it may have been cut off", left_open)
    return _yes("nothing in it is broken or left over")


def _without_code(answer: str) -> tuple[str, tuple[int, int] | None]:
    """The answer with all code blanked out, and where a fence was opened that nothing closes."""
    spans: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(answer):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            spans.append((opened.start(), fence.end()))
            opened = None
    if opened is not None:
        spans.append((opened.start(), len(answer)))
    for start, end in spans:
        answer = answer[:start] + " " * (end - start) + answer[end:]
    prose = re.sub(r"`[^`\n]+`", lambda code: " " * len(code[0]), answer)
    return prose, None if opened is None else opened.span()


# --- JSON -----------------------------------------------------------------------------------------------------------

_FENCED = re.compile(r"\s*(`{3,})[\w-]*[ \t]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)


def _valid_json(answer: str, rule: ValidJson) -> Verdict | Abstained:
    fence = _FENCED.match(answer)
    if fence is not None and not rule.fenced:
        return _no("it stands in a Markdown fence, and is no JSON by itself", fence.span(1))
    text, offset = (answer, 0) if fence is None else (fence[2], fence.start(2))
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        at = min(error.pos, len(text)) + offset
        line = answer.count("\n", 0, at) + 1
        what = error.msg.partition(":")[0]
        return _no(f"no JSON at line {line}, character {at - answer.rfind(chr(10), 0, at)}: {what}", (at, at + _SHOWN))
    if rule.schema is None:
        return _yes(f"valid JSON, {_kind(value)}")
    try:
        found = faults(value, rule.schema)
    except RecursionError:
        return Abstained("too_deep", "it is nested too deeply to be held against the schema")
    if not found:
        return _yes(f"valid JSON of the schema, {_kind(value)}")
    where = f"`{printable(found[0].path, _SHOWN)}`: " if found[0].path else ""
    more = f"; and {len(found) - 1:,} more" if len(found) > 1 else ""
    return _no(f"valid JSON, but not of the schema: {where}{found[0].message}{more}")


def _kind(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "an array"
        case str():
            return "a text"
        case bool():
            return "true or false"
        case None:
            return "null"
        case _:
            return "a number"


# --- Words ----------------------------------------------------------------------------------------------------------


def _category(answer: str, rule: Category) -> Verdict:
    def fold(text: str) -> str:
        return folded(text.strip(), match_case=rule.match_case, match_accents=rule.match_accents).text

    given = fold(answer)
    for category in rule.allowed:
        if given == fold(category):
            return _yes(f"it is {_quoted(category)}")
    allowed = printable(", ".join(rule.allowed), _SHOWN)
    return _no(f"{_quoted(answer)} is none of: {allowed}")


def _phrases(answer: str, rule: Phrases) -> Verdict:
    wording = Wording(rule.match_case, rule.match_accents, rule.whole_words)
    text = wording.fold(answer)
    for phrase in rule.forbidden:
        if at := wording.find(phrase, text):
            return _no(f"it says {_quoted(answer[slice(*at)])}, which is forbidden", at)
    there = [(phrase, at) for phrase in (*rule.required, *rule.one_of) if (at := wording.find(phrase, text))]
    found = dict(there)
    lacking = [phrase for phrase in rule.required if phrase not in found]
    if lacking:
        return _no(f"it doesn't say {', '.join(map(_quoted, lacking[:3]))}, which is required")
    if rule.one_of and not any(phrase in found for phrase in rule.one_of):
        return _no(f"it says none of: {printable(', '.join(rule.one_of), _SHOWN)}")
    if there:
        return _yes(f"it says {', '.join(_quoted(answer[slice(*at)]) for _, at in there[:3])}", there[0][1])
    return _yes("it says nothing that is forbidden")


def _length(answer: str, lang: str | None, rule: Length) -> Verdict:
    count = _count(answer, lang, rule.unit)
    said = f"{count:,} {rule.unit if count != 1 else rule.unit[:-1]}"
    if count < rule.least:
        return _no(f"{said}, fewer than {rule.least:,}")
    if rule.most is not None and count > rule.most:
        return _no(f"{said}, more than {rule.most:,}")
    return _yes(said)


def _count(answer: str, lang: str | None, unit: Unit) -> int:
    match unit:
        case "characters":
            return len(unicodedata.normalize("NFC", answer.strip()))
        case "words":
            return sum(any(map(str.isalnum, word)) for word in answer.split())
        case "sentences":
            split = _SPLITTER.split(answer, lang)
            return len(split.claims) + sum(each.reason in _SENTENCES for each in split.skipped)


_SENTENCES = frozenset({"filler", "question", "refusal"})
"""What claims nothing and is a sentence all the same."""


# --- Language -------------------------------------------------------------------------------------------------------


def _language(answer: str, lang: str | None, rule: Language) -> Verdict | Abstained:
    wanted = rule.lang or lang
    if wanted is None:
        return Abstained("no_language", "the case names no language; give it `lang`, or all of them one with --lang")
    if not is_known(wanted):
        return Abstained("unknown_language", f"`{printable(wanted, 20)}` is no language that can be told")
    found = guess(answer)
    is_wanted = same_language(found.lang, wanted)
    if found.probability < (_LIKELY if is_wanted else _SURE):
        return Abstained("unsure", f"too little to tell its language: `{found.lang}` at {found.probability:.2f}")
    said = f"it is in `{found.lang}` ({found.probability:.2f})"
    if is_wanted:
        return _yes(said)
    return _no(f"{said}, not in `{printable(wanted, 20)}`")


# --- Refusals -------------------------------------------------------------------------------------------------------


def _refusal(answer: str, case: Case, rule: Refusal) -> Verdict | Abstained:
    can = answerable(case, rule.field)
    if can is None:
        return Abstained(
            "no_answerable", f"the case doesn't say whether it can be answered; give it `{rule.field}`, true or false"
        )
    at = _refused(answer, case.lang, rule.declared)
    if can:
        return _yes("it can be answered, and was") if at is None else _no("it can be answered, and was refused", at)
    if at is None:
        split = _SPLITTER.split(answer, case.lang)
        return _no("it can't be answered, and was not refused", next(((c.start, c.end) for c in split.claims), None))
    return _yes("it can't be answered, and was refused", at)


def _refused(answer: str, lang: str | None, declared: tuple[str, ...]) -> tuple[int, int] | None:
    """Where the answer refuses; None if it doesn't, or claims something, too, that isn't where else to turn."""
    wording = Wording(match_case=False, match_accents=False, whole_words=True)
    text = wording.fold(answer)
    said = [at for phrase in declared if (at := wording.find(phrase, text))]
    for start, end in said:
        answer = answer[:start] + " " * (end - start) + answer[end:]
    split = _SPLITTER.split(answer, lang)
    if answering_claims(split):
        return None
    return next(iter([*said, *_refusals(split)]), None)


def _refusals(split: Split) -> Iterator[tuple[int, int]]:
    return ((each.start, each.end) for each in split.skipped if each.reason == "refusal")
