"""People among themselves, and the judge against the same people."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from calibration.audit import audit
from calibration.pairs import Pairs
from calibration.people import People, people_of
from support.stored import stored_pairs, write_records


def labelled(
    folder: Path, people: Sequence[Mapping[str, object]], said: Sequence[object], scale: str | None = None
) -> Pairs:
    records = [
        {"id": f"c{place}", "answer": "?", "human": {"x": labels}, "judges": {"j": {"x": answer}}}
        for place, (labels, answer) in enumerate(zip(people, said, strict=True))
    ]
    return stored_pairs(write_records(folder, records), label="human.x", scale=scale)


def noisy_people(n: int, annotators: str, error: float, seed: int) -> tuple[list[str], list[dict[str, object]]]:
    rng = np.random.default_rng(seed)
    truth = ["pass" if each else "fail" for each in (rng.random(n) < 0.6).tolist()]
    other = {"pass": "fail", "fail": "pass"}
    people: list[dict[str, object]] = [
        {name: other[label] if rng.random() < error else label for name in annotators} for label in truth
    ]
    return truth, people


def found(pairs: Pairs) -> People:
    people = people_of(pairs, epsilon=0.2)
    assert people is not None
    return people


def test_a_judge_that_knows_the_truth_is_closer_to_people_than_they_are(tmp_path: Path) -> None:
    truth, people = noisy_people(300, "ABC", 0.15, seed=1)
    ceiling = found(labelled(tmp_path, people, truth)).ceiling
    assert ceiling is not None
    assert ceiling.difference.ci_low is not None
    assert ceiling.difference.ci_low > 0


def test_a_good_judge_may_stand_in_for_a_person_and_a_random_one_may_not(tmp_path: Path) -> None:
    truth, people = noisy_people(200, "ABC", 0.1, seed=2)
    guesses, _ = noisy_people(200, "", 0.0, seed=3)
    good, bad = (found(labelled(tmp_path, people, said)).replacement for said in (truth, guesses))
    assert good is not None
    assert bad is not None
    assert (good.passes, bad.passes) == (True, False)


def test_the_careless_annotator_is_found_without_gold(tmp_path: Path) -> None:
    truth, people = noisy_people(400, "ABC", 0.05, seed=4)
    careless, _ = noisy_people(400, "", 0.0, seed=5)
    given = [{**labels, "Z": label} for labels, label in zip(people, careless, strict=True)]
    latent = found(labelled(tmp_path, given, truth)).latent
    assert latent is not None
    right = {each.annotator: each.right["pass"] for each in latent.annotators}
    assert right["Z"] < 0.75 < min(right["A"], right["B"], right["C"])


def test_somebody_who_is_asked_where_others_differ_is_no_measure_of_how_well_people_agree(tmp_path: Path) -> None:
    truth, people = noisy_people(300, "ABC", 0.1, seed=6)
    asked = [{name: row[name] for name in ("ABC" if row["A"] != row["B"] else "AB")} for row in people]
    of_all, of_some = found(labelled(tmp_path, people, truth)), found(labelled(tmp_path, asked, truth))
    assert not of_all.arbiters
    assert list(of_some.arbiters) == ["C"]
    assert (of_some.arbiters["C"].first.value, of_some.arbiters["C"].second.value) == (1.0, 0.0)
    two = found(labelled(tmp_path, [{name: row[name] for name in "AB"} for row in people], truth))
    assert of_some.ceiling is not None
    assert two.ceiling is not None
    assert of_some.ceiling.human_kappa == two.ceiling.human_kappa
    assert of_some.ceiling.difference == two.ceiling.difference
    assert of_some.to_record()["arbiters"]


def test_who_is_asked_at_random_decides_nothing(tmp_path: Path) -> None:
    truth, people = noisy_people(300, "ABCD", 0.15, seed=7)
    some = [{name: row[name] for name in ("ABC" if place % 3 else "ABD")} for place, row in enumerate(people)]
    assert not found(labelled(tmp_path, some, truth)).arbiters


def test_one_person_a_case_is_no_ceiling(tmp_path: Path) -> None:
    people = [{"A": "pass"}, {"B": "fail"}]
    assert people_of(labelled(tmp_path, people, ["pass", "fail"]), epsilon=0.2) is None


def test_unequal_numbers_of_labels_have_alpha_and_no_fleiss(tmp_path: Path) -> None:
    people = [{"A": "pass", "B": "pass"}, {"A": "fail", "B": "pass", "C": "fail"}, {"A": "fail", "B": "fail"}]
    made = found(labelled(tmp_path, people, ["pass", "fail", "fail"]))
    assert made.fleiss is None
    assert made.alpha["nominal"].value is not None


def test_ties_have_no_label_that_counts_and_are_named(tmp_path: Path) -> None:
    people = [{"A": "pass", "B": "fail"}, {"A": "pass", "B": "pass"}, {"A": "fail", "B": "fail"}]
    one = audit(labelled(tmp_path, people, ["pass", "pass", "fail"]))
    assert one.pairs.ties == ("c0",)
    assert one.views[0].kappa.n == 2


def test_numbers_have_intraclass_correlations_of_the_form_that_fits(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    rows = rng.integers(1, 5, size=(40, 3)).tolist()
    full = [dict(zip("ABC", row, strict=True)) for row in rows]
    sparse = [dict(zip(names, row, strict=True)) for names, row in zip(["ABC", "CDE"] * 20, rows, strict=True)]
    said = [row[0] for row in rows]
    assert set(found(labelled(tmp_path, full, said, "1..4")).icc) == {"icc_2_1", "icc_3_1", "icc_2_k"}
    made = found(labelled(tmp_path, sparse, said, "1..4"))
    assert set(made.icc) == {"icc_1_1", "icc_1_k"}
    assert made.gwet_weighted is not None
    assert made.replacement is not None


@pytest.mark.parametrize("said", [["pass", "abstains"], [None, "pass"]])
def test_a_judge_with_gaps_is_held_against_people_where_it_says_something(tmp_path: Path, said: list[object]) -> None:
    people: list[dict[str, object]] = [{"A": "pass", "B": "pass"}, {"A": "fail", "B": "pass"}]
    assert found(labelled(tmp_path, people, said)).annotators == ("A", "B")
