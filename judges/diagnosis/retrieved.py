"""What is known of the retrieval of each case: what was needed, what was read, and what came before it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judges.case import Case
from judges.errors import InputError
from judges.fingerprint import Json
from judges.printable import printable
from judges.retrieval.labels import Label, Labels, check_versions, labels_of, relevant_ids, resolve
from judges.retrieval.passages import Index, Passage, Span, passage_id, span_of
from judges.retrieval.qrels import Grades, Group
from judges.retrieval.ranking import Ranking, ranking_of
from judges.summary import asked_id

__all__ = ["ENOUGH", "Need", "Retrieved", "read_retrieval"]

ENOUGH = 0.8
"""The share of a labelled span that a passage has to hold. Of a span that was cut in two, one half holds half of it."""
_BEFORE, _RETRIEVED = "candidates", "retrieved"
"""Fields of a case: the order before reranking, and the one that the passages were taken from."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something that has to be read for the question to be answered."""

    documents: frozenset[str]
    """Any of these passages will do; of a span that is split over passages there are none."""
    spans: tuple[Span, ...] = ()
    """What they hold, where spans were labelled."""

    def __str__(self) -> str:
        return " or ".join(map(str, self.spans)) or " or ".join(sorted(self.documents))


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What is known of the retrieval of one case."""

    read: tuple[str, ...] | None = None
    """Ids of the passages that the generator read, best first; None where they have none."""
    below: tuple[str, ...] | None = None
    """The order that they were taken from, where it is known and goes further."""
    before: tuple[str, ...] | None = None
    """The order before reranking."""
    needs: tuple[Need, ...] | None = None
    """Of the highest grade that the question has; None where nothing was labelled, empty where nothing is relevant."""
    grades: Grades = field(default_factory=dict[str, int])
    groups: Sequence[Group] = ()
    parts: Mapping[Span, tuple[str, ...]] = field(default_factory=dict[Span, tuple[str, ...]])
    """The passages that hold a part, by span needed that no passage holds enough of."""

    @property
    def missing(self) -> tuple[Need, ...]:
        """What was needed and not read."""
        return tuple(need for need in self.needs or () if not need.documents & set(self.read or ()))

    def place(self, need: Need, order: Sequence[str]) -> int | None:
        """Where in an order what is needed stands first, from 1."""
        return next((place for place, name in enumerate(order, 1) if name in need.documents), None)


def read_retrieval(
    cases: Iterable[Case],
    labels: Labels | None = None,
    *,
    complete: bool = False,
    index: Index | None = None,
    share: float = ENOUGH,
    source: str = "",
) -> dict[str, Retrieved]:
    """What is known of the retrieval of each case, by id.

    Args:
        cases: Their `relevant`, `retrieved` and `candidates` are read, and the ids and spans of their contexts.
        labels: By case, instead of `relevant`.
        complete: Whether nothing is relevant to a case that `labels` lack.
        index: All passages there are.
        share: A passage holds enough of a span if it holds this share of its characters.
        source: Of the cases, for messages.

    Raises:
        InputError: One of these fields holds something else, or the labels are of another chunking.
    """
    found: dict[str, Retrieved] = {}
    given: dict[str, Sequence[Label]] = {}
    passages: dict[str, Passage] = {}
    for case in cases:
        where = f"{source}: case `{printable(case.id, 40)}`" if source else f"case `{printable(case.id, 40)}`"
        fields = {name: _order(case, name, where) for name in (_RETRIEVED, _BEFORE)}
        for order in filter(None, fields.values()):
            for name, passage in order.passages.items():
                passages[name] = _together(passages.get(name), passage)
        for name, span in _context_spans(case, where):
            passages[name] = _together(passages.get(name), Passage(span=span))
        found[case.id] = _orders(case, fields[_RETRIEVED], fields[_BEFORE])
        asked = asked_id(case)
        if labels is not None and (complete or asked in labels):
            given[case.id] = labels.get(asked, ())
        elif labels is None and case.extra.get("relevant") is not None:
            given[case.id] = labels_of(case.extra["relevant"], where)
    shown = (
        name for each in found.values() for name in (*(each.read or ()), *(each.below or ()), *(each.before or ()))
    )
    check_versions(relevant_ids(given), shown)
    passages |= index or {}
    resolved = resolve(given, passages, share=share)
    changed = set(resolved.changed)
    spans = [(name, each.span) for name, each in passages.items() if each.span is not None]
    for name, grades in resolved.qrels.grades.items():
        kept = [label for label in given[name] if (name, label.target) not in changed]
        needs = tuple(_needs(kept, spans, share))
        found[name] = replace(
            found[name],
            needs=needs,
            grades=grades,
            groups=resolved.qrels.groups.get(name, ()),
            parts=dict(_split(needs, spans)),
        )
    return found


def _order(case: Case, field_name: str, where: str) -> Ranking | None:
    value = case.extra.get(field_name)
    if value is None:
        return None
    try:
        return ranking_of(value, where, keep_first=True)
    except InputError as error:
        raise InputError(str(error).replace(f"`{_RETRIEVED}`", f"`{field_name}`")) from None


def _orders(case: Case, retrieved: Ranking | None, before: Ranking | None) -> Retrieved:
    ranked = sorted(enumerate(case.contexts, 1), key=lambda each: each[1].rank or each[0])
    names = [context.doc_id for _, context in ranked]
    order = None if retrieved is None else retrieved.documents
    if all(name is not None for name in names) and (names or order is None):
        read: tuple[str, ...] | None = tuple(dict.fromkeys(name for name in names if name is not None))
    else:
        read = order
    if order is not None and set(order) <= set(read or ()):
        order = None
    return Retrieved(read, order, None if before is None else before.documents)


def _context_spans(case: Case, where: str) -> Iterable[tuple[str, Span]]:
    """The spans of the passages that were read, where the records tell them: such records are kept as they were."""
    kept = case.extra.get("contexts")
    for item in kept if isinstance(kept, Sequence) and not isinstance(kept, str) else ():
        if isinstance(item, Mapping):
            record: Mapping[str, Json] = item
            span = span_of(record, where)
            if span is not None:
                yield passage_id(record, where, ("id", "doc_id")), span


def _together(one: Passage | None, other: Passage) -> Passage:
    if one is None:
        return other
    return Passage(one.text_hash or other.text_hash, one.span or other.span)


_Spans = Sequence[tuple[str, Span]]


def _needs(labels: Sequence[Label], spans: _Spans, share: float) -> Iterable[Need]:
    """One for each label of the highest grade; labels of a group are one together."""
    highest = max((label.grade for label in labels), default=0)
    members: dict[str | Span, list[Label]] = {}
    for label in labels:
        if label.grade == highest >= 1:
            members.setdefault(f"group {label.group}" if label.group is not None else label.target, []).append(label)
    for alternatives in members.values():
        targets = [label.target for label in alternatives]
        whole = tuple(target for target in targets if isinstance(target, Span))
        covering = {name for target in whole for name, span in spans if target.covered_by(span) >= share}
        yield Need(frozenset(covering | {target for target in targets if isinstance(target, str)}), whole)


def _split(needs: Sequence[Need], spans: _Spans) -> Iterable[tuple[Span, tuple[str, ...]]]:
    """The spans of needs that nothing satisfies, each with the passages that hold a part of it."""
    for need in needs:
        for target in need.spans if not need.documents else ():
            parts = sorted((span.start, name) for name, span in spans if target.covered_by(span) > 0)
            yield target, tuple(name for _, name in parts)
