"""How often a gate raises a false alarm when nothing has changed: `python benchmarks/gate_false_alarms.py [--json]`.

A run is held against another run of the very same system (A/A): the same cases, answered and judged anew, so that only
chance differs. Every alarm is a false one. Scores are made up: each case has its own difficulty, each answer to it its
own luck, and each repeat of a judgement a little noise; what a case scores is that, or 1 if it passes and 0 if not.

`gate` is `judges gate --against`, which allows a drop of 0: the interval of the difference within cases, repeats of a
case averaged. Beside it are three habits it avoids. `value` raises an alarm if the mean is lower at all. `unpaired`
takes the two means apart, and looks whether their intervals overlap: it hardly ever alarms, since most of what it calls
chance is how hard the cases are, and so it misses drops too. `repeats as cases` takes each repeat for another case.
`several` is a gate on five criteria at once, whose intervals widen so that all of them together keep to 5%.

The last columns are what an alarm is for: how often a real drop of the mean by 0.05 is found.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from judges.baseline import drop_of, level_for
from judges.figures import Figure
from judges.gate import Requirement
from judges.intervals import mean

Scores = NDArray[np.float64]

NOTHING_LOST = Requirement("drop", "<=", 0.0)
CRITERIA = 5
METHODS = ("gate", "value", "unpaired", "repeats as cases", "several")
LOST = 0.05


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of simulated pairs of runs in which there was an alarm, by method."""

    cases: int
    repeats: int
    scores: str
    false_alarms: dict[str, float]
    found: dict[str, float]


def answers(generator: np.random.Generator, difficulty: Scores, repeats: int, *, binary: bool, lost: float) -> Scores:
    """One run: scores by case and repeat, their mean `lost` lower."""
    luck = generator.normal(0, 0.15, difficulty.size)[:, None]
    noise = generator.normal(0, 0.05, (difficulty.size, repeats))
    scores = np.clip(difficulty[:, None] + luck + noise, 0, 1)
    if binary:
        scores = (scores > 0.5).astype(np.float64)
    if lost:
        scores = np.where(generator.random(difficulty.size)[:, None] < lost / scores.mean(), 0.0, scores)
    return scores


def fails(figure: Figure) -> bool:
    return NOTHING_LOST.check(figure).status == "FAIL"


def alarms(before: Sequence[Scores], after: Sequence[Scores]) -> dict[str, bool]:
    """Which methods raise an alarm; the first criterion is that of all but `several`."""
    old, new = before[0], after[0]
    first, second = mean(old.mean(axis=1)), mean(new.mean(axis=1))
    level = level_for(len(before))
    return {
        "gate": fails(drop_of(old.mean(axis=1) - new.mean(axis=1), level=level_for(1))),
        "value": bool(new.mean() < old.mean()),
        "unpaired": first.ci_low is not None and second.ci_high is not None and second.ci_high < first.ci_low,
        "repeats as cases": fails(drop_of((old - new).ravel())),
        "several": any(
            fails(drop_of(one.mean(axis=1) - two.mean(axis=1), level=level))
            for one, two in zip(before, after, strict=True)
        ),
    }


def simulate(cases: int, repeats: int, *, binary: bool, rounds: int, seed: int) -> Rates:
    generator = np.random.default_rng(seed)
    shares: list[dict[str, float]] = []
    for lost in (0.0, LOST):
        counts: dict[str, int] = dict.fromkeys(METHODS, 0)
        for _ in range(rounds):
            difficulties = [generator.beta(5, 2, cases) for _ in range(CRITERIA)]
            before, after = (
                [answers(generator, each, repeats, binary=binary, lost=by) for each in difficulties]
                for by in (0.0, lost)
            )
            for method, alarm in alarms(before, after).items():
                counts[method] += alarm
        shares.append({method: count / rounds for method, count in counts.items()})
    return Rates(cases, repeats, "0 or 1" if binary else "0 to 1", *shares)


def main() -> None:
    parser = argparse.ArgumentParser(description="How often a gate alarms when nothing has changed.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=2000, help="pairs of runs of each kind (default: 2000)")
    parser.add_argument("--seed", type=int, default=7, help="of the random numbers (default: 7)")
    options = parser.parse_args()
    kinds = [(20, 1), (20, 3), (200, 1), (200, 3)]
    made = [
        simulate(cases, repeats, binary=binary, rounds=options.rounds, seed=options.seed)
        for binary in (False, True)
        for cases, repeats in kinds
    ]
    if options.json:
        document = {
            "benchmark": "gate_false_alarms",
            "rounds": options.rounds,
            "rates": [asdict(each) for each in made],
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    for title, rates in (
        ("false alarms: nothing has changed", [each.false_alarms for each in made]),
        (f"alarms when the mean has fallen by {LOST}", [each.found for each in made]),
    ):
        print(title)
        print(f"{'cases':>6}{'repeats':>9}{'scores':>9}" + "".join(f"{method:>18}" for method in METHODS))
        for each, shares in zip(made, rates, strict=True):
            row = "".join(f"{shares[method]:>18.1%}" for method in METHODS)
            print(f"{each.cases:>6}{each.repeats:>9}{each.scores:>9}{row}")
        print()


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
