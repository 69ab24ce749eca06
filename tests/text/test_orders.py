from __future__ import annotations

import pytest

from memory.text.orders import MAX_CHARS, is_standing_order
from memory.text.sentences import is_small_talk
from tests.text.standing_orders import DEVELOPED, HELD_OUT, ORDERS


@pytest.mark.parametrize(("orders", "look_alikes"), [DEVELOPED, HELD_OUT], ids=["developed", "held out"])
def test_orders_are_told_from_what_looks_like_them(orders, look_alikes):
    assert [one for one in orders if not is_standing_order(one)] == []
    assert [one for one in look_alikes if is_standing_order(one)] == []


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_is_small_talk(order):
    assert not is_small_talk(order)


@pytest.mark.parametrize(
    "text",
    [
        "I booked the room. Never book hotels without free cancellation.",
        "Thanks, that helps! Always answer in French.",
        "好的，收到。以后都用中文回复。",
    ],
)
def test_an_order_among_other_sentences_is_found(text):
    assert is_standing_order(text)


def test_what_is_read_of_a_long_text_is_bounded():
    assert not is_standing_order("word " * MAX_CHARS + "Always answer in French.")
