"""Spans of what MemOS does: nothing until `memory.telemetry` is started, which alone imports OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

Piece = TypeVar("Piece")


class SpanMaker(Protocol):
    """Whoever makes spans; `memory.telemetry` does."""

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
    """From now on spans are made by `telemetry`; by nobody when it is None."""
    global _telemetry  # noqa: PLW0603 - one a process
    _telemetry = telemetry


def span(name: str, **attributes: str | int | float) -> AbstractContextManager[Any]:
    """What happens inside is one step of the work around it. Neither name nor attributes may hold what people said."""
    return _nothing if _telemetry is None else _telemetry.open_span(name, attributes)


def statement_span(statement: str) -> AbstractContextManager[Any]:
    """What happens inside is a statement of SQL, whose parameters are not kept."""
    return _nothing if _telemetry is None else _telemetry.open_statement(statement)


def request_span(method: str, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
    """What happens inside answers a request; a `traceparent` among its headers names the trace that it belongs to."""
    return _nothing if _telemetry is None else _telemetry.open_request(method, headers)


def end_request(*, method: str, route: str, status: int, seconds: float, request_id: str) -> None:
    """Says of the request that is answered inside `request_span` what came of it."""
    if _telemetry is not None:
        _telemetry.end_request(method=method, route=route, status=status, seconds=seconds, request_id=request_id)


def job_span(kind: str, traceparent: str) -> AbstractContextManager[Any]:
    """What happens inside is a job that the work of `traceparent` has asked for, if it is known."""
    return _nothing if _telemetry is None else _telemetry.open_job(kind, traceparent)


def traceparent() -> str:
    """The span that is open, as W3C's Trace Context writes it; empty without one."""
    return "" if _telemetry is None else _telemetry.traceparent()


def trace_id() -> str:
    """The trace that is open, as 32 hexadecimal digits; empty without one."""
    return traceparent()[3:35]


def mark() -> dict[str, str]:
    """`trace_id`, where there is one: what an audit event says of it."""
    current = trace_id()
    return {"trace_id": current} if current else {}


def carry(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """`pieces`, each made inside the span that is open now: for an answer that is made while it is sent."""
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
