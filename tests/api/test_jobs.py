"""/v1/ops/jobs: which jobs a key can see and change, and what replay and discard refuse."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.enums import JobState
from memory.models import AuditLog, Job
from memory.schedules import SCHEDULES, ensure_schedules
from memory.services.jobs.queue import CONDENSE, EMBED_PENDING, enqueue
from memory.services.jobs.runner import run_schedule
from memory.services.tenancy import tasks
from tests.job_queue import queued_jobs

NOBODY = uuid.UUID("6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11")


@pytest.fixture
def chief(make_tenant):
    """Return a key of all namespaces."""
    return make_tenant("chief", all_namespaces=True)


def failed(tenant=None, **fields) -> str:
    """Return the id of a failed job of the tenant, or of the system."""
    namespace_id = tenant.scope.namespace_id if tenant else 0
    kind, arguments = ("condense_session", [namespace_id, "s1"]) if tenant else ("embed_pending", [])
    job = Job.objects.create(
        namespace_id=namespace_id, kind=kind, arguments=arguments, once=True, state=JobState.FAILED, attempts=5,
        error_type="OSError", error="No space left", finished_at=timezone.now(), **fields,
    )  # fmt: skip
    return str(job.pk)


def bodies(job_id: object) -> tuple[tuple[str, dict[str, str]], ...]:
    """Return the paths that change a job, each with its body."""
    replay, discard = paths(job_id)
    return (replay, {}), (discard, {"reason": "x"})


def paths(job_id: object) -> tuple[str, str]:
    return f"/v1/ops/jobs/{job_id}/replay", f"/v1/ops/jobs/{job_id}/discard"


@pytest.mark.parametrize("path", ["/v1/ops/jobs", f"/v1/ops/jobs/{NOBODY}"])
def test_looking_needs_the_read_scope(make_tenant, olga, path):
    assert olga.get(path).status_code == 401
    assert make_tenant("writer", scopes=("write",)).get(path).status_code == 403


@pytest.mark.parametrize("path", paths(NOBODY))
def test_touching_needs_the_write_scope(make_tenant, olga, path):
    assert olga.post(path, {"reason": "x"}, content_type="application/json").status_code == 401
    assert make_tenant("reader", scopes=("read",)).post(path, {"reason": "x"}).status_code == 403


def test_another_tenants_job_looks_like_none(alice, bob):
    other = failed(bob)

    assert alice.get("/v1/ops/jobs").json() == {"jobs": [], "next_cursor": None}
    assert alice.get("/v1/ops/jobs", namespace="bob").status_code == 404
    for job_id in (other, NOBODY):
        answers = [alice.get(f"/v1/ops/jobs/{job_id}"), *(alice.post(path, body) for path, body in bodies(job_id))]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        assert {answer.json()["error"]["code"] for answer in answers} == {"not_found"}
    assert Job.objects.across_namespaces().get(pk=other).state == "failed"
    assert not queued_jobs().exists()


def test_the_systems_jobs_take_all_namespaces_and_to_touch_them_the_admin_scope(alice, chief, make_tenant):
    job_id = failed()
    clerk = make_tenant("clerk", scopes=("read", "write"), all_namespaces=True)

    assert alice.get(f"/v1/ops/jobs/{job_id}").status_code == 404
    assert clerk.get(f"/v1/ops/jobs/{job_id}").json()["namespace"] is None
    for path, body in bodies(job_id):
        refused = clerk.post(path, body)
        assert refused.status_code == 403
        assert "'admin'" in refused.json()["error"]["message"]
    assert chief.post(paths(job_id)[0], {}).json()["state"] == "queued"
    assert AuditLog.objects.across_namespaces().get(event_type="JOB_REPLAY").namespace_id == 0


@pytest.mark.parametrize(
    "query",
    [{"state": "odd"}, {"cursor": "x"}, {"limit": "0"}, {"limit": "201"}, {"kind": "x" * 65}, {"namespace": "x" * 129}],
)
def test_a_wrong_listing_is_refused(alice, query):
    answer = alice.get("/v1/ops/jobs", **query)

    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["error"]["detail"]] == list(query)


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "  "}, {"reason": 3}, {"reason": "x" * 501}])
def test_a_discard_says_why(alice, body):
    answer = alice.post(paths(failed(alice))[1], body)

    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["error"]["detail"]] == ["reason"]


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("queued", (409, 200)),
        ("running", (409, 409)),
        ("done", (409, 409)),
        ("failed", (200, 200)),
        ("discarded", (200, 409)),
    ],
)
def test_what_can_be_replayed_and_discarded(alice, state, status):
    for place, expected in enumerate(status):
        job_id = failed(alice)
        Job.objects.across_namespaces().filter(pk=job_id).update(state=state)
        path, body = bodies(job_id)[place]
        answer = alice.post(path, body)
        assert answer.status_code == expected
        if expected == 409:
            assert answer.json()["error"]["detail"] == {"state": state}
        Job.objects.across_namespaces().delete()


def test_a_job_shows_what_it_is_about_and_how_it_went(alice):
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    (shown,) = alice.get("/v1/ops/jobs", namespace="alice").json()["jobs"]

    assert {**shown, "id": "", "queued_at": ""} == {
        "id": "", "kind": "condense_session", "namespace": "alice", "schedule": None, "subject": ["s1"],
        "priority": "normal", "state": "queued", "attempts": 0, "progress": None, "error": None, "reason": "",
        "queued_at": "", "started_at": None, "heartbeat_at": None, "finished_at": None,
    }  # fmt: skip
    assert alice.get(f"/v1/ops/jobs/{shown['id']}").json() == shown


def test_a_listing_is_narrowed_and_paged(alice, bob, chief):
    ids = [failed(alice) for _ in range(5)]
    enqueue(CONDENSE, alice.scope.namespace_id, "s1")
    failed(bob)
    enqueue(EMBED_PENDING)

    def pages(**query: str) -> list[list[str]]:
        found, cursor = [], {}
        while True:
            body = chief.get("/v1/ops/jobs", **query, **cursor).json()
            found.append([job["id"] for job in body["jobs"]])
            if body["next_cursor"] is None:
                return found
            cursor = {"cursor": body["next_cursor"]}

    newest = ids[::-1]
    assert pages(namespace="alice", state="failed", limit="2") == [newest[:2], newest[2:4], newest[4:]]
    assert [len(page) for page in pages(limit="5")] == [5, 3]
    assert [len(page) for page in pages(kind="embed_pending")] == [1]
    assert len(alice.get("/v1/ops/jobs").json()["jobs"]) == 6


def test_a_discarded_job_says_why_and_can_be_replayed(alice):
    job_id = failed(alice)
    discarded = alice.post(paths(job_id)[1], {"reason": "the session is gone"}, X_Request_ID="abc-1").json()

    assert (discarded["state"], discarded["reason"]) == ("discarded", "the session is gone")
    event = AuditLog.objects.across_namespaces().get(event_type="JOB_DISCARD")
    assert (event.request_id, event.subject, event.details["kind"]) == ("abc-1", job_id, "condense_session")
    assert alice.post(paths(job_id)[0], {}).json()["state"] == "queued"
    assert alice.get("/v1/ops/audit").json()["events"][0]["event_type"] == "JOB_REPLAY"


class TestSchedules:
    """`schedules` of /v1/ops/pipeline."""

    def test_they_are_the_systems(self, alice, chief):
        ensure_schedules()
        assert alice.get("/v1/ops/pipeline").json()["schedules"] == []
        assert len(chief.get("/v1/ops/pipeline").json()["schedules"]) == len(SCHEDULES)

    def test_each_says_how_its_runs_went(self, chief, monkeypatch):
        ensure_schedules()
        name = "memos: forget idempotency keys"

        def shown() -> dict:
            rows = chief.get("/v1/ops/pipeline").json()["schedules"]
            (row,) = [row for row in rows if row["name"] == "forget idempotency keys"]
            return row

        before = shown()
        assert (before["every_minutes"], before["state"], before["last_run_at"], before["runs"]) == (60, None, None, 0)
        for _ in range(2):
            run_schedule(name, "forget_idempotency_keys")
        after = shown()
        assert (after["state"], after["runs"], after["last_error"], after["late"]) == ("done", 2, None, False)
        assert after["seconds"] >= 0

        def broken(**_):
            raise OSError("away")

        monkeypatch.setattr(tasks, "forget_idempotency_keys", broken)
        for _ in range(2):
            run_schedule(name, "forget_idempotency_keys")
        broke = shown()
        assert (broke["state"], broke["failures_in_a_row"], broke["runs"]) == ("failed", 2, 3)
        assert broke["last_error"] == {"type": "OSError", "message": "away"}
        (job,) = chief.get("/v1/ops/jobs", state="failed").json()["jobs"]
        assert (job["schedule"], job["attempts"]) == (name, 2)
