"""Names the queue's lanes by message key: one lane per priority and one for the clock; namespaces take turns in each.

Each priority has its own cluster of worker processes, so that no job waits for a job of another priority. The key of a
message contains its priority and namespace: an index lookup finds the next message of a lane.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memory.enums import JobPriority

# django-q's own key, for the runs of schedules and for messages from older versions.
CLOCK_KEY = "memos"
_DIGITS = 19


class Lane(StrEnum):
    """Represents a queue of messages within django-q's table."""

    INTERACTIVE = "interactive"
    CLOCK = "clock"
    NORMAL = "normal"
    BULK = "bulk"

    @property
    def first_key(self) -> str:
        """Returns the lowest key of a message in this lane."""
        return self._key("0" * _DIGITS)

    @property
    def last_key(self) -> str:
        """Returns the highest key of a message in this lane."""
        return self._key("9" * _DIGITS)

    def _key(self, namespace: str) -> str:
        return CLOCK_KEY if self is Lane.CLOCK else f"{CLOCK_KEY}:{self.value}:{namespace}"


LANES_OF_PRIORITY: dict[JobPriority, tuple[Lane, ...]] = {
    JobPriority.INTERACTIVE: (Lane.INTERACTIVE,),
    JobPriority.NORMAL: (Lane.CLOCK, Lane.NORMAL),
    JobPriority.BULK: (Lane.BULK,),
}
# Django-q's names of the clusters. Its default cluster runs the schedules.
CLUSTERS = {priority: priority.label for priority in JobPriority} | {JobPriority.NORMAL: CLOCK_KEY}
_PRIORITY_OF_CLUSTER = {cluster: priority for priority, cluster in CLUSTERS.items()}


def key_of(priority: JobPriority, namespace_id: int) -> str:
    """Returns the message key for jobs of this priority in a namespace (0: the system)."""
    return f"{CLOCK_KEY}:{priority.label}:{namespace_id:0{_DIGITS}d}"


def priority_of_cluster(cluster: str) -> JobPriority:
    """Returns the priority whose jobs a cluster takes."""
    return _PRIORITY_OF_CLUSTER[cluster]


@dataclass(slots=True)
class Rotation:
    """Takes lanes in turn and, within each lane, keys in turn: the next key is the one after the last served."""

    lanes: tuple[Lane, ...]
    turn: int = 0
    served: dict[Lane, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.served = {lane: lane.last_key for lane in self.lanes}

    def order(self) -> tuple[Lane, ...]:
        """Returns the lanes in the order to look at them: an empty lane passes its turn on."""
        first = self.turn % len(self.lanes)
        return self.lanes[first:] + self.lanes[:first]

    def advance(self, lane: Lane, key: str) -> None:
        """Records that a message of `lane` was taken."""
        self.turn += 1
        self.served[lane] = key
