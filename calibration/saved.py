"""What labels have shown of a judge, kept in a file: so that its scores are read rightly on cases without labels.

The file is JSON: `format` 1, and `calibrations`, one a judge and criterion. A calibration has

    criterion                      the criterion itself, field by field
    judge, judge_fingerprint, judge_described
                                   the judge, and what its fingerprint is made of; null where it doesn't say
    label, positive, cluster       field of the labels, which of them are passes, field that groups cases
    chosen                         how the labelled cases were chosen; all, where every case was labelled
    made, versions                 when, and by which versions of what
    threshold                      at: a score passes from here on. rule: what it was fitted by; null for the one that
                                   was in use (before). low, high: its interval
    map                            from score to the chance that people pass a case; null where labels give none
    table                          labelled cases: both pass, only the judge passes, only people pass, both fail; a row
                                   for each group. By a fitted threshold each case is decided by one fitted without it
    passes_found, fails_found      which shares of people's passes and fails it finds: its error rates
    passes_right, fails_right      which shares of its own passes and fails people share. All four follow from the
                                   table; null where the way of choosing makes them ones of the labelled cases only
    people_rate                    people's pass rate over the cases of then
    judge_rate                     the judge's, from the threshold on
    scores                         where its scores lay, over all cases

It is refused for any other judge, model, template or criterion (`calibration.applied`).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from calibration.audit import Audit
from calibration.cuts import decide_out_of_fold, folds_of
from calibration.items import Items, scored_items
from calibration.pairs import Pairs
from calibration.probabilities import parse_rule
from calibration.rates import Chosen
from calibration.statistics.mapping import PlattMap, ScoreMap, map_from_record
from calibration.statistics.spread import Spread, spread_of
from calibration.statistics.threshold import cross_fit_threshold
from judges.criterion import Criterion
from judges.engine.plan import Assignment
from judges.errors import InputError
from judges.figures import Figure, to_record, undefined
from judges.intervals import cluster_codes, proportion

__all__ = [
    "Calibration",
    "SavedThreshold",
    "Way",
    "calibration_from",
    "calibration_of",
    "read_calibrations",
    "write_calibrations",
]

Way: TypeAlias = Literal["all", "random", "by-verdict", "by-score", "by-gold", "unknown"]
"""How labelled cases were chosen; `all`: every case was labelled. Cases picked by hand, or that the judge was tuned on,
say nothing about others, so no calibration is made of them."""

_REPRESENTATIVE: tuple[Way, ...] = ("all", "random", "unknown")
"""Ways that leave every figure one of the whole run; of an unknown way that is the user's to answer for."""


@dataclass(frozen=True, slots=True)
class SavedThreshold:
    """Where a score passes."""

    at: float
    rule: str | None
    """What it was fitted by; None for the one in use, which no other is shown to be better than."""
    low: float | None
    high: float | None
    """How far it moves when it is fitted to other such cases."""
    before: float
    """The one in use when the labels were held against it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What labels have shown of one judge on one criterion. The module says what each field is."""

    criterion: Mapping[str, Any]
    judge: str
    judge_fingerprint: str
    judge_described: Mapping[str, Any] | None
    label: str
    positive: str | None
    cluster: str | None
    chosen: Way
    made: str
    versions: Mapping[str, str]
    threshold: SavedThreshold
    map: Mapping[str, Any] | None
    table: tuple[tuple[int, int, int, int], ...]
    passes_found: Figure
    fails_found: Figure
    passes_right: Figure
    fails_right: Figure
    people_rate: Figure
    judge_rate: Figure
    scores: Spread

    def __post_init__(self) -> None:
        if not 0 <= self.threshold.at <= 1:
            raise ValueError(f"the threshold is {self.threshold.at}")
        if any(count < 0 for row in self.table for count in row) or not self.labelled:
            raise ValueError("the table has no labelled case, or a negative count")
        if self.map is not None:
            map_from_record(self.map)
        try:
            Criterion.from_record(self.criterion)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the criterion is none ({type(error).__name__}: {error})") from None

    @property
    def labelled(self) -> int:
        """How many labels it rests on."""
        return sum(map(sum, self.table))

    @property
    def criterion_fingerprint(self) -> str:
        """That of the criterion."""
        return Criterion.from_record(self.criterion).fingerprint

    @property
    def score_map(self) -> ScoreMap | None:
        """The map from scores to chances."""
        return None if self.map is None else map_from_record(self.map)

    def fits(self, assignment: Assignment) -> bool:
        """Whether it is about this very judge and criterion."""
        return (self.judge_fingerprint, self.criterion_fingerprint) == (
            assignment.judge_fingerprint,
            assignment.criterion.fingerprint,
        )

    def to_record(self) -> dict[str, Any]:
        """The calibration as JSON-ready values: what `calibration_from` reads."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        figures = {name: value.to_record() for name, value in own.items() if isinstance(value, Figure)}
        others = {"threshold": to_record(self.threshold), "scores": to_record(self.scores)}
        return {**own, **figures, **others, "table": [list(row) for row in self.table]}


# Made of an audit


def calibration_of(audit: Audit, assignment: Assignment) -> Calibration:
    """What is to be kept of an audit.

    A threshold other than the one in use is kept where it is suggested, and the labelled cases stand for the run. The
    map is kept unless cases were chosen by people's label, which changes the chances, or scores fall as people's
    passes rise.

    Args:
        audit: Of a judge and criterion of a run, with labels that are passes and fails.
        assignment: That judge and criterion.

    Raises:
        InputError: The labels are no passes and fails, there is none, or they say nothing about other cases.
    """
    pairs, rate = audit.pairs, audit.rate
    name = assignment.criterion.name
    if rate is None or pairs.threshold is None:
        raise InputError(
            f"--save: `{name}` has labels other than pass and fail; say which are good with --positive, or leave "
            "--save out"
        )
    way = _way(rate.chosen, pairs, name)
    items = scored_items(pairs)
    if not items.pairs:
        raise InputError(f"--save: no case has both a label and a verdict of `{name}`; there is nothing to save")
    threshold = _threshold(audit, pairs.threshold, way)
    decided = _decided(items, threshold)
    good = items.good
    scores, clusters = _judged(pairs)
    found = partial(_share, items.clusters, (*_REPRESENTATIVE, "by-gold"), way)
    right = partial(_share, items.clusters, (*_REPRESENTATIVE, "by-verdict"), way)
    return Calibration(
        criterion=assignment.criterion.to_record(),
        judge=assignment.judge,
        judge_fingerprint=assignment.judge_fingerprint,
        judge_described=assignment.judge_described,
        label=pairs.question.labels.field,
        positive=None if pairs.question.meaning.positive is None else pairs.question.meaning.positive.rule,
        cluster=pairs.question.cluster,
        chosen=way,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={name: version(name) for name in ("judges-eval", "numpy", "scipy")},
        threshold=threshold,
        map=_map(audit, way),
        table=_table(good, decided, items.clusters),
        passes_found=found(decided, good, "no_positive_gold"),
        fails_found=found(~decided, ~good, "no_negative_gold"),
        passes_right=right(good, decided, "no_positive_pred"),
        fails_right=right(~good, ~decided, "no_negative_pred"),
        people_rate=rate.corrected.estimate if rate.corrected is not None and rate.supported else rate.people,
        judge_rate=proportion(scores >= threshold.at, clusters),
        scores=spread_of(scores),
    )


def _way(chosen: Chosen, pairs: Pairs, criterion: str) -> Way:
    match chosen:
        case "by-hand" | "tuning":
            how = "picked by hand" if chosen == "by-hand" else "what the judge was tuned on"
            raise InputError(
                f"--save: the labelled cases of `{criterion}` were {how}, so nothing here holds for other cases; "
                "label a random sample (judges plan-labels RUN --how random)"
            )
        case "unknown" | "random" if not pairs.unlabelled and not pairs.pending:
            return "all"
        case _:
            return chosen


def _threshold(audit: Audit, now: float, way: Way) -> SavedThreshold:
    found = audit.threshold
    if found is None or not found.suggested or found.at.value is None or way not in _REPRESENTATIVE:
        return SavedThreshold(now, None, None, None, now)
    return SavedThreshold(found.at.value, found.rule, found.at.ci_low, found.at.ci_high, now)


def _decided(items: Items, threshold: SavedThreshold) -> NDArray[np.bool_]:
    """Which cases the judge passes: by a fitted threshold, out of fold, or its error rates would look too good."""
    folds = folds_of(items.scores.size, items.clusters)
    if threshold.rule is None or folds is None:
        return items.scores >= threshold.at
    rule = parse_rule(threshold.rule)
    if rule == "kappa":
        return decide_out_of_fold(items.scores, items.good, folds)
    found = cross_fit_threshold(items.scores, items.good, rule, folds=folds, clusters=items.clusters)
    return np.array([bool(each) for each in found.decisions], dtype=np.bool_)


def _map(audit: Audit, way: Way) -> dict[str, object] | None:
    found = None if audit.probabilities is None else audit.probabilities.map
    if found is None or way == "by-gold" or (isinstance(found, PlattMap) and found.a >= 0):
        return None
    return found.to_record()


def _table(
    good: NDArray[np.bool_], passed: NDArray[np.bool_], clusters: NDArray[np.intp] | None
) -> tuple[tuple[int, int, int, int], ...]:
    codes, groups = (np.zeros(good.size, dtype=np.intp), 1) if clusters is None else cluster_codes(clusters, good.size)
    cells = (passed & good, passed & ~good, ~passed & good, ~passed & ~good)
    counts = np.stack([np.bincount(codes[each], minlength=groups) for each in cells], axis=1)
    return tuple((int(tp), int(fp), int(fn), int(tn)) for tp, fp, fn, tn in counts.tolist())


def _share(
    clusters: NDArray[np.intp] | None,
    holding: Sequence[Way],
    way: Way,
    found: NDArray[np.bool_],
    among: NDArray[np.bool_],
    reason: str,
) -> Figure:
    """How many are found among some: of the run, if that can be told from cases chosen like this."""
    if way not in holding:
        return undefined("not_identified", n=int(np.count_nonzero(among)))
    return proportion(found[among], None if clusters is None else clusters[among], reason=reason)


def _judged(pairs: Pairs) -> tuple[NDArray[np.float64], list[str] | None]:
    """The scores of all cases with a verdict, labelled or not, and the group of each."""
    labels = pairs.question.meaning.labels
    found = [(each.score, each.cluster) for each in pairs.pairs if each.said in labels and each.score is not None]
    rest = zip(pairs.unlabelled_scores, pairs.unlabelled_clusters, strict=True)
    found += [(score, cluster) for score, cluster in rest if score is not None]
    clusters = [cluster for _, cluster in found] if pairs.clustered else None
    return np.array([score for score, _ in found], dtype=np.float64), clusters


# The file


@dataclass(frozen=True, slots=True)
class _File:
    format: Literal[1]
    calibrations: tuple[Calibration, ...]


_FILE, _ONE = TypeAdapter(_File), TypeAdapter(Calibration)
_REMEDY = "use a file that `judges calibrate --save` wrote"


def write_calibrations(path: Path, calibrations: Sequence[Calibration]) -> None:
    """Write a file of calibrations, in place of one that is there.

    Raises:
        InputError: Something else is there, or it can't be written.
    """
    if path.exists():
        try:
            read_calibrations(path)
        except InputError:
            raise InputError(f"--save {path}: something else is there already; choose another file") from None
    record = {"format": 1, "calibrations": [each.to_record() for each in calibrations]}
    text = orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    new = path.with_name(path.name + ".new")
    try:
        new.write_bytes(text)
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise InputError(f"--save {path}: {error.strerror}; choose another file") from error


def read_calibrations(path: Path) -> tuple[Calibration, ...]:
    """The calibrations of a file.

    Raises:
        InputError: It isn't there, or isn't such a file.
    """
    try:
        found = _FILE.validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; {_REMEDY}") from error
    except ValidationError as error:
        raise InputError(f"{path}: is no calibration ({_first(error)}); {_REMEDY}") from None
    if not found.calibrations:
        raise InputError(f"{path}: holds no calibration; {_REMEDY}")
    return found.calibrations


def calibration_from(record: Mapping[str, Any]) -> Calibration:
    """The calibration that `to_record` wrote.

    Raises:
        InputError: It is none.
    """
    try:
        return _ONE.validate_json(orjson.dumps(record), strict=True)
    except ValidationError as error:
        raise InputError(
            f"the calibration kept with the run is damaged ({_first(error)}); run `judges run` again with --calibration"
        ) from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
