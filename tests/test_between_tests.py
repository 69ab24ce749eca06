"""Assumptions of tests: a server for each process of a run, and empty tables at the start of a test."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from memory import audit
from memory.models import AuditLog
from tests import embedded_plugin
from tests.ops.tables import row_counts


def shown(statement: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


@pytest.mark.django_db
def test_each_process_has_a_postgresql_of_its_own():
    servers = embedded_plugin._servers
    if servers is None or servers.postgres is None:
        pytest.skip("DATABASE_URL names a server")
    assert shown("SHOW data_directory") == str(servers.postgres.data_dir)
    assert shown("SHOW fsync") == "off"
    # Writes still wait for the disk if asked to.
    assert shown("SHOW synchronous_commit") == "on"


@pytest.mark.django_db(transaction=True)
def test_every_table_is_emptied_whatever_guards_it_but_models_and_permissions(remember, alice):
    remember(alice, "The harbour pilot boards at noon.")
    audit.record(alice.scope, "MEMORY_EDIT", now=timezone.now())
    assert AuditLog.objects.across_namespaces().exists()
    permissions = set(Permission.objects.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_session SELECT g::text, repeat('x', 200), now() FROM generate_series(1, 10000) g"
        )
    assert shown("SELECT pg_relation_size('django_session')") > 1_000_000

    call_command("flush", interactive=False, verbosity=0)

    assert {table: rows for table, rows in row_counts().items() if rows} == {}
    assert set(Permission.objects.values_list("pk", flat=True)) == permissions
    assert shown("SELECT pg_relation_size('django_session')") == 0
    # The guards are active again.
    assert shown("SHOW session_replication_role") == "origin"
