"""The page about one judge: what is decided first, then what it rests on."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calibration.cli.words import FLAGS, REASONS
from calibration.cli.words import figure_in_words as shown
from judges.cli.output import Column, counted, data, number, prose, table, width
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.audit import Audit, View
    from calibration.decision import Check
    from calibration.people import People
    from calibration.probabilities import Probabilities, Reliability, SuggestedThreshold
    from calibration.rates import CorrectedRate
    from calibration.scores import Scores
    from judges.figures import Figure

__all__ = ["show_audit", "show_overview"]

_ID_LENGTH = 40
_LABEL_LENGTH = 24
_NAMED = 8
_INDENT = "  "
_BASELINES = {"same_label": "same for all", "overlap": "word overlap", "length": "answer length"}


def show_overview(audits: "Sequence[Audit]") -> None:
    """A row for each judge and criterion."""
    heads = ("labelled", "agreement", "kappa", "fails found", "Spearman")
    table(
        [Column("criterion"), Column("judge"), Column("decision"), *(Column(head, "right") for head in heads)],
        [
            [
                each.pairs.question.subject.criterion,
                each.pairs.question.subject.judge,
                each.decision.status,
                f"{len(each.pairs.pairs):,}",
                *(_if_any(each.figures(), name) for name in ("agreement", "kappa", "fails_found", "spearman")),
            ]
            for each in audits
        ],
    )


def _if_any(figures: "Mapping[str, Figure]", name: str) -> str:
    return shown(figures[name]) if name in figures else "–"


def show_audit(audit: "Audit", worst: int) -> None:
    """The page on standard output, with so many of the cases that judge and people disagree on."""
    _head(audit)
    _decision(audit)
    if audit.views:
        _agreement(audit)
        _baselines(audit)
    if audit.scores is not None:
        _scores(audit.scores, audit)
    if audit.people is not None:
        _people(audit.people)
    if audit.probabilities is not None:
        _probabilities(audit.probabilities)
        _threshold(audit.threshold)
    if audit.rate is not None:
        _rate(audit.rate, audit)
    if audit.slices:
        _slices(audit)
    if worst and audit.disagreements:
        _disagreements(audit, worst)
    notes = _notes(audit)
    if notes:
        data()
    for line in notes:
        prose(line, _INDENT)


def _head(audit: "Audit") -> None:
    pairs, question = audit.pairs, audit.pairs.question
    meaning = question.meaning
    reading = ""
    if meaning.positive is not None and meaning.positive.rule != "pass":
        reading = f" ({meaning.positive.rule} is a pass)"
    data(
        printable(f"{question.subject.criterion} by {question.subject.judge}, against {question.labels.field}{reading}")
    )
    line = counted(len(pairs.pairs), "labelled case")
    groups = len({each.cluster for each in pairs.pairs})
    if pairs.clustered:
        line += f" in {groups:,} groups by {question.cluster}"
    if pairs.threshold is not None:
        line += f"; a score passes from {pairs.threshold:g}"
    prose(line, _INDENT)


# The decision


def _decision(audit: "Audit") -> None:
    decision = audit.decision
    data()
    prose(f"{decision.status}: {_verdict(audit)}", _INDENT)
    table(
        [Column("required"), Column("found"), Column("")],
        [[str(each.result.requirement), shown(each.result.figure), _mark(each)] for each in decision.checks],
    )
    for line in _settling(decision.checks):
        prose(line, _INDENT)


def _verdict(audit: "Audit") -> str:
    decision = audit.decision
    if decision.declared:
        return {
            "PASS": "all that is required holds",
            "FAIL": "not all that is required holds",
            "UNDECIDED": "these labels don't settle what is required",
        }[decision.status]
    beyond = "beyond chance" if audit.views else "in their order of the cases"
    if decision.status == "PASS":
        return f"the judge agrees with people {beyond}, and more than the baselines do"
    short = [each.result for each in decision.checks if each.result.status != "PASS"]
    failed = [each for each in short if each.status == "FAIL"]
    own = [each for each in failed or short if "_over_" not in each.requirement.name]
    names = [_BASELINES[each.requirement.name.partition("_over_")[2]] for each in failed or short if each not in own]
    if failed and own:
        return f"don't rely on this judge: {own[0].reason}"
    if failed:
        return f"don't rely on this judge: it agrees with people less than this does: {', '.join(names)}"
    if own:
        return f"don't rely on this judge yet: these labels don't show that it agrees with people {beyond}"
    return f"don't rely on this judge yet: it isn't shown to agree with people more than this does: {', '.join(names)}"


def _mark(check: "Check") -> str:
    reason = check.result.reason
    return check.result.status if check.result.status != "FAIL" or " meets it" in reason else f"FAIL: {reason}"


def _settling(checks: "Sequence[Check]") -> list[str]:
    """What would settle the requirements that are open: the labels that the hardest of them takes."""
    open_ = [each for each in checks if each.needed is not None]
    hopeless = [str(each.result.requirement) for each in open_ if each.needed is not None and each.needed.more is None]
    lines = [f"no number of labels in reach is likely to settle {', '.join(hopeless)}"] if hopeless else []
    needed = max((each.needed.more or 0 for each in open_ if each.needed is not None), default=0)
    for each in open_:
        if each.needed is None or each.needed.more is None or each.needed.more < needed:
            continue
        rest = [str(one.result.requirement) for one in open_ if one.needed is not None and one.needed.more is not None]
        names = "all of these" if len(rest) == len(checks) else ", ".join(rest)
        fails = each.needed.more_fails
        of_them = "" if fails is None else f", about {_rounded(fails)} of them failed by people"
        lines.append(
            f"to settle {names}: about {_rounded(needed)} more labelled cases like these{of_them} (a chance of 80%)"
        )
        break
    return lines


def _rounded(count: int) -> str:
    """Two digits: no more is known."""
    return f"{int(float(f'{count:.2g}')):,}"


# Agreement


def _agreement(audit: "Audit") -> None:
    data()
    rare = [name for name in ("abstained", "failed") if any(row[name] for row in audit.matrix.values())]
    names = [*(name for name in next(iter(audit.matrix.values())) if name not in ("abstained", "failed")), *rare]
    heads = [f"judge: {names[0]}", *names[1:]]
    table(
        [Column("people say"), *(Column(printable(head, _LABEL_LENGTH + 7), "right") for head in heads)],
        [[row, *(f"{cells[name]:,}" for name in names)] for row, cells in audit.matrix.items()],
    )
    data()
    columns = [f"abstentions {view.abstentions}" if len(audit.views) > 1 else "judge" for view in audit.views]
    rows = [_rows(view) for view in audit.views]
    table(
        [Column(""), *(Column(each) for each in columns)],
        [[name, *(shown(each[name]) for each in rows)] for name in rows[0]],
    )


def _rows(view: "View") -> "dict[str, Figure]":
    from calibration.statistics.confusion import BinaryMetrics

    metrics = view.metrics
    rows = {"agreement": metrics.accuracy, "Cohen's kappa": view.kappa}
    rows |= {f"kappa, {name} weights": figure for name, figure in view.weighted}
    if view.without_ties is not None:
        rows["agreement without ties"] = view.without_ties
    if isinstance(metrics, BinaryMetrics):
        return rows | {
            "fails found (recall)": metrics.specificity,
            "fails that are right (precision)": metrics.npv,
            "passes found (recall)": metrics.recall,
            "passes that are right (precision)": metrics.precision,
        }
    for each in metrics.classes:
        label = printable(str(each.label), _LABEL_LENGTH)
        rows |= {f"{label} found (recall)": each.recall, f"{label} that is right (precision)": each.precision}
    return rows | {"macro F1": metrics.macro_f1}


def _baselines(audit: "Audit") -> None:
    data()
    binary = audit.pairs.question.meaning.binary
    view = audit.views[0]
    own = [shown(view.metrics.accuracy), shown(view.kappa)]
    if binary:
        own.append(shown(_rows(view)["fails found (recall)"]))
    heads = ["agreement", "kappa", *(["fails found"] if binary else []), "judge's kappa is higher by"]
    rows = [["the judge", *own, ""]]
    for each in audit.baselines:
        constant = each.name == "same_label"
        cells = [
            shown(each.agreement),
            number(each.kappa.value) if constant else shown(each.kappa),
            *([shown(each.fails_found)] if binary else []),
        ]
        rows.append([_BASELINES[each.name], *cells, shown(each.advantage)])
    table([Column(""), *(Column(head) for head in heads)], rows)
    for each in audit.baselines:
        prose(f"{_BASELINES[each.name]}: {each.how}", _INDENT)
    beaten = [_BASELINES[each.name] for each in audit.baselines if not each.beaten]
    if beaten:
        prose(f"not beaten, by the interval of the difference: {', '.join(beaten)}", _INDENT)


# Numbers


def _scores(scores: "Scores", audit: "Audit") -> None:
    data()
    rows = [
        ["Spearman's correlation", shown(scores.spearman)],
        ["Pearson's correlation", shown(scores.pearson)],
        ["Kendall's tau-b", shown(scores.kendall)],
        ["pairs of cases ordered alike", shown(scores.ordered_alike)],
    ]
    apart = scores.differences
    if apart is not None:
        limits = apart.bland_altman
        rows += [
            ["Lin's concordance", shown(apart.concordance)],
            ["mean absolute error", shown(apart.mae)],
            ["root mean squared error", shown(apart.rmse)],
            ["bias (judge less people)", shown(limits.bias)],
            ["95% of differences lie from", f"{shown(limits.lower_limit)} to {shown(limits.upper_limit)}"],
            ["slope of the difference", shown(limits.slope)],
        ]
    table([Column("judge's score and people's number"), Column("")], rows)
    data()
    table(
        [Column(""), Column("Spearman"), Column("judge's is higher by")],
        [
            ["the judge", shown(scores.spearman), ""],
            *([_BASELINES[each.name], shown(each.spearman), shown(each.advantage)] for each in scores.baselines),
        ],
    )
    if scores.stretched:
        scale = audit.pairs.question.meaning.scale
        if scale is not None:
            prose(f"for the differences the judge's 0 to 1 was laid on {scale.low:g} to {scale.high:g}", _INDENT)
    elif apart is None:
        prose(
            "judge and people use different scales, so only the order is compared; a range is declared by --scale",
            _INDENT,
        )
    for each in scores.beyond:
        who = "the judge's scores" if each.whose == "judge" else "people's numbers"
        prose(
            f"{each.count:,} of {who} lie outside the declared range (they go from {each.lowest:g} to "
            f"{each.highest:g}); they stay as they are",
            _INDENT,
        )


# People


def _people(people: "People") -> None:
    data()
    names = ", ".join(printable(each, _LABEL_LENGTH) for each in people.annotators[:_NAMED])
    more = len(people.annotators) - _NAMED
    prose(
        f"{len(people.annotators):,} people ({names}{f' and {more:,} more' if more > 0 else ''}), "
        f"{people.cases:,} cases with two labels or more",
        _INDENT,
    )
    of = f" (of {', '.join(people.labels)})" if len(people.labels) == 2 else ""
    rows = [[f"pairs of people that agree{of}", shown(people.agreement)]]
    rows += [
        [f"Krippendorff's alpha, {name}{of if name == 'nominal' else ''}", shown(figure)]
        for name, figure in people.alpha.items()
    ]
    if people.fleiss is not None:
        rows.append(["Fleiss' kappa", shown(people.fleiss)])
    if people.labels:
        rows.append(["Gwet's AC1", shown(people.gwet)])
    if people.gwet_weighted is not None:
        rows.append(["Gwet's AC2, quadratic weights", shown(people.gwet_weighted)])
    rows += [[f"ICC({name[4]},{name[6]})", shown(figure)] for name, figure in people.icc.items()]
    table([Column("people among themselves"), Column("")], rows)
    ceiling = people.ceiling
    if ceiling is not None:
        data()
        table(
            [Column("against the same other people"), Column("agreement"), Column("mean kappa of pairs")],
            [
                ["a person", shown(ceiling.humans), shown(ceiling.human_kappa)],
                ["the judge", shown(ceiling.judge), shown(ceiling.judge_kappa)],
                ["judge less person", shown(ceiling.difference), ""],
            ],
        )
    _replacement(people)
    latent = people.latent
    if latent is not None:
        prose(
            f"Dawid and Skene's estimate of the true labels differs from those that count on "
            f"{counted(len(latent.differs), 'case')}",
            _INDENT,
        )


def _replacement(people: "People") -> None:
    test = people.replacement
    if test is None:
        return
    if test.passes is None:
        prose("alternative annotator test: nobody has labelled 30 cases that others have labelled too", _INDENT)
        return
    won = sum(each.rejected for each in test.humans)
    prose(
        f"alternative annotator test, epsilon {test.epsilon:g}: the judge wins against {won:,} of {len(test.humans):,} "
        f"people, so it {'may' if test.passes else 'may not'} stand in for one of them",
        _INDENT,
    )
    prose(f"chance that the judge does as well as a person, on average: {shown(test.advantage)}", _INDENT)
    if test.few_humans:
        prose("careful: fewer than three people were tested", _INDENT)
    if test.exact_disagrees:
        prose("careful: the exact test decides otherwise for one of them", _INDENT)


# Probabilities


def _probabilities(found: "Probabilities") -> None:
    data()
    before, after = found.as_is, found.recalibrated
    rows: list[tuple[str, str, str]] = [
        ("expected calibration error", "table.ece", ""),
        ("Brier score", "brier", ""),
        ("skill over the overall rate", "skill", ""),
        ("calibration slope (1 is right)", "slope", ""),
        ("calibration in the large (0)", "in_the_large", ""),
    ]
    table(
        [Column("score as the chance of a pass"), Column("as it is"), Column("recalibrated, out of fold")],
        [[name, _part(before, path), _part(after, path)] for name, path, _ in rows],
    )
    prose(f"area under the curve: {shown(found.area_under_curve)}", _INDENT)
    if before is not None and before.slope.value is None:
        why = before.slope.reason or ""
        words = "some scores are exactly 0 or 1, or no score is shared by passes and fails"
        prose(f"no slope as it is: {words if why == 'singular' else REASONS.get(why, why)}", _INDENT)
    if before is None:
        prose("scores lie beyond 0 and 1: they are no probabilities as they are", _INDENT)
    if after is None:
        prose("too few cases, or groups, to recalibrate out of fold", _INDENT)


def _part(reliability: "Reliability | None", path: str) -> str:
    if reliability is None:
        return "–"
    if path == "table.ece":
        return number(reliability.table.ece.value)
    figures = {
        "brier": reliability.brier,
        "skill": reliability.skill,
        "slope": reliability.slope,
        "in_the_large": reliability.in_the_large,
    }
    return "none" if figures[path].value is None else shown(figures[path])


def _threshold(found: "SuggestedThreshold | None") -> None:
    data()
    if found is None:
        prose("another threshold: too few cases, or groups, to try one out of fold", _INDENT)
        return
    if found.at.value is None:
        prose(f"another threshold: by the rule {found.rule} nothing should pass; keep the one in use", _INDENT)
        return
    now = "" if found.now is None else f" at {found.now:g}"
    head = "suggested threshold" if found.suggested else "no other threshold is suggested: the best one"
    prose(f"{head} by {found.rule}: {shown(found.at)}", _INDENT)
    prose(
        f"{_INDENT}kappa out of fold {shown(found.kappa)}, now{now} {shown(found.kappa_now)}; "
        f"difference {shown(found.gain)}",
        _INDENT * 2,
    )
    if found.optimism is not None:
        prose(f"{_INDENT}on the cases it was chosen on kappa looks {found.optimism:.2f} higher", _INDENT * 2)
    if found.cost is not None:
        prose(f"{_INDENT}mean cost of a case out of fold {shown(found.cost)}", _INDENT * 2)


# Rates


def _rate(rate: "CorrectedRate", audit: "Audit") -> None:
    data()
    rows = [
        [f"the judge alone, {rate.naive.n:,} cases", shown(rate.naive)],
        [f"people, {rate.people.n:,} labelled cases", shown(rate.people)],
    ]
    if rate.corrected is not None and not (rate.chosen == "unknown" and not audit.pairs.unlabelled):
        condition = "" if rate.supported else ", if labels were random"
        method = rate.corrected.estimator.replace("_", "-")
        rows.append([f"corrected by the labels ({method}){condition}", shown(rate.corrected.estimate)])
    table([Column("pass rate"), Column("")], rows)
    all_labelled = not audit.pairs.unlabelled
    match rate.chosen:
        case "unknown" if all_labelled:
            prose("every case is labelled, so people's rate is the rate of these cases", _INDENT)
        case "unknown":
            prose(
                "how the labelled cases were chosen decides what holds for the whole run: say it with --chosen", _INDENT
            )
        case "by-verdict":
            prose(
                "chosen by the judge's verdict: kappa, agreement and the shares found describe these cases only; the "
                "corrected rate and the shares that are right hold for the run",
                _INDENT,
            )
        case "by-score":
            prose(
                "chosen by the judge's score: every figure but the corrected rate describes these cases only", _INDENT
            )
        case "by-gold":
            prose(
                "chosen by people's label: kappa, agreement and the shares that are right describe these cases only; "
                "the shares found hold for the run",
                _INDENT,
            )
        case "by-hand" | "tuning":
            how = "by hand" if rate.chosen == "by-hand" else "to tune the judge"
            prose(
                f"the labelled cases were chosen {how}: no rate can be corrected by them, and every figure here "
                "describes these cases only",
                _INDENT,
            )
        case _:
            pass


# Where they disagree


def _slices(audit: "Audit") -> None:
    binary = audit.pairs.question.meaning.binary
    for field in dict.fromkeys(each.field for each in audit.slices):
        data()
        heads = ["agreement", "kappa", *(["fails found"] if binary else []), "less that of the rest"]
        table(
            [Column(printable(field, _LABEL_LENGTH)), Column("cases", "right"), *(Column(head) for head in heads)],
            [
                [
                    printable(each.value, _ID_LENGTH),
                    f"{each.agreement.n:,}",
                    shown(each.agreement),
                    shown(each.kappa),
                    *([shown(each.fails_found)] if binary else []),
                    f"{shown(each.gap)}{' *' if each.differs else ''}",
                ]
                for each in audit.slices
                if each.field == field
            ],
        )
    if any(each.differs for each in audit.slices):
        prose("* agreement differs from elsewhere, also when all slices are looked at (Holm)", _INDENT)
    else:
        prose("no slice is shown to differ from the rest: the lowest of many is low by chance too (Holm)", _INDENT)


def _disagreements(audit: "Audit", worst: int) -> None:
    data()
    rows = audit.disagreements[:worst]
    scored = audit.views and any(each.score is not None for each in rows)
    reasoned = any(each.why for each in rows)
    columns = [Column("disagree most"), Column("people"), Column("judge")]
    columns += [*([Column("score", "right")] if scored else []), *([Column("why")] if reasoned else [])]
    table(
        columns,
        [
            [
                printable(each.case_id, _ID_LENGTH),
                printable(each.people, _LABEL_LENGTH),
                printable(each.judge, _LABEL_LENGTH),
                *([number(each.score)] if scored else []),
                *([printable(each.why, max(24, width() - 70))] if reasoned else []),
            ]
            for each in rows
        ],
    )


# Notes


def _notes(audit: "Audit") -> list[str]:
    pairs, notes = audit.pairs, list[str]()
    main = next(iter(audit.figures().values()))
    if audit.views:
        main = audit.views[0].kappa
    if main.reason is not None:
        what = "is undefined" if main.value is None else "has no interval"
        notes.append(f"{'kappa' if audit.views else 'the correlation'} {what}: {REASONS.get(main.reason, main.reason)}")
    if audit.views and audit.baselines and audit.pairs.question.meaning.binary:
        everything = audit.baselines[0].agreement.value
        agreed = audit.views[0].metrics.accuracy.value
        if everything is not None and agreed is not None and everything > agreed:
            notes.append("passing everything agrees with people more often than the judge does; kappa tells them apart")
    if pairs.clustered and main.n_clusters is not None:
        notes.append(
            f"intervals allow for {main.n_clusters:,} groups by {pairs.question.cluster}"
            + ("" if main.deff is None else f" (design effect {number(main.deff)})")
        )
    notes += [f"careful: {FLAGS[flag]}" for flag in main.flags if flag in FLAGS]
    if pairs.ties:
        named = ", ".join(printable(each, _ID_LENGTH) for each in pairs.ties[:_NAMED])
        more = f" and {len(pairs.ties) - _NAMED:,} more" if len(pairs.ties) > _NAMED else ""
        notes.append(f"left out: people tie on {counted(len(pairs.ties), 'case')} ({named}{more})")
    for count, what in (
        (pairs.unlabelled, "cases have no label"),
        (pairs.not_in_run, "labels are of cases that aren't there"),
        (pairs.pending, "labelled cases are not judged yet"),
    ):
        if count:
            notes.append(f"left out: {count:,} {what}")
    for name, counts in (("abstained", pairs.abstained), ("failed", pairs.failed)):
        if counts:
            notes.append(f"{name}: {', '.join(f'{reason} {count:,}' for reason, count in counts.items())}")
    return notes
