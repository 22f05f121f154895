"""Runs the `judges` command as a process, as a user would."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "judges" / "example"
SHARED = ROOT.parent / "shared"

SLOW_JUDGE = """
import asyncio
from judges import Verdict

class SlowJudge:
    name = "slow"
    fingerprint = "slow@1"

    def supports(self, criterion):
        return True

    async def judge(self, case, criterion, *, replicate=0):
        await asyncio.sleep(0.02)
        with open("asked.txt", "a", encoding="utf-8") as file:
            file.write(case.id + "\\n")
        return Verdict(len(case.answer or "") % 10 / 10, "its length")
"""


def environment(**changes: str) -> dict[str, str]:
    """The environment of a user's process: no colours, UTF-8."""
    return {**os.environ, "NO_COLOR": "1", "PYTHONUTF8": "1", **changes}


def judges(
    *arguments: str | Path,
    folder: Path,
    stdin: bytes | None = None,
    changes: Mapping[str, str] | None = None,
    code: int | None = 0,
) -> subprocess.CompletedProcess[str]:
    """Run `judges` with these arguments in a folder; check its exit code unless that is None."""
    done = subprocess.run(
        [sys.executable, "-m", "judges", *map(str, arguments)],
        cwd=folder,
        env=environment(**(changes or {})),
        input=stdin if stdin is not None else b"",
        capture_output=True,
        timeout=120,
        check=False,
    )
    shown = subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )
    assert "Traceback" not in shown.stderr, shown.stderr
    assert code is None or shown.returncode == code, (shown.returncode, shown.stdout, shown.stderr)
    return shown


def start(*arguments: str | Path, folder: Path, changes: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start `judges` and return at once."""
    return subprocess.Popen(
        [sys.executable, "-m", "judges", *map(str, arguments)],
        cwd=folder,
        env=environment(**(changes or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def on_terminal(*arguments: str | Path, folder: Path, columns: int) -> str:
    """What `judges` shows on a terminal of so many columns, without colours and weights; lines end as a terminal's."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "judges", *map(str, arguments)],
        cwd=folder,
        env=environment(TERM="xterm", COLUMNS=str(columns)),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # nobody writes any more
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode("utf-8"))
