"""Erasures: the request, its progress and the receipt, without any text of a memory."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.enums import ErasedSessionState, ErasureStatus, ErasureTarget
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet


class Erasure(models.Model):
    """Represents a request to erase, its progress and its receipt.

    Names are stored as text, so that the receipt outlives its namespace. A speaker's name is stored as an HMAC only, by
    which those who know the name can find the receipt. `cleared_to`: the last memory, in the order of ids, that is
    gone. `holders`: for each holder the amounts `counted`, `cleared` and `left`.
    """

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    namespace = models.CharField(max_length=128)
    target = models.CharField(max_length=10, choices=ErasureTarget.choices)
    session = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    speaker_digest = models.CharField(max_length=64, blank=True, default="")
    named = models.IntegerField(help_text="Memories that the request named, or its session, speaker or namespace held")
    missing = models.IntegerField(help_text="Those of the named that are not there, or not any more")
    found = models.IntegerField(help_text="Memories to be erased, with the other chunks of their documents")
    documents = models.IntegerField(help_text="Documents that are erased whole")
    reason = models.CharField(max_length=300)
    actor = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True, default="")
    status = models.CharField(max_length=8, choices=ErasureStatus.choices, default=ErasureStatus.QUEUED)
    waiting_for = models.CharField(max_length=200, blank=True, default="")
    error = models.CharField(max_length=300, blank=True, default="")
    attempts = models.IntegerField(default=0, help_text="Runs that ended in an error")
    cleared_to = models.UUIDField(null=True, blank=True)
    holders = models.JSONField(default=dict)
    summaries = models.IntegerField(default=0, help_text="Summaries made again from what is left")
    proof = models.JSONField(default=dict)
    queued_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)


class ErasedMemory(models.Model):
    """Names a memory of an erasure. The row is stored with the request, and from then on no pack stores that memory."""

    pk = models.CompositePrimaryKey("namespace_id", "erasure_id", "memory_id")
    namespace_id = models.BigIntegerField()
    erasure_id = models.UUIDField()
    memory_id = models.UUIDField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        # A query looks up its hits here before it stores them.
        indexes = [models.Index(fields=["namespace_id", "memory_id"], name="erasedmemory_by_memory")]

    def __str__(self) -> str:
        return str(self.memory_id)


class ErasedSession(models.Model):
    """Names a session of an erasure, whose summaries that cover `first_turn` or later are deleted.

    `first_turn` is below 0 for the session of a document's chunks.
    """

    pk = models.CompositePrimaryKey("namespace_id", "erasure_id", "session")
    namespace_id = models.BigIntegerField()
    erasure_id = models.UUIDField()
    session = models.CharField(max_length=128, db_collation="C")
    first_turn = models.IntegerField()
    state = models.CharField(max_length=8, choices=ErasedSessionState.choices, default=ErasedSessionState.OPEN)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return self.session
