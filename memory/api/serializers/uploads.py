from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import StrictCharField
from memory.services.imports.uploads import KEEP, MAX_NAME_CHARS, MAX_OPEN, PART_BYTES, SHOWN_MISSING

_HOURS = int(KEEP.total_seconds() // 3600)


class UploadStartSerializer(serializers.Serializer):
    """A file that will be sent in parts."""

    namespace = StrictCharField(
        min_length=1, max_length=128, help_text=f"Where it goes; at most {MAX_OPEN} of a key's uploads to it are unused"
    )
    name = StrictCharField(min_length=1, max_length=MAX_NAME_CHARS, help_text="Of the file")
    bytes = serializers.IntegerField(
        min_value=1, max_value=2**62, help_text="That the file has; MEMOS_MAX_UPLOAD_BYTES at most"
    )
    sha256 = serializers.RegexField(
        "^[0-9a-f]{64}$", required=False, default="", help_text="Of the file, in hex; what arrives is compared with it"
    )


class UploadSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="`upload` of POST /v1/imports and POST /v1/cubes/load")
    namespace = serializers.CharField()
    name = serializers.CharField(allow_blank=True, help_text="Of the file")
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField(allow_null=True)
    part_bytes = serializers.IntegerField(help_text=f"Of each part but the last: {PART_BYTES}")
    parts = serializers.IntegerField(help_text="That the file has; their numbers begin with 0")
    arrived = serializers.IntegerField(help_text="How many of them are here")
    missing = serializers.ListField(
        child=serializers.IntegerField(), help_text=f"The numbers of the first {SHOWN_MISSING} that are not"
    )
    used_by = serializers.UUIDField(allow_null=True, help_text="The import, or the load of a cube's file")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text=f"{_HOURS} hours later; one that nothing uses goes then")
