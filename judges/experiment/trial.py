"""Tries variants on a dataset: asks each, judges what it said into a run of its own, and measures that."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import orjson

from judges.backends.checks import ChecksJudge
from judges.case import Case
from judges.checks import Check
from judges.criteria import ANSWER_RELEVANCE, CORRECTNESS, FAITHFULNESS
from judges.criterion import Criterion
from judges.engine.evaluate import admitted, checked, judge_run
from judges.engine.plan import Assignment, assign
from judges.engine.pool import run_to_end
from judges.engine.progress import Counts, Progress
from judges.engine.run import Manifest, Run
from judges.errors import InputError
from judges.experiment.dataset import Dataset, right_passages, right_spans
from judges.experiment.figures import Figures, figures_of
from judges.experiment.outputs import Call, Function, Output, Outputs, Pipeline, ask, read_outputs
from judges.experiment.plan import KS, Plan
from judges.figures import Figure
from judges.fingerprint import Json
from judges.judge import Judge
from judges.plugins import resolve
from judges.summary import REPEAT_OF
from judges.usage import Usage

__all__ = [
    "Asked",
    "Change",
    "Failure",
    "Told",
    "Trial",
    "VariantResult",
    "changes",
    "evaluate_pipeline",
    "trials_of",
    "try_variant",
]

_STALE = frozenset({"contexts", "retrieved", "candidates", "pipeline", REPEAT_OF})
"""Fields of a dataset that are of another application's answer, or ours."""


# What is tried


@dataclass(frozen=True, slots=True)
class Trial:
    """A variant: a pipeline, or what one said before, by id of the case."""

    name: str
    pipeline: Pipeline | None = None
    stored: Mapping[str, Output] = field(default_factory=dict[str, Output])
    gold_passages: bool = False
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """All that tells it from other variants."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the judges are asked, of every variant."""

    checks: tuple[Check, ...]
    criteria: tuple[Criterion, ...]
    judges: Callable[[], Sequence[Judge]]
    """Makes the judges: each variant has its own."""
    ks: tuple[int, ...] = KS
    refusals: tuple[str, ...] = ()
    max_failures: float = 1.0
    """The share of judgements that may fail."""

    def assigned(self) -> tuple[tuple[Assignment, ...], dict[str, Judge]]:
        """Who judges what, and the judges by name.

        Raises:
            InputError: A judge doesn't support a criterion, or there is nothing to judge.
        """
        judges: list[Judge] = list(self.judges()) if self.criteria else []
        found = assign(self.criteria, judges) if self.criteria else ()
        if self.checks:
            plain = ChecksJudge(self.checks)
            found = (*assign([check.criterion for check in self.checks], [plain]), *found)
            judges.append(plain)
        if not found:
            raise InputError("nothing to judge: name `criteria` or `rubrics` in the plan")
        return found, {judge.name: judge for judge in judges}


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told how far it has come."""

    asking: Progress | None = None
    judging: Progress | None = None


# What comes of it


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without an output."""

    case: str
    error: str


@dataclass(frozen=True, slots=True)
class VariantResult:
    """A variant, tried."""

    name: str
    run: Path
    """Folder of its run."""
    settings: Mapping[str, Json]
    gold_passages: bool
    cases: int
    """Of the dataset."""
    repeats: int
    calls: Counts
    """What was asked: `resumed` were answered before."""
    judgements: Counts
    failures: tuple[Failure, ...]
    assignments: tuple[Assignment, ...]
    found: Figures

    @property
    def figures(self) -> Mapping[str, Figure]:
        """By name: `recall@3`, `faithfulness`, `length`, ..."""
        return self.found.values

    @property
    def judging(self) -> Usage:
        """What the judges' calls used now."""
        return self.judgements.usage

    @property
    def failed_share(self) -> float:
        """Of the calls."""
        return len(self.failures) / self.calls.total if self.calls.total else 0.0

    def to_record(self) -> dict[str, Any]:
        """The result as JSON-ready values."""
        return {
            "variant": self.name,
            "run": str(self.run),
            "settings": dict(self.settings),
            "gold_passages": self.gold_passages,
            "cases": self.cases,
            "repeats": self.repeats,
            "calls": self.calls.total,
            "calls_answered_before": self.calls.resumed,
            "failed": [{"case": each.case, "error": each.error} for each in self.failures],
            "figures": {name: figure.to_record() for name, figure in self.found.values.items()},
            "recall_by_k": list(self.found.curve),
            "notes": list(self.found.notes),
        }


async def try_variant(
    trial: Trial,
    dataset: Dataset,
    asked: Asked,
    out: Path,
    *,
    repeats: int = 1,
    anew: bool = False,
    told: Told | None = None,
) -> VariantResult:
    """Ask a variant, judge its answers into a run, and measure that.

    A call that fails is left out of the run and listed. What has been said or judged before isn't asked for again.

    Args:
        trial: The variant.
        dataset: What it is tried on.
        asked: Of the judges.
        out: Folder of the experiment: the run is `out/NAME`, what the pipeline said `out/NAME.outputs.jsonl`.
        repeats: How often the pipeline is asked each question.
        anew: Whether to ask again what has been answered.
        told: Who is told how far it has come.

    Raises:
        InputError: Something isn't what it should be.
        JudgesError: An error of a judge that stops everything; or a file can't be read or written.
    """
    told = told or Told()
    assignments, judges = asked.assigned()
    run = Run(out / trial.name)
    calls = list(_calls(trial, dataset, repeats))
    with run.locked(), ExitStack() as stack:
        if trial.pipeline is None:
            counts = Counts(total=len(calls))
            outputs = [trial.stored.get(_id_of(call)) for call in calls]
        else:
            kept = stack.enter_context(Outputs(out / f"{trial.name}.outputs.jsonl", anew=anew))
            made_by = trial.pipeline.fingerprint
            keys = [call.key(made_by, trial.settings) for call in calls]
            counts = await ask(trial.pipeline, calls, kept, keys, progress=told.asking)
            outputs = [kept.get(key) for key in keys]
        failures = tuple(_failures(calls, outputs))
        manifest = run.begin(
            admitted(_cases(trial, calls, outputs, repeated=repeats > 1), assignments, judges),
            lambda count: Manifest(
                f"{dataset.name}, answered by {trial.name}",
                assignments,
                cases=count,
                invalid=len(failures),
                complaints=tuple(f"case `{each.case}`: no output: {each.error}" for each in failures[:1000]),
            ),
        )
        judged = await judge_run(
            run, manifest, judges, max_failures=asked.max_failures, counts=Counts(), progress=told.judging
        )
    found = figures_of(run, asked.ks, gold_passages=trial.gold_passages, refusals=asked.refusals)
    return VariantResult(
        trial.name,
        run.path,
        trial.settings,
        trial.gold_passages,
        len(dataset.cases),
        repeats,
        counts,
        judged,
        failures,
        assignments,
        found,
    )


def _calls(trial: Trial, dataset: Dataset, repeats: int) -> Iterator[Call]:
    for case in dataset.cases:
        passages = right_passages(case, dataset.passages) if trial.gold_passages and trial.pipeline else None
        for repeat in range(1, repeats + 1):
            yield Call(case, repeat, passages)


def _id_of(call: Call) -> str:
    """The id of a case in a run. Asked once and asked again, the first of both is the same case."""
    return call.case.id if call.repeat == 1 else f"{call.case.id}#{call.repeat}"


def _failures(calls: Sequence[Call], outputs: Sequence[Output | None]) -> Iterator[Failure]:
    for call, output in zip(calls, outputs, strict=True):
        if output is None or output.answered is None:
            yield Failure(_id_of(call), "nothing is stored for it" if output is None else output.error or "")


def _cases(trial: Trial, calls: Sequence[Call], outputs: Sequence[Output | None], *, repeated: bool) -> Iterator[Case]:
    """The cases of the run: those of the dataset, with what the pipeline made of them."""
    for call, output in zip(calls, outputs, strict=True):
        if output is None or output.answered is None:
            continue
        said = output.answered
        extra = {name: value for name, value in said.extra.items() if name != "relevant"}
        extra |= {name: value for name, value in call.case.extra.items() if name not in _STALE}
        if trial.gold_passages:
            extra.pop("retrieved", None)
            if spans := right_spans(call.case):
                extra["contexts"] = [
                    {"id": each.doc_id, **spans.get(each.doc_id, {})} for each in said.contexts if each.doc_id
                ]
        given: dict[str, Json] = {"gold_passages": True} if trial.gold_passages else {}
        extra["pipeline"] = {"seconds": output.seconds, "cost": output.cost, **given}
        if repeated:
            extra[REPEAT_OF] = call.case.id
        yield replace(call.case, id=_id_of(call), answer=said.answer, contexts=said.contexts, rival=None, extra=extra)


# What changed


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two variants, or between a variant and its row of before."""

    before: str
    after: str
    names: tuple[str, ...]
    """Of the settings."""

    def to_record(self) -> dict[str, Any]:
        """The change as JSON-ready values."""
        return {"before": self.before, "after": self.after, "changed": list(self.names)}


def changes(before: str, old: Mapping[str, Json], after: str, new: Mapping[str, Json]) -> Change:
    """Which settings two variants don't share."""
    names = (name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name))
    return Change(before, after, tuple(names))


# With a plan, and without


def trials_of(plan: Plan, only: Sequence[str] = ()) -> list[Trial]:
    """The variants of a plan, in its order. Modules are also looked for where the plan is.

    Args:
        plan: The plan.
        only: Names of those that are wanted; by default all.

    Raises:
        InputError: There is no such variant, a pipeline can't be imported or called, or outputs can't be read.
    """
    for name in only:
        if name not in plan.variants:
            raise InputError(f"{plan.path}: has no variant `{name}`; there are {', '.join(plan.variants)}")
    here = str(plan.path.parent.absolute())
    if here not in sys.path:
        sys.path.append(here)
    trials: list[Trial] = []
    for name, variant in plan.variants.items():
        if only and name not in only:
            continue
        pipeline: Pipeline | None = None
        stored: dict[str, Output] = {}
        if variant.outputs is not None:
            stored = read_outputs(plan.file(variant.outputs))
        elif variant.pipeline is not None:
            found = cast("Function", resolve("judges.pipelines", variant.pipeline))
            pipeline = Pipeline(found, variant.pipeline, variant.arguments, variant.workers)
            pipeline.check(gold_passages=variant.gold_passages)
        trials.append(
            Trial(name, pipeline, stored, gold_passages=variant.gold_passages, settings=dict(variant.settings))
        )
    return trials


def evaluate_pipeline(
    function: Function,
    cases: Iterable[Case],
    ks: Sequence[int] = KS,
    *,
    criteria: Criterion | Iterable[Criterion] = (FAITHFULNESS, ANSWER_RELEVANCE, CORRECTNESS),
    judges: Judge | Iterable[Judge] | None = None,
    passages: Mapping[str, str] | None = None,
    gold_passages: bool = False,
    versions: Mapping[str, Json] | None = None,
    repeats: int = 1,
    workers: int | None = None,
    refusals: Sequence[str] = (),
    out: str | Path | None = None,
    name: str = "pipeline",
) -> VariantResult:
    """Ask a pipeline all questions, judge its answers, and measure retrieval and generation apart.

    Args:
        function: The pipeline: `judges.experiment.outputs` says what it takes and returns.
        cases: With `relevant` among their extra fields, where retrieval is to be measured.
        ks: Cut-offs of retrieval.
        criteria: What the judges are asked.
        judges: Who is asked; by default the token-overlap judge, which is offline.
        passages: Texts by id, for `gold_passages`.
        gold_passages: Whether the function is given the right passages, as `passages`: the generation apart.
        versions: Anything that tells this variant from others.
        repeats: How often each question is asked. Repeats of a case are a cluster in every interval.
        workers: Calls at a time; by default 8 of an async function, 1 of another.
        refusals: What an answer says that refuses to answer.
        out: Folder of the experiment; the same call goes on there where it was stopped. Without it nothing is kept.
        name: Of the variant.

    Returns:
        The figures by name, and the calls that failed.

    Raises:
        InputError: The function can't be called so, or a case isn't what it should be.
        JudgesError: An error of a judge that stops everything.
    """
    from judges.backends.overlap import TokenOverlapJudge

    panel = [TokenOverlapJudge()] if judges is None else list(judges) if isinstance(judges, Iterable) else [judges]
    if repeats < 1 or not ks or min(ks) < 1 or (workers is not None and workers < 1):
        raise InputError("`repeats`, `workers` and each of `ks` are 1 or more")
    pipeline = Pipeline(function, getattr(function, "__qualname__", type(function).__name__), workers=workers)
    pipeline.check(gold_passages=gold_passages)
    try:
        settings: dict[str, Json] = orjson.loads(orjson.dumps(versions or {}))
    except TypeError as error:
        raise InputError(f"`versions` holds something that JSON has no form for ({error})") from None
    trial = Trial(name, pipeline, gold_passages=gold_passages, settings=settings)
    asked = Asked(
        (),
        (criteria,) if isinstance(criteria, Criterion) else tuple(criteria),
        lambda: panel,
        tuple(ks),
        tuple(refusals),
    )
    dataset = Dataset("(Python)", tuple(checked(cases)), passages or {})
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory())) if out is None else Path(out)
        return run_to_end(try_variant(trial, dataset, asked, home, repeats=repeats))
