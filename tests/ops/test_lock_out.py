"""After too many failures an account and an address are locked for a while, and the answer says until when."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client, RequestFactory
from django.utils import timezone

from memory.enums import AuditEvent
from memory.models import AuditLog
from ops.logins import address_of

URL = "/admin/login/"
RIGHT = "a long password"


@pytest.fixture(autouse=True)
def _few_failures(settings):
    settings.AXES_FAILURE_LIMIT = 3


@pytest.fixture
def root(db) -> User:
    return User.objects.create_superuser("root", password=RIGHT)


def sign_in(name: str, password: str, *, address: str = "192.0.2.1", client: Client | None = None, **more: str):
    fields = {"username": name, "password": password, "next": "/ops/"}
    return (client or Client()).post(URL, fields, REMOTE_ADDR=address, **more)


def fail(name: str, times: int, *, address: str = "192.0.2.1"):
    return [sign_in(name, "wrong", address=address) for _ in range(times)][-1]


def test_an_account_is_locked_from_every_address(root):
    assert fail("root", 2).status_code == 200
    answer = fail("root", 1)
    assert answer.status_code == 429
    assert sign_in("root", RIGHT, address="198.51.100.9").status_code == 429
    said = answer.content.decode()
    [hours] = re.findall(r"opens again at (\d\d:\d\d) UTC", said)
    assert hours == f"{timezone.now() + timedelta(minutes=15):%H:%M}" or "in 15 minutes" in said
    assert 14 * 60 < int(answer["Retry-After"]) <= 15 * 60


def test_an_address_is_locked_for_every_account(root):
    User.objects.create_superuser("other", password=RIGHT)
    for name in ("one", "two", "three"):
        last = fail(name, 1)
    assert last.status_code == 429
    assert sign_in("other", RIGHT).status_code == 429
    assert sign_in("other", RIGHT, address="198.51.100.9").status_code == 302


def test_what_is_answered_does_not_tell_whether_there_is_such_an_account(root):
    def answers(name: str, address: str) -> list[tuple[int, str]]:
        found = []
        for _ in range(4):
            answer = sign_in(name, "wrong", address=address)
            said = re.sub(r'value="[^"]*"|\d\d:\d\d|[0-9a-f-]{36}', "", answer.content.decode())
            found.append((answer.status_code, said.replace(name, "NAME")))
        return found

    assert answers("root", "192.0.2.1") == answers("nobody", "192.0.2.2")


def test_it_opens_by_itself_and_trying_on_does_not_keep_it_shut(root):
    fail("root", 3)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=14))
    assert fail("root", 2).status_code == 429
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=15, seconds=1))
    assert sign_in("root", RIGHT).status_code == 302


def test_it_is_opened_by_command(root, capsys):
    fail("root", 3)
    assert sign_in("root", RIGHT, address="198.51.100.9").status_code == 429
    call_command("axes_reset_username", "root")
    assert sign_in("root", RIGHT, address="198.51.100.9").status_code == 302


def test_a_login_that_works_forgets_the_failures_before_it(root):
    for _ in range(3):
        fail("root", 2)
        assert sign_in("root", RIGHT).status_code == 302


def test_who_is_signed_in_stays_so(root):
    client = Client()
    client.force_login(root)
    fail("root", 3)
    assert client.get("/ops/account/").status_code == 200


def test_a_lock_out_is_one_audit_event(root):
    fail("root", 5)
    event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.LOGIN_LOCK)
    assert event.subject == "root"
    assert event.details["address"] == "192.0.2.1"
    assert event.details["failures"] == 3


def test_what_was_typed_in_place_of_a_name_is_kept_nowhere_in_the_audit(root):
    fail("my secret password", 3)
    event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.LOGIN_LOCK)
    assert re.fullmatch(r"unknown:[0-9a-f]{16}", event.subject)
    assert "my secret" not in str(event.details)
    assert "my secret" not in "".join(AccessAttempt.objects.values_list("post_data", flat=True))


@pytest.mark.parametrize(
    ("proxies", "header", "address"),
    [
        (0, "203.0.113.5", "10.0.0.1"),
        (1, "203.0.113.5", "203.0.113.5"),
        (1, "6.6.6.6, 203.0.113.5", "203.0.113.5"),
        (2, "6.6.6.6, 203.0.113.5, 10.0.0.2", "203.0.113.5"),
        (2, "203.0.113.5", "10.0.0.1"),
        (1, "' OR 1=1 --", "10.0.0.1"),
        (1, "", "10.0.0.1"),
        (1, "2001:db8::7", "2001:db8::7"),
    ],
)
def test_the_address_is_what_own_proxies_say(settings, proxies, header, address):
    settings.MEMOS_PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": header})
    assert address_of(request) == address


def test_signing_in_works_while_redis_is_away(root, redis_away):
    redis_away()
    assert fail("root", 3).status_code == 429
    assert sign_in("root", RIGHT, address="198.51.100.9").status_code == 429
