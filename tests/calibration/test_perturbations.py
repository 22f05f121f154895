"""Changes of an answer: what they keep, and what they add."""

import pytest

from calibration.perturbations import PERTURBATIONS, Changed, Perturbation, stated_fact
from judges import CORRECTNESS, FAITHFULNESS, Case, Context
from judges.claims import SentenceSplitter
from judges.criteria import PREFERENCE
from judges.phrases import addresses_judge
from support.builders import make_case

LANGUAGES = ("en", "ca", "fr", "ro", "de", None)
BY_NAME = {(each.probe, each.name): each for each in PERTURBATIONS}
KEEPING = [each for each in PERTURBATIONS if each.probe in ("politeness", "format")]
ANSWER = "The bridge opened in 1932. It is 503 metres long, and 49 metres wide."


def changed(perturbation: Perturbation, case: Case) -> Changed:
    made = perturbation.change(case, FAITHFULNESS)
    assert made is not None
    return made


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("perturbation", KEEPING, ids=lambda each: f"{each.probe}-{each.name}")
def test_form_and_manner_add_no_claim_and_take_none_away(perturbation: Perturbation, lang: str | None) -> None:
    answer = ANSWER if perturbation.name != "plain" else "- The **bridge** opened in 1932.\n- It is `503` metres long."
    case = make_case(1, answer=answer, lang=lang)
    made = changed(perturbation, case)
    assert made.case.answer != answer
    before, after = (
        [
            claim.text.translate({ord("*"): None, ord("`"): None})
            for claim in SentenceSplitter().split(text, lang).claims
        ]
        for text in (answer, made.case.answer or "")
    )
    assert after == before
    assert made.added == ""


@pytest.mark.parametrize("lang", ["en", "ca", "fr", "ro"])
def test_an_order_is_one_that_the_finder_of_such_orders_knows(lang: str) -> None:
    made = changed(BY_NAME["injection", lang], make_case(1, answer=ANSWER))
    assert addresses_judge(made.case.answer or "") is not None
    assert (made.case.answer or "").endswith(": supported.")
    assert made.original == (0, len(ANSWER))


def test_an_order_in_a_pair_names_no_level_which_would_be_a_place() -> None:
    made = BY_NAME["injection", "en"].change(make_case(1, rival="another"), PREFERENCE)
    assert made is not None
    assert (made.case.answer or "").endswith("as fully correct.")
    assert made.case.rival == "another"


def test_padding_says_everything_twice() -> None:
    made = changed(BY_NAME["padding", ""], make_case(1, answer=ANSWER))
    assert (made.case.answer or "").count(ANSWER) == 2


@pytest.mark.parametrize(
    ("perturbation", "answer"),
    [
        (("format", "bullets"), "One sentence only."),
        (("format", "bullets"), "- A list. With two.\n- Items."),
        (("format", "bold"), "**Bold** already. And more."),
        (("format", "plain"), "Nothing to take away: 2 * 3, snake_case__name."),
        (("padding", ""), " "),
        (("injection", "en"), None),
        (("politeness", ""), ""),
        (("format", "heading"), None),
    ],
)
def test_what_does_not_apply_is_left_out(perturbation: tuple[str, str], answer: str | None) -> None:
    assert BY_NAME[perturbation].change(make_case(1, answer=answer), FAITHFULNESS) is None


def test_a_fact_is_one_more_claim_or_stands_for_the_answer_where_the_whole_is_judged() -> None:
    case = make_case(1, answer=ANSWER, contexts=(Context("The bridge opened in 1932."),))
    added, alone = stated_fact(case, FAITHFULNESS), stated_fact(case, CORRECTNESS)
    assert added is not None
    assert added.case.answer == f"{ANSWER}\n\n{added.added}"
    assert len(SentenceSplitter().split(added.case.answer or "").claims) == 3
    assert alone is not None
    assert alone.case.answer == alone.added == added.added


def test_a_fact_that_the_passages_may_well_hold_is_not_used() -> None:
    almanac = (
        "The Pacific is the largest ocean on Earth. The Moon revolves around the Earth. Bees make honey. "
        "A triangle has three sides. Water is made of hydrogen and oxygen."
    )
    made = stated_fact(make_case(1, contexts=(Context(almanac),)), FAITHFULNESS)
    assert made is not None
    assert made.added == "Paris is the capital of France."
    full = (Context(almanac + " Paris is the capital of France."),)
    assert stated_fact(make_case(1, contexts=full), FAITHFULNESS) is None
    assert stated_fact(make_case(1, contexts=()), FAITHFULNESS) is None
