"""A comparison as sections: what can be told of the difference first, then what it rests on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from calibration.comparison import JudgesAgreement, LabelsAgreement, SystemsComparison
from calibration.differences import Found, RatePair
from calibration.matching import Matching
from calibration.on_gold import JudgesOnGold
from calibration.statistics.confusion import McNemar
from calibration.words import REASONS
from calibration.words import figure_in_words as shown
from calibration.words import two_digits as number
from judges.cli.output import counted
from judges.figures import Figure
from judges.printable import printable
from judges.report.pictures import Axis, Effect, Forest, Tone
from judges.report.sections import Block, Chapter, Column, Illustration, Section, Table

__all__ = ["Asked", "Compared", "chapter_of"]

Compared: TypeAlias = (
    Sequence[SystemsComparison] | Sequence[JudgesOnGold] | Sequence[JudgesAgreement] | Sequence[LabelsAgreement]
)

_SLICE_LENGTH = 32
_DECIDERS = {
    "kappa": "Cohen's kappa",
    "kappa_quadratic": "kappa, quadratic",
    "spearman": "Spearman",
}
_BY = {
    "kappa": "kappa",
    "kappa_quadratic": "kappa with quadratic weights",
    "spearman": "Spearman's correlation",
}
_SAID = {"abstained": "abstained", "failed": "failed", "pending": "not judged yet"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a comparison is of, beside its figures."""

    a: str
    """The run or file, as it was named."""
    b: str
    cluster: str | None
    """The field that groups cases."""
    cases: int
    """So many cases are named on which two judges differ."""


def chapter_of(made: Compared, matching: Matching, asked: Asked) -> Chapter:
    """All that a comparison says: at least one comparison is there."""
    systems = [each for each in made if isinstance(each, SystemsComparison)]
    on_gold = [each for each in made if isinstance(each, JudgesOnGold)]
    alone = [each for each in made if isinstance(each, JudgesAgreement | LabelsAgreement)]
    where = f"run: {asked.a}" if asked.a == asked.b else f"A: {asked.a}; B: {asked.b}"
    if systems:
        judges = ", ".join(dict.fromkeys(each.judge for each in systems))
        title = f"two systems, one judge ({judges}): other answers to the same {counted(matching.shared, 'case')}"
        return Chapter(title, where, _of_systems(systems, matching, asked))
    if on_gold:
        title, who = _judges(matching, on_gold, "by people's labels")
        return Chapter(title, "; ".join(filter(None, (where, who))), _of_gold(on_gold, matching, asked))
    title, who = _judges(matching, alone, "with each other")
    return Chapter(title, "; ".join(filter(None, (where, who))), _of_agreement(alone, matching, asked))


def _judges(
    matching: Matching, made: Sequence[JudgesOnGold | JudgesAgreement | LabelsAgreement], how: str
) -> tuple[str, str]:
    one, cases = made[0], counted(matching.shared, "case")
    if matching.mode == "same_judge":
        return f"one judge ({one.judge_a}) twice on the same answers, {how}: {cases}", ""
    first = matching.matched[0]
    cuts = (None, None) if isinstance(one, LabelsAgreement) else (one.threshold_a, one.threshold_b)
    said = [
        f"{side} is {judge}" + _cut(cut, stored=stored)
        for side, judge, cut, stored in (
            ("A", one.judge_a, cuts[0], first.stored_a),
            ("B", one.judge_b, cuts[1], first.stored_b),
        )
    ]
    return f"two judges on the same answers, {how}: {cases}", "; ".join(said)


def _cut(threshold: float | None, *, stored: bool) -> str:
    if threshold is None:
        return " (stored)" if stored else ""
    return f" (stored; numbers pass from {threshold:g})" if stored else f", passing from {threshold:g}"


def _name(one: SystemsComparison | JudgesOnGold | JudgesAgreement | LabelsAgreement) -> str:
    return one.criterion if one.slice is None else f"{one.criterion}, {printable(one.slice, _SLICE_LENGTH)}"


def _p_head(several: bool) -> Column:
    return Column("p (Holm)" if several else "p", "right")


def _notes(matching: Matching, asked: Asked, own: Iterable[str], difference: Figure) -> list[Section]:
    """What was left out, and what the intervals allow for."""
    notes = [
        f"left out: {counted(count, 'case')} {what}"
        for count, what in (
            (matching.only_a, "only in A"),
            (matching.only_b, "only in B"),
            (matching.other_question, "whose id is in both, but not with the same question"),
            (max(each.other_content for each in matching.matched), "judged on other text in A than in B"),
        )
        if count
    ]
    notes += own
    if asked.cluster is None and matching.duplicates:
        notes.append(
            f"{counted(matching.duplicates, 'case')} with the very same content as another: intervals count such cases "
            "as one"
        )
    elif difference.n_clusters is not None:
        groups = counted(difference.n_clusters, "group")
        effect = "" if difference.deff is None else f" (design effect {number(difference.deff)})"
        notes.append(f"intervals allow for {groups} by {asked.cluster}{effect}")
    return [Section("Notes", tuple(notes))] if notes else []


# Two systems


def _of_systems(made: Sequence[SystemsComparison], matching: Matching, asked: Asked) -> tuple[Section, ...]:
    several = len({each.judge for each in made}) > 1
    names = [f"{_name(each)} by {each.judge}" if several else _name(each) for each in made]
    rows = list(zip(names, made, strict=True))
    told = [
        f"{name}, by the mean score: {_told(each.found, each.scores.difference, each.detectable, 'is better')}"
        for name, each in rows
    ]
    scores = Table.of(
        ["mean score", Column("cases", "right"), "A", "B", "A less B", _p_head(len(made) > 1)],
        [
            [
                name,
                f"{each.scores.difference.n:,}",
                shown(each.scores.mean_a),
                shown(each.scores.mean_b),
                shown(each.scores.difference),
                _p(each.p_holm),
            ]
            for name, each in rows
        ],
    )
    effects = [(f"{name}, score" if len(made) == 1 else name, each.scores.difference) for name, each in rows]
    if len(made) == 1:
        effects += [(f"{name}, passes", each.passes.difference) for name, each in rows]
        effects += [(f"{name}, by people", rate) for name, each in rows if (rate := _people_s_rate(each)) is not None]
    cut = ", ".join(dict.fromkeys(f"{each.threshold:g}" for each in made))
    passes = Table.of(
        [f"passes from {cut}", "A", "B", "A less B"],
        [
            [name, shown(each.passes.mean_a), shown(each.passes.mean_b), shown(each.passes.difference)]
            for name, each in rows
        ],
    )
    heads = ("A better", "B better", "same", "only A passes", "only B passes")
    counts = Table.of(
        ["cases", *(Column(head, "right") for head in heads)],
        [
            [
                name,
                *(f"{count:,}" for count in (each.better_a, each.better_b, each.same)),
                *(f"{count:,}" for count in (each.only_a_passes, each.only_b_passes)),
            ]
            for name, each in rows
        ],
    )
    own = (_left_out(name, each.left_out) for name, each in rows if each.left_out)
    return (
        Section("Which is better", tuple(told)),
        Section("Scores", _drawn("A less B", "above 0, A is better", effects, scores)),
        Section("Passes", (passes, counts)),
        *(_people(name, each) for name, each in rows if each.people is not None),
        *_notes(matching, asked, own, made[0].scores.difference),
    )


def _people_s_rate(one: SystemsComparison) -> Figure | None:
    """The difference of pass rates that people would find; None where they give numbers."""
    return None if one.people is None or one.people.tpr is None else one.people.estimate.figure


def _people(name: str, one: SystemsComparison) -> Section:
    people = one.people
    assert people is not None, "asked for only where there are labels"  # noqa: S101
    what = "pass rate" if people.tpr is not None else "people's number"
    blocks: list[Block] = [
        f"{name}: {what} of A less that of B, with people's labels on {counted(one.labelled, 'case')}",
        Table.of(
            ["", "A less B"],
            [
                ["as people would find it", shown(people.estimate.figure)],
                *([["as the judge alone finds it", shown(one.passes.difference)]] if people.tpr is not None else []),
            ],
        ),
    ]
    gaps = [
        ("of what people pass, the judge passes", people.tpr),
        ("of what people fail, the judge passes", people.fpr),
    ]
    rows = [[words, shown(gap.first), shown(gap.second), shown(gap.gap)] for words, gap in gaps if gap is not None]
    if rows:
        blocks.append(Table.of(["the judge's errors", "A", "B", "A less B"], rows))
    if one.bias is not None:
        bias = shown(one.bias.difference)
        blocks.append(f"the judge less people on A, less the same on B, in units of their scale: {bias}")
    if one.errs_differently:
        blocks.append(
            "careful: the judge errs differently on A and on B, so its own difference may have the wrong size, or even "
            "the wrong sign: go by what people would find"
        )
    if one.labelled < one.scores.difference.n:
        blocks.append("this holds if the labelled cases are a random sample of those compared")
    return Section(f"People on {name}", tuple(blocks))


# Two judges, held against people


def _of_gold(made: Sequence[JudgesOnGold], matching: Matching, asked: Asked) -> tuple[Section, ...]:
    several = len(made) > 1
    told = [
        f"{_name(each)}, by {_BY[each.decided_by]}: "
        + _told(each.found, each.difference, each.detectable, "agrees better with people")
        for each in made
    ]
    own = [line for one in made for line in _left_out_on_gold(_name(one), one)]
    wrong = [
        _named(f"{f'{_name(one)}: ' if several else ''}{words}", ids, asked.cases)
        for one in made
        for words, ids in _differing(one)
        if ids and asked.cases
    ]
    return (
        Section("Which agrees better with people", tuple(told)),
        *(_figures(one, several=several) for one in made),
        *([Section("Cases they differ on", tuple(wrong))] if wrong else []),
        *_notes(matching, asked, own, made[0].difference),
    )


def _figures(one: JudgesOnGold, *, several: bool) -> Section:
    rows: list[list[str]] = []
    effects: list[tuple[str, Figure]] = []

    def add(name: str, a: Figure, b: Figure, difference: Figure, p_value: str, *, drawn: bool = True) -> None:
        rows.append([name, shown(a), shown(b), shown(difference), p_value])
        if drawn:
            effects.append((name, difference))

    def rate(name: str, rates: RatePair | None, p_value: str = "") -> None:
        if rates is not None:
            add(name, rates.a, rates.b, rates.test.difference, p_value)

    decisive = _DECIDERS[one.decided_by]
    rate("agreement", one.agreement, _p(one.p_holm_agreement))
    kappas = [("Cohen's kappa", one.kappa)] if one.kappa is not None else []
    kappas += [(f"kappa, {name}", each) for name, each in one.weighted.items()]
    for name, each in kappas:
        p_value = _p(one.p_holm) if name == decisive else ""
        add(name, each.kappa_a, each.kappa_b, each.difference, p_value)
    rate("fails found", one.fails_found)
    rate("passes found", one.passes_found)
    for found in one.correlations:
        name = found.kind.capitalize()
        p_value = _p(one.p_holm) if name == decisive else ""
        add(name, found.correlation_a, found.correlation_b, found.difference, p_value)
    if one.errors is not None:
        errors = one.errors
        add("absolute error", errors.mae_a, errors.mae_b, errors.difference.difference, "", drawn=False)
    table = Table.of(["", "A", "B", "A less B", _p_head(several)], rows)
    blocks: list[Block] = [f"{_name(one)}: {counted(one.n, 'labelled case')}"]
    blocks += _drawn(f"A less B on {_name(one)}", "above 0, A is nearer to people", effects, table)
    if one.kappa is not None:
        blocks.append(
            f"right where the other is wrong: A {len(one.only_a_right):,}, B {len(one.only_b_right):,}",
        )
    if one.errors is not None:
        errors = one.errors
        blocks.append(
            f"closer to people's number: A on {counted(errors.closer_a, 'case')}, B on {errors.closer_b:,}, "
            f"both alike on {errors.same:,} (test of signs: p {_p(errors.sign_p)})"
        )
    elif one.correlations:
        blocks.append(
            "they don't both use people's scale, so only the order is compared; a range is declared by --scale"
        )
    return Section(_name(one), tuple(blocks))


def _differing(one: JudgesOnGold) -> tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]:
    if one.kappa is None:
        return ("A is closer to people", one.only_a_right), ("B is closer to people", one.only_b_right)
    return ("A is right, B is wrong", one.only_a_right), ("B is right, A is wrong", one.only_b_right)


def _named(words: str, ids: Sequence[str], most: int) -> str:
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return f"{words}: {', '.join(ids[:most])}{more}"


def _left_out_on_gold(name: str, one: JudgesOnGold) -> list[str]:
    notes = [
        f"left out, {name}: {counted(count, 'case')} {what}"
        for count, what in (
            (one.unlabelled, "without a label"),
            (one.abstained, "from which a judge abstains"),
            (one.pending, "that one of them has no verdict of: if it is a run, run the same `judges run` again"),
        )
        if count
    ]
    counts = "counted as wrong" if one.kappa is not None else "left out, since there is no number"
    return notes + [
        f"{name}: {side} failed on {counted(count, 'case')}: {counts}"
        for side, count in (("A", one.failed_a), ("B", one.failed_b))
        if count
    ]


# Two judges, nobody else


def _of_agreement(
    made: Sequence[JudgesAgreement | LabelsAgreement], matching: Matching, asked: Asked
) -> tuple[Section, ...]:
    sections = [
        _alone(one, matching, asked) if isinstance(one, JudgesAgreement) else _by_label(one, matching, asked)
        for one in made
    ]
    if matching.mode == "judges":
        sections.append(
            Section("Which is right", ("which of them is right, only people's labels can tell: --gold FILE",))
        )
    own = (_left_out(_name(one), one.left_out) for one in made if one.left_out)
    return (*sections, *_notes(matching, asked, own, made[0].agreement))


def _alone(one: JudgesAgreement, matching: Matching, asked: Asked) -> Section:
    blocks: list[Block] = [
        f"{_name(one)}: {counted(one.agreement.n, 'case')}",
        Table.of(
            ["", Column("B: pass", "right"), Column("fail", "right")],
            [
                ["A: pass", f"{one.both_pass:,}", f"{one.only_a_passes:,}"],
                ["A: fail", f"{one.only_b_passes:,}", f"{one.both_fail:,}"],
            ],
        ),
        Table.of(
            ["A with B", ""],
            [
                ["agreement", shown(one.agreement)],
                ["Cohen's kappa", shown(one.kappa)],
                ["rank correlation of scores", shown(one.correlation)],
                ["pass rate of A", shown(one.pass_rate.a)],
                ["pass rate of B", shown(one.pass_rate.b)],
                ["A less B", shown(one.pass_rate.test.difference)],
            ],
        ),
    ]
    if matching.mode == "same_judge":
        blocks.append(f"the verdict changed on {len(one.differ):,} of {counted(one.agreement.n, 'case')}")
    else:
        blocks.append(_milder(one.pass_rate.test))
    listed = one.differ[: asked.cases]
    if listed:
        blocks.append(
            Table.of(
                [Column("they differ on", limit=_SLICE_LENGTH), Column("A", "right"), Column("B", "right")],
                [[each.case_id, number(each.score_a), number(each.score_b)] for each in listed],
            )
        )
    blocks += _more(len(one.differ) - len(listed), matching) if listed else []
    return Section(_name(one), tuple(blocks))


def _more(count: int, matching: Matching) -> list[Block]:
    """How many more cases there are; those of a run can be looked at."""
    if not count:
        return []
    first = matching.matched[0]
    in_runs = not (first.stored_a and first.stored_b)
    return [f"and {count:,} more" + ("; see a case with: judges show RUN --case ID" if in_runs else "")]


def _by_label(one: LabelsAgreement, matching: Matching, asked: Asked) -> Section:
    names = [printable(label, _SLICE_LENGTH) for label in one.labels]
    heads = [Column(f"B: {name}" if at == 0 else name, "right") for at, name in enumerate(names)]
    blocks: list[Block] = [
        f"{_name(one)}: {counted(one.agreement.n, 'case')}",
        Table.of(
            ["", *heads],
            [
                [f"A: {name}", *(f"{count:,}" for count in one.matrix[label].values())]
                for name, label in zip(names, one.labels, strict=True)
            ],
        ),
        Table.of(["A with B", ""], [["agreement", shown(one.agreement)], ["Cohen's kappa", shown(one.kappa)]]),
    ]
    listed = one.differ[: asked.cases]
    if listed:
        columns = [Column("they differ on", limit=_SLICE_LENGTH), *(Column(side, limit=_SLICE_LENGTH) for side in "AB")]
        blocks.append(Table.of(columns, [list(each) for each in listed]))
        blocks += _more(len(one.differ) - len(listed), matching)
    if matching.mode == "same_judge":
        blocks.append(f"the label changed on {len(one.differ):,} of {counted(one.agreement.n, 'case')}")
    return Section(_name(one), tuple(blocks))


def _milder(test: McNemar) -> str:
    difference = test.difference
    if difference.value is None or difference.ci_low is None or difference.ci_high is None:
        return (
            f"whether one of them is milder can't be told ({REASONS.get(difference.reason or '', difference.reason)})"
        )
    if difference.ci_low > 0 or difference.ci_high < 0:
        return f"{'A' if difference.value > 0 else 'B'} is the milder: the other passes fewer of the same answers"
    return "neither is clearly the milder"


# What all of them have


def _drawn(title: str, what: str, effects: Sequence[tuple[str, Figure]], table: Table) -> tuple[Block, ...]:
    """The table, beside a picture of its differences where there are several."""
    rows = tuple(
        Effect(name, _tone(figure), figure.value, figure.ci_low, figure.ci_high, f"{name}: {shown(figure)}")
        for name, figure in effects
        if figure.value is not None
    )
    if len(rows) < 2:
        return (table,)
    ends = [end for each in rows for end in (each.value, each.low, each.high) if end is not None]
    says = "; ".join(each.says for each in rows)
    axis = Axis.around_0(f"A less B: {what}", ends)
    tones = [each.tone for each in rows]
    legend: tuple[tuple[Tone, str], ...] = (("first", "interval beyond 0"), ("second", "0 among it"))
    forest = Forest(
        title, f"{says}. The table has the numbers.", axis, rows, tuple(each for each in legend if each[0] in tones)
    )
    return (Illustration(forest, table, spoken=True),)


def _tone(figure: Figure) -> Tone:
    low, high = figure.ci_low, figure.ci_high
    return "first" if low is not None and high is not None and (low > 0 or high < 0) else "second"


def _left_out(name: str, counts: Mapping[str, int]) -> str:
    said = ", ".join(f"{key[0].upper()} {_SAID[key[2:]]} {count:,}" for key, count in counts.items())
    return f"left out, {name}: {said}"


def _p(value: float | None) -> str:
    return "–" if value is None else number(value) if value >= 0.01 else f"{value:.3f}" if value >= 0.001 else "<0.001"


def _told(found: Found, difference: Figure, detectable: float | None, better: str) -> str:
    """What can be said of a difference, in words."""
    low, high = difference.ci_low, difference.ci_high
    between = "" if low is None or high is None else f"the difference lies between {number(low)} and {number(high)}"
    match found:
        case "a" | "b":
            name, sizes = found.upper(), sorted(abs(each) for each in (low, high) if each is not None)
            by = f", by {sizes[0]:.2f} to {sizes[1]:.2f}" if sizes else ""
            return f"{name} {better}{by}"
        case "same":
            return "no case tells A from B"
        case "undefined":
            return f"undefined: {REASONS.get(difference.reason or '', difference.reason)}"
        case "untold":
            apart = low is not None and high is not None and (low > 0 or high < 0)
            alone = "too many comparisons at once to tell" if apart else "can't be told"
            shows = "" if detectable is None else f"; as many cases would show one of {detectable:.2f} (power 80%)"
            return f"{alone}: {between}{shows}"
