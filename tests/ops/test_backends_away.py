"""Every page of the console while PostgreSQL or Redis is away: what is missing is said, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.urls import reverse
from django.utils import timezone

from memory.models import AuditLog, Entity, Job
from memory.services import judgements, probing, projection
from memory.services.entities import index_pending
from memory.stores import redis as redis_store
from ops import urls
from ops.views import pipeline
from tests.ops.conftest import NOW, World
from tests.ops.tables import row_counts
from tests.ops.test_evaluation_page import measured

ADMIN = ("/admin/", "/admin/memory/memory/", "/admin/memory/quarantineditem/review/", "/admin/memory/apikey/")
SESSION = {"ns": "harbour", "session": "night shift"}
PARAMETERS = {
    "pipeline_rows": {"stage": "linked"},
    "pipeline_condensations": SESSION,
    "session": SESSION,
    "session_reset": SESSION,
}
IN_NAMESPACE = {"entities", "entity", "entity_candidates", "decay", "decay_figures", "decay_what_if", "map",
                "map_points", "map_making", "map_memory", "policies", "overview", "radar", "inspector",
                "namespaces"}  # fmt: skip


def addresses(world: World) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every address of the console by its name, pages and deeds alike, with the parameters that it needs."""
    index_pending(now=NOW)
    judgements.judge(
        world.harbour, query_text="Who boards?", marks=[judgements.Mark(world.ids[0], True)], now=NOW
    )  # fmt: skip
    run = measured(world.harbour)
    job = Job.objects.create(kind="embed_pending", state="failed", error_type="Refused", error="no", finished_at=NOW)
    event = AuditLog.objects.filter(namespace_id=world.harbour.namespace_id).latest("pk")
    of_one = {"pipeline_job": {"id": job.pk}, "audit_event": {"id": event.pk}, "audit_new": {"than": event.pk}}
    projection.project(world.harbour, now=NOW)
    named = {
        "entity_id": Entity.objects.get(name="Tove").id,
        "run_id": run.pk,
        "pack_id": world.pack.pk,
        "memory_id": world.ids[0],
        "name": "harbour",
        "probe_id": probing.keep(world.harbour, text="pilot", settings=[probing.Setting()], now=timezone.now()).id,
    }
    found = {}
    for pattern in urls.urlpatterns:
        wanted = {name: named[name] for name in pattern.pattern.converters}
        query = {"ns": "harbour"} if pattern.name in IN_NAMESPACE else {}
        query |= PARAMETERS.get(pattern.name, {})
        query |= of_one.get(pattern.name, {})
        if pattern.name == "evaluation_compare":
            query = {"base": str(run.pk), "run": str(run.pk)}
        found[pattern.name] = reverse(f"ops:{pattern.name}", kwargs=wanted), query
    return found


@pytest.fixture
def postgres_away(transactional_db) -> Iterator[object]:
    """Calling it takes PostgreSQL away until the test ends: connections lead to a port where nobody listens."""
    there = dict(connections.settings["default"])

    def take() -> None:
        connections.settings["default"].update(HOST="127.0.0.1", PORT="1")
        connection.close()

    yield take
    connections.settings["default"].update(HOST=there["HOST"], PORT=there["PORT"])
    connection.close()


@pytest.fixture
def redis_away(settings) -> Iterator[object]:
    """The same for Redis."""

    def take() -> None:
        here = settings.CACHES["default"]
        settings.CACHES = {"default": {**here, "LOCATION": "redis://127.0.0.1:1/0"}}
        pipeline.forget_kept()

    yield take
    redis_store.resume()


def test_every_page_says_that_the_database_is_away(postgres_away, world, staff):
    every = addresses(world)
    staff.raise_request_exception = False
    postgres_away()
    for path, query in [*every.values(), *((path, {}) for path in ADMIN)]:
        answer = staff.get(path, query)
        page = answer.content.decode()
        if answer.status_code == 405:
            continue
        assert answer.status_code == 503, path
        assert "The database does not answer" in page, path
        assert "manage.py doctor" in page, path
        assert answer.headers["X-Request-ID"] in page, path
        assert 'class="side' not in page, path
        assert " style=" not in page, path


def test_a_deed_while_the_database_is_away_says_to_look_before_it_is_done_again(postgres_away, world, staff):
    staff.raise_request_exception = False
    postgres_away()
    page = staff.post("/ops/pipeline/jobs/operate/", {"next": "/ops/"})
    assert page.status_code == 503
    assert "Look whether what you did was stored" in page.content.decode()
    assert "Try again</a>" not in page.content.decode()


# Where Redis is needed, and what the page says instead of what it would show.
SAYS = {
    "overview": "Redis does not answer",
    "overview_live": "Redis does not answer",
    "session": "Redis does not answer: queries go without the session window.",
    "session_reset": "Redis does not answer, so the session cannot be reset now.",
    "audit_requests": "Redis",
    "radar_probe": "Redis, which keeps the question, does not answer.",
    "inspector_try": "Redis, which keeps the question, does not answer.",
}
REFUSED = {"session_reset", "radar_probe", "inspector_try"}


def test_every_page_works_without_redis_and_says_what_is_missing(redis_away, world, staff):
    every = addresses(world)
    redis_away()
    for name, (path, query) in every.items():
        answer = staff.get(path, query, follow=True)
        if answer.status_code == 405:
            continue
        assert answer.status_code == (503 if name in REFUSED else 200), path
        if name in SAYS:
            assert SAYS[name] in answer.content.decode(), path
    for path in ADMIN:
        assert staff.get(path).status_code == 200, path


def test_no_address_of_the_console_changes_anything_by_get(world, staff):
    every = addresses(world)
    for path, query in every.values():
        before = row_counts()
        status = staff.get(path, query).status_code
        assert status < 500, path
        changed = {table: rows for table, rows in row_counts().items() if rows != before[table]}
        # That someone looked is written down.
        assert set(changed) <= {"memory_auditlog"}, path
