"""Receives traces and metrics by OTLP over HTTP, as a collector does."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Receiver:
    """A receiver that keeps `spans` and `metrics` as they came, in protobuf's classes."""

    url: str = ""
    spans: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def below(self, span: Any) -> list[Any]:
        """Return all spans below the span, without the span itself."""
        found, parents = [], {span.span_id}
        while more := [one for one in self.spans if one.parent_span_id in parents and one not in found]:
            found += more
            parents = {one.span_id for one in more}
        return found


def attributes_of(one: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in one.attributes}


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                    receiver.resources.append(attributes_of(part.resource))
                    for scope in part.scope_spans:
                        receiver.spans += scope.spans
            else:
                for part in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for scope in part.scope_metrics:
                        receiver.metrics += scope.metrics
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
