"""Two runs, or judges stored in files, joined by the ids of their cases, and what there is to compare in them.

What differs decides. The same judge on other answers compares the systems that gave them; another judge on the same
answers compares the judges. Where both differ nothing can be put down to either, and the comparison is refused.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, TypeAlias

from calibration.answers import Answer, Answers, answers_in_run
from calibration.labels import group_of
from calibration.stored import StoredJudge
from judges.case import Case, Part
from judges.criterion import Unit
from judges.engine.plan import Assignment
from judges.engine.run import Run
from judges.errors import InputError
from judges.fingerprint import fingerprint
from judges.summary import NO_SLICE, slices_of

__all__ = ["Both", "Matched", "Matching", "Mode", "match"]

Mode: TypeAlias = Literal["systems", "judges", "same_judge"]
"""`same_judge`: the same judge has judged the same answers twice, so the comparison shows its repeat noise."""


_FEW = 0.1  # of the answers may have been mended between two judges; more are another system's


@dataclass(frozen=True, slots=True)
class Both:
    """One case of both runs."""

    case_id: str
    cluster: str
    slices: tuple[str, ...]
    a: Answer | None
    """What was said of it in run A; None if it isn't judged yet."""
    b: Answer | None


@dataclass(frozen=True, slots=True)
class Matched:
    """One criterion in both runs."""

    a: Assignment
    b: Assignment
    threshold_a: float
    threshold_b: float
    cases: tuple[Both, ...]
    """In order of run A."""
    clustered: bool
    """Whether intervals allow for groups."""
    other_content: int
    """Cases left out since not only the judge differs but also what it read."""
    stored_a: bool = False
    """Whether A's answers were stored by somebody else: their scores are as they were, and may lie beyond 0 to 1."""
    stored_b: bool = False
    no_cut: str = ""
    """Why nobody knows from where on scores pass; empty where it is known."""

    def check_cut(self) -> None:
        """Refuse what needs passes where nobody knows them.

        Raises:
            InputError: Nobody does.
        """
        if self.no_cut:
            raise InputError(self.no_cut)

    @property
    def by_label(self) -> bool:
        """Whether labels are compared, none of which is good: preferences, or stored words that nothing is said of."""
        stored = ((self.stored_a, "a"), (self.stored_b, "b"))
        words = (getattr(each, side) for is_stored, side in stored if is_stored for each in self.cases)
        if self.no_cut:
            return all(each is None or each.score is None for each in words)
        return self.a.criterion.unit is Unit.PAIR and not (self.stored_a or self.stored_b)

    @property
    def left_out(self) -> Counter[str]:
        """Cases without a verdict of either side, by side and kind: `a_abstained`, `b_failed`, `a_pending`."""
        sides, by_label = chain.from_iterable((("a", each.a), ("b", each.b)) for each in self.cases), self.by_label
        kinds = ((side, _kind(answer, by_label=by_label)) for side, answer in sides)
        return Counter(f"{side}_{kind}" for side, kind in kinds if kind != "verdict")

    def slice(self, name: str | None) -> "Matched":
        """Only the cases of a slice."""
        return self if name is None else replace(self, cases=tuple(each for each in self.cases if name in each.slices))


@dataclass(frozen=True, slots=True)
class Matching:
    """Two runs, joined by the ids of their cases."""

    mode: Mode
    matched: tuple[Matched, ...]
    shared: int
    """Cases of both runs that ask the same."""
    only_a: int
    only_b: int
    other_question: int
    """Cases with the same id and another question: they are left out."""
    duplicates: int
    """Cases whose content is that of another; each such group counts as one in the intervals."""
    slices: tuple[str, ...]
    """Values of the field to slice by, those of most cases first."""


@dataclass(slots=True)
class _Shared:
    """A case of both runs before it is known what is compared."""

    case_id: str
    cluster: str | None
    slices: tuple[str, ...]
    content_a: Mapping[str, str]
    """By criterion: a hash of all that a judge may read."""
    answers_a: Sequence[Answer | None]
    content_b: Mapping[str, str] = field(default_factory=dict[str, str])
    answers_b: Sequence[Answer | None] | None = None


def _kind(answer: Answer | None, *, by_label: bool) -> str:
    """A stored answer that is neither good nor bad is no verdict, unless labels are compared."""
    if answer is None:
        return "pending"
    said = answer.label if by_label else answer.score
    return "failed" if answer.kind == "verdict" and said is None else answer.kind


def match(
    run_a: Run | StoredJudge,
    run_b: Run | StoredJudge,
    *,
    criteria: Sequence[str] | None = None,
    judge_a: str | None = None,
    judge_b: str | None = None,
    threshold: float | None = None,
    cluster: str | None = None,
    clusters: Mapping[str, str] | None = None,
    by: str | None = None,
) -> Matching:
    """Join two runs by the ids of their cases, and find out what is to be compared.

    Args:
        run_a: The one run, or a judge stored in a file.
        run_b: The other; the same folder if it holds two judges.
        criteria: Only these.
        judge_a: Only this judge of run A.
        judge_b: Only this judge of run B.
        threshold: A score at or above it is a pass; by default each judge's own.
        cluster: Field that groups cases. Without it cases with the very same content are a group.
        clusters: The group of each case, where a file of labels names it.
        by: Field whose values are slices.

    Raises:
        InputError: The runs have no case or criterion in common, both judge and answers differ, nothing does, or it
            isn't clear which judges are meant.
        LedgerError: A file of a run can't be read.
    """
    asked_a = _asked(run_a, criteria, judge_a)
    asked_b = _asked(run_b, criteria, judge_b)
    common = {a.criterion.fingerprint for a in asked_a} & {b.criterion.fingerprint for b in asked_b}
    if not common:
        names = (", ".join(dict.fromkeys(each.criterion.name for each in asked)) for asked in (asked_a, asked_b))
        raise InputError(
            f"the runs have no criterion in common, or not worded the same (A: {next(names)}; B: {next(names)})"
            + _is_about(run_a, run_b)
        )
    asked_a = [a for a in asked_a if a.criterion.fingerprint in common]
    asked_b = [b for b in asked_b if b.criterion.fingerprint in common]
    shared, counts = _joined(run_a, run_b, asked_a, asked_b, cluster, clusters or {}, by)
    mode, chosen = _paired(run_a, run_b, asked_a, asked_b, shared)
    no_cut = "" if threshold is not None else _no_cut(run_a) or _no_cut(run_b)
    matched = [
        replace(
            _matched(a, b, asked_a, asked_b, shared, mode, threshold, cluster is not None),
            stored_a=isinstance(run_a, StoredJudge),
            stored_b=isinstance(run_b, StoredJudge),
            no_cut=no_cut,
        )
        for a, b in chosen
    ]
    named = Counter(chain.from_iterable(each.slices for each in shared))
    return Matching(
        mode=mode,
        matched=tuple(matched),
        shared=len(shared),
        only_a=counts["only_a"],
        only_b=counts["only_b"],
        other_question=counts["other_question"],
        duplicates=0 if cluster is not None else max(len(m.cases) - len({c.cluster for c in m.cases}) for m in matched),
        slices=tuple(sorted(named, key=lambda name: (name == NO_SLICE, -named[name], name))),
    )


def _is_about(run_a: Run | StoredJudge, run_b: Run | StoredJudge) -> str:
    """What may help where a field has another name than what it is about."""
    asked = [each.assignments for each in (run_a, run_b) if isinstance(each, StoredJudge)]
    if not asked or any(len(each) > 1 for each in asked):
        return ""
    return (
        f"; stored verdicts whose field is called otherwise: -c {asked[0][0].criterion.name} says what they are about"
    )


def _asked(run: Run | StoredJudge, criteria: Sequence[str] | None, judge: str | None) -> list[Assignment]:
    if isinstance(run, StoredJudge):
        return list(run.assignments)
    there = run.manifest().assignments
    found = [a for a in there if (criteria is None or a.criterion.name in criteria) and judge in (None, a.judge)]
    if not found:
        wanted = " by ".join(f"`{name}`" for name in ("`, `".join(criteria or ()), judge) if name)
        has = ", ".join(f"{a.criterion.name} by {a.judge}" for a in there)
        raise InputError(f"{run.path}: has no {wanted}; it has: {has}")
    return found


def _answers(run: Run | StoredJudge, asked: Sequence[Assignment]) -> Answers:
    return run.answers(asked) if isinstance(run, StoredJudge) else answers_in_run(run, run.manifest(), asked)


def _no_cut(run: Run | StoredJudge) -> str:
    return run.no_cut if isinstance(run, StoredJudge) else ""


def _joined(
    run_a: Run | StoredJudge,
    run_b: Run | StoredJudge,
    asked_a: Sequence[Assignment],
    asked_b: Sequence[Assignment],
    cluster: str | None,
    clusters: Mapping[str, str],
    by: str | None,
) -> tuple[list[_Shared], Counter[str]]:
    found: dict[str, _Shared] = {}
    questions: dict[str, str | None] = {}
    counts: Counter[str] = Counter()
    for case, answers in _answers(run_a, asked_a):
        group = None
        if cluster is not None:
            group = clusters.get(case.id) or group_of(case, cluster) or case.id
        slices = () if by is None else tuple(slices_of(case, by))
        found[case.id] = _Shared(case.id, group, slices, _contents(case, asked_a), answers)
        questions[case.id] = case.question
    for case, answers in _answers(run_b, asked_b):
        one = found.get(case.id)
        if one is None:
            counts["only_b"] += 1
        elif questions[case.id] != case.question:
            counts["other_question"] += 1
            del found[case.id]
        else:
            one.content_b, one.answers_b = _contents(case, asked_b), answers
    shared = [each for each in found.values() if each.answers_b is not None]
    counts["only_a"] = len(found) - len(shared)
    if not shared:
        why = "their questions differ" if counts["other_question"] else "no id is in both"
        raise InputError(f"{run_a.path} and {run_b.path} have no case in common ({why}); judge the same cases in both")
    return shared, counts


def _contents(case: Case, asked: Sequence[Assignment]) -> dict[str, str]:
    """By criterion what a judge may read; a case without any of it, as in a file of verdicts only, is like no other."""
    made: dict[str, str] = {}
    for criterion in {a.criterion.fingerprint: a.criterion for a in asked}.values():
        texts = [case.part(part) for part in criterion.parts if part is not Part.EXTRA]
        made[criterion.fingerprint] = fingerprint([case.lang, texts if any(texts) else case.id])
    return made


def _paired(
    run_a: Run | StoredJudge,
    run_b: Run | StoredJudge,
    asked_a: Sequence[Assignment],
    asked_b: Sequence[Assignment],
    shared: Sequence[_Shared],
) -> tuple[Mode, list[tuple[Assignment, Assignment]]]:
    """What is compared, and which criterion and judge of A with which of B."""
    pairs = [(a, b) for a in asked_a for b in asked_b if a.criterion.fingerprint == b.criterion.fingerprint]
    same = [(a, b) for a, b in pairs if a.judge_fingerprint == b.judge_fingerprint]
    other = [(a, b) for a, b in pairs if a.judge_fingerprint != b.judge_fingerprint]
    changed = {
        key: sum(each.content_a[key] != each.content_b[key] for each in shared)
        for key in {a.criterion.fingerprint for a, _ in pairs}
    }
    if same and any(changed.values()):
        return "systems", same
    if max(changed.values()) > _FEW * len(shared):
        judges = " and ".join(f"`{name}`" for name in dict.fromkeys(each.judge for each in (*asked_a, *asked_b)))
        raise InputError(
            f"both the answers and the judge differ ({judges}), so a difference can't be put down to either; judge "
            "both runs with the same judge, or the same answers with both"
        )
    if _is_one_folder(run_a, run_b):
        order = {a.fingerprint: at for at, a in enumerate(asked_a)}
        other = [(a, b) for a, b in other if order[a.fingerprint] < order.get(b.fingerprint, len(order))]
        if not other:
            kind = "file, and one judge is named" if isinstance(run_a, StoredJudge) else "run with one judge"
            raise InputError(f"{run_a.path} is one {kind}: there is nothing to compare it with")
    if other:
        if max(Counter(a.criterion.name for a, _ in other).values()) > 1:
            names = (", ".join(dict.fromkeys(each.judge for each in asked)) for asked in (asked_a, asked_b))
            raise InputError(
                f"which judges? choose with --judge-a and --judge-b (A has {next(names)}; B has {next(names)})"
            )
        return "judges", other
    return "same_judge", same


def _is_one_folder(run_a: Run | StoredJudge, run_b: Run | StoredJudge) -> bool:
    return run_a.path.resolve() == run_b.path.resolve()


def _matched(
    a: Assignment,
    b: Assignment,
    asked_a: Sequence[Assignment],
    asked_b: Sequence[Assignment],
    shared: Sequence[_Shared],
    mode: Mode,
    threshold: float | None,
    grouped: bool,
) -> Matched:
    if mode == "systems" and threshold is None and a.threshold != b.threshold:
        raise InputError(
            f"{a.criterion.name}: scores pass from {a.threshold:g} in A and from {b.threshold:g} in B; "
            "give one --threshold for both"
        )
    at_a, at_b, key = asked_a.index(a), asked_b.index(b), a.criterion.fingerprint
    cases: list[Both] = []
    other_content = 0
    for each in shared:
        if mode != "systems" and each.content_a[key] != each.content_b[key]:
            other_content += 1
            continue
        group = each.cluster if each.cluster is not None else f"{each.content_a[key]}{each.content_b[key]}"
        answer_b = None if each.answers_b is None else each.answers_b[at_b]
        cases.append(Both(each.case_id, group, each.slices, each.answers_a[at_a], answer_b))
    clustered = grouped or len({each.cluster for each in cases}) < len(cases)
    cuts = (a.threshold, b.threshold) if threshold is None else (threshold, threshold)
    return Matched(a, b, *cuts, tuple(cases), clustered, other_content)
