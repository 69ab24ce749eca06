from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import MomentField, StrictCharField, StrictUUIDField
from memory.api.serializers.policy import PolicyField
from memory.enums import CubeKind, MemoryKind, ShareLevel
from memory.services.cubes.create import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS
from memory.services.cubes.find import OWN

# The caller's access to a cube: through the key itself, or through a share.
LEVELS = (OWN, *ShareLevel.values)


class KindsField(serializers.ListField):
    """Kinds of memory. The service checks which of them can be combined."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            child=serializers.ChoiceField(CubeKind.choices),
            max_length=len(CubeKind),
            error_messages={"not_a_list": "must be a list.", "max_length": "has more than {max_length} items."},
            **options,
        )


class CubeCreateSerializer(serializers.Serializer):
    """A cube to be made of a namespace's memories."""

    names_new_namespace = True
    namespace = StrictCharField(min_length=1, max_length=128)
    name = StrictCharField(min_length=1, max_length=MAX_NAME_CHARS)
    description = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_DESCRIPTION_CHARS)
    owner_id = StrictUUIDField(required=False, allow_null=True, default=None, help_text="The user whose it is")
    kinds = KindsField(required=False, default=[CubeKind.TEXTUAL.value], help_text="`textual` is always among them")


class CubeChangeSerializer(serializers.Serializer):
    """The cube's new values. Fields that are left out stay as they are."""

    name = StrictCharField(required=False, min_length=1, max_length=MAX_NAME_CHARS)
    description = StrictCharField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION_CHARS)
    owner_id = StrictUUIDField(required=False, allow_null=True)
    kinds = KindsField(required=False)
    policy = PolicyField(
        required=False,
        help_text="All that the namespace sets itself, as PUT /v1/policy takes it; its `models` say which are used",
    )


class CubeListingSerializer(serializers.Serializer):
    """Query parameters of the list. Empty ones do not narrow it."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    owner_id = serializers.UUIDField(required=False, default=None, help_text="Those of this user")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("cubes")


class CubeOwnerSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField(allow_null=True, help_text="null: a user whom the key does not see")


class CubeSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    namespace = serializers.CharField()
    owner = CubeOwnerSerializer(allow_null=True)
    kinds = serializers.ListField(child=serializers.ChoiceField(CubeKind.choices))
    level = serializers.ChoiceField(
        LEVELS, help_text="`own`: the key reaches its namespace; else what it is shared for"
    )
    revision = serializers.IntegerField(help_text="Of its ETag")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class CubeListSerializer(serializers.Serializer):
    cubes = CubeSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class CubeContentsSerializer(serializers.Serializer):
    memories = serializers.IntegerField(help_text="Those that retrieval may return")
    by_kind = serializers.DictField(
        child=serializers.IntegerField(), help_text=f"{', '.join(MemoryKind.values)}; each counted up to 100,000"
    )
    sessions = serializers.IntegerField()
    documents = serializers.IntegerField()
    entities = serializers.IntegerField()
    text_bytes = serializers.IntegerField(help_text="Bytes of their texts, estimated from the newest 1,000")


class CubeDetailSerializer(CubeSerializer):
    contents = CubeContentsSerializer()
    policy_version = serializers.IntegerField(
        allow_null=True, help_text="Of the namespace's policy; null, as what follows, for a cube that is only shared"
    )
    policy = PolicyField(allow_null=True, help_text="What the namespace sets itself")
    models = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        allow_null=True,
        help_text="By purpose; empty: the server's own. `policy` sets them",
    )


class ShareSerializer(serializers.Serializer):
    """The user to share a cube with, named by id or by one of the user's keys."""

    user_id = StrictUUIDField(required=False)
    key = StrictCharField(
        required=False, min_length=1, max_length=100, help_text="The beginning of a key, `mos_…`: its owner is meant"
    )
    level = serializers.ChoiceField(ShareLevel.choices, help_text="`write` may read as well")
    expires_at = MomentField(required=False, allow_null=True, default=None, help_text="Left out or null: never")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("user_id" in attrs) == ("key" in attrs):
            raise serializers.ValidationError({"user_id": "name exactly one of user_id and key."})
        return attrs


class CubeShareSerializer(serializers.Serializer):
    user_id = serializers.UUIDField()
    user_name = serializers.CharField(allow_null=True, help_text="null: a user whom the key does not see")
    level = serializers.ChoiceField(ShareLevel.choices)
    expires_at = serializers.DateTimeField(allow_null=True)
    expired = serializers.BooleanField(help_text="Whether it has ended by itself")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class CubeShareListSerializer(serializers.Serializer):
    shares = CubeShareSerializer(many=True)
