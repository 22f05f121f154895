"""`judges compare`: two systems by one judge, or two judges, from two runs. Mounted into the `judges` command."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import Column, counted, data, figure, note, number, prose, table, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.comparison import Found, Good, JudgesAgreement, JudgesOnGold, RatePair, SystemsComparison
    from calibration.labels import Labels
    from calibration.matching import Matching
    from calibration.sampling import Design
    from calibration.statistics.confusion import McNemar
    from judges.engine.run import Run
    from judges.figures import Figure

__all__ = ["compare"]

_SLICE_LENGTH = 32


def compare(
    run_a: Annotated[Path, typer.Argument(help="Folder of run A.")],
    run_b: Annotated[Path, typer.Argument(help="Folder of run B; the same one if it holds two judges.")],
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="File of human labels. Of two systems give two: for A's answers, then for B's."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Field of the label: gold.faithfulness; a second one if B's is another. Else all that fit."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="Which labels are good: 'correct', 'pass,partly', '>=3'.")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option("--criterion", "-c", help="Only this criterion; may be given several times.")
    ] = None,
    judge_a: Annotated[str | None, typer.Option(help="Only this judge of run A.")] = None,
    judge_b: Annotated[str | None, typer.Option(help="Only this judge of run B.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Scores from here on pass; by default each judge's own.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the document they are about.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="A row for each value of this field: meta.domain, lang.")] = None,
    cases: Annotated[int, typer.Option(min=0, help="Show so many cases on which two judges differ.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the test by sign flips.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two systems by one judge, or two judges: which difference is real, and which can't be told."""
    from calibration.comparison import compare_agreement, compare_answers, compare_judges
    from calibration.matching import match
    from judges.engine.run import Run

    homes = Run(run_a), Run(run_b)
    labels = _labels(homes[0], gold or [], label or [], criterion, cluster)
    chosen = _chosen(gold or [])
    matching = match(
        *homes,
        criteria=criterion,
        judge_a=judge_a,
        judge_b=judge_b,
        threshold=threshold,
        cluster=cluster,
        clusters={case: group for each in labels.values() for one in each for case, group in one.clusters.items()},
        by=by,
    )
    made: Sequence[SystemsComparison | JudgesOnGold | JudgesAgreement]
    show = _Page(homes, matching, by=by, cluster=cluster, cases=cases)
    if matching.mode == "systems":
        for path, design in chosen.items():
            _check_random(path, design)
        made = compare_answers(matching, _gold_of_systems(labels, positive), seed=seed)
    elif labels:
        made = compare_judges(matching, _gold_of_judges(matching, labels, positive))
        for path, design in chosen.items():
            if "kappa" not in design.values:
                note(f"{path}: labels of cases chosen {design.how}: the figures are of these cases, not of the run")
    else:
        made = compare_agreement(matching)
    if json:
        write_json(
            {
                "compared": matching.mode,
                "by_people": bool(labels),
                "run_a": str(run_a),
                "run_b": str(run_b),
                "gold": [str(each) for each in gold or ()],
                "cluster": cluster,
                "by": by,
                "cases_in_both": matching.shared,
                "only_in_a": matching.only_a,
                "only_in_b": matching.only_b,
                "other_question": matching.other_question,
                "duplicates": matching.duplicates,
                "comparisons": [each.to_record() for each in made],
            }
        )
        return
    show(made)


# Labels


def _labels(
    home: "Run", gold: list[Path], label: list[str], criteria: list[str] | None, cluster: str | None
) -> "dict[str, tuple[Labels, ...]]":
    """By criterion, the labels of A's answers, and of B's if they have their own."""
    from calibration.labels import labelled_criteria, read_labels

    if not gold:
        if label:
            raise InputError("--label names a field of a file of labels; give the file with --gold")
        return {}
    if len(gold) > 2 or len(label) > 2:
        raise InputError("--gold and --label: give one, or two: of A, then of B")
    names = list(dict.fromkeys(a.criterion.name for a in home.manifest().assignments))
    wanted = [name for name in names if criteria is None or name in criteria]
    fields: dict[str, list[str]]
    if label:
        last = label[0].rpartition(".")[2]
        if last not in wanted and len(wanted) > 1:
            raise InputError(
                f"`{label[0]}` names none of the criteria; say which with --criterion: {', '.join(wanted)}"
            )
        fields = {last if last in wanted else wanted[0]: label}
    else:
        found = labelled_criteria(gold[0], wanted)
        if not found:
            raise InputError(f"{gold[0]}: has no labels of {', '.join(wanted)}; name their field with --label")
        fields = {name: [field] for name, field in found.items()}
    count = max(len(gold), len(label))
    return {
        name: tuple(
            read_labels(gold[min(at, len(gold) - 1)], field[min(at, len(field) - 1)], cluster=cluster)
            for at in range(count)
        )
        for name, field in fields.items()
    }


def _chosen(gold: list[Path]) -> "dict[Path, Design]":
    """How the labelled cases were chosen, where that is written down beside them."""
    from calibration.sampling import design_path, read_design

    return {path: read_design(path) for path in gold if design_path(path).exists()}


def _check_random(path: Path, design: "Design") -> None:
    try:
        design.check_estimator("ppi_plus_plus")
    except InputError as error:
        raise InputError(f"{path}: {error}; two systems are compared by labels of a random sample") from None


def _good(labels: "Labels", positive: str | None) -> "Good":
    """Whether people call a case good. A tie of annotators is no label."""
    from calibration.meaning import PASS, meaning_of

    meaning = meaning_of(labels, positive=positive, scale=None)
    if not meaning.binary:
        raise InputError(
            f"which labels are good? say it with --positive, as in --positive correct or --positive '>=3'; "
            f"{labels.found()}"
        )
    counted = {case: meaning.gold(each).label for case, each in labels.by_case.items()}
    return {case: label == PASS for case, label in counted.items() if label is not None}


def _gold_of_systems(
    labels: "Mapping[str, tuple[Labels, ...]]", positive: str | None
) -> "dict[str, tuple[Good, Good]]":
    gold: dict[str, tuple[Good, Good]] = {}
    for name, given in labels.items():
        if len(given) != 2:
            raise InputError(
                "the two systems gave other answers, so each needs labels of its own: give --gold twice (for A's "
                "answers, then for B's), or --label twice if both are in one file"
            )
        gold[name] = _good(given[0], positive), _good(given[1], positive)
    return gold


def _gold_of_judges(
    matching: "Matching", labels: "Mapping[str, tuple[Labels, ...]]", positive: str | None
) -> "dict[str, Good]":
    if any(len(given) > 1 for given in labels.values()):
        raise InputError(
            "two judges of the same answers are held against one set of labels: give --gold and --label once"
        )
    names = [each.a.criterion.name for each in matching.matched]
    for name in names:
        if name not in labels:
            note(f"`{name}` is left out: there are no labels of it")
    return {name: _good(given[0], positive) for name, given in labels.items() if name in names}


# The page


class _Page:
    """Writes a comparison for people."""

    def __init__(
        self, homes: "tuple[Run, Run]", matching: "Matching", *, by: str | None, cluster: str | None, cases: int
    ) -> None:
        self._homes = homes
        self._matching = matching
        self._by = by
        self._cluster = cluster
        self._cases = cases

    def __call__(self, made: "Sequence[SystemsComparison | JudgesOnGold | JudgesAgreement]") -> None:
        from calibration.comparison import JudgesAgreement, JudgesOnGold, SystemsComparison

        if self._by is not None and all(each.slice == made[0].slice for each in made):
            note(f"`{self._by}` has one value in all cases")
        self._systems([each for each in made if isinstance(each, SystemsComparison)])
        self._on_gold([each for each in made if isinstance(each, JudgesOnGold)])
        self._agreement([each for each in made if isinstance(each, JudgesAgreement)])

    def _head(self, title: str) -> None:
        a, b = (printable(str(home.path)) for home in self._homes)
        data(title)
        if a == b:
            data(f"run: {a}")
        else:
            data(f"A: {a}")
            data(f"B: {b}")

    def _name(self, one: "SystemsComparison | JudgesOnGold | JudgesAgreement") -> str:
        name = printable(one.criterion)
        return name if one.slice is None else f"{name}, {printable(one.slice, _SLICE_LENGTH)}"

    def _notes(self, own: Iterable[str], difference: "Figure") -> None:
        """What was left out, and what the intervals allow for; a paragraph of its own."""
        matching = self._matching
        notes = [
            f"left out: {counted(count, 'case')} {what}"
            for count, what in (
                (matching.only_a, "only in A"),
                (matching.only_b, "only in B"),
                (matching.other_question, "whose id is in both runs, but not with the same question"),
                (max(each.other_content for each in matching.matched), "judged on other text in A than in B"),
            )
            if count
        ]
        notes += own
        if self._cluster is None and matching.duplicates:
            notes.append(
                f"{counted(matching.duplicates, 'case')} with the very same content as another: intervals count such "
                "cases as one"
            )
        elif difference.n_clusters is not None:
            groups = counted(difference.n_clusters, "group")
            notes.append(f"intervals allow for {groups} by {self._cluster} (design effect {number(difference.deff)})")
        if notes:
            data()
        for line in notes:
            prose(line, "  ")

    # Two systems

    def _systems(self, made: "Sequence[SystemsComparison]") -> None:
        if not made:
            return
        judges = ", ".join(dict.fromkeys(printable(each.judge) for each in made))
        self._head(
            f"two systems, one judge ({judges}): other answers to the same {counted(self._matching.shared, 'case')}"
        )
        data()
        several = len({each.judge for each in made}) > 1
        names = [f"{self._name(each)} by {each.judge}" if several else self._name(each) for each in made]
        table(
            [
                Column("mean score"),
                Column("cases", "right"),
                Column("A"),
                Column("B"),
                Column("A less B"),
                Column("p (Holm)" if len(made) > 1 else "p", "right"),
                *(Column(head, "right") for head in ("A better", "B better", "same")),
            ],
            (
                [
                    name,
                    f"{each.scores.difference.n:,}",
                    figure(each.scores.mean_a),
                    figure(each.scores.mean_b),
                    figure(each.scores.difference),
                    _p(each.p_holm),
                    f"{each.better_a:,}",
                    f"{each.better_b:,}",
                    f"{each.same:,}",
                ]
                for name, each in zip(names, made, strict=True)
            ),
        )
        data()
        cut = ", ".join(dict.fromkeys(f"{each.threshold:g}" for each in made))
        table(
            [
                Column(f"passes from {cut}"),
                Column("A"),
                Column("B"),
                Column("A less B"),
                Column("only A passes", "right"),
                Column("only B passes", "right"),
            ],
            (
                [
                    name,
                    number(each.passes.mean_a.value),
                    number(each.passes.mean_b.value),
                    figure(each.passes.difference),
                    f"{each.only_a_passes:,}",
                    f"{each.only_b_passes:,}",
                ]
                for name, each in zip(names, made, strict=True)
            ),
        )
        data()
        for name, each in zip(names, made, strict=True):
            prose(f"{name}: {_told(each.found, each.scores.difference, each.detectable, 'is better')}", "  ")
        for name, each in zip(names, made, strict=True):
            if each.people is not None:
                data()
                self._people(name, each)
        self._notes(
            (_left_out(name, each.left_out) for name, each in zip(names, made, strict=True) if each.left_out),
            made[0].scores.difference,
        )

    def _people(self, name: str, one: "SystemsComparison") -> None:
        people = one.people
        assert people is not None, "asked for only where there are labels"  # noqa: S101
        data(f"{name}: pass rate of A less that of B, with people's labels on {one.labelled:,} cases")
        table(
            [Column(""), Column("A less B")],
            [
                ["as people would find it", figure(people.estimate.figure)],
                ["as the judge alone finds it", figure(one.passes.difference)],
            ],
        )
        gaps = [
            ("of what people pass, the judge passes", people.tpr),
            ("of what people fail, the judge passes", people.fpr),
        ]
        data()
        table(
            [Column("the judge's errors"), Column("A"), Column("B"), Column("A less B")],
            [[words, figure(gap.first), figure(gap.second), figure(gap.gap)] for words, gap in gaps if gap is not None],
        )
        if people.rates_differ:
            prose(
                "careful: the judge errs differently on A and on B, so its own difference may have the wrong size, or "
                "even the wrong sign: go by what people would find",
                "  ",
            )
        if one.labelled < one.scores.difference.n:
            prose("this holds if the labelled cases are a random sample of those compared", "  ")

    # Two judges, held against people

    def _on_gold(self, made: "Sequence[JudgesOnGold]") -> None:
        if not made:
            return
        self._judges_head("by people's labels", made[0])
        for one in made:
            n = one.kappa.difference.n
            data(f"{self._name(one)}: {counted(n, 'labelled case')}")
            kappas = one.kappa
            table(
                [
                    Column(""),
                    *(Column(head) for head in ("A", "B", "A less B")),
                    Column("p (Holm)" if len(made) > 1 else "p", "right"),
                ],
                [
                    [*_rates("agreement with people", one.agreement), _p(one.p_holm_agreement)],
                    [
                        "Cohen's kappa",
                        figure(kappas.kappa_a),
                        figure(kappas.kappa_b),
                        figure(kappas.difference),
                        _p(one.p_holm),
                    ],
                    [*_rates("fails found", one.fails_found), ""],
                    [*_rates("passes found", one.passes_found), ""],
                ],
            )
            right = len(one.only_a_right), len(one.only_b_right)
            data(f"right where the other is wrong: A {right[0]:,}, B {right[1]:,}")
            data()
        for one in made:
            told = _told(one.found, one.kappa.difference, one.detectable, "agrees better with people")
            prose(f"{self._name(one)}: {told}", "  ")
        if self._cases and any(one.only_a_right or one.only_b_right for one in made):
            data()
        for one in made:
            name = f"{self._name(one)}: " if len(made) > 1 else ""
            self._wrong(f"{name}A is right, B is wrong", one.only_a_right)
            self._wrong(f"{name}B is right, A is wrong", one.only_b_right)
        self._notes(
            (line for one in made for line in _left_out_on_gold(self._name(one), one)), made[0].kappa.difference
        )

    def _wrong(self, words: str, ids: Sequence[str]) -> None:
        shown = ids[: self._cases]
        if shown:
            more = f" and {len(ids) - len(shown):,} more" if len(ids) > len(shown) else ""
            prose(f"{words}: {', '.join(shown)}{more}", "  ")

    # Two judges, nobody else

    def _agreement(self, made: "Sequence[JudgesAgreement]") -> None:
        if not made:
            return
        self._judges_head("with each other", made[0])
        for place, one in enumerate(made):
            if place:
                data()
            data(f"{self._name(one)}: {counted(one.agreement.n, 'case')}")
            table(
                [Column(""), Column("B: pass", "right"), Column("fail", "right")],
                [
                    ["A: pass", f"{one.both_pass:,}", f"{one.only_a_passes:,}"],
                    ["A: fail", f"{one.only_b_passes:,}", f"{one.both_fail:,}"],
                ],
            )
            data()
            table(
                [Column("A with B"), Column("")],
                [
                    ["agreement", figure(one.agreement)],
                    ["Cohen's kappa", figure(one.kappa)],
                    ["rank correlation of scores", figure(one.correlation)],
                    ["pass rate of A", figure(one.pass_rate.a)],
                    ["pass rate of B", figure(one.pass_rate.b)],
                    ["A less B", figure(one.pass_rate.test.difference)],
                ],
            )
            data()
            if self._matching.mode == "same_judge":
                prose(f"the verdict changed on {len(one.differ):,} of {counted(one.agreement.n, 'case')}", "  ")
            else:
                prose(_milder(one.pass_rate.test), "  ")
            self._differing(one)
        if self._matching.mode == "judges":
            data()
            prose("which of them is right, only people's labels can tell: --gold FILE", "  ")
        self._notes((_left_out(self._name(one), one.left_out) for one in made if one.left_out), made[0].agreement)

    def _differing(self, one: "JudgesAgreement") -> None:
        shown = one.differ[: self._cases]
        if not shown:
            return
        data()
        table(
            [Column("they differ on"), Column("A", "right"), Column("B", "right")],
            ([each.case_id, number(each.score_a), number(each.score_b)] for each in shown),
        )
        if len(one.differ) > len(shown):
            data(f"and {len(one.differ) - len(shown):,} more; see a case with: judges show RUN --case ID")

    def _judges_head(self, how: str, one: "JudgesOnGold | JudgesAgreement") -> None:
        a, b = printable(one.judge_a), printable(one.judge_b)
        cases = counted(self._matching.shared, "case")
        if self._matching.mode == "same_judge":
            self._head(f"one judge ({a}) twice on the same answers, {how}: {cases}")
            data()
            return
        cuts = one.threshold_a, one.threshold_b
        self._head(f"two judges on the same answers, {how}: {cases}")
        data(f"A is {a}, passing from {cuts[0]:g}; B is {b}, passing from {cuts[1]:g}")
        data()


def _left_out(name: str, counts: "Mapping[str, int]") -> str:
    said = ", ".join(f"{key[0].upper()} {_SAID[key[2:]]} {count:,}" for key, count in counts.items())
    return f"left out, {name}: {said}"


_SAID = {"abstained": "abstained", "failed": "failed", "pending": "not judged yet"}


def _left_out_on_gold(name: str, one: "JudgesOnGold") -> list[str]:
    notes = [
        f"left out, {name}: {counted(count, 'case')} {what}"
        for count, what in (
            (one.unlabelled, "without a label"),
            (one.abstained, "from which a judge abstains"),
            (one.pending, "that one of them has not judged yet: run the same `judges run` again"),
        )
        if count
    ]
    return notes + [
        f"{name}: {side} failed on {counted(count, 'case')}: counted as wrong"
        for side, count in (("A", one.failed_a), ("B", one.failed_b))
        if count
    ]


def _p(value: float | None) -> str:
    return number(value) if value is None or value >= 0.01 else f"{value:.3f}" if value >= 0.001 else "<0.001"


def _rates(name: str, rates: "RatePair") -> list[str]:
    return [name, figure(rates.a), figure(rates.b), figure(rates.test.difference)]


def _milder(test: "McNemar") -> str:
    difference = test.difference
    if difference.value is None or difference.ci_low is None or difference.ci_high is None:
        return f"whether one of them is milder can't be told ({difference.reason})"
    if difference.ci_low > 0 or difference.ci_high < 0:
        return f"{'A' if difference.value > 0 else 'B'} is the milder: the other passes fewer of the same answers"
    return "neither is clearly the milder"


def _told(found: "Found", difference: "Figure", detectable: float | None, better: str) -> str:
    """What can be said of a difference, in words."""
    low, high = difference.ci_low, difference.ci_high
    between = "" if low is None or high is None else f"the difference lies between {low:.2f} and {high:.2f}"
    match found:
        case "a" | "b":
            name, sizes = found.upper(), sorted(abs(each) for each in (low, high) if each is not None)
            by = f", by {sizes[0]:.2f} to {sizes[1]:.2f}" if sizes else ""
            return f"{name} {better}{by}"
        case "same":
            return "no case tells A from B"
        case "undefined":
            return f"undefined ({difference.reason})"
        case "untold":
            apart = low is not None and high is not None and (low > 0 or high < 0)
            alone = "too many comparisons at once to tell" if apart else "can't be told"
            shows = "" if detectable is None else f"; as many cases would show one of {detectable:.2f} (power 80%)"
            return f"{alone}: {between}{shows}"
