"""The append-only list of a run's judgements on disk: one JSON object a line, in order of completion.

A judgement is written before anything else happens to it, in one write. Killed at any moment, a ledger has at most a
torn last line, which opening it for writing repairs.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import orjson

from judges.errors import LedgerError
from judges.usage import Usage
from judges.verdict import Abstained, ClaimVerdict, Evidence, Failed, Judgement, Outcome, Verdict

__all__ = ["Ledger", "decode", "done_keys", "encode", "lines", "not_a_judgement"]

_CHUNK = 1 << 16
_OFTEN_EMPTY = frozenset({"rationale", "detail", "message", "claims"})


class Ledger:
    """A ledger opened for appending."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; repair a torn last line.

        Raises:
            LedgerError: The file can't be written, or a line of it is not a judgement.
        """
        self.path = path
        self.keys: set[bytes] = set()
        """Keys of the judgements that need not be made again: all but the failed ones."""
        self.repaired = False
        """Whether a torn last line was cut off."""
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise LedgerError(f"{path}: {error.strerror}; choose another folder with --out") from error
        try:
            self._repair()
            self.keys = done_keys(path)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _repair(self) -> None:
        size = start = os.fstat(self._descriptor).st_size
        end_of_line = -1
        while start and end_of_line < 0:
            step = min(_CHUNK, start)
            start -= step
            os.lseek(self._descriptor, start, os.SEEK_SET)
            end_of_line = os.read(self._descriptor, step).rfind(b"\n")
        begin = start + end_of_line + 1
        if begin == size:
            return
        os.lseek(self._descriptor, begin, os.SEEK_SET)
        torn = os.read(self._descriptor, size - begin)
        try:
            orjson.loads(torn)
        except orjson.JSONDecodeError:
            os.ftruncate(self._descriptor, begin)
            self.repaired = True
        else:
            self._write(b"\n")

    def append(self, judgement: Judgement) -> None:
        """Write one judgement.

        Raises:
            LedgerError: It can't be written (the disk is full, say).
        """
        self._write(encode(judgement) + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror}; make room, then run the same command again") from error

    def close(self) -> None:
        """Bring everything to the disk and close the file."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each judgement of a ledger as (offset in bytes, record). A last line without its end is not there yet.

    Raises:
        LedgerError: A line is not a judgement, or the file can't be read.
    """
    offset = 0
    try:
        with path.open("rb", buffering=1 << 18) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                yield offset, _parse(line, f"{path}:{number}")
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}") from error


def done_keys(path: Path) -> set[bytes]:
    """Keys of a ledger's judgements that need not be made again: all but the failed ones.

    Raises:
        LedgerError: A line is not a judgement, or the file can't be read.
    """
    keys: set[bytes] = set()
    for _, record in lines(path):
        key = bytes.fromhex(record["key"])
        if "failed" in record:
            keys.discard(key)
        else:
            keys.add(key)
    return keys


def _parse(line: bytes, where: str) -> dict[str, Any]:
    try:
        record: dict[str, Any] = orjson.loads(line)
        bytes.fromhex(record["key"])
        kinds = ("verdict" in record) + ("abstained" in record) + ("failed" in record)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        kinds = 0
        record = {}
    if kinds != 1:
        raise LedgerError(not_a_judgement(where))
    return record


def not_a_judgement(where: str) -> str:
    """What to say of a line that can't be read."""
    return f"{where}: not a judgement; the file was changed or damaged: delete this line to judge it again"


def encode(judgement: Judgement) -> bytes:
    """One judgement as a JSON line without its end; what is absent is left out."""
    record: dict[str, Any] = {
        "key": judgement.key,
        "case": judgement.case_id,
        "criterion": judgement.criterion,
        "judge": judgement.judge,
        "replicate": judgement.replicate,
        "seconds": judgement.seconds,
    }
    record |= outcome_record(judgement.outcome)
    if judgement.usage is not None:
        record["usage"] = judgement.usage.to_record()
    try:
        return orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # half of a surrogate pair in some text: no UTF-8 can hold it
        return orjson.dumps(_mended(record), option=orjson.OPT_SERIALIZE_NUMPY)


def _mended(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        items = cast("dict[object, object]", value)
        return {_mended(name): _mended(item) for name, item in items.items()}
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[object]", value)]
    return value


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON-ready values, under the name of its kind."""
    match outcome:
        case Verdict():
            return {"verdict": _present(outcome)}
        case Abstained():
            return {"abstained": _present(outcome)}
        case Failed():
            return {"failed": _present(outcome)}


def _present(value: Verdict | ClaimVerdict | Evidence | Abstained | Failed) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name in value.__slots__:
        field: Any = getattr(value, name)
        if field is None or (name in _OFTEN_EMPTY and not field):
            continue
        if name == "claims":
            record[name] = [_present(claim) for claim in field]
        elif name == "evidence":
            record[name] = _present(field)
        elif name == "probabilities":
            record[name] = dict(field)
        else:
            record[name] = field
    return record


def decode(record: dict[str, Any]) -> Judgement:
    """The judgement of a ledger's record.

    Raises:
        ValueError, TypeError, KeyError: It isn't one.
    """
    outcome: Outcome
    if "verdict" in record:
        fields = _with_evidence(record["verdict"])
        fields["claims"] = tuple(ClaimVerdict(**_with_evidence(claim)) for claim in fields.get("claims", ()))
        outcome = Verdict(**fields)
        for score in (outcome.score, *(claim.score for claim in outcome.claims)):
            if not 0 <= score <= 1:
                raise ValueError(f"the score {score} is not from 0 to 1")
    elif "abstained" in record:
        outcome = Abstained(**record["abstained"])
    else:
        outcome = Failed(**record["failed"])
    return Judgement(
        case_id=record["case"],
        criterion=record["criterion"],
        judge=record["judge"],
        outcome=outcome,
        replicate=record["replicate"],
        key=record["key"],
        seconds=record["seconds"],
        usage=Usage.from_record(record["usage"]) if "usage" in record else None,
    )


def _with_evidence(record: dict[str, Any]) -> dict[str, Any]:
    fields = dict(record)
    if "evidence" in fields:
        fields["evidence"] = Evidence(**fields["evidence"])
    return fields
