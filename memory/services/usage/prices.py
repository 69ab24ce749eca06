"""Prices calls of models: by the operator's own price, else by a known price list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache

from django.conf import settings

OWN = "MEMOS_MODEL_PRICES"
_PLACES = Decimal("0.000000001")


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost in US dollars. `source`: the price list; `date`: since when its price holds, if known."""

    usd: Decimal
    source: str
    date: date | None = None


def cost_of(provider: str, model: str, *, prompt: int, cached: int, completion: int) -> Cost | None:
    """Return the cost of these tokens, of which `cached` are part of the `prompt`; None if no price is known.

    Uses no network.
    """
    cached = min(cached, prompt)
    own = settings.MEMOS_MODEL_PRICES.get(f"{provider}/{model}")
    if own is not None:
        usd = own.cost(prompt=prompt, cached=cached, completion=completion)
        return Cost(usd.quantize(_PLACES), OWN, own.date)
    import genai_prices  # noqa: PLC0415 - half a second, for those who call models over the network

    usage = genai_prices.Usage(input_tokens=prompt, cache_read_tokens=cached or None, output_tokens=completion or None)
    try:
        priced = genai_prices.calc_price(usage, model, provider_id=provider)
    except LookupError:
        return None
    if not priced.total_price and prompt + completion:
        # The model is listed without a price for this kind of tokens.
        return None
    return Cost(priced.total_price.quantize(_PLACES), _name_price_list())


@cache
def _name_price_list() -> str:
    import genai_prices  # noqa: PLC0415 - as above

    return f"genai-prices {genai_prices.__version__}"
