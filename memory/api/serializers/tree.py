from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictCharField
from memory.api.serializers.memories import MemorySerializer
from memory.enums import TopicLevel, TreeUse
from memory.services.tree.browse import CHILDREN, NodeShown


class TreeListingSerializer(serializers.Serializer):
    """The part of the tree to list."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    # DRF removes declared fields from the class, so they do not hide attributes of Field.
    parent = serializers.UUIDField(  # type: ignore[assignment]
        required=False, default=None, help_text="The node of a session: its topics; without it, the sessions"
    )
    session_id = serializers.CharField(
        required=False, default=None, min_length=1, max_length=128, trim_whitespace=False, help_text="Only this session"
    )
    depth = serializers.IntegerField(
        min_value=1, max_value=2, default=1,
        help_text=f"2: each session with its first {CHILDREN} topics as `children`",
    )  # fmt: skip
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("topics")


class TreePageSerializer(serializers.Serializer):
    """The namespace of the node, and a page of its memories."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50, help_text="Memories of a page")
    cursor = PageCursorField("topic-memories")


class TreeRebuildSerializer(serializers.Serializer):
    namespace = StrictCharField(min_length=1, max_length=128)


class TreeRebuildAnswerSerializer(serializers.Serializer):
    job_id = serializers.UUIDField(help_text="GET /v1/ops/jobs/{job_id} says what becomes of it")


class SummarySentenceSerializer(serializers.Serializer):
    text = serializers.CharField(help_text="A sentence as its memory says it")
    memory_id = serializers.UUIDField()


class PathStepSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    level = serializers.ChoiceField(TopicLevel.choices)
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]


class TopicSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="For the filter `topic_id`")
    parent_id = serializers.UUIDField(allow_null=True, help_text="Of a topic, the node of its session")
    level = serializers.ChoiceField(TopicLevel.choices)
    session_id = serializers.CharField()
    label = serializers.CharField(  # type: ignore[assignment]
        allow_blank=True, help_text="The words that tell it from others, or a document's title; empty until it is named"
    )
    summary = SummarySentenceSerializer(many=True, help_text="Sentences of its memories, three at most")
    sources = serializers.ListField(
        child=serializers.UUIDField(), help_text="The memories that label and summary are quoted from"
    )
    memories = serializers.IntegerField(help_text="Those below it that hold now")
    topics = serializers.IntegerField(help_text="Of a session; of a topic 0")
    stale = serializers.BooleanField(help_text="Its label and summary are chosen anew soon")
    updated_at = serializers.DateTimeField()


class BranchSerializer(TopicSerializer):
    children = TopicSerializer(many=True, help_text="With `depth` 2, the first topics of a session; else none")
    children_cursor = serializers.CharField(
        allow_null=True, help_text="Where GET /v1/tree?parent= goes on with the `children`; null: these are all"
    )


class TreeSerializer(serializers.Serializer):
    use = serializers.ChoiceField(TreeUse.choices, help_text="The namespace's policy: `off` keeps no tree")
    complete = serializers.BooleanField(help_text="false: it is being made, and lacks memories")
    nodes = BranchSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class TopicDetailSerializer(BranchSerializer):
    path = PathStepSerializer(many=True, help_text="From the session down to the node itself")


class TreeNodeSerializer(serializers.Serializer):
    node = TopicDetailSerializer()
    memories = MemorySerializer(many=True, help_text="In the order in which they were recorded")
    next_cursor = serializers.CharField(allow_null=True)


def node_to_dict(node: NodeShown) -> dict[str, Any]:
    """Return a node in the form for clients."""
    return {
        "id": str(node.id),
        "parent_id": str(node.parent) if node.parent else None,
        "level": node.level.value,
        "session_id": node.session,
        "label": node.label,
        "summary": [{"text": told.text, "memory_id": str(told.memory_id)} for told in node.summary],
        "sources": [str(source) for source in node.sources],
        "memories": node.memories,
        "topics": node.topics,
        "stale": node.stale,
        "updated_at": node.updated_at.isoformat(),
    }
