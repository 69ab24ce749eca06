"""Requests that wait for a model or the queue hold no database connection, because others need it."""

from __future__ import annotations

import pytest
from django.db import connection

from memory.api.event_stream import sleep_without_connection
from memory.enums import ModelKind, ModelPurpose
from memory.providers.calls import PlannedCall, call_planned
from memory.schedules import ensure_schedules
from memory.services.jobs.queue import CONDENSE, enqueue
from memory.services.jobs.waiting import wait_for
from memory.types import system_access
from memos_site import web

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_waits_for_a_model_holds_none():
    connection.ensure_connection()
    call_planned.connect(web._give_connection_back)
    try:
        call_planned.send(None, call=PlannedCall(ModelKind.CHAT, ModelPurpose.ANSWER, "openai", "any", prompt_tokens=1))
    finally:
        call_planned.disconnect(web._give_connection_back)

    assert connection.connection is None


def test_who_waits_for_the_queue_holds_none_between_two_looks(alice):
    ensure_schedules()
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    held = []

    def sleep(seconds: float) -> None:
        sleep_without_connection(0)
        held.append(connection.connection)

    waited = wait_for(system_access("tests"), seconds=0.5, sleep=sleep)

    assert not waited.is_idle
    assert held
    assert set(held) == {None}
