"""Lists every place that may hold data of an erased memory: how to count it there and how to clear it.

Each table of the application is in HOLDERS or in HOLD_NOTHING; a test fails for one that is in neither. Most new tables
name a memory and need one line, `holder_of_memory`.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from memory.models import ErasedMemory, Memory, RelevanceJudgement
from memory.models.evaluation import query_hash
from memory.models.queries import erasure_holders as sql
from memory.services.activation.erased import list_held
from memory.services.entities import extract
from memory.services.erasure.holder import (
    Erased,
    Holder,
    change,
    clear_with,
    count,
    delete,
    delete_in_order,
    execute,
    holder_of_memory,
    holder_of_pair,
)
from memory.services.index import entries
from memory.services.index import erased as index_rows

CACHES = "memory_activationcache"


def _count_postings(erased: Erased) -> int:
    with index_rows.reading_once():
        return int(execute(sql.POSTINGS, erased))


def _clear_judgements(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    """Delete the judgements of the memories, and judgements of other memories for a question with the text of one of
    these."""
    marks = RelevanceJudgement.objects.in_scope(erased.scope)
    if not marks.exists():
        return 0
    texts = Memory.objects.in_scope(erased.scope).filter(pk__in=memory_ids).values_list("text", flat=True)
    asked = marks.filter(query_hash__in=[query_hash(text) for text in texts])
    return int(asked.delete()[0] + marks.filter(memory_id__in=memory_ids).delete()[0])


def _count_judgements(erased: Erased) -> int:
    """Count the same judgements, before they are cleared."""
    marks = RelevanceJudgement.objects.in_scope(erased.scope)
    if not marks.exists():
        return 0
    named = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id).values("memory_id")
    texts = Memory.objects.in_scope(erased.scope).filter(pk__in=named).values_list("text", flat=True)
    hashes = {query_hash(text) for text in texts.iterator()} & set(
        marks.order_by().values_list("query_hash", flat=True).distinct()
    )
    return marks.filter(Q(query_hash__in=hashes) | Q(memory_id__in=named)).count()


def _clear_memories(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    return entries.remove_memories(erased.scope, memory_ids=memory_ids)


def _forget_names(erased: Erased) -> Counter[str]:
    names, nameless = extract.forget_names(erased.scope)
    return Counter({"memory_entityalias": names, "memory_entity": nameless})


def list_held_caches(erased: Erased) -> list[uuid.UUID]:
    """Return the activation caches that hold data of the erasure."""
    return list_held(
        erased.scope, erasure_id=erased.id, whole=erased.whole_namespace, asked_at=erased.asked_at
    )  # fmt: skip


drop_dumps = delete(sql.CUBE_FILE_PARTS)
# The holders in the order in which they are cleared: first the ones that need the memories' own rows, then these.
HOLDERS: tuple[Holder, ...] = (
    Holder(
        "memory_auditwords",
        count(sql.AUDIT_WORDS),
        sweep=delete(sql.AUDIT_WORDS),
    ),
    holder_of_memory("memory_memoryversion"),
    # This comes before the rows that name what they have learnt from.
    Holder("memory_adapter", count(sql.ADAPTERS), clear_with(sql.MARK_ADAPTERS)),
    Holder("memory_trainingdataset", count(sql.DATASETS), clear_with(sql.MARK_DATASETS)),
    Holder(
        "memory_trainingpart",
        count(sql.TRAINING_PARTS),
        clear_with(sql.CLEAR_TRAINING_PARTS),
        delete(sql.TRAINING_PARTS),
    ),
    holder_of_memory("memory_trainingsource"),
    # This comes before the rows that name its memories.
    Holder(
        "memory_bulkchange",
        count(sql.ERASED_BULK_CHANGES),
        clear_with(sql.CLEAR_BULK_CHANGES),
        change(sql.SWEEP_BULK_CHANGES),
    ),
    holder_of_memory("memory_bulkchangememory"),
    holder_of_memory("memory_retiredstatement"),
    holder_of_memory("memory_stalesource"),
    Holder(
        "memory_memoryvector",
        holder_of_memory("memory_memoryvector").count,
        lambda erased, memory_ids, now: index_rows.clear_vectors(erased.scope, memory_ids=memory_ids),
        lambda erased: sum(index_rows.clear_vectors(erased.scope, memory_ids=ids) for ids in erased.batches()),
    ),
    holder_of_memory("memory_memoryupkeep"),
    holder_of_memory("memory_projectedmemory"),
    holder_of_memory("memory_memoryfeedback"),
    holder_of_pair("memory_memorylink", ("memory_id", "other_id")),
    holder_of_pair("memory_unsurepair", ("newer_id", "older_id")),
    holder_of_memory("memory_entityrelation"),
    holder_of_memory("memory_entitymention"),
    holder_of_memory("memory_entitypending"),
    # An item has the id of the memory that it would become.
    holder_of_memory("memory_quarantineditem", "id"),
    Holder(
        "memory_relevancejudgement",
        _count_judgements,
        _clear_judgements,
        holder_of_memory("memory_relevancejudgement").sweep,
    ),
    Holder(
        "memory_contextpack",
        count(sql.PACKS_OR_ASKED),
        clear_with(sql.CLEAR_ASKED),
        delete_in_order("memory_contextpack", "p", sql.PACKS),
    ),
    holder_of_memory("memory_documentchunk"),
    Holder(
        "memory_posting",
        _count_postings,
        lambda erased, memory_ids, now: index_rows.clear_postings(erased.scope, memory_ids=memory_ids),
        lambda erased: index_rows.sweep_postings(erased.scope, erasure_id=erased.id),
    ),
    Holder(
        "memory_memory",
        holder_of_memory("memory_memory", "id").count,
        _clear_memories,
    ),
    Holder(
        "memory_documentfilepart",
        count(sql.ORIGINALS),
        sweep=delete(sql.ORIGINALS),
    ),
    Holder(
        "memory_documentfile",
        count(sql.DOCUMENT_FILES),
        sweep=delete_in_order("memory_documentfile", "f", sql.DOCUMENT_FILES),
    ),
    Holder(
        "memory_document",
        count(sql.DOCUMENTS),
        sweep=delete_in_order("memory_document", "d", sql.DOCUMENTS),
    ),
    # The sweep deletes aliases and entities, and renames entities that lose their name.
    Holder(
        "memory_entityalias",
        count(sql.UNMENTIONED_NAMES),
        sweep=_forget_names,
    ),
    Holder("memory_entity", count(sql.NAMELESS_ENTITIES)),
    Holder("memory_condensation", count(sql.SUMMARIES)),
    Holder("memory_session", count(sql.EMPTY_SESSIONS)),
    Holder(
        "memory_idempotencyrecord",
        count(sql.KEPT_ANSWERS),
        sweep=change(sql.CLEAR_KEPT_ANSWERS),
    ),
    Holder(
        "memory_projection",
        count(sql.PROJECTIONS),
        sweep=delete(sql.PROJECTIONS),
    ),
    Holder(
        "memory_commonterm",
        lambda erased: index_rows.count_unsaid_terms(erased.scope),
        sweep=lambda erased: index_rows.sweep_common_terms(erased.scope),
    ),
    Holder(
        "memory_job",
        count(sql.SESSION_JOBS),
        sweep=delete_in_order("memory_job", "j", sql.SESSION_JOBS),
    ),
    Holder(
        "memory_modelcall",
        count(sql.MODEL_CALLS),
        sweep=delete_in_order("memory_modelcall", "c", sql.MODEL_CALLS),
    ),
    # A delivery holds no text: its content is read when it is sent, and an erased memory has none.
    Holder(
        "memory_webhookdelivery",
        count(sql.WEBHOOK_ANSWERS),
        sweep=change(sql.CLEAR_WEBHOOK_ANSWERS),
    ),
    Holder(
        "memory_importpart",
        count(sql.IMPORT_PARTS),
        sweep=delete(sql.IMPORT_PARTS),
    ),
    Holder(
        "memory_memoryimport",
        count(sql.IMPORTS),
        sweep=delete(sql.IMPORTS),
    ),
    # The file is deleted before the row, which may have to wait for another machine: `run` clears it.
    Holder(CACHES, lambda erased: len(list_held_caches(erased))),
    Holder(
        "memory_cubefilepart",
        count(sql.CUBE_FILE_PARTS),
        sweep=drop_dumps,
    ),
    Holder(
        "memory_cubefile",
        count(sql.CUBE_FILE_ROWS),
        sweep=delete(sql.CUBE_FILE_ROWS),
    ),
    Holder(
        "memory_upload",
        count(sql.UPLOADS),
        sweep=delete(sql.UPLOADS),
    ),
    Holder(
        "memory_uploadpart",
        count(sql.UPLOAD_PARTS),
        sweep=delete(sql.UPLOAD_PARTS),
    ),
    Holder(
        "memory_usageday",
        count(sql.USAGE_DAYS),
        sweep=delete(sql.USAGE_DAYS),
    ),
)
# Tables without content of memories, and why.
HOLD_NOTHING: dict[str, str] = {
    "memory_apikey": "who may call",
    "memory_apikey_namespaces": "who may call",
    "memory_auditlog": "ids, counts, names of sessions, keyed hashes: that it happened, not what it said",
    "memory_auditseal": "hashes of audit events, which hold nothing either; append-only",
    "memory_corpus": "a number of memories",
    "memory_cube": "a name and a description that people gave the whole",
    "memory_cubeshare": "ids of users, and until when they may read",
    "memory_embeddingmodel": "names of models",
    "memory_entitywatermark": "names of sessions and numbers",
    "memory_erasedmemory": "ids: they keep late writers from keeping what is erased",
    "memory_erasedsession": "names of sessions, as in the audit log",
    "memory_erasure": "the receipt",
    "memory_evaluationresult": "figures; hashes of the questions that were judged",
    "memory_evaluationrun": "figures",
    "memory_importedturn": "keyed hashes, which keep a file from bringing back what was erased, and ids",
    "memory_indexchange": "ids: that memories and names changed, for two hours",
    "memory_namespace": "the tenant's name",
    "memory_namespacepolicy": "values that operators set",
    "memory_namespacestat": "numbers, changed by the statement that deletes the memories",
    "memory_procedure": "prompts and tools that operators registered",
    "memory_requestminute": "how many requests a minute had, and how fast they were",
    "memory_usagereservation": "numbers, for the quarter of an hour that a call may take",
    "memory_user": "names, preferences and metadata that clients keep; a user is erased by itself",
    "memory_usererasure": "the receipt of a user's erasure",
    "memory_usernamespace": "ids",
    "memory_upkeepmark": "how far background work has come",
    "memory_webhook": "an address, types of events, encrypted secrets: what operators set",
    "memory_writesofday": "a number of memories",
    "django_q_ormq": "names of schedules whose runs are due",
    "django_q_schedule": "names of schedules",
    "django_q_task": "when the worker of a priority ran into the time limit of a job",
}
