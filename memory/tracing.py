"""Spans of MemOS's work, which are no-ops until `memory.telemetry` starts, the only module to import OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

Piece = TypeVar("Piece")


class SpanMaker(Protocol):
    """Creates spans; `memory.telemetry` implements it."""

    def open_span(self, name: str, attributes: Mapping[str, str | int | float]) -> AbstractContextManager[Any]: ...
    def open_statement(self, statement: str) -> AbstractContextManager[Any]: ...
    def open_request(self, method: str, headers: Mapping[str, str]) -> AbstractContextManager[Any]: ...
    def end_request(self, *, method: str, route: str, status: int, seconds: float, request_id: str) -> None: ...
    def open_job(self, kind: str, traceparent: str) -> AbstractContextManager[Any]: ...
    def traceparent(self) -> str: ...
    def current_context(self) -> Any: ...
    def attach(self, around: Any) -> AbstractContextManager[Any]: ...


_telemetry: SpanMaker | None = None
_nothing: AbstractContextManager[None] = nullcontext()


def use(telemetry: SpanMaker | None) -> None:
    """Let `telemetry` create spans from now on, or nothing if it is None."""
    global _telemetry  # noqa: PLW0603 - one per process
    _telemetry = telemetry


def span(name: str, **attributes: str | int | float) -> AbstractContextManager[Any]:
    """Trace the block as a step of the current work. Neither name nor attributes may contain what people said."""
    return _nothing if _telemetry is None else _telemetry.open_span(name, attributes)


def statement_span(statement: str) -> AbstractContextManager[Any]:
    """Trace the block as an SQL statement, without its parameters."""
    return _nothing if _telemetry is None else _telemetry.open_statement(statement)


def request_span(method: str, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Trace the block as the answer to a request, as part of the trace in its `traceparent` header, if any."""
    return _nothing if _telemetry is None else _telemetry.open_request(method, headers)


def end_request(*, method: str, route: str, status: int, seconds: float, request_id: str) -> None:
    """Record the outcome of the request that is answered inside `request_span`."""
    if _telemetry is not None:
        _telemetry.end_request(method=method, route=route, status=status, seconds=seconds, request_id=request_id)


def job_span(kind: str, traceparent: str) -> AbstractContextManager[Any]:
    """Trace the block as a job, linked to the work of `traceparent` that requested it, if known."""
    return _nothing if _telemetry is None else _telemetry.open_job(kind, traceparent)


def traceparent() -> str:
    """Return the current span in the format of W3C's Trace Context, or ""."""
    return "" if _telemetry is None else _telemetry.traceparent()


def trace_id() -> str:
    """Return the id of the current trace as 32 hexadecimal digits, or ""."""
    return traceparent()[3:35]


def mark() -> dict[str, str]:
    """Return {"trace_id": …} for an audit event, {} without a trace."""
    current = trace_id()
    return {"trace_id": current} if current else {}


def carry(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Yield `pieces`, each produced inside the current span, for answers that are generated while they are sent."""
    return pieces if _telemetry is None else _carry(_telemetry, iter(pieces))


def _carry(telemetry: SpanMaker, pieces: Iterator[Piece]) -> Iterator[Piece]:
    around = telemetry.current_context()

    def make() -> Iterator[Piece]:
        while True:
            with telemetry.attach(around):
                try:
                    piece = next(pieces)
                except StopIteration:
                    return
            yield piece

    return make()
