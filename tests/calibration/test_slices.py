"""Where judge and people disagree."""

from pathlib import Path

import numpy as np

from calibration.audit import audit
from support.stored import records_of, stored_pairs, write_records


def test_the_slice_with_more_disagreement_is_shown_to_differ(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    records = records_of(["pass", "fail"] * 300, ["pass", "fail"] * 300)
    for place, record in enumerate(records):
        record["meta"] = {"d": "bad" if place < 150 else "good", "e": place % 2}
        if place < 150 and rng.random() < 0.4:
            record["judges"] = {"j": {"x": "fail" if place % 2 == 0 else "pass"}}
    made = audit(stored_pairs(write_records(tmp_path, records), by=("meta.d", "meta.e"))).slices
    assert [(each.field, each.value, each.differs) for each in made if each.field == "meta.d"] == [
        ("meta.d", "bad", True),
        ("meta.d", "good", True),
    ]
    assert not any(each.differs for each in made if each.field == "meta.e")


def test_the_furthest_disagreement_comes_first(tmp_path: Path) -> None:
    path = write_records(tmp_path, records_of(["pass", "fail", "pass", "fail"], [0.4, 0.6, 0.1, 0.2]))
    assert [each.case_id for each in audit(stored_pairs(path)).disagreements] == ["c2", "c0", "c1"]
    numbers = write_records(tmp_path, records_of([1, 2, 3, 4], [0.1, 0.9, 0.7, 0.05]))
    assert audit(stored_pairs(numbers)).disagreements[0].case_id == "c3"
