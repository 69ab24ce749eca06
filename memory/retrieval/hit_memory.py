"""Holds a memory as it is returned, whatever the question: `hits` reads it, and a process may cache it (`columns`)."""

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


# Under these names, however they are joined, clients keep what each message has of its own: it tells no owner. `id` and
# `key` are not among them: what is stored under another key is another record.
_OF_MESSAGE = frozenset(
    "messageid msgid messageuuid eventid requestid traceid spanid turnid timestamp ts createdat updatedat sentat"
    " receivedat messageindex turnindex turn seq sequence".split()
)


def _is_of_message(name: str) -> bool:
    return name == METADATA_KEY or name.lower().replace("_", "").replace("-", "") in _OF_MESSAGE


@dataclass(slots=True)
class Later:
    """Holds a newer memory (`memory_id`) whose `text` holds since `occurred_at` in the place of the `words` of a hit.

    It must not be changed.
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
    """Holds one memory that may be a hit. Not to be changed: several answers share it.

    `text` is without the statements that no longer hold, which stand in the memory at `retired` ([start, end)).
    `terms`: those of the whole text, each once. `later`: what newer memories say in the place of words that still stand
    in it, the newest first; `retired_by`: in the place of what was retired. `suspected`: it may try to steer its
    reader, and is to be shown as a quotation. `sources`: the turns that it rests on, when it is a fact or a preference.
    `is_alone`: nothing of it is read from another memory's row. `id_text`: its id as text.
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
        """Returns the same memory, whose times are told in `zone`."""
        return replace(
            self,
            occurred_at=in_zone(self.occurred_at, zone),
            later=[replace(one, occurred_at=in_zone(one.occurred_at, zone)) for one in self.later],
            retired_by=[replace(one, occurred_at=in_zone(one.occurred_at, zone)) for one in self.retired_by],
        )

    @property
    def words(self) -> Words:
        """Returns the words of its text, to be compared with those of others.

        Records of another speaker, user, document or key are never one statement: these are in the metadata, under
        names that only the client knows. What its names say to be the message's own is not compared.
        """
        if self._words is None:
            own = {name: value for name, value in self.metadata.items() if not _is_of_message(name)}
            owner = json.dumps([self.speaker or self.role, own], sort_keys=True, default=str)
            self._words = Words(owner, self.text)
        return self._words
