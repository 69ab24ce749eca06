"""Traces and metrics as a collector gets them: what they contain, and what they must not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from memory import checks, tracing
from memory.models import AuditLog
from memory.providers.calls import call_ended
from memory.telemetry import Telemetry
from tests.job_queue import work_off
from tests.otlp_receiver import Receiver, attributes_of, receiving
from tests.providers.chat_endpoint import scripted_model

ROOT = Path(__file__).resolve().parents[1]
SECRETS = ("harbour", "Priya", "pilot", "gate seven")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Receive this process's telemetry. Statements are traced on connections that are opened from now on."""
    with receiving() as receiver_:
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{receiver_.url}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{receiver_.url}/v1/metrics"), 3_600_000)
        meters = MeterProvider([reader])
        connection.close()
        PsycopgInstrumentor().instrument(tracer_provider=tracers)
        RedisInstrumentor().instrument(tracer_provider=tracers)
        telemetry = Telemetry(tracers, meters)
        call_ended.connect(telemetry.note_model_call, dispatch_uid="tests")
        tracing.use(telemetry)
        try:
            yield receiver_
        finally:
            tracing.use(None)
            call_ended.disconnect(dispatch_uid="tests")
            RedisInstrumentor().uninstrument()
            PsycopgInstrumentor().uninstrument()
            connection.close()
            meters.shutdown()
            tracers.shutdown()


def ask(tenant: Any, **headers: str) -> Any:
    return tenant.client.post(
        "/v1/query",
        {"namespace": "alice", "session_id": "s1", "query": "Where does Priya's pilot board?"},
        content_type="application/json",
        headers=headers,
    )


def test_a_query_is_one_tree_of_its_steps_and_statements(alice, remember, receiver):
    remember(alice, "Priya: the harbour pilot boards at gate seven.")
    receiver.spans.clear()
    answer = ask(alice, traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    assert answer["X-Trace-ID"] == "0af7651916cd43dd8448eb211c80319c"
    [root] = receiver.named("POST v1/query")
    assert root.parent_span_id.hex() == "b7ad6b7169203331"
    assert attributes_of(root) == {
        "http.request.method": "POST",
        "http.route": "v1/query",
        "http.response.status_code": 200,
        "memos.request_id": answer["X-Request-ID"],
    }
    tree = receiver.below(root)
    steps = {span.name for span in tree if span.name.startswith("recall ")}
    assert steps >= {f"recall {step}" for step in ("context", "words", "meaning", "fusion", "read", "store")}
    [meaning] = [span for span in tree if span.name == "recall meaning"]
    assert [attributes_of(span)["db.system"] for span in receiver.below(meaning)] == ["postgresql"]
    assert {attributes_of(span).get("db.system") for span in tree} >= {"postgresql", "redis"}
    events = AuditLog.objects.across_namespaces().filter(request_id=answer["X-Request-ID"])
    assert {event.details["trace_id"] for event in events} == {answer["X-Trace-ID"]}


def test_nothing_that_was_said_or_asked_is_in_a_span(alice, remember, receiver, settings):
    remember(alice, "Priya: the harbour pilot boards at gate seven.", session="harbour talk", speaker="Priya")
    ask(alice)
    alice.get("/v1/memories", namespace="alice", session_id="harbour talk", text="pilot")
    with scripted_model(settings, "The pilot boards at gate seven [1]."):
        alice.post("/v1/answer", {"namespace": "alice", "query": "Where does the harbour pilot board?"})
    work_off()

    assert len(receiver.spans) > 50
    for span in receiver.spans:
        said = f"{span.name} {attributes_of(span)} {span.events} {span.status.message}"
        assert not any(secret in said for secret in SECRETS), said


def test_a_call_of_a_model_has_the_attributes_of_gen_ai(alice, remember, receiver, settings):
    remember(alice, "Priya: the harbour pilot boards at gate seven.")
    with scripted_model(settings, "At gate seven [1]."):
        alice.post("/v1/answer", {"namespace": "alice", "query": "Where does the harbour pilot board?"})

    [call] = [span for span in receiver.spans if span.name.startswith("chat ")]
    [root] = receiver.named("POST v1/answer")
    assert call in receiver.below(root)
    told = attributes_of(call)
    assert (told["gen_ai.operation.name"], told["memos.purpose"]) == ("chat", "answer")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (90, 12)
    assert call.end_time_unix_nano >= call.start_time_unix_nano


def test_a_model_that_fails_is_an_error(alice, remember, receiver, settings):
    remember(alice, "Priya: the harbour pilot boards at gate seven.")
    with scripted_model(settings, "") as chat:
        chat.status = 500
        alice.post("/v1/answer", {"namespace": "alice", "query": "Where does the harbour pilot board?"})
    [call] = [span for span in receiver.spans if span.name.startswith("chat ")]
    assert attributes_of(call)["error.type"] == "failed"
    assert call.status.code == 2


def test_a_stream_stays_in_the_trace_of_its_request(alice, remember, receiver, settings):
    remember(alice, "Priya: the harbour pilot boards at gate seven.")
    with scripted_model(settings, "At gate ", "seven [1]."):
        response = alice.post("/v1/answer/stream", {"namespace": "alice", "query": "Where does the pilot board?"})
        assert b"event: done" in b"".join(response.streaming_content)
    [call] = [span for span in receiver.spans if span.name.startswith("chat ")]
    assert call.trace_id.hex() == response["X-Trace-ID"]


def test_a_job_names_the_request_that_asked_for_it(alice, receiver):
    answer = alice.post("/v1/erasures", {"namespace": "alice", "session_id": "s1", "reason": "over"})
    assert answer.status_code in (200, 202), answer.content
    work_off()

    [job] = receiver.named("job erase")
    assert [link.trace_id.hex() for link in job.links] == [answer["X-Trace-ID"]]
    assert job.trace_id != job.links[0].trace_id
    assert any(attributes_of(span).get("db.system") == "postgresql" for span in receiver.below(job))


def test_errors_name_their_trace(alice, receiver):
    answer = alice.post("/v1/query", {"namespace": "alice"})
    assert answer.status_code == 400
    assert answer["X-Trace-ID"] in {span.trace_id.hex() for span in receiver.named("POST v1/query")}


def test_metrics(alice, remember, receiver, settings):
    remember(alice, "Priya: the harbour pilot boards at gate seven.")
    with scripted_model(settings, "At gate seven [1]."):
        alice.post("/v1/answer", {"namespace": "alice", "query": "Where does the harbour pilot board?"})
    assert isinstance(tracing._telemetry, Telemetry)
    tracing._telemetry.flush()
    told = {metric.name: metric for metric in receiver.metrics}
    assert set(told) >= {
        "http.server.request.duration",
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
    }
    [point] = told["http.server.request.duration"].histogram.data_points
    assert (point.count, attributes_of(point)["http.route"]) == (1, "v1/answer")


def python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = os.environ | {
        "DJANGO_SETTINGS_MODULE": "memos_site.settings",
        "MEMOS_SECRET_KEY": "test",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_it_nothing_is_imported():
    ours = "('memory.telemetry', 'opentelemetry.exporter', 'opentelemetry.instrumentation')"
    done = python(f"import sys, django; django.setup(); print([name for name in {ours} if name in sys.modules])")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_processes_that_are_forked_send_too():
    program = """
import os, sys, django
django.setup()
from memory import tracing
if os.fork() == 0:
    with tracing.span("in the child"):
        pass
    sys.exit(0)
os.wait()
with tracing.span("in the parent"):
    pass
"""
    with receiving() as receiver_:
        done = python(program, MEMOS_TELEMETRY="1", OTEL_EXPORTER_OTLP_ENDPOINT=receiver_.url)
        deadline = time.monotonic() + 10
        while len(receiver_.spans) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert {span.name for span in receiver_.spans} == {"in the child", "in the parent"}, done.stderr
        assert receiver_.resources[0]["service.name"] == "memos"


@pytest.mark.django_db
def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    with override_settings(MEMOS_TELEMETRY=True):
        [error] = [one for one in checks.check_contradictions(None) if one.id == "memos.E014"]
    assert "requirements-telemetry.txt" in str(error.hint)
