from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from memory.api.authentication import access_of
from memory.enums import AuditEvent
from memory.models import ApiKey, AuditLog

BASE = "/admin/memory/apikey/"


def issue(client: Client, **changes):
    values = {"name": "Agent", "scopes": ["read", "write"], "all_namespaces": "on", **changes}
    return client.post(f"{BASE}add/", {name: value for name, value in values.items() if value is not None})


def test_without_permission_nothing_is_issued_or_revoked(world):
    user = User.objects.create_user("clerk", is_staff=True)
    wanted = ["view_apikey", "all_namespaces"]
    user.user_permissions.add(*Permission.objects.filter(codename__in=wanted))
    client = Client()
    client.force_login(user)
    assert issue(client).status_code == 403
    assert client.post(f"{BASE}{world.key.pk}/revoke/").status_code == 403
    client.post(BASE, {"action": "revoke_selected", "_selected_action": [world.key.pk], "confirmed": "yes"})
    assert ApiKey.objects.get().revoked_at is None


@pytest.mark.parametrize(
    "changes",
    [
        {"scopes": []},
        {"scopes": ["root"]},
        {"all_namespaces": None},
        {"name": " "},
        {"expires_at_0": "2001-01-01", "expires_at_1": "00:00"},
    ],
)
def test_refusals(staff, world, changes):
    response = issue(staff, **changes)
    assert response.status_code == 200
    assert "errornote" in response.content.decode()
    assert ApiKey.objects.count() == 1


def test_a_key_has_a_default_namespace_that_it_reaches(staff, world):
    named = {"all_namespaces": None, "namespaces": [world.harbour.namespace_id]}
    assert issue(staff, **named, default_namespace="elsewhere").status_code == 200
    assert not ApiKey.objects.filter(name="Agent").exists()

    issue(staff, **named, default_namespace=world.harbour.namespace)
    issue(staff, name="Everywhere", default_namespace="elsewhere")

    assert ApiKey.objects.get(name="Agent").default_namespace == world.harbour.namespace
    assert ApiKey.objects.get(name="Everywhere").default_namespace == "elsewhere"


def test_all_and_named_namespaces_together_are_refused(staff, world):
    assert "not both" in issue(staff, namespaces=[world.harbour.namespace_id]).content.decode()


def test_the_token_is_shown_once_and_works(staff, world):
    response = issue(staff, all_namespaces=None, namespaces=[world.harbour.namespace_id])
    [token] = set(re.findall(r"mos_[0-9a-f]{8}_[\w-]+", response.content.decode()))
    assert "no-store" in response.headers["Cache-Control"]
    access = access_of(token)
    assert access.scopes == {"read", "write"}
    assert access.namespace_ids == {world.harbour.namespace_id}
    key = ApiKey.objects.get(pk=access.key_id)
    secret = token.rsplit(f"{key.prefix}_")[1]
    for url in (BASE, f"{BASE}{key.pk}/change/", f"{BASE}{key.pk}/history/", "/admin/memory/auditlog/", "/admin/"):
        shown = staff.get(url).content.decode()
        assert secret not in shown
        assert key.digest not in shown
    assert secret not in str(list(AuditLog.objects.across_namespaces().values_list("details", "subject")))
    assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.KEY_ISSUE, actor="staff:ann").count() == 1


def test_looking_at_the_revoke_page_revokes_nothing(staff, world):
    asked = staff.get(f"{BASE}{world.key.pk}/revoke/", {"confirmed": "yes"})
    assert "Revoke for good" in asked.content.decode()
    assert ApiKey.objects.get().revoked_at is None


def test_revoke_by_button_and_by_action(staff, world):
    issue(staff)
    other = ApiKey.objects.exclude(pk=world.key.pk).get()
    staff.post(f"{BASE}{world.key.pk}/revoke/")
    both = {"action": "revoke_selected", "_selected_action": [world.key.pk, other.pk]}
    asked = staff.post(BASE, both)
    assert "revoked already" in asked.content.decode()
    assert ApiKey.objects.get(pk=other.pk).revoked_at is None
    staff.post(BASE, {**both, "confirmed": "yes"})
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.KEY_REVOKE).count() == 2


def test_an_unknown_key_is_not_found(staff, world):
    assert staff.get(f"{BASE}999999/revoke/").status_code == 404
    assert staff.get(f"{BASE}nonsense/revoke/").status_code == 404


def test_keys_are_filtered_by_use(staff, world):
    staff.post(f"{BASE}{world.key.pk}/revoke/")
    issue(staff)

    def names(use: str) -> set[str]:
        return {key.name for key in staff.get(BASE, {"use": use}).context["cl"].result_list}

    assert (names("usable"), names("revoked"), names("expired")) == ({"Agent"}, {"Dock agent"}, set())


def test_a_key_cannot_be_changed_or_deleted(staff, world):
    assert staff.post(f"{BASE}{world.key.pk}/change/", {"scopes": ["admin"]}).status_code == 403
    assert staff.post(f"{BASE}{world.key.pk}/delete/", {"post": "yes"}).status_code == 403
    assert ApiKey.objects.get().scopes == ["read"]
