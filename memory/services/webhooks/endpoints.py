"""Manages the webhooks of a namespace: creates, lists, changes and deletes them, and renews their secrets."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from memory import audit
from memory.enums import AccessScope, AuditEvent, EventType
from memory.errors import Conflict, Forbidden, InvalidInput, NotFound
from memory.models import Webhook, WebhookDelivery
from memory.models.paging import narrow, page_of
from memory.models.scoped import ScopedQuerySet
from memory.services.tenancy.namespaces import keep_namespaces
from memory.services.tenancy.notes import clean_note
from memory.services.webhooks import feed
from memory.services.webhooks.addresses import check_url
from memory.services.webhooks.events import NO_ID
from memory.services.webhooks.messages import may_read
from memory.services.webhooks.signing import encrypt, make_secret
from memory.types import Access, ListFilter, Scope

MOST_WEBHOOKS = 20
MAX_DESCRIPTION_CHARS = 300
MOST_FORMER_HOURS = 24 * 7


def create_webhook(
    access: Access,
    scope: Scope,
    *,
    url: str,
    types: Collection[str] = (),
    description: str = "",
    includes_text: bool = False,
    now: datetime,
) -> tuple[Webhook, str]:
    """Create a webhook, which gets events from now on; return it with its secret, which is shown only once.

    Raises InvalidInput, Forbidden for texts that the caller may not have sent, Conflict at MOST_WEBHOOKS, and
    NamespaceGone.
    """
    secret = make_secret()
    row = Webhook(
        namespace_id=scope.namespace_id,
        url=_take_url(url),
        types=check_types(types),
        description=_clean_description(description),
        includes_text=includes_text,
        reader_id=_reader(access, scope.namespace_id) if includes_text else None,
        seen_xact=feed.horizon(),
        seen_id=NO_ID,
        created_by=access.actor,
        created_at=now,
        updated_at=now,
    )
    row.secret = encrypt(secret, row.pk)
    with transaction.atomic():
        keep_namespaces([scope])
        # Two concurrent calls may exceed the limit by one, because it only keeps the fan-out of events small.
        if Webhook.objects.in_scope(scope).count() >= MOST_WEBHOOKS:
            raise Conflict(
                f"The namespace has {MOST_WEBHOOKS} webhooks, and may have no more: delete one, or have one receiver "
                "pass events on.",
                detail={"field": "namespace"},
            )
        row.save(force_insert=True)
        _record(scope, AuditEvent.WEBHOOK_CREATE, row, _standing(row), now=now)
    return row, secret


def list_webhooks(
    access: Access, *, namespace: str | None, cursor: uuid.UUID | None = None, limit: int
) -> tuple[list[Webhook], uuid.UUID | None]:
    """Return the webhooks that the caller reaches, newest first, and the cursor of the next page.

    Raises NotFound for a namespace that it does not reach.
    """
    rows = narrow(Webhook.objects.reachable_by(access), access, ListFilter(namespace, None, limit))
    if cursor is not None:
        rows = rows.filter(pk__lte=cursor)
    page, following = page_of(rows.select_related("namespace"), limit)
    return page, following.pk if following else None


def find_webhook(access: Access, *, webhook_id: uuid.UUID) -> Webhook:
    """Return a webhook that the caller reaches. Raises NotFound."""
    row = Webhook.objects.reachable_by(access).select_related("namespace").filter(pk=webhook_id).first()
    if row is None:
        raise NotFound(f"There is no webhook {webhook_id} that this key reaches.", detail={"field": "webhook_id"})
    return row


def change_webhook(
    access: Access, *, webhook_id: uuid.UUID, wanted: Mapping[str, Any], now: datetime, request_id: str = ""
) -> Webhook:
    """Change values of a webhook: `url`, `types`, `description`, `includes_text`, `enabled`; omitted ones stay.

    Texts are sent on behalf of a key: a caller who changes the address must have a key that reads, or texts are no
    longer sent. A webhook that is enabled again gets events from then on. Raises as `create_webhook`, and NotFound.
    """
    with transaction.atomic():
        row = _lock_webhook(access, webhook_id)
        before = _standing(row)
        if "url" in wanted:
            row.url = _take_url(wanted["url"])
        if "types" in wanted:
            row.types = check_types(wanted["types"])
        if "description" in wanted:
            row.description = _clean_description(wanted["description"])
        _set_texts(access, row, asked=wanted.get("includes_text"), moves="url" in wanted)
        if "enabled" in wanted:
            _set_enabled(row, wanted["enabled"])
        row.updated_at = now
        row.save()
        details = {"before": before, "after": _standing(row)}
        scope = Scope(row.namespace_id, row.namespace.name, access.actor, request_id)
        _record(scope, AuditEvent.WEBHOOK_CHANGE, row, details, now=now)
    return row


def delete_webhook(access: Access, *, webhook_id: uuid.UUID, now: datetime, request_id: str = "") -> None:
    """Delete a webhook and the log of its deliveries; a delivery that is being sent is completed. Raises NotFound."""
    with transaction.atomic():
        row = _lock_webhook(access, webhook_id)
        WebhookDelivery.objects.filter(namespace_id=row.namespace_id, webhook_id=row.pk).delete()
        scope = Scope(row.namespace_id, row.namespace.name, access.actor, request_id)
        _record(scope, AuditEvent.WEBHOOK_DELETE, row, _standing(row), now=now)
        Webhook.objects.filter(namespace_id=row.namespace_id, pk=row.pk).delete()


def rotate_secret(
    access: Access, *, webhook_id: uuid.UUID, keep_hours: int, now: datetime, request_id: str = ""
) -> tuple[Webhook, str]:
    """Renew the secret of a webhook; return it with the secret, which is shown only once. The former secret signs too,
    for `keep_hours`.

    Raises NotFound.
    """
    secret = make_secret()
    with transaction.atomic():
        row = _lock_webhook(access, webhook_id)
        row.former_secret = row.secret if keep_hours else None
        row.former_until = now + timedelta(hours=keep_hours) if keep_hours else None
        row.secret = encrypt(secret, row.pk)
        row.updated_at = now
        row.save(update_fields=["secret", "former_secret", "former_until", "updated_at"])
        scope = Scope(row.namespace_id, row.namespace.name, access.actor, request_id)
        _record(scope, AuditEvent.WEBHOOK_CHANGE, row, {"secret": "rotated", "keep_hours": keep_hours}, now=now)
    return row, secret


def to_dict(row: Webhook, *, now: datetime) -> dict[str, Any]:
    """Return a webhook as clients see it, without its secret."""
    former = row.former_until if row.former_until is not None and row.former_until > now else None
    return {
        "id": str(row.pk),
        "namespace": row.namespace.name,
        "url": row.url,
        "types": list(row.types),
        "description": row.description,
        "include_text": row.includes_text,
        "sends_text": row.includes_text and may_read(row.reader_id, row.namespace_id),
        "enabled": row.enabled,
        "disabled_reason": row.disabled_why or None,
        "failures": row.failures,
        "failing_since": row.failing_since.isoformat() if row.failing_since else None,
        "former_secret_until": former.isoformat() if former else None,
        "created_by": row.created_by,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
    }


def check_types(types: Collection[str]) -> list[str]:
    """Return the types in their usual order, each once. Raises InvalidInput for an unknown one."""
    unknown = sorted(set(types) - set(EventType.values))
    if unknown:
        raise InvalidInput(
            f"There is no event type {', '.join(map(repr, unknown[:5]))}. There are: {', '.join(EventType.values)}.",
            detail={"field": "types"},
        )
    return [one for one in EventType.values if one in types]


def _set_texts(access: Access, row: Webhook, *, asked: bool | None, moves: bool) -> None:
    """Set on whose behalf texts are sent: a caller who only changes the address takes over, or ends them without read
    access."""
    if asked:
        row.reader_id = _reader(access, row.namespace_id)
    elif asked is not None or (moves and not _reads(access, row.namespace_id)):
        row.reader_id = None
    elif moves and row.includes_text:
        row.reader_id = access.key_id
    row.includes_text = row.reader_id is not None


def _set_enabled(row: Webhook, enabled: bool) -> None:
    if enabled and not row.enabled:
        # Events that happened meanwhile are in the feed.
        row.seen_xact, row.seen_id = feed.horizon(), NO_ID
        row.failures, row.failing_since, row.paused_until = 0, None, None
    row.enabled = enabled
    row.disabled_why = ""


def _reader(access: Access, namespace_id: int) -> int:
    """Return the caller's key, on whose behalf texts are sent. Raises Forbidden."""
    if access.key_id is None or not _reads(access, namespace_id):
        raise Forbidden(
            "Texts are sent on behalf of a key that may read them: ask with a key of the scopes read and admin, or "
            "leave include_text out.",
            detail={"field": "include_text"},
        )
    return access.key_id


def _reads(access: Access, namespace_id: int) -> bool:
    return access.may(AccessScope.READ) and may_read(access.key_id, namespace_id)


def _take_url(url: str) -> str:
    check_url(url)
    return url


def _clean_description(description: str) -> str:
    description = description.strip()
    if len(description) > MAX_DESCRIPTION_CHARS or "\0" in description:
        raise InvalidInput(
            f"A description has at most {MAX_DESCRIPTION_CHARS} characters.", detail={"field": "description"}
        )
    return clean_note(description, field="description") if description else ""


def _lock_webhook(access: Access, webhook_id: uuid.UUID) -> Webhook:
    rows: ScopedQuerySet[Webhook] = Webhook.objects.reachable_by(access)
    row = rows.select_related("namespace").select_for_update(of=("self",)).filter(pk=webhook_id).first()
    if row is None:
        raise NotFound(f"There is no webhook {webhook_id} that this key reaches.", detail={"field": "webhook_id"})
    return row


def _standing(row: Webhook) -> dict[str, Any]:
    """Describe a webhook for the audit log. Of its address only the host is included, because a path may contain a
    secret."""
    return {
        "host": urlsplit(row.url).hostname,
        "types": list(row.types),
        "include_text": row.includes_text,
        "enabled": row.enabled,
    }


def _record(scope: Scope, event: AuditEvent, row: Webhook, details: Mapping[str, Any], *, now: datetime) -> None:
    audit.record(scope, event, subject=str(row.pk), details=details, now=now)
