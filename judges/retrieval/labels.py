"""Relevance as people label it, and the qrels it comes to for the passages that there are.

A label is on a passage by its id, and then maybe on its text too; or on a span of a source document, so that documents
can be cut into passages another way without labelling again. Labels of one query that share a `group` are alternatives:
any one of them suffices.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable
from judges.remedies import by_option
from judges.retrieval.fields import DOCUMENT, ITEM, QUERY, Row, grade_of, id_of, listed, shown, value_of
from judges.retrieval.passages import Index, Span, span_of, text_hash_of
from judges.retrieval.qrels import Group, Qrels

__all__ = [
    "Absent",
    "Label",
    "Labels",
    "Resolved",
    "absent",
    "check_versions",
    "labels_from",
    "labels_of",
    "need_passages",
    "read_labels",
    "relevant_ids",
    "resolve",
]

_GRADE = ("grade", "relevance", "rel", "score")


@dataclass(frozen=True, slots=True)
class Label:
    """What was said of one passage, or of one span, for one query."""

    target: str | Span
    """The passage's id, or the span."""
    grade: int = 1
    group: str | None = None
    text_hash: str | None = None
    """Of the passage's text as it was when it was labelled."""


Labels: TypeAlias = Mapping[str, Sequence[Label]]
"""By query; a query without labels has nothing relevant."""


def read_labels(records: Iterable[Row]) -> dict[str, list[Label]]:
    """Labels from records with `query`, `document` and `grade`, or what TREC and BEIR call these.

    Optional: `group`; and `text_hash` (SHA-256 in hex) or `text`. Instead of `document` a record may have `doc`,
    `start` and `end`: a span of a source document, in characters, the end exclusive.

    Raises:
        InputError: A record lacks one of them, or labels something a second time.
    """
    labels: dict[str, list[Label]] = {}
    seen: set[tuple[str, str | Span]] = set()
    for where, record in records:
        query = id_of(value_of(record, QUERY, where), where, QUERY[0])
        label = _label(record, DOCUMENT, value_of(record, _GRADE, where), where)
        if (query, label.target) in seen:
            what = "span" if isinstance(label.target, Span) else "document"
            raise InputError(
                f"{where}: {what} {shown(label.target)} of query {shown(query)} is judged a second time; keep one line"
            )
        seen.add((query, label.target))
        labels.setdefault(query, []).append(label)
    return labels


def labels_of(relevant: object, where: str) -> list[Label]:
    """The labels of one query as a case carries them.

    Args:
        relevant: Id to grade, or a list. In a list stand ids, of grade 1; objects as `read_labels` takes them, with
            `id` for the document and 1 where no grade is given; and lists of both, whose members are a group.
        where: Of the case, for messages.

    Raises:
        InputError: It is something else, or labels something twice in different ways.
    """
    found: dict[str | Span, Label] = {}
    for label in _labels_of(relevant, where):
        if found.setdefault(label.target, label) != label:
            raise InputError(f"{where}: `relevant` labels {shown(label.target)} twice, and not alike; keep one")
    return list(found.values())


def _labels_of(relevant: object, where: str) -> Iterator[Label]:
    relevant = listed(relevant)
    if isinstance(relevant, Mapping):
        for document, grade in cast("Mapping[object, object]", relevant).items():
            yield Label(id_of(document, where, "relevant"), grade_of(grade, where))
        return
    if not _is_list(relevant):
        raise InputError(
            f"{where}: `relevant` is no list of ids and no object of id and grade; give [] where nothing is"
        )
    for place, item in enumerate(cast("Sequence[object]", relevant), 1):
        if _is_list(item):
            for member in cast("Sequence[object]", item):
                yield _listed(member, f"#{place}", where)
        else:
            yield _listed(item, None, where)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _listed(item: object, group: str | None, where: str) -> Label:
    if not isinstance(item, Mapping):
        return Label(id_of(item, where, "relevant"), group=group)
    record = cast("Mapping[str, Json]", item)
    if group is not None:
        record = {**record, "group": group}
    return _label(record, ITEM, record.get("grade", 1), where)


def _label(record: Mapping[str, Json], names: Sequence[str], grade: Json, where: str) -> Label:
    span = span_of(record, where)
    target = span if span is not None else id_of(value_of(record, names, where), where, names[0])
    group = record.get("group")
    text_hash = None if span is not None else text_hash_of(record, where)
    return Label(target, grade_of(grade, where), None if group is None else id_of(group, where, "group"), text_hash)


def labels_from(qrels: Qrels) -> dict[str, list[Label]]:
    """The labels that qrels without groups hold."""
    return {
        query: [Label(document, grade) for document, grade in grades.items()] for query, grades in qrels.grades.items()
    }


def relevant_ids(labels: Labels) -> set[str]:
    """The ids of all passages labelled relevant, for any query."""
    return {
        each.target for given in labels.values() for each in given if each.grade >= 1 and isinstance(each.target, str)
    }


def need_passages(labels: Labels) -> bool:
    """Whether it takes more than the ids of passages to hold them against these labels: they are on spans, or texts."""
    return any(
        each.text_hash is not None or isinstance(each.target, Span) for given in labels.values() for each in given
    )


# From labels to qrels


@dataclass(frozen=True, slots=True)
class Resolved:
    """What labels come to for the passages that there are."""

    qrels: Qrels
    changed: tuple[tuple[str, str], ...] = ()
    """Query and passage of each label that is left out, since the passage has another text now."""
    emptied: tuple[str, ...] = ()
    """Queries left out: no label on something relevant is left."""
    unchecked: int = 0
    """Labels with a text to hold the passage against, of passages whose text isn't known."""


def resolve(labels: Labels, passages: Index, *, share: float = 0.5) -> Resolved:
    """The qrels that these labels come to.

    A span is a group: any passage that covers enough of it suffices, and such a passage is relevant. So a span that no
    known passage covers can't be found.

    Args:
        labels: By query.
        passages: What is known of the passages that were retrieved, or better of all there are.
        share: A passage covers enough of a span if it holds this share of its characters; above 0, at most 1.

    Raises:
        InputError: Spans are labelled, and of no passage the span is known.
    """
    by_document = _by_document(passages)
    spans = any(isinstance(each.target, Span) for given in labels.values() for each in given)
    if spans and not by_document:
        raise InputError(
            "spans are labelled, but no passage tells which stretch of its document it is; "
            "give `doc`, `start` and `end` of each retrieved passage"
            + by_option("--index", ", or of all passages with --index")
        )
    grades: dict[str, dict[str, int]] = {}
    groups: dict[str, list[Group]] = {}
    changed, emptied, unchecked = list[tuple[str, str]](), list[str](), 0
    for query, given in labels.items():
        kept: list[Label] = []
        for label in given:
            known = passages.get(label.target) if isinstance(label.target, str) else None
            now = None if known is None else known.text_hash
            if label.text_hash is None or now == label.text_hash:
                kept.append(label)
            elif now is None:
                kept.append(label)
                unchecked += 1
            else:
                changed.append((query, str(label.target)))
        if any(each.grade >= 1 for each in given) and not any(each.grade >= 1 for each in kept):
            emptied.append(query)
            continue
        targets = [(label, _documents(label.target, by_document, share)) for label in kept]
        grades[query] = _grades(targets)
        if made := _groups(targets):
            groups[query] = made
    return Resolved(Qrels(grades, groups), tuple(changed), tuple(emptied), unchecked)


_ByDocument: TypeAlias = Mapping[str, Sequence[tuple[str, Span]]]


def _by_document(passages: Index) -> dict[str, list[tuple[str, Span]]]:
    found: dict[str, list[tuple[str, Span]]] = {}
    for name, passage in passages.items():
        if passage.span is not None:
            found.setdefault(passage.span.document, []).append((name, passage.span))
    return found


def _documents(target: str | Span, passages: _ByDocument, share: float) -> list[str]:
    """The passages a label is on."""
    if isinstance(target, str):
        return [target]
    return [name for name, span in passages.get(target.document, ()) if target.covered_by(span) >= share]


def _grades(targets: Iterable[tuple[Label, Sequence[str]]]) -> dict[str, int]:
    """The grade of each passage: the highest of its labels."""
    grades: dict[str, int] = {}
    for label, documents in targets:
        for name in documents:
            grades[name] = max(label.grade, grades.get(name, label.grade))
    return grades


def _groups(targets: Iterable[tuple[Label, Sequence[str]]]) -> list[Group]:
    """The groups of a query: a named one with all its labels, and each span that is in none."""
    members: dict[str | Span, list[tuple[int, Sequence[str]]]] = {}
    for label, documents in targets:
        alternatives = label.group if label.group is not None else label.target
        if label.grade >= 1 and (label.group is not None or isinstance(label.target, Span)):
            members.setdefault(alternatives, []).append((label.grade, documents))
    return [
        Group(frozenset(name for _, documents in each for name in documents), max(grade for grade, _ in each))
        for each in members.values()
    ]


# What is not there any more


@dataclass(frozen=True, slots=True)
class Absent:
    """A label on something relevant that an index doesn't have."""

    query: str
    target: str | Span
    why: Literal["no such id", "another text", "no passage covers it"]


def absent(labels: Labels, index: Index, *, share: float = 0.5) -> list[Absent]:
    """The labels on relevant passages and spans that the index doesn't have, in their order.

    Spans are looked for only in an index that knows of spans.
    """
    by_document = _by_document(index)
    found: list[Absent] = []
    for query, given in labels.items():
        for label in given:
            if label.grade < 1:
                continue
            if isinstance(label.target, Span):
                if by_document and not _documents(label.target, by_document, share):
                    found.append(Absent(query, label.target, "no passage covers it"))
            elif label.target not in index:
                found.append(Absent(query, label.target, "no such id"))
            elif label.text_hash is not None and index[label.target].text_hash not in (None, label.text_hash):
                found.append(Absent(query, label.target, "another text"))
    return found


def check_versions(relevant: Collection[str], retrieved: Iterable[str]) -> None:
    """Refuse labels made for another chunking than what was retrieved, where ids tell: `guide-7@512` has version 512.

    An id's version is what follows its last `@`. It is looked at only where all ids have one and those of what was
    retrieved are all the same, as those of an index are.

    Raises:
        InputError: Some relevant ids have another version.
    """
    versions = {_version(name) for name in relevant}
    if not versions or None in versions:
        return
    current: str | None = None
    for name in retrieved:
        version = _version(name)
        if version is None or current not in (None, version):
            return
        current = version
    if current is None:
        return
    stale = [name for name in relevant if _version(name) != current]
    if stale:
        others = ", ".join(f'"{printable(each, 30)}"' for each in sorted(set(map(str, map(_version, stale))))[:3])
        raise InputError(
            f"stale qrels: {len(stale):,} of {len(relevant):,} relevant ids are not in the index: they are of chunking"
            f' version {others}, and what was retrieved of "{printable(current, 30)}"; label again, or label spans of'
            " the source documents, which outlive a new chunking"
        )


def _version(name: str) -> str | None:
    _, mark, version = name.rpartition("@")
    return version if mark and version else None
