"""The operator's prices of models from MEMOS_MODEL_PRICES."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from memory.conf import ConfigurationError

SETTING: Final = "MEMOS_MODEL_PRICES"
_AMOUNTS: Final = ("input", "cached", "output", "call")
_EXAMPLE = '{"vllm/qwen3-32b": {"input": 0.1, "cached": 0.02, "output": 0.4, "date": "2026-11-01"}}'


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """Prices in US dollars per million tokens, and `call` for each call; `date` is their start, if given."""

    input: Decimal
    cached: Decimal
    output: Decimal
    call: Decimal
    date: date | None

    def cost(self, *, prompt: int, cached: int, completion: int) -> Decimal:
        """Return the price of one call in US dollars; `cached` tokens are part of the `prompt` tokens."""
        tokens = (prompt - cached) * self.input + cached * self.cached + completion * self.output
        return tokens / 1_000_000 + self.call


def read_prices(given: str) -> dict[str, OwnPrice]:
    """Read prices by `provider/model` from JSON, or from a .json or .toml file. Raise ConfigurationError."""
    if not given.strip():
        return {}
    entries = _entries(given.strip())
    if not isinstance(entries, dict):
        raise ConfigurationError(f"{SETTING} is no object: write {_EXAMPLE}")
    return {model: _price(model, entry) for model, entry in entries.items()}


def _entries(given: str) -> Any:
    if given.startswith("{"):
        return _parse(given, SETTING, toml=False)
    path = Path(given).expanduser()
    if path.suffix not in (".json", ".toml"):
        raise ConfigurationError(
            f"{SETTING} is neither JSON nor the path of a .json or .toml file: write {_EXAMPLE}, or such a path"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{SETTING}={given!r} cannot be read: {error}") from error
    return _parse(text, given, toml=path.suffix == ".toml")


def _parse(text: str, source: str, *, toml: bool) -> Any:
    try:
        if toml:
            return tomllib.loads(text, parse_float=Decimal)
        return json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise ConfigurationError(f"{source} is no {'TOML' if toml else 'JSON'}: {error}") from error


def _price(model: str, entry: Any) -> OwnPrice:
    provider, parted, name = model.partition("/")
    if not (provider and parted and name):
        raise ConfigurationError(f"{SETTING}: {model!r} is no `provider/model`, such as vllm/qwen3-32b")
    if not isinstance(entry, Mapping) or not entry.keys() & {*_AMOUNTS}:
        raise ConfigurationError(f"{SETTING}: {model} needs at least one of {', '.join(_AMOUNTS)}: write {_EXAMPLE}")
    unknown = sorted(entry.keys() - {*_AMOUNTS, "date"})
    if unknown:
        raise ConfigurationError(
            f"{SETTING}: {model} has {', '.join(unknown)}, which is no part of a price; there are "
            f"{', '.join(_AMOUNTS)} and date"
        )
    amounts = {name: _amount(model, name, entry[name]) for name in _AMOUNTS if name in entry}
    per_token = amounts.get("input", Decimal(0))
    return OwnPrice(
        input=per_token,
        # Cached tokens without a separate price cost the same as others.
        cached=amounts.get("cached", per_token),
        output=amounts.get("output", Decimal(0)),
        call=amounts.get("call", Decimal(0)),
        date=_date(model, entry.get("date")),
    )


def _amount(model: str, name: str, value: Any) -> Decimal:
    try:
        amount = Decimal(str(value)) if isinstance(value, int | float | Decimal) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or not 0 <= amount <= 1_000_000:
        raise ConfigurationError(
            f"{SETTING}: {name} of {model} is {value!r}; it must be a number of US dollars from 0 to 1,000,000"
        )
    return amount


def _date(model: str, value: Any) -> date | None:
    if value is None:
        return None
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise ConfigurationError(f"{SETTING}: date of {model} is {value!r}; write it as 2026-11-01") from None
