"""A run: one evaluation on disk, in a folder of its own.

    run.json        what was asked: criteria, judges, replicates, where the cases came from
    cases.jsonl     the cases, in order of input
    ledger.jsonl    the judgements, in order of completion; never rewritten, so it keeps those of earlier criteria too
    .judges-lock    held while judging

What is shown of a run is always made from all three: for each case of today, in order of input, the judgement that has
the key of today. So a summary never mixes what was judged before a change with what was judged after it.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self, overload

import orjson
from filelock import FileLock, Timeout

from judges.case import Case
from judges.engine.ledger import Ledger, decode, done_keys, lines, not_a_judgement
from judges.engine.plan import Assignment, Work, key_of, plan
from judges.errors import InputError, LedgerError
from judges.remedies import by_option
from judges.verdict import Judgement

__all__ = ["Manifest", "Row", "Run", "StoredJudgements"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run was asked to do."""

    source: str
    """Where the cases came from, as the user named it."""
    assignments: tuple[Assignment, ...]
    replicates: int = 1
    cases: int = 0
    invalid: int = 0
    """Records of the source that were skipped."""
    complaints: tuple[str, ...] = ()
    """Where and why: the first so many of them."""
    repeat_share: float = 0.0
    """The share of judgements that is made once more. Those are in `Run.repeats` only, and count in no mean."""

    def to_record(self) -> dict[str, Any]:
        """The manifest as JSON-ready values."""
        return {
            "format": _FORMAT,
            "source": self.source,
            "cases": self.cases,
            "invalid": self.invalid,
            "complaints": list(self.complaints),
            "replicates": self.replicates,
            "repeat_share": self.repeat_share,
            "assignments": [assignment.to_record() for assignment in self.assignments],
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Manifest":
        """The manifest that `to_record` wrote."""
        return cls(
            source=record["source"],
            assignments=tuple(Assignment.from_record(assignment) for assignment in record["assignments"]),
            replicates=record["replicates"],
            repeat_share=float(record.get("repeat_share", 0.0)),
            cases=record["cases"],
            invalid=int(record["invalid"]),
            complaints=tuple(record["complaints"]),
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A case with all that was asked of it: each piece of work and its judgement, None where that isn't there yet."""

    case: Case
    judgements: tuple[tuple[Work, Judgement | None], ...]


class Run:
    """The folder of a run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        """The folder as it was named."""
        home = self.path.absolute()  # a judge may change the current folder
        self.ledger_path = home / "ledger.jsonl"
        self._cases_path = home / "cases.jsonl"
        self._manifest_path = home / "run.json"
        self._lock_path = home / ".judges-lock"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the run, so that no other process judges into it; make its folder if it isn't there.

        A folder that was made here goes again if nothing was begun in it: what is refused leaves nothing behind.

        Raises:
            LedgerError: Another process holds it, the folder holds other things than a run, or can't be written.
        """
        home = self._lock_path.parent
        try:
            made = [folder for folder in (home, *home.parents) if not folder.exists()]
            home.mkdir(parents=True, exist_ok=True)
            if not self._lock_path.exists() and any(home.iterdir()):
                self._refuse_foreign_files()
            lock = FileLock(self._lock_path)
            lock.acquire(blocking=False)
        except Timeout:
            raise LedgerError(f"{self.path}: another process is judging into this run; wait for it to end") from None
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror}; choose another folder with --out") from error
        try:
            yield
        finally:
            if made and not self._manifest_path.exists():
                self._remove(made)
            lock.release()

    def _remove(self, folders: Iterable[Path]) -> None:
        """Remove the lock, and these folders, innermost first, as far as they are empty then."""
        with suppress(OSError):
            self._lock_path.unlink()
            for folder in folders:
                folder.rmdir()

    def _refuse_foreign_files(self) -> None:
        """A folder that is not empty must be a run's, or files of the user's could be overwritten."""
        try:
            self.manifest()
        except (InputError, LedgerError):
            raise LedgerError(
                f"{self.path}: holds other files and is no run; choose another folder with --out"
            ) from None

    def begin(self, cases: Iterable[Case], manifest: Callable[[int], Manifest]) -> Manifest:
        """Write down what is asked: all cases, then the manifest, which is told how many there are.

        Nothing that was there is lost before the new files are whole.

        Raises:
            InputError: From `cases`.
            LedgerError: The folder can't be written, or another version of Judges has written it.
        """
        self._refuse_other_versions()
        count = 0

        def write_cases(file: BinaryIO) -> None:
            nonlocal count
            for case in cases:
                file.write(_case_line(case))
                count += 1

        self._replace(self._cases_path, write_cases)
        made = manifest(count)
        text = orjson.dumps(made.to_record(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        self._replace(self._manifest_path, lambda file: file.write(text))
        return made

    def _refuse_other_versions(self) -> None:
        try:
            found = orjson.loads(self._manifest_path.read_bytes())["format"]
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            return  # there is none, or a damaged one, which is to be written anew
        if found != _FORMAT:
            raise LedgerError(self._of_another_version(found))

    def _of_another_version(self, found: object) -> str:
        found = f"format {found!s:.20}"
        remedy = by_option("--out", "choose another folder with --out", "judge the cases anew, into another folder")
        return f"{self.path}: written by another version of Judges ({found}); {remedy}"

    def _replace(self, path: Path, write: Callable[[BinaryIO], object]) -> None:
        new = path.with_name(path.name + ".new")
        try:
            with new.open("wb", buffering=1 << 20) as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError as error:
            raise LedgerError(f"{path}: {error.strerror}; make room, or choose another folder with --out") from error
        finally:
            new.unlink(missing_ok=True)

    def manifest(self) -> Manifest:
        """What the run was asked to do.

        Raises:
            InputError: The folder is not a run.
            LedgerError: Its manifest can't be read.
        """
        try:
            record = orjson.loads(self._manifest_path.read_bytes())
            if record["format"] != _FORMAT:
                raise LedgerError(self._of_another_version(record["format"]))
            return Manifest.from_record(record)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{self.path}: not a run; give the folder that `judges run` printed") from None
        except OSError as error:
            raise LedgerError(f"{self._manifest_path}: {error.strerror}") from error
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise LedgerError(
                f"{self._manifest_path}: damaged; run the same `judges run` again to write it anew"
            ) from None

    def cases(self) -> Iterator[Case]:
        """The cases, in order of input.

        Raises:
            LedgerError: They can't be read.
        """
        try:
            with self._cases_path.open("rb", buffering=1 << 18) as file:
                for number, line in enumerate(file, 1):
                    try:
                        yield Case.from_record(orjson.loads(line))
                    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
                        raise LedgerError(
                            f"{self._cases_path}:{number}: damaged; run the same `judges run` again to write it anew"
                        ) from None
        except OSError as error:
            raise LedgerError(f"{self._cases_path}: {error.strerror}") from error

    def keys(self) -> frozenset[bytes]:
        """Keys of the judgements that need not be made again. Nothing is written, whether the run exists or not.

        Raises:
            LedgerError: The ledger can't be read.
        """
        return frozenset(done_keys(self.ledger_path))

    def open_ledger(self) -> Ledger:
        """The ledger, for appending. Hold the run (`locked`) while it is open."""
        return Ledger(self.ledger_path)

    def _offsets(self) -> dict[bytes, int]:
        """Where in the ledger each judgement stands, by key; of one that was made twice, the last."""
        return {bytes.fromhex(record["key"]): offset for offset, record in lines(self.ledger_path)}

    def _located(self, manifest: Manifest) -> Iterator[tuple[Case, list[tuple[Work, int | None]]]]:
        """Each case with its work and where in the ledger the judgement stands."""
        offsets = self._offsets()
        for case in self.cases():
            works = plan([case], manifest.assignments, replicates=manifest.replicates)
            yield case, [(work, offsets.get(bytes.fromhex(work.key))) for work in works]

    def rows(self, manifest: Manifest) -> Iterator[Row]:
        """Each case with its judgements, in order of input.

        Raises:
            LedgerError: A file of the run can't be read.
        """
        with _Reader(self.ledger_path) as reader:
            for case, located in self._located(manifest):
                yield Row(
                    case,
                    tuple(
                        (work, None if offset is None else reader.read(offset, case.id, work.assignment))
                        for work, offset in located
                    ),
                )

    def planned(self, manifest: Manifest) -> int:
        """How many judgements the run is to have.

        Raises:
            LedgerError: The cases can't be read.
        """
        count = manifest.cases * len(manifest.assignments) * manifest.replicates
        return count + sum(1 for _ in self._chosen(manifest))

    def repeats(self, manifest: Manifest) -> Iterator[tuple[Case, Assignment, Judgement | None, Judgement | None]]:
        """Each judgement that was chosen to be made once more: the first time, and again; None where it isn't there.

        Raises:
            LedgerError: A file of the run can't be read.
        """
        if not manifest.repeat_share:
            return
        offsets = self._offsets()
        seen: set[str] = set()
        with _Reader(self.ledger_path) as reader:
            for work in self._chosen(manifest):
                if work.key in seen:
                    continue  # another case with the very same content
                seen.add(work.key)
                case, assignment = work.case, work.assignment
                places = (offsets.get(bytes.fromhex(key)) for key in (key_of(case, assignment, 0), work.key))
                first, again = (None if place is None else reader.read(place, case.id, assignment) for place in places)
                yield case, assignment, first, again

    def _chosen(self, manifest: Manifest) -> Iterator[Work]:
        """The judgements that are made once more."""
        if manifest.repeat_share:
            works = plan(
                self.cases(), manifest.assignments, replicates=manifest.replicates, repeat_share=manifest.repeat_share
            )
            yield from (work for work in works if work.replicate == manifest.replicates)

    def stored(self, manifest: Manifest) -> "StoredJudgements":
        """The judgements that are there, in order of input, read from the ledger one by one when asked for.

        Raises:
            LedgerError: A file of the run can't be read.
        """
        offsets = self._offsets()
        works = plan(self.cases(), manifest.assignments, replicates=manifest.replicates)
        return StoredJudgements(
            self.ledger_path,
            [
                (offset, work.case.id, work.assignment)
                for work in works
                if (offset := offsets.get(bytes.fromhex(work.key))) is not None
            ],
        )


class _Reader:
    """Reads single judgements of a ledger."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: BinaryIO | None = path.open("rb")
        except FileNotFoundError:
            self._file = None
        except OSError as error:
            raise LedgerError(f"{path}: {error.strerror}") from error

    def read(self, offset: int, case_id: str, assignment: Assignment) -> Judgement:
        """The judgement at `offset`, under the names of today."""
        assert self._file is not None, "an offset came from a ledger"  # noqa: S101
        self._file.seek(offset)
        try:
            found = decode(orjson.loads(self._file.readline()))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            self._file.seek(0)
            line = self._file.read(offset).count(b"\n") + 1
            raise LedgerError(not_a_judgement(f"{self._path}:{line}")) from None
        return replace(found, case_id=case_id, criterion=assignment.criterion.name, judge=assignment.judge)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class StoredJudgements(Sequence[Judgement]):
    """Judgements that stay in a ledger until one is asked for."""

    def __init__(self, path: Path, places: list[tuple[int, str, Assignment]]) -> None:
        self._path = path
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Judgement]:
        with _Reader(self._path) as reader:
            for place in self._places:
                yield reader.read(*place)

    @overload
    def __getitem__(self, index: int) -> Judgement: ...
    @overload
    def __getitem__(self, index: slice) -> list[Judgement]: ...
    def __getitem__(self, index: int | slice) -> Judgement | list[Judgement]:
        with _Reader(self._path) as reader:
            if isinstance(index, slice):
                return [reader.read(*place) for place in self._places[index]]
            return reader.read(*self._places[index])


def _case_line(case: Case) -> bytes:
    try:
        return orjson.dumps(case.to_record()) + b"\n"
    except TypeError as error:
        raise InputError(
            f"case `{case.id}`: can't be written as JSON ({error}); mend its text or its extra fields"
        ) from None
