"""The pass rate that people would give the whole run, from the judge's verdicts and the few labels there are."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from calibration.items import Items
from calibration.meaning import PASS
from calibration.pairs import Pairs
from calibration.statistics.prevalence import PassRate, Selection, check_population_value, true_pass_rate
from judges.errors import InputError
from judges.figures import Figure, to_record
from judges.intervals import proportion

__all__ = ["CHOSEN", "Chosen", "CorrectedRate", "StratumOf", "check_value", "corrected_rate"]

Chosen: TypeAlias = Literal["random", "by-verdict", "by-score", "by-gold", "by-hand", "tuning", "unknown"]
CHOSEN: tuple[Chosen, ...] = ("random", "by-verdict", "by-gold", "by-hand", "tuning", "unknown")
"""What a user can say; `by-score` takes the design that says how."""
StratumOf: TypeAlias = Callable[[float | None], Hashable]
"""The stratum of a case, by its score."""

_SELECTIONS: dict[Chosen, Selection] = {
    "random": "random",
    "by-verdict": "by_verdict",
    "by-score": "by_score",
    "by-gold": "by_gold",
}


def check_value(name: str, chosen: Chosen) -> None:
    """Refuse to read a rate of the labelled cases (`kappa`, `recall`, ...) as one of the whole run.

    Raises:
        InputError: Cases chosen like this don't tell it; the message says what to do.
    """
    if chosen in ("by-hand", "tuning"):
        how = "picked by hand" if chosen == "by-hand" else "what the judge was tuned on"
        raise InputError(f"the labelled cases were {how}, so {name} is no value of the run; label a random sample")
    if chosen == "unknown":
        return
    try:
        check_population_value(name, _SELECTIONS[chosen])
    except ValueError as error:
        raise InputError(str(error)) from None


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """What the judge says, what people say, and what they would say of all."""

    chosen: Chosen
    """How the labelled cases were chosen, as the user or their design says."""
    naive: Figure
    """The judge's pass rate over the whole run. Its interval knows nothing of the judge's errors."""
    people: Figure
    """People's pass rate over the labelled cases."""
    corrected: PassRate | None
    """None where the way of choosing allows no estimate."""
    supported: bool
    """Whether the estimate is of the run. With an unknown way of choosing it is only if the cases were random."""

    def to_record(self) -> dict[str, object]:
        """The rates as JSON-ready values."""
        return to_record(self)


def corrected_rate(items: Items, pairs: Pairs, chosen: Chosen, stratum_of: StratumOf | None = None) -> CorrectedRate:
    """The corrected pass rate, as far as the way of choosing supports one.

    Args:
        items: What the judge is held against people on. A failed judgement is no verdict: it is left out.
        pairs: All pairs, with the verdicts on cases without a label.
        chosen: How the labelled cases were chosen.
        stratum_of: Within which strata, where it was by score. Within a stratum each case was as likely, so strata say
            all that the cases' probabilities do, and more exactly than weights would.
    """
    judged = [each for each in items.pairs if each.said in items.labels]
    human = [each.gold == PASS for each in judged]
    judge = [each.said == PASS for each in judged]
    rest = pairs.unlabelled_passed
    clusters = [each.cluster for each in judged] if pairs.clustered else None
    others = list(pairs.unlabelled_clusters) if pairs.clustered else None
    everyone = None if clusters is None or others is None else [*clusters, *others]
    selection = _SELECTIONS.get("random" if chosen == "unknown" else chosen)
    strata = None
    if selection == "by_score" and stratum_of is not None:
        strata = [stratum_of(each.score) for each in judged], list(map(stratum_of, pairs.unlabelled_scores))
    corrected = None
    if selection is not None and (selection != "by_gold" or rest):
        # chosen by people's label, the others are no sample of the run: only all of it has the run's rate of passes
        stream, groups = (list(rest), others) if selection != "by_gold" else ([*judge, *rest], everyone)
        corrected = true_pass_rate(
            human, judge, stream, selection=selection, strata=strata, clusters=clusters, clusters_unlabelled=groups
        )
    return CorrectedRate(
        chosen,
        proportion([*judge, *rest], everyone),
        proportion(human, clusters),
        corrected,
        corrected is not None and chosen != "unknown",
    )
