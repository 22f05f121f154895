"""Krippendorff's alpha against the library of that name, with ratings missing."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.raters import Distance, krippendorff_alpha, unit_ratings

theirs = pytest.importorskip("krippendorff", reason="make installs it: tests/oracles/requirements.txt")

Rows = list[list[int | None]]
LABELS = (1, 2, 3, 5)
"""Not evenly spaced, so that ordinal and interval distances differ."""

rows = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([*LABELS, *LABELS, None]), min_size=raters, max_size=raters), min_size=1, max_size=20
    )
)


@pytest.mark.parametrize("distance", ["nominal", "ordinal", "interval", "ratio"])
@settings(max_examples=50, deadline=None)
@given(rows=rows)
def test_alpha_agrees_with_the_krippendorff_library_where_it_is_defined(distance: Distance, rows: Rows) -> None:
    figure = krippendorff_alpha(unit_ratings(rows, labels=LABELS), distance=distance)
    table = np.array([[np.nan if each is None else each for each in row] for row in rows], dtype=np.float64).T
    if figure.value is None:
        if figure.reason == "single_category":  # it calls agreement on the only value that occurs perfect
            paired = [[each for each in row if each is not None] for row in rows]
            assert len({each for row in paired if len(row) > 1 for each in row}) == 1
        else:
            assert max(np.count_nonzero(~np.isnan(table), axis=0)) < 2
        return
    number = theirs.alpha(table, value_domain=LABELS, level_of_measurement=distance)
    assert not isnan(number)
    assert figure.value == pytest.approx(number, abs=1e-9)
