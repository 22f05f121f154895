"""What a service's error means: a status and a body become one of our errors, with a message of one line.

The message names service, model and status and gives the service's own words, without anything that looks like a key.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import orjson

from judges.errors import ContextTooLong, Declined, RateLimited, Rejected, ServiceError, Unauthorised, Unavailable
from judges.fingerprint import Json
from judges.printable import printable
from judges.services.connection import HttpReply
from judges.services.headers import retry_after
from judges.usage import Limits

__all__ = ["Asked", "Problem", "failure", "read_problem", "redacted", "unreadable"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked what, as messages say it."""

    service: str
    model: str
    url: str
    key: str | None
    """Never shown; what looks like it is taken out of messages."""
    key_from: str = ""
    """Where it comes from, or should: a variable of the environment, an entry of the settings."""

    def __str__(self) -> str:
        return f"{self.service} {printable(self.model, 80)}"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as the service tells it, whatever form it has."""

    status: int
    message: str = ""
    type: str = ""
    code: str = ""
    parameter: str = ""

    @property
    def words(self) -> str:
        """All that is said, in lower case, to look for signs in."""
        return f"{self.message} {self.type} {self.code} {self.parameter}".lower()

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter refused the prompt, or took the reply away."""
        if self.status not in (400, 403, 422):
            return False
        codes = ("content_filter", "content_policy_violation", "invalid_prompt", "responsibleaipolicyviolation")
        return self.code.lower() in codes or "content filter" in self.words or "content management" in self.words

    def names(self, *features: str) -> bool:
        """Whether it speaks of one of these parameters."""
        return any(feature.lower() in self.words for feature in features)

    @property
    def is_unsupported(self) -> bool:
        """Whether it says that something isn't known or isn't taken, rather than that a value is too large."""
        return "unsupported" in self.code.lower() or _UNSUPPORTED.search(self.words) is not None


_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|extra inputs|extra_forbidden|"
    r"not permitted|not allowed|no longer|deprecated|not available|isn't available|invalid parameter|not implemented"
)


def read_problem(reply: HttpReply) -> Problem:
    """The error that a reply tells of."""
    try:
        document: Json = orjson.loads(reply.content)
    except ValueError:
        return Problem(reply.status, _plain(reply))
    return problem_in(document, reply.status)


def problem_in(document: Json, status: int) -> Problem:
    """The error that a document tells of, in any of the forms that are about."""
    whole = _object(document)
    error = whole.get("error")
    inner = _object(error) or whole
    detail = whole.get("detail")
    message = inner.get("message") or (error if isinstance(error, str) else None) or detail
    upstream = _object(inner.get("metadata")).get("raw")
    return Problem(
        status,
        message=" ".join(filter(None, (_words(message), _words(upstream)))),
        type=_words(inner.get("type")),
        code=_words(inner.get("code")),
        parameter=_words(inner.get("param")),
    )


def failure(problem: Problem, asked: Asked, reply: HttpReply, limits: Limits | None) -> ServiceError:
    """The error of ours that this problem is."""
    what, kind = _meaning(problem, asked)
    said = redacted(printable(problem.message), asked.key)
    if len(said) > _SHOWN:
        said = said[: _SHOWN - 1].rstrip() + "…"
    message = f"{asked}: {what} ({problem.status})" + (f": {said}" if said else "")
    return kind(message, retry_after=retry_after(reply.headers), limits=limits)


def unreadable(asked: Asked, reply: HttpReply, limits: Limits | None, why: str | None = None) -> Unavailable:
    """The error that a reply of status 2xx is which isn't what it must be; `why`, or what it is instead."""
    if why is None:
        kind = printable(reply.headers.get("content-type", "no type").partition(";")[0], 40)
        shown = redacted(printable(_plain(reply), 80), asked.key)
        why = f"{kind}: {shown}" if shown else f"{kind}, empty"
    return Unavailable(
        f"{asked}: the reply can't be read ({why})",
        retry_after=retry_after(reply.headers),
        limits=limits,
        may_be_billed=True,
    )


def redacted(text: str, key: str | None) -> str:
    """`text` without the key, the larger parts of it, and whatever else looks like a key."""
    if key:
        for length in range(len(key), min(len(key), _PART) - 1, -1):
            text = text.replace(key[:length], "[key]").replace(key[-length:], "[key]")
    return _KEY.sub("[key]", text)


_SHOWN = 400
_PART = 8
_KEY = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )\S+", re.IGNORECASE)

_CONTEXT = re.compile(
    r"context[ _]length|context window|context size|exceed_context|maximum context|prompt is too long|"
    r"input is too long|too many input tokens|input tokens exceed|exceed context limit|request_too_large|"
    r"string_above_max_length|"
    r"reduce the length of the (?:messages|prompt|input)"
)
_NO_MONEY = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|insufficient (?:credits|balance|funds)|"
    r"payment required|no credits|out of credits|spend(?:ing)? limit"
)
_NO_MODEL = re.compile(r"model|deployment|engine")
_WRONG_MODEL = re.compile(r"invalid model name|unknown model|model_not_found")
_ONE_TOO_LARGE = re.compile(r"request too large|requested \d+.*limit \d+.*must be reduced|larger than the rate limit")

Kind = Callable[..., ServiceError]


def _meaning(problem: Problem, asked: Asked) -> tuple[str, Kind]:
    """What happened in words, and as which error."""
    status, words = problem.status, problem.words
    if status in (400, 402, 403, 429) and _NO_MONEY.search(words):
        return "the account has no quota or credit left", Unauthorised
    match status:
        case 400 | 404 | 413 | 422 | 500 if _CONTEXT.search(words):
            return "the request is too long for the model", ContextTooLong
        case 401 if asked.key:
            return f"the key{_from(asked)} was not accepted", Unauthorised
        case 401:
            return "a key is needed" + (asked.key_from and f": set {asked.key_from}"), Unauthorised
        case 402:
            return "the account has no quota or credit left", Unauthorised
        case 403:
            return f"the account{_from(asked)} may not do this", Unauthorised
        case 407:
            return "the proxy that HTTP_PROXY names wants a user name and password", Rejected
        case 404 if _NO_MODEL.search(words):
            return f"no such model at {asked.url}", Unauthorised
        case 400 if _WRONG_MODEL.search(words):  # LiteLLM's proxy
            return f"no such model at {asked.url}", Unauthorised
        case 404 | 405:
            ending = "" if asked.service == "anthropic" or asked.url.endswith("/v1") else " it often ends in /v1"
            return f"no such service at {asked.url}: is the base URL right?{ending}", Rejected
        case 408 | 409:
            return "the service asks to try again", Unavailable
        case 413:
            return "the request is too long for the service", ContextTooLong
        case 429 if _ONE_TOO_LARGE.search(words):
            return "the request alone is over the account's limit", Declined
        case 429:
            return "too many requests", RateLimited
        case _ if status >= 500:
            return "the service is overloaded" if status in (503, 529) else "the service failed", Unavailable
        case _ if status < 400:
            return f"{asked.url} has moved; give the new address as base URL", Rejected
        case _:
            return "the request was refused", Declined


def _from(asked: Asked) -> str:
    return f" of {asked.key_from}" if asked.key and asked.key_from else ""


def _plain(reply: HttpReply) -> str:
    """The text of a body that isn't JSON; of a page only its title."""
    text = reply.content[:4000].decode("utf-8", "replace")
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title is not None:
        return f"a web page: {title[1]}"
    return "a web page" if "<html" in text.lower() else text[:200]


def _object(value: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def _words(value: Json) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    return orjson.dumps(value).decode()
