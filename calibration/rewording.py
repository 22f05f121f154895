"""The same criterion asked otherwise: its levels listed the other way round, or under names that mean nothing.

What a level means and is worth stays as it was, so a judge that reads what levels mean says the same.
"""

from dataclasses import dataclass, replace

from judges.criterion import Criterion, Scale
from judges.errors import InputError

__all__ = ["check_rewording", "levels_renamed", "levels_reversed"]

_NAMES = "KLMNPQRSTUVWXYZ"
"""Letters that are no grades, and don't look like digits."""


@dataclass(frozen=True, slots=True)
class _Listed(Scale):
    """A scale to be shown, its levels in any order. What reads levels by their place would misread it, so it never
    leaves the prompt: verdicts are read by label.
    """

    def __post_init__(self) -> None:
        """Any order is allowed."""


def levels_reversed(criterion: Criterion) -> Criterion:
    """The criterion with its levels listed best first, in the prompt and in the reply's schema."""
    return replace(criterion, scale=_Listed(criterion.scale.levels[::-1]))


def levels_renamed(criterion: Criterion) -> Criterion | None:
    """The criterion with letters for labels; a level without a description is described by its old label.

    None where there are more levels than letters.
    """
    levels = criterion.scale.levels
    if len(levels) > len(_NAMES):
        return None
    names = dict(zip(criterion.scale.labels, _NAMES, strict=False))
    renamed = tuple(
        replace(level, label=names[level.label], description=level.description or level.label.replace("_", " "))
        for level in levels
    )
    examples = tuple(replace(example, label=names[example.label]) for example in criterion.examples)
    return replace(criterion, scale=Scale(renamed), examples=examples)


def check_rewording(criterion: Criterion, other: Criterion) -> None:
    """Look whether another wording asks the same.

    Raises:
        InputError: It judges something else, or by another scale.
    """
    for name, one, two in (
        ("what is judged", criterion.hypothesis, other.hypothesis),
        ("what it is judged against", criterion.premise, other.premise),
        ("its unit", criterion.unit, other.unit),
        ("its levels and their scores", _worth(criterion), _worth(other)),
    ):
        if one != two:
            raise InputError(
                f"--rephrased: `{criterion.name}` in other words must ask the same; {name} differs: {two} for {one}"
            )


def _worth(criterion: Criterion) -> str:
    return ", ".join(f"{level.label} {level.score:g}" for level in criterion.scale.levels)
