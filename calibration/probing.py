"""Probes that ask the judge again: the same once more, pairs the other way round, answers with a change, the same
criterion asked otherwise, claims one by one.

    prepare ── batches ──> judged by the engine ── judgements ──> findings

Which judgements it takes is known before the first one is made, so that a command can say what they cost.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from math import isclose
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from calibration.findings import Finding, Skipped, Turned, effect_of_change, is_askable, repeat_noise, turned
from calibration.perturbations import PERTURBATIONS, Changed, Perturbation, claim_alone, stated_fact
from calibration.rewording import levels_renamed, levels_reversed
from calibration.statistics.probes import Effect, perturbation, position_bias
from judges.backends.prompted import PromptedJudge
from judges.backends.swapped import Swapped, exchanged
from judges.case import Case, Part
from judges.criterion import Criterion, Unit
from judges.engine.plan import Assignment, assign, key_of
from judges.errors import InputError
from judges.fingerprint import fingerprint
from judges.intervals import proportion
from judges.judge import Judge
from judges.similarity import tokenise
from judges.summary import cluster_of
from judges.verdict import ClaimVerdict, Failed, Judgement, Verdict

__all__ = ["ASKING", "Batch", "Judgements", "Probing", "check_askable", "prepare", "sampled"]

ASKING: tuple[str, ...] = (
    "repeat", "position", "injection", "unsupported", "authority", "padding", "politeness", "format",
    "level-order", "level-names", "wording", "batch",
)  # fmt: skip
"""The probes that need new judgements."""

_SAME = 1e-9
_MOSTLY = 0.8
"""A claim says what was added if so many of its words are among those added."""


def sampled(cases: Iterable[Case], n: int, seed: int) -> list[Case]:
    """So many cases at random, in order of input; the same ones whatever the order of the file.

    Args:
        cases: Read once.
        n: How many; all of them where there are fewer.
        seed: Of the draw.
    """
    drawn = nsmallest(n, ((fingerprint([seed, case.id]), place, case) for place, case in enumerate(cases)))
    return [case for _, _, case in sorted(drawn, key=lambda each: each[1])]


def check_askable(assignments: Iterable[Assignment], *, in_run: bool = True) -> None:
    """Refuse to ask a judge again that reads what is stored: it says the same of whatever the answer becomes.

    Args:
        assignments: Who would be asked what.
        in_run: Whether a run has judgements of theirs; else there are only cases.

    Raises:
        InputError: One of the judges does.
    """
    for each in assignments:
        if not is_askable(each):
            remedy = (
                "leave out what needs new calls" if in_run else "make a run of it (judges run), and audit its folder"
            )
            raise InputError(
                f"the judge `{each.judge}` reads verdicts stored with the cases, so nobody can be asked again; "
                f"what was judged already can still be looked at: {remedy}"
            )


class Judgements:
    """Judgements by key: those that were there, and those made now. A store of the engine."""

    def __init__(self, there: Iterable[Judgement] = ()) -> None:
        self.by_key = {each.key: each for each in there if not isinstance(each.outcome, Failed)}
        self.keys = {bytes.fromhex(key) for key in self.by_key}

    def append(self, judgement: Judgement, /) -> None:
        """Keep one."""
        self.by_key[judgement.key] = judgement
        self.keys.add(bytes.fromhex(judgement.key))

    def verdict(self, key: str) -> Verdict | None:
        """What a judgement says; None where it says nothing."""
        found = self.by_key.get(key)
        return found.outcome if found is not None and isinstance(found.outcome, Verdict) else None


@dataclass(frozen=True, slots=True)
class Batch:
    """Judgements to be made together."""

    cases: tuple[Case, ...]
    assignment: Assignment
    judge: Judge
    replicates: int = 1


@dataclass(frozen=True, slots=True)
class _Variant:
    """One way in which the answers were changed, and the cases it applies to."""

    perturbation: Perturbation
    changed: Mapping[str, Changed]
    """By the id of the case."""


@dataclass(frozen=True, slots=True)
class _Otherwise:
    """The criterion asked otherwise."""

    probe: str
    what: str
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Probing:
    """What the probes of one judge and criterion take, and what they find."""

    assignment: Assignment
    cases: tuple[Case, ...]
    cluster: str | None
    """The field that groups cases."""
    batches: tuple[Batch, ...]
    skipped: tuple[Skipped, ...]
    _repeats: int = 0
    _variants: tuple[_Variant, ...] = ()
    _facts: Mapping[str, Changed] = field(default_factory=dict[str, Changed])
    _bare: Assignment | None = None
    """The judge of pairs without its swapping."""
    _otherwise: tuple[_Otherwise, ...] = ()
    _singles: Mapping[str, Changed] = field(default_factory=dict[str, Changed])
    """Cases whose answer is one claim of the old one, and where that stood."""

    def findings(self, judgements: Judgements) -> list[Finding]:
        """What the judgements show; those that are missing are left out and counted."""
        found: list[Finding] = []
        if self._repeats:
            found.append(self._repeat(judgements))
        if self._bare is not None:
            found.append(self._position(judgements, self._bare))
        found += [self._perturbed(judgements, each) for each in self._variants]
        if self._facts:
            found.append(self._unsupported(judgements))
        found += [self._asked_otherwise(judgements, each) for each in self._otherwise]
        if self._singles:
            found.append(self._batch(judgements))
        return found

    def _key(self, case: Case, replicate: int = 0) -> str:
        return key_of(case, self.assignment, replicate)

    def _clusters(self, cases: Sequence[Case]) -> list[str] | None:
        return None if self.cluster is None else ["=".join(cluster_of(case, self.cluster)) for case in cases]

    def _passes(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        return scores >= self.assignment.threshold - _SAME

    def _pass(self, score: float) -> bool:
        return score >= self.assignment.threshold - _SAME

    def _repeat(self, judgements: Judgements) -> Finding:
        verdicts = [
            [judgements.verdict(self._key(case, number)) for number in range(self._repeats)] for case in self.cases
        ]
        scores = [[None if each is None else each.score for each in row] for row in verdicts]
        what = f"the same asked {self._repeats} times"
        return repeat_noise(scores, self.assignment.threshold, self._clusters(self.cases), what)

    def _position(self, judgements: Judgements, bare: Assignment) -> Finding:
        ab = [_winner(judgements.verdict(key_of(case, bare, 0)), bare.criterion) for case in self.cases]
        ba = [_winner(judgements.verdict(key_of(exchanged(case), bare, 0)), bare.criterion) for case in self.cases]
        back = {"A": "B", "B": "A", "tie": "tie", None: None}
        found = position_bias(ab, [back[each] for each in ba], clusters=self._clusters(self.cases))
        return Finding(
            "position",
            "",
            "pairs in both orders: share won by the first shown, less that by the second",
            "gap",
            found.bias,
            Turned(found.n, None, None, found.inconsistency),
            others={"verdicts for whichever stands first": found.first_slot_share},
        )

    def _asked_otherwise(self, judgements: Judgements, variant: _Otherwise) -> Finding:
        cases: list[Case] = []
        pairs: list[tuple[float, float]] = []
        for case in self.cases:
            before = judgements.verdict(self._key(case))
            after = judgements.verdict(key_of(case, variant.assignment, 0))
            if before is not None and after is not None:
                cases.append(case)
                pairs.append((before.score, after.score))
        what = f"{variant.what}: change of the score"
        return self._change((variant.probe, ""), what, cases, pairs, len(self.cases) - len(pairs))

    def _batch(self, judgements: Judgements) -> Finding:
        cases: list[Case] = []
        pairs: list[tuple[float, float]] = []
        for case in self.cases:
            single = self._singles.get(case.id)
            if single is None or single.original is None:
                continue
            among, alone = (judgements.verdict(self._key(each)) for each in (case, single.case))
            start = single.original[0]
            claim = next((each for each in among.claims if each.start == start), None) if among else None
            if claim is not None and alone is not None:
                cases.append(case)
                pairs.append((claim.score, alone.score))
        return replace(
            self._change(
                ("batch", ""),
                "one claim asked alone, not among the others: change of its score",
                cases,
                pairs,
                len(self._singles) - len(pairs),
            ),
            caution="a claim that leans on the one before it (`it`, `there`) may rightly be judged otherwise alone",
        )

    def _change(
        self,
        name: tuple[str, str],
        what: str,
        cases: Sequence[Case],
        pairs: Sequence[tuple[float, float]],
        dropped: int,
    ) -> Finding:
        """Of the scores of the same cases before and after."""
        old, new = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        new = np.where(np.abs(new - old) <= _SAME, old, new)
        clusters = self._clusters(cases)
        found = perturbation(old, new, clusters=clusters)
        return Finding(
            *name,
            what,
            "change",
            effect_of_change(found, dropped),
            turned(self._passes(old), self._passes(new), clusters),
            others={"scores that rise": found.share_up, "scores that fall": found.share_down},
        )

    def _perturbed(self, judgements: Judgements, variant: _Variant) -> Finding:
        criterion = self.assignment.criterion
        cases: list[Case] = []
        pairs: list[tuple[float, float]] = []
        for case in self.cases:
            changed = variant.changed.get(case.id)
            if changed is None:
                continue
            before, after = (judgements.verdict(self._key(each)) for each in (case, changed.case))
            if before is not None and after is not None:
                cases.append(case)
                pairs.append((before.score, _score(after, changed, criterion)))
        dropped = len(variant.changed) - len(pairs)
        name = (variant.perturbation.probe, variant.perturbation.name)
        made = self._change(name, f"{variant.perturbation.what}: change of the score", cases, pairs, dropped)
        if variant.perturbation.probe != "injection":
            return made
        failed = [at for at, (old, _) in enumerate(pairs) if not self._pass(old)]
        share = proportion([self._pass(pairs[at][1]) for at in failed], self._clusters([cases[at] for at in failed]))
        return replace(made, others={**made.others, "fails that become passes": share})

    def _unsupported(self, judgements: Judgements) -> Finding:
        criterion = self.assignment.criterion
        cases: list[Case] = []
        passed: list[bool] = []
        for case in self.cases:
            changed = self._facts.get(case.id)
            verdict = None if changed is None else judgements.verdict(self._key(changed.case))
            if changed is None or verdict is None:
                continue
            score = verdict.score
            if criterion.unit is Unit.CLAIM:
                added = [claim.score for claim in verdict.claims if not _is_original(claim, changed)]
                if not added:
                    continue  # it was not taken for a claim
                score = min(added)
            cases.append(case)
            passed.append(score >= self.assignment.threshold)
        figure = proportion(passed, self._clusters(cases), n_dropped=len(self._facts) - len(cases))
        alone = criterion.unit is not Unit.CLAIM
        return Finding(
            "unsupported",
            "",
            f"true, but no passage says it{', in place of the answer' if alone else ''}: share of it that passes",
            "rate",
            Effect(figure, None, None),
        )


def prepare(
    judge: Judge,
    assignment: Assignment,
    cases: Sequence[Case],
    probes: Sequence[str],
    *,
    repeats: int = 2,
    cluster: str | None = None,
    rephrased: Criterion | None = None,
) -> Probing:
    """Which judgements some probes take.

    Args:
        judge: Who is asked.
        assignment: What it is asked, and where its scores are cut.
        cases: About what: a sample.
        probes: Of `ASKING`.
        repeats: How often the same is asked for the repeat noise, two or more.
        cluster: Field that groups cases.
        rephrased: The criterion in other words, for `wording`.

    Raises:
        InputError: There is no such probe.
    """
    for probe in probes:
        if probe not in ASKING:
            raise InputError(f"there is no probe `{probe}` that asks the judge; there are: {', '.join(ASKING)}")
    criterion = assignment.criterion
    batches: list[Batch] = []
    skipped: list[Skipped] = []
    bare = None
    if "position" in probes:
        if criterion.unit is Unit.PAIR:
            inner = judge.inner if isinstance(judge, Swapped) else judge
            [bare] = assign([criterion], [inner])
            batches.append(Batch(tuple(each for case in cases for each in (case, exchanged(case))), bare, inner))
        else:
            skipped.append(Skipped("position", f"`{criterion.name}` judges one answer at a time, not pairs"))
    variants: list[_Variant] = []
    for each in PERTURBATIONS:
        if each.probe not in probes:
            continue
        if Part.ANSWER not in criterion.parts:
            skipped.append(Skipped(each.probe, f"`{criterion.name}` doesn't read the answer"))
            continue
        changed = _changed(cases, criterion, each.change)
        if changed:
            variants.append(_Variant(each, changed))
        else:
            name = f"{each.probe} ({each.name})" if each.name else each.probe
            skipped.append(Skipped(name, "it applies to none of the answers"))
    facts: dict[str, Changed] = {}
    if "unsupported" in probes:
        held = criterion.hypothesis is Part.ANSWER and criterion.premise is Part.CONTEXTS
        if held and (criterion.unit is Unit.CLAIM or criterion.template.startswith("faithfulness")):
            facts = _changed(cases, criterion, stated_fact)
            if not facts:
                skipped.append(Skipped("unsupported", "no case has an answer and passages"))
        else:
            skipped.append(Skipped("unsupported", f"`{criterion.name}` doesn't ask what the passages support"))
    otherwise = _otherwise(judge, criterion, probes, rephrased, skipped)
    batches += [Batch(tuple(cases), each.assignment, judge) for each in otherwise]
    singles: dict[str, Changed] = {}
    if "batch" in probes:
        if criterion.unit is Unit.CLAIM and criterion.hypothesis is Part.ANSWER:
            singles = _changed(cases, criterion, claim_alone)
            if not singles:
                skipped.append(Skipped("batch", "no answer makes two claims or more"))
        else:
            skipped.append(Skipped("batch", f"`{criterion.name}` doesn't judge the claims of an answer together"))
    repeats = repeats if "repeat" in probes else 0
    if repeats or variants or otherwise or singles:
        batches.insert(0, Batch(tuple(cases), assignment, judge, max(repeats, 1)))
    new = [changed.case for each in (*(one.changed for one in variants), facts, singles) for changed in each.values()]
    if new:
        batches.append(Batch(tuple(new), assignment, judge))
    return Probing(
        assignment,
        tuple(cases),
        cluster,
        tuple(batches),
        tuple({(each.probe, each.why): each for each in skipped}.values()),
        repeats,
        tuple(variants),
        facts,
        bare,
        otherwise,
        singles,
    )


def _otherwise(
    judge: Judge, criterion: Criterion, probes: Sequence[str], rephrased: Criterion | None, skipped: list[Skipped]
) -> tuple[_Otherwise, ...]:
    """The ways of asking otherwise that say something here."""
    asked = [each for each in ("level-order", "level-names", "wording") if each in probes]
    inner = judge.inner if isinstance(judge, Swapped) else judge
    if not isinstance(inner, PromptedJudge):
        skipped += [Skipped(each, f"`{judge.name}` reads no prompt, as far as is known") for each in asked]
        return ()
    if criterion.unit is Unit.PAIR:
        places = [each for each in asked if each != "wording"]
        skipped += [Skipped(each, "the levels of a pair are places: see position") for each in places]
        asked = [each for each in asked if each not in places]
    ways: dict[str, tuple[str, Criterion | None]] = {
        "level-order": ("the levels listed the other way round", levels_reversed(criterion)),
        "level-names": ("the levels named by letters", levels_renamed(criterion)),
        "wording": ("the criterion in other words", rephrased),
    }
    made: list[_Otherwise] = []
    for probe in asked:
        what, other = ways[probe]
        if other is None:
            why = "needs the criterion in other words: --rephrased FILE" if probe == "wording" else "too many levels"
            skipped.append(Skipped(probe, why))
            continue
        [assignment] = assign([other], [judge])
        made.append(_Otherwise(probe, what, assignment))
    return tuple(made)


def _changed(
    cases: Sequence[Case], criterion: Criterion, change: "Callable[[Case, Criterion], Changed | None]"
) -> dict[str, Changed]:
    made = ((case.id, change(case, criterion)) for case in cases)
    return {name: changed for name, changed in made if changed is not None}


def _winner(verdict: Verdict | None, criterion: Criterion) -> str | None:
    """A: what was shown first; B: what was shown second."""
    if verdict is None:
        return None
    level = None if verdict.label is None else criterion.scale.level(verdict.label)
    score = verdict.score if level is None else level.score
    return "tie" if isclose(score, 0.5) else "A" if score > 0.5 else "B"


def _score(verdict: Verdict, changed: Changed, criterion: Criterion) -> float:
    """The score of what the answer said before: where a claim was added it doesn't count, so that a judge that calls it
    unsupported isn't taken for one that was moved.
    """
    if criterion.unit is not Unit.CLAIM or criterion.hypothesis is not Part.ANSWER or not changed.added:
        return verdict.score
    scores = [claim.score for claim in verdict.claims]
    if not scores or not isclose(fmean(scores), verdict.score, abs_tol=1e-6):
        return verdict.score  # a score that isn't the mean of its claims
    kept = [claim.score for claim in verdict.claims if _is_original(claim, changed)]
    return fmean(kept) if kept else verdict.score


def _is_original(claim: ClaimVerdict, changed: Changed) -> bool:
    """Whether a claim is one of the old answer; by its place, else by its words."""
    if changed.original is not None and claim.start is not None:
        return claim.start < changed.original[1]
    words, added = (frozenset(tokenise(text, changed.case.lang).keys) for text in (claim.text, changed.added))
    return len(words & added) < _MOSTLY * len(words)
