"""How often a 95% interval holds the true value: `python benchmarks/coverage.py [--json] [--save]`.

Labels are drawn at random from a population whose kappa, or whose true pass rate, is known; the package gives its
interval; that is done again and again. A good interval holds the truth in 95% of repeats and misses it as often on the
one side as on the other. Slow, so it is no part of `make bench`: `--save` writes the table into `results/`.

Populations:

- Two labels: human and judge use each label equally often; `prevalence` is the share of the rarer one. Cell
  probabilities follow from it and from kappa.
- Four levels, with weights: human uses them at 40, 30, 20 and 10%; what the judge says falls off by a factor with each
  level of distance.
- A pass rate: `theta` is the true one; the judge passes good answers at TPR and fails bad ones at TNR. `n` answers are
  labelled, 2,000 more are only judged. Post-stratified, PPI++, humans only: the labelled are a random sample.
  Rogan-Gladen: half of the labels are of good, half of bad answers. By verdict: half are of the judge's passes, half of
  its fails.
- Clusters of five: each has cell probabilities of its own, Dirichlet around the population's, so that answers of a
  cluster are correlated by 0.3.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.agreement import KappaInterval, cohen_kappa_of_table, kappa
from calibration.statistics.post_stratified import post_stratified_of_counts
from calibration.statistics.ppi import Stratum, ppi_mean, stratified_ppi
from calibration.statistics.prevalence import Selection, true_pass_rate
from calibration.statistics.rogan_gladen import rogan_gladen_of_counts
from calibration.statistics.tables import pairs_of_codes
from judges.figures import Figure
from judges.intervals import proportion_of_counts

RESULTS = Path(__file__).parent / "results"
LEVEL = 0.95
ENOUGH, ONE_SIDED = 0.93, 0.05
"""Below that coverage, or above that share of misses on one side, a row says so."""
UNLABELLED = 2_000
CLUSTER, CORRELATION = 5, 0.3
LEVELS = np.array([0.4, 0.3, 0.2, 0.1])

READING = """\
What the table with 2,000 repeats and seed 7 says:

- Kappa: `smoothed`, the default, keeps to 93% or more here; Wald falls to 36% where a class is rare. With rare
  classes (fewer than about 10 items) BCa is wider than `smoothed`, and at n 50 it often has no interval.
- Weighted kappa: BCa, the default, and `smoothed_indep` keep to 92% or more. At n 50 and high agreement the lower
  limit of BCa is too high in 7%: take `smoothed_indep` there.
- Kappa with clusters: ignoring clusters falls to 79%. The interval by cluster is still too short where a class is
  rare or clusters are few: 89% with 10 items of the rare class in 40 clusters.
- Pass rate: post-stratified, the default, keeps to 93% or more, and to 94% with clusters of five; where nearly all
  pass its few misses lie on one side. The judge's own rate, uncorrected, mostly misses.
- PPI++ on passes and fails: where most pass the lower limit is too high (92%; 86% with clusters). Don't use
  stratified PPI by verdict for passes and fails: down to 74% where the few labelled fails hold no error. Both are
  for scores.
- Rogan-Gladen: 95% or more where it answers; of a weak judge and 50 labels, or of few bad answers, it often has no
  answer.
"""
"""Written by hand; look at the table again when something changes."""

Table: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Row:
    """One interval under one setting."""

    group: str
    setting: str
    n: int
    method: str
    repeats: int
    no_answer: float
    """Share of repeats without a value, or whose interval is all there is; the rest of the row is of the others."""
    coverage: float
    truth_below: float
    """Share of repeats in which the truth lies below the interval."""
    truth_above: float
    width: float

    @property
    def standard_error(self) -> float:
        """Of the coverage, by the number of repeats."""
        return sqrt(self.coverage * (1 - self.coverage) / max(self.repeats * (1 - self.no_answer), 1))

    @property
    def warning(self) -> str:
        """In words, where chance alone doesn't explain it."""
        found: list[str] = []
        if self.coverage + 2 * self.standard_error < ENOUGH:
            found.append("too short")
        if self.truth_below > ONE_SIDED:
            found.append("lower limit too high")
        if self.truth_above > ONE_SIDED:
            found.append("upper limit too low")
        if self.no_answer > 0.1:
            found.append("often no answer")
        return ", ".join(found)


@dataclass(frozen=True, slots=True)
class Job:
    """One setting; its methods see the same draws."""

    run: Callable[["Job"], list[Row]]
    group: str
    n: int
    numbers: tuple[float, ...]
    repeats: int
    methods: tuple[str, ...]
    seed: int

    def row(self, setting: str, method: str, truth: float, figures: Iterable[tuple[Figure, int]]) -> Row:
        """What became of the repeats; each figure with how often it occurred."""
        seen: Counter[str] = Counter()
        width = 0.0
        for figure, times in figures:
            seen["all"] += times
            if figure.ci_low is None or figure.ci_high is None or figure.reason is not None:
                continue
            seen["answers"] += times
            seen["below"] += times * (truth < figure.ci_low - 1e-12)
            seen["above"] += times * (truth > figure.ci_high + 1e-12)
            width += times * (figure.ci_high - figure.ci_low)
        answers = max(seen["answers"], 1)
        below, above = seen["below"] / answers, seen["above"] / answers
        missing = 1 - seen["answers"] / seen["all"]
        return Row(
            self.group, setting, self.n, method, seen["all"], missing, 1 - below - above, below, above, width / answers
        )


# Kappa


def two_labels(prevalence: float, value: float) -> Table:
    """Cell probabilities of two raters with the same margins and this kappa."""
    margins = np.array([1 - prevalence, prevalence])
    return (1 - value) * np.outer(margins, margins) + value * np.diag(margins)


def four_levels(falls: float) -> Table:
    """Cell probabilities: the judge's level falls off by `falls` with each level of distance from the human's."""
    near = falls ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    return np.asarray(LEVELS[:, None] * near / near.sum(axis=1, keepdims=True), dtype=np.float64)


def weighted_kappa(cells: Table) -> float:
    """The population's, with quadratic weights; in plain formulas, apart from the package."""
    cost = np.subtract.outer(np.arange(len(cells)), np.arange(len(cells))) ** 2
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    return 1 - float((cost * cells).sum() / (cost * expected).sum())


def kappa_of_two(job: Job) -> list[Row]:
    prevalence, value = job.numbers
    return _kappas(job, two_labels(prevalence, value), value, f"prevalence {prevalence:g}, kappa {value:g}", "none")


def kappa_of_four(job: Job) -> list[Row]:
    cells = four_levels(job.numbers[0])
    truth = weighted_kappa(cells)
    return _kappas(job, cells, truth, f"four levels, weighted kappa {truth:.2f}", "quadratic")


def _kappas(job: Job, cells: Table, truth: float, setting: str, weights: str) -> list[Row]:
    generator = np.random.default_rng(job.seed)
    tables, times = np.unique(generator.multinomial(job.n, cells.ravel(), job.repeats), axis=0, return_counts=True)
    square = tables.reshape(-1, *cells.shape)
    rows: list[Row] = []
    for method in job.methods:
        interval: KappaInterval = method  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # of `jobs`
        quadratic = weights == "quadratic"
        figures = (
            cohen_kappa_of_table(table, weights="quadratic" if quadratic else "none", interval=interval)
            for table in square
        )
        rows.append(job.row(setting, method, truth, zip(figures, times.tolist(), strict=True)))
    return rows


def clustered_cells(generator: np.random.Generator, cells: Table, clusters: int) -> tuple[Counts, Counts]:
    """The cell of each item, and its cluster."""
    drawn = generator.dirichlet((1 / CORRELATION - 1) * cells.ravel(), clusters)
    places = generator.random((clusters, CLUSTER, 1)) > np.cumsum(drawn, axis=1)[:, None, :-1]
    return np.asarray(places.sum(axis=2).ravel(), dtype=np.int64), np.repeat(np.arange(clusters), CLUSTER)


def kappa_by_cluster(job: Job) -> list[Row]:
    prevalence, value = job.numbers
    cells, generator = two_labels(prevalence, value), np.random.default_rng(job.seed)
    found: dict[str, list[tuple[Figure, int]]] = {method: [] for method in job.methods}
    for _ in range(job.repeats):
        drawn, ids = clustered_cells(generator, cells, job.n // CLUSTER)
        human, judge = (each.astype(np.intp) for each in np.divmod(drawn, 2))
        for method, figures in found.items():
            clusters = None if method == "clusters ignored" else ids
            figures.append((kappa(pairs_of_codes(human, judge, labels=(0, 1), clusters=clusters)), 1))
    setting = f"prevalence {prevalence:g}, kappa {value:g}"
    return [job.row(setting, method, value, figures) for method, figures in found.items()]


# A true pass rate


@dataclass(frozen=True, slots=True)
class Drawn:
    """Counts of labelled items by human and judge, and the verdicts on the others."""

    tp: int
    fp: int
    fn: int
    tn: int
    passed: int
    failed: int

    @property
    def columns(self) -> tuple[Table, Table, Table]:
        """Human and judge of the labelled, judge of the others."""
        cells = (self.tp, self.fp, self.fn, self.tn)
        return (
            np.repeat([1.0, 0.0, 1.0, 0.0], cells),
            np.repeat([1.0, 1.0, 0.0, 0.0], cells),
            np.repeat([1.0, 0.0], (self.passed, self.failed)),
        )


def pass_rate_cells(theta: float, tpr: float, tnr: float) -> Table:
    """Rows: human fails, passes; columns: judge fails, passes."""
    return np.array([[(1 - theta) * tnr, (1 - theta) * (1 - tnr)], [theta * (1 - tpr), theta * tpr]])


def _binomial(generator: np.random.Generator, n: int, share: float) -> int:
    return int(generator.binomial(n, share))


def _random_sample(generator: np.random.Generator, cells: Table, n: int) -> Drawn:
    tn, fp, fn, tp = (int(each) for each in generator.multinomial(n, cells.ravel()))
    passed = _binomial(generator, UNLABELLED, float(cells[:, 1].sum()))
    return Drawn(tp, fp, fn, tn, passed, UNLABELLED - passed)


def _by_gold(generator: np.random.Generator, cells: Table, n: int) -> Drawn:
    tn, tp = (_binomial(generator, n // 2, float(cells[row, row] / cells[row].sum())) for row in (0, 1))
    passed = _binomial(generator, UNLABELLED, float(cells[:, 1].sum()))
    return Drawn(tp, n // 2 - tn, n // 2 - tp, tn, passed, UNLABELLED - passed)


def _by_verdict(generator: np.random.Generator, cells: Table, n: int) -> Drawn:
    fn, tp = (_binomial(generator, n // 2, float(cells[1, at] / cells[:, at].sum())) for at in (0, 1))
    passed = _binomial(generator, n + UNLABELLED, float(cells[:, 1].sum()))
    passed = min(max(passed, n // 2), UNLABELLED + n // 2)  # as many of each verdict as are to be labelled
    return Drawn(tp, n // 2 - tp, fn, n // 2 - fn, passed - n // 2, UNLABELLED + n // 2 - passed)


def _post_stratified(drawn: Drawn) -> Figure:
    table = (drawn.tp, drawn.fp, drawn.fn, drawn.tn)
    return post_stratified_of_counts(*table, drawn.passed, drawn.failed).estimate


def _rogan_gladen(drawn: Drawn) -> Figure:
    good, bad = drawn.tp + drawn.fn, drawn.fp + drawn.tn
    return rogan_gladen_of_counts(drawn.passed, UNLABELLED, drawn.tp, good, drawn.tn, bad).estimate


def _ppi(drawn: Drawn) -> Figure:
    """As `true_pass_rate` has it: without an error of the judge among the labels, the post-stratified interval."""
    found = ppi_mean(*drawn.columns).figure
    return _post_stratified(drawn) if "zero_residual_variance" in found.flags else found


def _strata(drawn: Drawn) -> Figure:
    human, judge, others = drawn.columns
    parts: list[Stratum] = []
    for verdict in (0.0, 1.0):
        own, rest = judge == verdict, others == verdict
        population = int(np.count_nonzero(own)) + int(np.count_nonzero(rest))
        parts.append(Stratum(human[own], judge[own], others[rest], population))
    return stratified_ppi(parts).figure


def _human_only(drawn: Drawn) -> Figure:
    return proportion_of_counts(drawn.tp + drawn.fn, drawn.tp + drawn.fn + drawn.fp + drawn.tn)


def _judge_only(drawn: Drawn) -> Figure:
    return proportion_of_counts(drawn.passed, UNLABELLED)


Sampler: TypeAlias = Callable[[np.random.Generator, Table, int], Drawn]
RATES: dict[str, tuple[Sampler, Callable[[Drawn], Figure]]] = {
    "post-stratified": (_random_sample, _post_stratified),
    "PPI++": (_random_sample, _ppi),
    "humans only": (_random_sample, _human_only),
    "judge only": (_random_sample, _judge_only),
    "Rogan-Gladen": (_by_gold, _rogan_gladen),
    "post-stratified, by verdict": (_by_verdict, _post_stratified),
    "stratified PPI, by verdict": (_by_verdict, _strata),
}


def pass_rate(job: Job) -> list[Row]:
    theta, tpr, tnr = job.numbers
    cells, rows = pass_rate_cells(theta, tpr, tnr), list[Row]()
    for method in job.methods:
        sampler, estimate = RATES[method]
        generator = np.random.default_rng([job.seed, list(RATES).index(method)])
        drawn = Counter(sampler(generator, cells, job.n) for _ in range(job.repeats))
        figures = ((estimate(each), times) for each, times in drawn.items())
        rows.append(job.row(_named(theta, tpr, tnr), method, theta, figures))
    return rows


def _named(theta: float, tpr: float, tnr: float) -> str:
    return f"theta {theta:g}, TPR {tpr:g}, TNR {tnr:g}"


def pass_rate_by_cluster(job: Job) -> list[Row]:
    theta, tpr, tnr = job.numbers
    cells, generator = pass_rate_cells(theta, tpr, tnr), np.random.default_rng(job.seed)
    found: dict[str, list[tuple[Figure, int]]] = {method: [] for method in job.methods}
    for _ in range(job.repeats):
        drawn, ids = clustered_cells(generator, cells, (job.n + UNLABELLED) // CLUSTER)
        (human, judge), n = np.divmod(drawn, 2), job.n
        for method, figures in found.items():
            selection: Selection = "old_error_rates" if method == "Rogan-Gladen" else "random"
            made = true_pass_rate(
                human[:n] == 1,
                judge[:n] == 1,
                judge[n:] == 1,
                selection=selection,
                estimator="ppi_plus_plus" if method == "PPI++" else None,
                clusters=None if method == "clusters ignored" else ids[:n],
                clusters_unlabelled=None if method == "clusters ignored" else ids[n:],
            )
            figures.append((made.estimate, 1))
    return [job.row(_named(theta, tpr, tnr), method, theta, figures) for method, figures in found.items()]


# All of it


def jobs(repeats: int, seed: int) -> list[Job]:
    few, fewer = max(repeats // 2, 1), max(repeats // 5, 1)  # items drawn one by one; bootstraps
    made: list[Job] = []

    def add(
        run: Callable[[Job], list[Row]],
        group: str,
        n: int,
        numbers: tuple[float, ...],
        many: int,
        methods: Sequence[str],
    ) -> None:
        made.append(Job(run, group, n, numbers, many, tuple(methods), seed + len(made)))

    for n in (50, 200, 1000):
        for prevalence in (0.05, 0.2, 0.5):
            for value in (0.3, 0.6, 0.9):
                add(kappa_of_two, "kappa", n, (prevalence, value), repeats, ("smoothed", "wald"))
    for n in (50, 200):
        for numbers in ((0.05, 0.6), (0.2, 0.6), (0.2, 0.9)):
            add(kappa_of_two, "kappa, bootstrapped", n, numbers, fewer, ("bca", "percentile", "smoothed"))
    for n in (50, 200, 1000):
        for falls in (0.5, 0.2):
            add(kappa_of_four, "weighted kappa", n, (falls,), fewer, ("bca", "smoothed_indep", "wald"))
    for n in (50, 200, 1000):
        for numbers in ((0.05, 0.6), (0.2, 0.6), (0.5, 0.6), (0.5, 0.9)):
            methods = ("smoothed, by cluster", "clusters ignored")
            add(kappa_by_cluster, "kappa, clusters of 5", n, numbers, few, methods)
    judged = ((0.95, 0.9), (0.9, 0.6), (0.7, 0.7))
    for n in (50, 200):
        for theta in (0.5, 0.8, 0.95):
            for tpr, tnr in judged:
                add(pass_rate, "pass rate", n, (theta, tpr, tnr), repeats, tuple(RATES))
    for n in (50, 200):
        for rates in ((0.5, 0.95, 0.9), (0.8, 0.9, 0.6), (0.95, 0.9, 0.6)):
            estimators = ("post-stratified", "PPI++", "Rogan-Gladen", "clusters ignored")
            add(pass_rate_by_cluster, "pass rate, clusters of 5", n, rates, few, estimators)
    return made


def _run(job: Job) -> list[Row]:
    return job.run(job)


def simulate(repeats: int, seed: int, workers: int) -> list[Row]:
    planned = jobs(repeats, seed)
    with ProcessPoolExecutor(workers) as pool:
        return [row for rows in pool.map(_run, planned) for row in rows]


def worst_of(rows: Sequence[Row]) -> list[tuple[str, str, int, Row]]:
    """For each group and method: settings, how many of them carry a warning, and the one with the lowest coverage."""
    by: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by.setdefault((row.group, row.method), []).append(row)
    return [
        (group, method, sum(bool(each.warning) for each in found), min(found, key=lambda each: each.coverage))
        for (group, method), found in by.items()
    ]


def markdown(rows: Sequence[Row], repeats: int, seed: int, minutes: float) -> Iterable[str]:
    counts = [row.repeats for row in rows]
    least, most = (sqrt(LEVEL * (1 - LEVEL) / each) for each in (max(counts), min(counts)))
    yield "# How often a 95% interval holds the true value"
    yield ""
    yield (
        f"Made by `python benchmarks/coverage.py --save --repeats {repeats} --seed {seed}` in {minutes:.1f} minutes; "
        "the script says what is drawn. `below` and `above`: share of repeats in which the truth lies below or above "
        "the interval, 2.5% each if all is well. `no answer`: share of repeats without a value, or whose interval is "
        f"all there is; the other columns are of the rest. The standard error of a coverage of 95% is {least:.1%} to "
        f"{most:.1%}, by the number of repeats. `warning`: `too short` is a coverage below {ENOUGH:.0%} by more than "
        f"two of them; a limit is too high or too low where the truth lies beyond it in more than {ONE_SIDED:.0%}."
    )
    yield ""
    yield "| of | interval | settings with a warning | lowest coverage | where |"
    yield "| --- | --- | ---: | ---: | --- |"
    for group, method, warned, row in worst_of(rows):
        yield f"| {group} | {method} | {warned} | {row.coverage:.1%} | n {row.n}, {row.setting} |"
    yield ""
    yield READING.rstrip()
    for group in dict.fromkeys(row.group for row in rows):
        yield ""
        yield f"## {group[0].upper()}{group[1:]}"
        yield ""
        yield "| n | setting | interval | repeats | no answer | coverage | below | above | mean width | warning |"
        yield "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
        for row in rows:
            if row.group == group:
                shares = (row.no_answer, row.coverage, row.truth_below, row.truth_above)
                cells = " | ".join(f"{each:.1%}" for each in shares)
                yield (
                    f"| {row.n} | {row.setting} | {row.method} | {row.repeats:,} | {cells} | {row.width:.3f} "
                    f"| {row.warning} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description="How often a 95% interval holds the true value.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--save", action="store_true", help="write results/coverage.md and results/coverage.json")
    parser.add_argument(
        "--repeats", type=int, default=2_000, help="of each setting; half with clusters, a fifth with bootstraps"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the random numbers (default: 7)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    began = time.perf_counter()
    rows = simulate(options.repeats, options.seed, options.workers)
    minutes = (time.perf_counter() - began) / 60
    document = {
        "benchmark": "coverage",
        "repeats": options.repeats,
        "seed": options.seed,
        "rows": [
            {name: round(value, 5) if isinstance(value, float) else value for name, value in asdict(row).items()}
            | {"standard_error": round(row.standard_error, 5), "warning": row.warning}
            for row in rows
        ],
    }
    written = json.dumps(document, indent=1) + "\n"
    text = "\n".join(markdown(rows, options.repeats, options.seed, minutes)) + "\n"
    if options.save:
        (RESULTS / "coverage.json").write_text(written, encoding="utf-8")
        (RESULTS / "coverage.md").write_text(text, encoding="utf-8")
    sys.stdout.write(written if options.json else text)


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
