from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.enums import AuditEvent, MemoryState
from memory.models import AuditLog, Memory, MemoryVersion, RetiredStatement
from memory.services.memories import edit
from memory.types import system_access
from ops.admin import lists, memories, memory_actions
from ops.admin import search as word_search
from tests.ops.conftest import HOSTILE, NOW, scope_of, turns

LIST = "/admin/memory/memory/"


def page(client: Client, **query: str) -> str:
    response = client.get(LIST, query, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def listed(client: Client, **query: str) -> set[uuid.UUID]:
    response = client.get(LIST, query)
    assert response.status_code == 200
    return {memory.pk for memory in response.context["cl"].result_list}


def change_url(memory_id: uuid.UUID) -> str:
    return f"{LIST}{memory_id}/change/"


def run_action(client: Client, chosen: list[uuid.UUID], action: str, **more: str):
    return client.post(LIST, {"action": action, "_selected_action": [str(pk) for pk in chosen], **more})


def confirm(client: Client, ids: list[uuid.UUID], action: str, reason: str):
    return run_action(client, ids[:1], action, ids=",".join(map(str, ids)), reason=reason, confirmed="yes")


@pytest.fixture
def viewer(db) -> Client:
    user = User.objects.create_user("vera", is_staff=True)
    wanted = ["view_memory", "all_namespaces", "view_memory_text"]
    user.user_permissions.add(*Permission.objects.filter(codename__in=wanted))
    client = Client()
    client.force_login(user)
    return client


class TestList:
    def test_hostile_text_is_escaped(self, staff, world):
        shown = page(staff)
        assert "<script>alert(" not in shown
        assert "&lt;script&gt;alert(" in shown

    def test_costs_the_same_number_of_queries_for_more_rows(self, staff, world, django_assert_max_num_queries):
        turns(world.harbour, "day shift", *(f"Container {number} was moved." for number in range(60)))
        with django_assert_max_num_queries(12):
            page(staff)
        with django_assert_max_num_queries(15):
            page(staff, q="container moved", namespace="harbour")

    def test_words_are_found_by_their_stems_and_all_must_be_there(self, staff, world):
        assert listed(staff, q="pilots boarding") == {world.ids[0]}
        assert listed(staff, q="harbour") == {world.ids[0], world.hostile, world.elsewhere}
        assert listed(staff, q="harbour sourdough") == {world.elsewhere}
        assert listed(staff, q="harbour submarine") == set()

    def test_search_stays_inside_the_chosen_namespace(self, staff, world):
        assert listed(staff, q="harbour", namespace="bakery") == {world.elsewhere}
        assert listed(staff, namespace="bak") == {world.elsewhere}
        assert listed(staff, namespace="no such") == set()

    def test_search_by_id_session_and_speaker(self, staff, world):
        assert listed(staff, q=str(world.ids[1])) == {world.ids[1]}
        assert listed(staff, q="session:recipes") == {world.elsewhere}
        assert listed(staff, q="speaker:Ann") == {*world.ids, world.elsewhere}
        assert listed(staff, q="speaker:Bob") == set()

    def test_archived_memories_are_searched_when_filtered_by_that_state(self, staff, world):
        edit.archive(system_access("test"), memory_ids=[world.ids[0]], reason="x", now=NOW)
        assert listed(staff, q="pilot") == set()
        assert listed(staff, q="pilot", state__exact="archived") == {world.ids[0]}

    def test_common_words_alone_are_explained(self, staff, world):
        assert "no word in it to search for" in page(staff, q="the and of")

    def test_many_matches_are_capped_and_said_so(self, staff, world, monkeypatch):
        monkeypatch.setattr(word_search, "CAP", 2)
        assert "More than 2 memories match" in page(staff, q="harbour")

    def test_counts_above_the_cap_are_not_pretended(self, staff, world, monkeypatch):
        monkeypatch.setattr(lists, "COUNT_CAP", 3)
        monkeypatch.setattr(memories.MemoryAdmin, "list_per_page", 2)
        assert "3+ memories" in page(staff, namespace="harbour")

    def test_a_large_table_is_estimated_and_deep_pages_are_refused(self, staff, world, monkeypatch):
        monkeypatch.setattr(lists, "estimate_rows", lambda table: 2_000_000)
        assert "about 2,000,000 memories" in page(staff)
        assert staff.get(LIST, {"p": 201}).headers["Location"].endswith("?e=1")

    def test_a_slow_look_is_stopped_and_explained(self, staff, world, monkeypatch):
        def slow(*arguments, **options):
            return Memory.objects.across_namespaces().extra(where=["pg_sleep(1) IS NOT NULL"]).order_by("-id"), False

        monkeypatch.setattr(lists, "STATEMENT_TIMEOUT", "50ms")
        monkeypatch.setattr(memories.MemoryAdmin, "get_search_results", slow)
        response = staff.get(LIST, {"q": "anything"})
        assert response.headers["Location"] == LIST


class TestBulk:
    def test_a_plain_get_changes_nothing(self, staff, world):
        staff.get(LIST, {"action": "archive_selected", "_selected_action": str(world.ids[0]), "confirmed": "yes"})
        staff.get(change_url(world.ids[0]), {"text": "x", "reason": "y"})
        assert not Memory.objects.across_namespaces().exclude(state=MemoryState.ACTIVE).exists()

    def test_without_permission_there_is_no_action(self, viewer, world):
        confirm(viewer, world.ids, "archive_selected", "junk")
        assert not Memory.objects.across_namespaces().exclude(state=MemoryState.ACTIVE).exists()

    def test_the_first_post_asks_and_escapes(self, staff, world):
        asked = run_action(staff, world.ids, "archive_selected").content.decode()
        assert "4 selected." in asked
        assert "&lt;script&gt;" in asked
        assert "<script>alert(" not in asked
        assert not Memory.objects.across_namespaces().exclude(state=MemoryState.ACTIVE).exists()

    def test_a_reason_is_required(self, staff, world):
        asked = confirm(staff, world.ids, "archive_selected", "  ")
        assert "This field is required" in asked.content.decode()
        assert "4 selected." in asked.content.decode()
        assert not Memory.objects.across_namespaces().exclude(state=MemoryState.ACTIVE).exists()

    def test_a_damaged_selection_changes_nothing(self, staff, world):
        run_action(staff, world.ids[:1], "archive_selected", ids="x,y", reason="junk", confirmed="yes")
        assert not Memory.objects.across_namespaces().exclude(state=MemoryState.ACTIVE).exists()

    def test_archive_and_restore_several_namespaces(self, staff, world):
        chosen = [*world.ids[:2], world.elsewhere]
        done = staff.get(confirm(staff, chosen, "archive_selected", "outdated").headers["Location"]).content.decode()
        assert "3 memories were archived." in done
        assert Memory.objects.across_namespaces().filter(state=MemoryState.ARCHIVED).count() == 3
        events = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_ARCHIVE)
        assert {(event.actor, event.details["reason"]) for event in events} == {("staff:ann", "outdated")}
        confirm(staff, [*chosen, world.ids[3]], "restore_selected", "was right")
        assert not Memory.objects.across_namespaces().exclude(state=MemoryState.ACTIVE).exists()

    def test_all_pages_can_be_selected_up_to_the_limit(self, staff, world, monkeypatch):
        monkeypatch.setattr(memory_actions, "MAX_SELECTED", 3)
        asked = run_action(staff, world.ids[:1], "archive_selected", select_across="1", index="0").content.decode()
        assert "3 selected." in asked
        assert "More were selected than one action takes" in asked


class TestChange:
    def post(self, client: Client, memory_id: uuid.UUID, **changes: str):
        values = {"text": "Crane four works again.", "metadata": "{}", "importance": "0.5", "reason": "repaired"}
        return client.post(change_url(memory_id), {**values, **changes})

    def test_the_page_escapes_and_costs_a_bounded_number_of_queries(self, staff, world, django_assert_max_num_queries):
        # The first visit after a login is recorded in the login's row.
        staff.get("/ops/account/")
        with django_assert_max_num_queries(15):
            shown = staff.get(change_url(world.hostile)).content.decode()
        assert "<script>alert(" not in shown
        assert "&lt;/textarea&gt;" in shown
        assert "{{ 7|add:7 }}" in shown

    def test_a_viewer_may_look_and_not_write(self, viewer, world):
        assert viewer.get(change_url(world.ids[0])).status_code == 200
        assert self.post(viewer, world.ids[1]).status_code == 403
        assert not MemoryVersion.objects.across_namespaces().exists()

    def test_nobody_adds_or_deletes_here(self, staff, world):
        assert staff.get(f"{LIST}add/").status_code == 403
        assert staff.post(f"{LIST}{world.ids[0]}/delete/", {"post": "yes"}).status_code == 403
        assert run_action(staff, world.ids, "delete_selected").status_code in (302, 200)
        assert Memory.objects.across_namespaces().count() == 5

    @pytest.mark.parametrize(
        "changes",
        [{"reason": ""}, {"text": "  "}, {"metadata": "[1]"}, {"metadata": "{"}, {"importance": "2"}],
    )
    def test_refusals_are_shown_and_nothing_is_written(self, staff, world, changes):
        response = self.post(staff, world.ids[1], **changes)
        assert response.status_code == 200
        assert "errornote" in response.content.decode()
        assert not MemoryVersion.objects.across_namespaces().exists()

    def test_an_edit_keeps_the_former_text_and_is_audited(self, staff, world):
        assert self.post(staff, world.ids[1], importance="0.9").status_code == 302
        memory = Memory.objects.across_namespaces().get(pk=world.ids[1])
        assert (memory.text, memory.importance) == ("Crane four works again.", 0.9)
        event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.MEMORY_EDIT)
        assert event.details["changed"] == ["text", "importance"]
        assert event.details["reason"] == "repaired"
        shown = staff.get(change_url(world.ids[1])).content.decode()
        assert "Crane four is out of service." in shown
        assert listed(staff, q="works again") == {world.ids[1]}

    def test_line_breaks_of_the_browser_are_no_change(self, staff, world):
        scope = scope_of("harbour")
        [memory_id] = turns(scope, "lines", "first line\n  second line\n")
        importance = str(Memory.objects.across_namespaces().get(pk=memory_id).importance)
        self.post(staff, memory_id, text="first line\r\n  second line\r\n", importance=importance)
        assert not MemoryVersion.objects.across_namespaces().exists()
        assert Memory.objects.across_namespaces().get(pk=memory_id).text == "first line\n  second line\n"

    def test_hostile_former_text_is_escaped(self, staff, world):
        self.post(staff, world.hostile)
        assert MemoryVersion.objects.across_namespaces().get().text == HOSTILE
        assert "<script>alert(" not in staff.get(change_url(world.hostile)).content.decode()


class TestRetired:
    @pytest.fixture
    def retired(self, world) -> Memory:
        """Return `crane four`, which is no longer valid since the third memory of the world."""
        old, new = world.ids[1], world.ids[2]
        where = {"namespace_id": world.harbour.namespace_id, "memory_id": old, "start": 0, "end": 10}
        said = {"by": new, "by_start": 0, "by_end": 34, "reason": "A newer <b>memory</b> takes it back."}
        times = {"valid_to": NOW, "retired_at": NOW}
        RetiredStatement.objects.create(**where, **said, **times, confidence=0.9)
        Memory.objects.across_namespaces().filter(pk=old).update(retired_spans=[0, 10])
        return Memory.objects.across_namespaces().get(pk=old)

    def test_a_statement_is_struck_out_with_its_reason_and_the_newer_memory(self, staff, world, retired):
        shown = staff.get(change_url(retired.pk)).content.decode()
        assert "<del>Crane four</del> is out of service." in shown
        assert f'href="{change_url(world.ids[2])}">We decided to close the northern g' in shown
        assert "A newer &lt;b&gt;memory&lt;/b&gt; takes it back. (90% sure)" in shown

    def test_who_may_not_read_sees_no_text_of_it(self, world, retired, grant_console):
        clerk = grant_console("harbour", permissions=("memory.view_memory",))
        shown = clerk.get(change_url(retired.pk)).content.decode()
        assert "What holds no longer" in shown
        assert "Crane four" not in shown
        assert "northern" not in shown

    def test_nothing_is_said_where_all_holds(self, staff, world):
        assert "What holds no longer" not in staff.get(change_url(world.ids[0])).content.decode()


def test_a_tag_is_found_in_its_index(world, staff):
    Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(metadata={"tags": ["crane", "dock"], "own": 1})
    Memory.objects.across_namespaces().filter(pk=world.ids[1]).update(metadata={"tags": "crane"})
    with CaptureQueriesContext(connection) as asked:
        found = staff.get(LIST, {"tag": "crane"}).context["cl"].result_list
        assert [row.pk for row in found] == [world.ids[0]]
    statement = next(one["sql"] for one in asked.captured_queries if '"text"' in one["sql"] and "tags" in one["sql"])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "memory_tagged" in plan
