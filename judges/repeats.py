"""How often a judge changed its mind, where a share of the judgements of a run was made once more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judges.engine.run import Manifest, Run
from judges.figures import Figure
from judges.intervals import proportion

__all__ = ["RepeatRow", "summarise_repeats"]


@dataclass(frozen=True, slots=True)
class RepeatRow:
    """One criterion by one judge."""

    criterion: str
    judge: str
    flipped: int
    """Judgements whose verdict changed."""
    rate: Figure
    """Their share, among those with two verdicts; `n_dropped` counts the others."""

    def __str__(self) -> str:
        if self.rate.value is None or self.rate.ci_low is None or self.rate.ci_high is None:
            return "no verdict was made twice"
        between = f"{self.rate.value:.2f} [{self.rate.ci_low:.2f}, {self.rate.ci_high:.2f}]"
        return f"asked once more, the verdict changed on {self.flipped:,} of {self.rate.n:,}: {between}"

    def to_record(self) -> dict[str, Any]:
        """The row as JSON-ready values."""
        return {
            "criterion": self.criterion,
            "judge": self.judge,
            "flipped": self.flipped,
            "flip_rate": self.rate.to_record(),
        }


def summarise_repeats(run: Run, manifest: Manifest, thresholds: Mapping[tuple[str, str], float]) -> list[RepeatRow]:
    """A row for each criterion and judge.

    Args:
        run: Where the judgements are.
        manifest: What was asked; its `repeat_share` is above 0.
        thresholds: Where passes begin, by the names of criterion and judge; else the judge's own.

    Raises:
        LedgerError: A file of the run can't be read.
    """
    turns: dict[tuple[str, str], list[bool]] = {(each.criterion.name, each.judge): [] for each in manifest.assignments}
    dropped = dict.fromkeys(turns, 0)
    for _, assignment, first, again in run.repeats(manifest):
        name = assignment.criterion.name, assignment.judge
        one, two = (None if judgement is None else judgement.score for judgement in (first, again))
        if one is None or two is None:
            dropped[name] += 1
            continue
        cut = thresholds.get(name, assignment.threshold)
        turns[name].append((one >= cut) != (two >= cut))
    return [RepeatRow(*name, sum(each), proportion(each, n_dropped=dropped[name])) for name, each in turns.items()]
