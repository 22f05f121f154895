"""Several judges of the same items: votes, the errors they share, and what they say together (Dawid-Skene).

Sources:
    Nitzan & Paroush 1982, International Economic Review 23:289 (weights). Dawid & Skene 1979, Applied
    Statistics 28:20.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import Resamples, resample
from calibration.statistics.tables import encode_labels
from judges.figures import Figure, to_record, undefined
from judges.intervals import Clusters, check_level, cluster_codes, sample_flags

__all__ = [
    "DAWID_SKENE_WARNING",
    "DawidSkene",
    "ErrorCorrelation",
    "PanelErrors",
    "Vote",
    "crossfit_weights",
    "dawid_skene",
    "majority_of_independent",
    "panel_errors",
    "vote",
]

Answers: TypeAlias = Sequence[Sequence[Hashable]] | NDArray[np.generic]
"""Shape (items, judges); None where an answer is missing, `INVALID` where it is no label."""

DAWID_SKENE_WARNING: Final = (
    "Dawid-Skene assumes that judges err independently given the truth; where they share errors it is too sure"
)
NOTHING = 1e-12
MAX_STEPS = 10_000
ENOUGH = 1e-10
RESAMPLES = 10_000


def _encode(answers: Answers, labels: Sequence[Hashable]) -> NDArray[np.intp]:
    width = len(answers[0]) if len(answers) else 0
    if any(len(row) != width for row in answers):
        raise ValueError("give every item as many answers as there are columns, None where one is missing")
    codes = np.array([encode_labels(row, labels, may_be_invalid=True) for row in answers], dtype=np.intp)
    return codes.reshape(len(answers), width)


# Votes


@dataclass(frozen=True, slots=True)
class Vote:
    """What several judges say about one item."""

    label: Hashable
    """None without votes, or with a tie."""
    share: float | None
    """Share of the weight that went to the label, or to each of the tied ones."""
    reason: str | None = None
    tied: tuple[Hashable, ...] = ()
    """The labels that tie, in the declared order."""

    def to_record(self) -> dict[str, object]:
        """The vote as JSON-ready values."""
        return to_record(self)


def vote(
    answers: Answers, *, labels: Sequence[Hashable], weights: Sequence[float] | NDArray[np.float64] | None = None
) -> tuple[Vote, ...]:
    """The label with most weight for each item; a tie is a result, and nobody is asked to break it.

    Args:
        answers: Shape (items, judges). Missing and invalid answers are no votes.
        labels: The declared labels.
        weights: Of each judge, shape (judges,), or of each judge for each item, shape (items, judges); 1 each if None.

    Raises:
        ValueError: A weight is negative or not finite, or shapes don't fit.
    """
    codes = _encode(answers, labels)
    weight = np.ones(codes.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape not in {codes.shape, codes.shape[1:]}:
        raise ValueError(f"weights of shape {weight.shape} for answers of shape {codes.shape}: give one per judge")
    if not bool(np.all(np.isfinite(weight) & (weight >= 0))):
        raise ValueError("weights are finite and not negative: leave out a judge that is worse than chance")
    weight = np.broadcast_to(weight, codes.shape)
    sums = np.array([np.sum(weight * (codes == code), axis=1) for code in range(len(labels))]).T
    given = np.array([(codes == code).any(axis=1) for code in range(len(labels))]).T
    return tuple(_vote(*row, tuple(labels)) for row in zip(sums, given, strict=True)) if len(codes) else ()


def _vote(sums: NDArray[np.float64], given: NDArray[np.bool_], labels: tuple[Hashable, ...]) -> Vote:
    if not bool(given.any()):
        return Vote(None, None, "no_data")
    total, most = float(sums.sum()), float(sums.max())
    first = np.flatnonzero(given & (sums >= most - 1e-9 * max(most, NOTHING)))
    share = most / total if total > 0 else None
    if first.size > 1:
        return Vote(None, share, "tie", tuple(labels[code] for code in first))
    return Vote(labels[int(first[0])], share)


def crossfit_weights(
    answers: Answers,
    gold: Sequence[Hashable] | NDArray[np.generic],
    *,
    labels: Sequence[Hashable],
    clusters: Clusters | None = None,
    folds: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Weights log(p/(1-p)) for `vote`, p being a judge's accuracy on the other folds only.

    p is (right + 1)/(n + 2), so that it is never 0 or 1; a judge worse than chance gets weight 0. Clusters stay
    together in one fold.

    Args:
        answers: Shape (items, judges).
        gold: One human label per item, None where it is missing.
        labels: The declared labels.
        clusters: One id per item, or None.
        folds: At least 2.
        seed: Of the split into folds.

    Returns:
        Shape (items, judges).

    Source:
        Nitzan & Paroush 1982, for independent judges.
    """
    codes, truth = _encode(answers, labels), encode_labels(gold, labels)
    if len(truth) != len(codes):
        raise ValueError(f"{len(truth)} human labels for {len(codes)} items: give one each, None where it is missing")
    if folds < 2:
        raise ValueError(f"{folds} folds: cross-fitting needs two or more")
    groups, n_groups = cluster_codes(np.arange(len(codes)) if clusters is None else clusters, len(codes))
    fold = (np.random.default_rng(seed).permutation(n_groups) % folds)[groups]
    known = (codes >= 0) & (truth >= 0)[:, None]
    right = known & (codes == truth[:, None])
    weights = np.zeros(codes.shape)
    for each in range(folds):
        others = fold != each
        share = (right[others].sum(axis=0) + 1) / (known[others].sum(axis=0) + 2)
        weights[~others] = np.maximum(np.log(share / (1 - share)), 0.0)
    return weights


def majority_of_independent(p_correct: float, m: int) -> float:
    """The chance that more than half of m independent judges are right, each with chance `p_correct`.

    Judges share errors, so this is the most that a panel can gain; repeats of one judge gain less still. Condorcet.
    """
    from scipy.special import bdtrc

    if not 0 <= p_correct <= 1 or m < 1:
        raise ValueError("give a chance from 0 to 1 and one judge or more")
    return float(bdtrc(m // 2, m, p_correct))


# Errors that judges share


@dataclass(frozen=True, slots=True)
class ErrorCorrelation:
    """How two judges' errors go together."""

    first: int
    second: int
    """Columns of the judges."""
    phi: Figure

    def to_record(self) -> dict[str, object]:
        """The correlation as JSON-ready values."""
        return to_record(self)


@dataclass(frozen=True, slots=True)
class PanelErrors:
    """How independent a panel's errors are."""

    pairs: tuple[ErrorCorrelation, ...]
    mean_phi: Figure
    """Over the pairs that have one."""
    effective_judges: Figure
    """m/(1 + (m-1) phi): how many independent judges the panel is worth."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return to_record(self)


def panel_errors(
    answers: Answers,
    gold: Sequence[Hashable] | NDArray[np.generic],
    *,
    labels: Sequence[Hashable],
    clusters: Clusters | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> PanelErrors:
    """Correlation phi of the errors of each two judges, and what it makes of the panel's size.

    Args:
        answers: Shape (items, judges), two judges or more; an invalid answer is an error.
        gold: One human label per item, None where it is missing.
        labels: The declared labels.
        clusters: One id per item, or None when items are independent.
        level: Of the two-sided BCa intervals.
        seed: Of the bootstrap.

    Returns:
        A pair has no phi (constant_rater) if one of the two is always right or always wrong.
    """
    check_level(level)
    codes, truth = _encode(answers, labels), encode_labels(gold, labels)
    if len(truth) != len(codes) or (len(codes) and codes.shape[1] < 2):
        raise ValueError("give the answers of two judges or more and one human label per item")
    n, judges = codes.shape
    columns = list(combinations(range(judges), 2))
    known, wrong = (codes >= 0) & (truth >= 0)[:, None], codes != truth[:, None]
    parts = np.zeros((n, len(columns), 4))
    for place, (a, b) in enumerate(columns):
        both = known[:, a] & known[:, b]
        parts[:, place] = np.column_stack(
            [both, both & wrong[:, a], both & wrong[:, b], both & wrong[:, a] & wrong[:, b]]
        )
    used = np.flatnonzero(parts.any(axis=(1, 2)))
    groups, n_groups = cluster_codes(used, used.size)
    if clusters is not None:
        groups, n_groups = cluster_codes(cluster_codes(clusters, n)[0][used], used.size)
    units = np.zeros((n_groups, len(columns) * 4))
    np.add.at(units, groups, parts[used].reshape(used.size, len(columns) * 4))
    kinds, times = np.unique(units, axis=0, return_counts=True)
    drawn = resample(kinds, times, resamples=RESAMPLES, seed=seed) if n_groups > 1 else None
    n_clusters, dropped = None if clusters is None else n_groups, n - used.size
    found = _phi(units.sum(axis=0)[None], None)[0]

    def figure(value: float, size: int, pair: int | None) -> Figure:
        if not isfinite(value):
            nothing = undefined("constant_rater" if size else "no_data", n=size, n_dropped=n - size, level=level)
            return replace(nothing, n_clusters=n_clusters)
        flags = sample_flags(size, n_clusters, n - size)
        plain = Figure(value, level=level, n=size, n_clusters=n_clusters, n_dropped=n - size, flags=flags)
        return _bootstrapped(plain, drawn, pair)

    sizes = [int(each) for each in units.sum(axis=0).reshape(-1, 4)[:, 0]]
    pairs = [
        ErrorCorrelation(a, b, figure(float(found[place]), sizes[place], place)) for place, (a, b) in enumerate(columns)
    ]
    phis = found[np.isfinite(found)]
    average = figure(float(phis.mean()) if phis.size else np.nan, n - dropped, None)
    return PanelErrors(tuple(pairs), average, _effective(average, judges))


def _bootstrapped(plain: Figure, drawn: Resamples | None, pair: int | None) -> Figure:
    if drawn is None:
        return replace(plain, reason="too_few" if plain.n_clusters is None else "too_few_clusters")
    found = drawn.interval(lambda totals: _phi(totals, "mean" if pair is None else pair)[:, 0], level=plain.level)
    return found.onto(plain)


def _phi(totals: NDArray[np.float64], which: int | str | None) -> NDArray[np.float64]:
    """Phi of every pair, of one, or their mean; NaN where a judge's errors don't vary. Shape (any, pairs or 1)."""
    tables = totals.reshape(len(totals), -1, 4)
    if isinstance(which, int):
        tables = tables[:, which : which + 1]
    n, first, second, both = np.moveaxis(tables, 2, 0)
    spread = first * (n - first) * second * (n - second)
    phi = np.where(spread > 0, (n * both - first * second) / np.sqrt(np.where(spread > 0, spread, 1.0)), np.nan)
    phi = np.clip(phi, -1.0, 1.0)
    if which != "mean":
        return np.asarray(phi, dtype=np.float64)
    defined = np.count_nonzero(~np.isnan(phi), axis=1)
    return np.where(defined > 0, np.nansum(phi, axis=1) / np.maximum(defined, 1), np.nan)[:, None]


def _effective(phi: Figure, m: int) -> Figure:
    def worth(value: float | None) -> float | None:
        return None if value is None or 1 + (m - 1) * value <= NOTHING else m / (1 + (m - 1) * value)

    if phi.value is None:
        return phi
    value, low, high = worth(phi.value), worth(phi.ci_high), worth(phi.ci_low)
    if value is None:
        return replace(undefined("singular", n=phi.n, n_dropped=phi.n_dropped, level=phi.level), flags=phi.flags)
    if low is None or high is None:
        return replace(phi, value=value, ci_low=None, ci_high=None, method=None, reason=phi.reason or "singular")
    return replace(phi, value=value, ci_low=low, ci_high=high)


# Dawid-Skene


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """What judges of unknown quality say together, with an error matrix for each."""

    items: tuple[Hashable, ...]
    judges: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    """As declared: the order of rows, columns and probabilities."""
    found: tuple[Hashable, ...]
    """The likeliest label of each item; None where several tie."""
    posterior: tuple[tuple[float, ...], ...]
    """By item: the probability of each label."""
    prior: tuple[float, ...]
    error_matrices: tuple[tuple[tuple[float, ...] | None, ...], ...]
    """By judge: a row per true label, the probabilities of what the judge then says. None for a label no item has."""
    log_likelihood: float | None
    steps: int
    converged: bool
    shared_errors: PanelErrors | None
    """Correlation of the judges' errors on the gold items; None without gold."""
    reason: str | None = None
    warning: str = DAWID_SKENE_WARNING

    def to_record(self) -> dict[str, object]:
        """The result as JSON-ready values."""
        return to_record(self)


def dawid_skene(
    items: Sequence[Hashable] | NDArray[np.generic],
    judges: Sequence[Hashable] | NDArray[np.generic],
    answers: Sequence[Hashable] | NDArray[np.generic],
    *,
    labels: Sequence[Hashable],
    gold: Mapping[Any, Hashable] | None = None,
    seed: int = 0,
) -> DawidSkene:
    """Estimate true labels and judges' error rates together, by EM from the shares of votes.

    Args:
        items: The item of each answer.
        judges: The judge of each answer; several answers of one judge to one item all count.
        answers: The labels given; missing and invalid ones are left out.
        labels: The declared labels.
        gold: Items whose true label is known: it is held fixed.
        seed: Of the bootstrap of `shared_errors`.

    Returns:
        With fewer than three judges nothing is estimated (not_identified); without answers, no_data.

    Raises:
        ValueError: The lengths differ, a label is not declared, or a gold item has no answer.

    Source:
        Dawid & Skene 1979. Stops at a relative change of the log-likelihood of 1e-10 or after 10,000 steps.
    """
    if not len(items) == len(judges) == len(answers):
        raise ValueError(
            f"{len(items)} items, {len(judges)} judges, {len(answers)} answers: give one of each per answer"
        )
    codes = encode_labels(answers, labels, may_be_invalid=True)
    kept = np.flatnonzero((codes >= 0) & (codes < len(labels)))
    item_codes, positions = _numbered(_chosen(items, kept))
    judge_codes, judge_positions = _numbered(_chosen(judges, kept))
    item_names, judge_names = tuple(positions), tuple(judge_positions)
    if len(judge_names) < 3:
        reason = "not_identified" if kept.size else "no_data"
        return DawidSkene(item_names, judge_names, tuple(labels), (), (), (), (), None, 0, False, None, reason)
    counts = np.zeros((len(item_names), len(judge_names), len(labels)))
    np.add.at(counts, (item_codes, judge_codes, codes[kept]), 1.0)
    truth = np.full(len(item_names), -1)
    for item, label in (gold or {}).items():
        if item not in positions:
            raise ValueError(f"gold item {item!r} has no answer: leave it out")
        truth[positions[item]] = encode_labels([label], labels)[0]
    clamped = truth >= 0
    fixed = np.eye(len(labels))[truth[clamped]]
    belief = counts.sum(axis=1)
    belief = belief / belief.sum(axis=1, keepdims=True)
    belief[clamped] = fixed
    last, found, steps, converged = -np.inf, 0.0, 0, False
    share, errors, mass = _maximise(belief, counts)
    while steps < MAX_STEPS and not converged:
        steps += 1
        belief, found = _expect(counts, share, errors, clamped, truth)
        converged = abs(found - last) <= ENOUGH * abs(found)
        if not converged:
            last, (share, errors, mass) = found, _maximise(belief, counts)
    best = belief.max(axis=1)
    leaders = belief >= best[:, None] - 1e-9
    names = tuple(labels[int(np.argmax(row))] if np.count_nonzero(row) == 1 else None for row in leaders)
    matrices = tuple(
        tuple(
            tuple(map(float, row)) if seen > 0 else None for row, seen in zip(errors[judge], mass[judge], strict=True)
        )
        for judge in range(len(judge_names))
    )
    shared = None
    if clamped.any():
        first = np.where(counts.any(axis=2), counts.argmax(axis=2), -1)[clamped]
        rows = [[None if code < 0 else labels[code] for code in row] for row in first]
        shared = panel_errors(rows, [labels[code] for code in truth[clamped]], labels=labels, seed=seed)
    return DawidSkene(
        item_names,
        judge_names,
        tuple(labels),
        names,
        tuple(tuple(map(float, row)) for row in belief),
        tuple(map(float, share)),
        matrices,
        found,
        steps,
        converged,
        shared,
    )


def _chosen(values: Sequence[Hashable] | NDArray[np.generic], places: NDArray[np.intp]) -> list[Hashable]:
    plain = cast("list[Hashable]", values.tolist()) if isinstance(values, np.ndarray) else values
    return [plain[int(place)] for place in places]


def _numbered(values: Sequence[Hashable]) -> tuple[NDArray[np.intp], dict[Hashable, int]]:
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(each, len(numbers)) for each in values], dtype=np.intp)
    return codes, numbers


Parameters: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _maximise(belief: NDArray[np.float64], counts: NDArray[np.float64]) -> Parameters:
    """Prior, error matrices (judge, true, said), and the answers each row of them rests on."""
    errors = np.einsum("it,ijl->jtl", belief, counts)
    mass = errors.sum(axis=2)
    return belief.mean(axis=0), errors / np.where(mass > 0, mass, 1.0)[:, :, None], mass


def _expect(
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    errors: NDArray[np.float64],
    clamped: NDArray[np.bool_],
    truth: NDArray[np.intp],
) -> tuple[NDArray[np.float64], float]:
    """What each item is, in logarithms, and how likely all answers are."""
    tiny = np.finfo(np.float64).tiny
    log = np.einsum("ijl,jtl->it", counts, np.log(np.maximum(errors, tiny))) + np.log(np.maximum(prior, tiny))
    top = log.max(axis=1, keepdims=True)
    whole = top[:, 0] + np.log(np.sum(np.exp(log - top), axis=1))
    belief = np.exp(log - whole[:, None])
    rows = np.flatnonzero(clamped)
    whole[rows] = log[rows, truth[rows]]
    belief[rows] = np.eye(len(prior))[truth[rows]]
    return belief, float(whole.sum())
