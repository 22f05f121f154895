"""Hosted models: what a call costs, how fast it goes, and what limits and faults do to it.

    python benchmarks/hosted.py [--quick]

All is measured in one run on one machine, against a model server on loopback in a process of its own (that of the
tests: both vendors' formats, limits truly enforced, faults). Each measurement is a process of its own; those that are
compared take turns, several rounds of them, and medians are compared:

    ours        the whole pipeline: cases from a file, prompts, cache and ledger on disk, limits, verdicts
    ours untold the same, where nobody states how many calls may be in flight: it finds out that 64 may
    sdk         the vendor's SDK as most use it: `create`, a semaphore, `gather`
    sdk aiohttp the same, with the SDK's aiohttp transport
    bare        aiohttp alone: the floor

CPU time is that of the client's process. Wall time, and what follows from it, depends on who else is using the machine.
The figures of a whole run, a quarter of an hour, go to `results/hosted.md` and `.json`. `--quick` proves little.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.engine import generate
from benchmarks.hosted_client import Measured, Task, Variant, Vendor
from support.model_server import RunningServer

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "hosted.json"
BRAIN = "support.judging_brain:judge"
LATENCY = 0.2
VARIED = (0.15, 0.25)
"""Real replies don't take equally long. Where they do, calls that began together go on together, which is cheaper."""
PER_MINUTE = 1500
Way = TypeVar("Way", bound=str)
VARIANTS: tuple[Variant, ...] = ("ours", "sdk", "sdk_aiohttp", "bare")
NAMES: Mapping[Variant, str] = {"ours": "ours", "sdk": "sdk", "sdk_aiohttp": "sdk aiohttp", "bare": "bare"}
UNTOLD = "ours untold"
FAULTS = (
    "rate_limited", "internal", "bad_gateway", "unavailable", "overloaded", "bad_request", "hang", "reset",
    "reset_body", "truncated_json", "html", "empty_body", "error_as_success", "prose", "fences", "truncated",
    "missing_claims", "extra_claims", "unknown_id", "duplicate_keys", "duplicate_claims", "wrong_types", "reordered",
    "unknown_level", "empty_content", "not_json", "refusal", "content_filter",
)  # fmt: skip
FAULTY = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    calls: int = 2000
    rounds: int = 2
    many_calls: tuple[int, ...] = (2000, 8000)
    many_rounds: int = 3
    limited: int = 500
    faulty: int = 2000
    waiters: int = 1000
    hits: int = 20_000
    cases: int = 100_000


QUICK = Size(400, 1, (500,), 1, 250, 300, 200, 3000, 3000)


@dataclass(frozen=True, slots=True)
class Row:
    """One figure."""

    section: str
    what: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.at_most is None and self.at_least is None:
            return None
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )

    @property
    def target(self) -> str:
        """The target in words."""
        if self.at_most is not None:
            return f"at most {shown(self.at_most, self.unit)}"
        return "" if self.at_least is None else f"at least {shown(self.at_least, self.unit)}"


def shown(value: float, unit: str) -> str:
    if unit == "%":
        return f"{value:.1%}"
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.2f}"
    return f"{text} {unit}".rstrip()


@dataclass(slots=True)
class Bench:
    """The folder, the sizes, and the figures so far."""

    folder: Path
    size: Size
    rows: list[Row] = field(default_factory=list[Row])
    runs: int = 0

    def add(self, row: Row) -> None:
        """Keep a figure, and show it."""
        self.rows.append(row)
        met = {True: "met", False: "NOT MET", None: ""}[row.is_met]
        print(f"  {row.what:<58}{shown(row.value, row.unit):>14}   {row.target:<20}{met}", flush=True)

    def cases(self, count: int) -> str:
        """A file of so many cases, and those to warm up with."""
        path = self.folder / f"cases-{count}.jsonl"
        if not path.exists():
            generate(path, count)
        return str(path)

    def task(self, server: RunningServer, count: int, *, criterion: str = "answer_relevance") -> Task:
        """So many calls by ours, in a folder of their own."""
        self.runs += 1
        folder = str(self.folder / f"run-{self.runs}")
        return Task("ours", server.url, self.cases(count), folder, "", criterion=criterion)

    def with_bodies(self, task: Task) -> Task:
        """The same task, with what ours posts for it, for the others to post."""
        path = self.folder / f"bodies-{task.vendor}-{task.criterion}-{Path(task.cases).stem}.jsonl"
        given = replace(task, bodies=str(path))
        if not path.exists():
            client(replace(given, variant="bodies"))
        return given


def client(task: Task, *, is_aside: bool = False) -> Measured:
    """Run one client to its end. `is_aside`: only when nobody else wants the processor."""
    arguments = [sys.executable, str(ROOT / "benchmarks" / "hosted_client.py"), json.dumps(asdict(task))]
    done = subprocess.run(
        [*(["nice", "-n", "19"] if is_aside else []), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode:
        sys.exit(f"{task.variant}: {done.stderr[-2000:]}")
    return Measured(**json.loads(done.stdout))


@contextmanager
def served(latency: float | tuple[float, float] = 0.0) -> Generator[RunningServer]:
    with RunningServer.start(brain=BRAIN, keep_bodies=False, latency=latency) as server:
        yield server


def in_turns(variants: Iterable[Way], rounds: int, run: Callable[[Way], Measured]) -> dict[Way, list[Measured]]:
    """All variants, one after the other, so many times."""
    found: dict[Way, list[Measured]] = defaultdict(list)
    for _ in range(rounds):
        for variant in variants:
            found[variant].append(run(variant))
    return found


# --- What a call costs ----------------------------------------------------------------------------------------------


def costs(bench: Bench, server: RunningServer, latency: str, vendor: Vendor, criterion: str) -> None:
    """CPU time of a call, and how much of the time that 64 in flight could save is saved."""
    calls = bench.size.calls
    section = f"{vendor}, {calls:,} calls of {latency} ms, 64 in flight: {criterion}"
    print(f"\n{section}")

    ways: dict[str, tuple[Variant, int | None]] = {name: (variant, 64) for variant, name in NAMES.items()}
    ways[UNTOLD] = "ours", None

    def run(name: str) -> Measured:
        variant, in_flight = ways[name]
        task = bench.task(server, calls + 20, criterion=criterion)
        return client(bench.with_bodies(replace(task, variant=variant, vendor=vendor, in_flight=in_flight)))

    found = in_turns(ways, bench.size.rounds, run)
    cpu = {name: median(each.cpu_seconds / calls * 1e3 for each in runs) for name, runs in found.items()}
    wall = {name: median(each.wall_seconds for each in runs) for name, runs in found.items()}
    for name in ways:
        bench.add(Row(section, f"CPU a call, {name}", cpu[name], "ms"))
    for other, at_most in (("sdk", 0.55), ("sdk aiohttp", 0.75)):
        bench.add(Row(section, f"CPU a call, ours beside {other}", cpu["ours"] / cpu[other], at_most=at_most))
        bench.add(Row(section, f"CPU a call, {UNTOLD} beside {other}", cpu[UNTOLD] / cpu[other]))
    for name, (variant, _) in ways.items():
        least = 0.80 if variant == "ours" else None
        bench.add(Row(section, f"efficiency, {name}", calls * LATENCY / 64 / wall[name], at_least=least))
    bench.add(Row(section, "calls lost by ours", sum(each.lost for each in found["ours"]), at_most=0))


def many_in_flight(bench: Bench, server: RunningServer, calls: int) -> None:
    """Calls a second with 256 in flight."""
    section = f"openai, {calls:,} calls of {LATENCY * 1e3:.0f} ms, 256 in flight"
    print(f"\n{section}")

    def run(variant: Variant) -> Measured:
        task = replace(bench.task(server, calls + 20), variant=variant, in_flight=256)
        return client(bench.with_bodies(task))

    found = in_turns(VARIANTS, bench.size.many_rounds, run)
    rate = {variant: median(calls / each.wall_seconds for each in runs) for variant, runs in found.items()}
    for variant, name in NAMES.items():
        bench.add(Row(section, f"calls a second, {name}", rate[variant]))
    bench.add(Row(section, "calls a second, ours beside sdk", rate["ours"] / rate["sdk"], at_least=3.0))
    bench.add(Row(section, "calls lost by ours", sum(each.lost for each in found["ours"]), at_most=0))


# --- Limits and faults ----------------------------------------------------------------------------------------------


def limited(bench: Bench) -> None:
    """An enforced limit of requests, which no client knows beforehand."""
    count = bench.size.limited
    section = f"{count} items under an enforced {PER_MINUTE:,} requests a minute, unknown beforehand"
    print(f"\n{section}")
    ways: dict[str, tuple[Variant, int, dict[str, str]]] = {
        "headers tell it": ("ours", 0, {}),
        "only retry-after": ("ours", 0, {"headers": "none"}),
        "nothing tells it": ("ours", 0, {"headers": "none", "retry_after": "none"}),
        "sdk, headers tell it": ("sdk", 2, {}),
    }
    with served(LATENCY) as server:
        for name, (variant, retries, told) in ways.items():
            task = replace(bench.task(server, count), variant=variant, warm_up=0, max_retries=retries, in_flight=None)
            task = bench.with_bodies(task)
            server.set(limits={})
            server.set(limits={"requests_per_minute": PER_MINUTE, "burst_seconds": 1.0, **told})
            server.clear_log()
            measured = client(task)
            log = sorted(server.log(), key=lambda entry: entry.at)
            began = log[0].at
            span = max(entry.at for entry in log if entry.status == 200) - began
            refused = [entry.at - began for entry in log if entry.status == 429]
            late = sum(at > 1 for at in refused)
            is_told, is_ours = not told, variant == "ours"
            used = measured.answered / (span * PER_MINUTE / 60)
            bench.add(Row(section, f"{name}: rate used", used, "%", at_least=0.95 if is_ours else None))
            bench.add(Row(section, f"{name}: 429s, of the items", len(refused) / count, "%",
                          at_most=0.01 if is_ours and not is_told else None))  # fmt: skip
            bench.add(Row(section, f"{name}: 429s after the first second", late,
                          at_most=0 if is_ours and is_told else None))  # fmt: skip
            bench.add(Row(section, f"{name}: lost", measured.lost, at_most=0 if is_ours else None))


def verdicts(task: Task) -> tuple[dict[str, Any], dict[str, int]]:
    """Of a run's ledger: the verdict of each judgement by key, and how many failed with which error."""
    kept: dict[str, Any] = {}
    failed: dict[str, int] = defaultdict(int)
    for line in Path(task.folder, task.run, "ledger.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if "verdict" in record:
            kept[record["key"]] = record["verdict"]
        else:
            failed[record["failed"]["error"]] += 1
    return kept, failed


def faulty(bench: Bench) -> None:
    """Every twentieth call goes wrong in one of many ways; a run without faults tells the right verdicts."""
    count = bench.size.faulty
    section = f"{count:,} cases with {FAULTY:.0%} mixed faults of {len(FAULTS)} kinds: faithfulness"
    print(f"\n{section}")
    with served(0.05) as server:
        clean = replace(bench.task(server, count, criterion="faithfulness"), warm_up=0, in_flight=None)
        client(clean)
        right, _ = verdicts(clean)
        server.clear_log()
        share = FAULTY / len(FAULTS)
        server.set(faults=[{"fault": fault, "share": share, "seed": seed} for seed, fault in enumerate(FAULTS)])
        task = replace(clean, folder=f"{clean.folder}-faulty", timeout_seconds=5.0)
        measured = client(task)
        log = server.log()
    found, failed = verdicts(task)
    met = sum(entry.fault is not None for entry in log)
    bench.add(Row(section, "calls that met a fault", met / len(log), "%"))
    bench.add(Row(section, "verdicts", len(found)))
    bench.add(Row(section, "failures with a name", sum(failed.values())))
    for error, times in sorted(failed.items()):
        bench.add(Row(section, f"  {error}", times))
    bench.add(Row(section, "cases that ended as neither", count - len(found) - sum(failed.values()), at_most=0))
    wrong = sum(right[key] != verdict for key, verdict in found.items())
    bench.add(Row(section, "verdicts that are wrong", wrong, at_most=0))
    bench.add(Row(section, "calls beyond one a case", (len(log) - count) / count, "%", at_most=0.06))
    bench.add(Row(section, "wall time", measured.wall_seconds, "s"))


# --- The cache, the throttle, memory --------------------------------------------------------------------------------


def script(name: str, *arguments: str) -> Any:  # noqa: ANN401  JSON
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / name), *arguments, "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return json.loads(done.stdout)


def from_cache(bench: Bench) -> None:
    """A second run whose replies are all there."""
    count = bench.size.calls
    section = f"{count:,} cases from the cache: faithfulness"
    print(f"\n{section}")
    hits = script("cache.py", "--replies", str(bench.size.hits))
    bench.add(Row(section, "hits a second, of the cache alone", hits["hits_per_second"], at_least=10_000))
    with served() as server:
        first = bench.task(server, count, criterion="faithfulness")
        client(first)
        asked = server.requests()
        again = client(replace(first, run="again"))
        bench.add(Row(section, "calls", server.requests() - asked, at_most=0))
    each = again.cpu_seconds / (count - first.warm_up) * 1e3
    bench.add(Row(section, "CPU a case", each, "ms"))
    bench.add(Row(section, "the cache's share of it", hits["cache_hit_ms"] / each, "%", at_most=0.5))


def waiting(bench: Bench) -> None:
    """Calls that wait for their turn."""
    waiters = bench.size.waiters
    section = f"{waiters:,} calls that wait for their turn, 50 a second"
    print(f"\n{section}")
    found = script("throttle.py", "--waiters", str(waiters))
    ours, polling = found.values()
    bench.add(Row(section, "CPU beside asyncio-throttle, all polling", ours["cpu_seconds"] / polling["cpu_seconds"],
                  at_most=0.1))  # fmt: skip
    bench.add(Row(section, "rate, off by", abs(ours["rate"] - 1), "%", at_most=0.01))
    bench.add(Row(section, "out of order", ours["out_of_order"], at_most=0))


def long_run(bench: Bench) -> Measured:
    """So many cases with no latency, beside what mostly waits."""
    with served() as server:
        os.setpriority(os.PRIO_PROCESS, server.process.pid, 19)
        return client(bench.task(server, bench.size.cases), is_aside=True)


def memory(bench: Bench, measured: Measured) -> None:
    """The most memory that a long run takes."""
    section = f"{bench.size.cases:,} cases, no latency, run aside"
    print(f"\n{section}")
    bench.add(Row(section, "peak memory", measured.peak_mb, "MB", at_most=300))
    bench.add(Row(section, "CPU a case", measured.cpu_seconds / bench.size.cases * 1e3, "ms"))
    bench.add(Row(section, "lost", measured.lost, at_most=0))


def processor(bench: Bench) -> None:
    """What takes all of the processor: nothing else may run beside it."""
    asked: tuple[tuple[Vendor, str], ...] = (
        ("openai", "answer_relevance"), ("anthropic", "answer_relevance"), ("openai", "faithfulness"),
    )  # fmt: skip
    with served(LATENCY) as server:
        for vendor, criterion in asked:
            costs(bench, server, "200", vendor, criterion)
        for calls in bench.size.many_calls:
            many_in_flight(bench, server, calls)
    with served(VARIED) as server:
        for vendor, criterion in asked:
            costs(bench, server, "150 to 250", vendor, criterion)
    from_cache(bench)


def patience(bench: Bench) -> None:
    """What mostly waits."""
    bench.cases(bench.size.cases)
    with ThreadPoolExecutor(1) as thread:
        measured = thread.submit(long_run, bench)
        limited(bench)
        faulty(bench)
        memory(bench, measured.result())
    waiting(bench)  # its processor time is little: nothing may run beside it


PARTS = {"processor": processor, "patience": patience}


def as_markdown(document: Mapping[str, Any], rows: Iterable[Row]) -> str:
    """The figures as a page to be read."""
    made = f"Python {document['python']}, {document['cores']} cores"
    packages = ", ".join(f"{name} {number}" for name, number in document["packages"].items())
    lines = ["# Hosted models", "", f"`{document['made_by']}`: {document['minutes']} minutes, {made}, {packages}."]
    section = ""
    for row in rows:
        if row.section != section:
            section = row.section
            lines += ["", f"## {section}", "", "| | | wanted | |", "| --- | ---: | --- | --- |"]
        met = {True: "met", False: "**not met**", None: ""}[row.is_met]
        lines.append(f"| {row.what.strip()} | {shown(row.value, row.unit)} | {row.target} | {met} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything; nothing is written")
    parser.add_argument("--only", choices=PARTS, help="one half; nothing is written")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), QUICK if options.quick else Size())
        for name, part in PARTS.items():
            if options.only in (None, name):
                part(bench)
    missed = [row for row in bench.rows if row.is_met is False]
    print(f"\n{len([row for row in bench.rows if row.is_met])} targets met, {len(missed)} not")
    if options.quick or options.only:
        return
    document = {
        "made_by": "python benchmarks/hosted.py",
        "minutes": round((time.monotonic() - began) / 60, 1),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "packages": {name: version(name) for name in ("openai", "anthropic", "aiohttp", "httpx2", "pydantic")},
        "rows": [{**asdict(row), "value": round(row.value, 4), "met": row.is_met} for row in bench.rows],
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    RESULTS.with_suffix(".md").write_text(as_markdown(document, bench.rows), encoding="utf-8")


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
