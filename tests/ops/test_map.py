"""The map: its points, its clusters, and actions on a selection; reach, permissions, masking."""

from __future__ import annotations

import struct
import uuid
from datetime import UTC, datetime

import numpy as np
import pytest
from django.utils import timezone

from memory.models import AuditLog, Job, Memory, ProjectedMemory
from memory.services.projection import fit
from memory.services.projection import read as projected
from ops import picked
from ops.pages import map as pages
from tests.ops.conftest import HOSTILE, scope_of, turns

URL = "/ops/map/"
LIST = "/admin/memory/memory/"


@pytest.fixture
def drawn(world):
    """Draw a map of each namespace in the world."""
    turns(world.harbour, "cargo", *(f"Ship number{one} unloads cargo at the quay." for one in range(30)))
    for scope in (world.harbour, scope_of("bakery")):
        fit.project(scope, now=timezone.now())
    return world


def read(content: bytes) -> tuple[np.ndarray, list[uuid.UUID], dict[str, np.ndarray]]:
    """Return places, ids and small columns, as the script reads them."""
    [count] = struct.unpack("<I", content[:4])
    assert len(content) == 4 + count * (12 + 4 + 2 + 5 + 16)
    places = np.frombuffer(content, "<f4", 3 * count, 4).reshape(3, count).T
    at = 4 + 18 * count
    names = ("kind", "state", "importance", "session", "cluster")
    columns = {name: np.frombuffer(content, "u1", count, at + place * count) for place, name in enumerate(names)}
    at += 5 * count
    return places, [uuid.UUID(bytes=content[at + 16 * n : at + 16 * n + 16]) for n in range(count)], columns


def test_the_points_are_those_of_the_map_and_have_no_text(staff, drawn):
    response = staff.get(f"{URL}points/", {"ns": "harbour"})
    places, ids, columns = read(response.content)
    rows = {row.memory_id: row for row in ProjectedMemory.objects.in_scope(drawn.harbour)}
    assert set(ids) == set(rows) == set(Memory.objects.in_scope(drawn.harbour).values_list("pk", flat=True))
    for place, memory_id, cluster in zip(places, ids, columns["cluster"], strict=True):
        assert place == pytest.approx((rows[memory_id].x, rows[memory_id].y, rows[memory_id].z), abs=1e-6)
        assert cluster == rows[memory_id].cluster
    assert b"harbour" not in response.content
    assert response.headers["Cache-Control"] == "no-store"


def test_the_sessions_that_points_number_are_known_without_them(drawn):
    turns(drawn.harbour, "fog", *(f"Fog horn number{one} sounds." for one in range(4)))
    fit.project(drawn.harbour, now=timezone.now())
    found = projected.points(drawn.harbour).sessions
    assert projected.sessions(drawn.harbour) == found
    assert [name for name, _ in found] == ["cargo", "fog", "night shift"]


def test_every_cluster_opens_so_many_memories(staff, drawn):
    found = pages.build_map(drawn.harbour, readable=True)
    assert sum(one.size for one in found.clumps) == found.chart.shown == 34
    page = staff.get(URL, {"ns": "harbour"}).content.decode()
    for one in found.clumps:
        assert one.link.replace("&", "&amp;") in page
        assert staff.get(one.link).context["cl"].result_count == one.size


def test_a_sample_says_so(staff, drawn, monkeypatch):
    monkeypatch.setattr(fit, "SHOWN", 10)
    fit.project(drawn.harbour, now=timezone.now())
    assert "10 of 34 memories, stratified by session and month." in staff.get(URL, {"ns": "harbour"}).content.decode()


def test_without_a_map_one_can_be_asked_for(staff, world):
    assert "No map of this namespace yet" in staff.get(URL, {"ns": "harbour"}).content.decode()
    assert not Job.objects.across_namespaces().filter(kind="project_memories").exists()
    staff.post(f"{URL}draw/", {"namespace": "harbour"})
    job = Job.objects.across_namespaces().get(kind="project_memories")
    assert job.namespace_id == world.harbour.namespace_id
    assert "It waits for a worker." in staff.get(URL, {"ns": "harbour"}).content.decode()
    going_on = staff.get(f"{URL}making/", {"ns": "harbour"})
    assert "HX-Refresh" not in going_on.headers
    job.state, job.error_type, job.error = "failed", "ValueError", "broken"
    job.save()
    assert staff.get(f"{URL}making/", {"ns": "harbour"}).headers["HX-Refresh"] == "true"
    assert "ValueError: broken" in staff.get(URL, {"ns": "harbour"}).content.decode()


class TestSelection:
    def test_a_few_go_in_the_address_and_many_are_kept(self, staff, drawn, monkeypatch):
        ids = list(Memory.objects.in_scope(drawn.harbour).values_list("pk", flat=True))
        few = staff.post(f"{URL}select/", {"ids": ",".join(one.hex for one in ids[:3])})
        assert "pk__in=" in few["Location"]
        assert staff.get(few["Location"]).context["cl"].result_count == 3
        monkeypatch.setattr(picked, "MAX_IN_ADDRESS", 5)
        many = staff.post(f"{URL}select/", {"ids": ",".join(one.hex for one in ids)})
        assert "picked=selection" in many["Location"]
        assert len(many["Location"]) < 200
        assert staff.get(many["Location"]).context["cl"].result_count == len(ids)

    def test_the_longest_address_fits_a_request_line(self, staff, drawn):
        ids = [uuid.uuid4() for _ in range(picked.MAX_IN_ADDRESS)]
        assert len(picked.link_of_ids(staff.session, ids)) < 4000

    def test_someone_elses_selection_is_not_theirs(self, staff, drawn, grant_console, monkeypatch):
        monkeypatch.setattr(picked, "MAX_IN_ADDRESS", 0)
        link = staff.post(f"{URL}select/", {"ids": drawn.ids[0].hex})["Location"]
        other = grant_console("harbour", permissions=("memory.view_memory",))
        assert other.get(link).context["cl"].result_count == 0

    def test_what_is_out_of_reach_is_not_listed(self, drawn, grant_console, monkeypatch):
        monkeypatch.setattr(picked, "MAX_IN_ADDRESS", 0)
        client = grant_console("harbour", permissions=("memory.view_memory",))
        ids = f"{drawn.elsewhere.hex},{drawn.ids[0].hex}"
        link = client.post(f"{URL}select/", {"ids": ids})["Location"]
        assert {row.pk for row in client.get(link).context["cl"].result_list} == {drawn.ids[0]}

    def test_archiving_says_why_and_stays_within_reach(self, drawn, grant_console):
        curator = grant_console("harbour", permissions=("memory.change_memory",))
        ids = f"{drawn.ids[1].hex},{drawn.elsewhere.hex}"
        curator.post(f"{URL}archive/", {"ids": ids, "reason": "old crane"})
        assert Memory.objects.across_namespaces().get(pk=drawn.ids[1]).state == "archived"
        assert Memory.objects.across_namespaces().get(pk=drawn.elsewhere).state == "active"
        event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_ARCHIVE")
        assert event.details["reason"] == "old crane"
        assert curator.post(f"{URL}archive/", {"ids": "x,y", "reason": "r"}).status_code == 404
        clerk = grant_console("harbour")
        assert clerk.post(f"{URL}archive/", {"ids": ids, "reason": "r"}).status_code == 403


class TestOneMemory:
    def test_it_stands_with_its_real_neighbours(self, staff, drawn):
        page = staff.get(f"{URL}memory/{drawn.hostile}/", {"ns": "harbour"}, headers={"HX-Request": "true"})
        text = page.content.decode()
        assert "&lt;script&gt;" in text
        assert HOSTILE not in text
        assert text.count("data-near=") == pages.NEIGHBOURS
        assert drawn.elsewhere.hex not in text
        event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_VIEW")
        assert (event.subject, event.actor) == (str(drawn.hostile), "staff:ann")

    def test_masked_for_who_may_not_read(self, drawn, grant_console):
        clerk = grant_console("harbour")
        page = clerk.get(f"{URL}memory/{drawn.ids[0]}/", {"ns": "harbour"}).content.decode()
        assert "•••" in page
        assert "pilot" not in page
        assert not AuditLog.objects.across_namespaces().filter(event_type="MEMORY_VIEW").exists()
        whole = clerk.get(URL, {"ns": "harbour"}).content.decode()
        assert "Cluster 1" in whole
        assert "number" not in {
            word for one in pages.build_map(drawn.harbour, readable=False).clumps for word in [one.name]
        }
        assert "cargo</th>" not in whole

    def test_another_tenants_is_not_there(self, drawn, grant_console):
        client = grant_console("harbour")
        assert client.get(f"{URL}memory/{drawn.elsewhere}/").status_code == 404


def test_words_are_found_by_post_and_with_the_permission(staff, drawn, grant_console):
    found = staff.post(f"{URL}find/", {"namespace": "harbour", "words": "crane"}).json()
    assert found == {"ids": [drawn.ids[1].hex]}
    assert staff.get(f"{URL}find/").status_code == 405
    clerk = grant_console("harbour")
    assert clerk.post(f"{URL}find/", {"namespace": "harbour", "words": "crane"}).status_code == 403
    reader = grant_console("bakery", permissions=("ops.view_memory_text",))
    assert reader.post(f"{URL}find/", {"namespace": "harbour", "words": "crane"}).status_code == 404


@pytest.mark.parametrize("path", ["", "points/", "making/"])
def test_other_namespaces_are_out_of_reach(drawn, grant_console, path):
    client = grant_console("bakery")
    assert client.get(f"{URL}{path}", {"ns": "harbour"}).status_code == 404
    assert client.get(f"{URL}{path}", {"ns": "nowhere"}).status_code == 404
    assert client.get(f"{URL}{path}").status_code == 200


def test_drawing_takes_the_permission(drawn, grant_console):
    assert grant_console("harbour").post(f"{URL}draw/", {"namespace": "harbour"}).status_code == 403
    operator = grant_console("harbour", permissions=("ops.operate_jobs",))
    assert operator.post(f"{URL}draw/", {"namespace": "bakery"}).status_code == 404


def test_looking_changes_nothing(staff, drawn):
    before = (
        Job.objects.across_namespaces().count(),
        AuditLog.objects.across_namespaces().count(),
        ProjectedMemory.objects.across_namespaces().count(),
    )
    for path in ("", "points/", "making/"):
        staff.get(f"{URL}{path}", {"ns": "harbour"})
    assert (
        Job.objects.across_namespaces().count(),
        AuditLog.objects.across_namespaces().count(),
        ProjectedMemory.objects.across_namespaces().count(),
    ) == before


def test_the_page_costs_the_same_with_more_points(staff, drawn, django_assert_max_num_queries):
    turns(drawn.harbour, "more", *(f"Container number{one} stands on the quay." for one in range(100)))
    fit.project(drawn.harbour, now=datetime.now(UTC))
    assert len(projected.points(drawn.harbour).places) == 134
    with django_assert_max_num_queries(20):
        staff.get(URL, {"ns": "harbour"})
    with django_assert_max_num_queries(6):
        staff.get(f"{URL}points/", {"ns": "harbour"})
