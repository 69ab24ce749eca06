"""Documents, and the memories that are their chunks."""

from __future__ import annotations

import uuid
from typing import Self

from django.db import models
from django.utils import timezone

from memory.enums import DocumentFormat
from memory.kinds import SESSION_PREFIX
from memory.models.keys import new_id
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


class DocumentQuerySet(ScopedQuerySet["Document"]):
    def of_session(self, session: str) -> Self:
        """Selects the documents that were sent with `session`, and the one whose chunks' session it is."""
        own = session.removeprefix(SESSION_PREFIX)
        try:
            identity = uuid.UUID(own) if own != session else None
        except ValueError:
            identity = None
        return self.filter(models.Q(session=session) | models.Q(id=identity))


class Document(ScopedRow):
    """Represents a long text that is stored as chunks, each of which is a memory. The whole text is not stored.

    `document_id` is the client's name for it; `version` counts how often it was sent. The chunks have a separate
    session (`chunk_session`) and turn numbers below 0, so that they take no part in windows, summaries and the
    numbering of turns. `session` is the conversation that the document was sent with, if any.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="documents", db_index=False)
    document_id = models.CharField(max_length=128, db_collation="C")
    session = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    version = models.IntegerField(default=1)
    title = models.CharField(max_length=300, blank=True, default="")
    source = models.CharField(max_length=2000, blank=True, default="")
    format = models.CharField(max_length=8, choices=DocumentFormat.choices, default=DocumentFormat.TEXT)
    metadata = models.JSONField(default=dict, blank=True)
    characters = models.IntegerField()
    occurred_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "document_id"], name="document_name")]
        indexes = [
            models.Index(fields=["namespace", "session"], name="document_of_session", condition=~models.Q(session=""))
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def chunk_session(self) -> str:
        """Returns the session of the chunks."""
        return f"{SESSION_PREFIX}{self.id}"


class DocumentChunk(models.Model):
    """Links a memory to the document of which it is chunk `index` (from 0), at [start, end) in characters."""

    pk = models.CompositePrimaryKey("namespace_id", "document_key", "index")
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    document_key = models.UUIDField(help_text="The document's own id")
    index = models.IntegerField()
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    start = models.IntegerField()
    end = models.IntegerField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "memory"], name="document_chunk_memory")]

    def __str__(self) -> str:
        return f"{self.document_key}/{self.index}"
