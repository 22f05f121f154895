"""Asks a pipeline, which may do anything, and keeps what it said: the passages it retrieved and its answer.

A pipeline is a function, async or not. It is called with a question if its first parameter is called `question` or
`query`, else with a `Case` that has the question, the history and the language, and nothing of the right answer. With
right passages to go by it is given them as `passages`. It returns passages and answer, or a mapping:

    contexts     (or `passages`) what the answer was made from, best first: texts, `Context` values, or mappings with
                 `text`, `id`, maybe `score`; maybe `doc`, `start`, `end`, the stretch of a document that it is
    answer       its answer; absent where there is only a retrieval
    retrieved    all that was retrieved, ids or mappings with `id`, where that is more than `contexts`
    cost         dollars
    ...          anything else: kept with the case

What is kept is a file of its own, one JSON object a line, which only grows. Stopped at any moment, no finished call is
made again; a failed one is.
"""

import asyncio
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Self, TypeAlias, cast

import orjson

from judges.case import Case, Context
from judges.datasets import read_records
from judges.datasets.records import Door
from judges.datasets.source import Invalid, Record
from judges.engine.pool import for_each
from judges.engine.progress import Counts, Progress
from judges.errors import InputError, JudgesError, LedgerError
from judges.fingerprint import Json, fingerprint
from judges.printable import printable
from judges.retrieval.fields import id_of, shown
from judges.retrieval.ranking import ranking_of
from judges.usage import NOTHING_USED, tallied

__all__ = ["Call", "Output", "Outputs", "Pipeline", "admitted", "ask", "read_outputs"]

Function: TypeAlias = Callable[..., object]

_WORKERS = 8
"""Calls at a time of an async function."""
_QUESTION = ("question", "query")
_HIDDEN = frozenset({"contexts", "retrieved", "candidates", "relevant", "gold", "label", "labels"})
"""Fields of a dataset that a pipeline doesn't see: they tell the right answer, or another's."""
_OF_CASE = frozenset({"id", "question", "references", "reference", "rival", "answers", "history", "lang"})
"""Fields that an output can't change."""
_MESSAGE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A function to be asked, and what identifies it."""

    function: Function
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    workers: int | None = None

    @property
    def fingerprint(self) -> str:
        """Of its name and the text of its file: a changed function is asked anew."""
        return fingerprint([self.name, _source_of(self.function)])

    @property
    def is_async(self) -> bool:
        """Whether calling it gives something to be awaited."""
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            getattr(self.function, "__call__", None)  # noqa: B004  of an object that is called
        )

    def check(self, *, gold_passages: bool) -> None:
        """See that it can be called so.

        Raises:
            InputError: It isn't callable, or doesn't take these arguments.
        """
        if not callable(self.function):
            raise InputError(f"pipeline `{self.name}`: that is a {type(self.function).__name__}, not a function")
        try:
            inspect.signature(self.function).bind(None, **self.arguments, **({"passages": ()} if gold_passages else {}))
        except TypeError as error:
            raise InputError(
                f"pipeline `{self.name}`: can't be called ({error}); it takes a question or a case, then its "
                "`arguments`" + (", and `passages`, the right ones" if gold_passages else "")
            ) from None
        except ValueError:
            return  # a function of another language, which doesn't tell what it takes

    async def __call__(self, case: Case, passages: Sequence[Context] | None, *, in_thread: bool) -> object:
        """What it returns, whatever that is."""
        given = case.question if self._takes_question() else case
        also = {} if passages is None else {"passages": tuple(passages)}
        if in_thread:
            found = await asyncio.to_thread(self.function, given, **self.arguments, **also)
        else:
            found = self.function(given, **self.arguments, **also)
        return await found if inspect.isawaitable(found) else found

    def _takes_question(self) -> bool:
        try:
            return next(iter(inspect.signature(self.function).parameters), "") in _QUESTION
        except ValueError:
            return False


def _source_of(function: Function) -> str:
    """The text of the file that a function is in, or its own."""
    made = function if inspect.isroutine(function) else type(function)
    try:
        path = inspect.getsourcefile(made)
        if path is not None and Path(path).is_file():
            return sha256(Path(path).read_bytes()).hexdigest()
        return inspect.getsource(made)
    except (OSError, TypeError):
        return ""


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a pipeline."""

    case: Case
    repeat: int = 1
    passages: tuple[Context, ...] | None = None
    """The right ones, where it is to answer from these."""

    @property
    def shown(self) -> Case:
        """What a pipeline may see of the case."""
        extra = {name: value for name, value in self.case.extra.items() if name not in _HIDDEN}
        return Case(
            self.case.id, self.case.question, history=self.case.history, lang=self.case.lang, extra=cast("Any", extra)
        )

    def key(self, pipeline: str, settings: Mapping[str, Json]) -> str:
        """Of all that its output depends on: the pipeline's fingerprint, its settings, and what it is given."""
        given = None if self.passages is None else [[each.doc_id, each.text] for each in self.passages]
        return fingerprint([pipeline, dict(settings), self.shown.to_record(), given, self.repeat])


@dataclass(frozen=True, slots=True)
class Output:
    """What came of a call: an answered case, or an error."""

    answered: Case | None
    """Of this case only what the pipeline said holds: answer, contexts and further fields."""
    seconds: float | None = None
    cost: float | None = None
    """Dollars; None where nobody says."""
    error: str | None = None
    """Why there is none, in one line."""

    def to_record(self) -> dict[str, Json]:
        """The output as JSON-ready values."""
        record: dict[str, Json] = {"seconds": self.seconds, "cost": self.cost}
        if self.answered is None:
            return {**record, "error": self.error}
        return {**record, "answered": self.answered.to_record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Output":
        """The output that `to_record` wrote."""
        found = record.get("answered")
        answered = None if found is None else Case.from_record(found)
        return cls(answered, record["seconds"], record["cost"], None if answered else str(record["error"]))


def admitted(case_id: str, said: object) -> Output:
    """What a pipeline returned, if it is what it should be.

    Raises:
        InputError: It is something else. One line that says what.
    """
    record = _record_of(said)
    try:
        values: dict[str, Json] = orjson.loads(orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"returned something that JSON has no form for ({error})") from None
    values = {name: value for name, value in values.items() if name not in _OF_CASE}
    cost, seconds = (_amount(values.pop(name, None), name) for name in ("cost", "seconds"))
    found = Door({}, ()).admit(Record("pipeline", 1, {**values, "id": case_id}))
    if isinstance(found, Invalid):
        raise InputError(found.message.partition(";")[0])
    extra = dict(found.extra)
    retrieved = extra.pop("retrieved", None)
    passages = extra.pop("contexts", None)
    if retrieved is None and "contexts" in values:
        retrieved = _retrieved(found.contexts, passages)
    if retrieved is not None:
        ranking_of(retrieved, "retrieved")
        extra["retrieved"] = retrieved
    return Output(replace(found, extra=extra), seconds, cost)


def read_outputs(path: Path) -> dict[str, Output]:
    """What an application said before, by id of the case: records with `id` and what a pipeline returns.

    Raises:
        InputError: It can't be read, or a record is something else.
    """
    found: dict[str, Output] = {}
    for where, record in read_records(path):
        name = id_of(record.get("id"), where, "id")
        if name in found:
            raise InputError(f"{where}: `id` {shown(name)} is there a second time; keep one record of each")
        try:
            found[name] = admitted(name, record)
        except InputError as error:
            found[name] = Output(None, error=f"{where}: {error}")
    return found


def _record_of(said: object) -> dict[str, object]:
    """The mapping that was returned, or that a pair comes to."""
    kind = _kind(said)
    if isinstance(said, Mapping):
        record = {str(name): value for name, value in cast("Mapping[object, object]", said).items()}
        if "passages" in record and record.get("contexts") is None:
            record["contexts"] = record.pop("passages")
    elif isinstance(said, tuple) and len(cast("tuple[object, ...]", said)) == 2:
        passages, answer = cast("tuple[object, object]", said)
        record = {"contexts": passages, "answer": answer}
    else:
        raise InputError(f"returned {kind}; give passages and answer, or a mapping with `contexts` and `answer`")
    if record.get("contexts") is None:
        record.pop("contexts", None)
    if not {"contexts", "retrieved", "answer"} & record.keys():
        raise InputError("returned a mapping without `contexts`, `retrieved` and `answer`; give one of them at least")
    if "contexts" in record:
        record["contexts"] = [_passage(each) for each in _listed(record["contexts"])]
    return record


def _kind(value: object) -> str:
    name = type(value).__name__
    return "nothing" if value is None else f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _listed(passages: object) -> list[object]:
    kind = _kind(passages)
    if isinstance(passages, str | bytes | Mapping) or not isinstance(passages, Iterable):
        raise InputError(f"`contexts` is {kind}; give a list of passages")
    return list(cast("Iterable[object]", passages))


def _passage(passage: object) -> object:
    if not isinstance(passage, Context):
        return passage
    record = {"text": passage.text, "id": passage.doc_id, "score": passage.score, "rank": passage.rank}
    return {name: value for name, value in record.items() if value is not None}


def _amount(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise InputError(f"`{name}` is {value!r:.40}; give a number from 0")
    return float(value)


def _retrieved(contexts: Sequence[Context], records: Json) -> list[Json] | None:
    """The ranking that the contexts are; None where one of them has no id."""
    spans = cast("Sequence[object]", records) if isinstance(records, list) else ()
    found: list[Json] = []
    scores = [each.score for each in contexts if each.score is not None]
    falls = len(scores) == len(contexts) and all(a > b for a, b in pairwise(scores))
    for place, context in enumerate(contexts):
        given = spans[place] if spans else None
        span = cast("Mapping[str, Json]", given) if isinstance(given, Mapping) else dict[str, Json]()
        item: dict[str, Json] = {name: span[name] for name in ("doc", "start", "end") if name in span}
        if context.doc_id is not None:
            item["id"] = context.doc_id
        elif len(item) < 3:
            return None
        if falls:  # else the order that was returned is the ranking, whatever its scores say
            item["score"] = context.score
        found.append(item)
    return found


async def ask(
    pipeline: Pipeline,
    calls: Sequence[Call],
    kept: "Outputs",
    keys: Sequence[str],
    *,
    progress: Progress | None = None,
) -> Counts:
    """Make the calls that have no output yet, and keep what comes of each as soon as it is there.

    Args:
        pipeline: Who is asked.
        calls: What.
        kept: Where outputs are and go. Failed calls are made again.
        keys: Of each call.
        progress: Told after each call.

    Raises:
        LedgerError: An output can't be kept.
    """
    counts = Counts(total=len(calls))
    left = [(call, key) for call, key in zip(calls, keys, strict=True) if not kept.has(key)]
    counts.resumed = len(calls) - len(left)
    workers = pipeline.workers or (_WORKERS if pipeline.is_async else 1)
    in_thread = workers > 1 and not pipeline.is_async

    async def one(item: tuple[Call, str]) -> tuple[str, Output]:
        call, key = item
        return key, await _called(pipeline, call, in_thread=in_thread)

    def keep(found: tuple[str, Output]) -> None:
        kept.add(*found)
        counts.failed += found[1].answered is None
        counts.verdicts += found[1].answered is not None
        if progress is not None:
            progress(counts)

    await for_each(one, left, keep, workers=workers)
    return counts


async def _called(pipeline: Pipeline, call: Call, *, in_thread: bool) -> Output:
    began = perf_counter()
    with tallied() as tally:
        try:
            said = await pipeline(call.shown, call.passages, in_thread=in_thread)
            seconds = perf_counter() - began
            output = admitted(call.case.id, said)
        except KeyboardInterrupt:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Output(None, perf_counter() - began, error=_one_line(error))
        except BaseException as error:  # noqa: BLE001  a pipeline may raise anything; it costs this case only
            return Output(None, perf_counter() - began, error=_one_line(error))
    cost, used = output.cost, tally.usage
    if used is not NOTHING_USED and not used.unpriced:
        cost = (cost or 0.0) + used.cost
    return replace(output, seconds=round(seconds, 6), cost=cost)


def _one_line(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  even that may fail
        message = "it has no message"
    kind = [] if isinstance(error, JudgesError) else [type(error).__name__]
    return printable(": ".join([*kind, *filter(None, [message])]), _MESSAGE_LENGTH)


class Outputs:
    """A file of outputs, opened for appending. Each has a key; of several under one key the last counts."""

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        """Open or create the file; cut off a torn last line.

        Args:
            path: Of the file.
            anew: Whether what is there counts as not there. It stays in the file.

        Raises:
            LedgerError: It can't be read or written, or a line of it is no output.
        """
        self._path = path
        self._found: dict[str, Output] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("a+b")
            self._read(anew=anew)
        except OSError as error:
            raise LedgerError(f"{path}: {error.strerror}; choose another folder with --out") from error

    def _read(self, *, anew: bool) -> None:
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                record = orjson.loads(line)
                key, output = str(record["key"]), Output.from_record(record)
            except (ValueError, KeyError, TypeError, AttributeError):
                self._file.close()
                raise LedgerError(f"{self._path}:{number}: no output; delete this line to ask again") from None
            if not anew:
                self._found[key] = output
        self._file.truncate(whole)

    def has(self, key: str) -> bool:
        """Whether there is an output that is no failure."""
        found = self._found.get(key)
        return found is not None and found.answered is not None

    def get(self, key: str) -> Output | None:
        """The output of that key."""
        return self._found.get(key)

    def add(self, key: str, output: Output) -> None:
        """Keep an output.

        Raises:
            LedgerError: It can't be written (the disk is full, say).
        """
        try:
            self._file.write(orjson.dumps({"key": key, **output.to_record()}) + b"\n")
            self._file.flush()
        except OSError as error:
            raise LedgerError(f"{self._path}: {error.strerror}; make room, then run the same command again") from error
        self._found[key] = output

    def close(self) -> None:
        """Bring everything to the disk and close the file."""
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
