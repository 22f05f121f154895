"""Which language a text is in: by its letters, offline, for some 140 languages. The home of py3langid.

Source:
    Lui and Baldwin 2012, langid.py: an off-the-shelf language identification tool, ACL system demonstrations. py3langid
    is a maintained fork, with a model of its own.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

__all__ = ["Guess", "guess", "is_known", "rules", "same_language"]


@dataclass(frozen=True, slots=True)
class Guess:
    """The likeliest language of a text."""

    lang: str
    """Its code, of two letters where it has one."""
    probability: float


def guess(text: str) -> Guess:
    """The likeliest language. A few words may tell little: see its probability."""
    lang, probability = _identifier().classify(text)
    return Guess(str(lang), float(probability))


def is_known(tag: str) -> bool:
    """Whether the language of a BCP 47 tag is among those that can be told."""
    return bool(_names(tag) & _known())


def same_language(tag: str, other: str) -> bool:
    """Whether two BCP 47 tags name one language, whatever its region and script."""
    return bool(_names(tag) & _names(other))


def rules() -> str:
    """What the guesses rest on."""
    return f"py3langid={version('py3langid')}"


_NORWEGIAN = frozenset({"no", "nb", "nn"})


def _names(tag: str) -> frozenset[str]:
    """The codes of a tag's language."""
    code = re.split("[-_]", tag.strip(), maxsplit=1)[0].lower()
    return _NORWEGIAN if code in _NORWEGIAN else frozenset({code})


@cache
def _known() -> frozenset[str]:
    return frozenset(_identifier().labels)


@cache
def _identifier() -> Any:  # noqa: ANN401  it has no types
    module: Any = import_module("py3langid.langid")
    return module.LanguageIdentifier.from_model_file(module.MODEL_FILE, norm_probs=True)
