"""The judgements of an evaluation, as a sequence that shows itself as a table in a notebook."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, overload

from judges.engine.ledger import outcome_record
from judges.verdict import Abstained, Failed, Judgement, Verdict

__all__ = ["Results", "judgement_record"]

_ROWS_SHOWN = 20
_NARROW = 'style="text-align:left;white-space:nowrap"'


def judgement_record(judgement: Judgement) -> dict[str, Any]:
    """One judgement as JSON-ready values. What depends on the moment (seconds) is left out."""
    return {
        "case": judgement.case_id,
        "criterion": judgement.criterion,
        "judge": judgement.judge,
        "replicate": judgement.replicate,
        "score": judgement.score,
        **outcome_record(judgement.outcome),
    }


class Results(Sequence[Judgement]):
    """Judgements in order of the cases."""

    def __init__(self, judgements: Sequence[Judgement]) -> None:
        self._judgements = judgements

    def __len__(self) -> int:
        return len(self._judgements)

    def __iter__(self) -> Iterator[Judgement]:
        return iter(self._judgements)

    @overload
    def __getitem__(self, index: int) -> Judgement: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Judgement | Results":
        if isinstance(index, slice):
            return Results(self._judgements[index])
        return self._judgements[index]

    def __repr__(self) -> str:
        return f"<Results: {len(self)} judgements>"

    def to_records(self) -> list[dict[str, Any]]:
        """The judgements as JSON-ready dictionaries, one each: for a data frame, say."""
        return [judgement_record(judgement) for judgement in self]

    def _repr_html_(self) -> str:
        head = "".join(f"<th {_NARROW}>{name}</th>" for name in ("case", "criterion", "judge", "score", "why"))
        body = "".join(f"<tr>{_html_cells(judgement)}</tr>" for judgement in self[:_ROWS_SHOWN])
        rest = len(self) - _ROWS_SHOWN
        more = f"<p>and {rest:,} more</p>" if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _html_cells(judgement: Judgement) -> str:
    *named, why = map(escape, _cells(judgement))
    return "".join(f"<td {_NARROW}>{cell}</td>" for cell in named) + f'<td style="text-align:left">{why}</td>'


def _cells(judgement: Judgement) -> tuple[str, str, str, str, str]:
    named = judgement.case_id, judgement.criterion, judgement.judge
    match judgement.outcome:
        case Verdict() as verdict:
            why = verdict.rationale or "; ".join(claim.rationale for claim in verdict.claims)
            return *named, f"{verdict.score:.2f}", why
        case Abstained() as abstained:
            return *named, "abstained", abstained.detail or abstained.reason
        case Failed() as failed:
            return *named, "failed", f"{failed.error}: {failed.message}"
