"""Released prompts never change: verdicts are kept under their names."""

import json
from pathlib import Path
from typing import cast

import pytest

from judges.prompts import prompt_root, read_template

ROOT = prompt_root()
LOCK = cast("dict[str, str]", json.loads(ROOT.joinpath("lock.json").read_text("utf-8")))
FILES = {f"{path.parent.name}/{path.stem}": path for path in sorted(ROOT.glob("*/*.md"))}


def complaint(name: str, path: Path) -> str | None:
    """What is wrong with a file, and what to do."""
    digest = read_template(path).digest
    match LOCK.get(name):
        case None:
            return f'prompts/{name}.md is not locked; when its wording is final, add to lock.json: "{name}": "{digest}"'
        case locked if locked != digest:
            folder, version = name.split("/")
            return (
                f"prompts/{name}.md has changed since it was released; bring it back, and put the new wording into "
                f"prompts/{folder}/{int(version) + 1}.md"
            )
        case _:
            return None


@pytest.mark.parametrize("name", FILES)
def test_a_released_prompt_is_as_it_was_released(name: str) -> None:
    assert complaint(name, FILES[name]) is None


def test_no_released_prompt_is_gone() -> None:
    gone = sorted(LOCK.keys() - FILES.keys())
    assert not gone, f"bring them back, or runs that used them can't be repeated: {gone}"


def test_versions_are_counted_from_one_without_a_gap() -> None:
    for folder in {name.split("/")[0] for name in FILES}:
        versions = sorted(int(name.split("/")[1]) for name in FILES if name.startswith(f"{folder}/"))
        assert versions == list(range(1, len(versions) + 1)), folder


def test_a_changed_file_and_a_new_one_are_told_what_to_do(tmp_path: Path) -> None:
    text = FILES["faithfulness/1"].read_text("utf-8")
    changed = tmp_path / "faithfulness" / "1.md"
    changed.parent.mkdir()
    changed.write_text(text.replace("You check", "You verify"), "utf-8")
    assert "prompts/faithfulness/2.md" in (complaint("faithfulness/1", changed) or "")
    assert '"faithfulness/99": "' in (complaint("faithfulness/99", changed) or "")
