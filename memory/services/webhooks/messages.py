"""Builds the message for a webhook: the event, with texts if they are requested and may be read, and its signatures."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.conf import settings

from memory.enums import TEST_EVENT, AccessScope
from memory.models import ApiKey, ErasedMemory, Memory, Webhook, WebhookDelivery
from memory.services.webhooks import feed
from memory.services.webhooks.signing import sign
from memory.text.json_values import encode
from memory.types import Scope

_TEST = "MemOS reaches this webhook, and signs what it sends."


def write_body(scope: Scope, webhook: Webhook, delivery: WebhookDelivery) -> bytes | None:
    """Return the body, as of now; None when the event has no content any more."""
    if delivery.type == TEST_EVENT:
        return encode(_test_event(scope, delivery))
    event = feed.find_event(scope, event_id=delivery.event_id)
    if event is None:
        return None
    told = feed.to_dict(event, scope.namespace)
    if webhook.includes_text and event.memory_ids and may_read(webhook.reader_id, scope.namespace_id):
        told["data"]["memories"] = _texts(scope, event.memory_ids)
    return encode(told)


def headers_of(webhook: Webhook, delivery: WebhookDelivery, body: bytes, *, now: datetime) -> dict[str, str]:
    """Return id, time and signatures under the names of Standard Webhooks. Raises Conflict for an unreadable secret.

    The id is the event's: the same in every attempt, and in the feed.
    """
    message_id = str(delivery.event_id)
    stored = [bytes(webhook.secret)]
    if webhook.former_secret is not None and webhook.former_until is not None and now < webhook.former_until:
        stored.append(bytes(webhook.former_secret))
    signatures = [sign(one, webhook.pk, message_id=message_id, at=now, body=body) for one in stored]
    return {
        "Content-Type": "application/json",
        "User-Agent": f"MemOS/{settings.SPECTACULAR_SETTINGS['VERSION']}",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def may_read(key_id: int | None, namespace_id: int) -> bool:
    """Return whether the key exists and may still read the namespace."""
    key = ApiKey.objects.filter(pk=key_id).first() if key_id is not None else None
    if key is None or not key.is_usable or AccessScope.READ not in key.scopes:
        return False
    return key.all_namespaces or key.namespaces.filter(pk=namespace_id).exists()


def _texts(scope: Scope, memory_ids: Collection[uuid.UUID]) -> list[dict[str, Any]]:
    """Return the memories that exist and that no erasure names."""
    erased = ErasedMemory.objects.in_scope(scope).filter(memory_id__in=memory_ids).values("memory_id")
    rows = Memory.objects.in_scope(scope).filter(pk__in=memory_ids).exclude(pk__in=erased).order_by("pk")
    return [
        {
            "id": str(memory.pk),
            "text": memory.text,
            "revision": memory.revision,
            "state": str(memory.state),
            "role": str(memory.role),
            "speaker": memory.speaker,
            "occurred_at": memory.occurred_at.isoformat(),
        }
        for memory in rows
    ]


def _test_event(scope: Scope, delivery: WebhookDelivery) -> dict[str, Any]:
    return {
        "id": str(delivery.event_id),
        "type": TEST_EVENT,
        "timestamp": delivery.created_at.isoformat(),
        "namespace": scope.namespace,
        "actor": scope.actor,
        "request_id": None,
        "data": {"message": _TEST},
    }
