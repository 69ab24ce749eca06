"""Joins single memories to conversations: consecutive memories of the same session form one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memory.services.imports.source import SourceConversation, SourceTurn
from memory.text.transcripts import TranscriptFault, UnreadableTurn

# The most memories of one conversation.
_MOST = 500


class LeftOut(Exception):
    """The memory is left out on purpose; the message is the reason for the report."""


def read_singles(
    entries: Iterable[Any], read_one: Callable[[Any], Iterator[SourceTurn]], *, noun: str = "memory"
) -> Iterator[SourceConversation]:
    """Yield the turns that `read_one` makes of each entry; `noun` names an entry in faults (`memory 7`)."""
    current = SourceConversation("")
    for number, entry in enumerate(entries, start=1):
        turns: list[SourceTurn] = []
        try:
            turns += read_one(entry)
        except LeftOut as reason:
            current.left_out += Counter([str(reason)])
            current.messages += 1
        except UnreadableTurn as fault:
            current.faults.append(TranscriptFault(f"{noun} {number}", str(fault)))
            current.messages += 1
        # An entry without a turn is an empty line.
        current.messages += bool(turns)
        session = turns[0].memory.session if turns else current.session
        if current.turns and (session != current.session or len(current.turns) >= _MOST):
            yield current
            current = SourceConversation(session)
        current.session = session
        current.turns += turns
        if len(current.faults) >= _MOST:
            yield current
            current = SourceConversation(session)
    yield current
