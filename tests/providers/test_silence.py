"""Reading an answer that pauses: its reader gets control meanwhile, and may leave at any time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx2
import pytest

from memory.providers.chat.silence import read_with_pauses
from tests.providers.upstream import Upstream, serving_upstream, streamed


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving_upstream(streamed("The shop", " is in Lyon.")) as found:
        yield found


def test_what_comes_is_as_it_came(upstream):
    with httpx2.stream("POST", upstream.url, json={}) as response:
        came = list(read_with_pauses(response, seconds=20.0))
    assert b"".join(came) == streamed("The shop", " is in Lyon.").content
    assert b"" not in came


def test_a_reader_of_a_silent_answer_gets_a_turn_and_may_leave(upstream):
    reply = streamed("The shop", " is in Lyon.", before_last=threading.Event())
    upstream.answer = lambda _: reply
    with httpx2.stream("POST", upstream.url, json={}) as response:
        pieces = read_with_pauses(response, seconds=0.01)
        while next(pieces):
            pass
        assert next(pieces) == b""
        pieces.close()
        assert not [one for one in threading.enumerate() if one.name == "relayed-answer"]
    reply.before_last.set()


def test_what_reading_raises_is_raised(upstream):
    reply = streamed("The shop", before_last=threading.Event())
    upstream.answer = lambda _: reply
    with httpx2.stream("POST", upstream.url, json={}, timeout=0.3) as response, pytest.raises(httpx2.ReadTimeout):
        list(read_with_pauses(response, seconds=0.05))
    reply.before_last.set()
