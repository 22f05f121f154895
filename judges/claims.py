"""Splits an answer into claims: one checkable statement each."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Claim", "ClaimSplitter", "Skipped", "Split"]


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
