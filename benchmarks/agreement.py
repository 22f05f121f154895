"""How fast agreement is measured: `python benchmarks/agreement.py [--json] [--only kappa,correlations,page]`.

`kappa`: the percentile interval of Cohen's kappa by 10,000 resamples of 2,000 items, from labels to interval. Ours
counts the K x K table once and draws tables (multinomial). `scipy.stats.bootstrap` draws items; its statistic is plain
numpy along the last axis, 250 resamples at a time, label codes of one byte. The loop over scikit-learn's
`cohen_kappa_score` draws items, 100 times; its time is multiplied by 100. Rounds are interleaved: each does all three,
one after the other.

`correlations`: 30,000 clusters of one item, scores without ties, 2,000 resamples of whole clusters; beside a loop over
`scipy.stats`, 10 times, its time multiplied by 200.

`page`: `judges calibrate --html` of a run with 100,000 labelled cases, as a process of its own. That the run is made
first, by `judges run` with the overlap judge, is not counted.

That all agree is checked: values to rounding, intervals to what chance in drawing explains. Figures depend on the
machine; read the ratios. CPU time is that of the process, all threads together.
"""

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.agreement import kappa
from calibration.statistics.scores import kendall, pair_scores, pearson, spearman
from calibration.statistics.tables import pair_labels

Codes: TypeAlias = NDArray[np.int8]
Scores: TypeAlias = NDArray[np.float64]
Library: TypeAlias = Any
"""A module without types, or what it made."""

RESAMPLES = 10_000
SKLEARN_RESAMPLES = 100
BATCH = 250
OURS_A_ROUND = 10
AIMS = {"scikit-learn loop": 1 / 500, "scipy.stats.bootstrap": 1 / 20}
CLUSTER_RESAMPLES, SCIPY_RESAMPLES = 2_000, 10
WORDS = 5_000


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, the least and the median of the rounds."""

    cpu: float
    cpu_median: float
    wall: float
    wall_median: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours over theirs, by the least CPU time and the least wall time of each."""

    setting: str
    beside: str
    cpu: float
    wall: float
    at_most: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """What `judges calibrate --html` took."""

    cases: int
    cpu_seconds: float
    wall_seconds: float
    peak_mb: float


class Clock:
    """Times things by name, round after round."""

    def __init__(self) -> None:
        self._rounds: dict[str, list[tuple[float, float]]] = {}

    def __call__(self, name: str, function: Callable[[], object], *, calls: int = 1, times: float = 1.0) -> None:
        """Call the function so often; what one call takes counts `times` over."""
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(calls):
            function()
        took = (time.process_time() - cpu, time.perf_counter() - wall)
        scaled = took[0] * times / calls, took[1] * times / calls
        self._rounds.setdefault(name, []).append(scaled)

    def timings(self) -> dict[str, Timing]:
        """Of everything so far."""
        found: dict[str, Timing] = {}
        for name, rounds in self._rounds.items():
            cpu, wall = zip(*rounds, strict=True)
            found[name] = Timing(min(cpu), statistics.median(cpu), min(wall), statistics.median(wall))
        return found


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"they disagree: {what}")


# Kappa


def make_labels(n: int, k: int) -> tuple[Codes, Codes]:
    """The judge says what people say in 85% of items, else anything."""
    chance = np.random.default_rng(7)
    gold = chance.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    judge = np.where(chance.random(n) < 0.85, gold, chance.integers(k, size=n))
    return gold.astype(np.int8), judge.astype(np.int8)


def kappa_along(gold: Codes, judge: Codes, k: int, axis: int) -> Scores:
    """Cohen's kappa of each resample: the statistic for scipy."""
    seen = np.mean(gold == judge, axis=axis)
    expected = np.zeros_like(seen)
    for label in range(k):
        expected += np.mean(gold == label, axis=axis) * np.mean(judge == label, axis=axis)
    return np.asarray((seen - expected) / (1 - expected), dtype=np.float64)


def time_kappa(n: int, k: int, rounds: int) -> dict[str, Timing]:
    import scipy.stats
    import sklearn.metrics  # pyright: ignore[reportMissingTypeStubs]

    bootstrap: Library = scipy.stats.bootstrap
    score: Library = sklearn.metrics.cohen_kappa_score  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    gold, judge = make_labels(n, k)
    people, said, labels = gold.tolist(), judge.tolist(), list(range(k))
    chance = np.random.default_rng(11)

    def ours() -> tuple[float, float, float]:
        pairs = pair_labels(people, said, labels=labels)
        found = kappa(pairs, interval="percentile", resamples=RESAMPLES)
        if found.value is None or found.ci_low is None or found.ci_high is None:
            sys.exit(f"kappa has no interval: {found.reason}")
        return found.value, found.ci_low, found.ci_high

    def by_scipy() -> tuple[float, float]:
        def statistic(first: Codes, second: Codes, axis: int = -1) -> Scores:
            return kappa_along(first, second, k, axis)

        made: Library = bootstrap(
            (gold, judge),
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=BATCH,
            method="percentile",
            rng=chance,
        )
        return float(made.confidence_interval.low), float(made.confidence_interval.high)

    def by_sklearn() -> list[float]:
        drawn = (chance.integers(n, size=n) for _ in range(SKLEARN_RESAMPLES))
        return [float(score(gold[chosen], judge[chosen], labels=labels)) for chosen in drawn]

    value, low, high = ours()
    check(abs(value - float(score(gold, judge, labels=labels))) < 1e-12, "kappa by scikit-learn")
    others = by_scipy()
    near = (high - low) / 10
    check(
        abs(others[0] - low) < near and abs(others[1] - high) < near,
        f"the interval by scipy: {others}, ours {low, high}",
    )
    inside = np.mean([low <= each <= high for each in by_sklearn()])
    check(bool(inside > 0.8), f"only {inside:.0%} of scikit-learn's resamples lie in our 95% interval")
    clock = Clock()
    for _ in range(rounds):
        clock("ours", ours, calls=OURS_A_ROUND)
        clock("scipy.stats.bootstrap", by_scipy)
        clock("scikit-learn loop", by_sklearn, times=RESAMPLES / SKLEARN_RESAMPLES)
    return clock.timings()


# Correlations


def time_correlations(n: int) -> dict[str, Timing]:
    import scipy.stats

    plain: dict[str, Library] = {
        "Pearson": scipy.stats.pearsonr,
        "Spearman": scipy.stats.spearmanr,
        "Kendall": scipy.stats.kendalltau,
    }
    chance = np.random.default_rng(7)
    human = chance.normal(size=n)
    judge = human + chance.normal(size=n)
    pairs = pair_scores(human, judge, clusters=np.arange(n))
    clock = Clock()
    for name, ours in (("Pearson", pearson), ("Spearman", spearman), ("Kendall", kendall)):
        theirs = plain[name]
        value = ours(pair_scores(human, judge)).value
        check(value is not None and abs(value - float(theirs(human, judge).statistic)) < 1e-9, f"{name} by scipy")
        clock(f"{name}, ours", partial(ours, pairs, resamples=CLUSTER_RESAMPLES))

        def loop(theirs: Library = theirs) -> None:
            for _ in range(SCIPY_RESAMPLES):
                chosen = chance.integers(n, size=n)
                theirs(human[chosen], judge[chosen])

        clock(f"{name}, scipy loop", loop, times=CLUSTER_RESAMPLES / SCIPY_RESAMPLES)
    return clock.timings()


# The page


def write_cases(folder: Path, count: int) -> tuple[Path, Path]:
    """Answers that share more or fewer words with their passage, and labels that mostly follow that."""
    chance = np.random.default_rng(7)
    cases, labels = folder / "cases.jsonl", folder / "labels.jsonl"
    with cases.open("w", encoding="utf-8") as first, labels.open("w", encoding="utf-8") as second:
        for number in range(count):
            passage, others = chance.integers(WORDS, size=30), chance.integers(WORDS, size=12)
            shared = chance.random()
            answer = np.where(chance.random(12) < shared, passage[:12], others)[: chance.integers(4, 13)]
            case = {
                "id": f"case-{number:06d}",
                "lang": "en" if number % 3 else "ro",
                "question": text_of(others[:6]),
                "contexts": [{"id": "passage", "text": text_of(passage)}],
                "answer": text_of(answer),
            }
            good = bool(chance.random() < (0.95 if shared > 0.5 else 0.1))
            first.write(json.dumps(case) + "\n")
            second.write(json.dumps({"id": case["id"], "gold": {"faithfulness": "pass" if good else "fail"}}) + "\n")
    return cases, labels


def text_of(numbers: NDArray[np.int64]) -> str:
    return " ".join(f"word{each}" for each in numbers.tolist())


def time_page(count: int) -> Page:
    command = [sys.executable, "-m", "judges"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases, labels = write_cases(folder, count)
        run = str(folder / "run")
        judged = [*command, "run", str(cases), "--judge", "overlap", "--criterion", "faithfulness", "--out", run]
        subprocess.run(judged, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked = ["--gold", str(labels), "--label", "gold.faithfulness", "--html", str(folder / "page.html")]
        wall = time.perf_counter()
        process = subprocess.Popen(
            [*command, "calibrate", run, *asked], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - wall
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"judges calibrate ended with {process.returncode}")
        peak = used.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
        return Page(count, used.ru_utime + used.ru_stime, wall, peak)


# All of it


def ratios_of(setting: str, timings: Mapping[str, Timing], pairs: Sequence[tuple[str, str]]) -> list[Ratio]:
    return [
        Ratio(
            setting,
            other,
            timings[ours].cpu / timings[other].cpu,
            timings[ours].wall / timings[other].wall,
            AIMS.get(other),
        )
        for ours, other in pairs
    ]


def show(title: str, timings: Mapping[str, Timing], ratios: Sequence[Ratio]) -> None:
    print(title)
    print(f"{'':<28}{'CPU s':>12}{'median':>12}{'wall s':>12}{'median':>12}")
    for name, each in timings.items():
        print(f"{name:<28}{each.cpu:>12.4f}{each.cpu_median:>12.4f}{each.wall:>12.4f}{each.wall_median:>12.4f}")
    print(f"{'ours beside':<28}{'CPU':>12}{'':>12}{'wall':>12}{'at most':>12}")
    for ratio in ratios:
        aim = "" if ratio.at_most is None else f"1/{1 / ratio.at_most:,.0f}"
        print(f"{ratio.beside:<28}{f'1/{1 / ratio.cpu:,.1f}':>12}{'':>12}{f'1/{1 / ratio.wall:,.1f}':>12}{aim:>12}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to measure agreement.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--only", default="kappa,correlations,page", help="some of: kappa,correlations,page")
    parser.add_argument("--rounds", type=int, default=5, help="of each kappa (default: 5)")
    parser.add_argument("--items", type=int, default=2_000, help="items of each kappa (default: 2,000)")
    parser.add_argument("--clusters", type=int, default=30_000, help="of the correlations (default: 30,000)")
    parser.add_argument("--cases", type=int, default=100_000, help="of the page (default: 100,000)")
    options = parser.parse_args()
    wanted = set(options.only.split(","))
    sections: dict[str, dict[str, Timing]] = {}
    ratios: list[Ratio] = []
    if "kappa" in wanted:
        for k in (2, 4):
            title = f"kappa of {k} labels, {options.items:,} items, {RESAMPLES:,} resamples"
            sections[title] = time_kappa(options.items, k, options.rounds)
            ratios += ratios_of(title, sections[title], [("ours", other) for other in AIMS])
    if "correlations" in wanted:
        title = f"correlations, {options.clusters:,} clusters, {CLUSTER_RESAMPLES:,} resamples"
        sections[title] = time_correlations(options.clusters)
        pairs = [(f"{name}, ours", f"{name}, scipy loop") for name in ("Pearson", "Spearman", "Kendall")]
        ratios += ratios_of(title, sections[title], pairs)
    page = time_page(options.cases) if "page" in wanted else None
    if options.json:
        document = {
            "benchmark": "agreement",
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "rounds": options.rounds,
            "sections": {
                title: {
                    name: {key: round(value, 5) for key, value in asdict(each).items()} for name, each in found.items()
                }
                for title, found in sections.items()
            },
            "ratios": [asdict(each) for each in ratios],
            "page": None if page is None else asdict(page),
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    for title, found in sections.items():
        show(title, found, [each for each in ratios if each.setting == title])
    if page is not None:
        print(f"judges calibrate --html, {page.cases:,} labelled cases")
        print(f"{page.cpu_seconds:.1f} CPU s, {page.wall_seconds:.1f} wall s, {page.peak_mb:.0f} MB at most")


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
