from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memory.models import Memory, Namespace
from tests.services.erasure.test_run import redis_away


def seeded(*arguments: str) -> str:
    out = StringIO()
    call_command("seed_demo", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_second_time_adds_nothing_and_says_so() -> None:
    assert "77 memories in 7 sessions" in seeded()
    ids = set(Memory.objects.across_namespaces().values_list("pk", flat=True))
    assert "nothing was added" in seeded()
    assert set(Memory.objects.across_namespaces().values_list("pk", flat=True)) == ids
    assert "77 memories" in seeded("--reset")
    assert ids.isdisjoint(Memory.objects.across_namespaces().values_list("pk", flat=True))
    assert Memory.objects.across_namespaces().count() == 77


@pytest.mark.django_db
def test_what_cannot_be_emptied_leaves_no_namespace() -> None:
    with redis_away(), pytest.raises(CommandError):
        seeded("--reset", "--namespace", "fresh")
    assert not Namespace.objects.exists()
    seeded("--namespace", "fresh")
    with redis_away(), pytest.raises(CommandError):
        seeded("--reset", "--namespace", "fresh")
    assert Memory.objects.filter(namespace__name="fresh").count() == 77
