"""Staff cannot give, issue or take over more than they have themselves."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from memory.models import ApiKey, Namespace
from ops.models import SavedView, StaffGrant
from tests.ops.conftest import World

USERS, GROUPS, KEYS = "/admin/auth/user/", "/admin/auth/group/", "/admin/memory/apikey/"
ADMIN_OF_USERS = ("view_user", "add_user", "change_user", "delete_user", "view_group", "add_group", "change_group",
                  "delete_group", "view_console")  # fmt: skip


def permission(code: str) -> Permission:
    return Permission.objects.exclude(content_type__app_label="memory", codename__endswith="_user").get(codename=code)


def staff_member(name: str, *codes: str, grants: tuple[str, ...] = ()) -> User:
    user = User.objects.create_user(name, password="a long password", is_staff=True)
    user.user_permissions.add(*(permission(code) for code in codes))
    for namespace in grants:
        StaffGrant.objects.create(user=user, namespace=Namespace.objects.get(name=namespace))
    return user


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def form_of(user: User, **changes) -> dict:
    """Return the fields that the page of a user posts, without the inline of grants."""
    values = {
        "username": user.username, "is_active": "on", "is_staff": "on", "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00", "namespace_grants-TOTAL_FORMS": "0", "namespace_grants-INITIAL_FORMS": "0",
    }  # fmt: skip
    return {**values, **changes}


@pytest.fixture
def uma(world: World) -> User:
    """Return Uma, who administers users and reaches the harbour."""
    return staff_member("uma", *ADMIN_OF_USERS, grants=("harbour",))


@pytest.fixture
def clerk(world: World) -> User:
    return staff_member("clerk", "view_console", grants=("harbour",))


class TestUsers:
    @pytest.mark.parametrize("who", ["clerk", "uma"])
    def test_nobody_is_made_superuser(self, uma, clerk, who):
        target = User.objects.get(username=who)
        client_of(uma).post(f"{USERS}{target.pk}/change/", form_of(target, is_superuser="on"))
        target.refresh_from_db()
        assert not target.is_superuser

    def test_a_superuser_makes_one(self, staff, clerk):
        staff.post(f"{USERS}{clerk.pk}/change/", form_of(clerk, is_superuser="on"))
        clerk.refresh_from_db()
        assert clerk.is_superuser

    def test_only_own_permissions_are_given(self, uma, clerk):
        url, lacking = f"{USERS}{clerk.pk}/change/", permission("view_memory_text").pk
        own = permission("view_user").pk
        for given in ([lacking], [own, lacking]):
            assert client_of(uma).post(url, form_of(clerk, user_permissions=given)).status_code == 200
        assert not User.objects.get(pk=clerk.pk).has_perm("ops.view_memory_text")
        assert client_of(uma).post(url, form_of(clerk, user_permissions=[own])).status_code == 302
        assert User.objects.get(pk=clerk.pk).get_all_permissions() == {"auth.view_user"}

    def test_a_group_with_more_is_not_given(self, uma, clerk):
        readers = Group.objects.create(name="readers")
        readers.permissions.add(permission("view_memory_text"))
        client_of(uma).post(f"{USERS}{clerk.pk}/change/", form_of(clerk, groups=[readers.pk]))
        client_of(uma).post(f"{USERS}{uma.pk}/change/", form_of(uma, groups=[readers.pk]))
        assert readers.user_set.count() == 0

    def test_a_permission_by_a_group_counts_as_own(self, uma, clerk):
        group = Group.objects.create(name="watchers")
        group.permissions.add(permission("view_memory_text"))
        uma.groups.add(group)
        client_of(uma).post(f"{USERS}{clerk.pk}/change/", form_of(clerk, groups=[group.pk]))
        assert clerk.groups.get() == group

    @pytest.mark.parametrize(
        "more", ["superuser", "inactive superuser", "permission", "group", "namespace", "inactive permission"]
    )
    def test_an_account_that_may_do_more_is_not_taken_over(self, uma, more):
        target = staff_member("target")
        if "superuser" in more:
            target.is_superuser = True
        if "inactive" in more:
            target.is_active = False
        if "permission" in more:
            target.user_permissions.add(permission("view_memory_text"))
        if more == "group":
            group = Group.objects.create(name="readers")
            group.permissions.add(permission("view_memory_text"))
            target.groups.add(group)
        if more == "namespace":
            StaffGrant.objects.create(user=target, namespace=Namespace.objects.get(name="bakery"))
        target.save()
        before = User.objects.get(pk=target.pk)
        client, url = client_of(uma), f"{USERS}{target.pk}/"
        passwords = {"password1": "taken over 123", "password2": "taken over 123", "usable_password": "true"}
        assert client.post(f"{url}password/", passwords).status_code == 403
        assert client.post(f"{url}change/", form_of(target, username="mine")).status_code == 403
        assert client.post(f"{url}delete/", {"post": "yes"}).status_code == 403
        client.post(USERS, {"action": "delete_selected", "_selected_action": [target.pk], "post": "yes"})
        after = User.objects.get(pk=target.pk)
        assert (after.username, after.password, after.is_active) == (before.username, before.password, before.is_active)
        assert client.get(f"{url}change/").status_code == 200

    def test_an_account_that_may_do_less_is_administered(self, uma, clerk):
        client = client_of(uma)
        passwords = {"password1": "fresh words 123", "password2": "fresh words 123", "usable_password": "true"}
        assert client.post(f"{USERS}{clerk.pk}/password/", passwords).status_code == 302
        clerk.refresh_from_db()
        assert clerk.check_password("fresh words 123")
        StaffGrant.objects.filter(user=clerk).delete()
        assert client.post(f"{USERS}{clerk.pk}/delete/", {"post": "yes"}).status_code == 302


class TestGroups:
    def test_a_group_gets_own_permissions_only(self, uma):
        lacking, own = permission("view_memory_text").pk, permission("view_user").pk
        client = client_of(uma)
        assert client.post(f"{GROUPS}add/", {"name": "more", "permissions": [lacking]}).status_code == 200
        assert client.post(f"{GROUPS}add/", {"name": "same", "permissions": [own]}).status_code == 302
        assert Group.objects.get().name == "same"

    def test_a_group_with_more_is_looked_at_only(self, uma):
        readers = Group.objects.create(name="readers")
        readers.permissions.add(permission("view_memory_text"))
        client = client_of(uma)
        assert client.get(f"{GROUPS}{readers.pk}/change/").status_code == 200
        assert client.post(f"{GROUPS}{readers.pk}/change/", {"name": "mine"}).status_code == 403
        assert client.post(f"{GROUPS}{readers.pk}/delete/", {"post": "yes"}).status_code == 403
        assert Group.objects.get().name == "readers"


class TestKeys:
    @pytest.mark.parametrize(
        ("scope", "needed"), [("read", "view_memory_text"), ("write", "view_memory_text"), ("admin", "reset_session")]
    )
    def test_a_key_does_nothing_that_its_issuer_may_not(self, world, scope, needed):
        clerk = staff_member("keeper", "view_apikey", "add_apikey", "view_namespace", grants=("harbour",))
        values = {"name": "Agent", "scopes": [scope], "namespaces": [world.harbour.namespace_id]}
        refused = client_of(clerk).post(f"{KEYS}add/", values)
        assert refused.status_code == 200
        assert "needs your own permission" in refused.content.decode()
        assert not ApiKey.objects.filter(name="Agent").exists()
        clerk.user_permissions.add(permission(needed))
        assert client_of(clerk).post(f"{KEYS}add/", values).status_code == 200
        assert ApiKey.objects.get(name="Agent").scopes == [scope]


class TestSharedViews:
    @pytest.fixture
    def boss(self, world) -> User:
        return User.objects.create_superuser("boss")

    def shown(self, client: Client) -> set[str]:
        chips = {str(chip.name) for chip in client.get("/admin/memory/memory/").context["chips"]}
        rows = {row.name for row in client.get("/admin/ops/savedview/").context["cl"].result_list}
        assert rows <= chips
        return rows

    def test_names_out_of_reach_are_not_shown(self, world, boss):
        for name, query in {
            "Bakery complaints": "namespace=bakery",
            "By prefix": "namespace=bak",
            "Night shift": "session=night+shift",
            "Dough": "q=dough",
            "Harbour only": "namespace=harbour&q=gate",
            "Needs review": "review=waiting&state__exact=active",
        }.items():
            SavedView.objects.create(user=boss, name=name, model="memory.memory", querystring=query, shared=True)
        viewer = staff_member("viewer", "view_memory", grants=("harbour",))
        assert self.shown(client_of(viewer)) == {"Harbour only", "Needs review"}
        assert len(self.shown(client_of(boss))) == 6

    def test_colleagues_with_the_same_reach_share_all(self, world):
        one = staff_member("one", "view_memory", grants=("harbour",))
        two = staff_member("two", "view_memory", grants=("harbour", "bakery"))
        for owner, name in ((one, "of one"), (two, "of two")):
            SavedView.objects.create(user=owner, name=name, model="memory.memory", querystring="q=gate", shared=True)
        assert self.shown(client_of(one)) == {"of one"}
        assert self.shown(client_of(two)) == {"of one", "of two"}
