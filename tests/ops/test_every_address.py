"""Every address of the console: users without permission see nothing, and viewing changes nothing."""

from __future__ import annotations

from django.contrib.auth.models import Permission, User
from django.test import Client

from memory.models import Namespace
from ops.models import StaffGrant
from tests.ops.addresses import addresses
from tests.ops.test_admin_reach import snapshot

# Every member of staff has an account that belongs to no namespace (tests/ops/test_account.py).
OF_ACCOUNTS = ("account", "account_of")


def member(name: str, *namespaces: str, permissions: bool) -> Client:
    """Return staff who have either every permission except reaching all namespaces, or none."""
    user = User.objects.create_user(name, is_staff=True)
    if permissions:
        user.user_permissions.set(Permission.objects.exclude(codename="all_namespaces"))
    for namespace in namespaces:
        StaffGrant.objects.create(user=user, namespace=Namespace.objects.get(name=namespace))
    client = Client()
    client.force_login(user)
    return client


def test_looking_changes_nothing(world, staff):
    every = addresses(world)
    before = snapshot()
    for path, query in every.values():
        assert staff.get(path, query).status_code in (200, 204, 302, 405), path
    changed = {table for table, rows in snapshot().items() if rows != before[table]}
    # The audit records that someone looked, and the login records from where.
    assert changed <= {"memory.AuditLog", "ops.StaffSession"}


def test_who_is_not_logged_in_comes_to_the_login(world, client):
    for path, query in addresses(world).values():
        answer = client.get(path, query)
        assert answer.status_code in (302, 405), path
        assert answer.status_code == 405 or answer.headers["Location"].startswith("/admin/login/?next=/ops/"), path
        assert client.get(path, query, headers={"HX-Request": "true"}).status_code in (401, 405), path


def test_who_lacks_the_permission_is_told_which(world):
    clerk = member("clerk", "harbour", permissions=False)
    for name, (path, query) in addresses(world).items():
        if name in OF_ACCOUNTS:
            continue
        answer = clerk.get(path, query)
        assert answer.status_code in (403, 405), path
        if answer.status_code == 403:
            assert "Can open the console" in answer.content.decode(), path


def test_nothing_of_another_tenant_is_there(world):
    baker = member("baker", "bakery", permissions=True)
    for name, (path, query) in addresses(world).items():
        if name in OF_ACCOUNTS:
            continue
        assert baker.get(path, {**query, "ns": "harbour"}).status_code in (302, 404, 405), path
        without = {name: value for name, value in query.items() if name != "ns"}
        page = baker.get(path, without).content.decode().replace(path, "")
        assert "harbour" not in page.replace("harbour bakery", ""), path
        assert "night shift" not in page, path
