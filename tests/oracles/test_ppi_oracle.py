"""Prediction-powered means against ppi-python, the authors' own library.

What differs on purpose: below 100 labels ours adds a t interval beside the normal one, which is all ppi-python has; a
constant judge gets lam = 0 where ppi-python divides 0 by 0.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibration.statistics.ppi import ppi_mean

ppi_py = pytest.importorskip("ppi_py", reason="make installs it: tests/oracles/requirements.txt")

seeds = st.integers(0, 2**32 - 1)
Scores = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def scores(seed: int, n: int, others: int, binary: bool) -> Scores:
    """Human scores, the judge's of the same items, the judge's of the other items."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=n + others)
    human = hidden + generator.normal(scale=0.7, size=n + others)
    judge = hidden * generator.uniform(-0.5, 1.5) + generator.normal(scale=0.5, size=n + others) + 0.3
    if binary:
        human, judge = (human > 0).astype(np.float64), (judge > 0.2).astype(np.float64)
    return human[:n], judge[:n], judge[n:]


@settings(max_examples=40, deadline=None)
@given(
    seed=seeds,
    n=st.integers(3, 150),
    others=st.integers(2, 400),
    binary=st.booleans(),
    lam=st.sampled_from([0.0, 0.3, 1.0, None]),
    level=st.sampled_from([0.8, 0.95]),
)
def test_estimate_and_normal_interval_agree_with_ppi_python(
    seed: int, n: int, others: int, binary: bool, lam: float | None, level: float
) -> None:
    human, judge, rest = scores(seed, n, others, binary)
    assume(np.ptp(np.concatenate([judge, rest])) > 0)
    found = ppi_mean(human, judge, rest, lam="tuned" if lam is None else lam, level=level)
    point = np.asarray(ppi_py.ppi_mean_pointestimate(human, judge, rest, lam=lam)).item()
    assert found.normal.value == pytest.approx(point, abs=1e-9)
    if found.normal.ci_low is None or found.normal.ci_high is None:
        assert found.normal.reason == "singular"
        return
    low, high = ppi_py.ppi_mean_ci(human, judge, rest, alpha=1 - level, lam=lam)
    wanted = np.asarray(low).item(), np.asarray(high).item()
    assert (found.normal.ci_low, found.normal.ci_high) == pytest.approx(wanted, abs=1e-9)
    assert (found.t is not None) == (n < 100)


def test_a_constant_judge_is_not_trusted_where_ppi_python_has_no_number() -> None:
    human, _, rest = scores(1, 20, 50, binary=True)
    constant = np.ones(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = np.asarray(ppi_py.ppi_mean_pointestimate(human, constant, np.ones(rest.size))).item()
    assert np.isnan(theirs)
    found = ppi_mean(human, constant, np.ones(rest.size))
    assert found.lam == 0
    assert found.normal.value == pytest.approx(human.mean())


def test_ppi_python_forgets_that_one_side_was_asked_for_when_it_tunes() -> None:
    human, judge, rest = scores(2, 120, 300, binary=False)
    one = ppi_py.ppi_mean_ci(human, judge, rest, alternative="larger")
    both = ppi_py.ppi_mean_ci(human, judge, rest)
    assert [np.asarray(each).item() for each in one] == [np.asarray(each).item() for each in both]
    found = ppi_mean(human, judge, rest, level=0.9).normal
    assert (found.ci_low, found.ci_high) == pytest.approx([np.asarray(each).item() for each in both])
