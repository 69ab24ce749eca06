"""Reads the rows that the ops routes list, newest first, from the namespaces that a caller reaches."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import orjson
from django.db.models import TextField
from django.db.models.functions import Cast

from memory.enums import PackSection, ProcedureKind
from memory.models import AuditLog, Condensation, ContextPack, Procedure, Session
from memory.models.paging import narrow
from memory.services.recall.context import procedure
from memory.types import Access, ListFilter

# The most bytes of packs in one listing; `pack` is empty for older ones beyond it.
MAX_PACK_BYTES = 16 * 1024 * 1024
# The structure of a pack's text, under the name that clients ask for. It is not a prompt for a model.
PACK_PROMPT: dict[str, Any] = {
    "name": "default_query_prompt_v1",
    "version": "1",
    "description": "The sections of a context pack's text, in their order",
    "sections": [section.value for section in PackSection],
    "namespace": None,
}
# The routes that an agent's host calls around each turn.
ROUTE_TOOLS: tuple[dict[str, Any], ...] = tuple(
    {"name": name, "endpoint": endpoint, "type": "http_api", "purpose": purpose, "namespace": None}
    for name, endpoint, purpose in (
        ("ingest", "/v1/ingest", "Remember what was said: one text, or a list of messages"),
        ("query", "/v1/query", "Bring back what a question needs, in one context pack"),
    )
)


def audit_events(access: Access, *, wanted: ListFilter) -> list[dict[str, Any]]:
    """Return the newest audit events. In a session's listing, events that a reset has hidden are left out."""
    rows = narrow(AuditLog.objects.reachable_by(access), access, wanted)
    if wanted.session is not None:
        hidden = Session.objects.reachable_by(access).filter(name=wanted.session).exclude(audit_hidden_before=None)
        for session in hidden.values("namespace_id", "audit_hidden_before"):
            rows = rows.exclude(namespace_id=session["namespace_id"], created_at__lt=session["audit_hidden_before"])
    return [
        {
            "id": str(row.pk),
            "namespace": row.namespace,
            "session_id": row.session,
            "event_type": row.event_type,
            "details": row.details,
            "actor": row.actor,
            "created_at": row.created_at.isoformat(),
        }
        for row in rows[: wanted.limit]
    ]


def condensations(access: Access, *, wanted: ListFilter) -> list[dict[str, Any]]:
    """Return the newest versions of summaries."""
    rows = narrow(Condensation.objects.reachable_by(access), access, wanted).select_related("namespace")
    return [
        {
            "id": str(row.pk),
            "namespace": row.namespace.name,
            "session_id": row.session,
            "version": row.version,
            "number": row.number,
            "method": row.method,
            "tokenizer": row.tokenizer,
            "trigger_reason": row.trigger_reason,
            "trigger_details": row.trigger_details,
            "source_memory_ids": [str(memory_id) for memory_id in row.source_memory_ids],
            "condensed_text": row.condensed_text,
            "item_sources": row.item_sources,
            "token_original": row.token_original,
            "token_condensed": row.token_condensed,
            "created_at": row.created_at.isoformat(),
        }
        for row in rows[: wanted.limit]
    ]


def context_packs(access: Access, *, wanted: ListFilter, include_pack: bool) -> list[dict[str, Any]]:
    """Return the newest packs, with their content if requested."""
    rows = narrow(ContextPack.objects.reachable_by(access), access, wanted).select_related("namespace").defer("pack")
    listed = list(rows[: wanted.limit])
    packs = _packs(listed) if include_pack else {}
    return [
        {
            "id": str(row.pk),
            "namespace": row.namespace.name,
            "session_id": row.session,
            "query_text": row.query_text,
            "session_summary_id": str(row.session_summary_id) if row.session_summary_id else None,
            "retrieved_count": row.retrieved_count,
            "created_at": row.created_at.isoformat(),
            "pack": packs.get(row.pk, {}),
        }
        for row in listed
    ]


def _packs(rows: Sequence[ContextPack]) -> dict[uuid.UUID, Any]:
    """Return the packs of the newest rows, as many as fit in MAX_PACK_BYTES, because one pack may have megabytes."""
    found: dict[uuid.UUID, Any] = {}
    size = 0
    for row in rows:
        pack = (
            ContextPack.objects.filter(namespace_id=row.namespace_id, pk=row.pk)
            .annotate(text=Cast("pack", TextField()))
            .values_list("text", flat=True)
            .first()
        )
        size += len(pack or "")
        if size > MAX_PACK_BYTES and found:
            break
        found[row.pk] = orjson.loads(pack) if pack else {}
    return found


def procedures(access: Access) -> dict[str, dict[str, Any]]:
    """Return the prompts and tools: `{prompt_registry: {name: prompt}, tool_registry: {"tools": [tool]}}`.

    The first ones exist on every server: the structure of a pack's text, and the routes. Then come the registered
    prompts and tools that agents of the caller's namespaces are given; of prompts with the same name, all but the first
    have `@version`, or `@version/namespace`, in theirs.
    """
    prompts: dict[str, dict[str, Any]] = {PACK_PROMPT["name"]: PACK_PROMPT}
    tools = [*ROUTE_TOOLS]
    for row in Procedure.objects.reachable_by(access).enabled().select_related("namespace"):
        namespace = row.namespace.name if row.namespace else None
        entry = {**procedure(row), "namespace": namespace}
        if row.kind == ProcedureKind.TOOL:
            tools.append({**entry, "endpoint": "", "type": "function", "purpose": row.description})
            continue
        names = (row.name, f"{row.name}@{row.version}", f"{row.name}@{row.version}/{namespace}")
        prompts[next((name for name in names if name not in prompts), names[-1])] = entry
    return {"prompt_registry": prompts, "tool_registry": {"tools": tools}}
