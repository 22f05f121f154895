"""How far a judge and the humans agree on the same items: two raters, nominal or ordinal labels.

Rows of a table are human, columns judge. Every coefficient here is (p_o - p_e)/(1 - p_e); they differ in what they call
chance, p_e. Inside, all are written with costs d = 1 - w: 1 - D_o/D_e, where D_o is the mean cost seen and D_e the
mean cost expected, so that perfect agreement is exactly 1.

An invalid answer of the judge is a category of its own that disagrees with everything. It is no label that chance
could have chosen, so the number of labels k, where a formula has one, is the number declared.

Sources:
    Cohen 1960, EPM 20:37; 1968, Psychological Bulletin 70:213. Scott 1955, POQ 19:321. Byrt, Bishop & Carlin 1993, J
    Clin Epidemiol 46:423 (PABAK, indices). Gwet 2008, BJMSP 61:29. Fleiss, Cohen & Everitt 1969, Psychological Bulletin
    72:323 (standard errors). Yang & Zhou 2014, Statistics in Medicine 33:2612, and Vanbelle 2017, Biometrical Journal
    59:1016 (clusters). Donner et al. 2000, Statistics in Medicine 19:373 (dependent kappas).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.resampling import Resampled, ResampleMethod
from calibration.statistics.tables import (
    InvalidRule,
    LabelPairs,
    Weights,
    disagreement_costs,
    encode_labels,
    pair_labels,
    pairs_of_codes,
    pairs_of_table,
)
from judges.figures import Figure, to_record
from judges.intervals import (
    RARE,
    Clusters,
    Significance,
    StandardError,
    check_level,
    influence_se,
    normal_quantile,
    proportion,
    proportion_of_counts,
    signed_share,
    signed_share_of_counts,
    t_quantile,
    two_sided,
)

__all__ = [
    "Coefficient",
    "KappaDifference",
    "KappaInterval",
    "bias_index",
    "bootstrap_kappa",
    "brennan_prediger",
    "cohen_kappa",
    "cohen_kappa_of_table",
    "gwet_ac",
    "invalid_rate",
    "kappa",
    "kappa_difference",
    "kappa_max",
    "kappa_null_test",
    "percent_agreement",
    "perfect_agreement_bound",
    "prevalence_index",
    "scott_pi",
]

KappaInterval: TypeAlias = Literal["smoothed", "smoothed_indep", "bca", "percentile", "wald", "exact_bound"]
Coefficient: TypeAlias = Literal["kappa", "pi", "brennan_prediger", "ac"]

RESAMPLES: dict[ResampleMethod, int] = {"percentile": 2_000, "bca": 10_000}
NOTHING = 1e-12


def percent_agreement(pairs: LabelPairs, *, level: float = 0.95) -> Figure:
    """The share of items on which judge and human give the same label, with Wilson's interval."""
    agreed = int(np.trace(pairs.table))
    if pairs.cells is None or pairs.codes is None:
        figure = proportion_of_counts(agreed, pairs.n, level=level, n_dropped=pairs.n_dropped)
    else:
        rows, columns = np.divmod(pairs.cells, pairs.table.shape[0])
        figure = proportion(rows == columns, pairs.codes, level=level, n_dropped=pairs.n_dropped)
    perfect = ["perfect_agreement"] if pairs.n and agreed == pairs.n else []
    return replace(figure, flags=pairs.flags(*figure.flags, *perfect) if pairs.n else figure.flags)


def invalid_rate(pairs: LabelPairs) -> Figure:
    """The share of the judge's answers that are no label, with Wilson's interval; dropped ones count too."""
    return pairs.invalid_rate


def cohen_kappa(
    gold: Sequence[Hashable] | NDArray[np.generic],
    judge: Sequence[Hashable] | NDArray[np.generic],
    *,
    labels: Sequence[Hashable],
    weights: Weights = "none",
    clusters: Clusters | None = None,
    interval: KappaInterval | None = None,
    level: float = 0.95,
    invalid: InvalidRule = "disagree",
    seed: int = 0,
) -> Figure:
    """Cohen's kappa of human and judge labels of the same items; `kappa` says how.

    Args:
        gold: One human label per item, None where it is missing.
        judge: One judge label per item, None where it is missing, `INVALID` where the answer was no label.
        labels: The declared labels, in order.
        weights: Credit for near misses.
        clusters: One id per item where one case yields several items.
        interval: Its method; None for the default.
        level: Of the two-sided interval.
        invalid: Whether an invalid answer is a disagreement or left out.
        seed: Of the bootstrap.

    Raises:
        ValueError: The lengths differ, or a label is not declared.
    """
    pairs = pair_labels(gold, judge, labels=labels, clusters=clusters, invalid=invalid, level=level)
    return kappa(pairs, weights=weights, interval=interval, level=level, seed=seed)


def cohen_kappa_of_table(
    table: Sequence[Sequence[int]] | NDArray[np.integer],
    *,
    weights: Weights = "none",
    interval: KappaInterval | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Figure:
    """Cohen's kappa of independent items from their table: human rows, judge columns, all declared labels.

    One column more than rows holds invalid answers of the judge. `kappa` says how.
    """
    return kappa(pairs_of_table(table, level=level), weights=weights, interval=interval, level=level, seed=seed)


def kappa(
    pairs: LabelPairs,
    *,
    weights: Weights = "none",
    interval: KappaInterval | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int | None = None,
) -> Figure:
    """Cohen's kappa: agreement beyond that of two raters with these margins who label at random.

    Args:
        pairs: Human and judge labels, paired.
        weights: Credit for near misses.
        interval: `smoothed` (default without weights) and `smoothed_indep` add two items to the table, spread evenly
            or as if independent; `bca` (default with weights) and `percentile` resample; `exact_bound` is for perfect
            agreement; `wald` misses the lower side up to 14 times too often with rare classes. Perfect agreement
            turns `bca` and `percentile` into `exact_bound`; where nothing varies from resample to resample they and
            `smoothed_indep` turn into `smoothed`; `exact_bound` of imperfect agreement is `smoothed`. The figure
            names what was used.
        level: Of the two-sided interval.
        seed: Of the bootstrap.
        resamples: 10,000 for `bca` and 2,000 for `percentile` if None.

    Returns:
        Kappa, from -1 to 1, with costs of one's own also below; 0 is chance. Undefined (single_category) if both used
        one and the same label; exactly 0, with a flag, if one of the two is constant.

        With clusters and a rare class (10 items in 40 clusters) the interval is too short: it held the truth in 89% of
        simulations, not 95%.

    Source:
        Cohen 1960, 1968; influence values give the standard error of Fleiss, Cohen & Everitt 1969.
    """
    return _figure("kappa", pairs, weights, interval, level, seed, resamples)


def scott_pi(
    pairs: LabelPairs,
    *,
    weights: Weights = "none",
    interval: KappaInterval | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int | None = None,
) -> Figure:
    """Scott's pi: as `kappa`, with chance from the margins of both raters together."""
    return _figure("pi", pairs, weights, interval, level, seed, resamples)


def brennan_prediger(
    pairs: LabelPairs,
    *,
    weights: Weights = "none",
    interval: KappaInterval | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int | None = None,
) -> Figure:
    """Brennan-Prediger's coefficient: as `kappa`, with chance 1/k. With two labels it is PABAK, 2 p_o - 1."""
    return _figure("brennan_prediger", pairs, weights, interval, level, seed, resamples)


def gwet_ac(
    pairs: LabelPairs,
    *,
    weights: Weights = "none",
    interval: KappaInterval | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int | None = None,
) -> Figure:
    """Gwet's AC1, or AC2 with weights: as `kappa`, with a chance that stays small when one label is common."""
    return _figure("ac", pairs, weights, interval, level, seed, resamples)


def kappa_max(pairs: LabelPairs, *, level: float = 0.95) -> Figure:
    """The largest unweighted kappa that these margins allow. It describes the margins and has no interval."""
    reason = _no_kappa(pairs)
    if reason is not None:
        return pairs.undefined(reason, level)
    rows, columns = pairs.gold / pairs.n, pairs.judge / pairs.n
    chance = float(rows @ columns)
    value = (float(np.minimum(rows, columns).sum()) - chance) / (1 - chance)
    return _with_flags(Figure(min(value, 1.0), level=level), pairs)


def prevalence_index(pairs: LabelPairs, *, level: float = 0.95) -> Figure:
    """(N00 - N11)/n for two labels: near 1 or -1 one label is rare, and kappa is low for it. Byrt et al. 1993."""
    return _index(pairs, (0, 0), (1, 1), level)


def bias_index(pairs: LabelPairs, *, level: float = 0.95) -> Figure:
    """(N01 - N10)/n for two labels: how much oftener the judge than the human gives the second. Byrt et al. 1993."""
    return _index(pairs, (0, 1), (1, 0), level)


def _index(pairs: LabelPairs, plus: tuple[int, int], minus: tuple[int, int], level: float) -> Figure:
    if pairs.k != 2:
        raise ValueError(f"{pairs.k} labels: prevalence and bias index are for two")
    if pairs.cells is None or pairs.codes is None:
        b, c = int(pairs.table[plus]), int(pairs.table[minus])
        figure = signed_share_of_counts(b, c, pairs.n, level=level, n_dropped=pairs.n_dropped)
    else:
        size = pairs.table.shape[0]
        signs = np.zeros(pairs.table.size, dtype=np.int64)
        signs[plus[0] * size + plus[1]], signs[minus[0] * size + minus[1]] = 1, -1
        figure = signed_share(signs[pairs.cells], pairs.codes, level=level, n_dropped=pairs.n_dropped)
    return replace(figure, flags=pairs.flags(*figure.flags) if pairs.n else figure.flags)


def bootstrap_kappa(
    pairs: LabelPairs,
    *,
    weights: Weights = "none",
    method: ResampleMethod = "bca",
    level: float = 0.95,
    seed: int = 0,
    resamples: int | None = None,
) -> Resampled:
    """The bootstrap behind `kappa`, with its corrections and its share of undefined resamples.

    Raises:
        ValueError: Kappa is undefined.
    """
    cost = disagreement_costs(weights, pairs.k, pairs.table.shape[0])
    return _bootstrap("kappa", pairs, cost, method, level, seed, resamples)


def kappa_null_test(pairs: LabelPairs, *, weights: Weights = "none") -> Significance:
    """Test whether kappa is 0. Its standard error holds under that hypothesis only: never use it for an interval.

    With clusters the standard error is stretched by the square root of the design effect, and t has G-1 degrees of
    freedom.

    Source:
        Fleiss, Cohen & Everitt 1969, null variance.
    """
    figure = _figure("kappa", pairs, weights, "smoothed", 0.95, 0, None)
    if figure.value is None or figure.reason is not None:
        return Significance(None, None, "z", reason=figure.reason)
    cost = disagreement_costs(weights, pairs.k, pairs.table.shape[0])
    credit = 1 - cost
    rows, columns = pairs.gold / pairs.n, pairs.judge / pairs.n
    by_row, by_column = credit @ columns, rows @ credit
    chance = float(rows @ credit @ columns)
    spread = float(rows @ (credit - by_row[:, None] - by_column[None, :]) ** 2 @ columns) - chance**2
    se = sqrt(max(spread, 0.0) / pairs.n) / (1 - chance)
    if se <= NOTHING:
        return Significance(None, None, "z", se=0.0, reason="constant_rater")
    if pairs.n_clusters is None:
        return two_sided(figure.value, se)
    return two_sided(figure.value, se * sqrt(_stretch(figure.deff, pairs)), pairs.n_clusters - 1)


@dataclass(frozen=True, slots=True)
class KappaDifference:
    """Two judges held against the same human labels of the same items."""

    kappa_a: Figure
    kappa_b: Figure
    difference: Figure
    """Kappa of A minus kappa of B."""
    test: Significance
    """Of no difference. If the judges never differ: p is 1 and there is no statistic (no_discordant)."""

    def to_record(self) -> dict[str, object]:
        """The comparison as JSON-ready values."""
        return to_record(self)


def kappa_difference(
    gold: Sequence[Hashable] | NDArray[np.generic],
    judge_a: Sequence[Hashable] | NDArray[np.generic],
    judge_b: Sequence[Hashable] | NDArray[np.generic],
    *,
    labels: Sequence[Hashable],
    weights: Weights = "none",
    clusters: Clusters | None = None,
    level: float = 0.95,
    invalid: InvalidRule = "disagree",
    seed: int = 0,
) -> KappaDifference:
    """The difference of two judges' kappas, by the influence values of the items both judged.

    Items where any of the three labels is missing are left out. The arguments are those of `cohen_kappa`.

    Source:
        Donner et al. 2000; Vanbelle 2017.
    """
    check_level(level)
    human, a, b = (
        encode_labels(gold, labels),
        encode_labels(judge_a, labels, may_be_invalid=True),
        encode_labels(judge_b, labels, may_be_invalid=True),
    )
    if not len(human) == len(a) == len(b):
        raise ValueError(f"{len(human)}, {len(a)} and {len(b)} labels: give one of each per item")
    kept = (human >= 0) & (a >= 0) & (b >= 0)
    if invalid == "drop":
        kept &= (a < len(labels)) & (b < len(labels))
    human = np.where(kept, human, -1)
    first, second = (pairs_of_codes(human, each, labels=labels, clusters=clusters, level=level) for each in (a, b))
    kappa_a, kappa_b = (kappa(each, weights=weights, level=level, seed=seed) for each in (first, second))
    if kappa_a.value is None or kappa_b.value is None:
        reason = kappa_a.reason or kappa_b.reason or "no_data"
        return KappaDifference(
            kappa_a, kappa_b, first.undefined(reason, level), Significance(None, None, "z", reason=reason)
        )
    value, groups = kappa_a.value - kappa_b.value, first.n_clusters
    figure = Figure(value, level=level, n=first.n, n_clusters=groups, n_dropped=first.n_dropped)
    if groups is not None and groups < 2:
        nothing = Significance(None, None, "t", reason="too_few_clusters")
        flagged = replace(figure, reason="too_few_clusters", flags=first.flags())
        return KappaDifference(kappa_a, kappa_b, flagged, nothing)
    influence = _item_influence(first, weights, kappa_a.value) - _item_influence(second, weights, kappa_b.value)
    scale = max(float(np.abs(influence).max()), 1.0)
    error = influence_se(influence, first.codes, groups or 0, scale=scale)
    if error.se == 0:
        same = bool(np.array_equal(a[kept], b[kept]))
        reason = "no_discordant" if same else "singular"
        nothing = Significance(None, 1.0 if same else None, "z", se=0.0, reason=reason)
        flagged = replace(figure, reason=reason, se=0.0, flags=first.flags("zero_variance_differences"))
        return KappaDifference(kappa_a, kappa_b, flagged, nothing)
    df = None if groups is None else groups - 1
    half = error.se * (normal_quantile(level) if df is None else t_quantile(level, df))
    most = 1 - _lowest(weights)
    low, high = min(max(value - half, -most), value), max(min(value + half, most), value)
    figure = replace(
        figure,
        ci_low=low,
        ci_high=high,
        method="influence",
        flags=first.flags(*second.flags(), *{"rare_class"} & {*kappa_a.flags, *kappa_b.flags}),
        se=error.se,
        deff=error.deff,
    )
    return KappaDifference(kappa_a, kappa_b, figure, two_sided(value, error.se, df))


def perfect_agreement_bound(n: float, *, level: float = 0.95) -> float:
    """How often two raters may still disagree if they agreed on all of n items: the Clopper-Pearson upper limit."""
    check_level(level)
    return float(1 - ((1 - level) / 2) ** (1 / n))


def _figure(
    kind: Coefficient,
    pairs: LabelPairs,
    weights: Weights,
    interval: KappaInterval | None,
    level: float,
    seed: int,
    resamples: int | None,
) -> Figure:
    """A coefficient with its interval; what all coefficients share."""
    check_level(level)
    cost = disagreement_costs(weights, pairs.k, pairs.table.shape[0])
    if pairs.n == 0 or pairs.k == 1:
        return pairs.undefined("no_data" if pairs.n == 0 else "single_category", level)
    table = pairs.table.astype(np.float64)
    value = float(_values(table[None], kind, cost, pairs.k)[0])
    if np.isnan(value):
        return pairs.undefined("single_category", level)
    constant = 1 in {np.count_nonzero(pairs.gold), np.count_nonzero(pairs.judge)}
    if constant and kind == "kappa":
        value = 0.0
    perfect = value == 1
    also = [name for name, holds in (("constant_rater", constant), ("perfect_agreement", perfect)) if holds]
    figure = _with_flags(Figure(value, level=level), pairs, *also)
    if pairs.n_clusters is not None and pairs.n_clusters < 2:
        return replace(figure, reason="too_few_clusters")
    error = _standard_error(kind, pairs, cost, value)
    figure = replace(figure, se=error.se, deff=error.deff)
    if error.se == 0 and not perfect:
        also.append("zero_residual_variance")
        figure = _with_flags(figure, pairs, *also)
    if interval is not None and interval not in get_args(KappaInterval):
        raise ValueError(f"interval {interval!r} is not known; choose one of {', '.join(get_args(KappaInterval))}")
    chosen = interval or ("smoothed" if isinstance(weights, str) and weights == "none" else "bca")
    lowest = _lowest(weights)
    if perfect and chosen in {"bca", "percentile", "exact_bound"}:
        bound = perfect_agreement_bound(pairs.n if pairs.n_clusters is None else pairs.n_clusters, level=level)
        expected = float(_expected(table[None], kind, cost, pairs.k)[0])
        return replace(figure, ci_low=max(1 - bound / expected, lowest), ci_high=1.0, method="exact_bound")
    if chosen == "bca" or chosen == "percentile":
        drawn = _bootstrap(kind, pairs, cost, chosen, level, seed, resamples)
        if drawn.varies or drawn.reason is not None:
            return drawn.onto(figure)
        chosen = "smoothed"
    centre, se = value, error.se
    if chosen == "smoothed_indep":
        centre, se = _smoothed(kind, pairs, cost, 2 * np.outer(pairs.gold, pairs.judge) / pairs.n**2)
    if chosen in {"smoothed", "exact_bound"} or (chosen == "smoothed_indep" and se <= NOTHING):
        chosen, evenly = "smoothed", np.zeros_like(table)
        evenly[: pairs.k, : pairs.k] = 2 / pairs.k**2
        centre, se = _smoothed(kind, pairs, cost, evenly)
    quantile = normal_quantile(level) if pairs.n_clusters is None else t_quantile(level, pairs.n_clusters - 1)
    half = quantile * se * (1.0 if chosen == "wald" else sqrt(_stretch(error.deff, pairs)))
    low, high = max(centre - half, lowest), min(centre + half, 1.0)
    return replace(figure, ci_low=min(low, value), ci_high=max(high, value), method=chosen)


def _lowest(weights: Weights) -> float:
    """What no coefficient falls below. With costs there is none: a costly disagreement may be rare by chance."""
    return -1.0 if isinstance(weights, str) else -inf


def _with_flags(figure: Figure, pairs: LabelPairs, *also: str) -> Figure:
    used = (pairs.gold + pairs.judge)[: pairs.k] > 0
    rare = bool(np.any(pairs.gold[: pairs.k][used] < RARE))
    flags = pairs.flags(*also, *(["rare_class"] if rare else []))
    return replace(figure, n=pairs.n, n_clusters=pairs.n_clusters, n_dropped=pairs.n_dropped, flags=flags)


def _no_kappa(pairs: LabelPairs) -> str | None:
    """Why unweighted kappa is undefined, if it is."""
    if pairs.n == 0:
        return "no_data"
    return "single_category" if pairs.k == 1 or int(np.max(np.diagonal(pairs.table))) == pairs.n else None


def _stretch(deff: float | None, pairs: LabelPairs) -> float:
    """The design effect; where it is 0/0 every cluster counts as one item, and where it is 0 it is left aside."""
    if pairs.n_clusters is None:
        return 1.0
    return pairs.n / pairs.n_clusters if deff is None else deff or 1.0


def _values(tables: NDArray[np.float64], kind: Coefficient, cost: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The coefficient of each table, shape (tables, size, size); NaN where it is 0/0."""
    seen = np.einsum("tij,ij->t", tables, cost) / tables.sum(axis=(1, 2))
    expected = _expected(tables, kind, cost, k)
    return np.where(expected > NOTHING, 1 - seen / np.where(expected > NOTHING, expected, 1.0), np.nan)


def _expected(tables: NDArray[np.float64], kind: Coefficient, cost: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The cost expected by chance, 1 - p_e, of each table."""
    total = tables.sum(axis=(1, 2))[:, None]
    rows, columns = tables.sum(axis=2) / total, tables.sum(axis=1) / total
    middle = (rows + columns) / 2
    match kind:
        case "kappa":
            return np.asarray(np.einsum("ti,ij,tj->t", rows, cost, columns), dtype=np.float64)
        case "pi":
            return np.asarray(np.einsum("ti,ij,tj->t", middle, cost, middle), dtype=np.float64)
        case "brennan_prediger":
            return np.full(len(tables), float(cost[:k, :k].sum()) / k**2)
        case _:
            spread = np.asarray(np.sum(middle * (1 - middle), axis=1), dtype=np.float64)
            return 1 - _ac_factor(cost, k) * spread


def _ac_factor(cost: NDArray[np.float64], k: int) -> float:
    return float((1 - cost[:k, :k]).sum()) / (k * (k - 1))


def _influence(
    table: NDArray[np.float64], kind: Coefficient, cost: NDArray[np.float64], k: int, value: float
) -> NDArray[np.float64]:
    """How an item in each cell moves the coefficient: [w - p_o - (1 - value) (change of p_e)]/(1 - p_e)."""
    n, credit = float(table.sum()), 1 - cost
    rows, columns = table.sum(axis=1) / n, table.sum(axis=0) / n
    middle = (rows + columns) / 2
    expected = float(_expected(table[None], kind, cost, k)[0])
    observed = float((table * credit).sum()) / n
    match kind:
        case "kappa":
            change = (credit @ columns)[:, None] + (rows @ credit)[None, :] - 2 * (1 - expected)
        case "pi":
            slope = (credit + credit.T) @ middle
            change = (slope[:, None] + slope[None, :]) / 2 - 2 * (1 - expected)
        case "brennan_prediger":
            change = np.zeros_like(table)
        case _:
            slope = 1 - 2 * middle
            change = _ac_factor(cost, k) * ((slope[:, None] + slope[None, :]) / 2 - float(middle @ slope))
    return np.asarray((credit - observed - (1 - value) * change) / expected, dtype=np.float64)


def _standard_error(kind: Coefficient, pairs: LabelPairs, cost: NDArray[np.float64], value: float) -> StandardError:
    table = pairs.table.astype(np.float64)
    influence = _influence(table, kind, cost, pairs.k, value)
    if pairs.cells is not None and pairs.codes is not None and pairs.n_clusters is not None:
        scale = max(float(np.abs(influence).max()), 1.0)
        return influence_se(influence.ravel()[pairs.cells], pairs.codes, pairs.n_clusters, scale=scale)
    se = _table_se(table, influence)
    return StandardError(se, se)


def _table_se(table: NDArray[np.float64], influence: NDArray[np.float64]) -> float:
    """Of independent items: sqrt(sum p IF^2 / n)."""
    se = sqrt(float((table * influence**2).sum())) / float(table.sum())
    return 0.0 if se <= NOTHING * max(float(np.abs(influence).max()), 1.0) else se


def _smoothed(
    kind: Coefficient, pairs: LabelPairs, cost: NDArray[np.float64], extra: NDArray[np.float64]
) -> tuple[float, float]:
    """Coefficient and standard error of the table with a little added to its cells."""
    table = pairs.table + extra
    value = float(_values(table[None], kind, cost, pairs.k)[0])
    return value, _table_se(table, _influence(table, kind, cost, pairs.k, value))


def _bootstrap(
    kind: Coefficient,
    pairs: LabelPairs,
    cost: NDArray[np.float64],
    method: ResampleMethod,
    level: float,
    seed: int,
    resamples: int | None,
) -> Resampled:
    size = pairs.table.shape[0]

    def statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return _values(totals.reshape(-1, size, size), kind, cost, pairs.k)

    drawn = pairs.resamples(resamples=RESAMPLES[method] if resamples is None else resamples, seed=seed)
    return drawn.interval(statistic, method=method, level=level)


def _item_influence(pairs: LabelPairs, weights: Weights, value: float) -> NDArray[np.float64]:
    assert pairs.cells is not None, "pairs of sequences know their items"  # noqa: S101
    cost = disagreement_costs(weights, pairs.k, pairs.table.shape[0])
    return _influence(pairs.table.astype(np.float64), "kappa", cost, pairs.k, value).ravel()[pairs.cells]
