"""Sessions in Redis and the database, and accounts as Django stores them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import close_old_connections, connection
from django.test import Client

from memory.stores.redis import call
from ops.logins import end_logins
from ops.sign_in import AccountBackend, SessionStore

URL = "/ops/overview/live/"


def permission(code: str) -> Permission:
    return Permission.objects.get(content_type__app_label="ops", codename=code)


@pytest.fixture
def clerk(db) -> User:
    """Staff with a permission granted directly, and one through a group."""
    user = User.objects.create_user("clerk", "clerk@example.com", "a long password", is_staff=True, first_name="Ada")
    user.user_permissions.add(permission("view_console"))
    group = Group.objects.create(name="curators")
    group.permissions.add(permission("view_console"), permission("view_memory_text"))
    user.groups.add(group)
    return user


def test_an_account_is_the_one_that_django_reads(clerk):
    found, plain = AccountBackend().get_user(clerk.pk), User.objects.get(pk=clerk.pk)
    fields = [field.attname for field in User._meta.concrete_fields]
    assert [getattr(found, name) for name in fields] == [getattr(plain, name) for name in fields]
    assert found._state.adding is False
    assert found.get_all_permissions() == plain.get_all_permissions() == {"ops.view_console", "ops.view_memory_text"}
    assert found.has_perm("ops.view_memory_text")
    assert not found.has_perm("ops.operate_jobs")
    assert found.get_group_permissions() == plain.get_group_permissions()


def test_a_superuser_may_do_all_and_one_who_is_not_active_nothing(clerk):
    root = User.objects.create_superuser("root")
    assert AccountBackend().get_user(root.pk).get_all_permissions() >= {"ops.operate_jobs", "memory.view_memory"}
    User.objects.filter(pk=clerk.pk).update(is_active=False)
    assert AccountBackend().get_user(clerk.pk) is None
    assert AccountBackend().get_user(0) is None


def test_what_is_taken_away_is_gone_with_the_next_request(clerk):
    client = Client()
    client.force_login(clerk)
    assert client.get(URL).status_code == 200
    clerk.groups.clear()
    clerk.user_permissions.clear()
    assert client.get(URL).status_code == 403
    User.objects.filter(pk=clerk.pk).update(is_active=False)
    assert client.get(URL, headers={"HX-Request": "true"}).status_code == 401


def test_signing_in_and_out(clerk):
    client = Client()
    assert client.login(username="clerk", password="a long password")
    key = client.session.session_key
    assert client.get(URL).status_code == 200
    thief = Client()
    thief.cookies["sessionid"] = key
    assert thief.get(URL).status_code == 200
    client.logout()
    assert thief.get(URL, headers={"HX-Request": "true"}).status_code == 401


def test_a_new_password_ends_the_sessions(clerk):
    client = Client()
    client.force_login(clerk)
    clerk.set_password("another long password")
    clerk.save()
    assert client.get(URL, headers={"HX-Request": "true"}).status_code == 401


def cached() -> list[bytes]:
    """Return the names of all sessions in Redis."""
    return call(lambda client: list(client.scan_iter("memos:session:*")))


def test_a_session_that_has_run_out_is_none(clerk):
    client = Client()
    client.force_login(clerk)
    session = client.session
    assert SessionStore(session.session_key).load()["_auth_user_id"] == str(clerk.pk)
    session.set_expiry(-1)
    session.save()
    assert client.get(URL, headers={"HX-Request": "true"}).status_code == 401
    store = SessionStore("no-such-session")
    assert store.load() == {}
    assert store.session_key is None


def test_a_session_is_read_from_redis_for_a_minute_and_never_longer_than_it_lasts(clerk, django_assert_num_queries):
    client = Client()
    client.force_login(clerk)
    client.get(URL)
    with django_assert_num_queries(0):
        assert client.get(URL).status_code == 200
    [name] = cached()
    assert client.session.session_key not in name.decode()
    assert 0 < call(lambda redis: redis.ttl(name)) <= 60
    session = client.session
    session.set_expiry(5)
    session.save()
    assert 0 < call(lambda redis: redis.ttl(name)) <= 5
    call(lambda redis: redis.delete(name))
    with django_assert_num_queries(1):
        assert client.get(URL).status_code == 200
    assert cached() == [name]


def test_a_login_that_was_ended_is_in_redis_no_more(clerk):
    client = Client()
    client.force_login(clerk)
    assert client.get(URL).status_code == 200
    assert end_logins(clerk) == 1
    assert cached() == []
    assert client.get(URL, headers={"HX-Request": "true"}).status_code == 401


def test_an_account_that_is_deleted_opens_nothing_though_redis_knows_its_login(clerk):
    client = Client()
    client.force_login(clerk)
    assert client.get(URL).status_code == 200
    clerk.delete()
    assert len(cached()) == 1
    assert client.get(URL, headers={"HX-Request": "true"}).status_code == 401


def test_without_redis_logins_begin_go_on_and_end(clerk, redis_away):
    redis_away()
    client, other = Client(), Client()
    for one in (client, other):
        assert one.login(username="clerk", password="a long password")
        assert one.get(URL).status_code == 200
    other.logout()
    assert other.get(URL, headers={"HX-Request": "true"}).status_code == 401
    assert end_logins(clerk) == 1
    assert client.get(URL, headers={"HX-Request": "true"}).status_code == 401


def test_a_hostile_cookie_is_no_session(db):
    # The last value as a browser can send it: Django reads the octal number as the character NUL.
    for cookie in ("' OR 1=1 --", "x" * 10_000, r'"\000\001abcdefgh"'):
        headers = {"HX-Request": "true", "Cookie": f"sessionid={cookie}"}
        assert Client().get(URL, headers=headers).status_code == 401


def test_a_connection_that_was_lost_is_made_anew_for_the_next_request(transactional_db):
    root = User.objects.create_superuser("root")
    client = Client()
    client.force_login(root)
    assert client.get(URL).status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [own] = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [own])
        assert cursor.fetchone() == (True,)
    other.close()
    # A server closes old connections when a request begins, but the test client does not.
    close_old_connections()
    assert client.get("/ops/sessions/").status_code == 200
