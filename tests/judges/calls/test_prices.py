import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.calls.prices import Price, PriceList
from judges.usage import Usage

LISTED = [
    ("openai", "gpt-4o-mini"),
    ("openai", "gpt-5"),
    ("anthropic", "claude-sonnet-4-5"),
    ("google", "gemini-2.5-pro"),
]


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    read, written, fresh = (draw(st.integers(0, 300_000)) for _ in range(3))
    return Usage(
        input_tokens=read + written + fresh,
        output_tokens=draw(st.integers(0, 10_000)),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


@pytest.mark.parametrize(("provider", "model"), LISTED)
@given(usage=usages())
def test_costs_are_those_of_the_list(provider: str, model: str, usage: Usage) -> None:
    listed = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        ),
        model,
        provider_id=provider,
    )
    assert PriceList(provider)(model, usage) == pytest.approx(float(listed.total_price))


def test_a_model_that_is_not_listed_has_no_price() -> None:
    assert PriceList("openai")("no-such-model", Usage(input_tokens=1)) is None


def test_a_service_of_ones_own_has_no_list() -> None:
    assert PriceList(None)("gpt-4o-mini", Usage(input_tokens=1)) is None


def test_ones_own_prices_come_first() -> None:
    prices = PriceList("openai", {"gpt-4o-mini": Price(1.0, 2.0, cache_read=0.1)})
    usage = Usage(input_tokens=1_000_000, cache_read_tokens=500_000, output_tokens=1_000_000)
    assert prices("gpt-4o-mini", usage) == pytest.approx(0.5 + 0.05 + 2.0)


def test_cached_tokens_cost_what_others_cost_if_nothing_else_is_said() -> None:
    usage = Usage(input_tokens=1_000_000, cache_read_tokens=400_000, cache_write_tokens=300_000)
    assert Price(3.0, 0.0).cost(usage) == pytest.approx(3.0)
