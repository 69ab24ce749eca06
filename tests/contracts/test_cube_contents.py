"""A cube's file holds all that MemOS knows of a namespace's memories: every table of a tenant, and every column of what
is carried, is in it or is named here with the reason why not.
"""

from __future__ import annotations

from django.apps import apps
from django.db import connection, models

from memory.models import (
    AuditLog,
    Condensation,
    Document,
    DocumentChunk,
    Entity,
    EntityAlias,
    EntityMention,
    EntityRelation,
    Memory,
    MemoryFeedback,
    MemoryLink,
    MemoryUpkeep,
    MemoryVector,
    MemoryVersion,
    NamespacePolicy,
    Procedure,
    QuarantinedItem,
    RetiredStatement,
    Session,
    UnsurePair,
)
from memory.services.cube_files import lines

MADE_ANEW = "made anew from what is loaded"
OF_THE_SERVER = "of this server, its clients or staff, not of the memories"
OF_A_REQUEST = "of a request or job that is over soon; what it did is in memories and audit events"
CARRIED: dict[type[models.Model], set[str]] = {
    AuditLog: {*lines.EVENT},
    Condensation: {*lines.SUMMARY},
    Document: {*lines.DOCUMENT},
    DocumentChunk: {*lines.CHUNK, "memory"},
    Entity: {*lines.ENTITY},
    EntityAlias: {*lines.NAME, "home", "entity"},
    EntityMention: {"alias", "memory_id", "start", "end", "pinned"},
    EntityRelation: {
        "memory_id", "subject_mention", "object_mention", "predicate", "detail", "valid_from", "valid_to",
    },
    Memory: {*lines.MEMORY},
    MemoryFeedback: {*lines.FEEDBACK, "memory"},
    MemoryLink: {*lines.LINK},
    MemoryUpkeep: {*lines.UPKEEP, "memory"},
    MemoryVector: {"memory", "passage", "embedding"},
    MemoryVersion: {*lines.VERSION, "memory"},
    NamespacePolicy: {*lines.POLICY},
    Procedure: {*lines.PROCEDURE},
    QuarantinedItem: {*lines.ITEM},
    RetiredStatement: {*lines.RETIRED, "memory"},
    Session: {*lines.SESSION},
    UnsurePair: {*lines.PAIR, "texts_hash"},
}  # fmt: skip
OF_MANIFEST = "named once, by the manifest"
MARK = "told of each turn by a mark in its memory's line"
COLUMNS_LEFT_OUT: dict[type[models.Model], dict[str, str]] = {
    EntityMention: dict.fromkeys(("id", "occurred_at", "active"), MADE_ANEW),
    EntityRelation: dict.fromkeys(("id", "subject", "object", "active"), MADE_ANEW),
    Memory: dict.fromkeys(("content_hash", "terms", "length", "tokens", "embedded"), MADE_ANEW),
    MemoryVector: {"searchable": MADE_ANEW, "model": OF_MANIFEST},
    Procedure: {"id": "a number of this server: kind, name and version say which it is"},
    QuarantinedItem: {
        "content_hash": MADE_ANEW,
        **dict.fromkeys(("state", "reviewer", "note", "reviewed_at"), "only what waits is carried: it has none"),
    },
    Session: {
        **dict.fromkeys(("settled_turn", "extracted_turn", "preference_turn"), MARK),
        **dict.fromkeys(("skipped_turn", "summary_requested_at", "summarised_turn"), MADE_ANEW),
    },
}
TABLES_LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        (
            "memory_commonterm", "memory_corpus", "memory_entitypending", "memory_indexchange",
            "memory_namespacestat", "memory_posting", "memory_projectedmemory", "memory_projection",
        ),
        MADE_ANEW,
    ),
    **dict.fromkeys(
        (
            "memory_apikey_namespaces", "memory_cubeshare", "memory_modelcall", "memory_requestminute",
            "memory_usageday", "memory_usagereservation", "memory_user", "memory_usererasure", "memory_usernamespace",
            "memory_webhook", "memory_webhookdelivery", "memory_writesofday",
        ),
        OF_THE_SERVER,
    ),
    **dict.fromkeys(
        (
            "memory_bulkchange", "memory_bulkchangememory", "memory_contextpack", "memory_cubefile",
            "memory_cubefilepart", "memory_documentfile", "memory_documentfilepart", "memory_importpart",
            "memory_job", "memory_memoryimport", "memory_upload", "memory_uploadpart",
        ),
        OF_A_REQUEST,
    ),
    **dict.fromkeys(
        ("memory_evaluationresult", "memory_evaluationrun", "memory_relevancejudgement"),
        "measurements of this server's search",
    ),
    **dict.fromkeys(
        ("memory_activationcache", "memory_adapter", "memory_trainingdataset", "memory_trainingpart",
         "memory_trainingsource"),
        "made of memories for models that this server has; it says nothing that they do not",
    ),
    **dict.fromkeys(
        ("memory_erasedmemory", "memory_erasedsession", "memory_erasure"),
        "what was erased: no file may tell of it; a load asks them and leaves out what they name",
    ),
    "memory_auditwords": "words behind the hashes of audit events, which leave no server",
    "memory_cube": "what it says of itself is in the manifest; a load makes no cube of a namespace",
    "memory_entitywatermark": MARK,
    "memory_importedturn": "keyed by a secret of this server: imports are recognised by their words elsewhere",
    "memory_stalesource": "a session that has one is dumped without its summary, which is made anew",
}  # fmt: skip


def tables() -> dict[str, type[models.Model]]:
    """The tables that have a namespace's rows, by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE column_name = 'namespace_id' AND table_name LIKE 'memory_%%'"
        )
        names = {name for (name,) in cursor.fetchall()}
    found = apps.get_app_config("memory").get_models(include_auto_created=True)
    return {model._meta.db_table: model for model in found if model._meta.db_table in names}


def test_every_table_of_a_tenant_is_carried_or_left_out_with_a_reason(db):
    carried = {model._meta.db_table for model in CARRIED}
    assert not carried & set(TABLES_LEFT_OUT)
    assert carried | set(TABLES_LEFT_OUT) == set(tables()), (
        "Write the table into a part of cubes' files (memory/services/cube_files/lines.py) and take it over with "
        "load.py, or name it in TABLES_LEFT_OUT with the reason."
    )


def test_every_column_of_what_is_carried_is_in_the_file_or_left_out_with_a_reason():
    for model, columns in CARRIED.items():
        left_out = COLUMNS_LEFT_OUT.get(model, {})
        own = {
            name
            for column in model._meta.concrete_fields
            if column.name not in ("pk", "namespace") and column.attname != "namespace_id"
            for name in ({column.attname} if column.attname in columns else {column.name})
        }
        assert columns | set(left_out) == own, model.__name__
        assert not columns & set(left_out), model.__name__
