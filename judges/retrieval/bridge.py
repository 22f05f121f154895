"""From verdicts to qrels: where nobody has labelled passages, what a judge says of each can stand in for labels.

Such qrels know only what was retrieved: what was missed isn't in them, so recall and the like tell how early the
relevant passages came, and not whether any is missing. Whoever shows a number made from them says where they are from.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from judges.case import Case, Context, Part
from judges.criterion import Criterion, Scale, Unit
from judges.errors import InputError
from judges.retrieval.fields import shown
from judges.retrieval.qrels import Qrels
from judges.retrieval.ranking import Ranking
from judges.verdict import Abstained, Failed, Outcome, Verdict

__all__ = ["JudgedPassages", "judges_passages", "qrels_from_verdicts"]


@dataclass(frozen=True, slots=True)
class JudgedPassages:
    """Qrels made of verdicts, with the rankings that were judged. Queries are cases, by id."""

    qrels: Qrels
    rankings: Mapping[str, Ranking]
    left_out: Mapping[str, int]
    """Cases without a verdict, by the reason: abstentions, failures, and `pending` for those not judged yet."""


def judges_passages(criterion: Criterion) -> bool:
    """Whether verdicts on this criterion say of each passage whether it is relevant to the question."""
    return (criterion.hypothesis, criterion.premise, criterion.unit) == (Part.CONTEXTS, Part.QUESTION, Unit.CONTEXT)


def qrels_from_verdicts(
    judged: Iterable[tuple[Case, Sequence[Outcome]]], scale: Scale, threshold: float, *, keep_first: bool = False
) -> JudgedPassages:
    """The grade that each passage of each case gets from its verdicts.

    A passage whose score is below the threshold has grade 0. Where the judge names levels, those from the threshold on
    are grades 1, 2, ...; else every other passage has grade 1. Of several verdicts on a case the mean counts.

    Args:
        judged: Each case with its outcomes, one for each time it was judged.
        scale: Of the criterion.
        threshold: Scores from here on are relevant.
        keep_first: Of a document that a case has twice keep the first copy. The better grade counts.

    Raises:
        InputError: A case has a document twice and `keep_first` isn't set, or a verdict doesn't fit its passages.
    """
    grades: dict[str, Mapping[str, int]] = {}
    rankings: dict[str, Ranking] = {}
    left_out: Counter[str] = Counter()
    for case, outcomes in judged:
        verdicts = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
        if not verdicts:
            left_out[_reason(outcomes)] += 1
            continue
        named = [(context.doc_id or f"passage {n}", context) for n, context in enumerate(case.contexts, 1)]
        try:
            order = sorted(named, key=lambda each: each[1].rank or len(named))
            rankings[case.id] = Ranking.in_order((name for name, _ in order), keep_first=keep_first)
        except InputError as error:
            raise InputError(f"case {shown(case.id)}: {error}") from error
        grades[case.id] = _grades(case.id, named, verdicts, scale, threshold)
    return JudgedPassages(Qrels(grades), rankings, dict(left_out))


def _reason(outcomes: Sequence[Outcome]) -> str:
    match next(iter(outcomes), None):
        case Abstained(reason=reason):
            return reason
        case Failed(error=error):
            return error
        case _:
            return "pending"


def _grades(
    case: str, named: Sequence[tuple[str, Context]], verdicts: Sequence[Verdict], scale: Scale, threshold: float
) -> dict[str, int]:
    scores: dict[int, list[float]] = {}
    for verdict in verdicts:
        places = _places(case, [context.text for _, context in named], verdict)
        for place, claim in zip(places, verdict.claims, strict=True):
            scores.setdefault(place, []).append(claim.score)
    levels: list[float] = []
    if all(claim.label is not None for verdict in verdicts for claim in verdict.claims):
        levels = sorted({level.score for level in scale.levels if level.score >= threshold})
    grades: dict[str, int] = {}
    for place, given in scores.items():
        name, score = named[place][0], fmean(given)
        grade = 0 if score < threshold else max(1, sum(level <= score for level in levels))
        grades[name] = max(grade, grades.get(name, 0))
    return grades


def _places(case: str, texts: Sequence[str], verdict: Verdict) -> list[int]:
    """Which passage each entry of a verdict is about. They are in order; blank passages have none."""
    places: list[int] = []
    left = iter(enumerate(texts))
    for claim in verdict.claims:
        place = next((place for place, text in left if text.startswith(claim.text) and text.strip()), None)
        if place is None:
            raise InputError(f"case {shown(case)}: its verdict doesn't fit its passages; judge it again into a new run")
        places.append(place)
    return places
