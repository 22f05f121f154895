"""A judge held against people on some cases, and what is kept of that on others: each command a fresh process."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from support.command import EXAMPLE, SHARED, judges

LABELLED = ("--label", "gold.correctness", "--positive", "correct", "--cluster", "meta.item")


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def shown(folder: Path, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(judges("show", run, "--json", folder=folder).stdout)
    return found


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The questions of a published data set in two halves; the judge calibrated on the first."""
    source = SHARED / "data" / "openqa_nq301" / "items.jsonl"
    if not source.exists():
        pytest.skip("the data set isn't here")
    folder = tmp_path_factory.mktemp("halves")
    rows = records(source)
    items = sorted({row["meta"]["item"] for row in rows})
    random.Random(3).shuffle(items)
    first = set(items[: len(items) // 2])
    write(folder / "a.jsonl", [row for row in rows if row["meta"]["item"] in first])
    write(folder / "b.jsonl", [row for row in rows if row["meta"]["item"] not in first])
    judges("run", "a.jsonl", "-c", "correctness", "-j", "overlap", "--out", "a", folder=folder)
    done = judges("calibrate", "a", "--gold", "a.jsonl", *LABELLED, "--save", "judge.json", folder=folder)
    assert "use it with judges run ... --calibration judge.json" in done.stdout
    return folder


def run_b(folder: Path, *options: str, out: str = "b", cases: str = "b.jsonl") -> dict[str, Any]:
    judges(
        "run", cases, "-c", "correctness", "-j", "overlap", "--out", out, "--calibration", "judge.json", *options,
        folder=folder,
    )  # fmt: skip
    [found] = shown(folder, out)["calibrations"]
    return dict(found)


def people_s_rate(path: Path) -> float:
    labels = [row["gold"]["correctness"] for row in records(path)]
    return labels.count("correct") / len(labels)


def test_on_the_other_half_the_corrected_interval_holds_people_s_rate_and_the_judge_s_own_does_not(
    halves: Path,
) -> None:
    found = run_b(halves)
    wanted = people_s_rate(halves / "b.jsonl")
    assert found["corrected"]["ci_low"] <= wanted <= found["corrected"]["ci_high"]
    assert found["naive"]["ci_high"] < wanted  # the judge passes too few
    assert found["corrected"]["n_clusters"] is not None
    assert not found["shift"]["scores_moved"]
    assert not found["shift"]["pass_rate_moved"]
    text = judges("show", "b", folder=halves).stdout
    assert "correctness by overlap, calibrated on 733 labels" in text
    assert "pass rate, corrected" in text
    assert "careful" not in text


def test_of_better_answers_the_rate_is_corrected_too_and_the_shift_is_named_with_figures(halves: Path) -> None:
    rows = records(halves / "b.jsonl")
    good = [row for row in rows if row["gold"]["correctness"] == "correct"]
    bad = [row for row in rows if row["gold"]["correctness"] != "correct"]
    write(halves / "better.jsonl", [*good, *bad[:40]])
    found = run_b(halves, out="better", cases="better.jsonl")
    assert found["corrected"]["ci_low"] <= people_s_rate(halves / "better.jsonl") <= found["corrected"]["ci_high"]
    assert found["shift"]["scores_moved"]
    assert found["shift"]["pass_rate_moved"]
    text = judges("show", "better", folder=halves).stdout
    assert "careful: scores lie elsewhere than when it was calibrated (Kolmogorov-Smirnov distance 0." in text
    assert "careful: the judge passes 0." in text


def test_a_refit_judges_nothing_again_and_its_threshold_and_chances_are_shown(halves: Path) -> None:
    run_b(halves)
    ledger = (halves / "b" / "ledger.jsonl").read_bytes()
    judges("calibrate", "a", "--gold", "a.jsonl", *LABELLED, "--rule", "youden", "--save", "youden.json", folder=halves)
    [refitted] = json.loads((halves / "youden.json").read_bytes())["calibrations"]
    done = judges(
        "run", "b.jsonl", "-c", "correctness", "-j", "overlap", "--out", "b", "--calibration", "youden.json",
        folder=halves,
    )  # fmt: skip
    assert "judgements were there already, 0 made now" in done.stderr
    assert (halves / "b" / "ledger.jsonl").read_bytes() == ledger
    assert refitted["threshold"]["rule"] == "youden"
    assert f"overlap from {refitted['threshold']['at']:g}" in done.stdout
    case = records(halves / "b.jsonl")[0]["id"]
    assert "people pass such a case with a chance of 0." in judges("show", "b", "--case", case, folder=halves).stdout
    [judgement] = json.loads(judges("show", "b", "--case", case, "--json", folder=halves).stdout)["judgements"]
    first = json.loads(judges("export", "b", folder=halves).stdout.splitlines()[0])
    assert 0 < judgement["chance"] == first["chance"] < 1
    assert judgement["score"] == first["score"] == first["verdict"]["score"]
    head, row = judges("export", "b", "--format", "csv", folder=halves).stdout.splitlines()[:2]
    assert head.endswith(",chance")
    assert float(row.rpartition(",")[2]) == first["chance"]


def test_without_the_file_the_run_is_as_it_was(halves: Path) -> None:
    run_b(halves)
    judges("run", "b.jsonl", "-c", "correctness", "-j", "overlap", "--out", "b", folder=halves)
    assert shown(halves, "b")["calibrations"] == []
    assert "overlap from 0.35" in judges("show", "b", folder=halves).stdout


# What works on the example of the package


MINE = """
from dataclasses import replace
from judges import CORRECTNESS, TokenOverlapJudge

wide = TokenOverlapJudge(name="overlap", window=9)
STRICT = replace(CORRECTNESS, description="Is every word of it right?")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "correctness", "-c", "faithfulness", "-j", "overlap", "--out", "one",
        folder=folder,
    )  # fmt: skip
    judges("calibrate", "one", "--gold", EXAMPLE / "labels.jsonl", "--save", "both.json", folder=folder)
    return folder


def test_one_file_holds_several_criteria(home: Path) -> None:
    kept = json.loads((home / "both.json").read_bytes())["calibrations"]
    assert [each["criterion"]["name"] for each in kept] == ["correctness", "faithfulness"]
    judges(
        "run", EXAMPLE / "cases.jsonl", "-c", "faithfulness", "-c", "correctness", "-j", "overlap", "--out", "both",
        "--calibration", "both.json", folder=home,
    )  # fmt: skip
    assert [each["criterion"] for each in shown(home, "both")["calibrations"]] == ["faithfulness", "correctness"]
    [only] = json.loads(judges("show", "both", "-c", "correctness", "--json", folder=home).stdout)["calibrations"]
    assert only["criterion"] == "correctness"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-c", "correctness", "-j", "mine:wide"), "it differs in the judge's window: `3.0` then, `9.0` now"),
        (("-c", "mine:STRICT", "-j", "overlap"), "`Is every word of it right?` now"),
        (("-c", "completeness", "-j", "overlap"), "asked is completeness by overlap"),
        (("-c", "correctness", "-j", "overlap", "--threshold", "0.5"), "leave out --threshold"),
        (("-c", "correctness", "-j", "overlap", "--calibration", "both.json"), "calibrated twice"),
        (("-c", "correctness", "-j", "overlap", "--calibration", "mine.py"), "is no calibration"),
        (("-c", "correctness", "-j", "overlap", "--calibration", "gone.json"), "gone.json: No such file"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_what_does_not_belong_together_is_refused_before_anything_is_judged(
    home: Path, command: str, arguments: tuple[str, ...], message: str
) -> None:
    done = judges(
        command, EXAMPLE / "cases.jsonl", "--calibration", "both.json", *arguments, "--out", "not", folder=home, code=2
    )
    assert message in done.stderr
    assert not (home / "not").exists()


def test_an_embedding_judge_is_told_that_its_threshold_is_fitted(home: Path) -> None:
    (home / "words.py").write_text(WORDS, encoding="utf-8")
    labels = (EXAMPLE / "labels.jsonl", "--label", "gold.correctness", "--positive", "correct")
    asked = ("run", EXAMPLE / "cases.jsonl", "-c", "correctness", "-j", "words:JUDGE")
    judges(*asked, "--out", "unfitted", folder=home)
    judges("calibrate", "unfitted", "--gold", *labels, "--save", "words.json", folder=home)
    judges(*asked, "--out", "fitted", "--calibration", "words.json", folder=home)
    before, after = (judges("export", run, folder=home).stdout for run in ("unfitted", "fitted"))
    assert "the threshold isn't fitted to this model" in before
    assert "the threshold isn't fitted to this model" not in after


WORDS = """
import struct
from judges.backends.embedding import EmbeddingJudge
from judges.service import EmbeddingReply
from judges.similarity import tokenise

class Words:
    async def __call__(self, request):
        counts = [1e-3] * 64
        for word in tokenise(request.text).keys:
            counts[sum(map(ord, str(word))) % 64] += 1
        return EmbeddingReply(struct.pack("<64f", *counts), "words")

JUDGE = EmbeddingJudge(Words(), "words")
"""


# Labels that `judges plan-labels` asked for


@pytest.mark.parametrize(
    ("how", "chosen", "estimator"),
    [
        ("random", "random", "post_stratified"),
        ("by-verdict", "by-verdict", "post_stratified"),
        ("unsure", "by-score", "stratified_ppi"),
    ],
)
def test_the_design_beside_the_labels_says_how_cases_were_chosen(
    halves: Path, how: str, chosen: str, estimator: str
) -> None:
    sample = f"{how}.jsonl"
    # Of the draws by seeds 0 to 19, `unsure`, the interval holds the rate in all but that by 0: 19 of 20.
    judges("plan-labels", "a", "--n", "300", "--how", how, "--seed", "1", "--out", sample, folder=halves)
    fill(halves, sample)
    calibrate = ("calibrate", "a", "--gold", sample, "--positive", "correct", "--save", f"{how}.json")
    done = judges(*calibrate, "--json", folder=halves)
    found = json.loads(done.stdout)
    assert (found["chosen"], found["design"]) == (chosen, f"{how}.design.json")
    corrected = found["audits"][0]["pass_rate"]["corrected"]
    assert corrected["estimator"] == estimator
    assert corrected["estimate"]["ci_low"] <= people_s_rate(halves / "a.jsonl") <= corrected["estimate"]["ci_high"]
    [kept] = json.loads((halves / f"{how}.json").read_bytes())["calibrations"]
    assert kept["chosen"] == chosen
    refused = judges(*calibrate, "--chosen", "by-gold", folder=halves, code=2)
    assert f"the design beside the labels says {chosen}" in refused.stderr


def fill(folder: Path, sample: str, *, but: int = 0) -> None:
    """Put people's labels into a sample, except for the last so many cases."""
    gold = {row["id"]: row["gold"]["correctness"] for row in records(folder / "a.jsonl")}
    rows = records(folder / sample)
    for row in rows[: len(rows) - but]:
        row["gold"]["correctness"] = gold[row["id"]]
    write(folder / sample, rows)


def test_labels_nobody_drew_are_left_out_and_missing_ones_named(halves: Path) -> None:
    judges("plan-labels", "a", "--n", "100", "--out", "some.jsonl", folder=halves)
    fill(halves, "some.jsonl", but=3)
    drawn = {row["id"] for row in records(halves / "some.jsonl")}
    other = next(row for row in records(halves / "a.jsonl") if row["id"] not in drawn)
    with (halves / "some.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": other["id"], "gold": other["gold"]}) + "\n")
    done = judges("calibrate", "a", "--gold", "some.jsonl", "--positive", "correct", folder=halves)
    assert "97 labelled cases" in done.stdout
    assert "3 of 100 cases drawn have no label" in done.stderr
    assert "left out: 1 labelled case that nobody drew" in done.stderr


@pytest.mark.parametrize(
    ("plan", "arguments", "message"),
    [
        (("--how", "by-verdict", "--n", "50"), ("a", "--require", "kappa>=0.4"), "kappa is no value of the stream"),
        (("--how", "by-verdict", "--n", "50"), ("a", "--threshold", "0.6"), "chosen by the verdict from 0.35 on"),
        (("--n", "50"), ("b",), "are not those of the run any more"),
        (("--case", "openqa-0000"), ("a", "--require", "agreement>=0.4"), "picked by hand"),
        (("--case", "openqa-0000"), ("a", "--save", "hand.json"), "picked by hand"),
    ],
)
def test_what_a_sample_can_not_tell_is_refused(
    halves: Path, tmp_path: Path, plan: tuple[str, ...], arguments: tuple[str, ...], message: str
) -> None:
    run_b(halves)
    sample = str(tmp_path / "sample.jsonl")
    first = records(halves / "a.jsonl")[0]["id"]
    judges("plan-labels", "a", *(first if each == "openqa-0000" else each for each in plan), "--out", sample,
           folder=halves)  # fmt: skip
    fill(halves, sample)
    done = judges(
        "calibrate", *arguments, "--gold", sample, "--label", "gold.correctness", "--positive", "correct",
        folder=halves, code=2,
    )  # fmt: skip
    assert message in done.stderr
    assert not (halves / "hand.json").exists()


@pytest.mark.parametrize(
    ("chosen", "required", "message"),
    [
        ("by-gold", "kappa>=0.4", "kappa is no value of the stream"),
        ("by-gold", "passes_right>=0.4", "recall and specificity hold"),
        ("by-verdict", "fails_found>=0.4", "npv and precision hold"),
        ("by-hand", "agreement>=0.4", "picked by hand"),
        ("tuning", "kappa>=0.4", "what the judge was tuned on"),
    ],
)
def test_what_the_said_way_of_choosing_can_not_tell_is_refused_too(
    halves: Path, chosen: str, required: str, message: str
) -> None:
    done = judges(
        "calibrate", "a", "--gold", "a.jsonl", "--label", "gold.correctness", "--positive", "correct",
        "--chosen", chosen, "--require", required, folder=halves, code=2,
    )  # fmt: skip
    assert f"--require {required}: " in done.stderr
    assert message in done.stderr


def test_a_stored_judge_can_not_be_saved(halves: Path) -> None:
    done = judges(
        "calibrate", "a.jsonl", "-j", "stored:judges.gpt-4.correctness", "--save", "x.json", folder=halves, code=2
    )
    assert "nobody knows what a stored judge was" in done.stderr
    assert not (halves / "x.json").exists()
