"""The pairs that a figure is computed from, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from calibration.meaning import PASS
from calibration.pairs import ABSTAINED, FAILED, NUMBER, Pair, Pairs
from calibration.statistics.tables import INVALID, Invalid, LabelPairs, pair_labels
from judges.intervals import cluster_codes

__all__ = ["Items", "every_item", "labelled_items", "scored_items"]


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Some pairs of one question."""

    labels: tuple[str, ...]
    pairs: tuple[Pair, ...]
    clusters: NDArray[np.intp] | None
    """The group of each, as a number; None where cases are not grouped."""

    @property
    def gold(self) -> list[str | None]:
        """What people say."""
        return [each.gold for each in self.pairs]

    @property
    def said(self) -> list[str | Invalid | None]:
        """What the judge says; None where it abstains. An answer that is no label, or a failure, disagrees with people
        whatever they say.
        """
        return [
            each.said if each.said in self.labels else None if each.said == ABSTAINED else INVALID
            for each in self.pairs
        ]

    @property
    def good(self) -> NDArray[np.bool_]:
        """Whether people pass each."""
        return np.array([each.gold == PASS for each in self.pairs], dtype=np.bool_)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The judge's scores; all have one."""
        return np.array([each.score for each in self.pairs], dtype=np.float64)

    def tabulated(self) -> LabelPairs:
        """Both sides' labels, paired."""
        return pair_labels(self.gold, self.said, labels=self.labels, clusters=self.clusters)

    def only(self, kept: NDArray[np.bool_]) -> "Items":
        """Those that are kept."""
        pairs = tuple(compress(self.pairs, kept))
        return Items(self.labels, pairs, None if self.clusters is None else self.clusters[kept])


def every_item(pairs: Pairs) -> Items:
    """The pairs in which people say something: no tie. The judge may abstain."""
    return _items(pairs, [each for each in pairs.pairs if each.gold is not None])


def labelled_items(pairs: Pairs) -> Items:
    """The pairs in which both sides say something: no tie of people's, no abstention of the judge."""
    said = {*pairs.question.meaning.labels, FAILED}
    return _items(pairs, [each for each in pairs.pairs if each.gold is not None and each.said in said])


def scored_items(pairs: Pairs) -> Items:
    """The pairs in which people pass or fail and the judge has a score."""
    judged = {*pairs.question.meaning.labels, NUMBER}
    scored = (each for each in pairs.pairs if each.score is not None and each.said in judged)
    return _items(pairs, [each for each in scored if each.gold is not None])


def _items(pairs: Pairs, kept: Sequence[Pair]) -> Items:
    clusters = cluster_codes([each.cluster for each in kept], len(kept))[0] if pairs.clustered else None
    return Items(pairs.question.meaning.labels, tuple(kept), clusters)
