import json
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.intraclass import IntraclassCorrelation, intraclass_correlation
from judges.figures import FLAGS, REASONS, Figure

Rows = list[list[float | None]]

tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([1.0, 1.0, 2.0, 5.0, None]) | st.floats(-1e6, 1e6), min_size=width, max_size=width),
        min_size=1,
        max_size=12,
    )
)


def forms(found: IntraclassCorrelation) -> list[Figure]:
    return [found.icc_1_1, found.icc_2_1, found.icc_3_1, found.icc_1_k, found.icc_2_k, found.icc_3_k]


@settings(max_examples=40, deadline=None)
@given(rows=tables, data=st.data())
def test_every_figure_holds_its_value_and_is_plain_json(rows: Rows, data: st.DataObject) -> None:
    size = len(rows)
    clusters = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=size, max_size=size))
    found = intraclass_correlation(rows, clusters)
    json.dumps(found.to_record(), allow_nan=False)
    for figure in forms(found):
        assert set(figure.flags) <= FLAGS
        assert figure.reason is None or figure.reason in REASONS
        if figure.value is None or figure.ci_low is None or figure.ci_high is None:
            assert figure.reason is not None
        else:
            assert figure.ci_low <= figure.value <= figure.ci_high


@settings(max_examples=30, deadline=None)
@given(rows=tables, random=st.randoms())
def test_the_order_of_subjects_and_raters_does_not_matter(rows: Rows, random: Random) -> None:
    places = list(range(len(rows[0])))
    random.shuffle(places)
    shuffled = [[row[place] for place in places] for row in rows]
    random.shuffle(shuffled)
    for one, other in zip(forms(intraclass_correlation(rows)), forms(intraclass_correlation(shuffled)), strict=True):
        if one.value is not None and other.value is not None:
            assert one.value == pytest.approx(other.value, rel=1e-6, abs=1e-6)


def test_another_unit_and_origin_of_the_scores_change_nothing() -> None:
    scores = np.random.default_rng(1).normal(size=(12, 3)) + np.arange(12)[:, None]
    first, second = intraclass_correlation(scores), intraclass_correlation(scores * 1e6 + 1e7)
    for one, other in zip(forms(first), forms(second), strict=True):
        assert [one.value, one.ci_low, one.ci_high] == pytest.approx([other.value, other.ci_low, other.ci_high])


def test_a_rater_who_is_always_one_higher_lowers_absolute_agreement_and_not_consistency() -> None:
    scores = np.arange(10.0)[:, None] + np.array([0.0, 1.0])
    found = intraclass_correlation(scores)
    assert found.icc_3_1.value == 1
    assert found.icc_3_1.reason == "singular"
    assert found.icc_2_1.value is not None
    assert found.icc_2_1.value < 1
    assert found.icc_2_1.ci_low is not None


def test_negative_correlation_is_not_clipped() -> None:
    found = intraclass_correlation([[1, 5], [5, 1], [2, 4], [4, 2.5]])
    assert found.icc_2_1.value is not None
    assert found.icc_2_1.value < -0.5
    assert found.icc_1_k.value is not None
    assert found.icc_1_k.value < -1


def test_subjects_with_a_missing_score_are_dropped_and_counted() -> None:
    found = intraclass_correlation([[1, 2], [3, None], [4, 4], [float("nan"), 1], [6, 5]])
    whole = intraclass_correlation([[1, 2], [4, 4], [6, 5]])
    assert found.icc_2_1.value == whole.icc_2_1.value
    assert (found.icc_2_1.n, found.icc_2_1.n_dropped) == (3, 2)
    assert "high_drop" in found.icc_2_1.flags


def test_too_little_data_has_a_reason() -> None:
    assert intraclass_correlation([]).icc_2_1.reason == "no_data"
    assert intraclass_correlation([[1, None]]).icc_2_1.reason == "no_data"
    assert intraclass_correlation([[1, 2]]).icc_2_1.reason == "too_few"
    assert intraclass_correlation([[1, 2], [2, 3]], ["a", "a"]).icc_2_1.reason == "too_few_clusters"


def test_perfect_agreement_has_no_interval_of_no_width() -> None:
    found = intraclass_correlation([[1, 1], [2, 2], [3, 3]])
    for figure in forms(found):
        assert (figure.value, figure.ci_low, figure.reason) == (1, None, "singular")
        assert "perfect_agreement" in figure.flags


def test_whole_clusters_are_resampled_where_there_are_clusters() -> None:
    generator = np.random.default_rng(2)
    scores = np.repeat(generator.normal(size=(15, 1)) + generator.normal(size=(15, 3)), 3, axis=0)
    plain, clustered = intraclass_correlation(scores), intraclass_correlation(scores, np.repeat(np.arange(15), 3))
    assert plain.icc_2_1.value == pytest.approx(clustered.icc_2_1.value)
    assert (plain.icc_2_1.method, clustered.icc_2_1.method) == ("f", "percentile")
    assert clustered.icc_2_1.n_clusters == 15


@pytest.mark.parametrize(
    ("rows", "message"), [([[1.0], [2.0]], "two raters"), ([[1.0, float("inf")], [1.0, 2.0]], "infinite")]
)
def test_wrong_input_is_refused_with_a_remedy(rows: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        intraclass_correlation(rows)
