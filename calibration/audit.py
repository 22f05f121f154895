"""Everything about one judge and one criterion, held against people's labels, as one value."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from calibration.baselines import Baseline, baselines
from calibration.cuts import CutRule
from calibration.decision import Decision, decide
from calibration.items import Items, every_item, labelled_items, scored_items
from calibration.meaning import FAIL, PASS
from calibration.pairs import ABSTAINED, FAILED, NUMBER, Pairs
from calibration.people import People, people_of
from calibration.probabilities import Probabilities, SuggestedThreshold, probabilities, suggest_threshold
from calibration.rates import Chosen, CorrectedRate, StratumOf, corrected_rate
from calibration.scores import Scores, scores_of
from calibration.slices import Disagreement, Slice, disagreements_of, slices_of_items
from calibration.statistics.agreement import kappa, percent_agreement
from calibration.statistics.confusion import (
    BinaryMetrics,
    MulticlassMetrics,
    binary_metrics_of_pairs,
    multiclass_metrics,
)
from judges.figures import Figure, undefined
from judges.gate import Requirement

__all__ = ["Audit", "View", "audit"]

_TIE = "tie"


@dataclass(frozen=True, slots=True)
class View:
    """The figures under one reading of abstentions."""

    abstentions: Literal["left out", "count as fail"]
    kappa: Figure
    """Cohen's kappa: agreement beyond that of chance."""
    invalid: Figure
    """Share of the judgements that failed, or are no label. They count as disagreement."""
    weighted: tuple[tuple[Literal["linear", "quadratic"], Figure], ...]
    """Kappa with credit for near misses, where labels are levels in order."""
    without_ties: Figure | None
    """Agreement where neither side says `tie`, of pairs of answers."""
    metrics: BinaryMetrics | MulticlassMetrics
    """Of pass and fail, `pass` being the positive label: accuracy is the agreement, specificity the share of people's
    fails that the judge finds. Of other labels, each against the rest."""

    def to_record(self) -> dict[str, Any]:
        """The view as JSON-ready values."""
        record: dict[str, Any] = {
            "abstentions": self.abstentions,
            "kappa": self.kappa.to_record(),
            "agreement": self.metrics.accuracy.to_record(),
            "invalid": self.invalid.to_record(),
            "weighted_kappa": {name: figure.to_record() for name, figure in self.weighted},
        }
        if self.without_ties is not None:
            record["agreement_without_ties"] = self.without_ties.to_record()
        if isinstance(self.metrics, BinaryMetrics):
            record["fails_found"] = self.metrics.specificity.to_record()
            record["passes_found"] = self.metrics.recall.to_record()
        record["metrics"] = self.metrics.to_record()
        return record


@dataclass(frozen=True, slots=True)
class Audit:
    """One judge on one criterion against people's labels. What isn't there doesn't apply: it is None or empty."""

    pairs: Pairs
    decision: Decision
    matrix: dict[str, dict[str, int]]
    """Cases by people's label, then by what the judge said."""
    views: tuple[View, ...]
    """Abstentions left out; and, if there are any, abstentions counted as fails. Empty where labels are numbers."""
    baselines: tuple[Baseline, ...]
    people: People | None
    probabilities: Probabilities | None
    threshold: SuggestedThreshold | None
    rate: CorrectedRate | None
    scores: Scores | None
    slices: tuple[Slice, ...]
    disagreements: tuple[Disagreement, ...]

    def figures(self) -> dict[str, Figure]:
        """The figures that can be required, by name."""
        return _figures(self.views, self.baselines, self.people, self.probabilities, self.rate, self.scores)

    def to_record(self) -> dict[str, Any]:
        """The audit as JSON-ready values."""
        pairs, subject = self.pairs, self.pairs.question.subject
        meaning = pairs.question.meaning
        optional = {
            "people": self.people,
            "probabilities": self.probabilities,
            "suggested_threshold": self.threshold,
            "pass_rate": self.rate,
            "scores": self.scores,
        }
        return {
            "criterion": subject.criterion,
            "judge": subject.judge,
            "judge_fingerprint": subject.fingerprint,
            "label": pairs.question.labels.field,
            "positive": None if meaning.positive is None else meaning.positive.rule,
            "labels": list(meaning.labels),
            "cluster": pairs.question.cluster,
            "threshold": pairs.threshold,
            "cases": pairs.cases,
            "labelled": len(pairs.pairs),
            "unlabelled": pairs.unlabelled,
            "labels_not_in_run": pairs.not_in_run,
            "pending": pairs.pending,
            "ties": list(pairs.ties),
            "abstained": dict(pairs.abstained),
            "failed": dict(pairs.failed),
            "decision": self.decision.to_record(),
            "matrix": self.matrix,
            "views": [view.to_record() for view in self.views],
            "baselines": [each.to_record() for each in self.baselines],
            **{name: None if value is None else value.to_record() for name, value in optional.items()},
            "slices": [each.to_record() for each in self.slices],
            "disagreements": [each.to_record() for each in self.disagreements],
        }


def audit(
    pairs: Pairs,
    *,
    requirements: Sequence[Requirement] = (),
    rule: CutRule = "kappa",
    chosen: Chosen = "unknown",
    stratum_of: StratumOf | None = None,
    epsilon: float = 0.2,
) -> Audit:
    """Hold a judge against people's labels.

    A judgement that failed is no label: it disagrees with people, whatever they say (specification, rule R4). Where
    cases are grouped every interval allows for it.

    Args:
        pairs: One judge and criterion, joined with labels.
        requirements: What the judge must reach; empty for agreement beyond chance and beyond the baselines'.
        rule: What another threshold is chosen by.
        chosen: How the labelled cases were chosen.
        stratum_of: Within which strata, where it was by score.
        epsilon: Of the alternative annotator test: 0.2 for experts, 0.15 skilled people, 0.1 a crowd.

    Raises:
        InputError: Something is required that there is no figure of.
    """
    meaning = pairs.question.meaning
    by_label = bool(meaning.labels) and not any(each.said == NUMBER for each in pairs.pairs)
    items = labelled_items(pairs) if by_label else Items((), (), None)
    views = _views(pairs, items) if by_label else ()
    plain = baselines(items, paired_answers=_is_preference(items)) if by_label else ()
    scored = scored_items(pairs) if meaning.binary else Items((), (), None)
    has_scores = bool(scored.pairs)
    people = people_of(pairs, epsilon=epsilon)
    probable = probabilities(scored) if has_scores else None
    rate = corrected_rate(items, pairs, chosen, stratum_of) if meaning.binary else None
    scores = scores_of(pairs)
    figures = _figures(views, plain, people, probable, rate, scores)
    gold, said = ({getattr(each, side) for each in items.pairs} for side in ("gold", "said"))
    decision = decide(
        figures,
        requirements,
        labelled=len(items.pairs) if by_label else len(pairs.pairs),
        pass_rate=rate.people.value if rate is not None else None,
        constant=(len(gold) > 1 and len(said) == 1 and FAILED not in said) or (scores is not None and scores.constant),
    )
    return Audit(
        pairs=pairs,
        decision=decision,
        matrix=_matrix(pairs) if by_label else {},
        views=views,
        baselines=plain,
        people=people,
        probabilities=probable,
        threshold=suggest_threshold(scored, rule, now=pairs.threshold) if has_scores else None,
        rate=rate,
        scores=scores,
        slices=slices_of_items(items, pairs.question.by) if by_label else (),
        disagreements=disagreements_of(pairs),
    )


def _is_preference(items: Items) -> bool:
    return {"a", "b"} <= set(items.labels)


def _matrix(pairs: Pairs) -> dict[str, dict[str, int]]:
    cells = Counter((each.gold, each.said) for each in pairs.pairs)
    labels = pairs.question.meaning.labels
    shown = (PASS, FAIL) if pairs.question.meaning.binary else labels
    return {row: {said: cells[row, said] for said in (*shown, ABSTAINED, FAILED)} for row in shown}


def _views(pairs: Pairs, items: Items) -> tuple[View, ...]:
    every = every_item(pairs)
    found = [_view(every, "left out", ordered=pairs.question.meaning.ordered)]
    if len(every.pairs) > len(items.pairs) and pairs.question.meaning.binary:
        failing = tuple(replace(each, said=FAIL) if each.said == ABSTAINED else each for each in every.pairs)
        found.append(_view(replace(every, pairs=failing), "count as fail", ordered=False))
    return tuple(found)


def _view(items: Items, abstentions: Literal["left out", "count as fail"], *, ordered: bool) -> View:
    paired = items.tabulated()
    weights: tuple[Literal["linear", "quadratic"], ...] = ("linear", "quadratic") if ordered else ()
    binary = set(items.labels) == {FAIL, PASS}
    return View(
        abstentions,
        kappa(paired),
        paired.invalid_rate,
        tuple((each, kappa(paired, weights=each)) for each in weights),
        _without_ties(items),
        binary_metrics_of_pairs(paired, positive=PASS) if binary else multiclass_metrics(paired),
    )


def _without_ties(items: Items) -> Figure | None:
    if _TIE not in items.labels:
        return None
    decided = {*items.labels} - {_TIE}
    kept = np.array([each.gold in decided and each.said in decided for each in items.pairs], dtype=np.bool_)
    return percent_agreement(items.only(kept).tabulated())


def _figures(
    views: Sequence[View],
    plain: Sequence[Baseline],
    people: People | None,
    probable: Probabilities | None,
    rate: CorrectedRate | None,
    scores: Scores | None,
) -> dict[str, Figure]:
    """By the names that a requirement may use."""
    found: dict[str, Figure] = {}
    if views:
        metrics = views[0].metrics
        found |= {"kappa": views[0].kappa, "agreement": metrics.accuracy, "mcc": metrics.mcc}
        found |= {f"kappa_{name}": figure for name, figure in views[0].weighted}
        found["balanced_accuracy"] = metrics.balanced_accuracy
        if isinstance(metrics, BinaryMetrics):
            found |= {
                "fails_found": metrics.specificity,
                "passes_found": metrics.recall,
                "fails_right": metrics.npv,
                "passes_right": metrics.precision,
                "f1": metrics.f1,
                "youden_j": metrics.youden_j,
            }
        else:
            found["macro_f1"] = metrics.macro_f1
    found |= {f"kappa_over_{each.name}": each.advantage for each in plain}
    if probable is not None:
        found["auc"] = probable.area_under_curve
        if probable.as_is is not None:
            found |= {"brier_skill": probable.as_is.skill, "calibration_slope": probable.as_is.slope}
    if scores is not None:
        found |= {"pearson": scores.pearson, "spearman": scores.spearman, "kendall": scores.kendall}
        found["ordered_alike"] = scores.ordered_alike
        found |= {f"spearman_over_{each.name}": each.advantage for each in scores.baselines}
        if scores.differences is not None:
            found |= {"ccc": scores.differences.concordance, "bias": scores.differences.bland_altman.bias}
            found["mae"] = scores.differences.mae
    if people is not None:
        found |= {f"alpha_{name}": figure for name, figure in people.alpha.items()}
        if people.ceiling is not None:
            found["judge_less_human"] = people.ceiling.difference
    if rate is not None and rate.corrected is not None and rate.supported:
        found["pass_rate"] = rate.corrected.estimate
    return found or {"kappa": undefined("no_data")}
