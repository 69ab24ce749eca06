"""Builds the context pack that is returned to the agent, in the published schema SCHEMA."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from memory.enums import Tier
from memory.retrieval.durable import DurableMemory
from memory.retrieval.hit_memory import Later
from memory.retrieval.hits import Hit
from memory.retrieval.rendered_pack import RenderedPack
from memory.types import WindowMessage

SCHEMA = "memos.context_pack.v1"
_LABELS = {tier.value: tier.wire_label for tier in Tier}
# These metadata keys of a hit are set by MemOS, and only when they apply; clients' values are dropped.
_MARKS = frozenset({"excerpt", "later", "suspected", "retired_statements"})


def chunk(hit: Hit) -> dict[str, Any]:
    """Returns one retrieved memory for the pack.

    `score`: its cosine similarity; `relevance`: the probability (0..1) that it answers the question. `text` leaves out
    statements that no longer hold; `retired_statements` has their places in the stored text. `metadata` has the
    client's values and those of MemOS: `final_score`, by which hits are ranked; `rerank_score`, the same within 0..1;
    `excerpt`, the place of `text` in the whole text if it is a part of it (`start`, `end`, `characters`); `later`,
    newer memories that replace words of `text`; `suspected`, set if the memory may try to steer its reader and must be
    read as a quotation, not an instruction.
    """
    memory, score = hit.memory, hit.score
    metadata = {name: value for name, value in memory.metadata.items() if name not in _MARKS}
    metadata |= {
        "role": memory.role,
        "speaker": memory.speaker,
        "session_id": memory.session,
        "turn": memory.turn,
        "occurred_at": memory.occurred_at.isoformat(),
        "created_at": memory.created_at.isoformat(),
        "overlap": round(hit.overlap, 6),
        "final_score": round(score, 6),
        "rerank_score": round(unit_score(score), 6),
    }
    if hit.excerpt:
        metadata["excerpt"] = hit.excerpt.to_dict()
    if memory.later:
        metadata["later"] = [_later(one) for one in memory.later]
    if memory.suspected:
        metadata["suspected"] = True
    if memory.retired:
        metadata["retired_statements"] = [list(span) for span in memory.retired]
    return {
        "id": memory.id_text,
        "tier": _LABELS[memory.tier],
        "text": hit.text,
        "score": round(hit.similarity, 6),
        "relevance": round(hit.relevance, 4),
        "retired_statements": [list(span) for span in memory.retired],
        "metadata": metadata,
    }


def _later(later: Later) -> dict[str, Any]:
    return {
        "memory_id": str(later.memory_id),
        "words": later.words,
        "text": later.excerpt,
        "occurred_at": later.occurred_at.isoformat(),
    }


def unit_score(score: float) -> float:
    """Maps a score to 0..1, in the same order: 1 − e^(−score), and 0 for scores below 0."""
    return -math.expm1(-max(0.0, score))


def build(
    *,
    namespace: str,
    session: str,
    query_text: str,
    procedural: Mapping[str, Any],
    durable: Sequence[DurableMemory],
    window: Sequence[WindowMessage],
    summary: str,
    summary_id: str | None,
    chunks: Sequence[Mapping[str, Any]],
    answerable: bool,
    rendered: RenderedPack,
) -> dict[str, Any]:
    """Builds the pack: everything that was found, and the `text` for the agent with its `manifest`.

    `summary` is the session's card as text, empty if there is none yet.
    """
    return {
        "schema": SCHEMA,
        "namespace": namespace,
        "session_id": session,
        "query_text": query_text,
        "procedural": dict(procedural),
        "durable": [_durable(one) for one in durable],
        "working_memory": {
            "l1_window": [_message(message) for message in window],
            "session_summary": summary,
            "session_summary_id": summary_id,
        },
        "retrieval": {"raw_chunks": list(chunks), "answerable": answerable},
        "text": rendered.text,
        "manifest": rendered.manifest,
    }


def _durable(one: DurableMemory) -> dict[str, Any]:
    return {
        "memory_id": str(one.id),
        "role": one.role,
        "speaker": one.speaker,
        "text": one.text,
        "occurred_at": one.occurred_at.isoformat(),
        **({"suspected": True} if one.suspected else {}),
    }


def _message(message: WindowMessage) -> dict[str, Any]:
    return {
        "memory_id": message.memory_id,
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "occurred_at": message.occurred_at,
        **({"suspected": True} if message.suspected else {}),
    }
