"""Builds Users: the people whose memories are kept, what belongs to each, and the receipts of erased ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from memory.enums import Attitude, ErasureStatus, ErasureTarget, PreferenceSource
from memory.models import ApiKey, User
from ops.access import MASK
from ops.pages.erasures import STATUSES
from ops.pages.links import Staff, row_link
from ops.words import Words

Pairs = Sequence[tuple[str, str]]

SHOWN_EVIDENCE = 5
ATTITUDES: Mapping[str, tuple[Words, str]] = {
    Attitude.LIKE: (pgettext_lazy("attitude", "Likes"), "good"),
    Attitude.DISLIKE: (pgettext_lazy("attitude", "Dislikes"), "weak"),
    Attitude.CONSTRAINT: (pgettext_lazy("attitude", "Constraint"), "bad"),
    Attitude.HABIT: (pgettext_lazy("attitude", "Habit"), "info"),
}
SHOWN_BY: Mapping[str, Words] = {
    PreferenceSource.STATEMENT: gettext_lazy("Stated"),
    PreferenceSource.CHOICES: gettext_lazy("Shown by choices"),
}
_UNKNOWN: tuple[Words, str] = ("–", "off")


@dataclass(frozen=True, slots=True)
class UserShown:
    """A user. Text that people typed about themselves is masked for users who may not read texts."""

    id: uuid.UUID
    name: str
    display_name: str
    namespace: str
    namespaces: Sequence[str]
    preferences: Pairs
    metadata: Pairs
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class KeyShown:
    name: str
    prefix: str
    usable: bool


@dataclass(frozen=True, slots=True)
class PreferenceShown:
    """A line of the profile: a memory with its evidence. `links` lead to the first memories of the evidence."""

    text: str
    link: str
    attitude: Words
    tone: str
    shown_by: Words
    strength: float
    evidence: Sequence[str]
    links: Sequence[str]


@dataclass(frozen=True, slots=True)
class ErasedPart:
    """The part of an erasure in one namespace. `link` is its receipt in the admin."""

    id: str
    namespace: str
    tone: str
    word: Words
    what: Words
    memories: int
    link: str


@dataclass(frozen=True, slots=True)
class ReceiptShown:
    """The receipt of an erased user."""

    user_id: str
    tone: str
    word: Words
    is_open: bool
    reason: str
    keys_revoked: int
    shares_ended: int
    cubes_disowned: int
    actor: str
    created_at: datetime
    parts: Sequence[ErasedPart]


def user_shown(user: User, namespaces: Sequence[str], *, may_read_text: bool) -> UserShown:
    """Return a user as the page shows it."""
    return UserShown(
        id=user.pk,
        name=user.name,
        display_name=user.display_name if may_read_text or not user.display_name else MASK,
        namespace=user.namespace.name,
        namespaces=namespaces,
        preferences=_list_pairs(user.preferences, may_read_text=may_read_text),
        metadata=_list_pairs(user.metadata, may_read_text=may_read_text),
        created_by=user.created_by,
        created_at=user.created_at,
    )


def profile_shown(profile: Mapping[str, Any], user: Staff, *, may_read_text: bool) -> list[PreferenceShown]:
    """Return the user's likes and dislikes as the page shows them."""
    return [
        PreferenceShown(
            line["text"] if may_read_text else MASK,
            row_link(user, "memory", line["memory_id"]),
            *ATTITUDES.get(line["attitude"], _UNKNOWN),
            SHOWN_BY[line["shown_by"]],
            line["strength"],
            line["evidence"],
            [link for one in line["evidence"][:SHOWN_EVIDENCE] if (link := row_link(user, "memory", one))],
        )
        for line in profile["preferences"]
    ]


def keys_shown(keys: Sequence[ApiKey]) -> list[KeyShown]:
    """Return the keys of a user."""
    return [KeyShown(key.name, key.prefix, key.is_usable) for key in keys]


def receipt_shown(receipt: Mapping[str, Any]) -> ReceiptShown:
    """Return the receipt of an erased user from the service's description of it."""
    tone, word = STATUSES[receipt["status"]]
    return ReceiptShown(
        user_id=receipt["user_id"],
        tone=tone,
        word=word,
        is_open=receipt["status"] not in (ErasureStatus.FINISHED, ErasureStatus.FAILED),
        reason=receipt["reason"],
        keys_revoked=receipt["keys_revoked"],
        shares_ended=receipt["shares_ended"],
        cubes_disowned=receipt["cubes_disowned"],
        actor=receipt["actor"],
        created_at=datetime.fromisoformat(receipt["created_at"]),
        parts=[
            ErasedPart(
                one["id"],
                one["namespace"],
                *STATUSES[one["status"]],
                _("Everything in it") if is_whole(one) else _("What was said under the user's name"),
                one["found"],
                reverse("ops:erasure", args=[one["id"]]),
            )
            for one in receipt["erasures"]
        ],
    )


def is_whole(erasure: Mapping[str, Any]) -> bool:
    """Return whether an erasure covers its whole namespace."""
    return bool(erasure["target"] == ErasureTarget.NAMESPACE)


def _list_pairs(values: Mapping[str, Any], *, may_read_text: bool) -> Pairs:
    """Return names and values, sorted by name. Both are masked for users who may not read texts."""
    if not may_read_text:
        return [(MASK, MASK)] if values else []
    return [(name, _say(value)) for name, value in sorted(values.items())]


def _say(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return json.dumps(value, ensure_ascii=False)
