"""The load that requests are, of which their waits are no part."""

from __future__ import annotations

import threading

from memory.api.event_stream import Slot
from memory.stores import request_load


def load() -> int:
    return request_load._gauge.in_flight


def test_a_request_is_load_until_it_ends_and_once_only():
    before = load()
    request_load.begin()
    assert load() == before + 1
    request_load.end()
    request_load.end()
    assert load() == before


def test_a_request_that_waits_for_a_model_is_no_load():
    before = load()
    request_load.begin()
    with Slot("key"):
        assert load() == before
    request_load.end()
    assert load() == before


def test_threads_count_their_own_requests():
    before = load()
    request_load.begin()
    other = threading.Thread(target=request_load.end)
    other.start()
    other.join()
    assert load() == before + 1
    request_load.end()
