"""Imports of files: their progress and result, and the file as long as it is needed."""

from __future__ import annotations

from django.db import models

from memory.enums import ImportFormat
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class MemoryImport(ScopedRow):
    """Represents the import of a file, and its result. Its id is the request id of its audit events.

    `dealt_with`: the number of turns processed, in the order of the file; a run after an interruption continues there.
    `gone`: turns of an earlier import that were deleted since. `faults`: places and reasons, never texts.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    name = models.CharField(max_length=200, help_text="Of the file, as its sender calls it")
    format = models.CharField(max_length=10, choices=ImportFormat.choices)
    speaker = models.CharField(max_length=128, help_text="Who said what the user said; empty: nobody is named")
    size = models.BigIntegerField(help_text="In bytes")
    conversations = models.IntegerField(default=0)
    messages = models.IntegerField(default=0, db_default=0, help_text="Of the file, as its reader counts them")
    turns = models.IntegerField(default=0)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    left_out = models.JSONField(default=dict, help_text="Reason to how many turns were left out on purpose")
    parts_left_out = models.JSONField(
        default=dict, db_default={}, help_text="Kind to how many parts of messages that are turns, and files of a zip"
    )
    unreadable = models.IntegerField(default=0)
    faults = models.JSONField(default=list, help_text="The first of what cannot be read: place and reason")
    notes = models.JSONField(default=list, db_default=[], help_text="What was guessed when it was read, in sentences")
    dealt_with = models.IntegerField(default=0)
    new = models.IntegerField(default=0)
    present = models.IntegerField(default=0)
    gone = models.IntegerField(default=0)
    redacted = models.IntegerField(default=0, db_default=0, help_text="New memories with marks in place of secrets")
    quarantined = models.IntegerField(default=0)
    rejected = models.IntegerField(default=0)
    degraded = models.JSONField(default=list)
    problem = models.CharField(max_length=500, help_text="Why the file was refused after all")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    made_namespace = models.CharField(
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text="The name of a namespace that was made for it",
    )

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)


class ImportPart(models.Model):
    """Holds a part of the file until the import has ended."""

    pk = models.CompositePrimaryKey("namespace_id", "import_id", "number")
    namespace_id = models.BigIntegerField()
    import_id = models.UUIDField()
    number = models.IntegerField()
    data = models.BinaryField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.import_id}, part {self.number}"


class ImportedTurn(models.Model):
    """Records that a turn was imported, so that it is imported only once, whichever file has it.

    `key` is half of a keyed hash of what identifies the turn. The row stays when the memory is erased, so that no file
    brings it back. `memory_id` is the id of the memory or of its item in the quarantine.
    """

    pk = models.CompositePrimaryKey("namespace_id", "key")
    namespace_id = models.BigIntegerField()
    key = models.UUIDField()
    memory_id = models.UUIDField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return str(self.memory_id)
