"""The demo conversations from `conversations.json`, with dates that count back from today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import cache
from pathlib import Path

import orjson

from memory.types import NewMemory

_FILE = Path(__file__).with_name("conversations.json")
# Time between two turns.
_PACE = timedelta(seconds=75)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session of the demo: its turns as (role, speaker, text), and its start (days ago, time of day in UTC).

    `expires_in_days` has words of a turn, and after how many days it expires.
    """

    session: str
    title: str
    days_ago: int
    at: time
    turns: tuple[tuple[str, str, str], ...]
    expires_in_days: tuple[tuple[str, int], ...] = ()

    def memories(self, *, session: str, now: datetime) -> list[NewMemory]:
        """Return the turns as memories of `session`, dated back from `now`."""
        day = (now - timedelta(days=self.days_ago)).date()
        began = datetime.combine(day, self.at, tzinfo=now.tzinfo)
        return [
            NewMemory(
                session=session,
                role=role,
                speaker=speaker,
                text=text,
                metadata={"demo": self.session},
                occurred_at=began + order * _PACE,
            )
            for order, (role, speaker, text) in enumerate(self.turns)
        ]


@cache
def conversations() -> tuple[Conversation, ...]:
    """Return all demo conversations, oldest first."""
    entries = orjson.loads(_FILE.read_bytes())["conversations"]
    found = [
        Conversation(
            entry["session"],
            entry["title"],
            entry["days_ago"],
            time.fromisoformat(entry["at"]),
            tuple((role, speaker, text) for role, speaker, text in entry["turns"]),
            tuple(entry.get("expires_in_days", {}).items()),
        )
        for entry in entries
    ]
    return tuple(sorted(found, key=lambda conversation: -conversation.days_ago))


def conversation(session: str) -> Conversation:
    """Return the demo conversation of that name. Raise KeyError if there is none."""
    return {entry.session: entry for entry in conversations()}[session]
