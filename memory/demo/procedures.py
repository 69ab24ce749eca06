"""The prompt and the tools for agents of a demo namespace."""

from __future__ import annotations

from typing import Any

from memory.enums import ProcedureKind
from memory.models import Procedure


def _schema(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def demo_procedures(namespace_id: int) -> list[Procedure]:
    """Return unsaved rows for one namespace, so that no other one pays for their tokens."""
    found = [
        Procedure(
            kind=ProcedureKind.PROMPT,
            name="memos.answer-from-memory",
            description="How an agent answers from what it is handed",
            text=(
                "Answer from the memories you are given. Say which memory each statement comes from, by its number. "
                "When two memories contradict each other, the later one holds; say that it changed. When the memories "
                "do not hold the answer, say so and do not guess. Answer in the language of the question.\n"
                "只根据给出的记忆回答，并注明出处；记忆互相矛盾时以较新的为准；没有依据就直说不知道。"
            ),
        ),
        Procedure(
            kind=ProcedureKind.TOOL,
            name="search_memory",
            description="Finds what was said or decided before",
            parameters=_schema(
                ["query"],
                query={"type": "string", "minLength": 1, "maxLength": 2000, "description": "What to look for"},
                top_k={"type": "integer", "minimum": 1, "maximum": 50, "default": 6},
            ),
        ),
        Procedure(
            kind=ProcedureKind.TOOL,
            name="remember",
            description="Keeps one statement for later conversations",
            parameters=_schema(
                ["text"],
                text={"type": "string", "minLength": 1, "maxLength": 20000, "description": "What to remember"},
                speaker={"type": "string", "maxLength": 128, "description": "Who said it"},
                occurred_at={"type": "string", "format": "date-time", "description": "When; now if left out"},
            ),
        ),
    ]
    for entry in found:
        entry.namespace_id = namespace_id
    return found
