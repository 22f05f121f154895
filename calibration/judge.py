"""A judge whose scores are chances that people pass the case: a calibration around any judge."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from calibration.saved import Calibration
from calibration.statistics.mapping import ScoreMap
from judges.case import Case, Part
from judges.criterion import Criterion
from judges.engine.plan import assign
from judges.errors import InputError
from judges.fingerprint import fingerprint
from judges.judge import Judge
from judges.verdict import Abstained, Verdict

__all__ = ["Calibrated"]


@dataclass(frozen=True)
class Calibrated:
    """Judges as `inner` does, and says for each case how likely people are to pass it.

    A verdict's score is that chance, and passes where the inner one would by the fitted threshold: the map keeps the
    order of scores. Claims keep the scores they have. The judge and criterion must be those that were calibrated.
    """

    inner: Judge
    calibration: Calibration

    def __post_init__(self) -> None:
        criterion = Criterion.from_record(self.calibration.criterion)
        [assignment] = assign([criterion], [self.inner])
        if not self.calibration.fits(assignment):
            raise InputError(
                f"the calibration of `{criterion.name}` by `{self.calibration.judge}` is not of this judge, "
                f"`{self.inner.name}` as it is now; calibrate it (judges calibrate --save)"
            )
        if self.calibration.map is None:
            raise InputError(
                f"the calibration of `{criterion.name}` has no map from scores to chances: label more cases"
            )

    @property
    def name(self) -> str:
        """The inner judge's."""
        return self.inner.name

    @property
    def fingerprint(self) -> str:
        """The inner judge's and the map's: another map gives other scores."""
        return fingerprint(["calibrated", self.calibration.judge_fingerprint, self.calibration.map])

    @property
    def threshold(self) -> float:
        """The chance at the fitted threshold."""
        return _chance(self._map, self.calibration.threshold.at)

    @property
    def reads(self) -> tuple[Part, ...]:
        """The inner judge's."""
        return tuple(getattr(self.inner, "reads", ()))

    @property
    def workers(self) -> int:
        """The inner judge's."""
        return int(getattr(self.inner, "workers", 8))

    def supports(self, criterion: Criterion, /) -> bool:
        """The criterion that was calibrated, and no other."""
        return criterion.fingerprint == self.calibration.criterion_fingerprint

    async def judge(self, case: Case, criterion: Criterion, /, *, replicate: int = 0) -> Verdict | Abstained:
        """Judge one case.

        Raises:
            JudgesError: As the inner judge has it.
        """
        found = await self.inner.judge(case, criterion, replicate=replicate)
        if isinstance(found, Abstained):
            return found
        chance = _chance(self._map, found.score)
        return replace(
            found, score=chance, rationale=f"{chance:.2f} from a score of {found.score:.2f}: {found.rationale}"
        )

    async def aclose(self) -> None:
        """Let go of the inner judge's connections."""
        close: Callable[[], Awaitable[None]] | None = getattr(self.inner, "aclose", None)
        if close is not None:
            await close()

    @property
    def _map(self) -> ScoreMap:
        found = self.calibration.score_map
        assert found is not None, "checked when it was made"  # noqa: S101
        return found


def _chance(found: ScoreMap, score: float) -> float:
    return float(found.apply([score])[0])
