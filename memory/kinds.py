"""Of which kind a memory is, by its row. Defined once, in Python and as one SQL expression."""

from __future__ import annotations

from memory.enums import MemoryKind, Role

# The chunks of a document stand in a session of their own, named by this and the document's id.
SESSION_PREFIX = "document:"
# What is less important is talk that says little: an episode, the first to decay.
EPISODE_BELOW = 0.40


def kind_of(*, role: str, session: str, turn: int, importance: float) -> MemoryKind:
    """The kind of a memory: facts and chunks have turns below 0, facts in the session of what they were read in."""
    if turn < 0:
        return MemoryKind.DOCUMENT if session.startswith(SESSION_PREFIX) else MemoryKind.FACT
    if importance < EPISODE_BELOW:
        return MemoryKind.EPISODE
    return MemoryKind.SAID if role == Role.USER else MemoryKind.ANSWERED


# Of a memory `m`.
IS_FACT_SQL = f"(m.turn < 0 AND NOT starts_with(m.session, '{SESSION_PREFIX}'))"
KIND_SQL = f"""(CASE WHEN {IS_FACT_SQL} THEN '{MemoryKind.FACT.value}'
    WHEN m.turn < 0 THEN '{MemoryKind.DOCUMENT.value}'
    WHEN m.importance < {EPISODE_BELOW} THEN '{MemoryKind.EPISODE.value}'
    WHEN m.role = '{Role.USER.value}' THEN '{MemoryKind.SAID.value}' ELSE '{MemoryKind.ANSWERED.value}' END)"""
