from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictCharField
from memory.services.projection.tree import SessionTopics


class TreeListingSerializer(serializers.Serializer):
    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    session_id = serializers.CharField(
        required=False, default=None, min_length=1, max_length=128, trim_whitespace=False, help_text="Only this session"
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("tree")


class TreeRebuildSerializer(serializers.Serializer):
    namespace = StrictCharField(min_length=1, max_length=128)


class TreeRebuildAnswerSerializer(serializers.Serializer):
    job_id = serializers.UUIDField(help_text="GET /v1/ops/jobs/{job_id} shows how the job is going")


class TopicSerializer(serializers.Serializer):
    topic_id = serializers.IntegerField(
        help_text="For the filter `topic_id`; the numbers stay the same until the topics are found anew"
    )
    label = serializers.CharField(  # type: ignore[assignment] # DRF takes the fields off the class
        allow_blank=True, help_text="Words of its memories that tell it from the other topics"
    )
    memories = serializers.IntegerField(help_text="Active memories of the session in this topic")


class SessionTopicsSerializer(serializers.Serializer):
    session_id = serializers.CharField()
    title = serializers.CharField(allow_blank=True, help_text="The title of a document; empty for other sessions")
    memories = serializers.IntegerField(help_text="Active memories of the session that have a topic")
    topics = TopicSerializer(many=True, help_text="The largest first")


class TreeSerializer(serializers.Serializer):
    placed_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When memories were last given topics; null: never, POST /v1/tree/rebuild does it",
    )
    complete = serializers.BooleanField(
        help_text="false: memories that came later, or that are beyond the map's 10,000, are missing"
    )
    sessions = SessionTopicsSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def session_to_dict(found: SessionTopics) -> dict[str, Any]:
    """Return a session and its topics as the API shows them."""
    return {
        "session_id": found.session,
        "title": found.title,
        "memories": found.memories,
        "topics": [
            {"topic_id": topic.number, "label": ", ".join(topic.words), "memories": topic.memories}
            for topic in found.topics
        ],
    }
