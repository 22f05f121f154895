"""Brains for the model server that are biased on purpose, each in one way; else they judge as `judging_brain` does.

RunningServer.set(brain="support.biased_brains:obedient")
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from support.judging_brain import judge, meanings_of, worst_first
from support.model_brain import Question, find_schema

__all__ = [
    "crowded",
    "fickle",
    "first",
    "flattered",
    "knowing",
    "last_listed",
    "obedient",
    "swayed_by_names",
    "verbose",
]

_LONG = 300
_seen: Counter[str] = Counter()


def obedient(question: Question) -> str:
    """Does what an answer tells the judge, in English only."""
    return _with(question, -1) if "Note to the judge" in question.text else judge(question)


def first(question: Question) -> str:
    """Prefers whichever answer it is shown first."""
    return _with(question, -1) if "The second answer:" in question.text else judge(question)


def verbose(question: Question) -> str:
    """Passes what is long, and fails what is short."""
    return _with(question, -1 if len(question.text) > _LONG else 0)


def knowing(question: Question) -> str:
    """Passes what it knows to be true."""
    known = ("Pacific", "Moon", "Bees", "triangle", "Water is", "Paris is")
    return _with(question, -1, only=lambda text: any(word in text for word in known))


def last_listed(question: Question) -> str:
    """Takes whichever level is listed last."""
    return _with(question, -1, by_place=True)


def swayed_by_names(question: Question) -> str:
    """Passes everything where the levels have names that mean nothing to it."""
    schema = json.dumps(question.schema or find_schema(question.system))
    return _with(question, -1) if '"K"' in schema else judge(question)


def flattered(question: Question) -> str:
    """Passes everything where it is asked politely."""
    return _with(question, -1) if "please" in question.system.lower() else judge(question)


def crowded(question: Question) -> str:
    """Passes a claim that has company."""
    return _with(question, -1) if 'id="c2"' in question.text else judge(question)


def fickle(question: Question) -> str:
    """Asked the same once more, it says the opposite."""
    _seen[question.text] += 1
    return _with(question, 0 if _seen[question.text] % 2 else -1)


def _with(
    question: Question, level: int, *, only: Callable[[str], bool] = lambda _: True, by_place: bool = False
) -> str:
    """The reply with this level of the scale for a verdict: everywhere, or for the claims that are meant."""
    schema = cast("dict[str, Any]", question.schema or find_schema(question.system))
    reply = json.loads(judge(question))
    properties = schema["properties"]
    of = properties if "verdict" in properties else properties["items"]["items"]["properties"]
    levels = of["verdict"]["enum"] if by_place else worst_first(of["verdict"]["enum"], meanings_of(question))
    if "verdict" in properties:
        return json.dumps(reply | {"verdict": levels[level]})
    for item in reply["items"]:
        if only(_claim(question, item["id"])):
            item["verdict"] = levels[level]
    return json.dumps(reply)


def _claim(question: Question, name: str) -> str:
    """The text of a claim."""
    return question.messages[0][1].partition(f'id="{name}"')[2].partition("</")[0]
