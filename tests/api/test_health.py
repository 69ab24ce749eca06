"""GET /health, /health/ready and /metrics."""

from __future__ import annotations

from unittest import mock

import pytest
import redis
from django.db import OperationalError, connection
from django_q.status import Stat
from prometheus_client.parser import text_string_to_metric_families

from memory.models import EmbeddingModel
from memory.services.index.embedding_model import active_model
from memory.stores import redis as redis_store

AWAY = redis.ConnectionError("away")


@pytest.fixture
def _worker():
    with mock.patch.object(Stat, "get_all", return_value=[object()]):
        yield


@pytest.fixture
def _model(db):
    active_model()


def gauges(client) -> dict[str, float]:
    families = text_string_to_metric_families(client.get("/metrics").content.decode())
    return {sample.name: sample.value for family in families if family.type == "gauge" for sample in family.samples}


def test_the_process_says_that_it_lives_whatever_is_away(olga):
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=AWAY):
        answer = olga.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.usefixtures("_model", "_worker")
def test_with_everything_there_it_is_ready(olga):
    answer = olga.get("/health/ready")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "checks": {"database": "ok", "redis": "ok", "embedding": "ok", "worker": "ok", "queue": "ok"},
    }


@pytest.mark.usefixtures("_model")
def test_with_redis_away_it_is_degraded_and_serves(olga):
    with mock.patch.object(redis_store, "get_redis_connection", side_effect=AWAY):
        answer = olga.get("/health/ready")
    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "degraded"
    assert "queries go without the session window" in body["checks"]["redis"]
    assert "unknown" in body["checks"]["worker"]
    assert (body["checks"]["database"], body["checks"]["embedding"]) == ("ok", "ok")


@pytest.mark.usefixtures("_model", "_worker")
def test_with_the_database_away_it_is_not_ready(olga):
    with mock.patch.object(connection, "cursor", side_effect=OperationalError("away")):
        answer = olga.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "checks": {"database": "does not answer", "redis": "ok"}}


@pytest.mark.usefixtures("_model")
def test_without_a_worker_it_is_degraded(olga):
    with mock.patch.object(Stat, "get_all", return_value=[]):
        body = olga.get("/health/ready").json()
    assert body["status"] == "degraded"
    assert body["checks"]["worker"] == "no heartbeat: summaries and delayed embeddings wait"


@pytest.mark.usefixtures("_worker")
def test_without_a_model_it_says_what_to_run_and_makes_none(olga):
    body = olga.get("/health/ready").json()
    assert body["checks"]["embedding"] == "no active model yet: run manage.py bootstrap"
    assert not EmbeddingModel.objects.exists()


@pytest.mark.usefixtures("_worker")
def test_with_the_provider_away_it_is_degraded_and_says_why(olga, settings):
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    settings.MEMOS_EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"
    settings.MEMOS_EMBEDDING_DIMENSIONS = 4
    active_model()
    answer = olga.get("/health/ready")
    assert answer.status_code == 200
    assert answer.json()["checks"]["embedding"].startswith("unavailable: queries are refused")


def test_metrics_are_prometheus_text_with_totals(olga, alice, remember):
    remember(alice, "hello")
    remember(alice, "world")
    before = gauges(olga)

    answer = olga.get("/metrics")
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {family.name: family for family in text_string_to_metric_families(answer.content.decode())}
    assert {"memos_http_requests", "memos_http_request_seconds"} <= set(families)
    assert all(family.documentation for name, family in families.items() if name.startswith("memos_"))
    assert before["memos_memories"] == 2
    assert before["memos_active_sessions"] == 1
    assert (before["memos_database_up"], before["memos_redis_up"], before["memos_embedding_up"]) == (1, 1, 1)
    assert before["memos_embedding_pending"] == 0
    assert {"memos_queue_queued", "memos_queue_in_flight", "memos_queue_failed"} <= set(before)


def test_requests_are_counted_under_their_route_and_not_their_path(olga, alice):
    def counted(route: str, status: str) -> float:
        families = text_string_to_metric_families(olga.get("/metrics").content.decode())
        samples = [sample for family in families for sample in family.samples]
        return sum(
            sample.value
            for sample in samples
            if sample.name == "memos_http_requests_total"
            and (sample.labels["route"], sample.labels["status"]) == (route, status)
        )

    before = counted("v1/ops/stats", "200"), counted("unmatched", "404")
    alice.get("/v1/ops/stats")
    olga.get("/no/such/place-xyzzy")
    assert (counted("v1/ops/stats", "200"), counted("unmatched", "404")) == (before[0] + 1, before[1] + 1)
    assert "xyzzy" not in olga.get("/metrics").content.decode()


def test_an_invented_method_makes_no_series_of_its_own(olga, db):
    olga.generic("BREW", "/health")
    assert "BREW" not in olga.get("/metrics").content.decode()


def test_with_the_database_away_metrics_say_so(olga, db):
    with mock.patch.object(connection, "cursor", side_effect=OperationalError("away")):
        values = gauges(olga)
    assert values["memos_database_up"] == 0
    assert "memos_memories" not in values


def test_metrics_that_are_not_public_need_an_admin_key(olga, make_tenant, settings):
    settings.MEMOS_METRICS_PUBLIC = False
    admin, reader = make_tenant("admin", scopes=("admin",)), make_tenant("reader", scopes=("read", "write"))
    assert olga.get("/metrics").status_code == 401
    assert reader.get("/metrics").status_code == 403
    assert admin.get("/metrics").status_code == 200
