"""The composition root: turns the words of a command line into the objects they name."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from judges.case import Case
from judges.criterion import Criterion
from judges.errors import InputError
from judges.judge import Judge
from judges.plugins import resolve

__all__ = ["criterion_named", "judge_named", "reader_named"]

_JUDGE_HAS = ("name", "fingerprint", "supports", "judge")


def judge_named(name: str) -> Judge:
    """The judge of that name: an instance, or what a class or function without arguments returns.

    Raises:
        InputError: There is none, or it isn't of the shape of a judge.
    """
    found = resolve("judges.judges", name)
    if isinstance(found, type) or (callable(found) and not hasattr(found, "judge")):
        try:
            found = cast("Callable[[], object]", found)()
        except (Exception, SystemExit) as error:
            raise InputError(f"judge `{name}`: can't be made ({type(error).__name__}: {error})") from error
    missing = [part for part in _JUDGE_HAS if not hasattr(found, part)]
    if missing:
        raise InputError(f"judge `{name}`: not a judge, it has no `{'`, `'.join(missing)}`; see `judges.Judge`")
    return cast("Judge", found)


def criterion_named(name: str) -> Criterion:
    """The criterion of that name.

    Raises:
        InputError: There is none, or it isn't a `Criterion`.
    """
    found = resolve("judges.criteria", name)
    if not isinstance(found, Criterion):
        raise InputError(f"criterion `{name}`: that is a {type(found).__name__}, not a Criterion")
    return found


def reader_named(name: str) -> Callable[[Path], Iterator[Case]]:
    """The dataset reader of that name: a function from a path to cases.

    Raises:
        InputError: There is none, or it can't be called.
    """
    found = resolve("judges.datasets", name)
    if not callable(found):
        raise InputError(f"reader `{name}`: that is a {type(found).__name__}, not a function")
    return cast("Callable[[Path], Iterator[Case]]", found)
