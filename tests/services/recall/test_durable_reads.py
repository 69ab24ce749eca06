"""A query's record does not wait for the disk, but an ingest does."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory.models import AuditLog
from memory.services.recall.query import query
from memory.services.recall.search import Ask, search


def commit_mode() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize("asking", ["query", "search"])
@pytest.mark.django_db(transaction=True)
def test_a_read_does_not_wait_for_the_disk(alice, remember, asking):
    remember(alice, "green tea")
    ask = Ask("green tea", 3, timezone.now())
    with transaction.atomic():
        if asking == "query":
            query(alice.scope, ask, session="s1")
        else:
            search(alice.scope, ask)
        assert commit_mode() == "off"
    assert commit_mode() == "on"
    assert AuditLog.objects.across_namespaces().filter(event_type="QUERY").count() == 1


@pytest.mark.django_db(transaction=True)
def test_ingest_waits_for_the_disk(alice, remember):
    with transaction.atomic():
        remember(alice, "green tea")
        assert commit_mode() == "on"
