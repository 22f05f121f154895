"""Judges: grade the answers of language models, and know how far the grade can be trusted.

The vocabulary is here at once and needs the standard library only; everything else is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from judges.case import Case, Context, Part, Turn
from judges.criterion import BINARY, Criterion, Example, Level, Scale, Unit
from judges.errors import (
    Declined,
    Disposition,
    InputError,
    JudgesError,
    LedgerError,
    RateLimited,
    ReplyError,
    ServiceError,
    Unauthorised,
    Unavailable,
)
from judges.figures import Figure
from judges.judge import Judge
from judges.verdict import Abstained, ClaimVerdict, Evidence, Failed, Judgement, Outcome, Verdict

if TYPE_CHECKING:
    from judges.backends.checks import ChecksJudge
    from judges.backends.overlap import TokenOverlapJudge
    from judges.checks import Check
    from judges.config import judge_named
    from judges.conformance import check_judge
    from judges.criteria import (
        ANSWER_RELEVANCE,
        COMPLETENESS,
        CONTEXT_RECALL,
        CONTEXT_RELEVANCE,
        CONTEXT_SUFFICIENCY,
        CORRECTNESS,
        CORRECTNESS_GRADED,
        FAITHFULNESS,
        FAITHFULNESS_GRADED,
        FAITHFULNESS_WHOLE,
        HONEST_REFUSAL,
        PREFERENCE,
        SOURCE_USE,
        TONE,
    )
    from judges.datasets import load, read_cases
    from judges.engine.evaluate import evaluate, evaluate_sync
    from judges.engine.results import Results
    from judges.engine.run import Run
    from judges.experiment.trial import evaluate_pipeline
    from judges.summary import SummaryRow, summarise, summarise_run

__all__ = [
    "ANSWER_RELEVANCE",
    "BINARY",
    "COMPLETENESS",
    "CONTEXT_RECALL",
    "CONTEXT_RELEVANCE",
    "CONTEXT_SUFFICIENCY",
    "CORRECTNESS",
    "CORRECTNESS_GRADED",
    "FAITHFULNESS",
    "FAITHFULNESS_GRADED",
    "FAITHFULNESS_WHOLE",
    "HONEST_REFUSAL",
    "PREFERENCE",
    "SOURCE_USE",
    "TONE",
    "Abstained",
    "Case",
    "Check",
    "ChecksJudge",
    "ClaimVerdict",
    "Context",
    "Criterion",
    "Declined",
    "Disposition",
    "Evidence",
    "Example",
    "Failed",
    "Figure",
    "InputError",
    "Judge",
    "Judgement",
    "JudgesError",
    "LedgerError",
    "Level",
    "Outcome",
    "Part",
    "RateLimited",
    "ReplyError",
    "Results",
    "Run",
    "Scale",
    "ServiceError",
    "SummaryRow",
    "TokenOverlapJudge",
    "Turn",
    "Unauthorised",
    "Unavailable",
    "Unit",
    "Verdict",
    "check_judge",
    "evaluate",
    "evaluate_pipeline",
    "evaluate_sync",
    "judge_named",
    "load",
    "read_cases",
    "summarise",
    "summarise_run",
]

_HOMES = {
    "Check": "judges.checks",
    "ChecksJudge": "judges.backends.checks",
    "TokenOverlapJudge": "judges.backends.overlap",
    "check_judge": "judges.conformance",
    "judge_named": "judges.config",
    "evaluate_pipeline": "judges.experiment.trial",
    "load": "judges.datasets",
    "read_cases": "judges.datasets",
    "evaluate": "judges.engine.evaluate",
    "evaluate_sync": "judges.engine.evaluate",
    "Results": "judges.engine.results",
    "Run": "judges.engine.run",
    "SummaryRow": "judges.summary",
    "summarise": "judges.summary",
    "summarise_run": "judges.summary",
} | dict.fromkeys(
    [
        "ANSWER_RELEVANCE",
        "COMPLETENESS",
        "CONTEXT_RECALL",
        "CONTEXT_RELEVANCE",
        "CONTEXT_SUFFICIENCY",
        "CORRECTNESS",
        "CORRECTNESS_GRADED",
        "FAITHFULNESS",
        "FAITHFULNESS_GRADED",
        "FAITHFULNESS_WHOLE",
        "HONEST_REFUSAL",
        "PREFERENCE",
        "SOURCE_USE",
        "TONE",
    ],
    "judges.criteria",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
