"""Offers sessions as resources that clients may attach: their conversation as text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from django.http import HttpRequest

from memory.api.mcp.result_size import part_of, size_of
from memory.api.mcp.route_call import RouteArguments, RouteRefusal, call_route
from memory.api.mcp.tool_results import NOTE
from memory.api.mcp.tools import LIST_MEMORIES, result_chars
from memory.enums import AccessScope
from memory.kinds import SESSION_PREFIX
from memory.services.sessions.listing import list_sessions
from memory.services.tenancy.namespaces import default_namespace, existing_scope
from memory.types import Access

TEMPLATE = "memos://{namespace}/sessions/{session_id}"
MEDIA_TYPE = "text/plain"
# The limits of a resource (the newest turns of a session) and of a list (the newest sessions of a namespace).
MOST_TURNS = 200
MOST_SESSIONS = 50
# The characters that are reserved for the lines above the turns.
HEAD_CHARS = 500
_ADDRESS = re.compile(r"memos://([^/?#]+)/sessions/([^/?#]+)")


class NoSuchResource(Exception):
    """Raised for an address that leads to nothing the caller reaches; the message says what addresses look like."""


def list_templates(access: Access) -> list[dict[str, Any]]:
    """Returns the templates that the caller's scopes allow."""
    if not access.may(AccessScope.READ):
        return []
    return [
        {
            "uriTemplate": TEMPLATE,
            "name": "session",
            "title": "A conversation",
            "description": f"The turns of a session, oldest first; of a long one the newest {MOST_TURNS}. {NOTE}",
            "mimeType": MEDIA_TYPE,
        }
    ]


def list_resources(access: Access) -> list[dict[str, Any]]:
    """Lists the newest sessions of the key's default namespace; none if it has no default."""
    namespace = default_namespace(access) if access.may(AccessScope.READ) else None
    scope = existing_scope(access, name=namespace) if namespace else None
    if namespace is None or scope is None:
        return []
    own = replace(access, all_namespaces=False, namespace_ids=frozenset({scope.namespace_id}))
    sessions, _ = list_sessions(own, limit=MOST_SESSIONS)
    return [
        {
            "uri": _uri(namespace, session.name),
            "name": session.name,
            "title": f"Conversation {session.name}",
            "description": f"{session.messages} messages, the last at {session.last_message_at:%Y-%m-%d %H:%M} UTC",
            "mimeType": MEDIA_TYPE,
            "annotations": {"lastModified": session.last_message_at.isoformat()},
        }
        for session in sessions
        # The chunks of a document have a separate session, which is no conversation.
        if not session.name.startswith(SESSION_PREFIX)
    ]


def read_resource(request: HttpRequest, access: Access, uri: str) -> list[dict[str, Any]]:
    """Returns the contents of a session. Raises NoSuchResource, and RouteRefusal if the route refuses otherwise."""
    place = _ADDRESS.fullmatch(uri)
    if place is None:
        raise NoSuchResource(f"There is no such resource; addresses are like {TEMPLATE}.")
    namespace, session = _decode(place[1]), _decode(place[2])
    query = {"namespace": namespace, "session_id": session, "limit": str(MOST_TURNS)}
    try:
        page = call_route(request, access, LIST_MEMORIES, RouteArguments(query=query))
    except RouteRefusal as refusal:
        if refusal.status == 404:
            raise NoSuchResource(refusal.error["message"]) from refusal
        raise
    # Facts and chunks of documents are no turns.
    turns = [memory for memory in reversed(page["memories"]) if memory["turn"] > 0]
    if not turns:
        raise NoSuchResource(f"The session {session!r} has no turns.")
    return [{"uri": uri, "mimeType": MEDIA_TYPE, "text": _as_text(turns, is_cut=page["next_cursor"] is not None)}]


def _as_text(turns: list[dict[str, Any]], *, is_cut: bool) -> str:
    """Writes the newest turns that fit into a result, oldest first."""
    room = result_chars() - HEAD_CHARS
    lines: list[str] = []
    for turn in reversed(turns):
        who = f"{turn['speaker']} ({turn['role']})" if turn["speaker"] else turn["role"]
        line = f"[{turn['occurred_at']}] {who}: {turn['text']}"
        if size_of(line) > room:
            is_cut = True
            if not lines:
                lines.append(f"{part_of(line, 0, room)[0]}…")
            break
        room -= size_of(line)
        lines.append(line)
    told = ["Earlier turns are left out: `list_memories` with the session's `session_id` has them."] if is_cut else []
    return "\n".join([NOTE, "", *told, *reversed(lines)])


def _uri(namespace: str, session: str) -> str:
    return f"memos://{quote(namespace, safe='')}/sessions/{quote(session, safe='')}"


def _decode(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise NoSuchResource(f"The address is not UTF-8; addresses are like {TEMPLATE}.") from None
