"""`manage.py jobs`: the list, and the messages of replay and discard."""

from __future__ import annotations

import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.enums import JobState
from memory.models import AuditLog, Job
from memory.services.jobs.queue import CONDENSE, enqueue


def jobs(*arguments: str) -> str:
    out = StringIO()
    call_command("jobs", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def failed(alice) -> Job:
    return Job.objects.create(
        namespace_id=alice.scope.namespace_id, kind="condense_session", arguments=[alice.scope.namespace_id, "s1"],
        state=JobState.FAILED, attempts=5, error_type="OSError", error="No space left", done=3, total=8,
        finished_at=timezone.now(),
    )  # fmt: skip


def test_jobs_are_listed_a_line_each_with_what_went_wrong(alice, failed):
    enqueue(CONDENSE, alice.scope.namespace_id, "s2")

    lines = jobs("list").splitlines()
    assert len(lines) == 3
    assert "queued" in lines[0]
    assert lines[0].endswith("condense_session alice s2")
    assert lines[1].startswith(str(failed.pk))
    assert lines[1].endswith("5×  condense_session alice s1  3/8")
    assert lines[2].strip() == "OSError: No space left"
    assert jobs("list", "--state", "failed", "--kind", "condense_session", "--namespace", "alice").count("\n") == 2
    for nothing in (("--state", "running"), ("--namespace", "nowhere")):
        assert jobs("list", *nothing) == "There is no such job.\n"
    assert "older ones" in jobs("list", "--limit", "1")


def test_jobs_are_replayed_and_discarded_one_by_one(failed):
    assert jobs("replay", str(failed.pk)) == f"{failed.pk} queued\n"
    assert jobs("discard", str(failed.pk), "--reason", "not needed") == f"{failed.pk} discarded\n"
    events = AuditLog.objects.across_namespaces().filter(event_type__startswith="JOB_").order_by("id")
    assert [(event.event_type, event.actor) for event in events] == [
        ("JOB_REPLAY", "command:jobs"), ("JOB_DISCARD", "command:jobs"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("replay", str(uuid.uuid4())), "There is no job"),
        (("discard", str(uuid.uuid4()), "--reason", "x"), "There is no job"),
        (("replay", "x"), "invalid UUID value"),
        ((), "required"),
    ],
)
def test_what_cannot_be_done_is_refused(db, arguments, message):
    with pytest.raises(CommandError, match=message):
        jobs(*arguments)
