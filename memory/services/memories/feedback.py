"""Stores callers' opinions of a memory: they shift its importance a little and put doubted memories on the review
list."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import datetime
from typing import Any

from memory.enums import AuditEvent, Feedback, Review
from memory.errors import InvalidInput
from memory.governance.feedback import shift_importance
from memory.models import Memory, MemoryFeedback
from memory.models.keys import new_id
from memory.services.memories.change import AS_IT_COMES, MemoryChange, change
from memory.services.tenancy.notes import clean_note
from memory.types import Access, ChangeTerms

MAX_NOTE_CHARS = 500
_DOUBTS = {Feedback.WRONG.value: Review.WRONG, Feedback.OUTDATED.value: Review.OUTDATED}


def give_feedback(
    access: Access,
    *,
    memory_id: uuid.UUID,
    kind: Feedback,
    now: datetime,
    note: str = "",
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Store the caller's opinion of a memory in place of their former one; the same opinion again changes nothing.

    Importance follows `governance.feedback`. `wrong` and `outdated` put the memory on the review list; when the last
    such opinion changes, the memory leaves the list. Answers and raises as `change` does.
    """
    note = clean_note(note.strip(), field="note")
    if len(note) > MAX_NOTE_CHARS or "\0" in note:
        raise InvalidInput(f"A note has at most {MAX_NOTE_CHARS} characters and no NUL.", detail={"field": "note"})

    def apply(memory: Memory) -> MemoryChange | None:
        opinions = MemoryFeedback.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)
        former = opinions.filter(actor=access.actor).first()
        if former is not None and (former.kind, former.note) == (kind, note):
            return None
        held_before = Counter(opinions.values_list("kind", flat=True))
        opinions.update_or_create(
            namespace_id=memory.namespace_id,
            memory_id=memory.pk,
            actor=access.actor,
            defaults={"kind": kind, "note": note, "created_at": now},
            create_defaults={"id": new_id(), "kind": kind, "note": note, "created_at": now},
        )
        held_now = held_before + Counter([str(kind)]) - Counter([former.kind] if former else [])
        before = {"importance": memory.importance, "review": memory.review, "opinion": former and former.kind}
        memory.importance = shift_importance(memory.importance, held_before, held_now)
        if memory.review != Review.SUSPECTED and kind in _DOUBTS and (former is None or former.kind != kind):
            memory.review = _DOUBTS[kind]
        elif memory.review in _DOUBTS.values() and not held_now.keys() & _DOUBTS.keys():
            memory.review = ""
        after = {"importance": memory.importance, "review": memory.review, "opinion": str(kind)}
        changed = [name for name in ("importance", "review") if before[name] != after[name]]
        return MemoryChange(
            AuditEvent.MEMORY_FEEDBACK,
            ["feedback", *changed],
            ["importance", "review"],
            {"before": before, "after": after, "opinions": dict(held_now)},
        )

    return change(access, memory_id=memory_id, terms=terms, now=now, apply=apply)
