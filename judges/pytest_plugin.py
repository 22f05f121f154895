"""The pytest plugin: a fixture `judged` that judges cases, and one assertion on what comes of it.

    def test_answers_stay_faithful(judged):
        judged(load("smoke.jsonl"), FAITHFULNESS, judge="overlap").must_reach(0.8)

Every pytest of the environment loads this module, so it imports nothing heavy until a test asks for the fixture.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest

if TYPE_CHECKING:
    from judges.case import Case
    from judges.config import Connections
    from judges.criterion import Criterion
    from judges.engine.results import Results
    from judges.gate import Basis
    from judges.judge import Judge
    from judges.summary import SummaryRow
    from judges.verdict import Judgement

__all__ = ["Judged", "JudgedCases", "judged"]

Share: TypeAlias = Literal["mean", "strict"]
"""The mean score; or the share of answers in which every claim passes."""

_WORST = 5
_ID_LENGTH = 32
_WHY_LENGTH = 100


@pytest.fixture(scope="session")
def judged(request: pytest.FixtureRequest) -> Generator["Judged"]:
    """Judges cases: `judged(cases, FAITHFULNESS, judge="overlap").must_reach(0.8)`."""
    made = Judged(request.config.rootpath)
    yield made
    made.close()


class Judged:
    """Judges cases within a test. Judges are those of the command line, `judges.toml` of the root folder included."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._connections: Connections | None = None

    def __call__(
        self,
        cases: "Iterable[Case]",
        criterion: "Criterion | str",
        *,
        judge: "Judge | str",
        replicates: int = 1,
        workers: int | None = None,
    ) -> "JudgedCases":
        """Judge cases by one criterion.

        Args:
            cases: From `judges.load`, or made in the test.
            criterion: Itself or its name.
            judge: Itself or its name: `overlap`, `openai:MODEL`, one of `judges.toml`.
            replicates: How often each judgement is made.
            workers: Judgements under way at a time; by default as many as the judge can have.

        Raises:
            JudgesError: As `judges.evaluate`.
        """
        __tracebackhide__ = True
        from judges.config import criterion_named
        from judges.engine.evaluate import evaluate_sync

        asked = criterion_named(criterion) if isinstance(criterion, str) else criterion
        asker = self._connect().judge(judge) if isinstance(judge, str) else judge
        results = evaluate_sync(cases, asked, asker, replicates=replicates, workers=workers)
        return JudgedCases(asked.name, asker.name, results, float(getattr(asker, "threshold", 0.5)))

    def close(self) -> None:
        """Close what the judges were given."""
        if self._connections is not None:
            self._connections.close()

    def _connect(self) -> "Connections":
        if self._connections is None:
            from judges.config import Connections
            from judges.settings import FILE_NAME, read_settings

            file = self._root / FILE_NAME
            self._connections = Connections(read_settings(file if file.exists() else None))
        return self._connections


@dataclass(frozen=True, slots=True)
class JudgedCases:
    """Cases that were judged by one criterion."""

    criterion: str
    judge: str
    results: "Results"
    """The judgements, in order of the cases."""
    threshold: float
    """A score at or above it passes: the judge's own."""

    def must_reach(
        self, bound: float, *, share: Share = "mean", basis: "Basis" = "this set", max_failures: float = 0.05
    ) -> None:
        """Fail the test unless these cases reach `bound`.

        Args:
            bound: From 0 to 1.
            share: What must reach it.
            basis: `this set`: the value on these very cases. `interval`: the lower end of its interval, so that it
                holds for others like them; of 20 cases out of 20 that is 0.84.
            max_failures: Share of the judgements that may fail; with more of them the test fails.

        Raises:
            AssertionError: They don't reach it; the message lists the lowest.
        """
        __tracebackhide__ = True
        from judges.gate import Requirement
        from judges.summary import summarise

        rows = summarise(self.results, threshold=self.threshold)
        if not rows:
            raise AssertionError(f"{self.criterion} by {self.judge}: there is no case to judge")
        [row] = rows
        figure = row.mean if share == "mean" else row.strict
        name = self.criterion if share == "mean" else f"{self.criterion}.strict"
        result = Requirement(name, ">=", bound).check(figure, basis=basis)
        result = result.unless_failed(sum(row.failed.values()) / row.asked, max_failures)
        if result.status != "PASS":
            value = "has no value" if figure.value is None else f"is {figure.value:.3f}"
            why = f" on these {row.judged:,}" if result.status == "FAIL" and basis == "this set" else ""
            head = f"{name} by {self.judge} {value}{why}; it must reach {bound:g}"
            if not why:
                head += f": {result.reason}"
            raise AssertionError("\n".join([head, f"{_made_of(row)}; the lowest:", *_lowest(self.results)]))


def _made_of(row: "SummaryRow") -> str:
    """What the figure was made from."""
    counts = [(row.judged, "judged")]
    counts += [(count, f"abstained ({reason})") for reason, count in sorted(row.abstained.items())]
    counts += [(count, f"failed ({error})") for error, count in sorted(row.failed.items())]
    return ", ".join(f"{count:,} {what}" for count, what in counts)


def _lowest(results: "Iterable[Judgement]") -> list[str]:
    """The lowest scores and why, then failures and why, a line each."""
    from judges.printable import printable
    from judges.verdict import Failed, Verdict

    scored: list[tuple[float, str, str]] = []
    failures: list[tuple[str, str, str]] = []
    for judgement in results:
        match judgement.outcome:
            case Verdict() as verdict:
                lowest = min(verdict.claims, key=lambda claim: claim.score, default=None)
                why = verdict.rationale if lowest is None else f"{lowest.rationale} – {lowest.text}"
                scored.append((verdict.score, judgement.case_id, why))
            case Failed() as failed:
                failures.append(("fail", judgement.case_id, f"{failed.error}: {failed.message}"))
            case _:
                pass
    scored.sort(key=lambda each: each[0])
    worst = [(f"{score:.2f}", case_id, why) for score, case_id, why in scored[:_WORST]]
    return [
        f"  {said}  {printable(case_id, _ID_LENGTH)}: {printable(why, _WHY_LENGTH)}"
        for said, case_id, why in (*worst, *failures[:_WORST])
    ]
