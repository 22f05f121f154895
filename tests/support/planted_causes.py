"""A corpus in which each case has one planted cause: cases over our own help centre, and what a judge who knows says.

Each cause is planted in each of the topics. What goes wrong early shows in different ways later on: where what answers
wasn't read, the answer is made up, declines, or follows another passage, in turn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judges import Case, Context, Criterion, Verdict
from judges.fingerprint import Json
from judges.verdict import Abstained, ClaimVerdict, Evidence
from support.planted_topics import TOPICS, Topic

CRITERIA = ("faithfulness", "answer_relevance", "correctness", "completeness", "context_recall", "source_use")
NO_FAULT = "none"
_READ = 3
_REFUSALS = ("I don't know.", "I'm sorry, but I can't help with that.", "Unfortunately, I could not find an answer.")


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer, and what a judge who knows says of it."""

    text: str
    faithful: bool | None
    """None where it claims nothing."""
    relevant: bool
    correct: bool
    rests_on: str | None = None
    """The passage it follows."""
    complete: bool = False
    sources_good: bool = True


@dataclass(frozen=True, slots=True)
class _Scene:
    """What was retrieved and read for a topic."""

    topic: Topic
    number: int
    others: tuple[Topic, ...]

    @property
    def gold(self) -> str:
        return f"{self.topic.name}-1"

    @property
    def near(self) -> str:
        return f"{self.topic.name}-2"

    @property
    def passage(self) -> Context:
        topic = self.topic
        return Context(f"{topic.before} {topic.fact} {topic.more}", self.gold)

    @property
    def near_passage(self) -> Context:
        return Context(self.topic.near, self.near)

    def other(self, place: int) -> Context:
        topic = self.others[place]
        return Context(f"{topic.before} {topic.fact} {topic.more}", f"{topic.name}-1")

    def turned(self, count: int) -> int:
        """Which of so many ways: another one for the next topic."""
        return self.number % count


def planted_cases(topics: Sequence[Topic] = TOPICS) -> list[Case]:
    """The corpus. `planted` of a case names its cause and component, `gold` what a judge who knows says."""
    return [
        case
        for number, topic in enumerate(topics)
        for case in _cases(_Scene(topic, number, tuple(topics[(number + step) % len(topics)] for step in range(1, 16))))
    ]


def _cases(scene: _Scene) -> Iterator[Case]:
    for cause, (component, plant) in _PLANTS.items():
        yield plant(scene, cause, component)


def _case(
    scene: _Scene,
    cause: str,
    component: str,
    contexts: Sequence[Context],
    answer: _Answer,
    *,
    question: str | None = None,
    reference: str | None = None,
    recall: bool = True,
    fields: Mapping[str, Json] | None = None,
) -> Case:
    topic = scene.topic
    read = tuple(Context(each.text, each.doc_id, rank) for rank, each in enumerate(contexts, 1))
    names = [each.doc_id for each in read]
    gold: dict[str, Json] = {
        "faithfulness": answer.faithful,
        "answer_relevance": answer.relevant,
        "correctness": answer.correct,
        "completeness": answer.complete,
        "context_recall": recall,
        "source_use": answer.sources_good,
        "rests_on": None if answer.rests_on is None else names.index(answer.rests_on),
    }
    extra: dict[str, Json] = {"retrieved": [*names], "relevant": [scene.gold], **(fields or {})}
    extra |= {"planted": {"cause": cause, "component": component}, "gold": gold, "topic": topic.name}
    return Case(
        f"{cause}-{topic.name}",
        question or topic.question,
        answer.text,
        read,
        (reference or topic.fact,),
        lang="en",
        extra=extra,
    )


def _right(scene: _Scene, text: str | None = None) -> _Answer:
    return _Answer(text or scene.topic.answer, True, True, True, scene.gold, complete=True)


def _without(scene: _Scene, near: Context) -> _Answer:
    """An answer by someone who hasn't read what answers."""
    match scene.turned(3):
        case 0:
            return _Answer(scene.topic.invented, False, True, False)
        case 1:
            return _Answer(_REFUSALS[scene.number % len(_REFUSALS)], None, False, False)
        case _:
            return _Answer(scene.topic.near_answer, True, True, False, near.doc_id)


def _many(scene: _Scene, *, place: int | None, count: int = 12) -> list[str]:
    """Ids of an order in which what answers stands at a place, from 1, or nowhere."""
    names = [scene.near, *(f"{each.name}-1" for each in scene.others)]
    if place is not None:
        names.insert(place - 1, scene.gold)
    return names[:count]


def _passing(scene: _Scene, cause: str, component: str) -> Case:
    if scene.turned(4) == 0:
        refusal = _Answer("I don't know.", None, True, True, complete=True)
        contexts = [scene.near_passage, scene.other(0), scene.other(1)]
        reference = "The help centre does not say."
        asked = scene.topic.unanswerable
        return _case(
            scene,
            cause,
            component,
            contexts,
            refusal,
            question=asked,
            reference=reference,
            recall=False,
            fields={"relevant": []},
        )
    return _case(scene, cause, component, [scene.passage, scene.near_passage, scene.other(0)], _right(scene))


def _answered_unanswerable(scene: _Scene, cause: str, component: str) -> Case:
    answer = _Answer(scene.topic.bluff, False, True, False)
    contexts = [scene.near_passage, scene.other(0), scene.other(1)]
    reference = "The help centre does not say."
    return _case(
        scene,
        cause,
        component,
        contexts,
        answer,
        question=scene.topic.unanswerable,
        reference=reference,
        recall=False,
        fields={"relevant": []},
    )


def _cut(scene: _Scene, cause: str, component: str) -> Case:
    """The passage's source is cut in the middle of the sentence that answers; one half or both are read."""
    document, fact = scene.passage.text, scene.topic.fact
    start = document.index(fact)
    cut = document.index(" ", start + len(fact) // 2)
    halves = [
        Context(document[:cut], f"{scene.topic.name}-1a"),
        Context(document[cut + 1 :], f"{scene.topic.name}-1b"),
    ]
    read = halves if scene.turned(2) else halves[:1]
    contexts = [*read, scene.near_passage, scene.other(0)][:_READ]
    spans: list[Json] = [
        {"id": f"{scene.topic.name}-1a", "doc": scene.topic.name, "start": 0, "end": cut},
        {"id": f"{scene.topic.name}-1b", "doc": scene.topic.name, "start": cut + 1, "end": len(document)},
    ]
    retrieved: list[Json] = [*spans[: len(read)], *(each.doc_id for each in contexts[len(read) :])]
    needed: list[Json] = [{"doc": scene.topic.name, "start": start, "end": start + len(fact)}]
    answer = _without(scene, scene.near_passage)
    return _case(
        scene, cause, component, contexts, answer, recall=False, fields={"retrieved": retrieved, "relevant": needed}
    )


def _not_read(scene: _Scene, cause: str, component: str, **fields: Json) -> Case:
    contexts = [scene.near_passage, scene.other(0), scene.other(1)]
    answer = _without(scene, scene.near_passage)
    return _case(scene, cause, component, contexts, answer, recall=False, fields=fields)


def _demoted(scene: _Scene, cause: str, component: str) -> Case:
    before, after = _many(scene, place=1 + scene.turned(3)), _many(scene, place=5 + scene.turned(4))
    return _not_read(scene, cause, component, candidates=[*before], retrieved=[*after])


def _ranked_low(scene: _Scene, cause: str, component: str) -> Case:
    before = _many(scene, place=5 + scene.turned(7))
    return _not_read(scene, cause, component, candidates=[*before], retrieved=[*before[:_READ]])


def _ranked_low_somewhere(scene: _Scene, cause: str, component: str) -> Case:
    return _not_read(scene, cause, component, retrieved=[*_many(scene, place=4 + scene.turned(6))])


def _not_retrieved(scene: _Scene, cause: str, component: str) -> Case:
    order: list[Json] = [*_many(scene, place=None)]
    fields: dict[str, Json] = {"candidates": order, "retrieved": order} if scene.turned(2) else {}
    return _not_read(scene, cause, component, **fields)


def _refused(scene: _Scene, cause: str, component: str) -> Case:
    answer = _Answer(_REFUSALS[scene.turned(3)], None, False, False)
    return _case(scene, cause, component, [scene.other(0), scene.passage, scene.near_passage], answer)


def _strayed(scene: _Scene, cause: str, component: str) -> Case:
    topic = scene.topic
    if scene.turned(2):
        answer = _Answer(f"{topic.answer} {topic.addition}", False, True, True, complete=True)
    else:
        answer = _Answer(topic.invented, False, True, False)
    return _case(scene, cause, component, [scene.passage, scene.other(0), scene.near_passage], answer)


def _off_question(scene: _Scene, cause: str, component: str) -> Case:
    other = scene.other(2)
    answer = _Answer(scene.others[2].fact, True, False, False, other.doc_id)
    return _case(scene, cause, component, [scene.passage, other, scene.near_passage], answer)


def _noise(scene: _Scene, cause: str, component: str) -> Case:
    answer = _Answer(scene.topic.near_answer, True, True, False, scene.near)
    contexts = [scene.near_passage, scene.other(0), scene.passage, scene.other(1), scene.other(2)]
    return _case(scene, cause, component, contexts, answer)


def _wrong_source(scene: _Scene, cause: str, component: str) -> Case:
    cited = f"{scene.topic.answer.rstrip('.')} [2]."
    answer = _Answer(cited, True, True, True, scene.gold, complete=True, sources_good=False)
    return _case(scene, cause, component, [scene.passage, scene.other(0), scene.near_passage], answer)


def _left_out(scene: _Scene, cause: str, component: str) -> Case:
    topic = scene.topic
    answer = _Answer(topic.answer, True, True, bool(scene.turned(2)), scene.gold)
    contexts = [scene.passage, scene.near_passage, scene.other(0)]
    return _case(scene, cause, component, contexts, answer, reference=f"{topic.fact} {topic.more}")


def _stale(scene: _Scene, cause: str, component: str) -> Case:
    topic = scene.topic
    old = Context(f"{topic.before} {topic.stale} {topic.more}", scene.gold)
    answer = _Answer(topic.stale_answer, True, True, False, scene.gold)
    return _case(scene, cause, component, [old, scene.near_passage, scene.other(0)], answer, recall=False)


_PLANTS: dict[str, tuple[str, Callable[[_Scene, str, str], Case]]] = {
    NO_FAULT: ("none", _passing),
    "answered_unanswerable": ("generator", _answered_unanswerable),
    "cut": ("chunker", _cut),
    "demoted": ("reranker", _demoted),
    "ranked_low": ("retriever", _ranked_low),
    "ranked_low_somewhere": ("ranking", _ranked_low_somewhere),
    "not_retrieved": ("retriever", _not_retrieved),
    "refused_answerable": ("generator", _refused),
    "strayed": ("generator", _strayed),
    "off_question": ("generator", _off_question),
    "noise": ("context", _noise),
    "wrong_source": ("generator", _wrong_source),
    "left_out": ("generator", _left_out),
    "wrong_although_supported": ("documents", _stale),
}


class KnowingJudge:
    """A judge that says what was planted."""

    name = "knowing"
    fingerprint = "knowing@1"
    threshold = 0.5

    def supports(self, criterion: Criterion) -> bool:
        return criterion.name in CRITERIA

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict | Abstained:
        gold = case.extra["gold"]
        assert isinstance(gold, dict)
        said, place = gold[criterion.name], gold["rests_on"]
        if said is None:
            return Abstained("no_claims")
        score = float(bool(said))
        if criterion.name != "faithfulness":
            return Verdict(score)
        evidence = None
        if isinstance(place, int):
            context = case.contexts[place]
            evidence = Evidence("contexts", place, 0, len(context.text), context.doc_id)
        return Verdict(score, claims=(ClaimVerdict(case.answer or "", score, evidence=evidence),), evidence=evidence)
