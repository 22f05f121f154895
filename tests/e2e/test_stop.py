"""Stopped at any moment, a run goes on where it was: nothing lost, nothing judged twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from support.command import SLOW_JUDGE, judges, start

ARGUMENTS = (
    "run",
    "cases.jsonl",
    "-c",
    "faithfulness",
    "-c",
    "correctness",
    "-j",
    "slow:SlowJudge",
    "--out",
    "one",
    "--workers",
    "4",
)
COUNT = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW_JUDGE, encoding="utf-8")
    lines = [
        json.dumps({"id": f"c{n}", "answer": f"answer {n} " * (n % 7), "contexts": [f"p{n}"], "reference": f"r{n}"})
        for n in range(COUNT)
    ]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def written(folder: Path) -> int:
    ledger = folder / "one" / "ledger.jsonl"
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def wait_for(folder: Path, process: "subprocess.Popen[bytes]", lines: int) -> None:
    deadline = time.monotonic() + 60
    while written(folder) < lines:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def shown(folder: Path) -> tuple[str, str, str]:
    return (
        judges("show", "one", "--json", folder=folder).stdout,
        judges("export", "one", folder=folder).stdout,
        judges("export", "one", "--format", "csv", folder=folder).stdout,
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_killed_again_and_again_a_run_ends_with_the_bytes_of_an_undisturbed_one(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    random = Random(7)
    for kill in range(4):
        process = start(*ARGUMENTS, folder=folder)
        wait_for(folder, process, written(folder) + random.randint(3, 20))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if kill == 2:  # as a kill in the middle of a write would leave it
            with (folder / "one" / "ledger.jsonl").open("ab") as ledger:
                ledger.write(b'{"key":"00')
    before = written(folder)
    done = judges(*ARGUMENTS, folder=folder)
    assert (
        f"resumed: {before} of {2 * COUNT} judgements were there already, {2 * COUNT - before} made now" in done.stderr
    )

    undisturbed = tmp_path_factory.mktemp("undisturbed")
    for name in ("slow.py", "cases.jsonl"):
        (undisturbed / name).write_bytes((folder / name).read_bytes())
    judges(*ARGUMENTS, folder=undisturbed)
    assert shown(folder) == shown(undisturbed)

    keys = [json.loads(line)["key"] for line in (folder / "one" / "ledger.jsonl").read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == 2 * COUNT


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C can't be sent to one process on Windows")
@pytest.mark.parametrize("judge", ["slow:SlowJudge", "overlap"])
def test_ctrl_c_ends_soon_with_130_and_says_how_to_go_on(folder: Path, judge: str) -> None:
    if judge == "overlap":  # it never waits: the loop must hear the signal all the same
        lines = [
            json.dumps(
                {
                    "id": f"c{n}",
                    "answer": f"Answer {n}. " * 30,
                    "contexts": [f"passage {n} " * 300] * 3,
                    "reference": "r",
                }
            )
            for n in range(3000)
        ]
        (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = [judge if argument == "slow:SlowJudge" else argument for argument in ARGUMENTS]
    process = start(*arguments, folder=folder)
    wait_for(folder, process, 5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert time.monotonic() - began < 10  # 2 s on an idle machine
    assert process.returncode == 130
    assert b"run the same command again to go on" in stderr
    assert b"Traceback" not in stderr
    assert written(folder) >= 5


def test_a_second_process_on_the_same_run_is_refused(folder: Path) -> None:
    slowly = (*ARGUMENTS[:-1], "1")  # a fast machine has done all of it before the second process has begun
    process = start(*slowly, folder=folder)
    try:
        wait_for(folder, process, 2)
        refused = judges(*slowly, folder=folder, code=2)
        assert "another process is judging into this run" in refused.stderr
        assert "one" in judges("show", "one", folder=folder).stdout  # reading is allowed meanwhile
    finally:
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_run_that_is_not_finished_shows_what_is_missing(folder: Path) -> None:
    judges(*ARGUMENTS, folder=folder)
    ledger = folder / "one" / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-10]))
    assert "not judged yet" in judges("show", "one", folder=folder).stdout
    rows = json.loads(judges("show", "one", "--json", folder=folder).stdout)["rows"]
    assert sum(row["pending"] for row in rows) == 10


def test_an_offline_run_opens_no_socket(folder: Path) -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise RuntimeError('a socket was opened')\n"
        "real = socket.socket\n"
        "class Guard(socket.socket):\n"
        "    def __init__(self, family=-1, *rest, **more):\n"
        "        super().__init__(family, *rest, **more)\n"
        "    connect = connect_ex = bind = sendto = refuse\n"
        "socket.socket = Guard\n"
        "socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse\n"
        "from judges.cli.app import main\n"
        "sys.argv = ['judges', *sys.argv[1:]]\n"
        "main()\n"
    )
    arguments = ["run", "cases.jsonl", "-c", "faithfulness", "-j", "overlap", "--out", "two"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C can't be sent to one process on Windows")
def test_ctrl_c_while_a_judge_blocks_waits_for_what_is_under_way_and_no_more(folder: Path) -> None:
    (folder / "slow.py").write_text(
        SLOW_JUDGE.replace("await asyncio.sleep(0.02)", "import time; time.sleep(0.3)"), encoding="utf-8"
    )
    process = start(*ARGUMENTS, "--workers", "16", folder=folder)
    asked = folder / "asked.txt"
    deadline = time.monotonic() + 60
    while not asked.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    before = len(asked.read_text(encoding="utf-8").splitlines())
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    assert len(asked.read_text(encoding="utf-8").splitlines()) <= before + 2
