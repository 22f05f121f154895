"""Cold start: how long `import judges` and `judges --help` take, beside a Python that does nothing.

Each command runs several times in turn with the others; the fastest counts, since a shared machine only ever adds.
Wall and CPU seconds of the whole process; the ratio is to `python -c pass`.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import suppress
from time import perf_counter

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import judges": [sys.executable, "-c", "import judges"],
    "judges --help": [sys.executable, "-m", "judges", "--help"],
}


def once(command: list[str]) -> tuple[float, float]:
    before, began = os.times(), perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall, after = perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():
        once(command)  # fills the disk's cache
    for _ in range(options.runs):
        for name, command in COMMANDS.items():
            times[name].append(once(command))
    best = {name: (min(wall for wall, _ in runs), min(cpu for _, cpu in runs)) for name, runs in times.items()}
    floor = best["python -c pass"]
    rows = {
        name: {
            "wall_seconds": round(wall, 4),
            "cpu_seconds": round(cpu, 4),
            "wall_ratio": round(wall / floor[0], 2),
            "wall_beyond_python": round(wall - floor[0], 4),
        }
        for name, (wall, cpu) in best.items()
    }
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'command':<18}{'wall s':>9}{'cpu s':>9}{'ratio':>8}{'beyond python':>16}")
    for name, row in rows.items():
        print(
            f"{name:<18}{row['wall_seconds']:>9.3f}{row['cpu_seconds']:>9.3f}{row['wall_ratio']:>8.2f}"
            f"{row['wall_beyond_python']:>14.3f} s"
        )


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
