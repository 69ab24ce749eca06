from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.enums import CutReason, PackSection, Role


class RetiredSpansField(serializers.ListField):
    """Parts of a memory that no longer hold, as [start, end) in characters."""

    def __init__(self, **options: Any) -> None:
        span = serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2)
        super().__init__(child=span, **options)


class LaterSerializer(serializers.Serializer):
    """The text with which a newer memory replaces words of this one."""

    memory_id = serializers.UUIDField(help_text="The newer memory")
    words = serializers.CharField(help_text="Those of the hit's `text`")
    text = serializers.CharField(help_text="What the newer one says instead")
    occurred_at = serializers.DateTimeField()


class HitMetadataSerializer(serializers.Serializer):
    """The client's own metadata (with `document` for a document's chunk), and these fields."""

    open_fields = True
    role = serializers.ChoiceField(choices=Role.choices)
    speaker = serializers.CharField(allow_blank=True)
    session_id = serializers.CharField()
    turn = serializers.IntegerField(help_text="Its place in the session; below 0 for a fact and a chunk of a document")
    occurred_at = serializers.DateTimeField(help_text="When it happened")
    created_at = serializers.DateTimeField(help_text="When MemOS learned it")
    overlap = serializers.FloatField(help_text="Which part of the question's words it has")
    final_score = serializers.FloatField(help_text="What the ranking follows")
    rerank_score = serializers.FloatField(help_text="The same within 0..1")
    later = LaterSerializer(many=True, required=False, help_text="When newer memories say something else")
    suspected = serializers.BooleanField(
        required=False, help_text="true: it may try to steer its reader, to whom it is a quotation"
    )
    retired_statements = RetiredSpansField(required=False, help_text="As beside it, when there are any")


class CubeOfHitSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    owner_id = serializers.UUIDField(allow_null=True, help_text="The user whose it is; null: nobody is named")


class WhoseFields(serializers.Serializer):
    """The origin of a memory, if a question names `cubes`."""

    namespace = serializers.CharField(required=False, help_text="Where it is from, if `cubes` were named")
    cube = CubeOfHitSerializer(required=False, allow_null=True, help_text="Whose it is; null: a namespace's, no cube's")


class ChunkSerializer(WhoseFields):
    id = serializers.UUIDField()
    tier = serializers.CharField()
    text = serializers.CharField()
    score = serializers.FloatField(help_text="Cosine similarity: 1 − cosine distance")
    relevance = serializers.FloatField(help_text="How likely it is what the question looks for, 0 to 1")
    retired_statements = RetiredSpansField(
        help_text="[start, end) in characters of each part of the memory that holds no longer and that `text` is "
        "without; the memory's history says why"
    )
    metadata = HitMetadataSerializer()


class ToldSerializer(serializers.Serializer):
    """A memory as it is given to the reader, either in the window or with every question."""

    memory_id = serializers.UUIDField()
    role = serializers.ChoiceField(choices=Role.choices)
    speaker = serializers.CharField(allow_blank=True)
    text = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    suspected = serializers.BooleanField(
        required=False, help_text="true: it may try to steer its reader, to whom it is a quotation"
    )


class PromptSerializer(serializers.Serializer):
    name = serializers.CharField()
    version = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    text = serializers.CharField(allow_blank=True)


class PackToolSerializer(serializers.Serializer):
    name = serializers.CharField()
    version = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    parameters = serializers.DictField(help_text="What it takes, as a JSON schema")


class ProceduralMemorySerializer(serializers.Serializer):
    prompt = PromptSerializer(allow_null=True)
    tools = PackToolSerializer(many=True)


class WorkingMemorySerializer(serializers.Serializer):
    l1_window = ToldSerializer(many=True, help_text="The session's newest messages, oldest first")
    session_summary = serializers.CharField(allow_blank=True, help_text="A JSON card; empty before the first")
    session_summary_id = serializers.UUIDField(allow_null=True)


class PackRetrievalSerializer(serializers.Serializer):
    raw_chunks = ChunkSerializer(many=True, help_text="Best first")
    answerable = serializers.BooleanField()


class ManifestItemSerializer(serializers.Serializer):
    id = serializers.CharField(
        help_text="Of the memory; `prompt:NAME@VERSION`, `tool:NAME@VERSION`, `notice:unanswerable`, or "
        "`SECTION.POSITION` in the summary's card"
    )
    tokens = serializers.IntegerField(help_text="Of its line; of a cut one, what it would have cost")
    status = serializers.ChoiceField(["kept", "trimmed", "referred", "cut"])
    reason = serializers.ChoiceField(choices=CutReason.choices, allow_null=True)


class ManifestSectionSerializer(serializers.Serializer):
    section = serializers.ChoiceField(choices=PackSection.choices)
    tokens = serializers.IntegerField(help_text="Of its heading and what is kept")
    items = ManifestItemSerializer(many=True)


class ManifestSerializer(serializers.Serializer):
    """An account of the items that the text holds, and of why others were left out."""

    tokenizer = serializers.CharField()
    max_tokens = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    tokens = serializers.IntegerField(help_text="Of the whole text")
    sections = ManifestSectionSerializer(many=True, help_text="In their order")


class ContextPackSerializer(serializers.Serializer):
    """Everything that was found. `text` is for the agent's prompt; `manifest` says which items it holds."""

    schema = serializers.CharField(help_text="memos.context_pack.v1")
    namespace = serializers.CharField()
    session_id = serializers.CharField()
    query_text = serializers.CharField()
    procedural = ProceduralMemorySerializer()
    durable = ToldSerializer(many=True, help_text="Pinned memories, which are told with every question")
    working_memory = WorkingMemorySerializer()
    retrieval = PackRetrievalSerializer()
    text = serializers.CharField(allow_blank=True)
    manifest = ManifestSerializer()


class BreakpointSerializer(serializers.Serializer):
    section = serializers.ChoiceField(choices=PackSection.choices)
    characters = serializers.IntegerField(help_text="Code points of the text up to the section's end")
    tokens = serializers.IntegerField(help_text="Tokens of the text up to there")
