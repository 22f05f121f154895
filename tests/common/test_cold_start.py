"""What is loaded when: a command that needs nothing heavy must not wait for it."""

import json
import subprocess
import sys

import pytest

HEAVY = ("pydantic", "numpy", "scipy", "orjson", "filelock", "sentencex", "markdown_it", "typer", "rich", "asyncio")
HEAVIER = ("scipy", "numpy", "sentencex", "markdown_it", "pyarrow", "openai", "anthropic")


def loaded(code: str) -> set[str]:
    """The modules a process has loaded after this code."""
    shown = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_judges_loads_the_standard_library_only() -> None:
    assert not set(HEAVY) & loaded("import judges")


def test_the_vocabulary_is_there_after_import_and_the_rest_when_it_is_used() -> None:
    modules = loaded("import judges\njudges.Case('a')\njudges.Verdict(1.0)\njudges.FAITHFULNESS")
    assert "judges.criteria" in modules
    assert not set(HEAVY) & modules


def test_the_command_line_loads_nothing_heavy_to_show_its_help() -> None:
    code = (
        "import contextlib, io, sys\n"
        "from judges.cli.app import main\n"
        "sys.argv = ['judges', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()\n"
    )
    assert not set(HEAVIER) & loaded(code)


def test_every_public_name_can_be_had() -> None:
    import judges

    for name in judges.__all__:
        assert getattr(judges, name) is not None
    assert set(judges.__all__) <= set(dir(judges))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        getattr(judges, "nothing_of_the_kind")  # noqa: B009
