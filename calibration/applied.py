"""A saved calibration on a run: which judge it holds for, the chances it gives, the pass rate it corrects.

The `judges` command finds this module by the entry point group `judges.calibrations`; `judges.plugins` says what it
expects of it. Nothing here changes a judgement, or the key of one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from calibration.answers import answers_in_run
from calibration.labels import group_of
from calibration.saved import Calibration, Way, calibration_from, read_calibrations
from calibration.statistics.prevalence import Selection, true_pass_rate
from calibration.statistics.spread import Shift, shift_of
from judges.engine.plan import Assignment
from judges.engine.run import Manifest, Run
from judges.errors import InputError
from judges.fields import MISSING
from judges.figures import Figure, undefined
from judges.intervals import Interval, mover, proportion
from judges.printable import printable

__all__ = ["Corrected", "bind", "chance_of", "corrected"]

_SHIFTED = 0.01
"""A distance of scores with a chance below this is warned about."""


# To which judge it belongs


def bind(paths: Sequence[Path], assignments: Sequence[Assignment]) -> tuple[Assignment, ...]:
    """The assignments with what files know of them: the calibration, and its threshold in place of the judge's own.

    What a file says of criteria that are not asked is left aside; an assignment that no file is about stays as it is.

    Args:
        paths: Files of `judges calibrate --save`.
        assignments: What is asked of which judge.

    Raises:
        InputError: A file can't be read, says nothing of what is asked, or is about the criterion or judge as it was
            before it changed; the message says what differs. Or two are about the same.
    """
    files = [(path, read_calibrations(path)) for path in paths]
    found: dict[str, Calibration] = {}
    for path, calibrations in files:
        for each in calibrations:
            for assignment in filter(each.fits, assignments):
                if assignment.fingerprint in found:
                    raise InputError(f"{path}: {_named(assignment)} is calibrated twice; give one calibration of each")
                found[assignment.fingerprint] = each
    open_ = [each for each in assignments if each.fingerprint not in found]
    for path, calibrations in files:
        strangers = [each for each in calibrations if not any(map(each.fits, assignments))]
        for each in strangers:
            near = [one for one in open_ if one.criterion.name == each.criterion["name"]]
            if near:
                other = next((one for one in near if one.judge == each.judge), near[0])
                raise InputError(
                    f"{path}: calibrates {printable(_name(each), 80)}, but not this one; it differs in "
                    f"{'; '.join(_differences(each, other))}. Calibrate the judge as it is now "
                    "(judges calibrate --save), or leave out --calibration"
                )
        if len(strangers) == len(calibrations):
            raise InputError(
                f"{path}: calibrates {printable(', '.join(map(_name, calibrations)), 200)}; "
                f"asked is {', '.join(map(_named, assignments))}"
            )
    return tuple(_bound(each, found.get(each.fingerprint)) for each in assignments)


def _bound(assignment: Assignment, calibration: Calibration | None) -> Assignment:
    if calibration is None:
        return assignment
    return replace(assignment, threshold=calibration.threshold.at, calibration=calibration.to_record())


def _name(calibration: Calibration) -> str:
    return f"{calibration.criterion['name']} by {calibration.judge}"


def _named(assignment: Assignment) -> str:
    return f"{assignment.criterion.name} by {assignment.judge}"


def _differences(then: Calibration, now: Assignment) -> list[str]:
    """What differs between the judge and criterion of a calibration and those of today."""
    found = [
        f"the criterion's {name}: {change}"
        for name, change in _changes(then.criterion, now.criterion.to_record())
        if name != "name"
    ]
    if then.judge_fingerprint == now.judge_fingerprint:
        return found
    before, today = then.judge_described, now.judge_described
    own: list[str] = []
    if before is not None and today is not None:
        own = [f"the judge's {name}: {change}" for name, change in _changes(before, today)]
    elif then.judge != now.judge:
        own = [f"the judge: {_change(then.judge, now.judge)}"]
    if not found and not own:
        change = _change(then.judge_fingerprint, now.judge_fingerprint)
        return [f"the judge's fingerprint: {change} (what that is made of isn't known of both)"]
    return [*found, *own]


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What differs between two records, by dotted name."""
    for name in dict.fromkeys([*then, *now]):
        before: object = then.get(name, MISSING)
        today: object = now.get(name, MISSING)
        inner = _object(before), _object(today)
        if inner[0] is not None and inner[1] is not None:
            yield from ((f"{name}.{each}", change) for each, change in _changes(inner[0], inner[1]))
        elif before != today:
            yield name, _change(before, today)


def _object(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


_SHOWN = 60


def _change(then: object, now: object) -> str:
    before, today = (f"{each}" for each in (then, now))
    start = 0
    if len(before) > _SHOWN and len(today) > _SHOWN:  # of long texts, from just before where they part
        start = max(next((at for at, (a, b) in enumerate(zip(before, today, strict=False)) if a != b), 0) - 10, 0)
    shown = [
        "none" if each is MISSING else f"`{'…' if start else ''}{printable(text[start:], _SHOWN)}`"
        for each, text in ((then, before), (now, today))
    ]
    return f"{shown[0]} then, {shown[1]} now"


# What it says of one score


def chance_of(assignment: Assignment) -> Callable[[float], float] | None:
    """From a score to the chance that people pass the case; None where the calibration has no map.

    Raises:
        InputError: The assignment's calibration is damaged.
    """
    if assignment.calibration is None:
        return None
    found = calibration_from(assignment.calibration).score_map
    return None if found is None else lambda score: float(found.apply([score])[0])


# What it says of a run


@dataclass(frozen=True, slots=True)
class Corrected:
    """What a calibration makes of a run: the pass rate people would give it, and what has moved since."""

    calibration: Calibration
    naive: Figure
    """The judge's pass rate, by the calibration's threshold."""
    estimate: Figure
    """The pass rate that people would give."""
    shift: Shift | None
    """How far scores lie from where they lay; None without a verdict."""
    gap: Interval | None
    """Of the judge's pass rate now less that of then; None without either."""
    grouped: bool
    """Whether cases are grouped as they were then, so that intervals allow for it."""

    @property
    def head(self) -> str:
        """What it is about, and what it rests on."""
        own = self.calibration
        return f"{_name(own)}, calibrated on {own.labelled:,} labels on {own.made[:10]} ({_WAYS[own.chosen]})"

    @property
    def rows(self) -> tuple[tuple[str, Figure], ...]:
        """Figures, each under its name; of those without a value the notes speak."""
        own = self.calibration
        condition = ", if labels were random" if own.chosen == "unknown" else ""
        rates = {"passes found": own.passes_found, "fails found": own.fails_found}
        if own.chosen == "by-verdict":
            rates = {"passes that were right": own.passes_right, "fails that were right": own.fails_right}
        found = {
            f"pass rate, the judge alone, {self.naive.n:,} cases": self.naive,
            f"pass rate, corrected{condition}": self.estimate,
            "when calibrated: the judge alone": own.judge_rate,
            "when calibrated: people": own.people_rate,
            **{f"when calibrated: {name}": rate for name, rate in rates.items()},
        }
        return tuple((name, value) for name, value in found.items() if value.value is not None)

    @property
    def has_moved(self) -> tuple[bool, bool]:
        """Whether the scores, and the judge's pass rate, are shown to differ from those of then."""
        scores = self.shift is not None and self.shift.p < _SHIFTED
        return scores, self.gap is not None and (self.gap[0] > 0 or self.gap[1] < 0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know, and what to be careful of."""
        return (*self._about_threshold(), *self._about_rate(), *self._about_shift())

    def _about_threshold(self) -> Iterator[str]:
        cut = self.calibration.threshold
        if cut.rule is None:
            yield f"a score passes from {cut.at:g}, as it did"
        else:
            between = "" if cut.low is None or cut.high is None else f" [{cut.low:.2f}, {cut.high:.2f}]"
            yield f"a score passes from {cut.at:g}{between}, fitted by {cut.rule}; it was {cut.before:g}"

    def _about_rate(self) -> Iterator[str]:
        own = self.calibration
        if own.chosen == "by-score":
            yield (
                "the labels were of cases the judge was unsure of, so they give no error rates for other cases: "
                "label a random sample"
            )
        elif self.estimate.reason is not None:
            yield f"the corrected rate: {_REASONS.get(self.estimate.reason, self.estimate.reason)}"
        elif own.chosen == "by-verdict":
            yield (
                "corrected by the shares of the judge's passes and fails that were right: that holds while answers "
                "are as good, on the whole, as they were then"
            )
        else:
            yield (
                "corrected by its error rates: that holds while the judge finds people's passes, and their fails, as "
                "often as it did; answers may be better or worse than then, not of another kind"
            )
        if own.cluster is not None and not self.grouped and self.naive.n:
            yield f"no case has `{own.cluster}`, which grouped the labelled cases: these are taken as independent"

    def _about_shift(self) -> Iterator[str]:
        scores, rate = self.has_moved
        if scores and self.shift is not None:
            p = "p < 0.001" if self.shift.p < 0.001 else f"p = {self.shift.p:.3f}"
            yield (
                f"careful: scores lie elsewhere than when it was calibrated (Kolmogorov-Smirnov distance "
                f"{self.shift.distance:.2f}, {p})"
            )
        if rate and self.gap is not None:
            then, now = self.calibration.judge_rate.value or 0.0, self.naive.value or 0.0
            yield (
                f"careful: the judge passes {now:.2f} of these cases and passed {then:.2f} of those "
                f"(difference {now - then:+.2f} [{self.gap[0]:+.2f}, {self.gap[1]:+.2f}])"
            )
        if scores or rate:
            yield (
                "if answers are better or worse than then, the corrected rate allows for it, but threshold and chances "
                "were fitted to the pass rate of then; if cases or answers are of another kind, nothing here need "
                "hold: label a sample of them and calibrate anew"
            )

    def to_record(self) -> dict[str, Any]:
        """The same as JSON-ready values."""
        own = self.calibration
        scores, rate = self.has_moved
        return {
            "criterion": own.criterion["name"],
            "judge": own.judge,
            "calibration": {name: value for name, value in own.to_record().items() if name not in ("scores", "table")},
            "labelled": own.labelled,
            "naive": self.naive.to_record(),
            "corrected": self.estimate.to_record(),
            "supported": own.chosen != "unknown",
            "shift": {
                "scores": None if self.shift is None else self.shift.to_record(),
                "scores_moved": scores,
                "pass_rate": None if self.gap is None else {"low": self.gap[0], "high": self.gap[1]},
                "pass_rate_moved": rate,
            },
            "notes": list(self.notes),
        }


_WAYS: Mapping[Way, str] = {
    "all": "every case of then",
    "random": "a random sample",
    "by-verdict": "chosen by its verdict",
    "by-score": "chosen where it was unsure",
    "by-gold": "chosen by people's label",
    "unknown": "nobody says how they were chosen",
}
_REASONS = {
    "no_data": "no case has a verdict yet",
    "judge_uninformative": "the judge may be no better than chance, so its verdicts tell nothing",
    "not_identified": "with these error rates it can't pass so many, or so few: these cases are of another kind",
    "no_positive_gold": "no labelled case was passed by people",
    "no_negative_gold": "no labelled case was failed by people",
    "empty_stratum": "no label among the judge's passes, or its fails",
    "too_few_clusters": "fewer than two groups",
}


def corrected(run: Run, manifest: Manifest) -> list[Corrected]:
    """What the calibrations of a run make of it: one value for each calibrated judge and criterion.

    A case counts once, with the mean of its replicates, as when the judge was held against people.

    Raises:
        InputError: A calibration is damaged.
        LedgerError: A file of the run can't be read.
    """
    bound = [
        (each, calibration_from(each.calibration)) for each in manifest.assignments if each.calibration is not None
    ]
    if not bound:
        return []
    scores: list[list[float]] = [[] for _ in bound]
    groups: list[list[tuple[str, str]]] = [[] for _ in bound]
    for case, answers in answers_in_run(run, manifest, [assignment for assignment, _ in bound]):
        for place, answer in enumerate(answers):
            if answer is None or answer.score is None:
                continue
            scores[place].append(answer.score)
            cluster = bound[place][1].cluster
            group = None if cluster is None else group_of(case, cluster)
            groups[place].append(("case", case.id) if group is None else ("group", group))
    return [_corrected(own, scores[place], groups[place]) for place, (_, own) in enumerate(bound)]


def _corrected(own: Calibration, scores: list[float], groups: list[tuple[str, str]]) -> Corrected:
    clusters = groups if own.cluster is not None else None
    passed = np.array(scores, dtype=np.float64) >= own.threshold.at
    naive = proportion(passed, clusters)
    shift, deff = None, max(naive.deff or 1.0, own.judge_rate.deff or 1.0)
    if scores:
        shift = shift_of(own.scores, scores, deff=deff)
    grouped = any(kind == "group" for kind, _ in groups)
    return Corrected(own, naive, _estimate(own, passed.tolist(), clusters), shift, _gap(own.judge_rate, naive), grouped)


def _estimate(own: Calibration, passed: list[bool], clusters: list[tuple[str, str]] | None) -> Figure:
    """The rate by what the labels of then still tell: the error rates, or what the judge's verdicts are worth."""
    selection: Selection
    estimator: Literal["rogan_gladen", "post_stratified"]
    match own.chosen:
        case "by-score":
            return undefined("not_identified", n=own.labelled)
        case "by-verdict":
            selection, estimator = "old_predictive_values", "post_stratified"
        case _:
            selection, estimator = "old_error_rates", "rogan_gladen"
    human: list[bool] = []
    judge: list[bool] = []
    labelled: list[tuple[str, str]] = []
    for group, row in enumerate(own.table):
        for count, says, people in zip(row, (True, True, False, False), (True, False, True, False), strict=True):
            human += [people] * count
            judge += [says] * count
            labelled += [("labelled", str(group))] * count
    return true_pass_rate(
        human,
        judge,
        passed,
        selection=selection,
        estimator=estimator,
        clusters=None if clusters is None else labelled,
        clusters_unlabelled=clusters,
    ).estimate


def _gap(then: Figure, now: Figure) -> Interval | None:
    """The interval of the rate now less that of then, by Newcombe's method from those of both."""
    ends = (then.value, then.ci_low, then.ci_high, now.value, now.ci_low, now.ci_high)
    if any(each is None for each in ends):
        return None
    before, low, high, today, low_now, high_now = (float(each or 0.0) for each in ends)
    return mover([(1.0, today, low_now, high_now), (-1.0, before, low, high)])
