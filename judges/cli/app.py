"""The `judges` command: its subcommands, and the one place where errors become messages and exit codes."""

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version as version_of
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer

from judges.cli.cache import cache_app
from judges.cli.diagnose import diagnose
from judges.cli.experiment import experiment
from judges.cli.gate import gate
from judges.cli.options import command
from judges.cli.output import Exit, ReaderLeftError, data, exit_code, note
from judges.cli.plan import plan
from judges.cli.read import export, show
from judges.cli.retrieval import retrieval
from judges.cli.run import run
from judges.errors import JudgesError
from judges.plugins import installed
from judges.printable import printable
from judges.remedies import options_are

__all__ = ["main"]

app = typer.Typer(
    name="judges",
    help="Grade the answers of language models, and know how far the grade can be trusted.",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        data(f"judges {version_of('judges-eval')}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  its callback reads it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(Exit.WRONG_INPUT)
    options_are(_options_of(context.command, context.invoked_subcommand))


def _options_of(group: object, name: str) -> Iterator[str]:
    """The options of a command: `--json`, `-j`, ...; of one that holds others, what itself has."""
    held: dict[str, object] = getattr(group, "commands", {})
    params: list[object] = getattr(held.get(name), "params", [])
    for each in params:
        names: list[str] = getattr(each, "opts", [])
        yield from names


app.command()(command(run))
app.command()(command(plan))
app.command()(show)
app.command()(export)
app.command()(retrieval)
app.command()(gate)
app.command()(experiment)
app.command()(diagnose)
app.add_typer(cache_app, name="cache")


def _mount() -> None:
    """Add the commands that other packages bring: `calibrate` and its like."""
    ours = {info.callback.__name__ for info in app.registered_commands if info.callback is not None}
    for point in installed("judges.commands"):
        if point.name in ours:
            note(f"judges: the command `{point.name}` of {point.value} is left out: it is called like one of ours")
            continue
        try:
            command = point.load()
        except Exception as error:  # noqa: BLE001  a broken package must not take the other commands with it
            note(f"judges: the command `{point.name}` can't be loaded ({type(error).__name__}: {error})")
            continue
        app.command(point.name)(command)


def main() -> None:
    """Run the command line and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, _nowhere())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    _mount()
    code = _run()
    sys.exit(code if isinstance(code, int) else Exit.DONE)


def _usage(error: Exception) -> str:
    """What Typer finds wrong with the command line, in one line."""
    shown: object = error
    said = " ".join(str(getattr(shown, "format_message", error.__str__)()).split())
    said = said.replace("Value error, ", "").rstrip(".")
    path = getattr(getattr(shown, "ctx", None), "command_path", "judges")
    return printable(f"{said[:1].lower()}{said[1:]} (see {path} --help)")


def _leave_output() -> None:
    """Nothing more can be written: Python must not try again when it ends."""
    sys.stdout = _nowhere()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


_WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a wrong option, argument or command. It exports only this one kind of it."""


def _run() -> object:
    """The exit code. Ctrl-C is Typer's to handle: 130."""
    try:
        try:
            return app(prog_name="judges", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except SystemExit as done:
        return done.code
    except _WrongUsage as error:
        note(f"judges: {_usage(error)}")
        return Exit.WRONG_INPUT
    except typer.Abort:
        note("judges: nothing was done")
        return Exit.INTERRUPTED
    except (ReaderLeftError, BrokenPipeError):
        _leave_output()
        return Exit.DONE
    except OSError as error:  # files of the user's have their own messages: this is our own output
        _leave_output()
        note(f"judges: the output can't be written: {error.strerror or error}")
        return Exit.WRONG_INPUT
    except JudgesError as error:
        note(f"judges: {printable(str(error))}")
        return exit_code(error)
    except Exception as error:
        if os.environ.get("JUDGES_TRACEBACK"):
            raise
        note(
            f"judges: a bug in Judges: {type(error).__name__}: {printable(str(error))}; "
            "set JUDGES_TRACEBACK=1 to see where, and please report it"
        )
        return Exit.BUG
