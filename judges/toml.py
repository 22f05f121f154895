"""Reads the TOML files that a user writes: settings, rubrics, plans. What they may hold is said by the door of each."""

import tomllib
from pathlib import Path
from typing import Any

from judges.errors import InputError

__all__ = ["read_toml", "text_of"]


def read_toml(path: Path) -> dict[str, Any]:
    """What a file holds.

    Raises:
        InputError: There is no such file, it can't be read, or is no TOML.
    """
    try:
        return tomllib.loads(text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: no TOML: {error}") from None


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: There is no such file, or it can't be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {getattr(error, 'strerror', None) or 'it is no UTF-8'}") from error
