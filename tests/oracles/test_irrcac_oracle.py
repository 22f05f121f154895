"""Coefficients of two raters and of many, and their standard errors, against irrCAC: Gwet's own formulas.

What differs on purpose: with a single label in use irrCAC divides by almost 0 where ours is undefined, and for a
standard error of 0 it takes 1e-15. For Conger's kappa ours is the jackknife's. For asymmetric costs irrCAC's standard
errors of two raters mix up rows and columns.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calibration.statistics import agreement
from calibration.statistics.raters import (
    UnitRatings,
    brennan_prediger,
    conger_kappa,
    fleiss_generalised,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    unit_ratings,
)
from calibration.statistics.tables import LabelPairs, Weights, disagreement_costs, pairs_of_table
from judges.figures import Figure

WHERE = "make installs it: tests/oracles/requirements.txt"
raw = pytest.importorskip("irrCAC.raw", reason=WHERE)
of_table = pytest.importorskip("irrCAC.table", reason=WHERE)
pandas = pytest.importorskip("pandas")

Rows = list[list[int | None]]
LABELS = (1, 2, 3, 4)
COSTS = ((0.0, 1.0, 2.0, 6.0), (0.5, 0.0, 1.0, 3.0), (4.0, 1.0, 0.0, 0.0), (8.0, 2.0, 0.0, 0.0))
SCHEMES: dict[str, Weights] = {"none": "none", "linear": "linear", "quadratic": "quadratic", "costs": COSTS}

rows = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([*LABELS, *LABELS, None]), min_size=raters, max_size=raters), min_size=3, max_size=20
    )
)
tables = st.lists(st.lists(st.integers(0, 12), min_size=4, max_size=4), min_size=4, max_size=4).filter(
    lambda table: sum(map(sum, table)) > 1
)


def many(rows: Rows, weights: Weights) -> Any:
    frame = pandas.DataFrame([[np.nan if each is None else float(each) for each in row] for row in rows])
    return raw.CAC(frame, weights=1 - disagreement_costs(weights, 4), categories=[1.0, 2.0, 3.0, 4.0], digits=14)


def assert_same(figure: Figure, theirs: dict[str, Any], *, se: bool = True, lowest: float = -1.0) -> None:
    found = theirs["est"]
    assert figure.value == pytest.approx(float(found["coefficient_value"]), abs=1e-9)
    if se and figure.se:
        assert figure.se == pytest.approx(np.asarray(found["se"]).item(), rel=1e-7, abs=1e-9)
    if se and figure.method == "t" and figure.ci_low is not None and figure.ci_high is not None:
        low, high = (np.asarray(each).item() for each in found["confidence_interval"])
        assert (figure.ci_low, figure.ci_high) == pytest.approx((max(low, lowest), high), abs=1e-8)


MANY: dict[str, Callable[[UnitRatings, Weights], Figure]] = {
    "gwet": lambda ratings, weights: gwet_ac(ratings, weights=weights),
    "bp": lambda ratings, weights: brennan_prediger(ratings, weights=weights),
    "fleiss": lambda ratings, weights: fleiss_generalised(ratings, weights=weights),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MANY)
@settings(max_examples=25, deadline=None)
@given(rows=rows)
def test_coefficients_of_many_raters_and_their_standard_errors_agree_with_irrcac(
    name: str, scheme: str, rows: Rows
) -> None:
    figure = MANY[name](unit_ratings(rows, labels=LABELS), SCHEMES[scheme])
    assume(figure.value is not None)
    complete = len({sum(map(bool, row)) for row in rows}) == 1
    bounded = (scheme != "costs" and complete) if name == "fleiss" else scheme == "none"
    assert_same(figure, getattr(many(rows, SCHEMES[scheme]), name)(), lowest=-1.0 if bounded else -np.inf)


@settings(max_examples=25, deadline=None)
@given(rows=rows.map(lambda rows: [[each or 1 for each in row] for row in rows]))
def test_fleiss_kappa_of_complete_ratings_agrees_with_irrcac(rows: Rows) -> None:
    figure = fleiss_kappa(unit_ratings(rows, labels=LABELS)).kappa
    assume(figure.value is not None)
    assert_same(figure, many(rows, "none").fleiss())


@pytest.mark.filterwarnings("ignore:Starting with pandas version 4.0")  # how irrCAC calls pandas
@settings(max_examples=25, deadline=None)
@given(rows=rows)
def test_conger_s_kappa_agrees_with_irrcac_but_for_its_standard_error(rows: Rows) -> None:
    assume(all(any(row[rater] is not None for row in rows) for rater in range(len(rows[0]))))  # it divides 0 by 0
    figure = conger_kappa(unit_ratings(rows, labels=LABELS))
    assume(figure.value is not None)
    assert_same(figure, many(rows, "none").conger(), se=False)


@settings(max_examples=25, deadline=None)
@given(rows=rows)
def test_the_linearised_standard_error_of_alpha_is_that_of_irrcac(rows: Rows) -> None:
    figure = krippendorff_alpha(unit_ratings(rows, labels=LABELS))
    assume(figure.value is not None and figure.n > 1)
    assert_same(figure, many(rows, "none").krippendorff())


TWO: dict[str, Callable[[LabelPairs, Weights], Figure]] = {
    "cohen": lambda pairs, weights: agreement.kappa(pairs, weights=weights, interval="wald"),
    "scott": lambda pairs, weights: agreement.scott_pi(pairs, weights=weights, interval="wald"),
    "gwet": lambda pairs, weights: agreement.gwet_ac(pairs, weights=weights, interval="wald"),
    "bp": lambda pairs, weights: agreement.brennan_prediger(pairs, weights=weights, interval="wald"),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", TWO)
@settings(max_examples=25, deadline=None)
@given(table=tables)
def test_coefficients_of_two_raters_and_their_standard_errors_agree_with_irrcac(
    name: str, scheme: str, table: list[list[int]]
) -> None:
    figure = TWO[name](pairs_of_table(table), SCHEMES[scheme])
    assume(figure.value is not None and figure.se)  # it divides by a standard error of 0
    theirs = of_table.CAC(pandas.DataFrame(table), weights=1 - disagreement_costs(SCHEMES[scheme], 4), digits=14)
    with np.errstate(invalid="ignore"):  # the root of a variance that is wrong, see above
        found = getattr(theirs, name)()
    assert_same(figure, found, se=scheme != "costs" or name in {"gwet", "bp"})


def test_with_one_label_in_use_irrcac_shows_a_number_where_kappa_is_undefined() -> None:
    rows: Rows = [[1, 1], [1, 1], [1, 1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = raw.CAC(pandas.DataFrame(rows, dtype=float)).gwet()["est"]
    assert theirs["pe"] == 1  # of the one label it sees; with all four declared chance is 0
    ratings = unit_ratings(rows, labels=LABELS)
    assert gwet_ac(ratings).value == 1
    assert fleiss_kappa(ratings).kappa.reason == "single_category"
