from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.readout import Answered, Item, answered, answered_items, combined, finds_more, of_items
from judges.criteria import CORRECTNESS_GRADED, FAITHFULNESS
from judges.criterion import BINARY, Level, Scale
from judges.replies import Said, read_items, read_level
from judges.service import ChatReply
from support.scripted_models import reply_of, tokens_of

SCALE = FAITHFULNESS.scale


def read(reply: ChatReply, scale: Scale = BINARY) -> Answered:
    return answered(read_level(reply.text, scale), scale, reply)


def shares(reply: ChatReply, scale: Scale = BINARY) -> Mapping[str, float] | None:
    return read(reply, scale).probabilities


def near(**expected: float) -> object:
    return pytest.approx(expected, abs=1e-9)


# --- Log-probabilities ----------------------------------------------------------------------------------------------


def test_without_log_probabilities_the_score_is_the_levels() -> None:
    found = read(reply_of('{"rationale": "r", "verdict": "yes"}'))
    assert found == Answered(Said("yes", "r"), 1.0, None)


def test_the_token_of_the_verdict_tells_the_probability_of_each_level() -> None:
    reply = tokens_of('{"', "rationale", '":"', "r", '","', "verdict", '":"', [("yes", 0.7), ("no", 0.3)], '"}')
    found = read(reply)
    assert found.probabilities == near(no=0.3, yes=0.7)
    assert found.score == pytest.approx(0.7)
    assert found.said.label == "yes"


@pytest.mark.parametrize(
    "verdict",
    [
        [[(' "yes', 0.8), (' "no', 0.2)], '"}'],
        [[(' "yes"', 0.8), (' "no"', 0.2)], "}"],
        [[(' "yes"}', 0.8), (' "no"}', 0.2)]],
        [' "', [("yes", 0.8), ("no", 0.2)], '"', "}"],
        [" ", '"', [("yes", 0.8), ("no", 0.2)], '"}'],
        [' "', [("yes", 0.8), ('no"', 0.1), ("no", 0.1)], '"}'],
        [' "', [("y", 0.8), ("n", 0.2)], "es", '"}'],
        [' "', [("YES", 0.5), ("yes", 0.3), ("No", 0.2)], '"}'],
    ],
)
def test_quotation_marks_and_halves_of_words_may_be_in_any_token(verdict: list[str | list[tuple[str, float]]]) -> None:
    assert shares(tokens_of('{"verdict":', *verdict)) == near(no=0.2, yes=0.8)


def test_a_level_given_as_a_number_is_read_too() -> None:
    reply = tokens_of('{"verdict":', [(" 7", 0.6), (" 8", 0.4)], "}")
    found = read(reply, CORRECTNESS_GRADED.scale)
    assert found.score == pytest.approx(0.74)
    reply = tokens_of('{"verdict": ', [("1", 0.9), ("5", 0.1)], [("0", 0.5), ("}", 0.5)], "}")
    found = read(reply, CORRECTNESS_GRADED.scale)
    assert found.said.label == "10"
    assert (found.probabilities or {})["1"] == pytest.approx(0.45)
    assert (found.probabilities or {})["10"] == pytest.approx(0.45)


UN = Scale((Level("unfaithful", 0.0), Level("unclear", 0.5), Level("faithful", 1.0)))


def test_levels_that_begin_alike_are_told_apart_by_the_next_token() -> None:
    reply = tokens_of('{"verdict":"', [("un", 0.6), ("faithful", 0.4)], [("clear", 0.75), ("faithful", 0.25)], '"}')
    assert shares(reply, UN) == near(unfaithful=0.15, unclear=0.45, faithful=0.4)


def test_a_level_that_begins_another_is_told_apart_by_its_end() -> None:
    scale = Scale((Level("no", 0.0), Level("notably", 1.0)))
    reply = tokens_of('{"verdict":"', "no", [('"', 0.9), ("tably", 0.1)], "}")
    assert shares(reply, scale) == near(no=0.9, notably=0.1)


def test_likely_tokens_that_may_begin_several_levels_give_no_probabilities() -> None:
    reply = tokens_of('{"verdict":"', [("faithful", 0.6), ("un", 0.4)], '"}')
    assert read(reply, UN) == Answered(Said("faithful"), 1.0, None)


def test_unlikely_ones_are_missing_mass_and_the_rest_is_made_whole() -> None:
    reply = tokens_of('{"verdict":"', [("faithful", 0.95), ("un", 0.05)], '"}')
    assert shares(reply, UN) == near(unfaithful=0, unclear=0, faithful=1)


def test_mass_that_went_to_no_level_gives_no_probabilities() -> None:
    assert shares(tokens_of('{"verdict":"', [("yes", 0.5), ("maybe", 0.5)], '"}')) is None
    assert shares(tokens_of('{"verdict":"', [("yes", 0.5)], '"}')) is None


def test_a_verdict_that_was_unlikely_keeps_its_label_and_the_score_tells() -> None:
    found = read(tokens_of('{"verdict":"', [("yes", 0.1), ("no", 0.9)], '"}'))
    assert found.said.label == "yes"
    assert found.score == pytest.approx(0.1)


def test_tokens_that_split_a_letter_of_the_rationale_do_no_harm() -> None:
    tokens = tokens_of('{"rationale":"', "\ufffd", "\ufffd", '","verdict":"', [("yes", 0.7), ("no", 0.3)], '"}')
    reply = ChatReply('{"rationale":"à","verdict":"yes"}', "m", logprobs=tokens.logprobs)
    assert shares(reply) == near(no=0.3, yes=0.7)


def test_a_rationale_that_quotes_a_verdict_is_not_mistaken_for_it() -> None:
    reply = tokens_of(
        '{"rationale":"it says \\"verdict\\": \\"',
        [("no", 0.9), ("yes", 0.1)],
        '\\"","verdict":"',
        [("yes", 0.8), ("no", 0.2)],
        '"}',
    )
    assert shares(reply) == near(no=0.2, yes=0.8)


def test_a_verdict_before_its_rationale_and_lists_beside_it_are_read() -> None:
    reply = tokens_of('{"seen":["a","verdict","no"],"verdict":"', [("yes", 0.8), ("no", 0.2)], '","rationale":"r"}')
    assert shares(reply) == near(no=0.2, yes=0.8)


def test_tokens_of_another_text_give_no_probabilities() -> None:
    tokens = tokens_of('{"verdict":"', [("no", 1.0)], '"}')
    assert shares(ChatReply('{"verdict":"yes"}', "m", logprobs=tokens.logprobs)) is None
    assert shares(ChatReply('{"verdict":"yes"}', "m", logprobs=tokens_of("hm").logprobs)) is None
    assert shares(ChatReply('{"verdict":"yes"}', "m", logprobs=())) is None


def read_all(reply: ChatReply) -> dict[str, Answered]:
    return answered_items(read_items(reply.text, SCALE, ("c1", "c2")).said, SCALE, reply)


def test_each_item_has_its_own_probabilities_whatever_the_order_of_items_and_keys() -> None:
    found = read_all(
        tokens_of(
            '{"items":[{"verdict":"',
            [("supported", 0.7), ("contradicted", 0.3)],
            '","id":"c2"},{"rationale":"not \\"c2\\"","id":"c1","verdict":"',
            [("unsupported", 0.6), ("supported", 0.4)],
            '"}]}',
        )
    )
    assert found["c1"].probabilities == near(contradicted=0, unsupported=0.6, supported=0.4)
    assert found["c2"].probabilities == near(contradicted=0.3, unsupported=0, supported=0.7)


def test_an_item_that_comes_twice_has_no_probabilities() -> None:
    reply = tokens_of(
        '{"items":[{"id":"c1","verdict":"supported"},{"id":"c1","verdict":"unsupported"},{"id":"c2","verdict":"',
        [("supported", 1.0)],
        '"}]}',
    )
    found = answered_items({"c1": Said("supported"), "c2": Said("supported")}, SCALE, reply)
    assert found["c1"].probabilities is None
    assert found["c2"].probabilities is not None


TEXTS = st.text(st.sampled_from('ab"{}[]\\:, verdictyesno'), max_size=12)


@given(st.lists(TEXTS, max_size=6), TEXTS)
def test_whatever_the_tokens_are_probabilities_are_none_or_sum_to_one(tokens: list[str], rationale: str) -> None:
    choices = tokens_of('{"rationale":"', *tokens, '","verdict":"', [("yes", 0.6), ("no", 0.4)], '"}').logprobs
    found = answered(Said("yes", rationale), BINARY, ChatReply("", "m", logprobs=choices))
    assert found.probabilities is None or sum(found.probabilities.values()) == pytest.approx(1)


@given(st.integers(1, 30))
def test_however_a_certain_reply_is_cut_into_tokens_its_level_is_certain(size: int) -> None:
    text = '{"rationale": "it is \\"no\\"", "verdict": "partly"}'
    scale = Scale((Level("part", 0.0), Level("partly", 0.5), Level("parting", 1.0)))
    reply = tokens_of(*(text[at : at + size] for at in range(0, len(text), size)))
    assert shares(reply, scale) == near(part=0, partly=1, parting=0)


# --- Samples --------------------------------------------------------------------------------------------------------


def said(label: str, scale: Scale = SCALE, **probabilities: float) -> Answered:
    level = scale.level(label)
    assert level is not None
    return Answered(Said(label, f"why {label}"), level.score, probabilities or None)


def test_shares_of_samples_are_probabilities() -> None:
    found = combined([said("supported"), said("supported"), said("unsupported"), said("supported")], SCALE)
    assert found.probabilities == {"contradicted": 0, "unsupported": 0.25, "supported": 0.75}
    assert (found.score, found.said) == (0.75, Said("supported", "why supported"))


def test_of_levels_equally_common_the_worse_is_named() -> None:
    assert combined([said("supported"), said("unsupported")], SCALE).said == Said("unsupported", "why unsupported")


def test_samples_with_probabilities_are_averaged() -> None:
    one = said("yes", BINARY, no=0.2, yes=0.8)
    other = said("no", BINARY, no=0.6, yes=0.4)
    assert combined([one, other], BINARY).probabilities == near(no=0.4, yes=0.6)


# --- Parts and wholes -----------------------------------------------------------------------------------------------


def test_the_part_that_supports_a_claim_counts_more_than_one_that_does_not() -> None:
    assert finds_more(said("supported"), said("contradicted"), SCALE)
    assert not finds_more(said("unsupported"), said("supported"), SCALE)


def test_contradicted_by_one_part_and_not_found_in_another_is_contradicted() -> None:
    assert finds_more(said("contradicted"), said("unsupported"), SCALE)
    assert not finds_more(said("unsupported"), said("contradicted"), SCALE)


def test_a_verdict_of_items_is_their_mean_and_tells_the_worst() -> None:
    items = (Item("c1", "A.", 0, 2), Item("c2", "B.", 3, 5))
    verdict = of_items(items, [said("supported"), said("contradicted")], SCALE, "claims")
    assert verdict.score == 0.5
    assert verdict.rationale == "2 claims: 1 contradicted, 1 supported; why contradicted"
    assert [(claim.text, claim.start, claim.end, claim.label) for claim in verdict.claims] == [
        ("A.", 0, 2, "supported"),
        ("B.", 3, 5, "contradicted"),
    ]


def test_a_verdict_of_one_item_gives_its_rationale() -> None:
    assert of_items((Item("c1", "A."),), [said("supported")], SCALE, "claims").rationale == "why supported"
