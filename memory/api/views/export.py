from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any

import orjson
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request

from memory.api.event_stream import EventStream, Slot, give_connection_back
from memory.api.serializers.memories import ExportSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, ErrorCode
from memory.services.memories.export import export_pages
from memory.text import spreadsheet
from memory.text.json_values import encode
from memory.text.pam import write_store

log = logging.getLogger("memos.error")

Page = list[dict[str, Any]]
_COLUMNS = (
    "id", "namespace", "session_id", "turn", "role", "speaker", "kind", "text", "metadata", "importance", "tier",
    "state", "pinned", "review", "occurred_at", "valid_from", "valid_to", "superseded_by", "created_at", "revision",
    "tokens", "sources",
)  # fmt: skip
_MEDIA_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "pam": "application/json"}
_ENDINGS = {"pam": "pam.json"}
# Makes zlib write gzip's header and trailer.
_GZIP = zlib.MAX_WBITS | 16


class MemoryExportViewSet(MemosViewSet):
    """Exports all memories of a namespace as a file."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="export_memories",
        summary="All memories that meet what is wanted, as a file that is made while it is sent",
        parameters=[ExportSerializer],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(
                OpenApiTypes.STR,
                "A Memory a line, oldest recorded first; compressed by gzip where that is accepted. A last line with "
                "an `error` says that the export broke off.",
            ),
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/json"): OpenApiTypes.OBJECT,
        },
    )
    def list(self, request: Request) -> StreamingHttpResponse:
        values = self.valid(ExportSerializer, request.query_params)
        scope = self.scope(values["namespace"], create=False)
        now = timezone.now()
        slot = Slot(self.access.actor)
        try:
            pages = export_pages(scope, wanted=ExportSerializer.to_filter(values), where=values["filter"], now=now)
            write = _WRITERS.get(values["format"]) or partial(write_store, namespace=scope.namespace, now=now)
            pieces = _write_pieces(pages, write, compress=_accepts_gzip(request))
            stream = EventStream(pieces, slot)
            # Reading the first page here reports errors of the request before the answer begins.
            stream.advance(pieces)
        except BaseException:
            slot.give_back()
            raise
        name = f"memories-{now:%Y%m%d-%H%M%S}.{_ENDINGS.get(values['format'], values['format'])}"
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
            "Vary": "Accept-Encoding",
            **({"Content-Encoding": "gzip"} if _accepts_gzip(request) else {}),
        }
        return StreamingHttpResponse(stream, content_type=_MEDIA_TYPES[values["format"]], headers=headers)


def _write_pieces(
    pages: Iterator[Page], write: Callable[[Iterable[Page]], Iterator[bytes]], *, compress: bool
) -> Generator[bytes]:
    """Yield the file in pieces. The first one is empty and comes as soon as the first page was read."""
    read = _hold_no_connection(pages)
    first = next(read)
    yield b""
    written = write(_chain(first, read))
    if not compress:
        yield from _say_if_broken_off(written, _BROKEN_OFF.get(write, b""))
        return
    compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    for piece in written:
        yield compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)
    yield compressor.flush()


def _say_if_broken_off(written: Iterator[bytes], last: bytes) -> Iterator[bytes]:
    """End a file that broke off with a `last` line that says so, because the connection closes as after a whole one."""
    try:
        yield from written
    except Exception:
        log.exception("an export broke off")
        if not last:
            raise
        yield last


def _hold_no_connection(pages: Iterator[Page]) -> Iterator[Page]:
    """Yield the pages, without holding a database connection while the client reads one."""
    for page in pages:
        give_connection_back()
        yield page


def _chain(first: Page, others: Iterator[Page]) -> Iterator[Page]:
    yield first
    yield from others


def _write_jsonl(pages: Iterable[Page]) -> Iterator[bytes]:
    for page in pages:
        yield b"".join(encode(row, option=orjson.OPT_APPEND_NEWLINE) for row in page)


def _write_csv(pages: Iterable[Page]) -> Iterator[bytes]:
    yield "".join(spreadsheet.lines_of(_COLUMNS, [])).encode()
    for page in pages:
        cells = [[_cell(row[name]) for name in _COLUMNS] for row in page]
        yield "".join(spreadsheet.lines_without_headers(cells)).encode()


def _cell(value: Any) -> Any:
    return encode(value).decode() if isinstance(value, dict | list) else value


def _accepts_gzip(request: Request) -> bool:
    for offered in request.headers.get("Accept-Encoding", "").split(","):
        name, _, weight = offered.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


_WRITERS = {"jsonl": _write_jsonl, "csv": _write_csv}
# Formats not listed here are visibly incomplete when cut off: JSON in one piece, and compressed files.
_MESSAGE = "The export broke off here and is not whole. Ask for it again."
_BROKEN_OFF: dict[Any, bytes] = {
    _write_jsonl: encode({"error": {"code": ErrorCode.INTERNAL_ERROR, "message": _MESSAGE}}) + b"\n",
    _write_csv: f'"{_MESSAGE}"\r\n'.encode(),
}
