"""Probes that ask again: which judgements they take, and what they read out of them."""

from asyncio import run
from dataclasses import replace

import pytest

from calibration.findings import Finding
from calibration.probing import ASKING, Judgements, Probing, prepare, sampled
from judges import Case, ClaimVerdict, Context, Criterion, InputError, Verdict
from judges.backends.swapped import Swapped
from judges.claims import SentenceSplitter
from judges.criteria import COMPLETENESS, CONTEXT_RELEVANCE, FAITHFULNESS, PREFERENCE
from judges.engine.evaluate import judge_all
from judges.engine.plan import assign
from judges.judge import Judge
from support.builders import make_case, make_cases

OTHERWISE = ("level-order", "level-names", "wording")
ANSWER = "The bridge opened in 1932. It is long."


class Claims:
    """Passes what its passages hold word for word; says where each claim stands, unless told not to."""

    name = "claims"
    fingerprint = "claims@1"

    def __init__(self, *, places: bool = True) -> None:
        self.places = places

    def supports(self, criterion: Criterion) -> bool:
        return True

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        text = case.contexts[0].text if case.contexts else ""
        claims = tuple(
            ClaimVerdict(
                claim.text,
                float(claim.text in text),
                start=claim.start if self.places else None,
                end=claim.end if self.places else None,
            )
            for claim in SentenceSplitter().split(case.answer or "", case.lang).claims
        )
        return Verdict(sum(claim.score for claim in claims) / len(claims), claims=claims)


class FirstPlace:
    """Prefers the first of two answers, unless one of them is the longer by far."""

    name = "first"
    fingerprint = "first@1"

    def supports(self, criterion: Criterion) -> bool:
        return True

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        longer = len(case.answer or "") - len(case.rival or "")
        return Verdict(float(longer > 0) if abs(longer) > 5 else 1.0)


def probed(judge: Judge, criterion: Criterion, cases: list[Case], *probes: str) -> tuple[Probing, list[Finding]]:
    [assignment] = assign([criterion], [judge])
    probing = prepare(judge, assignment, cases, probes)
    made = Judgements()
    for batch in probing.batches:
        run(
            judge_all(
                batch.cases, [batch.assignment], {batch.judge.name: batch.judge}, made, replicates=batch.replicates
            )
        )
    return probing, probing.findings(made)


def supported(number: int) -> Case:
    return make_case(number, answer=ANSWER, contexts=(Context(f"Of {number}: {ANSWER}"),))


@pytest.mark.parametrize("places", [True, False])
def test_an_order_that_a_judge_calls_unsupported_does_not_count_against_it(places: bool) -> None:
    _, found = probed(Claims(places=places), FAITHFULNESS, [supported(n) for n in range(10)], "injection")
    assert [each.effect.figure.value for each in found] == [0, 0, 0, 0]
    assert [each.turned and each.turned.to_fail for each in found] == [0, 0, 0, 0]


def test_a_true_claim_is_told_from_the_others_by_its_place_or_its_words() -> None:
    for places in (True, False):
        _, [found] = probed(Claims(places=places), FAITHFULNESS, [supported(n) for n in range(10)], "unsupported")
        assert (found.effect.figure.value, found.effect.figure.n) == (0, 10)


def test_the_order_is_asked_of_the_judge_within_the_one_that_swaps() -> None:
    cases = [make_case(n, answer="a" * (3 + n % 2), rival="b" * (3 if n < 15 else 30)) for n in range(20)]
    probing, [found] = probed(Swapped(FirstPlace()), PREFERENCE, cases, "position")
    assert [len(batch.cases) for batch in probing.batches] == [40]
    assert found.effect.figure.value == 0.75
    assert found.turned is not None
    assert found.turned.rate.value == 0.75


def test_what_has_no_verdict_is_left_out_and_counted() -> None:
    cases = [supported(n) for n in range(6)]
    [assignment] = assign([FAITHFULNESS], [Claims()])
    probing = prepare(Claims(), assignment, cases, ["padding", "repeat"])
    made = Judgements()
    run(judge_all(cases[:4], [assignment], {"claims": Claims()}, made, replicates=2))
    run(judge_all(probing.batches[-1].cases, [assignment], {"claims": Claims()}, made))
    repeat, padding = probing.findings(made)
    assert (repeat.effect.figure.n, repeat.effect.figure.n_dropped) == (4, 2)
    assert (padding.effect.figure.n, padding.effect.figure.n_dropped) == (4, 2)


def test_only_what_is_needed_is_asked() -> None:
    cases = make_cases(4)
    [assignment] = assign([FAITHFULNESS], [Claims()])

    def sizes(*probes: str) -> list[tuple[int, int]]:
        made = prepare(Claims(), assignment, cases, probes)
        return [(len(batch.cases), batch.replicates) for batch in made.batches]

    assert sizes("repeat") == [(4, 2)]
    assert sizes("unsupported") == [(4, 1)]
    assert sizes("padding") == [(4, 1), (4, 1)]
    assert sizes("repeat", "padding", "injection") == [(4, 2), (20, 1)]
    assert sizes("position") == []
    assert sizes("batch") == []
    two = [supported(number) for number in range(3)]
    made = prepare(Claims(), assignment, two, ["batch"])
    assert [len(batch.cases) for batch in made.batches] == [3, 3]


@pytest.mark.parametrize(
    ("criterion", "skipped"),
    [
        (FAITHFULNESS, {"position", "format (bullets)", "format (bold)", "format (plain)", "batch", *OTHERWISE}),
        (
            COMPLETENESS,
            {"position", "unsupported", "format (bullets)", "format (bold)", "format (plain)", "batch", *OTHERWISE},
        ),
        (
            CONTEXT_RELEVANCE,
            {
                "position",
                "unsupported",
                "injection",
                "authority",
                "padding",
                "politeness",
                "format",
                "batch",
                *OTHERWISE,
            },
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Criterion) else "",
)
def test_what_says_nothing_here_is_named_with_its_reason(criterion: Criterion, skipped: set[str]) -> None:
    [assignment] = assign([criterion], [Claims()])
    probing = prepare(Claims(), assignment, make_cases(3), ASKING)
    assert {each.probe for each in probing.skipped} == skipped
    assert all(each.why for each in probing.skipped)


def test_there_is_no_other_probe() -> None:
    [assignment] = assign([FAITHFULNESS], [Claims()])
    with pytest.raises(InputError, match="there is no probe `charm`"):
        prepare(Claims(), assignment, [], ["charm"])


def test_a_sample_does_not_depend_on_the_order_of_the_file() -> None:
    cases = make_cases(50)
    drawn, back = sampled(cases, 10, 0), sampled(reversed(cases), 10, 0)
    assert {case.id for case in drawn} == {case.id for case in back}
    assert [case.id for case in drawn] == [case.id for case in cases if case in drawn]
    assert {case.id for case in sampled(cases, 10, 1)} != {case.id for case in drawn}
    assert sampled(cases, 100, 0) == cases


def test_groups_of_cases_are_allowed_for() -> None:
    cases = [replace(supported(n), extra={"doc": n // 5}) for n in range(20)]
    [assignment] = assign([FAITHFULNESS], [Claims()])
    probing = prepare(Claims(), assignment, cases, ["unsupported"], cluster="doc")
    made = Judgements()
    run(judge_all(probing.batches[0].cases, [assignment], {"claims": Claims()}, made))
    [found] = probing.findings(made)
    assert (found.effect.figure.n, found.effect.figure.n_clusters) == (20, 4)


class Crowd(Claims):
    """Passes a claim that stands alone, and none of several."""

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict:
        found = await super().judge(case, criterion, replicate=replicate)
        score = float(len(found.claims) == 1)
        return Verdict(score, claims=tuple(replace(claim, score=score) for claim in found.claims))


def test_a_claim_asked_alone_is_held_against_the_same_one_among_others() -> None:
    cases = [supported(n) for n in range(10)]
    _, [steady] = probed(Claims(), FAITHFULNESS, cases, "batch")
    assert (steady.effect.figure.value, steady.effect.figure.n) == (0, 10)
    probing, [swayed] = probed(Crowd(), FAITHFULNESS, cases, "batch")
    assert swayed.effect.figure.value == 1
    assert swayed.turned is not None
    assert (swayed.turned.to_pass, swayed.turned.to_fail) == (10, 0)
    alone = {case.answer for case in probing.batches[-1].cases}
    assert alone == {"The bridge opened in 1932.", "It is long."}
    _, [nowhere] = probed(Claims(places=False), FAITHFULNESS, cases, "batch")
    assert (nowhere.effect.figure.value, nowhere.effect.figure.n_dropped) == (None, 10)
