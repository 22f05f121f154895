"""What a prompt shows of a case and a criterion: which parts, in which words, one by one or as a whole."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from judges.backends.readout import Item
from judges.case import Case, Part
from judges.criterion import Criterion, Example, Unit
from judges.fingerprint import canonical
from judges.prompts import Fence, Template, fenced_parts, load, numbered, text_of
from judges.verdict import Abstained

__all__ = [
    "absent",
    "can_show",
    "claims_text",
    "hypotheses",
    "passages",
    "system_text",
    "template_for",
    "user_text",
    "with_passages",
]

_WORDS = {
    Part.QUESTION: "the question",
    Part.ANSWER: "the answer",
    Part.CONTEXTS: "the passages",
    Part.REFERENCES: "the reference answers",
}
_ABSENT = {
    Part.QUESTION: ("no_question", "question"),
    Part.HISTORY: ("no_history", "earlier turn"),
    Part.ANSWER: ("no_answer", "answer"),
    Part.RIVAL: ("no_rival", "second answer"),
    Part.CONTEXTS: ("no_contexts", "passage"),
    Part.REFERENCES: ("no_references", "reference"),
}
_RUBRICS = {Unit.WHOLE: "rubric", Unit.CLAIM: "rubric_items", Unit.CONTEXT: "rubric_items", Unit.PAIR: "rubric_pair"}


def can_show(criterion: Criterion) -> bool:
    """Whether there are words for what the criterion is about."""
    if criterion.hypothesis not in _WORDS or Part.EXTRA in criterion.parts:
        return False
    match criterion.unit:
        case Unit.CONTEXT:
            return criterion.hypothesis is Part.CONTEXTS
        case Unit.PAIR:
            return criterion.hypothesis is Part.ANSWER and Part.RIVAL in criterion.parts
        case _:
            return True


def absent(case: Case, criterion: Criterion) -> Abstained | None:
    """Why there is nothing to ask, if there isn't."""
    needed = [criterion.hypothesis, criterion.premise, *([Part.RIVAL] if criterion.unit is Unit.PAIR else [])]
    for part in needed:
        if part is not None and not text_of(case, part).strip():
            code, words = _ABSENT[part]
            return Abstained(code, f"the case has no {words}")
    return None


# --- What is judged -------------------------------------------------------------------------------------------------


def hypotheses(case: Case, criterion: Criterion) -> list[str]:
    """The texts whose claims are judged: one, or one for each reference."""
    if criterion.hypothesis is Part.REFERENCES:
        return [reference for reference in case.references if reference.strip()]
    return [text_of(case, criterion.hypothesis)]


def passages(case: Case) -> tuple[Item, ...]:
    """The passages, to be judged one by one."""
    return tuple(Item(f"p{number}", context.text, doc_id=context.doc_id) for number, context in numbered(case.contexts))


def with_passages(case: Case, numbers: Collection[int]) -> Case:
    """The case with these passages only. The others turn blank: each keeps its number, by which answers cite it."""
    contexts = (
        context if number in numbers else replace(context, text="") for number, context in enumerate(case.contexts, 1)
    )
    return replace(case, contexts=tuple(contexts))


# --- Texts ----------------------------------------------------------------------------------------------------------


def template_for(criterion: Criterion) -> Template:
    """The criterion's template, in its latest version; without one, that for any rubric.

    Raises:
        InputError: There is no such template.
    """
    return load(criterion.template or _RUBRICS[criterion.unit])


def system_text(template: Template, criterion: Criterion, *, rationale: bool, language: str | None) -> str:
    """The instructions: the same for all cases."""
    values: dict[str, Any] = {
        "name": criterion.name,
        "description": criterion.description,
        "judged": _judged(criterion),
        "first": "p1" if criterion.unit is Unit.CONTEXT else "c1",
        "levels": criterion.scale.levels,
        "examples": [_example(example, rationale=rationale) for example in criterion.examples],
        "rationale": rationale,
        "language": language,
    }
    return template.system(values)


def _example(example: Example, *, rationale: bool) -> str:
    said = {"rationale": example.rationale} if rationale and example.rationale else {}
    return canonical({**example.parts, **said, "verdict": example.label}).decode("utf-8", "replace")


def user_text(template: Template, case: Case, criterion: Criterion, items: Collection[Item]) -> str:
    """The case: of its parts those that the criterion names, and what is to be judged.

    Templates of a criterion find each part by its name. Those for any rubric find the part that is judged as
    `hypothesis`, so that it is shown once and last.
    """
    parts = {
        part: text_of(case, part)
        for part in criterion.parts
        if template.reads(part.value) or (part is criterion.hypothesis and template.reads("hypothesis"))
    }
    if criterion.unit is Unit.CONTEXT or (items and not criterion.template):
        parts.pop(criterion.hypothesis, None)  # shown one by one
    fence = Fence([*parts.values(), *(item.text for item in items)])
    values: dict[str, Any] = fenced_parts(case, parts, fence)
    values["judged"] = _judged(criterion)
    if items:
        kind = "passage" if criterion.unit is Unit.CONTEXT else "claim"
        values["items"] = "\n".join(fence.block(kind, item.text, id=item.id, source=item.doc_id) for item in items)
    elif not criterion.template and criterion.unit is Unit.WHOLE:
        values["hypothesis"] = values.pop(criterion.hypothesis.value)
    return template.user(values)


def claims_text(template: Template, case: Case, criterion: Criterion, text: str) -> str:
    """A text to be taken apart, with what was said before it: the same for every criterion that reads the same."""
    parts: dict[Part, str] = {
        part: text_of(case, part)
        for part in (Part.QUESTION, Part.HISTORY)
        if part in criterion.parts and part is not criterion.hypothesis
    }
    fence = Fence([*parts.values(), text])
    return template.user(fenced_parts(case, parts, fence) | {"text": fence.block("text", text)})


def _judged(criterion: Criterion) -> str:
    words = _WORDS[criterion.hypothesis]
    return f"the claims of {words}" if criterion.unit is Unit.CLAIM else words
