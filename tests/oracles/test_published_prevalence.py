"""Figures that were published, or computed elsewhere, for data sets that lie beside the checkout."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibration.statistics.agreement import cohen_kappa, gwet_ac, kappa
from calibration.statistics.confusion import binary_metrics_of_pairs
from calibration.statistics.prevalence import true_pass_rate
from calibration.statistics.probes import position_bias
from calibration.statistics.rogan_gladen import rogan_gladen_of_counts
from calibration.statistics.tables import INVALID, Invalid, pair_labels
from judges.intervals import proportion
from support.command import SHARED

DATA = SHARED / "data"
TOLERANCE = 1e-4

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout")


@cache
def read(name: str) -> list[dict[str, Any]]:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{Path(name)} is not beside the checkout")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def answer(verdict: str) -> str | Invalid:
    return INVALID if verdict == "invalid" else verdict


# openqa_nq301

OPENQA = [
    ("gpt-4", 1488, (679, 89, 137, 583), (0.8481, 0.6953, 0.6967, 0.8498, 0.8321, 0.8676, 0.8573, 0.6975)),
    ("text-davinci-003", 1490, (667, 93, 149, 581), (0.8376, 0.6745, 0.6765, 0.8397, 0.8174, 0.8620, 0.8464, 0.6763)),
    ("bem", 1490, (599, 72, 217, 602), (0.8060, 0.6157, 0.6275, 0.8136, 0.7341, 0.8932, 0.8056, 0.6121)),
]


def correctness(judge: str) -> tuple[list[str], list[str | Invalid]]:
    rows = read("openqa_nq301/items.jsonl")
    gold = [row["gold"]["correctness"] for row in rows]
    return gold, [answer(row["judges"][judge]["correctness"]) for row in rows]


@pytest.mark.parametrize(("judge", "n", "cells", "figures"), OPENQA, ids=[row[0] for row in OPENQA])
def test_judges_of_open_questions_have_their_known_figures(
    judge: str, n: int, cells: tuple[int, ...], figures: tuple[float, ...]
) -> None:
    gold, verdicts = correctness(judge)
    pairs = pair_labels(gold, verdicts, labels=["incorrect", "correct"], invalid="drop")
    assert pairs.n == n
    found = binary_metrics_of_pairs(pairs, positive="correct")
    assert (found.tp, found.fp, found.fn, found.tn) == cells
    ours = (
        found.accuracy,
        kappa(pairs),
        found.mcc,
        found.balanced_accuracy,
        found.recall,
        found.specificity,
        found.f1,
        gwet_ac(pairs),
    )
    assert [each.value for each in ours] == pytest.approx(list(figures), abs=TOLERANCE)


@pytest.mark.parametrize(("judge", "n", "cells"), [row[:3] for row in OPENQA], ids=[row[0] for row in OPENQA])
def test_a_judges_own_error_rates_give_back_the_human_rate(judge: str, n: int, cells: tuple[int, ...]) -> None:
    tp, fp, fn, tn = cells
    gold, verdicts = correctness(judge)
    kept = [(human, verdict) for human, verdict in zip(gold, verdicts, strict=True) if verdict is not INVALID]
    passed = sum(verdict == "correct" for _, verdict in kept)
    assert passed == tp + fp
    found = rogan_gladen_of_counts(passed, n, tp, tp + fn, tn, fp + tn)
    assert found.raw == pytest.approx(sum(human == "correct" for human, _ in kept) / n, abs=1e-12)
    if judge == "text-davinci-003":
        assert found.apparent.value == pytest.approx(0.5101, abs=TOLERANCE)
        assert found.raw == pytest.approx(0.5477, abs=TOLERANCE)


@pytest.mark.parametrize("judge", [row[0] for row in OPENQA])
def test_a_few_labels_bring_the_rate_closer_to_the_human_one_than_the_judge_alone(judge: str) -> None:
    gold, verdicts = correctness(judge)
    kept = [each for each in range(len(gold)) if verdicts[each] is not INVALID]
    y = np.array([gold[each] == "correct" for each in kept])
    f = np.array([verdicts[each] == "correct" for each in kept])
    random, truth, draws = np.random.default_rng(5), float(y.mean()), 60
    errors: list[float] = []
    covered = 0
    for _ in range(draws):
        order = random.permutation(y.size)
        labelled, rest = order[:200], order[200:]
        found = true_pass_rate(y[labelled], f[labelled], f[rest], selection="random").estimate
        assert found.value is not None
        errors.append(found.value - truth)
        covered += (found.ci_low or 0) <= truth <= (found.ci_high or 0)
    assert abs(sum(errors) / draws) < abs(float(f.mean()) - truth) / 2
    assert covered >= 0.9 * draws


JUDGES = ("exact_match", "bem", "text-davinci-003", "gpt-4")
SYSTEMS = """\
text-davinci-003_zeroshot 12.62 63.46 77.08 68.77 71.43
text-davinci-003_fewshot-n64 33.89 59.47 67.77 68.77 75.75
DPR 45.85 52.49 55.15 56.48 58.80
FiD 47.84 58.14 61.46 61.79 64.78
ANCE-plus_FiD 48.17 59.47 63.12 62.46 65.78
Contriever_FiD 46.51 60.80 63.12 64.45 66.45
EMDR2 53.16 64.45 68.44 68.44 73.09
EviGen 51.83 62.13 64.78 66.11 67.11
FiD-KD 50.83 65.78 70.43 69.44 73.09
GAR-plus_FiD 50.83 63.12 67.11 67.44 69.44
R2D2 52.82 63.79 68.44 66.11 71.43
Rocketv2_FiD 49.83 62.46 66.11 67.11 70.10
"""


@pytest.mark.parametrize("line", SYSTEMS.splitlines(), ids=lambda line: str(line).split()[0])
def test_systems_have_their_published_rates(line: str) -> None:
    system, *figures = line.split()
    rows = [row for row in read("openqa_nq301/system_answers.jsonl") if row["meta"]["system"] == system]
    assert len(rows) == 301
    columns = [[row["judges"][judge]["correctness"] == "correct" for row in rows] for judge in JUDGES]
    columns.append([row["gold"]["correctness"] == "correct" for row in rows])
    for wanted, column in zip(figures, columns, strict=True):
        value = proportion(column).value
        assert value is not None
        assert 100 * value == pytest.approx(float(wanted), abs=0.005 + 1e-9)


# llmbar_pairwise: accuracy, swapped, both, consistency, kappa between orders, first-position rate, invalid

LLMBAR = """\
natural ChatGPT/CoT 0.7000 0.7800 0.5600 0.6400 0.3521 0.6650 1
natural ChatGPT/Metrics_Reference 0.8200 0.8300 0.6900 0.7300 0.4499 0.6050 0
natural ChatGPT/Vanilla 0.8000 0.8300 0.6700 0.7100 0.4287 0.6050 0
natural GPT-4/CoT 0.9400 0.9500 0.9000 0.9100 0.8160 0.5150 0
natural GPT-4/Metrics_Reference 0.9500 0.9700 0.9400 0.9600 0.9179 0.5100 0
natural GPT-4/Vanilla 0.9500 0.9600 0.9300 0.9500 0.8977 0.5050 0
natural LLaMA2/CoT 0.7200 0.7900 0.5900 0.6700 0.3624 0.5950 0
natural LLaMA2/Metrics_Reference 0.7400 0.7800 0.5900 0.6600 0.3609 0.3600 0
natural LLaMA2/Vanilla 0.7900 0.8200 0.7000 0.7900 0.5732 0.5150 0
natural PaLM2/CoT 0.6900 0.7700 0.5500 0.6400 0.3562 0.6650 2
natural PaLM2/Metrics_Reference 0.8600 0.8700 0.7900 0.8500 0.7008 0.4950 4
natural PaLM2/Vanilla 0.7800 0.8800 0.7300 0.8000 0.6035 0.5400 4
gptinst ChatGPT/CoT 0.3043 0.2826 0.0870 0.5870 0.2817 0.6848 1
gptinst ChatGPT/Metrics_Reference 0.3261 0.3913 0.0761 0.4348 0.1261 0.7717 0
gptinst ChatGPT/Vanilla 0.2717 0.2609 0.0761 0.6196 0.3161 0.6685 0
gptinst GPT-4/CoT 0.8152 0.8478 0.7826 0.9022 0.8040 0.5163 0
gptinst GPT-4/Metrics_Reference 0.8696 0.9239 0.8478 0.9022 0.8043 0.5272 0
gptinst GPT-4/Vanilla 0.8478 0.8804 0.8370 0.9457 0.8910 0.5054 0
gptinst LLaMA2/CoT 0.3587 0.3587 0.1304 0.5217 0.1739 0.6793 2
gptinst LLaMA2/Metrics_Reference 0.3696 0.3261 0.1848 0.6739 0.3469 0.5109 0
gptinst LLaMA2/Vanilla 0.3043 0.3043 0.1739 0.7283 0.4745 0.5761 1
gptinst PaLM2/CoT 0.5109 0.5870 0.1848 0.2717 0.0492 0.8587 1
gptinst PaLM2/Metrics_Reference 0.8043 0.7391 0.6304 0.7174 0.4476 0.4511 2
gptinst PaLM2/Vanilla 0.7174 0.7500 0.5761 0.6848 0.3762 0.5109 2
manual ChatGPT/CoT 0.3913 0.3261 0.1087 0.5000 0.1708 0.7174 1
manual ChatGPT/Metrics_Reference 0.4130 0.4565 0.1522 0.4348 0.1114 0.7609 0
manual ChatGPT/Vanilla 0.3913 0.3043 0.1087 0.5217 0.2167 0.7391 0
manual GPT-4/CoT 0.7174 0.7609 0.6522 0.8261 0.6468 0.5217 0
manual GPT-4/Metrics_Reference 0.8043 0.8696 0.7609 0.8478 0.6957 0.5543 0
manual GPT-4/Vanilla 0.7609 0.8478 0.7174 0.8261 0.6522 0.5435 0
manual LLaMA2/CoT 0.3913 0.3913 0.1304 0.4783 0.1724 0.7391 1
manual LLaMA2/Metrics_Reference 0.3913 0.4783 0.2609 0.6522 0.2950 0.5652 0
manual LLaMA2/Vanilla 0.3696 0.3696 0.1957 0.6522 0.3622 0.6522 0
manual PaLM2/CoT 0.4565 0.6522 0.2826 0.4348 0.1408 0.7609 2
manual PaLM2/Metrics_Reference 0.6739 0.6739 0.5870 0.8261 0.6732 0.4783 4
manual PaLM2/Vanilla 0.6957 0.6087 0.5870 0.8696 0.7514 0.5326 2
"""


@pytest.mark.parametrize("line", LLMBAR.splitlines(), ids=lambda line: "-".join(str(line).split()[:2]))
def test_pairs_in_both_orders_have_their_published_figures(line: str) -> None:
    subset, judge, *figures = line.split()
    rows = [row for row in read("llmbar_pairwise/items.jsonl") if row["meta"]["subset"] == subset]
    gold = np.array([row["gold"]["preference"] for row in rows])
    first = np.array([row["judges"][judge]["preference"] for row in rows])
    swapped = np.array([row["judges"][judge]["preference_swapped"] for row in rows])
    shown_first = np.concatenate([first == "a", swapped == "b"])
    invalid = int(np.count_nonzero(first == "invalid")) + int(np.count_nonzero(swapped == "invalid"))
    ours = (
        proportion(first == gold),
        proportion(swapped == gold),
        proportion((first == gold) & (swapped == gold)),
        proportion(first == swapped),
        cohen_kappa(first, swapped, labels=["a", "b", "invalid"]),
        proportion(shown_first, [*range(len(rows)), *range(len(rows))]),
    )
    assert [each.value for each in ours] == pytest.approx([float(each) for each in figures[:-1]], abs=TOLERANCE)
    assert invalid == int(figures[-1])
    probe = position_bias([answer(each) for each in first], [answer(each) for each in swapped], a="a", b="b")
    assert probe.n + probe.invalid == len(rows)
    assert (probe.invalid == 0) == (invalid == 0)
    if invalid == 0:
        assert probe.inconsistency.value == pytest.approx(1 - float(figures[3]), abs=TOLERANCE)
        assert probe.first_slot_share.value == pytest.approx(float(figures[5]), abs=TOLERANCE)
        assert probe.bias.figure.value == pytest.approx(2 * (probe.first_slot_share.value or 0) - 1)


# nomiracl_de_es_fr: absent, present, hallucination, error, kappa, n of kappa

NOMIRACL = """\
de gpt-4-azure 217 250 0.3594 0.1040 0.5418 463
de gpt-3.5-turbo-azure 217 250 0.4700 0.0560 0.4858 465
de Mistral-7B-Instruct-v0.2 217 250 0.0829 0.7080 0.1754 451
de aya-101 217 250 0.4147 0.1320 0.0646 250
es gpt-4-azure 250 250 0.1160 0.2200 0.6614 496
es gpt-3.5-turbo-azure 250 250 0.3440 0.0960 0.5571 497
es Mistral-7B-Instruct-v0.2 250 250 0.0400 0.6640 0.2456 472
es aya-101 250 250 0.8240 0.0080 0.0260 410
fr gpt-4-azure 250 250 0.4680 0.1120 0.4161 497
fr gpt-3.5-turbo-azure 250 250 0.5520 0.0880 0.3548 496
fr Mistral-7B-Instruct-v0.2 250 250 0.1160 0.5880 0.2581 473
fr aya-101 250 250 0.6360 0.1240 0.0727 387
"""


@pytest.mark.parametrize("line", NOMIRACL.splitlines(), ids=lambda line: "-".join(str(line).split()[:2]))
def test_judges_of_sufficient_contexts_have_their_known_figures(line: str) -> None:
    language, judge, *figures = line.split()
    rows = [row for row in read("nomiracl_de_es_fr/verdicts.jsonl") if row["lang"] == language]
    gold = np.array([row["gold"]["answer_in_context"] for row in rows])
    verdicts = np.array([row["judges"][judge]["answer_in_context"] for row in rows])
    absent, present = gold == "absent", gold == "present"
    assert (int(absent.sum()), int(present.sum())) == (int(figures[0]), int(figures[1]))
    assert proportion(verdicts[absent] == "present").value == pytest.approx(float(figures[2]), abs=TOLERANCE)
    assert proportion(verdicts[present] == "absent").value == pytest.approx(float(figures[3]), abs=TOLERANCE)
    labels = ["absent", "present"]
    found = cohen_kappa(gold, list(_known(verdicts, labels)), labels=labels, invalid="drop")
    assert found.value == pytest.approx(float(figures[4]), abs=TOLERANCE)
    assert found.n == int(figures[5])


def _known(verdicts: Any, labels: list[str]) -> Iterator[str | Invalid]:
    for verdict in verdicts.tolist():
        yield verdict if verdict in labels else INVALID
