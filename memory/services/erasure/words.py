"""Searches for the erased words themselves, and for the identifiers in them, wherever the database keeps text.

The columns are read from the models, so that a new table is searched without being named here. EXEMPT lists the columns
that are not searched, with the reasons.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import TextField
from django.db.models.functions import Cast, Right

from memory.models import ErasedMemory, Memory
from memory.models.queries.erased_words import (
    COPIES,
    IS_SAID,
    SAID_BY,
    TAKE_DOWN_SUMMARISED,
    TextTable,
    delete_rows,
    find,
    find_places,
)
from memory.services.erasure.facts import take_down
from memory.services.erasure.holder import Erased
from memory.services.erasure.sessions import WINDOW as _WINDOW
from memory.services.tenancy import holds
from memory.stores import window
from memory.text.analysis import CJK
from memory.text.verbatim import find_identifiers

# Limits of the search: the number of memories, of sentences and identifiers in each, and of needles in total.
MOST_MEMORIES = 100
MOST_OF_EACH = 3
MOST_NEEDLES = 100
# A sentence is searched by its beginning, because summaries cut long ones. Shorter ones may be said by anyone.
LONGEST, SHORTEST, SHORTEST_CJK = 60, 16, 8
# The receipt names at most this many remaining memories that contain the words.
NAMED = 20
# The windows of at most this many sessions are read.
_WINDOWS = 1_000
_SENTENCE = re.compile(r"[^.!?。！？\n]+")
_HAS_CJK = re.compile(f"[{CJK}]")
_APPLICATIONS = ("memory", "django_q")

# A statement in one of these tables may stay, and explains why records that the server derived from it contain the
# same.
SAID = frozenset({"memory_memory", "memory_memoryversion", "memory_quarantineditem", "memory_document"})
# People, clients and operators write in these tables: matches are counted, and stay. All other tables are the server's.
OWN = frozenset(
    {
        "memory_adapter", "memory_auditlog", "memory_auditwords", "memory_bulkchange", "memory_cube",
        "memory_cubefile", "memory_documentfile", "memory_erasure", "memory_evaluationresult", "memory_evaluationrun",
        "memory_job", "memory_memoryfeedback", "memory_memoryimport", "memory_modelcall", "memory_namespacepolicy",
        "memory_procedure", "memory_trainingdataset", "memory_upload", "memory_usageday", "memory_user",
        "memory_usererasure", "memory_webhook",
    }
)  # fmt: skip
_NAME = "a name that a client or an operator gave"
_HASHES = "hashes or keyed hashes"
_PACKED = "packed or encrypted bytes, in which no words can be found; its holder deletes all that may hold them"
# Keys are a table, a column, or the name of a column in any table.
EXEMPT: dict[str, str] = {
    "*.actor": _NAME,
    "*.created_by": _NAME,
    "*.key": _NAME,
    "*.principal": _NAME,
    "*.request_id": _NAME,
    "*.reviewer": _NAME,
    "*.session": _NAME,
    "*.updated_by": _NAME,
    "memory_activationcache.file": "the name of a file, made of hashes; the file is deleted with its row",
    "memory_auditseal": "hashes of audit events",
    "memory_apikey": "keys of no tenant's memories: names that operators gave, and digests",
    "memory_bulkchangememory.outcome": "one of a few words",
    "memory_corpus": "a number of memories",
    "memory_cubefilepart.data": _PACKED,
    "memory_documentfilepart.data": _PACKED,
    "memory_embeddingmodel": "names of models",
    "memory_idempotencyrecord.memory_ids": "ids",
    "memory_importpart.data": _PACKED,
    "memory_memory.content_hash": _HASHES,
    "memory_memory.terms": "the words of `text`, which is looked through",
    "memory_namespace": "names and descriptions that operators gave",
    "memory_posting.term": "single words by the id of their memory; its holder reads each",
    "memory_projection.centroids": "means of vectors",
    "memory_projection.components": "axes of vectors",
    "memory_projection.mean": "a mean of vectors",
    "memory_quarantineditem.content_hash": _HASHES,
    "memory_requestminute": "counts of requests by route, of no tenant",
    "memory_retiredstatement.terms": "words of its memory, with which its holder deletes it",
    "memory_trainingpart.data": _PACKED,
    "memory_trainingsource.fingerprint": _HASHES,
    "memory_unsurepair.texts_hash": _HASHES,
    "memory_upkeepmark": "names of background work",
    "memory_uploadpart.data": _PACKED,
    "memory_webhook.former_secret": "an encrypted secret",
    "memory_webhook.secret": "an encrypted secret",
    "django_q_ormq": "names of schedules",
    "django_q_schedule": "names of background work",
    "django_q_task": "names of priorities",
}


def collect(erased: Erased, *, after: uuid.UUID | None) -> list[str]:
    """Collect sentences and identifiers from up to MOST_MEMORIES of the erasure's remaining memories.

    `after`: memories up to this id are gone. The needles are words of the memories, so they are kept only in this
    process.
    """
    named = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id)
    if after is not None:
        named = named.filter(memory_id__gt=after)
    # The end of a UUIDv7 is random, so that this order samples evenly.
    chosen = named.order_by(Right(Cast("memory_id", TextField()), 12)).values_list("memory_id", flat=True)
    texts = Memory.objects.in_scope(erased.scope).filter(pk__in=list(chosen[:MOST_MEMORIES])).values_list("text")
    found = [list_needles(text) for (text,) in texts]
    # Take one needle of each memory first.
    needles = dict.fromkeys(needle for turn in zip_longest(*found) for needle in turn if needle)
    return list(needles)[:MOST_NEEDLES]


def _find(statement: str, erased: Erased, needles: Sequence[str]) -> list[tuple[Any, ...]]:
    return find(statement, erased.scope.namespace_id, erased.id, needles)


def list_needles(text: str) -> list[str]:
    """Return the needles of a text: its identifiers, and the beginnings of its sentences that are not too short."""
    sentences = [sentence.strip()[:LONGEST] for sentence in _SENTENCE.findall(text)]
    long = [one for one in sentences if len(one) >= (SHORTEST_CJK if _HAS_CJK.search(one) else SHORTEST)]
    return [*find_identifiers(text)[:MOST_OF_EACH], *long[:MOST_OF_EACH]]


def take_down_copies(erased: Erased, needles: Sequence[str]) -> int:
    """Add to the erasure the unlinked copies that the server made: replies, facts and preferences that contain the
    needles, and sessions whose summaries do; none under a legal hold. Return the number of memories.

    Needles that remaining sources also contain do not identify where a copy comes from. Inside a transaction.
    """
    own = _leave_out_said(erased, needles)
    if not own:
        return 0
    ids = [row[0] for row in _find(COPIES, erased, own)]
    held = set(holds.under_hold(erased.scope.namespace_id, ids)) if ids else set()
    take_down(erased, [identity for identity in ids if identity not in held])
    _find(TAKE_DOWN_SUMMARISED, erased, own)
    return len(ids) - len(held)


def clear(erased: Erased, needles: Sequence[str]) -> Counter[str]:
    """Delete packs and judgements of other memories whose question or text contains the needles. In a transaction."""
    own = _leave_out_said(erased, needles)
    tables = [table for table in list_tables() if table.name in CLEARED]
    return Counter({table.name: len(_find(delete_rows(table), erased, own)) if own else 0 for table in tables})


def look(erased: Erased, needles: Sequence[str]) -> dict[str, Any]:
    """Count the needles that each table still contains, for the receipt.

    `left` counts the needles in records that the server made and no source still contains: it must be 0. `memory_ids`
    are up to NAMED remaining memories that contain some of them.
    """
    own = set(_leave_out_said(erased, needles))
    found = {table.name: _find_needles(erased, table, needles) for table in list_tables()}
    found[_WINDOW] = _find_in_windows(erased, needles)
    left = [own & says for name, says in found.items() if name not in SAID | OWN]
    return {
        "searched": len(needles),
        "said_by_others": len(needles) - len(own),
        "memory_ids": [str(row[0]) for row in _find(SAID_BY, erased, needles)[:NAMED]],
        "found": {name: len(says) for name, says in found.items()},
        "left": sum(map(len, left)) + len(_find(COPIES, erased, sorted(own))),
    }


@cache
def list_tables() -> tuple[TextTable, ...]:
    """Return every table that is searched."""
    found = []
    for model in list_models():
        table = model._meta.db_table
        columns = [
            field for field in model._meta.concrete_fields
            if holds_text(field) and not {table, f"{table}.{field.column}", f"*.{field.column}"} & EXEMPT.keys()
        ]  # fmt: skip
        if columns:
            said = " || E'\n' || ".join(map(_read_as_text, columns))
            found.append(TextTable(table, tuple(str(field.column) for field in columns), said))
    return tuple(found)


def list_models() -> list[type[models.Model]]:
    """Return the models of the application and of its queue."""
    return [
        model
        for label in _APPLICATIONS
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if not model._meta.proxy
    ]


def holds_text(field: Any) -> bool:
    """Return whether a column may hold a person's words: text, JSON or bytes, but not a choice among fixed values."""
    if isinstance(field, ArrayField):
        return holds_text(field.base_field)
    kinds = models.CharField | models.TextField | models.JSONField | models.BinaryField
    return isinstance(field, kinds) and not field.choices


def _read_as_text(field: Any) -> str:
    column = f't."{field.column}"'
    if isinstance(field, ArrayField):
        column = f"array_to_string({column}, ' ')"
    elif isinstance(field, models.BinaryField):
        # Readable bytes are always lines of JSON.
        column = f"convert_from({column}, 'UTF8')"
    return f"coalesce({column}::text, '')"


def _leave_out_said(erased: Erased, needles: Sequence[str]) -> list[str]:
    """Return the needles that no remaining source contains, apart from the server's own records."""
    said: set[str] = set()
    for table in list_tables():
        if table.name in SAID:
            said |= _find_needles(erased, table, needles, only=IS_SAID.get(table.name, "true"))
    return [needle for needle in needles if needle not in said]


def _find_needles(erased: Erased, table: TextTable, needles: Sequence[str], *, only: str = "true") -> set[str]:
    """Return the needles that some row of the table contains, among the rows that meet the condition."""
    return {needles[place - 1] for (place,) in _find(find_places(table, only), erased, needles)} if needles else set()


def _find_in_windows(erased: Erased, needles: Sequence[str]) -> set[str]:
    """Return the needles in the windows of the sessions that the erasure touches."""
    sessions = sorted(erased.sessions())[:_WINDOWS]
    told = "\n".join(
        message.text for session in sessions for message in window.read(erased.scope.namespace_id, session)
    )
    return {needle for needle in needles if needle in told}


CLEARED = ("memory_contextpack", "memory_relevancejudgement")
