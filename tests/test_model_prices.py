"""MEMOS_MODEL_PRICES is read completely, or refused with the fault."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from memory.conf import ConfigurationError
from memory.model_prices import read_prices


def test_none_are_given():
    assert read_prices("  ") == {}


@pytest.mark.parametrize("name", ["prices.toml", "prices.json"])
def test_prices_come_out_of_a_file(tmp_path, name):
    path = tmp_path / name
    path.write_text(
        '["vllm/qwen3-32b"]\ninput = 0.1\noutput = 1\ndate = 2026-11-01\n'
        if name.endswith("toml")
        else '{"vllm/qwen3-32b": {"input": 0.1, "output": 1, "date": "2026-11-01"}}'
    )

    price = read_prices(str(path))["vllm/qwen3-32b"]
    assert (price.input, price.cached, price.output, price.call) == (Decimal("0.1"), Decimal("0.1"), 1, 0)
    assert price.date == date(2026, 11, 1)
    assert price.cost(prompt=1_000_000, cached=500_000, completion=1_000_000) == Decimal("1.1")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("[]", "neither JSON nor the path"),
        ("{", "is no JSON"),
        ("/nowhere/prices.toml", "cannot be read"),
        ('{"qwen": {"input": 1}}', "no `provider/model`"),
        ('{"vllm/q": {}}', "needs at least one of"),
        ('{"vllm/q": 3}', "needs at least one of"),
        ('{"vllm/q": {"input": 1, "outptu": 2}}', "outptu"),
        ('{"vllm/q": {"input": -1}}', "must be a number"),
        ('{"vllm/q": {"input": "1"}}', "must be a number"),
        ('{"vllm/q": {"input": true}}', "must be a number"),
        ('{"vllm/q": {"input": NaN}}', "must be a number"),
        ('{"vllm/q": {"input": 1, "date": "soon"}}', "write it as 2026-11-01"),
    ],
)
def test_what_is_wrong_is_named(given, says):
    with pytest.raises(ConfigurationError, match=says):
        read_prices(given)
