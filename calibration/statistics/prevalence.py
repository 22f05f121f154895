"""The true pass rate of many judged items, from a few that humans labelled too.

How the labelled items were chosen decides which estimator is valid; the others are refused.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.arrays import Numbers, as_numbers, as_truths
from calibration.statistics.post_stratified import PostStratified, post_stratified, post_stratified_weighted
from calibration.statistics.ppi import Lambda, PpiMean, StratifiedMean, Stratum, ppi_mean, stratified_ppi, weighted_ppi
from calibration.statistics.rogan_gladen import RoganGladen, rogan_gladen
from calibration.statistics.two_phase import both_clusters, ids_of
from judges.figures import Figure, to_record
from judges.intervals import Clusters, proportion, ratio

__all__ = [
    "Estimator",
    "PassRate",
    "Selection",
    "Strata",
    "check_estimator",
    "check_population_value",
    "true_mean",
    "true_pass_rate",
]

Selection: TypeAlias = Literal[
    "random", "by_verdict", "by_score", "by_gold", "old_error_rates", "old_predictive_values", "tuning"
]
"""How the labelled items were chosen.

`random`: a random sample of the stream. `by_verdict`, `by_score`: at rates that depend on the judge's verdict, or on
its score. `by_gold`: at rates that depend on what the human said. `old_error_rates`: labels of other data, whose TPR
and TNR still hold. `old_predictive_values`: of other data, whose P(human | verdict) still holds. `tuning`: labels that
the judge was tuned on.
"""
Estimator: TypeAlias = Literal[
    "post_stratified", "rogan_gladen", "ppi", "ppi_plus_plus", "stratified_ppi", "weighted_ppi", "human_only"
]

Strata: TypeAlias = tuple[Sequence[Hashable], Sequence[Hashable]]
"""The stratum of each labelled and of each unlabelled item."""

VALID: Mapping[Selection, tuple[Estimator, ...]] = {
    "random": ("post_stratified", "ppi_plus_plus", "ppi", "stratified_ppi", "rogan_gladen", "human_only"),
    "by_verdict": ("post_stratified", "stratified_ppi", "weighted_ppi"),
    "by_score": ("stratified_ppi", "weighted_ppi"),
    "by_gold": ("rogan_gladen",),
    "old_error_rates": ("rogan_gladen",),
    "old_predictive_values": ("post_stratified",),
    "tuning": (),
}
"""The estimators that hold for each way of choosing, the one to prefer for verdicts first."""
POPULATION: Mapping[Selection, frozenset[str]] = {
    "random": frozenset({"accuracy", "precision", "npv", "recall", "specificity", "kappa"}),
    "by_verdict": frozenset({"precision", "npv"}),
    "by_gold": frozenset({"recall", "specificity"}),
    "old_error_rates": frozenset({"recall", "specificity"}),
    "old_predictive_values": frozenset({"precision", "npv"}),
}
"""What may be read off the labelled items as a value of the stream."""


def check_estimator(selection: Selection, estimator: Estimator) -> None:
    """Raise ValueError, saying what to use instead, if the estimator doesn't hold for such a choice of items."""
    if selection not in VALID:
        raise ValueError(f"{selection!r} is no way of choosing: use one of {', '.join(VALID)}")
    if selection == "tuning":
        raise ValueError(
            "the labels were used to tune the judge: label fresh items, or cross-fit (verdicts on each item from a "
            "judge tuned without it) and pass these as 'random'"
        )
    if estimator not in VALID[selection]:
        raise ValueError(
            f"{estimator} is not valid for items chosen {selection!r}: use {' or '.join(VALID[selection])}"
        )


def check_population_value(name: str, selection: Selection) -> None:
    """Raise ValueError if this rate of the labelled items says nothing about the stream they were chosen from."""
    if name not in POPULATION["random"]:
        raise ValueError(f"{name!r} is none of {', '.join(sorted(POPULATION['random']))}")
    held = POPULATION.get(selection, frozenset())
    if name not in held:
        remedy = f"only {' and '.join(sorted(held))} hold" if held else "no raw rate holds"
        raise ValueError(
            f"{name} is no value of the stream for items chosen {selection!r}: {remedy}; label a random sample"
        )


@dataclass(frozen=True, slots=True)
class PassRate:
    """The rate of the stream by the estimator that the choice of labelled items allows, and what stands beside it."""

    estimate: Figure
    estimator: Estimator
    selection: Selection
    judge_only: Figure
    """What the judge alone says of the stream; its interval knows nothing of the judge's errors."""
    human_only: Figure
    """What humans say of the labelled items."""
    human_only_is_valid: bool
    """Whether that estimates the stream: only a random sample does."""
    detail: RoganGladen | PostStratified | PpiMean | StratifiedMean | None

    def to_record(self) -> dict[str, object]:
        """The rates as JSON-ready values."""
        return to_record(self)


def true_pass_rate(
    human: Numbers,
    judge: Numbers,
    judge_unlabelled: Numbers,
    *,
    selection: Selection,
    estimator: Estimator | None = None,
    strata: Strata | None = None,
    inclusion: Numbers | None = None,
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    level: float = 0.95,
) -> PassRate:
    """The share of the stream that humans would pass.

    Args:
        human: One truth value per labelled item.
        judge: The judge's verdict on the same items.
        judge_unlabelled: Its verdict on the other items of the stream; on all of its items for labels of `by_gold` and
            of old data, as these are no sample of it.
        selection: How the labelled items were chosen.
        estimator: None picks the one to prefer.
        strata: For `stratified_ppi`: the stratum of each labelled and of each unlabelled item, such as its bin of the
            judge's score. Within a stratum each item was as likely to be chosen.
        inclusion: For `weighted_ppi`: the probability with which each labelled item was chosen.
        clusters: One id per labelled item; then also one per unlabelled item.
        clusters_unlabelled: One id per unlabelled item.
        level: Of the two-sided intervals.

    Returns:
        Labels without an error of the judge (`zero_residual_variance`, of a stratum too) tell PPI nothing of the errors
        they missed: the estimate is then post-stratified, with the weights that the choice of items asks for.

    Raises:
        ValueError: The estimator is not valid for such a choice, or the arrays don't fit each other.
    """
    y = as_truths(human, "human label")
    f, others = as_truths(judge, "verdict", y.size), as_truths(judge_unlabelled, "verdict")
    chosen = estimator or _preferred(selection, strata, inclusion)
    check_estimator(selection, chosen)
    both_clusters(clusters, clusters_unlabelled, y.size, others.size)
    inside = _in_stream(selection)
    human_only = proportion(y, clusters, level=level)
    stream, stream_ids = others, clusters_unlabelled
    if inside:
        stream = np.concatenate([f, others])
        if clusters is not None and clusters_unlabelled is not None:
            stream_ids = [*clusters, *clusters_unlabelled]
    judge_only = proportion(stream, stream_ids, level=level)
    ids = (clusters, clusters_unlabelled)
    detail: RoganGladen | PostStratified | PpiMean | StratifiedMean | None = None
    match chosen:
        case "human_only":
            estimate = human_only
        case "rogan_gladen":
            detail = rogan_gladen(y, f, others, clusters=ids[0], clusters_stream=ids[1], level=level)
            estimate = detail.estimate
        case "post_stratified":
            detail = post_stratified(
                y, f, others, clusters=ids[0], clusters_unlabelled=ids[1], labelled_in_stream=inside, level=level
            )
            estimate = detail.estimate
        case _:
            numbers = as_numbers(y, "human label"), as_numbers(f, "verdict"), as_numbers(others, "verdict")
            detail = _ppi(*numbers, chosen, strata, inclusion, ids, level)
            estimate = _clipped(detail.figure)
            if "zero_residual_variance" in estimate.flags and estimate.reason != "too_few":
                estimate = _without_errors(y, f, others, _probabilities(chosen, strata, inclusion), ids, level)
    return PassRate(estimate, chosen, selection, judge_only, human_only, selection == "random", detail)


def true_mean(
    human: Numbers,
    judge: Numbers,
    judge_unlabelled: Numbers,
    *,
    selection: Selection,
    estimator: Estimator | None = None,
    strata: Strata | None = None,
    inclusion: Numbers | None = None,
    clusters: Clusters | None = None,
    clusters_unlabelled: Clusters | None = None,
    level: float = 0.95,
) -> PassRate:
    """The mean score that humans would give the stream; PPI++ by default. Arguments as in `true_pass_rate`.

    Where the labels show no error of the judge at all (`zero_residual_variance`) no interval is given (singular).
    """
    y, others = as_numbers(human, "human score"), as_numbers(judge_unlabelled, "judge score")
    f = as_numbers(judge, "judge score", y.size)
    if selection in VALID and selection != "tuning" and not _in_stream(selection):
        raise ValueError(
            f"scores can't be corrected by items chosen {selection!r}: use a random sample of this stream, or one "
            "drawn by the judge's score with stratified_ppi or weighted_ppi; for truth values use true_pass_rate"
        )
    preferred = _preferred("by_score", strata, inclusion)
    chosen = estimator or ("ppi_plus_plus" if selection == "random" else preferred)
    check_estimator(selection, chosen)
    if chosen in ("post_stratified", "rogan_gladen"):
        raise ValueError(f"{chosen} is for truth values: use ppi_plus_plus, stratified_ppi or weighted_ppi for scores")
    ids = (clusters, clusters_unlabelled)
    both = both_clusters(*ids, y.size, others.size)
    everything = np.concatenate([f, others])
    judge_only = ratio(
        everything, np.ones(everything.size), None if both is None else [*both[0], *both[1]], level=level
    )
    human_only = ratio(y, np.ones(y.size), clusters, level=level)
    if chosen == "human_only":
        return PassRate(human_only, chosen, selection, judge_only, human_only, True, None)
    detail = _ppi(y, f, others, chosen, strata, inclusion, ids, level)
    estimate = detail.figure
    if "zero_residual_variance" in estimate.flags and estimate.reason is None:
        estimate = replace(estimate, ci_low=None, ci_high=None, method=None, reason="singular")
    return PassRate(estimate, chosen, selection, judge_only, human_only, selection == "random", detail)


def _in_stream(selection: Selection) -> bool:
    return selection in ("random", "by_verdict", "by_score")


def _preferred(selection: Selection, strata: Strata | None, inclusion: Numbers | None) -> Estimator:
    if selection == "by_score" and strata is None and inclusion is not None:
        return "weighted_ppi"
    return (VALID.get(selection) or ("post_stratified",))[0]


def _without_errors(
    y: NDArray[np.bool_],
    f: NDArray[np.bool_],
    others: NDArray[np.bool_],
    inclusion: Numbers | None,
    ids: tuple[Clusters | None, Clusters | None],
    level: float,
) -> Figure:
    """The rate where the labels show no error of the judge."""
    if inclusion is None:
        found = post_stratified(y, f, others, clusters=ids[0], clusters_unlabelled=ids[1], level=level).estimate
    else:
        found = post_stratified_weighted(
            y, f, others, inclusion, clusters=ids[0], clusters_unlabelled=ids[1], level=level
        )
    return replace(found, flags=tuple(sorted({*found.flags, "zero_residual_variance"})))


def _probabilities(chosen: Estimator, strata: Strata | None, inclusion: Numbers | None) -> Numbers | None:
    """With which each labelled item was chosen; None where all were as likely."""
    if chosen != "stratified_ppi" or strata is None:
        return inclusion if chosen == "weighted_ppi" else None
    labelled, rest = Counter(strata[0]), Counter(strata[1])
    return [labelled[name] / (labelled[name] + rest[name]) for name in strata[0]]


def _clipped(figure: Figure) -> Figure:
    """A rate that reaches beyond 0 or 1 by chance."""
    value, low, high = (
        None if each is None else min(max(each, 0.0), 1.0) for each in (figure.value, figure.ci_low, figure.ci_high)
    )
    return replace(figure, value=value, ci_low=low, ci_high=high)


def _ppi(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    others: NDArray[np.float64],
    chosen: Estimator,
    strata: Strata | None,
    inclusion: Numbers | None,
    ids: tuple[Clusters | None, Clusters | None],
    level: float,
) -> PpiMean | StratifiedMean:
    if chosen == "weighted_ppi":
        if inclusion is None:
            raise ValueError("weighted_ppi needs the probability with which each item was chosen: give `inclusion`")
        return weighted_ppi(y, f, others, inclusion, clusters=ids[0], clusters_unlabelled=ids[1], level=level)
    if chosen != "stratified_ppi":
        lam: Lambda = "tuned" if chosen == "ppi_plus_plus" else 1.0
        if others.size == 0:
            lam = 0.0
        return ppi_mean(y, f, others, lam=lam, clusters=ids[0], clusters_unlabelled=ids[1], level=level)
    if strata is None:
        raise ValueError(
            "stratified_ppi needs the stratum of every item: give `strata`, such as bins of the judge's score; "
            "or for weighted_ppi `inclusion`, the probability with which each was chosen"
        )
    first, second = strata
    if len(first) != y.size or len(second) != others.size:
        raise ValueError("strata don't fit the items: give the stratum of each labelled and of each unlabelled item")
    found: list[Stratum] = []
    for name in dict.fromkeys([*first, *second]):
        inside = np.array([each == name for each in first], dtype=np.bool_)
        outside = np.array([each == name for each in second], dtype=np.bool_)
        parts = [None if c is None else ids_of(c, kept) for c, kept in zip(ids, (inside, outside), strict=True)]
        population = int(np.count_nonzero(inside)) + int(np.count_nonzero(outside))
        found.append(Stratum(y[inside], f[inside], others[outside], population, "tuned", parts[0], parts[1]))
    return stratified_ppi(found, level=level)
