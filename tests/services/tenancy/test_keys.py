from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from memory.api.authentication import access_of
from memory.enums import AuditEvent
from memory.errors import InvalidInput, NotFound
from memory.models import ApiKey, AuditLog, Namespace
from memory.services.tenancy.keys import issue_key, revoke_key

pytestmark = pytest.mark.django_db


def issue(**changes) -> tuple[ApiKey, str]:
    values = {"name": "agent", "scopes": ["read"], "all_namespaces": True, "actor": "staff:ann", "now": timezone.now()}
    return issue_key(**{**values, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "  "},
        {"name": "x" * 101},
        {"scopes": []},
        {"scopes": ["read", "root"]},
        {"all_namespaces": False},
        {"expires_at": timezone.now() - timedelta(days=1)},
        {"requests_per_minute": -1},
    ],
)
def test_refusals(changes):
    with pytest.raises(InvalidInput):
        issue(**changes)
    assert not ApiKey.objects.exists()
    assert not AuditLog.objects.across_namespaces().exists()


def test_an_issued_key_opens_what_it_was_issued_for():
    namespace = Namespace.objects.create(name="keys-harbour")
    key, token = issue(scopes=["write", "read"], all_namespaces=False, namespaces=[namespace], requests_per_minute=0)
    access = access_of(token)
    assert access.scopes == {"read", "write"}
    assert (access.all_namespaces, access.namespace_ids) == (False, {namespace.pk})
    assert key.scopes == ["read", "write"]


def test_a_revoked_key_opens_nothing_and_stays_revoked():
    key, token = issue()
    first = timezone.now()
    assert revoke_key(key_id=key.pk, actor="staff:ann", now=first)
    assert not revoke_key(key_id=key.pk, actor="staff:bob", now=first + timedelta(hours=1))
    with pytest.raises(AuthenticationFailed):
        access_of(token)
    assert ApiKey.objects.get().revoked_at == first
    assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.KEY_REVOKE).count() == 1
    with pytest.raises(NotFound):
        revoke_key(key_id=key.pk + 1, actor="staff:ann", now=first)


def test_the_audit_log_never_holds_the_token():
    key, token = issue()
    event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.KEY_ISSUE)
    assert event.details["prefix"] == key.prefix
    secret = token.split("_", 2)[2]
    assert secret not in f"{event.details} {event.subject}"
    assert key.digest not in f"{event.details} {event.subject}"
