"""What an experiment is made on: cases, with what is relevant to each, and the texts of passages."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from judges.case import Case, Context
from judges.datasets import read_cases, read_records
from judges.datasets.source import format_of, numbered_lines, opened
from judges.errors import InputError
from judges.fingerprint import Json, fingerprint
from judges.printable import printable
from judges.remedies import also_has
from judges.retrieval.fields import id_of, shown
from judges.retrieval.labels import Label, labels_from, labels_of, read_labels
from judges.retrieval.passages import Span
from judges.retrieval.qrels import read_trec_qrels

__all__ = ["Dataset", "read_dataset", "right_passages", "right_spans"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The cases, with what is relevant to each."""

    name: str
    cases: tuple[Case, ...]
    passages: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts by id, of passages or of the documents that they are stretches of."""

    @property
    def identity(self) -> str:
        """Its name, and a hash of its questions, references and labels."""
        held = [[case.id, case.question, list(case.references), case.extra.get("relevant")] for case in self.cases]
        return f"{self.name} #{fingerprint(cast('Json', held))[:8]}"


def read_dataset(
    path: Path,
    *,
    fields: Mapping[str, str] | None = None,
    qrels: Path | None = None,
    passages: Path | None = None,
    limit: int | None = None,
) -> Dataset:
    """The cases of a file, with what is relevant to each.

    Args:
        path: Of the cases.
        fields: As `read_cases` takes them.
        qrels: Relevance in TREC's format or as records; a case that it lacks has nothing relevant. It goes over what
            the cases say.
        passages: Records with `id` and `text`.
        limit: Only the first so many cases.

    Raises:
        InputError: A file can't be read, or holds something else.
    """
    try:
        with also_has("--map"):
            cases = list(read_cases(path, fields=fields))[:limit]
    except InputError as error:
        raise InputError(str(error).replace("--map ", "`map` of the plan: ")) from None
    if qrels is not None:
        labels = _labels(qrels)
        if not labels.keys() & {case.id for case in cases}:
            raise InputError(f"{qrels}: has no case of {path}; check that both name cases alike")
        cases = [
            replace(
                case,
                extra={**case.extra, "relevant": [_label_record(each) for each in labels.get(case.id, [])]},
            )
            for case in cases
        ]
    return Dataset(path.name, tuple(cases), {} if passages is None else _texts(passages))


def _labels(path: Path) -> dict[str, list[Label]]:
    try:
        is_records = format_of(path, None) is not None
    except InputError:  # a suffix of no format of ours: TREC's have none of their own
        is_records = False
    if is_records:
        return read_labels(read_records(path))
    with opened(path) as (stream, name):
        lines = ((f"{name}:{number}", line) for number, line in numbered_lines(stream, name))
        return labels_from(read_trec_qrels(lines))


def _label_record(label: Label) -> dict[str, Json]:
    target = label.target
    record: dict[str, Json] = (
        {"doc": target.document, "start": target.start, "end": target.end}
        if isinstance(target, Span)
        else {"id": target}
    )
    record["grade"] = label.grade
    further = {"group": label.group, "text_hash": label.text_hash}
    return record | {name: value for name, value in further.items() if value is not None}


def _texts(path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for where, record in read_records(path):
        name, text = id_of(record.get("id"), where, "id"), record.get("text")
        if not isinstance(text, str):
            raise InputError(f"{where}: `text` is missing; give the text of the passage")
        if texts.setdefault(name, text) != text:
            raise InputError(f"{where}: the id {shown(name)} is there with another text; give each passage its own")
    return texts


def right_passages(case: Case, texts: Mapping[str, str]) -> tuple[Context, ...]:
    """The passages that are relevant to a case, the highest grade first. None where nothing is.

    Raises:
        InputError: The case doesn't say what is relevant, or of one passage the text isn't known.
    """
    where = f"case `{printable(case.id, 40)}`"
    if case.extra.get("relevant") is None:
        raise InputError(f"{where}: says nothing of what is `relevant`, so the right passages can't be given")
    labels = [label for label in labels_of(case.extra["relevant"], where) if label.grade >= 1]
    found: list[Context] = []
    for rank, label in enumerate(sorted(labels, key=lambda each: -each.grade), 1):
        target = label.target
        document = target.document if isinstance(target, Span) else target
        if (text := texts.get(document)) is None:
            raise InputError(
                f"{where}: the text of {shown(document)}, which is relevant, isn't known; "
                "name a file of id and text with `passages`"
            )
        found.append(Context(text[target.start : target.end] if isinstance(target, Span) else text, str(target), rank))
    return tuple(found)


def right_spans(case: Case) -> dict[str, dict[str, Json]]:
    """Where in its document each passage of `right_passages` stands, by id; of whole passages nothing is said."""
    labels = labels_of(case.extra.get("relevant") or [], f"case `{printable(case.id, 40)}`")
    spans = (label.target for label in labels if isinstance(label.target, Span))
    return {str(span): {"doc": span.document, "start": span.start, "end": span.end} for span in spans}
