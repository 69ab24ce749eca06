"""Defines the kind of a memory by its row, in Python and as one SQL expression."""

from __future__ import annotations

from memory.enums import MemoryKind, Role

# The chunks of a document are in a separate session, named by this prefix and the document's id.
SESSION_PREFIX = "document:"
# Key in a preference's metadata for its attitude, object, scope and strength.
PREFERENCE_KEY = "preference"
# A less important memory is an episode, talk that says little and decays first.
EPISODE_BELOW = 0.40


def kind_of(*, role: str, session: str, turn: int, importance: float, is_preference: bool = False) -> MemoryKind:
    """Return the kind of a memory. Chunks and facts have negative turns; facts are in the session of their turns."""
    if is_preference:
        return MemoryKind.PREFERENCE
    if turn < 0:
        return MemoryKind.DOCUMENT if session.startswith(SESSION_PREFIX) else MemoryKind.FACT
    if importance < EPISODE_BELOW:
        return MemoryKind.EPISODE
    return MemoryKind.SAID if role == Role.USER else MemoryKind.ANSWERED


# SQL expressions for a memory `m`.
IS_DERIVED_SQL = f"(m.turn < 0 AND NOT starts_with(m.session, '{SESSION_PREFIX}'))"
KIND_SQL = f"""(CASE WHEN m.is_preference THEN '{MemoryKind.PREFERENCE.value}'
    WHEN {IS_DERIVED_SQL} THEN '{MemoryKind.FACT.value}'
    WHEN m.turn < 0 THEN '{MemoryKind.DOCUMENT.value}'
    WHEN m.importance < {EPISODE_BELOW} THEN '{MemoryKind.EPISODE.value}'
    WHEN m.role = '{Role.USER.value}' THEN '{MemoryKind.SAID.value}' ELSE '{MemoryKind.ANSWERED.value}' END)"""
