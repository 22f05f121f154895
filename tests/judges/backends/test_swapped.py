import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from judges.backends.prompted import PromptedJudge
from judges.backends.swapped import Swapped
from judges.case import Case, Context, Part
from judges.conformance import check_judge
from judges.criteria import CORRECTNESS, PREFERENCE
from judges.criterion import Criterion, Level, Scale, Unit
from judges.errors import Unavailable
from judges.judge import Judge
from judges.service import ChatRequest
from judges.verdict import Abstained, Outcome, Verdict
from support.builders import CountingJudge
from support.scripted_models import said_of, scripted

CASE = Case("1", question="Which?", answer="long answer", rival="short", contexts=(Context("P."),), references=("R.",))
FIVE = Scale(
    tuple(Level(label, score / 4) for score, label in enumerate(["second!", "second", "tie", "first", "first!"]))
)
BY_FIVE = replace(PREFERENCE, scale=FIVE)


@dataclass
class PairJudge:
    """Says what a function says of the first answer."""

    function: Callable[[str], Verdict | Abstained]
    name: str = "pairs"
    fingerprint: str = "pairs@1"
    asked: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    is_closed: bool = False

    def supports(self, criterion: Criterion) -> bool:
        return criterion.unit is Unit.PAIR

    async def judge(self, case: Case, criterion: Criterion, *, replicate: int = 0) -> Verdict | Abstained:
        self.asked.append((case.answer or "", case.rival or "", replicate))
        return self.function(case.answer or "")

    async def aclose(self) -> None:
        self.is_closed = True


def of(label: str, scale: Scale = PREFERENCE.scale, **more: Mapping[str, float]) -> Verdict:
    level = scale.level(label)
    assert level is not None
    return Verdict(level.score, f"why {label}", label, more.get("probabilities"))


def judged(
    function: Callable[[str], Verdict | Abstained], criterion: Criterion = PREFERENCE, case: Case = CASE
) -> Outcome:
    return asyncio.run(Swapped(PairJudge(function)).judge(case, criterion))


def test_it_is_a_judge_and_keeps_the_protocol() -> None:
    judge = Swapped(PromptedJudge(scripted(lambda _: said_of("tie")), "m"))
    assert isinstance(judge, Judge)
    check_judge(judge, [PREFERENCE])


def test_both_orders_are_asked_under_the_same_number() -> None:
    inner = PairJudge(lambda answer: of("first" if answer == "long answer" else "second"))
    verdict = asyncio.run(Swapped(inner).judge(CASE, PREFERENCE, replicate=3))
    assert inner.asked == [("long answer", "short", 3), ("short", "long answer", 3)]
    assert verdict == of("first")


@pytest.mark.parametrize("place", ["first", "second"])
def test_a_judge_that_likes_a_place_is_no_verdict_and_told_what_it_said(place: str) -> None:
    outcome = judged(lambda _: of(place))
    other = {"first": "second", "second": "first"}[place]
    assert outcome == Abstained(
        "order_dependent",
        f"{place} (why {place}) in the order given; {other} (why {place}) with the answers exchanged",
    )


def test_a_tie_one_way_only_is_order_dependent_and_both_ways_a_tie() -> None:
    outcome = judged(lambda answer: of("tie" if answer == "short" else "first"))
    assert isinstance(outcome, Abstained)
    assert judged(lambda _: of("tie")) == of("tie")


def test_one_winner_by_two_degrees_is_the_more_cautious_and_the_mean() -> None:
    outcome = judged(lambda answer: of("first!" if answer == "long answer" else "second", FIVE), BY_FIVE)
    assert isinstance(outcome, Verdict)
    assert (outcome.label, outcome.score) == ("first", 0.875)
    outcome = judged(lambda answer: of("second" if answer == "long answer" else "first!", FIVE), BY_FIVE)
    assert isinstance(outcome, Verdict)
    assert (outcome.label, outcome.score) == ("second", 0.125)


def test_a_judge_that_gives_no_labels_agrees_where_the_scores_name_one_winner() -> None:
    outcome = judged(lambda answer: Verdict(0.75 if answer == "long answer" else 0.25))
    assert outcome == Verdict(0.75)
    outcome = judged(lambda _: Verdict(0.75))
    assert outcome == Abstained("order_dependent", "0.75 in the order given; 0.25 with the answers exchanged")


def test_probabilities_are_turned_round_and_averaged() -> None:
    def says(answer: str) -> Verdict:
        if answer == "long answer":
            return of("first", probabilities={"second": 0.1, "tie": 0.2, "first": 0.7})
        return of("second", probabilities={"second": 0.5, "tie": 0.1, "first": 0.4})

    outcome = judged(says)
    assert isinstance(outcome, Verdict)
    assert outcome.probabilities == pytest.approx({"second": 0.25, "tie": 0.15, "first": 0.6})


def test_probabilities_of_one_order_only_are_none() -> None:
    shares = {"second": 0.1, "tie": 0.2, "first": 0.7}
    outcome = judged(lambda answer: of("first", probabilities=shares) if answer == "long answer" else of("second"))
    assert isinstance(outcome, Verdict)
    assert outcome.probabilities is None


def test_a_score_that_probabilities_pull_over_the_middle_leaves_the_label_to_name_the_winner() -> None:
    outcome = judged(
        lambda answer: Verdict(0.45, "", "first") if answer == "long answer" else Verdict(0.4, "", "second")
    )
    assert isinstance(outcome, Verdict)
    assert outcome.label == "first"
    assert outcome.score == pytest.approx(0.525)


def test_an_abstention_either_way_is_an_abstention() -> None:
    for short_first in (True, False):
        outcome = judged(
            lambda answer, first=short_first: (  # type: ignore[misc]
                Abstained("no_words") if (answer == "short") is first else of("first")
            )
        )
        assert outcome == Abstained("no_words")


def test_an_error_either_way_is_an_error() -> None:
    def says(answer: str) -> Verdict:
        if answer == "short":
            raise Unavailable("down")
        return of("first")

    with pytest.raises(Unavailable):
        judged(says)


def test_only_pairs_on_even_scales_are_supported() -> None:
    judge = Swapped(PairJudge(lambda _: of("tie")))
    thirds = Scale(tuple(Level(str(step), step / 7) for step in range(8)))
    odd = Scale((Level("second", 0.0), Level("tie", 0.4), Level("first", 1.0)))
    assert judge.supports(PREFERENCE)
    assert judge.supports(BY_FIVE)
    assert judge.supports(replace(PREFERENCE, scale=thirds))
    assert not judge.supports(replace(PREFERENCE, scale=odd))
    assert not judge.supports(CORRECTNESS)


def test_what_is_no_pair_is_asked_once() -> None:
    inner = CountingJudge()
    judge = Swapped(inner)
    criterion = Criterion("answered", Part.ANSWER)
    assert judge.supports(criterion)
    assert isinstance(asyncio.run(judge.judge(CASE, criterion)), Verdict)
    assert inner.asked == ["1"]


def test_it_is_another_judge_for_pairs_and_the_same_for_all_else() -> None:
    inner = PromptedJudge(scripted(lambda _: ""), "m", threshold=0.7, workers=9)
    judge = Swapped(inner)
    assert (judge.name, judge.threshold, judge.workers) == ("m", 0.7, 9)
    assert judge.fingerprint != inner.fingerprint
    assert judge.fingerprint_for(PREFERENCE) != inner.fingerprint_for(PREFERENCE)
    assert judge.fingerprint_for(CORRECTNESS) == inner.fingerprint_for(CORRECTNESS)
    plain = Swapped(PairJudge(lambda _: of("tie")))
    assert plain.fingerprint_for(CORRECTNESS) == "pairs@1"
    assert plain.threshold == 0.5


def test_a_plan_names_the_requests_of_both_orders() -> None:
    model = scripted(lambda _: said_of("tie"))
    judge = Swapped(PromptedJudge(model, "m"))
    planned = judge.requests(CASE, PREFERENCE)
    asyncio.run(judge.judge(CASE, PREFERENCE))
    assert planned == model.asked
    assert len(planned) == 2
    assert len(judge.requests(CASE, CORRECTNESS)) == 1
    assert judge.requests(replace(CASE, rival=None), PREFERENCE) == []
    assert Swapped(CountingJudge()).requests(CASE, PREFERENCE) == []


def test_the_two_orders_differ_in_nothing_but_the_order() -> None:
    def shown(request: ChatRequest) -> list[str]:
        return request.messages[0].text.splitlines()[1:]

    one, other = Swapped(PromptedJudge(scripted(lambda _: ""), "m")).requests(CASE, PREFERENCE)
    assert one.system == other.system
    assert len(shown(one)) == len(shown(other))
    assert shown(one).index("long answer") == shown(other).index("short")


def test_closing_it_closes_the_inner_judge_where_that_can_be_closed() -> None:
    inner = PairJudge(lambda _: of("tie"))
    asyncio.run(Swapped(inner).aclose())
    assert inner.is_closed
    asyncio.run(Swapped(CountingJudge()).aclose())
