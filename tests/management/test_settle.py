"""`manage.py settle`: lists its changes, makes them, and undoes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.enums import AuditEvent, LinkKind
from memory.models import AuditLog, Memory, MemoryLink, RetiredStatement, Session
from memory.services.memories.settle import settle_pending

MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))
OLD = "I love chess problems. My oboe is mended at last."
NEW = "I've lost interest in chess problems. The harbour was cold today."


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("settle", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def told(alice, remember) -> tuple[str, str]:
    return (
        remember(alice, OLD, session="march", occurred_at=MARCH),
        remember(alice, NEW, session="may", occurred_at=MAY),
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Name the namespace"),
        (["nowhere"], "nowhere"),
        (["--undo", "yesterday"], "is no moment"),
        (["--undo", "2026-05-08", "--everything"], "name an earlier moment"),
        (["--undo", "2126-05-08"], "still to come"),
    ],
)
def test_refusals_say_what_to_do(db, arguments, says):
    with pytest.raises(CommandError, match=says):
        run(*arguments)


def test_a_dry_run_names_the_pair_and_changes_nothing(alice, told):
    old, new = told
    events = AuditLog.objects.across_namespaces().count()

    shown = run("alice", "--dry-run")

    assert "I love chess problems." in shown
    assert "I've lost interest in chess problems." in shown
    assert old in shown
    assert new in shown
    assert "sure)" in shown
    assert "Nothing was changed." in shown
    assert not RetiredStatement.objects.across_namespaces().exists()
    assert not MemoryLink.objects.across_namespaces().exists()
    assert AuditLog.objects.across_namespaces().count() == events
    assert set(Session.objects.across_namespaces().values_list("settled_turn", flat=True)) == {0}
    assert Memory.objects.across_namespaces().get(pk=old).revision == 1


def test_a_dry_run_as_json_works_where_the_policy_has_it_off(alice, told):
    body = {"namespace": "alice", "policy": {"conflicts": {"settle": False}}}
    assert alice.client.put("/v1/policy", data=body, content_type="application/json").status_code == 200
    settle_pending(now=timezone.now())

    would = json.loads(run("alice", "--dry-run", "--json"))["would"]

    of_old = [one for one in would if one["memory_id"] == told[0]]
    assert [(one["what"], one["old_words"], one["newer_id"]) for one in of_old] == [
        ("retire", "I love chess problems.", told[1])
    ]
    assert 0 < of_old[0]["confidence"] <= 1
    with pytest.raises(CommandError, match="PUT /v1/policy"):
        run("alice")


def test_it_settles_now_and_again_only_when_it_is_told_to(alice, told):
    assert "2 turns" in run("alice")
    assert Memory.objects.across_namespaces().get(pk=told[0]).retired_spans == [0, 22]
    assert "0 turns" in run("alice")
    assert json.loads(run("alice", "--everything", "--json")) == {"turns": 2}
    assert json.loads(run("alice", "--dry-run", "--everything", "--json")) == {"would": []}


def test_undo_takes_back_what_was_done_since_then_once_and_for_good(alice, bob, remember, told):
    whole = remember(alice, "I love rye bread.", session="march", occurred_at=MARCH)
    remember(alice, "I've lost interest in rye bread. It rained.", session="may", occurred_at=MAY)
    theirs = remember(bob, OLD, occurred_at=MARCH)
    remember(bob, NEW, occurred_at=MAY)
    before = timezone.now()
    settle_pending(now=timezone.now())
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is not None

    later = (timezone.now() + timedelta(seconds=0)).isoformat()
    assert "0 memories hold again" in run("alice", "--undo", later)
    undone = json.loads(run("alice", "--undo", before.isoformat(), "--reason", "too eager", "--json"))

    assert undone["superseded"] == 1
    assert undone["statements"] >= 1
    assert Memory.objects.across_namespaces().get(pk=told[0]).retired_spans == []
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
    assert Memory.objects.across_namespaces().get(pk=theirs).retired_spans != [], "another namespace is left alone"
    event = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_REINSTATE, subject=told[0]).get()
    assert event.actor == "command:settle"
    assert event.details["before"]["retired_statements"] == 1
    assert event.details["after"]["retired_statements"] == 0
    assert event.details["reason"] == "too eager"
    assert "0 memories hold again" in run("alice", "--undo", before.isoformat())
    assert not MemoryLink.objects.in_scope(alice.scope).filter(kind=LinkKind.SUPERSEDES).exists()

    run("alice", "--everything")
    assert Memory.objects.across_namespaces().get(pk=told[0]).retired_spans == []
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
    assert json.loads(run("--undo", before.isoformat(), "--json"))["memories"] >= 1, "without a name: all namespaces"
