"""The proof of an erasure searches every text column, unless the column is exempt with a reason."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, models, transaction
from django.utils import timezone

from memory.models import Erasure
from memory.services.erasure import words
from memory.services.erasure.holder import Erased
from memory.services.erasure.words import EXEMPT, OWN, SAID, holds_text, list_models, list_tables
from memory.stores import window
from memory.types import WindowMessage

NUMBER = 'X-123"ü4'


def test_every_column_of_text_is_looked_through_or_exempt_with_the_reason():
    looked = {(table.name, column) for table in list_tables() for column in table.columns}
    left_out = [
        f"{model._meta.db_table}.{field.column}"
        for model in list_models()
        for field in model._meta.concrete_fields
        if holds_text(field)
        and (model._meta.db_table, field.column) not in looked
        and not {model._meta.db_table, f"{model._meta.db_table}.{field.column}", f"*.{field.column}"} & EXEMPT.keys()
    ]

    assert left_out == [], "Have memory/services/erasure/words.py look through it, or add it to EXEMPT with the reason."
    assert all(EXEMPT.values())


def test_what_is_exempt_or_somebodys_own_is_there():
    tables = {model._meta.db_table for model in list_models()}
    columns = {field.column for model in list_models() for field in model._meta.concrete_fields}
    known = {
        f"{model._meta.db_table}.{field.column}" for model in list_models() for field in model._meta.concrete_fields
    }

    assert tables >= SAID | OWN
    assert [one for one in EXEMPT if one not in tables | known and one.removeprefix("*.") not in columns] == []


def test_only_tables_of_tenants_are_looked_through_as_such():
    of_tenants = {
        model._meta.db_table
        for model in list_models()
        if any(field.column == "namespace_id" for field in model._meta.concrete_fields)
    }

    assert {table.name for table in list_tables()} - of_tenants == {"memory_idempotencyrecord"}


COLUMNS = [(table.name, column) for table in list_tables() for column in table.columns]


@pytest.fixture
def erased(alice) -> Erased:
    row = Erasure.objects.create(
        namespace_id=alice.scope.namespace_id, namespace="alice", target="speaker", named=1, missing=0, found=1,
        documents=0, reason="asked", actor="tests",
    )  # fmt: skip
    return Erased.of(row)


def plant(namespace_id: int, table: str, column: str, erased: Erased) -> None:
    """Insert a row that has the number in one column and nothing in the others, with the table's checks off."""
    (model,) = [one for one in list_models() if one._meta.db_table == table]
    values: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        if field.generated or isinstance(field, models.CompositePrimaryKey):
            continue
        if field.column == "namespace_id":
            values[field.column] = namespace_id
        elif field.column == column:
            values[field.column] = _say(field)
        elif not field.null:
            values[field.column] = _fill(field)
    if table == "memory_idempotencyrecord":
        memory_id = uuid.uuid4()
        values["memory_ids"] = json.dumps([str(memory_id)])
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO memory_erasedmemory (namespace_id, erasure_id, memory_id) VALUES (%s, %s, %s)",
                [namespace_id, erased.id, memory_id],
            )
    names = ", ".join(f'"{name}"' for name in values)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(values))})", list(values.values())
        )
        cursor.execute("SET LOCAL session_replication_role = origin")


def _say(field: Any) -> Any:
    kind = field.get_internal_type()
    if kind == "ArrayField":
        return [NUMBER]
    if kind == "JSONField":
        return json.dumps({"said": NUMBER})
    return NUMBER.encode() if kind == "BinaryField" else NUMBER


def _fill(field: Any) -> Any:
    """Return an empty value for the field."""
    kind = field.get_internal_type()
    if kind in ("CharField", "TextField"):
        return field.choices[0][0] if field.choices else ""
    simple: dict[str, Any] = {
        "JSONField": "{}", "BinaryField": b"", "ArrayField": [], "BooleanField": False, "FloatField": 0.0,
        "DateTimeField": timezone.now(), "DateField": timezone.now().date(), "DurationField": timedelta(),
        "DecimalField": 0,
    }  # fmt: skip
    if kind in simple:
        return simple[kind]
    target = field.target_field.get_internal_type() if field.is_relation else kind
    # For places in a text, the end comes after the start.
    return uuid.uuid4() if target == "UUIDField" else 8 if field.column in ("end", "by_end") else 7


def test_planted_copies_are_found(alice, erased):
    assert set(words.look(erased, [NUMBER])["found"].values()) == {0}
    for table, column in COLUMNS:
        planted = transaction.savepoint()
        plant(alice.scope.namespace_id, table, column, erased)
        looked = words.look(erased, [NUMBER])
        transaction.savepoint_rollback(planted)

        assert looked["found"][table] == 1, column
        assert looked["left"] == (table not in SAID | OWN), (table, column)


def test_a_planted_copy_in_a_session_window_is_found(alice, erased):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_erasedsession (namespace_id, erasure_id, session, first_turn, state) "
            "VALUES (%s, %s, 's1', 1, 'done')",
            [alice.scope.namespace_id, erased.id],
        )
    message = WindowMessage(str(uuid.uuid4()), "agent", "", f"It is {NUMBER}.", 3, timezone.now().isoformat())
    window.append({(alice.scope.namespace_id, "s1"): [message]})

    looked = words.look(erased, [NUMBER])

    assert (looked["found"]["redis_window"], looked["left"]) == (1, 1)
