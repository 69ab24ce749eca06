from __future__ import annotations

from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import DegradedField, MetadataField, MomentField, StrictCharField
from memory.api.serializers.documents import MAX_METADATA_BYTES, refuse_route_name
from memory.api.serializers.ingest import GateReasonSerializer
from memory.enums import FileRefusal, FileState, FileType, GateDecision
from memory.services.ingestion.documents import METADATA_KEY
from memory.services.ingestion.files import ALLOWED, MAX_OPEN, FileUpload


@extend_schema_field({"type": "string"})
class JsonMetadataField(MetadataField):
    """Metadata written as JSON, because forms have no objects."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            found = orjson.loads(data) if isinstance(data, str) else data
        except orjson.JSONDecodeError:
            self.fail("invalid")
        return super().to_internal_value(found)


class DocumentFileFormSerializer(serializers.Serializer):
    """A file to remember as a document."""

    namespace = StrictCharField(min_length=1, max_length=128, help_text="The tenant it belongs to")
    file = serializers.FileField(
        max_length=1000,
        help_text=f"{ALLOWED}; images with OCR",
        error_messages={
            "invalid": "must be the bytes of a file. A URL is never fetched: download it, and send the file."
        },
    )
    document_id = StrictCharField(
        required=False,
        default="",
        min_length=1,
        max_length=128,
        validators=[refuse_route_name],
        help_text="Your own name for it: given again, it replaces the former version. Left out, its content names it",
    )
    title = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=300,
        default="",
        help_text="Left out, the one that the file has, or its name",
    )
    # DRF removes declared fields from the class, so `source` does not hide Field.source.
    source = StrictCharField(  # type: ignore[assignment]
        required=False, allow_blank=True, max_length=2000, default="", help_text="Where it is from; it is not fetched"
    )
    session_id = StrictCharField(required=False, allow_blank=True, max_length=128, default="")
    metadata = JsonMetadataField(
        required=False,
        default=dict,
        max_bytes=MAX_METADATA_BYTES,
        reserved=(METADATA_KEY,),
        help_text="A JSON object of your own, returned with every chunk",
    )
    occurred_at = MomentField(required=False, allow_null=True, default=None)
    keep_original = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Keep the file as long as its document, so that it can be read anew; else it goes when it is read",
    )

    @staticmethod
    def to_upload(values: dict[str, Any]) -> FileUpload:
        """Return the validated values in the form that services expect."""
        file = values["file"]
        return FileUpload(
            name=file.name,
            chunks=file.chunks(),
            document_id=values["document_id"],
            title=values["title"],
            source=values["source"],
            session=values["session_id"],
            metadata=values["metadata"],
            occurred_at=values["occurred_at"],
            keep_original=values["keep_original"],
        )


class ReparseSerializer(serializers.Serializer):
    """The namespace of the document to parse again."""

    namespace = StrictCharField(min_length=1, max_length=128)
    document_id = serializers.HiddenField(default="")

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        name = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
        try:
            document_id = name.run_validation(data.get("document_id", ""))
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"document_id": error.detail}) from None
        return {**super().to_internal_value(data), "document_id": document_id}


class DocumentFileListingSerializer(serializers.Serializer):
    namespace = StrictCharField(required=False, default="", min_length=1, max_length=128)
    document_id = StrictCharField(required=False, default="", min_length=1, max_length=128)
    cursor = PageCursorField("document-files")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class DocumentFileSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `request_id` of its audit events")
    namespace = serializers.CharField()
    document_id = serializers.CharField(help_text="Of the document that it becomes")
    document_version = serializers.IntegerField(allow_null=True, help_text="The version that it became; null: none")
    state = serializers.ChoiceField(
        FileState.choices, help_text="As its job stands; one that failed can be replayed (POST /v1/ops/jobs)"
    )
    percent = serializers.IntegerField(help_text="How far it is")
    refusal = serializers.ChoiceField(FileRefusal.choices, allow_blank=True, help_text="Why it became no document")
    problem = serializers.CharField(allow_blank=True, help_text="The same for people, and how to mend it")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What was guessed when it was read, and what of it was left out"
    )
    name = serializers.CharField(allow_blank=True, help_text="Of the file")
    type = serializers.ChoiceField(FileType.choices, help_text="By its content")
    bytes = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True, help_text="That was asked for")
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    session_id = serializers.CharField(allow_null=True)
    metadata = serializers.DictField()
    keep_original = serializers.BooleanField()
    has_original = serializers.BooleanField(help_text="Whether its bytes are there: to be read, or to be read anew")
    parser = serializers.CharField(allow_blank=True, help_text="What read it, with its version")
    pages = serializers.IntegerField(allow_null=True, help_text="Pages of a PDF, slides; null where there are none")
    tables = serializers.IntegerField(allow_null=True)
    characters = serializers.IntegerField(allow_null=True, help_text="Of the text that was read")
    chunks = serializers.IntegerField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True, help_text="That reading it took")
    peak_bytes = serializers.IntegerField(allow_null=True, help_text="Most memory of the process that read it")
    verdict = serializers.ChoiceField(GateDecision.choices, allow_blank=True, help_text="What the gate says of it")
    reasons = GateReasonSerializer(many=True)
    quarantine_id = serializers.UUIDField(allow_null=True, help_text="Of its item in the quarantine")
    degraded = DegradedField()
    actor = serializers.CharField()
    occurred_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    asked_at = serializers.DateTimeField(help_text="When it was given, or last to be read anew")
    finished_at = serializers.DateTimeField(allow_null=True)


class DocumentFileListSerializer(serializers.Serializer):
    files = DocumentFileSerializer(many=True, help_text=f"At most {MAX_OPEN} of a namespace wait")
    next_cursor = serializers.CharField(allow_null=True)
