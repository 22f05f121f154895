"""What holds for every benchmark."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import ROOT, environment

SCRIPTS = sorted(
    path for path in (ROOT / "benchmarks").glob("*.py") if path.name != "hosted_client.py"
)  # which another reads


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_benchmark_lets_its_reader_leave(script: Path) -> None:
    text = script.read_text(encoding="utf-8").rstrip()
    assert 'if __name__ == "__main__":\n' in text
    assert text.endswith("    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head\n        main()")


def test_a_reader_that_leaves_ends_a_benchmark_without_a_traceback() -> None:
    script = ROOT / "benchmarks" / "gate_false_alarms.py"
    process = subprocess.Popen(
        [sys.executable, script, "--rounds", "1"],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == b""
    assert process.wait() == 0
