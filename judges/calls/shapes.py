"""What the wrappers need to know of requests and replies, whichever kind they are."""

from typing import Protocol

from judges.usage import Limits, Usage

__all__ = ["Answered", "Asked"]


class Asked(Protocol):
    """A request."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def fingerprint(self) -> str:
        """What identifies the request."""
        ...


class Answered(Protocol):
    """A reply."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def usage(self) -> Usage:
        """What this call used."""
        ...

    @property
    def limits(self) -> Limits | None:
        """What the service said of the account's limits."""
        ...
