"""`judges compare`: two systems by one judge, or two judges, from two runs. Mounted into the `judges` command."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judges.cli.output import note, write_json
from judges.errors import InputError
from judges.printable import printable

if TYPE_CHECKING:
    from calibration.differences import People
    from calibration.labels import Labels
    from calibration.matching import Matching
    from calibration.meaning import Meaning, Scale
    from calibration.sampling import Design
    from calibration.sections.comparison import Compared
    from calibration.stored import StoredJudge
    from judges.engine.run import Run

__all__ = ["compare"]


def compare(
    run_a: Annotated[
        Path, typer.Argument(help="Folder of run A; or a file that a judge's verdicts are stored in: see --judge-a.")
    ],
    run_b: Annotated[Path, typer.Argument(help="Folder or file of B; the same one if it holds two judges.")],
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
    scale: Annotated[
        str | None,
        typer.Option(help="All labels: 'a,b,tie'; in order: 'poor<fair<good'; or the range of numbers: 1..4."),
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            "--criterion", "-c",
            help="Only this criterion; may be given several times. Of a stored judge what it was asked, whatever its "
            "field is called.",
        ),
    ] = None,
    judge_a: Annotated[
        str | None,
        typer.Option(help="Only this judge of run A; of a file stored:judges.NAME.CRITERION, where its verdicts are."),
    ] = None,
    judge_b: Annotated[str | None, typer.Option(help="The same of B.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Scores from here on pass; by default each judge's own.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Field that groups cases, such as the document they are about.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="A row for each value of this field: meta.domain, lang.")] = None,
    cases: Annotated[int, typer.Option(min=0, help="Show so many cases on which two judges differ.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the test by sign flips, and of the bootstrap.")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures too: one HTML file that needs nothing else.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:  # fmt: skip
    """Compare two systems by one judge, or two judges: which difference is real, and which can't be told."""
    from calibration.cli.page import show_chapter
    from calibration.comparison import compare_agreement, compare_answers
    from calibration.matching import match
    from calibration.meaning import Scale
    from calibration.on_gold import compare_judges
    from calibration.sections.comparison import Asked, chapter_of
    from judges.report.page import check_page, write_page
    from judges.report.sections import Page

    if html is not None:
        check_page(html)
    if not gold and (scale is not None or (positive is not None and not (run_a.is_file() or run_b.is_file()))):
        given = "--positive" if scale is None else "--scale"
        raise InputError(f"{given} says how people's labels are read; give their file with --gold, or leave it out")
    read = _Read(positive, None if scale is None else Scale.parse(scale))
    homes = _homes((run_a, run_b), (judge_a, judge_b), criterion, positive, gold or [], label or [], cluster)
    labels = _labels(_names(homes[0]), gold or [], label or [], criterion, cluster)
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
    made: Compared
    if matching.mode == "systems":
        for path, design in chosen.items():
            _check_random(path, design)
        made = compare_answers(matching, _gold_of_systems(labels, read), seed=seed)
    elif labels:
        made = compare_judges(matching, _gold_of_judges(matching, labels, read), seed=seed)
        for path, design in chosen.items():
            if "kappa" not in design.values:
                note(f"{path}: labels of cases chosen {design.how}: the figures are of these cases, not of the run")
    else:
        made = compare_agreement(matching)
    chapter = chapter_of(made, matching, Asked(str(run_a), str(run_b), cluster, cases))
    if html is not None:
        kinds = {"systems": "Two systems compared", "judges": "Two judges compared", "same_judge": "One judge twice"}
        against = f", with the labels of {', '.join(map(str, gold))}" if gold else ""
        runs = str(run_a) if run_a == run_b else f"{run_a} and {run_b}"
        write_page(html, Page(kinds[matching.mode], f"{runs}{against}", (chapter,)))
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
    else:
        if by is not None and all(each.slice == made[0].slice for each in made):
            note(f"`{by}` has one value in all cases")
        show_chapter(chapter)
    if html is not None:
        note(f"page: {printable(str(html))}")


# Runs and files


def _homes(
    paths: tuple[Path, Path],
    judges: tuple[str | None, str | None],
    criteria: list[str] | None,
    positive: str | None,
    gold: list[Path],
    label: list[str],
    cluster: str | None,
) -> "tuple[Run | StoredJudge, Run | StoredJudge]":
    """Runs, and judges stored in files: these are asked what the other side's run was."""
    from calibration.stored import stored_judge
    from judges.engine.run import Run

    runs = [None if path.is_file() else Run(path) for path in paths]
    asked = [a.criterion for run in runs if run is not None for a in run.manifest().assignments]
    made: list[Run | StoredJudge] = []
    for path, judge, run in zip(paths, judges, runs, strict=True):
        if run is not None:
            made.append(run)
            continue
        alone = stored_judge(path, judge, criteria, positive=positive, like=asked)
        if positive is not None and gold:
            names = [each.criterion.name for each in alone.assignments]
            given = _labels(names, gold, label, criteria, cluster).values()
            known = {word for each in given for one in each for word in one.values()}
            alone = stored_judge(path, judge, criteria, positive=positive, vocabulary=known, like=asked)
        made.append(alone)
    return made[0], made[1]


def _names(home: "Run | StoredJudge") -> list[str]:
    """What was asked."""
    from calibration.stored import StoredJudge

    assignments = home.assignments if isinstance(home, StoredJudge) else home.manifest().assignments
    return list(dict.fromkeys(a.criterion.name for a in assignments))


# Labels


def _labels(
    names: list[str], gold: list[Path], label: list[str], criteria: list[str] | None, cluster: str | None
) -> "dict[str, tuple[Labels, ...]]":
    """By criterion, the labels of A's answers, and of B's if they have their own."""
    from calibration.labels import labelled_criteria, read_labels

    if not gold:
        if label:
            raise InputError("--label names a field of a file of labels; give the file with --gold")
        return {}
    if len(gold) > 2 or len(label) > 2:
        raise InputError("--gold and --label: give one, or two: of A, then of B")
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


class _Read:
    """How labels are read."""

    def __init__(self, positive: str | None, scale: "Scale | None") -> None:
        self._positive = positive
        self._scale = scale

    def meaning(self, labels: "Labels") -> "Meaning":
        """What they mean."""
        from calibration.meaning import meaning_of

        return meaning_of(labels, positive=self._positive, scale=self._scale)

    def people(self, labels: "Labels") -> "People":
        """What people say of each case."""
        from calibration.differences import People

        return People.of(labels, self.meaning(labels))


def _gold_of_systems(labels: "Mapping[str, tuple[Labels, ...]]", read: _Read) -> "dict[str, tuple[People, People]]":
    gold: dict[str, tuple[People, People]] = {}
    for name, given in labels.items():
        if len(given) != 2:
            raise InputError(
                "the two systems gave other answers, so each needs labels of its own: give --gold twice (for A's "
                "answers, then for B's), or --label twice if both are in one file"
            )
        gold[name] = read.people(given[0]), read.people(given[1])
    return gold


def _gold_of_judges(
    matching: "Matching", labels: "Mapping[str, tuple[Labels, ...]]", read: _Read
) -> "dict[str, People]":
    if any(len(given) > 1 for given in labels.values()):
        raise InputError(
            "two judges of the same answers are held against one set of labels: give --gold and --label once"
        )
    names = [each.a.criterion.name for each in matching.matched]
    for name in names:
        if name not in labels:
            note(f"`{name}` is left out: there are no labels of it")
    return {name: read.people(given[0]) for name, given in labels.items() if name in names}
