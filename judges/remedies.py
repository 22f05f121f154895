"""What a message tells the user to do: by an option where the command at hand has it, and else in another way."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["also_has", "by_option", "options_are"]

_options: ContextVar[frozenset[str] | None] = ContextVar("judges_options", default=None)
"""Those of the command at hand; None where there is no command, and remedies are told as the command line has them."""


def options_are(options: Iterable[str]) -> None:
    """From now on these are the options of the command at hand, such as `--map`."""
    _options.set(frozenset(options))


@contextmanager
def also_has(option: str) -> Generator[None]:
    """As if the command at hand had this option, too: whoever asks says what the user has in its place."""
    options = _options.get()
    token = _options.set(None if options is None else options | {option})
    try:
        yield
    finally:
        _options.reset(token)


def by_option(option: str, remedy: str, otherwise: str = "") -> str:
    """A remedy that takes an option.

    Args:
        option: Such as `--map`.
        remedy: What to do with it.
        otherwise: What to do where the command at hand has no such option.
    """
    options = _options.get()
    return remedy if options is None or option in options else otherwise
