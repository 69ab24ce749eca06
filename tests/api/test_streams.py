"""Answers as server-sent events: their order and their ends, including clients that leave and failures."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from memory.api import event_stream
from memory.enums import ModelCallStatus, Role
from memory.errors import EmbeddingUnavailable
from memory.models import Memory
from memory.providers.calls import call_ended
from memory.services.index.embedding_model import ActiveModel
from tests.providers.chat_endpoint import ScriptedChat, scripted_model

FACTS = (
    "The launch moved from the 21st to the 28th.",
    "Good morning! Priya reviews the migration before the release.",
)
QUERY = "Who reviews the migration before the release?"
QUESTION = {"namespace": "alice", "session_id": "s1", "query": QUERY}
MESSAGE = {"namespace": "alice", "session_id": "s1", "message": QUERY}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def model(settings) -> Iterator[ScriptedChat]:
    """Start the model that is configured for answers."""
    with scripted_model(
        settings, "Priya reviews ", "the migration [", "9]", "[1", "].", " She is ", "on holiday."
    ) as chat:
        yield chat


@pytest.fixture
def told(alice, remember):
    return [remember(alice, text, session="s0", speaker="Tom") for text in FACTS]


def read_events(response: Any) -> list[tuple[str, Any]]:
    """Return the name and data of each event of a stream, whose ids must count from 1."""
    content = b"".join(response.streaming_content).decode()
    response.close()
    blocks = [block.split("\n") for block in content.split("\n\n") if block and not block.startswith(":")]
    assert [block[0] for block in blocks] == [f"id: {number}" for number in range(1, len(blocks) + 1)]
    return [(block[1].removeprefix("event: "), json.loads(block[2].removeprefix("data: "))) for block in blocks]


def turns(tenant: Any) -> list[tuple[str, str]]:
    rows = Memory.objects.in_scope(tenant.scope).filter(session="s1").order_by("turn")
    return list(rows.values_list("role", "text"))


def test_a_wrong_request_is_refused_like_any_other(alice, bob, olga):
    assert alice.post("/v1/answer/stream", QUESTION | {"top_k": 0}).json()["error"]["code"] == "invalid_request"
    assert bob.post("/v1/answer/stream", QUESTION).status_code == 404
    assert olga.post("/v1/answer/stream", data=QUESTION, content_type="application/json").status_code == 401


def test_nothing_on_the_way_may_keep_a_stream(alice, told):
    response = alice.post("/v1/answer/stream", QUESTION, Accept_Encoding="gzip")
    response.close()

    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-cache, no-transform"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Content-Encoding"] == "identity"
    assert response.headers["X-Request-ID"]


def test_quotes_are_streamed_line_by_line(alice, told):
    events = read_events(alice.post("/v1/answer/stream", QUESTION))

    assert [name for name, _ in events] == ["sources", "delta", "citation", "done"]
    (_, sources), (_, delta), (_, citation), (_, done) = events
    assert sources["context_pack_id"] == done["context_pack_id"]
    assert [(one["n"], one["memory_id"], one["text"]) for one in sources["sources"]] == [(1, told[1], FACTS[1])]
    assert delta["text"] == done["answer"] == "Priya reviews the migration before the release. [1]"
    assert citation == {"n": 1, "memory_id": told[1], "at": 48, "supported": True}
    assert done.keys() == alice.post("/v1/answer", QUESTION).json().keys()


def test_a_model_is_streamed_and_no_number_of_no_source_leaks(alice, model, told):
    events = read_events(alice.post("/v1/answer/stream", QUESTION))

    names = [name for name, _ in events]
    deltas = [data["text"] for name, data in events if name == "delta"]
    done = events[-1][1]
    assert names == ["sources", *["delta"] * len(deltas), "citation", "done"]
    assert "".join(deltas) == done["answer"] == "Priya reviews the migration[1]. She is on holiday."
    assert not any("9" in delta for delta in deltas)
    assert done["uncited"] == ["She is on holiday."]
    assert (done["mode"], done["usage"]["cached"]) == ("model", 64)
    assert {one["memory_id"] for one in events[0][1]["sources"]} <= set(told)


def test_an_abstention_and_an_unknown_namespace_are_streamed_too(alice, make_tenant, model, told):
    everyone = make_tenant("any", all_namespaces=True)
    for answered in (
        alice.post("/v1/answer/stream", QUESTION | {"query": "What is the capital of Mongolia?"}),
        everyone.post("/v1/answer/stream", QUESTION | {"namespace": "nowhere"}),
    ):
        events = read_events(answered)
        assert [name for name, _ in events] == ["sources", "delta", "done"]
        assert events[-1][1]["abstained"] is True
    assert model.asked == []


def test_quotes_take_the_place_of_a_model_that_says_nothing(alice, model, told):
    model.status = 500

    events = read_events(alice.post("/v1/answer/stream", QUESTION))

    assert [name for name, _ in events] == ["sources", "sources", "delta", "citation", "done"]
    assert (events[-1][1]["mode"], events[-1][1]["degraded"]) == ("extractive", ["llm_unavailable"])


def test_of_a_model_that_breaks_off_the_question_alone_is_remembered(alice, model, told):
    model.breaks_off = True

    events = read_events(alice.post("/v1/chat/stream", MESSAGE, X_Request_ID="r-1"))

    name, data = events[-1]
    assert (name, data["error"]["code"], data["error"]["request_id"]) == ("error", "llm_unavailable", "r-1")
    assert data["error"]["detail"]["remembered"][0]["role"] == "user"
    assert "not remembered" in data["error"]["detail"]["answer"]
    assert turns(alice) == [(Role.USER, QUERY)]


def test_a_repeat_after_a_break_brings_the_answer_and_no_second_question(alice, model, told):
    model.breaks_off = True
    read_events(alice.post("/v1/chat/stream", MESSAGE, Idempotency_Key="k1"))
    model.breaks_off = False

    done = read_events(alice.post("/v1/chat/stream", MESSAGE, Idempotency_Key="k1"))[-1][1]
    again = read_events(alice.post("/v1/chat/stream", MESSAGE, Idempotency_Key="k1"))[-1][1]

    assert [role for role, _ in turns(alice)] == [Role.USER, Role.AGENT]
    assert [one["role"] for one in done["remembered"]] == ["user", "agent"]
    assert again | {"request_id": ""} == done | {"request_id": ""}
    assert len(model.asked) == 2


def test_a_client_that_leaves_ends_the_call_and_leaves_no_half_answer(alice, model, told):
    model.pieces, model.pause = ["and so on "] * 1000, 0.05
    response = alice.post("/v1/chat/stream", MESSAGE)
    stream = iter(response.streaming_content)
    first = [next(stream), next(stream)]

    response.close()

    assert [piece.split(b"\n")[1] for piece in first] == [b"event: sources", b"event: delta"]
    assert model.left.wait(10)
    assert turns(alice) == [(Role.USER, QUERY)]
    assert alice.scope.actor not in event_stream._open


def test_a_client_that_leaves_a_model_that_says_nothing_more_ends_the_call(alice, model, told):
    model.waits = True
    response = alice.post("/v1/answer/stream", QUESTION)
    stream = iter(response.streaming_content)
    [next(stream), next(stream)]
    statuses: list[ModelCallStatus] = []
    has_ended = threading.Event()

    def note(**signal: Any) -> None:
        statuses.append(signal["call"].status)
        has_ended.set()

    call_ended.connect(note)
    response.close()

    assert model.left.wait(10)
    assert has_ended.wait(10)
    assert statuses == [ModelCallStatus.CANCELLED]


def test_while_the_model_is_waited_for_the_stream_says_that_it_lives(alice, model, told, monkeypatch):
    monkeypatch.setattr(event_stream, "PING_SECONDS", 0.0)
    model.waits = True
    response = alice.post("/v1/answer/stream", QUESTION)
    stream = iter(response.streaming_content)

    pieces = [next(stream) for _ in range(4)]

    response.close()
    assert pieces[2:] == [b": ping\n\n"] * 2


def test_a_failure_within_a_stream_is_an_event(alice, told, monkeypatch):
    def fail(*_: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr("memory.services.answers.conversation.complete", fail)
    monkeypatch.setattr("memory.services.answers.answer.extract_answer", fail)

    events = read_events(alice.post("/v1/answer/stream", QUESTION))

    assert [name for name, _ in events] == ["error"]
    assert events[0][1]["error"]["code"] == "internal_error"
    assert "defect" not in json.dumps(events)


def test_a_search_that_fails_is_answered_before_the_stream_begins(alice, told, monkeypatch):
    def away(*_: Any) -> Any:
        raise EmbeddingUnavailable("The embedding endpoint is away.")

    monkeypatch.setattr(ActiveModel, "start_embedding", away)

    assert alice.post("/v1/answer/stream", QUESTION).status_code == 503
    assert alice.scope.actor not in event_stream._open


def test_a_key_has_so_many_streams_at_once(alice, bob, told, settings):
    settings.MEMOS_STREAMS_PER_KEY = 2
    both = [alice.post("/v1/answer/stream", QUESTION) for _ in range(2)]

    refused = alice.post("/v1/answer/stream", QUESTION)

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_streams")
    assert refused.headers["Retry-After"] == "1"
    other = bob.post("/v1/answer/stream", QUESTION | {"namespace": "bob"})
    assert other.status_code == 200
    assert alice.post("/v1/answer", QUESTION).status_code == 200
    for response in (*both, other):
        response.close()
        response.close()
    assert read_events(alice.post("/v1/answer/stream", QUESTION))[-1][0] == "done"


def test_answers_of_a_model_count_as_streams_do(alice, model, told, settings):
    settings.MEMOS_STREAMS_PER_KEY = 1
    stream = alice.post("/v1/answer/stream", QUESTION)

    refused = alice.post("/v1/answer", QUESTION)
    stream.close()

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_streams")
    assert alice.post("/v1/answer", QUESTION).json()["mode"] == "model"


def test_the_deadline_of_requests_does_not_end_a_stream(alice, model, told, settings):
    settings.MEMOS_REQUEST_SECONDS = 1
    model.waits = True
    response = alice.post("/v1/chat/stream", MESSAGE)
    stream = iter(response.streaming_content)
    said = [next(stream)]
    model.go_on.wait(1.2)
    model.go_on.set()

    said += list(stream)

    assert b"event: done" in said[-1]
    assert len(turns(alice)) == 2
