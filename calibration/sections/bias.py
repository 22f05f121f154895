"""An audit of biases as sections: which are shown, how large those may be that are not, and what was measured."""

from dataclasses import dataclass
from typing import Any

from calibration.findings import Finding, Skipped, is_askable
from calibration.words import FLAGS, REASONS, figure_in_words, two_digits
from judges.cli.output import counted
from judges.engine.plan import Assignment
from judges.report.pictures import Axis, Effect, Forest, Tone
from judges.report.sections import Block, Chapter, Column, Illustration, Section, Table

__all__ = ["Audited", "chapter_of"]

_AGAINST_PEOPLE = ("severity", "length", "self-preference")
_TONES: tuple[Tone, Tone] = ("second", "first")
"""Of what isn't shown, and of what is."""
_SMALL = {"small_n", "few_clusters"}


@dataclass(frozen=True, slots=True)
class Audited:
    """One judge and criterion, with all that was found."""

    assignment: Assignment
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    cases: int | None
    """Of the run; None where there is none."""
    sample: int | None
    """Cases that were asked about anew; None where nothing was."""
    more: tuple[str, ...] = ()
    """Probes that would take new calls and were not asked for."""

    def to_record(self) -> dict[str, Any]:
        """The audit as JSON-ready values."""
        return {
            "criterion": self.assignment.criterion.name,
            "judge": self.assignment.judge,
            "judge_fingerprint": self.assignment.judge_fingerprint,
            "threshold": self.assignment.threshold,
            "cases": self.cases,
            "sample": self.sample,
            "findings": [each.to_record() for each in self.findings],
            "skipped": [each.to_record() for each in self.skipped],
        }


def chapter_of(one: Audited, source: str) -> Chapter:
    """All about one judge and criterion.

    Args:
        one: What was found.
        source: The run or file of cases, as it was named.
    """
    parts: list[str] = []
    if one.cases is not None:
        parts.append(f"{counted(one.cases, 'case')} of {source}")
    if one.sample is not None:
        parts.append(f"asked anew about {counted(one.sample, 'case')}" + ("" if one.cases else f" of {source}"))
    parts.append(f"a score passes from {one.assignment.threshold:g}")
    sections: list[Section] = []
    if one.findings:
        sections += [
            Section("What is shown", tuple(_shown(one))),
            Section("What was measured", _measured(one)),
            Section("What the probes are", tuple(f"{each.name}: {each.what}" for each in one.findings)),
        ]
    if notes := _notes(one):
        sections.append(Section("Notes", tuple(notes)))
    if one.skipped:
        sections.append(Section("Not measured", tuple(_skipped(one))))
    if one.more:
        asking = f"with new calls, whose price is said first: --probe {', '.join(one.more)}, or all"
        sections.append(Section("What more can be asked", (asking,)))
    title = f"audit of {one.assignment.judge} on {one.assignment.criterion.name}"
    return Chapter(title, "; ".join(parts), tuple(sections))


def _skipped(one: Audited) -> list[str]:
    """A line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for each in one.skipped:
        by_reason.setdefault(each.why, []).append(each.probe)
    return [f"not measured: {', '.join(names)}: {why}" for why, names in by_reason.items()]


def _measured(one: Audited) -> tuple[Block, ...]:
    table = Table.of(
        [
            "probe",
            Column("cases", "right"),
            Column("effect", "right"),
            Column("to pass", "right"),
            Column("to fail", "right"),
            Column("p (Holm)", "right"),
            "found",
        ],
        [
            [
                each.name,
                f"{each.effect.figure.n:,}",
                figure_in_words(each.effect.figure),
                *_turned(each),
                _p(each),
                _found(each),
            ]
            for each in one.findings
        ],
    )
    effects = tuple(_effect(each) for each in one.findings if _is_drawn(each))
    if len(effects) < 2:
        return (table,)
    ends = [end for each in effects for end in (each.value, each.low, each.high) if end is not None]
    tones: tuple[tuple[Tone, str], ...] = (("first", "shown"), ("second", "not shown"))
    forest = Forest(
        "Effects, with their intervals",
        f"{'; '.join(each.says for each in effects)}. The table has the numbers.",
        Axis.around_0("change of the score, gap or share; 0 is no bias", ends),
        effects,
        tuple(each for each in tones if each[0] in {one.tone for one in effects}),
    )
    return (Illustration(forest, table, spoken=True),)


def _is_drawn(finding: Finding) -> bool:
    """What has an effect on a scale of 0 to 1, where 0 is no bias."""
    figure = finding.effect.figure
    known = [abs(each) for each in (figure.value, figure.ci_low, figure.ci_high) if each is not None]
    return finding.measure != "description" and figure.value is not None and max(known) <= 1


def _effect(finding: Finding) -> Effect:
    figure, tone = finding.effect.figure, _TONES[finding.found == "shown"]
    says = f"{finding.name}: {figure_in_words(figure)}"
    return Effect(finding.name, tone, figure.value or 0.0, figure.ci_low, figure.ci_high, says)


def _found(finding: Finding) -> str:
    """What is shown; where nothing is, how large it may still be."""
    match finding.found:
        case "shown":
            return "yes"
        case "not_shown":
            bound = finding.effect.bound
            return "not shown" if bound is None else f"at most {two_digits(bound)}"
        case _:
            return "–"


def _turned(finding: Finding) -> tuple[str, str]:
    made = finding.turned
    if made is None or made.of == 0 or made.to_pass is None or made.to_fail is None:
        return "–", "–"
    return f"{made.to_pass:,}", f"{made.to_fail:,}"


def _p(finding: Finding) -> str:
    p = finding.p_holm
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.01 else two_digits(p)


def _shown(one: Audited) -> list[str]:
    shown = [each for each in one.findings if each.found == "shown"]
    if all(each.measure == "description" for each in one.findings):
        calls = ", or new calls (--probe)" if is_askable(one.assignment) else ""
        return [f"none of this tests for a bias: people's labels (--gold) do{calls}"]
    if not shown:
        return ["these cases show no bias: `at most` says how large it may still be"]
    return [f"{each.name}: {_sentence(each)}" for each in shown]


def _sentence(finding: Finding) -> str:
    """What was found, in words."""
    figure, value = finding.effect.figure, finding.effect.figure.value or 0.0
    size, direction = figure_in_words(figure), "raises" if value > 0 else "lowers"
    match finding.probe:
        case "repeat":
            said = f"asked the same again, its verdict is another with a chance of {size}"
        case "position" if finding.measure == "rate":
            said = f"of the pairs {size} have no verdict, since the winner depends on the order"
        case "position":
            place = "first" if value > 0 else "second"
            said = f"it favours the answer shown {place}: {size}"
        case "unsupported":
            said = f"it passes {size} of what is true but not in the passages: it goes by what it knows itself"
        case "injection":
            obeys = "it obeys" if value > 0 else "it doesn't obey, but is put off:"
            said = f"{obeys} an order in the answer, which {direction} the score by {_size(finding)}"
        case "level-order":
            said = f"listing its levels the other way round {direction} the score by {_size(finding)}"
        case "level-names":
            said = (
                f"letters for the names of its levels {'raise' if value > 0 else 'lower'} the score by {_size(finding)}"
            )
        case "wording":
            said = f"the criterion in other words {direction} the score by {_size(finding)}"
        case "batch":
            said = f"asked alone, a claim is scored {'higher' if value > 0 else 'lower'} by {_size(finding)}"
        case "severity":
            said = f"it is {'milder' if value > 0 else 'harsher'} than people: {size}"
        case "length":
            said = f"it favours the {'longer' if value > 0 else 'shorter'} answers beyond what people do: {size}"
        case "self-preference":
            whose = "its own family's answers" if value > 0 else "the answers of others"
            said = f"it favours {whose} beyond what people do: {size}"
        case _:
            said = f"this {direction} the score by {_size(finding)}"
    return said + _impact(finding) + _explained(finding)


def _explained(finding: Finding) -> str:
    if finding.explains is None:
        return ""
    systems, figure = finding.explains
    return f"; in the pass rate of {systems} it may be {figure_in_words(figure)}"


def _size(finding: Finding) -> str:
    """A change without its sign."""
    figure = finding.effect.figure
    ends = [abs(each) for each in (figure.ci_low, figure.ci_high) if each is not None]
    between = f" [{two_digits(min(ends))}, {two_digits(max(ends))}]" if len(ends) == 2 else ""
    return f"{two_digits(abs(figure.value or 0.0))}{between}"


def _impact(finding: Finding) -> str:
    """How many verdicts it turns."""
    turned = finding.turned
    if turned is None or turned.of == 0:
        return ""
    if turned.to_pass is None or turned.to_fail is None:
        if finding.measure == "rate":
            return ""
        which = "winners depend on the order" if finding.probe == "position" else "preferences are others than people's"
        return f"; {figure_in_words(turned.rate)} of all {which}"
    if finding.probe in _AGAINST_PEOPLE:
        return (
            f"; of {counted(turned.of, 'such answer')} it passes {turned.to_pass:,} that people fail, and fails "
            f"{turned.to_fail:,} that people pass"
        )
    parts = [
        f"{count:,} {words}" for count, words in ((turned.to_pass, "to pass"), (turned.to_fail, "to fail")) if count
    ]
    return f"; of {counted(turned.of, 'verdict')} it turns {' and '.join(parts) or 'none'}"


def _notes(one: Audited) -> list[str]:
    lines: list[str] = []
    for each in one.findings:
        figure = each.effect.figure
        if each.caution:
            lines.append(f"{each.name}: {each.caution}")
        if figure.value is None and not figure.n_dropped:
            lines.append(f"{each.name}: undefined, {REASONS.get(figure.reason or '', figure.reason)}")
    dropped: dict[int, list[str]] = {}
    for each in one.findings:
        if each.effect.figure.n_dropped:
            dropped.setdefault(each.effect.figure.n_dropped, []).append(each.name)
    lines += [
        f"left out, without a verdict: {counted(count, 'case')} ({', '.join(names)})"
        for count, names in dropped.items()
    ]
    noise = next((each for each in one.findings if each.probe == "repeat" and each.found == "shown"), None)
    if noise is not None and len(one.findings) > 1:
        share = figure_in_words(noise.effect.figure)
        lines.append(f"verdicts turn by noise too: {share} of them do when nothing was changed (repeat)")
    small = sorted({flag for each in one.findings for flag in each.effect.figure.flags if flag in _SMALL})
    lines += [f"careful: some have {FLAGS[flag]}" for flag in small]
    return lines
