"""Represents a memory as answers return it, apart from the question, so that a process can cache it (`columns`)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any

from memory.retrieval.near_duplicates import Words
from memory.text.pieces import METADATA_KEY
from memory.types import in_zone

# The later text is cut to this length when it is shown with the earlier one.
MAX_TOLD_CHARS = 200


# Clients store properties of a single message under these metadata names, with or without `_` and `-`. Such values do
# not make two memories different records. `id` and `key` do, and are therefore not listed.
_OF_MESSAGE = frozenset(
    "messageid msgid messageuuid eventid requestid traceid spanid turnid timestamp ts createdat updatedat sentat"
    " receivedat messageindex turnindex turn seq sequence".split()
)


def _is_of_message(name: str) -> bool:
    return name == METADATA_KEY or name.lower().replace("_", "").replace("-", "") in _OF_MESSAGE


@dataclass(slots=True)
class Later:
    """Holds a newer memory (`memory_id`) whose `text` replaces the `words` of a hit since `occurred_at`.

    Instances are shared and must not be changed.
    """

    memory_id: uuid.UUID
    words: str
    text: str
    occurred_at: datetime

    @property
    def excerpt(self) -> str:
        """Returns the later text, shortened."""
        return self.text if len(self.text) <= MAX_TOLD_CHARS else self.text[: MAX_TOLD_CHARS - 1] + "…"


@dataclass(slots=True)
class HitMemory:
    """Holds one memory that may be a hit. Instances are shared by several answers and must not be changed.

    `text` leaves out the statements that no longer hold; `retired` has their spans [start, end) in the stored text.
    `terms`: the distinct terms of the whole text. `later`: newer memories that replace words still in `text`, newest
    first; `retired_by`: newer memories that replace retired statements. `suspected`: the memory may try to steer its
    reader, and must be shown as a quotation. `sources`: the turns that a fact or a preference rests on. `is_alone`: no
    field is read from another memory's row. `id_text`: the id as text.
    """

    id: uuid.UUID
    session: str
    turn: int
    role: str
    speaker: str
    text: str
    metadata: dict[str, Any]
    tier: str
    occurred_at: datetime
    created_at: datetime
    importance: float
    tokens: int
    terms: Sequence[str] = ()
    retired: Sequence[tuple[int, int]] = ()
    later: Sequence[Later] = ()
    retired_by: Sequence[Later] = ()
    suspected: bool = False
    sources: Sequence[uuid.UUID] = ()
    is_alone: bool = False
    id_text: str = field(init=False, repr=False, compare=False)
    _words: Words | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.id_text = str(self.id)

    def in_zone(self, zone: tzinfo) -> HitMemory:
        """Returns the same memory with its times in `zone`."""
        return replace(
            self,
            occurred_at=in_zone(self.occurred_at, zone),
            later=[replace(one, occurred_at=in_zone(one.occurred_at, zone)) for one in self.later],
            retired_by=[replace(one, occurred_at=in_zone(one.occurred_at, zone)) for one in self.retired_by],
        )

    @property
    def words(self) -> Words:
        """Returns the words of the text, for comparison with other memories.

        Memories of different speakers, users, documents or keys never count as one statement. Clients store these in
        the metadata under names of their choice, so all metadata is compared but the properties of a single message.
        """
        if self._words is None:
            own = {name: value for name, value in self.metadata.items() if not _is_of_message(name)}
            owner = json.dumps([self.speaker or self.role, own], sort_keys=True, default=str)
            self._words = Words(owner, self.text)
        return self._words
