"""Streams rows as a file: JSON lines, or CSV whose cells spreadsheets do not execute as formulas."""

from __future__ import annotations

import csv
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from memory.models import Memory
from memory.services.memories.view_log import note_exported
from memory.text.spreadsheet import Echo, escape_formula
from memory.types import Access
from ops.access import request_id, staff_access

MAX_ROWS = 50_000
CHUNK = 1_000
COLUMNS = (
    *("id", "namespace", "session", "turn", "role", "speaker", "text", "metadata", "importance", "tier", "state"),
    *("pinned", "review", "occurred_at", "created_at", "valid_to", "superseded_by"),
)
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}


class TooMany(Exception):
    """Raised if more rows are chosen than a file may hold."""


def export(request: HttpRequest, rows: QuerySet, form: str) -> StreamingHttpResponse:
    """Stream the memories as a file, newest first. The export is audited before the first byte. Raises TooMany."""
    chosen = list(rows.order_by("-pk").values_list("pk", "namespace_id")[: MAX_ROWS + 1])
    if len(chosen) > MAX_ROWS:
        raise TooMany
    access, now = staff_access(request), timezone.now()
    counts = Counter(namespace_id for _pk, namespace_id in chosen)
    note_exported(access, counts=counts, format_name=form, texts=True, now=now, request_id=request_id(request))
    records = _records([pk for pk, _namespace in chosen], access)
    lines = _csv(records) if form == "csv" else _json_lines(records)
    response = StreamingHttpResponse(lines, content_type=TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="memories-{now:%Y%m%d-%H%M%S}.{form}"'
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _records(ids: Sequence[uuid.UUID], access: Access) -> Iterator[dict[str, Any]]:
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        rows = Memory.objects.reachable_by(access).filter(pk__in=chunk).select_related("namespace")
        found = {row.pk: row for row in rows.defer("terms", "content_hash")}
        for pk in chunk:
            if pk in found:
                yield _record(found[pk])


def _record(row: Memory) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in COLUMNS}
    return {
        **values,
        "id": str(row.pk),
        "namespace": row.namespace.name,
        **{name: values[name].isoformat() if values[name] else None for name in ("occurred_at", "created_at")},
        "valid_to": row.valid_to.isoformat() if row.valid_to else None,
        "superseded_by": str(row.superseded_by) if row.superseded_by else None,
    }


def _csv(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(Echo())
    # The byte order mark tells spreadsheets that the file is UTF-8.
    yield "\ufeff" + writer.writerow(COLUMNS)
    for record in records:
        cells = {**record, "metadata": json.dumps(record["metadata"], ensure_ascii=False)}
        yield writer.writerow([escape_formula(cells[name]) for name in COLUMNS])


def _json_lines(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False, default=str) + "\n"
