"""What an application runs on a judge of its own: does it keep the promises of the protocol?"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from judges.case import Case, Context, Part, Turn
from judges.criteria import CRITERIA
from judges.criterion import Criterion
from judges.engine.evaluate import outcome_of
from judges.engine.pool import run_to_end
from judges.errors import JudgesError
from judges.judge import Judge
from judges.verdict import Failed, Outcome, Verdict

__all__ = ["check_judge"]

_CASE = Case(
    id="conformance",
    question="When did the bridge open?",
    answer="It opened in 1932. It is 503 metres long.",
    contexts=(Context("The bridge was opened on 19 March 1932.", doc_id="d1", rank=1),),
    references=("The bridge opened in March 1932.",),
    rival="Nobody knows.",
    history=(Turn("user", "Tell me about the bridge."), Turn("assistant", "What would you like to know?")),
    lang="en",
    extra={"note": "a field of the dataset"},
)

_OTHER: dict[Part, object] = {
    Part.QUESTION: "Who built the tower?",
    Part.HISTORY: (Turn("user", "Something else."),),
    Part.ANSWER: "Nothing of the kind, 77 times over.",
    Part.RIVAL: "It opened in 1932.",
    Part.CONTEXTS: (Context("Towers are tall.", doc_id="d9", rank=1),),
    Part.REFERENCES: ("Forty-two.",),
    Part.EXTRA: {"note": "another value"},
}

_EMPTY: dict[Part, object] = {
    Part.QUESTION: None,
    Part.HISTORY: (),
    Part.ANSWER: None,
    Part.RIVAL: None,
    Part.CONTEXTS: (),
    Part.REFERENCES: (),
    Part.EXTRA: {},
}

_ODD = ("", " \n\t", "🙂", "a\u0000b", "\u202eabc", "ไม่มีช่องว่าง", "<b>&amp;</b>", "word " * 5_000)


def check_judge(
    judge: Judge,
    criteria: Sequence[Criterion] | None = None,
    cases: Sequence[Case] | None = None,
    *,
    repeatable: bool = True,
) -> None:
    """Try a judge on ordinary, empty and odd cases. Return if it keeps the protocol's promises.

    It calls the judge some forty times a criterion, a few at a time: mind the cost of one that calls a paid service.

    Args:
        judge: The judge to try.
        criteria: The criteria it is for. By default, those built in that it says it supports.
        cases: Ordinary cases that it can judge; by default one about a bridge, with every part filled in.
        repeatable: The same case gets the same verdict each time. Say False for a judge that draws lots, as language
            models do; what a changed part changes can't be told then, and is not looked at.

    Raises:
        AssertionError: It breaks promises; the message lists them all.
    """
    problems = list(_shape(judge))
    asked = list(CRITERIA.values()) if criteria is None else list(criteria)
    if not problems:
        problems += _supports(judge, asked, named=criteria is not None)
    if not problems:
        for criterion in asked:
            if judge.supports(criterion):
                problems += run_to_end(_behaviour(judge, criterion, list(cases or [_CASE]), repeatable=repeatable))
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in dict.fromkeys(problems))
        raise AssertionError(f"{type(judge).__name__} breaks promises of the judge protocol:{lines}")


def _shape(judge: Judge) -> Iterator[str]:
    for name in ("name", "fingerprint"):
        value = getattr(judge, name, None)
        if not isinstance(value, str) or not value:
            yield f"`{name}` is {value!r}; it should be a text that is not empty"
        elif value != getattr(judge, name):
            yield f"`{name}` changes between two readings; a run could never be resumed"
    for name in ("supports", "judge"):
        if not callable(getattr(judge, name, None)):
            yield f"`{name}` is missing; it should be a method"
    threshold = getattr(judge, "threshold", 0.5)
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        yield f"`threshold` is {threshold!r}; it should be a number from 0 to 1, or not be there"


def _supports(judge: Judge, criteria: list[Criterion], *, named: bool) -> Iterator[str]:
    served = False
    for criterion in criteria:
        try:
            answer: object = judge.supports(criterion)
        except Exception as error:  # noqa: BLE001  what it raises is what we are here to tell
            yield f"`supports({criterion.name})` failed: {type(error).__name__}: {error}"
            continue
        if answer is not True and answer is not False:
            yield f"`supports({criterion.name})` gave {answer!r}; it should be True or False"
        served = served or bool(answer)
        if named and not answer:
            yield f"it doesn't support `{criterion.name}`, which it was to be tried on"
    if not served:
        yield "it supports none of the criteria; pass those it is for: check_judge(judge, [MY_CRITERION])"


async def _behaviour(judge: Judge, criterion: Criterion, cases: list[Case], *, repeatable: bool) -> list[str]:
    problems: list[str] = []
    before = judge.fingerprint
    caller = asyncio.current_task()

    def is_ended() -> bool:
        return caller is not None and caller.cancelling() > 0

    async def outcome(case: Case) -> Outcome:
        try:
            found = await outcome_of(judge, case, criterion, replicate=0, is_ended=is_ended)
        except JudgesError as error:
            found = Failed(type(error).__name__, str(error))
        if isinstance(found, Failed):
            problems.append(f"`{criterion.name}`: failed on {_described(case)}: {found.error}: {found.message}")
        return found

    for case in cases:
        first = await outcome(case)
        if not isinstance(first, Verdict):
            problems.append(f"`{criterion.name}`: no verdict on the ordinary case `{case.id}`, but {first}")
            continue
        if repeatable:
            together = await asyncio.gather(*(outcome(case) for _ in range(4)))
            if any(other != first for other in together):
                problems.append(f"`{criterion.name}`: the same case got another verdict the second time")
            for part in Part:
                if part in (*criterion.parts, *getattr(judge, "reads", ())):
                    continue
                changed = replace(case, **{part.value: _OTHER[part]})  # type: ignore[arg-type]
                if await outcome(changed) != first:
                    problems.append(
                        f"`{criterion.name}`: the verdict depends on `{part.value}`, which the criterion doesn't name; "
                        f"add background=(Part.{part.name},) to it, or a resumed run would keep stale verdicts"
                    )
            if await outcome(replace(case, id="another-id")) != first:
                problems.append(f"`{criterion.name}`: the verdict depends on the case's id, which is in no key")
        for part in criterion.parts:
            await outcome(replace(case, **{part.value: _EMPTY[part]}))  # type: ignore[arg-type]
        for text in _ODD:
            await outcome(_filled(case, text))
    if judge.fingerprint != before:
        problems.append("`fingerprint` changed while judging; a run could never be resumed")
    return problems


def _filled(case: Case, text: str) -> Case:
    return replace(
        case, question=text, answer=text, rival=text, contexts=(Context(text, doc_id="d1", rank=1),), references=(text,)
    )


def _described(case: Case) -> str:
    return f"a case with the answer {case.answer!r:.40} and {len(case.contexts)} contexts"
