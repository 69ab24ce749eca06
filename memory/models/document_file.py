"""Files that documents are read from: their properties, progress and result."""

from __future__ import annotations

from django.db import models

from memory.enums import FileRefusal, FileType
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class DocumentFile(ScopedRow):
    """Represents a file that was sent as a document. Its id is the request id of its audit events.

    `document_key` and `document_version` name the document and version that it became; the database deletes the row
    with that document. `content_key` is a keyed hash of the bytes. The fields of the document are stored, so that the
    file can be read again.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    document_id = models.CharField(max_length=128, db_collation="C", help_text="The client's name of the document")
    document_key = models.UUIDField(null=True, blank=True, help_text="The document's own id; empty: it became none")
    document_version = models.IntegerField(null=True, blank=True)
    name = models.CharField(max_length=200, blank=True, help_text="Of the file, as its sender calls it")
    type = models.CharField(max_length=8, choices=FileType.choices)
    size = models.BigIntegerField(help_text="In bytes")
    content_key = models.CharField(max_length=64)
    title = models.CharField(max_length=300, blank=True, default="")
    source = models.CharField(max_length=2000, blank=True, default="")
    session = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    metadata = models.JSONField(default=dict, blank=True)
    occurred_at = models.DateTimeField(null=True, blank=True)
    keep_original = models.BooleanField(default=False)
    parser = models.CharField(max_length=60, blank=True, default="", help_text="With its version")
    pages = models.IntegerField(null=True, blank=True)
    tables = models.IntegerField(null=True, blank=True)
    characters = models.IntegerField(null=True, blank=True)
    chunks = models.IntegerField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True, help_text="That reading it took")
    peak_bytes = models.BigIntegerField(null=True, blank=True, help_text="Most memory of the process that read it")
    verdict = models.CharField(max_length=20, blank=True, default="", help_text="Of the gate")
    reasons = models.JSONField(default=list, blank=True)
    quarantine_id = models.UUIDField(null=True, blank=True)
    degraded = models.JSONField(default=list, blank=True)
    refusal = models.CharField(max_length=16, choices=FileRefusal.choices, blank=True, default="")
    problem = models.CharField(max_length=500, blank=True, default="")
    notes = models.JSONField(
        default=list, blank=True, db_default=[], help_text="What was guessed or left out, in sentences"
    )
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    asked_at = models.DateTimeField(help_text="When it was given, or last to be read anew")
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["namespace_id", "document_id", "-id"], name="document_file_of_name"),
            models.Index(fields=["namespace_id", "document_key"], name="document_file_of_document"),
            models.Index(
                fields=["namespace_id", "id"], name="document_file_open", condition=models.Q(finished_at=None)
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class DocumentFilePart(models.Model):
    """Holds a part of a file's bytes until the file is read, or as long as its document if the original is kept."""

    pk = models.CompositePrimaryKey("namespace_id", "file_id", "number")
    namespace_id = models.BigIntegerField()
    file_id = models.UUIDField()
    number = models.IntegerField()
    data = models.BinaryField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.file_id}, part {self.number}"
