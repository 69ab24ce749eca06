"""The doctor names what we break here, and how to repair it."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone
from django_q.models import Schedule

from memory.demo.seed import seed_demo_namespace
from memory.enums import JobPriority
from memory.errors import EmbeddingUnavailable
from memory.models import ApiKey, Job, Memory, MemoryVector, NamespaceStat
from memory.schedules import ensure_schedules
from memory.services.diagnosis import host, language, search
from memory.services.jobs.runner import run_schedule
from memory.services.monitoring import stats
from memory.services.tenancy import tasks
from memory.stores import redis as redis_store
from memory.types import system_access
from tests.job_queue import queued_jobs
from tests.providers.cross_encoder import build
from tests.providers.endpoint import serving
from tests.vectorless import take_vectors


@pytest.fixture(autouse=True)
def _healthy(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that nothing is wrong with."""
    seed_demo_namespace(system_access("tests"), namespace="demo", now=timezone.now())
    queued_jobs().delete()
    ensure_schedules()
    call_command("issue_api_key", "tests", "--all-namespaces", stdout=StringIO())
    get_user_model().objects.create_user("ann", is_staff=True)
    monkeypatch.setattr(stats, "worker_heartbeat", lambda: stats.ALIVE)
    monkeypatch.setattr(host, "LOW_DISK", 0)


def examine(*arguments: str) -> tuple[int, dict[str, tuple[str, str, str]]]:
    """The exit status, and {name: (status, what, fix)}."""
    out = StringIO()
    status = 0
    try:
        call_command("doctor", *arguments, stdout=out)
    except SystemExit as end:
        status = end.code  # type: ignore[assignment]
    found: dict[str, tuple[str, str, str]] = {}
    name = ""
    for line in out.getvalue().splitlines():
        if line.startswith("      fix: "):
            found[name] = (*found[name][:2], line.removeprefix("      fix: "))
        elif " — " in line:
            head, _, what = line.partition(" — ")
            name = head[6:]
            found[name] = (head[:4].strip(), what, "")
    return status, found


def test_nothing_is_wrong() -> None:
    status, found = examine()
    # The hash model of the tests is what the settings check objects to, rightly.
    assert found.pop("settings")[0] == "warn"
    assert {name: entry for name, entry in found.items() if entry[0] != "ok"} == {}
    assert status == 0
    assert len(found) == 25


def test_everything_that_is_not_ok_has_a_fix(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    settings.DEBUG = True
    settings.MEMOS_HOST = "0.0.0.0"
    settings.MEMOS_EMBEDDING_MODEL = "hash-64"
    monkeypatch.setattr(stats, "worker_heartbeat", lambda: stats.NO_HEARTBEAT)
    monkeypatch.setattr(host, "LOW_DISK", 2**60)
    monkeypatch.setattr(host, "FULL_DISK", 2**60)
    take_vectors(*Memory.objects.across_namespaces().values_list("pk", flat=True)[:3])
    NamespaceStat.objects.update(memories=70)
    Job.objects.create(kind="erase", priority=JobPriority.INTERACTIVE, queued_at=now - timedelta(seconds=75))
    Job.objects.create(kind="condense_session", state="failed", finished_at=now, error_type="KeyError", error="Boom")
    Schedule.objects.filter(name="memos: embed pending memories").delete()
    ApiKey.objects.update(revoked_at=now)
    get_user_model().objects.update(is_active=False)

    status, found = examine()

    assert status == 1
    broken = {name: entry for name, entry in found.items() if entry[0] != "ok"}
    assert all(fix for _, _, fix in broken.values())
    assert {name: (entry[0], entry[2]) for name, entry in broken.items() if entry[0] == "fail"} == {
        "access": ("fail", "unset MEMOS_DEBUG where others reach it"),
        "disk": ("fail", "make room, or move MEMOS_DATA_DIR"),
        "counters": ("fail", "manage.py doctor --recount"),
        "schedules": ("fail", "manage.py bootstrap"),
    }
    assert "hash/hash-64" in broken["embedding choice"][1]
    assert "manage.py reembed" in broken["embedding choice"][2]
    assert "3 memories" in broken["vectors"][1]
    assert "70 memories counted, 77 there" in broken["counters"][1]
    assert "qcluster" in broken["worker"][2]
    assert broken["queue"][1].endswith("more than 2 s")
    assert broken["failed jobs"][1] == "1 kept, the last: condense_session: KeyError: Boom"
    assert "embed pending" in broken["schedules"][1]
    assert "issue_api_key" in broken["API keys"][2]
    assert "createsuperuser" in broken["staff"][2]


def test_wrong_counters_can_be_set_right() -> None:
    before = list(NamespaceStat.objects.values_list("memories", "terms"))
    NamespaceStat.objects.update(memories=3, terms=-5)
    assert examine()[1]["counters"][0] == "fail"
    assert examine("--recount")[1]["counters"][0] == "ok"
    assert [sum(column) for column in zip(*before, strict=True)] == [
        sum(column) for column in zip(*NamespaceStat.objects.values_list("memories", "terms"), strict=True)
    ]


def test_a_memory_that_is_wrongly_said_to_have_a_vector_can_be_set_right() -> None:
    MemoryVector.objects.across_namespaces().filter(
        memory_id=Memory.objects.across_namespaces().values("pk")[:1]
    ).delete()
    status, what, fix = examine()[1]["vectors"]
    assert (status, what.split()[:4]) == ("warn", ["1", "memories", "are", "said"])
    assert "manage.py doctor --recount" in fix

    status, what, _ = examine("--recount")[1]["vectors"]

    assert (status, what) == ("warn", "1 memories have none and are found by their words only")


def test_a_database_that_is_away_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_, **__):
        raise OperationalError("connection refused\nIs the server running?")

    with monkeypatch.context() as outage:
        outage.setattr(connection, "cursor", away)
        status, found = examine()
    assert status == 1
    assert found["database"][:2] == ("fail", "does not answer: connection refused")
    assert "DATABASE_URL" in found["database"][2]
    assert found["redis"][0] == "ok"
    assert "was not looked at" in found["everything else"][1]
    assert "staff" not in found


def test_redis_that_is_away_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_):
        raise redis_store.redis.ConnectionError("Connection refused")

    monkeypatch.setattr(redis_store, "get_redis_connection", away)
    status, found = examine()
    assert status == 1
    assert found["redis"][0] == "fail"
    assert "REDIS_URL" in found["redis"][2]
    assert found["database"][0] == "ok"


def test_a_migration_that_is_missing_stops_what_reads_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'memory'"
            " AND name = (SELECT max(name) FROM django_migrations WHERE app = 'memory')"
        )
    status, found = examine()
    assert status == 1
    assert "not applied" in found["migrations"][1]
    assert found["migrations"][2] == "manage.py migrate"
    assert "counters" not in found


def test_a_model_that_cannot_be_loaded_is_a_finding(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(provider: str, name: str):
        raise EmbeddingUnavailable("The MiniLM weights are not installed")

    monkeypatch.setattr(search, "provider_for", broken)
    status, found = examine()
    assert status == 1
    assert found["embedding model"][:2] == ("fail", "hash/hash-256: The MiniLM weights are not installed")


def test_a_reranker_is_tried(settings, tmp_path: Path) -> None:
    settings.MEMOS_RERANK_PROVIDER = "onnx"
    settings.MEMOS_RERANK_MODEL_DIR = str(build(tmp_path / "tiny"))
    status, found = examine()
    assert status == 0
    assert found["reranking"][0] == "ok"
    assert found["reranking"][1].startswith("onnx/tiny, 50 short texts in ")


def test_a_reranker_without_its_model_is_a_finding(settings, tmp_path: Path) -> None:
    settings.MEMOS_RERANK_PROVIDER = "onnx"
    settings.MEMOS_RERANK_MODEL_DIR = str(tmp_path)
    status, found = examine()
    assert status == 1
    assert found["reranking"][0] == "fail"
    assert f"There is no tokenizer.json in {tmp_path}" in found["reranking"][1]
    assert "MEMOS_RERANK_PROVIDER=off" in found["reranking"][2]


def test_a_reranker_without_its_address_is_named_by_the_settings_too(settings) -> None:
    settings.MEMOS_RERANK_PROVIDER = "cohere"
    status, found = examine()
    assert status == 1
    assert found["reranking"][1] == "MEMOS_RERANK_PROVIDER=cohere needs MEMOS_RERANK_URL, the address to POST to."
    assert "memos.W003 MEMOS_RERANK_PROVIDER=cohere is set without MEMOS_RERANK_URL" in found["settings"][1]


def test_settings_that_nothing_else_starts_with_are_a_finding(settings) -> None:
    settings.MEMOS_LLM_ENABLED, settings.MEMOS_LLM_TIMEOUT_SECONDS = True, 50.0
    status, found = examine()
    assert (status, found["settings"][0]) == (1, "fail")
    assert "memos.E010 MEMOS_LLM_TIMEOUT_SECONDS=50 must be at most half of" in found["settings"][1]
    assert "Lower the first or raise the second." in found["settings"][2]


def test_a_model_that_does_not_rerank_is_a_finding(settings, tmp_path: Path) -> None:
    settings.MEMOS_RERANK_PROVIDER = "onnx"
    settings.MEMOS_RERANK_MODEL_DIR = str(build(tmp_path, wrong_way_round=True))
    status, found = examine()
    assert status == 0
    assert found["reranking"][0] == "warn"
    assert "kitchen" in found["reranking"][1]


def test_a_check_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(search, "pending_count", broken)
    status, found = examine()
    assert status == 1
    assert found["vectors"][1] == "the check itself broke: RuntimeError: unexpected"
    assert found["staff"][0] == "ok"


def test_a_schedule_that_is_late_is_a_finding_and_one_that_has_run_is_not() -> None:
    now = timezone.now()
    Schedule.objects.filter(name="memos: embed pending memories").update(next_run=now - timedelta(minutes=3))
    assert examine()[1]["schedules"][0] == "ok"
    Schedule.objects.filter(name="memos: embed pending memories").update(next_run=now - timedelta(minutes=5))
    status, found = examine()
    assert status == 0
    assert found["schedules"][:2] == ("warn", "more than 3 periods late: memos: embed pending memories")
    assert "qcluster" in found["schedules"][2]

    run_schedule("memos: embed pending memories", "embed_pending")
    assert examine()[1]["schedules"][0] == "ok"


def test_a_schedule_that_fails_three_times_in_a_row_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "memos: forget idempotency keys"

    def broken(**_: object) -> int:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as faulty:
        faulty.setattr(tasks, "forget_idempotency_keys", broken)
        for count in range(1, 4):
            run_schedule(name, "forget_idempotency_keys")
            status, found = examine()
            assert found["failed jobs"][0] == "warn"
            assert found["schedules"][0] == ("fail" if count == 3 else "ok")
    assert status == 1
    assert found["schedules"][1] == f"{name} has failed 3 times in a row (RuntimeError: the disk is full)"

    run_schedule(name, "forget_idempotency_keys")
    assert {examine()[1][check][0] for check in ("schedules", "failed jobs")} == {"ok"}


def test_a_clock_that_went_back_is_a_finding_that_bootstrap_mends() -> None:
    Schedule.objects.filter(name__startswith="memos: ").update(next_run=timezone.now() + timedelta(hours=3))
    found = examine()[1]
    assert found["schedules"][0] == "warn"
    assert "it has gone back" in found["schedules"][1]
    assert found["schedules"][2].startswith("manage.py bootstrap")
    ensure_schedules()
    assert examine()[1]["schedules"][0] == "ok"


def says(text: str) -> tuple[int, dict]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return 200, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def test_each_language_model_is_tried_once_and_none_while_they_are_off(settings) -> None:
    with serving(lambda body: says('{"word": "ready"}')) as endpoint:
        settings.MEMOS_LLM_API_KEY, settings.MEMOS_LLM_BASE_URL = "k", endpoint.url
        settings.MEMOS_LLM_MODEL = "m"
        assert examine()[1]["language model"] == ("ok", "off: answers and summaries are extractive", "")
        assert endpoint.asked == []

        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"models.judge": "openai/strict"}
        found = list(language.language_models())

        assert [(one.status, one.what.partition(", JSON by a schema in ")[0]) for one in found] == [
            ("ok", "openai/m (answer, summarise, extract)"),
            ("ok", "openai/strict (judge)"),
        ]
        assert [one.body["model"] for one in endpoint.asked] == ["m", "strict"]
        for answer, status in ((says("no"), "warn"), ((401, {}), "fail")):
            endpoint.answer = lambda body, answer=answer: answer
            assert [one.status for one in language.language_models()] == [status] * 2
        settings.MEMOS_LLM_API_KEY = ""
        found = list(language.language_models())
        assert [(one.status, one.fix) for one in found] == [("warn", "set MEMOS_LLM_API_KEY")] * 2


def test_a_variable_that_no_setting_reads_is_named(settings):
    settings.MEMOS_UNKNOWN = {"MEMOS_LLM_ENABLE": "MEMOS_LLM_ENABLED", "MEMOS_COLOUR": ""}

    _, found = examine()

    status, what, fix = found["settings"]
    assert status == "warn"
    assert "MEMOS_LLM_ENABLE is no setting and has no effect." in what
    assert "MEMOS_LLM_ENABLE: did you mean MEMOS_LLM_ENABLED?" in fix
    assert "Unset MEMOS_COLOUR" in fix
