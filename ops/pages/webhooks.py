"""Builds Webhooks: the addresses to which events are sent, their states, and their deliveries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import DeliveryState, EventType
from memory.models import Webhook, WebhookDelivery
from memory.services.webhooks.messages import may_read
from ops.words import Words

STATES: tuple[tuple[str, Words], ...] = (
    ("", gettext_lazy("All")),
    (DeliveryState.WAITING, gettext_lazy("Waiting")),
    (DeliveryState.DELIVERED, gettext_lazy("Delivered")),
    (DeliveryState.FAILED, gettext_lazy("Failed")),
)
_BADGES: Mapping[str, tuple[str, Words]] = {
    DeliveryState.WAITING: ("busy", gettext_lazy("Waiting")),
    DeliveryState.DELIVERED: ("good", gettext_lazy("Delivered")),
    DeliveryState.FAILED: ("bad", gettext_lazy("Failed")),
}


@dataclass(frozen=True, slots=True)
class WebhookShown:
    """A webhook. `address` is complete for users who may change it, or else only the host."""

    id: uuid.UUID
    namespace: str
    address: str
    description: str
    types: Sequence[str]
    tone: str
    word: Words
    why: str
    enabled: bool
    sends_text: bool
    created_by: str
    created_at: datetime
    failing_since: datetime | None
    former_until: datetime | None


@dataclass(frozen=True, slots=True)
class AttemptShown:
    at: datetime | None
    status: int
    milliseconds: int
    error: str


@dataclass(frozen=True, slots=True)
class DeliveryShown:
    """A delivery. `last` is its newest attempt."""

    id: uuid.UUID
    event_id: uuid.UUID
    type: str
    tone: str
    word: Words
    attempts: int
    last: AttemptShown | None
    answer: str
    next_at: datetime | None
    created_at: datetime


def webhook_shown(row: Webhook, *, may_change: bool, now: datetime) -> WebhookShown:
    """Return a webhook as the page shows it."""
    tone, word = standing(row)
    former = row.former_until if row.former_until is not None and row.former_until > now else None
    return WebhookShown(
        id=row.pk,
        namespace=row.namespace.name,
        address=row.url if may_change else mask_address(row),
        description=row.description,
        types=row.types,
        tone=tone,
        word=word,
        why=row.disabled_why,
        enabled=row.enabled,
        sends_text=row.includes_text and may_read(row.reader_id, row.namespace_id),
        created_by=row.created_by,
        created_at=row.created_at,
        failing_since=row.failing_since,
        former_until=former,
    )


def delivery_shown(row: WebhookDelivery, *, may_read_text: bool) -> DeliveryShown:
    """Return a delivery as the page shows it. The receiver's answer is masked, because it may repeat the event."""
    tone, word = _BADGES[row.state]
    last = row.tries[-1] if row.tries else None
    attempt = AttemptShown(parse_datetime(last["at"]), last["status"], last["ms"], last["error"]) if last else None
    return DeliveryShown(
        id=row.pk,
        event_id=row.event_id,
        type=row.type,
        tone=tone,
        word=word,
        attempts=row.attempts,
        last=attempt,
        answer=row.answer if may_read_text else "",
        next_at=row.next_at,
        created_at=row.created_at,
    )


def type_choices(chosen: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return each type of event, its title, and whether it is chosen."""
    return [(one.value, str(_TITLES[one]), one.value in chosen) for one in EventType]


def mask_address(row: Webhook) -> str:
    """Return only the host of a webhook's address, because the rest may contain secrets of its receiver."""
    return f"{urlsplit(row.url).hostname}/…"


def standing(row: Webhook) -> tuple[str, str]:
    """Return the tone of a webhook's badge, and the word for its state."""
    if not row.enabled:
        return ("bad", _("Disabled after failures")) if row.disabled_why else ("off", _("Disabled"))
    return ("weak", _("Failing")) if row.failing_since else ("good", _("Enabled"))


_TITLES: Mapping[EventType, Words] = {
    EventType.MEMORY_ADDED: gettext_lazy("a memory was added"),
    EventType.MEMORY_CHANGED: gettext_lazy("a memory was changed"),
    EventType.MEMORY_SUPERSEDED: gettext_lazy("a memory, or a part of it, holds no longer"),
    EventType.MEMORY_REINSTATED: gettext_lazy("a memory, or a part of it, holds again"),
    EventType.MEMORY_ARCHIVED: gettext_lazy("a memory was archived"),
    EventType.MEMORY_RESTORED: gettext_lazy("a memory was restored"),
    EventType.MEMORY_ERASED: gettext_lazy("memories were erased"),
    EventType.MEMORY_QUARANTINED: gettext_lazy("the gate keeps a text apart"),
    EventType.MEMORY_CONFLICT: gettext_lazy("two memories cannot both hold"),
    EventType.DOCUMENT_ADDED: gettext_lazy("a document was taken in"),
    EventType.DOCUMENT_DELETED: gettext_lazy("a document was deleted"),
    EventType.SESSION_RESET: gettext_lazy("a session was reset"),
    EventType.SUMMARY_MADE: gettext_lazy("a session has a new summary"),
    EventType.JOB_FAILED: gettext_lazy("background work was given up"),
    EventType.BUDGET_REACHED: gettext_lazy("calls of models have reached a limit"),
}
