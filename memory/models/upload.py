"""Files that are uploaded in parts, until an import or a load has processed them."""

from __future__ import annotations

from django.db import models

from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class Upload(ScopedRow):
    """Represents a file of `size` bytes that its sender announced. `used_by`: the import or load that uses it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    name = models.CharField(max_length=200, help_text="Of the file, as its sender calls it")
    size = models.BigIntegerField(help_text="In bytes, as announced")
    digest = models.CharField(max_length=64, blank=True, default="", help_text="SHA-256 (hex), if it was announced")
    actor = models.CharField(max_length=150, help_text="Who may send parts of it, and use it")
    created_at = models.DateTimeField()
    used_by = models.UUIDField(null=True)
    made_namespace = models.BooleanField(
        default=False, db_default=False, help_text="Whether its namespace was made for it"
    )

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)


class UploadPart(models.Model):
    """Holds a slice of the file. A part as the sender numbers them is stored as several slices."""

    pk = models.CompositePrimaryKey("namespace_id", "upload_id", "number")
    namespace_id = models.BigIntegerField()
    upload_id = models.UUIDField()
    number = models.IntegerField()
    data = models.BinaryField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.upload_id}, slice {self.number}"
