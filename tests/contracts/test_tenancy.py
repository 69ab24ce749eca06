"""A tenant's rows have its namespace, which comes first in the keys, and no query set leaves it by accident."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.utils import DatabaseError, InternalError

from memory.models import AuditLog, Memory
from memory.models.scoped import ScopedQuerySet
from memory.types import Access

# Registries: they have few rows, which tenants share or which define what tenants may reach.
SHARED = {"memory_procedure", "memory_apikey_namespaces"}


def tenant_tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns "
            "JOIN pg_class ON oid = quote_ident(table_name)::regclass AND NOT relispartition "
            "WHERE column_name = 'namespace_id' AND table_name LIKE 'memory_%'"
        )
        return sorted({name for (name,) in cursor.fetchall()} - SHARED)


def test_the_namespace_leads_every_unique_key_of_a_tenants_table(db):
    tables = tenant_tables()
    assert len(tables) >= 9
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(
                """
                SELECT i.indexrelid::regclass::text, a.attname FROM pg_index i
                JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
                WHERE i.indrelid = %s::regclass AND i.indisunique
                """,
                [table],
            )
            leads = dict(cursor.fetchall())
            assert leads, table
            assert set(leads.values()) == {"namespace_id"}, (table, leads)


def test_every_model_of_a_tenant_has_a_scoped_manager(db):
    for table in tenant_tables():
        (model,) = [model for model in apps.get_app_config("memory").get_models() if model._meta.db_table == table]
        if model.__name__ == "NamespaceStat":
            continue
        assert isinstance(model.objects.all(), ScopedQuerySet), model


def test_a_caller_without_grants_reaches_no_row(alice, remember):
    remember(alice, "hello")

    assert not Memory.objects.reachable_by(Access(actor="nobody")).exists()
    assert Memory.objects.in_scope(alice.scope).count() == 1


@pytest.mark.parametrize("change", ["UPDATE memory_auditlog SET actor = 'x'", "DELETE FROM memory_auditlog"])
def test_the_database_refuses_to_change_the_audit_log(alice, remember, change):
    remember(alice, "hello")

    refused = pytest.raises((InternalError, DatabaseError), match="append-only")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
    assert AuditLog.objects.across_namespaces().filter(event_type="INGEST").count() == 1
