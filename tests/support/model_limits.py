"""The limits that the model server enforces, for real: what is over them gets a 429.

A token bucket fills evenly and holds at most `burst`; a fixed window gives the whole limit again at its end.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["Account", "LimitSettings", "Refusal", "RetryAfter", "retry_after_header"]

RetryAfter = Literal["seconds", "date", "ms", "none"]


class LimitSettings(BaseModel):
    """What is allowed. None is no limit."""

    model_config = ConfigDict(extra="forbid")

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    kind: Literal["bucket", "window"] = "bucket"
    burst_seconds: float = 60.0
    """A full bucket holds what flows in during so many seconds; at least one request."""
    window_seconds: float = 60.0
    headers: Literal["vendor", "openai", "anthropic", "none"] = "vendor"
    """Whose headers every reply carries; `vendor`: of the vendor whose dialect is spoken."""
    retry_after: RetryAfter = "seconds"
    """How a 429 says when to come back."""
    in_flight: int | None = None
    """More requests than so many at a time get a 429."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is over the limits."""

    what: str
    wait: float
    """Seconds until it would be let in."""


@dataclass(slots=True)
class _Allowance:
    """What is left of one limit."""

    per_minute: int
    settings: LimitSettings
    least: float
    left: float = field(init=False)
    at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.left = self.capacity

    @property
    def capacity(self) -> float:
        seconds = self.settings.burst_seconds if self.settings.kind == "bucket" else self.settings.window_seconds
        return max(self.least, self.per_minute * seconds / 60)

    def flow(self, now: float) -> None:
        if self.settings.kind == "bucket":
            self.left = min(self.capacity, self.left + (now - self.at) * self.per_minute / 60)
            self.at = now
        elif now - self.at >= self.settings.window_seconds:
            self.left = self.capacity
            self.at = now - (now - self.at) % self.settings.window_seconds

    def wait_for(self, amount: float, now: float) -> float:
        if self.left >= amount:
            return 0.0
        if self.settings.kind == "bucket":
            return (min(amount, self.capacity) - self.left) * 60 / self.per_minute
        return self.at + self.settings.window_seconds - now

    def reset(self, now: float) -> float:
        if self.settings.kind == "bucket":
            return (self.capacity - self.left) * 60 / self.per_minute
        return self.at + self.settings.window_seconds - now


class Account:
    """One account's limits and what is left of them."""

    def __init__(self, settings: LimitSettings, now: float) -> None:
        self.settings = settings
        given = {
            "requests": settings.requests_per_minute,
            "tokens": settings.tokens_per_minute,
            "input-tokens": settings.input_tokens_per_minute,
            "output-tokens": settings.output_tokens_per_minute,
        }
        self._allowances = {
            name: _Allowance(limit, settings, 1.0 if name == "requests" else 0.0)
            for name, limit in given.items()
            if limit is not None
        }
        for allowance in self._allowances.values():
            allowance.at = now

    def take(self, input_tokens: int, output_tokens: int, in_flight: int, now: float) -> Refusal | None:
        """Let a request in, or say why not. What is refused costs nothing."""
        if self.settings.in_flight is not None and in_flight > self.settings.in_flight:
            return Refusal("concurrent requests", 0.05)
        if not self._allowances:
            return None
        amounts = {
            "requests": 1.0,
            "tokens": float(input_tokens + output_tokens),
            "input-tokens": float(input_tokens),
            "output-tokens": float(output_tokens),
        }
        refusal = None
        for name, allowance in self._allowances.items():
            allowance.flow(now)
            wait = allowance.wait_for(amounts[name], now)
            if wait > 0 and (refusal is None or wait > refusal.wait):
                refusal = Refusal(name, wait)
        if refusal is None:
            for name, allowance in self._allowances.items():
                allowance.left -= amounts[name]
        return refusal

    def headers(self, vendor: str, now: float) -> dict[str, str]:
        """What every reply says of the limits."""
        style = vendor if self.settings.headers == "vendor" else self.settings.headers
        found: dict[str, str] = {}
        if style == "none":
            return found
        for name, allowance in self._allowances.items():
            left, reset = max(0, int(allowance.left)), max(0.0, allowance.reset(now))
            if style == "openai":
                found[f"x-ratelimit-limit-{name}"] = str(allowance.per_minute)
                found[f"x-ratelimit-remaining-{name}"] = str(left)
                found[f"x-ratelimit-reset-{name}"] = _duration(reset)
            else:
                at = datetime.now(UTC) + timedelta(seconds=reset)
                found[f"anthropic-ratelimit-{name}-limit"] = str(allowance.per_minute)
                found[f"anthropic-ratelimit-{name}-remaining"] = str(left)
                found[f"anthropic-ratelimit-{name}-reset"] = at.isoformat(timespec="seconds").replace("+00:00", "Z")
        return found


def retry_after_header(style: RetryAfter, seconds: float) -> dict[str, str]:
    """The header that says when to come back, rounded up as its form demands."""
    match style:
        case "seconds":
            return {"retry-after": str(max(1, -int(-seconds // 1)))}
        case "ms":
            return {"retry-after-ms": str(max(1, round(seconds * 1000)))}
        case "date":
            at = datetime.now(UTC) + timedelta(seconds=seconds + 1)
            return {"retry-after": format_datetime(at, usegmt=True)}
        case _:
            return {}


def _duration(seconds: float) -> str:
    """As OpenAI writes it: `20ms`, `1.5s`, `1m30s`, `1h0m5s`."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    if seconds < 60:
        return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"
