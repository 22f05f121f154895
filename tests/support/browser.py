"""A real browser, to see what a page does: it needs Chromium, and skips without one."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

__all__ = ["dom_of"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def dom_of(page: Path) -> str:
    """The page's document as the browser has it once everything has loaded and run."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(_NAMES)}")
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [
                found, "--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run", *root,
                f"--user-data-dir={profile}", "--dump-dom", page.resolve().as_uri(),
            ],
            capture_output=True, timeout=120, check=True,
        )  # fmt: skip
    return done.stdout.decode()
