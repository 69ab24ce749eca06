"""What Users shows: the people whose memories are kept, and what belongs to each."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import pgettext_lazy

from memory.enums import Attitude
from memory.models import ApiKey, User
from ops.access import MASK
from ops.words import Words


@dataclass(frozen=True, slots=True)
class UserShown:
    """A user; what people typed of themselves is masked for who may not read texts."""

    id: uuid.UUID
    name: str
    display_name: str
    namespace: str
    namespaces: Sequence[str]
    preferences: str
    metadata: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class KeyShown:
    name: str
    prefix: str
    usable: bool


def user_shown(user: User, namespaces: Sequence[str], *, may_read_text: bool) -> UserShown:
    """A user as the page shows it."""
    return UserShown(
        id=user.pk,
        name=user.name,
        display_name=user.display_name if may_read_text or not user.display_name else MASK,
        namespace=user.namespace.name,
        namespaces=namespaces,
        preferences=_as_json(user.preferences, may_read_text=may_read_text),
        metadata=_as_json(user.metadata, may_read_text=may_read_text),
        created_by=user.created_by,
        created_at=user.created_at,
    )


@dataclass(frozen=True, slots=True)
class PreferenceShown:
    """A line of the profile: a memory, with those that say it."""

    id: str
    text: str
    attitude: Words
    tone: str
    strength: float
    evidence: Sequence[str]


ATTITUDES: Mapping[str, tuple[Words, str]] = {
    Attitude.LIKE: (pgettext_lazy("attitude", "Likes"), "good"),
    Attitude.DISLIKE: (pgettext_lazy("attitude", "Dislikes"), "weak"),
    Attitude.CONSTRAINT: (pgettext_lazy("attitude", "Constraint"), "bad"),
    Attitude.HABIT: (pgettext_lazy("attitude", "Habit"), "info"),
}
_UNKNOWN: tuple[Words, str] = ("–", "off")


def profile_shown(profile: Mapping[str, Any], *, may_read_text: bool) -> list[PreferenceShown]:
    """What is kept of what the user likes and avoids, as the page shows it."""
    return [
        PreferenceShown(
            line["memory_id"],
            line["text"] if may_read_text else MASK,
            *ATTITUDES.get(line["attitude"], _UNKNOWN),
            line["strength"],
            line["evidence"],
        )
        for line in profile["preferences"]
    ]


def keys_shown(keys: Sequence[ApiKey]) -> list[KeyShown]:
    """The keys of a user."""
    return [KeyShown(key.name, key.prefix, key.is_usable) for key in keys]


def _as_json(values: Mapping[str, Any], *, may_read_text: bool) -> str:
    if not values:
        return ""
    return json.dumps(values, ensure_ascii=False, indent=2) if may_read_text else MASK
