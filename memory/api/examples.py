"""Example requests by operation id. They find something in the demo namespace (`memory.demo`)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

NAMESPACE = "demo"
# Values with which the docs page fills parameters of these names.
PARAMETERS: dict[str, Any] = {"namespace": NAMESPACE}
_STORE_REVIEW = "How many working days does the store review need?"
_BUDGET = "What is the budget for the launch campaign?"

REQUESTS: dict[str, dict[str, dict[str, Any]]] = {
    "ingest": {
        "One turn": {
            "namespace": NAMESPACE,
            "session_id": "tried-out",
            "speaker": "Mei",
            "text": "The pricing page goes online on Tuesday at ten.",
        },
        "Messages of a chat": {
            "namespace": NAMESPACE,
            "session_id": "tried-out",
            "messages": [
                {"role": "user", "name": "Mei", "content": "Who writes the release notes?"},
                {"role": "assistant", "name": "Atlas", "content": "You do, Mei."},
            ],
        },
    },
    "ingest_batch": {
        "Two turns": {
            "items": [
                {"namespace": NAMESPACE, "session_id": "tried-out", "text": "Priya is on leave in May."},
                {"namespace": NAMESPACE, "session_id": "tried-out", "text": "Jonas stands in for Priya."},
            ]
        }
    },
    "query": {
        "For an agent's prompt": {
            "namespace": NAMESPACE,
            "session_id": "release-kickoff",
            "query": "Why PostgreSQL and not MongoDB?",
            "top_k": 3,
            "max_tokens": 500,
        },
        "In Chinese": {"namespace": NAMESPACE, "session_id": "payments-weekly", "query": "我踩过哪些坑？"},
    },
    "search": {
        "Everywhere": {"namespace": NAMESPACE, "query": _STORE_REVIEW, "top_k": 3},
        "What one person said": {
            "namespace": NAMESPACE,
            "query": "Which evenings are for the cello?",
            "filter": {"speaker": "Camille"},
            "explain": True,
        },
    },
    "retrieval": {
        "As Dify asks": {
            "knowledge_id": NAMESPACE,
            "query": _STORE_REVIEW,
            "retrieval_setting": {"top_k": 3, "score_threshold": 0.5},
        }
    },
    "search_batch": {
        "Two questions": {
            "questions": [{"query": _STORE_REVIEW}, {"query": _BUDGET, "top_k": 1}],
            "defaults": {"namespace": NAMESPACE, "top_k": 3},
        }
    },
    "answer": {"With citations": {"namespace": NAMESPACE, "query": _STORE_REVIEW}},
    "answer_stream": {"With citations": {"namespace": NAMESPACE, "query": _STORE_REVIEW}},
    "chat": {"One message": {"namespace": NAMESPACE, "session_id": "tried-out", "message": _BUDGET}},
    "chat_stream": {"One message": {"namespace": NAMESPACE, "session_id": "tried-out", "message": _BUDGET}},
    "chat_completions": {
        "With the demo's memory": {
            "model": "default",
            "messages": [{"role": "user", "content": _BUDGET}],
            "metadata": {"memos_namespace": NAMESPACE, "memos_session": "tried-out"},
        }
    },
    "put_document": {
        "A page of Markdown": {
            "namespace": NAMESPACE,
            "document_id": "rollback-plan",
            "title": "Rollback plan",
            "format": "markdown",
            "text": "# Rollback\n\nSwitch the flag `calendar-sync` off.\n\n# Afterwards\n\nBump the cache version.",
        }
    },
    "reset_session": {
        "Only count": {"namespace": NAMESPACE, "session_id": "release-day", "confirm": True, "dry_run": True}
    },
    "request_erasure": {
        "Only count": {"namespace": NAMESPACE, "speaker": "Camille", "reason": "She asked for it", "dry_run": True}
    },
    "memtensor_search": {"A cube of the demo": {"query": _STORE_REVIEW, "readable_cube_ids": [NAMESPACE], "top_k": 3}},
    "three_tier_ingest": {"A content": {"group_id": NAMESPACE, "content": "Lena is on call after the launch."}},
    "three_tier_query": {"A question": {"group_id": NAMESPACE, "query": _STORE_REVIEW}},
}  # fmt: skip


def list_examples(operation_id: str) -> list[OpenApiExample]:
    """List the example requests of an operation."""
    shown = REQUESTS.get(operation_id, {})
    return [OpenApiExample(name, value=value, request_only=True) for name, value in shown.items()]
