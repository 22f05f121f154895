"""Finds an object by name: ours by a table, an application's by `package.module:object` or by entry point.

Nothing is loaded before it is asked for, and nothing registers itself by being imported.
"""

import sys
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from judges.errors import InputError

__all__ = ["available", "installed", "resolve"]

_OURS: dict[str, dict[str, str]] = {
    "judges.judges": {"overlap": "judges.backends.overlap:TokenOverlapJudge"},
    "judges.criteria": {
        "faithfulness": "judges.criteria:FAITHFULNESS",
        "answer_relevance": "judges.criteria:ANSWER_RELEVANCE",
        "correctness": "judges.criteria:CORRECTNESS",
        "completeness": "judges.criteria:COMPLETENESS",
        "context_relevance": "judges.criteria:CONTEXT_RELEVANCE",
        "context_recall": "judges.criteria:CONTEXT_RECALL",
    },
    "judges.datasets": {},
}

_KINDS = {"judges.judges": "judge", "judges.criteria": "criterion", "judges.datasets": "reader"}


def installed(group: str) -> list[EntryPoint]:
    """What installed packages offer for `group`, by name."""
    return sorted(entry_points(group=group), key=lambda point: point.name)


def available(group: str) -> list[str]:
    """All names that `resolve` knows in `group`."""
    return sorted({*_OURS.get(group, {}), *(point.name for point in installed(group))})


def resolve(group: str, name: str) -> object:
    """The object called `name` in `group`.

    Args:
        group: `judges.judges`, `judges.criteria` or `judges.datasets`.
        name: One of `available(group)`, or `package.module:object`; modules are also looked for in the current folder.

    Raises:
        InputError: There is no such thing, or it can't be imported.
    """
    kind = _KINDS[group]
    ours = _OURS.get(group, {})
    if name in ours:
        return _imported(ours[name], kind, name)
    if ":" in name:
        return _imported(name, kind, name)
    for point in installed(group):
        if point.name == name:
            return _imported(point.value, kind, name)
    names = available(group)
    near = get_close_matches(name, names, n=1)
    guess = f"did you mean `{near[0]}`? " if near else ""
    known = f"known: {', '.join(names)}; " if names else ""
    raise InputError(f"no {kind} is called `{name}`; {guess}{known}your own: package.module:object")


def _imported(path: str, kind: str, name: str) -> object:
    module_name, _, attributes = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: object = import_module(module_name)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except (Exception, SystemExit) as error:  # a module of the user's may raise anything when it is imported
        raise InputError(f"{kind} `{name}`: can't be imported ({type(error).__name__}: {error})") from error
    return found
