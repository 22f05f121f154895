"""What labels mean: which are good, which levels there are and in what order, and on which scale numbers lie."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from calibration.labels import CaseLabels, Labels
from judges.backends.stored import BAD_WORDS, GOOD_WORDS
from judges.errors import InputError
from judges.remedies import by_option

__all__ = [
    "ANSWERS_OF_PAIR",
    "FAIL",
    "PASS",
    "PREFERENCE",
    "Gold",
    "Meaning",
    "Positive",
    "Scale",
    "meaning_of",
    "number_of",
]

FAIL, PASS = "fail", "pass"  # the label's name, no secret
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_USUAL = (("pass", "fail"), ("correct", "incorrect"), ("yes", "no"), ("true", "false"), ("1", "0"))
_WORDS = {**dict.fromkeys(GOOD_WORDS, PASS), **dict.fromkeys(BAD_WORDS, FAIL)}
ANSWERS_OF_PAIR = {"first": "a", "second": "b"}
"""How our criterion `preference` calls the answers of a pair."""
PREFERENCE = ("a", "b", "tie")
_MOST_LEVELS = 20


_LARGEST = 1e50
"""Nobody's scale goes further, and squares of numbers far beyond it are none any more."""


def number_of(text: str | None) -> float | None:
    """The number a label is; None if it is none, as NaN and 1e300 are none."""
    try:
        number = float(text) if text is not None else float("nan")
    except ValueError:
        return None
    return number if abs(number) <= _LARGEST else None


class Positive:
    """Which labels are good: `>=3`, `correct`, `pass,partly`."""

    def __init__(self, rule: str) -> None:
        """Read a rule.

        Raises:
            InputError: It is empty, or compares with something that is no number.
        """
        self.rule = rule.strip()
        comparison = re.fullmatch(r"(>=|<=|>|<)\s*(.*)", self.rule)
        self._compare: Callable[[float, float], bool] | None = None
        self.bound: float | None = None
        """What is compared with, where the rule compares."""
        self.names: frozenset[str] = frozenset()
        """The good labels, where the rule names them."""
        if comparison:
            self.bound = number_of(comparison[2])
            if self.bound is None:
                raise InputError(f"--positive {rule}: `{comparison[2]}` is not a number")
            self._compare = _COMPARISONS[comparison[1]]
        else:
            self.names = frozenset(filter(None, (name.strip() for name in self.rule.split(","))))
            if not self.names:
                raise InputError("--positive is empty; give the good labels: --positive correct, or --positive '>=3'")

    def __call__(self, label: str) -> bool:
        """Whether a label is good.

        Raises:
            ValueError: The rule compares numbers, and the label is none.
        """
        if self._compare is None or self.bound is None:
            return label in self.names
        number = number_of(label)
        if number is None:
            raise ValueError(f"the label `{label}` is not a number")
        return self._compare(number, self.bound)


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels or the range that were declared: `a,b,tie`, `poor<fair<good`, `1..4`."""

    labels: tuple[str, ...] = ()
    """In order; of a range of whole numbers its levels."""
    ordered: bool = False
    low: float | None = None
    high: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Scale":
        """Read a declaration.

        Raises:
            InputError: It is none.
        """
        low, dots, high = text.partition("..")
        if dots:
            ends = number_of(low), number_of(high)
            if ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
                raise InputError(f"--scale {text}: a range goes from a number to a larger one: 1..4")
            whole = ends[0].is_integer() and ends[1].is_integer() and ends[1] - ends[0] < _MOST_LEVELS
            levels = tuple(str(each) for each in range(int(ends[0]), int(ends[1]) + 1)) if whole else ()
            return cls(levels, True, *ends)
        ordered = "<" in text
        labels = tuple(each.strip() for each in text.split("<" if ordered else ","))
        if len(labels) < 2 or len(set(labels)) < len(labels) or not all(labels):
            raise InputError(
                f"--scale {text}: write a,b,tie for labels without an order, poor<fair<good for levels, or 1..4"
            )
        return cls(labels, ordered)


@dataclass(frozen=True, slots=True)
class Gold:
    """The one label of a case."""

    label: str | None
    """A declared label; None with a tie, or where labels are numbers only."""
    number: float | None
    """On the people's scale: the adjudicated one, else the mean of the annotators."""
    tied: tuple[str, ...] = ()
    """The labels that tie."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """How the labels of one criterion are read."""

    labels: tuple[str, ...]
    """Declared, in order; with a rule for good ones `fail` and `pass`; empty where labels are numbers only."""
    positive: Positive | None
    scale: Scale | None
    """As it was declared."""
    numeric: bool
    """The people's labels are numbers, or levels in order, and compare as such."""
    vocabulary: frozenset[str] = frozenset()
    """The labels known: a judge's answer beyond them is none."""
    span: tuple[float, float] | None = None
    """Of the people's numbers."""

    @property
    def binary(self) -> bool:
        """Whether a label is a pass or a fail."""
        return self.positive is not None

    @property
    def ordered(self) -> bool:
        """Whether the labels are levels in order."""
        return self.positive is None and self.scale is not None and self.scale.ordered

    def label(self, text: str) -> str:
        """What a label counts as.

        Raises:
            ValueError: It is not declared, or the rule for good ones can't judge it.
        """
        if self.positive is not None:
            return PASS if self.positive(text) else FAIL
        if text not in self.labels:
            raise ValueError(f"the label `{text}` is none of {', '.join(self.labels)}")
        return text

    def label_said(self, text: str) -> str | None:
        """What a judge's answer counts as; None if it is no label of the people's.

        Of pass and fail a judge may also speak in the usual words, whatever people's are.
        """
        comparing = self.positive is not None and self.positive.bound is not None
        if text not in self.vocabulary and ANSWERS_OF_PAIR.get(text) in self.labels:
            return ANSWERS_OF_PAIR[text]
        if self.binary and text not in self.vocabulary and text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if not comparing and text not in self.vocabulary:
            return None
        try:
            return self.label(text)
        except ValueError:
            return None

    def within(self, low: float, high: float) -> bool:
        """Whether numbers lie where the people's do, so that the rule for good ones judges them too."""
        return self.span is not None and self.span[0] <= low and high <= self.span[1]

    def number(self, text: str) -> float | None:
        """Where a label lies on the scale: a number as it is, a level at its place from 1."""
        number = number_of(text)
        if number is None and self.scale is not None and self.scale.ordered and text in self.scale.labels:
            return float(self.scale.labels.index(text) + 1)
        return number

    def gold(self, labels: CaseLabels) -> Gold:
        """What counts of a case: the adjudicated label, else what most annotators say; a tie stays one.

        Raises:
            ValueError: As `label`.
        """
        own = [labels.adjudicated] if labels.adjudicated is not None else list(labels.by_annotator.values())
        number: float | None = None
        if self.numeric:
            numbers = [each for each in map(self.number, own) if each is not None]
            number = sum(numbers) / len(numbers) if numbers else None
        if not self.labels:
            return Gold(None, number)
        try:
            votes = Counter(self.label(each) for each in own).most_common()
        except ValueError:
            if not self.ordered:
                raise
            return Gold(None, number)  # 3.5, the mean of two, is no level
        tied = tuple(label for label, count in votes if count == votes[0][1])
        return Gold(tied[0], number) if len(tied) == 1 else Gold(None, number, tied)


def meaning_of(labels: Labels, *, positive: str | None, scale: Scale | None) -> Meaning:
    """How labels are read: as was said, or as the usual words leave no doubt.

    Args:
        labels: All that there are.
        positive: The rule for good ones.
        scale: The labels or range declared.

    Raises:
        InputError: Nothing says how, or what was said doesn't fit the labels.
    """
    values = labels.values()
    numbers = [number_of(each) for each in values]
    ranked = scale is not None and scale.ordered
    numeric = ranked or (None not in numbers and len(values) > 2)
    if scale is not None and scale.labels and scale.low is None:
        strange = [each for each in values if each not in scale.labels]
        if strange:
            raise InputError(
                f"{labels.source}: the label `{strange[0]}` is not among --scale {','.join(scale.labels)}; "
                f"{labels.found()}"
            )
    known = set(values) | set(() if scale is None else scale.labels)
    given = [each for each in numbers if each is not None]
    span = (min(given), max(given)) if given and len(given) == len(numbers) else None
    usual = next(((good, bad) for good, bad in _USUAL if set(values) <= {good, bad}), None)
    if positive is None and scale is None:
        if usual is not None:
            return Meaning((FAIL, PASS), Positive(usual[0]), None, False, frozenset(usual), span)
        if set(values) <= set(PREFERENCE):
            return Meaning(PREFERENCE, None, Scale(PREFERENCE), False, frozenset(PREFERENCE))
        if not numeric:
            or_all = by_option("--scale", ", or name all labels with --scale a,b,tie")
            raise InputError(
                f"`{labels.field}`: which labels are good? say it with --positive, as in --positive correct or "
                f"--positive '>=3'{or_all}; {labels.found()}"
            )
    if positive is None:
        return Meaning(() if scale is None else scale.labels, None, scale, numeric, frozenset(known), span)
    rule = Positive(positive)
    try:
        good = [rule(each) for each in values]
    except ValueError as error:
        raise InputError(
            f"{labels.source}: {error}, so --positive {rule.rule} can't judge it; {labels.found()}"
        ) from None
    if not any(good):
        raise InputError(f"{labels.source}: no label of `{labels.field}` is --positive {rule.rule}; {labels.found()}")
    named = {word for pair in _USUAL if pair[0] in rule.names for word in pair}
    return Meaning((FAIL, PASS), rule, scale, numeric, frozenset({*known, *(usual or ()), *rule.names, *named}), span)
