"""What people say of each other: how far annotators agree, and the judge with the very same people.

That is the ceiling: nobody can ask a judge to agree with people more than they agree among themselves.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.meaning import Meaning
from calibration.pairs import ABSTAINED, Pair, Pairs
from calibration.statistics.annotators import DAWID_SKENE_WARNING, dawid_skene
from calibration.statistics.ceiling import HumanCeiling, human_ceiling
from calibration.statistics.contrasts import RateGap, rate_gap
from calibration.statistics.intraclass import intraclass_correlation
from calibration.statistics.raters import (
    UnitRatings,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    pairwise_agreement,
    unit_ratings_of_counts,
)
from calibration.statistics.replacement import AlternativeAnnotatorTest, alternative_annotator_test
from calibration.statistics.tables import INVALID, Invalid
from judges.figures import Figure, to_record

__all__ = ["AnnotatorError", "LatentTruth", "People", "people_of"]

_MOST_ANNOTATORS = 50
_FEWEST_LABELS = 20
_ARBITER = 0.25
"""So much more often, by the interval, others differ where somebody was asked who decides between them."""


@dataclass(frozen=True, slots=True)
class AnnotatorError:
    """How often one annotator gives each label its true name, by Dawid and Skene's estimate."""

    annotator: str
    n: int
    right: Mapping[str, float]
    """By true label."""


@dataclass(frozen=True, slots=True)
class LatentTruth:
    """What Dawid and Skene's model makes of the labels, beside the one that counts."""

    prior: Mapping[str, float]
    differs: tuple[str, ...]
    """Cases where its label is another than the one that counts."""
    annotators: tuple[AnnotatorError, ...]
    converged: bool
    warning: str = DAWID_SKENE_WARNING


@dataclass(frozen=True, slots=True)
class People:
    """Several people on the same cases."""

    annotators: tuple[str, ...]
    arbiters: Mapping[str, RateGap]
    """Those asked mostly where the others differ: how often these differ on their cases, and on all other cases. With
    them nobody can be expected to agree, so ceiling and replacement leave them out."""
    cases: int
    """With two labels or more."""
    labels: tuple[str, ...]
    """What the labels were taken as, for all but the numeric coefficients."""
    agreement: Figure
    """Share of pairs of people that agree."""
    fleiss: Figure | None
    """None where cases have different numbers of labels: alpha is for those."""
    alpha: Mapping[str, Figure]
    """Krippendorff's, by distance."""
    gwet: Figure
    """AC1: agreement beyond a chance that stays small when one label is common."""
    gwet_weighted: Figure | None
    """AC2 with quadratic weights, where labels are levels in order."""
    icc: Mapping[str, Figure]
    """Intraclass correlations of the numbers. `icc_1_1` only, where annotators differ from case to case."""
    ceiling: HumanCeiling | None
    """People and judge against the same other people; None with very many annotators or where the judge gives no
    label."""
    replacement: AlternativeAnnotatorTest | None
    """May the judge stand in for one of them?"""
    latent: LatentTruth | None
    """None with fewer than three people."""

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        record = to_record(self)
        record["arbiters"] = {name: gap.to_record() for name, gap in self.arbiters.items()}
        record["alpha"] = {name: figure.to_record() for name, figure in self.alpha.items()}
        record["icc"] = {name: figure.to_record() for name, figure in self.icc.items()}
        if self.latent is not None:
            record["latent"] = {
                "prior": dict(self.latent.prior),
                "differs": list(self.latent.differs),
                "annotators": [
                    {"annotator": each.annotator, "n": each.n, "right": dict(each.right)}
                    for each in self.latent.annotators
                ],
                "converged": self.latent.converged,
                "warning": self.latent.warning,
            }
        return record


def people_of(pairs: Pairs, *, epsilon: float) -> People | None:
    """Hold people against each other and the judge against them; None where no case has two labels.

    Args:
        pairs: Of one question.
        epsilon: What an annotator must be better by to be worth their price: 0.2 for experts, 0.15 skilled, 0.1 crowd.
    """
    meaning = pairs.question.meaning
    rows = [each for each in pairs.pairs if each.people]
    if not any(len(each.people) > 1 for each in rows):
        return None
    clusters = [each.cluster for each in rows] if pairs.clustered else None
    names = sorted({name for each in rows for name in each.people})
    read = [_read(each, meaning) for each in rows]
    labels = meaning.labels or tuple(sorted({label for row in read for label in row.values()}, key=float))
    counts = unit_ratings_of_counts(_counts(read, labels), labels=labels, clusters=clusters)
    few = len(names) <= _MOST_ANNOTATORS
    arbiters = _arbiters(read, names) if few else {}
    asked = [name for name in names if name not in arbiters]
    ratings = [[row.get(name) for name in asked] for row in read] if few else []
    said = [_answer(each, labels) for each in rows]
    answers = any(isinstance(each, str) for each in said)
    return People(
        annotators=tuple(names),
        arbiters=arbiters,
        cases=sum(len(each.people) > 1 for each in rows),
        labels=labels if meaning.labels else (),
        agreement=pairwise_agreement(counts),
        fleiss=_fleiss(counts),
        alpha={"nominal": krippendorff_alpha(counts), **_numeric_alphas(rows, meaning, clusters)},
        gwet=gwet_ac(counts),
        gwet_weighted=gwet_ac(counts, weights="quadratic") if meaning.ordered and meaning.labels else None,
        icc=_icc(rows, meaning, names, clusters),
        ceiling=(
            human_ceiling(ratings, said, labels=labels, clusters=clusters)
            if few and answers and meaning.labels
            else None
        ),
        replacement=_replacement(rows, ratings, said, meaning, asked, clusters, epsilon) if few else None,
        latent=_latent(rows, read, labels, len(names)) if meaning.labels and few else None,
    )


def _read(pair: Pair, meaning: Meaning) -> dict[str, str]:
    """Each annotator's label by its meaning; one that is no level is left out."""
    found: dict[str, str] = {}
    for name, text in pair.people.items():
        if not meaning.labels:
            found[name] = text
            continue
        try:
            found[name] = meaning.label(text)
        except ValueError:
            continue
    return found


def _arbiters(read: Sequence[Mapping[str, str]], names: Sequence[str]) -> dict[str, RateGap]:
    """Who was asked because others differ; at least two of the rest remain."""
    found: dict[str, RateGap] = {}
    for name in names:
        differ: dict[bool, list[bool]] = {True: [], False: []}
        for row in read:
            others = [label for other, label in row.items() if other != name]
            if len(others) > 1:
                differ[name in row].append(len(set(others)) > 1)
        gap = rate_gap(np.array(differ[True], dtype=np.bool_), np.array(differ[False], dtype=np.bool_))
        if gap.gap.ci_low is not None and gap.gap.ci_low > _ARBITER and len(names) - len(found) > 2:
            found[name] = gap
    return found


def _counts(read: Sequence[Mapping[str, str]], labels: Sequence[str]) -> NDArray[np.int64]:
    places = {label: place for place, label in enumerate(labels)}
    rows = [row for row, given in enumerate(read) for _ in given]
    columns = [places[label] for given in read for label in given.values()]
    counts = np.zeros((len(read), len(labels)), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    return counts


def _fleiss(counts: UnitRatings) -> Figure | None:
    """Not of those cases alone that have as many labels: a third person is often asked where two differ."""
    equal = np.unique(counts.counts.sum(axis=1)).size == 1
    return fleiss_kappa(counts).kappa if equal else None


def _numeric_alphas(rows: Sequence[Pair], meaning: Meaning, clusters: Sequence[str] | None) -> dict[str, Figure]:
    """Krippendorff's alpha of the numbers as they are. Values that never occur change none of these."""
    if not meaning.numeric:
        return {}
    numbers = [
        {name: number for name, text in each.people.items() if (number := meaning.number(text)) is not None}
        for each in rows
    ]
    values = sorted({number for row in numbers for number in row.values()})
    if not values:
        return {}
    places = {value: str(place) for place, value in enumerate(values)}
    coded = [{name: places[number] for name, number in row.items()} for row in numbers]
    counts = _counts(coded, [str(place) for place in range(len(values))])
    units = unit_ratings_of_counts(counts, labels=values, clusters=clusters)
    found = {name: krippendorff_alpha(units, distance=name) for name in ("ordinal", "interval")}
    if values[0] >= 0:
        found["ratio"] = krippendorff_alpha(units, distance="ratio")
    return dict(found)


def _icc(
    rows: Sequence[Pair], meaning: Meaning, names: Sequence[str], clusters: Sequence[str] | None
) -> dict[str, Figure]:
    if not meaning.numeric or len(names) < 2:
        return {}
    numbers = [{name: meaning.number(text) for name, text in each.people.items()} for each in rows]
    complete = sum(len(row) == len(names) for row in numbers)
    if 2 * complete >= sum(len(row) > 1 for row in numbers):
        table = [[row.get(name) for name in names] for row in numbers]
        found = intraclass_correlation(table, clusters)
        return {"icc_2_1": found.icc_2_1, "icc_3_1": found.icc_3_1, "icc_2_k": found.icc_2_k}
    often = Counter(len(row) for row in numbers if len(row) > 1)
    most = max(often, key=lambda each: (often[each], each))
    kept = [place for place, row in enumerate(numbers) if len(row) == most]
    ids = None if clusters is None else [clusters[place] for place in kept]
    found = intraclass_correlation([list(numbers[place].values()) for place in kept], ids)
    return {"icc_1_1": found.icc_1_1, "icc_1_k": found.icc_1_k}


def _answer(pair: Pair, labels: Sequence[str]) -> str | Invalid | None:
    """The judge's label as one beside people's; an abstention is none."""
    if pair.said in labels:
        return pair.said
    return None if pair.said == ABSTAINED else INVALID


def _replacement(
    rows: Sequence[Pair],
    ratings: Sequence[Sequence[str | None]],
    said: Sequence[str | Invalid | None],
    meaning: Meaning,
    names: Sequence[str],
    clusters: Sequence[str] | None,
    epsilon: float,
) -> AlternativeAnnotatorTest | None:
    """By labels where there are; else by numbers, where the judge's lie on the people's scale."""
    if meaning.labels and any(isinstance(each, str) for each in said):
        return alternative_annotator_test(
            ratings, said, epsilon=epsilon, labels=meaning.labels, annotators=names, clusters=clusters
        )
    scores = [each.score for each in rows if each.score is not None]
    if not meaning.numeric or not scores or not meaning.within(min(scores), max(scores)):
        return None
    numbers = [[meaning.number(each.people[name]) if name in each.people else None for name in names] for each in rows]
    return alternative_annotator_test(
        numbers, [each.score for each in rows], epsilon=epsilon, annotators=names, clusters=clusters
    )


def _latent(
    rows: Sequence[Pair], read: Sequence[Mapping[str, str]], labels: Sequence[str], annotators: int
) -> LatentTruth | None:
    if annotators < 3:
        return None
    triples = [
        (row.case_id, name, label) for row, given in zip(rows, read, strict=True) for name, label in given.items()
    ]
    found = dawid_skene(
        [each[0] for each in triples], [each[1] for each in triples], [each[2] for each in triples], labels=labels
    )
    if found.reason is not None:
        return None
    own = Counter(each[1] for each in triples)
    counts = {row.case_id: row.gold for row in rows}
    errors = [
        AnnotatorError(
            str(name),
            own[str(name)],
            {
                label: row[place]
                for place, (label, row) in enumerate(zip(labels, matrix, strict=True))
                if row is not None
            },
        )
        for name, matrix in zip(found.judges, found.error_matrices, strict=True)
        if own[str(name)] >= _FEWEST_LABELS
    ]
    return LatentTruth(
        dict(zip(labels, found.prior, strict=True)),
        tuple(str(case) for case, label in zip(found.items, found.found, strict=True) if label != counts[str(case)]),
        tuple(sorted(errors, key=lambda each: each.annotator)),
        found.converged,
    )
