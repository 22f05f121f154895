"""The audit of one judge as sections: what is decided first, then what it rests on."""

from collections.abc import Callable, Mapping, Sequence

from calibration.audit import Audit, View
from calibration.decision import Check
from calibration.people import People
from calibration.probabilities import Probabilities, Reliability, SuggestedThreshold
from calibration.rates import CorrectedRate
from calibration.scores import Scores
from calibration.sections.pictures import distributions, reliability, threshold_curve
from calibration.statistics.confusion import BinaryMetrics
from calibration.words import FLAGS, REASONS, share_in_words
from calibration.words import figure_in_words as shown
from judges.cli.output import counted, number
from judges.figures import Figure
from judges.printable import printable
from judges.report.sections import Block, Chapter, Column, Decided, Section, Table

__all__ = ["chapter_of", "overview_of"]

_ID_LENGTH = 40
_LABEL_LENGTH = 24
_NAMED = 8
_BASELINES = {"same_label": "same for all", "overlap": "word overlap", "length": "answer length"}


def overview_of(audits: Sequence[Audit]) -> Table:
    """A row for each judge and criterion. A narrow terminal shows what tells judges apart; the chapters have all."""
    judges = {each.pairs.question.subject.judge for each in audits}
    told = [each for each in _OVERVIEW if any(each[0] in audit.figures() for audit in audits)]
    return Table.of(
        [
            "criterion",
            Column("judge", spare=len(judges) == 1),
            "decision",
            Column("labelled", "right", spare=True),
            *(Column(head, "right", spare=spare) for _, head, _, spare in told),
        ],
        [
            [
                each.pairs.question.subject.criterion,
                each.pairs.question.subject.judge,
                each.decision.status,
                f"{len(each.pairs.pairs):,}",
                *(cell(each.figures()[name]) if name in each.figures() else "–" for name, _, cell, _ in told),
            ]
            for each in audits
        ],
    )


_OVERVIEW: tuple[tuple[str, str, Callable[[Figure], str], bool], ...] = (
    ("agreement", "agreement", shown, True),
    ("kappa", "kappa", shown, False),
    ("fails_found", "fails found", share_in_words, True),
    ("spearman", "Spearman", shown, False),
)
"""A figure by its name, its heading, how it is written, and whether it can be spared."""


def chapter_of(audit: Audit, worst: int) -> Chapter:
    """All about one judge and criterion, with so many of the cases that judge and people disagree on."""
    found = [_decision(audit)]
    if audit.views:
        found += [_agreement(audit), _baselines(audit)]
    if audit.scores is not None:
        found.append(_scores(audit.scores, audit))
    if audit.people is not None:
        found.append(_people(audit.people))
    if audit.probabilities is not None:
        found += [_probabilities(audit.probabilities), _threshold(audit.threshold, audit)]
    if audit.rate is not None:
        found.append(_rate(audit.rate, audit))
    if audit.slices:
        found.append(_slices(audit))
    if worst and audit.disagreements:
        found.append(_disagreements(audit, worst))
    if notes := _notes(audit):
        found.append(Section("Notes", tuple(notes)))
    return Chapter(_title(audit), _lead(audit), tuple(found), audit.decision.status)


def _title(audit: Audit) -> str:
    question = audit.pairs.question
    positive = question.meaning.positive
    reading = "" if positive is None or positive.rule == "pass" else f" ({positive.rule} is a pass)"
    return f"{question.subject.criterion} by {question.subject.judge}, against {question.labels.field}{reading}"


def _lead(audit: Audit) -> str:
    pairs = audit.pairs
    line = counted(len(pairs.pairs), "labelled case")
    if pairs.clustered:
        line += f" in {len({each.cluster for each in pairs.pairs}):,} groups by {pairs.question.cluster}"
    if pairs.threshold is not None:
        line += f"; a score passes from {pairs.threshold:g}"
    return line


# The decision


def _decision(audit: Audit) -> Section:
    decision = audit.decision
    required = Table.of(
        ["required", "found", ""],
        [[str(each.result.requirement), shown(each.result.figure), _mark(each)] for each in decision.checks],
    )
    verdict = Decided(decision.status, _verdict(audit))
    return Section("Decision", (verdict, required, *_settling(decision.checks)))


def _verdict(audit: Audit) -> str:
    decision = audit.decision
    if decision.declared:
        return {
            "PASS": "all that is required holds",
            "FAIL": "not all that is required holds",
            "UNDECIDED": "these labels don't settle what is required",
        }[decision.status]
    beyond = "beyond chance" if audit.views else "in their order of the cases"
    if decision.status == "PASS":
        more = any("_over_" in each.result.requirement.name for each in decision.checks)
        return f"the judge agrees with people {beyond}" + (", and more than the baselines do" if more else "")
    short = [each.result for each in decision.checks if each.result.status != "PASS"]
    failed = [each for each in short if each.status == "FAIL"]
    own = [each for each in failed or short if "_over_" not in each.requirement.name]
    names = [_BASELINES[each.requirement.name.partition("_over_")[2]] for each in failed or short if each not in own]
    if failed and own:
        why = f"it doesn't agree with people {beyond}" if " meets it" in own[0].reason else own[0].reason
        return f"don't rely on this judge: {why}"
    if failed:
        return f"don't rely on this judge: it agrees with people less than this does: {', '.join(names)}"
    if own:
        return f"don't rely on this judge yet: these labels don't show that it agrees with people {beyond}"
    return f"don't rely on this judge yet: it isn't shown to agree with people more than this does: {', '.join(names)}"


def _mark(check: Check) -> str:
    reason = check.result.reason
    return check.result.status if check.result.status != "FAIL" or " meets it" in reason else f"FAIL: {reason}"


def _settling(checks: Sequence[Check]) -> list[str]:
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


def _agreement(audit: Audit) -> Section:
    rare = [name for name in ("abstained", "failed") if any(row[name] for row in audit.matrix.values())]
    names = [*(name for name in next(iter(audit.matrix.values())) if name not in ("abstained", "failed")), *rare]
    heads = [f"judge: {names[0]}", *names[1:]]
    matrix = Table.of(
        ["people say", *(Column(printable(head, _LABEL_LENGTH + 7), "right") for head in heads)],
        [[row, *(f"{cells[name]:,}" for name in names)] for row, cells in audit.matrix.items()],
    )
    cell = share_in_words if audit.pairs.question.meaning.binary else _of_class
    agreement = _table(audit, [_agreement_of(view) for view in audit.views], shown)
    errors = _table(audit, [_errors_of(view) for view in audit.views], cell)
    return Section("Agreement with people", (agreement, matrix, errors))


def _table(audit: Audit, rows: Sequence[Mapping[str, Figure]], cell: Callable[[Figure], str]) -> Table:
    columns = [f"abstentions {view.abstentions}" if len(audit.views) > 1 else "judge" for view in audit.views]
    return Table.of(["", *columns], [[name, *(cell(each[name]) for each in rows)] for name in rows[0]])


def _of_class(figure: Figure) -> str:
    """As `share_in_words`; the positive label is here any of several."""
    words = {
        "no_positive_gold": "none: people say it of no case",
        "no_positive_pred": "none: the judge says it of no case",
    }
    return (words.get(figure.reason or "") if figure.value is None else None) or share_in_words(figure)


def _agreement_of(view: View) -> dict[str, Figure]:
    rows = {"agreement": view.metrics.accuracy, "Cohen's kappa": view.kappa}
    rows |= {f"kappa, {name} weights": figure for name, figure in view.weighted}
    if view.without_ties is not None:
        rows["agreement without ties"] = view.without_ties
    return rows


def _errors_of(view: View) -> dict[str, Figure]:
    metrics = view.metrics
    if isinstance(metrics, BinaryMetrics):
        return {
            "fails found (recall)": metrics.specificity,
            "fails that are right (precision)": metrics.npv,
            "passes found (recall)": metrics.recall,
            "passes that are right (precision)": metrics.precision,
        }
    rows: dict[str, Figure] = {}
    for each in metrics.classes:
        label = printable(str(each.label), _LABEL_LENGTH)
        rows |= {f"{label} found (recall)": each.recall, f"{label} that is right (precision)": each.precision}
    return rows | {"macro F1": metrics.macro_f1}


def _baselines(audit: Audit) -> Section:
    binary = audit.pairs.question.meaning.binary
    view = audit.views[0]
    own = [shown(view.metrics.accuracy), shown(view.kappa)]
    if binary:
        own.append(share_in_words(_errors_of(view)["fails found (recall)"]))
    heads = ["agreement", "kappa", *(["fails found"] if binary else []), "judge's kappa is higher by"]
    rows = [["the judge", *own, ""]]
    for each in audit.baselines:
        constant = each.name == "same_label"
        cells = [
            shown(each.agreement),
            number(each.kappa.value) if constant else shown(each.kappa),
            *([share_in_words(each.fails_found)] if binary else []),
        ]
        rows.append([_BASELINES[each.name], *cells, shown(each.advantage)])
    lines = [f"{_BASELINES[each.name]}: {each.how}" for each in audit.baselines]
    beaten = [_BASELINES[each.name] for each in audit.baselines if not each.beaten]
    if beaten:
        lines.append(f"not beaten, by the interval of the difference: {', '.join(beaten)}")
    absent = [words for name, words in _BASELINES.items() if name not in {each.name for each in audit.baselines}]
    if binary and absent:
        lines.append(f"the same of every case, so no baseline: {', '.join(absent)}")
    return Section("Beside what judges nothing", (Table.of(["", *heads], rows), *lines))


# Numbers


def _scores(scores: Scores, audit: Audit) -> Section:
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
    blocks: list[Block] = [
        Table.of(["judge's score and people's number", ""], rows),
        Table.of(
            ["", "Spearman", "judge's is higher by"],
            [
                ["the judge", shown(scores.spearman), ""],
                *([_BASELINES[each.name], shown(each.spearman), shown(each.advantage)] for each in scores.baselines),
            ],
        ),
    ]
    if scores.stretched:
        scale = audit.pairs.question.meaning.scale
        if scale is not None:
            blocks.append(f"for the differences the judge's 0 to 1 was laid on {scale.low:g} to {scale.high:g}")
    elif apart is None:
        blocks.append(
            "judge and people use different scales, so only the order is compared; a range is declared by --scale"
        )
    for each in scores.beyond:
        who = "the judge's scores" if each.whose == "judge" else "people's numbers"
        blocks.append(
            f"{each.count:,} of {who} lie outside the declared range (they go from {each.lowest:g} to "
            f"{each.highest:g}); they stay as they are"
        )
    return Section("Scores and people's numbers", tuple(blocks))


# People


def _people(people: People) -> Section:
    names = ", ".join(printable(each, _LABEL_LENGTH) for each in people.annotators[:_NAMED])
    more = len(people.annotators) - _NAMED
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
    blocks: list[Block] = [
        (
            f"{len(people.annotators):,} people ({names}{f' and {more:,} more' if more > 0 else ''}), "
            f"{people.cases:,} cases with two labels or more"
        ),
        Table.of(["people among themselves", ""], rows),
    ]
    for name, gap in people.arbiters.items():
        blocks.append(
            f"{printable(name, _LABEL_LENGTH)} was asked where others differ (on {_percent(gap.first)} of those cases, "
            f"elsewhere on {_percent(gap.second)}), so what follows is about the others"
        )
    ceiling = people.ceiling
    if ceiling is not None:
        blocks.append(
            Table.of(
                ["against the same other people", "agreement", "mean kappa of pairs"],
                [
                    ["a person", shown(ceiling.humans), shown(ceiling.human_kappa)],
                    ["the judge", shown(ceiling.judge), shown(ceiling.judge_kappa)],
                    ["judge less person", shown(ceiling.difference), ""],
                ],
            )
        )
    blocks += _replacement(people)
    latent = people.latent
    if latent is not None:
        blocks.append(
            f"Dawid and Skene's estimate of the true labels differs from those that count on "
            f"{counted(len(latent.differs), 'case')}"
        )
    return Section("People among themselves", tuple(blocks))


def _percent(figure: Figure) -> str:
    return "none" if figure.value is None else f"{figure.value:.0%}"


def _replacement(people: People) -> list[str]:
    test = people.replacement
    if test is None:
        return []
    if test.passes is None:
        return ["alternative annotator test: nobody has labelled 30 cases that others have labelled too"]
    won = sum(each.rejected for each in test.humans)
    lines = [
        (
            f"alternative annotator test, epsilon {test.epsilon:g}: the judge wins against {won:,} of "
            f"{len(test.humans):,} people, so it {'may' if test.passes else 'may not'} stand in for one of them"
        ),
        f"chance that the judge does as well as a person, on average: {shown(test.advantage)}",
    ]
    if test.few_humans:
        lines.append("careful: fewer than three people were tested")
    if test.exact_disagrees:
        lines.append("careful: the exact test decides otherwise for one of them")
    return lines


# Probabilities


def _probabilities(found: Probabilities) -> Section:
    before, after = found.as_is, found.recalibrated
    rows = [
        ("expected calibration error", "table.ece"),
        ("Brier score", "brier"),
        ("skill over the overall rate", "skill"),
        ("calibration slope (1 is right)", "slope"),
        ("calibration in the large (0)", "in_the_large"),
    ]
    blocks: list[Block] = [
        Table.of(
            ["score as the chance of a pass", "as it is", "recalibrated, out of fold"],
            [[name, _part(before, path), _part(after, path)] for name, path in rows],
        ),
        f"area under the curve: {shown(found.area_under_curve)}",
    ]
    if before is not None and before.slope.value is None:
        why = before.slope.reason or ""
        words = "some scores are exactly 0 or 1, or no score is shared by passes and fails"
        blocks.append(f"no slope as it is: {words if why == 'singular' else REASONS.get(why, why)}")
    if before is None:
        blocks.append("scores lie beyond 0 and 1: they are no probabilities as they are")
    if after is None:
        blocks.append("too few cases, or groups, to recalibrate out of fold")
    return Section("Scores as chances", (*blocks, *reliability(found)))


def _part(found: Reliability | None, path: str) -> str:
    if found is None:
        return "–"
    if path == "table.ece":
        return number(found.table.ece.value)
    figures = {
        "brier": found.brier,
        "skill": found.skill,
        "slope": found.slope,
        "in_the_large": found.in_the_large,
    }
    return "none" if figures[path].value is None else shown(figures[path])


def _threshold(found: SuggestedThreshold | None, audit: Audit) -> Section:
    return Section("Threshold", (*_suggestion(found), *distributions(audit), *threshold_curve(audit)))


def _suggestion(found: SuggestedThreshold | None) -> list[str]:
    if found is None:
        return ["another threshold: too few cases, or groups, to try one out of fold"]
    if found.at.value is None:
        return [f"another threshold: by the rule {found.rule} nothing should pass; keep the one in use"]
    now = "" if found.now is None else f", at {found.now:g}"
    head = "suggested threshold" if found.suggested else "no other threshold is suggested: the best one"
    lines = [
        f"{head} by {found.rule}: {shown(found.at)}",
        f"kappa out of fold {shown(found.kappa)}, now{now}: {shown(found.kappa_now)}; difference {shown(found.gain)}",
    ]
    if found.optimism is not None:
        lines.append(f"on the cases it was chosen on kappa looks {found.optimism:.2f} higher")
    if found.cost is not None:
        lines.append(f"mean cost of a case out of fold {shown(found.cost)}")
    return lines


# Rates


def _rate(rate: CorrectedRate, audit: Audit) -> Section:
    rows = [
        [f"the judge alone, {counted(rate.naive.n, 'case')}", shown(rate.naive)],
        [f"people, {counted(rate.people.n, 'labelled case')}", shown(rate.people)],
    ]
    if rate.corrected is not None and not (rate.chosen == "unknown" and not audit.pairs.unlabelled):
        condition = "" if rate.supported else ", if labels were random"
        method = rate.corrected.estimator.replace("_", "-")
        rows.append([f"corrected by the labels ({method}){condition}", shown(rate.corrected.estimate)])
    table = Table.of(["pass rate", ""], rows)
    support = _support(rate, all_labelled=not audit.pairs.unlabelled, all_judged=rate.naive.n == audit.pairs.cases)
    return Section("Pass rate", (table,) if support is None else (table, support))


def _support(rate: CorrectedRate, *, all_labelled: bool, all_judged: bool) -> str | None:
    match rate.chosen:
        case "unknown" if all_labelled:
            every = "every case" if all_judged else "every case with a verdict"
            return f"{every} is labelled, so people's rate is the rate of these cases"
        case "unknown":
            return "how the labelled cases were chosen decides what holds for the whole run: say it with --chosen"
        case "by-verdict":
            return (
                "chosen by the judge's verdict: kappa, agreement and the shares found describe these cases only; the "
                "corrected rate and the shares that are right hold for the run"
            )
        case "by-score":
            return "chosen by the judge's score: every figure but the corrected rate describes these cases only"
        case "by-gold":
            return (
                "chosen by people's label: kappa, agreement and the shares that are right describe these cases only; "
                "the shares found hold for the run"
            )
        case "by-hand" | "tuning":
            how = "by hand" if rate.chosen == "by-hand" else "to tune the judge"
            return (
                f"the labelled cases were chosen {how}: no rate can be corrected by them, and every figure here "
                "describes these cases only"
            )
        case _:
            return None


# Where they disagree


def _slices(audit: Audit) -> Section:
    binary = audit.pairs.question.meaning.binary
    heads = ["agreement", "kappa", *(["fails found"] if binary else []), "less that of the rest"]
    blocks: list[Block] = []
    for field in dict.fromkeys(each.field for each in audit.slices):
        rows = [
            [
                each.value,
                f"{each.agreement.n:,}",
                shown(each.agreement),
                shown(each.kappa),
                *([share_in_words(each.fails_found)] if binary else []),
                f"{shown(each.gap)}{' *' if each.differs else ''}",
            ]
            for each in audit.slices
            if each.field == field
        ]
        named = Column(printable(field, _LABEL_LENGTH), limit=_ID_LENGTH)
        blocks.append(Table.of([named, Column("cases", "right"), *heads], rows))
    if any(each.differs for each in audit.slices):
        blocks.append("* agreement differs from elsewhere, also when all slices are looked at (Holm)")
    else:
        blocks.append("no slice is shown to differ from the rest: the lowest of many is low by chance too (Holm)")
    return Section("Part by part", tuple(blocks))


def _disagreements(audit: Audit, worst: int) -> Section:
    rows = audit.disagreements[:worst]
    scored = audit.views and any(each.score is not None for each in rows)
    reasoned = any(each.why for each in rows)
    columns = [
        Column("disagree most", limit=_ID_LENGTH),
        Column("people", limit=_LABEL_LENGTH),
        Column("judge", limit=_LABEL_LENGTH),
        *([Column("score", "right")] if scored else []),
        *([Column("why", free=True)] if reasoned else []),
    ]
    return Section(
        "Cases they disagree on most",
        (
            Table.of(
                columns,
                [
                    [
                        each.case_id,
                        each.people,
                        each.judge,
                        *([number(each.score)] if scored else []),
                        *([each.why] if reasoned else []),
                    ]
                    for each in rows
                ],
            ),
        ),
    )


# Notes


def _notes(audit: Audit) -> list[str]:
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
            notes.append(
                "passing everything agrees with people more often than the judge does; kappa sets chance apart"
            )
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
    if pairs.failed and audit.views:
        share = shown(audit.views[0].invalid)
        notes.append(f"what failed counts as disagreement; its share of the judgements that don't abstain: {share}")
    return notes
