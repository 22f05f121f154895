"""Dawid-Skene against crowd-kit.

Both start from the shares of votes and neither smooths, so after as many steps they hold the same beliefs. Crowd-kit
keeps chances at 1e-10 or above where ours go down to the smallest number, and left alone it stops much earlier: its
posteriors are compared step by step, and its error matrices, which are one step ahead, near the end.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.annotators import DawidSkene, dawid_skene

aggregation = pytest.importorskip("crowdkit.aggregation", reason="make installs it: tests/oracles/requirements.txt")
pandas = pytest.importorskip("pandas")

# how crowd-kit calls pandas
pytestmark = [pytest.mark.filterwarnings(f"ignore:The {word} keyword") for word in ("copy", "inplace")]

seeds = st.integers(0, 2**32 - 1)


def answers(seed: int, items: int, judges: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of (item, judge, label), some missing and some repeated, and the truth of each item."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, k, items)
    right = generator.uniform(0.7, 0.95, judges)
    rows = [
        (item, judge, truth[item] if generator.random() < right[judge] else generator.integers(0, k))
        for item in range(items)
        for judge in range(judges)
        for _ in range(generator.choice([0, 1, 1, 1, 2]))
    ]
    return np.array(rows, dtype=np.int64), truth


def theirs(rows: NDArray[np.int64], steps: int, gold: dict[int, int] | None) -> Any:
    frame = pandas.DataFrame(rows, columns=["task", "worker", "label"])
    true = None if gold is None else pandas.Series(gold, name="true_label").rename_axis("task")
    return aggregation.DawidSkene(n_iter=steps, tol=-1.0).fit(frame, true_labels=true)


def posterior(model: Any, found: DawidSkene) -> NDArray[np.float64]:
    table = model.probas_.reindex(index=list(found.items), columns=list(found.labels), fill_value=0.0)
    return np.asarray(table, dtype=np.float64)


@pytest.mark.parametrize("clamped", [False, True])
@settings(max_examples=5, deadline=None)
@given(seed=seeds, judges=st.integers(3, 6), k=st.integers(2, 4))
def test_posteriors_and_labels_are_those_of_crowd_kit_after_as_many_steps(
    clamped: bool, seed: int, judges: int, k: int
) -> None:
    rows, truth = answers(seed, 120, judges, k)
    seen = np.unique(rows[:, 0]).tolist()
    gold = {item: int(truth[item]) for item in seen[:10]} if clamped else None
    found = dawid_skene(rows[:, 0], rows[:, 1], rows[:, 2], labels=range(k), gold=gold)
    assume(found.steps <= 30)  # crowd-kit takes long for more
    model = theirs(rows, found.steps, gold)
    beliefs = posterior(model, found)
    assert np.array(found.posterior) == pytest.approx(beliefs, abs=1e-5)
    for item, label in zip(found.items, found.found, strict=True):
        assert label is None or label == model.labels_[item]


def test_priors_and_error_matrices_are_those_of_crowd_kit_at_the_end() -> None:
    rows, _ = answers(5, 120, 4, 3)
    found = dawid_skene(rows[:, 0], rows[:, 1], rows[:, 2], labels=range(3))
    model = theirs(rows, found.steps + 50, None)
    assert found.converged
    assert found.prior == pytest.approx([model.priors_[label] for label in range(3)], abs=1e-4)
    for judge, matrix in zip(found.judges, found.error_matrices, strict=True):
        for true, row in enumerate(matrix):
            wanted = [float(model.errors_.loc[(judge, said), true]) for said in range(3)]
            assert row == pytest.approx(wanted, abs=1e-4)


def test_crowd_kit_left_alone_stops_before_its_priors_have_settled() -> None:
    rows, _ = answers(5, 120, 4, 3)
    frame = pandas.DataFrame(rows, columns=["task", "worker", "label"])
    early = aggregation.DawidSkene().fit(frame)
    found = dawid_skene(rows[:, 0], rows[:, 1], rows[:, 2], labels=range(3))
    assert len(early.loss_history_) < found.steps
    gap = max(abs(early.priors_[label] - found.prior[label]) for label in range(3))
    assert gap > 1e-5
