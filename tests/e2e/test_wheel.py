"""What is installed has what a checkout has."""

import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = {path.relative_to(ROOT / "prompts").as_posix() for path in ROOT.glob("prompts/*/*.md")} | {"lock.json"}

pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling, which builds the package")


def test_a_wheel_brings_the_prompts_and_finds_them(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*build, str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "zipfile", "--extract", str(wheel), str(installed)], check=True)
    within = installed / "judges" / "_prompts"
    assert {path.relative_to(within).as_posix() for path in within.rglob("*")} >= PROMPTS
    code = "from judges.prompts import load, prompt_root; print(prompt_root()); print(load('faithfulness').digest)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(installed)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    root, digest = done.stdout.split()
    assert Path(root) == within
    assert digest in (ROOT / "prompts" / "lock.json").read_text("utf-8")


def test_a_source_archive_has_the_prompts(tmp_path: Path) -> None:
    code = f"from hatchling.build import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert names >= {f"prompts/{name}" for name in PROMPTS}
