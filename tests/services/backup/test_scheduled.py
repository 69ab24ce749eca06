"""Scheduled backups: requested when due, made by the worker's job, and reported if they fail or are late."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memory.enums import JobState
from memory.errors import BackupError
from memory.models import AuditLog, Job, UpkeepMark
from memory.services.backup import create, scheduled
from memory.services.diagnosis import storage
from memory.services.index.embedding_model import active_model
from memory.services.jobs import manage
from memory.services.monitoring import health, stats
from memory.types import system_access
from ops.pages import overview
from tests.job_queue import queued_jobs, run_job, run_task


@pytest.fixture
def folder(db: None, settings: Any, tmp_path: Path) -> Path:
    settings.MEMOS_BACKUP_DIR = str(tmp_path)
    settings.MEMOS_ERASURE_LEDGER = str(tmp_path / "erasures.ledger")
    settings.MEMOS_BACKUP_KEY = ""
    settings.MEMOS_BACKUP_VERIFY = False
    return tmp_path


def last(*, hours: float) -> None:
    at = timezone.now() - timedelta(hours=hours)
    UpkeepMark.objects.update_or_create(name=scheduled.MARK, defaults={"trusted_at": at})


def run() -> Job:
    """Carry out the waiting job, as a worker does."""
    job = Job.objects.across_namespaces().get(kind="back_up", state=JobState.QUEUED)
    run_job(job)
    job.refresh_from_db()
    return job


def concerns() -> list[tuple[str, str]]:
    return [(one.tone, one.what) for one in overview._of_health(health.report().checks) if "ackup" in one.what]


def test_without_a_folder_none_is_asked_for(db, settings):
    settings.MEMOS_BACKUP_DIR = ""
    assert run_task("request_backup") is False
    assert not Job.objects.across_namespaces().exists()
    assert "backup" not in health.report().checks
    assert storage.backups(now=timezone.now()).status == "ok"


def test_one_is_asked_for_when_it_is_due_and_not_twice(folder, settings):
    assert run_task("request_backup") is True
    assert run_task("request_backup") is False
    job = Job.objects.across_namespaces().get(kind="back_up")
    assert job.seconds == settings.MEMOS_BACKUP_TIMEOUT_SECONDS
    queued_jobs().delete()
    Job.objects.across_namespaces().delete()
    last(hours=23)
    assert run_task("request_backup") is False
    last(hours=25)
    assert run_task("request_backup") is True


@pytest.mark.django_db(transaction=True)
def test_the_job_makes_it_and_leaves_as_many_as_it_should(folder, settings):
    settings.MEMOS_BACKUP_KEEP = 1
    for days in (9, 5):
        create.make(folder, key="", verified=False, actor="tests", now=timezone.now() - timedelta(days=days))
    assert run_task("request_backup") is True
    job = run()
    assert job.state == JobState.DONE, job.error
    [(made_at, path)] = create.backups_in(folder)
    assert timezone.now() - made_at < timedelta(minutes=5)
    assert AuditLog.objects.across_namespaces().get(event_type="BACKUP", subject=path.name).actor == "worker"
    assert scheduled.state(now=timezone.now()).overdue is False
    assert run_task("request_backup") is False


def test_a_failure_is_told_until_one_is_made(folder, settings, monkeypatch):
    active_model()
    monkeypatch.setattr(stats, "worker_heartbeat", lambda: stats.ALIVE)
    settings.MEMOS_JOB_ATTEMPTS = 1
    last(hours=25)
    run_task("request_backup")
    with monkeypatch.context() as patch:
        patch.setattr(scheduled, "make", _fail)
        assert run().state == JobState.FAILED
    report = health.report()
    assert (report.status, report.checks["backup"]) == ("degraded", "the last one failed: manage.py doctor says why")
    [(tone, what)] = concerns()
    assert tone == "bad"
    assert "failed" in what
    found = storage.backups(now=timezone.now())
    assert found.status == "fail"
    assert "No space left" in found.what
    # It is requested again, but not at once.
    assert run_task("request_backup") is False
    Job.objects.across_namespaces().update(queued_at=timezone.now() - timedelta(hours=2))
    assert run_task("request_backup") is True
    last(hours=-0.01)
    assert health.report().checks["backup"] == "ok"
    assert concerns() == []


def test_one_that_was_discarded_is_no_failure(folder, settings, monkeypatch):
    settings.MEMOS_JOB_ATTEMPTS = 1
    run_task("request_backup")
    with monkeypatch.context() as patch:
        patch.setattr(scheduled, "make", _fail)
        job = run()
    manage.discard(system_access("tests"), job_id=job.pk, reason="seen to", now=timezone.now())
    assert scheduled.state(now=timezone.now()).failed == ""


def test_a_late_one_is_told(folder, monkeypatch):
    monkeypatch.setattr(stats, "worker_heartbeat", lambda: stats.ALIVE)
    last(hours=30)
    assert scheduled.state(now=timezone.now()).overdue is False
    last(hours=32)
    assert health.report().checks["backup"].startswith("overdue")
    [(tone, what)] = concerns()
    assert tone == "weak"
    assert "overdue" in what
    assert health.gauges()["memos_backup_up"][1] == 0.0
    assert storage.backups(now=timezone.now()).status == "fail"


def _fail(*_: Any, **__: Any) -> None:
    raise BackupError("The folder cannot be written: No space left on device.")
