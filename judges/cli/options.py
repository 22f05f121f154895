"""The options of `judges run` and `judges plan`: the same for both, so that a plan is of the very run that follows."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

import typer

from judges.datasets.tiers import Tier
from judges.errors import InputError
from judges.printable import printable

__all__ = [
    "CanBeAnswered",
    "CanNotBeAnswered",
    "ClaimsBy",
    "KeepFirst",
    "LongInputs",
    "QrelsComplete",
    "QrelsOfCases",
    "RunOptions",
    "command",
    "command_with",
    "option_of",
    "told_by_fields",
]


class ClaimsBy(StrEnum):
    """Who takes answers apart."""

    SENTENCES = "sentences"
    MODEL = "model"


class LongInputs(StrEnum):
    """What becomes of passages over the model's window."""

    REFUSE = "refuse"
    SPLIT = "split"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """What was asked on the command line."""

    cases: Annotated[
        str, typer.Argument(help="File of cases: .jsonl, .json, .csv, .tsv, .parquet; - for standard input.")
    ]
    criterion: Annotated[
        list[str],
        typer.Option(
            "--criterion",
            "-c",
            help="What is asked, or the .toml or .yaml file of one criterion; may be given several times.",
        ),
    ] = field(default_factory=list[str])
    rubric: Annotated[
        list[str],
        typer.Option(
            "--rubric",
            "-r",
            help="A list of criteria and checks: rag9, or your .toml or .yaml file; may be given several times.",
        ),
    ] = field(default_factory=list[str])
    judge: Annotated[
        list[str],
        typer.Option(
            "--judge",
            "-j",
            help="Who is asked: overlap, openai:MODEL, anthropic:MODEL, embedding:MODEL, stored:FIELD (verdicts that "
            "the cases hold: in a field of any name where one criterion is asked, else in an object by criterion), "
            "a name of judges.toml, or package.module:object. Plain checks need none.",
        ),
    ] = field(default_factory=list[str])
    out: Annotated[Path | None, typer.Option(help="Folder of the run. By default named after the arguments.")] = None
    map: Annotated[
        list[str] | None, typer.Option("--map", help="OURS=THEIRS: the field of the file that holds a field of ours.")
    ] = None
    format: Annotated[
        str | None,
        typer.Option("--format", help="jsonl, json, csv, tsv or parquet, where the file's name doesn't tell."),
    ] = None
    reader: Annotated[str | None, typer.Option(help="package.module:function that reads the file into cases.")] = None
    lang: Annotated[str | None, typer.Option(help="Language of cases that don't say theirs (ca, fr, pt-BR).")] = None
    tier: Annotated[
        Tier | None,
        typer.Option(help="Judge only the cases whose field `tier` is this or a smaller one: smoke, regression, deep."),
    ] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first so many cases.")] = None
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out records that are no cases, and list them.")
    ] = False
    replicates: Annotated[int, typer.Option(min=1, help="How often each judgement is made.")] = 1
    repeat_share: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Make this share of the judgements once more; say how often the verdict changes: 0.02."
        ),
    ] = 0.0
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Judgements under way at a time. By default 8; with a hosted model, as --concurrency."
        ),
    ] = None
    max_failures: Annotated[
        float, typer.Option(min=0, max=1, help="End with 3 when a larger share of judgements failed.")
    ] = 0.05
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Scores from here on pass. Kept with the run; judges nothing again."),
    ] = None
    calibration: Annotated[
        list[Path] | None,
        typer.Option(
            help="File of `judges calibrate --save`: its thresholds hold, chances are given, rates corrected. Kept "
            "with the run; judges nothing again. May be given several times."
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible server: http://localhost:8000/v1."),
    ] = None
    claims: Annotated[
        ClaimsBy | None,
        typer.Option(help="Who takes answers apart: sentence rules (default) or the model."),
    ] = None
    no_rationale: Annotated[bool, typer.Option("--no-rationale", help="Ask for verdicts only: cheaper.")] = False
    rationale_in: Annotated[str | None, typer.Option(help="Language of the rationales: Catalan, French, ...")] = None
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Replies a judgement; their shares are its probabilities."),
    ] = None
    logprobs: Annotated[
        bool,
        typer.Option("--logprobs", help="Take probabilities from the service's log-probabilities."),
    ] = False
    param: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE, sent as it is: temperature=0, reasoning_effort=low."),
    ] = None
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The longest reply, in tokens.")] = None
    window: Annotated[
        int | None,
        typer.Option(min=1, help="The model's context window in tokens, where it isn't known."),
    ] = None
    long: Annotated[
        LongInputs | None,
        typer.Option(help="Passages over the window: refuse the case, or split them."),
    ] = None
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds that a call may take; 60.")] = None
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars this command may spend; ends with 4 before a call would pass it."),
    ] = None
    rpm: Annotated[int | None, typer.Option(min=1, help="Requests a minute, where the service doesn't say.")] = None
    tpm: Annotated[int | None, typer.Option(min=1, help="Tokens a minute, where the service doesn't say.")] = None
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="Calls in flight, as many as this from the first reply on. By default up to 64, found out gently.",
        ),
    ] = None
    cache: Annotated[Path | None, typer.Option(help="Folder of the cache.")] = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")] = False
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask past the cache for what the run lacks.")] = False
    offline: Annotated[bool, typer.Option("--offline", help="Only the cache may answer: nothing is sent anywhere.")] = (
        False
    )
    config: Annotated[Path | None, typer.Option(help="Settings; by default judges.toml in the current folder.")] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False

    def __post_init__(self) -> None:
        if self.no_cache + self.refresh + self.offline > 1:
            raise InputError("--no-cache, --refresh and --offline exclude each other; give one of them")
        if self.no_cache and self.cache is not None:
            raise InputError("--no-cache and --cache exclude each other; give one of them")
        if self.no_rationale and self.rationale_in is not None:
            raise InputError("--no-rationale and --rationale-in exclude each other; give one of them")
        if self.skip_invalid and self.reader is not None:
            raise InputError("--skip-invalid is for our own readers; yours leaves out what is no case")
        if self.threshold is not None and self.calibration:
            raise InputError("--calibration brings its own threshold; leave out --threshold, or the calibration")

    def fields(self) -> dict[str, str]:
        """Fields of ours by name, each with the field of the file that holds it.

        Raises:
            InputError: A pair isn't OURS=THEIRS.
        """
        return _pairs(self.map or [], "--map", "OURS=THEIRS, as in --map question=query")

    def parameters(self) -> dict[str, Any]:
        """What is sent to the service as it is: JSON where it is some, else text.

        Raises:
            InputError: A pair isn't NAME=VALUE.
        """
        import json

        values: dict[str, Any] = {}
        for name, text in _pairs(self.param or [], "--param", "NAME=VALUE, as in --param temperature=0").items():
            try:
                values[name] = json.loads(text)
            except ValueError:
                values[name] = text
        return values


_SPELT = {
    "language": "--rationale-in",
    "parameters": "--param",
    "rationale": "--no-rationale",
    "requests_per_minute": "--rpm",
    "timeout_seconds": "--timeout",
    "tokens_per_minute": "--tpm",
}


def option_of(way: str) -> str:
    """The option that gives a way to ask: of `samples`, `--samples`."""
    return _SPELT.get(way, "--" + way.replace("_", "-"))


QrelsOfCases: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Relevance by case, as `judges retrieval` takes it; by default the cases' field `relevant`."),
]
QrelsComplete: TypeAlias = Annotated[
    bool, typer.Option("--complete", help="With --qrels: a case that they lack can't be answered.")
]
KeepFirst: TypeAlias = Annotated[
    bool, typer.Option("--keep-first", help="Of a document retrieved twice keep the first copy.")
]
CanBeAnswered: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="FIELD=VALUE: a case that has it can be answered, whatever its `relevant`. May be given several times."
    ),
]
CanNotBeAnswered: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="FIELD=VALUE: a case that has it can't: 'meta.kind=out of scope'. May be given several times."),
]


def told_by_fields(
    can: Sequence[str], can_not: Sequence[str], *, spelt: tuple[str, str] = ("--answerable", "--unanswerable")
) -> dict[tuple[str, str], bool]:
    """What --answerable and --unanswerable say: by field and value of it whether a case that has it can be answered.

    Args:
        can: Each FIELD=VALUE.
        can_not: Likewise.
        spelt: How the user has given them, for messages.

    Raises:
        InputError: One isn't FIELD=VALUE, or is in both.
    """
    found: dict[tuple[str, str], bool] = {}
    for option, texts, told in ((spelt[0], can, True), (spelt[1], can_not, False)):
        for text in texts:
            path, sign, value = (part.strip() for part in text.partition("="))
            if not (path and sign and value):
                raise InputError(f"{option} `{printable(text, 60)}`: write it as FIELD=VALUE, as in meta.answerable=no")
            if found.setdefault((path, value), told) is not told:
                raise InputError(f"`{printable(text, 60)}` can't be both {' and '.join(spelt)}; keep one")
    return found


Options = TypeVar("Options", bound=RunOptions)


def _pairs(pairs: list[str], option: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {pair}: should be {form}")
        if name in found:
            raise InputError(f"{option} {pair}: `{name}` is given twice")
        found[name] = value
    return found


def command(function: Callable[[RunOptions], None]) -> Callable[..., None]:
    """A command that takes all options of `RunOptions`, and hands them on as one value."""
    return command_with(RunOptions, function)


def command_with(
    options: type[Options], function: Callable[[Options], None], *, without: Collection[str] = ()
) -> Callable[..., None]:
    """A command that takes the options of a class, and hands them on as one value.

    Args:
        options: `RunOptions`, or a class of its own with more, which are shown first.
        function: What the command does.
        without: Names of those that make no sense here: they keep their defaults.
    """

    def call(**values: Any) -> None:  # noqa: ANN401  each is checked by the command line
        function(options(**values))

    own = list(options.__annotations__)  # shown first, then what is inherited
    shown = sorted(
        (field for field in fields(options) if field.name not in without),
        key=lambda field: own.index(field.name) if field.name in own else len(own),
    )
    hints = get_type_hints(options, include_extras=True)
    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    call.__annotations__ = {field.name: hints[field.name] for field in shown}
    call.__signature__ = Signature(  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
        [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name])
            for field in shown
        ]
    )
    return call


def _default(field: "Field[Any]") -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is MISSING else field.default
