"""Everything about one judge and one criterion, held against labels that lie in real files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from sklearn.metrics import (
    cohen_kappa_score,  # pyright: ignore[reportUnknownVariableType]
    roc_auc_score,  # pyright: ignore[reportUnknownVariableType]
)

from calibration.audit import Audit, audit
from calibration.statistics.confusion import BinaryMetrics, MulticlassMetrics
from judges import InputError
from judges.figures import Figure
from judges.gate import Requirement
from support.command import SHARED
from support.stored import records_of, stored_pairs, write_records

SCORES = [0.9, 0.8, 0.2, 0.7, 0.1, 0.6, 0.4, 0.3]
GOOD = [True, True, False, False, False, True, True, False]


def made(folder: Path, gold: Sequence[object], said: Sequence[object], groups: Sequence[object] | None = None) -> Audit:
    path = write_records(folder, records_of(gold, said, groups=groups))
    return audit(stored_pairs(path, cluster=None if groups is None else "group"))


def words(good: Sequence[bool]) -> list[str]:
    return ["pass" if each else "fail" for each in good]


def binary(one: Audit, view: int = 0) -> BinaryMetrics:
    metrics = one.views[view].metrics
    assert isinstance(metrics, BinaryMetrics)
    return metrics


def width(figure: Figure) -> float:
    assert figure.ci_low is not None
    assert figure.ci_high is not None
    return figure.ci_high - figure.ci_low


def random_labels(n: int, rate: float, seed: int) -> list[str]:
    return words((np.random.default_rng(seed).random(n) < rate).tolist())


def noisy(labels: Sequence[str], error: float, seed: int) -> list[str]:
    flips = np.random.default_rng(seed).random(len(labels)) < error
    return words([(label == "pass") != flip for label, flip in zip(labels, flips.tolist(), strict=True)])


def test_the_figures_are_those_of_the_reference_library(tmp_path: Path) -> None:
    one = made(tmp_path, words(GOOD), SCORES)
    judged = [score >= 0.5 for score in SCORES]
    assert one.matrix["pass"] == {"pass": 3, "fail": 1, "abstained": 0, "failed": 0}
    assert one.matrix["fail"] == {"pass": 1, "fail": 3, "abstained": 0, "failed": 0}
    [view] = one.views
    assert view.kappa.value == pytest.approx(cohen_kappa_score(GOOD, judged))
    assert binary(one).accuracy.value == pytest.approx(6 / 8)
    assert binary(one).specificity.value == pytest.approx(3 / 4)
    assert one.probabilities is not None
    assert one.probabilities.area_under_curve.value == pytest.approx(cast("float", roc_auc_score(GOOD, SCORES)))


def test_an_answer_that_is_no_label_disagrees_with_people_whatever_they_say(tmp_path: Path) -> None:
    one = made(tmp_path, ["pass", "fail", "pass", "fail"], ["pass", "fail", "invalid", "invalid"])
    assert one.matrix["pass"]["failed"] == one.matrix["fail"]["failed"] == 1
    assert binary(one).accuracy.value == pytest.approx(2 / 4)
    assert binary(one).specificity.value == pytest.approx(1 / 2)
    assert one.pairs.failed == {"not a label (invalid)": 2}
    many = made(tmp_path, ["pass", "fail"] * 3, ["pass", "hm", "uh\x1b", "well", "no idea", "fail"])
    assert many.pairs.failed == {"not a label": 4}


def test_a_good_judge_passes_and_its_worth_over_the_baselines_is_an_interval(tmp_path: Path) -> None:
    gold = random_labels(400, 0.7, seed=1)
    one = made(tmp_path, gold, noisy(gold, 0.1, seed=2))
    assert one.decision.status == "PASS"
    assert [str(each.result.requirement) for each in one.decision.checks] == [
        "kappa>0", "kappa_over_same_label>0", "kappa_over_overlap>0", "kappa_over_length>0",
    ]  # fmt: skip
    assert all(each.beaten for each in one.baselines)


@pytest.mark.parametrize("n", [40, 400, 4000])
def test_a_judge_that_answers_at_random_is_refused(tmp_path: Path, n: int) -> None:
    for seed in range(5):
        one = made(tmp_path, random_labels(n, 0.7, seed), random_labels(n, 0.7, 100 + seed))
        assert one.decision.status != "PASS"


@pytest.mark.parametrize("rate", [0.5, 0.95])
def test_a_judge_that_always_passes_is_refused_whatever_it_reaches(tmp_path: Path, rate: float) -> None:
    gold = random_labels(1000, rate, seed=3)
    one = made(tmp_path, gold, ["pass"] * 1000)
    assert one.decision.status == "FAIL"
    assert one.views[0].kappa.value == 0
    strict = audit(one.pairs, requirements=[Requirement.parse("kappa>=0.4")])
    assert strict.decision.status == "FAIL"


@pytest.mark.parametrize("grouped", [False, True])
def test_a_judge_that_is_always_right_passes(tmp_path: Path, grouped: bool) -> None:
    gold = random_labels(300, 0.7, seed=8)
    one = made(tmp_path, gold, gold, [place // 3 for place in range(300)] if grouped else None)
    advantage = one.figures()["kappa_over_same_label"]
    assert one.decision.status == "PASS"
    assert advantage.value == 1
    assert (advantage.ci_low, advantage.ci_high) == (one.views[0].kappa.ci_low, one.views[0].kappa.ci_high)
    assert 0.9 < (advantage.ci_low or 0) < 1


def test_a_judge_that_gives_every_case_the_same_score_is_refused_where_labels_are_numbers(tmp_path: Path) -> None:
    one = made(tmp_path, [1.5, 2, 2.5, 4] * 20, [3] * 80)
    assert one.decision.status == "FAIL"
    assert one.decision.checks[0].result.reason.startswith("it says the same of every case")


def test_what_failed_counts_as_disagreement_and_its_share_has_an_interval(tmp_path: Path) -> None:
    gold = random_labels(100, 0.5, seed=9)
    one = made(tmp_path, gold, ["invalid"] * 10 + gold[10:])
    share = one.views[0].invalid
    assert (share.value, share.n, share.method) == (0.1, 100, "wilson")
    assert one.views[0].metrics.accuracy.value == 0.9
    assert one.to_record()["views"][0]["invalid"]["value"] == 0.1


def test_a_judge_that_goes_by_length_is_not_taken_for_more(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 60, size=300).tolist()
    gold = words([length > 30 for length in lengths])
    said = noisy(gold, 0.05, seed=5)
    records = [
        {**record, "answer": "w " * length} for record, length in zip(records_of(gold, said), lengths, strict=True)
    ]
    one = audit(stored_pairs(write_records(tmp_path, records)))
    by_name = {each.name: each for each in one.baselines}
    assert one.views[0].kappa.ci_low is not None
    assert one.views[0].kappa.ci_low > 0.7
    assert not by_name["length"].beaten
    assert by_name["same_label"].beaten
    assert one.decision.status != "PASS"


@pytest.mark.parametrize(
    ("labels", "positive", "left"),
    [([1, 2, 3, 4], None, []), (["a", "b"], None, ["same_label"]), (["good", "bad"], "good", ["same_label"])],
)
def test_of_records_without_texts_a_good_judge_passes_since_words_and_length_have_nothing_to_go_by(
    tmp_path: Path, labels: list[object], positive: str | None, left: list[str]
) -> None:
    gold = [labels[place % len(labels)] for place in range(120)]
    said = [labels[0] if place % 11 == 0 else label for place, label in enumerate(gold)]
    records = [{name: each[name] for name in ("id", "gold", "judges")} for each in records_of(gold, said)]
    one = audit(stored_pairs(write_records(tmp_path, records), positive=positive))
    assert one.decision.status == "PASS"
    assert [each.name for each in one.baselines] == left
    assert one.scores is None or one.scores.baselines == ()


def test_where_labels_do_not_settle_it_the_page_says_how_many_would(tmp_path: Path) -> None:
    gold = random_labels(60, 0.8, seed=6)
    one = made(tmp_path, gold, noisy(gold, 0.38, seed=7))
    [check] = [each for each in one.decision.checks if each.result.requirement.name == "kappa"]
    assert check.result.status == "UNDECIDED"
    assert check.needed is not None
    assert check.needed.more is not None
    assert check.needed.more_fails is not None
    assert 0 < check.needed.more_fails < check.needed.more
    enough = random_labels(60 + 2 * check.needed.more, 0.8, seed=8)
    kappa = made(tmp_path, enough, noisy(enough, 0.38, seed=9)).views[0].kappa
    assert width(kappa) < width(one.views[0].kappa)


def test_what_is_required_decides_in_place_of_the_default(tmp_path: Path) -> None:
    gold = random_labels(400, 0.5, seed=1)
    pairs = made(tmp_path, gold, noisy(gold, 0.1, seed=2)).pairs
    found = audit(pairs, requirements=[Requirement.parse("kappa>=0.6"), Requirement.parse("fails_found>=0.99")])
    assert [each.result.status for each in found.decision.checks] == ["PASS", "FAIL"]
    assert found.decision.status == "FAIL"
    with pytest.raises(InputError, match="there is no `kapa` here; there is: kappa, agreement"):
        audit(pairs, requirements=[Requirement.parse("kapa>0")])


def test_groups_widen_every_interval(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    gold, said, groups = list[str](), list[str](), list[int]()
    for group in range(80):
        label, right = words([bool(rng.random() < 0.6)])[0], bool(rng.random() < 0.8)
        gold += [label] * 4
        said += words([(label == "pass") == right]) * 4
        groups += [group] * 4
    apart, together = made(tmp_path, gold, said), made(tmp_path, gold, said, groups)
    for name, narrow in apart.figures().items():
        wide = together.figures()[name]
        if narrow.value is None or name in ("kappa_over_overlap", "kappa_over_length"):
            continue  # the folds of a baseline's cut keep groups together, so that its verdicts differ
        assert wide.value == pytest.approx(narrow.value), name
        assert width(wide) > 1.5 * width(narrow), name
    assert apart.rate is not None
    assert together.rate is not None
    assert width(together.rate.naive) > 1.5 * width(apart.rate.naive)


def test_a_class_that_people_never_used_gives_reasons_and_no_numbers(tmp_path: Path) -> None:
    one = made(tmp_path, ["pass"] * 8, SCORES)
    assert binary(one).specificity.value is None
    assert binary(one).specificity.reason == "no_negative_gold"
    assert one.views[0].kappa.value == 0.0
    assert "constant_rater" in one.views[0].kappa.flags
    assert one.decision.status == "UNDECIDED"


def test_the_record_is_json_and_holds_no_number_that_is_none(tmp_path: Path) -> None:
    gold = random_labels(60, 0.6, seed=1)
    people = [{"anna": label, "ben": other} for label, other in zip(gold, noisy(gold, 0.2, seed=2), strict=True)]
    records = [
        {**record, "human": {"x": labels}, "meta": {"d": place % 3}}
        for place, (record, labels) in enumerate(zip(records_of(gold, [0.1, 0.7, 0.9] * 20), people, strict=True))
    ]
    record = audit(stored_pairs(write_records(tmp_path, records), by=("meta.d",))).to_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert {"decision", "baselines", "people", "probabilities", "pass_rate", "slices"} <= set(record)
    assert record["people"]["ceiling"]["difference"]["n"] == 120


def test_several_labels_have_a_matrix_and_rates_of_each(tmp_path: Path) -> None:
    gold = ["a", "b", "tie", "a", "b", "a"]
    one = made(tmp_path, gold, ["a", "b", "a", "a", "tie", "nobody"])
    assert one.matrix["a"] == {"a": 2, "b": 0, "tie": 0, "abstained": 0, "failed": 1}
    assert isinstance(one.views[0].metrics, MulticlassMetrics)
    assert one.views[0].without_ties is not None
    assert (one.views[0].without_ties.value, one.views[0].without_ties.n) == (1.0, 3)
    assert one.probabilities is None
    assert one.rate is None


def test_levels_in_order_have_weighted_kappas(tmp_path: Path) -> None:
    gold, said = [1, 2, 3, 4, 4, 3, 2, 1] * 4, [1, 2, 3, 4, 3, 3, 1, 2] * 4
    path = write_records(tmp_path, records_of(gold, said))
    one = audit(stored_pairs(path, scale="1..4"))
    weighted = dict(one.views[0].weighted)
    assert weighted["quadratic"].value == pytest.approx(cohen_kappa_score(gold, said, weights="quadratic"))
    assert weighted["linear"].value == pytest.approx(cohen_kappa_score(gold, said, weights="linear"))
    assert one.scores is not None
    assert one.scores.differences is not None


# Published data


def shared(name: str) -> Path:
    path = SHARED / "data" / name / "items.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def test_the_stored_judge_of_mtrag_comes_out_as_its_figures_say() -> None:
    path = shared("mtrag_human_eval")
    pairs = stored_pairs(path, "judges.rl_f.faithfulness", "gold.faithfulness", positive=">=3", cluster="meta.item")
    one = audit(pairs)
    assert pairs.threshold == 0.5
    assert one.views[0].kappa.value == pytest.approx(0.5911, abs=1e-4)
    assert one.views[0].kappa.deff == pytest.approx(1.4, abs=0.05)
    assert one.probabilities is not None
    assert one.probabilities.area_under_curve.value == pytest.approx(0.8612, abs=1e-4)
    assert one.people is not None
    assert one.people.alpha["ordinal"].value == pytest.approx(0.4700, abs=1e-4)
    assert one.people.alpha["interval"].value == pytest.approx(0.5502, abs=1e-4)
    raw = audit(stored_pairs(path, "judges.rl_f.faithfulness", "human.faithfulness", scale="1..4"))
    assert raw.people is not None
    assert raw.people.alpha["nominal"].value == pytest.approx(0.2632, abs=1e-4)
    assert raw.people.gwet.value == pytest.approx(0.5005, abs=1e-4)
    assert raw.scores is not None
    assert raw.scores.pearson.value == pytest.approx(0.7205, abs=1e-4)
    assert raw.scores.spearman.value == pytest.approx(0.5815, abs=1e-4)
    assert raw.scores.kendall.value == pytest.approx(0.4893, abs=1e-4)


@pytest.mark.parametrize(("judge", "kappa"), [("text-davinci-003", 0.6745), ("bem", 0.6157)])
def test_the_stored_judges_of_openqa_come_out_as_their_figures_say(judge: str, kappa: float) -> None:
    one = audit(stored_pairs(shared("openqa_nq301"), f"judges.{judge}.correctness", "gold.correctness"))
    assert one.views[0].kappa.value == pytest.approx(kappa, abs=1e-4)
    assert one.people is not None
    assert one.people.alpha["nominal"].value == pytest.approx(0.7312, abs=1e-4)
    assert one.people.fleiss is None


def test_the_pairwise_judge_of_pandalm_comes_out_as_its_figures_say() -> None:
    one = audit(stored_pairs(shared("pandalm_pairwise"), "judges.gpt-3.5-turbo.preference", "gold.preference"))
    assert one.views[0].metrics.accuracy.value == pytest.approx(0.6977, abs=1e-4)
    assert one.views[0].without_ties is not None
    assert one.views[0].without_ties.value == pytest.approx(0.8151, abs=1e-4)
    assert one.people is not None
    assert one.people.fleiss is not None
    assert one.people.fleiss.value == pytest.approx(0.8642, abs=1e-4)
    assert one.people.gwet.value == pytest.approx(0.8864, abs=1e-4)


def test_the_scores_of_unieval_come_out_as_published_and_those_beyond_the_scale_are_named() -> None:
    judge, label = "judges.unieval-dialog.engagingness", "gold.engagingness"
    one = audit(stored_pairs(shared("unieval_topicalchat"), judge, label, scale="1..3"))
    assert one.scores is not None
    assert one.scores.pearson.value == pytest.approx(0.556510, abs=1e-6)
    assert one.scores.spearman.value == pytest.approx(0.604739, abs=1e-6)
    assert one.scores.kendall.value == pytest.approx(0.455941, abs=1e-6)
    [beyond] = one.scores.beyond
    assert (beyond.whose, beyond.count) == ("judge", 176)
    assert beyond.highest == pytest.approx(3.949, abs=1e-3)
