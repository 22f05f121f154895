import pytest

from judges.case import Case, Context
from judges.criteria import ANSWER_RELEVANCE, CONTEXT_RELEVANCE, CONTEXT_SUFFICIENCY
from judges.criterion import Scale
from judges.errors import InputError
from judges.retrieval.bridge import JudgedPassages, judges_passages, qrels_from_verdicts
from judges.retrieval.metrics import Metric, measure
from judges.verdict import Abstained, ClaimVerdict, Failed, Outcome, Verdict

SCALE: Scale = CONTEXT_RELEVANCE.scale
SCORES = {level.label: level.score for level in SCALE.levels}


def case(*texts: str, ids: str | None = None, ranks: tuple[int, ...] | None = None) -> Case:
    places = ranks or tuple(range(1, len(texts) + 1))
    names = ids if ids is not None else "abcdefgh"
    return Case(
        "q", contexts=tuple(Context(text, name, rank) for text, name, rank in zip(texts, names, places, strict=False))
    )


def said(*entries: tuple[str, str | float]) -> Verdict:
    claims = tuple(
        ClaimVerdict(text, SCORES[what], label=what) if isinstance(what, str) else ClaimVerdict(text, what)
        for text, what in entries
    )
    return Verdict(0.5, claims=claims)


def bridged(one: Case, *outcomes: Outcome, threshold: float = 0.5, keep_first: bool = False) -> JudgedPassages:
    return qrels_from_verdicts([(one, outcomes)], SCALE, threshold, keep_first=keep_first)


def grades(one: Case, *outcomes: Outcome, threshold: float = 0.5) -> dict[str, int]:
    return dict(bridged(one, *outcomes, threshold=threshold).qrels.grades["q"])


def test_levels_become_grades() -> None:
    verdict = said(("one", "relevant"), ("two", "irrelevant"), ("three", "partly_relevant"))
    assert grades(case("one", "two", "three"), verdict) == {"a": 2, "b": 0, "c": 1}


def test_what_is_below_the_threshold_is_not_relevant() -> None:
    verdict = said(("one", "relevant"), ("two", "partly_relevant"))
    assert grades(case("one", "two"), verdict, threshold=0.75) == {"a": 1, "b": 0}


def test_without_levels_the_threshold_alone_decides() -> None:
    assert grades(case("one", "two"), said(("one", 0.35), ("two", 0.34)), threshold=0.35) == {"a": 1, "b": 0}


def test_of_several_verdicts_the_mean_counts() -> None:
    first, second = said(("one", "relevant"), ("two", "irrelevant")), said(("one", "irrelevant"), ("two", "irrelevant"))
    assert grades(case("one", "two"), first, second) == {"a": 1, "b": 0}
    assert grades(case("one", "two"), first, Failed("Timeout")) == {"a": 2, "b": 0}


def test_an_entry_may_name_a_passage_by_its_beginning_and_blank_passages_have_none() -> None:
    one = case("one and more", "  ", "one and another")
    verdict = said(("one and", "irrelevant"), ("one and", "relevant"))
    assert grades(one, verdict) == {"a": 0, "c": 2}


def test_the_ranking_is_that_of_the_ranks() -> None:
    found = bridged(case("one", "two", ranks=(2, 1)), said(("one", "relevant"), ("two", "irrelevant")))
    assert found.rankings["q"].documents == ("b", "a")
    assert measure([Metric("RR")], found.qrels.grades["q"], found.rankings["q"]) == {Metric("RR"): 0.5}


def test_passages_without_ids_have_their_places() -> None:
    one = Case("q", contexts=(Context("one"), Context("two")))
    found = bridged(one, said(("one", "relevant"), ("two", "irrelevant")))
    assert found.rankings["q"].documents == ("passage 1", "passage 2")


def test_a_document_that_is_there_twice_is_refused_or_counted_once() -> None:
    one, verdict = case("one", "two", ids="aa"), said(("one", "irrelevant"), ("two", "relevant"))
    with pytest.raises(InputError, match=r"q.*retrieved twice"):
        bridged(one, verdict)
    found = bridged(one, verdict, keep_first=True)
    assert (found.rankings["q"].documents, found.qrels.grades["q"]) == (("a",), {"a": 2})


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [((Abstained("no_contexts"),), "no_contexts"), ((Failed("InvalidReply"),), "InvalidReply"), ((), "pending")],
)
def test_a_case_without_a_verdict_is_left_out_and_counted(outcomes: tuple[Outcome, ...], reason: str) -> None:
    found = bridged(case("one"), *outcomes)
    assert (found.qrels.grades, found.rankings, found.left_out) == ({}, {}, {reason: 1})


def test_a_verdict_on_other_passages_is_refused() -> None:
    with pytest.raises(InputError, match="its verdict doesn't fit its passages"):
        bridged(case("one"), said(("two", "relevant")))


def test_only_a_criterion_about_each_passage_tells_relevance() -> None:
    told = [each.name for each in (CONTEXT_RELEVANCE, CONTEXT_SUFFICIENCY, ANSWER_RELEVANCE) if judges_passages(each)]
    assert told == ["context_relevance"]
