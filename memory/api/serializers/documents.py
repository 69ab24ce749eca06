from __future__ import annotations

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import DegradedField, MetadataField, MomentField, StrictCharField
from memory.api.serializers.ingest import GateReasonSerializer
from memory.enums import DocumentFormat, GateDecision, MemoryState
from memory.services.ingestion import documents
from memory.services.ingestion.documents import METADATA_KEY
from memory.types import NewDocument

MAX_TEXT_CHARS = 1_000_000
# Every chunk carries the metadata.
MAX_METADATA_BYTES = 8_192
# Only the document holds the data.
MAX_DATA_BYTES = 524_288


def refuse_route_name(document_id: str | None) -> None:
    """Raise ValidationError for a document id that would make the document's URL that of another route."""
    if document_id is not None and document_id.endswith("/reparse"):
        raise serializers.ValidationError("must not end with /reparse: that is the address of a route of its own.")


class DocumentSerializer(serializers.Serializer):
    """A long text to remember in chunks."""

    namespace = StrictCharField(min_length=1, max_length=128, help_text="The tenant it belongs to")
    document_id = StrictCharField(
        required=False,
        min_length=1,
        max_length=128,
        default=None,
        validators=[refuse_route_name],
        help_text="Your own name for it: given again, it replaces the former version. Left out, it gets one",
    )
    title = StrictCharField(required=False, allow_blank=True, max_length=300, default="")
    text = StrictCharField(
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        error_messages={"required": "is required. A file comes as a form (`file`); a URL is never fetched."},
    )
    format = serializers.ChoiceField(
        DocumentFormat.choices,
        required=False,
        default=DocumentFormat.TEXT,
        error_messages={"invalid_choice": "must be one of text, markdown."},
        help_text="markdown: cut at headings and blocks",
    )
    # DRF removes declared fields from the class, so `source` does not hide Field.source.
    source = StrictCharField(  # type: ignore[assignment]
        required=False, allow_blank=True, max_length=2000, default="", help_text="Where it is from, such as its URL"
    )
    session_id = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=128,
        default="",
        help_text="The conversation it was given in: a reset of that session deletes it",
    )
    metadata = MetadataField(
        required=False,
        default=dict,
        max_bytes=MAX_METADATA_BYTES,
        reserved=(METADATA_KEY,),
        help_text="Anything of your own, returned with every chunk",
    )
    # DRF removes declared fields from the class, so `data` does not hide Serializer.data.
    data = MetadataField(  # type: ignore[assignment]
        required=False,
        default=dict,
        max_bytes=MAX_DATA_BYTES,
        help_text="More of your own, which no chunk carries: GET /v1/documents/{document_id} returns it",
    )
    occurred_at = MomentField(
        required=False, allow_null=True, default=None, help_text="What time it speaks of (ISO 8601); now if left out"
    )

    @staticmethod
    def document_of(values: dict) -> NewDocument:
        """Return the validated document in the form that services expect."""
        return NewDocument(
            text=values["text"],
            document_id=values["document_id"] or "",
            title=values["title"],
            source=values["source"],
            format=values["format"],
            session=values["session_id"],
            metadata=documents.add_data(values["metadata"], values["data"]),
            occurred_at=values["occurred_at"],
        )


class StoredDocumentSerializer(serializers.Serializer):
    document_id = serializers.CharField()
    version = serializers.IntegerField(help_text="1 for a new document; that in force (0: none) when not accepted")
    chunks = serializers.IntegerField()
    characters = serializers.IntegerField()
    accepted = serializers.BooleanField(help_text="Whether this version is in force now")
    verdict = serializers.ChoiceField(GateDecision.choices, help_text="What the gate says of it, as a whole")
    reasons = GateReasonSerializer(many=True, help_text="Why, the strongest first")
    quarantine_id = serializers.UUIDField(allow_null=True, help_text="Of its item in the quarantine")
    degraded = DegradedField(help_text="embedding_delayed: found by words until the worker has embedded it")


class DocumentListingSerializer(serializers.Serializer):
    """Query parameters of the list."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    session_id = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("documents")


class DocumentPathSerializer(serializers.Serializer):
    """The namespace of the document."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    document_id = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)


class DocumentPageSerializer(DocumentPathSerializer):
    """The namespace of the document, and a page of its chunks."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, default=0, help_text="Index of the first chunk: `next_cursor` of a page"
    )


class DocumentRowSerializer(serializers.Serializer):
    document_id = serializers.CharField()
    version = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True)
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    format = serializers.ChoiceField(DocumentFormat.choices)
    session_id = serializers.CharField(allow_null=True)
    metadata = serializers.DictField()
    characters = serializers.IntegerField(help_text="Length of the text")
    chunk_count = serializers.IntegerField()
    occurred_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField(help_text="When the first version came")
    updated_at = serializers.DateTimeField(help_text="When the present version came")


class DocumentListSerializer(serializers.Serializer):
    documents = DocumentRowSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class DocumentWholeSerializer(DocumentRowSerializer):
    file_id = serializers.UUIDField(
        allow_null=True, help_text="Of the file that this version was read from: GET /v1/document-files/{file_id}"
    )
    pending_embeddings = serializers.IntegerField(help_text="Chunks that wait for their vector")
    data = serializers.DictField(help_text="What was put as `data`")  # type: ignore[assignment]


class DocumentChunkSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField()
    index = serializers.IntegerField()
    start = serializers.IntegerField(help_text="The chunk is text[start:end] of the document, in characters")
    end = serializers.IntegerField()
    heading = serializers.CharField(allow_blank=True, help_text="The headings above it, outermost first")
    page = serializers.IntegerField(allow_null=True, help_text="Its first page or slide; null where there are none")
    last_page = serializers.IntegerField(allow_null=True)
    table = serializers.CharField(
        allow_blank=True, help_text="The columns of the table that it begins in the middle of"
    )
    text = serializers.CharField()
    tokens = serializers.IntegerField()
    state = serializers.ChoiceField(MemoryState.choices)


class DocumentDetailSerializer(serializers.Serializer):
    document = DocumentWholeSerializer()
    chunks = DocumentChunkSerializer(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)


class DocumentDeletedSerializer(serializers.Serializer):
    document_id = serializers.CharField()
    deleted = serializers.BooleanField(help_text="false: there was none")
    chunks = serializers.IntegerField()
