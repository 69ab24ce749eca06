from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictBooleanField, StrictCharField
from memory.enums import Degradation, GateDecision, ImportFormat, ImportState
from memory.services.imports.requests import MAX_OPEN, ImportUpload
from memory.services.imports.survey import JUDGED_TURNS, SHOWN_FAULTS

_FORMAT = "Where it comes from; left out, its content tells"
_SPEAKER = "Who said what the user said"
_PREVIEW = "Only say what it holds and what would become of it; nothing is stored"


class _ImportOptionsSerializer(serializers.Serializer):
    namespace = StrictCharField(min_length=1, max_length=128, help_text="Where it goes")
    format = serializers.ChoiceField(ImportFormat.choices, required=False, help_text=_FORMAT)
    speaker = StrictCharField(required=False, default="", min_length=1, max_length=128, help_text=_SPEAKER)


class ImportTextSerializer(_ImportOptionsSerializer):
    """Another program's export, given as text (its JSON, or lines of `date - memory`) or as an uploaded file."""

    text = StrictCharField(
        required=False, min_length=1, trim_whitespace=False, help_text="What the file holds, unless it is an `upload`"
    )
    upload = serializers.UUIDField(required=False, help_text="Id of the file, sent in parts (POST /v1/uploads)")
    preview = StrictBooleanField(required=False, default=False, help_text=_PREVIEW)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Raise ValidationError unless exactly one of `text` and `upload` is given."""
        if ("text" in values) == ("upload" in values):
            raise serializers.ValidationError({"text": "Give either `text` or the `upload` of a file, one of the two."})
        return values

    @staticmethod
    def to_upload(values: dict[str, Any]) -> ImportUpload:
        """Return the validated values in the form that services expect."""
        format, speaker = _format_of(values), values["speaker"]
        if "upload" in values:
            return ImportUpload(format=format, speaker=speaker, upload_id=values["upload"])
        return ImportUpload("text", [values["text"].encode()], format, speaker)


class ImportFileSerializer(_ImportOptionsSerializer):
    """Another program's export as a file, or as the zip file that it came in."""

    file = serializers.FileField(help_text="As it was downloaded")
    preview = serializers.BooleanField(required=False, default=False, help_text=_PREVIEW)

    @staticmethod
    def to_upload(values: dict[str, Any]) -> ImportUpload:
        """Return the validated values in the form that services expect."""
        file = values["file"]
        return ImportUpload(file.name, file.chunks(), _format_of(values), values["speaker"])


def _format_of(values: dict[str, Any]) -> ImportFormat | None:
    return ImportFormat(values["format"]) if values.get("format") else None


class ImportListingSerializer(serializers.Serializer):
    namespace = StrictCharField(required=False, default="", min_length=1, max_length=128)
    cursor = PageCursorField("imports")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class ImportFaultSerializer(serializers.Serializer):
    place = serializers.CharField(help_text="`conversation 3, message 2`, `memory 7` or `line 7`")
    reason = serializers.CharField()


class ImportSerializer(serializers.Serializer):
    id = serializers.UUIDField(
        allow_null=True, help_text="Also the `request_id` of its audit events; null of a preview"
    )
    namespace = serializers.CharField()
    state = serializers.ChoiceField(
        ImportState.choices, help_text="As its job stands; one that failed can be replayed (POST /v1/ops/jobs)"
    )
    name = serializers.CharField(allow_blank=True, help_text="Of the file")
    format = serializers.ChoiceField(ImportFormat.choices)
    speaker = serializers.CharField(allow_blank=True)
    bytes = serializers.IntegerField()
    problem = serializers.CharField(allow_null=True, help_text="Why the file was refused after all, and how to mend it")
    conversations = serializers.IntegerField(help_text="0 until the job has begun")
    messages = serializers.IntegerField(
        help_text="That the file holds: each is a turn (several where it is long), `left_out` or `unreadable`"
    )
    turns = serializers.IntegerField(help_text="That the file holds; 0 until the job has begun")
    first_at = serializers.DateTimeField(allow_null=True, help_text="When the first of them was said")
    last_at = serializers.DateTimeField(allow_null=True)
    left_out = serializers.DictField(
        child=serializers.IntegerField(), help_text="Messages that are left out on purpose: reason to how many"
    )
    parts_left_out = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="What messages that are turns hold beside their text, and files of a zip: kind to how many",
    )
    unreadable = serializers.IntegerField(help_text="What is left out because it cannot be read")
    faults = ImportFaultSerializer(many=True, help_text=f"The first {SHOWN_FAULTS} of it")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What was guessed when the file was read: how it is encoded"
    )
    dealt_with = serializers.IntegerField(help_text="Turns, so far")
    new = serializers.IntegerField(help_text="Turns that became memories")
    redacted = serializers.IntegerField(help_text="Those of the new with marks in the place of secrets")
    present = serializers.IntegerField(help_text="Turns that came before, from this file or another")
    gone = serializers.IntegerField(help_text="Turns that came before and were deleted since; they stay so")
    quarantined = serializers.IntegerField(help_text="Turns that the gate keeps apart: GET /v1/quarantine")
    rejected = serializers.IntegerField(help_text="Turns that the gate refused")
    degraded = serializers.ListField(child=serializers.ChoiceField(Degradation.choices))
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    gate = serializers.DictField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text=f"Of a preview: verdict ({', '.join(GateDecision.values)}) to how many of the `judged` turns",
    )
    judged = serializers.IntegerField(
        allow_null=True, help_text=f"Of a preview: the first so many, at most {JUDGED_TURNS}, were shown to the gate"
    )
    complete = serializers.BooleanField(
        allow_null=True, help_text="Of a preview: false when its time was over before the end of the file"
    )


class ImportListSerializer(serializers.Serializer):
    imports = ImportSerializer(many=True, help_text=f"The newest first; at most {MAX_OPEN} of a namespace are not over")
    next_cursor = serializers.CharField(allow_null=True)
