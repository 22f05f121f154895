"""Which cases of a run people label, drawn so that the labels say something about the whole run.

How the cases were chosen, and with which probability each, decides what the labels can tell. So it is kept: in a
design, a JSON file beside the file of the cases to label. It is a file of its own because those who label must not see
it: a case's stratum tells what the judge said. Of a labels file `sample.jsonl` the design is `sample.design.json`:

    format                  1
    how                     random | by_verdict | unsure | hand_picked
    criterion, criterion_fingerprint, judge, judge_fingerprint, threshold
                            what the judge was asked when the cases were chosen, and where a score passes
    run, field, seed        folder of the run, field the labels go into, seed of the draw
    blind                   whether the judge's verdicts were kept out of the file to label
    population              how many cases could be chosen
    population_fingerprint  hash of their ids
    left_out                cases of the run that could not be chosen, by reason
    strata                  name, cases, sampled, and for `unsure` the largest distance of score and threshold
    cases                   id, stratum and inclusion probability (null if picked by hand) of each case to label
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson
from pydantic import TypeAdapter, ValidationError

from calibration.answers import Answer, answers_in_run
from calibration.labels import group_of
from calibration.statistics.prevalence import (
    POPULATION,
    VALID,
    Estimator,
    Selection,
    check_estimator,
)
from judges.case import Case, Part
from judges.criterion import Criterion
from judges.engine.plan import Assignment
from judges.engine.run import Manifest, Run
from judges.errors import InputError
from judges.fingerprint import Json, fingerprint

__all__ = [
    "Chosen",
    "Coverage",
    "Design",
    "Frame",
    "How",
    "Stratum",
    "allocate",
    "design_path",
    "draw",
    "frame_of",
    "pick",
    "read_design",
    "write_sample",
]

How: TypeAlias = Literal["random", "by_verdict", "unsure", "hand_picked"]
"""`random`: each case as likely. `by_verdict`: as many of the judge's passes as of its fails. `unsure`: most of those
whose score lies near the threshold, some of all. `hand_picked`: somebody's choice."""

_SELECTION: Mapping[How, Selection] = {"random": "random", "by_verdict": "by_verdict", "unsure": "by_score"}
_BANDS = ("unsure", "between", "sure")
_SHARES = (3.0, 2.0, 1.0)
_LEAST = 2  # the labels a stratum needs to show any spread


# What can be drawn from


@dataclass(frozen=True, slots=True)
class Frame:
    """The cases of a run that can be chosen, in order of input, and why the others can't."""

    run: str
    assignment: Assignment
    threshold: float
    said: Mapping[str, Answer | None]
    """By case id: verdicts, and for `random` failures too, which count against the judge. None is not judged yet."""
    groups: Mapping[str, str]
    """The group of each case that has one; empty where no field was named."""
    left_out: Mapping[str, int]
    """Cases that can't be chosen, by kind of what the judge said."""


def frame_of(
    run: Run,
    manifest: Manifest,
    assignment: Assignment,
    how: How,
    *,
    threshold: float | None = None,
    cluster: str | None = None,
) -> Frame:
    """The cases of a run that can be chosen in this way.

    Cases that the judge abstained from are left out: the criterion doesn't apply to them. Cases picked by hand may be
    any.

    Args:
        run: Where the judgements are.
        manifest: What was asked.
        assignment: The criterion and judge the labels are to be held against.
        how: Ways that go by the verdict need one; a random choice takes failed judgements along.
        threshold: A score at or above it is a pass; by default the judge's own.
        cluster: Dotted path of the field that groups cases.

    Raises:
        InputError: There is no case to choose.
        LedgerError: A file of the run can't be read.
    """
    kinds = {"random": {"verdict", "failed"}, "hand_picked": {"verdict", "failed", "abstained", "pending"}}
    wanted = kinds.get(how, {"verdict"})
    found: dict[str, Answer | None] = {}
    groups: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    for case, [answer] in answers_in_run(run, manifest, [assignment]):
        kind = "pending" if answer is None else answer.kind
        if kind not in wanted:
            left_out[kind] += 1
            continue
        found[case.id] = answer
        if cluster is not None:
            groups[case.id] = group_of(case, cluster) or case.id
    if not found:
        why = ", ".join(f"{kind} {count:,}" for kind, count in left_out.items())
        raise InputError(f"{run.path}: no case has a verdict to hold labels against ({why}); judge the cases first")
    cut = assignment.threshold if threshold is None else threshold
    return Frame(str(run.path), assignment, cut, found, groups, dict(sorted(left_out.items())))


# The design


@dataclass(frozen=True, slots=True)
class Stratum:
    """Cases among which each is as likely to be chosen."""

    name: str
    cases: int
    sampled: int
    within: float | None = None
    """Of a band of `unsure`: the largest distance of score and threshold."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One case to label."""

    id: str
    stratum: str
    inclusion_probability: float | None
    """None if it was picked by hand."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What has become of a sample."""

    labelled: tuple[str, ...]
    """Cases of the sample with a label."""
    missing: tuple[str, ...]
    """Cases of the sample without one. If they are many, or the hard ones, the labels are no such sample any more."""
    outside: tuple[str, ...]
    """Labelled cases that nobody drew: picked by hand, so left out of what is said about the run."""


@dataclass(frozen=True, slots=True)
class Design:
    """How cases were chosen for labelling. The module says what each field is."""

    how: How
    criterion: str
    criterion_fingerprint: str
    judge: str
    judge_fingerprint: str
    threshold: float
    run: str
    field: str
    seed: int
    blind: bool
    population: int
    population_fingerprint: str
    left_out: Mapping[str, int]
    strata: tuple[Stratum, ...]
    cases: tuple[Chosen, ...]
    format: Literal[1] = 1

    @property
    def selection(self) -> Selection:
        """The way of choosing, as `calibration.statistics.prevalence` calls it.

        Raises:
            InputError: The cases were picked by hand.
        """
        if self.how == "hand_picked":
            raise InputError(f"{self._picked()}: they tell what the judge gets wrong, and nothing about the run's rate")
        return _SELECTION[self.how]

    def _picked(self) -> str:
        return (
            "the labelled cases were picked by hand; label a random sample (judges plan-labels RUN --how random) "
            "to speak about the run"
        )

    def check_estimator(self, estimator: Estimator) -> None:
        """Refuse an estimator of the pass rate that doesn't hold for cases chosen like this.

        Raises:
            InputError: It doesn't; the message says what to use instead.
        """
        try:
            check_estimator(self.selection, estimator)
        except ValueError as error:
            raise InputError(str(error)) from None

    @property
    def estimators(self) -> tuple[Estimator, ...]:
        """The estimators of the pass rate that hold, the one to prefer first."""
        return () if self.how == "hand_picked" else VALID[self.selection]

    @property
    def values(self) -> tuple[str, ...]:
        """The rates of the labelled cases that are also those of the run; sorted."""
        return () if self.how == "hand_picked" else tuple(sorted(POPULATION.get(self.selection, ())))

    def check_judge(self, assignment: Assignment) -> None:
        """Refuse another criterion, or another judge where the choice went by the judge's scores.

        Raises:
            InputError: It is another; the message says what differs.
        """
        if assignment.criterion.fingerprint != self.criterion_fingerprint:
            raise InputError(
                f"the labelled cases were chosen for another criterion (`{self.criterion}`, as it was then), "
                f"not for `{assignment.criterion.name}`"
            )
        if self.how in ("by_verdict", "unsure") and assignment.judge_fingerprint != self.judge_fingerprint:
            raise InputError(
                f"the labelled cases were chosen by what another judge said (`{self.judge}`, as it was then): for "
                f"`{assignment.judge}` they are no sample with known probabilities; label a random sample"
            )

    def check_population(self, ids: Iterable[str]) -> None:
        """Refuse cases that are not those the sample was drawn from.

        Raises:
            InputError: A case came or went.
        """
        if _population(ids) != self.population_fingerprint:
            raise InputError(
                f"the labelled cases were drawn from {self.population:,} cases that are not those of the run any more; "
                "use the run as it was, or draw again"
            )

    def stratum_of(self, score: float | None) -> str | None:
        """The stratum of any case of the population, by its score; None if it belongs to none."""
        match self.how:
            case "random" | "hand_picked":
                return self.strata[0].name
            case "by_verdict":
                return None if score is None else _verdict(score >= self.threshold)
            case "unsure":
                if score is None:
                    return None
                distance = abs(score - self.threshold)
                return next((s.name for s in self.strata if s.within is None or distance <= s.within), None)

    def coverage(self, labelled: Collection[str]) -> Coverage:
        """Hold the cases that came back with a label against the sample."""
        drawn = {each.id for each in self.cases}
        return Coverage(
            tuple(each.id for each in self.cases if each.id in labelled),
            tuple(each.id for each in self.cases if each.id not in labelled),
            tuple(case for case in labelled if case not in drawn),
        )

    def to_record(self) -> dict[str, Any]:
        """The design as JSON-ready values: what `read_design` reads."""
        return {"format": self.format, **asdict(self)}


def _population(ids: Iterable[str]) -> str:
    return fingerprint(sorted(ids))


def _verdict(passes: bool) -> str:
    return "pass" if passes else "fail"


# Drawing


def draw(frame: Frame, how: How, n: int, *, field: str, seed: int = 0, blind: bool = True) -> Design:
    """Choose `n` cases at random, with known probabilities; their order is random too.

    Args:
        frame: From `frame_of`, for the same way of choosing.
        how: `random`, `by_verdict` or `unsure`; `pick` is for those picked by hand.
        n: How many.
        field: Where the labels will be.
        seed: Of `numpy.random.default_rng`.
        blind: Whether those who label won't see the judge's verdict; it is only written down here.

    Raises:
        InputError: There are fewer cases, too few are wanted for each stratum, or the scores make no strata.
    """
    strata = _strata(frame, how)
    if n > len(frame.said):
        raise InputError(f"--n {n}: there are only {len(frame.said):,} cases to choose from")
    least = 1 if how == "random" else _LEAST * len(strata)
    if n < least:
        raise InputError(
            f"--n {n}: give at least {least}, {_LEAST} for each of {', '.join(name for name, *_ in strata)}"
        )
    shares = [share for _, _, share, _ in strata]
    generator = np.random.default_rng(seed)
    made: list[Stratum] = []
    chosen: list[Chosen] = []
    for (name, ids, _, within), size in zip(
        strata, allocate(n, [len(ids) for _, ids, _, _ in strata], shares), strict=True
    ):
        made.append(Stratum(name, len(ids), size, within))
        places: list[int] = generator.choice(len(ids), size, replace=False).tolist()
        chosen += [Chosen(ids[place], name, size / len(ids)) for place in places]
    order = generator.permutation(len(chosen)).tolist()
    return _design(frame, how, made, [chosen[place] for place in order], field, seed, blind)


def pick(frame: Frame, ids: Sequence[str], *, field: str, blind: bool = True) -> Design:
    """Cases that somebody has chosen. Their labels say nothing about the rest of the run, and the design says so.

    Raises:
        InputError: The run has no such case, or one is named twice.
    """
    for case in ids:
        if case not in frame.said:
            raise InputError(f"--case {case}: the run has no such case")
        if ids.count(case) > 1:
            raise InputError(f"--case {case}: named twice")
    stratum = Stratum("picked", len(frame.said), len(ids))
    chosen = [Chosen(case, stratum.name, None) for case in ids]
    return _design(frame, "hand_picked", [stratum], chosen, field, 0, blind)


def _design(
    frame: Frame, how: How, strata: list[Stratum], chosen: list[Chosen], field: str, seed: int, blind: bool
) -> Design:
    assignment = frame.assignment
    return Design(
        how=how,
        criterion=assignment.criterion.name,
        criterion_fingerprint=assignment.criterion.fingerprint,
        judge=assignment.judge,
        judge_fingerprint=assignment.judge_fingerprint,
        threshold=frame.threshold,
        run=frame.run,
        field=field,
        seed=seed,
        blind=blind,
        population=len(frame.said),
        population_fingerprint=_population(frame.said),
        left_out=frame.left_out,
        strata=tuple(strata),
        cases=tuple(chosen),
    )


def _strata(frame: Frame, how: How) -> list[tuple[str, list[str], float, float | None]]:
    """Name, cases, share of the labels and, of a band, how far it reaches."""
    scores = {case: answer.score for case, answer in frame.said.items() if answer is not None}
    match how:
        case "random":
            return [("all", list(scores), 1.0, None)]
        case "by_verdict":
            sides: dict[str, list[str]] = {"pass": [], "fail": []}
            for case, score in scores.items():
                if score is not None:
                    sides[_verdict(score >= frame.threshold)].append(case)
            for side, ids in sides.items():
                if not ids:
                    other = "fails" if side == "pass" else "passes"
                    raise InputError(f"the judge {other} every case, so there are no two verdicts; use --how random")
            return [(side, ids, 1.0, None) for side, ids in sides.items()]
        case "unsure":
            return _bands({case: abs(s - frame.threshold) for case, s in scores.items() if s is not None})
        case "hand_picked":
            raise ValueError("cases picked by hand are not drawn: use pick")


def _bands(distances: Mapping[str, float]) -> list[tuple[str, list[str], float, float | None]]:
    """Thirds by the distance of score and threshold; cases as far belong together, so a band may be empty."""
    ordered = sorted(distances.values())
    cuts = [ordered[len(ordered) // 3 - 1], ordered[2 * len(ordered) // 3 - 1], ordered[-1]]
    bands: list[list[str]] = [[], [], []]
    for case, distance in distances.items():
        bands[bisect_left(cuts, distance)].append(case)
    found: list[tuple[str, list[str], float, float | None]] = [
        (name, ids, share, cut) for name, ids, share, cut in zip(_BANDS, bands, _SHARES, cuts, strict=True) if ids
    ]
    if len(found) == 1:
        raise InputError(
            "the judge is as sure of every case (all scores are as far from the threshold); use --how random"
        )
    return found


def allocate(n: int, sizes: Sequence[int], shares: Sequence[float]) -> list[int]:
    """Split `n` labels by `shares`: two for each stratum first, and never more than it has cases.

    Args:
        n: At most the sum of `sizes`.
        sizes: Cases of each stratum.
        shares: How much of the labels each is to have; they need not sum to 1.
    """
    given = [0] * len(sizes)
    for _ in range(n):
        open_ = (at for at, size in enumerate(sizes) if given[at] < size)
        given[min(open_, key=lambda at: (given[at] >= _LEAST, given[at] / shares[at]))] += 1
    return given


# The files


def design_path(labels: Path) -> Path:
    """Where the design of a file of labels is."""
    return labels.with_suffix(".design.json")


def write_sample(
    path: Path, design: Design, run: Run, criterion: Criterion, said: Mapping[str, Answer | None] | None = None
) -> None:
    """Write the cases to label, and the design beside them.

    A record has the case's id and those of its parts that the question and the criterion need, and an empty label. Of
    the dataset's other fields none is written: they may tell what other judges or people said.

    Args:
        path: JSONL, to be created. People's labels may be in a file that is there, so it is never replaced.
        design: What was drawn.
        run: Where the cases are.
        criterion: What the labels are about; its parts are shown.
        said: What the judge said, to be shown with each case; None where the labels are to be blind.

    Raises:
        InputError: A file is there already, or can't be written.
        LedgerError: The run's cases can't be read.
    """
    wanted = {each.id for each in design.cases}
    cases = {case.id: case for case in run.cases() if case.id in wanted}
    parts = {Part.QUESTION, Part.HISTORY, *criterion.parts}
    lines = b"".join(
        orjson.dumps(
            _record(cases[each.id], parts, design) | ({} if said is None else _judged(said[each.id], design)),
            option=orjson.OPT_APPEND_NEWLINE,
        )
        for each in design.cases
    )
    text = orjson.dumps(design.to_record(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    for target in (path, design_path(path)):
        if target.exists():
            raise InputError(f"{target}: is there already, perhaps with labels in it; choose another file with --out")
    for target, content in ((design_path(path), text), (path, lines)):
        try:
            with target.open("xb") as file:
                file.write(content)
        except OSError as error:
            raise InputError(f"{target}: {error.strerror}; choose another file with --out") from error


def _record(case: Case, parts: set[Part], design: Design) -> dict[str, Json]:
    shown = {"id", "lang", *(part.value for part in parts if part is not Part.EXTRA)}
    record: dict[str, Json] = {name: value for name, value in case.to_record().items() if name in shown}
    first, *inner = design.field.split(".")
    label: Json = None
    for step in reversed(inner):
        label = {step: label}
    return record | {first: label}


def _judged(answer: Answer | None, design: Design) -> dict[str, Json]:
    if answer is None:
        return {"judge": None}
    says = answer.kind if answer.score is None else _verdict(answer.score >= design.threshold)
    return {"judge": {"name": design.judge, "score": answer.score, "says": says}}


_DOOR = TypeAdapter(Design)


def read_design(path: Path) -> Design:
    """The design of a sample.

    Args:
        path: The design itself, or the file of labels it lies beside.

    Raises:
        InputError: It isn't there, isn't a design, or contradicts itself.
    """
    source = path if path.name.endswith(".design.json") else design_path(path)
    try:
        design = _DOOR.validate_json(source.read_bytes(), strict=True)
    except FileNotFoundError:
        raise InputError(
            f"{source}: there is no such file; `judges plan-labels` writes it, keep it beside the labels"
        ) from None
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{source}: is no design of a sample ({where}: {first['msg']}); use the file `judges plan-labels` wrote"
        ) from None
    if (complaint := _contradiction(design)) is not None:
        raise InputError(f"{source}: {complaint}; use the file as `judges plan-labels` wrote it")
    return design


def _contradiction(design: Design) -> str | None:
    """What can't be true of a design, so that somebody must have changed it."""
    by_name = {stratum.name: stratum for stratum in design.strata}
    drawn = Counter(each.stratum for each in design.cases)
    if len({each.id for each in design.cases}) != len(design.cases):
        return "a case is in it twice"
    if not 0 <= design.threshold <= 1:
        return f"the threshold is {design.threshold}"
    if not design.strata or sum(each.cases for each in design.strata) != design.population:
        return "the strata don't add up to the population"
    for name, count in drawn.items():
        if name not in by_name:
            return f"a case is of the stratum `{name}`, which isn't described"
        if count != by_name[name].sampled:
            return f"{count} cases are of the stratum `{name}`, which says {by_name[name].sampled}"
    for each in design.cases:
        stratum = by_name[each.stratum]
        known = None if design.how == "hand_picked" else stratum.sampled / max(stratum.cases, 1)
        if each.inclusion_probability != known:
            return f"the inclusion probability of the case `{each.id}` is not that of its stratum"
    return None
