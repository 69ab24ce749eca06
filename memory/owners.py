"""Whose a memory is, as mem0's clients say it: in the metadata, under their names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from memory.enums import Role
from memory.kinds import SESSION_PREFIX
from memory.types import session_of_day

OWNERS = ("user_id", "agent_id", "app_id", "run_id")
EXPIRATION, CATEGORIES = "expiration_date", "categories"
# Keys of a memory's metadata that are not the client's own metadata.
KEYS = (*OWNERS, EXPIRATION, CATEGORIES)
_MAX_SESSION_CHARS = 128


@dataclass(frozen=True, slots=True)
class Owners:
    """The ids that a request names; those that it does not are absent."""

    ids: Mapping[str, str]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Owners:
        """From validated values that may have more, and None for an id that is not named."""
        return cls({name: values[name] for name in OWNERS if values.get(name)})

    def of_role(self, role: str) -> Owners:
        """Whose a message of that role is. Of a user and an agent, the agent has what it says, the user the rest."""
        if not {"user_id", "agent_id"} <= self.ids.keys():
            return self
        other = "user_id" if role == Role.AGENT else "agent_id"
        return Owners({name: value for name, value in self.ids.items() if name != other})

    def name_session(self, moment: datetime, zone: tzinfo | None = None) -> str:
        """Returns the session that what they say at that moment belongs to: the run, else the day of `zone` (None:
        UTC), of the first of them."""
        of = next((self.ids[name] for name in OWNERS[:3] if name in self.ids), None)
        run = self.ids.get("run_id") or session_of_day(moment, zone)
        name = f"{of}/{run}" if of else run
        # A session of this name would be taken for a document's chunks.
        if len(name) <= _MAX_SESSION_CHARS and not name.startswith(SESSION_PREFIX):
            return name
        return hashlib.sha256(name.encode()).hexdigest()


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the client gave a memory itself."""
    return {name: value for name, value in metadata.items() if name not in KEYS}
