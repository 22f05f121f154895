"""Preferences of people and judges over two answers, against figures of public data sets (sections 1 and 4 there).

The data lie beside the checkout; no line of them is here.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from calibration.audit import audit
from calibration.labels import read_labels
from calibration.meaning import meaning_of
from calibration.statistics.agreement import cohen_kappa, kappa, percent_agreement
from calibration.statistics.confusion import multiclass_metrics
from calibration.statistics.tables import INVALID, Invalid, pair_labels
from support.command import SHARED
from support.stored import stored_pairs

LABELS = ["a", "b", "tie"]


def path_of(name: str) -> Path:
    path = SHARED / "data" / name / "items.jsonl"
    if not path.is_file():
        pytest.skip(f"the data set {name} is not beside the checkout")
    return path


def test_most_of_three_pandalm_annotators_say_what_the_authors_print() -> None:
    labels = read_labels(path_of("pandalm_pairwise"), "human.preference")
    meaning = meaning_of(labels, positive=None, scale=None)
    counted = Counter(meaning.gold(each).label for each in labels.by_case.values())
    assert counted == {"a": 422, "b": 472, "tie": 105}


JUDGES = {  # unusable answers; accuracy; kappa, macro precision, recall and F1 without them; agreement without ties
    "gpt-3.5-turbo": (25, 0.6977, (0.4929, 0.5365, 0.5417, 0.5331), 849, 0.8151),
    "pandalm-7b": (0, 0.6677, (0.4354, 0.5738, 0.5750, 0.5743), 819, 0.7753),
}


@pytest.mark.parametrize("judge", JUDGES)
def test_judges_of_pandalm_have_their_known_figures(judge: str) -> None:
    unusable, accuracy, figures, decided, without_ties = JUDGES[judge]
    rows = [json.loads(line) for line in path_of("pandalm_pairwise").read_text(encoding="utf-8").splitlines()]
    gold: list[str] = [row["gold"]["preference"] for row in rows]
    said: list[str | Invalid] = [
        INVALID if row["judges"][judge]["preference"] == "invalid" else row["judges"][judge]["preference"]
        for row in rows
    ]
    assert percent_agreement(pair_labels(gold, said, labels=LABELS)).value == pytest.approx(accuracy, abs=5e-5)
    usable = pair_labels(gold, said, labels=LABELS, invalid="drop")
    assert (usable.n, usable.n_dropped) == (999 - unusable, unusable)
    found = multiclass_metrics(usable)
    precision = [each.precision.value or 0.0 for each in found.classes]
    ours = [each.value for each in (kappa(usable), found.balanced_accuracy, found.macro_f1)]
    assert [ours[0], sum(precision) / 3, *ours[1:]] == pytest.approx(list(figures), abs=5e-5)
    kept = [(one, two) for one, two in zip(gold, said, strict=True) if "tie" not in (one, two) and two is not INVALID]
    assert len(kept) == decided
    agreed = percent_agreement(pair_labels(*map(list, zip(*kept, strict=True)), labels=["a", "b"]))
    assert agreed.value == pytest.approx(without_ties, abs=5e-5)


@pytest.mark.parametrize("judge", JUDGES)
def test_the_audit_counts_unusable_answers_of_pandalm_s_judges_as_wrong_and_says_what_they_are(judge: str) -> None:
    unusable, accuracy, figures, decided, without_ties = JUDGES[judge]
    pairs = stored_pairs(path_of("pandalm_pairwise"), f"judges.{judge}.preference", "gold.preference")
    assert pairs.failed == ({"not a label (invalid)": unusable} if unusable else {})
    [view] = audit(pairs).views
    assert (view.metrics.accuracy.n, view.invalid.value) == (999, unusable / 999)
    assert view.metrics.accuracy.value == pytest.approx(accuracy, abs=5e-5)
    assert view.without_ties is not None
    assert view.without_ties.n == decided
    assert view.without_ties.value == pytest.approx(without_ties, abs=5e-5)
    assert view.kappa.value is not None
    assert view.kappa.value == pytest.approx(figures[0], abs=5e-5) if not unusable else view.kappa.value < figures[0]


def test_kappa_between_the_orders_of_llmbar_has_every_digit_that_its_authors_print() -> None:
    rows = [json.loads(line) for line in path_of("llmbar_pairwise").read_text(encoding="utf-8").splitlines()]
    said = [row["judges"]["GPT-4/Vanilla"] for row in rows if row["meta"]["subset"] == "natural"]
    both = [each["preference"] for each in said], [each["preference_swapped"] for each in said]
    assert cohen_kappa(*both, labels=["a", "b"]).value == pytest.approx(0.897708674, abs=5e-10)
