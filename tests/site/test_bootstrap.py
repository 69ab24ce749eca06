"""The first start creates everything, and no later start creates it again."""

from __future__ import annotations

from ast import literal_eval
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django_q.models import Schedule

from memory.models import ApiKey, EmbeddingModel, Memory, Namespace
from memory.schedules import SCHEDULES, ensure_schedules
from memos_site import bootstrap as module
from memos_site.bootstrap import bootstrap
from memos_site.first_start import FirstStart
from memos_site.migrated import is_migrated

pytestmark = pytest.mark.django_db
NOTHING = FirstStart(None, None, None, 0)


def test_the_first_start_makes_login_key_model_schedules_and_demo():
    made = bootstrap(demo=True)

    user = get_user_model().objects.get()
    assert (made.admin_user, user.is_superuser, user.is_staff) == ("admin", True, True)
    assert user.check_password(made.admin_password)
    assert len(made.admin_password) >= 16
    assert made.demo_memories == Memory.objects.filter(namespace__name="demo").count() > 0
    assert EmbeddingModel.objects.get().state == "active"
    assert Schedule.objects.count() == len(SCHEDULES)
    answer = Client(headers={"Authorization": f"Bearer {made.api_key}"}).get("/v1/ops/stats")
    assert answer.json()["total_memories"] == made.demo_memories


def test_a_second_start_makes_nothing():
    bootstrap(demo=True)
    before = [model._base_manager.count() for model in (ApiKey, EmbeddingModel, Memory, Namespace, Schedule)]
    assert bootstrap(demo=True) == NOTHING
    assert [model._base_manager.count() for model in (ApiKey, EmbeddingModel, Memory, Namespace, Schedule)] == before
    assert get_user_model().objects.count() == 1


def test_a_password_that_is_set_is_used_and_not_shown(settings):
    settings.MEMOS_ADMIN_USER = "ann"
    settings.MEMOS_ADMIN_PASSWORD = "chosen-by-ann"
    made = bootstrap(demo=False)
    assert (made.admin_user, made.admin_password) == ("ann", None)
    assert get_user_model().objects.get(username="ann").check_password("chosen-by-ann")


def test_a_server_that_holds_something_gets_no_demo(alice):
    made = bootstrap(demo=True)
    assert made.demo_memories == 0
    # The server has a key already, but no login.
    assert (made.api_key, made.admin_user) == (None, "admin")


def test_without_an_embedding_model_it_starts_and_warns(settings, caplog):
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    settings.MEMOS_EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"
    settings.MEMOS_EMBEDDING_TIMEOUT_SECONDS = 0.5
    assert bootstrap(demo=False).api_key
    assert "no embedding model yet" in caplog.text
    assert not EmbeddingModel.objects.exists()


def test_what_cannot_be_shown_again_is_made_last(monkeypatch):
    def fails(*_: object, **__: object) -> int:
        raise RuntimeError("no demo")

    monkeypatch.setattr(module, "seed_demo_namespace", fails)
    with pytest.raises(RuntimeError):
        bootstrap(demo=True)
    assert not ApiKey.objects.exists()
    assert not get_user_model().objects.exists()


def test_the_tables_are_those_of_this_version():
    assert is_migrated()


def test_the_command_shows_password_and_key_once():
    first, second = StringIO(), StringIO()
    call_command("bootstrap", stdout=first)
    call_command("bootstrap", stdout=second)
    assert "Staff login (shown once): admin / " in first.getvalue()
    assert "API key (shown once): mos_" in first.getvalue()
    assert second.getvalue() == "MemOS is ready.\n"


def test_schedules_are_corrected_and_strangers_are_left_alone():
    ensure_schedules()
    Schedule.objects.filter(name=SCHEDULES[0].name).update(minutes=99, func="elsewhere")
    Schedule.objects.create(name="memos: of an older version", func="gone", schedule_type=Schedule.MINUTES, minutes=1)
    Schedule.objects.create(name="someone's own", func="os.getpid", schedule_type=Schedule.MINUTES, minutes=1)
    ensure_schedules()

    rows = dict(Schedule.objects.values_list("name", "func"))
    run = "memory.services.jobs.runner.run_schedule"
    assert rows == {entry.name: run for entry in SCHEDULES} | {"someone's own": "os.getpid"}
    asked = {row.name: literal_eval(row.kwargs)["kind"] for row in Schedule.objects.filter(func=run)}
    assert asked == {entry.name: entry.task for entry in SCHEDULES}
    assert Schedule.objects.get(name=SCHEDULES[0].name).minutes == SCHEDULES[0].minutes
