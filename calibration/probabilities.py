"""Whether a judge's scores mean what they say, as they are and after recalibration; and where they are best cut."""

from dataclasses import dataclass

import numpy as np

from calibration.cuts import Cut, CutRule, best_cut, cut_interval, decide_out_of_fold, folds_of
from calibration.items import Items
from calibration.meaning import FAIL, PASS
from calibration.statistics.agreement import kappa, kappa_difference, percent_agreement
from calibration.statistics.mapping import ScoreMap, cross_fit
from calibration.statistics.reliability import (
    ReliabilityTable,
    area_under_curve,
    brier,
    calibration_line,
    pair_scored,
    reliability_table,
)
from calibration.statistics.tables import pair_labels
from calibration.statistics.threshold import (
    MinimumCost,
    Rule,
    TargetPrecision,
    Youden,
    cross_fit_threshold,
)
from judges.errors import InputError
from judges.figures import Figure, to_record, undefined

__all__ = [
    "Probabilities",
    "Reliability",
    "SuggestedThreshold",
    "parse_rule",
    "probabilities",
    "suggest_threshold",
]

BINS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """How far scores, read as probabilities of people's pass, are from what became of them."""

    table: ReliabilityTable
    brier: Figure
    skill: Figure
    """1 less Brier score over that of always saying the overall rate: above 0 the scores tell something."""
    slope: Figure
    """Of the calibration line: below 1 scores are too extreme, above 1 too timid."""
    in_the_large: Figure
    """Below 0 scores are too high on the whole."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class Probabilities:
    """The judge's scores as they are, and as probabilities by a map fitted to the labels."""

    area_under_curve: Figure
    """The chance that a case people pass scores higher than one they fail."""
    as_is: Reliability | None
    """None where scores lie beyond 0 and 1, so that they are no probabilities."""
    recalibrated: Reliability | None
    """By maps that never saw the case: Platt's, fitted to the other folds. None with too few cases."""
    map: ScoreMap | None
    """Platt's, fitted to all: the one to use."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return {**to_record(self), "map": None if self.map is None else self.map.to_record()}


def probabilities(items: Items) -> Probabilities:
    """Hold scores against people's passes and fails.

    Args:
        items: With a score each.
    """
    scores, good, clusters = items.scores, items.good, items.clusters
    whole = pair_scored(scores, good, clusters=clusters)
    usable = scores.size > 0 and scores.min() >= 0 and scores.max() <= 1
    folds = folds_of(scores.size, clusters)
    fitted = None
    if folds is not None and np.unique(good).size == 2:
        fitted = cross_fit(scores, good, kind="platt", folds=folds, clusters=clusters)
    return Probabilities(
        area_under_curve(whole),
        _reliability(scores.tolist(), items) if usable else None,
        None if fitted is None else _reliability(fitted.probabilities, items),
        None if fitted is None else fitted.map,
    )


def _reliability(scores: "list[float] | tuple[float | None, ...]", items: Items) -> Reliability:
    paired = pair_scored(scores, items.good, clusters=items.clusters)
    parts, line = brier(paired), calibration_line(paired)
    return Reliability(reliability_table(paired, bins=BINS), parts.score, parts.skill, line.slope, line.in_the_large)


# The threshold


def parse_rule(text: str) -> CutRule:
    """The rule for a threshold: `kappa`, `youden`, `cost:5:1` (of a false pass and a false fail), `precision:0.9`.

    Raises:
        InputError: It is none of these.
    """
    name, *numbers = text.split(":")
    try:
        match name, [float(each) for each in numbers]:
            case "kappa", []:
                return "kappa"
            case "youden", []:
                return Youden()
            case "cost", [false_pass, false_fail]:
                return MinimumCost(false_pass, false_fail)
            case "precision", [target]:
                return TargetPrecision(target)
            case _:
                pass
    except ValueError:
        pass
    raise InputError(
        f"--rule {text}: choose kappa, youden, cost:5:1 (what a false pass and a false fail cost) or precision:0.9"
    )


@dataclass(frozen=True, slots=True)
class SuggestedThreshold:
    """Another threshold, and what it would do: found on these cases, judged on those it was not found on."""

    rule: str
    now: float | None
    """The threshold in use."""
    at: Figure
    """The threshold by the rule; None where nothing should pass. The interval says how far it moves with the cases."""
    kappa_now: Figure
    kappa: Figure
    """Out of fold: each case decided by a threshold chosen without it."""
    agreement: Figure
    """Out of fold."""
    gain: Figure
    """Kappa out of fold less kappa now, on the same cases."""
    optimism: float | None
    """How much higher kappa looks on the cases the threshold was chosen on."""
    cost: Figure | None
    """Mean cost of a case out of fold, where the rule is about costs."""

    @property
    def suggested(self) -> bool:
        """Whether to change the threshold: kappa is shown to rise; by any other rule, it is the user's wish."""
        if self.at.value is None:
            return False
        return self.rule != "kappa" or (self.gain.ci_low is not None and self.gain.ci_low > 0)

    def to_record(self) -> dict[str, object]:
        """The suggestion as JSON-ready values."""
        return {**to_record(self), "suggested": self.suggested}


def suggest_threshold(items: Items, rule: CutRule, *, now: float | None) -> SuggestedThreshold | None:
    """The threshold that is best by a rule, cross-fitted; None with too few cases, or one class only.

    Args:
        items: With a score each.
        rule: What is best.
        now: The threshold in use.
    """
    scores, good, clusters = items.scores, items.good, items.clusters
    folds = folds_of(scores.size, clusters)
    if folds is None or np.unique(good).size < 2:
        return None
    cost = None
    if rule == "kappa":
        name, cut = "kappa", best_cut(scores, good)
        decided = decide_out_of_fold(scores, good, folds).tolist()
    else:
        name = _name_of(rule)
        found = cross_fit_threshold(scores, good, rule, folds=folds, clusters=clusters)
        cut = Cut(found.apparent.threshold, 0.0)
        decided = [bool(each) for each in found.decisions]
        cost = found.value if isinstance(rule, MinimumCost) else None
    out_of_fold = [PASS if each else FAIL for each in decided]
    apparent = [PASS if each else FAIL for each in cut.passes(scores).tolist()]
    current = ["pass" if each.said == PASS else "fail" for each in items.pairs]
    paired, looked = (
        pair_labels(items.gold, each, labels=items.labels, clusters=clusters) for each in (out_of_fold, apparent)
    )
    compared = kappa_difference(items.gold, out_of_fold, current, labels=items.labels, clusters=clusters)
    reached, shown = kappa(paired), kappa(looked)
    at = undefined("no_threshold", n=scores.size)
    if cut.at is not None:
        at = cut_interval(scores, good, cut.at, clusters, rule=rule)
    return SuggestedThreshold(
        name,
        now,
        at,
        compared.kappa_b,
        reached,
        percent_agreement(paired),
        compared.difference,
        None if reached.value is None or shown.value is None else shown.value - reached.value,
        cost,
    )


def _name_of(rule: Rule) -> str:
    match rule:
        case Youden():
            return "youden"
        case MinimumCost(false_positive=false_pass, false_negative=false_fail):
            return f"cost:{false_pass:g}:{false_fail:g}"
        case TargetPrecision(target=target):
            return f"precision:{target:g}"
