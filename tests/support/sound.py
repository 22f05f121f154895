"""What holds for every result of the statistics, whatever went in."""

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Protocol, cast

from judges.figures import FLAGS, REASONS, Figure


class Result(Protocol):
    """Anything that has a record."""

    def to_record(self) -> dict[str, object]: ...


def figures_in(result: object) -> Iterator[Figure]:
    """Every figure of a result, however deep."""
    if isinstance(result, Figure):
        yield result
    elif isinstance(result, tuple):
        for each in cast("tuple[object, ...]", result):
            yield from figures_in(each)
    elif is_dataclass(result):
        for field in fields(result):
            yield from figures_in(getattr(result, field.name))


def check_sound(result: Result) -> None:
    """Its record is JSON; every interval contains its estimate, and what is missing has a reason."""
    json.dumps(result.to_record(), allow_nan=False)
    for figure in figures_in(result):
        assert figure.reason is None or figure.reason in REASONS
        assert set(figure.flags) <= FLAGS
        assert figure.reason is not None or None not in (figure.value, figure.ci_low, figure.ci_high)
        numbers = (figure.value, figure.ci_low, figure.ci_high, figure.se)
        assert all(each is None or isfinite(each) for each in numbers)
        if figure.ci_low is not None and figure.ci_high is not None:
            middle = figure.value if figure.value is not None else (figure.ci_low + figure.ci_high) / 2
            slack = 1e-9 * max(1.0, abs(middle))
            assert figure.ci_low - slack <= middle <= figure.ci_high + slack
