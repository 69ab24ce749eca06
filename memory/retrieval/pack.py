"""The context pack: what is handed to the agent, in a shape that clients know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from memory.enums import Tier
from memory.retrieval.handover import Handover
from memory.retrieval.pipeline import Hit
from memory.types import Scope, WindowMessage

SCHEMA = "memos.context_pack.v1"


def chunk(hit: Hit) -> dict[str, Any]:
    """One retrieved memory. `score` is its cosine similarity; `metadata` is the client's own plus ours.

    `text` is without the statements that hold no longer: `retired_statements` says where they stand in the memory.
    """
    return {
        "id": str(hit.id),
        "tier": Tier(hit.tier).label,
        "text": hit.text,
        "score": round(hit.similarity, 6),
        "metadata": {
            **hit.metadata,
            "role": hit.role,
            "speaker": hit.speaker,
            "session_id": hit.session,
            "turn": hit.turn,
            "occurred_at": hit.occurred_at.isoformat(),
            "created_at": hit.created_at.isoformat(),
            "overlap": round(hit.overlap, 6),
            "rerank_score": round(hit.score, 6),
            **({"retired_statements": [list(span) for span in hit.retired]} if hit.retired else {}),
        },
    }


def build(
    scope: Scope,
    *,
    session: str,
    query_text: str,
    procedural: Mapping[str, Any],
    window: Sequence[WindowMessage],
    summary: Mapping[str, Any] | None,
    summary_id: str | None,
    chunks: Sequence[Mapping[str, Any]],
    handed_over: Handover,
) -> dict[str, Any]:
    """The pack: all that was found, and the `text` for the agent with the `manifest` of what of it the text holds."""
    return {
        "schema": SCHEMA,
        "namespace": scope.namespace,
        "session_id": session,
        "query_text": query_text,
        "procedural": dict(procedural),
        "working_memory": {
            "l1_window": [_message(message) for message in window],
            "session_summary": summary,
            "session_summary_id": summary_id,
        },
        "retrieval": {"raw_chunks": list(chunks)},
        "text": handed_over.text,
        "manifest": handed_over.manifest,
    }


def _message(message: WindowMessage) -> dict[str, Any]:
    return {
        "memory_id": message.memory_id,
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "occurred_at": message.occurred_at,
    }


def card_of(text: str) -> dict[str, Any]:
    """The card that a condensation's text spells."""
    card = orjson.loads(text)
    assert isinstance(card, dict)
    return card
