"""Biases of a judge that its judgements in a run show already, without another call.

Where people's labels are given they are the reference: a judge may well call long answers better if people do. Without
them, what differs between groups of answers is only described.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from calibration.findings import Finding, Skipped, Turned, effect_of_change, is_askable, repeat_noise, turned
from calibration.items import Items, labelled_items
from calibration.meaning import PASS
from calibration.pairs import Pairs
from calibration.plain import length_of
from calibration.statistics.contrasts import rate_gap
from calibration.statistics.probes import (
    Effect,
    decision_impact,
    effect_of,
    group_error_rates,
    length_bias,
    perturbation,
    self_preference,
)
from calibration.statistics.scale import severity
from calibration.statistics.tables import pair_labels
from judges.case import Case
from judges.criterion import Unit
from judges.engine.plan import Assignment
from judges.engine.run import Manifest, Row, Run
from judges.fields import MISSING
from judges.figures import Figure
from judges.intervals import proportion
from judges.summary import cluster_of
from judges.verdict import Abstained, Verdict

__all__ = ["READING", "Groups", "Observed", "family_of", "findings_of", "observe"]

READING: tuple[str, ...] = ("repeat", "position", "severity", "length", "self-preference", "language", "scale")
"""The probes that need no new judgement."""

_ORDER_DEPENDENT = "order_dependent"
_TENTHS = tuple(f"{low / 10:.1f}" for low in range(10))
_UNLABELLED = "no labels of people: they may well be better or worse; --gold tells"


@dataclass(frozen=True, slots=True)
class Groups:
    """The fields of a case that say what it is compared with."""

    cluster: str | None = None
    """What intervals allow for."""
    system: str | None = None
    """Who wrote the answer."""
    own: tuple[str, ...] = ()
    """Systems of the judge's own family, where its name doesn't tell."""
    pair: str | None = None
    """What the same answer in another language has the same value of."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One case that the judge was asked about."""

    case_id: str
    cluster: str
    lang: str | None
    system: str | None
    pair: str | None
    length: float
    log_ratio: float | None
    """Of a pair of answers: the logarithm of A's length over B's."""
    score: float | None
    """Mean over the replicates."""
    replicates: tuple[float | None, ...]
    levels: tuple[str, ...]
    """The levels that it named, of the first replicate."""
    order_dependent: bool


@dataclass(slots=True)
class Observed:
    """What a judge said of all cases by one criterion."""

    assignment: Assignment
    groups: Groups
    seen: list[_Seen] = field(default_factory=list[_Seen])

    def add(self, row: Row) -> None:
        """Take in a case."""
        case, groups = row.case, self.groups
        outcomes = [
            None if judgement is None else judgement.outcome
            for work, judgement in row.judgements
            if work.assignment == self.assignment
        ]
        scores = tuple(each.score if isinstance(each, Verdict) else None for each in outcomes)
        given = [each for each in scores if each is not None]
        first = next((each for each in outcomes if isinstance(each, Verdict)), None)
        self.seen.append(
            _Seen(
                case.id,
                "=".join(cluster_of(case, groups.cluster)),
                case.lang,
                _text(case, groups.system),
                _text(case, groups.pair),
                length_of(case, self.assignment.criterion.hypothesis),
                log(len(case.answer) / len(case.rival)) if case.answer and case.rival else None,
                sum(given) / len(given) if given else None,
                scores,
                () if first is None else _levels(first),
                any(isinstance(each, Abstained) and each.reason == _ORDER_DEPENDENT for each in outcomes),
            )
        )


def _text(case: Case, path: str | None) -> str | None:
    value = MISSING if path is None else case.find(path)
    return str(value) if isinstance(value, str | int | float) else None


def _levels(verdict: Verdict) -> tuple[str, ...]:
    labels = [verdict.label] if verdict.label is not None else [claim.label for claim in verdict.claims]
    return tuple(label for label in labels if label is not None)


def observe(run: Run, manifest: Manifest, assignments: Sequence[Assignment], groups: Groups) -> list[Observed]:
    """What was said, in one pass over a run.

    Raises:
        LedgerError: A file of the run can't be read.
    """
    made = [Observed(each, groups) for each in assignments]
    for row in run.rows(manifest):
        for each in made:
            each.add(row)
    return made


def findings_of(
    observed: Observed, pairs: Pairs | None, probes: Iterable[str] = READING
) -> tuple[list[Finding], list[Skipped]]:
    """What the judgements of a run show.

    Args:
        observed: What the judge said.
        pairs: The same joined with people's labels, if there are any.
        probes: Of `READING`.
    """
    found: list[Finding] = []
    skipped: list[Skipped] = []
    for probe in probes:
        made = _PROBES[probe](observed, pairs)
        if isinstance(made, str):
            skipped.append(Skipped(probe, made))
        else:
            found += made
    return found, skipped


# --- The judge alone ------------------------------------------------------------------------------------------------


def _repeat(observed: Observed, _: Pairs | None) -> list[Finding] | str:
    rows = [each for each in observed.seen if len(each.replicates) > 1]
    if not rows:
        why = "the run has one replicate of each judgement"
        return f"{why}: --probe repeat asks again" if is_askable(observed.assignment) else why
    scores = [each.replicates for each in rows]
    what = f"the {len(scores[0])} replicates of the run"
    return [repeat_noise(scores, observed.assignment.threshold, _clusters(observed, rows), what)]


def _position(observed: Observed, _: Pairs | None) -> list[Finding] | str:
    if observed.assignment.criterion.unit is not Unit.PAIR:
        return f"`{observed.assignment.criterion.name}` judges one answer at a time, not pairs"
    rows = [each for each in observed.seen if each.score is not None or each.order_dependent]
    if not any(each.order_dependent for each in rows):
        if is_askable(observed.assignment):
            return "no pair of the run was found to depend on the order; --probe position asks in both orders"
        return "one order is stored; if the other is too: judges compare FILE FILE --judge-a A --judge-b B"
    share = proportion([each.order_dependent for each in rows], _clusters(observed, rows))
    return [
        Finding(
            "position",
            "",
            "pairs whose winner depends on the order, so that there is no verdict",
            "rate",
            Effect(share, None, None),
            caution="which place it favours: --probe position",
        )
    ]


def _scale(observed: Observed, _: Pairs | None) -> list[Finding] | str:
    rows = [each for each in observed.seen if each.score is not None]
    if not rows:
        return "there is no verdict"
    by_level = any(each.levels for each in rows)
    said = [
        (level, each.cluster)
        for each in rows
        for level in (each.levels if by_level else (_TENTHS[min(int((each.score or 0.0) * 10), 9)],))
    ]
    labels = observed.assignment.criterion.scale.labels if by_level else _TENTHS
    said = [(level, cluster) for level, cluster in said if level in labels]
    levels = [level for level, _ in said]
    if not levels:
        return "it names no level of the scale"
    commonest = max(labels, key=levels.count)
    use = severity(pair_labels(levels, levels, labels=labels)).judge
    clusters = [cluster for _, cluster in said]
    grouped = observed.groups.cluster is not None or len(set(clusters)) < len(clusters)
    share = proportion([level == commonest for level in levels], clusters if grouped else None)
    what = "levels named" if by_level else "scores, in tenths"
    others = (
        {} if use is None or use.entropy is None else {"evenness (entropy, 1 is even)": Figure(use.entropy, n=share.n)}
    )
    used = 0 if use is None else use.levels_used
    return [
        Finding(
            "scale",
            "",
            f"{what}: {used} of {len(labels)} used; share of the commonest, {commonest}",
            "description",
            Effect(share, None, None),
            others=others,
        )
    ]


def _language(observed: Observed, _: Pairs | None) -> list[Finding] | str:
    if observed.groups.pair is None:
        return "nothing says which answers are the same in two languages: name a field they share with --pair"
    rows = [each for each in observed.seen if each.score is not None and each.pair is not None and each.lang]
    by_lang: dict[str, dict[str, _Seen]] = {}
    for each in rows:
        by_lang.setdefault(each.lang or "", {})[each.pair or ""] = each
    if len(by_lang) < 2:
        return f"`{observed.groups.pair}` pairs no answers of two languages"
    first = max(by_lang, key=lambda lang: (len(by_lang[lang]), lang == "en"))
    found: list[Finding] = []
    for lang in sorted(set(by_lang) - {first}):
        both = [pair for pair in by_lang[first] if pair in by_lang[lang]]
        if not both:
            continue
        old, new = (_numbers(by_lang[each][pair].score or 0.0 for pair in both) for each in (first, lang))
        cut = observed.assignment.threshold
        found.append(
            Finding(
                "language",
                f"{first} to {lang}",
                f"the same in another language: change of the score from {first} to {lang}",
                "change",
                effect_of_change(perturbation(old, new)),
                turned(old >= cut, new >= cut, None),
            )
        )
    return found or f"`{observed.groups.pair}` pairs no answers of two languages"


# --- Against people, where there are labels -------------------------------------------------------------------------


def _severity(_: Observed, pairs: Pairs | None) -> list[Finding] | str:
    if pairs is None:
        return "needs people's labels: --gold"
    meaning = pairs.question.meaning
    if not (meaning.binary or (meaning.ordered and meaning.labels)):
        return "people's labels are no levels in order: say which are good with --positive"
    items = labelled_items(pairs)
    compared = severity(items.tabulated())
    made = None
    unit = "levels"
    if meaning.binary:
        unit = "pass rate"
        people, judge = _sides(items)
        made = turned(people, judge, _ids(items))
    return [
        Finding(
            "severity",
            "",
            f"the judge's {unit} less people's: below 0 it is harsher",
            "gap",
            effect_of(compared.shift),
            made,
            others={"spread over people's (SD ratio)": compared.sd_ratio} if not meaning.binary else {},
        )
    ]


def _length(observed: Observed, pairs: Pairs | None) -> list[Finding] | str:
    if observed.assignment.criterion.unit is Unit.PAIR:
        return _length_of_pairs(observed, pairs)
    what = "the longer half of the answers less the shorter"
    if pairs is not None and pairs.question.meaning.binary:
        items = labelled_items(pairs)
        longer = _longer([each.length for each in items.pairs])
        made = _against_people("length", what, items, longer)
        if made is None:
            return "all answers are as long"
        return [replace(each, explains=_explained(observed, items, longer, each.effect.figure)) for each in made]
    rows = [each for each in observed.seen if each.score is not None]
    longer = _longer([each.length for each in rows])
    return _described("length", what, observed, rows, longer) or "all answers are as long"


def _explained(
    observed: Observed, items: Items, longer: NDArray[np.bool_], effect: Figure
) -> tuple[str, Figure] | None:
    """How much of the difference of two systems may be that one writes longer: of those that differ most in it."""
    by_id = {each.case_id: each.system for each in observed.seen}
    said: dict[str, list[bool]] = {}
    for each, is_longer in zip(items.pairs, longer.tolist(), strict=True):
        system = by_id.get(each.case_id)
        if system is not None:
            said.setdefault(system, []).append(is_longer)
    if len(said) < 2:
        return None
    shares = {system: sum(each) / len(each) for system, each in said.items()}
    most, least = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    return f"{most} less {least}", decision_impact(effect, shares[most], shares[least])


def _longer(lengths: Sequence[float]) -> NDArray[np.bool_]:
    values = _numbers(lengths)
    return values > np.median(values) if values.size else np.zeros(0, dtype=np.bool_)


def _length_of_pairs(observed: Observed, pairs: Pairs | None) -> list[Finding] | str:
    if pairs is None:
        return "needs people's preferences: --gold"
    labels, meaning = pairs.question.labels, pairs.question.meaning
    rows: list[tuple[_Seen, bool, float]] = []
    for each in observed.seen:
        given = labels.by_case.get(each.case_id)
        prefers = None if given is None else _FIRST.get(str(meaning.gold(given).label).lower())
        if prefers is not None and each.score is not None and each.score != _EVEN and each.log_ratio is not None:
            rows.append((each, prefers, each.log_ratio))
    judge = [(each.score or 0.0) > _EVEN for each, _, _ in rows]
    found = length_bias(
        [ratio for _, _, ratio in rows],
        [prefers for _, prefers, _ in rows],
        judge,
        clusters=_clusters(observed, [each for each, _, _ in rows]),
    )
    people = _truths(prefers for _, prefers, _ in rows)
    return [
        Finding(
            "length",
            "",
            "pairs in which the longer is preferred: the judge's share less people's",
            "gap",
            found.excess,
            Turned(people.size, None, None, proportion(people != _truths(judge))),
            others={"odds ratio per doubling": found.odds_ratio_per_doubling},
        )
    ]


_EVEN = 0.5
_FIRST = {"a": True, "first": True, "b": False, "second": False}


def _self_preference(observed: Observed, pairs: Pairs | None) -> list[Finding] | str:
    groups, judge = observed.groups, observed.assignment.judge
    if groups.system is None:
        return "nothing says who wrote an answer: name the field with --system"
    family = family_of(judge)
    if not groups.own and family is None:
        return f"`{judge}` is of no family of models known by name: name its own systems with --own"
    systems = {each.system for each in observed.seen if each.system is not None}
    own = {
        each
        for each in systems
        if each in groups.own or (not groups.own and family is not None and family_of(each) == family)
    }
    if not systems:
        return f"no case has the field `{groups.system}`"
    if not own or own == systems:
        which = "none" if not own else "every one"
        return f"of the systems ({', '.join(sorted(systems)[:5])}) {which} is of its own family"
    by_id = {each.case_id: each.system for each in observed.seen}
    what = f"answers of its own family ({', '.join(sorted(own)[:3])}) less those of others"
    if pairs is not None and pairs.question.meaning.binary:
        items = labelled_items(pairs)
        kept = items.only(_truths(by_id.get(each.case_id) is not None for each in items.pairs))
        is_own = _truths(by_id[each.case_id] in own for each in kept.pairs)
        return _against_people("self-preference", what, kept, is_own) or "no labelled answer is of one of the two"
    rows = [each for each in observed.seen if each.score is not None and each.system is not None]
    is_own = _truths(each.system in own for each in rows)
    return _described("self-preference", what, observed, rows, is_own) or "no verdict on answers of one of the two"


def _against_people(probe: str, what: str, items: Items, group: NDArray[np.bool_]) -> list[Finding] | None:
    """Does the judge lift the answers of a group beyond what people see in them?"""
    if not bool(np.any(group)) or bool(np.all(group)):
        return None
    people, judge = _sides(items)
    ids = _ids(items)
    found = self_preference(judge, people, group, clusters=ids)
    rates = group_error_rates(people, judge, group, clusters=ids)
    return [
        Finding(
            probe,
            "",
            f"{what}: the judge's pass rate beyond people's",
            "gap",
            found.effect,
            turned(people[group], judge[group], None if ids is None else [ids[at] for at in np.flatnonzero(group)]),
            others={"passes of what people pass": rates.tpr.gap, "passes of what people fail": rates.fpr.gap},
        )
    ]


def _described(
    probe: str, what: str, observed: Observed, rows: Sequence[_Seen], group: NDArray[np.bool_]
) -> list[Finding] | None:
    """How the pass rate of a group differs. Without people's labels it may be right."""
    if not bool(np.any(group)) or bool(np.all(group)):
        return None
    passes = _truths((each.score or 0.0) >= observed.assignment.threshold for each in rows)
    ids = _clusters(observed, rows)
    split = None
    if ids is not None:
        split = [ids[at] for at in np.flatnonzero(group)], [ids[at] for at in np.flatnonzero(~group)]
    gap = rate_gap(passes[group], passes[~group], split)
    effect = replace(effect_of(gap), p_value=None)
    return [Finding(probe, "", f"{what}: pass rate", "description", effect, caution=_UNLABELLED)]


# --- Columns --------------------------------------------------------------------------------------------------------


def _clusters(observed: Observed, rows: Sequence[_Seen]) -> list[str] | None:
    return None if observed.groups.cluster is None else [each.cluster for each in rows]


def _sides(items: Items) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether people pass each, and whether the judge does. A failed judgement is no pass."""
    return _truths(each.gold == PASS for each in items.pairs), _truths(each.said == PASS for each in items.pairs)


def _ids(items: Items) -> list[str] | None:
    return None if items.clusters is None else [each.cluster for each in items.pairs]


def _truths(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.array(list(values), dtype=np.bool_)


def _numbers(values: Iterable[float]) -> NDArray[np.float64]:
    return np.array(list(values), dtype=np.float64)


_PROBES: Mapping[str, Callable[[Observed, Pairs | None], list[Finding] | str]] = {
    "repeat": _repeat,
    "position": _position,
    "severity": _severity,
    "length": _length,
    "self-preference": _self_preference,
    "language": _language,
    "scale": _scale,
}


# --- Families of models ---------------------------------------------------------------------------------------------

_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "GPT": ("gpt", "chatgpt", "davinci", "openai:o", "o1", "o3", "o4"),
    "Claude": ("claude", "anthropic"),
    "Gemini": ("gemini", "gemma", "palm", "bard"),
    "Llama": ("llama", "vicuna", "alpaca"),
    "Mistral": ("mistral", "mixtral", "ministral", "magistral"),
    "Qwen": ("qwen", "qwq"),
    "DeepSeek": ("deepseek",),
    "Command": ("command-", "c4ai"),
    "Grok": ("grok",),
    "Phi": ("phi-",),
}


def family_of(name: str) -> str | None:
    """The family of models that a name tells; None if it tells none."""
    low = name.lower().rpartition("/")[2]
    parts = [low, low.rpartition(":")[2]]
    for family, beginnings in _FAMILIES.items():
        if any(part.startswith(beginning) for part in parts for beginning in beginnings):
            return family
    return None
