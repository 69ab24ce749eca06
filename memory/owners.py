"""The owners of a memory, which mem0's clients name in the metadata."""

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
# Keys of a memory's metadata that aren't the client's own metadata.
KEYS = (*OWNERS, EXPIRATION, CATEGORIES)
_MAX_SESSION_CHARS = 128


@dataclass(frozen=True, slots=True)
class Owners:
    """The ids that a request names, without those it doesn't."""

    ids: Mapping[str, str]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Owners:
        """Build it from validated values, which may contain other keys and None for ids that aren't named."""
        return cls({name: values[name] for name in OWNERS if values.get(name)})

    def of_role(self, role: str) -> Owners:
        """Return the owners of a message: with both a user and an agent, each role's messages belong to one of them."""
        if not {"user_id", "agent_id"} <= self.ids.keys():
            return self
        other = "user_id" if role == Role.AGENT else "agent_id"
        return Owners({name: value for name, value in self.ids.items() if name != other})

    def name_session(self, moment: datetime, zone: tzinfo | None = None) -> str:
        """Return the session of what they say at that time: the run, or else the day in `zone` (None: UTC)."""
        of = next((self.ids[name] for name in OWNERS[:3] if name in self.ids), None)
        run = self.ids.get("run_id") or session_of_day(moment, zone)
        name = f"{of}/{run}" if of else run
        # A session of this name would be taken for a document's chunks.
        if len(name) <= _MAX_SESSION_CHARS and not name.startswith(SESSION_PREFIX):
            return name
        return hashlib.sha256(name.encode()).hexdigest()


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the client's own metadata of a memory."""
    return {name: value for name, value in metadata.items() if name not in KEYS}
