"""Bulk work in the admin: each action and its undo, the job of a large selection, and the file of an export."""

from __future__ import annotations

import csv
import io
import json
import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from memory.enums import AuditEvent, MemoryState
from memory.models import AuditLog, Erasure, Job, Memory, MemoryLink, MemoryVector, MemoryVersion
from memory.services.memories import tags as tagging
from memory.types import system_access
from ops import bulk, tasks
from ops.admin import export
from ops.models import BulkAction, BulkState
from tests.ops.conftest import HOSTILE, NOW, turns
from tests.vectorless import take_vectors

LIST = "/admin/memory/memory/"


def act(client: Client, ids: list[uuid.UUID], action: str, **values: str):
    """Confirm an action, and return the page after it."""
    data = {"action": action, "_selected_action": [str(ids[0])], "ids": ",".join(map(str, ids)), "confirmed": "yes"}
    return client.post(LIST, {**data, "reason": "tidy", **values}, follow=True)


def undo(client: Client, action: BulkAction | None = None):
    action = action or BulkAction.objects.first()
    return client.post(f"/admin/ops/bulkaction/{action.pk}/undo/", {"next": f"{LIST}?state__exact=active"})


def states() -> list[str]:
    return list(Memory.objects.across_namespaces().order_by("pk").values_list("state", flat=True))


class TestUndo:
    def test_archive_takes_back_exactly_what_it_changed(self, staff, world):
        act(staff, world.ids[:1], "archive_selected")
        shown = act(staff, world.ids[:3], "archive_selected").content.decode()
        assert "2 memories were archived. 1 of the selection already was, or is gone." in shown
        assert "Undo" in shown
        answer = undo(staff)
        assert answer.headers["Location"] == f"{LIST}?state__exact=active"
        assert states().count(MemoryState.ARCHIVED) == 1
        assert Memory.objects.across_namespaces().get(pk=world.ids[0]).state == MemoryState.ARCHIVED
        events = (
            AuditLog.objects.across_namespaces().filter(request_id=str(BulkAction.objects.first().pk)).order_by("id")
        )
        assert [event.event_type for event in events] == ["MEMORY_ARCHIVE"] * 2 + ["MEMORY_RESTORE"] * 2
        assert events.last().details["reason"] == "Undone: tidy"
        assert {event.actor for event in events} == {"staff:ann"}

    def test_the_audit_link_shows_its_events(self, staff, world):
        act(staff, world.ids[:2], "archive_selected")
        found = staff.get("/admin/memory/auditlog/", {"request_id": str(BulkAction.objects.get().pk)})
        assert len(found.context["cl"].result_list) == 2

    def test_it_is_possible_once_and_for_ten_minutes_by_the_same_person(self, staff, world):
        act(staff, world.ids[:2], "archive_selected")
        action = BulkAction.objects.get()
        other = Client()
        other.force_login(User.objects.create_user("bob", is_staff=True, is_superuser=True))
        assert undo(other, action).status_code == 404
        BulkAction.objects.update(finished_at=timezone.now() - timedelta(minutes=11))
        undo(staff)
        assert states().count(MemoryState.ARCHIVED) == 2
        assert "Undo</button>" not in staff.get(LIST).content.decode()
        BulkAction.objects.update(finished_at=timezone.now())
        undo(staff)
        undo(staff)
        assert states().count(MemoryState.ARCHIVED) == 0
        assert BulkAction.objects.get().state == BulkState.UNDONE

    def test_by_get_nothing_is_undone_and_no_other_site_is_returned_to(self, staff, world):
        act(staff, world.ids[:2], "archive_selected")
        url = f"/admin/ops/bulkaction/{BulkAction.objects.get().pk}/undo/"
        assert staff.get(url).status_code == 405
        assert staff.post(url, {"next": "https://evil.example/"}).headers["Location"] == LIST

    def test_restore(self, staff, world):
        act(staff, world.ids[:2], "archive_selected")
        assert "2 memories were restored." in act(staff, world.ids, "restore_selected").content.decode()
        undo(staff)
        assert states().count(MemoryState.ARCHIVED) == 2


class TestMerge:
    def test_the_others_are_superseded_and_come_back(self, staff, world):
        asked = staff.post(LIST, {"action": "merge_selected", "_selected_action": [str(pk) for pk in world.ids]})
        assert "Which one stays?" in asked.content.decode()
        assert "<script>alert(" not in asked.content.decode()
        shown = act(staff, world.ids, "merge_selected", survivor=str(world.ids[3])).content.decode()
        assert "3 memories were merged into another." in shown
        assert Memory.objects.across_namespaces().filter(superseded_by=world.ids[3]).count() == 3
        undo(staff)
        assert not Memory.objects.across_namespaces().exclude(superseded_by=None).exists()
        assert not MemoryLink.objects.across_namespaces().exists()

    def test_what_waited_for_review_waits_for_it_again(self, staff, world):
        Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(review="contradiction")
        act(staff, world.ids[:3], "merge_selected", survivor=str(world.ids[2]))
        assert Memory.objects.across_namespaces().get(pk=world.ids[0]).review == ""
        undo(staff)
        assert list(Memory.objects.across_namespaces().exclude(review="").values_list("pk", "review")) == [
            (world.ids[0], "contradiction")
        ]
        details = (
            AuditLog.objects.across_namespaces()
            .filter(event_type="MEMORY_REINSTATE", subject=str(world.ids[0]))
            .get()
            .details
        )
        assert (details["before"]["review"], details["after"]["review"]) == ("", "contradiction")

    @pytest.mark.parametrize("survivor", ["", "nonsense", "6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11"])
    def test_the_one_that_stays_must_be_among_them(self, staff, world, survivor):
        act(staff, world.ids, "merge_selected", survivor=survivor)
        assert not BulkAction.objects.exists()

    def test_one_alone_is_not_merged(self, staff, world):
        answer = staff.post(LIST, {"action": "merge_selected", "_selected_action": [str(world.ids[0])]}, follow=True)
        assert "Choose 2 to 50 memories" in answer.content.decode()

    def test_those_of_another_namespace_are_left_out_and_said(self, staff, world):
        ids = [world.ids[0], world.ids[1], world.elsewhere]
        shown = act(staff, ids, "merge_selected", survivor=str(world.ids[0])).content.decode()
        assert "1 memory was merged into another." in shown
        assert "1 left out:" in shown
        assert Memory.objects.across_namespaces().get(pk=world.elsewhere).superseded_by is None


class TestTags:
    def test_tags_are_added_filtered_by_and_taken_back(self, staff, world):
        shown = act(staff, world.ids[:2], "tag_selected", tags="crane, night  shift，<b>").content.decode()
        assert "2 memories were tagged." in shown
        memory = Memory.objects.across_namespaces().get(pk=world.ids[0])
        assert tagging.tags_of(memory) == ["crane", "night shift", "<b>"]
        assert MemoryVersion.objects.across_namespaces().count() == 2
        found = staff.get(LIST, {"tag": "crane"}).context["cl"].result_list
        assert {row.pk for row in found} == set(world.ids[:2])
        tagging.tag(system_access("x"), memory_ids=world.ids[:1], add=["kept"], reason="x", now=NOW)
        undo(staff)
        assert tagging.tags_of(Memory.objects.across_namespaces().get(pk=world.ids[0])) == ["kept"]
        assert "tags" not in Memory.objects.across_namespaces().get(pk=world.ids[1]).metadata

    @pytest.mark.parametrize("tags", ["", " , ", "x" * 41, ",".join(map(str, range(11)))])
    def test_refusals(self, staff, world, tags):
        act(staff, world.ids, "tag_selected", tags=tags)
        assert not BulkAction.objects.exists()

    def test_what_clients_keep_under_that_name_is_no_reason_to_fail(self, staff, world):
        Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(metadata={"tags": "text", "own": 1})
        act(staff, world.ids[:1], "tag_selected", tags="crane")
        assert Memory.objects.across_namespaces().get(pk=world.ids[0]).metadata == {"tags": ["crane"], "own": 1}


def test_vectors_are_made_anew(staff, world):
    take_vectors(world.ids[1])
    before = MemoryVector.objects.across_namespaces().count()
    assert "2 memories were embedded anew." in act(staff, world.ids[:2], "reembed_selected").content.decode()
    assert MemoryVector.objects.across_namespaces().count() == before + 1
    assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_REEMBED).count() == 2
    assert BulkAction.objects.get().undo_until is None


class TestErase:
    def test_it_shows_what_would_go_and_needs_the_word(self, staff, world):
        asked = staff.post(LIST, {"action": "erase_selected", "_selected_action": [str(world.ids[0])]})
        assert "cannot be undone" in asked.content.decode()
        act(staff, world.ids[:1], "erase_selected", typed="erase")
        assert not Erasure.objects.across_namespaces().exists()
        act(staff, [*world.ids[:1], world.elsewhere], "erase_selected", typed="ERASE")
        assert sorted(Erasure.objects.across_namespaces().values_list("namespace", "found")) == [
            ("bakery", 1),
            ("harbour", 1),
        ]
        assert Job.objects.across_namespaces().filter(kind="erase").count() == 2

    def test_it_needs_a_permission_of_its_own(self, world):
        user = User.objects.create_user("clerk", is_staff=True)
        wanted = ["view_memory", "change_memory", "all_namespaces", "view_memory_text"]
        user.user_permissions.add(*Permission.objects.filter(codename__in=wanted))
        client = Client()
        client.force_login(user)
        act(client, world.ids[:1], "erase_selected", typed="ERASE")
        assert not Erasure.objects.across_namespaces().exists()
        assert "export_csv" not in client.get(LIST).content.decode()


class TestLarge:
    def test_more_than_a_request_should_do_goes_to_a_worker_and_can_be_undone_there(self, staff, world, monkeypatch):
        monkeypatch.setattr(bulk, "INLINE", 2)
        monkeypatch.setattr(bulk, "BATCH", 2)
        shown = act(staff, world.ids, "archive_selected").content.decode()
        assert "A worker is at it: 0 of 4." in shown
        assert "<progress" in shown
        assert states().count(MemoryState.ARCHIVED) == 0
        action = BulkAction.objects.get()
        assert Job.objects.across_namespaces().get(kind="ops.tasks.carry_out_bulk").arguments == [str(action.pk)]
        assert tasks.carry_out_bulk(str(action.pk), now=timezone.now()) == 4
        assert tasks.carry_out_bulk(str(action.pk), now=timezone.now()) == 4
        assert states().count(MemoryState.ARCHIVED) == 4
        fragment = staff.get(f"/admin/ops/bulkaction/{action.pk}/toast/").content.decode()
        assert "4 memories were archived." in fragment
        undo(staff)
        assert "It is being undone" in staff.get(LIST).content.decode()
        tasks.undo_bulk(str(action.pk), now=timezone.now())
        assert states().count(MemoryState.ARCHIVED) == 0

    def test_a_run_that_broke_off_goes_on_and_undo_knows_all(self, staff, world, monkeypatch):
        monkeypatch.setattr(bulk, "INLINE", 2)
        monkeypatch.setattr(bulk, "BATCH", 1)
        act(staff, world.ids, "archive_selected")
        action = BulkAction.objects.get()
        plain, calls = bulk.runner.report, []

        def killed(done: int, total: int) -> None:
            calls.append(done)
            if len(calls) == 2:
                raise KeyboardInterrupt
            plain(done, total)

        monkeypatch.setattr(bulk.runner, "report", killed)
        with pytest.raises(KeyboardInterrupt):
            tasks.carry_out_bulk(str(action.pk), now=timezone.now())
        assert states().count(MemoryState.ARCHIVED) == 2
        tasks.carry_out_bulk(str(action.pk), now=timezone.now())
        action.refresh_from_db()
        assert (action.state, action.changed_count) == (BulkState.DONE, 4)

    def test_who_lost_the_permission_meanwhile_changes_nothing(self, staff, world, monkeypatch):
        monkeypatch.setattr(bulk, "INLINE", 2)
        act(staff, world.ids, "archive_selected")
        User.objects.filter(username="ann").update(is_superuser=False)
        with pytest.raises(bulk.Forbidden):
            tasks.carry_out_bulk(str(BulkAction.objects.get().pk), now=timezone.now())
        assert states().count(MemoryState.ARCHIVED) == 0


class TestExport:
    def run(self, client: Client, ids: list[uuid.UUID], action: str) -> str:
        answer = client.post(LIST, {"action": action, "_selected_action": [str(pk) for pk in ids]})
        assert answer.streaming
        assert "attachment" in answer.headers["Content-Disposition"]
        return b"".join(answer.streaming_content).decode()

    def test_csv_holds_no_formula(self, staff, world):
        [evil] = turns(world.harbour, "x", '=HYPERLINK("http://evil.example","click")')
        [tab] = turns(world.harbour, "=x", " @SUM(1+1) of it all")
        shown = self.run(staff, [evil, tab, world.hostile], "export_csv")
        lines = list(csv.DictReader(io.StringIO(shown.lstrip("\ufeff"))))
        assert [line["text"] for line in lines] == [
            "' @SUM(1+1) of it all", '\'=HYPERLINK("http://evil.example","click")', HOSTILE,
        ]  # fmt: skip
        assert lines[0]["session"] == "'=x"
        assert not any(cell.startswith(("=", "+", "@")) for line in lines for cell in line.values())

    def test_json_lines_and_the_audit(self, staff, world):
        shown = self.run(staff, [*world.ids[:2], world.elsewhere], "export_json_lines")
        records = [json.loads(line) for line in shown.splitlines()]
        assert {record["namespace"] for record in records} == {"harbour", "bakery"}
        assert len(records) == 3
        events = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_EXPORT).order_by("namespace")
        assert [(event.namespace, event.details["memories"]) for event in events] == [("bakery", 1), ("harbour", 2)]

    def test_more_than_a_file_holds_are_refused(self, staff, world, monkeypatch):
        monkeypatch.setattr(export, "MAX_ROWS", 2)
        data = {"action": "export_csv", "_selected_action": [str(pk) for pk in world.ids]}
        assert "One file holds 2 memories" in staff.post(LIST, data, follow=True).content.decode()
        assert not AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_EXPORT).exists()
