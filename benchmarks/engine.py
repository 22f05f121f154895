"""The engine: cases a second, peak memory and bytes on disk, beside a plain `asyncio.gather` over the same cases.

Three processes, one after the other, on the same generated file:

1. `judges run` with the token-overlap judge: reads, checks, judges, writes the ledger, prints the summary.
2. The plain loop: the same reader and judge, one task a case in `asyncio.gather`, results written at the end. It keeps
   nothing if it is killed.
3. `judges run` with a judge that does nothing: what the engine itself costs, ledger on disk included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from time import perf_counter

WORDS = [
    "backup",
    "folder",
    "server",
    "device",
    "account",
    "password",
    "plan",
    "month",
    "limit",
    "storage",
    "upload",
    "sync",
    "pause",
    "restore",
    "version",
    "file",
    "link",
    "share",
    "team",
    "owner",
    "member",
    "role",
    "invoice",
    "refund",
    "region",
    "network",
    "laptop",
    "phone",
    "setting",
    "menu",
    "button",
    "page",
    "report",
    "export",
]

PLAIN = """
import asyncio, json, sys
from judges import FAITHFULNESS, TokenOverlapJudge, read_cases
from judges.engine.ledger import encode
from judges.verdict import Judgement

async def main(source, target):
    judge, slots = TokenOverlapJudge(), asyncio.Semaphore(64)

    async def one(case):
        async with slots:
            return case.id, await judge.judge(case, FAITHFULNESS)

    found = await asyncio.gather(*(one(case) for case in read_cases(source)))
    with open(target, "wb") as file:
        for case_id, verdict in found:
            file.write(encode(Judgement(case_id, "faithfulness", "overlap", verdict)) + b"\\n")

asyncio.run(main(*sys.argv[1:]))
"""

NOTHING = """
from judges import Verdict

VERDICT = Verdict(1.0)

class NothingJudge:
    name = "nothing"
    fingerprint = "nothing@1"

    def supports(self, criterion):
        return True

    async def judge(self, case, criterion, *, replicate=0):
        return VERDICT
"""


def generate(path: Path, count: int, seed: int = 1) -> None:
    """So many cases of three claims and three passages, no two alike."""
    random = Random(seed)  # noqa: S311

    def sentence(length: int) -> str:
        return " ".join(random.choices(WORDS, k=length)).capitalize() + "."

    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            passages = [" ".join(sentence(12) for _ in range(4)) for _ in range(3)]
            answer = f"{passages[0].partition('.')[0]}. {sentence(10)} It takes {number} steps."
            case = {"id": f"c{number}", "question": sentence(8), "answer": answer, "contexts": passages, "lang": "en"}
            file.write(json.dumps(case) + "\n")


def measure(name: str, command: list[str], folder: Path, count: int, written: Path) -> dict[str, object]:
    """Run a command to its end; its wall and CPU seconds, peak memory and the bytes it left."""
    began = perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = perf_counter() - began
    if status:
        sys.exit(f"{name}: exit status {status}")
    files = [written] if written.is_file() else [path for path in written.rglob("*") if path.is_file()]
    return {
        "name": name,
        "cases": count,
        "wall_seconds": round(wall, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "cases_per_second": round(count / wall),
        "cases_per_cpu_second": round(count / (usage.ru_utime + usage.ru_stime)),
        "peak_mb": round(usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)),
        "mb_written": round(sum(path.stat().st_size for path in files) / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not hasattr(os, "wait4"):
        sys.exit("this benchmark reads the operating system's account of each process: Linux or macOS only")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "cases.jsonl"
        generate(source, options.cases)
        (folder / "nothing.py").write_text(NOTHING, encoding="utf-8")
        run = [sys.executable, "-m", "judges", "run", "cases.jsonl", "--criterion", "faithfulness"]
        plain = [sys.executable, "-c", PLAIN, "cases.jsonl", "plain.jsonl"]
        rows = [
            measure("engine, overlap", [*run, "--judge", "overlap", "--out", "a"], folder, options.cases, folder / "a"),
            measure("plain gather, overlap", plain, folder, options.cases, folder / "plain.jsonl"),
            measure(
                "engine, no judge", [*run, "--judge", "nothing:NothingJudge", "--out", "b"], folder, options.cases,
                folder / "b",
            ),
        ]  # fmt: skip
    if options.json:
        print(json.dumps(rows))
        return
    heads = ("wall s", "cpu s", "cases/s", "cases/cpu s", "peak MB", "MB written")
    print(f"{f'{options.cases:,} cases':<24}" + "".join(f"{head:>13}" for head in heads))
    for row in rows:
        label, _, *figures = row.values()
        print(f"{label:<24}" + "".join(f"{figure:>13,}" for figure in figures))


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
