from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.api.authentication import access_of
from memory.models import ApiKey, Namespace

pytestmark = pytest.mark.django_db


def issued(*arguments: str) -> str:
    """Run the command, and return the last line of its output."""
    out = StringIO()
    call_command("issue_api_key", *arguments, stdout=out)
    assert out.getvalue().endswith("\n")
    return out.getvalue().splitlines()[-1]


def test_the_last_line_alone_opens_the_namespaces_that_were_named() -> None:
    there = Namespace.objects.create(name="there")
    access = access_of(issued("agent", "--namespace", "there", "--namespace", "made", "--namespace", "made"))
    made = Namespace.objects.get(name="made")
    assert access.namespace_ids == {there.pk, made.pk}
    assert access.scopes == {"read", "write"}
    assert not access.all_namespaces
    assert ApiKey.objects.get().expires_at is None


def test_scopes_expiry_and_limit() -> None:
    token = issued(
        "ops", "--all-namespaces", "--scope", "read", "admin", "--expires-days", "30", "--requests-per-minute", "7"
    )
    access = access_of(token)
    assert (access.scopes, access.all_namespaces, access.requests_per_minute) == ({"read", "admin"}, True, 7)
    expires_at = ApiKey.objects.get().expires_at
    assert expires_at is not None
    assert abs(expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["agent"], "--namespace NAME .* or --all-namespaces"),
        (["agent", "--namespace", "a", "--all-namespaces"], "not allowed with"),
        (["agent", "--namespace", ""], "a name has 1 to 128 characters"),
        (["agent", "--all-namespaces", "--scope", "root"], "invalid choice"),
        (["agent", "--all-namespaces", "--expires-days", "0"], "outside 1"),
        (["agent", "--all-namespaces", "--requests-per-minute", "many"], "not a whole number"),
        (["", "--all-namespaces"], "name has 1 to 100 characters"),
        (["", "--namespace", "fresh"], "name has 1 to 100 characters"),
        (["agent", "--namespace", "fresh", "--user", "0192f0c4-0000-7000-8000-000000000000"], "There is no user"),
        (["agent", "--namespace", "fresh", "--budget-soft-usd", "2", "--budget-hard-usd", "1"], "soft"),
    ],
)
def test_what_makes_no_key(arguments: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        issued(*arguments)
    assert not ApiKey.objects.exists()
    assert not Namespace.objects.exists()
