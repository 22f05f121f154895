"""A number about data, with its interval and the reasons behind it; or the reason why there is no number.

Shared by the summary of a run and by all of `calibration`. What is 0/0 is undefined: `value` is None and `reason` says
why. NaN never stands for anything.
"""

from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Literal, cast

__all__ = ["FLAGS", "REASONS", "Figure", "to_record", "undefined"]

REASONS = frozenset(
    {
        "no_data",
        "too_few",
        "single_category",
        "constant_rater",
        "constant_input",
        "constant_judge",
        "no_positive_gold",
        "no_negative_gold",
        "no_positive_pred",
        "no_negative_pred",
        "no_positives",
        "no_pairable",
        "no_discordant",
        "judge_uninformative",
        "no_threshold",
        "empty_stratum",
        "not_identified",
        "too_few_clusters",
        "tie",
        "no_relevant",
        "no_elbow",
        "singular",
        "many_undefined_resamples",
    }
)
"""Why a value or its interval is undefined."""

FLAGS = frozenset(
    {
        "constant_rater",
        "perfect_agreement",
        "zero_residual_variance",
        "zero_variance_differences",
        "small_n",
        "few_clusters",
        "rare_class",
        "high_drop",
        "many_undefined_resamples",
    }
)
"""What to keep in mind about a value that is defined."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic.

    A figure may have a value and no interval: then `ci_low` and `ci_high` are None and `reason` says why.
    """

    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    level: float = 0.95
    method: str | None = None
    """The name of the interval."""
    n: int = 0
    """Items the value was computed from."""
    n_clusters: int | None = None
    n_dropped: int = 0
    """Items left out because a part was missing."""
    reason: str | None = None
    """A code of `REASONS`: why the value, or only the interval, is undefined."""
    flags: tuple[str, ...] = ()
    """Codes of `FLAGS`, sorted."""
    se: float | None = None
    """Standard error, where the interval is built on one."""
    deff: float | None = None
    """Design effect: the variance with clusters over the variance without."""
    undefined_share: float | None = None
    """Share of the resamples that had no value, where the interval is a bootstrap's."""
    seed: int | None = None
    """Seed of the random generator, where one was used."""

    @property
    def status(self) -> Literal["ok", "undefined"]:
        """Whether there is a value."""
        return "undefined" if self.value is None else "ok"

    def to_record(self) -> dict[str, object]:
        """The figure as JSON-ready values, `status` included."""
        record: dict[str, object] = asdict(self)
        record["flags"] = list(self.flags)
        record["status"] = self.status
        return record


def undefined(reason: str, *, n: int = 0, n_dropped: int = 0, level: float = 0.95) -> Figure:
    """A figure without a value.

    Raises:
        ValueError: `reason` is not one of `REASONS`.
    """
    if reason not in REASONS:
        raise ValueError(f"{reason!r} is not a reason code")
    return Figure(None, n=n, n_dropped=n_dropped, level=level, reason=reason)


def to_record(result: object) -> dict[str, object]:
    """A result made of figures, as JSON-ready values. Labels that JSON has no form for become text."""
    if not is_dataclass(result) or isinstance(result, type):
        raise TypeError(f"{result!r} is no result")
    return {field.name: _plain(cast("object", getattr(result, field.name))) for field in fields(result)}


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Figure):
        return value.to_record()
    if isinstance(value, tuple):
        return [_plain(each) for each in cast("tuple[object, ...]", value)]
    if callable(item := getattr(value, "item", None)):  # a number of numpy's
        return _plain(item())
    return to_record(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
