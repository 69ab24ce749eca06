"""In which order what waits is taken: a lane for each priority and one for the clock, in each the namespaces in turn.

A message of the queue says by its key whose it is, so that the next one of each lane is a look into an index.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memory.enums import JobPriority

# django-q's own key: of what the clock runs, and of what an older version queued.
CLOCK_KEY = "memos"
_DIGITS = 19


class Lane(StrEnum):
    """Where a message waits."""

    INTERACTIVE = "interactive"
    CLOCK = "clock"
    NORMAL = "normal"
    BULK = "bulk"

    @property
    def first_key(self) -> str:
        """The least key that a message here may have."""
        return self._key("0" * _DIGITS)

    @property
    def last_key(self) -> str:
        """The greatest."""
        return self._key("9" * _DIGITS)

    def _key(self, namespace: str) -> str:
        return CLOCK_KEY if self is Lane.CLOCK else f"{CLOCK_KEY}:{self.value}:{namespace}"


LANES = tuple(Lane)
_OF_PRIORITY = {
    JobPriority.INTERACTIVE: Lane.INTERACTIVE,
    JobPriority.NORMAL: Lane.NORMAL,
    JobPriority.BULK: Lane.BULK,
}
# Whose turn it is. Every second is for what somebody waits for, and nobody waits for ever: of ten, one is for what is
# bulk, however much there is of the rest. A lane that has nothing leaves its turn to the others, in the order of Lane.
TURNS = (
    *(Lane.INTERACTIVE, Lane.CLOCK, Lane.INTERACTIVE, Lane.NORMAL, Lane.INTERACTIVE),
    *(Lane.CLOCK, Lane.INTERACTIVE, Lane.NORMAL, Lane.INTERACTIVE, Lane.BULK),
)


def key_of(priority: JobPriority, namespace_id: int) -> str:
    """The key of the messages of a namespace's jobs (0: of the system) of this priority."""
    return f"{CLOCK_KEY}:{_OF_PRIORITY[priority].value}:{namespace_id:0{_DIGITS}d}"


@dataclass(slots=True)
class Rotation:
    """Whose turn it is, and in each lane which key was served last: the next greater one is next."""

    turn: int = 0
    served: dict[Lane, str] = field(default_factory=lambda: {lane: lane.last_key for lane in LANES})

    def order(self) -> list[Lane]:
        """The lanes in the order in which they may give a message now."""
        first = TURNS[self.turn % len(TURNS)]
        return [first, *(lane for lane in LANES if lane is not first)]

    def advance(self, lane: Lane, key: str) -> None:
        """Notes that a message of `lane` was taken."""
        self.turn += 1
        self.served[lane] = key
