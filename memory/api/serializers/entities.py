from __future__ import annotations

import uuid
from datetime import datetime

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictCharField
from memory.enums import AliasLink, EntityKind, Predicate
from memory.services.entities.curate import MAX_SPLIT
from memory.services.entities.listing import MENTIONED_WITH, Cursor
from memory.services.memories.change import MAX_REASON_CHARS


class NamespaceSerializer(serializers.Serializer):
    """The namespace of the entities."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)


class EntityListingSerializer(NamespaceSerializer):
    """Query parameters of the list."""

    search = serializers.CharField(default="", allow_blank=True, max_length=80, help_text="A part of a name")
    kind = serializers.ChoiceField(EntityKind.choices, required=False, default=None)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("entities")


@extend_schema_field({"type": "string"})
class CursorField(serializers.Field):
    """The `next_cursor` of a page of a timeline."""

    default_error_messages = {"invalid": "must be the next_cursor of the page before."}

    def to_internal_value(self, data: object) -> Cursor:
        moment, _, identity = str(data).rpartition("_")
        try:
            # A plus sign that was not escaped arrives as a space.
            occurred_at = datetime.fromisoformat(moment.replace(" ", "+"))
            if occurred_at.tzinfo is None:
                self.fail("invalid")
            return Cursor(occurred_at, uuid.UUID(identity))
        except (ValueError, OverflowError):
            self.fail("invalid")

    def to_representation(self, value: object) -> object:
        return value


class EntityPageSerializer(NamespaceSerializer):
    """The namespace of the entity, and a page of its timeline."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = CursorField(required=False, default=None, help_text="`next_cursor` of the page before")


class GraphQuerySerializer(NamespaceSerializer):
    """Query parameters of the graph."""

    around = serializers.UUIDField(required=False, default=None, help_text="An entity; without it, the whole namespace")
    depth = serializers.IntegerField(min_value=1, max_value=2, default=1, help_text="Steps away from it")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50, help_text="Entities at most")


class MergeSerializer(serializers.Serializer):
    """The entity whose names are moved to the one in the path."""

    namespace = StrictCharField(min_length=1, max_length=128)
    source_id = serializers.UUIDField(help_text="The entity that is merged into the one of the path")
    reason = StrictCharField(min_length=1, max_length=MAX_REASON_CHARS)


class SplitSerializer(serializers.Serializer):
    """The names or single mentions to split off the entity."""

    namespace = StrictCharField(min_length=1, max_length=128)
    alias_ids = serializers.ListField(child=serializers.UUIDField(), required=False, default=list, max_length=MAX_SPLIT)
    mention_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, default=list, max_length=MAX_SPLIT
    )
    reason = StrictCharField(min_length=1, max_length=MAX_REASON_CHARS)


class EntitySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(EntityKind.choices)
    mentions = serializers.IntegerField(help_text="In memories that take part in retrieval")
    first_at = serializers.DateTimeField(allow_null=True, help_text="When its first mention happened")
    last_at = serializers.DateTimeField(allow_null=True)


class EntityListSerializer(serializers.Serializer):
    entities = EntitySerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AliasSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(EntityKind.choices)
    link = serializers.ChoiceField(AliasLink.choices, help_text="Why the name stands for the entity")
    mentions = serializers.IntegerField()


class EdgeSerializer(serializers.Serializer):
    # DRF removes declared fields from the class, so `source` does not hide Field.source.
    source = serializers.UUIDField()  # type: ignore[assignment]
    predicate = serializers.ChoiceField(
        [*Predicate.values, MENTIONED_WITH], help_text="A relation that memories state, or mentioned_with"
    )
    target = serializers.UUIDField()
    detail = serializers.CharField(allow_blank=True, help_text="More closely: the sister of a `family`")
    count = serializers.IntegerField(help_text="Statements, or memories that name both")
    evidence = serializers.ListField(child=serializers.UUIDField(), help_text="Memory ids, 20 at most")
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True, help_text="Since when it is so no more")


class TimelineSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    memory_id = serializers.UUIDField()
    alias_id = serializers.UUIDField()
    session_id = serializers.CharField()
    speaker = serializers.CharField(allow_blank=True)
    spoke = serializers.BooleanField(help_text="It is the speaker, and not named in the text")
    start = serializers.IntegerField(help_text="The name is text[start:end], in characters")
    end = serializers.IntegerField()
    text = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    pinned = serializers.BooleanField(help_text="A person has said which entity it is")


class EntityDetailSerializer(serializers.Serializer):
    entity = EntitySerializer()
    aliases = AliasSerializer(many=True)
    edges = EdgeSerializer(many=True)
    neighbours = EntitySerializer(many=True)
    timeline = TimelineSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class GraphSerializer(serializers.Serializer):
    nodes = EntitySerializer(many=True)
    edges = EdgeSerializer(many=True)


class EntityChangedSerializer(serializers.Serializer):
    entity_id = serializers.UUIDField(help_text="The merged entity, or the one that was split off")
    name = serializers.CharField()
    kind = serializers.ChoiceField(EntityKind.choices)
