"""What a call costs: the list of genai-prices, and the user's own prices before it. The home of genai-prices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from judges.usage import Usage

__all__ = ["Price", "PriceList", "Prices", "context_window"]

Prices: TypeAlias = Callable[[str, Usage], float | None]
"""Dollars for what a model used; None if its price isn't known."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    """None: as `input`."""
    cache_write: float | None = None
    """None: as `input`."""

    def cost(self, usage: Usage) -> float:
        """Dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        plain = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        return (
            plain * self.input
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output
        ) / _MILLION


def context_window(provider: str, model: str) -> int | None:
    """Tokens that a model can take, reply included; None if nobody lists them.

    Args:
        provider: As genai-prices names it.
        model: As the service names it.
    """
    import genai_prices  # takes 0.2 s

    try:
        return genai_prices.calc_price(genai_prices.Usage(), model, provider_id=provider).model.context_window
    except LookupError:
        return None


class PriceList:
    """Prices by model."""

    def __init__(self, provider: str | None = None, own: Mapping[str, Price] | None = None) -> None:
        """A list of prices.

        Args:
            provider: Whose list prices hold, as genai-prices names it (`openai`, `anthropic`); None for a service
                whose prices nobody lists, such as one of the user's own.
            own: Prices that the user has given, by model; they come first.
        """
        self._provider = provider
        self._known: dict[str, Price | None] = dict(own or {})
        self._by_size: set[str] = set()

    def __call__(self, model: str, usage: Usage) -> float | None:
        """Dollars, at today's list price; None if there is none."""
        if model not in self._known:
            self._known[model] = self._look_up(model)
        if model in self._by_size:
            return self._listed(model, usage)
        price = self._known[model]
        return None if price is None else price.cost(usage)

    def _look_up(self, model: str) -> Price | None:
        """A million tokens of each kind; looked up once, since asking for each call takes longer than all the rest."""
        plain = self._listed(model, Usage(input_tokens=_MILLION))
        output = self._listed(model, Usage(output_tokens=_MILLION))
        read = self._listed(model, Usage(input_tokens=_MILLION, cache_read_tokens=_MILLION))
        write = self._listed(model, Usage(input_tokens=_MILLION, cache_write_tokens=_MILLION))
        few = self._listed(model, Usage(input_tokens=1))
        if plain is None or output is None or few is None:
            return None
        if abs(few * _MILLION - plain) > plain * 1e-9:  # long inputs cost more, or each request costs something
            self._by_size.add(model)
        return Price(plain, output, read, write)

    def _listed(self, model: str, usage: Usage) -> float | None:
        if self._provider is None:
            return None
        import genai_prices  # takes 0.2 s

        used = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        try:
            return float(genai_prices.calc_price(used, model, provider_id=self._provider).total_price)
        except LookupError:
            return None
