"""Exports traces and metrics by OTLP with MEMOS_TELEMETRY; OpenTelemetry's own variables set the target and interval.

No span contains what people said or asked, a URL with its query string, a statement's parameter or the name of a Redis
key. Django's instrumentation writes URLs and users into spans, so requests are traced here instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from memory import tracing
from memory.enums import ModelCallStatus, ModelKind
from memory.providers.calls import EndedCall, call_ended

# Operation names of the GenAI conventions, which have none for a rerank.
_OPERATIONS = {ModelKind.CHAT: "chat", ModelKind.EMBEDDING: "embeddings", ModelKind.RERANK: "rerank"}
_NAME = "memos"


class Telemetry:
    """Creates the spans and metrics of a process with the given providers."""

    def __init__(self, tracers: TracerProvider, meters: MeterProvider) -> None:
        self._tracers, self._meters = tracers, meters
        self._tracer, meter = tracers.get_tracer(_NAME), meters.get_meter(_NAME)
        self._requests = meter.create_histogram("http.server.request.duration", "s", "Time to answer a request")
        self._jobs = meter.create_histogram("memos.job.duration", "s", "Time that a background job took")
        self._calls = meter.create_histogram("gen_ai.client.operation.duration", "s", "Time that a model took")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a call of a model")

    def open_span(self, name: str, attributes: Mapping[str, str | int | float]) -> Any:
        return self._tracer.start_as_current_span(name, attributes=dict(attributes))

    def open_statement(self, statement: str) -> Any:
        """Open a span like those of psycopg's instrumentation for statements that pass through its cursors."""
        text = statement.strip()
        attributes = {"db.system": "postgresql", "db.statement": text}
        return self._tracer.start_as_current_span(text.split(None, 1)[0], kind=SpanKind.CLIENT, attributes=attributes)

    def open_request(self, method: str, headers: Mapping[str, str]) -> Any:
        around = propagate.extract({name.lower(): value for name, value in headers.items()})
        return self._tracer.start_as_current_span(method, around, SpanKind.SERVER, {"http.request.method": method})

    def end_request(self, *, method: str, route: str, status: int, seconds: float, request_id: str) -> None:
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
        }
        current = trace.get_current_span()
        current.update_name(f"{method} {route}")
        current.set_attributes({**attributes, "memos.request_id": request_id})
        if status >= 500:
            current.set_status(Status(StatusCode.ERROR))
        self._requests.record(seconds, attributes)

    @contextmanager
    def open_job(self, kind: str, traceparent: str) -> Iterator[None]:
        asked_by = trace.get_current_span(propagate.extract({"traceparent": traceparent})).get_span_context()
        links = [Link(asked_by)] if asked_by.is_valid else []
        started = time.monotonic()
        with self._tracer.start_as_current_span(
            f"job {kind}", Context(), SpanKind.CONSUMER, {"memos.job.kind": kind}, links
        ):
            yield
        self._jobs.record(time.monotonic() - started, {"memos.job.kind": kind})

    def traceparent(self) -> str:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier.get("traceparent", "")

    def current_context(self) -> Context:
        return context.get_current()

    @contextmanager
    def attach(self, around: Context) -> Iterator[None]:
        token = context.attach(around)
        try:
            yield
        finally:
            context.detach(token)

    def note_model_call(self, *, call: EndedCall, **_signal: Any) -> None:
        """Record a finished call of a model as a span (semantic conventions for GenAI) and in the metrics."""
        planned, usage = call.planned, call.usage
        operation = _OPERATIONS[planned.kind]
        common = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": planned.provider,
            "gen_ai.request.model": planned.model,
        }
        ended = time.time_ns()
        attributes: dict[str, Any] = {**common, "memos.purpose": planned.purpose.value}
        if planned.max_tokens:
            attributes["gen_ai.request.max_tokens"] = planned.max_tokens
        for name, tokens in (("input", usage.prompt), ("output", usage.completion)):
            if tokens is not None:
                attributes[f"gen_ai.usage.{name}_tokens"] = tokens
                self._tokens.record(tokens, {**common, "gen_ai.token.type": name})
        if call.status == ModelCallStatus.FAILED:
            attributes["error.type"] = "timeout" if call.timed_out else "failed"
            common["error.type"] = attributes["error.type"]
        made = self._tracer.start_span(
            f"{operation} {planned.model}",
            kind=SpanKind.CLIENT,
            attributes=attributes,
            start_time=ended - call.duration_ms * 1_000_000,
        )
        if call.status == ModelCallStatus.FAILED:
            made.set_status(Status(StatusCode.ERROR))
        made.end(ended)
        self._calls.record(call.duration_ms / 1000, common)

    def flush(self) -> None:
        """Send what hasn't been sent yet."""
        self._tracers.force_flush()
        self._meters.force_flush()


def start(version: str) -> Telemetry:
    """Trace this process and its forks, including SQL statements and Redis commands."""
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", _NAME), "service.version": version})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource)
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    PsycopgInstrumentor().instrument(tracer_provider=tracers)
    RedisInstrumentor().instrument(tracer_provider=tracers)
    telemetry = Telemetry(tracers, meters)
    call_ended.connect(telemetry.note_model_call, weak=False, dispatch_uid="memory.telemetry")
    tracing.use(telemetry)
    return telemetry
