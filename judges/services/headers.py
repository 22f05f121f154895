"""What the headers of a reply say: when to come back, and how much of the account's limits is left."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from judges.usage import Limit, Limits

__all__ = ["anthropic_limits", "openai_limits", "retry_after"]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the service asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.

    A date is read by the clock of the service, where it sent one.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    at = _http_date(text)
    return None if at is None else max(0.0, (at - _now(headers)).total_seconds())


def openai_limits(headers: Mapping[str, str]) -> Limits | None:
    """The limits that `x-ratelimit-*` headers state; None if there are none."""
    if not any(name.startswith("x-ratelimit-") for name in headers):
        return None
    found = {
        name: Limit(
            _whole(headers.get(f"x-ratelimit-limit-{name}")),
            _whole(headers.get(f"x-ratelimit-remaining-{name}")),
            _duration(headers.get(f"x-ratelimit-reset-{name}")),
        )
        for name in ("requests", "tokens")
    }
    return _limits({name: _by_the_minute(limit) for name, limit in found.items()})


def anthropic_limits(headers: Mapping[str, str]) -> Limits | None:
    """The limits that `anthropic-ratelimit-*` headers state; None if there are none."""
    if not any(name.startswith("anthropic-ratelimit-") for name in headers):
        return None
    found: dict[str, Limit] = {}
    for name in ("requests", "tokens", "input-tokens", "output-tokens"):
        prefix = f"anthropic-ratelimit-{name}"
        reset = headers.get(f"{prefix}-reset")
        at = None if reset is None else _rfc3339(reset)
        found[name.replace("-", "_")] = Limit(
            _whole(headers.get(f"{prefix}-limit")),
            _whole(headers.get(f"{prefix}-remaining")),
            None if at is None else max(0.0, (at - _now(headers)).total_seconds()),
        )
    return _limits(found)


def _limits(found: Mapping[str, Limit]) -> Limits | None:
    stated = {name: limit for name, limit in found.items() if limit != _UNSTATED}
    return Limits(**stated) if stated else None


_UNSTATED = Limit()


def _by_the_minute(limit: Limit) -> Limit:
    """The limit, its rate left out where it is by the day: such a limit takes more than a minute to be whole again."""
    if limit.reset_seconds is not None and limit.reset_seconds > 61:
        return Limit(None, limit.remaining, limit.reset_seconds)
    return limit


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _whole(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)


_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s|d)")
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def _duration(text: str | None) -> float | None:
    """Seconds of `1m30s`, `20ms`, `6h0m5.2s`, or of a plain number."""
    if text is None:
        return None
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return _number(text)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _rfc3339(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _http_date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _now(headers: Mapping[str, str]) -> datetime:
    date = headers.get("date")
    return (None if date is None else _http_date(date)) or datetime.now(UTC)
