"""MemTensor's routes that stream or wait."""

from __future__ import annotations

import uuid
from typing import Any

import orjson
import pytest
from django.utils import timezone

from memory.models import Job, Memory
from tests.api.memtensor.test_routes import FERRY, add, data_of, refuse

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = {"user_id": "ann", "session_id": "s", "query": "When does the ferry to Aegina leave?"}


@pytest.fixture
def waiting(alice, bob) -> list[Job]:
    """Make a waiting job of Alice's and one of Bob's."""
    now = timezone.now()
    return [Job.objects.create(namespace_id=one.scope.namespace_id, kind="test", queued_at=now) for one in (alice, bob)]


def read(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/event-stream")
    lines = b"".join(answer).decode().split("\n\n")
    assert all(line.startswith("data: ") for line in lines if line)
    return [orjson.loads(line.removeprefix("data: ")) for line in lines if line]


def test_an_answer_comes_as_events_with_a_type_and_is_remembered(alice):
    add(alice)
    events = read(alice.post("/product/chat/stream", QUESTION))

    assert [one["type"] for one in events if one["type"] != "text"] == ["reference", "time", "suggestion", "end"]
    assert events[0]["data"][0]["memory"] == FERRY
    text = "".join(one["data"] for one in events if one["type"] == "text")
    whole = data_of(alice.post("/product/chat/complete", {**QUESTION, "add_message_on_answer": False}))
    assert "nine" in text
    assert "nine" in whole["response"]
    assert whole["references"][0]["n"] == 1
    session = set(Memory.objects.in_scope(alice.scope).values_list("session", flat=True))
    assert "ann/s" in session
    assert Memory.objects.in_scope(alice.scope).filter(session="ann/s").count() == 2
    assert "nine" in data_of(alice.post("/chat", {**QUESTION, "add_message_on_answer": False}))


def test_an_answer_that_breaks_off_ends_with_an_error_and_no_traceback(alice, monkeypatch):
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the secret cause")
        yield

    monkeypatch.setattr("memory.api.views.answer.stream_reply", fail)
    add(alice)
    answer = alice.post("/product/chat/stream", QUESTION)
    [event] = read(answer)

    assert event["type"] == "error"
    assert event["error"]["code"] == "internal_error"
    assert "secret" not in str(event)


def test_what_waits_is_told_of_ones_own(alice, waiting):
    own, other = waiting
    status = data_of(alice.get("/product/scheduler/allstatus"))
    assert status["scheduler_summary"] == {"waiting": 1, "in_progress": 0, "total": 1}
    queue = data_of(alice.get("/product/scheduler/task_queue_status", user_name="alice"))
    assert (queue["user_name"], queue["remaining_tasks_count"]) == ("alice", 1)
    told = {"task_id": str(own.pk), "status": "waiting", "label": "test", "priority": "normal"}
    assert data_of(alice.get("/product/scheduler/status", task_id=str(own.pk))) == [told]
    assert data_of(alice.get("/product/scheduler/status")) == [told]
    refuse(alice.get("/product/scheduler/status", task_id=str(other.pk)), 404)


def test_a_task_of_the_clients_own_is_completed_when_its_memories_are_there(alice, bob, make_tenant):
    path = "/product/scheduler/status"
    add(alice, task_id="trip-1", async_mode="async")
    add(alice, "Ben takes the bus.", user_id="ben", task_id="trip-2", writable_cube_ids=["alice"])
    told = [{"task_id": "trip-1", "status": "completed", "label": "add", "priority": "interactive"}]

    refuse(bob.get(path, task_id="trip-1"), 404, "trip-1")
    refuse(bob.get(path, task_id="trip-1", mem_cube_id="alice"), 404)
    refuse(alice.get(path, task_id="trip"), 404)
    refuse(alice.get(path, task_id="trip-1", user_id="ben"), 404)
    refuse(alice.get(path, task_id="trip-1", user_id="ben", mem_cube_id="alice"), 404)
    refuse(alice.get(path, task_id="trip-2", user_id="ann", mem_cube_id="alice"), 404)
    data_of(alice.get(path, task_id="trip-2", user_id="ben", mem_cube_id="alice"))
    refuse(alice.get(path, task_id=str(uuid.uuid4())), 404)
    everywhere = make_tenant("boss", all_namespaces=True)
    refuse(everywhere.get(path, task_id="trip-1"), 404)
    assert data_of(everywhere.get(path, task_id="trip-1", mem_cube_id="alice")) == told
    assert data_of(alice.get(path, task_id="trip-1", user_id="ann")) == told
    assert data_of(alice.get(path, task_id="trip-1")) == told


def test_a_wait_ends_when_nothing_waits_or_the_time_is_over(alice, waiting):
    path = "/product/scheduler/wait?timeout_seconds=0.1"
    answer = alice.client.post(path)
    assert answer.json()["message"] == "timeout"
    assert data_of(answer)["running_tasks"] == 1
    [*_, last] = read(alice.client.post("/product/scheduler/wait/stream?timeout_seconds=0.1&user_name=alice"))
    assert (last["status"], last["active_tasks"], last["timed_out"]) == ("timeout", 1, True)

    Job.objects.filter(namespace_id=alice.scope.namespace_id).delete()
    assert alice.client.post(path).json()["message"] == "idle"
    [last] = read(alice.client.post("/product/scheduler/wait/stream?timeout_seconds=5"))
    assert last["status"] == "idle"
    refuse(alice.client.post("/product/scheduler/wait?timeout_seconds=301"), 400, "timeout_seconds")


def test_turns_are_waited_for_too(alice):
    add(alice)

    assert data_of(alice.client.post("/product/scheduler/wait?timeout_seconds=0"))["remaining_turns"] == 1
