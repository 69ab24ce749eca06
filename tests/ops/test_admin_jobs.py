"""Background jobs in the admin: staff can view them, and never edit them."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from django_q.models import Schedule

from memory.models import Job


@pytest.fixture
def boss(db: None) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("boss", password="x"))
    return client


@pytest.mark.parametrize("model", ["schedule", "ormq", "failure"])
def test_jobs_are_listed_and_cannot_be_added(boss, model):
    assert boss.get(f"/admin/django_q/{model}/").status_code == 200
    assert boss.get(f"/admin/django_q/{model}/add/").status_code == 403


def test_no_page_lists_successes_that_django_q_never_saves(boss, settings):
    assert settings.Q_CLUSTER["save_limit"] < 0
    assert boss.get("/admin/django_q/success/").status_code == 404


def test_a_schedule_that_runs_anything_cannot_be_posted(boss):
    body = {"func": "os.system", "args": "'id'", "schedule_type": "O", "repeats": 1, "next_run": timezone.now()}

    assert boss.post("/admin/django_q/schedule/add/", body).status_code == 403
    assert not Schedule.objects.filter(func="os.system").exists()


def test_a_job_shows_what_it_is_about_and_cannot_be_written_by_hand(boss):
    job = Job.objects.create(kind="condense_session", arguments=[7, "s1"], state="failed", error_type="OSError")

    listed = boss.get("/admin/memory/job/?state__exact=failed").content.decode()
    assert "7 s1" in listed
    assert "OSError" in listed
    assert boss.get(f"/admin/memory/job/{job.pk}/change/").status_code == 200
    for path in ("add/", f"{job.pk}/delete/"):
        assert boss.get(f"/admin/memory/job/{path}").status_code == 403


def test_a_nul_in_a_query_string_is_refused(boss):
    assert boss.get("/admin/memory/memory/?state__exact=%00").status_code == 400
