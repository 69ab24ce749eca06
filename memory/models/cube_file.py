"""Dumps and loads of cubes: their progress and result, and the file as long as it is needed."""

from __future__ import annotations

from django.db import models

from memory.enums import CubeFileKind
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class CubeFile(ScopedRow):
    """Represents a dump of a namespace's cube, or a load into it. Its id is the request id of its audit events.

    `manifest` is that of the file. A load has finished all parts before `part`, and the first `line` lines of it; a run
    after an interruption continues there. `counts`: by part, the number of lines of each outcome. `listed`: the first
    changes that a dry run would make. `faults`: places and reasons, never texts.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    kind = models.CharField(max_length=4, choices=CubeFileKind.choices)
    name = models.CharField(max_length=200, help_text="Of the file")
    options = models.JSONField(default=dict)
    dry_run = models.BooleanField(default=False)
    size = models.BigIntegerField(default=0, help_text="In bytes")
    digest = models.CharField(max_length=64, blank=True, default="", help_text="SHA-256 (hex) of the file")
    manifest = models.JSONField(default=dict)
    signature = models.CharField(max_length=10, blank=True, default="")
    part = models.CharField(max_length=20, blank=True, default="")
    line = models.IntegerField(default=0)
    done = models.IntegerField(default=0, help_text="Of a load, lines dealt with; of a dump, memories written")
    total = models.IntegerField(default=0)
    counts = models.JSONField(default=dict)
    listed = models.JSONField(default=list)
    faults = models.JSONField(default=list)
    problem = models.CharField(max_length=500, blank=True, default="", help_text="Why it was refused after all")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)


class CubeFilePart(models.Model):
    """Holds a piece of the file, of a dump until that is deleted, or of a load until that has ended."""

    pk = models.CompositePrimaryKey("namespace_id", "file_id", "number")
    namespace_id = models.BigIntegerField()
    file_id = models.UUIDField()
    number = models.IntegerField()
    data = models.BinaryField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.file_id}, piece {self.number}"
