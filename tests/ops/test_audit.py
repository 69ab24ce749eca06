from __future__ import annotations

import csv
import io
import json
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from memory import audit
from memory.errors import RedisAway
from memory.models import AuditLog
from memory.services.monitoring import request_log, request_stats
from memory.types import system_access
from ops.pages import audit as page_of_audit
from tests.ops.conftest import HOSTILE, scope_of

URL = "/ops/audit/"


@pytest.fixture
def events(world):
    """Write three events of two requests in `harbour` now, one of another namespace, and one of no namespace."""
    now = timezone.now()
    first = replace(world.harbour, request_id="req-1", actor="key:dock")
    details = {
        "before": {"importance": 0.5, "speaker": "Ann"},
        "after": {"importance": 0.9, "speaker": "Ann"},
        "reason": HOSTILE,
    }
    audit.record(first, "MEMORY_EDIT", session="night shift", subject=str(world.ids[0]), details=details, now=now)
    audit.record(first, "MEMORY_PIN", subject=str(world.ids[1]), now=now)
    audit.record(replace(first, request_id="req-2"), "MEMORY_ARCHIVE", now=now - timedelta(hours=3))
    audit.record(scope_of("bakery"), "MEMORY_ARCHIVE", now=now)
    audit.record_system("command:keys", "KEY_ISSUE", subject="7", details={"name": "=HYPERLINK(1)"}, now=now)
    return now


def listed(client, **query):
    response = client.get(URL, query)
    assert response.status_code == 200
    return [row.event for group in response.context["groups"] for row in group.rows]


def test_events_are_those_of_the_namespaces_reached(events, staff, grant_console):
    assert len(listed(staff, window="all")) == AuditLog.objects.across_namespaces().count()
    baker = grant_console("bakery")
    seen = listed(baker, window="all")
    assert {event.namespace for event in seen} == {"bakery"}
    assert len(seen) == AuditLog.objects.across_namespaces().filter(namespace="bakery").count()
    assert baker.get(URL, {"ns": "harbour"}).status_code == 404
    [of_none] = AuditLog.objects.across_namespaces().filter(event_type="KEY_ISSUE", subject="7")
    assert baker.get(f"{URL}event/", {"id": of_none.pk}).status_code == 404
    assert staff.get(f"{URL}event/", {"id": of_none.pk}).status_code == 200
    assert "Newest seal" not in baker.get(URL).content.decode()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({"event": "MEMORY_ARCHIVE"}, {"event_type": "MEMORY_ARCHIVE"}),
        ({"actor": "key:dock"}, {"actor": "key:dock"}),
        ({"request": "req-1"}, {"request_id": "req-1"}),
        ({"session": "night shift"}, {"session": "night shift"}),
        ({"ns": "bakery"}, {"namespace": "bakery"}),
        ({"subject": "7"}, {"subject": "7"}),
    ],
)
def test_filters_narrow_the_list_and_its_count(events, staff, query, rows):
    wanted = AuditLog.objects.across_namespaces().filter(**rows)
    response = staff.get(URL, {**query, "window": "all"})
    assert response.context["count"] == wanted.count() > 0
    assert {event.pk for event in listed(staff, **query, window="all")} == set(wanted.values_list("pk", flat=True))


def test_a_window_and_moments_narrow_by_time(events, staff):
    assert "MEMORY_PIN" in {event.event_type for event in listed(staff, window="1h")}
    assert not [event for event in listed(staff, window="1h") if event.request_id == "req-2"]
    between = {"from": (events - timedelta(hours=4)).isoformat(), "to": (events - timedelta(hours=2)).isoformat()}
    assert [event.request_id for event in listed(staff, window="all", **between)] == ["req-2"]
    assert staff.get(URL, {"from": "yesterday"}).status_code == 404


def test_the_picture_leads_to_as_many_events_as_it_shows(events, staff):
    picture = staff.get(URL, {"window": "24h"}).context["picture"]
    linked = [column for column in picture.columns if column.link]
    assert sum(int(column.shown) for column in linked) == staff.get(URL, {"window": "24h"}).context["count"]
    for column in linked:
        assert staff.get(URL + column.link).context["count"] == int(column.shown)


def test_events_of_a_request_stand_together(events, staff):
    groups = staff.get(URL, {"window": "1h", "group": "request"}).context["groups"]
    [together] = [group for group in groups if group.request_id == "req-1"]
    assert {row.event.event_type for row in together.rows} == {"MEMORY_EDIT", "MEMORY_PIN"}


def test_the_list_goes_on_where_it_ended(events, staff, monkeypatch):
    monkeypatch.setattr(page_of_audit, "PAGE", 4)
    seen, cursor = [], ""
    while True:
        response = staff.get(URL, {"window": "all", "cursor": cursor})
        seen += [row.event.pk for group in response.context["groups"] for row in group.rows]
        cursor = response.context["older"]
        if not cursor:
            break
    assert seen == list(AuditLog.objects.across_namespaces().order_by("-pk").values_list("pk", flat=True))
    assert staff.get(URL, {"cursor": "nonsense"}).status_code == 404


def test_an_event_closely_compares_before_and_after(events, staff):
    event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_EDIT")
    page = staff.get(f"{URL}event/", {"id": event.pk}, headers={"HX-Request": "true"}).content.decode()
    assert page.count('<tr class="changed">') == 1
    assert "<html" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert staff.get(f"{URL}event/", {"id": uuid.uuid4()}).status_code == 404
    assert staff.get(f"{URL}event/").status_code == 404


def test_new_events_are_a_button_and_push_nothing(events, staff):
    newest = listed(staff, window="all")[0]
    url = f"{URL}new/"
    query = {"than": newest.pk, "window": "all"}
    assert "new" not in staff.get(url, query).content.decode()
    audit.record_system("command:keys", "KEY_REVOKE", details={}, now=timezone.now())
    answer = staff.get(url, query)
    assert "1 new" in answer.content.decode()
    assert staff.get(url, {**query, "v": answer.headers["X-Fragment-Version"]}).status_code == 204


def test_a_file_holds_what_the_list_shows_and_is_an_event(events, staff):
    before = AuditLog.objects.across_namespaces().count()
    response = staff.post(f"{URL}export/", {"form": "csv", "query": "window=all"})
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))
    assert len(rows) == before
    event = AuditLog.objects.across_namespaces().get(event_type="AUDIT_EXPORT")
    assert event.actor == "staff:ann"
    assert event.details["events"] == before
    assert page_of_audit.escape_formula("=HYPERLINK(1)") == "'=HYPERLINK(1)"
    response = staff.post(f"{URL}export/", {"form": "jsonl", "query": "window=all&ns=bakery"})
    lines = [json.loads(line) for line in b"".join(response.streaming_content).decode().splitlines()]
    assert {line["namespace"] for line in lines} == {"bakery"}
    assert AuditLog.objects.across_namespaces().filter(event_type="AUDIT_EXPORT", namespace="bakery").count() == 1


def test_formulas_are_escaped_in_the_file(events, staff, world):
    audit.record(replace(world.harbour, actor="=cmd"), "MEMORY_PIN", session="+1", now=timezone.now())
    response = staff.post(f"{URL}export/", {"form": "csv", "query": "window=1h&actor=%3Dcmd"})
    [row] = csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig")))
    assert (row["actor"], row["session"]) == ("'=cmd", "'+1")


def test_files_need_a_permission_and_stay_in_reach(events, staff, grant_console):
    assert grant_console("harbour").post(f"{URL}export/", {"form": "csv"}).status_code == 403
    assert staff.get(f"{URL}export/").status_code == 405
    clerk = grant_console("bakery", permissions=("ops.export",))
    response = clerk.post(f"{URL}export/", {"form": "jsonl", "query": "window=all"})
    lines = b"".join(response.streaming_content).decode().splitlines()
    assert {json.loads(line)["namespace"] for line in lines} == {"bakery"}
    assert clerk.post(f"{URL}export/", {"form": "csv", "query": "ns=harbour"}).status_code == 404


@pytest.mark.parametrize("count", [10, 500])
def test_the_list_costs_as_many_queries_for_many_events(world, staff, django_assert_max_num_queries, count):
    entry = audit.fields(world.harbour, "MEMORY_PIN", now=timezone.now())
    audit.record_many([entry] * count)
    with django_assert_max_num_queries(11):
        staff.get(URL, {"window": "all"})


@pytest.fixture
def requests_listed(world, monkeypatch):
    """Fake the API's newest requests."""
    now = timezone.now()

    def one(number, status, namespace_id, key="Dock agent"):
        return request_stats.RecentRequest(
            f"{number}-0", now, "POST", "v1/query", status, 12.5, namespace_id, key, f"r{number}"
        )

    rows = [one(4, 401, 0, HOSTILE), one(3, 500, world.harbour.namespace_id), one(2, 200, world.harbour.namespace_id)]

    def recent(access, *, limit, before="", wanted=lambda one: True):
        reached = [row for row in rows if access.all_namespaces or row.namespace_id in access.namespace_ids]
        return [row for row in reached if wanted(row)][:limit]

    monkeypatch.setattr(page_of_audit.request_stats, "recent", recent)


def test_requests_are_listed_by_what_became_of_them(requests_listed, staff, grant_console):
    page = staff.get(f"{URL}requests/").content.decode()
    assert page.count('<tr><td data-label="When"') == 3
    assert "<script>alert" not in page
    assert "request=r3" in page
    assert staff.get(f"{URL}requests/", {"kept": "failed"}).content.decode().count('<tr><td data-label="When"') == 1
    assert "No requests are listed" in staff.get(f"{URL}requests/", {"route": "ingest"}).content.decode()
    assert grant_console("bakery").get(f"{URL}requests/").context["rows"] == []
    assert staff.get(f"{URL}requests/", {"cursor": "nonsense"}).status_code == 404


def test_requests_without_redis_are_said_to_be_away(staff, monkeypatch):
    def away(*_, **__):
        raise RedisAway("away")

    monkeypatch.setattr(page_of_audit.request_stats, "recent", away)
    assert "Redis does not answer" in staff.get(f"{URL}requests/").content.decode()


def test_requests_are_filtered_where_they_are_read(db, settings, monkeypatch):
    settings.MEMOS_REQUEST_LOG = 100
    monkeypatch.setattr(request_log, "_buffer", request_log._Buffer(pid=request_log.os.getpid()))
    for status in (200, 500):
        request_log.record(
            method="GET", route="v1/health", status=status, milliseconds=1, request_id=f"filtered-{status}"
        )
    request_log.flush()
    found = request_stats.recent(system_access("test"), limit=5, wanted=lambda one: one.status == 500)
    assert found[0].request_id == "filtered-500"
    assert {one.status for one in found} == {500}
