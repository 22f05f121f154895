"""A brain for the model server that reads our prompts and judges by shared words: the same verdict each time.

RunningServer.start(brain="support.judging_brain:judge")
"""

import json
import re
from typing import Any, cast

from judges.criteria import CRITERIA
from support.model_brain import Question, find_schema

__all__ = ["judge", "meanings_of", "worst_first"]

_BLOCK = re.compile(
    r"<(?P<kind>\w+)-(?P<code>[0-9a-f]+)(?P<names>[^>]*)>\n(?P<text>.*?)\n</(?P=kind)-(?P=code)>", re.DOTALL
)
_ID = re.compile(r'\bid="([^"]*)"')
_WORD = re.compile(r"\w+")
_LEVEL = re.compile(r"^- `([^`]+)`: (.*)$", re.MULTILINE)
_WORTH = {
    level.description: level.score
    for criterion in CRITERIA.values()
    for level in criterion.scale.levels
    if level.description
}
_ENOUGH = 0.6
_SHORT = 3


def judge(question: Question) -> str:
    """The verdicts that a prompt of ours asks for: the best level where most words are found, else the worst."""
    schema = cast("dict[str, Any]", question.schema or find_schema(question.system))
    first = question.messages[0][1]
    blocks = [(each["kind"], each["names"], each["text"]) for each in _BLOCK.finditer(first)]
    properties = schema["properties"]
    if "claims" in properties:
        return json.dumps({"claims": [line for line in re.split(r"(?<=[.!?])\s+", blocks[-1][2]) if line]})
    meanings = meanings_of(question)
    if "verdict" in properties:
        others = " ".join(text for _, _, text in blocks[:-1])
        return json.dumps(_said(blocks[-1][2], others, properties, meanings))
    wanted = properties["items"]["items"]["properties"]
    kind = blocks[-1][0]
    items = [block for block in blocks if block[0] == kind and _ID.search(block[1]) and " n=" not in block[1]]
    others = " ".join(text for block in blocks if block not in items for text in [block[2]])
    left = _asked_again(question)
    return json.dumps(
        {
            "items": [
                {"id": name, **_said(text, others, wanted, meanings)}
                for _, names, text in items
                for name in _ID.findall(names)[:1]
                if left is None or name in left
            ]
        }
    )


def _said(text: str, others: str, properties: "dict[str, Any]", meanings: dict[str, str]) -> dict[str, str]:
    levels = worst_first(properties["verdict"]["enum"], meanings)
    words = [word for word in _WORD.findall(text.lower()) if len(word) > _SHORT]
    known = set(_WORD.findall(others.lower()))
    share = sum(word in known for word in words) / len(words) if words else 0.0
    verdict = {"verdict": levels[-1] if share >= _ENOUGH else levels[0]}
    return {"rationale": f"{share:.0%} of its words are there", **verdict} if "rationale" in properties else verdict


def meanings_of(question: Question) -> dict[str, str]:
    """What the prompt says that each level means."""
    return dict(_LEVEL.findall(question.system))


def worst_first(labels: list[str], meanings: dict[str, str]) -> list[str]:
    """By what is known of the levels' meanings, wherever they are listed and whatever they are called; those of rubrics
    that aren't ours as they are listed.
    """
    scores = [_WORTH.get(meanings.get(label, "").strip()) for label in labels]
    if None in scores:
        return labels
    return [label for _, label in sorted(zip(scores, labels, strict=True), key=lambda each: each[0] or 0.0)]


def _asked_again(question: Question) -> set[str] | None:
    """The entries that are asked for again; None in a first request."""
    found = re.search(r"these entries and no others: ([^.]*)\.", question.messages[-1][1])
    return None if found is None else set(found[1].split(", "))
