"""Reads lines of a cube's file as rows to store, except for memories (`memory_line`)."""

from __future__ import annotations

from typing import Any

import orjson

from memory.kinds import SESSION_PREFIX
from memory.models import (
    AuditLog,
    Condensation,
    Document,
    Entity,
    EntityAlias,
    MemoryLink,
    NamespacePolicy,
    Procedure,
    QuarantinedItem,
    Session,
    UnsurePair,
)
from memory.models.memory import content_hash
from memory.services.cube_files import lines
from memory.services.cube_files.column_values import (
    IdMap,
    Line,
    UnreadableLine,
    clean_value,
    read_row,
    take_object,
    to_uuid,
)
from memory.services.summaries.take_over import list_sources
from memory.text.names import name_key
from memory.text.transcripts import MAX_NAME_CHARS, MAX_TEXT_CHARS

_MAX_DETAILS_BYTES = 65_536


def read_document(line: Line, ids: IdMap) -> Document:
    """Return a document. Raises UnreadableLine."""
    return read_row(Document, line, lines.DOCUMENT, ids, changed={"id"})


def read_session(line: Line, ids: IdMap) -> Session:
    """Return a session with its end. Raises UnreadableLine."""
    return read_row(Session, line, lines.SESSION, ids, changed=set())


def read_name(line: Line, ids: IdMap) -> tuple[EntityAlias, Entity, Entity]:
    """Return a name with its home and the entity that it stands for. Raises UnreadableLine."""
    home, entity = (
        read_row(Entity, take_object(line, name), lines.ENTITY, ids, changed={"id", "merged_into"})
        for name in ("home", "entity")
    )
    for one, name in ((home, "home"), (entity, "entity")):
        merged = line[name].get("merged_into")
        one.merged_into = ids.find(merged) if merged else None
    alias = read_row(EntityAlias, line, lines.NAME, ids, changed={"id", "stated_in"})
    alias.stated_in = ids.find(line["stated_in"]) if line.get("stated_in") else None
    alias.home, alias.entity = home.id, entity.id
    if name_key(alias.name) != alias.key:
        raise UnreadableLine("key is not that of the name")
    return alias, home, entity


def read_link(line: Line, ids: IdMap) -> MemoryLink:
    """Return a link, with the ids of its memories here. Raises UnreadableLine."""
    link = read_row(MemoryLink, line, lines.LINK, ids, changed={"id", "memory_id", "other_id"})
    link.memory_id, link.other_id = ids.find(line.get("memory_id")), ids.find(line.get("other_id"))
    if not 0 <= link.confidence <= 1:
        raise UnreadableLine("confidence is not between 0 and 1")
    return link


def read_pair(line: Line, ids: IdMap) -> UnsurePair:
    """Return a pair, with the ids of its memories here. Raises UnreadableLine."""
    pair = read_row(UnsurePair, line, lines.PAIR, ids, changed={"id", "newer_id", "older_id"})
    pair.newer_id, pair.older_id = ids.find(line.get("newer_id")), ids.find(line.get("older_id"))
    if not 0 <= pair.confidence <= 1:
        raise UnreadableLine("confidence is not between 0 and 1")
    if not (0 <= pair.start < pair.end and 0 <= pair.by_start < pair.by_end and pair.attempts >= 0):
        raise UnreadableLine("a statement of it is none")
    try:
        pair.texts_hash = bytes.fromhex(line["texts_hash"])
    except (KeyError, TypeError, ValueError):
        raise UnreadableLine("texts_hash is no hash") from None
    return pair


def read_procedure(line: Line, ids: IdMap) -> Procedure:
    """Return a prompt or tool. Raises UnreadableLine."""
    entry = read_row(Procedure, line, lines.PROCEDURE, ids, changed=set())
    if len(entry.text) > MAX_TEXT_CHARS or len(orjson.dumps(entry.parameters)) > _MAX_DETAILS_BYTES:
        raise UnreadableLine(f"a text has at most {MAX_TEXT_CHARS} characters, parameters {_MAX_DETAILS_BYTES} bytes")
    if not entry.name.strip() or not entry.version.strip():
        raise UnreadableLine("it has no name or version")
    return entry


def read_policy(line: Line, ids: IdMap) -> NamespacePolicy:
    """Return a version of the policy. Raises UnreadableLine."""
    row = read_row(NamespacePolicy, line, lines.POLICY, ids, changed=set())
    if row.version < 1:
        raise UnreadableLine("version is none that a policy has")
    return row


def read_summary(line: Line, ids: IdMap) -> tuple[Condensation, int]:
    """Return a summary, and the number of its session's turns that it covers. Raises UnreadableLine."""
    summary = read_row(Condensation, line, lines.SUMMARY, ids, changed={"id", "source_memory_ids", "item_sources"})
    sources = line.get("source_memory_ids")
    cards = take_object(line, "item_sources")
    try:
        list_sources(cards)
        summary.source_memory_ids = [ids.find(one) for one in sources or ()]
        summary.item_sources = {
            name: [[str(ids.find(one)) for one in item] for item in items] for name, items in cards.items()
        }
        if "new_memory_ids" in summary.trigger_details:
            ended_by = [str(ids.find(one)) for one in summary.trigger_details["new_memory_ids"]]
            summary.trigger_details = {**summary.trigger_details, "new_memory_ids": ended_by}
        return summary, int(line["turns"])
    except (TypeError, ValueError, AttributeError, KeyError):
        raise UnreadableLine("its sources are no lists of ids") from None


def read_item(line: Line, ids: IdMap) -> QuarantinedItem:
    """Return a quarantined item. Raises UnreadableLine."""
    item = read_row(QuarantinedItem, line, lines.ITEM, ids, changed={"id"})
    if len(item.session) > MAX_NAME_CHARS or item.session.startswith(SESSION_PREFIX):
        raise UnreadableLine("session is none that an item has")
    if not all(_is_reason(one) for one in item.reasons) or not 0 <= item.confidence <= 1:
        raise UnreadableLine("reasons are not what the gate says")
    item.content_hash, item.characters = content_hash(item.text), len(item.text)
    return item


def read_event(line: Line) -> dict[str, Any]:
    """Return the contents of an audit event. Raises UnreadableLine."""
    values = {name: clean_value(AuditLog, name, line.get(name)) for name in lines.EVENT if name != "id"}
    if len(orjson.dumps(values["details"])) > _MAX_DETAILS_BYTES:
        raise UnreadableLine(f"details have more than {_MAX_DETAILS_BYTES} bytes")
    values["created_at"] = values["created_at"].isoformat()
    return {"id": str(to_uuid(line.get("id"))), **values}


def _is_reason(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("rule", "says"))
