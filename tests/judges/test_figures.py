import json

import pytest

from judges.figures import FLAGS, REASONS, Figure, undefined


def test_a_figure_without_a_value_says_why_in_json_too() -> None:
    record = undefined("single_category", n=3).to_record()
    assert record["status"] == "undefined"
    assert record["value"] is None
    assert record["reason"] == "single_category"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_figure_with_a_value_is_ok() -> None:
    figure = Figure(0.5, 0.4, 0.6, n=10, flags=("small_n",))
    assert figure.status == "ok"
    assert figure.to_record()["flags"] == ["small_n"]


def test_a_reason_must_be_one_of_the_codes() -> None:
    with pytest.raises(ValueError, match="not a reason code"):
        undefined("because")


def test_the_codes_are_those_of_the_specification() -> None:
    assert len(REASONS) == 23
    assert {"small_n", "few_clusters", "rare_class", "high_drop"} <= FLAGS
