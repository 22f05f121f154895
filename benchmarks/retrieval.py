"""How fast retrieval is measured, beside pytrec_eval and ranx: `python benchmarks/retrieval.py [--json]`.

All measure the same made-up rankings by the same metrics, once from memory, each in its own form (ours arrays, theirs
what their own readers make), and once from files in TREC's format, reading counted. ranx has compiled its code before
the clock starts. That all agree is checked on every query: a fast wrong number is worth nothing.

Needs `pip install pytrec-eval-terrier ranx`; whichever is missing is left out. Figures depend on the machine; read the
ratios. CPU time is this process's, all threads together; garbage of one is collected before the next begins.
"""

import argparse
import gc
import importlib
import json
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from judges.retrieval.arrays import Measurements, measure_places, place_arrays
from judges.retrieval.metrics import Metric
from judges.retrieval.qrels import read_trec_qrels
from judges.retrieval.trec import place_trec

Numbers: TypeAlias = NDArray[np.int64]
Dicts: TypeAlias = dict[str, dict[str, Any]]
Library: TypeAlias = Any
"""A module without types, or what it made."""

CUT_OFFS = (1, 3, 5, 10)
METRICS = [
    *(Metric(name, k) for name in ("P", "recall", "hit", "nDCG") for k in CUT_OFFS),
    Metric("RR"),
    Metric("AP"),
    Metric("Rprec"),
]
PYTREC = {"P": "P", "recall": "recall", "hit": "success", "nDCG": "ndcg_cut"}
RANX = {"P": "precision", "recall": "recall", "hit": "hit_rate", "nDCG": "ndcg"}
WHOLE = {"RR": ("recip_rank", "mrr"), "AP": ("map", "map"), "Rprec": ("Rprec", "r-precision")}


@dataclass(frozen=True, slots=True)
class Material:
    """Rankings and judgements as arrays."""

    documents: Numbers
    scores: NDArray[np.float64]
    judged: tuple[Numbers, Numbers, Numbers]

    @property
    def queries(self) -> int:
        """Rankings there are."""
        return len(self.documents)


@dataclass(frozen=True, slots=True)
class Timing:
    """What one of them took."""

    cpu_seconds: float
    wall_seconds: float


def make_material(queries: int, depth: int, judged: int, *, shuffled: bool) -> Material:
    """Half of the judged documents were retrieved, anywhere; grades are 0 to 2.

    No score occurs twice in a ranking, in single precision either: that is what trec_eval holds scores in.
    """
    chance = np.random.default_rng(7)
    corpus = 40 * depth
    documents = np.stack([chance.choice(corpus, depth, replace=False) for _ in range(queries)]).astype(np.int64)
    steps = np.stack([chance.choice(1_000_000, depth, replace=False) for _ in range(queries)])
    scores = np.sort(steps, axis=1)[:, ::-1] / 1_000_000
    found = np.stack([chance.choice(row, judged // 2, replace=False) for row in documents])
    others = np.stack([chance.choice(corpus, judged - judged // 2, replace=False) for _ in range(queries)])
    pairs = np.unique(
        np.column_stack([np.repeat(np.arange(queries), judged), np.hstack([found, others]).ravel()]), axis=0
    )
    if shuffled:
        order = chance.permuted(np.tile(np.arange(depth), (queries, 1)), axis=1)
        documents = np.take_along_axis(documents, order, axis=1)
        scores = np.take_along_axis(scores, order, axis=1)
    return Material(documents, scores, (pairs[:, 0], pairs[:, 1], chance.integers(0, 3, len(pairs))))


def name_of(document: int) -> str:
    """Names in the order of their numbers."""
    return f"doc-{document:07d}"


def dicts_of(material: Material) -> tuple[Dicts, Dicts]:
    """Qrels and rankings as the other two take them."""
    qrels: Dicts = {str(query): {} for query in range(material.queries)}
    for query, document, grade in zip(*(each.tolist() for each in material.judged), strict=True):
        qrels[str(query)][name_of(document)] = grade
    rankings: Dicts = {
        str(query): dict(zip(map(name_of, row), scores, strict=True))
        for query, (row, scores) in enumerate(zip(material.documents.tolist(), material.scores.tolist(), strict=True))
    }
    return qrels, rankings


def write_files(qrels: Dicts, rankings: Dicts, folder: Path) -> tuple[Path, Path]:
    paths = folder / "qrels.txt", folder / "ranking.txt"
    with paths[0].open("w", encoding="utf-8") as file:
        for query, grades in qrels.items():
            file.writelines(f"{query} 0 {document} {grade}\n" for document, grade in grades.items())
    with paths[1].open("w", encoding="utf-8") as file:
        for query, scores in rankings.items():
            file.writelines(
                f"{query} Q0 {document} {rank} {score!r} made\n"
                for rank, (document, score) in enumerate(scores.items(), 1)
            )
    return paths


def blocks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(1 << 17):
            yield block


def ours_from_files(qrels: Path, ranking: Path) -> Measurements:
    name = str(qrels)
    with qrels.open("rb") as file:
        judged = read_trec_qrels((f"{name}:{number}", line) for number, line in enumerate(file, 1))
    return measure_places(METRICS, place_trec(blocks_of(ranking), str(ranking), judged).places)


def module(name: str) -> Library | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def pytrec_name(metric: Metric, joint: str = "_") -> str:
    return WHOLE[metric.name][0] if metric.k is None else f"{PYTREC[metric.name]}{joint}{metric.k}"


def ranx_name(metric: Metric) -> str:
    return WHOLE[metric.name][1] if metric.k is None else f"{RANX[metric.name]}@{metric.k}"


def by_pytrec(
    library: Library,
    qrels: Dicts,
    rankings: Dicts,
) -> Mapping[str, Mapping[str, float]]:
    wanted = {pytrec_name(metric, ".") for metric in METRICS}
    evaluated: Any = library.RelevanceEvaluator(qrels, wanted).evaluate(rankings)
    return cast("Mapping[str, Mapping[str, float]]", evaluated)


def pytrec_from_files(library: Library, qrels: Path, ranking: Path) -> Mapping[str, Mapping[str, float]]:
    with qrels.open(encoding="utf-8") as judged, ranking.open(encoding="utf-8") as retrieved:
        return by_pytrec(library, library.parse_qrel(judged), library.parse_run(retrieved))


def by_ranx(library: Library, qrels: Library, rankings: Library) -> Mapping[str, NDArray[np.float64]]:
    found: Any = library.evaluate(qrels, rankings, list(map(ranx_name, METRICS)), return_mean=False)
    return cast("Mapping[str, NDArray[np.float64]]", found)


def check(ours: Measurements, theirs: Callable[[Metric, int], float], who: str) -> None:
    """That both have the same value of each query and metric."""
    for metric in METRICS:
        for number, (query, value) in enumerate(zip(ours.queries, ours.values[metric].tolist(), strict=True)):
            other = theirs(metric, number)
            if abs(value - other) > 1e-6:
                sys.exit(f"{metric} of query {query}: {value} by ours, {other} by {who}")


Result = TypeVar("Result")


def clock(timings: dict[str, Timing], name: str, function: Callable[[], Result]) -> Result:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    result = function()
    timings[name] = Timing(time.process_time() - cpu, time.perf_counter() - wall)
    return result


def compare(material: Material) -> dict[str, Timing]:
    timings: dict[str, Timing] = {}
    qrels, rankings = dicts_of(material)
    arrays = (material.documents, material.scores, material.judged)
    ours = clock(timings, "ours", lambda: measure_places(METRICS, place_arrays(*arrays)))
    pytrec, ranx = module("pytrec_eval"), module("ranx")
    if pytrec is not None:
        by_query = clock(timings, "pytrec_eval", lambda: by_pytrec(pytrec, qrels, rankings))
        check(ours, lambda metric, query: by_query[str(query)][pytrec_name(metric)], "pytrec_eval")
    if ranx is not None:
        warnings.simplefilter("ignore")  # numba's, about its own integers
        few = [str(query) for query in range(3)]
        by_ranx(
            ranx,
            ranx.Qrels({query: qrels[query] for query in few}),
            ranx.Run({query: rankings[query] for query in few}),
        )
        judged, retrieved = ranx.Qrels(qrels), ranx.Run(rankings)
        by_metric = clock(timings, "ranx", lambda: by_ranx(ranx, judged, retrieved))
        order = {query: place for place, query in enumerate(retrieved.keys())}
        check(ours, lambda metric, query: float(by_metric[ranx_name(metric)][order[str(query)]]), "ranx")
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(qrels, rankings, Path(folder))
        again = clock(timings, "ours, files", lambda: ours_from_files(*paths))
        check(again, lambda metric, query: float(ours.values[metric][int(again.queries[query])]), "ours from memory")
        if pytrec is not None:
            clock(timings, "pytrec_eval, files", lambda: pytrec_from_files(pytrec, *paths))
    return timings


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to measure rankings, beside pytrec_eval and ranx.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--queries", type=int, default=10_000, help="rankings (default: 10,000)")
    parser.add_argument("--documents", type=int, default=1_000, help="documents a ranking (default: 1,000)")
    parser.add_argument("--judged", type=int, default=20, help="judged documents a query (default: 20)")
    parser.add_argument("--shuffled", action="store_true", help="rankings in no order, to be sorted by score")
    options = parser.parse_args()
    timings = compare(make_material(options.queries, options.documents, options.judged, shuffled=options.shuffled))
    pairs = [("ours", "pytrec_eval", 1 / 10), ("ours", "ranx", 1 / 5), ("ours, files", "pytrec_eval, files", 1 / 2)]
    ratios = [
        (f"{name} / {other}", timings[name].cpu_seconds / timings[other].cpu_seconds, aim)
        for name, other, aim in pairs
        if other in timings
    ]
    if options.json:
        document = {
            "benchmark": "retrieval",
            "python": platform.python_version(),
            "queries": options.queries,
            "documents_per_query": options.documents,
            "judged_per_query": options.judged,
            "shuffled": options.shuffled,
            "metrics": list(map(str, METRICS)),
            "seconds": {
                name: {"cpu": round(timing.cpu_seconds, 4), "wall": round(timing.wall_seconds, 4)}
                for name, timing in timings.items()
            },
            "ratios": {name: {"cpu": round(ratio, 4), "aim": aim} for name, ratio, aim in ratios},
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    print(f"{options.queries:,} queries x {options.documents:,} documents, {len(METRICS)} metrics")
    print(f"{'':<32}{'CPU s':>10}{'wall s':>10}")
    for name, timing in timings.items():
        print(f"{name:<32}{timing.cpu_seconds:>10.3f}{timing.wall_seconds:>10.3f}")
    print(f"{'':<32}{'ratio':>10}{'at most':>10}")
    for name, ratio, aim in ratios:
        print(f"{name:<32}{ratio:>10.3f}{aim:>10.3f}")


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: what numba, of ranx, imports as `coverage` is not the script beside this one
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
